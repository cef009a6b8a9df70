"""The format "claude-code": sessions of Claude Code, and its history of prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from memcli.errors import UsageError
from memcli.importers.content import content_of, tool_text
from memcli.importers.encoding import read_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import meta_with, text_at
from memcli.importers.session import Prompts, branch_heads, folder_name, in_pieces, mapping_at, objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Conversation, Item, Message, Skip

NAME = "claude-code"

_SPEAKERS = ("user", "assistant")
_FLAGS = (
    ("isSidechain", "sidechain"),
    ("isCompactSummary", "compact-summary"),
    ("isVisibleInTranscriptOnly", "meta"),
    ("isMeta", "meta"),
    ("isApiErrorMessage", "error"),
)
# What the program puts into the person's turns, each in a tag of its own.
_INJECTED = regex(
    r"\s*<(system-reminder|command-(?:name|message|args|contents)|local-command-(?:stdout|stderr|caveat)"
    r"|bash-(?:input|stdout|stderr)|task-notification|user-prompt-submit-hook"
    r"|ide_(?:opened_file|selection|diagnostics))>"
)
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_INTERRUPTED = "[Request interrupted by user"
_COMMAND = regex(r"/[\w:-]+(?:\s|$)|!")
_PASTED = regex(r"\[Pasted text #(\d+)[^\]]*\]")
_HASH = regex(r"[0-9a-f]{8,64}")
_TITLE_KEYS = ("customTitle", "aiTitle")


def sniff(head: Head) -> bool:
    """An object is a record with its place in a session, or a prompt of the history."""
    return any(_is_record(record) or _is_prompt(record) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The sessions whole, in the order in which they begin; a fork belongs to what it was forked from."""
    transcript, prompts = _Transcript(options), Prompts()
    for record in objects(source, options):
        if not isinstance(record, dict):
            yield record
        elif _is_prompt(record):
            yield _prompt(record, prompts, source, options)
        else:
            yield from transcript.take(record)
    if not options.all_branches:
        yield from transcript.leave_branches()
    yield from in_pieces(transcript.conversations())


