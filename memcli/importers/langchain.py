"""The format "langchain": messages as LangChain stores them, by `messages_to_dict`, `dumps` or in SQLite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.examples import digest_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import (
    SESSION_KEYS,
    Said,
    in_conversations,
    message_of,
    text_at,
    with_time_notice,
    without_repeats,
)
from memcli.importers.records import Numbered, records
from memcli.importers.session import mapping_at, object_in
from memcli.importers.source import Source
from memcli.types import BadLine, Item, Skip

NAME = "langchain"

_ROLE_OF_TYPE = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "chat": None,
}
"""The role of a message by its type; of a "chat" message its data tells."""

_LIST_KEYS = ("messages", "chat_history", "history")
_OWN_KEYS = ("additional_kwargs", "response_metadata")
# The table of its SQLChatMessageHistory.
_TABLE, _COLUMNS = "message_store", {"id", "session_id", "message"}
_KEPT_KEYS = ("content", "name", "id", "tool_calls")


def sniff(head: Head) -> bool:
    """A message with its type and data, or as a constructor; or a list of such."""
    return head.tables.get(_TABLE, frozenset()) >= _COLUMNS or any(
        _typed(message) is not None for record in head.objects for message in _listed(record) or [record]
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of the file, or of each list in it, as a conversation."""
    messages = _messages(source, options)
    return in_conversations(with_time_notice(without_repeats(messages)), source=NAME)


def _messages(source: Source, options: ReadOptions) -> Iterator[Said | Item]:
    for item in _rows(source) if source.kind == "sqlite" else records(source, encoding=options.encoding):
        if not isinstance(item, tuple):
            yield item
            continue
        number, value = item
        listed = _listed(value)
        session = None
        if listed is not None:
            told = text_at(value, SESSION_KEYS) if isinstance(value, dict) else None
            session = told or f"{NAME}-{_first_id(listed) or digest_of(listed)}"
        for record in [value] if listed is None else listed:
            message = _typed(record)
            if message is None:
                yield BadLine(number, "not a message")
                continue
            read_message = message_of(message, options)
            yield read_message if isinstance(read_message, Skip) else (session, read_message)


def _rows(source: Source) -> Iterator[Numbered]:
    """The messages of the database, each in a list of its session."""
    with source.database() as database:
        rows = database.execute(f"SELECT id, session_id, message FROM {_TABLE} ORDER BY id")
        for number, session, message in rows:
            yield number, {"session_id": str(session), "messages": [object_in(message)]}


def _listed(value: object) -> list[Any] | None:
    """The messages in a list, or in an object that holds one; None where there is only a message."""
    if isinstance(value, list):
        return value
    holders = (
        [value, mapping_at(value, "kwargs"), mapping_at(value, "values")] if isinstance(value, dict) else []
    )
    lists = (holder.get(key) for holder in holders for key in _LIST_KEYS)
    return next((found for found in lists if isinstance(found, list)), None)


def _first_id(listed: list[Any]) -> str | None:
    """The id of the first message, which is random and stays while the conversation grows."""
    first = _typed(listed[0]) if listed else None
    return text_at(first, ("id",)) if first else None


def _typed(value: object) -> Mapping[str, Any] | None:
    """A message of either form with the usual keys, None for anything else."""
    if not isinstance(value, dict):
        return None
    data, kind = value.get("data"), str(value.get("type"))
    if data is None and any(key in value for key in _OWN_KEYS):  # as LangGraph's states hold it
        data = value
    if value.get("lc") is not None and isinstance(value.get("id"), list) and value["id"]:
        data, kind = value.get("kwargs"), str(value["id"][-1])
    role_key = kind.lower().removesuffix("chunk").removesuffix("message")
    if role_key not in _ROLE_OF_TYPE or not isinstance(data, dict):
        return None
    told = mapping_at(data, "response_metadata")
    extra = mapping_at(data, "additional_kwargs")
    record = {key: data[key] for key in _KEPT_KEYS if key in data}
    record["role"] = _ROLE_OF_TYPE[role_key] or data.get("role")
    record["created_at"] = told.get("created_at") or extra.get("timestamp") or data.get("timestamp")
    record.setdefault("tool_calls", extra.get("tool_calls"))
    model = text_at(told, ("model_name", "model"))
    return record | ({"model": model} if model else {})
