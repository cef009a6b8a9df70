"""The format "chatbox": the conversations in Chatbox's export of its data, and nothing of its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import in_chats
from memcli.importers.content import content_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, Said, meta_with, text_at, time_of
from memcli.importers.session import mapping_at, mappings_at, objects
from memcli.importers.source import Source
from memcli.types import Item, Message, Skip

NAME = "chatbox"

_LISTS = ("chat-sessions", "chat-sessions-list")
_SESSION = "session:"
_FILE_KEYS = ("files", "links", "pictures")


def sniff(head: Head) -> bool:
    """A list of sessions, a session under its key, or what was asked to be exported."""
    return any(
        "__exported_items" in record
        or any(isinstance(record.get(key), list) for key in _LISTS)
        or any(key.startswith(_SESSION) for key in record)
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of every session and of its earlier threads. Settings hold keys and are left."""
    titles: dict[str | None, str | None] = {}
    return in_chats(_messages(source, options, titles), source=NAME, titles=titles)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        for session in _sessions(item):
            if not isinstance(session, dict):
                yield Skip("damaged")
                continue
            id_ = text_at(session, ("id",))
            titles[id_] = text_at(session, ("name", "threadName"))
            yield from _session(session, id_, options)
            for thread in mappings_at(session, "threads"):
                place = f"{id_}/{text_at(thread, ('id',))}"
                titles[place] = text_at(thread, ("name",)) or titles[id_]
                yield from _thread(thread, place, options)


def _sessions(record: Mapping[str, Any]) -> Iterator[Any]:
    """The sessions: those under keys of their own, and those of a list that are not only named there."""
    yield from (value for key, value in record.items() if key.startswith(_SESSION))
    for key in _LISTS:
        listed = record.get(key)
        for session in listed if isinstance(listed, list) else []:
            if not isinstance(session, dict) or "messages" in session:
                yield session


def _session(session: Mapping[str, Any], id_: str | None, options: ReadOptions) -> Iterator[Said | Item]:
    yield from _thread(session, id_, options)
    for fork in mapping_at(session, "messageForksHash").values():
        for branch in mappings_at(fork, "lists") if isinstance(fork, dict) else []:
            if options.all_branches:
                yield from _thread(branch, id_, options)
            elif left := len(mappings_at(branch, "messages")):
                yield Skip("inactive-branch", left)


def _thread(thread: Mapping[str, Any], place: str | None, options: ReadOptions) -> Iterator[Said | Item]:
    listed = thread.get("messages")
    if not listed:
        yield Skip("empty-conversation")
    for record in listed if isinstance(listed, list) else []:
        message = _message(record, options) if isinstance(record, dict) else Skip("damaged")
        yield message if isinstance(message, Skip) else (place, message)


def _message(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    role = ROLE_OF.get(str(record.get("role")).lower())
    if role is None:
        return Skip("damaged")
    if record.get("isSummary") is True:
        return Skip("compact-summary")
    parts = [part for part in mappings_at(record, "contentParts") if part.get("type") != "info"]
    content = content_of(parts) if "contentParts" in record else content_of(record.get("content"))
    files = [file for key in _FILE_KEYS for file in mappings_at(record, key)]
    attachments = [
        *content.attachments,
        *(text_at(file, ("name", "title", "url")) or "file" for file in files),
    ]
    if not content.text.strip():
        has_thought = isinstance(record.get("reasoningContent"), str) and bool(record["reasoningContent"])
        told = ("error", record.get("error")), ("media", attachments), ("thinking", has_thought)
        return Skip(next((reason for reason, is_so in told if is_so), content.lack))
    model = text_at(record, ("model", "aiProvider"))
    meta = meta_with(model=model if role == "assistant" else None, attachments=attachments)
    at, id_ = time_of(record, options), text_at(record, ("id",))
    return Message(role, content.text, text_at(record, ("name",)), at, id_, meta)
