"""Backups: the store as it is at one moment, in one file; and put back, whole or not at all.

A backup is copied from a snapshot: under the writers' lock only the snapshot is taken, which costs a moment.
Whoever forgets meanwhile drops it, and the backup is not made: it would hold what was forgotten.

A restore puts the tables of the backup beside those in use, under new names, and takes over the rest in
one commit of the side store, which also says that those are the tables: before it all is old, after it all
is new. Before that, what is forgotten here is erased from what is put back.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from memcli import __version__, age, lifecycle, renewal, sessions, undo
from memcli.atomic import write_atomically
from memcli.errors import DamagedError, NothingMatchedError, StoreError, UsageError
from memcli.store import archive, copies, identity, purge, seal, talks
from memcli.store.archive import About
from memcli.store.engine import GoneError
from memcli.store.lance import LanceStore
from memcli.store.lock import writing
from memcli.store.rows import ORIGIN_COLUMNS
from memcli.store.side import SCHEMA_VERSION, Side
from memcli.text import is_unicode
from memcli.types import Filters, Millis, Origin, Record

Progress = Callable[[int, int], None]
"""Told (done, all) bytes."""

_HEAD_BYTES = 64
_CHUNK_BYTES = 1 << 20


class Place(Protocol):
    """Where a store is."""

    @property
    def directory(self) -> Path:
        """The user's directory."""
        ...

    @property
    def lance(self) -> str:
        """The directory or URI of the tables."""
        ...

    @property
    def lock_timeout_s(self) -> float:
        """How long to wait for others."""
        ...


