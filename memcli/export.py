"""Memories written out: the table of formats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from memcli.record_json import COLUMNS, formula_safe, to_json
from memcli.text import neutral, plain_json, regex
from memcli.times import to_iso
from memcli.types import Record

if TYPE_CHECKING:
    import pyarrow as pa


class Sink(Protocol):
    """Where bytes go. Each call of a text format hands over whole characters."""

    def write(self, data: bytes, /) -> object:
        """Take the bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the table: `write` puts records into a sink, in their order, one at a time.

    `suffix` is how the names of its files end. What is binary is not for a terminal.
    """

    name: str
    suffix: str
    write: Callable[[Iterable[Record], Sink], None]
    is_binary: bool = False


# --- for programs: JSON lines, JSON, CSV ----------------------------------------------------------


def write_jsonl(records: Iterable[Record], sink: Sink) -> None:
    r"""One JSON object a line, exact: UTF-8 without ASCII escapes, lines end in `\n` alone.

    A text may hold other characters that some readers take for the end of a line (U+2028).
    """
    for record in records:
        sink.write(f"{_json(to_json(record))}\n".encode())


def write_json(records: Iterable[Record], sink: Sink) -> None:
    """One JSON array of the objects that `write_jsonl` writes, one a line."""
    sink.write(b"[")
    separator = "\n"
    for record in records:
        sink.write(f"{separator}{_json(to_json(record))}".encode())
        separator = ",\n"
    sink.write(b"\n]\n")


def write_csv(records: Iterable[Record], sink: Sink) -> None:
    r"""A header and a row a memory, after RFC 4180 but with `\n` at the end of a row.

    Lists and `meta` are JSON text. Null is an empty cell, an empty text is `""`. A text that a
    spreadsheet would run has a `'` before it: see `record_json.formula_safe`.
    """
    sink.write(f"{','.join(COLUMNS)}\n".encode())
    for record in records:
        row = ",".join(_cell(value) for value in to_json(record).values())
        sink.write(f"{row}\n".encode())


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = formula_safe(value) if isinstance(value, str) else _json(value)
    return '"' + text.replace('"', '""') + '"'


def _json(value: object) -> str:
    return plain_json(json.dumps(value, ensure_ascii=False))


# --- for a person: Markdown -----------------------------------------------------------------------


def write_markdown(records: Iterable[Record], sink: Sink) -> None:
    """Memories to read: a heading for each conversation and, below it, one for each memory.

    Records come by time, so a conversation that others interrupt goes on under a heading of its own.
    Times are UTC. Not for reading back: controls are replaced, names lose their line breaks.
    """
    before: Record | None = None
    sink.write(b"# Memories\n")
    for record in records:
        if before is None or before.session_id != record.session_id:
            sink.write(f"\n## {_conversation(record)}\n".encode())
        about = ", ".join(_about(record))
        sink.write(f"\n### {_heading(record)}\n\n{about}\n\n{_paragraphs(record.text)}\n".encode())
        before = record


def _conversation(record: Record) -> str:
    if record.session_id is None:
        return "Outside of conversations"
    title = record.meta.get("title")
    where = f"Conversation {_inline(record.session_id)}"
    return f"{_inline(title)} ({where})" if isinstance(title, str) and title.strip() else where


def _heading(record: Record) -> str:
    when = "undated" if record.created_at is None else to_iso(record.created_at)[:16].replace("T", " ")
    who = record.name or record.role
    return f"{when}, {_inline(who)}" if who else when


def _about(record: Record) -> Iterator[str]:
    yield record.kind
    yield record.priority
    for topic in record.topics:
        yield _inline(f"#{topic}")
    if record.project is not None:
        yield f"project {_inline(record.project)}"
    yield f"from {_inline(record.source)}"
    yield f"id {_inline(record.id)}"
    if record.private:
        yield "private"
    if record.superseded_by is not None:
        yield f"superseded by {_inline(record.superseded_by)}"
    if record.retired:
        yield "retired"


_SIGN = regex(r"[\\`*_\[\]<>&#|~!]")

# What would reach beyond its own memory or load something: a heading, a fence (in a list or a quote
# too), a line under a heading or across the page, a definition of a link, HTML, an image.
_BREAKS_OUT = regex(
    r"^[ \t>*+\-\d.)]*(?:#{1,6}(?:[ \t]|$)|```|~~~)"
    r"|^[ \t>]*(?:[-=*_][ \t]*)+$"
    r"|\]:|<[A-Za-z/!?]|!\[",
    re.MULTILINE,
)


def _inline(text: str) -> str:
    """The text in one line, every sign of Markdown escaped."""
    return _SIGN.sub(r"\\\g<0>", neutral(" ".join(text.split())))


def _paragraphs(text: str) -> str:
    """The text as it is, or in a fence where it would break out (CommonMark 0.31, 4.5)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    shown = neutral(lines)
    if not _BREAKS_OUT.search(shown):
        return shown
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


# --- for tables: Parquet --------------------------------------------------------------------------

_ROW_GROUP = 8_192
_LISTS = ("topics", "audience", "supersedes", "derived_from")
_TIMES = ("created_at", "updated_at", "valid_from", "valid_to", "expires_at")


def write_parquet(records: Iterable[Record], sink: Sink) -> None:
    """A column a key, typed: times are timestamps (ms, UTC), lists are lists, `meta` is JSON text."""
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetWriter

    rows = map(_row, records)
    with ParquetWriter(sink, _schema(), compression="zstd") as writer:
        while some := list(islice(rows, _ROW_GROUP)):
            writer.write_batch(RecordBatch.from_pylist(some, schema=_schema()))


def _schema() -> pa.Schema:
    import pyarrow as pa

    types = {
        **dict.fromkeys(COLUMNS, pa.string()),
        **dict.fromkeys(_LISTS, pa.list_(pa.string())),
        **dict.fromkeys(_TIMES, pa.timestamp("ms", tz="UTC")),
        **dict.fromkeys(("private", "retired"), pa.bool_()),
        "position": pa.int64(),
    }
    return pa.schema(list(types.items()))


def _row(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in COLUMNS} | {"meta": _json(dict(record.meta))}


FORMATS = (
    Format("jsonl", ".jsonl", write_jsonl),
    Format("json", ".json", write_json),
    Format("csv", ".csv", write_csv),
    Format("markdown", ".md", write_markdown),
    Format("parquet", ".parquet", write_parquet, is_binary=True),
)
