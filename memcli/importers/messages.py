"""Records that are messages, whatever their keys are called, and messages as conversations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from memcli.importers.content import Content, content_of, tool_text
from memcli.importers.format import ReadOptions
from memcli.importers.seen import Seen
from memcli.times import parse_file_time
from memcli.types import Conversation, Item, Message, Millis, Notice, Reached, Skip

ROLE_KEYS = ("role", "sender", "author", "from", "speaker", "type")
TEXT_KEYS = ("content", "text", "message", "value", "mes", "parts")
TIME_KEYS = ("timestamp", "created_at", "createdAt", "create_time", "ts", "time", "date", "send_date")
SESSION_KEYS = ("session_id", "sessionId", "conversation_id", "thread_id", "convId")
ID_KEYS = ("id", "message_id", "uuid")
META_KEYS = ("metadata", "meta")

ROLE_OF = {
    word: role
    for role, words in {
        "user": "user human me you",
        "assistant": "assistant ai gpt bot model chatgpt claude gemini copilot bing bard",
        "system": "system developer",
        "tool": "tool function function_call observation",
    }.items()
    for word in words.split()
}

Said: TypeAlias = tuple[str | None, Message]
"""A message and the session it belongs to, None where the source names none."""

_READ_KEYS = {
    *ROLE_KEYS,
    *TEXT_KEYS,
    *TIME_KEYS,
    *SESSION_KEYS,
    *ID_KEYS,
    *META_KEYS,
    "name",
    "is_user",
    "is_system",
    # What a model thought, and that it would not answer.
    "reasoning",
    "reasoning_content",
    "refusal",
    "thinking",
}
_MAX_META_CHARS = 1000
"""A longer value is data, not something said about the message."""

PIECE_MESSAGES, PIECE_CHARS = 500, 1 << 20
"""A longer conversation comes in pieces of about so much."""


def is_message(record: Mapping[str, Any]) -> bool:
    """Whether the record has the keys of a message: who, and what."""
    has_author = "is_user" in record or any(
        isinstance(record.get(key), (str, dict)) for key in ROLE_KEYS if key != "type"
    )
    has_author = has_author or str(record.get("type")).lower() in ROLE_OF
    return has_author and any(_is_text(record.get(key)) for key in TEXT_KEYS)


def _is_text(value: object) -> bool:
    return isinstance(value, (str, int, float, list)) or (isinstance(value, dict) and "parts" in value)


def message_of(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    """The message of a record, or why it holds none: "empty", "media", "thinking", "tool-only"."""
    content = _content_of(record)
    role, name = _author_of(record, options)
    text = content.text
    if not text or text.isspace():
        tools = tool_text(record)
        if not (tools and options.include_tools):
            return Skip("tool-only" if tools else content.lack)
        role, text = "tool", tools
    return Message(
        role, text, name, time_of(record, options), text_at(record, ID_KEYS), meta_of(record, content)
    )


def time_of(record: Mapping[str, Any], options: ReadOptions) -> Millis | None:
    """When the record says it was made; None when it says nothing that can be read."""
    return time_at(record, TIME_KEYS, tz=options.tz)


def time_at(record: Mapping[str, Any], keys: Iterable[str], *, tz: str | None) -> Millis | None:
    """The first of these keys that holds a time that can be read; `tz` is the zone of one that names none."""
    for key in keys:
        if key in record and (at := parse_file_time(record[key], tz=tz)) is not None:
            return at
    return None


def text_at(record: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """The first of these keys that holds a string or a number, as a string."""
    for key in keys:
        value = record.get(key)
        if value and isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def meta_of(record: Mapping[str, Any], content: Content | None = None) -> dict[str, Any]:
    """What else the record says: its own metadata, its other short values, the attachments' names."""
    others = record.keys() - _READ_KEYS
    # In the record's order.
    meta = (
        {key: value for key, value in record.items() if key in others and _is_said(value)} if others else {}
    )
    for key in META_KEYS:
        if isinstance(record.get(key), dict):
            meta.update(record[key])
    if content is not None and content.attachments:
        meta["attachments"] = list(content.attachments)
    return meta


