"""The format "alpaca": training data of an instruction and an output a row, maybe with what came before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.content import content_of
from memcli.importers.examples import digest_of, example, with_warning
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ID_KEYS, text_at
from memcli.importers.seen import Seen
from memcli.importers.session import objects
from memcli.importers.source import Source
from memcli.types import Item, Message, Skip

NAME = "alpaca"

_ANSWER_KEYS = ("output", "response", "chosen")


def sniff(head: Head) -> bool:
    """An instruction and what is to be answered to it."""
    return any(
        "instruction" in record and any(key in record for key in _ANSWER_KEYS) for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Every row as a conversation; of two answers the chosen one."""
    return with_warning(_items(source, options))


def _items(source: Source, options: ReadOptions) -> Iterator[Item]:
    seen = Seen()
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
        elif seen.has(digest_of(item)):
            yield Skip("duplicate")
        else:
            id_ = text_at(item, ID_KEYS) or f"{NAME}-{digest_of(item)}"
            yield from example(id_, _said(item), source=NAME, seen=seen)


def _said(record: Mapping[str, Any]) -> Iterator[Message | Skip]:
    yield from _spoken("system", text_at(record, ("system",)))
    history = record.get("history")
    for pair in history if isinstance(history, list) else []:
        if isinstance(pair, list) and len(pair) == 2:
            yield from _spoken("user", pair[0])
            yield from _spoken("assistant", pair[1])
        else:
            yield Skip("damaged")
    asked = [text_at(record, (key,)) or "" for key in ("instruction", "input")]
    question = "\n".join(text for text in asked if text.strip())
    yield Message("user", question) if question else Skip("empty")
    answer = next((text for key in _ANSWER_KEYS if (text := content_of(record.get(key)).text).strip()), "")
    yield Message("assistant", answer) if answer else Skip("empty")
    if "rejected" in record:
        yield Skip("rejected")


def _spoken(role: str, text: object) -> Iterator[Message]:
    if isinstance(text, str) and text.strip():
        yield Message(role, text)
