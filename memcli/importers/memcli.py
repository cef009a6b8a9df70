"""The format "memcli": the program's own export, taken as it is; JSON lines, an array, a listing, or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head, head_of
from memcli.importers.records import Numbered, parse_line, records
from memcli.importers.seen import Seen
from memcli.importers.source import Source
from memcli.importers.table import cells_of, header_in
from memcli.record_json import JSON_COLUMNS, NULL_COLUMNS, from_formula_safe, record_from_json
from memcli.types import BadLine, Item, Notice, Skip

_KEYS = {"id", "text", "kind", "priority", "created_at"}


def sniff(head: Head) -> bool:
    """An object, or the header of a table, has the keys of a memory, and no other program's."""
    if _is_table(head):
        return True
    memories = (memory for record in head.objects for memory in _memories(record))
    return any(isinstance(memory, dict) and memory.keys() >= _KEYS for memory in memories)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The memories; one that is there twice is taken once."""
    seen = Seen()
    is_table = _is_table(head_of(source, encoding=options.encoding))
    for item in _rows(source, options) if is_table else records(source, encoding=options.encoding):
        if isinstance(item, tuple):
            yield from _records(*item, seen)
        else:
            yield item


def _records(number: int, value: object, seen: Seen) -> Iterator[Item]:
    for memory in _memories(value) if isinstance(value, Mapping) else [value]:
        try:
            record = record_from_json(memory)
        except ValueError as error:
            yield BadLine(number, str(error))
            continue
        yield Skip("duplicate") if seen.has(record.id) else record


def _memories(record: Mapping[str, Any]) -> list[Any]:
    """What a listing holds (`{"memories": […]}`), else the record alone."""
    memories = record.get("memories")
    return memories if isinstance(memories, list) else [record]


# --- CSV ------------------------------------------------------------------------------------------


def _is_table(head: Head) -> bool:
    return _KEYS.issubset(header_in(head.text))


def _rows(source: Source, options: ReadOptions) -> Iterator[Numbered | BadLine | Notice]:
    """The rows as JSON objects. One without all its cells is damaged: what is missing may protect it."""
    encoding, header, rows = cells_of(source, options)
    yield from encoding.notices()
    for row in rows:
        if isinstance(row, BadLine):
            yield row
            continue
        number, cells = row
        try:
            if len(cells) < len(header):
                raise ValueError(f"{len(cells)} cells below a header of {len(header)}")
            values = {column: _value(column, cell) for column, cell in zip(header, cells, strict=True)}
        except ValueError as error:
            yield BadLine(number, str(error))
        else:
            yield number, values


def _value(column: str, cell: str) -> object:
    """The JSON value that the export wrote into the cell."""
    if not cell and column in NULL_COLUMNS:
        return None
    if column not in JSON_COLUMNS:
        return from_formula_safe(cell)
    values, why = parse_line(cell)
    if why or len(values) != 1:
        raise ValueError(f"{column}: must be JSON, not {cell[:20]!r}")
    return values[0]