class Stores(Protocol):
    """How a store is opened."""

    @property
    def place(self) -> Place:
        """Where it is."""
        ...

    @property
    def notice(self) -> Callable[[str], None]:
        """Told what a person should know."""
        ...

    def read_side(self) -> Side | None:
        """The side store for reading; None where there is no store."""
        ...

    def write(self) -> AbstractContextManager[tuple[LanceStore, Side]]:
        """The store under the writers' lock."""
        ...


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did.

    `aside` is where the store is that was there before; `forgotten` how many memories of the backup were
    left out because they are forgotten here; `uncarried` how many tombstones were lost, because the backup is
    of another store, which tells what comes in by other marks.
    """

    about: About
    aside: Path | None
    forgotten: int
    uncarried: int


# --- making one -----------------------------------------------------------------------------------


def make(
    stores: Stores,
    path: Path,
    *,
    user: str,
    lock: age.Lock | None,
    now: Millis,
    progress: Progress,
) -> About:
    """Write a backup, check what is on disk, then give it its name.

    Args:
        stores: the store.
        path: the file; it appears, or takes the place of the one before, when it is whole.
        user: whose store it is.
        lock: what to encrypt it with.
        now: the clock.
        progress: told the bytes.

    Raises:
        NothingMatchedError: there is no store.
        UsageError: it cannot be made there.
        StoreError: it cannot be written, or something was forgotten meanwhile.
    """
    if stores.read_side() is None:
        raise NothingMatchedError("there is nothing to back up yet", "")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no file", "name a file, or a directory that is there")
    if not is_unicode(str(path)):
        # Where it lies is remembered, as text.
        raise UsageError(f"the name {path} is not UTF-8 text", "give it another name")
    place = stores.place
    lance = _local(place)
    snapshot = place.directory / copies.SNAPSHOT
    with ExitStack() as stack:
        lock_file = place.directory / ".backup.lock"
        stack.enter_context(writing(lock_file, timeout_s=place.lock_timeout_s, notice=stores.notice))
        with stores.write() as (store, side):
            copies.drop(snapshot)
            stack.callback(copies.drop, snapshot)
            store.seal()
            copies.take(lance, store.in_use(), side, snapshot)
            about = _about(store, side, snapshot, user=user, now=now)
            names, sums = store.in_use(), side.sums()
        # Nobody wants to find out later that what was saved was damaged.
        for name in names:
            seal.check_rows(snapshot / copies.LANCE, name, sums)
        counted = _counted(archive.pieces(about, _files(snapshot)), about.bytes, progress)

        def write(out: IO[bytes]) -> None:
            _write_checked(out, counted, lock)
            # Until it has its name nobody may forget: a receipt names this one, or it holds nothing of it.
            _, side = stack.enter_context(stores.write())
            if not snapshot.exists():
                raise StoreError("something was forgotten while the backup was made", "run the command again")
            side.note_backup(str(path.absolute()), at=now)

        write_atomically(path, write)
    return about


def _local(place: Place) -> Path:
    if "://" in place.lance:
        raise UsageError(f"the tables are at {place.lance}", "back them up there")
    return Path(place.lance)


def _about(store: LanceStore, side: Side, copy: Path, *, user: str, now: Millis) -> About:
    with side.snapshot() as db:
        ids, _ = talks.counts(db)
    return About(
        user=user,
        made_at=now,
        version=__version__,
        schema=SCHEMA_VERSION,
        memories=store.count(Filters(with_hidden=True), now=now),
        sessions=len(ids),
        bytes=sum(path.stat().st_size for _, path in _files(copy)),
    )


def _files(copy: Path) -> Iterator[tuple[str, Path]]:
    return ((path.as_posix(), copy / path) for path in copies.files_in(copy))


def _counted(pieces: Iterator[bytes], total: int, progress: Progress) -> Iterator[bytes]:
    done = 0
    for piece in pieces:
        yield piece
        done += len(piece)
        progress(min(done, total), total)


def _write_checked(out: IO[bytes], pieces: Iterator[bytes], lock: age.Lock | None) -> None:
    """Write it, and read what is on disk again. Raises StoreError where that is something else."""
    summed = _Summed(out)
    if lock is None:
        for piece in pieces:
            summed.write(piece)
    else:
        age.encrypt(pieces, summed, lock)
    out.flush()
    os.fsync(out.fileno())
    again = _Again(out.fileno())
    if lock is None:
        archive.read(again, put=_pass_over, check=_accept)
    while again.read(_CHUNK_BYTES):
        pass
    if again.digest.digest() != summed.digest.digest():
        raise StoreError("what was written is not what the disk holds", "look at the disk, or choose another")


@dataclass(slots=True)
class _Summed:
    """A file that is written, and the sum of what was."""

    out: IO[bytes]
    digest: Any = field(default_factory=hashlib.sha256)

    def write(self, data: bytes) -> int:
        """Take the bytes."""
        self.digest.update(data)
        return self.out.write(data)

    def flush(self) -> None:
        """Hand them on."""
        self.out.flush()


@dataclass(slots=True)
class _Again:
    """The bytes of an open file from its beginning on, and the sum of what was read."""

    descriptor: int
    place: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        data = os.pread(self.descriptor, size, self.place)
        self.place += len(data)
        self.digest.update(data)
        return data


def _pass_over(_: str, data: Iterator[bytes]) -> None:
    for _piece in data:
        pass


def _accept(_: About) -> None:
    """Any will do."""


# --- reading one ----------------------------------------------------------------------------------


def locked_with(path: Path) -> str | None:
    """What opens a backup: "passphrase", "identity", or None. Raises UsageError where there is none."""
    if path.is_dir():
        return None
    with _reading(path) as stream:
        return age.locked_with(stream.read(_HEAD_BYTES))


def unlock(path: Path, passphrase: str) -> age.Key:
    """What opens a backup that a passphrase was given for. Raises UsageError when it is another."""
    with _reading(path) as stream:
        return age.unlock(stream, passphrase)


def check(path: Path, *, key: age.Key | None, progress: Progress) -> About:
    """Read a backup to its end, or a store that was set aside; nothing is changed.

    Raises:
        UsageError: there is no such file, or the key does not open it.
        StoreError: it is no backup, is damaged, or a newer version made it.
    """
    if path.is_dir():
        return _about_aside(path)
    return _read(path, key, put=_pass_over, progress=progress)


def _read(path: Path, key: age.Key | None, *, put: archive.Put, progress: Progress) -> About:
    with _reading(path) as stream:
        told = _Told(stream, path.stat().st_size, progress)
        if key is None:
            return archive.read(told, put=put, check=_check_schema)
        with age.decrypting(told, key) as plain:
            return archive.read(plain, put=put, check=_check_schema)


@contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    """A file, open; what fails in this context is a failure to read it."""
    if path.exists() and not path.is_file():
        # It is read more than once, and a pipe nobody writes to would be waited for.
        raise UsageError(f"{path} is no file", "name a backup")
    try:
        with path.open("rb") as stream:
            yield stream
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})", "name a backup") from error


@dataclass(slots=True)
class _Told:
    """A file that is read, and how far."""

    stream: IO[bytes]
    size: int
    progress: Progress

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        data = self.stream.read(size)
        self.progress(min(self.stream.tell(), self.size), self.size)
        return data

    def seek(self, place: int, /) -> int:
        """Go on from this place."""
        return self.stream.seek(place)


def _check_schema(about: About) -> None:
    if about.schema > SCHEMA_VERSION:
        raise StoreError(
            f"this backup was made by a newer memcli (schema {about.schema}, ours is {SCHEMA_VERSION})",
            "update memcli; nothing was touched",
        )


def _about_aside(path: Path) -> About:
    side_path = path / copies.SIDE
    if not side_path.is_file():
        raise UsageError(f"{path} is no store that was set aside", "name a backup")
    with closing(Side(side_path, writable=False)) as side:
        store = LanceStore(str(path / copies.LANCE), side)
        made_at = round(path.stat().st_mtime * 1000)
        return _about(store, side, path, user="", now=made_at)


# --- putting one back -----------------------------------------------------------------------------


def restore(stores: Stores, path: Path, *, key: age.Key | None, now: Millis, progress: Progress) -> Restored:
    """Put a backup in the place of the store, which is kept aside until the next restore or forget.

    `path` may be a store that was set aside, too.

    Raises:
        UsageError: there is no such file, or the key does not open it.
        StoreError: it is no backup, is damaged, or cannot be written; nothing was changed.
    """
    directory, lance = stores.place.directory, _local(stores.place)
    staging = directory / copies.RESTORING
    if fault := _fault(stores):
        # Before anything is moved.
        check(path, key=key, progress=progress)
        _set_damaged_aside(stores, lance, fault, now=now)
    with stores.write() as (store, side):
        earlier = copies.asides(directory)
        # Whatever happens, what is not in use goes; if not now, with the next writer.
        with _cleared(store, staging):
            about = _stage(path, key, staging, progress=progress)
            _check_staged(staging, about, now=now)
            forgotten, is_same = _forget_in(staging, side, now=now)
            aside = _set_aside(store, side, lance, directory, now=now)
            uncarried = 0 if is_same else side.tombstones()
            _take_over(side, lance, staging, keeps_tombstones=is_same)
        copies.drop(*(earlier if aside else ()))
    return Restored(about, aside, forgotten, uncarried)


def clear(store: LanceStore, directory: Path) -> None:
    """Drop what a restore has left that was broken off. The writers' lock is held."""
    if (directory / copies.RESTORING).exists():
        with _cleared(store, directory / copies.RESTORING):
            pass


