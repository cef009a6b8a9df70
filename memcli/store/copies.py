"""Copies of a store beside it: what a backup reads from, what a restore puts together, what it sets aside.

The files of Lance's tables are written once and never changed, so a copy of one is a second name for it (a
hard link) where the disk knows such: it costs a moment and no room. A copy holds what its store held; so
whoever forgets erases the copies as well.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memcli.errors import StoreError
from memcli.store.side import Side
from memcli.times import to_iso
from memcli.types import Millis

SNAPSHOT = ".snapshot"
RESTORING = ".restoring"
_ASIDE = "aside-"
SIDE, LANCE = "side.db", "lance"
# What of a table is written once; the few small files beside may be written anew under their names.
_WRITTEN_ONCE = ("data", "_indices")


def aside_of(directory: Path, at: Millis) -> Path:
    """Where a store is set aside at this moment; nothing is there yet."""
    name = f"{_ASIDE}{stamp(at)}"
    taken = {path.name for path in asides(directory)}
    return directory / next(
        name for name in (name, *(f"{name}-{n}" for n in range(2, 10_000))) if name not in taken
    )


def asides(directory: Path) -> list[Path]:
    """The stores that were set aside, the oldest first."""
    return sorted(path for path in directory.glob(f"{_ASIDE}*") if path.is_dir())


def stamp(at: Millis) -> str:
    """A moment as a part of a file's name."""
    return to_iso(at)[:19].replace(":", "-") + "Z"


def take(lance: Path, tables: Sequence[str], side: Side, into: Path) -> None:
    """Make a copy of these tables and of the side store. The writers' lock is held."""
    with written(into):
        into.mkdir(mode=0o700)
        for table in tables:
            folder = f"{table}.lance"
            for path in files_in(lance / folder):
                is_final = path.parts[0] in _WRITTEN_ONCE
                second_name(lance / folder / path, into / LANCE / folder / path, is_final=is_final)
        side.copy_to(into / SIDE)


def second_name(path: Path, target: Path, *, is_final: bool = True) -> None:
    """A copy of a file that nobody will change; one that may be changed is copied byte by byte."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_final:
        # Not every disk has hard links, and none leads to another disk.
        with suppress(OSError):
            target.hardlink_to(path)
            return
    shutil.copyfile(path, target)


def files_in(directory: Path) -> Iterator[Path]:
    """Every file below a directory, by its name from there on, in order."""
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            yield Path(folder, name).relative_to(directory)


def size_bytes(directory: Path) -> int:
    """How many bytes all files below a directory have; one that goes meanwhile has none."""
    size = 0
    for path in files_in(directory):
        with suppress(FileNotFoundError):
            size += (directory / path).lstat().st_size
    return size


def drop(*paths: Path) -> None:
    """Erase copies. Raises StoreError."""
    for path in paths:
        with written(path):
            if path.exists():
                shutil.rmtree(path)


def drop_all(directory: Path) -> None:
    """Erase every copy in a user's directory: one may hold what is being forgotten. Raises StoreError."""
    drop(directory / SNAPSHOT, directory / RESTORING, *asides(directory))


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Say of an OSError that `path` cannot be written, as a StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror or error})",
            "check the permissions of the data directory and the free space on its disk",
        ) from error
