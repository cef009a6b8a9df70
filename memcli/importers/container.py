"""What files are packed in: gzip and zstd streams, zip archives. Nothing is unpacked to a name on disk."""

from __future__ import annotations

import io
import stat
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from memcli.types import Millis

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

    from _typeshed import WriteableBuffer

MAX_RATIO = 200
"""What unpacks to more than so many times its size is taken for a bomb, …"""

MAX_RATIO_FROM_BYTES = 10 << 20
"""… once it is larger than this."""

MAX_UNPACKED_BYTES = 20 << 30
"""So much is unpacked of one file at most."""

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

_PIECE_BYTES = 1 << 18
_JUNK_NAMES = {"thumbs.db", "desktop.ini"}
_ENCRYPTED = 0x1


class _Packed(Protocol):
    def read1(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive.

    `name` is its path there, only ever used as a label; `size` is in bytes; `open` begins its content,
    and reading that raises OSError where it is damaged, encrypted or a bomb.
    """

    name: str
    size: int
    mtime_ms: Millis | None
    open: Callable[[], BinaryIO]


class PieceStream(io.RawIOBase):
    """A stream of bytes that come in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer, or its beginning; 0 when there is no more."""
        view = memoryview(buffer)
        rest = self._rest or next(self._pieces, b"")
        taken = rest[: len(view)]
        self._rest = rest[len(view) :]
        view[: len(taken)] = taken
        return len(taken)


class Unpacked(PieceStream):
    """A stream without its gzip or zstd compression, if it has one.

    `packed_bytes` is how much of the compressed stream was taken, None where it is not compressed.
    Reading raises OSError where the data is damaged or cut off, after all that stands before, and for a
    bomb. `is_plain` says that it begins in the middle of a file without compression, whatever it looks like.
    """

    def __init__(self, stream: BinaryIO, *, is_plain: bool = False) -> None:
        self.packed_bytes: int | None = None
        super().__init__(iter(lambda: stream.read(_PIECE_BYTES), b"") if is_plain else self._unpack(stream))

    def _unpack(self, stream: BinaryIO) -> Iterator[bytes]:
        first = stream.read(len(_ZSTD_MAGIC))
        plain = chain((first,) if first else (), iter(lambda: stream.read(_PIECE_BYTES), b""))
        if not first.startswith((_GZIP_MAGIC, _ZSTD_MAGIC)):
            yield from plain
            return
        self.packed_bytes = 0
        packed = io.BufferedReader(PieceStream(self._counted(plain)), _PIECE_BYTES)
        opened, errors = (_open_gzip if first.startswith(_GZIP_MAGIC) else _open_zstd)(packed)
        yield from _limited(_translated(opened, errors), lambda: self.packed_bytes or 0)

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.packed_bytes = (self.packed_bytes or 0) + len(piece)
            yield piece


def members_of(archive: BinaryIO) -> list[Member]:
    """The files of a zip archive in order of name, without what operating systems leave in one.

    `archive` must stay open as long as members are read. Raises OSError for a damaged archive.
    """
    from zipfile import BadZipFile, ZipFile

    try:
        opened = ZipFile(archive)
    except (BadZipFile, ValueError, NotImplementedError) as error:
        raise OSError("the zip archive is damaged or cut off") from error
    listed = [_member(opened, info) for info in opened.infolist() if _is_file(info)]
    return sorted(listed, key=lambda member: member.name)


def _is_file(info: ZipInfo) -> bool:
    """Whether it is a file that somebody put there: no directory, link, resource fork or hidden file."""
    if not info.filename:
        return False
    parts = info.filename.split("/")
    is_hidden = any(part.startswith(".") and part.strip(".") for part in parts)
    is_junk = parts[0] == "__MACOSX" or parts[-1].lower() in _JUNK_NAMES
    return not (info.is_dir() or is_hidden or is_junk or stat.S_ISLNK(info.external_attr >> 16))


def _member(archive: ZipFile, info: ZipInfo) -> Member:
    return Member(
        info.filename,
        info.file_size,
        _zip_time(info),
        lambda: io.BufferedReader(PieceStream(_member_pieces(archive, info))),
    )


def _zip_time(info: ZipInfo) -> Millis | None:
    """When the member was last changed; zip keeps local time and names no zone."""
    try:
        return int(time.mktime((*info.date_time, 0, 0, -1))) * 1000
    except (ValueError, OverflowError):
        return None


def _member_pieces(archive: ZipFile, info: ZipInfo) -> Iterator[bytes]:
    import lzma
    import zlib
    from zipfile import BadZipFile

    if info.flag_bits & _ENCRYPTED:
        raise OSError("it is encrypted; unpack the archive with its password and import the folder")
    _refuse_bomb(info.file_size, info.compress_size)
    # ValueError: a name before the content that is no text.
    errors = (
        *(BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ValueError),
        *(lzma.LZMAError, zlib.error),
    )
    try:
        opened = archive.open(info)
    except errors as error:
        raise OSError(f"it cannot be unpacked: {error}") from error
    with opened:
        yield from _limited(_translated(cast(_Packed, opened), errors), lambda: info.compress_size)


def _open_gzip(stream: BinaryIO) -> tuple[_Packed, tuple[type[Exception], ...]]:
    import gzip
    import zlib

    return gzip.GzipFile(fileobj=stream), (EOFError, OSError, zlib.error)


def _open_zstd(stream: BinaryIO) -> tuple[_Packed, tuple[type[Exception], ...]]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    return zstd.ZstdFile(stream), (EOFError, OSError, zstd.ZstdError)


def _translated(opened: _Packed, errors: tuple[type[Exception], ...]) -> Iterator[bytes]:
    try:
        # Not read(): it would lose what stands before the damage.
        while piece := opened.read1(_PIECE_BYTES):
            yield piece
    except EOFError as error:
        raise OSError("the compressed data is cut off") from error
    except errors as error:
        raise OSError(f"the compressed data is damaged: {error}") from error


def _limited(pieces: Iterator[bytes], consumed: Callable[[], int]) -> Iterator[bytes]:
    unpacked = 0
    for piece in pieces:
        unpacked += len(piece)
        _refuse_bomb(unpacked, consumed())
        yield piece


def _refuse_bomb(unpacked_bytes: int, packed_bytes: int) -> None:
    why = bomb(unpacked_bytes, packed_bytes)
    if why is not None:
        raise OSError(why)


def bomb(unpacked_bytes: int, packed_bytes: int) -> str | None:
    """Why so much out of so little is not read; None when it may be."""
    if unpacked_bytes > max(MAX_RATIO_FROM_BYTES, MAX_RATIO * packed_bytes):
        return f"it unpacks to more than {MAX_RATIO} times its size and is not read"
    if unpacked_bytes > MAX_UNPACKED_BYTES:
        return f"it unpacks to more than {MAX_UNPACKED_BYTES >> 30} GiB and is not read"
    return None
