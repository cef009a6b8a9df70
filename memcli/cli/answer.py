"""An answer while it comes, on the stream or console that output.py hands in."""

from __future__ import annotations

import time
from typing import IO, TYPE_CHECKING, Protocol

from memcli.cli.markdown import final_chars, render
from memcli.text import neutral
from memcli.types import Piece

if TYPE_CHECKING:
    from rich.live import Live
    from rich.segment import Segment

_WAITING = "…"
_THOUGHT_LINES = 4
# Rows of the screen that a block which may still change leaves free.
_ROWS_FREE = 2
# Between two drawings passes so many times what one takes: the words of the model come first.
_REST = 1


class Answer(Protocol):
    """Where an answer is shown."""

    def add(self, piece: Piece) -> None:
        """Show what comes next."""
        ...

    def end(self) -> None:
        """Show what is left: nothing more comes."""
        ...


class HiddenAnswer:
    """An answer that is shown as a whole by somebody else."""

    def add(self, piece: Piece) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class PlainAnswer:
    """An answer for a program that reads: its letters as they come, and a newline at the end."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._last = "\n"

    def add(self, piece: Piece) -> None:
        """Write it at once; a thought is no part of the answer."""
        if piece.text and not piece.is_thinking:
            self._stream.write(piece.text)
            self._stream.flush()
            self._last = piece.text[-1]

    def end(self) -> None:
        """End the last line."""
        self._stream.write("" if self._last == "\n" else "\n")


class MarkdownAnswer:
    """An answer for a person who watches it come.

    Blocks that are final are printed and stay. The last one may still change and is drawn anew below them:
    only its end where it is higher than the screen, and all of it once it is final.

    Args:
        live: what is drawn anew, on its console; thrown away at its end.
        with_thinking: whether the end of what a model says to itself is shown, dimmed, until it answers.
    """

    def __init__(self, live: Live, *, with_thinking: bool) -> None:
        self._live = live
        self._console = live.console
        self._with_thinking = with_thinking
        self._thought = ""
        self._pending = ""
        self._has_printed = False
        self._next_at = 0.0
        self._show("", self._lines_pending())

    def add(self, piece: Piece) -> None:
        """Take in what comes next, and draw it unless drawing would take most of the time."""
        text = neutral(piece.text.replace("\r\n", "\n"))
        if piece.is_thinking:
            self._thought += text if self._with_thinking else ""
        else:
            self._pending += text
        began = time.perf_counter()
        if began >= self._next_at:
            self._draw()
            now = time.perf_counter()
            self._next_at = now + _REST * (now - began)

    def end(self) -> None:
        """Print what is left."""
        final, self._pending = self._pending, ""
        self._show(final, [])

    def _draw(self) -> None:
        size = final_chars(self._pending)
        final, self._pending = self._pending[:size], self._pending[size:]
        self._show(final, self._lines_pending())

    def _show(self, final: str, below: list[list[Segment]]) -> None:
        """Print what is final and draw what is below it, in one go: no screen in between is seen."""
        from rich.segment import SegmentLines

        gap: list[list[Segment]] = [[]]
        above = self._lines(final)
        if above and self._has_printed:
            above = [*gap, *above]
        self._has_printed |= bool(above)
        drawn = [*(gap if self._has_printed and below else []), *below]
        self._live.update(SegmentLines(drawn, new_lines=True), refresh=not above)
        if above:
            self._console.print(SegmentLines(above, new_lines=True), end="")

    def _lines_pending(self) -> list[list[Segment]]:
        if self._pending:
            return self._lines(self._pending)[-max(1, self._console.height - _ROWS_FREE) :]
        from rich.segment import Segment
        from rich.style import Style

        thought = " ".join(self._thought.split()) or _WAITING
        width = max(1, self._console.width - 1)
        rows = [thought[start : start + width] for start in range(0, len(thought), width)]
        return [[Segment(row, Style(dim=True))] for row in rows[-_THOUGHT_LINES:]]

    def _lines(self, text: str) -> list[list[Segment]]:
        return render(text, self._console, width=self._console.width)
