"""What each file of the tables was when it was written, so that a damaged one is seen before it is believed.

Lance reads data files without looking for flipped bits, and takes the version before for the newest when a
manifest is missing. So after each commit, while the writers' lock is held, every new file is put on disk
for good, and its size and CRC-32 are noted in the side store. Readers compare the newest manifest, whoever
copies rows (compaction, erase) the files that it copies, the doctor all of them.

A commit that was not sealed (its process died in between) is newer than the seal, and is taken as it is.
Before files are dropped that is noted too: until the next seal any of them may be missing.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from memcli.errors import DamagedError

Sum: TypeAlias = tuple[int, int]
"""The size of a file in bytes, and its CRC-32."""

_CHUNK_BYTES = 1 << 20
# Manifests are named so that the newest comes first: this number less the version.
_LAST = 2**64 - 1
_MANIFESTS = "_versions"
_LOOKS = 3
ROWS = ("data", "_deletions")
"""The parts of a table that hold what was stored, and cannot be made anew."""
# Rewritten with each commit, and only a hint.
_HINT = "latest_version_hint.json"


MEND = "run `memcli doctor`: it says what can be mended, and --fix mends it"
"""What to do about damage."""


@dataclass(frozen=True, slots=True)
class Seal:
    """The newest manifest of a table, as it was written: its version, its size in bytes and its CRC-32."""

    version: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A file, named from the directory of the tables on, that is not what was written."""

    file: str
    why: str

    @property
    def table(self) -> str:
        """The table that the file belongs to."""
        return self.file.partition(".lance/")[0]

    @property
    def part(self) -> str:
        """The part of the table: data, _deletions, _indices, _transactions, _versions."""
        return self.file.partition(".lance/")[2].partition("/")[0]


def sum_of(path: Path) -> Sum:
    """The size and the CRC-32 of a file."""
    size = crc = 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            size, crc = size + len(chunk), zlib.crc32(chunk, crc)
    return size, crc


def _sum_if_there(path: Path) -> Sum | None:
    try:
        return sum_of(path)
    except FileNotFoundError:
        return None


def put_on_disk(path: Path) -> None:
    """Let a file, or the names in a directory, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def files_of(lance: Path, table: str) -> Iterator[str]:
    """The files of a table that never change once they are written, named from `lance` on."""
    start = len(str(lance)) + 1
    for folder, _, names in os.walk(lance / f"{table}.lance"):
        for name in names:
            if name != _HINT and not name.startswith(".tmp"):
                yield f"{folder[start:]}/{name}"


def manifests(lance: Path, table: str) -> dict[int, Path]:
    """The manifests of a table by their versions, the newest first."""
    try:
        names = os.listdir(lance / f"{table}.lance" / _MANIFESTS)  # noqa: PTH208 - names are all it takes
    except FileNotFoundError:
        return {}
    stems = (name.removesuffix(".manifest") for name in names if name.endswith(".manifest"))
    versions = sorted((_LAST - int(stem) for stem in stems if stem.isdecimal()), reverse=True)
    return {version: lance / _manifest(table, version) for version in versions}


def _manifest(table: str, version: int) -> str:
    return f"{table}.lance/{_MANIFESTS}/{_LAST - version}.manifest"


def agree(seals: Mapping[str, Seal], sums: Mapping[str, Sum]) -> bool:
    """Whether the seals say the same as the sums that were noted with them."""
    return all(
        sums.get(_manifest(table, seal.version)) == (seal.size, seal.crc) for table, seal in seals.items()
    )


def check_newest(lance: Path, table: str, seal: Seal) -> None:
    """Compare the newest manifest with its seal. Raises DamagedError.

    A compaction makes a newer one and drops this one, perhaps between the two looks that a comparison takes:
    so what seems to be wrong is looked at again.
    """
    for _ in range(_LOOKS - 1):
        try:
            _compare_newest(lance, table, seal)
        except DamagedError:
            continue
        return
    _compare_newest(lance, table, seal)


def _compare_newest(lance: Path, table: str, seal: Seal) -> None:
    found = manifests(lance, table)
    newest = next(iter(found), 0)
    if newest > seal.version:
        return
    if newest < seal.version:
        raise damaged(table, "its newest version is missing")
    if _sum_if_there(found[newest]) != (seal.size, seal.crc):
        raise damaged(table, "its newest version is not what was written")


def damaged(table: str, why: str) -> DamagedError:
    """What to say of a damaged table."""
    return DamagedError(
        f"the table {table} is damaged: {why}",
        MEND,
    )


def still_there(lance: Path, sums: Mapping[str, Sum]) -> dict[str, Sum]:
    """What was written and has not been dropped meanwhile."""
    return {file: known for file, known in sums.items() if (lance / file).exists()}


def check_rows(lance: Path, table: str, sums: Mapping[str, Sum]) -> None:
    """Compare the files that hold rows with what was written. Raises DamagedError."""
    fault = next(faults(lance, rows_of(table, sums)), None)
    if fault is not None:
        raise damaged(table, f"{fault.file} {fault.why}")


def rows_of(table: str, sums: Mapping[str, Sum]) -> dict[str, Sum]:
    """Of the sums those of the files that hold a table's rows."""
    prefixes = tuple(f"{table}.lance/{part}/" for part in ROWS)
    return {file: known for file, known in sums.items() if file.startswith(prefixes)}


def faults(lance: Path, sums: Mapping[str, Sum]) -> Iterator[Fault]:
    """The files that are not what was written."""
    for file, known in sums.items():
        found = _sum_if_there(lance / file)
        if found is None:
            yield Fault(file, "is missing")
        elif found[0] != known[0]:
            yield Fault(file, f"has {found[0]:,} bytes and not {known[0]:,}")
        elif found != known:
            yield Fault(file, "is not what was written")


def sums_of(lance: Path, files: Iterable[str]) -> dict[str, Sum]:
    """The sums of files that were just written; they and their names are put on disk for good first."""
    sums: dict[str, Sum] = {}
    for file in files:
        put_on_disk(lance / file)
        sums[file] = sum_of(lance / file)
    for folder in {(lance / file).parent for file in sums}:
        put_on_disk(folder)
    return sums
