"""The format "librechat": a conversation as LibreChat exports it, its messages in a list or as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import in_chats, on_branches
from memcli.importers.content import content_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, meta_with, text_at
from memcli.importers.session import mappings_at, objects
from memcli.importers.source import Source
from memcli.times import parse_file_time
from memcli.types import Item, Message, Millis, Skip

NAME = "librechat"

_LIST_KEYS = ("messages", "messagesTree")
_TREE_KEYS = ("messageId", "parentMessageId")
_THOUGHTS = ("think", "thinking", "reasoning")


def sniff(head: Head) -> bool:
    """A conversation's id and messages with LibreChat's keys."""
    return any(
        "conversationId" in record and any("messageId" in message for message in _listed(record))
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages; of answers that were asked for again, the branch of the newest is kept."""
    titles: dict[str | None, str | None] = {}
    return in_chats(_messages(source, options, titles), source=NAME, titles=titles)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        session = text_at(item, ("conversationId",))
        titles[session] = text_at(item, ("title",))
        records = _unfolded(item)
        if not records:
            yield Skip("empty-conversation")
        for record, is_active in on_branches(records, keys=_TREE_KEYS, at=_time_of):
            is_left = not (is_active or options.all_branches)
            message = Skip("inactive-branch") if is_left else _message_of(record)
            yield message if isinstance(message, Skip) else (session, message)


def _listed(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [message for key in _LIST_KEYS for message in mappings_at(record, key)]


def _unfolded(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages in a row, each before its children."""
    found: list[Mapping[str, Any]] = []
    waiting = _listed(record)[::-1]
    while waiting:
        message = waiting.pop()
        found.append(message)
        waiting += mappings_at(message, "children")[::-1]
    return found


def _message_of(record: Mapping[str, Any]) -> Message | Skip:
    if record.get("error") is True:
        return Skip("error")
    parts = [part for part in mappings_at(record, "content") if part.get("type") not in _THOUGHTS]
    said = content_of(parts)
    text = text_at(record, ("text",)) or said.text
    files = [file for key in ("files", "attachments") for file in mappings_at(record, key)]
    if not text.strip():
        return Skip(
            "media" if files else said.lack if parts else "thinking" if record.get("content") else "empty"
        )
    is_person = record.get("isCreatedByUser") is True or record.get("sender") == "User"
    model = text_at(record, ("model", "sender"))
    meta = meta_with(
        model=None if is_person else model,
        attachments=[text_at(file, ("filename", "name", "file_id")) or "file" for file in files],
    )
    role = "user" if is_person else "assistant"
    return Message(role, text, at=_time_of(record), id=text_at(record, ("messageId",)), meta=meta)


def _time_of(record: Mapping[str, Any]) -> Millis | None:
    return parse_file_time(record.get("createdAt"))
