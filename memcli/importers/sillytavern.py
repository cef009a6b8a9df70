"""The format "sillytavern": a chat with a character, a header line and a message a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import meta_with, text_at
from memcli.importers.session import in_pieces, mapping_at, objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Conversation, Item, Message, Millis, Skip

NAME = "sillytavern"

_TOLD_TYPES = {
    "assistant_note",
    "comment",
    "formatting",
    "generic",
    "help",
    "hotkeys",
    "macros",
    "narrator",
    "slash_commands",
    "welcome",
    "welcome_prompt",
}
"""What the narrator tells, or the program itself."""
_PROGRAM = "SillyTavern System"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# "June 19, 2023 2:20pm" and "2023-6-19 @14h 20m 30s 123ms", as different versions write it.
_IN_WORDS = regex(
    r"([A-Za-z]{3})[a-z]* (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d)(?::(\d\d))?\s*([ap]m)?", re.IGNORECASE
)
_IN_UNITS = regex(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?")


def sniff(head: Head) -> bool:
    """Every object is a message of a character or to one, or a chat's header."""
    are_known = [record.keys() >= {"mes", "is_user"} or _is_header(record) for record in head.objects]
    return bool(are_known) and all(are_known)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The chat whole, as it stands: of several answers the chosen one."""
    header: Mapping[str, Any] = {}
    messages: list[Message] = []
    for record in objects(source, options):
        if not isinstance(record, dict):
            yield record
        elif _is_header(record):
            header = header or record
            yield Skip("event")
        else:
            message = _message_of(record, options)
            if isinstance(message, Skip):
                yield message
            else:
                messages.append(message)
    id_ = text_at(mapping_at(header, "chat_metadata"), ("integrity",))
    title = text_at(header, ("character_name",))
    yield from in_pieces([Conversation(id_, NAME, messages, title, _time_of(header, "create_date", options))])


def _is_header(record: Mapping[str, Any]) -> bool:
    return "mes" not in record and not record.keys().isdisjoint(("chat_metadata", "character_name"))


def _message_of(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    text = text_at(record, ("mes",)) or ""
    extra = mapping_at(record, "extra")
    picture = text_at(extra, ("image", "file"))
    if not text.strip():
        return Skip("media" if picture else "empty")
    names = [picture] if picture and not picture.startswith("data:") else []
    meta = meta_with(model=text_at(extra, ("model",)), attachments=names)
    at = _time_of(record, "send_date", options)
    return Message(_role_of(record, extra), text, text_at(record, ("name",)), at, meta=meta)


def _role_of(record: Mapping[str, Any], extra: Mapping[str, Any]) -> str:
    """Who speaks. `is_system` does not say it: it hides a line from the model, whoever said it."""
    if record.get("is_user") is True:
        return "user"
    is_told = extra.get("type") in _TOLD_TYPES or record.get("name") == _PROGRAM
    return "system" if is_told else "assistant"


def _time_of(record: Mapping[str, Any], key: str, options: ReadOptions) -> Millis | None:
    value = record.get(key)
    if isinstance(value, str):
        value = _iso(value.strip())
    return parse_file_time(value, tz=options.tz)


def _iso(text: str) -> str:
    """The date as others write it; another one as it is."""
    if match := _IN_UNITS.fullmatch(text):
        year, month, day, hour, minute, second, millis = (int(part or 0) for part in match.groups())
        return f"{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}"
    match = _IN_WORDS.fullmatch(text)
    if match is None or match[1].lower() not in _MONTHS:
        return text
    hour = int(match[4])
    if match[7]:
        hour = hour % 12 + (12 if match[7].lower() == "pm" else 0)
    month = _MONTHS.index(match[1].lower()) + 1
    return f"{match[3]}-{month:02}-{int(match[2]):02}T{hour:02}:{match[5]}:{match[6] or '00'}"
