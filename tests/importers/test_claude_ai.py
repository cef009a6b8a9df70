"""Histories of Claude.ai, whole and damaged: nothing stops the reading, every message is accounted for."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers import detect

from .reading import count_records, items_of, messages_in, source_of
from .test_damage import junk

Chat = dict[str, Any]

CHAT_KEYS = ("uuid", "name", "created_at", "chat_messages", "current_leaf_message_uuid")
MESSAGE_KEYS = (
    "uuid",
    "sender",
    "text",
    "content",
    "attachments",
    "files",
    "created_at",
    "parent_message_uuid",
)
KEPT = {"uuid": "k", "chat_messages": [{"uuid": "m", "sender": "human", "text": "kept"}]}

blocks = st.sampled_from(
    [
        None,
        {"type": "text", "text": "said"},
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "name": "t", "input": {}},
        {"type": "hologram"},
    ]
)


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    """A conversation whose messages may be edits of each other."""
    messages = [
        {
            "uuid": f"m{n}",
            "sender": draw(st.sampled_from(["human", "assistant"])),
            "text": draw(st.sampled_from(["", "said"])),
            "content": draw(st.lists(blocks, max_size=3)),
            "created_at": f"2026-03-01T09:00:0{n}Z",
            "parent_message_uuid": f"m{draw(st.integers(0, n))}",
            "attachments": draw(st.sampled_from([[], [{"file_name": "a", "extracted_content": "read"}]])),
        }
        for n in range(draw(st.integers(1, 6)))
    ]
    leaf = draw(st.sampled_from([None, "gone", "m0"]))
    return {"uuid": "c", "name": "", "chat_messages": messages, "current_leaf_message_uuid": leaf}


def read(value: object) -> list[Any]:
    return items_of(json.dumps(value), format_name="claude-ai")


@given(st.lists(chats(), max_size=3))
def test_every_message_is_kept_or_skipped_for_a_reason(values: list[Chat]) -> None:
    assert count_records(read(values)) == sum(len(chat["chat_messages"]) for chat in values)


@given(chats(), st.sampled_from(CHAT_KEYS), junk)
def test_wrong_type_costs_at_most_its_own_conversation(chat: Chat, key: str, value: object) -> None:
    texts = [message.text for message in messages_in(read([KEPT, {**chat, key: value}, KEPT]))]
    assert texts.count("kept") >= 2


@given(chats(), st.sampled_from(MESSAGE_KEYS), junk, st.data())
def test_wrong_type_in_a_message_costs_at_most_that_message(
    chat: Chat, key: str, value: object, data: st.DataObject
) -> None:
    data.draw(st.sampled_from(chat["chat_messages"]))[key] = value
    assert count_records(read([chat])) == len(chat["chat_messages"])


@given(st.sampled_from(["docs", "prompt_template", "conversations_memory", "project_memories"]), junk)
def test_project_or_memory_of_wrong_types_stops_nothing(key: str, value: object) -> None:
    assert "kept" in [message.text for message in messages_in(read([{"uuid": "p", key: value}, KEPT]))]


@given(st.lists(chats(), min_size=1, max_size=3), st.data())
def test_what_stands_before_a_cut_is_read(values: list[Chat], data: st.DataObject) -> None:
    parts = [json.dumps(part) for chat in values for part in (chat, KEPT)]
    text = "[" + ", ".join(parts) + "]"
    cut = data.draw(st.integers(1, len(text)))
    ends = [len("[" + ", ".join(parts[: n + 1])) for n in range(1, len(parts), 2)]
    found = messages_in(items_of(text[:cut], format_name="claude-ai"))
    assert sum(message.text == "kept" for message in found) >= sum(cut >= end for end in ends)


@given(chats(), st.data())
def test_flipped_bit_never_stops_the_reading(chat: Chat, data: st.DataObject) -> None:
    raw = bytearray(json.dumps([chat, KEPT]).encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(UsageError):
        items_of(bytes(raw), format_name="claude-ai")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ([{"uuid": "p", "name": "Boat", "docs": []}], "claude-ai"),
        ({"uuid": "p", "name": "Boat", "prompt_template": "", "docs": [{"content": "text"}]}, "claude-ai"),
        ({"conversations_memory": "likes tea", "account_uuid": "a"}, "claude-ai"),
        ([{"uuid": "k", "messages": [{"sender": "human", "text": "hi"}]}], "claude-ai"),
        ([{"uuid": "k", "messages": [{"role": "user", "content": "hi"}]}], "openai-jsonl"),
    ],
)
def test_every_file_of_the_export_is_told_by_content(value: object, name: str) -> None:
    assert detect(source_of(json.dumps(value))).name == name
