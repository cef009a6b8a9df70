"""The side store: its schema, its snapshot, tombstones, journal, notes, and what an erase leaves of it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import StoreError
from memcli.store import journal, purge
from memcli.store.events import Recalls
from memcli.store.journal import Step
from memcli.store.side import MIGRATIONS, SCHEMA_VERSION, Side, State, refuse_newer
from tests.store.conftest import NOW, Shop, note_recall, recalled, recalls

SECRET = "the heron of Lindisfarne waits"


def bytes_of(directory: Path) -> bytes:
    """Every byte that SQLite keeps: the file, its log and the log's index."""
    return b"\0".join(path.read_bytes() for path in sorted(directory.glob("side.db*")))


def asked(shop: Shop, sql: str) -> list[tuple[Any, ...]]:
    """What any other program would read in the file."""
    with closing(sqlite3.connect(shop.side_path)) as db:
        return db.execute(sql).fetchall()


def noted(text: str, **pointers: object) -> dict[str, object]:
    return {"id": "x", "text": text, "supersedes": [], "derived_from": [], "superseded_by": None, **pointers}


# --- the file -------------------------------------------------------------------------------------


def test_a_new_file_has_the_newest_schema_and_a_key_of_its_own(shop: Shop, tmp_path: Path) -> None:
    state = shop.side().state()
    other = Side(tmp_path / "other.db", writable=True)
    assert len(state.key) == 32
    assert state.key != other.state().key
    assert state == State(key=state.key)
    other.close()
    assert asked(shop, "PRAGMA user_version") == [(SCHEMA_VERSION,)]


def test_nothing_takes_the_locks_of_a_connection_away(shop: Shop) -> None:
    held = shop.side()
    refuse_newer(shop.side_path)
    Side(shop.side_path, writable=False).close()
    purge.prove(shop.store(), shop.side(), [shop.directory], [], now=NOW)
    write = "import sys; from pathlib import Path; from memcli.store.side import Side; "
    write += "side = Side(Path(sys.argv[1]), writable=True); side.note_file('a', 'b'); side.close()"
    subprocess.run([sys.executable, "-c", write, shop.side_path], check=True)
    # Whoever closes last writes the log back and unlinks it: the other process knows that it is not the last.
    assert shop.side_path.with_name("side.db-wal").exists()
    assert held.is_place("b")


def test_the_key_stays_the_same(shop: Shop) -> None:
    assert shop.side().state().key == shop.side().state().key == shop.side(writable=False).state().key


def test_only_the_owner_can_read_it(shop: Shop) -> None:
    shop.side().note_steps("remember", [Step("add", "a")], at=NOW)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in shop.directory.iterdir()}
    assert set(modes.values()) == {0o600}
    assert "side.db-wal" in modes


@pytest.mark.parametrize("version", range(SCHEMA_VERSION))
def test_an_older_file_is_brought_up_to_date(shop: Shop, version: int) -> None:
    db = sqlite3.connect(shop.side_path)
    for script in MIGRATIONS[:version]:
        db.executescript(script)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    side = shop.side()
    side.note_file("digest", "place")
    assert side.place_of_file("digest") == "place"


@pytest.mark.parametrize("writable", [True, False])
def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(shop: Shop, writable: bool) -> None:
    db = sqlite3.connect(shop.side_path)
    db.execute("CREATE TABLE later (x)")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    db.close()
    with pytest.raises(StoreError, match="newer memcli") as caught:
        shop.side(writable=writable)
    assert caught.value.exit_code == 5
    assert asked(shop, "PRAGMA user_version") == [(SCHEMA_VERSION + 1,)]
    assert asked(shop, "SELECT name FROM sqlite_master") == [("later",)]


def test_a_file_that_is_just_being_made_reads_as_an_empty_store(shop: Shop) -> None:
    shop.side_path.touch()
    side = shop.side(writable=False)
    assert side.state().memories is None
    assert recalled(side, "a") == (0, None)
    assert recalls(side) == Recalls(count=0, hit_rate=None, p50_ms=None, p95_ms=None, injected_tokens=0)
    assert shop.side_path.stat().st_size == 0


