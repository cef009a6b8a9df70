"""The beginning of a file as the formats look at it, to tell whether it is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memcli.importers.encoding import encoding_of, is_binary
from memcli.importers.records import first_values, parse_line
from memcli.importers.source import Source
from memcli.text import regex

_JSON_START = regex(r"\s*(\{\s*[\"']|\[\s*\{)")


@dataclass(frozen=True, slots=True)
class Head:
    """The first of a file's text; `kind` is "json", "text", "sqlite" or "binary".

    `objects` are the JSON objects it begins with: of its lines, of its array, or itself. One that the
    head cuts off has only its first keys. `tables` are the tables of a database with their columns.
    """

    text: str
    kind: str
    objects: tuple[dict[str, Any], ...] = ()
    tables: Mapping[str, frozenset[str]] = field(default_factory=dict)


def head_of(source: Source, *, encoding: str | None) -> Head:
    """What the formats see of the file. Raises UsageError when its encoding cannot be told."""
    if source.kind == "sqlite":
        return Head("", "sqlite", tables=_tables(source))
    sample = source.head()
    binary = is_binary(sample) and encoding is None
    text = sample.decode("utf-8", "replace") if binary else _decoded(sample, encoding, source.path)
    objects = tuple(value for value in first_values(text) if isinstance(value, dict) and value)
    if _is_json(text) or (objects and 2 * len(objects) >= _count_lines(text)):
        return Head(text, "json", objects)
    return Head(text, "binary" if binary else "text")


def _is_json(text: str) -> bool:
    """Whether the text begins like an object or a list of them, or is a list of whatever."""
    if _JSON_START.match(text):
        return True
    values, why = parse_line(text) if text.lstrip().startswith("[") else ([], "")
    return bool(values) and not why


def _tables(source: Source) -> dict[str, frozenset[str]]:
    with source.database() as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        columns = "SELECT name FROM pragma_table_info(?)"
        return {name: frozenset(c for (c,) in database.execute(columns, (name,))) for (name,) in names}


def _decoded(sample: bytes, encoding: str | None, path: str) -> str:
    known = encoding_of(sample, asked=encoding, path=path, by_line=True)
    return sample[known.mark_bytes :].decode(known.name, "replace")


def _count_lines(text: str) -> int:
    return sum(1 for line in text.split("\n") if line.strip())
