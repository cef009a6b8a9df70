"""The format "llm": what the tool `llm` logs: its database of either generation, or `llm logs --json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from memcli.importers.chats import in_chats
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, Said, meta_with, text_at
from memcli.importers.session import mappings_at, object_in, objects
from memcli.importers.source import Source
from memcli.text import clean
from memcli.times import parse_file_time
from memcli.types import Item, Message, Millis, Skip

if TYPE_CHECKING:
    import sqlite3

NAME = "llm"

_RESPONSE_TABLES = ("responses", "logs", "log")
"""Where the old generation keeps what was asked and answered: the first of these that there is."""

_RESPONSE_COLUMNS = (
    "id",
    "conversation_id",
    "model",
    "system",
    "prompt",
    "response",
    "datetime_utc",
    "duration_ms",
)
_LISTED_KEYS = {"conversation_id", "datetime_utc", "prompt", "response"}
_OLD_NAMES = {"conversation_id": "chat_id", "datetime_utc": "timestamp"}
"""What columns were called in the first versions."""

Row = Mapping[str, Any]
Rows = Callable[..., Iterator[Row]]


def sniff(head: Head) -> bool:
    """The tables of either generation, or an answer of `llm logs --json`."""
    if any(record.keys() >= _LISTED_KEYS for record in head.objects):
        return True
    tables = head.tables
    is_new = all(name in tables for name in ("turns", "threads", "parts"))
    return is_new or any(
        {"prompt", "response", "model"} <= tables.get(name, set()) for name in _RESPONSE_TABLES
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The conversations of both; a forked thread belongs to the one that it was forked from."""
    titles: dict[str | None, str | None] = {}
    told = _messages if source.kind == "sqlite" else _listed
    return in_chats(told(source, titles, options), source=NAME, titles=titles)


def _messages(
    source: Source, titles: dict[str | None, str | None], options: ReadOptions
) -> Iterator[Said | Item]:
    with source.database() as database:
        rows = partial(_rows, database)
        titles |= {row["id"]: row["name"] for row in rows("conversations", ("id", "name"))}
        titles |= {row["id"]: row["name"] for row in rows("threads", ("id", "name"))}
        yield from _of_responses(rows, options)
        yield from _of_threads(rows, options)


