"""The format "langgraph-store": the items of a LangGraph store: namespace, key and a value of any shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import text_at, time_of
from memcli.importers.seen import Seen
from memcli.importers.session import objects
from memcli.importers.source import Source
from memcli.types import Document, Item, Skip

NAME = "langgraph-store"

_TEXT_KEYS = ("text", "content", "memory", "data", "value", "fact")
_SPACE_KEYS = ("namespace", "prefix")
_MAX_DEPTH = 4


def sniff(head: Head) -> bool:
    """An item with its namespace, its key and an object as its value."""
    return any(_is_item(record) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The text of every value as a fact; of a value without text its pairs, a line each."""
    seen = Seen()
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
        elif not _is_item(item):
            yield Skip("damaged")
        else:
            place = _space(item), text_at(item, ("key",)) or ""
            yield Skip("duplicate") if seen.has(place) else _document(item, place, options)


def _is_item(record: Mapping[str, Any]) -> bool:
    has_place = any(isinstance(record.get(key), (str, list)) for key in _SPACE_KEYS)
    return has_place and text_at(record, ("key",)) is not None and isinstance(record.get("value"), dict)


def _space(record: Mapping[str, Any]) -> str:
    value = next((record[key] for key in _SPACE_KEYS if key in record), "")
    return value if isinstance(value, str) else ".".join(map(str, value))


def _document(record: Mapping[str, Any], place: tuple[str, str], options: ReadOptions) -> Item:
    text = _text(record["value"]) or "\n".join(_pairs(record["value"]))
    if not text.strip():
        return Skip("empty")
    id_, meta = "/".join(place), {"namespace": place[0]}
    return Document(id_, NAME, text, at=time_of(record, options), kind="fact", meta=meta)


def _text(value: Mapping[str, Any]) -> str | None:
    """What stands under a key that texts stand under, at most a few objects deep."""
    holder: object = value
    for _ in range(_MAX_DEPTH):
        if not isinstance(holder, dict):
            break
        text = next((holder[key] for key in _TEXT_KEYS if isinstance(holder.get(key), str)), None)
        if text:
            return str(text)
        holder = next((holder[key] for key in _TEXT_KEYS if isinstance(holder.get(key), dict)), None)
    return None


def _pairs(value: Mapping[str, Any]) -> Iterator[str]:
    for key, inner in value.items():
        listed = inner if isinstance(inner, list) else [inner]
        words = [str(word) for word in listed if isinstance(word, (str, int, float))]
        if words:
            yield f"{key}: {', '.join(words)}"
