"""The format "telegram": the export of one chat, or of an account with all its chats, as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memcli.importers.chats import between_people, in_chats, role_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, text_at
from memcli.importers.nested import Opened, elements
from memcli.importers.source import Source
from memcli.times import parse_file_time
from memcli.types import Item, Message, Skip

NAME = "telegram"

_CHAT_TYPES = {
    "bot_chat",
    "personal_chat",
    "private_channel",
    "private_group",
    "private_supergroup",
    "public_channel",
    "public_supergroup",
    "replies",
    "saved_messages",
    "verification_codes",
}
# In an account's export the account is the first thing that is said.
_OWN_ID = re.compile(rb'"personal_information"\s*:\s*\{\s*"user_id"\s*:\s*(\d+)')
_MEDIA_KEYS = (
    "photo",
    "file",
    "media_type",
    "location_information",
    "contact_information",
    "contact_vcard",
    "game_title",
    "invoice_information",
    "giveaway_information",
    "paid_media",
    "todo_list",
)
_META_KEYS = ("reply_to_message_id", "forwarded_from", "via_bot")


def sniff(head: Head) -> bool:
    """A chat of one of Telegram's types, or an account's list of chats."""
    return any(_is_chat(record) or _is_account(record) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of every chat."""
    titles: dict[str | None, str | None] = {}
    messages = between_people(_messages(source, options, titles), options)
    return in_chats(messages, source=NAME, titles=titles)


def _is_chat(record: Mapping[str, Any]) -> bool:
    return str(record.get("type")) in _CHAT_TYPES and isinstance(record.get("messages"), list)


def _is_account(record: Mapping[str, Any]) -> bool:
    account, chats = record.get("personal_information"), record.get("chats")
    has_account = isinstance(account, dict) and "user_id" in account
    return "about" in record and (has_account or (isinstance(chats, dict) and "list" in chats))


@dataclass(frozen=True, slots=True)
class _Chat:
    id: str | None = None
    is_saved: bool = False
    """Whether it is the person's chat with themselves."""
    own_id: str | None = None


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    own = _OWN_ID.search(source.head())
    own_id = f"user{own[1].decode()}" if own else None
    chat = _Chat()
    for item in elements(source, key="messages", encoding=options.encoding):
        if isinstance(item, Opened):
            chat = _chat_of(item.keys, own_id)
            titles[chat.id] = text_at(item.keys, ("name",)) or ("Saved Messages" if chat.is_saved else None)
        elif isinstance(item, dict):
            message = _message_of(item, chat, options)
            yield message if isinstance(message, Skip) else (chat.id, message)
        else:
            yield item


def _chat_of(keys: Mapping[str, Any], own_id: str | None) -> _Chat:
    # A person and a group may have the same number.
    told = [str(keys[key]) for key in ("type", "id") if isinstance(keys.get(key), (str, int))]
    return _Chat("-".join(told) or None, keys.get("type") == "saved_messages", own_id)


def _message_of(record: Mapping[str, Any], chat: _Chat, options: ReadOptions) -> Message | Skip:
    kind = record.get("type", "message")
    if kind != "message":
        return Skip("service" if kind == "service" else "unsupported")
    text = _text_of(record.get("text")) or _poll_of(record.get("poll"))
    if not text.strip():
        return Skip("media" if any(record.get(key) for key in _MEDIA_KEYS) else "empty")
    author, author_id = text_at(record, ("from",)), text_at(record, ("from_id",))
    forwarded = text_at(record, ("forwarded_from",))  # the words are of somebody else
    is_own = chat.is_saved or (author_id is not None and author_id == chat.own_id)
    names = (forwarded,) if forwarded else (author, author_id)
    return Message(
        role_of(options, *names, is_own=is_own and not forwarded),
        text,
        author or author_id,
        parse_file_time(record.get("date_unixtime")) or parse_file_time(record.get("date"), tz=options.tz),
        text_at(record, ("id",)),
        _meta_of(record),
    )


def _text_of(value: object) -> str:
    """The text of a string, or of a list of strings and entities."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    return "".join(part if isinstance(part, str) else _entity_text(part) for part in parts)


def _entity_text(entity: object) -> str:
    if not isinstance(entity, dict) or not isinstance(entity.get("text"), str):
        return ""
    link = entity.get("href")
    is_hidden = isinstance(link, str) and link not in ("", entity["text"])
    return f"{entity['text']} ({link})" if is_hidden else str(entity["text"])


def _poll_of(poll: object) -> str:
    """A question and its answers, a line each."""
    if not isinstance(poll, dict):
        return ""
    answers = poll.get("answers")
    offered = [answer for answer in answers if isinstance(answer, dict)] if isinstance(answers, list) else []
    lines = [_text_of(poll.get("question")), *(f"- {_text_of(answer.get('text'))}" for answer in offered)]
    return "\n".join(lines)


def _meta_of(record: Mapping[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {key: record[key] for key in _META_KEYS if isinstance(record.get(key), (str, int))}
    attachments = [name for key in ("photo", "file") if (name := _file_name(record, key))]
    if attachments:
        meta["attachments"] = attachments
    return meta


def _file_name(record: Mapping[str, Any], key: str) -> str | None:
    """The name of a file; what it is where the export left it out ("(File not included…")."""
    path = record.get(key)
    if not isinstance(path, str) or not path:
        return None
    if key == "file" and isinstance(record.get("file_name"), str):
        return str(record["file_name"])
    return key if path.startswith("(") else path.rpartition("/")[2]
