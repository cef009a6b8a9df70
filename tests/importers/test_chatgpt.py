"""Histories of ChatGPT, whole and damaged: nothing stops the reading, and every node is accounted for."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.types import Conversation, Skip

from .reading import count_records, items_of, messages_in
from .test_damage import junk

Chat = dict[str, Any]

KEYS = ("title", "create_time", "mapping", "current_node", "conversation_id")
NODE_KEYS = ("parent", "children", "message", "id")
MESSAGE_KEYS = ("author", "content", "create_time", "metadata", "recipient", "id", "weight")

contents = st.sampled_from(
    [
        {"content_type": "text", "parts": ["said"]},
        {"content_type": "text", "parts": [""]},
        {"content_type": "multimodal_text", "parts": [None, {"asset_pointer": "sediment://f"}, "seen"]},
        {"content_type": "thoughts", "thoughts": []},
        {"content_type": "code", "text": "search()"},
        None,
    ]
)
roles = st.sampled_from(["user", "assistant", "system", "tool"])


@st.composite
def chats(draw: st.DrawFn, number: int = 0) -> Chat:
    """A conversation with branches, hidden nodes and tools; its first node is the root without a message."""
    mapping: dict[str, Any] = {"n0": {"id": "n0", "parent": None, "message": None}}
    for n in range(1, draw(st.integers(1, 8)) + 1):
        message = {
            "id": f"n{n}",
            "author": {"role": draw(roles)},
            "create_time": draw(st.none() | st.just(1772355600 + n)),
            "content": draw(contents),
        }
        mapping[f"n{n}"] = {"id": f"n{n}", "parent": f"n{draw(st.integers(0, n - 1))}", "message": message}
    current = draw(st.sampled_from([*mapping, "gone"]))
    return {"title": "t", "mapping": mapping, "current_node": current, "conversation_id": f"c{number}"}


def count_nodes(chat: Chat) -> int:
    return sum(node["message"] is not None for node in chat["mapping"].values())


def read(value: object) -> list[Any]:
    return items_of(json.dumps(value), format_name="chatgpt")


@given(st.lists(chats(), max_size=3), st.booleans())
def test_every_node_is_a_message_or_skipped_for_a_reason(values: list[Chat], all_branches: bool) -> None:
    data = json.dumps([{**chat, "conversation_id": f"c{n}"} for n, chat in enumerate(values)])
    items = items_of(data, format_name="chatgpt", all_branches=all_branches)
    assert count_records(items) == sum(map(count_nodes, values))
    reasons = Counter(item.reason for item in items if isinstance(item, Skip))
    assert not (all_branches and reasons["inactive-branch"])


@given(chats(), st.sampled_from(KEYS), junk)
def test_wrong_type_costs_at_most_its_own_conversation(chat: Chat, key: str, value: object) -> None:
    good = {"mapping": {"u": {"message": {"author": {"role": "user"}, "content": {"parts": ["kept"]}}}}}
    texts = [message.text for message in messages_in(read([good, {**chat, key: value}, good]))]
    assert texts.count("kept") >= 2


@given(chats(), st.sampled_from(NODE_KEYS), junk, st.data())
def test_wrong_type_in_a_node_stops_nothing(chat: Chat, key: str, value: object, data: st.DataObject) -> None:
    node = chat["mapping"][data.draw(st.sampled_from(list(chat["mapping"])))]
    node[key] = value
    assert count_records(read([chat])) == max(count_nodes(chat), 1)


@given(chats(), st.sampled_from(MESSAGE_KEYS), junk, st.data())
def test_wrong_type_in_a_message_costs_at_most_that_message(
    chat: Chat, key: str, value: object, data: st.DataObject
) -> None:
    at = data.draw(st.integers(1, len(chat["mapping"]) - 1))
    chat["mapping"][f"n{at}"]["message"][key] = value
    assert count_records(read([chat])) == count_nodes(chat)


@given(chats(), st.dictionaries(st.integers(0, 8), st.integers(0, 9), min_size=1))
def test_circles_and_lost_parents_lose_no_node(chat: Chat, parents: dict[int, int]) -> None:
    for node, parent in parents.items():
        if f"n{node}" in chat["mapping"]:
            chat["mapping"][f"n{node}"]["parent"] = f"n{parent}"
    assert count_records(read(chat)) == count_nodes(chat)


@given(st.lists(chats(), min_size=1, max_size=3), st.data())
def test_what_stands_before_a_cut_is_read(values: list[Chat], data: st.DataObject) -> None:
    said = {"u": {"message": {"author": {"role": "user"}, "content": {"parts": ["kept"]}}}}
    parts = [json.dumps({**chat, "mapping": {**chat["mapping"], **said}}) for chat in values]
    text = "[" + ", ".join(parts) + "]"
    cut = data.draw(st.integers(1, len(text)))
    complete = sum(cut >= len("[" + ", ".join(parts[: n + 1])) for n in range(len(parts)))
    found = messages_in(items_of(text[:cut], format_name="chatgpt"))
    assert sum(message.text == "kept" for message in found) >= complete


@given(chats(), st.data())
def test_flipped_bit_never_stops_the_reading(chat: Chat, data: st.DataObject) -> None:
    raw = bytearray(json.dumps([chat, chat]).encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(UsageError):
        items_of(bytes(raw), format_name="chatgpt")


def test_deep_nesting_costs_only_its_own_conversation() -> None:
    good = '{"mapping":{"u":{"message":{"author":{"role":"user"},"content":{"parts":["kept"]}}}}}'
    deep = '{"mapping":' + '{"a":' * 10_000 + "1" + "}" * 10_000 + "}"
    items = items_of(f"[{good},{deep},{good}]", format_name="chatgpt")
    assert [message.text for message in messages_in(items)] == ["kept", "kept"]


def test_conversation_without_an_id_keeps_the_one_it_is_given_when_it_grows() -> None:
    def ids(*texts: str) -> set[str | None]:
        nodes = {
            f"n{n}": {
                "parent": f"n{n - 1}",
                "message": {"author": {"role": "user"}, "content": {"parts": [text]}},
            }
            for n, text in enumerate(texts)
        }
        return {item.id for item in read([{"mapping": nodes}]) if isinstance(item, Conversation)}

    assert ids("first", "second") == ids("first", "second", "third")
    assert ids("first") != ids("another")


def test_long_conversation_comes_in_pieces_of_one_id() -> None:
    nodes = {
        f"n{n}": {"parent": f"n{n - 1}", "message": {"author": {"role": "user"}, "content": {"parts": ["x"]}}}
        for n in range(1_200)
    }
    pieces = [item for item in read([{"mapping": nodes, "id": "c"}]) if isinstance(item, Conversation)]
    assert [len(piece.messages) for piece in pieces] == [500, 500, 200]
    assert {piece.id for piece in pieces} == {"c"}


def test_marks_of_what_was_cited_are_no_words() -> None:
    answer = "Fresh \ue200cite\ue202turn0search1\ue201every day."
    node = {"message": {"author": {"role": "assistant"}, "content": {"parts": [answer]}}}
    assert [message.text for message in messages_in(read([{"mapping": {"n": node}}]))] == ["Fresh every day."]
