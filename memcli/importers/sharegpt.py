"""The format "sharegpt": training data in conversations of `from` and `value`, maybe with preferences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.examples import digest_of, example, with_warning
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ID_KEYS, message_of, text_at
from memcli.importers.seen import Seen
from memcli.importers.session import mappings_at, objects
from memcli.importers.source import Source
from memcli.types import Item, Message, Skip

NAME = "sharegpt"

_AUTHOR_KEYS = ("from", "role", "speaker")
_TEXT_KEYS = ("value", "content", "text")
_CALLS = ("function_call", "tool_call")
_FILE_KEYS = ("images", "image", "videos", "audios")


def sniff(head: Head) -> bool:
    """A list of conversations' turns, each with who says what."""
    return any(
        any(key in turn for key in _AUTHOR_KEYS) and any(key in turn for key in _TEXT_KEYS)
        for record in head.objects
        for turn in mappings_at(record, "conversations")
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Every example as a conversation; of two answers the chosen one."""
    return with_warning(_items(source, options))


def _items(source: Source, options: ReadOptions) -> Iterator[Item]:
    seen = Seen()
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        turns = _turns(item)
        told = [turns, item.get("chosen"), item.get("rejected")]
        if not turns:
            yield Skip("empty-conversation")
        elif seen.has(digest_of(told)):
            yield Skip("duplicate", len(turns))
        else:
            id_ = text_at(item, ID_KEYS) or f"{NAME}-{digest_of(told)}"
            files = tuple(name for key in _FILE_KEYS for name in _names(item.get(key)))
            yield from example(id_, _said(item, turns, options), source=NAME, seen=seen, attachments=files)


def _turns(record: Mapping[str, Any]) -> list[Any]:
    turns = record.get("conversations")
    return turns if isinstance(turns, list) else []


def _said(record: Mapping[str, Any], turns: list[Any], options: ReadOptions) -> Iterator[Message | Skip]:
    system = text_at(record, ("system",))
    if system:
        yield Message("system", system)
    for turn in turns:
        yield _message(turn, options)
    if "chosen" in record:
        yield _message(record["chosen"], options)
    if "rejected" in record:
        yield Skip("rejected")


def _message(turn: object, options: ReadOptions) -> Message | Skip:
    if isinstance(turn, str) and turn.strip():  # a chosen answer without its author
        return Message("assistant", turn)
    if not isinstance(turn, dict):
        return Skip("damaged")
    is_call = any(turn.get(key) in _CALLS for key in _AUTHOR_KEYS)
    return Skip("tool-only") if is_call and not options.include_tools else message_of(turn, options)


def _names(value: object) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [name for name in listed if isinstance(name, str) and name and not name.startswith("data:")]
