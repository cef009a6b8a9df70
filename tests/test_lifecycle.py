"""Plans: how a record is known again, and what replaces, hides or takes what."""

from __future__ import annotations

import hmac
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli import lifecycle
from memcli.lifecycle import Known
from memcli.types import Change, Origin, Record

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
SAID = Record(
    "",
    "See you at noon",
    role="user",
    name="Ada",
    source="import:chatgpt",
    source_id="m1",
    session_id="s1",
    position=3,
    created_at=1_000,
)
UNTIMED = replace(SAID, created_at=None)
BARE = replace(UNTIMED, source_id=None)


def origin(record: Record, key: bytes = KEY) -> Origin:
    return lifecycle.origin_of(record, key)


def meets(one: Record, other: Record) -> bool:
    """Whether either hash of one is a hash of the other."""
    return not set(lifecycle.hashes(origin(one))).isdisjoint(lifecycle.hashes(origin(other)))


# --- origins --------------------------------------------------------------------------------------

MEETS: dict[str, tuple[Record, dict[str, Any]]] = {
    "the text was edited at its source": (SAID, {"text": "See you at one", "created_at": 2_000}),
    "another export counts otherwise": (SAID, {"position": 4}),
    "what was learned about it": (SAID, {"topics": ("x",), "kind": "fact", "project": "p", "meta": {"a": 1}}),
    "another tool has it under another id": (
        SAID, {"source": "import:other", "source_id": "9", "session_id": "9"}),
    "another tool has no id for it": (
        SAID, {"source": "import:other", "source_id": None, "session_id": None}),
    "without a time by its id": (UNTIMED, {"text": "edited"}),
    "with neither by place and text": (BARE, {"role": "assistant", "name": "Bo"}),
    "whose words are the person's is told later": (replace(SAID, source_id=None), {"role": "assistant"}),
}  # fmt: skip
DIFFERS: dict[str, tuple[Record, dict[str, Any]]] = {
    "the same id in another conversation": (UNTIMED, {"session_id": "s2"}),
    "the same id in another format": (UNTIMED, {"source": "import:other"}),
    "another id": (UNTIMED, {"source_id": "m2"}),
    "the same words later": (replace(SAID, source_id=None), {"created_at": 1_001}),
    "the same words by another person": (replace(SAID, source_id=None), {"name": "Bo"}),
    "the same words in another role": (replace(SAID, source_id=None, name=None), {"role": "assistant"}),
    "the same words elsewhere in the conversation": (BARE, {"position": 4}),
    "the same place in another conversation": (BARE, {"session_id": "s2"}),
    "other words in the same place": (BARE, {"text": "See you at one"}),
}


@pytest.mark.parametrize(("record", "changes"), MEETS.values(), ids=MEETS.keys())
def test_the_same_thing_is_known_again(record: Record, changes: dict[str, Any]) -> None:
    assert meets(record, replace(record, **changes))


@pytest.mark.parametrize(("record", "changes"), DIFFERS.values(), ids=DIFFERS.keys())
def test_another_thing_is_not_taken_for_it(record: Record, changes: dict[str, Any]) -> None:
    assert not meets(record, replace(record, **changes))


def test_every_record_has_an_origin() -> None:
    for record in (
        SAID,
        UNTIMED,
        BARE,
        Record("", ""),
        replace(SAID, source_id=None),
        replace(SAID, role=None),
    ):
        assert lifecycle.hashes(origin(record))


def test_a_hash_says_nothing_without_the_key() -> None:
    for record in (SAID, UNTIMED, BARE):
        with_one, with_other = origin(record), origin(record, OTHER_KEY)
        assert set(lifecycle.hashes(with_one)).isdisjoint(lifecycle.hashes(with_other))
        assert lifecycle.id_of(record, with_one, KEY) != lifecycle.id_of(record, with_other, OTHER_KEY)


def test_the_two_hashes_of_an_origin_are_not_the_same() -> None:
    assert origin(SAID).place != origin(SAID).said


PARTS = st.lists(st.none() | st.text(), max_size=4)


@given(PARTS, PARTS)
def test_only_the_same_parts_have_the_same_hash(one: list[str | None], other: list[str | None]) -> None:
    same = lifecycle.keyed_hash(KEY, *one) == lifecycle.keyed_hash(KEY, *other)
    assert same == (one == other)


@pytest.mark.parametrize(
    ("one", "other"), [(("ab", "c"), ("a", "bc")), ((None,), ("",)), (("-",), (None,)), (("1:a",), ("a",))]
)
def test_parts_are_told_apart(one: tuple[str | None, ...], other: tuple[str | None, ...]) -> None:
    assert lifecycle.keyed_hash(KEY, *one) != lifecycle.keyed_hash(KEY, *other)


def test_a_hash_takes_half_a_surrogate() -> None:
    assert len(lifecycle.keyed_hash(KEY, "\ud83d")) == 64


# --- ids ------------------------------------------------------------------------------------------


def test_an_id_is_the_same_for_the_same_thing_and_looks_random() -> None:
    ids = {lifecycle.id_of(record, origin(record), KEY) for record in (SAID, SAID)}
    assert len(ids) == 1
    many = [replace(SAID, source_id=str(n), created_at=n) for n in range(400)]
    firsts = {lifecycle.id_of(record, origin(record), KEY)[0] for record in many}
    assert firsts == set("0123456789abcdef")


