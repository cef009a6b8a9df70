from __future__ import annotations

import json

import pytest

from memcli.importers import messages
from memcli.types import Conversation, Message, Skip

from .reading import items_of, messages_in, texts_in


def message_of(**record: object) -> Message:
    (message,) = messages_in(items_of(json.dumps(record), format_name="message-jsonl"))
    return message


@pytest.mark.parametrize(
    ("record", "role", "name"),
    [
        ({"role": "HUMAN"}, "user", None),
        ({"role": " model "}, "assistant", None),
        ({"role": "observation"}, "tool", None),
        ({"sender": "Ana"}, "user", "Ana"),
        ({"role": "assistant", "sender": "Nina"}, "assistant", "Nina"),
        ({"from": "gpt", "name": "Nina"}, "assistant", "Nina"),
        ({"author": {"name": "Bo"}}, "user", "Bo"),
        ({"author": {"role": "tool", "name": "search"}}, "tool", "search"),
        ({"role": "narrator"}, "user", "narrator"),
        ({"type": "message", "sender": "bot"}, "assistant", None),
        ({"role": 5}, "user", None),
        ({"role": ["user"], "name": {"a": 1}}, "user", None),
        ({"name": "Seraph", "is_user": False}, "assistant", "Seraph"),
        ({"name": "Bo", "is_user": True}, "user", "Bo"),
        ({"name": "x", "is_user": False, "is_system": True}, "system", "x"),
    ],
)
def test_author_becomes_a_role_and_a_name(record: dict[str, object], role: str, name: str | None) -> None:
    message = message_of(text="hello", **record)
    assert (message.role, message.name) == (role, name)


def test_text_is_kept_as_it_is() -> None:
    text = "  two \n\n lines\t\n"
    assert message_of(role="user", content=text).text == text


def test_empty_content_gives_way_to_another_key() -> None:
    assert message_of(role="user", content=None, text="here").text == "here"


def test_second_time_key_is_used_where_the_first_cannot_be_read() -> None:
    assert message_of(role="user", text="x", timestamp="soon", created_at=1772355600).at == 1772355600000


def test_base64_is_never_kept() -> None:
    data = "data:image/png;base64," + "QUJD" * 5000
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": data}}]
    message = message_of(role="user", content=parts, image=data, audio=None)
    assert "QUJD" not in repr(message)
    assert message.meta == {"attachments": ["image/png"]}


def test_long_conversation_comes_in_pieces_in_order() -> None:
    lines = "".join(
        json.dumps({"role": "user", "content": f"{n}", "session_id": "s"}) + "\n" for n in range(1201)
    )
    pieces = [item for item in items_of(lines) if isinstance(item, Conversation)]
    assert [(piece.id, len(piece.messages)) for piece in pieces] == [("s", 500), ("s", 500), ("s", 201)]
    assert [message.text for piece in pieces for message in piece.messages] == [str(n) for n in range(1201)]


def test_long_texts_do_not_pile_up_in_a_piece() -> None:
    lines = "".join(json.dumps({"role": "user", "content": "x" * 400_000, "id": n}) + "\n" for n in range(9))
    sizes = [len(item.messages) for item in items_of(lines) if isinstance(item, Conversation)]
    assert sum(sizes) == 9
    assert max(sizes) == 3


def test_very_long_line_is_read_between_its_neighbours() -> None:
    contents = ["before", "word " * 400_000, "after"]
    assert (
        texts_in(items_of("\n".join(json.dumps({"role": "user", "content": text}) for text in contents)))
        == contents
    )


def test_same_id_with_another_text_is_no_repeat() -> None:
    lines = [{"role": "user", "content": text, "id": "1"} for text in ("one", "two")]
    assert texts_in(items_of("\n".join(map(json.dumps, lines)))) == ["one", "two"]


def test_same_id_in_another_session_is_no_repeat() -> None:
    lines = [{"role": "user", "content": "hi", "id": "1", "session_id": session} for session in "ab"]
    assert texts_in(items_of("\n".join(map(json.dumps, lines)))) == ["hi", "hi"]


def test_a_repeat_is_found_however_far_it_stands_from_the_first() -> None:
    said = [("s", Message("user", f"{n}", id=f"{n}")) for n in range(20_000)]
    assert list(messages.without_repeats([*said, said[0]])) == [*said, Skip("duplicate")]


@pytest.mark.parametrize(("me", "roles"), [(None, ["user", "user"]), ("ana", ["user", "assistant"])])
def test_who_the_person_is_tells_whose_words_are_not_theirs(me: str | None, roles: list[str]) -> None:
    items = items_of('{"author": "Ana", "text": "hi"}\n{"author": "Bo", "text": "yo"}\n', me=me)
    assert [message.role for message in messages_in(items)] == roles
