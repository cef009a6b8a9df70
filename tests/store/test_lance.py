"""Memories in and out of Lance: fields, filters, ids, searching, one commit a plan, vectors."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli import lifecycle
from memcli.errors import NothingMatchedError, StoreError, UsageError
from memcli.passages import passages
from memcli.store.engine import quoted
from memcli.store.lance import LanceStore
from memcli.types import KINDS, PRIORITIES, ROLES, Change, Filters, Origin, Record, Vector
from tests.store.conftest import EVERYTHING, NOW, Shop, everything, found, ids

FULL = Record(
    id="full",
    text="Grüße 👩‍🚀 שלום\u2028zweite Zeile\n'quoted' \\ \"both\" \t end ",
    kind="decision",
    priority="P0",
    topics=("work", "o'clock", "日本", ""),
    project="apollo",
    audience=("coder", "writer"),
    private=True,
    role="assistant",
    name="Zoë",
    source="import:chatgpt",
    source_id="m-1",
    session_id="s-1",
    position=0,
    created_at=-1,
    updated_at=NOW,
    valid_from=0,
    valid_to=253_402_300_799_999,
    expires_at=NOW + 1,
    superseded_by="b",
    supersedes=("c", "d"),
    retired=True,
    derived_from=("e",),
    meta={"title": "a 'title'", "list": [1, None, {"x": "👾\u2028"}], "": "", "big": 2**60},
)
ONE_EMPTY: dict[str, Any] = {
    "topics": (),
    "project": None,
    "audience": (),
    "private": False,
    "role": None,
    "name": None,
    "source_id": None,
    "session_id": None,
    "position": None,
    "created_at": None,
    "updated_at": None,
    "valid_from": None,
    "valid_to": None,
    "expires_at": None,
    "superseded_by": None,
    "supersedes": (),
    "retired": False,
    "derived_from": (),
    "meta": {},
}


def long_text(*, about: str = "") -> str:
    """About 4,000 characters, with `about` in the middle."""
    before = " ".join(f"Sentence number {n} talks of the garden." for n in range(50))
    after = " ".join(f"Line {n} is about the kitchen." for n in range(60))
    return f"{before} {about} {after}"


# --- fields ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [FULL, *(replace(FULL, **{name: value}) for name, value in ONE_EMPTY.items()), Record("bare", "x")],
    ids=["full", *(f"without {name}" for name in ONE_EMPTY), "bare"],
)
def test_a_record_comes_back_as_it_was(shared_shop: Shop, record: Record) -> None:
    named = replace(record, id=f"{record.id}-{len(everything(shared_shop.store()))}")
    assert shared_shop.filled(named).get([named.id], now=NOW) == [named]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
TIME = st.none() | st.integers(-62_135_596_800_000, 253_402_300_799_999)
RECORD = st.builds(
    Record,
    id=st.uuids().map(str),
    text=TEXT,
    kind=st.sampled_from(KINDS),
    priority=st.sampled_from(PRIORITIES),
    topics=st.lists(TEXT, max_size=3).map(tuple),
    project=st.none() | TEXT,
    audience=st.lists(TEXT, max_size=2).map(tuple),
    private=st.booleans(),
    role=st.none() | st.sampled_from(ROLES),
    name=st.none() | TEXT,
    source=TEXT,
    source_id=st.none() | TEXT,
    session_id=st.none() | TEXT,
    position=st.none() | st.integers(0, 2**40),
    created_at=TIME,
    expires_at=TIME,
    retired=st.booleans(),
    derived_from=st.lists(TEXT, max_size=2).map(tuple),
    meta=st.dictionaries(TEXT, JSON, max_size=3),
)


@given(st.lists(RECORD, min_size=1, max_size=8, unique_by=lambda record: record.id))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_records_come_back_as_they_were(shared_shop: Shop, records: list[Record]) -> None:
    store = shared_shop.filled(*records)
    assert store.get([record.id for record in records], now=NOW) == records
    shared_shop.close()


def test_a_long_text_is_one_memory_and_comes_back_whole(shop: Shop) -> None:
    record = Record("long", long_text())
    store = shop.filled(record)
    assert len(passages(record.text)) > 5
    assert store.count(Filters(), now=NOW) == 1
    assert list(store.scan(Filters(), now=NOW)) == [record]


def test_a_scan_is_ordered_by_time_session_position_and_id_with_unknown_last(shop: Shop) -> None:
    ordered = [
        Record("z", "1", created_at=1, session_id="a", position=5),
        Record("y", "2", created_at=1, session_id="b", position=1),
        Record("x", "3", created_at=1, session_id="b", position=2),
        Record("v", "4", created_at=1, session_id="b"),
        Record("w", "5", created_at=1, session_id="b"),
        Record("u", "6", created_at=2),
        Record("s", "7", session_id="a", position=0),
        Record("t", "8", session_id="a", position=1),
        Record("r", "9"),
    ]
    store = shop.filled(*reversed(ordered))
    assert [record.text for record in store.scan(Filters(), now=NOW)] == list("123456789")
    newest_first = store.scan(Filters(), now=NOW, order=(("created_at", False), ("id", True)), limit=2)
    assert [record.id for record in newest_first] == ["u", "v"]


def test_get_keeps_the_order_asked_for_and_leaves_out_what_is_missing(shop: Shop) -> None:
    store = shop.filled(Record("aaaa", "1"), Record("bbbb", "2", retired=True))
    assert [record.id for record in store.get(["bbbb", "gone", "aaaa"], now=NOW)] == ["bbbb", "aaaa"]


# --- filters --------------------------------------------------------------------------------------

SHELF = (
    Record("plain", "plain", created_at=100, source="cli"),
    Record("fact", "fact", kind="fact", topics=("work", "it's"), project="apollo", created_at=200),
    Record("note", "note", kind="document", topics=("home",), project="gemini", created_at=300),
    Record("said", "said", kind="episode", role="user", source="import:chatgpt", source_id="m1",
           session_id="s1", position=0, created_at=400),
    Record("told", "told", kind="episode", role="assistant", source="import:chatgpt", source_id="m2",
           session_id="s1", position=1),
    Record("other", "third", kind="episode", role="user", source="chat", source_id="m1", session_id="s'2"),
    Record("coder", "coder", audience=("coder",), created_at=500),
    Record("old", "old", created_at=600, valid_to=700, superseded_by="new"),
    Record("new", "new", created_at=700, supersedes=("old",)),
    Record("away", "away", retired=True, created_at=800),
    Record("over", "spent", expires_at=NOW, created_at=900),
    Record("soon", "soon", expires_at=NOW + 1, created_at=1000),
    Record("later", "later", valid_from=5000, created_at=1100),
)  # fmt: skip
SHOWN = {record.id for record in SHELF} - {"away", "over"}
UNLABELLED = SHOWN - {"fact", "note"}
TIMED = {"plain", "fact", "note", "said", "coder", "old", "new", "soon", "later"}

FILTERS: Mapping[str, tuple[Filters, set[str]]] = {
    "nothing asked": (Filters(), SHOWN),
    "hidden": (Filters(with_hidden=True), SHOWN | {"away", "over"}),
    "kind": (Filters(kinds=("document",)), {"note"}),
    "two kinds": (Filters(kinds=("document", "episode")), {"note", "said", "told", "other"}),
    "topic": (Filters(topics=("home",)), {"note"}),
    "one of two topics": (Filters(topics=("home", "it's")), {"note", "fact"}),
    "topic nobody has": (Filters(topics=("') OR true --",)), set()),
    "project and unlabelled": (Filters(project="apollo"), UNLABELLED | {"fact"}),
    "project only": (Filters(project="apollo", project_only=True), {"fact"}),
    "unknown project": (Filters(project="x"), UNLABELLED),
    "role": (Filters(role="user"), {"said", "other"}),
    "source with its family": (Filters(source="chatgpt"), {"said", "told"}),
    "source in full": (Filters(source="import:chatgpt"), {"said", "told"}),
    "source id": (Filters(source_ids=("m1",)), {"said", "other"}),
    "two source ids": (Filters(source_ids=("m1", "m2")), {"said", "other", "told"}),
    "source id in a session": (Filters(source_ids=("m1",), session="s1"), {"said"}),
    "session with a quote": (Filters(session="s'2"), {"other"}),
    "since": (Filters(since=600), {"old", "new", "soon", "later"}),
    "until": (Filters(until=200), {"plain", "fact"}),
    "before": (Filters(before=200), {"plain"}),
    "since and until": (Filters(since=200, until=300), {"fact", "note"}),
    "every time there is": (Filters(since=-(2**62), until=2**62), TIMED),
    "as of before anything": (Filters(as_of=99), set()),
    "as of when the old one held": (
        Filters(as_of=650), {"plain", "fact", "note", "said", "coder", "old"}),
    "as of when it was replaced": (
        Filters(as_of=700), {"plain", "fact", "note", "said", "coder", "new"}),
    "as of when the later one holds": (Filters(as_of=5000), TIMED - {"old"}),
    "current": (Filters(current=True), SHOWN - {"old"}),
    "agent in the audience": (Filters(agent="coder"), SHOWN),
    "agent not in the audience": (Filters(agent="writer"), SHOWN - {"coder"}),
    "all at once": (
        Filters(kinds=("episode",), role="user", source="chatgpt", session="s1", since=400, until=400,
                project="apollo", agent="x", current=True), {"said"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Any:
    shop = Shop(tmp_path_factory.mktemp("shelf"))
    yield shop.filled(*SHELF)
    shop.close()


@pytest.mark.parametrize(("filters", "expected"), FILTERS.values(), ids=FILTERS.keys())
def test_a_filter_takes_what_it_names(shelf: LanceStore, filters: Filters, expected: set[str]) -> None:
    assert ids(shelf.scan(filters, now=NOW)) == expected
    assert shelf.count(filters, now=NOW) == len(expected)


@pytest.mark.parametrize(("filters", "expected"), FILTERS.values(), ids=FILTERS.keys())
def test_a_search_keeps_to_the_filters(shelf: LanceStore, filters: Filters, expected: set[str]) -> None:
    question = " ".join(record.text for record in SHELF)
    assert {candidate.record.id for candidate in found(shelf, question, filters)} == expected


LABEL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(LABEL)
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize(
    "name", ["kinds", "topics", "source_ids", "project", "role", "source", "session", "agent"]
)
def test_no_value_of_a_filter_leaves_its_quotes(shelf: LanceStore, name: str, value: str) -> None:
    given_value: Any = (value,) if name in ("kinds", "topics", "source_ids") else value
    filters = replace(Filters(project_only=True), **{name: given_value})
    unlabelled = {"agent": SHOWN - {"coder"}}.get(name, set())
    known = {label for record in SHELF for label in (
        *record.topics, *record.audience, record.kind, record.project, record.role, record.source,
        record.source.removeprefix("import:"), record.source_id, record.session_id)}  # fmt: skip
    if value not in known:
        assert ids(shelf.scan(filters, now=NOW)) == unlabelled


# --- ids ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Any:
    shop = Shop(tmp_path_factory.mktemp("named"))
    names = [
        "abcd1111",
        "abcd2222",
        "abce",
        "abcef",
        "x_yz99",
        "xxyz99",
        "100%_a",
        "1000_a",
        "ret1red0",
        "ab",
    ]
    yield shop.filled(*(Record(name, name, retired=name == "ret1red0") for name in names))
    shop.close()


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("abcd1", "abcd1111"),
        ("abcd1111", "abcd1111"),
        ("abce", "abce"),
        ("abcef", "abcef"),
        ("x_yz", "x_yz99"),
        ("100%", "100%_a"),
        ("ret1", "ret1red0"),
        ("ab", "ab"),
    ],
)
def test_a_unique_prefix_or_a_whole_id_names_a_memory(named: LanceStore, prefix: str, expected: str) -> None:
    assert named.resolve(prefix, now=NOW).id == expected


@pytest.mark.parametrize("prefix", ["zzzz", "abcd11112", "ABCD1111", "____", "%%%%", "' OR ''='", "\\\\\\\\"])
def test_a_prefix_that_no_id_has_matches_nothing(named: LanceStore, prefix: str) -> None:
    with pytest.raises(NothingMatchedError):
        named.resolve(prefix, now=NOW)


@pytest.mark.parametrize("prefix", ["", "a", "abc", "100"])
def test_a_prefix_of_less_than_four_characters_is_refused(named: LanceStore, prefix: str) -> None:
    with pytest.raises(UsageError, match="too short"):
        named.resolve(prefix, now=NOW)


def test_an_ambiguous_prefix_is_refused_with_the_candidates(named: LanceStore) -> None:
    with pytest.raises(UsageError, match="abcd1111, abcd2222"):
        named.resolve("abcd", now=NOW)


# --- searching ------------------------------------------------------------------------------------

TEXTS = {
    "stem": "She was running along the canal every morning",
    "chinese": "我们下周去杭州西湖边的茶馆喝龙井",
    "japanese": "来週の火曜日に歯医者の予約があります",
    "korean": "서울에서 김치찌개를 먹었습니다",
    "version": "Upgrade the parser to 2.3.1 before Friday",
    "language": "The engine is written in C++ and a bit of Rust",
    "identifier": "call compute_rolling_median on the series",
    "url": "the wiki is at https://wiki.example.org/x_team/plan-b",
    "accent": "Le café près de la gare est fermé",
    "wide": "ＡＢＣ１２３ という型番",
    "dated": "The boiler was serviced",
}
QUESTIONS = {
    "run": "stem",
    "runs canals": "stem",
    "杭州": "chinese",
    "龙井": "chinese",
    "歯医者": "japanese",
    "予約": "japanese",
    "김치찌개": "korean",
    "서울": "korean",
    "2.3.1": "version",
    "C++": "language",
    "c++": "language",
    "rolling": "identifier",
    "x_team": "url",
    "cafe": "accent",
    "CAFÉ": "accent",
    "ABC123": "wide",
    "3 August 2026": "dated",
    "2026年8月3日": "dated",
}


@pytest.fixture(scope="module", params=["indexed", "fresh"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The texts, once in the indexes and once only appended."""
    shop = Shop(tmp_path_factory.mktemp("library"))
    august = 1_785_751_200_000
    store = shop.filled(
        *(Record(name, text, created_at=august if name == "dated" else None) for name, text in TEXTS.items())
    )
    if request.param == "indexed":
        store.compact(keep_ms=0)
    unindexed = {index.num_unindexed_rows for index in store.table(store.in_use()[0]).indexes()}
    assert unindexed == ({0} if request.param == "indexed" else {len(TEXTS)})
    yield store
    shop.close()


