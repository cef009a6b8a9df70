"""The format "meta": a chat of Messenger or Instagram, newest message first, its text twice encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memcli.importers.chats import between_people, in_chats, role_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, meta_with, text_at, time_at
from memcli.importers.session import mapping_at, mappings_at, objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.types import Item, Message, Skip

NAME = "meta"

# End-to-end encrypted chats come in a second shape, with other keys and with their text as it should be.
_AUTHOR_KEYS = ("sender_name", "senderName")
_TEXT_KEYS = ("content", "text")
_TIME_KEYS = ("timestamp_ms", "timestamp")
_CHAT_KEYS = ("thread_path", "threadName")
_TITLE_KEYS = ("title", "threadName")
_MEDIA_KEYS = ("photos", "videos", "audio_files", "gifs", "files", "media")
# What the program writes of it in English; in other languages it stays a message.
_REACTION = regex(r"Reacted \S{1,12} to your message\s*|Liked a message\s*")
_SERVICE_TYPES = {"Call", "Subscribe", "Unsubscribe", "call", "subscribe", "unsubscribe"}


def sniff(head: Head) -> bool:
    """Participants and messages with their senders' names."""
    return any(_is_chat(record) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of the chat, oldest first; the files of one chat are one conversation."""
    titles: dict[str | None, str | None] = {}
    messages = between_people(_messages(source, options, titles), options)
    return in_chats(messages, source=NAME, titles=titles)


def _is_chat(record: Mapping[str, Any]) -> bool:
    messages = record.get("messages")
    if not isinstance(record.get("participants"), list) or not isinstance(messages, list):
        return False
    return any(isinstance(message, dict) and _is_sent(message) for message in messages)


def _is_sent(message: Mapping[str, Any]) -> bool:
    return any(key in message for key in _AUTHOR_KEYS)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        session = text_at(item, _CHAT_KEYS)
        title = text_at(item, _TITLE_KEYS)
        titles[session] = title and _repaired(title)
        listed = _oldest_first(item.get("messages"))
        if not listed:
            yield Skip("empty-conversation")
        for record in listed:
            message = _message_of(record, options) if isinstance(record, dict) else Skip("empty")
            yield message if isinstance(message, Skip) else (session, message)


def _oldest_first(messages: object) -> Sequence[object]:
    listed = messages if isinstance(messages, list) else []
    times = [at for entry in listed if isinstance(entry, dict) and (at := _time_of(entry)) is not None]
    return listed[::-1] if times and times[0] > times[-1] else listed


def _time_of(record: Mapping[str, Any]) -> int | None:
    return time_at(record, _TIME_KEYS, tz=None)


def _message_of(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    if str(record.get("type")) in _SERVICE_TYPES or "call_duration" in record:
        return Skip("service")
    if record.get("is_unsent") is True or record.get("isUnsent") is True:
        return Skip("unsent")
    files = [name for key in _MEDIA_KEYS for name in _file_names(record, key)]
    text = _repaired(text_at(record, _TEXT_KEYS) or _shared(mapping_at(record, "share")))
    if not text.strip():
        return Skip("media" if files or record.get("sticker") else "empty")
    if _REACTION.fullmatch(text):
        return Skip("service")
    name = text_at(record, _AUTHOR_KEYS)
    name = name and _repaired(name)
    meta = meta_with(attachments=files)
    return Message(role_of(options, name), text, name, _time_of(record), meta=meta)


def _shared(share: Mapping[str, Any]) -> str:
    """The text and the link of something that was shared."""
    return "\n".join(filter(None, (text_at(share, (key,)) for key in ("share_text", "link"))))


def _file_names(record: Mapping[str, Any], key: str) -> list[str]:
    paths = [text_at(file, ("uri",)) for file in mappings_at(record, key)]
    return [path.rpartition("/")[2] for path in paths if path]


def _repaired(text: str) -> str:
    """The text that was meant: Meta writes each byte of its UTF-8 as a character of its own."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
