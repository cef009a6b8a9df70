"""What a model says, taken apart: thinking from answer, JSON from what is around it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from memcli.errors import ModelError
from memcli.models.schema import misfit
from memcli.text import regex
from memcli.types import Answered, Message, Piece

# --- thinking -------------------------------------------------------------------------------------

_OPEN, _CLOSE = "<think>", "</think>"


def without_tags(stream: Iterable[Piece | Answered]) -> Generator[Piece | Answered, None, None]:
    """The stream with `<think>…</think>` at the beginning of the answer told as thinking.

    Models whose server does not take it apart say it so. Later on it is text like any other.
    """
    tags = _Tags()
    for part in stream:
        if isinstance(part, Answered):
            yield from tags.end()
        if isinstance(part, Answered) or part.is_thinking:
            yield part
        else:
            yield from tags.feed(part.text)


class _Tags:
    """Holds back only what may be a part of a tag."""

    def __init__(self) -> None:
        self._held = ""
        self._state: Callable[[], Iterator[Piece]] = self._at_start
        self._has_thought = False

    def feed(self, text: str) -> Iterator[Piece]:
        self._held += text
        while True:
            state = self._state
            yield from state()
            if self._state == state:
                return

    def end(self) -> Iterator[Piece]:
        if self._held:
            yield Piece(self._held, is_thinking=self._state == self._thinking)
        self._held = ""

    def _at_start(self) -> Iterator[Piece]:
        begun = self._held.lstrip()
        if begun.startswith(_OPEN):
            self._held, self._state, self._has_thought = begun.removeprefix(_OPEN), self._thinking, True
        elif not _OPEN.startswith(begun):
            # The empty lines after the thinking are no part of the answer.
            self._held = begun if self._has_thought else self._held
            self._state = self._answering
        yield from ()

    def _thinking(self) -> Iterator[Piece]:
        thought, tag, rest = self._held.partition(_CLOSE)
        kept = 0 if tag else _overlap(thought, _CLOSE)
        if len(thought) > kept:
            yield Piece(thought[: len(thought) - kept], is_thinking=True)
        self._held = rest if tag else thought[len(thought) - kept :]
        if tag:
            self._state = self._at_start

    def _answering(self) -> Iterator[Piece]:
        if self._held:
            yield Piece(self._held)
        self._held = ""


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    return next(size for size in range(min(len(text), len(tag) - 1), -1, -1) if text.endswith(tag[:size]))


# --- JSON -----------------------------------------------------------------------------------------

MAX_BLANKS = 100
"""More white space in a row than any JSON is set with: some models never stop it once a schema binds them."""

_MOST_OBJECTS = 20
_MOST_QUOTED = 2_000
_BLANKS = regex(rf"\s{{{MAX_BLANKS}}}\Z")


def ask_checked(
    say: Callable[[Sequence[Message], int], Iterable[Piece | Answered]],
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    *,
    max_tokens: int,
    model: str,
) -> dict[str, Any]:
    """An answer that fits the schema, after one repair at most.

    Args:
        say: streams the answer to messages, of so many tokens at most.
        max_tokens: for the first answer; one that was cut off may be twice as long the second time.
        model: its name, for the error.

    Raises:
        ModelError: neither answer fits; it does not quote them.
    """
    text, is_cut = _said(say(messages, max_tokens))
    try:
        return read_json(text, schema)
    except _MisfitError as first:
        fault = "it was cut off" if is_cut else str(first)
    # Also of nothing but white space: some models refuse two messages of the same side in a row.
    quoted = Message("assistant", text.strip()[:_MOST_QUOTED] or "…")
    again = Message("user", _REPAIR.format(fault=fault, schema=json.dumps(schema, ensure_ascii=False)))
    text, is_cut = _said(say([*messages, quoted, again], max_tokens * (2 if is_cut else 1)))
    try:
        return read_json(text, schema)
    except _MisfitError as second:
        fault = "it was cut off" if is_cut else str(second)
        raise ModelError(
            f"{model} did not give the JSON that was asked for: {fault}", "choose another model if this stays"
        ) from second


_REPAIR = (
    "That cannot be used: {fault}. Answer once more, with one complete JSON object and nothing else, "
    "as short as it can be, of this schema: {schema}"
)


def _said(stream: Iterable[Piece | Answered]) -> tuple[str, bool]:
    """The answer without its thinking, and whether it was cut off; no longer read when it is only blanks."""
    text = ""
    for part in without_tags(stream):
        if isinstance(part, Answered):
            return text, part.reason == "length"
        text += "" if part.is_thinking else part.text
        if _BLANKS.search(text, max(0, len(text) - MAX_BLANKS)):
            break
    return text, True


class _MisfitError(Exception):
    """Why an answer cannot be used."""


def read_json(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The first JSON object in the text that fits: models put words, fences and thinking around it."""
    fault = "there is no JSON object in it"
    # What some templates open by themselves, only the end of it is to be seen.
    _, _, text = text.rpartition(_CLOSE)
    starts = [found.start() for found in re.finditer(r"\{", text)]
    end = 0
    for start in starts[:_MOST_OBJECTS]:
        if start < end:
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            fault = "it is not whole JSON"
            continue
        wrong = "there is thinking inside of it" if _OPEN in text[start:end] else misfit(value, schema)
        if wrong is None:
            found: dict[str, Any] = value
            return found
        fault = wrong
    raise _MisfitError(fault)


def _no_number(name: str) -> float:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_number)