@pytest.mark.parametrize(("question", "expected"), QUESTIONS.items())
def test_words_find_their_memory_first(library: LanceStore, question: str, expected: str) -> None:
    candidates = sorted(found(library, question), key=lambda candidate: -(candidate.bm25 or 0))
    assert [candidate.record.id for candidate in candidates][:1] == [expected]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
@settings(max_examples=80, deadline=None)
def test_no_question_makes_a_search_fail(library: LanceStore, question: str) -> None:
    assert {candidate.record.id for candidate in found(library, question)} <= TEXTS.keys()


@pytest.mark.parametrize(
    "question",
    ["", " ", '"', "'", "'; DROP TABLE memories; --", "a AND (b OR", "*", "?", "🙂", "\0", "\u2028",
     "~!@#$%^&*()", "x" * 10_000, "word " * 2_000, "的" * 10_000],
)  # fmt: skip
def test_a_hostile_question_is_answered(library: LanceStore, question: str) -> None:
    assert {candidate.record.id for candidate in found(library, question)} <= TEXTS.keys()


def test_an_empty_store_answers_with_nothing(shop: Shop) -> None:
    assert shop.store().search("anything", lambda: unit(0), filters=Filters(), now=NOW, limit=5) == ([], 0)


def test_a_long_text_is_found_by_its_best_passage(shop: Shop) -> None:
    store = shop.filled(
        Record("long", long_text(about="The zanzibar clause ends in May.")), Record("b", "May")
    )
    best = max(found(store, "zanzibar clause"), key=lambda candidate: candidate.bm25 or 0)
    assert best.record.id == "long"
    assert best.ordinal > 0
    assert best.chunks == len(passages(best.record.text))
    assert "zanzibar clause" in best.passage
    assert len(best.passage) < len(best.record.text) / 3