def _is_record(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if kind in _SPEAKERS:
        has_place = "sessionId" in record or "parentUuid" in record
        return has_place and isinstance(record.get("message"), dict)
    is_about_one = {"uuid", "parentUuid", "sessionId"} <= record.keys() or "leafUuid" in record
    return isinstance(kind, str) and (is_about_one or kind == "file-history-snapshot")


# --- the history of prompts -----------------------------------------------------------------------


def _is_prompt(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("display"), str) and ("pastedContents" in record or "project" in record)


def _prompt(record: Mapping[str, Any], prompts: Prompts, source: Source, options: ReadOptions) -> Item:
    """The person's words, with what they pasted in its place."""
    pasted = mapping_at(record, "pastedContents")
    text = record["display"]
    if not text.strip() or _COMMAND.match(text):
        return Skip("meta" if text.strip() else "empty")
    text = _PASTED.sub(lambda match: _pasted_text(mapping_at(pasted, match[1]), source) or match[0], text)
    session, project = text_at(record, ("sessionId",)), folder_name(record.get("project"))
    at = parse_file_time(record.get("timestamp"), tz=options.tz)
    message = Message("user", text, at=at, echo=prompts.echo(session, text))
    return Conversation(session, NAME, [message], project=project, is_excerpt=True)


def _pasted_text(pasted: Mapping[str, Any], source: Source) -> str | None:
    """What was pasted: longer texts lie in files of their own beside the history, until they are pruned."""
    text, name = text_at(pasted, ("content",)), text_at(pasted, ("contentHash",))
    if text is not None or name is None or not _HASH.fullmatch(name):
        return text
    kept = source.beside(f"paste-cache/{name}.txt")
    if kept is None:
        return None
    try:
        with kept:
            return read_text(kept, asked="utf-8")[0]
    except UsageError:
        return None


# --- sessions -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Session:
    """What is said of a session besides its messages."""

    project: str | None = None
    forked_from: str | None = None
    titles: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Turn:
    """A message while its file is read: an answer may grow, a line a block."""

    session: str | None
    uuid: str | None
    message: Message
    is_prompt: bool


class _Transcript:
    """The turns of a file, until its end tells which of them count."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._sessions: dict[str | None, _Session] = {}
        self._turns: list[_Turn] = []
        self._seen: set[str] = set()
        self._parents: dict[str, str | None] = {}
        self._session_of: dict[str, str | None] = {}
        self._turn_of: dict[str, int] = {}
        self._answers: dict[tuple[str | None, str], int] = {}
        self._summaries: dict[str, str] = {}
        self._prompts = Prompts()

    def take(self, record: Mapping[str, Any]) -> Iterator[Skip]:
        """Keep the turn of a record, or say why there is none."""
        session, uuid = text_at(record, ("sessionId",)), text_at(record, ("uuid",))
        first = mapping_at(record, "forkedFrom")
        known_as = text_at(first, ("messageUuid",)) or uuid
        forked_from = text_at(first, ("sessionId",))
        self._learn(record, session, forked_from)
        if known_as in self._seen:
            yield Skip("duplicate")
            return
        if uuid is not None and known_as is not None:
            self._seen.add(known_as)
            self._parents[uuid] = text_at(record, ("parentUuid", "logicalParentUuid"))
            self._session_of[uuid] = session
        message = _message_of(record, self._options)
        if isinstance(message, Skip):
            yield message
            return
        echo = None
        if message.role == "user":
            echo = self._prompts.echo(forked_from or session, message.text)
        turn = _Turn(session, uuid, replace(message, id=known_as, echo=echo), record.get("type") == "user")
        yield from self._add(turn, text_at(mapping_at(record, "message"), ("id",)))

    def _learn(self, record: Mapping[str, Any], session: str | None, forked_from: str | None) -> None:
        about = self._sessions.setdefault(session, _Session())
        about.project = about.project or folder_name(record.get("cwd"))
        about.forked_from = about.forked_from or forked_from
        about.titles |= {key: title for key in _TITLE_KEYS if (title := text_at(record, (key,)))}
        leaf, summary = text_at(record, ("leafUuid",)), text_at(record, ("summary",))
        if leaf and summary:
            self._summaries[leaf] = summary

    def _add(self, turn: _Turn, answer: str | None) -> Iterator[Skip]:
        """One answer comes in several lines: each a block of it, or all of it so far."""
        key = (turn.session, answer) if answer and turn.message.role == "assistant" else None
        at = self._answers.get(key, len(self._turns)) if key else len(self._turns)
        if key:
            self._answers[key] = at
        if turn.uuid is not None:
            self._turn_of[turn.uuid] = at
        if at == len(self._turns):
            self._turns.append(turn)
            return
        known, more = self._turns[at].message, turn.message
        is_snapshot = more.text.startswith(known.text)
        if is_snapshot or known.text.startswith(more.text):
            yield Skip("duplicate")
        if not known.text.startswith(more.text):
            text = more.text if is_snapshot else f"{known.text}\n{more.text}"
            # Known by its last line: what was imported before the answer had ended is not the same.
            self._turns[at].message = replace(known, text=text, id=more.id)

    def leave_branches(self) -> Iterator[Skip]:
        """Drop what followed a prompt that the person took back and wrote anew.

        Both hang on the same turn, and the later one leads to the session's end. A chain is often broken,
        and tools that run at once branch it: nothing else is taken for a branch.
        """
        nearest: dict[str, int | None] = dict(self._turn_of)
        parents = {
            at: self._turn_above(self._parents.get(turn.uuid) if turn.uuid else None, nearest)
            for at, turn in enumerate(self._turns)
        }
        leaves = {turn.session: at for at, turn in enumerate(self._turns)}
        heads = branch_heads(parents, leaves.values())
        answered = {above for at, above in parents.items() if at not in heads and self._turns[at].is_prompt}
        left = {
            at
            for at, head in heads.items()
            if head is not None and self._turns[head].is_prompt and parents[head] in answered
        }
        self._turns = [turn for at, turn in enumerate(self._turns) if at not in left]
        if left:
            yield Skip("inactive-branch", len(left))

    def _turn_above(self, uuid: str | None, nearest: dict[str, int | None]) -> int | None:
        """The next turn up the chain; `nearest` remembers it for each record on the way."""
        trail: list[str] = []
        while uuid is not None and uuid not in nearest and uuid in self._parents:
            nearest[uuid] = None  # where a circle ends
            trail.append(uuid)
            uuid = self._parents[uuid]
        found = nearest.get(uuid) if uuid is not None else None
        nearest.update(dict.fromkeys(trail, found))
        return found

    def conversations(self) -> Iterator[Conversation]:
        """The sessions that have turns; the turns of a fork are its origin's."""
        messages: dict[str | None, list[Message]] = {}
        projects: dict[str | None, str | None] = {}
        for turn in self._turns:
            origin = self._origin(turn.session)
            messages.setdefault(origin, []).append(turn.message)
            projects.setdefault(origin, self._sessions[turn.session].project)
        titles = self._titles()
        for origin, said in messages.items():
            yield Conversation(origin, NAME, said, title=titles.get(origin), project=projects[origin])

    def _origin(self, session: str | None) -> str | None:
        """What the session was forked from, if need be over several forks."""
        passed: set[str | None] = set()
        while session not in passed and session in self._sessions and self._sessions[session].forked_from:
            passed.add(session)
            session = self._sessions[session].forked_from
        return session

    def _titles(self) -> dict[str | None, str]:
        # Summaries of other files' sessions stand here too: only a leaf that is here tells whose it is.
        titles = {
            self._origin(self._session_of[leaf]): summary
            for leaf, summary in self._summaries.items()
            if leaf in self._session_of
        }
        for session, about in self._sessions.items():
            title = next((about.titles[key] for key in _TITLE_KEYS if key in about.titles), None)
            if title:
                titles[self._origin(session)] = title
        return titles


# --- one record -----------------------------------------------------------------------------------


def _message_of(record: Mapping[str, Any], options: ReadOptions) -> Message | Skip:
    """The message of a record, or why it holds none."""
    reason = next((reason for flag, reason in _FLAGS if record.get(flag) is True), None)
    role, said = _said(record)
    if reason or role is None:
        return Skip(reason or "event")
    content = content_of(_without_injected(said) if role == "user" else said)
    message, text = mapping_at(record, "message"), content.text
    if not text.strip():
        tools = tool_text({"content": said}) if options.include_tools else ""
        if not tools:
            has_words = content.lack == "empty" and content_of(said).text.strip()
            return Skip("meta" if has_words else content.lack)
        role, text = "tool", tools
    if text.startswith(_INTERRUPTED) or message.get("model") == "<synthetic>":
        return Skip("meta" if role == "user" else "error")
    meta = meta_with(model=text_at(message, ("model",)), attachments=content.attachments)
    return Message(role, text, at=parse_file_time(record.get("timestamp"), tz=options.tz), meta=meta)


def _said(record: Mapping[str, Any]) -> tuple[str | None, object]:
    """Who speaks, and the content; None for what is no turn."""
    kind = record.get("type")
    if kind in _SPEAKERS:
        return kind, mapping_at(record, "message").get("content")
    waiting = mapping_at(record, "attachment")
    if kind == "attachment" and waiting.get("type") == "queued_command":
        return "user", waiting.get("prompt")
    return None, None


def _without_injected(said: object) -> object:
    """A person's content without what the program put before and after their words."""
    if isinstance(said, str):
        return _own_words(said)
    if not isinstance(said, list):
        return said
    return [
        {**block, "text": _own_words(block["text"])}
        if isinstance(block, dict) and isinstance(block.get("text"), str)
        else block
        for block in said
    ]


def _own_words(text: str) -> str:
    start, end = 0, len(text)
    while match := _INJECTED.match(text, start):
        close = f"</{match[1]}>"
        at = text.find(close, match.end())
        start = at + len(close) if at >= 0 else end
    while (stripped := text[start:end].rstrip()).endswith(_REMINDER_END) and _REMINDER in stripped:
        end = start + stripped.rindex(_REMINDER)
    is_whole = start == 0 and end == len(text)
    return text if is_whole else text[start:end].strip()
