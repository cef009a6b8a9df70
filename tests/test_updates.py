"""What a later statement replaces, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli import statements
from memcli.passages import terms
from memcli.statements import names_any, tell
from memcli.types import Record
from memcli.updates import is_statement, order, outdates

DAY = 86_400_000
PAIRS = Path(__file__).parent / "data" / "updates" / "pairs.jsonl"
"""What a person said earlier and later, and whether the later replaces the earlier."""


def said(text: str, *, day: int, **fields: Any) -> Record:
    return Record(
        **{"id": text, "text": text, "kind": "episode", "role": "user", "created_at": day * DAY} | fields
    )


def replaced(*records: Record) -> dict[str, list[str]]:
    """Each statement that others outdate, and which do."""
    statements = [record for record in records if is_statement(record)]
    found = {older.id: [newer.id for newer in statements if outdates(newer, older)] for older in statements}
    return {older: newer for older, newer in found.items() if newer}


def pairs(*, replaces: bool) -> Iterator[Any]:
    for line in PAIRS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["replaces"] is replaces:
            yield pytest.param(row["older"], row["newer"], id=f"{row['older']} / {row['newer']}")


@pytest.mark.parametrize(("older", "newer"), list(pairs(replaces=True)))
def test_later_statement_replaces_the_earlier_one(older: str, newer: str) -> None:
    assert replaced(said(older, day=1), said(newer, day=9)) == {older: [newer]}


@pytest.mark.parametrize(("older", "newer"), list(pairs(replaces=False)))
def test_what_is_not_contradicted_stays(older: str, newer: str) -> None:
    assert replaced(said(older, day=1), said(newer, day=9)) == {}


OLD, NEW = "I live in Leeds.", "I moved to York."


def test_order_of_arrival_does_not_matter() -> None:
    assert replaced(said(NEW, day=9), said(OLD, day=1)) == {OLD: [NEW]}


def test_older_statement_replaces_nothing() -> None:
    assert replaced(said(OLD, day=9), said(NEW, day=1)) == {NEW: [OLD]}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"name": "Ann"}, {"name": "Bob"}),
        ({}, {"role": "assistant"}),
        ({}, {"role": "assistant", "name": "Bob"}),
        ({"role": "assistant"}, {}),
        ({"created_at": None}, {}),
        ({}, {"kind": "document"}),
        ({}, {"retired": True}),
        ({"project": "flat"}, {"project": "office"}),
        ({}, {"project": "office"}),
        ({}, {"audience": ("planner",)}),
    ],
)
def test_who_did_not_say_it_for_the_same_readers_replaces_nothing(
    older: dict[str, Any], newer: dict[str, Any]
) -> None:
    assert replaced(said(OLD, day=1, **older), said(NEW, day=9, **newer)) == {}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"name": "Ann"}, {"name": "Ann"}),
        ({"name": "Ann"}, {"role": None, "source": "cli", "kind": "fact"}),
        ({"role": None, "source": "cli", "kind": "fact"}, {}),
        ({"project": "flat"}, {"project": "flat"}),
        ({"project": "flat"}, {}),
        ({"audience": ("planner",)}, {"audience": ("planner", "coach")}),
        ({"day": 9, "position": 1}, {"position": 2}),
        (
            {"created_at": None, "session_id": "s", "position": 1},
            {"created_at": None, "session_id": "s", "position": 2},
        ),
    ],
)
def test_the_same_person_replaces_what_the_same_readers_see(
    older: dict[str, Any], newer: dict[str, Any]
) -> None:
    assert replaced(said(OLD, **{"day": 1} | older), said(NEW, day=9, **newer)) == {OLD: [NEW]}


def test_a_page_is_no_statement() -> None:
    page = "The house has a garden and a shed with tools. " * 20
    assert replaced(said(OLD + page, day=1), said(NEW, day=9)) == {}


TEXTS = st.lists(
    st.sampled_from(
        ("I", "used to", "like", "tea", "quit", "live in", "York", "moved to", ",", ".", "戒", "茶", "改到")
    )
).map(" ".join)


@given(st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=6, unique_by=lambda each: each[0]))
def test_only_a_later_statement_replaces(statements: Sequence[tuple[str, int]]) -> None:
    days = dict(statements)
    found = replaced(*(said(text, day=day) for text, day in statements))
    assert all(days[older] < days[newer] for older, newers in found.items() for newer in newers)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_read(older: str, newer: str) -> None:
    assert set(replaced(said(f"1{older}", day=1), said(f"2{newer}", day=9))) <= {f"1{older}"}


def test_a_fact_and_the_turn_it_was_learned_from_do_not_replace_each_other() -> None:
    turn = said("I moved to York.", day=9, session_id="s", position=4)
    fact = said("User moved to York.", day=9, kind="fact", role=None, derived_from=(turn.id,))
    assert replaced(turn, fact) == {}


def test_the_learned_fact_replaces_before_the_turn_that_it_was_learned_from() -> None:
    turn = said("I moved to York.", day=9, session_id="s", position=4, id="a")
    fact = said("User moved to York.", day=9, kind="fact", role=None, derived_from=("a",), id="b")
    assert min([turn, fact], key=order) == fact


@given(TEXTS | st.text(max_size=200), st.text(max_size=30))
def test_a_text_names_a_term_where_its_terms_have_it(text: str, other: str) -> None:
    for named in (frozenset(terms(other)), frozenset(terms(text)[-1:])):
        assert names_any(text, named) is not named.isdisjoint(terms(text))


BARE = st.sampled_from(
    ["Im", "ı", "I", "we", "the user", "now", "7 km", "weigh", "run", "for my notes", "use", "也"]
)


@given(st.lists(TEXTS | st.lists(BARE, max_size=6).map(" ".join) | st.text(max_size=50), max_size=8))
def test_of_many_texts_the_same_tell_something(texts: list[str]) -> None:
    assert tell([*texts, *[""] * 200])[: len(texts)] == [statements.said(text).is_telling for text in texts]