def test_a_search_finds_by_the_speaker(shop: Shop) -> None:
    store = shop.filled(Record("a", "see you there", name="Ottilie"), Record("b", "fine", name="Bruno"))
    assert [candidate.record.id for candidate in found(store, "Ottilie")] == ["a"]


def test_a_search_asks_only_as_many_as_it_may(shop: Shop) -> None:
    store = shop.filled(*(Record(f"r{n}", f"apple number {n}") for n in range(30)))
    candidates, rows = store.search("apple", lambda: None, filters=Filters(), now=NOW, limit=7)
    assert (len(candidates), rows) == (7, 30)


# --- a plan is one commit -------------------------------------------------------------------------


def versions(store: LanceStore) -> int:
    return store.table(store.in_use()[0]).versions()


def test_adding_many_is_one_commit(shop: Shop) -> None:
    store = shop.filled(Record("first", "first"))
    before = versions(store)
    store.apply([Change("add", Record(f"r{n}", long_text())) for n in range(20)])
    assert versions(store) == before + 1


def test_a_plan_of_adds_and_updates_is_one_commit(shop: Shop) -> None:
    older = Record("older", "I live in Bonn", created_at=1)
    store = shop.filled(older)
    before = versions(store)
    plan = lifecycle.supersede(older, Change("add", Record("newer", "I live in Kiel", created_at=2)), now=NOW)
    store.apply(plan)
    assert versions(store) == before + 1
    assert {record.id: record.superseded_by for record in store.scan(EVERYTHING, now=NOW)} == {
        "older": "newer",
        "newer": None,
    }


