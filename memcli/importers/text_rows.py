"""The format "text-jsonl": a text a line, `{"text": …}`, and nobody who says it."""

from __future__ import annotations

from collections.abc import Iterator

from memcli.importers.examples import digest_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ID_KEYS, meta_of, text_at, time_of
from memcli.importers.seen import Seen
from memcli.importers.session import objects
from memcli.importers.source import Source
from memcli.types import Document, Item, Skip

NAME = "text-jsonl"

# What may be said of a text without its being something else: a message, a memory, a row of a table.
_KEYS = {"text", "title", "url", "lang", "language", "tags", "source", "meta", "metadata", *ID_KEYS}
_TIME_KEYS = {"timestamp", "created_at", "date", "time"}


def sniff(head: Head) -> bool:
    """Every object is a text, and what is said of a text."""
    return bool(head.objects) and all(
        isinstance(record.get("text"), str) and record.keys() <= _KEYS | _TIME_KEYS for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Every text as a document."""
    seen = Seen()
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        text = text_at(item, ("text",)) or ""
        id_ = text_at(item, ID_KEYS) or f"{NAME}-{digest_of(text)}"
        if not text.strip():
            yield Skip("empty")
        elif seen.has((id_, text)):
            yield Skip("duplicate")
        else:
            meta = meta_of(item)
            title = meta.pop("title", None)
            named = title if isinstance(title, str) else None
            yield Document(id_, NAME, text, title=named, at=time_of(item, options), meta=meta)
