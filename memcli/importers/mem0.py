"""The format "mem0": the memories of mem0, from its library, its platform or its plugins' Markdown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.encoding import read_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head, head_of
from memcli.importers.markdown import parse_front
from memcli.importers.messages import text_at, time_of
from memcli.importers.session import mapping_at, objects
from memcli.importers.source import Source
from memcli.text import clean, regex
from memcli.times import parse_file_time
from memcli.types import Document, Item, Skip

NAME = "mem0"

_HISTORY_COLUMNS = {"memory_id", "new_memory", "event", "created_at"}
_SAID_KEYS = ("user_id", "agent_id", "run_id", "app_id", "actor_id")
# A block is told by its first key: the text above it may have lines of dashes of its own.
_BLOCK = regex(
    r"^---[ \t]*\n(id:[^\n]*\n(?:[\w-]+:[^\n]*\n|[ \t]*-[ \t][^\n]*\n)*+)---[ \t]*(?:\n|\Z)", re.MULTILINE
)
_BLOCK_SIGNS = regex(r"^(?:created_at|categories|confidence):", re.MULTILINE)


def sniff(head: Head) -> bool:
    """A memory with an id, alone or among results; or a block of the plugins' Markdown at the beginning."""
    if head.tables.get("history", frozenset()) >= _HISTORY_COLUMNS:
        return True
    return _is_markdown(head) or any(
        _is_memory(memory) for record in head.objects for memory in _memories(record)
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Every memory as a fact; what the graph of a store tells too."""
    if source.kind == "sqlite":
        yield from _history(source, options)
        return
    if _is_markdown(head_of(source, encoding=options.encoding)):
        yield from _blocks(source, options)
        return
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        for memory in _memories(item):
            yield _memory(memory, options) if isinstance(memory, dict) else Skip("damaged")
        relations = item.get("relations") if "results" in item else None
        for relation in relations if isinstance(relations, list) else []:
            yield _relation(relation) if isinstance(relation, dict) else Skip("damaged")


def _is_markdown(head: Head) -> bool:
    block = _BLOCK.match(head.text.replace("\r\n", "\n").lstrip()) if head.kind == "text" else None
    return block is not None and _BLOCK_SIGNS.search(block[1]) is not None


def _is_memory(value: object) -> bool:
    return isinstance(value, dict) and "id" in value and isinstance(value.get("memory"), str)


def _memories(record: Mapping[str, Any]) -> list[Any]:
    """What a page holds, else the record alone."""
    results = record.get("results", record.get("memories"))
    return results if isinstance(results, list) else [record]


def _memory(record: Mapping[str, Any], options: ReadOptions) -> Item:
    text = text_at(record, ("memory", "text", "data")) or ""
    if not text.strip():
        return Skip("empty")
    meta: dict[str, Any] = {key: record[key] for key in _SAID_KEYS if isinstance(record.get(key), str)}
    categories = record.get("categories")
    return Document(
        text_at(record, ("id",)) or _id_from(text),
        NAME,
        text,
        topics=_words(categories),
        at=time_of(record, options),
        kind="fact",
        meta=dict(mapping_at(record, "metadata")) | meta,
    )


def _relation(record: Mapping[str, Any]) -> Item:
    told = [
        text_at(record, keys)
        for keys in (("source",), ("relationship", "relation"), ("target", "destination"))
    ]
    text = " ".join(word for word in told if word)
    return Document(_id_from(text), NAME, text, kind="fact") if all(told) else Skip("damaged")


def _history(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The memories as they stand at the end of the history that the library keeps of them."""
    asked = "SELECT memory_id, new_memory, event, created_at FROM history ORDER BY rowid"
    memories: dict[str, Document] = {}
    changes = 0
    with source.database() as database:
        for id_, text, event, created in database.execute(asked):
            changes += 1
            before = memories.pop(str(id_), None)
            if event != "DELETE" and isinstance(text, str) and text.strip():
                at = before.at if before else parse_file_time(created, tz=options.tz)
                memories[str(id_)] = Document(str(id_), NAME, clean(text), at=at, kind="fact")
    yield from memories.values()
    if changes > len(memories):
        yield Skip("superseded", changes - len(memories))


def _blocks(source: Source, options: ReadOptions) -> Iterator[Item]:
    text, encoding = read_text(source, asked=options.encoding)
    yield from encoding.notices()
    heads = list(_BLOCK.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        front, _ = parse_front(head[1])
        said = text[head.end() : end].strip()
        if not said:
            yield Skip("empty")
            continue
        meta = {key: value for key, value in front.items() if key not in ("id", "created_at", "categories")}
        yield Document(
            str(front.get("id") or _id_from(said)),
            NAME,
            said,
            topics=_words(front.get("categories")),
            at=parse_file_time(front.get("created_at"), tz=options.tz),
            kind="fact",
            meta=meta,
        )


def _words(value: object) -> tuple[str, ...]:
    listed = value.strip("[]").split(",") if isinstance(value, str) else value
    words = [word.strip() for word in listed if isinstance(word, str)] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(word for word in words if word))


def _id_from(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