def test_a_plan_of_skips_changes_nothing(shop: Shop) -> None:
    store = shop.store()
    store.apply([Change("skip", Record("a", "a"), why="known")])
    assert store.in_use() == []


@pytest.mark.parametrize("action", ["update", "supersede", "retire"])
def test_an_update_keeps_the_origin(shop: Shop, action: Any) -> None:
    before = Record("a", "before", source_id="m1", role="user", created_at=5)
    store = shop.filled(before, Record("b", "b"))
    origin = lifecycle.origin_of(before, store.state.key)
    store.apply([Change(action, replace(before, text="after", retired=action == "retire"), before=before)])
    assert store.origins(["a"]) == {"a": origin}
    assert store.known([origin]) == {origin.place: "a", origin.said: "a"}
    assert store.get(["a"], now=NOW)[0].text == "after"
    assert store.get(["b"], now=NOW)[0].text == "b"


def test_an_update_to_a_shorter_text_leaves_no_passage_behind(shop: Shop) -> None:
    before = Record("long", long_text(about="the zanzibar clause"))
    store = shop.filled(before, Record("longer", long_text()))
    store.apply([Change("update", replace(before, text="short"), before=before)])
    assert "long" not in {candidate.record.id for candidate in found(store, "zanzibar")}
    rows = store.table(store.in_use()[0]).count(f"id = {quoted('long')}")
    assert rows == 1
    assert store.get(["longer"], now=NOW)[0].text == long_text()


