"""The format "discord-package": what Discord itself hands out, the person's own messages of a channel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from memcli.errors import UsageError
from memcli.importers import table
from memcli.importers.chats import in_chats
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, meta_with, text_at
from memcli.importers.session import objects
from memcli.importers.source import Source
from memcli.times import parse_file_time
from memcli.types import Item, Message, Millis, Skip

NAME = "discord-package"

_KEYS = {"ID", "Timestamp", "Contents"}


def sniff(head: Head) -> bool:
    """Messages under Discord's own keys, or a table with them as its columns."""
    header = {cell.strip().strip('"') for cell in head.text.partition("\n")[0].split(",")}
    return (head.kind == "text" and header >= _KEYS) or any(record.keys() >= _KEYS for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, all of them the person's; the channel is that of the file `channel.json` beside them."""
    session, title = _channel_of(source)
    messages = _messages(source, options, session)
    return in_chats(messages, source=NAME, titles={session: title})


def _messages(source: Source, options: ReadOptions, session: str | None) -> Iterator[Said | Item]:
    is_table = not source.begins_with(b"[", b"{")
    for item in table.opened(source, options)[2] if is_table else objects(source, options):
        if isinstance(item, dict):
            message = _message_of(item)
            yield message if isinstance(message, Skip) else (session, message)
        else:
            yield item


def _message_of(record: Mapping[str, Any]) -> Message | Skip:
    text, attached = record.get("Contents"), text_at(record, ("Attachments",)) or ""
    files = [PurePosixPath(address.partition("?")[0]).name for address in attached.split()]
    if not isinstance(text, str) or not text.strip():
        return Skip("media" if files else "empty")
    meta = meta_with(attachments=files)
    return Message("user", text, None, _time_of(record), text_at(record, ("ID", "id")), meta)


def _time_of(record: Mapping[str, Any]) -> Millis | None:
    # A table's columns are spelt as messages spell them. The times are UTC, wherever the person lives.
    return parse_file_time(record.get("Timestamp") or record.get("timestamp"))


def _channel_of(source: Source) -> tuple[str | None, str | None]:
    """The id and the name of the channel."""
    beside = source.beside("channel.json")
    if beside is None:
        return None, None
    try:
        with beside:
            found = [item for item in objects(beside, ReadOptions()) if isinstance(item, dict)]
    except UsageError:
        found = []
    channel = found[0] if found else {}
    return text_at(channel, ("id",)), text_at(channel, ("name",))
