"""Where bytes come from: files, directories, archives and standard input, read from front to back."""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
import stat
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from memcli.errors import UsageError
from memcli.importers.container import Member, PieceStream, Unpacked, members_of
from memcli.types import Millis, Reached

if TYPE_CHECKING:
    import sqlite3

HEAD_BYTES = 1 << 16
"""How much of a file is looked at to tell its format and encoding."""

MAX_HEAD_BYTES = 1 << 22
"""How much where its first line is longer than that."""

_BUFFER_BYTES = 1 << 20

# What is told by its first bytes; everything else is text or no format's.
_KINDS = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PK\x07\x08", "zip"),
    (b"SQLite format 3\0", "sqlite"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"BZh91AY&SY", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"age-encryption.org/", "encrypted with age"),
    (b"-----BEGIN AGE ENCRYPTED FILE-----", "encrypted with age"),
    (b"PAR1\x15", "a Parquet table"),  # with the first byte of what follows: a note may begin with PAR1
)
_TAR_MAGIC = slice(257, 262), b"ustar"
_WAL = b"\x02\x02"  # bytes 18 and 19 of an SQLite file whose newest pages may lie beside it


class Source:
    """A file, opened when it is first looked at. It is read once; `head` may be asked for at any time.

    gzip and zstd are taken off: all that is said here of its bytes is said of what they unpack to, except
    `size` and `bytes_read`, which count the file as it lies there.

    `path` names it in messages, `name` is its place in its archive or directory, with slashes;
    `siblings` opens the others of its archive by such names. `key` is its real path, the same however it was
    reached, None for standard input; `mtime_ms` is when it was last changed; `is_named` says that somebody
    asked for this very file, not only for the directory it is in, `is_member` that it lies in an archive.
    `place` is how far it was read by lines; None, as it is until `go_on`, where nobody wants to know.
    """

    def __init__(
        self,
        path: str,
        open_stream: Callable[[], BinaryIO],
        *,
        key: str | None = None,
        size: int | None = None,
        mtime_ms: Millis | None = None,
        name: str | None = None,
        siblings: Mapping[str, Callable[[], Source]] | None = None,
        file: Path | None = None,
        is_named: bool = True,
        is_member: bool = False,
    ) -> None:
        self.path = path
        self.key = key
        self.size = size
        self.mtime_ms = mtime_ms
        self.name = name or PurePath(path).name
        self.is_named = is_named
        self.is_member = is_member
        self.damage: UsageError | None = None
        self.place: Place | None = None
        self._open_stream = open_stream
        self._file = file
        self._siblings: Mapping[str, Callable[[], Source]] = siblings or {}
        self._opened: BinaryIO | None = None
        self._copy: Path | None = None
        self._remove_copy: Callable[[], object] | None = None
        self._stream: Unpacked | None = None
        self._head: bytes | None = None
        self._unread = b""
        self._taken_bytes = 0
        self._is_read = False
        self._sha256 = hashlib.sha256()

    @property
    def kind(self) -> str:
        """What its first bytes tell: "text" (which may be anything), "zip", "sqlite", "a picture"…"""
        for magic, kind in _KINDS:
            if self.head().startswith(magic):
                return kind
        place, magic = _TAR_MAGIC
        return "a tar archive" if self.head()[place] == magic else "text"

    @property
    def bytes_read(self) -> int:
        """How many of its `size` bytes are behind us."""
        packed = self._stream.packed_bytes if self._stream is not None else None
        return self._taken_bytes if packed is None else packed

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the bytes read so far: of all of them once the stream is at its end."""
        return self._sha256.hexdigest()

    def head(self) -> bytes:
        """The first HEAD_BYTES and the rest of the first line. Raises UsageError when unreadable."""
        if self._head is None:
            head = b""
            missing = HEAD_BYTES
            while _wants_more(head) and (more := self._fetch(missing)):
                head += more
                missing = HEAD_BYTES - len(head) if len(head) < HEAD_BYTES else _BUFFER_BYTES
            if not head and self.damage:
                raise self.damage
            self._head = self._unread = head
        return self._head

    def begins_with(self, *signs: bytes) -> bool:
        """Whether the text begins with one of the signs, after a byte order mark and blanks."""
        return self.head().lstrip(b"\xef\xbb\xbf \t\r\n").startswith(signs)

    def stream(self) -> io.BufferedReader:
        """All the bytes, from the first. What cannot be read is the end of it; `damage` says why."""
        self.head()
        return io.BufferedReader(PieceStream(self._takings()), _BUFFER_BYTES)

    @property
    def is_read(self) -> bool:
        """Whether it was read to its end."""
        return self._is_read

    @property
    def can_go_on(self) -> bool:
        """Whether a later reading can begin in the middle: it is a file on a disk, without compression."""
        self.head()
        return self._file is not None and self._stream is not None and self._stream.packed_bytes is None

    def place_after(self, size: int, lines: int) -> Place | None:
        """The place after so many bytes in so many lines; None where there are not so many."""
        place, missing = Place(lines=lines), size
        with self._open_stream() as stream:
            while missing and (piece := stream.read(min(missing, _BUFFER_BYTES))):
                place.pass_by(piece)
                missing -= len(piece)
        return None if missing else place

    def go_on(self, after: Place | None) -> None:
        """Read from a place between two lines, or from the first byte, and tell how far it came."""
        self.head()
        self.place = after or Place()
        if after is not None and self._opened is not None:
            self._opened.seek(after.size)
            self._stream = Unpacked(self._opened, is_plain=True)
            self._unread, self._taken_bytes, self._sha256 = b"", after.size, after.sha256.copy()

    def finish(self) -> None:
        """Read what is left, for `damage` and `digest`."""
        stream = self.stream()
        while stream.read(_BUFFER_BYTES):
            pass

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all its bytes, read again for it unless they were read to the end."""
        if self._is_read or self.key is None:
            return self.digest
        with Source(self.path, self._open_stream) as again:
            again.finish()
            return again.digest

    def beside(self, name: str) -> Source | None:
        """The file of this name as seen from the folder that this one lies in ("../users.json"), if any.

        It may lie outside of the directory that somebody named.
        """
        if self._file is not None:
            path = self._file.parent / name
            if not path.is_file():
                return None
            return _regular(path, path.stat(), root=path.parent, key=os.path.realpath(path))
        opening = self._siblings.get(posixpath.normpath(str(PurePosixPath(self.name).parent / name)))
        return opening() if opening else None

    @contextmanager
    def members(self) -> Iterator[Mapping[str, Callable[[], Source]]]:
        """What opens the files of a zip archive, in order of name; each has the others as siblings.

        They can be opened until the `with` block ends. Raises UsageError for a damaged archive.
        """
        with self.file() as path, path.open("rb") as archive:
            try:
                listed = members_of(archive)
            except OSError as error:
                raise UsageError(f"{self.path} cannot be read: {_reason(error)}", "get it again") from error
            openers: dict[str, Callable[[], Source]] = {}
            openers |= {member.name: partial(self._member, member, openers) for member in listed}
            yield openers

    @contextmanager
    def file(self) -> Iterator[Path]:
        """A file of its bytes for a reader that wants a path: its own, or a private copy until closed."""
        self.head()
        if self._file is not None and self._stream is not None and self._stream.packed_bytes is None:
            yield self._file
            return
        if self._copy is None:
            self._copy = self._copied()
        yield self._copy

    def _copied(self) -> Path:
        """The bytes in a file that only this user reads, gone with this source. They can be read but once."""
        import shutil
        import tempfile

        directory = tempfile.mkdtemp(prefix="memcli-")
        self._remove_copy = weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        copy = Path(directory, "copy")
        with copy.open("xb") as spool, self.stream() as stream:
            copy.chmod(0o600)
            shutil.copyfileobj(stream, spool, _BUFFER_BYTES)
        if self.damage is not None:
            raise self.damage
        return copy

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """The SQLite database, opened for reading only, as it was at one moment.

        Raises UsageError for whatever SQLite says of it, in the `with` block too.
        """
        import sqlite3

        with self.file() as path:
            try:
                with closing(sqlite3.connect(_read_only(path, self.head()), uri=True)) as database:
                    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
                    database.execute("PRAGMA trusted_schema = OFF")
                    database.execute("BEGIN")
                    yield database
            except (sqlite3.Error, UnicodeDecodeError) as error:
                # SQLite's own names are text to it whatever their bytes are.
                raise UsageError(f"{self.path} cannot be read as an SQLite database: {error}") from error

    def close(self) -> None:
        """Let go of the file; what was read stays known. Standard input is not ours to close."""
        if self._remove_copy is not None:
            self._remove_copy()
        if self._opened is not None and self.path != "-":
            self._opened.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _member(self, member: Member, siblings: Mapping[str, Callable[[], Source]]) -> Source:
        name = _printable(member.name)
        return Source(
            f"{self.path}!{name}",
            member.open,
            key=f"{self.key}!{name}" if self.key else None,
            size=member.size,
            mtime_ms=member.mtime_ms,
            name=name,
            siblings=siblings,
            is_member=True,
        )

    def _takings(self) -> Iterator[bytes]:
        while taken := self._unread or self._fetch(_BUFFER_BYTES):
            self._unread = b""
            self._sha256.update(taken)
            self._taken_bytes += len(taken)
            yield taken
        self._is_read = True

    def _fetch(self, size: int) -> bytes:
        """The next bytes, at most so many; none where they end or, from then on, cannot be read."""
        if self.damage is not None:
            return b""
        try:
            if self._stream is None:
                self._opened = self._open_stream()
                self._stream = Unpacked(self._opened)
            return self._stream.read(size) or b""
        except OSError as error:
            self.damage = UsageError(f"{self.path} cannot be read: {_reason(error)}")
            return b""