def test_an_update_to_a_longer_text_is_found_by_the_new_passages(shop: Shop) -> None:
    before = Record("a", "short")
    store = shop.filled(before)
    store.apply(
        [Change("update", replace(before, text=long_text(about="the zanzibar clause")), before=before)]
    )
    assert [candidate.record.id for candidate in found(store, "zanzibar")] == ["a"]
    assert store.count(EVERYTHING, now=NOW) == 1


def test_many_updates_at_once_are_all_made(shop: Shop) -> None:
    records = [Record(f"r{n:04}", f"text {n}") for n in range(3_000)]
    store = shop.filled(*records)
    store.apply(lifecycle.retire(records, now=NOW))
    assert store.count(Filters(), now=NOW) == 0
    assert store.count(EVERYTHING, now=NOW) == 3_000


def test_a_store_open_for_reading_refuses_to_be_written(shop: Shop) -> None:
    with pytest.raises(StoreError):
        LanceStore(str(shop.directory / "lance"), None).apply([Change("add", Record("a", "a"))])


def test_a_reader_that_was_open_before_sees_what_is_added(shop: Shop) -> None:
    writer = shop.filled(Record("a", "first apple"))
    reader = shop.store(writable=False)
    assert len(found(reader, "apple")) == 1
    writer.apply([Change("add", Record("b", "second apple"))])
    assert len(found(reader, "apple")) == 2


