from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.importers import detect
from memcli.types import Conversation, Skip

from .reading import count_records, items_of, source_of, texts_in

Record = dict[str, Any]
HEADER = {"sessionId": "a", "projectHash": "h", "startTime": "2026-03-01T09:00:00Z", "kind": "main"}


def said(id_: str | None, text: object, kind: str = "user") -> Record:
    return {"id": id_, "timestamp": "2026-03-01T09:00:01Z", "type": kind, "content": text}


def read(*records: Record, name: str = "session.jsonl") -> list[Any]:
    return items_of("\n".join(map(json.dumps, records)) + "\n", name=name, format_name="gemini-cli")


@pytest.mark.parametrize("known", [HEADER, {"$rewindTo": "x"}, {"$set": {}}, said("m", "hi", "gemini")])
def test_line_of_the_log_is_known(known: Record) -> None:
    assert detect(source_of(json.dumps(known) + "\n")).name == "gemini-cli"


def test_messages_of_another_program_are_not_taken_for_its_log() -> None:
    assert detect(source_of(json.dumps({"role": "model", "content": "hi"}) + "\n")).name == "message-jsonl"


@pytest.mark.parametrize(
    ("target", "left"),
    [("m1", []), ("m2", ["one"]), ("m3", ["one", "two"]), ("nobody", []), (None, []), ({"a": 1}, [])],
)
def test_rewinding_takes_back_a_message_and_what_followed(target: object, left: list[str]) -> None:
    log = [HEADER, said("m1", "one"), said("m2", "two", "gemini"), said("m3", "three")]
    items = read(*log, {"$rewindTo": target})
    assert texts_in(items) == left
    assert count_records(items) == 5


def test_later_line_replaces_the_message_in_its_place() -> None:
    items = read(HEADER, said("m1", "on"), said("m2", "two", "gemini"), said("m1", "one"))
    assert texts_in(items) == ["one", "two"]
    assert Skip("replaced") in items


def test_message_without_an_id_replaces_none() -> None:
    assert texts_in(read(HEADER, said(None, "one"), said(None, "two"))) == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<session_context>\nx\n</session_context>", []),
        ("<session_context>x</session_context>\nWhat now?", ["What now?"]),
        ("What is <session_context>?", ["What is <session_context>?"]),
    ],
)
def test_context_that_the_program_puts_first_is_left_out(text: str, kept: list[str]) -> None:
    assert texts_in(read(HEADER, said("m1", [{"text": text}]))) == kept


@pytest.mark.parametrize(
    ("folder", "project"), [("tea-shop", "tea-shop"), ("0" * 64, None)], ids=["name", "hash"]
)
def test_project_is_the_folder_that_the_program_named_after_it(folder: str, project: str | None) -> None:
    path = f".gemini/tmp/{folder}/chats/session.jsonl"
    (conversation,) = (
        item for item in read(HEADER, said("m1", "hi"), name=path) if isinstance(item, Conversation)
    )
    assert conversation.project == project


def test_sessions_in_a_row_are_told_apart() -> None:
    items = read(HEADER, said("m1", "one"), {**HEADER, "sessionId": "b"}, said("m1", "two"))
    assert [item.id for item in items if isinstance(item, Conversation)] == ["a", "b"]


ids = st.sampled_from(["m1", "m2", "m3", None])
message = st.builds(
    said, ids, st.sampled_from(["one", "two", ""]), st.sampled_from(["user", "gemini", "info"])
)
steps = st.one_of(
    message,
    st.builds(lambda id_: {"$rewindTo": id_}, ids),
    st.builds(lambda messages: {"$set": {"messages": messages}}, st.lists(message | st.none(), max_size=3)),
    st.just(HEADER),
)


@settings(deadline=None)
@given(st.lists(steps, max_size=12))
def test_sums_add_up_whatever_happened(records: list[Record]) -> None:
    inner = sum(len(record["$set"]["messages"]) for record in records if "$set" in record)
    assert count_records(read({"kind": "main"}, *records)) == 1 + len(records) + inner
