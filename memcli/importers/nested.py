"""The elements of a list inside a JSON object, one at a time, so that a history is never held whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memcli.errors import UsageError
from memcli.importers.encoding import Encoding, encoding_of
from memcli.importers.records import CLOSER, TO_BRACKET, chunks, element, parse_line
from memcli.importers.source import Source
from memcli.types import BadLine, Notice

_BETWEEN = " \t\r\n,"


@dataclass(frozen=True, slots=True)
class Opened:
    """A list begins: `keys` is what the object around it says before it."""

    keys: Mapping[str, Any]


def elements(
    source: Source, *, key: str, encoding: str | None
) -> Iterator[Opened | dict[str, Any] | BadLine | Notice]:
    """Every list that stands under the key, wherever in the file: `Opened`, then the objects in it.

    Such a list inside an element of another is part of that element. What is no object, or cannot be
    read, comes as a BadLine where it stands. Memory grows with the largest element and with what is not
    in such lists, not with the file. Raises UsageError for an unknown encoding, and when there is no
    such list.
    """
    known = encoding_of(source.head(), asked=encoding, path=source.path, by_line=True)
    yield from known.notices()
    scanner = _Scanner(key)
    for chunk in chunks(source, known):
        for piece in scanner.feed(chunk):
            yield from _read(piece, known)
    for piece in scanner.rest():
        yield from _read(piece, known)
    if not scanner.has_found:
        raise UsageError(f"{source.path} holds no list called {key!r}", "name its format with --format")
    if scanner.is_open:
        yield Notice("the file is cut off; what it holds was read, export it again for the rest")


@dataclass(frozen=True, slots=True)
class _Text:
    """JSON text and the line where it begins: an element, or of the object that holds the list its begin."""

    number: int
    text: str
    is_holder: bool = False


def _read(piece: _Text, encoding: Encoding) -> Iterator[Opened | dict[str, Any] | BadLine]:
    if piece.is_holder:
        values, why = parse_line(piece.text.rstrip(_BETWEEN) + "}")
        if why:
            yield BadLine(piece.number, why)
        yield Opened(values[0] if values and isinstance(values[0], dict) else {})
        return
    for item in element(piece.number, piece.text, encoding):
        if isinstance(item, BadLine):
            yield item
        else:
            yield item[1] if isinstance(item[1], dict) else BadLine(item[0], "not a JSON object")


class _Scanner:
    """Follows the brackets of JSON text, as it comes, to the lists under a key and through them."""

    def __init__(self, key: str) -> None:
        self._key = re.compile(rf'"{re.escape(key)}"\s*:\s*\[\Z')
        self._buffer = ""
        self._waiting: list[str] = []
        self._begin = 0  # of what is not cut off yet
        self._seen = 0  # up to the last bracket
        self._line = 1
        self._frame: list[str] = []  # what is outside the lists, in pieces that end with a bracket
        self._open: list[int] = []  # where in the frame each bracket is that is open there
        self.has_found = False
        self._depth: int | None = None  # how many brackets are open in an element; None outside the lists

    @property
    def is_open(self) -> bool:
        """Whether something that began has not ended."""
        return bool(self._open)

    def feed(self, chunk: str) -> Iterator[_Text]:
        """The pieces that are complete."""
        self._waiting.append(chunk)
        # A long string is scanned from its beginning again: each time twice as much of it.
        if sum(map(len, self._waiting)) >= len(self._buffer):
            yield from self._scan()

    def rest(self) -> Iterator[_Text]:
        """What is left when all was fed."""
        yield from self._scan()
        if self._depth is not None:
            yield self._cut(len(self._buffer))

    def _scan(self) -> Iterator[_Text]:
        self._buffer += "".join(self._waiting)
        self._waiting = []
        while match := TO_BRACKET.match(self._buffer, self._seen):
            self._seen = match.end()
            is_opening = match[1] in CLOSER
            if self._depth is None:
                yield from self._outside(is_opening)
            else:
                yield from self._inside(is_opening, self._depth)
        self._buffer = self._buffer[self._begin :]
        self._seen -= self._begin
        self._begin = 0

    def _outside(self, is_opening: bool) -> Iterator[_Text]:
        line = self._line
        self._frame.append(self._cut(self._seen).text)
        if not is_opening:
            self._close()
        elif self._open and self._key.search(self._frame[-1]):
            holder = "{" + "".join(self._frame[self._open[-1] :])
            yield _Text(line, self._key.sub("", holder), is_holder=True)
            self._open.append(len(self._frame))
            self._depth = 0
            self.has_found = True
        else:
            self._open.append(len(self._frame))

    def _inside(self, is_opening: bool, depth: int) -> Iterator[_Text]:
        if depth == 0:
            between = self._cut(self._seen - 1)
            if between.text.strip(_BETWEEN):
                yield between
        if is_opening:
            self._depth = depth + 1
        elif depth == 0:
            self._frame.append(self._cut(self._seen).text)
            self._close()
            self._depth = None
        else:
            self._depth = depth - 1
            if depth == 1:
                yield self._cut(self._seen)

    def _close(self) -> None:
        if self._open:
            self._open.pop()
        if not self._open:
            self._frame.clear()

    def _cut(self, end: int) -> _Text:
        piece = _Text(self._line, self._buffer[self._begin : end])
        self._line += piece.text.count("\n")
        self._begin = end
        return piece
