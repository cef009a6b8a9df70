"""Erasing: what is forgotten is in no byte, no row, no index; what stays is whole; a stop is made good."""

from __future__ import annotations

import json
import shutil
from array import array
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memcli import lifecycle
from memcli.record_json import to_json
from memcli.store import journal, purge
from memcli.store.engine import Database, run
from memcli.store.lance import LanceStore, build_indexes
from memcli.store.side import Side
from memcli.types import Change, Filters, Proof, Record
from tests.store.conftest import EVERYTHING, NOW, Shop, everything, found, note_recall

SECRET = Record(
    "5ecre7aaaaaaaaaaaaaa",
    "Xanthippe hid the quokka under the zeppelin hangar 紫水晶钥匙",
    source_id="m-300",
    session_id="s",
    role="user",
    created_at=300,
)
SECRET_WORDS = ("xanthippe", "quokka", "zeppelin", "hangar", "紫水晶", "钥匙", "水晶")
THINGS = ("garden", "kitchen", "bicycle", "library", "harbour", "orchard", "violin", "teapot")


def ordinary(number: int) -> Record:
    return Record(
        f"{number:04}bbbbbbbbbbbbbbbb",
        f"Note {number}: the {THINGS[number % 8]} and the {THINGS[number // 8 % 8]} 我们第{number}次",
        source_id=f"m-{number}",
        session_id="s",
        role="user",
        created_at=number,
    )


def six_hundred() -> list[Record]:
    return [SECRET if number == 300 else ordinary(number) for number in range(600)]