def meta_with(*, model: object = None, attachments: Sequence[str] = ()) -> dict[str, Any]:
    """The usual metadata: the model that answered, the names of what was attached; what there is of them."""
    meta: dict[str, Any] = {"model": model} if model and isinstance(model, str) else {}
    return meta | {"attachments": list(attachments)} if attachments else meta


def _is_said(value: object) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, str) and 0 < len(value) <= _MAX_META_CHARS)


_NO_CONTENT = Content("")


def _content_of(record: Mapping[str, Any]) -> Content:
    content = _NO_CONTENT
    for key in TEXT_KEYS:
        if key in record:
            content = content_of(record[key])
            if content.text:
                break
    return content if content.text else content_of(record["refusal"]) if record.get("refusal") else content


def _author_of(record: Mapping[str, Any], options: ReadOptions) -> tuple[str, str | None]:
    """The role and the name. A word that is no role is a name, and who has a name is taken for a person: for
    the person whose memory this is, unless they have said that they are another.
    """
    role = None
    name = text_at(record, ("name",))
    for key in ROLE_KEYS:
        word = record.get(key)
        if isinstance(word, dict):  # {"author": {"role": …, "name": …}}
            name = name or text_at(word, ("name", "nickname", "id"))
            word = word.get("role")
        if not word or not isinstance(word, str):
            continue
        known = ROLE_OF.get(word) or ROLE_OF.get(word.strip().lower())
        role = role or known
        if known is None and key != "type":
            name = name or word.strip()
    if role is None and name and options.me:
        return "user" if name.casefold() == options.me.strip().casefold() else "assistant", name
    return role or _flagged_role(record), name


def _flagged_role(record: Mapping[str, Any]) -> str:
    if record.get("is_system"):
        return "system"
    return "user" if record.get("is_user", True) else "assistant"


# --- streams of messages --------------------------------------------------------------------------


def without_repeats(items: Iterable[Said | Item]) -> Iterator[Said | Item]:
    """The items without messages that came before: same session, id and text; without an id, same
    author, time and text. What has neither id nor time is never a repeat.
    """
    seen = Seen()
    for item in items:
        mark = _mark(*item) if isinstance(item, tuple) else None
        yield Skip("duplicate") if mark is not None and seen.has(mark) else item


def _mark(session: str | None, message: Message) -> Hashable:
    if message.id is not None:
        return session, message.id, message.text
    if message.at is not None:
        return message.role, message.name, message.at, message.text
    return None


def with_time_notice(items: Iterable[Said | Item]) -> Iterator[Said | Item]:
    """The items, and at the end how many messages have no time that can be read."""
    untimed = 0
    for item in items:
        if isinstance(item, tuple) and item[1].at is None:
            untimed += 1
        yield item
    yield from time_notice(untimed)


def time_notice(untimed: int) -> Iterator[Notice]:
    """What the person is told of so many messages without a time."""
    if untimed:
        yield Notice(f"{untimed} {'record has' if untimed == 1 else 'records have'} no readable time")


def in_conversations(items: Iterable[Said | Item], *, source: str) -> Iterator[Item]:
    """The items with the messages that follow each other in a session as a piece of its conversation."""
    session: str | None = None
    held: list[Message] = []
    chars = 0
    for item in items:
        if not isinstance(item, tuple):
            if held and isinstance(item, Reached):
                yield Conversation(session, source, held)
                held, chars = [], 0
            yield item
            continue
        is_full = len(held) >= PIECE_MESSAGES or chars >= PIECE_CHARS
        if held and (is_full or item[0] != session):
            yield Conversation(session, source, held)
            held, chars = [], 0
        session, message = item
        held.append(message)
        chars += len(message.text)
    if held:
        yield Conversation(session, source, held)