def test_many_processes_may_make_it_at_once(shop: Shop) -> None:
    code = (
        "import sys; from pathlib import Path; from memcli.store.side import Side\n"
        "sys.stdin.read(); print(Side(Path(sys.argv[1]), writable=True).state().key.hex())"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, shop.side_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for _ in range(6)
    ]
    answers = []
    for process in started:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    for process in started:
        answers.append(process.communicate(timeout=60))
    assert [told for _, told in answers] == [""] * 6
    assert len({key for key, _ in answers}) == 1


@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize("damage", ["not a database", "cut short", "overwritten"])
def test_a_damaged_file_is_a_store_error(shop: Shop, writable: bool, damage: str) -> None:
    shop.side().note_steps(
        "remember", [Step("update", f"id{n}", noted("x" * 500)) for n in range(200)], at=NOW
    )
    shop.close()
    whole = shop.side_path.read_bytes()
    shop.side_path.write_bytes(
        {
            "not a database": b"plain words " * 200,
            "cut short": whole[: len(whole) // 3],
            "overwritten": whole[:100] + os.urandom(len(whole) - 100),
        }[damage]
    )
    with pytest.raises(StoreError) as caught:
        shop.side(writable=writable).state()
    assert caught.value.exit_code == 5
    assert str(shop.side_path) in caught.value.message


def test_damage_in_the_middle_is_found_by_the_check(shop: Shop) -> None:
    side = shop.side()
    side.note_steps("remember", [Step("update", f"id{n}", noted("x" * 500)) for n in range(200)], at=NOW)
    assert side.check() is None
    shop.close()
    whole = bytearray(shop.side_path.read_bytes())
    middle = len(whole) // 2 // 4096 * 4096
    whole[middle : middle + 4096] = b"\xff" * 4096
    shop.side_path.write_bytes(whole)
    assert shop.side(writable=False).check() is not None


def test_a_directory_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    for writable in (True, False):
        with pytest.raises(StoreError, match="cannot be opened"):
            Side(tmp_path / "nowhere" / "side.db", writable=writable)


# --- reading beside a writer ----------------------------------------------------------------------


def test_a_reader_neither_waits_for_a_writer_nor_sees_half_of_it(shop: Shop) -> None:
    writer, reader = shop.side(), shop.side(writable=False)
    with writer.change() as db:
        db.execute("INSERT INTO erasing VALUES ('a')")
        assert reader.state().erasing == frozenset()
    assert reader.state().erasing == {"a"}


def test_a_reader_cannot_write(shop: Shop) -> None:
    shop.side()
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        note_recall(shop.side(writable=False), ["a"], hits=1, at=NOW, took_ms=1, tokens=0)


def test_a_failed_change_leaves_nothing_of_itself(shop: Shop) -> None:
    side = shop.side()
    with pytest.raises(TypeError):
        side.note_steps("remember", [Step("add", "a"), Step("add", "b", {"text": object()})], at=NOW)
    assert asked(shop, "SELECT count(*) FROM journal") == [(0,)]
    assert side.note_steps("remember", [Step("add", "a")], at=NOW) == 1


# --- what the store is ----------------------------------------------------------------------------


def test_the_tables_are_replaced_in_one_commit_that_readers_notice(shop: Shop) -> None:
    side, reader = shop.side(), shop.side(writable=False)
    before = reader.generation()
    side.point_to(memories="memories_1", vectors={"e": "vectors_2"}, embedder="e")
    state = reader.state()
    assert (state.memories, state.vectors, state.embedder) == ("memories_1", {"e": "vectors_2"}, "e")
    assert state.generation == reader.generation() > before
    side.point_to(memories=None, vectors={}, embedder=None)
    emptied = reader.state()
    assert (emptied.memories, emptied.vectors, emptied.embedder) == (None, {}, None)


def test_a_rebuild_asked_for_by_a_migration_is_done_once(shop: Shop) -> None:
    side = shop.side()
    db = sqlite3.connect(shop.side_path)
    db.execute("INSERT INTO meta VALUES ('rebuild', '1')")
    db.commit()
    db.close()
    assert side.state().rebuild
    side.point_to(memories="m", vectors={}, embedder=None)
    assert side.state().rebuild
    side.point_to(memories="m", vectors={}, embedder=None, rebuilt=True)
    assert not side.state().rebuild


def test_a_number_is_given_once(shop: Shop) -> None:
    assert [shop.side().next_number() for _ in range(3)] == [1, 2, 3]


def test_commits_are_counted_until_the_store_is_compact(shop: Shop) -> None:
    side = shop.side()
    assert [side.count_commits(1), side.count_commits(2), side.count_commits(0)] == [1, 3, 3]
    side.reset_commits()
    assert side.count_commits(0) == 0


# --- tombstones and files -------------------------------------------------------------------------


def test_what_is_being_erased_is_hidden_and_buried_at_once(shop: Shop) -> None:
    side, reader = shop.side(), shop.side(writable=False)
    before = reader.generation()
    side.begin_erase(["a", "b"], origins=["o1", "o2"], at=NOW)
    assert reader.state().erasing == {"a", "b"}
    assert reader.buried(["o1", "o2", "o3"]) == {"o1", "o2"}
    assert reader.generation() > before


def test_tombstones_outlive_the_erase_until_they_are_lifted(shop: Shop) -> None:
    side = shop.side()
    side.begin_erase(["a"], origins=["o1", "o2"], at=NOW)
    side.finish_erase(["a"])
    assert side.state().erasing == frozenset()
    assert side.tombstones() == 2
    with side.change() as db:
        assert [step.id for step in journal.lift(db, ["o1", "unknown"])] == ["o1"]
    assert side.buried(["o1", "o2"]) == {"o2"}


def test_thousands_of_origins_can_be_asked_for(shop: Shop) -> None:
    side = shop.side()
    origins = [f"o{n}" for n in range(5_000)]
    side.begin_erase(origins, origins=origins, at=NOW)
    assert side.buried([*origins, "x"]) == set(origins)
    side.finish_erase(origins)
    assert side.state().erasing == frozenset()


def test_a_file_is_known_by_its_content_as_it_was_first_imported(shop: Shop) -> None:
    side = shop.side()
    side.note_file("d1", "file-a")
    side.note_file("d1", "file-b")
    assert (side.place_of_file("d1"), side.place_of_file("d2")) == ("file-a", None)
    assert (side.is_place("file-a"), side.is_place("file-b")) == (True, False)


# --- the journal ----------------------------------------------------------------------------------


def entries(shop: Shop) -> list[int]:
    return [entry for (entry,) in asked(shop, "SELECT DISTINCT entry FROM journal ORDER BY entry")]


def test_the_journal_keeps_its_newest_entries(shop: Shop) -> None:
    side = shop.side()
    for _ in range(510):
        side.note_steps("remember", [Step("add", "a"), Step("add", "b")], at=NOW)
    assert entries(shop) == list(range(11, 511))


def test_the_journal_forgets_what_is_older_than_a_month(shop: Shop) -> None:
    side = shop.side()
    day_ms = 86_400_000
    side.note_steps("remember", [Step("add", "a")], at=NOW - 31 * day_ms)
    side.note_steps("remember", [Step("add", "b")], at=NOW - 29 * day_ms)
    side.note_steps("remember", [Step("add", "c")], at=NOW)
    assert entries(shop) == [2, 3]


# --- what recall notes ----------------------------------------------------------------------------


def test_recalls_are_counted_by_memory_and_in_all(shop: Shop) -> None:
    side = shop.side()
    note_recall(side, ["a", "b"], hits=2, at=10, took_ms=30, tokens=5)
    note_recall(side, ["a"], hits=1, at=20, took_ms=10, tokens=0)
    note_recall(side, [], hits=0, at=30, took_ms=20, tokens=0)
    assert (recalled(side, "a"), recalled(side, "b"), recalled(side, "c")) == ((2, 20), (1, 10), (0, None))
    assert recalls(side) == Recalls(count=3, hit_rate=0.6667, p50_ms=20, p95_ms=20, injected_tokens=5)


def test_only_so_many_events_are_kept(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memcli.store.events._KEPT", 5)
    side = shop.side()
    for n in range(12):
        note_recall(side, [], hits=0, at=n, took_ms=n, tokens=0)
    assert recalls(side).count == 5


def test_a_note_on_a_memory_that_is_being_erased_leaves_nothing(shop: Shop) -> None:
    side = shop.side()
    side.begin_erase(["erased-id-0001"], origins=[], at=NOW)
    note_recall(shop.side(), ["erased-id-0001", "kept-id-0002"], hits=2, at=NOW, took_ms=1, tokens=0)
    side.finish_erase(["erased-id-0001"])
    assert recalled(side, "erased-id-0001") == (0, None)
    assert recalled(side, "kept-id-0002") == (1, NOW)
    assert b"erased-id-0001" not in bytes_of(shop.directory)


# --- erasing --------------------------------------------------------------------------------------


def journaled(shop: Shop) -> Side:
    """A side store whose journal holds SECRET for the memory "secret-id-01", between many others."""
    side = shop.side()
    for n in range(30):
        side.note_steps("edit", [Step("update", f"kept-id-{n:02}", noted(f"kept text {n} " * 20))], at=NOW)
    side.note_steps("edit", [Step("update", "secret-id-01", noted(SECRET * 300))], at=NOW)
    side.note_steps("edit", [Step("update", "secret-id-01", noted(SECRET))], at=NOW)
    for n in range(30, 60):
        side.note_steps("edit", [Step("update", f"kept-id-{n:02}", noted(f"kept text {n} " * 20))], at=NOW)
    note_recall(side, ["secret-id-01"], hits=1, at=NOW, took_ms=1, tokens=0)
    return side


def test_no_byte_of_what_is_erased_stays_in_any_file(shop: Shop) -> None:
    side = journaled(shop)
    assert SECRET.encode() in bytes_of(shop.directory)
    side.begin_erase(["secret-id-01"], origins=[], at=NOW)
    side.finish_erase(["secret-id-01"])
    left = bytes_of(shop.directory)
    assert SECRET.encode() not in left
    assert b"Lindisfarne" not in left
    assert b"secret-id-01" not in left
    assert len(entries(shop)) == 60


def test_no_byte_stays_when_a_reader_is_open_meanwhile(shop: Shop) -> None:
    side = journaled(shop)
    reader = shop.side(writable=False)
    reader.state()
    recalled(reader, "secret-id-01")
    side.begin_erase(["secret-id-01"], origins=[], at=NOW)
    side.finish_erase(["secret-id-01"])
    assert b"Lindisfarne" not in bytes_of(shop.directory)
    assert reader.state().erasing == frozenset()


def test_an_erase_that_a_reader_holds_up_says_so_and_is_finished_later(shop: Shop) -> None:
    side = journaled(shop)
    side._db.execute("PRAGMA busy_timeout = 50")
    side.begin_erase(["secret-id-01"], origins=[], at=NOW)
    other = sqlite3.connect(shop.side_path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM journal").fetchone()
    with pytest.raises(StoreError, match="another program is reading"):
        side.finish_erase(["secret-id-01"])
    assert side.state().erasing == {"secret-id-01"}
    other.close()
    side.finish_erase(["secret-id-01"])
    assert side.state().erasing == frozenset()
    assert b"Lindisfarne" not in bytes_of(shop.directory)


def test_the_journal_of_others_points_to_nothing_erased(shop: Shop) -> None:
    side = shop.side()
    before = noted(
        "older",
        superseded_by="gone-id-0001",
        supersedes=["gone-id-0001", "kept"],
        derived_from=["gone-id-0001"],
    )
    side.note_steps("edit", [Step("update", "older-id-001", before)], at=NOW)
    side.note_steps(
        "edit", [Step("update", "other-id-001", noted("says gone-id-0002", superseded_by="kept"))], at=NOW
    )
    side.begin_erase(["gone-id-0001"], origins=[], at=NOW)
    side.finish_erase(["gone-id-0001"])
    assert b"gone-id-0001" not in bytes_of(shop.directory)
    assert entries(shop) == [1, 2]
    told = asked(shop, "SELECT before FROM journal_changed ORDER BY entry")
    assert '"supersedes": ["kept"]' in told[0][0]
    assert '"superseded_by": "kept"' in told[1][0]
