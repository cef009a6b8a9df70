"""The format "openai-jsonl": a conversation a line, `{"messages": […]}`; also as a JSON array or object."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ID_KEYS, SESSION_KEYS, message_of, meta_of, text_at, time_of
from memcli.importers.records import records
from memcli.importers.seen import Seen
from memcli.importers.source import Source
from memcli.types import BadLine, Conversation, Item, Message, Skip

NAME = "openai-jsonl"


def sniff(head: Head) -> bool:
    """An object has a list of messages with roles."""
    return any(
        isinstance(message, dict) and "role" in message
        for record in head.objects
        for message in _messages_of(record)
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Each conversation whole. One without an id is known by a hash of what it holds."""
    seen = Seen()
    for item in records(source, encoding=options.encoding):
        if not isinstance(item, tuple):
            yield item
        elif not isinstance(item[1], dict):
            yield BadLine(item[0], "not a JSON object")
        elif not _messages_of(item[1]):
            yield Skip("empty")
        else:
            yield from _conversation(item[1], options, seen)


def _conversation(record: Mapping[str, Any], options: ReadOptions, seen: Seen) -> Iterator[Item]:
    listed = _messages_of(record)
    digest = _digest(listed)
    if seen.has(digest):
        yield Skip("duplicate", len(listed))
        return
    messages: list[Message] = []
    for entry in listed:
        message = message_of(entry, options) if isinstance(entry, dict) else Skip("empty")
        if isinstance(message, Skip):
            yield message
        elif _is_repeated_prompt(message, seen):
            yield Skip("duplicate")
        else:
            messages.append(message)
    if messages:
        meta = meta_of(record)
        yield Conversation(
            text_at(record, (*SESSION_KEYS, *ID_KEYS)) or f"openai-{digest}",
            NAME,
            messages,
            title=meta.pop("title", None),
            started_at=time_of(record, options),
            meta=meta,
        )


def _is_repeated_prompt(message: Message, seen: Seen) -> bool:
    """Whether another conversation of the file began with this system prompt, as training data does."""
    if message.role != "system" or message.id is not None:
        return False
    return seen.has(("system", message.text))


def _messages_of(record: Mapping[str, Any]) -> list[Any]:
    messages = record.get("messages")
    return messages if isinstance(messages, list) else []


def _digest(value: object) -> str:
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]
