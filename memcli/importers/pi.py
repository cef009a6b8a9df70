"""The format "session-jsonl": a header, then a tree of entries, as Pi and llama.cpp's web page write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memcli.importers.content import content_of, tool_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, meta_with, text_at
from memcli.importers.session import folder_name, in_pieces, mapping_at, objects
from memcli.importers.source import Source
from memcli.importers.tree import in_tree_order
from memcli.times import parse_file_time
from memcli.types import Conversation, Item, Message, Millis, Skip

NAME = "session-jsonl"

_ENTRY_REASONS = {"compaction": "compact-summary", "branch_summary": "compact-summary"}
_ENDING = ".jsonl"
_TOOL_ROLES = ("tool", "toolResult", "bashExecution")


def sniff(head: Head) -> bool:
    """An object is a session's header, beside entries or alone."""
    return any(_is_header(record) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Each session along its active branch."""
    session = _Session(options)
    for record in objects(source, options):
        if not isinstance(record, dict):
            yield record
            continue
        if _is_header(record):
            if session.entries:
                yield from session.end()
                session = _Session(options)
            session.begin(record)
            yield Skip("event")
        else:
            session.take(record)
    yield from session.end()


def _is_header(record: Mapping[str, Any]) -> bool:
    is_one = not record.keys().isdisjoint(("harness", "version", "cwd", "currNode"))
    return record.get("type") == "session" and "id" in record and is_one


@dataclass(slots=True)
class _Session:
    """A session while it is read: its entries by id, each its message or why it holds none."""

    options: ReadOptions
    id: str | None = None
    source: str = "pi"
    title: str | None = None
    project: str | None = None
    started_at: Millis | None = None
    leaf: str | None = None
    entries: dict[str, tuple[Message | Skip, Millis | None]] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    repeats: int = 0

    def begin(self, header: Mapping[str, Any]) -> None:
        """Take what the header says. A fork names the file of what it was forked from."""
        origin = folder_name(header.get("parentSession"))
        if origin is not None and origin.endswith(_ENDING):
            origin = origin.removesuffix(_ENDING).rpartition("_")[2]
        self.id = origin or text_at(header, ("id",))
        self.source = "llama-cpp" if "harness" in header else "pi"
        self.title = text_at(header, ("name",))
        self.project = folder_name(header.get("cwd"))
        self.started_at = parse_file_time(header.get("timestamp"), tz=self.options.tz)
        self.leaf = text_at(header, ("currNode",))

    def take(self, record: Mapping[str, Any]) -> None:
        """Keep an entry in its place in the tree."""
        inner = mapping_at(record, "message")
        place = {**inner, **record}
        id_ = text_at(place, ("id",)) or f" {len(self.entries)}"  # no id of theirs begins so
        if id_ in self.entries:
            self.repeats += 1
            return
        at = parse_file_time(place.get("timestamp"), tz=self.options.tz)
        self.entries[id_] = _message_of(record, inner, id_.strip(), at, self.options), at
        self.parents[id_] = text_at(place, ("parentId", "parent"))
        if record.get("type") == "session_info":
            self.title = text_at(record, ("name",)) or self.title

    def end(self) -> Iterator[Item]:
        """The messages of the active branch, and what was left out."""
        in_order = in_tree_order(self.parents, current=self.leaf, at=lambda id_: self.entries[id_][1])
        messages: list[Message] = []
        for id_, is_active in in_order.items():
            entry, _ = self.entries[id_]
            if isinstance(entry, Skip):
                yield entry
            elif is_active or self.options.all_branches:
                messages.append(entry)
            else:
                yield Skip("inactive-branch")
        if self.repeats:
            yield Skip("duplicate", self.repeats)
        yield from in_pieces(
            [Conversation(self.id, self.source, messages, self.title, self.started_at, self.project)]
        )


def _message_of(
    record: Mapping[str, Any], inner: Mapping[str, Any], id_: str, at: Millis | None, options: ReadOptions
) -> Message | Skip:
    """The message of an entry, or why it holds none."""
    kind = text_at(record, ("type",)) or ""
    if kind != "message":
        return Skip(_ENTRY_REASONS.get(kind, "event"))
    word = text_at(inner, ("role",)) or ""
    role = "tool" if word in _TOOL_ROLES else ROLE_OF.get(word)
    content = content_of(inner.get("content"))
    text = content.text
    if role is None:
        return Skip("event")
    if role == "tool" and not options.include_tools:
        return Skip("tool")
    if not text.strip():
        text, role = tool_text(_with_calls(inner)), "tool"
        if not (text and options.include_tools):
            return Skip("tool-only" if text else content.lack)
    names = [*content.attachments, *_extra_names(inner)]
    meta = meta_with(model=text_at(inner, ("model",)), attachments=names)
    return Message(role, text, at=at, id=id_ or None, meta=meta)


def _with_calls(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with its calls where they are looked for; llama.cpp keeps them as JSON in a string."""
    calls = message.get("toolCalls")
    if isinstance(calls, str):
        from memcli.importers.records import parse_line

        calls = next(iter(parse_line(calls)[0]), None)
    return {"tool_calls": calls, "content": message.get("content")}


def _extra_names(message: Mapping[str, Any]) -> list[str]:
    """What was attached to a message of llama.cpp's."""
    extra = message.get("extra")
    listed = [item for item in extra if isinstance(item, dict)] if isinstance(extra, list) else []
    return [name for item in listed if (name := text_at(item, ("name", "type")))]