def test_compacting_loses_nothing_and_leaves_little(shop: Shop) -> None:
    store = shop.store()
    for n in range(12):
        store.apply([Change("add", Record(f"r{n}", f"apple {n}"))])
    store.compact(keep_ms=0)
    assert ids(store.scan(Filters(), now=NOW)) == {f"r{n}" for n in range(12)}
    shape = store.shape()
    assert (shape["fragments"], shape["indexes"]) == (1, 2)
    assert shape["versions"] <= 2


# --- origins --------------------------------------------------------------------------------------


def test_what_is_known_is_told_by_either_hash(shop: Shop) -> None:
    store = shop.store()
    store.apply([Change("add", Record("a", "a"), origin=Origin(place="p1", said="s1"))])
    asked = [Origin(place="p1", said="s9"), Origin(place=None, said="s1"), Origin(place="p2", said=None)]
    assert store.known(asked) == {"p1": "a", "s1": "a"}


def test_a_superseded_memory_keeps_its_origin_beside_its_successors(shop: Shop) -> None:
    store = shop.store()
    origin = Origin(place="p1", said=None)
    older = Record("older", "one")
    store.apply([Change("add", older, origin=origin)])
    store.apply(lifecycle.supersede(older, Change("add", Record("newer", "two"), origin=origin), now=NOW))
    assert store.known([origin])["p1"] in {"older", "newer"}


# --- vectors --------------------------------------------------------------------------------------

DIM = 8


def unit(axis: int) -> Vector:
    return array("f", [1.0 if n == axis else 0.0 for n in range(DIM)])


def embedded(store: LanceStore, **axes: int) -> LanceStore:
    store.bind("e", DIM, asked=True)
    store.add_vectors("e", {key: unit(axis) for key, axis in axes.items()})
    return store


def nearest(store: LanceStore, axis: int, filters: Filters | None = None) -> dict[str, float | None]:
    candidates, _ = store.search("?", lambda: unit(axis), filters=filters or Filters(), now=NOW, limit=5)
    return {candidate.record.id: candidate.cosine for candidate in candidates}


def test_what_has_no_vector_is_pending_until_it_has_one(shop: Shop) -> None:
    store = shop.filled(Record("a", "one"), Record("b", long_text()))
    pending = store.pending("e", private=True)
    assert pending[:2] == ["a", "b"]
    assert pending[2:] == [f"b/{n}" for n in range(1, len(passages(long_text())))]
    embedded(store, **dict.fromkeys(pending, 0))
    assert store.pending("e", private=True) == []
    store.apply([Change("add", Record("c", "three"))])
    assert store.pending("e", private=True) == ["c"]


def test_a_text_that_changes_is_pending_again(shop: Shop) -> None:
    before = Record("a", "one")
    store = embedded(shop.filled(before, Record("b", "two")), a=0, b=1)
    store.apply([Change("update", replace(before, text="three"), before=before)])
    assert store.pending("e", private=True) == ["a"]
    assert nearest(store, 0) == {"b": pytest.approx(0)}


def test_a_label_that_changes_keeps_the_vector(shop: Shop) -> None:
    before = Record("a", "one")
    store = embedded(shop.filled(before), a=0)
    store.apply([Change("update", replace(before, topics=("x",)), before=before)])
    assert store.pending("e", private=True) == []


@pytest.mark.parametrize(("changed", "is_told"), [({"text": "new"}, True), ({"topics": ("x",)}, False)])
def test_who_embeds_meanwhile_is_told_that_a_text_has_changed(
    shop: Shop, changed: dict[str, Any], is_told: bool
) -> None:
    before = Record("a", "one")
    store = shop.filled(before)
    generation = store.state.generation
    store.apply([Change("update", replace(before, **changed), before=before)])
    store.refresh()
    assert (store.state.generation > generation) == is_told


