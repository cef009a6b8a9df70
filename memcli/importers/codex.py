"""The format "codex": rollouts of Codex, old and new, and its history of prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from memcli.errors import UsageError
from memcli.importers.content import content_of, tool_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import meta_with, text_at
from memcli.importers.session import Prompts, dated_from, folder_name, in_pieces, objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Conversation, Item, Message, Millis, Skip

NAME = "codex"

_LINE_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_PROMPT_KEYS = {"session_id", "ts", "text"}
_INDEX, _INDEX_KEYS = "session_index.jsonl", ("id", "thread_name")
_HOMES = ("../", "../../../../")
"""The program's home as seen from a rollout: of archived and old ones, of those in folders by date."""
_EVENT_ROLES = {"user_message": "user", "agent_message": "assistant"}

# Why what is no message is left out; everything else is an event.
_REASONS = {
    "compacted": "compact-summary",
    "compaction": "compact-summary",
    "reasoning": "thinking",
    "agent_reasoning": "thinking",
    "agent_reasoning_raw_content": "thinking",
    "error": "error",
    "stream_error": "error",
}
_FORK_MS = 2_000
"""A fork writes down all that it was forked from as it begins, in less than this."""

_COPY_MS, _COPY_TURNS = 60_000, 50
"""The two layers write the same message down so soon after each other, in time and in turns."""

# What the program puts into the person's turns, each as a text part of its own.
_INJECTED = regex(
    r"\s*(?:# AGENTS\.md instructions|</?image\b[^>]*>\s*\Z"
    r"|<(?:environment_context|user_instructions|recommended_plugins|user_shell_command|goal_context|goal"
    r"|turn_aborted|permissions|permissions instructions|collaboration_mode|model_switch|personality_spec"
    r"|apps_instructions|skills_instructions|skill|subagent_notification|INSTRUCTIONS)>)"
)
_SUMMARY = "Another language model started to solve this problem"
_EDITOR = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_REQUEST = "## My request for Codex:"


def sniff(head: Head) -> bool:
    """A line in its envelope, an old rollout's session with its items, or a prompt of the history."""
    return any(map(_is_known, head.objects)) or _is_bare(head)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The sessions whole; a fork belongs to what it was forked from.

    A message has no id of its own. It is known by what was said in its session up to it, which is the
    same in a fork and in what it was forked from.
    """
    titles = _titles_of(source)
    session, prompts = _Session(options, titles), Prompts()
    for record in objects(source, options):
        if not isinstance(record, dict):
            yield record
        elif record.keys() >= _PROMPT_KEYS:
            yield _prompt(record, prompts, options)
        else:
            for line in _lines_of(record, options):
                if session.is_over(line):
                    yield from in_pieces(session.conversations())
                    session = _Session(options, titles)
                yield from session.take(line)
    yield from in_pieces(session.conversations())


def _is_known(record: Mapping[str, Any]) -> bool:
    if record.get("type") in _LINE_TYPES:
        return isinstance(record.get("payload"), dict)
    is_whole = isinstance(record.get("session"), dict) and isinstance(record.get("items"), list)
    return is_whole or record.keys() >= _PROMPT_KEYS or record.keys() >= {"id", "thread_name", "updated_at"}


def _is_bare(head: Head) -> bool:
    """Whether it is an old rollout: what the session is, then its items, in no envelope."""
    first, *rest = head.objects or ({},)
    is_meta = {"id", "timestamp"} <= first.keys() and not {"type", "role", "content"} & first.keys()
    has_items = any(item.get("type") == "message" or "record_type" in item for item in rest)
    return is_meta and (has_items or "instructions" in first)


def _prompt(record: Mapping[str, Any], prompts: Prompts, options: ReadOptions) -> Item:
    """A line of the history: the person's words alone."""
    text = record["text"]
    if not isinstance(text, str) or not text.strip():
        return Skip("empty")
    session = text_at(record, ("session_id",))
    at = parse_file_time(record["ts"], tz=options.tz)
    message = Message("user", text, at=at, echo=prompts.echo(session, text))
    return Conversation(session, NAME, [message], is_excerpt=True)


# --- titles ----------------------------------------------------------------------------------------


def _titles_of(source: Source) -> Mapping[str, str]:
    """The names of sessions, from the index in the program's home: above the folders of the rollouts."""
    for place in _HOMES:
        index = source.beside(f"{place}{_INDEX}")
        if index is not None:
            return _listed(_Index(index.key, index.mtime_ms, index.size, index))
    return {}


