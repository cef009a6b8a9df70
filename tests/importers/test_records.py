from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.importers.records import MAX_DEPTH, first_values, is_whole_json, records
from memcli.types import BadLine, Notice

from .reading import source_of


def read_all(data: bytes | str) -> list[object]:
    return list(records(source_of(data), encoding=None))


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def test_line_number_is_where_the_value_begins() -> None:
    assert read_all('\n{"a":1}\n\n{"a":2}') == [(2, {"a": 1}), (4, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"a":1,}', "at column"),
        ("{'a':1}", "at column 2"),
        ('{"a":"\\x"}', "invalid \\escape at column 7"),
        ('{"a":"tab\there"}', "invalid control character at column 10"),
        ('{"a":1} rest', "extra data at column 9"),
        (nested(MAX_DEPTH + 2), "nested too deeply"),
        (nested(100_000), "nested too deeply"),
        ('{"a":%s}' % ("9" * 10_000), "a number has too many digits"),
        ('{"a":"\x00"}', "invalid control character"),
        (f"1 {'[' * 200}", "extra data at column 3"),
    ],
    ids=["comma", "quotes", "escape", "control", "rest", "deep", "deeper", "digits", "nul", "number"],
)
def test_damaged_line_is_reported_and_the_next_one_is_read(line: str, why: str) -> None:
    *bad, good = read_all(f'{line}\n{{"b":2}}\n')
    assert good == (2, {"b": 2})
    assert isinstance(bad[-1], BadLine)
    assert bad[-1].number == 1
    assert why in bad[-1].why


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ('{"a":1,"b":{"c{"a":1,"b":2}', [{"a": 1, "b": 2}]),
        ('{"a":1}{"a":2,"b":"{"a":2,"b":3}{"a":4}', [{"a": 1}, {"a": 2, "b": 3}, {"a": 4}]),
        ('{"a": "x{"a": "x{"a": "xyz"}', [{"a": "xyz"}]),
        ('{"a":[{"a":1},{"a":2}], "b":tru}', []),
        ('{"a":1,"b":{"c":1}, "d{"e":1}', []),
        ('{"a":' * 5_000 + '"', []),
    ],
    ids=["torn", "glued and torn", "twice torn", "inner objects", "another object", "a nest"],
)
def test_record_that_was_written_anew_after_it_was_torn_is_read(line: str, values: list[object]) -> None:
    found = read_all(f"{line}\n")
    assert [item[1] for item in found if isinstance(item, tuple)] == values
    assert [item.number for item in found if isinstance(item, BadLine)] == [1]


def test_nesting_that_is_not_too_deep_is_read() -> None:
    assert read_all(nested(MAX_DEPTH) + "\n") == [(1, json.loads(nested(MAX_DEPTH)))]


def test_unfinished_last_line_is_called_incomplete() -> None:
    good, bad, notice = read_all('{"a":1}\n{"a":')
    assert good == (1, {"a": 1})
    assert isinstance(bad, BadLine)
    assert bad.why.startswith("incomplete")
    assert isinstance(notice, Notice)


def test_bad_last_line_without_line_end_is_not_called_incomplete() -> None:
    (bad,) = read_all("{'a':1}")
    assert isinstance(bad, BadLine)
    assert not bad.why.startswith("incomplete")


def test_record_before_the_damage_on_its_line_is_kept() -> None:
    good, bad, _ = read_all('{"a":1}{"a":')
    assert good == (1, {"a": 1})
    assert isinstance(bad, BadLine)


def test_not_a_number_becomes_null() -> None:
    assert read_all('{"a":[NaN,-Infinity,1e999,1.5]}\n') == [(1, {"a": [None, None, None, 1.5]})]


def test_line_of_another_encoding_is_bad_alone() -> None:
    lines = ['{"a":"é"}'.encode(), '{"a":"é"}'.encode("latin-1"), b'{"a":1}']
    assert read_all(b"\n".join(lines)) == [(1, {"a": "é"}), BadLine(2, "not utf-8 at byte 7"), (3, {"a": 1})]


storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
objects = st.dictionaries(storable, storable | st.integers() | st.none() | st.lists(storable), min_size=1)


@given(st.sampled_from([None, 0, 2]), st.lists(objects, min_size=2, max_size=6))
def test_array_gives_each_of_its_elements(indent: int | None, values: list[object]) -> None:
    data = json.dumps(values, indent=indent)
    assert [item[1] for item in read_all(data) if isinstance(item, tuple)] == values


@given(st.sampled_from([None, 0, 2]), st.lists(objects, min_size=2, max_size=6))
def test_objects_in_a_row_are_each_read(indent: int | None, values: list[object]) -> None:
    data = "\n".join(json.dumps(value, indent=indent) for value in values)
    assert [item[1] for item in read_all(data) if isinstance(item, tuple)] == values


def test_elements_of_an_array_come_with_their_lines_and_damage_stays_in_its_element() -> None:
    data = '[\n{"a":1},\n{"a":oops},\n3, {"a":\n[4]}\n]\n'
    found = read_all(data)
    assert found == [
        (2, {"a": 1}),
        BadLine(3, "expecting value at column 6"),
        (4, 3),
        (4, {"a": [4]}),
    ]


def test_array_is_streamed() -> None:
    source = source_of("[" + ",".join(['{"a":"%s"}' % ("x" * 1000)] * 5000) + "]\n\n")
    first = next(records(source, encoding=None))
    assert first == (1, {"a": "x" * 1000})
    assert source.size is not None
    assert source.bytes_read < source.size


@pytest.mark.parametrize(
    ("head", "is_whole"),
    [
        ('{"a":1}\n{"a":2}\n', False),
        ('{"a":1}', False),
        ('[{"a":1},\n{"a":2}]', True),
        ('[{"a":1}]\n', True),
        ("[\n", True),
        ('{\n "a": 1\n}', True),
        ('{"messages": [\n  {"a": 1\n', True),
        ('{"a":1,\n{"a":2}\n', False),
        ('{"a":"cut\n{"a":2}\n', False),
        ('[INFO] log\n{"a":2}\n', False),
        ("[1]\n[2]\n", False),
        ('[{"a":"to\nrn"},{"a":2}]', True),
        ('[{"a":"cut\n[{"a":2}]\n', False),
    ],
)
def test_whole_json_is_told_from_lines(head: str, is_whole: bool) -> None:
    assert is_whole_json(head) is is_whole


@given(st.data())
def test_beginning_of_a_value_has_a_prefix_of_its_keys(data: st.DataObject) -> None:
    value = {"title": 'a, [b] "{', "mapping": {"x": {"parts": ["one", "two"]}}, "last": 1}
    text = json.dumps(value)
    (start,) = first_values(text[: data.draw(st.integers(1, len(text)))])
    assert list(value)[: len(start)] == list(start)


def test_beginning_of_a_huge_element_shows_its_keys() -> None:
    assert first_values('[{"title": "t", "mapping": {"a": {"text": "' + "x" * 100) == [
        {"title": "t", "mapping": {"a": {}}}
    ]
