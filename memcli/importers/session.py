"""What readers of whole sessions share: objects, branches that were left, and conversations in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from memcli.importers.format import ReadOptions
from memcli.importers.messages import PIECE_CHARS, PIECE_MESSAGES, time_notice
from memcli.importers.records import parse_line, records
from memcli.importers.source import Source
from memcli.types import BadLine, Conversation, Item, Message, Millis

Node = TypeVar("Node", str, int)

_TITLE_CHARS = 60


def objects(source: Source, options: ReadOptions) -> Iterator[dict[str, Any] | Item]:
    """The JSON objects of a file; every other value is a BadLine."""
    for item in records(source, encoding=options.encoding):
        if not isinstance(item, tuple):
            yield item
        elif isinstance(item[1], dict):
            yield item[1]
        else:
            yield BadLine(item[0], "not a JSON object")


def mapping_at(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object that stands under a key; an empty one where there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def mappings_at(record: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects in the list that stands under a key."""
    value = record.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def object_in(value: object) -> Mapping[str, Any]:
    """The value itself, or what it holds as JSON text; an empty object where that is no object."""
    values = parse_line(value)[0] if isinstance(value, str) else [value]
    return values[0] if values and isinstance(values[0], dict) else {}


class Prompts:
    """What tells a prompt in a session and in its program's log of prompts alike: its words, and how often
    they were typed before in that session. The two share neither ids nor, to the millisecond, times.
    """

    def __init__(self) -> None:
        self._typed: Counter[int] = Counter()

    def echo(self, session: str | None, text: str) -> str | None:
        """The echo of the prompt that was typed next; None where nobody knows in which session."""
        if session is None:
            return None
        words = text.strip()
        mark = hash((session, words))
        self._typed[mark] += 1
        return f"{session} {self._typed[mark]} {words}"


def in_pieces(items: Iterable[Item]) -> Iterator[Item]:
    """The items, conversations that hold a message in pieces, and how many messages have no time."""
    untimed = 0
    for conversation in items:
        if not isinstance(conversation, Conversation):
            yield conversation
            continue
        held: list[Message] = []
        chars = 0
        for message in conversation.messages:
            if len(held) >= PIECE_MESSAGES or chars >= PIECE_CHARS:
                yield replace(conversation, messages=held)
                held, chars = [], 0
            held.append(message)
            chars += len(message.text)
            untimed += message.at is None
        if held:
            yield replace(conversation, messages=held)
    yield from time_notice(untimed)


def dated_from(start: Millis | None, messages: Iterable[Message]) -> Iterator[Message]:
    """The messages, those without a time dated by the session's start.

    They stand a millisecond apart: in order, and the same words said twice stay two messages.
    """
    for ordinal, message in enumerate(messages):
        if message.at is not None or start is None:
            yield message
        else:
            yield replace(message, at=start + ordinal, meta={**message.meta, "time_estimated": True})


def first_words(messages: Iterable[Message]) -> str | None:
    """What stands for the title of a conversation that has none: the first line that the person said."""
    said = next((message.text for message in messages if message.role == "user"), "")
    line = next((line for line in map(str.strip, said.split("\n")) if line), "")
    short = line[: _TITLE_CHARS + 1]
    return (line or None) if len(line) <= _TITLE_CHARS else f"{short.rpartition(' ')[0] or short[:-1]}…"


def folder_name(path: object) -> str | None:
    """The last part of a path of any system: of a coding agent's folder, its project."""
    if not isinstance(path, str):
        return None
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2] or None


def branch_heads(parent_of: Mapping[Node, Node | None], leaves: Iterable[Node]) -> dict[Node, Node | None]:
    """Where the branch of each node that is not on the way to a leaf left that way.

    Returns:
        For each such node the first of its branch, an ancestor or itself; None for a node that nothing
        connects to the way, because its chain is broken or runs in a circle.
    """
    way: set[Node] = set()
    for leaf in leaves:
        node: Node | None = leaf
        while node is not None and node in parent_of and node not in way:
            way.add(node)
            node = parent_of[node]
    heads: dict[Node, Node | None] = {}
    for start in parent_of:
        trail: dict[Node, None] = {}
        node = start
        while node is not None and node in parent_of and not (node in way or node in heads or node in trail):
            trail[node] = None
            node = parent_of[node]
        if trail:
            last = next(reversed(trail))
            heads |= dict.fromkeys(
                trail, last if node in way else heads.get(node) if node is not None else None
            )
    return heads
