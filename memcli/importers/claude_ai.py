"""The format "claude-ai": Claude.ai's data export: conversations, projects with their documents, memories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.content import Content, content_of, tool_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, meta_with, text_at, time_at
from memcli.importers.session import dated_from, first_words, in_pieces, mappings_at, objects
from memcli.importers.source import Source
from memcli.importers.tree import in_tree_order
from memcli.text import regex
from memcli.types import Conversation, Document, Item, Message, Millis, Skip

NAME = "claude-ai"

_MEMORY_KEYS = ("conversations_memory", "project_memories", "memory_files")
# What the export writes into `text` for blocks that it does not show there.
_PLACEHOLDER = regex(r"[\s`\[(]*(?:placeholder\b|(?:this )?block (?:is )?not )", re.IGNORECASE)


def sniff(head: Head) -> bool:
    """An object is a conversation, a project or a memory of Claude.ai."""
    return any(
        "chat_messages" in record or _has_senders(record) or _is_project(record) or _is_memory(record)
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The conversations; the documents and instructions of projects and the memories as documents."""
    return in_pieces(_items(source, options))


def _items(source: Source, options: ReadOptions) -> Iterator[Item]:
    for record in objects(source, options):
        if not isinstance(record, dict):
            yield record
        elif _is_memory(record):
            yield from _memories(record, options)
        elif _is_project(record):
            yield from _project(record, options)
        else:
            yield from _conversation(record, options)


def _has_senders(record: Mapping[str, Any]) -> bool:
    return "uuid" in record and any("sender" in message for message in mappings_at(record, "messages"))


def _is_project(record: Mapping[str, Any]) -> bool:
    return "uuid" in record and ("docs" in record or "prompt_template" in record)


def _is_memory(record: Mapping[str, Any]) -> bool:
    return any(key in record for key in _MEMORY_KEYS)


# --- conversations --------------------------------------------------------------------------------


def _conversation(record: Mapping[str, Any], options: ReadOptions) -> Iterator[Item]:
    started_at = _time(record, options)
    messages: list[Message] = []
    skipped: Counter[str] = Counter()
    for raw, is_active in _in_order(record, options):
        message = _message(raw, options) if is_active or options.all_branches else "inactive-branch"
        if isinstance(message, str):
            skipped[message] += 1
        else:
            messages.append(message)
    yield from (Skip(reason, count) for reason, count in skipped.items())
    if messages:
        yield Conversation(
            text_at(record, ("uuid", "id")),
            NAME,
            list(dated_from(started_at, messages)),
            title=text_at(record, ("name", "title")) or first_words(messages),
            started_at=started_at,
        )
    elif not skipped:
        yield Skip("empty-conversation")


def _in_order(record: Mapping[str, Any], options: ReadOptions) -> Iterator[tuple[object, bool]]:
    """The messages, and whether they are on the active branch.

    An edited message and an answer that was asked for again stand beside the one they replace. Only a chat
    that was saved alone says where it stands; in an account's export that is the newest message.
    """
    listed = record.get("chat_messages", record.get("messages"))
    messages = listed if isinstance(listed, list) else []
    by_id = {text_at(message, ("uuid",)) or "": message for message in messages if isinstance(message, dict)}
    if "" in by_id or len(by_id) < len(messages):
        yield from ((message, True) for message in messages)
        return
    parent_of = {id_: text_at(message, ("parent_message_uuid",)) for id_, message in by_id.items()}
    # The parent of the first message is none of them; it is the parent of its other wordings too.
    missing = dict.fromkeys(parent for parent in parent_of.values() if parent and parent not in parent_of)
    order = in_tree_order(
        parent_of | missing,
        current=text_at(record, ("current_leaf_message_uuid",)),
        at=lambda id_: _time(by_id[id_], options) if id_ in by_id else None,
    )
    yield from ((by_id[id_], is_active) for id_, is_active in order.items() if id_ in by_id)