@dataclass(slots=True)
class Place:
    """How far a file was read: so many bytes and lines, and their SHA-256."""

    size: int = 0
    lines: int = 0
    sha256: hashlib._Hash = field(default_factory=hashlib.sha256)

    def pass_by(self, data: bytes) -> None:
        """Go so many bytes further; whoever passes a line counts it."""
        self.size += len(data)
        self.sha256.update(data)

    def reached(self) -> Reached:
        """The place as it is now."""
        return Reached(self.size, self.lines, self.sha256.hexdigest())


def _wants_more(head: bytes) -> bool:
    return len(head) < HEAD_BYTES or (len(head) < MAX_HEAD_BYTES and b"\n" not in head)


def _read_only(path: Path, head: bytes) -> str:
    """The URI under which SQLite changes nothing, in the directory either.

    A database in WAL mode without its log is nobody's at the moment; opened as usual, SQLite would make
    a new log beside it.
    """
    has_log = path.with_name(f"{path.name}-wal").exists()
    is_alone = head[18:20] == _WAL and not has_log
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_alone else ''}"


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
    root = start if start.is_dir() else start.parent
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
                yield _file(path, status, key=real, root=root, named=path is start)
        except OSError as error:
            yield Unreadable(_printable(path), _reason(error))


def _visible(directory: Path) -> Iterator[Path]:
    return (entry for entry in directory.iterdir() if not entry.name.startswith("."))


