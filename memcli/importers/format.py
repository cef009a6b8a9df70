"""What a format is to the table: its name, how it is told, how it is read; and how a person wants it read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memcli.importers.head import Head
from memcli.importers.source import Source
from memcli.types import Item


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the command line says about the files.

    `encoding` is that of files that do not tell theirs, `tz` the IANA zone of times that name none (UTC
    when None), `me` the author of a messenger history who is the person; with `include_tools` what tools
    were asked is kept, with `all_branches` also what was said on branches that were left.
    """

    encoding: str | None = None
    tz: str | None = None
    me: str | None = None
    include_tools: bool = False
    all_branches: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the table.

    `sniff` tells by content whether the file is one; `read` yields what it holds, every record exactly
    once: in a Conversation, or as a Document, Record, Skip or BadLine. It raises UsageError for a file
    of which nothing can be read. `by_line` says that a file of lines can be read from any of them on: what
    a line holds does not hang on those before it.
    """

    name: str
    sniff: Callable[[Head], bool]
    read: Callable[[Source, ReadOptions], Iterator[Item]]
    by_line: bool = False