def _message(raw: object, options: ReadOptions) -> Message | str:
    """A message, or why it is left out."""
    if not isinstance(raw, dict):
        return "damaged"
    role = ROLE_OF.get((text_at(raw, ("sender",)) or text_at(raw, ("role",)) or "").lower())
    if role is None:
        return "damaged"
    content = _content(raw)
    text = content.text
    if not text.strip():
        text = tool_text(raw) if options.include_tools else ""
        role = "tool"
    if not text.strip():
        return content.lack
    meta = meta_with(attachments=content.attachments)
    return Message(role, text, at=_time(raw, options), id=text_at(raw, ("uuid", "id")), meta=meta)


def _content(raw: Mapping[str, Any]) -> Content:
    """The text of a message: its blocks', else its own, then what was attached to it as text."""
    blocks = content_of(mappings_at(raw, "content"))
    text = raw["content"] if isinstance(raw.get("content"), str) else blocks.text
    whole = raw.get("text")
    if not text.strip() and isinstance(whole, str) and not _PLACEHOLDER.match(whole):
        text = whole
    attached = mappings_at(raw, "attachments")
    files = [file for key in ("files", "files_v2") for file in mappings_at(raw, key)]
    names = [text_at(file, ("file_name", "name")) for file in (*attached, *files)]
    attachments = [*blocks.attachments, *(name for name in names if name)]
    texts = [text, *(text_at(file, ("extracted_content",)) or "" for file in attached)]
    lack = "media" if attachments and blocks.lack == "empty" else blocks.lack
    return Content(
        "\n\n".join(part for part in texts if part.strip()), tuple(dict.fromkeys(attachments)), lack
    )


# --- projects and memories ------------------------------------------------------------------------


def _project(record: Mapping[str, Any], options: ReadOptions) -> Iterator[Item]:
    """The documents of a project, and what it is about and told Claude to do."""
    project, name = text_at(record, ("uuid",)), text_at(record, ("name",))
    about = [text_at(record, (key,)) or "" for key in ("description", "prompt_template")]
    told = "\n\n".join(text for text in about if text.strip())
    meta = {"project": name} if name else {}
    if told:
        yield Document(f"{project}", NAME, told, title=name, at=_time(record, options), meta=meta)
    docs = record.get("docs")
    for number, doc in enumerate(docs if isinstance(docs, list) else []):
        text = text_at(doc, ("content",)) if isinstance(doc, dict) else None
        if text is None or not text.strip():
            yield Skip("empty" if isinstance(doc, dict) else "damaged")
            continue
        id_ = f"{project}/{text_at(doc, ('uuid',)) or number}"
        title = text_at(doc, ("filename", "file_name"))
        yield Document(id_, NAME, text, title=title, at=_time(doc, options), meta=meta)
    if not (told or docs):
        yield Skip("empty")


def _memories(record: Mapping[str, Any], options: ReadOptions) -> Iterator[Item]:
    """What Claude remembers of the person: in general, of each project, and in files."""
    account = text_at(record, ("account_uuid",)) or "memory"
    texts = [text for key in _MEMORY_KEYS for text in _memory_texts(key, record.get(key))]
    for place, text in texts:
        yield Document(f"{account}/{place}", NAME, text, title=f"Claude: {place}", at=_time(record, options))
    if not texts:
        yield Skip("empty")


def _memory_texts(place: str, value: object) -> Iterator[tuple[str, str]]:
    """The texts of a memory, each with its place: of one, of a list of them, of an object of them."""
    if isinstance(value, (list, dict)):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in entries:
            name = text_at(entry, ("path", "name", "uuid")) if isinstance(entry, dict) else None
            text = text_at(entry, ("content", "text")) if isinstance(entry, dict) else entry
            yield from _memory_texts(f"{place}/{name or key}", text)
    elif isinstance(value, str) and value.strip():
        yield place, value


def _time(record: Mapping[str, Any], options: ReadOptions) -> Millis | None:
    return time_at(record, ("created_at", "updated_at"), tz=options.tz)
