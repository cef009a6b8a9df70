from __future__ import annotations

import json

import pytest

from memcli.record_json import to_json
from memcli.types import BadLine, Record, Skip

from .reading import items_of

RECORDS = [
    Record(
        "a1", "Likes tea", kind="preference", topics=("tea",), created_at=1772355600123, meta={"k": [1, None]}
    ),
    Record("b2", 'line\u2028one\n"two" \\u0000', kind="episode", priority="P2", role="user", position=3),
]


@pytest.mark.parametrize(
    "data",
    [
        "".join(json.dumps(to_json(record)) + "\n" for record in RECORDS),
        json.dumps([to_json(record) for record in RECORDS]),
        json.dumps({"memories": [to_json(record) for record in RECORDS], "total": 2}),
        json.dumps({"memories": [to_json(record) for record in RECORDS], "total": 2}, indent=2),
    ],
    ids=["lines", "array", "listing", "indented"],
)
def test_export_is_taken_as_it_is(data: str) -> None:
    assert items_of(data) == RECORDS


def test_memory_that_is_damaged_costs_only_itself() -> None:
    good = to_json(RECORDS[0])
    bad = {**to_json(RECORDS[1]), "topics": "tea"}
    assert items_of("\n".join(map(json.dumps, [good, bad, 7]))) == [
        RECORDS[0],
        BadLine(2, "topics: must be a list of strings"),
        BadLine(3, "a memory is a JSON object"),
    ]


def test_memory_that_is_there_twice_is_taken_once() -> None:
    line = json.dumps(to_json(RECORDS[0])) + "\n"
    assert items_of(line * 2) == [RECORDS[0], Skip("duplicate")]
