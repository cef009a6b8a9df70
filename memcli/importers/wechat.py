"""The format "wechat": a chat as WeFlow exports it, as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import between_people, in_chats, role_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, text_at
from memcli.importers.nested import Opened, elements
from memcli.importers.session import mapping_at
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Item, Message, Skip

NAME = "wechat"

# Words in a message's type → why it is none.
_NOT_SAID = {"系统": "system", "撤回": "system", "通话": "service"}
_TEXT_TYPES = ("文本", "引用")
_PLACEHOLDER = regex(r"\[[^\[\]\n]{1,12}\]")  # "[图片]" in the place of a picture
_ID_KEYS = ("platformMessageId", "serverId", "msgId", "localId", "id")


def sniff(head: Head) -> bool:
    """WeFlow's own mark, or a session of WeChat with messages."""
    return any(_is_chat(record) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of the chat; it says itself which are the person's."""
    titles: dict[str | None, str | None] = {}
    messages = between_people(_messages(source, options, titles), options)
    return in_chats(messages, source=NAME, titles=titles)


def _is_chat(record: Mapping[str, Any]) -> bool:
    has_session = "wxid" in mapping_at(record, "session")
    return ("weflow" in record or has_session) and isinstance(record.get("messages"), list)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    chat_id: str | None = None
    for item in elements(source, key="messages", encoding=options.encoding):
        if isinstance(item, Opened):
            session = mapping_at(item.keys, "session")
            chat_id = text_at(session, ("wxid",))
            titles[chat_id] = text_at(session, ("remark", "displayName", "nickname"))
        elif isinstance(item, dict):
            message = _message_of(item, options)
            yield message if isinstance(message, Skip) else (chat_id, message)
        else:
            yield item


def _message_of(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    kind = str(record.get("type") or "文本")
    for word, reason in _NOT_SAID.items():
        if word in kind:
            return Skip(reason)
    text = text_at(record, ("content",)) or ""
    is_text = any(word in kind for word in _TEXT_TYPES)
    if not text.strip() or (not is_text and _PLACEHOLDER.fullmatch(text.strip())):
        return Skip("empty" if is_text else "media")
    name, wxid = text_at(record, ("senderDisplayName",)), text_at(record, ("senderUsername",))
    return Message(
        role_of(options, name, wxid, is_own=record.get("isSend") == 1),
        text,
        name or wxid,
        parse_file_time(record.get("createTime"))
        or parse_file_time(record.get("formattedTime"), tz=options.tz),
        text_at(record, _ID_KEYS),
    )