@dataclass(frozen=True, slots=True)
class _Index:
    """The index as it lies there; equal to another when it is the same file, unchanged."""

    key: str | None
    mtime_ms: int | None
    size: int | None
    source: Source = field(compare=False)


@lru_cache(maxsize=1)  # there are thousands of rollouts, and one index
def _listed(index: _Index) -> Mapping[str, str]:
    titles: dict[str, str] = {}
    try:
        with index.source as source:
            for row in objects(source, ReadOptions()):
                id_, name = (text_at(row, (key,)) if isinstance(row, dict) else None for key in _INDEX_KEYS)
                titles |= {id_: name.strip()} if id_ and name and name.strip() else {}  # the last one counts
    except UsageError:  # without it the sessions have no names
        return titles
    return titles


# --- lines ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a rollout: its type, what it holds, and when it was written."""

    kind: str
    payload: Mapping[str, Any]
    at: Millis | None

    @property
    def type(self) -> str:
        """What it holds, by the payload's own word."""
        return text_at(self.payload, ("type",)) or self.kind


def _lines_of(record: Mapping[str, Any], options: ReadOptions) -> Iterator[_Line]:
    """What a record is in the present form: of the oldest one it is a whole rollout."""
    at = parse_file_time(record.get("timestamp"), tz=options.tz)
    if isinstance(record.get("session"), dict) and isinstance(record.get("items"), list):
        yield _Line("session_meta", record["session"], at)
        for item in record["items"]:
            yield from _lines_of(item, options) if isinstance(item, dict) else (_Line("", {}, None),)
    elif isinstance(record.get("payload"), dict):
        yield _Line(text_at(record, ("type",)) or "", record["payload"], at)
    elif "type" in record or "role" in record:
        yield _Line("response_item", record, at)
    else:
        yield _Line("session_meta" if "id" in record else "", record, at)


# --- sessions -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Turn:
    """A message while its file is read; `kind` is the layer that it was first found in."""

    message: Message
    kind: str
    is_paired: bool = False


@dataclass(slots=True)
class _Session:
    """What is read of a session so far. Its first meta line owns it; those of its origins follow."""

    options: ReadOptions
    titles: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    started_at: Millis | None = None
    project: str | None = None
    model: str | None = None
    is_sidechain: bool = False
    turns: list[_Turn] = field(default_factory=list)
    forked_from: dict[str, str | None] = field(default_factory=dict)
    prompts: Prompts = field(default_factory=Prompts)

    def is_over(self, line: _Line) -> bool:
        """Whether the line begins another session than this one and what it was forked from."""
        if line.kind != "session_meta" or not self.turns:
            return False
        id_ = text_at(line.payload, ("id",))
        return id_ is not None and id_ not in self.forked_from and id_ not in self.forked_from.values()

    def take(self, line: _Line) -> Iterator[Skip]:
        """Keep the message of a line, or say why there is none."""
        if line.type == "thread_rolled_back":
            yield from self._rewind(line.payload.get("num_turns"))
        if line.kind == "session_meta":
            self._begin(line)
        elif line.kind == "turn_context":
            self.project = self.project or folder_name(line.payload.get("cwd"))
            self.model = text_at(line.payload, ("model",)) or self.model
        message = _message_of(line, self.options)
        if not isinstance(message, Skip) and self.is_sidechain:
            message = Skip("sidechain")
        if isinstance(message, Skip):
            yield message
        elif self._is_copy(message, line.kind):
            yield Skip("duplicate")
        else:
            meta = {"model": self.model} if self.model and message.role == "assistant" else {}
            echo = self._echo(message) if message.role == "user" else None
            self.turns.append(_Turn(replace(message, meta={**meta, **message.meta}, echo=echo), line.kind))

    def _echo(self, message: Message) -> str | None:
        """What tells the prompt in the history too: there it stands under the session it was typed in."""
        typed_in, origin = self.id, self.forked_from.get(self.id or "")
        if origin is not None and (message.at or 0) < (self.started_at or 0) + _FORK_MS:
            typed_in = origin
        return self.prompts.echo(typed_in, message.text)

    def _begin(self, line: _Line) -> None:
        meta = line.payload
        id_, origin = text_at(meta, ("id",)), text_at(meta, ("forked_from_id",))
        if not self.forked_from:
            self.id = id_
            self.started_at = parse_file_time(meta.get("timestamp"), tz=self.options.tz) or line.at
            self.project = folder_name(meta.get("cwd"))
            maker = meta.get("source")
            self.is_sidechain = meta.get("thread_source") == "subagent" or (
                isinstance(maker, (dict, str)) and "subagent" in maker
            )
        if id_ is not None:
            self.forked_from.setdefault(id_, origin)

    def _rewind(self, count: object) -> Iterator[Skip]:
        """The person went so many of their turns back: what was said since is taken back."""
        prompts = [at for at, turn in enumerate(self.turns) if turn.message.role == "user"]
        if isinstance(count, int) and count > 0 and prompts:
            cut = prompts[-min(count, len(prompts))]
            yield Skip("rewound", len(self.turns) - cut)
            del self.turns[cut:]

    def _is_copy(self, message: Message, kind: str) -> bool:
        """Whether the other layer has just said the same; each copy has one original."""
        for turn in reversed(self.turns[-_COPY_TURNS:]):
            known = turn.message
            if known.role != message.role:
                return False
            is_near = abs((known.at or 0) - (message.at or 0)) <= _COPY_MS
            if turn.kind != kind and not turn.is_paired and is_near and _bare(known) == _bare(message):
                turn.is_paired = True
                turn.message = replace(known, meta={**message.meta, **known.meta})
                return True
        return False

    def conversations(self) -> Iterator[Conversation]:
        """The session, if anything was said in it."""
        origin, passed = self.id, set[str | None]()
        while origin not in passed and origin is not None and self.forked_from.get(origin):
            passed.add(origin)
            origin = self.forked_from[origin]
        said = list(_numbered(dated_from(self.started_at, (turn.message for turn in self.turns))))
        title = self.titles.get(origin or "") or self.titles.get(self.id or "")
        yield Conversation(origin, NAME, said, title, started_at=self.started_at, project=self.project)


