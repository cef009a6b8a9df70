"""A backup as one file: a tar of the files of a store, a sum of each of them, and one of the whole.

Tar, because it is written and read in one go, also through encryption, and any system can open it; not
compressed, because vectors do not get smaller and the tables are compressed already. The first member says
what it is, the last but one holds the SHA-256 sum of each file, and the last that of every byte before it,
so that no bit of the file can flip unseen.
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from memcli.errors import StoreError
from memcli.times import to_iso
from memcli.types import Millis

FORMAT = 1
"""Of the file; a later one is not read."""

FOLDER = "memcli-backup"
_ABOUT, _SUMS, _SEAL = "about.json", "sums.json", "SHA256"
_BLOCK = 512
_CHUNK_BYTES = 1 << 20
# A header, a sum, and the two empty blocks at the end of every tar.
_SEAL_BYTES = 4 * _BLOCK
_JSON_BYTES = 256 << 20


class Source(Protocol):
    """Where bytes come from."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most so many; none at the end."""
        ...


@dataclass(frozen=True, slots=True)
class About:
    """What a backup says of itself: of whose store, when it was made and by what, and how much is in it."""

    user: str
    made_at: Millis
    version: str
    schema: int
    memories: int
    sessions: int
    bytes: int


# --- writing --------------------------------------------------------------------------------------


def pieces(about: About, files: Iterable[tuple[str, Path]]) -> Iterator[bytes]:
    """The bytes of a backup of these files, each under its name.

    Raises StoreError for a file that cannot be read or changes meanwhile.
    """
    whole = hashlib.sha256()
    sums: dict[str, Mapping[str, Any]] = {}
    for piece in _members(about, files, sums):
        whole.update(piece)
        yield piece
    yield _seal(whole.hexdigest())