def bytes_under(directory: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def has_bytes_of(directory: Path, *words: str) -> list[str]:
    """Which of these words stand in a file, in the usual encodings and cases."""
    held = bytes_under(directory)
    return [
        word
        for word in words
        for form in (word, word.lower(), word.upper(), word.capitalize())
        if form.encode() in held or form.encode("utf-16-le") in held
    ]


def erase(store: LanceStore, side: Side, *records: Record) -> None:
    purge.erase(store, side, records, at=NOW)


# --- 600 memories, one forgotten ------------------------------------------------------------------


@pytest.fixture(scope="module")
def purged(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A store of 600 with vectors, journal, edits and old versions, after one was forgotten."""
    shop = Shop(tmp_path_factory.mktemp("purged"))
    side = shop.side()
    store = LanceStore(str(shop.directory / "lance"), side)
    key = store.state.key
    records = six_hundred()
    for start in range(0, 600, 100):
        some = records[start : start + 100]
        changes = [Change("add", record, origin=lifecycle.origin_of(record, key)) for record in some]
        store.apply(changes)
        side.note_steps("import", [journal.Step("add", record.id) for record in some], at=NOW)
    store.bind("e", 4, asked=True)
    store.add_vectors("e", {record.id: array("f", [1, 0, 0, 0]) for record in records})
    edited = replace(SECRET, topics=("quokka",))
    store.apply([Change("update", edited, before=SECRET)])
    side.note_steps("edit", [journal.Step("update", SECRET.id, to_json(SECRET))], at=NOW)
    note_recall(side, [SECRET.id], hits=1, at=NOW, took_ms=1, tokens=0)
    store.compact(keep_ms=10**9)
    assert found(store, "quokka")
    erase(store, side, edited)
    yield shop
    shop.close()


def test_what_is_forgotten_is_in_no_byte(purged: Shop) -> None:
    assert has_bytes_of(purged.directory, *SECRET_WORDS, SECRET.id) == []


def test_what_is_forgotten_is_in_no_row_of_any_version(purged: Shop) -> None:
    database = Database(str(purged.directory / "lance"))
    names = database.table_names()
    assert sorted(names) == sorted(purged.store().in_use())
    rows = 0
    for name in names:
        table = database.open(name)
        for version in table.at_every_version():
            for batch in version.scan(table.columns()):
                rows += batch.num_rows
                told = str(batch.to_pylist()).lower()
                assert [word for word in (*SECRET_WORDS, SECRET.id) if word in told] == []
    assert rows >= 2 * 599


@pytest.mark.parametrize("word", SECRET_WORDS)
def test_no_index_knows_a_word_of_what_is_forgotten(purged: Shop, word: str) -> None:
    store = purged.store()
    table = store.table(store.state.memories or "")
    rows = run(table.match(word, "words", columns=["text"], limit=600))
    assert [row["text"] for row in rows if "hangar" in row["text"]] == []
    assert len(rows) in (0, 599)
    assert word not in ("xanthippe", "quokka", "zeppelin") or rows == []


def test_the_index_dictionaries_are_those_of_a_store_that_never_held_it(purged: Shop, tmp_path: Path) -> None:
    # A dictionary is a finite-state transducer: no byte of a word shows, but one more word changes it.
    def dictionaries(directory: Path) -> list[bytes]:
        return sorted(path.read_bytes() for path in directory.rglob("*tokens.lance"))

    def dictionaries_of(name: str, records: list[Record]) -> list[bytes]:
        other = Shop(tmp_path / name)
        other.directory.mkdir()
        store = other.filled(*records)
        build_indexes(store.table(store.state.memories or ""))
        store.compact(keep_ms=0)
        other.close()
        return dictionaries(other.directory)

    without = dictionaries_of("without", [record for record in six_hundred() if record != SECRET])
    assert len(without) == 2
    assert dictionaries_of("with", six_hundred()) != without
    assert dictionaries(purged.directory) == without


def test_the_others_are_whole(purged: Shop) -> None:
    kept = everything(purged.store())
    assert kept == {record.id: record for record in six_hundred() if record != SECRET}
    assert purged.store().pending("e", private=True) == []


def test_the_others_are_found(purged: Shop) -> None:
    store = purged.store()
    for number in (10, 77, 299, 301, 599):
        best = max(found(store, f"note {number}"), key=lambda candidate: candidate.bm25 or 0)
        assert best.record.id == ordinary(number).id
    vector = array("f", [1, 0, 0, 0])
    near, _ = store.search("?", lambda: vector, filters=Filters(), now=NOW, limit=600)
    assert len({candidate.record.id for candidate in near}) == 599


def test_what_is_forgotten_is_buried_and_the_others_are_known(purged: Shop) -> None:
    store = purged.store()
    origin = lifecycle.origin_of(SECRET, store.state.key)
    assert store.known([origin]) == {}
    assert store.buried(lifecycle.hashes(origin)) == set(lifecycle.hashes(origin))
    kept = lifecycle.origin_of(ordinary(5), store.state.key)
    assert set(store.known([kept]).values()) == {ordinary(5).id}
    assert store.buried(lifecycle.hashes(kept)) == set()


def test_the_proof_reads_everything_and_finds_nothing(purged: Shop) -> None:
    proof = purge.prove(purged.store(), purged.side(), [purged.directory], [SECRET], now=NOW)
    files = [path for path in purged.directory.rglob("*") if path.is_file()]
    assert proof.traces == 0
    assert proof.files_scanned == len(files)
    assert proof.bytes_scanned == sum(path.stat().st_size for path in files)
    assert proof.rows_decoded >= 2 * 599
    assert proof.words_asked > 5


# --- the proof finds what is there ----------------------------------------------------------------


@pytest.fixture
def small(shop: Shop) -> Shop:
    """Forty memories, the secret among them, of which it was forgotten."""
    store = shop.filled(*map(ordinary, range(40)), SECRET)
    erase(store, shop.side(), SECRET)
    return shop


def proof_of(shop: Shop, *records: Record) -> Proof:
    return purge.prove(shop.store(), shop.side(), [shop.directory], records or [SECRET], now=NOW)


@pytest.mark.parametrize(
    "planted",
    [
        SECRET.text.encode(),
        SECRET.text.encode("utf-16-le"),
        b"\0" * 1_048_560 + SECRET.text.encode(),
        b"log: " + SECRET.text[:40].encode() + b"...",
        SECRET.id.encode(),
    ],
    ids=["text", "utf-16", "across two chunks", "a part", "id"],
)
def test_a_trace_in_a_stray_file_is_found(small: Shop, planted: bytes) -> None:
    assert proof_of(small).traces == 0
    (small.directory / "lance" / "stray.tmp").write_bytes(planted)
    assert proof_of(small).traces > 0


def test_one_trace_among_many_that_were_forgotten_is_found(shop: Shop) -> None:
    records = [*map(ordinary, range(100)), SECRET]
    erase(shop.filled(*records, ordinary(200)), shop.side(), *records)
    assert proof_of(shop, *records).traces == 0
    stray = shop.directory / "stray.tmp"
    stray.write_bytes(b"\0" * 1_048_560 + SECRET.text.encode())
    assert proof_of(shop, *records).traces > 0
    stray.write_bytes(b"\0" * 99 + ordinary(7).text.encode("utf-16-le"))
    assert proof_of(shop, *records).traces > 0


def test_a_table_that_was_left_is_found(shop: Shop) -> None:
    store = shop.filled(*map(ordinary, range(40)), SECRET)
    left = shop.directory / "lance" / f"{store.state.memories}.lance"
    shutil.copytree(left, shop.directory / "copy.lance")
    erase(store, shop.side(), SECRET)
    shutil.move(shop.directory / "copy.lance", shop.directory / "lance" / "memories_99.lance")
    assert proof_of(shop).traces > 0


def test_a_row_that_was_only_deleted_is_found(shop: Shop) -> None:
    store = shop.filled(*map(ordinary, range(40)), SECRET)
    store.table(store.state.memories or "").delete(f"id = '{SECRET.id}'")
    assert proof_of(shop).traces > 0


CHINESE = replace(SECRET, text="小李在林迪斯法恩岛上养了一只苍鹭")


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("INSERT INTO review VALUES ('r', 1, ?, NULL, '[]', '')", json.dumps({"text": CHINESE.text})),
        ("INSERT INTO review VALUES ('r', 1, '{}', NULL, ?, '')", json.dumps([CHINESE.id])),
        ("INSERT INTO journal_changed VALUES (1, 1, 'update', 'x', ?)", json.dumps({"a": [CHINESE.text]})),
        ("INSERT INTO queue VALUES (?, 1, 0, 1, 0)", CHINESE.id),
        ("INSERT INTO turns VALUES (1, ?, 's', 0, 'user', 'hello', 1, 'whole', NULL, 1)", CHINESE.id),
        ("INSERT INTO events VALUES (1, 1, 'good', 0, 0, 0, NULL, ?)", CHINESE.id),
    ],
)
def test_a_row_of_the_side_store_that_was_left_is_found(shop: Shop, sql: str, value: str) -> None:
    store = shop.filled(CHINESE, ordinary(1))
    erase(store, shop.side(), CHINESE)
    assert proof_of(shop, CHINESE).traces == 0
    with shop.side().change() as db:
        db.execute(sql, (value,))
    assert proof_of(shop, CHINESE).traces > 0


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("INSERT INTO turns VALUES (1, 'other', 's', 0, 'user', ?, 1, 'whole', NULL, 1)", CHINESE.text),
        ("INSERT INTO task_values VALUES ('job', 'k', 1, ?)", f"I heard: {CHINESE.text}"),
    ],
)
def test_what_another_turn_or_a_task_says_too_is_no_trace(shop: Shop, sql: str, value: str) -> None:
    store = shop.filled(CHINESE, ordinary(1))
    erase(store, shop.side(), CHINESE)
    with shop.side().change() as db:
        db.execute(sql, (value,))
    assert proof_of(shop, CHINESE).traces == 0


@pytest.mark.parametrize("text", ["ok", "a", "42", "yes", "é", "好", ""])
def test_a_text_too_short_to_prove_by_is_no_trace_by_chance(shop: Shop, text: str) -> None:
    short = replace(SECRET, text=text)
    store = shop.filled(*map(ordinary, range(40)), short)
    erase(store, shop.side(), short)
    assert proof_of(shop, short).traces == 0


def test_what_a_living_memory_says_too_is_no_trace(shop: Shop) -> None:
    twin = replace(SECRET, id="7w1naaaaaaaaaaaaaaaa", source_id="m-twin")
    store = shop.filled(twin, SECRET, ordinary(1))
    erase(store, shop.side(), SECRET)
    assert set(everything(store)) == {twin.id, ordinary(1).id}
    assert proof_of(shop).traces == 0


# --- what hangs on it -----------------------------------------------------------------------------


def test_pointers_to_what_is_forgotten_are_cleared(shop: Shop) -> None:
    gone = SECRET.id
    store = shop.filled(
        SECRET,
        Record("older", "older", superseded_by=gone, valid_to=5),
        Record("newer", "newer", supersedes=(gone, "older")),
        Record("chain", "chain", superseded_by="newer", valid_to=5),
    )
    origins = store.origins(["older"])
    erase(store, shop.side(), SECRET)
    kept = everything(store)
    assert kept["older"] == Record("older", "older")
    assert kept["newer"] == Record("newer", "newer", supersedes=("older",))
    assert kept["chain"] == Record("chain", "chain", superseded_by="newer", valid_to=5)
    assert store.origins(["older"]) == origins
    assert gone.encode() not in bytes_under(shop.directory)


def test_what_came_from_it_and_others_is_hidden_without_the_pointer(shop: Shop) -> None:
    store = shop.filled(
        SECRET, Record("other", "other"), Record("both", "both", derived_from=(SECRET.id, "other"))
    )
    erase(store, shop.side(), SECRET)
    assert everything(store)["both"] == Record("both", "both", derived_from=("other",), retired=True)
    assert {record.id for record in store.scan(Filters(), now=NOW)} == {"other"}


def test_what_came_from_it_alone_goes_with_it(shop: Shop) -> None:
    learned = Record("1earned", "The zeppelin is Xanthippe's", derived_from=(SECRET.id,))
    summary = Record("5ummary", "A summary of the zeppelin affair", derived_from=("1earned",))
    store = shop.filled(SECRET, learned, summary, ordinary(1))
    derived = list(store.scan(EVERYTHING, now=NOW, extra="derived_from IS NOT NULL"))
    plan = lifecycle.with_derived([SECRET], derived)
    erase(store, shop.side(), *(change.record for change in plan))
    assert set(everything(store)) == {ordinary(1).id}
    assert has_bytes_of(shop.directory, "zeppelin", "Xanthippe", "1earned", "5ummary") == []


def test_a_long_text_goes_with_all_its_passages_and_vectors(shop: Shop) -> None:
    long = replace(SECRET, text=" ".join(f"Zeppelin sentence number {n} of the log." for n in range(200)))
    store = shop.filled(long, ordinary(1))
    store.bind("e", 2, asked=True)
    store.add_vectors("e", {key: array("f", [1, 0]) for key in store.pending("e", private=True)})
    erase(store, shop.side(), long)
    assert store.table(store.state.vectors["e"]).count() == 1
    assert store.table(store.state.memories or "").count() == 1
    assert has_bytes_of(shop.directory, "zeppelin", long.id) == []


def test_the_vectors_of_every_embedder_go(shop: Shop) -> None:
    store = shop.filled(SECRET, ordinary(1))
    for name in ("old", "new"):
        store.bind(name, 2, asked=name == "old")
        store.add_vectors(name, {key: array("f", [1, 0]) for key in (SECRET.id, ordinary(1).id)})
    erase(store, shop.side(), SECRET)
    assert {name: store.pending(name, private=True) for name in ("old", "new")} == {"old": [], "new": []}
    assert store.state.embedder == "old"
    assert SECRET.id.encode() not in bytes_under(shop.directory)


def test_forgetting_everything_leaves_an_empty_store_that_can_be_written(shop: Shop) -> None:
    records = [*map(ordinary, range(20)), SECRET]
    store = shop.filled(*records)
    erase(store, shop.side(), *records)
    assert everything(store) == {}
    assert has_bytes_of(shop.directory, *SECRET_WORDS, "bicycle") == []
    shop.filled(ordinary(50))
    assert set(everything(store)) == {ordinary(50).id}


def test_forgetting_most_of_many_keeps_the_rest(shop: Shop) -> None:
    records = [ordinary(number) for number in range(4_000)]
    store = shop.filled(*records)
    erase(store, shop.side(), *records[10:])
    assert everything(store) == {record.id: record for record in records[:10]}


def test_a_reader_that_was_open_before_sees_the_rest(shop: Shop) -> None:
    store = shop.filled(*map(ordinary, range(5)), SECRET)
    reader = shop.store(writable=False)
    assert len(everything(reader)) == 6
    erase(store, shop.side(), SECRET)
    assert set(everything(reader)) == {ordinary(number).id for number in range(5)}
    assert SECRET.id not in {candidate.record.id for candidate in found(reader, "quokka")}
    assert reader.count(EVERYTHING, now=NOW) == 5


def test_a_table_that_a_dead_process_left_is_dropped(shop: Shop) -> None:
    store = shop.filled(ordinary(1), SECRET)
    shutil.copytree(
        shop.directory / "lance" / f"{store.state.memories}.lance",
        shop.directory / "lance" / "memories_77.lance",
    )
    erase(store, shop.side(), SECRET)
    assert store.database.table_names() == store.in_use()
    assert has_bytes_of(shop.directory, "zeppelin") == []


def test_a_rebuild_keeps_every_memory_and_vector(shop: Shop) -> None:
    records = [*map(ordinary, range(20)), SECRET]
    store = shop.filled(*records)
    store.bind("e", 2, asked=True)
    store.add_vectors("e", {record.id: array("f", [1, 0]) for record in records})
    before = store.in_use()
    side = shop.side()
    with side.change() as db:
        db.execute("INSERT INTO meta VALUES ('rebuild', '1')")
    purge.finish(store, side)
    assert everything(store) == {record.id: record for record in records}
    assert store.pending("e", private=True) == []
    assert not set(before) & set(store.in_use())
    assert not side.state().rebuild
    assert side.tombstones() == 0


# --- stopped in the middle ------------------------------------------------------------------------

Step = Callable[[LanceStore, Side], None]


def _begun(store: LanceStore, side: Side) -> None:
    origins = store.origins([SECRET.id])
    side.begin_erase([SECRET.id], origins=lifecycle.hashes(origins[SECRET.id]), at=NOW)
    store.refresh()


def _half_copied(store: LanceStore, side: Side) -> None:
    _begun(store, side)
    purge._copy_memories(store, side, frozenset({SECRET.id}), [])


def _replaced(store: LanceStore, side: Side) -> None:
    _begun(store, side)
    purge._replace_tables(store, side, frozenset({SECRET.id}))


def _dropped(store: LanceStore, side: Side) -> None:
    _replaced(store, side)
    purge.drop_left_over(store)


@pytest.mark.parametrize("stop", [_begun, _half_copied, _replaced, _dropped])
def test_an_erase_that_was_stopped_is_hidden_at_once_and_finished_by_the_next_writer(
    shop: Shop, stop: Step
) -> None:
    side = shop.side()
    store = shop.filled(*map(ordinary, range(30)), SECRET)
    side.note_steps("edit", [journal.Step("update", SECRET.id, to_json(SECRET))], at=NOW)
    stop(store, side)
    shop.close()

    reader = shop.store(writable=False)
    assert set(everything(reader)) == {ordinary(number).id for number in range(30)}
    assert SECRET.id not in {candidate.record.id for candidate in found(reader, "quokka zeppelin")}
    assert reader.get([SECRET.id], now=NOW) == []
    assert reader.tally(["id"], now=NOW) == {"id": [ordinary(number).id for number in range(30)]}

    writer = shop.side()
    store = LanceStore(str(shop.directory / "lance"), writer)
    assert store.state.erasing == {SECRET.id}
    purge.finish(store, writer)
    assert has_bytes_of(shop.directory, *SECRET_WORDS, SECRET.id) == []
    assert everything(store) == {ordinary(number).id: ordinary(number) for number in range(30)}
    assert store.state.erasing == frozenset()
    assert proof_of(shop).traces == 0


def test_finishing_what_was_not_begun_changes_nothing(shop: Shop) -> None:
    store = shop.filled(*map(ordinary, range(5)))
    before = store.in_use()
    purge.finish(store, shop.side())
    assert store.in_use() == before
    assert len(everything(store)) == 5
