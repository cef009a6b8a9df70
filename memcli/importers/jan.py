"""The format "jan": the messages of a thread of Jan's, a line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import (
    Said,
    in_conversations,
    message_of,
    text_at,
    with_time_notice,
    without_repeats,
)
from memcli.importers.session import objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.types import Conversation, Item, Message, Skip

NAME = "jan"

_OBJECTS = ("thread.message", "thread")
# What else a message holds are states of the program.
_KEPT_KEYS = ("id", "role", "content", "created_at", "name")
# Files that were attached stand below the words, as the model is told of them.
_FILES = regex(r"\s*\[ATTACHED_FILES\]\n(.*?)\[/ATTACHED_FILES\]\s*", re.DOTALL)
_FILE_NAME = regex(r"\bname: ([^,\n]+)")


def sniff(head: Head) -> bool:
    """An object says that it is a thread's message, or a thread."""
    return any(record.get("object") in _OBJECTS for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, in pieces of their threads; the title stands in the file beside them."""
    titles = _titles_beside(source, options)
    messages = with_time_notice(without_repeats(_messages(source, options)))
    for item in in_conversations(messages, source=NAME):
        yield replace(item, title=titles.get(item.id)) if isinstance(item, Conversation) else item


def _messages(source: Source, options: ReadOptions) -> Iterator[Said | Item]:
    for record in objects(source, options):
        if not isinstance(record, dict):
            yield record
        elif record.get("object") == "thread":
            yield Skip("event")
        else:
            message = _message(record, options)
            yield message if isinstance(message, Skip) else (text_at(record, ("thread_id",)), message)


def _message(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    message = message_of({key: record[key] for key in _KEPT_KEYS if key in record}, options)
    if isinstance(message, Skip):
        return Skip("error") if record.get("status") == "error" else message
    told = _FILES.search(message.text) if message.role == "user" else None
    if told is None:
        return message
    files = [*message.meta.get("attachments", ()), *_FILE_NAME.findall(told[1])]
    text = _FILES.sub("", message.text)
    return replace(message, text=text, meta={**message.meta, "attachments": files}) if text else Skip("media")


def _titles_beside(source: Source, options: ReadOptions) -> dict[str | None, str]:
    thread = source.beside("thread.json")
    if thread is None:
        return {}
    with thread:
        return dict(_titles(thread, options))


def _titles(thread: Source, options: ReadOptions) -> Iterator[tuple[str | None, str]]:
    records: Iterator[Mapping[str, Any] | Item] = objects(thread, options)
    for record in records:
        if isinstance(record, dict) and (title := text_at(record, ("title",))):
            yield text_at(record, ("id",)), title
