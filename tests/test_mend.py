"""Mending: what is damaged is refused, found, and made anew from what is whole; what is lost is named."""

from __future__ import annotations

import re
import shutil
import sqlite3
from array import array
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memcli.absorb import Intake
from memcli.doctor import ChatUse, Check, checks
from memcli.errors import DamagedError
from memcli.memory import Draft, Memory, open_memory
from memcli.models.pick import ChatPlace
from memcli.store import purge
from memcli.store.rows import schema
from memcli.types import Filters, Query, Selection

AT = 1_780_000_000_000
NO_CHAT = ChatUse(None, None, ChatPlace("127.0.0.1:9"))
FIRST, LAST = "The heron is by the old pier", "The owl is in the barn"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = open_memory(data_dir=tmp_path, clock=lambda: AT, embedder="none", ollama_host="127.0.0.1:9")
    memory.remember(Draft(text=FIRST))
    memory.remember(Draft(text=LAST))
    with memory.write() as (store, _):
        store.bind("e", 2, asked=False)
        store.add_vectors("e", {key: array("f", [1.0, 0.0]) for key in store.pending("e")})
    memory.close()
    return memory


def doctor(memory: Memory, *, fix: bool = False) -> dict[str, Check]:
    """What is not well."""
    found = checks(memory, config=Path("/nowhere/config.toml"), chat=NO_CHAT, fix=fix)
    return {check.check: check for check in found if check.state != "ok" or "it was" in check.found}


def texts(memory: Memory) -> set[str]:
    return {record.text for record in memory.export(Filters())}


def lance(memory: Memory) -> Path:
    return Path(memory.place.lance)


def table(memory: Memory, kind: str) -> Path:
    (path,) = lance(memory).glob(f"{kind}_*.lance")
    return path


def newest(memory: Memory, kind: str) -> Path:
    return min((table(memory, kind) / "_versions").glob("*.manifest"))


def flip(path: Path, byte: int) -> None:
    held = bytearray(path.read_bytes())
    held[byte] ^= 1
    path.write_bytes(held)


# --- manifests ------------------------------------------------------------------------------------

SPOILT: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "zeroed": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "with another bit": lambda path: flip(path, path.stat().st_size // 2),
    "lost": Path.unlink,
}
spoilt = pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)


@spoilt
def test_no_reader_believes_a_newest_version_that_was_not_written(
    memory: Memory, spoil: Callable[[Path], object]
) -> None:
    spoil(newest(memory, "memories"))
    asked: list[Callable[[], object]] = [
        lambda: texts(memory),
        lambda: memory.recall(Query("heron", AT)),
        lambda: memory.list(Filters(), n=1),
        memory.stats,
        lambda: memory.remember(Draft(text="A fox")),
    ]
    for ask in asked:
        with pytest.raises(DamagedError, match="newest version") as caught:
            ask()
        assert "doctor" in caught.value.hint


@spoilt
def test_the_doctor_goes_back_to_the_version_before_and_names_what_is_lost(
    memory: Memory, spoil: Callable[[Path], object]
) -> None:
    (last,) = (record.id for record in memory.export(Filters()) if record.text == LAST)
    spoil(newest(memory, "memories"))
    assert doctor(memory)["tables"].state == "fail"
    check = doctor(memory, fix=True)["tables"]
    assert (check.state, last in check.found) == ("warn", True)
    assert texts(memory) == {FIRST}
    memory.remember(Draft(text=LAST))
    assert (texts(memory), doctor(memory)) == ({FIRST, LAST}, {})


def test_tables_that_are_away_are_told_as_lost_and_known_again_when_they_are_back(memory: Memory) -> None:
    place = lance(memory)
    away = place.rename(place.with_name("away"))
    asked: list[Callable[[], object]] = [
        lambda: texts(memory),
        lambda: memory.remember(Draft(text="A fox")),
        lambda: memory.backup(place.with_name("saved.tar"), user="default"),
        lambda: memory.plan_forget(Selection(everything=True)),
        memory.stats,
        memory.undo,
    ]
    doctor(memory, fix=True)
    for ask in asked:
        with pytest.raises(DamagedError, match="newest version is missing"):
            ask()
    with suppress(FileNotFoundError):
        place.rmdir()
    away.rename(place)
    assert (texts(memory), doctor(memory)) == ({FIRST, LAST}, {})
    # What was known of the files is known still.
    flip(newest(memory, "memories"), 40)
    with pytest.raises(DamagedError):
        texts(memory)


