"""The format "markdown": a note, with its front matter, title and tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from memcli.importers.encoding import read_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import time_at
from memcli.importers.source import Source
from memcli.importers.text import file_echo, file_id, file_time, file_title
from memcli.text import clean, regex
from memcli.types import Document, Item, Millis, Notice

NAME = "markdown"

Front: TypeAlias = Mapping[str, str | list[str]]
"""The front matter: keys in lower case, values as they are written, lists flat."""

FRONT = regex(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
"""The lines of a front matter, at the beginning of a text."""

_SIGNS = regex(
    r"^(?:#{1,6} +\S|```|~~~|\s*[-*+] +\S|> )"  # heading, code, list, quotation
    r"|\[\[[^\[\]\n]+\]\]|\[[^\[\]\n]+\]\([^()\s]+\)|\*\*\S",  # links, bold
    re.MULTILINE,
)
_CODE = regex(r"^[ ]{0,3}(```|~~~).*?(?:^[ ]{0,3}\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_H1 = regex(r"^# +(.+?)[ #]*$", re.MULTILINE)
# As Obsidian has it: after a blank or an opening bracket, with something besides digits.
_TAG = regex(r"(?<![^\s(\[,;])#(?=[\w/-]*[^\W\d])([\w/-]+)")
_OPEN_PLACE = regex(r"\{\{.*\}\}|<%.*%>")
_PAIR = regex(r"([\w-]+):\s*(.*)")
_ENTRY = regex(r"\s*-\s+(.*)")

_TIME_KEYS = ("created", "created_at", "date", "created-at")
_USED_KEYS = {"title", "tags", "tag", "id", *_TIME_KEYS}


def sniff(head: Head) -> bool:
    """Text with front matter, headings, lists, links or code."""
    return head.kind == "text" and bool(FRONT.match(head.text) or _SIGNS.search(head.text))


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The note as one document; its text is the body without the front matter."""
    text, encoding = read_text(source, asked=options.encoding)
    yield from encoding.notices()
    match = FRONT.match(text)
    front, is_valid = parse_front(match[1]) if match else ({}, True)
    if not is_valid:
        yield Notice("the front matter is not valid YAML; it was read line by line")
    body = text[match.end() :] if match else text
    prose = _CODE.sub("", body)
    at, meta = front_time(front, _TIME_KEYS, source, options)
    told = body.strip("\n")
    yield Document(
        _first(front, ("id",)) or file_id(source),
        NAME,
        told,
        title=_first(front, ("title",)) or _heading(prose) or file_title(source),
        topics=_topics(front, prose),
        at=at,
        meta={**{key: value for key, value in front.items() if key not in _USED_KEYS}, **meta},
        echo=None if "id" in front else file_echo(file_title(source), told),
    )


def parse_front(text: str) -> tuple[Front, bool]:
    """The keys and values of a front matter, and whether it was valid YAML."""
    import yaml

    try:
        # BaseLoader makes nothing but strings: `2026-03-01`, `007` and `no` stay what was written.
        front = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError):
        return _parse_leniently(text), False
    if not isinstance(front, dict):
        return {}, front in (None, "")
    flat = {str(key).lower(): _flat(value) for key, value in front.items()}
    return {key: value for key, value in flat.items() if _is_said(value)}, True


def _is_said(value: str | list[str]) -> bool:
    """Whether it is a value, not a place that a template left open (`{{title}}`)."""
    return bool(value) and not (isinstance(value, str) and _OPEN_PLACE.fullmatch(value))


def front_time(
    front: Front, keys: Iterable[str], source: Source, options: ReadOptions
) -> tuple[Millis | None, dict[str, Any]]:
    """The time under the first of these keys, else that of the file, and what `meta` has to say of it."""
    at = time_at(front, keys, tz=options.tz)
    return file_time(source, options) if at is None else (at, {})


def _flat(value: object) -> str | list[str]:
    # YAML has escapes of its own for halves of characters and NUL.
    if isinstance(value, list):
        return [clean(item) for item in value if isinstance(item, str)]
    return clean(value) if isinstance(value, str) else ""


def _parse_leniently(text: str) -> Front:
    """`key: value` lines, and the `- item` lines below a key without a value."""
    front: dict[str, str | list[str]] = {}
    items: list[str] = []
    for line in text.split("\n"):
        pair, entry = _PAIR.match(line), _ENTRY.match(line)
        if pair:
            items = []
            front[pair[1].lower()] = _unquoted(pair[2]) or items
        elif entry:
            items.append(_unquoted(entry[1]))
    return {key: value for key, value in front.items() if _is_said(value)}


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _first(front: Front, keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := front.get(key), str)), None)


def _heading(prose: str) -> str | None:
    match = _H1.search(prose)
    return match[1] if match else None


def _topics(front: Front, prose: str) -> tuple[str, ...]:
    """The tags of the front matter, then those in the text, each once; without `#`."""
    listed: list[str] = []
    for key in ("tags", "tag"):
        value = front.get(key, [])
        if isinstance(value, str):
            value = value.split("," if "," in value else None)
        listed += [tag.strip().lstrip("#") for tag in value]
    return tuple(dict.fromkeys(tag for tag in (*listed, *_TAG.findall(prose)) if tag))
