"""A damaged session is read as far as it goes: nothing stops the reading, nothing whole is lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .reading import count_records, items_of, texts_in

Record = dict[str, Any]


def name_of(number: int) -> str:
    """An id of which no flipped bit makes another."""
    return hashlib.sha256(str(number).encode()).hexdigest()[:12]


def at(number: int) -> str:
    return f"2026-03-01T09:00:{number:02}Z"


def role_of(number: int) -> str:
    return ("user", "assistant")[number % 2]


def above(number: int) -> str | None:
    return name_of(number - 1) if number else None


def claude_code(number: int, text: str) -> Record:
    place = {"uuid": name_of(number), "parentUuid": above(number), "sessionId": "session-a", "cwd": "/a/b"}
    message = {"role": role_of(number), "content": [{"type": "text", "text": text}], "id": f"answer {number}"}
    return {**place, "type": role_of(number), "timestamp": at(number), "message": message}


def codex(number: int, text: str) -> Record:
    content = [{"type": "output_text" if number % 2 else "input_text", "text": text}]
    payload = {"type": "message", "role": role_of(number), "content": content}
    return {"timestamp": at(number), "type": "response_item", "payload": payload}


def gemini_cli(number: int, text: str) -> Record:
    kind = "gemini" if number % 2 else "user"
    return {"id": name_of(number), "timestamp": at(number), "type": kind, "content": [{"text": text}]}


def pi(number: int, text: str) -> Record:
    place = {"id": name_of(number), "parentId": above(number), "timestamp": at(number)}
    return {"type": "message", **place, "message": {"role": role_of(number), "content": text}}


def llama_cpp(number: int, text: str) -> Record:
    place = {
        "convId": "c",
        "id": name_of(number),
        "parent": above(number),
        "timestamp": 1772355600000 + number,
    }
    return {"type": "message", "message": {**place, "role": role_of(number), "content": text, "type": "text"}}


def jan(number: int, text: str) -> Record:
    content = [{"type": "text", "text": {"value": text, "annotations": []}}]
    place = {"id": name_of(number), "object": "thread.message", "thread_id": "t"}
    return {**place, "role": role_of(number), "content": content, "created_at": 1772355600 + number}


def sillytavern(number: int, text: str) -> Record:
    return {"name": "Ana", "is_user": number % 2 == 0, "send_date": at(number), "mes": text}


@dataclass(frozen=True)
class Kind:
    """A format: its first lines, and its line for a message."""

    format_name: str
    line: Callable[[int, str], Record]
    header: Record | None = None
    repeats_are_told: bool = True


KINDS = {
    "claude-code": Kind("claude-code", claude_code),
    "codex": Kind(
        "codex",
        codex,
        {"timestamp": at(0), "type": "session_meta", "payload": {"id": "a", "cwd": "/a/b"}},
        False,
    ),
    "gemini-cli": Kind("gemini-cli", gemini_cli, {"sessionId": "a", "projectHash": "h", "startTime": at(0)}),
    "pi": Kind("session-jsonl", pi, {"type": "session", "version": 3, "id": "a", "cwd": "/a/b"}),
    "llama-cpp": Kind(
        "session-jsonl", llama_cpp, {"type": "session", "harness": "llama.app", "id": "a", "currNode": ""}
    ),
    "jan": Kind("jan", jan),
    "sillytavern": Kind("sillytavern", sillytavern, {"character_name": "Bo", "chat_metadata": {}}, False),
}

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
few = settings(max_examples=25, deadline=None)

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0<#[/!\r"), max_size=20)
junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
texts = st.lists(words, min_size=3, max_size=8).map(
    lambda listed: [f"said {number} {text}." for number, text in enumerate(listed)]
)


def lines_of(kind: Kind, said: list[str]) -> list[bytes]:
    header = [kind.header] if kind.header else []
    records = header + [kind.line(number, text) for number, text in enumerate(said)]
    return [json.dumps(record).encode() + b"\n" for record in records]


def read(kind: Kind, data: bytes) -> list[Any]:
    return items_of(data, format_name=kind.format_name)


@every_kind
@few
@given(said=texts)
def test_undamaged_history_is_read_whole_and_accounted_for(kind: Kind, said: list[str]) -> None:
    lines = lines_of(kind, said)
    items = items_of(b"".join(lines))
    assert texts_in(items) == said
    assert count_records(items) == len(lines)


@every_kind
@few
@given(said=texts, data=st.data())
def test_cut_anywhere_only_the_cut_line_is_lost(kind: Kind, said: list[str], data: st.DataObject) -> None:
    lines = lines_of(kind, said)
    whole = b"".join(lines)
    cut = data.draw(st.integers(1, len(whole)))
    complete = whole[:cut].count(b"\n") - (len(lines) - len(said))
    found = texts_in(read(kind, whole[:cut]))
    assert found[: max(complete, 0)] == said[: max(complete, 0)]


@every_kind
@few
@given(said=texts, data=st.data())
def test_flipped_bit_costs_at_most_the_lines_it_touches(
    kind: Kind, said: list[str], data: st.DataObject
) -> None:
    lines = lines_of(kind, said)
    first = len(lines) - len(said)
    flipped = bytearray(b"".join(lines))
    where = data.draw(st.integers(sum(map(len, lines[:first])), len(flipped) - 1))
    flipped[where] ^= 1 << data.draw(st.integers(0, 7))
    touched = bytes(flipped[:where]).count(b"\n") - first
    spared = {text for number, text in enumerate(said) if number not in (touched, touched + 1)}
    assert spared <= set(texts_in(read(kind, bytes(flipped))))


@every_kind
@few
@given(said=texts, data=st.data())
def test_lines_in_any_order_are_all_read(kind: Kind, said: list[str], data: st.DataObject) -> None:
    lines = data.draw(st.permutations(lines_of(kind, said)))
    items = read(kind, b"".join(lines))
    assert sorted(texts_in(items)) == sorted(said)
    assert count_records(items) == len(lines)


@every_kind
@few
@given(said=texts, data=st.data())
def test_repeated_line_is_accounted_for(kind: Kind, said: list[str], data: st.DataObject) -> None:
    lines = lines_of(kind, said)
    again = data.draw(st.sampled_from(lines))
    items = read(kind, b"".join([*lines, again]))
    assert count_records(items) == len(lines) + 1
    if kind.repeats_are_told:
        assert sorted(texts_in(items)) == sorted(said)


@every_kind
@few
@given(said=texts, data=st.data())
def test_glued_lines_are_all_read(kind: Kind, said: list[str], data: st.DataObject) -> None:
    lines = lines_of(kind, said)
    glued = data.draw(st.integers(0, len(lines) - 2))
    lines[glued] = lines[glued].rstrip()
    assert texts_in(read(kind, b"".join(lines))) == said


@every_kind
@few
@given(said=texts, value=junk, data=st.data())
def test_wrong_type_costs_at_most_its_own_record(
    kind: Kind, said: list[str], value: object, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(said) - 1))
    record = kind.line(number, said[number])
    inner = [key for key in ("message", "payload") if isinstance(record.get(key), dict)]
    holder = data.draw(st.sampled_from([record, *(record[key] for key in inner)]))
    holder[data.draw(st.sampled_from(sorted(holder)))] = value
    lines = lines_of(kind, said)
    lines[number - len(said)] = json.dumps(record).encode() + b"\n"
    items = read(kind, b"".join(lines))
    assert {text for other, text in enumerate(said) if other != number} <= set(texts_in(items))
    assert count_records(items) == len(lines)


@every_kind
@few
@given(value=junk, data=st.data())
def test_header_of_wrong_types_costs_no_message(kind: Kind, value: object, data: st.DataObject) -> None:
    header = dict(kind.header or {"type": "summary"})
    header[data.draw(st.sampled_from(sorted(header)))] = value
    lines = [header, *(kind.line(number, text) for number, text in enumerate(["one.", "two."]))]
    items = read(kind, "\n".join(map(json.dumps, lines)).encode())
    assert texts_in(items) == ["one.", "two."]
    assert count_records(items) == 3


@every_kind
def test_record_nested_ten_thousand_deep_is_bad_alone(kind: Kind) -> None:
    lines = lines_of(kind, ["one.", "two."])
    deep = b'{"type":"user","message":' + b"[" * 10_000 + b"]" * 10_000 + b"}\n"
    items = read(kind, b"".join([*lines[:-1], deep, lines[-1]]))
    assert texts_in(items) == ["one.", "two."]
    assert count_records(items) == len(lines) + 1


@pytest.mark.parametrize("kind", [KINDS["claude-code"], KINDS["pi"], KINDS["llama-cpp"]])
def test_chain_in_a_circle_is_read_once_round(kind: Kind) -> None:
    said = ["one.", "two.", "three."]
    records = [kind.line(number, text) for number, text in enumerate(said)]
    first = records[0].get("message", {}) if kind is KINDS["llama-cpp"] else records[0]
    first["parentUuid" if kind is KINDS["claude-code"] else "parentId"] = name_of(2)
    first["parent"] = name_of(2)
    lines = [kind.header or {"type": "summary"}, *records]
    assert sorted(texts_in(read(kind, "\n".join(map(json.dumps, lines)).encode()))) == sorted(said)


@every_kind
@few
@given(st.lists(junk, max_size=6))
def test_every_json_value_ends_up_somewhere(kind: Kind, values: list[object]) -> None:
    lines = [json.dumps(value) for value in ({"type": "summary"}, *values)]
    assert count_records(read(kind, "\n".join(lines).encode())) == len(lines)
