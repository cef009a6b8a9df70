from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.importers import detect
from memcli.types import Conversation, Skip

from .reading import count_records, items_below, items_of, messages_in, source_of, texts_in

Record = dict[str, Any]


def record(kind: str, uuid: str, parent: str | None, content: object, **more: object) -> Record:
    place = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "session-a"}
    return {**place, "message": {"role": kind, "content": content}, **more}


def read(*records: Record, **options: Any) -> list[Any]:
    return items_of("\n".join(map(json.dumps, records)), format_name="claude-code", **options)


@pytest.mark.parametrize(
    "known",
    [
        record("user", "u", None, "hi"),
        {"type": "summary", "summary": "Moss", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "u", "snapshot": {}},
        {"type": "system", "subtype": "informational", "uuid": "u", "parentUuid": None, "sessionId": "s"},
        {"display": "hi", "pastedContents": {}, "timestamp": 1772355600000, "project": "/a"},
    ],
)
def test_record_of_a_session_or_the_history_is_known(known: Record) -> None:
    assert detect(source_of(json.dumps(known) + "\n")).name == "claude-code"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain", "plain"),
        ("  spaces stay \n", "  spaces stay \n"),
        ("<system-reminder>a</system-reminder>\n\nwords", "words"),
        ("words\n<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>", "words"),
        ("<ide_selection>x</ide_selection><system-reminder>a</system-reminder>words", "words"),
        ("say <bash-input>ls</bash-input> to it", "say <bash-input>ls</bash-input> to it"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("</system-reminder>", "</system-reminder>"),
    ],
)
def test_what_the_program_put_around_the_words_is_taken_off(text: str, kept: str) -> None:
    assert texts_in(read(record("user", "u", None, text))) == [kept]


@pytest.mark.parametrize(
    "text",
    [
        "<command-message>init</command-message>\n<command-name>/init</command-name>",
        "<local-command-stdout>never closed",
        "<task-notification>\ndone\n</task-notification>",
        "[Request interrupted by user for tool use]",
    ],
)
def test_what_the_program_said_is_no_message(text: str) -> None:
    assert read(record("user", "u", None, text)) == [Skip("meta")]


def test_many_opening_tags_are_read_in_no_time() -> None:
    text = "<system-reminder>" * 50_000 + "words"
    assert read(record("user", "u", None, text)) == [Skip("meta")]


def test_fork_of_a_fork_belongs_to_the_first_session() -> None:
    fork = {"sessionId": "b", "forkedFrom": {"sessionId": "a", "messageUuid": "u"}}
    again = {"sessionId": "c", "forkedFrom": {"sessionId": "b", "messageUuid": "v"}}
    items = read(record("user", "v", None, "one", **fork), record("user", "w", None, "two", **again))
    (conversation,) = (item for item in items if isinstance(item, Conversation))
    assert (conversation.id, [message.id for message in conversation.messages]) == ("a", ["u", "v"])


def test_copy_tells_of_the_fork_though_it_comes_second() -> None:
    fork = {"forkedFrom": {"sessionId": "a", "messageUuid": "u"}}
    *_, conversation, _ = read(record("user", "u", None, "one"), record("user", "u", None, "one", **fork))
    assert isinstance(conversation, Conversation)
    assert conversation.id == "a"


def test_forks_in_a_circle_end_somewhere() -> None:
    records = [
        record("user", one, None, "hi", sessionId=one, forkedFrom={"sessionId": other, "messageUuid": one})
        for one, other in ("ab", "ba")
    ]
    assert len(texts_in(read(*records))) == 2


def test_copy_in_a_fork_has_the_id_that_its_original_has() -> None:
    original = read(record("user", "u", None, "hi"))
    copied = read(
        record(
            "user",
            "new",
            None,
            "hi",
            sessionId="b",
            forkedFrom={"sessionId": "session-a", "messageUuid": "u"},
        )
    )
    assert [(item.id, item.messages[0].id) for item in (*original[:1], *copied[:1])] == [
        ("session-a", "u")
    ] * 2


def test_prompt_that_waited_beside_the_answer_is_no_branch() -> None:
    items = read(
        record("user", "u1", None, "one"),
        record("assistant", "a1", "u1", "two"),
        record("user", "u2", "a1", "meanwhile"),
        record("assistant", "a2", "a1", "three"),
    )
    assert texts_in(items) == ["one", "two", "meanwhile", "three"]


def test_words_that_begin_like_the_last_answer_are_another_answer() -> None:
    said = [record("assistant", uuid, None, text) for uuid, text in (("a", "Yes"), ("b", "Yes, it is"))]
    for number, one in enumerate(said):
        one["message"]["id"] = f"answer {number}"
    assert texts_in(read(*said)) == ["Yes", "Yes, it is"]


uuids = st.sampled_from("abcdef")


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), uuids, st.none() | uuids), max_size=12))
def test_sums_add_up_in_any_tangle(places: list[tuple[str, str, str | None]]) -> None:
    records = [record(*place, f"said {number}") for number, place in enumerate(places)]
    assert count_records(read({"type": "summary"}, *records)) == len(records) + 1
    everything = read({"type": "summary"}, *records, all_branches=True)
    assert {message.id for message in messages_in(everything)} == {uuid for _, uuid, _ in places}


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        ({"content": "three\nlines"}, "Sum up three\nlines please"),
        ({"contentHash": "0123456789abcdef"}, "Sum up a\u2028long text please"),
        ({"contentHash": "fedcba9876543210"}, "Sum up [Pasted text #1 +2 lines] please"),
        ({"contentHash": "../../secret"}, "Sum up [Pasted text #1 +2 lines] please"),
    ],
    ids=["with the prompt", "in a file of its own", "pruned", "hostile"],
)
def test_what_was_pasted_stands_in_its_place(tmp_path: Path, pasted: Record, text: str) -> None:
    (tmp_path / "paste-cache").mkdir()
    (tmp_path / "paste-cache" / "0123456789abcdef.txt").write_text("a\u2028long text", "utf-8")
    (tmp_path / "secret.txt").write_text("secret")
    prompt = {"display": "Sum up [Pasted text #1 +2 lines] please", "project": "/b/loom", "sessionId": "s"}
    line = prompt | {"pastedContents": {"1": {"id": 1, "type": "text", **pasted}}, "timestamp": 1772355600000}
    (tmp_path / "history.jsonl").write_text(json.dumps(line) + "\n")
    assert texts_in(items_below(tmp_path, "history.jsonl")) == [text]
