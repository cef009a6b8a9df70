"""The format "discord": a channel as DiscordChatExporter writes it, as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import between_people, in_chats, role_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, meta_with, text_at
from memcli.importers.nested import Opened, elements
from memcli.importers.session import mapping_at, mappings_at
from memcli.importers.source import Source
from memcli.times import parse_file_time
from memcli.types import Item, Message, Skip

NAME = "discord"

# The numbers are commands of bots, which the exporter has no name for. All other types tell of something
# that happened: somebody joined, pinned, called.
_SPOKEN = {"Default", "Reply", "20", "23"}


def sniff(head: Head) -> bool:
    """A guild, a channel and messages."""
    return any(_is_channel(record) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of the channel."""
    titles: dict[str | None, str | None] = {}
    messages = between_people(_messages(source, options, titles), options)
    return in_chats(messages, source=NAME, titles=titles)


def _is_channel(record: Mapping[str, Any]) -> bool:
    has_places = isinstance(record.get("guild"), dict) and isinstance(record.get("channel"), dict)
    return has_places and isinstance(record.get("messages"), list)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    channel_id: str | None = None
    for item in elements(source, key="messages", encoding=options.encoding):
        if isinstance(item, Opened):
            channel_id, titles[channel_id] = _channel_of(item.keys)
        elif isinstance(item, dict):
            message = _message_of(item, options)
            yield message if isinstance(message, Skip) else (channel_id, message)
        else:
            yield item


def _channel_of(keys: Mapping[str, Any]) -> tuple[str | None, str | None]:
    guild, channel = mapping_at(keys, "guild"), mapping_at(keys, "channel")
    names = [text_at(guild, ("name",)), text_at(channel, ("name",))]
    return text_at(channel, ("id",)), " / ".join(filter(None, names)) or None


def _message_of(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    if str(record.get("type", "Default")) not in _SPOKEN:
        return Skip("service")
    forwarded = mapping_at(record, "forwardedMessage")
    parts = [part for part in (record, forwarded) if part]
    texts = [text for part in parts for text in _texts_of(part)]
    files = [name for part in parts for name in _files_of(part)]
    if not texts:
        return Skip("media" if files or record.get("stickers") else "empty")
    author = mapping_at(record, "author")
    names = [text_at(author, (key,)) for key in ("nickname", "name", "id")]
    meta = meta_with(attachments=files)
    meta |= {"forwarded": True} if forwarded else {}
    replied_to = text_at(mapping_at(record, "reference"), ("messageId",))
    meta |= {"reply_to": replied_to} if replied_to and not forwarded else {}
    return Message(
        "assistant"
        if forwarded
        else role_of(options, *names),  # what is forwarded are words of somebody else
        "\n".join(texts),
        next(filter(None, names), None),
        parse_file_time(record.get("timestamp"), tz=options.tz),
        text_at(record, ("id",)),
        meta,
    )


def _texts_of(record: Mapping[str, Any]) -> list[str]:
    """The content; where there is none, what is embedded (all that a bot may say)."""
    content = record.get("content")
    if isinstance(content, str) and content.strip():
        return [content]
    told = [
        text_at(embed, (key,)) for embed in mappings_at(record, "embeds") for key in ("title", "description")
    ]
    return [text for text in told if text]


def _files_of(record: Mapping[str, Any]) -> list[str]:
    return [text_at(file, ("fileName", "url", "id")) or "file" for file in mappings_at(record, "attachments")]
