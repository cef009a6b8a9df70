"""The format "chatbot-ui": all the conversations of a Chatbot UI, as it exports its history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memcli.importers.chats import in_chats
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, message_of, text_at
from memcli.importers.nested import Opened, elements
from memcli.importers.session import mappings_at
from memcli.importers.source import Source
from memcli.types import Item, Skip

NAME = "chatbot-ui"


def sniff(head: Head) -> bool:
    """A history of conversations with messages."""
    return any(
        isinstance(conversation.get("messages"), list)
        for record in head.objects
        for conversation in mappings_at(record, "history")
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The conversations; the export has no times."""
    titles: dict[str | None, str | None] = {}
    return in_chats(_messages(source, options, titles), source=NAME, titles=titles)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    for item in elements(source, key="history", encoding=options.encoding):
        if isinstance(item, dict):
            session = text_at(item, ("id", "name"))
            titles[session] = text_at(item, ("name",))
            yield from _in_conversation(item, session, options)
        elif not isinstance(item, Opened):
            yield item


def _in_conversation(
    item: dict[str, Any], session: str | None, options: ReadOptions
) -> Iterator[Said | Item]:
    messages = item.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Skip("empty-conversation")
        return
    for record in messages:
        message = message_of(record, options) if isinstance(record, dict) else Skip("empty")
        yield message if isinstance(message, Skip) else (session, message)
