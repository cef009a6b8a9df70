"""The format "aichat": a session of aichat's, which is YAML, or the log that it keeps in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.errors import UsageError
from memcli.importers.chats import in_chats
from memcli.importers.content import content_of
from memcli.importers.encoding import read_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, Said, meta_with
from memcli.importers.source import Source
from memcli.importers.text import file_title
from memcli.text import clean, regex
from memcli.times import parse_file_time
from memcli.types import Item, Message, Millis, Skip

NAME = "aichat"

_LISTS = ("compressed_messages", "messages")
_SESSION = regex(r"^(?:compressed_)?messages:[ \t]*\r?\n[ \t]*- (?:role|content):", re.MULTILINE)
_MODEL = regex(r"^model:", re.MULTILINE)
# A chat of the log: what it is about, when it was, and in brackets the role that aichat played.
_CHAT = regex(
    r"^# CHAT: (.*?) ?\[(\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-][\d:]+)?)\](?: \([^()\n]*\))?[ \t]*$",
    re.MULTILINE,
)
_RULE = "\n--------\n"
_MACHINERY = regex(r"\A(?:<(think|tool_calls)>\n.*?</\1>\n+)+", re.DOTALL)


def sniff(head: Head) -> bool:
    """Messages with roles below a model, or the heading of a logged chat."""
    is_session = _MODEL.search(head.text) and _SESSION.search(head.text)
    return head.kind == "text" and bool(is_session or _CHAT.search(head.text))


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The session, what was compressed first; or every chat of the log as a conversation."""
    titles: dict[str | None, str | None] = {None: file_title(source)}
    return in_chats(_messages(source, options, titles), source=NAME, titles=titles)


def _messages(
    source: Source, options: ReadOptions, titles: dict[str | None, str | None]
) -> Iterator[Said | Item]:
    text, encoding = read_text(source, asked=options.encoding)
    yield from encoding.notices()
    if _CHAT.search(text):
        yield from _logged(text, options, titles)
        return
    session = _loaded(text, source.path)
    for key in _LISTS:
        listed = session.get(key)
        for record in listed if isinstance(listed, list) else []:
            message = _message(record, session)
            yield message if isinstance(message, Skip) else (None, message)


def _loaded(text: str, path: str) -> Mapping[str, Any]:
    import yaml

    try:
        # BaseLoader makes nothing but strings, lists and mappings.
        session = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(
            f"{path} is not valid YAML", "aichat cannot read it either; import an older copy, or mend it"
        ) from error
    return session if isinstance(session, dict) else {}


def _message(record: object, session: Mapping[str, Any]) -> Message | Skip:
    if not isinstance(record, dict):
        return Skip("damaged")
    role, told = ROLE_OF.get(str(record.get("role")).lower()), record.get("content")
    if role is None:
        return Skip("damaged")
    content = content_of(told)
    text = clean(content.text)  # YAML has escapes for what cannot be stored
    if not text.strip():
        return Skip("tool-only" if isinstance(told, dict) and "tool_results" in told else content.lack)
    model = session.get("model")
    meta = meta_with(model=model if role == "assistant" else None, attachments=content.attachments)
    return Message(role, text, meta=meta)


def _logged(text: str, options: ReadOptions, titles: dict[str | None, str | None]) -> Iterator[Said | Item]:
    heads = list(_CHAT.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        place = f"{NAME} {head[2]}"
        titles[place] = head[1] or None
        at = parse_file_time(head[2], tz=options.tz)
        asked, _, answered = f"{text[head.end() : end].rstrip()}\n".partition(_RULE)
        answer = _MACHINERY.sub("", answered.removesuffix(_RULE))
        yield from _spoken(place, "user", asked, at)
        yield from _spoken(place, "assistant", answer, at)


def _spoken(place: str, role: str, text: str, at: Millis | None) -> Iterator[Said | Item]:
    said = text.strip("\n")
    yield (place, Message(role, said, at=at)) if said.strip() else Skip("empty")
