"""The format "mcp-memory": the graph of the MCP memory server, in lines or as `read_graph` tells it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import text_at
from memcli.importers.session import mappings_at, objects
from memcli.importers.source import Source
from memcli.types import BadLine, Document, Item, Notice, Skip

NAME = "mcp-memory"

_NAME_KEYS = ("name", "entityName", "entity_name", "id")
_TYPE_KEYS = ("entityType", "entity_type")
_FROM_KEYS = ("from", "from_id", "source")
_TO_KEYS = ("to", "to_id", "target")
_RELATION_KEYS = ("relationType", "relation_type", "relation")
_OBSERVATION_KEYS = ("content", "text", "observation")


def sniff(head: Head) -> bool:
    """An entity with observations, a relation between two, or a graph of such."""
    return any(
        _is_entity(record)
        or _is_relation(record)
        or any("observations" in entity for entity in mappings_at(record, "entities"))
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Every observation and every relation as a fact; an entity that is there twice is one."""
    graph = _Graph()
    for item in objects(source, options):
        if not isinstance(item, dict):
            graph.has_damage = graph.has_damage or isinstance(item, BadLine)
            yield item
        elif "entities" in item or "relations" in item:
            for key, take in (("entities", graph.take_entity), ("relations", graph.take_relation)):
                listed = item.get(key)
                for part in listed if isinstance(listed, list) else []:
                    yield from take(part) if isinstance(part, dict) else [Skip("damaged")]
        elif _is_relation(item):
            yield from graph.take_relation(item)
        elif "observations" in item or text_at(item, _NAME_KEYS):
            yield from graph.take_entity(item)
        else:
            # Some servers sign their file with a line of its own.
            yield Skip("meta" if isinstance(item.get("type"), str) else "damaged")
    yield from graph.relations()


def _is_entity(record: Mapping[str, Any]) -> bool:
    return record.get("type") == "entity" and "observations" in record


def _is_relation(record: Mapping[str, Any]) -> bool:
    has_ends = text_at(record, _FROM_KEYS) and text_at(record, _TO_KEYS)
    return record.get("type") == "relation" and bool(has_ends and text_at(record, _RELATION_KEYS))


@dataclass(slots=True)
class _Graph:
    """What is known of the graph so far; relations wait for the end, when all entities are known."""

    names: set[str] = field(default_factory=set)
    facts: set[str] = field(default_factory=set)
    waiting: list[tuple[str, str, str]] = field(default_factory=list)
    has_damage: bool = False

    def take_entity(self, record: Mapping[str, Any]) -> Iterator[Item]:
        name, kind = text_at(record, _NAME_KEYS), text_at(record, _TYPE_KEYS)
        if name is None:
            yield Skip("damaged")
            return
        self.names.add(name)
        observations = _list(record.get("observations"))
        if not observations:
            yield Skip("empty")
        about = {"entity_type": kind} if kind else {}
        for text in map(_observation, observations):
            yield self._fact(f"{name}: {text}", name, about) if text.strip() else Skip("damaged")

    def take_relation(self, record: Mapping[str, Any]) -> Iterator[Item]:
        ends = text_at(record, _FROM_KEYS), text_at(record, _RELATION_KEYS), text_at(record, _TO_KEYS)
        if ends[0] is None or ends[1] is None or ends[2] is None:
            yield Skip("damaged")
        else:
            self.waiting.append((ends[0], ends[1], ends[2]))

    def relations(self) -> Iterator[Item]:
        """The relations whose ends are there; in a damaged file an end may have been what is lost."""
        unknown = 0
        for start, relation, end in self.waiting:
            if self.has_damage or {start, end} <= self.names:
                yield self._fact(f"{start} {relation} {end}", start, {"relation": relation, "to": end})
            else:
                unknown += 1
        if unknown:
            yield Skip("unknown-entity", unknown)
            named = "1 relation names" if unknown == 1 else f"{unknown} relations name"
            yield Notice(f"{named} an entity that the graph does not have")

    def _fact(self, text: str, name: str, about: Mapping[str, Any]) -> Item:
        id_ = hashlib.sha256(text.encode()).hexdigest()[:16]
        if id_ in self.facts:
            return Skip("duplicate")
        self.facts.add(id_)
        return Document(id_, NAME, text, title=name, kind="fact", meta=about)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _observation(value: object) -> str:
    if isinstance(value, dict):
        return text_at(value, _OBSERVATION_KEYS) or ""
    return str(value) if isinstance(value, (str, int, float)) else ""
