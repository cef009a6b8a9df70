"""The keys, the history and the completion of the line that a person types in a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

_PROMPT = "› "
_NEXT_LINE = "  "


def entry(
    *, past: Sequence[str], complete: Callable[[str], Iterable[tuple[str, str]]], is_plain: bool
) -> PromptSession[str]:
    """A prompt for one entry.

    The history is in memory only, and made anew each time: what has been forgotten is not in it.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.output import ColorDepth

    return PromptSession(
        [("ansicyan", _PROMPT)],
        history=InMemoryHistory(past),
        completer=_completer(complete),
        complete_while_typing=True,
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=_NEXT_LINE,
        color_depth=ColorDepth.DEPTH_1_BIT if is_plain else None,
        reserve_space_for_menu=4,
    )


def _completer(complete: Callable[[str], Iterable[tuple[str, str]]]) -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class OfTheLine(Completer):
        def get_completions(self, document: Document, _: CompleteEvent) -> Iterable[Completion]:
            line = document.text_before_cursor
            typed = len(line) - line.rfind(" ") - 1
            for word, told in complete(line):
                yield Completion(word, start_position=-typed, display_meta=told)

    return OfTheLine()


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("enter")
    def end(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        chosen = buffer.complete_state and buffer.complete_state.current_completion
        if chosen:
            buffer.complete_state = None
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
