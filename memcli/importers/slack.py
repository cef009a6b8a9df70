"""The format "slack": one day of one channel of a workspace's export; names come from the files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from memcli.errors import UsageError
from memcli.importers.chats import between_people, in_chats, role_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, meta_with, text_at
from memcli.importers.session import mapping_at, mappings_at, objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Item, Message, Skip

NAME = "slack"

_STAMP = regex(r"\d{9,10}\.\d{6}", re.ASCII)
_DAY = regex(r"\d{4}-\d\d-\d\d\.json", re.ASCII)
# What somebody said ("" is no subtype); every other subtype tells of something that happened.
_SPOKEN = {
    "",
    "bot_message",
    "file_comment",
    "file_share",
    "me_message",
    "reply_broadcast",
    "slackbot_response",
    "thread_broadcast",
}
_LISTS = ("users.json", "channels.json", "groups.json", "mpims.json", "dms.json")
_ID = regex(r"[CDG][A-Z0-9]{7,}", re.ASCII)
_MARKUP = regex(r"<([@#!]?)([^<>|\n]+)(?:\|([^<>\n]*))?>")
_NAME_KEYS = ("display_name", "real_name", "real_name_normalized", "name")


def sniff(head: Head) -> bool:
    """A message with a time as Slack writes it, which is its id."""
    return any(_is_message(record) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages; all the days of a channel are one conversation."""
    workspace = _workspace_of(source)
    session, title = _channel_of(source, workspace)
    messages = _messages(source, options, workspace, session)
    # There are hundreds of days, and on most of them the person may have said nothing.
    told = messages if session else between_people(messages, options)
    return in_chats(told, source=NAME, titles={session: title})


def _is_message(record: Mapping[str, Any]) -> bool:
    stamp = record.get("ts")
    return record.get("type") == "message" and isinstance(stamp, str) and bool(_STAMP.fullmatch(stamp))


def _messages(
    source: Source, options: ReadOptions, workspace: _Workspace, session: str | None
) -> Iterator[Said | Item]:
    for item in objects(source, options):
        if isinstance(item, dict):
            message = _message_of(item, workspace, options)
            yield message if isinstance(message, Skip) else (session, message)
        else:
            yield item


def _message_of(record: Mapping[str, Any], workspace: _Workspace, options: ReadOptions) -> Message | Skip:
    if record.get("type", "message") != "message" or str(record.get("subtype") or "") not in _SPOKEN:
        return Skip("event")
    text = _plain(_text_of(record), workspace)
    files = [_file_name(file) for file in mappings_at(record, "files")]
    if not text.strip():
        return Skip("media" if files else "empty")
    author_id = text_at(record, ("user", "bot_id"))
    name = workspace.users.get(author_id or "") or _author_of(record) or author_id
    stamp = text_at(record, ("ts",))
    meta = meta_with(attachments=files)
    if isinstance(record.get("thread_ts"), str) and record["thread_ts"] != stamp:
        meta["thread"] = record["thread_ts"]
    return Message(role_of(options, name, author_id), text, name, parse_file_time(stamp), stamp, meta)


def _author_of(record: Mapping[str, Any]) -> str | None:
    """The name that the message itself gives its author."""
    name = text_at(record, ("username",))
    profiles = (mapping_at(record, key) for key in ("user_profile", "bot_profile"))
    return name or next(filter(None, (text_at(profile, _NAME_KEYS) for profile in profiles)), None)


def _file_name(file: Mapping[str, Any]) -> str:
    return text_at(file, ("name", "title", "id")) or "file"


# --- text -----------------------------------------------------------------------------------------


def _text_of(record: Mapping[str, Any]) -> str:
    """The text; where a program left it empty, that of its blocks, else that of what it attached."""
    text = record.get("text")
    if isinstance(text, str) and text.strip():
        return text
    blocks = "".join(_texts_in(record.get("blocks"))).strip()
    attached = [text_at(part, ("text", "fallback", "title")) for part in mappings_at(record, "attachments")]
    return blocks or "\n".join(filter(None, attached))


