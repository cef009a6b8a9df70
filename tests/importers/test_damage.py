"""A damaged file never stops the reading, and what the damage did not touch is not lost."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError

from .reading import count_records, items_of, messages_in

NAMES = ("role", "content", "timestamp", "session_id", "id")

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
said = words.map(lambda text: f"said {text}")
junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def histories(draw: st.DrawFn) -> list[bytes]:
    """Lines of valid messages, each with an id of its own."""
    records = [
        {
            "role": draw(st.sampled_from(["user", "assistant"])),
            "content": draw(said),
            "timestamp": 1772355600 + number,
            "session_id": draw(st.sampled_from(["a", "b"])),
            "id": f"m{number}",
        }
        for number in range(draw(st.integers(3, 8)))
    ]
    ascii_only = draw(st.booleans())
    return [json.dumps(record, ensure_ascii=ascii_only).encode() + b"\n" for record in records]


def ids_of(data: bytes) -> list[str | None]:
    return [message.id for message in messages_in(items_of(data, format_name="message-jsonl"))]


def all_ids(lines: list[bytes]) -> list[str]:
    return [f"m{number}" for number in range(len(lines))]


@given(histories(), st.data())
def test_cut_anywhere_only_the_cut_line_is_lost(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(lines)
    cut = data.draw(st.integers(1, len(whole)))
    complete = whole[:cut].count(b"\n")
    found = ids_of(whole[:cut])
    assert found[:complete] == all_ids(lines)[:complete]
    assert len(found) <= complete + 1


@given(histories(), st.data())
def test_flipped_bit_costs_at_most_the_lines_it_touches(lines: list[bytes], data: st.DataObject) -> None:
    flipped = bytearray(b"".join(lines))
    at = data.draw(st.integers(0, len(flipped) - 1))
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    touched = bytes(flipped[:at]).count(b"\n")
    spared = [name for number, name in enumerate(all_ids(lines)) if number not in (touched, touched + 1)]
    assert set(spared) <= set(ids_of(bytes(flipped)))


@given(histories(), st.data())
def test_repeated_line_comes_again_in_its_place(lines: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    items = items_of(b"".join([*lines, lines[at]]))
    assert [message.id for message in messages_in(items)] == [*all_ids(lines), all_ids(lines)[at]]


@given(histories(), st.data())
def test_glued_lines_are_all_read(lines: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 2))
    glued = [line.rstrip() if number == at else line for number, line in enumerate(lines)]
    assert ids_of(b"".join(glued)) == all_ids(lines)


@given(histories(), st.sampled_from(NAMES), junk, st.data())
def test_wrong_type_costs_at_most_its_own_record(
    lines: list[bytes], name: str, value: object, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    record = {**json.loads(lines[at]), name: value}
    lines[at] = json.dumps(record).encode() + b"\n"
    items = items_of(b"".join(lines))
    spared = {name for number, name in enumerate(all_ids(lines)) if number != at}
    assert spared <= {message.id for message in messages_in(items)}
    assert count_records(items) == len(lines)


@given(st.lists(junk, max_size=6))
def test_every_json_value_ends_up_somewhere(values: list[object]) -> None:
    lines = [json.dumps(value) for value in ({"role": "user", "content": "hello"}, *values)]
    assert count_records(items_of("\n".join(lines), format_name="message-jsonl")) == len(lines)


@given(st.binary(max_size=200), st.sampled_from(["message-jsonl", "openai-jsonl", "memcli"]))
def test_any_bytes_are_read_or_refused_with_a_reason(data: bytes, format_name: str) -> None:
    with suppress(UsageError):
        items_of(data, format_name=format_name)