def test_a_turn_whose_memory_is_lost_becomes_one_again(memory: Memory) -> None:
    memory.save_turn(memory.begin_session(), "user", "Where is the otter?")
    memory.keep_turns()
    newest(memory, "memories").unlink()
    doctor(memory, fix=True)
    assert texts(memory) == {FIRST, LAST}
    memory.keep_turns()
    assert texts(memory) == {FIRST, LAST, "Where is the otter?"}


def test_vectors_that_cannot_be_opened_are_dropped_and_made_anew_later(memory: Memory) -> None:
    newest(memory, "vectors").write_bytes(b"")
    assert doctor(memory, fix=True)["tables"].state == "ok"
    assert (memory.read().state.vectors, texts(memory)) == ({}, {FIRST, LAST})


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "part"), [("memories", "_indices"), ("memories", "_transactions"), ("vectors", "data")]
)
def test_a_flipped_bit_in_what_can_be_made_anew_is_found_and_mended(
    memory: Memory, kind: str, part: str
) -> None:
    file = max((path for path in (table(memory, kind) / part).rglob("*") if path.is_file()), key=str)
    flip(file, file.stat().st_size // 2)
    check = doctor(memory)["files"]
    assert (check.state, file.name in check.found) == ("fail", True)
    assert doctor(memory, fix=True)["files"].state == "ok"
    assert (texts(memory), doctor(memory)) == ({FIRST, LAST}, {})
    assert memory.recall(Query("owl", AT), is_noted=False).hits[0].record.text == LAST


def change_a_text(memory: Memory) -> None:
    for file in (table(memory, "memories") / "data").iterdir():
        at = file.read_bytes().find(b"heron")
        if at >= 0:
            flip(file, at)


def test_a_text_that_was_changed_on_disk_is_named_when_it_is_mended(memory: Memory) -> None:
    change_a_text(memory)
    check = doctor(memory, fix=True)["files"]
    (changed,) = (record for record in memory.export(Filters()) if record.text != LAST)
    assert changed.text != FIRST
    assert (check.state, changed.id in check.found) == ("warn", True)


def test_a_text_that_was_changed_on_disk_is_told_to_nobody(memory: Memory) -> None:
    change_a_text(memory)
    memory.close()
    with pytest.raises(DamagedError, match="not what was written"):
        list(memory.export(Filters()))
    with pytest.raises(DamagedError, match="not what was written"):
        memory.recall(Query("heron", now=0))


def _compact(memory: Memory) -> None:
    with memory.write() as (store, _):
        store.compact(keep_ms=0)


def _forget(memory: Memory) -> None:
    memory.erase(memory.plan_forget(Selection(match="owl")))


@pytest.mark.parametrize("copy", [_compact, _forget])
def test_damaged_rows_are_not_copied_unseen(memory: Memory, copy: Callable[[Memory], None]) -> None:
    change_a_text(memory)
    with pytest.raises(DamagedError, match="not what was written"):
        copy(memory)


@pytest.mark.parametrize("next_", [_compact, _forget])
def test_what_a_writer_dropped_that_died_before_it_could_note_it_is_no_damage(
    memory: Memory, next_: Callable[[Memory], None]
) -> None:
    with suppress(TimeoutError), memory.write() as (store, _):
        store.compact(keep_ms=0)
        raise TimeoutError
    memory.close()
    assert doctor(memory) == {}
    next_(memory)
    assert FIRST in texts(memory)


# --- the side store -------------------------------------------------------------------------------


def _lose(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _scramble(path: Path) -> None:
    path.write_bytes(b"not a database".ljust(path.stat().st_size, b"."))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 // 4096 * 4096])


@pytest.fixture(params=[_lose, _empty, _scramble, _cut], ids=lambda harm: harm.__name__.strip("_"))
def spoilt_side(request: pytest.FixtureRequest, memory: Memory) -> Memory:
    with closing(sqlite3.connect(memory.side_path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ("side.db-wal", "side.db-shm"):
        memory.side_path.with_name(name).unlink(missing_ok=True)
    request.param(memory.side_path)
    return memory


def test_without_its_side_store_a_store_is_refused_and_not_taken_for_an_empty_one(
    spoilt_side: Memory,
) -> None:
    memory = spoilt_side
    asked: list[Callable[[], object]] = [
        lambda: texts(memory),
        lambda: memory.recall(Query("heron", AT)),
        lambda: memory.remember(Draft(text="A fox")),
        lambda: memory.save_turn(memory.begin_session(), "user", "Where is it?"),
    ]
    for ask in asked:
        with pytest.raises(DamagedError):
            ask()
    assert len(list(lance(memory).iterdir())) == 2


def test_a_side_store_is_made_anew_and_knows_the_tables(spoilt_side: Memory) -> None:
    memory = spoilt_side
    check = doctor(memory, fix=True)["side store"]
    assert (check.state, "forgotten" in check.found) == ("warn", True)
    assert (texts(memory), memory.read().state.vectors.keys()) == ({FIRST, LAST}, {"e"})
    assert memory.remember(Draft(text="A fox")).added
    assert doctor(memory) == {}


def test_an_import_knows_its_messages_with_a_side_store_made_anew(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "messages.jsonl"
    file.write_text('{"id":"m1","session_id":"s","role":"user","content":"Hello","timestamp":1700000000}\n')
    memory.absorb([str(file)], intake=Intake())
    memory.close()
    for path in memory.place.directory.glob("side.db*"):
        path.unlink()
    doctor(memory, fix=True)
    (report,) = memory.absorb([str(file)], intake=Intake()).files
    assert (report.added, report.duplicates) == (0, 1)


def test_without_anything_that_names_the_tables_they_are_found(memory: Memory) -> None:
    for path in (*memory.place.directory.glob("side.db*"), memory.place.directory / "tables.json"):
        path.unlink()
    doctor(memory, fix=True)
    assert texts(memory) == {FIRST, LAST}


def test_what_can_still_be_read_of_a_side_store_is_kept(memory: Memory) -> None:
    turn = memory.save_turn(memory.begin_session(), "user", "Where is the otter?")
    memory.erase(memory.plan_forget(Selection(match="owl")))
    memory.close()
    with closing(sqlite3.connect(memory.side_path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        roots = db.execute("SELECT rootpage FROM sqlite_master WHERE name IN ('journal', 'journal_twin')")
        roots, size = roots.fetchall(), db.execute("PRAGMA page_size").fetchone()[0]
    held = bytearray(memory.side_path.read_bytes())
    for (root,) in roots:
        held[(root - 1) * size : root * size] = bytes(size)
    memory.side_path.write_bytes(held)
    check = doctor(memory, fix=True)["side store"]
    assert ("undo" in check.found, "forgotten" in check.found) == (True, False)
    assert memory.session("last").turns == (turn,)
    with memory.write_side() as side:
        assert side.tombstones() == 1


@pytest.mark.parametrize("eighths", range(9))
def test_a_side_store_whose_log_has_lost_its_end_leads_to_no_earlier_store(
    memory: Memory, tmp_path: Path, eighths: int
) -> None:
    with closing(sqlite3.connect(memory.side_path)) as reader:
        reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # As long as somebody reads, what is written stays in the log.
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM meta").fetchall()
        memory.remember(Draft(text="A fox"))
        with memory.write() as (store, side):
            purge.rewrite(store, side)
        memory.remember(Draft(text="A newt"))
        memory.close()
        shutil.copytree(memory.place.directory, tmp_path / "torn" / "users" / "default")
    log = tmp_path / "torn" / "users" / "default" / "side.db-wal"
    log.write_bytes(log.read_bytes()[: log.stat().st_size * eighths // 8])
    torn = open_memory(data_dir=tmp_path / "torn", clock=lambda: AT, embedder="none")
    everything = {FIRST, LAST, "A fox", "A newt"}
    with suppress(DamagedError):
        assert texts(torn) == everything
    doctor(torn, fix=True)
    assert (texts(torn), doctor(torn)) == (everything, {})
    torn.close()


def test_a_mending_that_was_killed_is_begun_again(memory: Memory) -> None:
    turn = memory.save_turn(memory.begin_session(), "user", "Where is the otter?")
    with closing(sqlite3.connect(memory.side_path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    memory.close()
    memory.side_path.rename(memory.side_path.with_name("side.db.aside-damaged"))
    doctor(memory, fix=True)
    assert (texts(memory), memory.session("last").turns) == ({FIRST, LAST}, (turn,))


# --- what only waits ------------------------------------------------------------------------------


def test_what_waits_for_the_next_command_is_done_at_once(memory: Memory) -> None:
    memory.read().database.create("vectors_99", schema())
    with memory.write() as (_, side):
        side.begin_erase([memory.list(Filters(), n=1)[0][0].id], origins=[], at=AT)
    memory.place.directory.chmod(0o755)
    assert set(doctor(memory)) == {"data directory", "left-over tables", "unfinished work"}
    assert {check.state for check in doctor(memory, fix=True).values()} == {"ok"}
    assert (doctor(memory), len(texts(memory))) == ({}, 1)


def test_a_missing_index_is_built(memory: Memory) -> None:
    with memory.write() as (store, side):
        store.database.create("memories_99", schema())
        side.point_to(memories="memories_99", vectors={}, embedder=None)
    assert doctor(memory, fix=True)["indexes"].state == "ok"
    assert doctor(memory) == {}


def test_a_store_that_is_gone_as_a_whole_is_an_empty_one(memory: Memory) -> None:
    shutil.rmtree(memory.place.directory)
    assert (texts(memory), doctor(memory, fix=True)) == (set(), {})


# --- what the side store says of itself -----------------------------------------------------------


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE meta SET value = 'x' || substr(value, 2) WHERE key = 'key'",
        "UPDATE meta SET value = substr(value, 3) WHERE key = 'key'",
        "UPDATE meta SET value = '{' WHERE key = 'vectors'",
        "UPDATE meta SET value = '1x' WHERE key = 'generation'",
        "UPDATE meta SET value = '[1]' WHERE key = 'seals'",
        "UPDATE meta SET value = '#' WHERE key = 'tables'",
    ],
)
def test_a_side_store_that_says_nonsense_is_damaged_and_made_anew(memory: Memory, spoil: str) -> None:
    spoil_side(memory, spoil)
    for ask in (lambda: texts(memory), memory.stats, lambda: memory.remember(Draft(text="A fox"))):
        with pytest.raises(DamagedError, match=r"side\.db is damaged") as caught:
            ask()
        assert "doctor" in caught.value.hint
    assert doctor(memory)["side store"].state == "fail"
    doctor(memory, fix=True)
    assert (texts(memory), doctor(memory)) == ({FIRST, LAST}, {})


@pytest.mark.parametrize("figure", ["replace(value, ', ', ', 1')", "replace(value, ']', '1]')"])
def test_a_wrong_seal_is_no_damage_of_the_tables(memory: Memory, figure: str) -> None:
    before = {path: path.read_bytes() for path in lance(memory).rglob("*") if path.is_file()}
    spoil_side(memory, f"UPDATE meta SET value = {figure} WHERE key = 'seals'")
    assert doctor(memory).keys() == {"side store"}
    doctor(memory, fix=True)
    assert (texts(memory), doctor(memory)) == ({FIRST, LAST}, {})
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", ["memoriesW1", "memories_7"])
def test_a_wrong_name_of_a_table_is_no_damage_of_the_tables(memory: Memory, name: str) -> None:
    spoil_side(memory, f"UPDATE meta SET value = '{name}' WHERE key = 'memories'")
    assert doctor(memory).keys() == {"side store"}
    doctor(memory, fix=True)
    assert (texts(memory), doctor(memory)) == ({FIRST, LAST}, {})


def test_a_column_of_another_name_is_found_and_its_rows_are_kept(memory: Memory) -> None:
    memory.erase(memory.plan_forget(Selection(match=LAST)))
    spoil_bytes(memory, b"TABLE tombstones (origin TEXT", b"TABLE tombstones (orioin TEXT")
    assert doctor(memory)["side store"].state == "fail"
    doctor(memory, fix=True)
    assert doctor(memory) == {}
    with memory.write_side() as side:
        assert side.tombstones() > 0


@pytest.mark.parametrize("row", ["task = 'jot'", "parent = 'no number'"])
def test_a_row_that_was_not_written_so_is_damage_and_no_bug(memory: Memory, row: str) -> None:
    memory.tasks.start("job")
    spoil_side(memory, f"UPDATE task_versions SET {row}")
    with pytest.raises(DamagedError, match=r"side\.db is damaged"):
        memory.tasks.get("job")


def test_a_list_of_tables_that_is_no_text_is_damage(memory: Memory) -> None:
    spoil_bytes(memory, b"CREATE TABLE tasks", b"CREATE TABLE t\xe4sks")
    with pytest.raises(DamagedError):
        texts(memory)
    assert doctor(memory)["side store"].state == "fail"
    doctor(memory, fix=True)
    assert texts(memory) == {FIRST, LAST}


def test_another_key_of_the_hashes_is_found_and_set_back(memory: Memory, tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    history.write_text('{"id": "1", "session_id": "s", "role": "user", "content": "An otter"}\n', "utf-8")
    memory.absorb([str(history)], intake=Intake())
    other = "CASE substr(value, 1, 1) WHEN 'a' THEN 'b' ELSE 'a' END || substr(value, 2)"
    spoil_side(memory, f"UPDATE meta SET value = {other} WHERE key = 'key'")
    # By another key nothing would be known again, and what is forgotten would come back.
    with pytest.raises(DamagedError, match="has lost the key"):
        memory.absorb([str(history)], intake=Intake())
    assert doctor(memory)["side store"].state == "fail"
    doctor(memory, fix=True)
    assert doctor(memory) == {}
    (report,) = memory.absorb([str(history)], intake=Intake()).files
    assert (report.added, report.duplicates) == (0, 1)


@pytest.mark.parametrize(
    ("spoil", "lost"),
    [
        ("UPDATE turns SET text = CAST(x'f09f' AS TEXT) WHERE position = 0", "turns of chats"),
        ("UPDATE journal_changed SET before = '{' WHERE seq = 1", "how memories were before"),
        ("UPDATE sums SET file = CAST(x'ff' AS TEXT) WHERE rowid = 1", ""),
    ],
)
def test_one_row_that_cannot_be_read_is_found_and_takes_no_other_with_it(
    memory: Memory, spoil: str, lost: str
) -> None:
    session = memory.begin_session()
    for text in ("Where is the otter?", "In the reeds"):
        memory.save_turn(session, "user", text, becomes_memory=False)
    memory.edit(next(memory.export(Filters())).id, Draft(topics=("birds",)))
    spoil_side(memory, spoil.replace("WHERE rowid = 1", "WHERE file = (SELECT min(file) FROM sums)"))
    assert doctor(memory)["side store"].state == "fail"
    check = doctor(memory, fix=True)["side store"]
    assert lost in check.found
    assert (texts(memory), doctor(memory)) == ({FIRST, LAST}, {})
    turns = memory.session(session.id).turns
    assert turns[-1].text == "In the reeds"


def spoil_bytes(memory: Memory, was: bytes, now: bytes) -> None:
    memory.close()
    with closing(sqlite3.connect(memory.side_path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    held = memory.side_path.read_bytes()
    assert held.count(was) == 1
    memory.side_path.write_bytes(held.replace(was, now))


def spoil_side(memory: Memory, sql: str) -> None:
    memory.close()
    with closing(sqlite3.connect(memory.side_path)) as db, db:
        assert db.execute(sql).rowcount == 1


# --- a bit of the side store ----------------------------------------------------------------------


def _fill_side(memory: Memory) -> None:
    memory.save_turn(memory.begin_session(), "user", "Where is the otter?")
    memory.tasks.start("job")
    memory.tasks.set("job", "berth", "harbour-nine")
    memory.erase(memory.plan_forget(Selection(match="owl")))
    (record,) = (record for record in memory.export(Filters()) if record.text == FIRST)
    memory.edit(record.id, Draft(text="The heron has moved to the weir"))
    memory.close()
    with closing(sqlite3.connect(memory.side_path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _told_of(path: Path, asked: str) -> str:
    with closing(sqlite3.connect(path)) as db:
        return str(db.execute(asked).fetchone()[0])


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT text FROM turns WHERE text LIKE '%otter%'",
        "SELECT value FROM task_values",
        "SELECT origin FROM tombstones",
        "SELECT before FROM journal_changed",
        "SELECT value FROM meta WHERE key = 'key'",
    ],
    ids=["turn", "value of a task", "tombstone", "journal", "key"],
)
def test_a_flipped_bit_in_either_copy_of_a_row_is_found(memory: Memory, asked: str) -> None:
    _fill_side(memory)
    whole = memory.side_path.read_bytes()
    told = _told_of(memory.side_path, asked).encode()
    places = [match.start() for match in re.finditer(re.escape(told), whole)]
    assert len(places) == 2
    for place in places:
        held = bytearray(whole)
        # Text stays text, and JSON stays JSON.
        held[place + len(told) - 4] ^= 1
        memory.side_path.write_bytes(held)
        assert doctor(memory)["side store"].state == "fail"
        check = doctor(memory, fix=True)["side store"]
        assert "copies that differ" in check.found or "meta" in asked
        assert doctor(memory) == {}
        assert texts(memory) == {"The heron has moved to the weir"}
        assert memory.session("last").turns[0].text.startswith("Where is the ")
        with memory.write_side() as side:
            assert side.tombstones() >= 1
        memory.close()
        for path in memory.place.directory.glob("side.db*"):
            path.unlink()


def test_what_one_copy_has_lost_is_taken_from_the_other(memory: Memory) -> None:
    _fill_side(memory)
    with closing(sqlite3.connect(memory.side_path)) as db:
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'turns'").fetchone()[0]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    held = bytearray(memory.side_path.read_bytes())
    held[(root - 1) * size : root * size] = bytes(size)
    memory.side_path.write_bytes(held)
    check = doctor(memory, fix=True)["side store"]
    assert (check.state, "chats" in check.found) == ("ok", False)
    assert [turn.text for turn in memory.session("last").turns] == ["Where is the otter?"]
