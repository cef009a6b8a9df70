"""The format "text": a file that is one document; and what every document has of its file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from memcli.importers.encoding import read_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Document, Item, Millis

NAME = "text"

_DATE = regex(r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)", re.ASCII)


def sniff(head: Head) -> bool:
    """Whatever people wrote."""
    return head.kind == "text"


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The whole file as one document, dated by its name or by its last change."""
    text, encoding = read_text(source, asked=options.encoding)
    yield from encoding.notices()
    at, meta = file_time(source, options)
    body, title = text.strip("\n"), file_title(source)
    yield Document(file_id(source), NAME, body, title=title, at=at, meta=meta, echo=file_echo(title, body))


def file_id(source: Source) -> str:
    """What stays the same when the file's text changes; standard input has only its text.

    So have the members of an archive: the next one, with another name, holds them again.
    """
    has_place = source.key is not None and not source.is_member
    return f"{source.key}" if has_place else f"{NAME}-{source.digest[:12]}"


def file_echo(title: str | None, text: str) -> str | None:
    """What stays the same when the file is moved, or packed."""
    return title and f"{title}\n{text}"


def file_title(source: Source) -> str | None:
    """The file's name without its ending."""
    return PurePath(source.name).stem if source.key else None


def file_time(source: Source, options: ReadOptions) -> tuple[Millis | None, dict[str, Any]]:
    """The date in the file's name, else its last change, which is only an estimate and says so in `meta`."""
    for parts in _DATE.findall(PurePath(source.name).name):
        at = parse_file_time("-".join(parts), tz=options.tz)
        if at is not None:
            return at, {}
    return source.mtime_ms, {"time_estimated": True} if source.mtime_ms is not None else {}
