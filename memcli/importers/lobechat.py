"""The format "lobechat": topics that LobeChat exports, and the conversations in a backup of its database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import in_chats
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, message_of, text_at
from memcli.importers.session import mapping_at, mappings_at, objects
from memcli.importers.source import Source
from memcli.types import Item, Skip

NAME = "lobechat"

_TOPIC_KEYS = ("topicId", "topic_id", "sessionId", "session_id")
# What else a row holds are settings and states of the program.
_KEPT_KEYS = ("id", "role", "content", "createdAt", "created_at", "name", "tools", "model")
# Whoever is none of these is an agent of a group.
_ROLES = ("user", "system", "assistant", "tool", "function")


def sniff(head: Head) -> bool:
    """A topic with the time of its export, or a backup with its tables."""
    return any(
        ("exportedAt" in record and isinstance(record.get("messages"), list))
        or ("schemaHash" in record and isinstance(record.get("data"), dict))
        or ("exportType" in record and isinstance(record.get("state"), dict))
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of every topic; what a backup holds besides is not looked at."""
    titles: dict[str | None, str | None] = {}
    return in_chats(_messages(source, options, titles), source=NAME, titles=titles)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        tables = mapping_at(item, "data") or mapping_at(item, "state") or item
        titles |= _titles(tables)
        alone = None
        if tables is item:
            alone = _topic_of(item)
            titles[alone] = text_at(item, ("title",))
        listed = tables.get("messages")
        messages = [*(listed if isinstance(listed, list) else ()), *_chats(tables)]
        if not (listed or messages):
            yield Skip("empty-conversation")
        for record in messages:
            yield _said(record, alone, options) if isinstance(record, dict) else Skip("damaged")


def _rows(value: object) -> list[Mapping[str, Any]]:
    """The rows of a table: a list, or in the first version an object of them by their ids."""
    listed = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [row for row in listed if isinstance(row, dict)]


def _chats(tables: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The messages of sessions that hold them themselves, as in the first version."""
    for session in _rows(tables.get("sessions")):
        yield from ({"sessionId": session.get("id"), **chat} for chat in _rows(session.get("chats")))


def _titles(tables: Mapping[str, Any]) -> dict[str | None, str | None]:
    sessions = _rows(tables.get("sessions"))
    nested = [topic for session in sessions for topic in _rows(session.get("topics"))]
    return {
        text_at(row, ("id",)): text_at(row, ("title",)) or text_at(mapping_at(row, "meta"), ("title",))
        for row in (*sessions, *nested, *_rows(tables.get("topics")))
    }


def _topic_of(export: Mapping[str, Any]) -> str | None:
    """What a topic exported alone is known by: its id, which its messages name, or that of the first."""
    messages = mappings_at(export, "messages")
    told = next((id_ for message in messages if (id_ := text_at(message, _TOPIC_KEYS))), None)
    return told or next((id_ for message in messages if (id_ := text_at(message, ("id",)))), None)


def _said(record: Mapping[str, Any], alone: str | None, options: ReadOptions) -> Said | Skip:
    role = record.get("role")
    if role == "compressedGroup":
        return Skip("compact-summary")
    kept = {key: record[key] for key in _KEPT_KEYS if key in record}
    if isinstance(role, str) and role not in _ROLES:
        kept["role"] = "assistant"
    if not kept.get("content"):
        # An answer with the calls of tools in between is a group of blocks.
        kept["content"] = [block.get("content") for block in mappings_at(record, "children")]
    kept.setdefault("created_at", record.get("createAt"))
    kept["tool_calls"] = kept.pop("tools", None)
    message = message_of(kept, options)
    if not isinstance(message, Skip):
        return alone or text_at(record, _TOPIC_KEYS), message
    return Skip(_lack(record) or message.reason)


def _lack(record: Mapping[str, Any]) -> str | None:
    if record.get("error"):
        return "error"
    if record.get("reasoning"):
        return "thinking" if not record.get("tools") else "tool-only"
    has_files = any(record.get(key) for key in ("imageList", "files", "fileList"))
    return "media" if has_files else None
