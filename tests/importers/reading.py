"""Reads bytes as a file would be read, and sums up what came of it."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

from memcli.importers import ReadOptions, Source, read, sources
from memcli.record_json import to_json
from memcli.times import to_iso
from memcli.types import BadLine, Conversation, Document, Item, Message, Notice, Record, Skip


def source_of(data: bytes | str, *, name: str = "history.jsonl", mtime_ms: int | None = None) -> Source:
    raw = data.encode() if isinstance(data, str) else data
    return Source(name, lambda: io.BytesIO(raw), key=f"/there/{name}", size=len(raw), mtime_ms=mtime_ms)


def items_of(
    data: bytes | str, *, name: str = "history.jsonl", format_name: str | None = None, **options: Any
) -> list[Item]:
    return list(read(source_of(data, name=name), options=ReadOptions(**options), format_name=format_name))


def messages_in(items: list[Item]) -> list[Message]:
    return [message for item in items if isinstance(item, Conversation) for message in item.messages]


def texts_in(items: list[Item]) -> list[str]:
    return [message.text for message in messages_in(items)]


def count_records(items: list[Item]) -> int:
    skipped = sum(item.count for item in items if isinstance(item, Skip))
    others = sum(isinstance(item, (Document, Record, BadLine)) for item in items)
    return len(messages_in(items)) + skipped + others


def summary_of(items: list[Item]) -> dict[str, Any]:
    """All that a reader yielded, as JSON; what is empty is left out."""
    skipped: Counter[str] = Counter()
    for item in items:
        if isinstance(item, Skip):
            skipped[item.reason] += item.count
    summary = {
        "conversations": [_conversation(item) for item in items if isinstance(item, Conversation)],
        "documents": [_document(item) for item in items if isinstance(item, Document)],
        "records": [to_json(item) for item in items if isinstance(item, Record)],
        "skipped": dict(skipped),
        "bad_lines": [[item.number, item.why] for item in items if isinstance(item, BadLine)],
        "notices": [item.text for item in items if isinstance(item, Notice)],
    }
    return {key: value for key, value in summary.items() if value}


def _conversation(item: Conversation) -> dict[str, Any]:
    told = {"id": item.id, "title": item.title, "started_at": item.started_at and to_iso(item.started_at)}
    told |= {
        "project": item.project,
        "meta": dict(item.meta),
        "messages": [_message(message) for message in item.messages],
    }
    return {key: value for key, value in told.items() if value}


def _message(message: Message) -> dict[str, Any]:
    told = {"role": message.role, "text": message.text, "name": message.name, "id": message.id}
    told |= {"at": message.at and to_iso(message.at), "meta": dict(message.meta)}
    return {key: value for key, value in told.items() if value}


def _document(item: Document) -> dict[str, Any]:
    told = {"id": item.id, "title": item.title, "text": item.text, "topics": list(item.topics)}
    told |= {"at": item.at and to_iso(item.at), "meta": dict(item.meta)}
    return {key: value for key, value in told.items() if value}


def items_below(path: Path, name: str, **options: Any) -> list[Item]:
    """What the file of this name holds, found in its directory as the command line finds it."""
    (source,) = (found for found in sources([str(path)]) if isinstance(found, Source) and found.name == name)
    with source:
        return list(read(source, options=ReadOptions(**options)))
