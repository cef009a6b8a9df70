from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers import detect
from memcli.types import Conversation, Skip

from .reading import count_records, items_below, items_of, messages_in, source_of, texts_in

Record = dict[str, Any]


def line(kind: str, payload: Record, second: int = 0) -> Record:
    return {
        "timestamp": f"2026-03-01T09:{second // 60:02}:{second % 60:02}Z",
        "type": kind,
        "payload": payload,
    }


def meta(id_: str = "a", **more: object) -> Record:
    return line("session_meta", {"id": id_, "timestamp": "2026-03-01T09:00:00Z", **more})


def item(text: str, second: int = 0, role: str = "user") -> Record:
    content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
    return line("response_item", {"type": "message", "role": role, "content": content}, second)


def event(text: str, second: int = 0, role: str = "user") -> Record:
    kind = "user_message" if role == "user" else "agent_message"
    return line("event_msg", {"type": kind, "message": text}, second)


def rollback(count: object) -> Record:
    return line("event_msg", {"type": "thread_rolled_back", "num_turns": count})


def read(*records: Record) -> list[Any]:
    return items_of("\n".join(map(json.dumps, records)) + "\n", format_name="codex")


@pytest.mark.parametrize(
    "known",
    [
        meta(base_instructions="x" * 200_000),
        {"session": {"id": "a"}, "items": []},
        {"id": "a", "timestamp": "2026-03-01T09:00:00Z", "instructions": "be brief"},
        {"session_id": "a", "ts": 1772355600, "text": "hi"},
        {"id": "a", "thread_name": "Looms", "updated_at": "2026-03-01T09:00:00Z"},
    ],
)
def test_rollout_of_any_age_is_known(known: Record) -> None:
    assert detect(source_of(json.dumps(known) + "\n")).name == "codex"


def test_output_of_a_scripted_run_is_no_rollout() -> None:
    lines = [{"type": "thread.started", "thread_id": "a"}, {"type": "item.completed", "item": {"text": "hi"}}]
    with pytest.raises(UsageError, match="no known shape"):
        detect(source_of("\n".join(map(json.dumps, lines))))


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([item("yes", 1), event("yes", 1)], ["yes"]),
        ([event("yes", 1), item("yes", 1)], ["yes"]),
        ([item("yes", 1), item("yes", 2)], ["yes", "yes"]),
        ([item("yes", 1), event("yes", 1), event("yes", 2), item("yes", 2)], ["yes", "yes"]),
        ([item("yes", 1), event("yes", 1), event("yes", 2)], ["yes", "yes"]),
        ([item("yes", 1), event("yes", 90)], ["yes", "yes"]),
        ([item("yes", 1), event("Done.", 2, "assistant"), event("yes", 3)], ["yes", "Done.", "yes"]),
        ([event("A", 1, "assistant"), event("B", 1, "assistant"), item("A", 2, "assistant")], ["A", "B"]),
        ([item("yes ", 1), event("yes", 1)], ["yes "]),
    ],
)
def test_copies_of_the_two_layers_are_paired_and_repeats_are_kept(
    records: list[Record], said: list[str]
) -> None:
    assert texts_in(read(meta(), *records)) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, ["one", "two", "after"]),
        (2, ["after"]),
        (99, ["after"]),
        (0, ["one", "two", "three", "after"]),
        (-1, ["one", "two", "three", "after"]),
        ("1", ["one", "two", "three", "after"]),
        (None, ["one", "two", "three", "after"]),
    ],
)
def test_rollback_takes_back_whole_turns(count: object, said: list[str]) -> None:
    turns = [item("one", 1), item("two", 2, "assistant"), item("three", 3)]
    items = read(meta(), *turns, rollback(count), item("after", 4))
    assert texts_in(items) == said
    assert count_records(items) == 6


def ids_of(*records: Record) -> list[tuple[str | None, str | None]]:
    conversations = [entry for entry in read(*records) if isinstance(entry, Conversation)]
    return [
        (conversation.id, message.id) for conversation in conversations for message in conversation.messages
    ]


def test_fork_knows_the_copied_turns_by_the_ids_that_they_had() -> None:
    parent = ids_of(meta("a"), item("one", 1), item("two", 2, "assistant"), item("mine", 3))
    copies = [item("one", 60), item("two", 60, "assistant")]
    fork = ids_of(meta("b", forked_from_id="a"), meta("a"), *copies, item("theirs", 90))
    assert fork[:2] == parent[:2]
    assert fork[2][0] == "a"
    assert fork[2] not in parent


def test_same_words_in_another_session_have_another_place() -> None:
    assert not set(ids_of(meta("a"), item("one"))) & set(ids_of(meta("b"), item("one")))


def test_same_words_again_have_another_id() -> None:
    first, second = ids_of(meta("a"), item("yes", 1), item("yes", 2))
    assert first != second


def test_rollout_that_grew_keeps_its_ids() -> None:
    lines = [meta("a"), item("one", 1), event("one", 1), item("two", 2, "assistant")]
    assert ids_of(*lines[:2]) == ids_of(*lines)[:1]


@pytest.mark.parametrize("maker", [{"subagent": "review"}, {"subagent": {"thread_spawn": {}}}])
def test_session_of_a_subagent_is_left_out(maker: object) -> None:
    assert read(meta("s", source=maker), item("look")) == [Skip("event"), Skip("sidechain")]


def test_tools_are_kept_on_request() -> None:
    call = {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}'}
    lines = [
        meta(),
        line("response_item", call),
        line("response_item", {"type": "function_call_output", "output": "a"}),
    ]
    kept = messages_in(items_of("\n".join(map(json.dumps, lines)), include_tools=True))
    assert [(message.role, message.text) for message in kept] == [
        ("tool", 'shell({"command":["ls"]})'),
        ("tool", "a"),
    ]


steps = st.one_of(
    st.builds(
        item, st.sampled_from(["yes", "no"]), st.integers(0, 200), st.sampled_from(["user", "assistant"])
    ),
    st.builds(
        event, st.sampled_from(["yes", "no"]), st.integers(0, 200), st.sampled_from(["user", "assistant"])
    ),
    st.builds(rollback, st.integers(-2, 5)),
    st.builds(meta, st.sampled_from("abc"), forked_from_id=st.sampled_from([None, "a", "b", "c"])),
)


@settings(deadline=None)
@given(st.lists(steps, max_size=15))
def test_sums_add_up_whatever_happened(records: list[Record]) -> None:
    assert count_records(read({"record_type": "state"}, *records)) == 1 + len(records)


@pytest.mark.parametrize(
    "place",
    ["sessions/2026/03/01/rollout-a.jsonl", "sessions/rollout-a.jsonl", "archived_sessions/rollout-a.jsonl"],
)
def test_session_has_the_name_that_the_index_gave_it_last(tmp_path: Path, place: str) -> None:
    names = [("a", "Loom"), ("b", "Other"), ("a", " The new loom "), ("a", " ")]
    index = [{"id": id_, "thread_name": name, "updated_at": "2026-03-01T09:00:00Z"} for id_, name in names]
    (tmp_path / "session_index.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in index) + "torn {")
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in (meta("a"), item("Wind the warp"))))
    (conversation,) = (row for row in items_below(tmp_path, place) if isinstance(row, Conversation))
    assert (conversation.id, conversation.title) == ("a", "The new loom")
