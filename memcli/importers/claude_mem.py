"""The format "claude-mem": what claude-mem noticed in sessions of Claude Code, and what was asked in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, in_conversations, text_at, without_repeats
from memcli.importers.records import parse_line
from memcli.importers.seen import Seen
from memcli.importers.session import objects
from memcli.importers.source import Source
from memcli.times import parse_file_time
from memcli.types import Document, Item, Message, Millis, Skip

NAME = "claude-mem"

_LISTS = ("observations", "sessions", "summaries", "prompts")
_SESSION_KEYS = (
    "memory_session_id",
    "sdk_session_id",
    "content_session_id",
    "claude_session_id",
    "session_id",
)
_PROMPT_SESSION_KEYS = ("content_session_id", "claude_session_id", "session_id", "sdk_session_id")
_OBSERVATION_KEYS = ("title", "subtitle", "narrative", "text")
_SUMMARY_KEYS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_OWN_KINDS = ("preference", "decision")


def sniff(head: Head) -> bool:
    """An export with its counts, or with lists of what claude-mem keeps."""
    return any(
        "totalObservations" in record
        or ("observations" in record and sum(key in record for key in _LISTS) >= 2)
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Observations as facts, summaries as summaries, prompts as what the person said."""
    return in_conversations(without_repeats(_items(source, options)), source=NAME)


def _items(source: Source, options: ReadOptions) -> Iterator[Said | Item]:
    seen = Seen()
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        for key in _LISTS:
            listed = item.get(key)
            for record in listed if isinstance(listed, list) else []:
                found = _READ[key](record, options) if isinstance(record, dict) else Skip("damaged")
                if isinstance(found, Document) and seen.has(found.id):
                    found = Skip("duplicate")
                yield found


def _observation(record: Mapping[str, Any], options: ReadOptions) -> Item:
    texts = [text_at(record, (key,)) for key in _OBSERVATION_KEYS]
    facts = [f"- {fact}" for fact in _strings(record.get("facts"))]
    kind = str(record.get("type"))
    return _document(
        "observation",
        record,
        [*texts, *facts],
        kind=kind if kind in _OWN_KINDS else "fact",
        topics=tuple(dict.fromkeys(_strings(record.get("concepts")))),
        options=options,
    )


def _session(_record: Mapping[str, Any], _options: ReadOptions) -> Item:
    return Skip("event")  # that it began, and its first prompt, which is among the prompts too


def _summary(record: Mapping[str, Any], options: ReadOptions) -> Item:
    texts = [
        f"{key.replace('_', ' ').capitalize()}: {text}"
        for key in _SUMMARY_KEYS
        if (text := text_at(record, (key,)))
    ]
    return _document("summary", record, texts, kind="summary", topics=(), options=options)


def _document(
    what: str,
    record: Mapping[str, Any],
    texts: Sequence[str | None],
    *,
    kind: str,
    topics: tuple[str, ...],
    options: ReadOptions,
) -> Item:
    text = "\n".join(text for text in texts if text and text.strip())
    if not text:
        return Skip("empty")
    session, project = text_at(record, _SESSION_KEYS), text_at(record, ("project",))
    # Its ids count from 1 on every machine.
    id_ = f"{what}/{session}/{text_at(record, ('id',)) or record.get('created_at_epoch')}"
    meta = {"project": project} if project else {}
    title = text_at(record, ("title", "request"))
    return Document(
        id_, NAME, text, title=title, topics=topics, at=_time(record, options), kind=kind, meta=meta
    )


def _prompt(record: Mapping[str, Any], options: ReadOptions) -> Said | Item:
    text = text_at(record, ("prompt_text", "prompt", "text")) or ""
    if not text.strip():
        return Skip("empty")
    id_ = text_at(record, ("prompt_number", "id"))
    return text_at(record, _PROMPT_SESSION_KEYS), Message("user", text, at=_time(record, options), id=id_)


def _time(record: Mapping[str, Any], options: ReadOptions) -> Millis | None:
    for key in ("created_at_epoch", "created_at"):
        at = parse_file_time(record.get(key), tz=options.tz)
        if at is not None:
            return at
    return None


def _strings(value: object) -> list[str]:
    """The strings of a list, which the database keeps as JSON text."""
    values = (parse_line(value)[0] or [value]) if isinstance(value, str) else [value]
    texts = values[0] if isinstance(values[0], list) else values
    return [text for text in texts if isinstance(text, str) and text.strip()]


_READ = {
    "observations": _observation,
    "sessions": _session,
    "summaries": _summary,
    "prompts": _prompt,
}
