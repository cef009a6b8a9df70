"""The format "basic-memory": a note of Basic Memory, with its observations and relations."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from memcli.importers.encoding import read_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.markdown import FRONT, Front, front_time, parse_front
from memcli.importers.source import Source
from memcli.importers.text import file_id, file_title
from memcli.text import regex
from memcli.types import Document, Item, Skip

NAME = "basic-memory"

# What is taken for a second front matter: lines of keys and values alone, not a text between two rules.
_SECOND = regex(r"\s*---[ \t]*\n((?:[\w-]+:(?:[ \t][^\n]*)?\n|[ \t]*-?[ \t][^\n]*\n)++)---[ \t]*(?:\n|\Z)")
# A category is neither the mark of a task (`[x]`, `[-]`, `[?]`) nor a time of a transcript (`[01:02:03]`).
_OBSERVATION = regex(
    r"^[ \t]*[-*+] \[(?![xX]?\]|[^\w\n]\]|[\d:., -]+\])([^\[\]()\n]+)\][ \t]+(\S[^\n]*)$", re.MULTILINE
)
# A type of several words stands in quotes; older versions wrote it without.
_RELATION = regex(
    r"^[ \t]*[-*+] ([\"']?)([^\W\d][\w /-]*)\1 \[\[([^\[\]\n]+)\]\](?: \(([^()\n]*)\))?[ \t]*$", re.MULTILINE
)
_TAG = regex(r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)")
_KEY = regex(r"^([a-z]+):", re.MULTILINE)
_HEADING = regex(r"^# +(\S[^\n]*)$", re.MULTILINE)
_OWN_KEYS = {"title", "type", "permalink"}
_TIME_KEYS = ("created", "created_at", "date", "modified", "updated")
_USED_KEYS = {"title", "tags", "permalink", *_TIME_KEYS}
_OWN_KINDS = ("preference", "decision")


def sniff(head: Head) -> bool:
    """A note with type and permalink, or with a second front matter, which a sync may add."""
    text = head.text.replace("\r\n", "\n")
    match = FRONT.match(text) if head.kind == "text" else None
    return match is not None and bool(
        set(_KEY.findall(match[1])) >= _OWN_KEYS or _SECOND.match(text, match.end())
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Every observation and relation as a fact about what the note is of; the rest of the text as a note."""
    text, encoding = read_text(source, asked=options.encoding)
    yield from encoding.notices()
    front, body = _front_and_body(text)
    heading = _HEADING.search(body)
    title = _word(front, "title") or (heading[1].rstrip(" #") if heading else file_title(source))
    place = _word(front, "permalink") or file_id(source)
    at, about = front_time(front, _TIME_KEYS, source, options)
    tags = _tags(front)
    seen: set[str] = set()
    for fact, kind, topics, meta in _facts(body, title or place):
        id_ = f"{place}#{hashlib.sha256(fact.encode()).hexdigest()[:12]}"
        if id_ in seen:
            yield Skip("duplicate")
            continue
        seen.add(id_)
        labels = tuple(dict.fromkeys((*topics, *tags)))
        yield Document(id_, NAME, fact, title=title, topics=labels, at=at, kind=kind, meta={**meta, **about})
    rest = _RELATION.sub("", _OBSERVATION.sub("", body)).strip("\n")
    if any(line.strip() and not line.startswith("#") for line in rest.split("\n")):
        meta = {key: value for key, value in front.items() if key not in _USED_KEYS}
        topics = tuple(dict.fromkeys((*tags, *_TAG.findall(rest))))
        yield Document(place, NAME, rest, title=title, topics=topics, at=at, meta={**meta, **about})
    elif not seen:
        yield Skip("empty")


def _front_and_body(text: str) -> tuple[Front, str]:
    """The keys of the one or more front matters, the first of each, and what follows them."""
    match, end = FRONT.match(text), 0
    front: Front = {}
    while match:
        front = {**parse_front(match[1])[0], **front}
        end = match.end()
        match = _SECOND.match(text, end)
    return front, text[end:]


def _facts(body: str, title: str) -> Iterator[tuple[str, str, tuple[str, ...], dict[str, Any]]]:
    """The facts of a note, each with its kind, its topics and what else is said of it."""
    for named, line in _OBSERVATION.findall(body):
        category = named.strip()
        told, context = _told(line)
        kind = category.lower() if category.lower() in _OWN_KINDS else "fact"
        meta = {"context": context} if context else {}
        yield f"{title}: {told}", kind, (category, *_TAG.findall(line)), meta
    for _quote, relation, target, context in _RELATION.findall(body):
        name = target.partition("|")[0].strip()
        meta = {"relation": relation, "to": name, **({"context": context} if context else {})}
        yield f"{title} {relation} {name}", "fact", (), meta


def _told(line: str) -> tuple[str, str]:
    """An observation without what stands at its end: tags, and in brackets its context."""
    told, context = line.rstrip(), ""
    if told.endswith(")") and " (" in told:
        told, _, context = told[:-1].rpartition(" (")
    last = told.rpartition(" ")
    while last[0] and last[2].startswith("#"):
        told = last[0].rstrip()
        last = told.rpartition(" ")
    return told, context


def _word(front: Front, key: str) -> str | None:
    value = front.get(key)
    return value if isinstance(value, str) and value else None


def _tags(front: Front) -> tuple[str, ...]:
    value = front.get("tags", [])
    listed = value.strip("[]").split("," if "," in value else None) if isinstance(value, str) else value
    return tuple(dict.fromkeys(tag.strip().strip("'\"#") for tag in listed if tag.strip()))
