"""Chats between people: who the person is, and that no damage of a file loses more than it touches."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers import detect
from memcli.times import to_iso
from memcli.types import Conversation, Skip

from .reading import count_records, items_below, items_of, messages_in, source_of, texts_in

START = 1772355600
ZERO = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Shape:
    """How a format writes a message of a number, an author and a text; and a file, around its messages."""

    message: Callable[[int, str, str], dict[str, Any]]
    before: str
    after: str


def telegram(number: int, author: str, text: str) -> dict[str, Any]:
    told = {"id": number, "type": "message", "date_unixtime": str(START + number), "from": author}
    return told | {"from_id": f"user{author}", "text": [text[:1], {"type": "bold", "text": text[1:]}]}


def slack(number: int, author: str, text: str) -> dict[str, Any]:
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"type": "message", "user": author, "text": plain, "ts": f"{START + number}.000100"}


def discord(number: int, author: str, text: str) -> dict[str, Any]:
    told = {"id": str(number), "type": "Default", "timestamp": to_iso((START + number) * 1000)}
    return told | {"content": text, "author": {"id": author, "name": author}, "attachments": []}


def package(number: int, author: str, text: str) -> dict[str, Any]:
    return {"ID": number, "Timestamp": "2026-03-01 09:00:00", "Contents": text, "Attachments": ""}


def meta(number: int, author: str, text: str) -> dict[str, Any]:
    twice = text.encode().decode("latin-1")
    return {
        "sender_name": author,
        "timestamp_ms": (START + number) * 1000,
        "content": twice,
        "type": "Generic",
    }


def wechat(number: int, author: str, text: str) -> dict[str, Any]:
    told = {"localId": number, "createTime": START + number, "type": "文本消息", "content": text}
    return told | {"isSend": 0, "senderUsername": f"wxid_{author}", "senderDisplayName": author}


def chunk(number: int, author: str, text: str) -> dict[str, Any]:
    return {"role": "user", "text": text, "createTime": to_iso((START + number) * 1000)}


def grok(number: int, author: str, text: str) -> dict[str, Any]:
    told = {"_id": f"r{number}", "message": text, "sender": "human"}
    parent = {"parent_response_id": f"r{number - 1}"} if number else {}
    return {
        "response": told | parent | {"create_time": {"$date": {"$numberLong": str((START + number) * 1000)}}}
    }


def librechat(number: int, author: str, text: str) -> dict[str, Any]:
    told = {"messageId": f"r{number}", "parentMessageId": f"r{number - 1}" if number else ZERO}
    return told | {"text": text, "isCreatedByUser": True, "createdAt": to_iso((START + number) * 1000)}


def role(number: int, author: str, text: str) -> dict[str, Any]:
    return {"id": f"m{number}", "role": "user", "content": text}


SHAPES = {
    "telegram": Shape(telegram, '{"name": "Ana", "type": "personal_chat", "id": 7, "messages": ', "}"),
    "slack": Shape(slack, "", ""),
    "discord": Shape(
        discord, '{"guild": {"id": "0"}, "channel": {"id": "2"}, "messages": ', ', "messageCount": 1}'
    ),
    "discord-package": Shape(package, "", ""),
    "meta": Shape(meta, '{"participants": [], "messages": ', ', "title": "t"}'),
    "wechat": Shape(wechat, '{"weflow": {}, "session": {"wxid": "w"}, "messages": ', "}"),
    "ai-studio": Shape(chunk, '{"runSettings": {}, "chunkedPrompt": {"chunks": ', "}}"),
    "grok": Shape(grok, '{"conversations": [{"conversation": {"id": "g"}, "responses": ', "}]}"),
    "librechat": Shape(librechat, '{"conversationId": "l", "messages": ', "}"),
    "chatbot-ui": Shape(role, '{"version": 4, "history": [{"id": "h", "messages": ', "}]}"),
}
STREAMED = ("telegram", "slack", "discord", "discord-package", "wechat")
"""Formats whose messages are read one at a time; of the others a conversation is read whole."""

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
histories = st.lists(st.tuples(st.sampled_from(["Ana", "Bo"]), words), min_size=2, max_size=5).map(
    lambda said: [(author, f"{number} {text}.") for number, (author, text) in enumerate(said)]
)
shapes = st.sampled_from(sorted(SHAPES))
junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
quick = settings(max_examples=60, deadline=None)


def lines_of(name: str, history: list[tuple[str, str]]) -> list[str]:
    records = [SHAPES[name].message(number, author, text) for number, (author, text) in enumerate(history)]
    return [json.dumps(record, ensure_ascii=False) for record in records]


def file_of(name: str, lines: list[str]) -> str:
    return f"{SHAPES[name].before}[{', '.join(lines)}]{SHAPES[name].after}"


def texts_of(history: list[tuple[str, str]], *, without: int | None = None) -> list[str]:
    return [text for number, (_, text) in enumerate(history) if number != without]


@quick
@given(shapes, histories)
def test_every_message_is_read_in_order(name: str, history: list[tuple[str, str]]) -> None:
    data = file_of(name, lines_of(name, history))
    items = items_of(data)
    assert detect(source_of(data)).name == name
    assert texts_in(items) == texts_of(history)
    assert count_records(items) == len(history)


@quick
@given(shapes, histories, st.data())
def test_repeated_message_is_accounted_for(
    name: str, history: list[tuple[str, str]], data: st.DataObject
) -> None:
    lines = lines_of(name, history)
    again = data.draw(st.sampled_from(lines))
    items = items_of(file_of(name, [*lines, again]), format_name=name)
    assert count_records(items) == len(history) + 1
    if name in STREAMED:
        assert texts_in(items) == texts_of(history)


@quick
@given(shapes, histories, junk, st.data())
def test_wrong_type_costs_at_most_its_own_message(
    name: str, history: list[tuple[str, str]], value: object, data: st.DataObject
) -> None:
    lines = lines_of(name, history)
    at = data.draw(st.integers(0, len(lines) - 1))
    record = json.loads(lines[at])
    lines[at] = json.dumps(record | {data.draw(st.sampled_from(sorted(record))): value})
    items = items_of(file_of(name, lines), format_name=name)
    assert set(texts_of(history, without=at)) <= set(texts_in(items))
    assert count_records(items) == len(history)


@quick
@given(st.sampled_from(STREAMED), histories, st.data())
def test_nesting_costs_at_most_its_own_message(
    name: str, history: list[tuple[str, str]], data: st.DataObject
) -> None:
    lines = lines_of(name, history)
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = lines[at][:-1] + ', "deep": ' + "[" * 10_000 + "]" * 10_000 + "}"
    items = items_of(file_of(name, lines), format_name=name)
    assert texts_in(items) == texts_of(history, without=at)
    assert count_records(items) == len(history)


@quick
@given(shapes, histories, st.data())
def test_what_stands_before_a_cut_is_kept(
    name: str, history: list[tuple[str, str]], data: st.DataObject
) -> None:
    whole = file_of(name, lines_of(name, history))
    cut = data.draw(st.integers(len(SHAPES[name].before) + 1, len(whole)))
    ends = [whole.index(line) + len(line) for line in lines_of(name, history)]
    with suppress(UsageError):
        found = texts_in(items_of(whole[:cut], format_name=name))
        if name in STREAMED:
            complete = sum(end <= cut for end in ends)
            assert found == texts_of(history)[:complete]


@quick
@given(shapes, histories, st.data())
def test_flipped_bits_are_read_or_refused_with_a_reason(
    name: str, history: list[tuple[str, str]], data: st.DataObject
) -> None:
    spoilt = bytearray(file_of(name, lines_of(name, history)).encode())
    for at in data.draw(st.lists(st.integers(0, len(spoilt) - 1), min_size=1, max_size=3)):
        spoilt[at] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(UsageError):
        items_of(bytes(spoilt), format_name=name)


@quick
@given(st.sampled_from(["grok", "librechat"]), histories, st.data())
def test_circles_and_dangling_parents_lose_nothing(
    name: str, history: list[tuple[str, str]], data: st.DataObject
) -> None:
    parents = st.sampled_from(["r0", "r1", "r2", "gone", ZERO, None])
    records = [json.loads(line) for line in lines_of(name, history)]
    for record in records:
        holder = record.get("response", record)
        holder["parent_response_id" if name == "grok" else "parentMessageId"] = data.draw(parents)
    whole = file_of(name, [json.dumps(record) for record in records])
    assert count_records(items_of(whole, format_name=name)) == len(history)
    assert sorted(texts_in(items_of(whole, format_name=name, all_branches=True))) == sorted(texts_of(history))


@given(st.binary(max_size=200), st.sampled_from([*SHAPES, "whatsapp", "gemini-activity"]))
def test_any_bytes_are_read_or_refused_with_a_reason(data: bytes, name: str) -> None:
    with suppress(UsageError):
        items_of(data, format_name=name)


# --- who is who -----------------------------------------------------------------------------------

PEOPLE = ("telegram", "slack", "discord", "meta")


def roles_of(name: str, **options: Any) -> list[tuple[str | None, str]]:
    data = file_of(name, lines_of(name, [("Ana", "one"), ("Bo", "two")]))
    return [(message.name, message.role) for message in messages_in(items_of(data, **options))]


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.parametrize("me", ["Ana", "ana", " ANA "])
def test_person_is_user_and_others_are_not(name: str, me: str) -> None:
    assert roles_of(name, me=me) == [("Ana", "user"), ("Bo", "assistant")]


@pytest.mark.parametrize("name", PEOPLE)
def test_nobody_is_user_as_long_as_the_person_is_unknown(name: str) -> None:
    assert roles_of(name) == [("Ana", "assistant"), ("Bo", "assistant")]


@pytest.mark.parametrize(("me", "notice"), [(None, "--me NAME says it"), ("Cy", "nothing in it is by 'Cy'")])
def test_unknown_person_is_asked_for(me: str | None, notice: str) -> None:
    items = items_of(file_of("meta", lines_of("meta", [("Ana", "one")])), me=me)
    assert any(notice in getattr(item, "text", "") for item in items)


@pytest.mark.parametrize(("name", "id_"), [("telegram", "userAna"), ("slack", "ana"), ("discord", "Ana")])
def test_person_may_be_named_by_id(name: str, id_: str) -> None:
    assert roles_of(name, me=id_) == [("Ana", "user"), ("Bo", "assistant")]


# --- files beside each other ----------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    users = [
        {
            "id": "Ana",
            "team_id": "T",
            "name": "ana.k",
            "profile": {"display_name": "", "real_name": "Ana Kim"},
        },
        {"id": "Bo", "team_id": "T", "name": "bo", "profile": {"display_name": "bo!", "real_name": "Bo Li"}},
    ]
    (tmp_path / "users.json").write_text(json.dumps(users))
    (tmp_path / "channels.json").write_text(json.dumps([{"id": "C7", "name": "general", "members": []}]))
    for day, said in (("2026-03-01", "hi <@Bo> in <#C7>"), ("2026-03-02", "again")):
        (tmp_path / "general").mkdir(exist_ok=True)
        record = slack(0, "Ana", "") | {"text": said}
        (tmp_path / "general" / f"{day}.json").write_text(json.dumps([record]))
    return tmp_path


def test_slack_names_come_from_the_lists_beside_the_channels(workspace: Path) -> None:
    (conversation,) = items_below(workspace, "general/2026-03-01.json", me="ana kim")
    assert isinstance(conversation, Conversation)
    (message,) = conversation.messages
    assert (message.name, message.role, message.text) == ("Ana Kim", "user", "hi @bo! in #general")


def test_days_of_a_slack_channel_are_one_conversation(workspace: Path) -> None:
    days = [items_below(workspace, f"general/2026-03-0{day}.json", me="Ana")[0] for day in (1, 2)]
    assert [(day.id, day.title) for day in days if isinstance(day, Conversation)] == [("C7", "general")] * 2


@pytest.mark.parametrize(("listed", "title"), [(True, "Ana Kim, bo!"), (False, "D07ABCDEF")])
def test_slack_talk_of_two_is_called_after_them(workspace: Path, listed: bool, title: str) -> None:
    if listed:
        dms = [{"id": "D07ABCDEF", "created": 1, "members": ["Ana", "Bo"]}]
        (workspace / "dms.json").write_text(json.dumps(dms))
    (workspace / "D07ABCDEF").mkdir()
    (workspace / "D07ABCDEF" / "2026-03-01.json").write_text(json.dumps([slack(0, "Ana", "hi")]))
    (conversation,) = items_below(workspace, "D07ABCDEF/2026-03-01.json", me="Ana")
    assert isinstance(conversation, Conversation)
    assert (conversation.id, conversation.title) == ("D07ABCDEF", title)


def test_slack_lists_that_cannot_be_read_cost_only_the_names(workspace: Path) -> None:
    (workspace / "users.json").write_bytes(b"\x00\xff broken")
    conversation, *_ = items_below(workspace, "general/2026-03-01.json", me="Ana")
    assert isinstance(conversation, Conversation)
    assert conversation.messages[0].name == "Ana"


def test_discord_package_takes_its_channel_from_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "channel.json").write_text(json.dumps({"id": "77", "type": "DM", "name": "Bo"}))
    (tmp_path / "messages.json").write_text(json.dumps([package(1, "", "mine")]))
    (conversation,) = items_below(tmp_path, "messages.json")
    assert isinstance(conversation, Conversation)
    assert (conversation.id, conversation.title, conversation.messages[0].role) == ("77", "Bo", "user")


def test_forwarded_words_are_not_the_persons() -> None:
    record = telegram(1, "Ana", "hers") | {"forwarded_from": "Bo"}
    items = items_of(file_of("telegram", [json.dumps(record)]), me="Ana")
    assert [(message.name, message.role) for message in messages_in(items)] == [("Ana", "assistant")]


def test_chat_without_messages_is_counted() -> None:
    assert items_of('{"participants": [], "messages": []}', format_name="meta") == [
        Skip("empty-conversation")
    ]
