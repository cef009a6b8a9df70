from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers import records
from memcli.importers.nested import Opened, elements
from memcli.types import BadLine, Notice

from .reading import source_of


def read_all(data: bytes | str) -> list[Any]:
    return list(elements(source_of(data), key="messages", encoding=None))


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | words | st.sampled_from(['"messages": [', "messages", "}]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
members = st.lists(st.dictionaries(words, values, max_size=3), max_size=4)
keys = st.dictionaries(words.filter(lambda word: word != "messages"), st.integers() | words, max_size=3)


@given(keys, members, keys, st.sampled_from([None, 1]))
def test_list_comes_with_what_stands_before_it_and_its_elements(
    before: dict[str, Any], listed: list[Any], after: dict[str, Any], indent: int | None
) -> None:
    text = json.dumps(
        {"chats": {"list": [before | {"messages": listed} | {f"~{key}": 1 for key in after}]}}, indent=indent
    )
    assert read_all(text) == [Opened(before), *listed]


@given(st.lists(st.tuples(keys, members), min_size=1, max_size=3), st.integers(1, 9))
def test_several_lists_come_in_order_however_the_text_is_cut_into_pieces(
    chats: list[tuple[dict[str, Any], list[Any]]], piece_chars: int
) -> None:
    text = json.dumps([before | {"messages": listed} for before, listed in chats])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_CHUNK_CHARS", piece_chars)
        found = read_all(text)
    assert found == [item for before, listed in chats for item in (Opened(before), *listed)]


def test_damage_stays_in_its_element_and_comes_with_its_line() -> None:
    text = '{"id": 1,\n"messages": [\n{"a": 1},\n{"a": oops},\n3,\n{"a": 2}]}'
    assert read_all(text) == [
        Opened({"id": 1}),
        {"a": 1},
        BadLine(4, "expecting value at column 7"),
        BadLine(5, "not a JSON object"),
        {"a": 2},
    ]


def test_file_that_is_cut_off_gives_what_it_has_and_says_so() -> None:
    opened, first, bad, notice = read_all('{"messages": [{"a": 1}, {"a": "to')
    assert (opened, first) == (Opened({}), {"a": 1})
    assert isinstance(bad, BadLine)
    assert isinstance(notice, Notice)
    assert "cut off" in notice.text


def test_element_nested_too_deeply_is_a_bad_line_and_the_next_is_read() -> None:
    deep = "[" * 10_000 + "]" * 10_000
    found = read_all('{"messages": [{"a": ' + deep + '}, {"a": 2}]}')
    assert found == [Opened({}), BadLine(1, "nested too deeply"), {"a": 2}]


def test_file_without_such_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match="holds no list called 'messages'"):
        read_all('{"message": [{"a": 1}]}')


def test_list_is_streamed() -> None:
    source = source_of('{"messages": [' + ",".join(['{"a":"%s"}' % ("x" * 1000)] * 5000) + "]}")
    found = elements(source, key="messages", encoding=None)
    assert [next(found), next(found)] == [Opened({}), {"a": "x" * 1000}]
    assert source.size is not None
    assert source.bytes_read < source.size
