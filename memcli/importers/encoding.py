"""From bytes to text: which encoding, lines, whole texts."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass

from memcli.errors import UsageError
from memcli.importers.source import Source
from memcli.text import clean
from memcli.types import Notice

MAX_TEXT_BYTES = 64 << 20
"""A larger text is no note: kept whole it would be one memory that nothing can find or show."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# The encodings that are believed when they are guessed: their characters are pairs of bytes, and a text
# in another one is full of impossible pairs. A wrong guess among the single-byte ones never shows.
_FAMILIES = {
    "chinese": ("gb18030", "gbk", "gb2312"),
    "taiwanese": ("big5", "big5hkscs", "cp950"),
    "japanese": ("cp932", "shift_jis", "shift_jis_2004", "shift_jisx0213"),
    "japanese unix": ("euc_jp", "euc_jis_2004", "euc_jisx0213"),
    "korean": ("cp949", "euc_kr"),
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names}
# Text in these is full of NULs; which of them it is shows, and whether it is any.
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_MIN_ASCII = 0.2

_MAX_CHAOS, _MIN_COHERENCE = 0.02, 0.1
_GUESS_BYTES = 16 << 10
_RARE_BYTES = 4 << 10
"""One byte in so many that is not UTF-8 is damage; no text in another encoding has so few."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file become text. `mark_bytes` is the length of its byte order mark."""

    name: str
    mark_bytes: int = 0
    guessed: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether a character is two or four bytes, so that a line cannot be cut out as bytes."""
        return self.name.replace("_", "-").lower().startswith(("utf-16", "utf-32", "u16", "u32"))

    @property
    def line_codec(self) -> str:
        """What the lines of `byte_lines` are decoded with."""
        return "utf-8" if self.is_wide else self.name

    def notices(self) -> Iterator[Notice]:
        """What the person should know about it."""
        if self.guessed:
            yield Notice(f"read as {self.name}, which the file does not declare; --encoding says otherwise")


def encoding_of(sample: bytes, *, asked: str | None, path: str, by_line: bool = False) -> Encoding:
    """The encoding of a file that begins with the sample.

    A byte order mark decides; then UTF-8 if the sample is valid and not plain ASCII; then what was
    asked for; then a guess, when it is clear. With `by_line` the sample is UTF-8 as long as most of it
    is, so that a damaged line does not condemn its file.

    Raises UsageError when none of these tells it.
    """
    marked = _marked(sample)
    if marked is not None:
        return marked
    if asked and (sample.isascii() or not _is_utf8(sample)):
        return Encoding(_known(asked))
    wide = _unmarked_wide(sample)
    if wide is not None:
        return Encoding(wide, guessed=True)
    if _is_utf8(sample) or (by_line and _is_mostly_utf8(sample)):
        return Encoding("utf-8")
    guess = _guess(sample)
    if guess is None:
        raise UsageError(
            f"{path} is not UTF-8, and its encoding cannot be told",
            "name it: --encoding gb18030 (or big5, shift_jis, cp1251, cp1252, latin-1, …)",
        )
    return Encoding(guess, guessed=True)


def is_binary(sample: bytes) -> bool:
    """Whether the bytes are no text in any encoding that needs no naming."""
    return b"\0" in sample and _marked(sample) is None and _unmarked_wide(sample) is None


def byte_lines(source: Source, encoding: Encoding) -> Iterator[bytes]:
    """The physical lines, `\\n` included; in UTF-8 when the encoding is wide, else as they are.

    Only `\\n` ends a line: U+2028, U+0085 and a lone `\\r` are text.
    """
    stream = source.stream()
    if source.place is None or not source.place.size:
        stream.read(encoding.mark_bytes)
    if encoding.is_wide:
        # Here "replace" only ever meets lone surrogates and half a character at a torn end.
        wide = io.TextIOWrapper(stream, encoding.name, errors="replace", newline="\n")
        return (line.encode() for line in wide)
    return iter(stream)


def read_text(source: Source, *, asked: str | None) -> tuple[str, Encoding]:
    """The whole of a file as text, line ends made `\\n`.

    Raises UsageError when it is too large, not text, or its encoding cannot be told.
    """
    with source.stream() as stream:
        data = stream.read(MAX_TEXT_BYTES + 1)
    if source.damage is not None:  # half a note would look like a whole one
        raise source.damage
    if len(data) > MAX_TEXT_BYTES:
        raise UsageError(
            f"{source.path} is too large to be one memory (over {MAX_TEXT_BYTES >> 20} MiB)", "split it"
        )
    encoding = encoding_of(data, asked=asked, path=source.path)
    try:
        text = data[encoding.mark_bytes :].decode(encoding.name)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{source.path} is not {encoding.name} (byte {error.start + encoding.mark_bytes})",
            "name its encoding: --encoding",
        ) from error
    return clean(text.replace("\r\n", "\n")), encoding


def _marked(sample: bytes) -> Encoding | None:
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name, mark_bytes=len(mark))
    return None


def _unmarked_wide(sample: bytes) -> str | None:
    """The encoding of two or four bytes a character in which the sample is text that begins with ASCII."""
    if b"\0" not in sample[:4]:
        return None
    for name in _WIDE:
        try:
            text = codecs.getincrementaldecoder(name)().decode(sample)
        except UnicodeDecodeError:
            continue
        is_text = all(char >= " " or char in "\t\n\r" for char in text)
        if is_text and text[:2].isascii() and sum(map(str.isascii, text)) > _MIN_ASCII * len(text):
            return name
    return None


def _known(name: str) -> str:
    try:
        "".encode(name)
    except LookupError as error:
        raise UsageError(
            f"there is no encoding {name!r}", "for example: gb18030, big5, shift_jis, cp1252"
        ) from error
    return name


def _is_utf8(data: bytes) -> bool:
    try:
        # A character that the end of a sample cuts is not an error.
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_utf8(sample: bytes) -> bool:
    """Whether half of the lines are UTF-8, or half of what is not ASCII, or there is next to nothing else."""
    verdicts = [_is_utf8(line) for line in sample.split(b"\n") if line and not line.isspace()]
    text = sample.decode("utf-8", "surrogateescape")
    strange = sum("\udc80" <= char <= "\udcff" for char in text)
    known = sum(not char.isascii() for char in text) - strange
    return 2 * sum(verdicts) >= len(verdicts) or strange <= known or strange * _RARE_BYTES <= len(sample)


def _guess(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes

    if len(sample) > _GUESS_BYTES:  # whole lines of it: half a character speaks against every guess
        sample = sample[:_GUESS_BYTES].rpartition(b"\n")[0] or sample
    matches = from_bytes(sample)
    best = matches.best()
    if best is None or best.encoding not in _FAMILY_OF:
        return None
    family = _FAMILY_OF[best.encoding]
    rivals = [m for m in matches if m.coherence > 0 and _FAMILY_OF.get(m.encoding) != family]
    is_clear = best.chaos <= _MAX_CHAOS and best.coherence >= _MIN_COHERENCE and not rivals
    return _FAMILIES[family][0] if is_clear else None
