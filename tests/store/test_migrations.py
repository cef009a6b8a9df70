"""Stores that earlier versions made: each opens, reads as it was, and is written to as a new one."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from memcli.absorb import Intake
from memcli.errors import StoreError
from memcli.memory import Draft, Memory, open_memory
from memcli.store import side
from memcli.store.side import SCHEMA_VERSION
from memcli.times import from_iso
from memcli.types import Filters, ForgetPlan, Query, Selection

AT = from_iso("2026-03-02T09:00:00.000Z")
STORES = sorted((Path(__file__).parents[1] / "data" / "stores").glob("schema-*.zip"))
"""A store of every schema, with six memories in it, one of them replaced and one forgotten before."""
TEXTS = {
    "I prefer Maven over Gradle",
    "The harbour office closes at five",
    "The harbour office closes at six",
    "小李的生日是五月四号",
    "Where is the heron?",
    "On the pier",
}


@pytest.fixture(params=STORES[:-1], ids=lambda path: path.stem)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path)
    return open_memory(data_dir=tmp_path, clock=lambda: AT, embedder="none")


def side_path(memory: Memory) -> Path:
    return memory.place.directory / "side.db"


def texts(memory: Memory) -> set[str]:
    return {record.text for record in memory.export(Filters())}


def test_there_is_a_store_of_every_schema() -> None:
    assert [path.stem for path in STORES] == [f"schema-{number}" for number in range(1, SCHEMA_VERSION + 1)]


def test_an_older_store_is_read_without_being_changed(memory: Memory) -> None:
    before = side_path(memory).read_bytes()
    assert texts(memory) == TEXTS
    assert (
        memory.recall(Query("Maven", AT), is_noted=False).hits[0].record.text == "I prefer Maven over Gradle"
    )
    assert (memory.sessions(), memory.tasks.all()) == ([], [])
    figures = memory.stats()
    assert (figures["turns"], figures["recall"]["count"], figures["pending"]["vectors"]) == (0, 1, 0)
    assert side_path(memory).read_bytes() == before


def test_an_import_that_is_only_planned_asks_an_older_store_what_it_knows(
    memory: Memory, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Herons\n\nThey eat fish.\n", "utf-8")
    before = side_path(memory).read_bytes()
    (report,) = memory.absorb([str(note)], intake=Intake(dry_run=True)).files
    assert (report.added, side_path(memory).read_bytes()) == (1, before)


def test_a_reader_that_was_open_sees_what_is_written_after_the_migration(memory: Memory) -> None:
    assert memory.sessions() == []
    turn = memory.save_turn(memory.begin_session(), "user", "Where did it fly?")
    assert memory.session("last").turns == (turn,)
    memory.tasks.start("job")
    assert memory.tasks.names() == ["job"]


def files(directory: Path) -> dict[str, tuple[int, str]]:
    return {
        path.relative_to(directory).as_posix(): (
            path.stat().st_mtime_ns,
            sha256(path.read_bytes()).hexdigest(),
        )
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_the_store_of_before_lies_beside_the_migrated_one_until_something_is_forgotten(
    memory: Memory,
) -> None:
    with closing(sqlite3.connect(side_path(memory))) as db:
        version, before = db.execute("PRAGMA user_version").fetchone()[0], list(db.iterdump())
    memory.remember(Draft(text="Herons eat fish"))
    (copy,) = memory.place.directory.glob("side.db.aside-*")
    assert (copy.name, copy.stat().st_mode & 0o777) == (f"side.db.aside-schema-{version}", 0o600)
    with closing(sqlite3.connect(copy)) as db:
        assert list(db.iterdump()) == before
    memory.erase(memory.plan_forget(Selection(match="Herons")))
    assert list(memory.place.directory.glob("side.db.aside-*")) == []


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = side_path(memory).read_bytes()
    monkeypatch.setattr(side, "MIGRATIONS", (*side.MIGRATIONS[:-1], "CREATE TABLE odd (a); CREATE nonsense"))
    with pytest.raises(StoreError):
        memory.remember(Draft(text="Herons eat fish"))
    monkeypatch.undo()
    assert (side_path(memory).read_bytes(), texts(memory)) == (before, TEXTS)


def test_a_store_of_this_schema_is_left_as_it_is(tmp_path: Path) -> None:
    with zipfile.ZipFile(STORES[-1]) as archive:
        archive.extractall(tmp_path)
    now = open_memory(data_dir=tmp_path, clock=lambda: AT, embedder="none")
    now.remember(Draft(text="Herons eat fish"))
    assert texts(now) == {*TEXTS, "Herons eat fish"}
    assert list(now.place.directory.glob("side.db.aside-*")) == []


def test_a_store_of_a_newer_version_is_refused_and_not_a_byte_of_it_changes(memory: Memory) -> None:
    with closing(sqlite3.connect(side_path(memory))) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    for name in ("side.db-wal", "side.db-shm"):
        side_path(memory).with_name(name).unlink(missing_ok=True)
    before = files(memory.place.directory)
    asked: list[Callable[[], object]] = [
        lambda: memory.remember(Draft(text="Herons eat fish")),
        lambda: memory.recall(Query("Maven", AT)),
        lambda: texts(memory),
        memory.stats,
        lambda: memory.save_turn(memory.begin_session(), "user", "Where is it?"),
        lambda: memory.erase(ForgetPlan(changes=(), related=(), everything=True)),
    ]
    for ask in asked:
        with pytest.raises(StoreError, match="newer memcli"):
            ask()
    memory.settle()
    assert files(memory.place.directory) == before


def test_a_migrated_store_has_its_key_and_all_it_held(memory: Memory) -> None:
    key = memory.read().state.key
    memory.remember(Draft(text="Herons eat fish"))
    with memory.write_side() as side:
        assert (side.state().key, side.check(), side.tombstones()) == (key, None, 1)
    assert texts(memory) == {*TEXTS, "Herons eat fish"}
    replaced = memory.remember(Draft(text="The harbour office closes at seven", source_id="harbour"))
    assert [record.text for record in replaced.superseded] == ["The harbour office closes at six"]
    proof = memory.erase(memory.plan_forget(Selection(match="harbour")), prove=True)
    assert proof is not None
    assert proof.traces == 0
