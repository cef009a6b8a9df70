"""Memories to rows and back: the columns of the two kinds of tables.

A row is a passage of a memory: the first carries the whole record, the others of a long text only what
searching and filtering need. The vector of a passage stands under its key in a table of its embedder's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from memcli.passages import as_grams, as_words, date_words, passages, with_lone
from memcli.types import Millis, Origin, Record, Vector

if TYPE_CHECKING:
    import pyarrow as pa

_LISTS = ("topics", "audience", "supersedes", "derived_from")
_TEXTS = ("kind", "priority", "project", "role", "name", "source", "source_id", "session_id", "superseded_by")
_NUMBERS = ("position", "created_at", "updated_at", "valid_from", "valid_to", "expires_at")
_FLAGS = ("private", "retired")
ORIGIN_COLUMNS = ("origin_place", "origin_said", "origin_echo")
"""The hashes of an Origin, in the order of its fields."""

RECORD_COLUMNS = ("id", "ordinal", "chunks", "text", "meta", *_TEXTS, *_LISTS, *_NUMBERS, *_FLAGS)
"""What `to_record` reads of a first row."""


@cache
def schema() -> pa.Schema:
    """The columns of the table of memories."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("key", pa.string(), nullable=False),
            pa.field("id", pa.string(), nullable=False),
            pa.field("ordinal", pa.int32(), nullable=False),
            pa.field("chunks", pa.int32()),
            pa.field("start", pa.int64()),
            pa.field("end", pa.int64()),
            pa.field("text", pa.string()),
            pa.field("words", pa.string()),
            pa.field("grams", pa.string()),
            pa.field("meta", pa.string()),
            *(pa.field(name, pa.string()) for name in _TEXTS),
            *(pa.field(name, pa.list_(pa.string())) for name in _LISTS),
            *(pa.field(name, pa.int64()) for name in _NUMBERS),
            *(pa.field(name, pa.bool_()) for name in _FLAGS),
            *(pa.field(name, pa.string()) for name in ORIGIN_COLUMNS),
        ]
    )


@cache
def vector_schema(dim: int) -> pa.Schema:
    """The columns of a table of vectors."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("key", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
        ]
    )


def indexed(records: Iterable[Record]) -> tuple[list[Record], dict[str, list[Any]]]:
    """What the index holds of memories: whose each row is, and the columns of the rows, a row a passage.

    `key` is the memory's id, then id/1, id/2, …
    """
    cut = ((record, passages(record.text)) for record in records)
    found = [(record, part, len(parts)) for record, parts in cut for part in parts]
    records = [record for record, _, _ in found]
    parts = [part for _, part, _ in found]
    grams = [as_grams(part.text) for part in parts]
    return records, {
        "key": [f"{record.id}/{part.ordinal}" if part.ordinal else record.id for record, part, _ in found],
        "ordinal": [part.ordinal for part in parts],
        "chunks": [chunks for _, _, chunks in found],
        "start": [part.start for part in parts],
        "end": [part.end for part in parts],
        # Apart from the text, which is mostly ASCII and then folded much faster.
        "words": [
            f"{_said_by(record.name)}{said}\n{_said_when(record.created_at)}"
            for record, said in zip(records, with_lone(grams), strict=True)
        ],
        "grams": grams,
    }


@lru_cache(maxsize=1024)
def _said_by(name: str | None) -> str:
    return as_words(f"{name}: ") if name else ""


def _said_when(at: Millis | None) -> str:
    return "" if at is None else _as_words_once(date_words(at))


# The messages of a conversation are mostly of one day.
_as_words_once = lru_cache(maxsize=1024)(as_words)


def to_record(row: Mapping[str, Any]) -> Record:
    """The memory that its first row holds."""
    return next(to_records({name: [value] for name, value in row.items()}))


def to_records(columns: Mapping[str, Sequence[Any]]) -> Iterator[Record]:
    """The memories that first rows hold, given by column: three times as fast as row by row."""
    told = (map(_READ[name], columns[name]) if name in _READ else columns[name] for name in _FIELDS)
    return map(Record, *told)


def _to_tuple(value: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(value) if value else ()


def _to_meta(value: str | None) -> Mapping[str, Any]:
    return json.loads(value) if value else {}


_FIELDS = tuple(field.name for field in fields(Record))
_READ: Mapping[str, Callable[[Any], Any]] = {"meta": _to_meta, **dict.fromkeys(_LISTS, _to_tuple)}


def to_table(memories: Iterable[tuple[Record, Origin | None]]) -> pa.Table:
    """Memories and what they are known by, in the schema of the table of memories: a row a passage.

    Column by column: a mapping for each row would take longer than all else.
    """
    import pyarrow as pa

    known = list(memories)
    origins = {record.id: origin or _UNKNOWN for record, origin in known}
    records, columns = indexed(record for record, _ in known)
    columns["id"] = [record.id for record in records]
    for name in (*_TEXTS, *_NUMBERS, *_FLAGS):
        columns[name] = list(map(attrgetter(name), records))
    for name in _LISTS:
        # Null and not empty: an empty list is stored as one and then asks for a second condition.
        columns[name] = [list(values) if values else None for values in map(attrgetter(name), records)]
    # What is the memory's and not the passage's stands in its first row.
    firsts = [
        record if ordinal == 0 else None for record, ordinal in zip(records, columns["ordinal"], strict=True)
    ]
    columns["text"] = [first and first.text for first in firsts]
    columns["meta"] = [_json(first.meta) if first else None for first in firsts]
    known_by = [origins[first.id] if first else _UNKNOWN for first in firsts]
    for column, name in zip(ORIGIN_COLUMNS, ("place", "said", "echo"), strict=True):
        columns[column] = list(map(attrgetter(name), known_by))
    return pa.table({name: columns[name] for name in schema().names}, schema=schema())


_UNKNOWN = Origin(None, None)


def _json(meta: Mapping[str, Any]) -> str | None:
    return json.dumps(meta, ensure_ascii=False) if meta else None


def to_vector_table(vectors: Mapping[str, Vector]) -> pa.Table:
    """Vectors by their keys, at least one and all of one length, in the schema of a table of vectors."""
    import pyarrow as pa

    dim = len(next(iter(vectors.values())))
    numbers = pa.py_buffer(b"".join(vectors.values()))
    flat = pa.Array.from_buffers(pa.float32(), len(numbers) // 4, [None, numbers])
    lists = pa.FixedSizeListArray.from_arrays(flat, dim)
    return pa.Table.from_arrays([pa.array(list(vectors), pa.string()), lists], schema=vector_schema(dim))


def key_id(key: str) -> str:
    """The memory that an index row belongs to."""
    return key.split("/", 1)[0]
