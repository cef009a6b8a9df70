"""Where bytes come from: files, directories and standard input, each read once from front to back."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from memcli.errors import UsageError
from memcli.types import Millis

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD_BYTES = 1 << 16
"""How much of a file is looked at to tell its format and encoding."""

MAX_HEAD_BYTES = 1 << 22
"""How much where its first line is longer than that."""

_BUFFER_BYTES = 1 << 20

# Containers and pictures, told by their first bytes. A reader of one of them slots in where
# `Source.refuse_packed` refuses: between the opened file and the bytes that `stream` hands on.
_PACKED = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
)


class Source:
    """A file, opened when it is first looked at. It is read once; `head` may be asked for at any time.

    `path` names it in messages; `key` is its real path, the same however it was reached, None for
    standard input; `size` is in bytes and None where unknown, `mtime_ms` when it was last changed.
    """

    def __init__(
        self,
        path: str,
        open_stream: Callable[[], BinaryIO],
        *,
        key: str | None = None,
        size: int | None = None,
        mtime_ms: Millis | None = None,
    ) -> None:
        self.path = path
        self.key = key
        self.size = size
        self.mtime_ms = mtime_ms
        self.bytes_read = 0
        self._open_stream = open_stream
        self._stream: BinaryIO | None = None
        self._head: bytes | None = None
        self._unread = b""
        self._sha256 = hashlib.sha256()

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the bytes read so far: of all of them once the stream is at its end."""
        return self._sha256.hexdigest()

    def head(self) -> bytes:
        """The first HEAD_BYTES and the rest of the first line. Raises UsageError when unreadable."""
        if self._head is None:
            head = self._fetch(HEAD_BYTES)
            while b"\n" not in head and len(head) < MAX_HEAD_BYTES and (more := self._fetch(_BUFFER_BYTES)):
                head += more
            self._head = self._unread = head
        return self._head

    def stream(self) -> io.BufferedReader:
        """All the bytes, from the first. Reading raises UsageError when the file cannot be read."""
        self.head()
        return io.BufferedReader(_Tap(self._take), _BUFFER_BYTES)

    def refuse_packed(self) -> None:
        """Raise UsageError for what is no text: an archive, a database, a picture."""
        for magic, what in _PACKED:
            if self.head().startswith(magic):
                raise UsageError(
                    f"{self.path} is {what}, which cannot be read yet",
                    "unpack or export it as JSON, CSV, Markdown or text, and import that",
                )

    def close(self) -> None:
        """Let go of the file; what was read stays known. Standard input is not ours to close."""
        if self._stream is not None and self.path != "-":
            self._stream.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, size: int) -> bytes:
        taken = self._unread[:size] or self._fetch(size)
        self._unread = self._unread[size:]
        self._sha256.update(taken)
        self.bytes_read += len(taken)
        return taken

    def _fetch(self, size: int) -> bytes:
        try:
            if self._stream is None:
                self._stream = self._open_stream()
            return self._stream.read(size)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {_reason(error)}") from error


class _Tap(io.RawIOBase):
    """A raw stream over a function that hands out the next bytes."""

    def __init__(self, take: Callable[[int], bytes]) -> None:
        super().__init__()
        self._take = take

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        taken = self._take(len(view))
        view[: len(taken)] = taken
        return len(taken)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A path that is left out, and why: one short phrase."""

    path: str
    why: str


def sources(paths: Iterable[str], *, stdin: BinaryIO | None = None) -> Iterator[Source | Unreadable]:
    """What the paths hold, in order; `-` is standard input.

    Directories are walked in order of name, hidden entries left out. A file that several paths or
    links lead to comes once. What cannot be read comes as Unreadable and stops nothing.
    """
    seen: set[str] = set()
    for path in paths:
        if path == "-":
            yield Source("-", lambda: stdin or sys.stdin.buffer)
        else:
            yield from _walk(Path(path), seen)


def _walk(start: Path, seen: set[str]) -> Iterator[Source | Unreadable]:
    waiting = [start]
    while waiting:
        path = waiting.pop()
        try:
            status = path.stat()
            real = os.path.realpath(path)
            if real in seen:
                continue
            seen.add(real)
            if stat.S_ISDIR(status.st_mode):
                waiting += sorted(_visible(path), reverse=True)
            else:
                yield _file(path, status, key=real, named=path is start)
        except OSError as error:
            yield Unreadable(_printable(path), _reason(error))


def _visible(directory: Path) -> Iterator[Path]:
    return (entry for entry in directory.iterdir() if not entry.name.startswith("."))


def _file(path: Path, status: os.stat_result, *, key: str, named: bool) -> Source | Unreadable:
    label = _printable(path)
    if stat.S_ISREG(status.st_mode):
        return Source(
            label,
            lambda: path.open("rb"),
            key=_printable(key),
            size=status.st_size,
            mtime_ms=status.st_mtime_ns // 1_000_000,
        )
    # A pipe that somebody names is meant (`memcli import <(zcat old.gz)`); one in a directory would hang.
    if named and (stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)):
        return Source(label, lambda: path.open("rb"))
    return Unreadable(label, "not a regular file")


def _printable(path: str | Path) -> str:
    """The path as text that can be printed and stored, also when its bytes are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
