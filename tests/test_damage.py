"""Every kind of damage: a sentence and exit 5 or the right answer, found by `doctor`, mended by `--fix`."""

from __future__ import annotations

import shutil
import sqlite3
from array import array
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from memcli.memory import Draft, open_memory
from memcli.types import Selection
from tests.process import Shared
from tests.torture.program import is_clean

TEXTS = ("The heron is by the old pier", "The owl is in the barn", "The fox crossed the road")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with memories, vectors, a version before the newest, and an erase behind it."""
    data = tmp_path_factory.mktemp("whole") / "data"
    memory = open_memory(data_dir=data, embedder="none", ollama_host="127.0.0.1:9")
    for text in (*TEXTS[:2], "The stoat is nowhere"):
        memory.remember(Draft(text=text))
    memory.erase(memory.plan_forget(Selection(match="stoat")))
    memory.remember(Draft(text=TEXTS[2]))
    with memory.write() as (store, _):
        store.bind("e", 2, asked=False)
        store.add_vectors("e", {key: array("f", [1.0, 0.0]) for key in store.pending("e")})
    with closing(sqlite3.connect(memory.side_path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    memory.close()
    for name in ("side.db-wal", "side.db-shm"):
        memory.side_path.with_name(name).unlink(missing_ok=True)
    return data


@pytest.fixture
def shared(whole: Path, tmp_path: Path) -> Shared:
    shutil.copytree(whole, tmp_path / "data")
    return Shared(tmp_path, {"MEMCLI_DATA_DIR": str(tmp_path / "data")})


def flip(path: Path) -> None:
    held = bytearray(path.read_bytes())
    held[len(held) // 2] ^= 1
    path.write_bytes(held)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def lose(path: Path) -> None:
    path.unlink()


def scramble(path: Path) -> None:
    path.write_bytes(b"damaged".ljust(path.stat().st_size, b"."))


def expose(path: Path) -> None:
    path.chmod(0o755)


def add_table(path: Path) -> None:
    shutil.copytree(path, path.with_name("memories_99.lance"))


@dataclass(frozen=True, slots=True)
class Damage:
    """What of a store is harmed (the first by its name that fits), and what comes of it."""

    file: str
    harm: Callable[[Path], None]
    found: int
    """The exit code of the doctor: 5 where the store is in danger, 3 where it is not."""
    kept: int | None = 3
    """How many memories are there after `--fix`; None where only a backup brings them back."""


DAMAGES: dict[str, Damage] = {
    "the newest version, a bit": Damage("lance/memories_*/_versions/*.manifest", flip, 5, 2),
    "the newest version, emptied": Damage("lance/memories_*/_versions/*.manifest", empty, 5, 2),
    "the newest version, lost": Damage("lance/memories_*/_versions/*.manifest", lose, 5, 2),
    "an older version, lost": Damage("lance/memories_*/_versions/*4.manifest", lose, 5),
    "rows, lost": Damage("lance/memories_*/data/*.lance", lose, 5, None),
    "rows, emptied": Damage("lance/memories_*/data/*.lance", empty, 5, None),
    "a transaction, a bit": Damage("lance/memories_*/_transactions/*", flip, 5),
    "an index, a bit": Damage("lance/memories_*/_indices/*/part_0_invert.lance", flip, 5),
    "an index, lost": Damage("lance/memories_*/_indices/*/part_0_tokens.lance", lose, 5),
    "vectors, a bit": Damage("lance/vectors_*/data/*.lance", flip, 5),
    "vectors, lost": Damage("lance/vectors_*/data/*.lance", lose, 5),
    "the version of the vectors, lost": Damage("lance/vectors_*/_versions/*.manifest", lose, 5),
    "the side store, other bytes": Damage("side.db", scramble, 5),
    "the side store, emptied": Damage("side.db", empty, 5),
    "the side store, lost": Damage("side.db", lose, 5),
    "a table that is no longer used": Damage("lance/memories_*", add_table, 3),
    "open to others": Damage("../default", expose, 3),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_said_and_found_and_mended(shared: Shared, kind: str) -> None:
    damage = DAMAGES[kind]
    directory = shared.home / "data" / "users" / "default"
    damage.harm(min(directory.glob(damage.file)))

    for command in (("recall", "heron pier"), ("export",), ("list",), ("stats",)):
        read = shared.here(*command)
        assert (read.returncode in (0, 5), is_clean(read)) == (True, True), read.stderr
        assert read.returncode == 0 or "hint: " in read.stderr
        assert read.returncode == 5 or command[0] == "stats" or "heron" in read.stdout

    found = shared.here("doctor")
    mended = shared.here("doctor", "--fix")
    assert (found.returncode, is_clean(found), is_clean(mended)) == (damage.found, True, True), found.stdout
    if damage.kept is None:
        assert (mended.returncode, "backup" in mended.stdout) == (5, True)
        return
    assert mended.returncode in (0, 3), mended.stdout
    assert shared.here("doctor").returncode in (0, 3)
    exported = shared.here("export").stdout
    assert [text in exported for text in TEXTS] == [True] * damage.kept + [False] * (3 - damage.kept)
    assert "stoat" not in exported
    assert shared.here("remember", "The newt came back").returncode == 0
    assert "newt" in shared.here("recall", "newt").stdout
