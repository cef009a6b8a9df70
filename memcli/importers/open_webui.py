"""The format "open-webui": chats of Open WebUI: its database, or what it exports: all, one, a chat alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import in_chats, on_branches
from memcli.importers.content import content_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, Said, meta_with, text_at
from memcli.importers.session import mapping_at, mappings_at, object_in, objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Item, Message, Millis, Skip

NAME = "open-webui"

# Thoughts and tools of an answer, which older versions keep in its text.
_DETAILS = regex(
    r"<details\b[^>]*\btype=\"(?:reasoning|tool_calls|code_interpreter)\".*?(?:</details>|\Z)\s*", re.DOTALL
)

_BEGIN = "begin of the chat"
_COLUMNS = ("id", "user_id", "title", "chat")


def sniff(head: Head) -> bool:
    """A chat with a history of messages, in what is said of it or alone; or the table of them."""
    return head.tables.get("chat", frozenset()) >= {*_COLUMNS} or any(
        isinstance(mapping_at(chat, "history").get("messages"), dict)
        or ("chat" in record and "user_id" in record and isinstance(record["chat"], dict))
        for record in head.objects
        for chat in [_chat(record)]
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The chats; of answers that were asked for again, the branch where the chat stands is kept."""
    titles: dict[str | None, str | None] = {}
    return in_chats(_messages(source, options, titles), source=NAME, titles=titles)


def _chat(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping_at(record, "chat") or record


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    for item in _rows(source) if source.kind == "sqlite" else objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        chat = _chat(item)
        session = text_at(item, ("id",)) or text_at(chat, ("id",)) or _id_from(chat)
        titles[session] = text_at(item, ("title",)) or text_at(chat, ("title",))
        records, damaged = _records(chat)
        if damaged:
            yield Skip("damaged", damaged)
        if not records and not damaged:
            yield Skip("empty-conversation")
        current = text_at(mapping_at(chat, "history"), ("currentId",))
        keys = ("id", "parentId")
        for record, is_active in on_branches(records, keys=keys, current=current, at=_time_of):
            is_left = not (is_active or options.all_branches)
            message = Skip("inactive-branch") if is_left else _message_of(record)
            yield message if isinstance(message, Skip) else (session, message)


def _rows(source: Source) -> Iterator[dict[str, Any]]:
    """The chats of the database, as an export has them."""
    with source.database() as database:
        for row in database.execute(f"SELECT {', '.join(_COLUMNS)} FROM chat ORDER BY rowid"):
            told = dict(zip(_COLUMNS, row, strict=True))
            yield told | {"chat": object_in(told["chat"])}


def _records(chat: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], int]:
    """The messages of a chat, and how many of them are none; a flat list where there is no history."""
    known = mapping_at(mapping_at(chat, "history"), "messages")
    if not known:
        listed = chat.get("messages")
        given = listed if isinstance(listed, list) else []
        return mappings_at(chat, "messages"), sum(not isinstance(record, dict) for record in given)
    # A first message that is written anew is a second root: both are branches of where the chat begins.
    records: list[Mapping[str, Any]] = [
        {**record, "id": id_, "parentId": text_at(record, ("parentId",)) or _BEGIN}
        for id_, record in known.items()
        if isinstance(record, dict)
    ]
    return records, len(known) - len(records)


def _id_from(chat: Mapping[str, Any]) -> str | None:
    """What a chat alone is known by: the id of its first message, which is random."""
    first = next(iter(mapping_at(mapping_at(chat, "history"), "messages")), None)
    return f"{NAME}-{first}" if first else None


def _message_of(record: Mapping[str, Any]) -> Message | Skip:
    role = ROLE_OF.get(str(record.get("role")).lower())
    if role is None:
        return Skip("damaged")
    content = content_of(record.get("content"))
    text = _DETAILS.sub("", content.text).strip("\n") if role == "assistant" else content.text
    lack = "thinking" if content.text.strip() else content.lack
    if not text.strip():
        output = mappings_at(record, "output")
        told = [content_of(part.get("content")) for part in output if part.get("type") == "message"]
        text = "\n\n".join(part.text for part in told if part.text.strip())
        lack = content_of(output).lack if output else lack
    files = [
        text_at(file, ("name", "filename", "type", "id")) or "file" for file in mappings_at(record, "files")
    ]
    attachments = [*content.attachments, *files]
    if not text.strip():
        return Skip("error" if record.get("error") else "media" if attachments else lack)
    model = text_at(record, ("model",)) if role == "assistant" else None
    meta = meta_with(model=model, attachments=attachments)
    return Message(role, text, at=_time_of(record), id=text_at(record, ("id",)), meta=meta)


def _time_of(record: Mapping[str, Any]) -> Millis | None:
    return parse_file_time(record.get("timestamp"))
