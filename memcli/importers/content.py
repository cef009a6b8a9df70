"""The content of a message, in any of the shapes that chat programs give it, as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memcli.text import regex

_TEXT_KEYS = ("text", "refusal", "transcript", "content", "value")
_NAME_KEYS = ("name", "filename", "file_name", "title", "url", "image_url", "file")
_THOUGHTS = {"thinking", "redacted_thinking", "reasoning", "thoughts"}
_MEDIA_WORDS = ("image", "audio", "video", "file", "document", "media")

# Programs that keep an answer as one text keep what the model thought in front of it, in tags; an answer that
# was stopped has no end of it.
_THOUGHT_ABOVE = regex(r"\A(?:\s*<(think|thinking)>.*?(?:</\1>|\Z))+\s*", re.DOTALL)

_LACKS = ("empty", "thinking", "media", "tool-only")
"""What a message without text is called after: the last of these that it holds."""


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a message and the names of what was attached to it.

    `lack` says why there is no text: "empty", "thinking", "media" or "tool-only".
    """

    text: str
    attachments: tuple[str, ...] = ()
    lack: str = "empty"


def content_of(value: object) -> Content:
    """The text of a string, a number, a part, a list of parts, or nothing.

    Text parts are joined by line ends; of pictures, sound and files only the name is taken, never the
    data; thoughts and what tools were asked or answered are left out.
    """
    if isinstance(value, str):
        return Content(value)
    if isinstance(value, bool):
        return Content("true" if value else "false")
    if isinstance(value, (int, float)):
        return Content(str(value))
    if isinstance(value, Mapping):
        parts = value.get("parts")
        return _joined(parts if isinstance(parts, list) else [value])
    return _joined(value) if isinstance(value, list) else Content("")


def without_thoughts(answer: str) -> str:
    """An answer without what its model thought before it; empty where it did nothing but think."""
    return _THOUGHT_ABOVE.sub("", answer) if answer.lstrip()[:6] == "<think" else answer


def tool_text(record: Mapping[str, Any]) -> str:
    """What tools were asked and answered, a line each: `look({"at": "sky"})`."""
    parts = [part for key in ("tool_calls", "content") for part in _mappings(record.get(key))]
    parts += _mappings([record.get("function_call")])
    return "\n".join(filter(None, map(_tool_line, parts)))


def _tool_line(part: Mapping[str, Any]) -> str:
    call = part["function"] if isinstance(part.get("function"), Mapping) else part
    asked = next((call[key] for key in ("arguments", "input", "args") if key in call), None)
    if asked is None:
        return content_of(part.get("content")).text
    return f"{call.get('name')}({asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False)})"


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _joined(parts: Iterable[object]) -> Content:
    texts: list[str] = []
    attachments: list[str] = []
    lacks = ["empty"]
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            kind = str(part.get("type") or "text")
            lacks.append(_lack_of(kind))
            if lacks[-1] == "empty":
                texts.append(_text_of(part))
            elif lacks[-1] == "media":
                attachments.append(_name_of(part, kind))
    text = "\n".join(text for text in texts if text)
    return Content(text, tuple(attachments), max(lacks, key=_LACKS.index))


def _lack_of(kind: str) -> str:
    """What a part of this type is instead of text; "empty" for text and for what nobody knows."""
    if "tool" in kind or "function" in kind:
        return "tool-only"
    if kind in _THOUGHTS:
        return "thinking"
    return "media" if any(word in kind for word in _MEDIA_WORDS) else "empty"


def _text_of(part: Mapping[str, Any]) -> str:
    for key in _TEXT_KEYS:
        text = part.get(key)
        if isinstance(text, Mapping):  # {"type": "text", "text": {"value": …}}
            text = text.get("value")
        if isinstance(text, str):
            return text
    return ""


def _name_of(part: Mapping[str, Any], kind: str) -> str:
    """What a picture or file is called; the type of its data, or of the part, where it has no name."""
    name = next(_names(part), kind)
    if name.startswith("data:"):
        return name[5:].partition(";")[0].partition(",")[0] or kind
    return name


def _names(part: Mapping[str, Any]) -> Iterator[str]:
    for holder in (part, *(value for value in part.values() if isinstance(value, Mapping))):
        for key in _NAME_KEYS:
            if holder.get(key) and isinstance(holder[key], str):
                yield holder[key]
