"""The format "grok": the conversations of an account, from xAI's data export."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import in_chats, on_branches
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, meta_with, text_at
from memcli.importers.nested import Opened, elements
from memcli.importers.session import mapping_at, mappings_at
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Item, Message, Millis, Skip

NAME = "grok"

_TREE_KEYS = ("_id", "parent_response_id")
_CARD = regex(r"<grok:render\b.*?</grok:render>|<xai:tool_usage_card>.*?</xai:tool_usage_card>", re.DOTALL)


def sniff(head: Head) -> bool:
    """Conversations, each with its responses."""
    return any(
        "responses" in conversation
        or mapping_at(conversation, "conversation").keys() >= {"id", "create_time"}
        for record in head.objects
        for conversation in mappings_at(record, "conversations")
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The conversations; of answers that were asked for again, the branch of the newest is kept."""
    titles: dict[str | None, str | None] = {}
    return in_chats(_messages(source, options, titles), source=NAME, titles=titles)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    for item in elements(source, key="conversations", encoding=options.encoding):
        if isinstance(item, dict):
            about = mapping_at(item, "conversation") or item
            session = text_at(about, ("id", "conversation_id"))
            titles[session] = text_at(about, ("title",))
            responses = [mapping_at(entry, "response") or entry for entry in mappings_at(item, "responses")]
            if not responses:
                yield Skip("empty-conversation")
            # The export names the last response of few conversations, and often one that it does not hold.
            leaf = text_at(about, ("leaf_response_id",))
            for response, is_active in on_branches(responses, keys=_TREE_KEYS, current=leaf, at=_time_of):
                is_left = not (is_active or options.all_branches)
                message = Skip("inactive-branch") if is_left else _message_of(response)
                yield message if isinstance(message, Skip) else (session, message)
        elif not isinstance(item, Opened):
            yield item


def _message_of(response: Mapping[str, Any]) -> Message | Skip:
    text = _CARD.sub("", text_at(response, ("message",)) or "").strip()
    if not text:
        return Skip("media" if response.get("file_attachments") else "empty")
    # Besides "human" there are "assistant", "ASSISTANT" and the names of models.
    is_person = str(response.get("sender")).lower() in ("human", "user")
    model = text_at(response, ("model",))
    return Message(
        "user" if is_person else "assistant",
        text,
        at=_time_of(response),
        id=text_at(response, ("_id",)),
        meta=meta_with(model=None if is_person else model),
    )


def _time_of(response: Mapping[str, Any]) -> Millis | None:
    return parse_file_time(response.get("create_time"))
