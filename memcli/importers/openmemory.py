"""The format "openmemory": the backup of an OpenMemory server, as one object and as lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head, head_of
from memcli.importers.messages import text_at, time_of
from memcli.importers.session import mapping_at, mappings_at, objects
from memcli.importers.source import Source
from memcli.types import Document, Item, Skip

NAME = "openmemory"

_STATES = ("active", "paused", "archived", "deleted")
_WHOLE = "memories.json"


def sniff(head: Head) -> bool:
    """A backup with its apps and memories, or a memory with its state."""
    return any(
        {"apps", "categories", "user"} <= record.keys() or _is_memory(record) for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The memories as facts; what was deleted there is skipped."""
    is_repeated = _is_repeated(source, options)
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
        elif is_repeated:
            yield Skip("duplicate")
        elif "memories" in item:
            topics = _topics(item)
            listed = item["memories"]
            for memory in listed if isinstance(listed, list) else []:
                yield _memory(memory, topics, options) if isinstance(memory, dict) else Skip("damaged")
        else:
            yield _memory(item, {}, options)


def _is_memory(record: Mapping[str, Any]) -> bool:
    return "id" in record and isinstance(record.get("content"), str) and record.get("state") in _STATES


def _is_repeated(source: Source, options: ReadOptions) -> bool:
    """Whether it is the second form of a backup, whose first lies beside it."""
    whole = source.beside(_WHOLE) if PurePosixPath(source.name).name != _WHOLE else None
    if whole is None:
        return False
    with whole:
        return sniff(head_of(whole, encoding=options.encoding))


def _topics(backup: Mapping[str, Any]) -> dict[str | None, list[str]]:
    """The names of the categories by the memory that is in them."""
    names = {text_at(row, ("id",)): text_at(row, ("name",)) for row in mappings_at(backup, "categories")}
    topics: dict[str | None, list[str]] = defaultdict(list)
    for row in mappings_at(backup, "memory_categories"):
        if name := names.get(text_at(row, ("category_id",))):
            topics[text_at(row, ("memory_id",))].append(name)
    for memory in mappings_at(backup, "memories"):
        ids = memory.get("category_ids")
        known = [names.get(id_) for id_ in ids if isinstance(id_, str)] if isinstance(ids, list) else []
        topics[text_at(memory, ("id",))] += [name for name in known if name]
    return topics


def _memory(record: Mapping[str, Any], topics: Mapping[str | None, list[str]], options: ReadOptions) -> Item:
    id_, text = text_at(record, ("id",)), text_at(record, ("content",)) or ""
    if record.get("state") == "deleted" or record.get("deleted_at"):
        return Skip("deleted")
    if id_ is None or not text.strip():
        return Skip("damaged" if id_ is None else "empty")
    told = record.get("categories")
    listed = [name for name in told if isinstance(name, str)] if isinstance(told, list) else []
    meta = dict(mapping_at(record, "metadata"))
    meta |= {key: record[key] for key in ("state", "app") if isinstance(record.get(key), str)}
    return Document(
        id_,
        NAME,
        text,
        topics=tuple(dict.fromkeys((*topics.get(id_, ()), *listed))),
        at=time_of(record, options),
        kind="fact",
        meta=meta,
    )
