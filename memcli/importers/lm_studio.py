"""The format "lm-studio": a conversation of LM Studio, a file each, with all the versions of its messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.content import content_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, meta_with, text_at
from memcli.importers.session import dated_from, first_words, in_pieces, mapping_at, mappings_at, objects
from memcli.importers.source import Source
from memcli.times import parse_file_time
from memcli.types import Conversation, Item, Message, Skip

NAME = "lm-studio"


def sniff(head: Head) -> bool:
    """A message of which there are versions, and one is selected; or what a cut head shows of a file."""
    return any(
        any("versions" in message for message in mappings_at(record, "messages"))
        or {"systemPrompt", "tokenCount", "messages"} <= record.keys()
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The conversation with the selected versions; messages have no times, so they are estimated."""
    return in_pieces(_items(source, options))


def _items(source: Source, options: ReadOptions) -> Iterator[Item]:
    for item in objects(source, options):
        if isinstance(item, dict):
            yield from _conversation(item, options)
        else:
            yield item


def _conversation(record: Mapping[str, Any], options: ReadOptions) -> Iterator[Item]:
    messages: list[Message] = []
    prompt = text_at(record, ("systemPrompt",)) or ""
    if prompt.strip():
        messages.append(Message("system", prompt, id="system"))
    listed = record.get("messages")
    for number, entry in enumerate(listed if isinstance(listed, list) else []):
        for found in _versions(number, entry, options):
            if isinstance(found, Message):
                messages.append(found)
            else:
                yield found
    started_at = parse_file_time(record.get("createdAt"), tz=options.tz)
    if messages:
        yield Conversation(
            None if started_at is None else f"{NAME}-{started_at}",
            NAME,
            list(dated_from(started_at, messages)),
            title=text_at(record, ("name",)) or first_words(messages),
            started_at=started_at,
        )
    elif not listed:
        yield Skip("empty-conversation")


def _versions(number: int, entry: object, options: ReadOptions) -> Iterator[Message | Skip]:
    """The selected version of a message; the others are branches that were left."""
    versions = entry.get("versions") if isinstance(entry, dict) else None
    if not isinstance(versions, list) or not versions or not isinstance(entry, dict):
        yield Skip("damaged")
        return
    selected = entry.get("currentlySelected")
    if not isinstance(selected, int) or not 0 <= selected < len(versions):
        selected = len(versions) - 1
    for place, version in enumerate(versions):
        if place == selected or options.all_branches:
            yield _message(f"{number}/{place}", version)
        else:
            yield Skip("inactive-branch")


def _message(id_: str, version: object) -> Message | Skip:
    role = ROLE_OF.get(str(version.get("role")).lower()) if isinstance(version, dict) else None
    if role is None or not isinstance(version, dict):
        return Skip("damaged")
    blocks = [version, *mappings_at(version, "steps")]
    told = [content_of(_parts(block)) for block in blocks if not _is_thought(block)]
    text = "\n\n".join(content.text for content in told if content.text.strip())
    attachments = [name for block in blocks for name in _files(block)]
    if not text.strip():
        return Skip("media" if attachments else _lack(blocks))
    model = text_at(mapping_at(version, "senderInfo"), ("senderName",))
    meta = meta_with(model=model if role == "assistant" else None, attachments=attachments)
    return Message(role, text, id=id_, meta=meta)


def _parts(block: Mapping[str, Any]) -> object:
    """The content of a block without what only marks it up: `<think>` and the like."""
    parts = block.get("content")
    if not isinstance(parts, list):
        return parts
    return [part for part in parts if not (isinstance(part, dict) and part.get("isStructural") is True)]


def _files(block: Mapping[str, Any]) -> list[str]:
    files = [part for part in mappings_at(block, "content") if part.get("type") == "file"]
    return [text_at(part, ("name", "fileIdentifier", "fileType")) or "file" for part in files]


def _is_thought(block: Mapping[str, Any]) -> bool:
    return mapping_at(block, "style").get("type") == "thinking"


def _lack(blocks: list[Mapping[str, Any]]) -> str:
    if any("tool" in str(block.get("type")).lower() for block in blocks):
        return "tool-only"
    if any(_is_thought(block) for block in blocks):
        return "thinking"
    return max(
        (content_of(block.get("content")).lack for block in blocks),
        key=("empty", "thinking", "media", "tool-only").index,
    )