@contextmanager
def _cleared(store: LanceStore, staging: Path) -> Iterator[None]:
    try:
        yield
    finally:
        store.refresh()
        purge.drop_left_over(store)
        # Last: as long as it is there, the next writer clears again.
        copies.drop(staging)


def _stage(path: Path, key: age.Key | None, staging: Path, *, progress: Progress) -> About:
    """Put the files of a backup into a directory of their own."""
    with copies.written(staging):
        staging.mkdir(mode=0o700)
    if not path.is_dir():
        return _read(path, key, put=lambda name, data: _put(staging / name, data), progress=progress)
    about = _about_aside(path)
    with copies.written(staging):
        for each in copies.files_in(path):
            copies.second_name(path / each, staging / each, is_final=each.name != copies.SIDE)
    return about


def _check_staged(staging: Path, about: About, *, now: Millis) -> None:
    """See that what was put together is a whole store: the sums of a backup say only that the files are its.

    Raises StoreError, also for tables that would lead elsewhere.
    """
    if not (staging / copies.SIDE).is_file():
        raise archive.damaged()
    try:
        with closing(Side(staging / copies.SIDE, writable=False)) as side:
            store = LanceStore(str(staging / copies.LANCE), side)
            is_sound = side.check() is None and all(map(identity.TABLE.fullmatch, store.in_use()))
            if is_sound and store.count(Filters(with_hidden=True), now=now) == about.memories:
                return
    except (DamagedError, GoneError) as error:
        raise archive.damaged() from error
    raise archive.damaged()


def _put(path: Path, data: Iterator[bytes]) -> None:
    with copies.written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            for piece in data:
                out.write(piece)
            out.flush()
            os.fsync(descriptor)


