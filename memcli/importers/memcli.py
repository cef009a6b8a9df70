"""The format "memcli": the program's own export, taken as it is; JSON lines, an array, or a listing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.records import records
from memcli.importers.source import Source
from memcli.record_json import record_from_json
from memcli.types import BadLine, Item, Skip

_KEYS = {"id", "text", "kind", "priority", "created_at"}


def sniff(head: Head) -> bool:
    """An object has the keys of a memory, and no other program's."""
    memories = (memory for record in head.objects for memory in _memories(record))
    return any(isinstance(memory, dict) and memory.keys() >= _KEYS for memory in memories)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The memories; one that is there twice is taken once."""
    seen: set[str] = set()
    for item in records(source, encoding=options.encoding):
        if isinstance(item, tuple):
            yield from _records(*item, seen)
        else:
            yield item


def _records(number: int, value: object, seen: set[str]) -> Iterator[Item]:
    for memory in _memories(value) if isinstance(value, Mapping) else [value]:
        try:
            record = record_from_json(memory)
        except ValueError as error:
            yield BadLine(number, str(error))
            continue
        yield Skip("duplicate") if record.id in seen else record
        seen.add(record.id)


def _memories(record: Mapping[str, Any]) -> list[Any]:
    """What a listing holds (`{"memories": […]}`), else the record alone."""
    memories = record.get("memories")
    return memories if isinstance(memories, list) else [record]