def _file(path: Path, status: os.stat_result, *, key: str, root: Path, named: bool) -> Source | Unreadable:
    if stat.S_ISREG(status.st_mode):
        return _regular(path, status, root=root, key=key, named=named)
    # A pipe that somebody names is meant (`memcli import <(zcat old.gz)`); one in a directory would hang.
    if named and (stat.S_ISFIFO(status.st_mode) or _is_stdin(status)):
        return Source(_printable(path), lambda: path.open("rb"))
    is_device = stat.S_ISCHR(status.st_mode)  # which may have no end: /dev/zero
    return Unreadable(_printable(path), "it is a device, not a file" if is_device else "not a regular file")


def _is_stdin(status: os.stat_result) -> bool:
    """Whether it is what standard input reads: a terminal by the name of /dev/stdin."""
    try:
        return os.path.samestat(status, os.fstat(0))
    except OSError:  # closed
        return False


def _regular(path: Path, status: os.stat_result, *, root: Path, key: str, named: bool = False) -> Source:
    return Source(
        _printable(path),
        lambda: path.open("rb"),
        key=_printable(key),
        size=status.st_size,
        mtime_ms=status.st_mtime_ns // 1_000_000,
        name=_printable(path.relative_to(root).as_posix()),
        file=path,
        is_named=named,
    )


def _printable(path: str | Path) -> str:
    """The path as text that can be printed and stored, also when its bytes are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
