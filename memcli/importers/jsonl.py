"""The format "message-jsonl": one message a line, under any of the usual keys; also as a JSON array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import (
    SESSION_KEYS,
    TEXT_KEYS,
    Said,
    in_conversations,
    is_message,
    message_of,
    text_at,
    with_time_notice,
)
from memcli.importers.records import records
from memcli.importers.source import Source
from memcli.types import BadLine, Item, Skip

NAME = "message-jsonl"


def sniff(head: Head) -> bool:
    """At least half of its objects are messages."""
    count = sum(map(is_message, head.objects))
    return count > 0 and 2 * count >= len(head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, in pieces of their conversations; sessions may be mixed.

    One that is repeated comes again: whoever reads on from the middle would not know it, and its place in
    its conversation must be the same.
    """
    return in_conversations(with_time_notice(_messages(source, options)), source=NAME)


def _messages(source: Source, options: ReadOptions) -> Iterator[Said | Item]:
    for item in records(source, encoding=options.encoding):
        if not isinstance(item, tuple):
            yield item
        elif isinstance(item[1], dict):
            yield _said(item[1], options)
        else:
            yield BadLine(item[0], "not a JSON object")


def _said(record: Mapping[str, Any], options: ReadOptions) -> Said | Skip:
    if "system" in record and not any(key in record for key in TEXT_KEYS):
        rest = {key: value for key, value in record.items() if key != "system"}
        record = {**rest, "role": "system", "content": record["system"]}
    message = message_of(record, options)
    return message if isinstance(message, Skip) else (text_at(record, SESSION_KEYS), message)