def _numbered(messages: Iterator[Message]) -> Iterator[Message]:
    """The messages, each with an id made of what was said up to it."""
    digest = hashlib.sha256()
    for message in messages:
        if message.role != "tool":
            digest.update(f"{message.role}\0{message.text}\0".encode())
        yield message if message.role == "tool" else replace(message, id=digest.hexdigest()[:16])


def _bare(message: Message) -> str:
    return message.text.strip()


# --- one line -------------------------------------------------------------------------------------


def _message_of(line: _Line, options: ReadOptions) -> Message | Skip:
    """The message of a line, or why it holds none."""
    if line.kind == "event_msg" and line.type in _EVENT_ROLES:
        return _message(_EVENT_ROLES[line.type], line.payload.get("message"), line.at)
    if line.kind == "response_item" and line.type in ("message", "response_item"):
        role = text_at(line.payload, ("role",)) or ""
        if role in ("developer", "system"):
            return Skip("context")
        return _message(role, line.payload.get("content"), line.at)
    reason = _REASONS.get(line.type, "event")
    if line.kind == "response_item" and line.type.endswith(("_call", "_output")):
        reason = "tool" if line.type.endswith("_output") else "tool-call"
        tools = tool_text({"content": [{**line.payload, "content": line.payload.get("output")}]})
        if options.include_tools and tools:
            return Message("tool", tools, at=line.at)
    return Skip(reason)


def _message(role: str, content: object, at: Millis | None) -> Message | Skip:
    if role not in ("user", "assistant"):
        return Skip("event")
    parts = content if isinstance(content, list) else [content]
    own = content_of([part for part in parts if role != "user" or not _is_injected(part)])
    text = own.text
    if not text.strip():
        return Skip("context" if any(map(_is_injected, parts)) and own.lack == "empty" else own.lack)
    if text.startswith(_SUMMARY):
        return Skip("compact-summary")
    if text.startswith(_EDITOR) and _REQUEST in text:
        text = text.partition(_REQUEST)[2].strip()
    meta = meta_with(attachments=own.attachments)
    return Message(role, text, at=at, meta=meta) if text else Skip("context")


def _is_injected(part: object) -> bool:
    """Whether a part is what the program tells the model, not what the person said."""
    text = content_of(part).text if isinstance(part, (str, dict)) else ""
    return bool(_INJECTED.match(text))