def _rows(
    database: sqlite3.Connection, table: str, columns: Sequence[str], *, order: str = "rowid"
) -> Iterator[Row]:
    """The rows of a table, none if it is not there; a column that it does not have is None.

    `table`, `columns` and `order` are names written in this module.
    """
    known = {name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    if not known:
        return
    picked = [name if name in known else _OLD_NAMES.get(name, name) for name in columns]
    listed = ", ".join(f'"{name}"' if name in known else "NULL" for name in picked)
    for values in database.execute(f'SELECT {listed} FROM "{table}" ORDER BY {order}'):
        yield {
            name: clean(value) if isinstance(value, str) else value
            for name, value in zip(columns, values, strict=True)
        }


# --- responses: a row has a question and its answer -----------------------------------------------


def _listed(
    source: Source, titles: dict[str | None, str | None], options: ReadOptions
) -> Iterator[Said | Item]:
    """What `llm logs --json` printed: the same rows, with what belongs to them inside."""
    systems: dict[str, str] = {}
    for item in objects(source, options):
        if not isinstance(item, dict):
            yield item
            continue
        row = {name: item.get(name) for name in _RESPONSE_COLUMNS}
        if name := text_at(item, ("conversation_name",)):
            titles[str(row["conversation_id"] or row["id"])] = name
        texts, kinds = mappings_at, ("prompt_fragments", "system_fragments")
        asked, told = ([str(part.get("content") or "") for part in texts(item, kind)] for kind in kinds)
        files = [
            text_at(file, ("path", "url", "type")) or "file" for file in mappings_at(item, "attachments")
        ]
        tools = ({row["id"]} if item.get(key) else set() for key in ("tool_calls", "tool_results"))
        beside = _Beside({row["id"]: asked}, {row["id"]: told}, {row["id"]: files}, *tools)
        yield from _exchange(row, beside, systems, options)


def _of_responses(rows: Rows, options: ReadOptions) -> Iterator[Said | Item]:
    turns = {row["id"] for row in rows("turns", ("id",))}
    beside = _Beside.of(rows)
    systems: dict[str, str] = {}
    for table in _RESPONSE_TABLES:
        for row in rows(table, _RESPONSE_COLUMNS):
            if row["id"] in turns:  # some versions wrote both generations
                yield Skip("duplicate")
            else:
                yield from _exchange(row, beside, systems, options)


def _exchange(
    row: Row, beside: _Beside, systems: dict[str, str], options: ReadOptions
) -> Iterator[Said | Item]:
    """A question and its answer; before them what the model was told to be, where that is new."""
    session = str(row["conversation_id"] or row["id"])
    at = _time(row["datetime_utc"], options)
    system = _joined([*beside.told_with.get(row["id"], []), row["system"]])
    if system and systems.get(session) != system:
        systems[session] = system
        yield session, Message("system", system, at=at, id=f"{row['id']}/system")
    for message in (_question(row, at, beside), _answer(row, at, beside)):
        yield message if isinstance(message, Skip) else (session, message)


@dataclass(frozen=True, slots=True)
class _Beside:
    """What the other tables say of responses, by their ids."""

    asked_with: Mapping[Any, list[str]]
    told_with: Mapping[Any, list[str]]
    attached: Mapping[Any, list[str]]
    with_calls: set[Any]
    with_results: set[Any]

    @classmethod
    def of(cls, rows: Rows) -> _Beside:
        """All that there is."""
        return cls(
            _fragments_of(rows, "prompt_fragments"),
            _fragments_of(rows, "system_fragments"),
            _attachments_of(rows, "prompt_attachments", "response_id"),
            {row["response_id"] for row in rows("tool_calls", ("response_id",))},
            {row["response_id"] for row in rows("tool_results", ("response_id",))},
        )


def _question(row: Row, at: Millis | None, beside: _Beside) -> Message | Skip:
    text = _joined([*beside.asked_with.get(row["id"], []), row["prompt"]])
    files = beside.attached.get(row["id"], [])
    if not text:
        return Skip("media" if files else "tool-only" if row["id"] in beside.with_results else "empty")
    meta = meta_with(attachments=files)
    return Message("user", text, at=at, id=f"{row['id']}/prompt", meta=meta)


def _answer(row: Row, at: Millis | None, beside: _Beside) -> Message | Skip:
    text = _joined([row["response"]])
    if not text:
        return Skip("tool-only" if row["id"] in beside.with_calls else "empty")
    end = _end(at, row["duration_ms"])
    meta = meta_with(model=row["model"])
    return Message("assistant", text, at=end, id=f"{row['id']}/response", meta=meta)


def _fragments_of(rows: Rows, table: str) -> dict[Any, list[str]]:
    """The texts that a prompt was put together from, by its response."""
    texts = {row["id"]: row["content"] for row in rows("fragments", ("id", "content"))}
    found: dict[Any, list[str]] = defaultdict(list)
    for row in rows(table, ("response_id", "fragment_id"), order='"order"'):
        found[row["response_id"]].append(texts.get(row["fragment_id"]) or "")
    return found


def _attachments_of(rows: Rows, table: str, key: str) -> dict[Any, list[str]]:
    """The names of what was attached, by what it was attached to."""
    names = {
        row["id"]: str(row["path"] or row["url"] or row["type"] or "file")
        for row in rows("attachments", ("id", "path", "url", "type"))
    }
    found: dict[Any, list[str]] = defaultdict(list)
    for row in rows(table, (key, "attachment_id"), order='"order"'):
        found[row[key]].append(names.get(row["attachment_id"], "file"))
    return found


# --- threads: chains of messages that forks share -------------------------------------------------


def _of_threads(rows: Rows, options: ReadOptions) -> Iterator[Said | Item]:
    forked_from = {row["id"]: row["forked_from"] for row in rows("threads", ("id", "forked_from"))}
    messages = {row["hash"]: row for row in rows("messages", ("hash", "parent_hash", "role"))}
    parts = _parts(rows)
    seen: dict[str, set[str]] = defaultdict(set)
    columns = (
        "id",
        "thread_id",
        "parent_message_hash",
        "tip_message_hash",
        "model",
        "datetime_utc",
        "duration_ms",
    )
    for turn in rows("turns", columns):
        session = _first_thread(turn["thread_id"] or turn["id"], forked_from)
        at = _time(turn["datetime_utc"], options)
        is_answer = False
        for hash_ in _chain(turn["tip_message_hash"] or turn["parent_message_hash"], messages):
            if hash_ not in seen[session]:
                seen[session].add(hash_)
                when = _end(at, turn["duration_ms"]) if is_answer else at
                message = _message(messages[hash_], parts[hash_], turn["model"], when)
                yield message if isinstance(message, Skip) else (session, message)
            is_answer = is_answer or hash_ == turn["parent_message_hash"]


def _chain(tip: object, messages: Mapping[str, Row]) -> list[str]:
    """The messages from the first to this one."""
    way: dict[str, None] = {}
    while isinstance(tip, str) and tip in messages and tip not in way:
        way[tip] = None
        tip = messages[tip]["parent_hash"]
    return list(way)[::-1]


def _first_thread(thread: object, forked_from: Mapping[Any, Any]) -> str:
    way: dict[object, None] = {}
    while thread not in way:
        way[thread] = None
        thread = forked_from.get(thread) or thread
    return str(thread)


def _parts(rows: Rows) -> dict[str, list[Row]]:
    """The parts of every message in order, each with its type and its text or the names of its files."""
    texts = {row["id"]: row["content"] for row in rows("fragments", ("id", "content"))}
    attached = _attachments_of(rows, "part_attachments", "part_id")
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows("parts", ("id", "message_hash", "type", "text", "payload"), order="position"):
        payload = object_in(row["payload"])
        text = row["text"] or payload.get("text")
        pieces = payload.get("text_ref")
        if text is None and isinstance(pieces, list):
            text = "".join(_piece(piece, texts) for piece in pieces if isinstance(piece, dict))
        found[row["message_hash"]].append({"type": row["type"], "text": text, "files": attached[row["id"]]})
    return found


def _piece(piece: Mapping[str, Any], texts: Mapping[Any, Any]) -> str:
    """A piece of a text that borrows fragments: its own words, or those of the fragment that it names."""
    literal = piece.get("literal")
    if isinstance(literal, str):
        return literal
    return next((texts[id_] or "" for id_ in piece.values() if isinstance(id_, int) and id_ in texts), "")


def _message(row: Row, parts: Sequence[Row], model: object, at: Millis | None) -> Message | Skip:
    role = ROLE_OF.get(str(row["role"]).lower())
    if role is None:
        return Skip("damaged")
    text = _joined([part["text"] for part in parts if part["type"] == "text"])
    files = [name for part in parts for name in part["files"]]
    if not text:
        kinds = {part["type"] for part in parts}
        told = (
            ("tool-only", kinds & {"tool_call", "tool_result"}),
            ("media", files),
            ("thinking", "reasoning" in kinds),
        )
        return Skip(next((reason for reason, is_so in told if is_so), "empty"))
    meta = meta_with(model=model if role == "assistant" else None, attachments=files)
    return Message(role, text, at=at, id=row["hash"], meta=meta)


# --- values ---------------------------------------------------------------------------------------


def _joined(texts: Sequence[object]) -> str:
    told = "\n".join(text for text in texts if isinstance(text, str) and text)
    return told if told.strip() else ""


def _time(value: object, options: ReadOptions) -> Millis | None:
    return parse_file_time(value, tz=options.tz)


def _end(at: Millis | None, duration_ms: object) -> Millis | None:
    return at + duration_ms if at is not None and isinstance(duration_ms, int) else at
