from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.importers import detect
from memcli.types import BadLine, Conversation

from .reading import items_of, messages_in, source_of, texts_in

START = "# aider chat started at 2026-03-01 09:00:00\n\n"


def test_history_is_told_from_another_note() -> None:
    assert detect(source_of(START)).name == "aider"
    assert detect(source_of("# How an aider chat started\n\n- one\n")).name == "markdown"


def test_prompt_ends_code_that_an_answer_left_open() -> None:
    history = START + "#### one\n\n```\ncode\n\n#### two\n\n> tool\n"
    assert texts_in(items_of(history)) == ["one", "```\ncode", "two"]


def test_what_tools_said_is_kept_on_request() -> None:
    kept = messages_in(items_of(START + "#### one\n\n> Applied edit\n", include_tools=True))
    assert [(message.role, message.text) for message in kept] == [("user", "one"), ("tool", "> Applied edit")]


def test_line_in_another_encoding_is_bad_alone() -> None:
    items = items_of(START.encode() + b"#### one\n\ncaf\xe9\nand tea\n")
    assert texts_in(items) == ["one", "and tea"]
    assert [item.number for item in items if isinstance(item, BadLine)] == [5]


def test_chat_that_grew_keeps_its_id_and_times() -> None:
    short, long = (items_of(START + text) for text in ("#### one\n\nyes\n", "#### one\n\nyes\n\n#### two\n"))
    (before,), (after,) = ([i for i in items if isinstance(i, Conversation)] for items in (short, long))
    assert after.id == before.id
    assert list(after.messages)[:2] == list(before.messages)


@settings(deadline=None)
@given(st.text(st.sampled_from("#> `a/\n")))
def test_any_text_is_read(text: str) -> None:
    for item in items_of(START + "#### one\n" + text, format_name="aider"):
        assert not isinstance(item, BadLine)