def _members(
    about: About, files: Iterable[tuple[str, Path]], sums: dict[str, Mapping[str, Any]]
) -> Iterator[bytes]:
    at_s = max(0, about.made_at // 1000)
    told = {"program": "memcli", "format": FORMAT, **asdict(about)}
    yield from _json_member(_ABOUT, told, at_s=at_s)
    for name, path in files:
        with _reading(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            yield _header(name, size, at_s=at_s)
            digest, left = hashlib.sha256(), size
            while left and (chunk := stream.read(min(left, _CHUNK_BYTES))):
                digest.update(chunk)
                left -= len(chunk)
                yield chunk
        if left:
            raise StoreError(f"{path} became shorter while it was copied", "run the command again")
        yield _padding(size)
        sums[name] = {"bytes": size, "sha256": digest.hexdigest()}
    yield from _json_member(_SUMS, sums, at_s=at_s)


@contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") as stream:
            yield stream
    except FileNotFoundError as error:
        raise StoreError(
            "something was forgotten while the backup was made", "run the command again"
        ) from error
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read ({error.strerror or error})", "run `memcli doctor`"
        ) from error


def _json_member(name: str, value: object, *, at_s: int) -> Iterator[bytes]:
    data = json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"
    yield from (_header(name, len(data), at_s=at_s), data, _padding(len(data)))


def _header(name: str, size: int, *, at_s: int) -> bytes:
    about = tarfile.TarInfo(f"{FOLDER}/{name}")
    about.size, about.mode, about.mtime = size, 0o600, at_s
    return about.tobuf(tarfile.PAX_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def _seal(digest: str) -> bytes:
    data = f"{digest}\n".encode()
    end = _header(_SEAL, len(data), at_s=0) + data + _padding(len(data))
    return end.ljust(_SEAL_BYTES, b"\0")


# --- reading --------------------------------------------------------------------------------------

Put = Callable[[str, Iterator[bytes]], None]
"""Takes the name of a file and its bytes."""


def read(stream: Source, *, put: Put, check: Callable[[About], None]) -> About:
    """Read a backup to its end, and see that every bit is as it was written.

    Args:
        stream: its bytes.
        put: given each file as it comes; whether it is whole is only known at the end.
        check: told what it is before any file; may raise.

    Raises:
        StoreError: it is none, is damaged, is cut short, or a later version made it.
    """
    sealed = _Sealed(stream)
    with _translated(), tarfile.open(fileobj=sealed, mode="r|", bufsize=_CHUNK_BYTES) as tar:  # type: ignore[call-overload]
        about, promised, found = None, None, dict[str, Mapping[str, Any]]()
        for member in tar:
            name, data = _name(member), tar.extractfile(member)
            if data is None or promised is not None or (name in found) or (about is None) != (name == _ABOUT):
                raise damaged()
            if about is None:
                about = _about(data.read(_JSON_BYTES))
                check(about)
            elif name == _SUMS:
                promised = json.loads(data.read(_JSON_BYTES))
            else:
                counted = _Counted(data)
                put(name, iter(counted))
                found[name] = {"bytes": counted.size, "sha256": counted.digest.hexdigest()}
    if about is None or promised is None:
        raise StoreError("the backup is cut short or damaged", _ANOTHER)
    wrong = sorted(name for name in {*promised, *found} if promised.get(name) != found.get(name))
    if wrong:
        raise StoreError(f"the backup is damaged: {wrong[0]} is not what was saved", _ANOTHER)
    if not sealed.is_whole():
        raise damaged()
    return about


_ANOTHER = "nothing was changed; take another backup"


def damaged() -> StoreError:
    """What to say of a backup whose parts do not make the store that was saved."""
    return StoreError("the backup is damaged: its parts are not what was saved", _ANOTHER)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, ValueError, OverflowError, LookupError, TypeError) as error:
        raise StoreError("this is no backup of memcli, or a damaged one", _ANOTHER) from error


def _name(member: tarfile.TarInfo) -> str:
    """The name of a file of a store, inside of it and nowhere else."""
    folder, _, name = member.name.partition("/")
    parts = PurePosixPath(name).parts
    is_inside = bool(parts) and "/".join(parts) == name and ".." not in parts and "\\" not in name
    is_ours = name in (_ABOUT, _SUMS, "side.db") or (len(parts) > 2 and parts[0] == "lance")
    if folder != FOLDER or not member.isreg() or not is_inside or not is_ours:
        raise damaged()
    return name


def _about(data: bytes) -> About:
    told = json.loads(data)
    if told.pop("program") != "memcli":
        raise ValueError("another program's")
    form = told.pop("format")
    if form > FORMAT:
        raise StoreError(
            f"this backup was made by a newer memcli (format {form}, ours is {FORMAT})",
            "update memcli; nothing was touched",
        )
    about = About(**told)
    counts = (about.schema, about.memories, about.sessions, about.bytes)
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        raise ValueError("what it counts is no number")
    # Raises for what is no moment.
    to_iso(about.made_at)
    return about


@dataclass(slots=True)
class _Counted:
    """The bytes of a file, with their number and their sum."""

    stream: IO[bytes]
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self.stream.read(_CHUNK_BYTES):
            self.size += len(chunk)
            self.digest.update(chunk)
            yield chunk


@dataclass(slots=True)
class _Sealed:
    """The bytes of a backup up to its seal, and whether that fits them."""

    stream: Source
    _held: bytes = b""
    _whole: Any = field(default_factory=hashlib.sha256)

    def read(self, size: int) -> bytes:
        """The next bytes; the seal is kept back."""
        while len(self._held) < size + _SEAL_BYTES and (chunk := self.stream.read(_CHUNK_BYTES)):
            self._held += chunk
        give = max(0, min(size, len(self._held) - _SEAL_BYTES))
        given, self._held = self._held[:give], self._held[give:]
        self._whole.update(given)
        return given

    def is_whole(self) -> bool:
        """Whether every byte up to the seal is what was sealed. Reads to the end."""
        while self.read(_CHUNK_BYTES):
            pass
        return self._held == _seal(self._whole.hexdigest())
