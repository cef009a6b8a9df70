"""The format "cherry-studio": the conversations in a backup of Cherry Studio, and nothing of its settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import in_chats
from memcli.importers.content import content_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, Said, meta_with, text_at, time_of
from memcli.importers.session import mapping_at, mappings_at, object_in, objects
from memcli.importers.source import Source
from memcli.types import Item, Message, Skip

NAME = "cherry-studio"

_SETTINGS = "persist:cherry-studio"
_LACK_OF_BLOCK = {
    "thinking": "thinking",
    "tool": "tool-only",
    "error": "error",
    "image": "media",
    "file": "media",
    "video": "media",
    "compact": "compact-summary",
}
_LACKS = ("empty", "error", "thinking", "media", "tool-only", "compact-summary")

Block = Mapping[str, Any]


def sniff(head: Head) -> bool:
    """A backup with its settings or its topics; of a long one the head shows only the beginning."""
    return any(
        _SETTINGS in mapping_at(record, "localStorage")
        or isinstance(mapping_at(record, "indexedDB").get("topics"), list)
        or {"time", "version", "localStorage"} <= record.keys()
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of every topic. The settings hold keys: only titles are taken from them."""
    titles: dict[str | None, str | None] = {}
    return in_chats(_messages(source, options, titles), source=NAME, titles=titles)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        held = mapping_at(item, "indexedDB")
        titles |= _titles(mapping_at(item, "localStorage"))
        blocks: dict[str | None, list[Block]] = defaultdict(list)
        for block in mappings_at(held, "message_blocks"):
            blocks[text_at(block, ("messageId",))].append(block)
        topics = held.get("topics")
        for topic in topics if isinstance(topics, list) else []:
            yield from (
                _topic(topic, blocks, options, titles) if isinstance(topic, dict) else [Skip("damaged")]
            )


def _topic(
    topic: Mapping[str, Any],
    blocks: Mapping[str | None, list[Block]],
    options: ReadOptions,
    titles: dict[str | None, str | None],
) -> Iterator[Said | Item]:
    session = text_at(topic, ("id",))
    titles[session] = titles.get(session) or text_at(topic, ("name",))
    listed = topic.get("messages")
    if not isinstance(listed, list) or not listed:
        yield Skip("empty-conversation")
        return
    for record in listed:
        id_ = text_at(record, ("id",)) if isinstance(record, dict) else None
        message = _message(record, _in_order(record, blocks.get(id_, [])), options)
        yield message if isinstance(message, Skip) else (session, message)


def _in_order(record: object, blocks: list[Block]) -> list[Block]:
    """The blocks of a message as it lists them, those that it does not list at the end."""
    listed = record.get("blocks") if isinstance(record, dict) else None
    place = (
        {id_: number for number, id_ in enumerate(listed) if isinstance(id_, str)}
        if isinstance(listed, list)
        else {}
    )
    return sorted(blocks, key=lambda block: place.get(text_at(block, ("id",)) or "", len(place)))


def _message(record: object, blocks: list[Block], options: ReadOptions) -> Message | Skip:
    if not isinstance(record, dict):
        return Skip("damaged")
    role = ROLE_OF.get(str(record.get("role")).lower())
    if record.get("type") == "clear" or role is None:
        return Skip("event" if record.get("type") == "clear" else "damaged")
    # Before there were blocks a message had its text itself.
    content = content_of(record.get("content"))
    text = "\n\n".join(filter(None, map(_text, blocks))) or content.text
    lacks = [_LACK_OF_BLOCK.get(str(block.get("type")), "empty") for block in blocks] or [content.lack]
    attachments = [_name(block) for block, lack in zip(blocks, lacks, strict=False) if lack == "media"]
    attachments += [_name({"type": "file", "file": file}) for file in mappings_at(record, "files")]
    if not text.strip():
        own = ("media", attachments), ("error", record.get("error"))
        lacks += [lack for lack, is_so in own if is_so]
        return Skip(max(lacks, key=_LACKS.index))
    model = text_at(mapping_at(record, "model"), ("id", "name")) or text_at(record, ("modelId",))
    meta = meta_with(model=model if role == "assistant" else None, attachments=attachments)
    return Message(role, text, at=time_of(record, options), id=text_at(record, ("id",)), meta=meta)


def _text(block: Block) -> str:
    text = text_at(block, ("content",)) or ""
    if block.get("type") == "code" and text:
        return f"```{text_at(block, ('language',)) or ''}\n{text}\n```"
    return text if block.get("type") in ("main_text", "translation") else ""


def _name(block: Block) -> str:
    name = text_at(mapping_at(block, "file"), ("origin_name", "name")) or text_at(block, ("url",)) or ""
    return str(block.get("type")) if not name or name.startswith("data:") else name


def _titles(storage: Mapping[str, Any]) -> dict[str | None, str | None]:
    """The names of topics, which stand under their assistants: JSON text in JSON text."""
    assistants = object_in(object_in(storage.get(_SETTINGS)).get("assistants"))
    every = [*mappings_at(assistants, "assistants"), mapping_at(assistants, "defaultAssistant")]
    topics = [topic for assistant in every for topic in mappings_at(assistant, "topics")]
    return {text_at(topic, ("id",)): text_at(topic, ("name",)) for topic in topics}
