from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from memcli.importers import detect
from memcli.record_json import COLUMNS, to_json
from memcli.types import BadLine, Record, Skip

from .reading import items_of, source_of

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


# --- CSV ------------------------------------------------------------------------------------------

CELLS = dict.fromkeys(COLUMNS, "") | {
    "id": "a1",
    "text": "'=1+1",
    "kind": "fact",
    "priority": "P1",
    "topics": '["tea, green"]',
    "audience": '["planner"]',
    "private": "true",
    "source": "cli",
    "position": "-3",
    "expires_at": "2026-03-01T09:00:00.000Z",
    "supersedes": "[]",
    "retired": "true",
    "derived_from": "[]",
    "meta": '{"k": [1, null]}',
}
RESTORED = Record(
    "a1", "=1+1", topics=("tea, green",), audience=("planner",), private=True, position=-3, retired=True,
    expires_at=1_772_355_600_000, meta={"k": [1, None]},
)  # fmt: skip


def csv_of(*rows: dict[str, str], end: str = "\n", delimiter: str = ",") -> str:
    out = io.StringIO()
    table = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator=end)
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv_export_is_taken_as_it_is(end: str, delimiter: str, mark: str) -> None:
    data = mark + csv_of(CELLS, end=end, delimiter=delimiter)
    assert detect(source_of(data)).name == "memcli"
    assert items_of(data) == [RESTORED]


def test_csv_export_without_memories_is_known() -> None:
    data = ",".join(COLUMNS) + "\n"
    assert (detect(source_of(data)).name, items_of(data)) == ("memcli", [])


def test_csv_export_is_known_though_its_texts_are_json() -> None:
    text = '{"role": "user", "content": "hi"}\n' * 50
    assert detect(source_of(csv_of({**CELLS, "text": text}))).name == "memcli"


def test_columns_in_another_order_and_new_ones_change_nothing() -> None:
    cells = {"stars": "5", **dict(reversed(CELLS.items()))}
    assert items_of(csv_of(cells)) == [RESTORED]


def test_table_of_somebody_else_is_not_taken_for_the_export() -> None:
    assert detect(source_of("id,text,created_at\n1,tea,2026-03-01\n")).name == "csv"


@pytest.mark.parametrize(
    ("column", "cell", "why"),
    [
        ("private", "", "private: must be JSON, not ''"),
        ("private", "yes", "private: must be JSON, not 'yes'"),
        ("private", "1", "private: must be true or false"),
        ("topics", "tea", "topics: must be JSON, not 'tea'"),
        ("meta", "[" * 9_000, "meta: must be JSON, not "),
        ("id", "", "id: must not be empty"),
        ("kind", "", "kind: must be one of"),
        ("expires_at", "soon", "expires_at: "),
    ],
)
def test_row_that_is_damaged_costs_only_itself(column: str, cell: str, why: str) -> None:
    bad, good = items_of(csv_of({**CELLS, column: cell}, {**CELLS, "id": "b2"}))
    assert isinstance(bad, BadLine)
    assert (bad.number, bad.why[: len(why)]) == (2, why)
    assert good == replace(RESTORED, id="b2")


def test_row_that_is_cut_off_does_not_lose_its_protection() -> None:
    data = csv_of(CELLS, {**CELLS, "id": "b2"})
    whole = len(csv_of(CELLS))
    for end in range(whole + 1, len(data) - 1):
        first, *rest = items_of(data[:end])
        assert first == RESTORED
        assert [type(item) for item in rest] == [BadLine]


def test_row_that_is_there_twice_is_taken_once() -> None:
    assert items_of(csv_of(CELLS, CELLS)) == [RESTORED, Skip("duplicate")]
