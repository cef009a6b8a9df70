"""JSON records of a file, one at a time: of its lines, or of a whole JSON array or object."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import Any, TypeAlias

from memcli.importers.encoding import Encoding, byte_lines, encoding_of
from memcli.importers.source import Source
from memcli.text import clean, is_unicode, regex
from memcli.types import BadLine, Notice, Reached

Numbered: TypeAlias = tuple[int, Any]
"""The line (1-based) where a JSON value begins, and the value."""

MAX_DEPTH = 100
"""Deeper nesting is damage or an attack, and whoever reads the value later may recurse."""

_CHUNK_CHARS = 1 << 20
_TOLD_EVERY_BYTES = 8 << 20  # what an import that is killed has to read again at most
_TOKEN_CHARS = 16  # no name, number or escape that the end of a buffer cuts is longer
_ENOUGH = 100  # elements to tell a format by
_BLANK = " \t\r\n\ufeff"
_LINE_ENDS = ("\n", "\r\n", "")
_BEFORE = "\0\x1e"  # what a crash left of a file, and how RFC 7464 begins a record

_FIRST_KEY = regex(r'\{\s*"[^"\\]{1,64}"\s*:')
_RESTARTS = 8  # a line that is one nest of like objects would be tried from each of them

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
TO_BRACKET = regex(rf'(?:[^"\[\]{{}}]++|{_STRING})*+([\[\]{{}}])', re.DOTALL)
_TO_MARK = regex(rf'(?:[^"\[\]{{}},]++|{_STRING})*+([\[\]{{}},])', re.DOTALL)
_TO_END = regex(rf'(?:[^"]++|{_STRING})*+', re.DOTALL)
CLOSER = {"{": "}", "[": "]"}


def _to_finite(number: str) -> float | None:
    value = float(number)
    return value if isfinite(value) else None


# NaN and the infinities are read, as Python and others write them, but they are no JSON: null.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_to_finite)


def records(source: Source, *, encoding: str | None) -> Iterator[Numbered | BadLine | Notice | Reached]:
    """Every JSON value of the file with its line: one a line, or the elements of a JSON array.

    Of a source that has a place the lines after it, and how far they came.

    What cannot be read comes as a BadLine where it stands; nothing after it is lost. Memory does not
    grow with the file, only with its largest record. Raises UsageError for an unknown encoding.
    """
    known = encoding_of(source.head(), asked=encoding, path=source.path, by_line=True)
    yield from known.notices()
    yield from (_elements if _is_whole(source, known) else _lines)(source, known)


def is_of_lines(source: Source, *, encoding: str | None) -> bool:
    """Whether its records can be read from any line on. Raises UsageError for an unknown encoding."""
    known = encoding_of(source.head(), asked=encoding, path=source.path, by_line=True)
    return not known.is_wide and not _is_whole(source, known)


def _is_whole(source: Source, encoding: Encoding) -> bool:
    return is_whole_json(source.head()[encoding.mark_bytes :].decode(encoding.name, "replace"))


# --- one a line -----------------------------------------------------------------------------------


def _lines(source: Source, encoding: Encoding) -> Iterator[Numbered | BadLine | Notice | Reached]:
    codec = encoding.line_codec
    for item in _numbered_lines(source, encoding):
        if isinstance(item, Reached):
            yield item
            continue
        number, line = item
        try:
            text = line.decode(codec)
        except UnicodeDecodeError as error:
            yield BadLine(number, f"not {codec} at byte {error.start + 1}")
            continue
        try:
            value, end = _DECODER.raw_decode(text)
            is_alone = text[end:] in _LINE_ENDS
            value = _storable(value, text)
        except (ValueError, RecursionError):
            is_alone = False
        if is_alone:
            yield number, value
        else:
            yield from _odd_line(number, text, is_last=not line.endswith(b"\n"))


def _numbered_lines(source: Source, encoding: Encoding) -> Iterator[tuple[int, bytes] | Reached]:
    """The lines, from the source's place on; and, if it has one, now and then how far they came.

    A last line that is not finished is told from what can be relied on: it is read again when it is.
    """
    lines, place = byte_lines(source, encoding), source.place
    if place is None or encoding.is_wide:
        yield from enumerate(lines, start=1)
        return
    told = place.size
    if not place.size:
        place.pass_by(source.head()[: encoding.mark_bytes])
    for line in lines:
        is_whole = line.endswith(b"\n")
        if place.size - told >= (_TOLD_EVERY_BYTES if is_whole else 1):
            yield place.reached()
            told = place.size
        yield place.lines + 1, line
        if is_whole:
            place.pass_by(line)
            place.lines += 1
    if place.size > told:
        yield place.reached()


def _odd_line(number: int, text: str, *, is_last: bool) -> Iterator[Numbered | BadLine | Notice]:
    """What a line holds that is not just one JSON value: nothing, several glued together, damage."""
    record = text.lstrip(_BEFORE)
    values, why = parse_line(record)
    if text.startswith("\0") and not record.strip():
        why = "nothing but NULs"
    for value in values:
        yield number, value
    if len(values) > 1:
        yield Notice(f"line {number} holds {len(values)} records; each was read")
    if not why:
        return
    if is_last and _is_unfinished(text):
        yield BadLine(number, f"incomplete: {why}")
        yield Notice("the last line is cut off; import the file again when it is finished")
    else:
        yield BadLine(number, why)


def parse_line(text: str) -> tuple[list[Any], str]:
    """The JSON values of a line, and why something in it cannot be read ("" when all was).

    Objects glued together (`}{`, or as in an array by a comma) are several values. Nothing is repaired; but
    where a writer died in a record and has written it anew, what it wrote anew is read.
    """
    values, why, at = _values_from(text, 0)
    written_anew = _written_anew(text, at) if why else []
    return [*values, *written_anew], why


def _written_anew(text: str, torn_at: int) -> list[Any]:
    """The objects after one that is torn: they begin as that does, and go on to the end of the line."""
    begin = _FIRST_KEY.match(text, torn_at)
    at = torn_at
    for _ in range(_RESTARTS if begin else 0):
        at = text.find(begin[0] if begin else "", at + 1)
        if at < 0:
            break
        values, why, _ = _values_from(text, at)
        if values and not why:
            return values
    return []


def _values_from(text: str, start: int) -> tuple[list[Any], str, int]:
    """The values from there on, why what follows them cannot be read, and where that begins."""
    values: list[Any] = []
    at = _skip_blank(text, start)
    try:
        while at < len(text):
            if values and not (isinstance(values[-1], dict) and text[at] == "{"):
                raise json.JSONDecodeError("Extra data", text, at)
            value, end = _DECODER.raw_decode(text, at)
            values.append(_storable(value, text[at:end]))
            at = _skip_blank(text, end)
            if isinstance(value, dict) and text[at : at + 1] == ",":
                at = _skip_blank(text, at + 1)
    except RecursionError:
        return values, "nested too deeply", len(text)
    except json.JSONDecodeError as error:
        whole = [value for value in values if isinstance(value, dict)]
        where = f"column {error.colno}" if error.lineno == 1 else f"character {error.pos + 1} of the record"
        return whole, f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' at')} at {where}", at
    except ValueError:  # what int() says of more digits than sys.get_int_max_str_digits()
        return values, "a number has too many digits", len(text)
    return values, "", len(text)


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _storable(value: Any, text: str) -> Any:
    """The value without characters that cannot be stored; RecursionError when it is too deep.

    `text` is where it was read from: a NUL or half a surrogate can only come from an escape.
    """
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise RecursionError
    return _clean_all(value) if "\\u" in text else value


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _clean_all(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_all(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _clean_all(item) for key, item in value.items()}
    return value


def _is_unfinished(text: str) -> bool:
    """Whether the text ends inside a string, an object or an array."""
    return _ends_in_string(text) or _depth_at_end(text) > 0


def _ends_in_string(text: str) -> bool:
    match = _TO_END.match(text)
    return match is None or match.end() < len(text)


def _depth_at_end(text: str) -> int:
    return sum(1 if mark in CLOSER else -1 for _, mark in _marks(TO_BRACKET, text))


def _marks(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    """The brackets (and commas) outside strings, each with where it ends."""
    at = 0
    # Not finditer: where nothing more matches it would try again from inside a string.
    while match := pattern.match(text, at):
        at = match.end()
        yield at, match[1]


# --- a whole file ---------------------------------------------------------------------------------


def is_whole_json(head: str) -> bool:
    """Whether a file that begins so is one JSON array, or objects written over several lines."""
    first, _, rest = head.lstrip(_BLANK).partition("\n")
    following = next((line for line in rest.split("\n") if line.strip(_BLANK)), "")
    if not following or not first.startswith(("[", "{")):
        return first.startswith("[")
    is_torn = _ends_in_string(first)
    is_open = not is_torn and _depth_at_end(first) > 0
    if first.startswith("["):
        # A damaged byte can be a line end within a string; then what follows begins no record.
        return is_open or (is_torn and not following.lstrip(_BLANK).startswith(("[", "{")))
    # A damaged line can end like that too; then the next one is a record of its own.
    values, _ = parse_line(following)
    return is_open and not (values and isinstance(values[0], dict))


def first_values(head: str) -> list[Any]:
    """The values of a file that begins so; of one that is cut off before its first value ends, its keys."""
    if is_whole_json(head):
        texts = [piece.text for piece in islice(_Cutter().feed(head), _ENOUGH)]
    else:
        texts = head.split("\n")
    values = [value for text in texts for value in parse_line(text.strip(_BLANK + "," + _BEFORE))[0]]
    if values:
        return values
    start = _prefix_value(head)
    return start if isinstance(start, list) else [start]


def _prefix_value(text: str) -> Any:
    """The JSON value that the text is the beginning of, with what it has of it; None when it is none.

    It is cut at the last comma or opening bracket, and what is open there is closed.
    """
    closers: list[str] = []
    cut, open_there = 0, ""
    for end, mark in _marks(_TO_MARK, text):
        if mark in CLOSER:
            closers.append(CLOSER[mark])
        elif mark != "," and (not closers or closers.pop() != mark):
            break
        if len(closers) > MAX_DEPTH:
            break
        if mark == "," or mark in CLOSER:
            cut, open_there = end, "".join(reversed(closers))
    values, why = parse_line(text[:cut].removesuffix(",") + open_there)
    return values[0] if values and not why else None


def _elements(source: Source, encoding: Encoding) -> Iterator[Numbered | BadLine | Notice | Reached]:
    cutter = _Cutter()
    for chunk in chunks(source, encoding):
        for piece in cutter.feed(chunk):
            yield from _read(piece, encoding)
    for piece in cutter.rest():
        yield from _read(piece, encoding)
    if cutter.is_open and source.damage is None:
        yield Notice("the file is cut off; what it holds was read, export it again for the rest")


def element(number: int, text: str, encoding: Encoding) -> Iterator[Numbered | BadLine]:
    """What stands in an array between two commas, and what stands around the array: blanks."""
    record = text.lstrip(_BLANK + ",")
    number += text[: len(text) - len(record)].count("\n")
    values, why = parse_line(record.rstrip(_BLANK + ","))
    if values and not is_unicode(text):
        values, why = [], f"not {encoding.name}"
    for value in values:
        yield number, value
    if why:
        yield BadLine(number, why)


@dataclass(frozen=True, slots=True)
class _Piece:
    """JSON text and the line where it begins; with its value where that is known already."""

    number: int
    text: str
    value: Any = None


def _read(piece: _Piece, encoding: Encoding) -> Iterator[Numbered | BadLine]:
    if piece.value is None:
        yield from element(piece.number, piece.text, encoding)
        return
    try:
        value = _storable(piece.value, piece.text)
    except RecursionError:
        yield BadLine(piece.number, "nested too deeply")
        return
    yield (piece.number, value) if is_unicode(piece.text) else BadLine(piece.number, f"not {encoding.name}")


class _Cutter:
    """Cuts JSON text, as it comes, into the elements of its array or into the values in a row.

    The elements are decoded where they stand, which finds their ends as well; only one that cannot be
    decoded is followed bracket by bracket, so that the damage ends where it does.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._waiting: list[str] = []
        self._begin = 0  # of the element, or of what stands between two
        self._seen = 0  # up to the last bracket
        self._depth = 0
        self._outer = 0  # the depth of the elements: 1 inside an array
        self._line = 1
        self._is_last = False
        self._is_short = False  # the element goes on after the buffer

    @property
    def is_open(self) -> bool:
        """Whether something that began has not ended."""
        return self._depth > 0

    def feed(self, chunk: str) -> Iterator[_Piece]:
        """The pieces that are complete."""
        self._waiting.append(chunk)
        # A long element is read from its beginning again: each time twice as much of it.
        if sum(map(len, self._waiting)) >= len(self._buffer):
            yield from self._scan()

    def rest(self) -> Iterator[_Piece]:
        """What is left when all was fed."""
        self._is_last = True
        yield from self._scan()
        yield self._cut(len(self._buffer))

    def _scan(self) -> Iterator[_Piece]:
        self._buffer += "".join(self._waiting)
        self._waiting = []
        self._is_short = False
        while not self._is_short and (match := TO_BRACKET.match(self._buffer, self._seen)):
            self._seen = match.end()
            yield from self._open() if match[1] in CLOSER else self._close()
        self._buffer = self._buffer[self._begin :]
        self._seen -= self._begin
        self._begin = 0

    def _open(self) -> Iterator[_Piece]:
        if self._depth == 0 and self._buffer[self._seen - 1] == "[":
            yield self._cut(self._seen - 1)
            self._outer = 1
            self._begin = self._seen
        elif self._depth == self._outer:
            yield self._cut(self._seen - 1)
            value = self._decode()
            if value is not None:
                yield self._cut(self._seen, value)
            if value is not None or self._is_short:
                return
        self._depth += 1

    def _decode(self) -> Any:
        """The value that begins here; None when it is damaged or, with `_is_short`, not complete."""
        try:
            value, self._seen = _DECODER.raw_decode(self._buffer, self._begin)
        except json.JSONDecodeError as error:
            is_cut_off = error.msg.startswith("Unterminated") or error.pos > len(self._buffer) - _TOKEN_CHARS
            self._is_short = is_cut_off and not self._is_last
            if self._is_short:
                self._seen = self._begin
        except (ValueError, RecursionError):
            pass  # whoever reads the piece says what is wrong with it
        else:
            return value
        return None

    def _close(self) -> Iterator[_Piece]:
        self._depth = max(self._depth - 1, 0)
        if self._depth == self._outer:
            yield self._cut(self._seen)
        elif self._depth < self._outer:
            yield self._cut(self._seen - 1)
            self._begin = self._seen
            self._outer = 0

    def _cut(self, end: int, value: Any = None) -> _Piece:
        piece = _Piece(self._line, self._buffer[self._begin : end], value)
        self._line += piece.text.count("\n")
        self._begin = end
        return piece


def chunks(source: Source, encoding: Encoding) -> Iterator[str]:
    """The text of the file, in pieces of about a million characters."""
    stream = source.stream()
    stream.read(encoding.mark_bytes)
    # Bytes that are no text stay visible as lone surrogates, so that only their element is lost.
    errors = "replace" if encoding.is_wide else "surrogateescape"
    text = io.TextIOWrapper(stream, encoding.name, errors=errors, newline="")
    while chunk := text.read(_CHUNK_CHARS):
        yield chunk
