from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.record_json import record_from_json, to_json
from memcli.times import from_iso
from memcli.types import KINDS, PRIORITIES, ROLES, Record

KEYS = [
    "id",
    "text",
    "kind",
    "priority",
    "topics",
    "project",
    "audience",
    "private",
    "role",
    "name",
    "source",
    "source_id",
    "session_id",
    "position",
    "created_at",
    "updated_at",
    "valid_from",
    "valid_to",
    "expires_at",
    "superseded_by",
    "supersedes",
    "retired",
    "derived_from",
    "meta",
]

FIRST, LAST = from_iso("0001-01-01T00:00:00.000Z"), from_iso("9999-12-31T23:59:59.999Z")

words = st.text(st.characters(exclude_categories=["Cs"]))
times = st.none() | st.integers(FIRST, LAST)
several = st.lists(words).map(tuple)
maybe = st.none() | words
records = st.builds(
    Record,
    id=words.filter(bool),
    text=words,
    kind=st.sampled_from(KINDS),
    priority=st.sampled_from(PRIORITIES),
    topics=several,
    project=maybe,
    audience=several,
    private=st.booleans(),
    role=st.none() | st.sampled_from(ROLES),
    name=maybe,
    source=words,
    source_id=maybe,
    session_id=maybe,
    position=st.none() | st.integers(),
    created_at=times,
    updated_at=times,
    valid_from=times,
    valid_to=times,
    expires_at=times,
    superseded_by=maybe,
    supersedes=several,
    retired=st.booleans(),
    derived_from=several,
    meta=st.dictionaries(words, words | st.integers() | st.none()),
)


@given(records)
def test_record_survives_the_way_through_json(record: Record) -> None:
    value = json.loads(json.dumps(to_json(record)))
    assert record_from_json(value) == record
    assert list(value) == KEYS


def test_times_are_written_in_utc_with_milliseconds() -> None:
    assert to_json(Record("a", "t", created_at=1772355600000))["created_at"] == "2026-03-01T09:00:00.000Z"
    assert to_json(Record("a", "t", created_at=FIRST))["created_at"] == "0001-01-01T00:00:00.000Z"


def test_missing_keys_have_their_defaults_and_unknown_ones_are_ignored() -> None:
    assert record_from_json({"id": "a", "text": "t", "score": 0.5, "mood": "glad"}) == Record("a", "t")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"id": ""}, "id: must not be empty"),
        ({"id": 7}, "id: must be a string"),
        ({"text": None}, "text: must be a string"),
        ({"kind": "mood"}, "kind: must be one of identity, "),
        ({"kind": ["fact"]}, "kind: must be one of"),
        ({"priority": "P3"}, "priority: must be one of P0, P1, P2"),
        ({"role": "bot"}, "role: must be one of None, user"),
        ({"topics": "tea"}, "topics: must be a list of strings"),
        ({"supersedes": [1]}, "supersedes: must be a list of strings"),
        ({"private": 1}, "private: must be true or false"),
        ({"position": True}, "position: must be a whole number"),
        ({"position": 1.0}, "position: must be a whole number"),
        ({"created_at": 1772355600}, "created_at: must be a string"),
        ({"created_at": "2026-03-01"}, "created_at: '2026-03-01' is not a time"),
        ({"meta": []}, "meta: must be an object"),
    ],
)
def test_wrong_value_is_refused_with_its_key(more: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}"):
        record_from_json({"id": "a", "text": "t", **more})


@pytest.mark.parametrize("value", [None, [], "text", {}, {"id": "a"}, {"text": "t"}])
def test_what_is_no_memory_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="a memory"):
        record_from_json(value)
