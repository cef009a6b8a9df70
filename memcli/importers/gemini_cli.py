"""The format "gemini-cli": sessions of Gemini CLI, its log of prompts, and its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from memcli.importers.content import Content, tool_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import meta_with, text_at
from memcli.importers.session import Prompts, in_pieces, mapping_at, objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Conversation, Item, Message, Millis, Skip

NAME = "gemini-cli"

_ROLES = {"user": "user", "gemini": "assistant", "model": "assistant"}
_ASIDES = ("info", "warning", "error")

_HASH = regex("[0-9a-f]{64}")

# What the program says in the person's place, and the answer to it.
_CONTEXT, _CONTEXT_END = "<session_context>", "</session_context>"
_INJECTED = (
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "Got it. Thanks for the context!",
)


def sniff(head: Head) -> bool:
    """An object is a session's, a message or a command of its log, a logged prompt, or a checkpoint."""
    return any(_is_session(r) or _is_step(r) or _is_prompt(r) or _is_turn(r) for r in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The sessions as they are at the end: messages as last written, without what was taken back."""
    replay, prompts = _Replay(options, _project_of(source.key)), Prompts()
    for record in objects(source, options):
        if not isinstance(record, dict):
            yield record
        elif _is_prompt(record):
            yield _prompt(record, prompts, options)
        else:
            if replay.is_over(record):
                yield from replay.end()
                replay = _Replay(options, replay.project)
            yield from replay.take(record)
    yield from replay.end()


def _is_session(record: Mapping[str, Any]) -> bool:
    return "sessionId" in record and ("projectHash" in record or "startTime" in record)


def _is_step(record: Mapping[str, Any]) -> bool:
    return (
        "$set" in record or "$rewindTo" in record or (record.get("type") == "gemini" and "content" in record)
    )


def _is_prompt(record: Mapping[str, Any]) -> bool:
    return record.keys() >= {"sessionId", "messageId", "message"}


def _is_turn(record: Mapping[str, Any]) -> bool:
    if isinstance(record.get("history"), list):
        return any(isinstance(turn, dict) and _is_turn(turn) for turn in record["history"])
    return record.get("role") in ("user", "model") and isinstance(record.get("parts"), list)


def _prompt(record: Mapping[str, Any], prompts: Prompts, options: ReadOptions) -> Item:
    """An entry of `logs.json`: the person's words alone."""
    text, id_ = record["message"], text_at(record, ("messageId",))
    if not isinstance(text, str) or not text.strip():
        return Skip("empty")
    if text.startswith("/") or record.get("type", "user") != "user":
        return Skip("meta")
    session = text_at(record, ("sessionId",))
    at = parse_file_time(record.get("timestamp"), tz=options.tz)
    message = Message("user", text, at=at, id=id_, echo=prompts.echo(session, text))
    return Conversation(session, NAME, [message], is_excerpt=True)


@dataclass(slots=True)
class _Replay:
    """A session as its log has made it so far; `entries` are its messages, and why others are none."""

    options: ReadOptions
    project: str | None
    id: str | None = None
    title: str | None = None
    started_at: Millis | None = None
    is_sidechain: bool = False
    entries: dict[str, Message | Skip] = field(default_factory=dict)
    unnamed: int = 0
    prompts: Prompts = field(default_factory=Prompts)
    echoes: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """Of each prompt, by its name and its text: it may be written down again."""

    def is_over(self, record: Mapping[str, Any]) -> bool:
        """Whether the record begins another session."""
        return _is_session(record) and self.id is not None and text_at(record, ("sessionId",)) != self.id

    def take(self, record: Mapping[str, Any]) -> Iterator[Skip]:
        """Carry out one line of the log."""
        if "$rewindTo" in record:
            yield Skip("event")
            yield from self._rewind(text_at(record, ("$rewindTo",)))
        elif "$set" in record or _is_session(record):
            yield Skip("event")
            about = mapping_at(record, "$set") if "$set" in record else record
            self._learn(about)
            if isinstance(about.get("messages"), list):
                yield from self._rebuild(about["messages"])
        elif isinstance(record.get("history"), list):
            for turn in record["history"]:
                yield from self._put(turn)
        else:
            yield from self._put(record)

    def _learn(self, about: Mapping[str, Any]) -> None:
        self.id = text_at(about, ("sessionId",)) or self.id
        self.title = text_at(about, ("summary",)) or self.title
        start = parse_file_time(about.get("startTime"), tz=self.options.tz)
        self.started_at = self.started_at if start is None else start
        self.is_sidechain = self.is_sidechain or about.get("kind") == "subagent"

    def _put(self, record: object) -> Iterator[Skip]:
        """A message, in the place of the one with its id if there is one."""
        if not isinstance(record, dict):
            yield Skip("empty")
            return
        message = _message_of(record, self.options)
        if not isinstance(message, Skip) and self.is_sidechain:
            message = Skip("sidechain")
        id_ = text_at(record, ("id",))
        if id_ is None:
            self.unnamed += 1
        name = id_ or f" {self.unnamed}"  # no id of theirs begins so
        if name in self.entries:
            yield _gone(self.entries[name], "replaced")
        self.entries[name] = self._echoing(name, message)

    def _echoing(self, name: str, message: Message | Skip) -> Message | Skip:
        if isinstance(message, Skip) or message.role != "user":
            return message
        key = (name, message.text)
        if key not in self.echoes:
            self.echoes[key] = self.prompts.echo(self.id, message.text)
        return replace(message, echo=self.echoes[key])

    def _rewind(self, target: str | None) -> Iterator[Skip]:
        """Take back a message and all after it; all there are when there is no such message."""
        names = list(self.entries)
        for name in names[names.index(target) :] if target in self.entries else names:
            yield _gone(self.entries.pop(name), "rewound")

    def _rebuild(self, messages: list[Any]) -> Iterator[Skip]:
        before, self.entries = self.entries, {}
        for message in messages:
            yield from self._put(message)
        for name, entry in before.items():
            yield _gone(entry, "replaced" if name in self.entries else "rewound")

    def end(self) -> Iterator[Item]:
        """What is left of the session."""
        messages = [entry for entry in self.entries.values() if isinstance(entry, Message)]
        yield from (entry for entry in self.entries.values() if isinstance(entry, Skip))
        yield from in_pieces(
            [Conversation(self.id, NAME, messages, self.title, self.started_at, self.project)]
        )


def _gone(entry: Message | Skip, reason: str) -> Skip:
    return entry if isinstance(entry, Skip) else Skip(reason)


# --- one message ----------------------------------------------------------------------------------


def _message_of(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    """The message of a record, or why it holds none."""
    kind = text_at(record, ("type", "role"))
    if kind not in _ROLES:
        return Skip(kind if kind in _ASIDES else "event")
    role = _ROLES[kind]
    content = _content_of(record.get("displayContent"))
    if not content.text.strip():
        content = _content_of(record.get("content", record.get("parts")))
    text = content.text
    if not text.strip():
        tools = _tools_of(record)
        if not (tools and options.include_tools):
            thoughts = "thinking" if record.get("thoughts") else content.lack
            return Skip("tool-only" if tools or record.get("toolCalls") else thoughts)
        role, text = "tool", tools
    text = text.partition(_CONTEXT_END)[2].strip() if text.lstrip().startswith(_CONTEXT) else text
    if not text or text.startswith(_INJECTED):
        return Skip("context")
    meta = meta_with(model=text_at(record, ("model",)), attachments=content.attachments)
    at = parse_file_time(record.get("timestamp"), tz=options.tz)
    return Message(role, text, at=at, id=text_at(record, ("id",)), meta=meta)


def _content_of(content: object) -> Content:
    """The text of a string, a part or a list of parts. A text is cut into parts anywhere."""
    texts: list[str] = []
    attachments: list[str] = []
    lack = "empty"
    for part in content if isinstance(content, list) else [content]:
        media = _media_name(part)
        if isinstance(part, str):
            texts.append(part)
        elif media:
            attachments.append(media)
            lack = "media"
        elif isinstance(part, dict) and part.get("thought") is True:
            lack = max(lack, "thinking", key=("empty", "thinking", "media").index)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
    return Content("".join(texts), tuple(attachments), lack)


def _media_name(part: object) -> str | None:
    """What a part that is a file is called, at least its type; never its data."""
    holder = part if isinstance(part, dict) else {}
    file = mapping_at(holder, "inlineData") or mapping_at(holder, "fileData")
    return text_at(file, ("displayName", "fileUri", "mimeType")) or ("file" if file else None)


def _tools_of(record: Mapping[str, Any]) -> str:
    """What tools were asked and answered, a line each."""
    content = record.get("content", record.get("parts"))
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    asked = [part["functionCall"] for part in parts if "functionCall" in part]
    answers = [mapping_at(part, "functionResponse") for part in parts]
    answered = [{"name": answer.get("name"), "args": answer.get("response")} for answer in answers if answer]
    return tool_text({"tool_calls": record.get("toolCalls"), "content": asked + answered})


def _project_of(path: str | None) -> str | None:
    """The project's name, which newer versions give the folder of its sessions, older ones a hash."""
    parts = PurePath(path or "").parts
    for at, part in enumerate(parts[:-2]):
        if part == ".gemini" and parts[at + 1] == "tmp":
            return None if _HASH.fullmatch(parts[at + 2]) else parts[at + 2]
    return None