def test_a_vector_finds_its_memory_by_cosine(shop: Shop) -> None:
    store = embedded(shop.filled(Record("a", "one"), Record("b", "two")), a=0, b=1)
    assert nearest(store, 1) == {"a": pytest.approx(0), "b": pytest.approx(1)}


@pytest.mark.parametrize("filters", [Filters(kinds=("fact",)), Filters(current=True), Filters(project="p")])
def test_a_vector_search_keeps_to_the_filters(shop: Shop, filters: Filters) -> None:
    hidden = Record("b", "two", kind="document", superseded_by="a", project="q")
    store = embedded(shop.filled(Record("a", "one"), hidden), a=0, b=1)
    assert set(nearest(store, 1, filters)) == {"a"}


def test_what_only_words_found_gets_its_cosine_too(shop: Shop) -> None:
    store = embedded(
        shop.filled(*(Record(f"r{n}", f"pear {n}") for n in range(10)), Record("a", "apple")),
        **{f"r{n}": 0 for n in range(10)},
        a=1,
    )
    candidates, _ = store.search("apple", lambda: unit(0), filters=Filters(), now=NOW, limit=3)
    assert {candidate.record.id: candidate.cosine for candidate in candidates}["a"] == pytest.approx(0)


def test_private_memories_wait_when_the_embedder_is_not_local(shop: Shop) -> None:
    secret = Record("a", "one", private=True)
    store = shop.filled(secret, Record("b", "two"))
    assert store.pending("e", private=False) == ["b"]
    assert store.pending("e", private=True) == ["a", "b"]


def test_what_became_private_does_not_hide_what_is_pending(shop: Shop) -> None:
    before = Record("a", "one")
    store = embedded(shop.filled(before), a=0)
    store.apply([Change("update", replace(before, private=True), before=before)])
    store.apply([Change("add", Record("b", "two"))])
    assert store.pending("e", private=False) == ["b"]


def test_a_vector_that_two_processes_made_is_stored_once(shop: Shop) -> None:
    store = embedded(shop.filled(Record("a", "one"), Record("b", "two")), a=0)
    store.add_vectors("e", {"a": unit(0)})
    assert store.pending("e", private=True) == ["b"]
    assert store.table(store.state.vectors["e"]).count() == 1


def test_passages_are_given_as_they_are_embedded(shop: Shop) -> None:
    record = Record("long", long_text(), name="Ottilie", created_at=0)
    store = shop.filled(record, Record("a", "short"))
    keys = store.pending("e", private=True)
    expected = ["short", *(part.text for part in passages(record.text))]
    assert sorted(store.passages_of(keys).values()) == sorted(expected)
    assert store.passages_of(["long/1"]) == {"long/1": passages(record.text)[1].text}
    assert store.passages_of(["gone", "long/999"]) == {}


def test_a_new_embedder_grows_beside_the_old_one_until_it_is_asked(shop: Shop) -> None:
    store = embedded(shop.filled(Record("a", "one"), Record("b", "two")), a=0, b=1)
    store.bind("new", DIM + 1, asked=False)
    assert store.state.embedder == "e"
    assert store.dim("new") == DIM + 1
    assert nearest(store, 0)["a"] == pytest.approx(1)
    longer = array("f", [*unit(3), 0.0])
    store.add_vectors("new", {"a": longer, "b": longer})
    store.unbind_others("new")
    assert (store.state.embedder, list(store.state.vectors)) == ("new", ["new"])
    assert sorted(store.database.table_names()) == sorted(store.in_use())
    candidates, _ = store.search("?", lambda: longer, filters=Filters(), now=NOW, limit=5)
    assert [candidate.cosine for candidate in candidates] == pytest.approx([1, 1])


def test_binding_twice_keeps_the_vectors(shop: Shop) -> None:
    store = embedded(shop.filled(Record("a", "one")), a=0)
    store.bind("e", DIM, asked=True)
    assert store.pending("e", private=True) == []
    assert store.dim("e") == DIM
    assert store.dim("unknown") is None
