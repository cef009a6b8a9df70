from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.types import Conversation

from .reading import count_records, items_of, texts_in

Record = dict[str, Any]
HEADER = {"type": "session", "version": 3, "id": "a", "timestamp": "2026-03-01T09:00:00Z", "cwd": "/a/b"}


def entry(id_: str | None, parent: str | None, text: str) -> Record:
    return {"type": "message", "id": id_, "parentId": parent, "message": {"role": "user", "content": text}}


def read(*records: Record, **options: Any) -> list[Any]:
    return items_of("\n".join(map(json.dumps, records)) + "\n", format_name="session-jsonl", **options)


def test_entries_without_ids_are_a_conversation_in_order() -> None:
    assert texts_in(read(HEADER, entry(None, None, "one"), entry(None, None, "two"))) == ["one", "two"]


def test_all_branches_are_kept_on_request() -> None:
    tree = [HEADER, entry("x", None, "one"), entry("y", "x", "two"), entry("z", "x", "three")]
    assert texts_in(read(*tree)) == ["one", "three"]
    assert texts_in(read(*tree, all_branches=True)) == ["one", "two", "three"]


def test_what_a_broken_chain_cuts_off_is_kept() -> None:
    assert texts_in(read(HEADER, entry("x", None, "one"), entry("y", "nowhere", "two"))) == ["one", "two"]


def test_sessions_in_a_row_are_told_apart() -> None:
    items = read(HEADER, entry("x", None, "one"), {**HEADER, "id": "b"}, entry("x", None, "two"))
    assert [item.id for item in items if isinstance(item, Conversation)] == ["a", "b"]


def test_tools_are_kept_on_request() -> None:
    message = {
        "role": "assistant",
        "content": "",
        "toolCalls": '[{"function": {"name": "look", "arguments": "{}"}}]',
    }
    items = read(
        {"type": "session", "harness": "llama.app", "id": "c"}, {"type": "message", "message": message}
    )
    assert texts_in(items) == []
    again = read(HEADER, {"type": "message", "message": message}, include_tools=True)
    assert texts_in(again) == ["look({})"]


ids = st.sampled_from("abcd")


@settings(deadline=None)
@given(
    st.lists(st.builds(entry, ids | st.none(), ids | st.none(), st.sampled_from(["said", ""])), max_size=10)
)
def test_sums_add_up_in_any_tangle(entries: list[Record]) -> None:
    assert count_records(read(HEADER, *entries)) == 1 + len(entries)