def test_a_new_text_in_the_same_place_has_another_id() -> None:
    edited = replace(UNTIMED, text="edited")
    assert origin(edited) == origin(UNTIMED)
    assert lifecycle.id_of(edited, origin(edited), KEY) != lifecycle.id_of(UNTIMED, origin(UNTIMED), KEY)


# --- reconcile ------------------------------------------------------------------------------------


def test_what_is_unknown_is_added() -> None:
    assert lifecycle.reconcile(SAID, origin(SAID), Known({}, ()), restore=False) == Change(
        "add", SAID, origin=origin(SAID)
    )


@pytest.mark.parametrize("hash_of", ["place", "said"])
def test_what_is_known_by_either_hash_is_skipped_with_the_id_it_has(hash_of: str) -> None:
    known = Known({getattr(origin(SAID), hash_of): "stored"}, ())
    change = lifecycle.reconcile(SAID, origin(SAID), known, restore=False)
    assert (change.action, change.why, change.record.id) == ("skip", "known", "stored")


@pytest.mark.parametrize("hash_of", ["place", "said"])
@pytest.mark.parametrize(("restore", "action"), [(False, "skip"), (True, "add")])
def test_what_was_forgotten_stays_away_unless_restored(hash_of: str, restore: bool, action: str) -> None:
    known = Known({}, {getattr(origin(SAID), hash_of)})
    assert lifecycle.reconcile(SAID, origin(SAID), known, restore=restore).action == action


def test_what_is_stored_again_is_known_even_if_it_was_forgotten_once() -> None:
    known = Known({origin(SAID).place or "": "stored"}, {origin(SAID).said or ""})
    assert lifecycle.reconcile(SAID, origin(SAID), known, restore=False).why == "known"


# --- supersede and retire -------------------------------------------------------------------------

OLDER = Record("older", "I live in Bonn", created_at=10, updated_at=10)
NEWER = Record("newer", "I live in Kiel", created_at=50, updated_at=90)


def test_the_older_memory_ends_where_the_newer_one_was_said() -> None:
    added, replaced = lifecycle.supersede(OLDER, Change("add", NEWER, origin=origin(NEWER)), now=99)
    assert added == Change("add", replace(NEWER, supersedes=("older",)), origin=origin(NEWER))
    assert replaced.record == replace(OLDER, superseded_by="newer", valid_to=50, updated_at=99)
    assert (replaced.action, replaced.before) == ("supersede", OLDER)


def test_the_older_memory_ends_now_when_nobody_knows_when_the_newer_was_said() -> None:
    _, replaced = lifecycle.supersede(OLDER, Change("add", replace(NEWER, created_at=None)), now=99)
    assert replaced.record.valid_to == 99


def test_a_newer_memory_keeps_what_it_replaced_before() -> None:
    added, _ = lifecycle.supersede(OLDER, Change("add", replace(NEWER, supersedes=("first",))), now=99)
    assert added.record.supersedes == ("first", "older")


def test_what_is_retired_already_is_not_retired_again() -> None:
    hidden = replace(OLDER, id="hidden", retired=True)
    assert lifecycle.retire([OLDER, hidden], now=99) == [
        Change("retire", replace(OLDER, retired=True, updated_at=99), before=OLDER, why="retired")
    ]


# --- what goes with what is erased ----------------------------------------------------------------


def learned(name: str, *origins: str) -> Record:
    return Record(name, name, derived_from=origins)


@pytest.mark.parametrize(
    ("derived", "goes"),
    [
        ([], ["a"]),
        ([learned("f", "a")], ["a", "f"]),
        ([learned("f", "a", "b")], ["a"]),
        ([learned("g", "f"), learned("f", "a")], ["a", "f", "g"]),
        ([learned("g", "f", "a"), learned("f", "a")], ["a", "f", "g"]),
        ([learned("g", "f", "b"), learned("f", "a")], ["a", "f"]),
        ([learned("x", "y"), learned("y", "x")], ["a"]),
        ([learned("a", "a")], ["a"]),
    ],
    ids=["none", "its own", "shared", "chain", "two ways", "chain, shared", "a ring of others", "itself"],
)
def test_what_came_from_it_alone_is_erased_too(derived: list[Record], goes: list[str]) -> None:
    changes = lifecycle.with_derived([Record("a", "a")], derived)
    assert [change.record.id for change in changes] == goes
    assert {change.action for change in changes} == {"erase"}
    assert [change.why for change in changes][:1] == ["chosen"]


def test_what_came_from_several_goes_when_all_of_them_go() -> None:
    chosen = [Record("a", "a"), Record("b", "b")]
    changes = lifecycle.with_derived(chosen, [learned("f", "a", "b")])
    assert [change.record.id for change in changes] == ["a", "b", "f"]


def test_a_memory_that_came_from_nothing_stays() -> None:
    assert len(lifecycle.with_derived([Record("a", "a")], [Record("b", "b")])) == 1


@given(st.binary(max_size=200), st.text(max_size=30))
def test_the_hash_is_hmac_of_what_the_parts_say(key: bytes, text: str) -> None:
    told = f"{len(text)}:{text}\x1f-".encode("utf-8", "surrogatepass")
    assert lifecycle.keyed_hash(key, text, None) == hmac.digest(key, told, "sha256").hex()


def test_a_record_under_another_name_is_the_same_otherwise() -> None:
    record = Record("a", "a heron", topics=("birds",), position=3, meta={"title": "Birds"})
    assert lifecycle.named(record, "b") == replace(record, id="b")