def _forget_in(staging: Path, present: Side, *, now: Millis) -> tuple[int, bool]:
    """Erase from what is put back what is forgotten here: (memories, whether it is the same store)."""
    with closing(Side(staging / copies.SIDE, writable=True)) as side:
        store = LanceStore(str(staging / copies.LANCE), side)
        if store.state.erasing or store.state.rebuild:
            purge.finish(store, side)
        undo.finish(store, side, now=now)
        key = present.state().key
        is_same = store.state.key == key
        buried = present.all_buried() - (side.all_buried() if is_same else set())
        there = _with_origins(store, side, buried, key if not is_same else None, now=now) if buried else []
        if there:
            derived = store.scan(
                Filters(with_hidden=True), now=now, order=(), extra="derived_from IS NOT NULL"
            )
            gone = [change.record for change in lifecycle.with_derived(there, list(derived))]
            store.apply(renewal.bridged(store, side, gone, now=now))
            purge.erase(store, side, gone, at=now)
        return len(there), is_same


def _with_origins(
    store: LanceStore, side: Side, buried: set[str], key: bytes | None, *, now: Millis
) -> list[Record]:
    """The memories and turns of these origins. `key`: the origins are of another store, with this key."""
    turns = sessions.loose(side)
    if key is None:
        marks = [Origin(*(mark for _ in ORIGIN_COLUMNS)) for mark in sorted(buried)]
        ids = set(store.known(marks).values())
        key = store.state.key
        records = store.get(sorted(ids), now=now)
    else:
        records = [
            record
            for record in store.scan(Filters(with_hidden=True), now=now, order=())
            if not buried.isdisjoint(lifecycle.hashes(lifecycle.origin_of(record, key)))
        ]
    known = {record.id for record in records}
    return records + [
        turn
        for turn in turns
        if turn.id not in known and not buried.isdisjoint(lifecycle.hashes(lifecycle.origin_of(turn, key)))
    ]


def _fault(stores: Stores) -> str | None:
    """Why the store cannot be opened for writing; None when it can."""
    try:
        side = stores.read_side()
        fault = side.check() if side else None
        if fault is None:
            with stores.write():
                pass
    except DamagedError as error:
        return error.message
    return fault


def _set_damaged_aside(stores: Stores, lance: Path, fault: str, *, now: Millis) -> None:
    """Move a store away of which nothing can be taken over."""
    directory = stores.place.directory
    lock_file = directory / ".lock"
    with writing(lock_file, timeout_s=stores.place.lock_timeout_s, notice=stores.notice):
        aside = copies.aside_of(directory, now)
        with copies.written(aside):
            aside.mkdir(mode=0o700)
            for path in (*directory.glob(f"{copies.SIDE}*"), directory / identity.NAME, lance):
                if path.exists():
                    shutil.move(path, aside / path.name)
    stores.notice(
        f"the store is damaged ({fault}) and lies in {aside}: what is forgotten in it may come back"
    )


def _set_aside(store: LanceStore, side: Side, lance: Path, directory: Path, *, now: Millis) -> Path | None:
    """Keep a copy of the store as it is; none of an empty one."""
    with side.snapshot() as db:
        rows = [db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in ("turns", "tasks")]
    if store.state.memories is None and not any(rows):
        return None
    aside = copies.aside_of(directory, now)
    copies.take(lance, store.in_use(), side, aside)
    return aside


def _take_over(side: Side, lance: Path, staging: Path, *, keeps_tombstones: bool) -> None:
    """Put the tables beside those in use, and make them and all the rest the store, in one commit."""
    with closing(Side(staging / copies.SIDE, writable=False)) as staged:
        state = staged.state()
    with copies.written(lance):
        lance.mkdir(mode=0o700, parents=True, exist_ok=True)

    def moved(table: str) -> str:
        name = f"{table.partition('_')[0]}_{side.next_number()}"
        with copies.written(lance):
            shutil.move(staging / copies.LANCE / f"{table}.lance", lance / f"{name}.lance")
        return name

    side.take_over(
        staging / copies.SIDE,
        memories=moved(state.memories) if state.memories else None,
        vectors={embedder: moved(table) for embedder, table in state.vectors.items()},
        keeps_tombstones=keeps_tombstones,
    )