def _texts_in(blocks: object) -> Iterator[str]:
    """The texts in blocks, in order; a line for each section."""
    waiting: list[object] = [blocks]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, dict):
            if part.get("type") in ("section", "rich_text_section", "header"):
                yield "\n"
            yield from _text_in(part)
            waiting += [
                part[key] for key in ("fields", "elements", "text") if isinstance(part.get(key), (dict, list))
            ]


def _text_in(part: Mapping[str, Any]) -> Iterator[str]:
    match part:
        case {"type": "user", "user_id": str(user)}:
            yield f"<@{user}>"
        case {"type": "emoji", "name": str(name)}:
            yield f":{name}:"
        case {"type": "link", "url": str(url)}:
            yield f"<{url}|{part.get('text') or url}>"
        case {"text": str(text)}:
            yield text


def _plain(text: str, workspace: _Workspace) -> str:
    """The text without Slack's markup: mentions by name, links in brackets, `&amp;` as `&`."""
    plain = _MARKUP.sub(lambda found: _shown(*found.groups(), workspace=workspace), text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _shown(sign: str, target: str, label: str | None, *, workspace: _Workspace) -> str:
    if sign == "@":
        return f"@{label or workspace.users.get(target) or target}"
    if sign == "#":
        return f"#{label or workspace.channel_names.get(target) or target}"
    if sign == "!":  # <!here>, <!subteam^S01|@team>, <!date^1772355600^{date}|noon>
        return label or f"@{target.partition('^')[0]}"
    address = target.removeprefix("mailto:")
    return f"{label} ({address})" if label and label not in (address, target) else address


# --- the files beside it --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Workspace:
    """What the export's own lists say: user id → name, channel id → name."""

    users: Mapping[str, str] = field(default_factory=dict)
    channel_names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _List:
    """One of these lists as it lies there; equal to another when it is the same file, unchanged."""

    key: str | None
    mtime_ms: int | None
    size: int | None
    source: Source = field(compare=False)


def _workspace_of(source: Source) -> _Workspace:
    above = [found for name in _LISTS if (found := source.beside(f"../{name}"))]
    return _listed(tuple(_List(found.key, found.mtime_ms, found.size, found) for found in above))


@lru_cache(maxsize=1)  # a workspace has a file for each day of each channel, and one list for all of them
def _listed(lists: tuple[_List, ...]) -> _Workspace:
    users: dict[str, str] = {}
    channels: dict[str, str] = {}
    for row in (row for list_ in lists for row in _rows_of(list_.source)):
        profile = row.get("profile")
        names = channels if profile is None else users
        name = text_at(profile if isinstance(profile, dict) else row, _NAME_KEYS) or text_at(row, _NAME_KEYS)
        name = name or _names_of(row.get("members"), users)
        if isinstance(row.get("id"), str) and name:
            names[row["id"]] = name
    return _Workspace(users, channels)


def _names_of(members: object, users: Mapping[str, str]) -> str | None:
    """What a conversation of two is called: after them."""
    ids = [id_ for id_ in members if isinstance(id_, str)] if isinstance(members, list) else []
    return ", ".join(users.get(id_, id_) for id_ in ids) or None


def _rows_of(source: Source) -> Iterator[Mapping[str, Any]]:
    try:
        with source:
            yield from (item for item in objects(source, ReadOptions()) if isinstance(item, dict))
    except UsageError:  # without names the ids remain
        return


def _channel_of(source: Source, workspace: _Workspace) -> tuple[str | None, str | None]:
    """The id and the name of the channel whose day this is: of the folder it lies in.

    A file that is called like no day is a conversation of its own.
    """
    place = PurePosixPath(source.key or "")
    if not _DAY.fullmatch(place.name):
        return None, None
    folder = PurePosixPath(source.name).parent.name or place.parent.name
    if folder in workspace.channel_names or _ID.fullmatch(folder):  # a conversation of two has no other name
        return folder, workspace.channel_names.get(folder, folder)
    ids = {name: id_ for id_, name in workspace.channel_names.items()}
    return ids.get(folder, str(place.parent)), folder
