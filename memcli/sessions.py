"""Chat sessions: each turn on disk before the next, and an episode that recall finds soon after."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal, Protocol

from memcli import lifecycle, renewal
from memcli.errors import NothingMatchedError, UsageError
from memcli.redact import scrub
from memcli.store import queue, talks
from memcli.store.lance import LanceStore
from memcli.store.side import Side
from memcli.text import clean
from memcli.times import to_iso
from memcli.types import Change, Millis, Record, Session, Turn

SOURCE = "chat"
_ID_BYTES = 6
_PREFIX_CHARS = 4
_TITLE_CHARS = 60
# Turns that become memories in one commit.
_AT_ONCE = 500


class Stores(Protocol):
    """How a store is opened under the lock for writing."""

    def write(self) -> AbstractContextManager[tuple[LanceStore, Side]]:
        """The store under the writers' lock."""
        ...


def begin(*, at: Millis, project: str | None, model: str | None) -> Session:
    """A new session. Nothing of it is stored before its first turn."""
    return Session(secrets.token_hex(_ID_BYTES), at, scrub(project)[0] if project else None, model)


def save(
    side: Side,
    session: Session,
    *,
    role: str,
    text: str,
    at: Millis,
    state: Literal["whole", "stopped", "cut"],
    model: str | None,
    becomes_memory: bool = True,
) -> Turn:
    """Put a turn on disk, without its secrets, at the end of its session as it is there now."""
    said, _ = scrub(clean(text))
    key = side.state().key
    with side.change() as db:
        position = talks.next_position(db, session.id)
        unnamed = Turn("", session.id, position, role, said if said.strip() else "", at, state, model)
        record = record_of(unnamed, session.project)
        turn = replace(unnamed, memory_id=lifecycle.id_of(record, lifecycle.origin_of(record, key), key))
        talks.add_turn(db, session, turn, becomes_memory=becomes_memory)
    return turn


def records_of(session: Session) -> list[Record]:
    """The memories that the turns of a session become."""
    return [record_of(turn, session.project) for turn in session.turns]


def record_of(turn: Turn, project: str | None) -> Record:
    """The memory that a turn becomes."""
    about = {"model": turn.model, "state": None if turn.state == "whole" else turn.state}
    return Record(
        id=turn.memory_id,
        text=turn.text,
        kind="episode",
        priority="P2",
        project=project,
        role=turn.role,
        source=SOURCE,
        source_id=str(turn.position),
        session_id=turn.session_id,
        position=turn.position,
        created_at=turn.at,
        updated_at=turn.at,
        meta={name: value for name, value in about.items() if value},
    )


def is_said(record: Record) -> bool:
    """Whether a memory is what the person said, word for word: from nothing else facts are learned."""
    return record.kind == "episode" and record.role == "user"


# --- turns → memories -----------------------------------------------------------------------------


def keep(stores: Stores, *, limit: int = _AT_ONCE) -> list[str]:
    """Make memories of the oldest turns that are none yet; returns the ids of those that are new."""
    with stores.write() as (store, side):
        with side.snapshot() as db:
            waiting = talks.waiting(db, limit=limit)
        changes = [
            Change("add", record, origin=lifecycle.origin_of(record, store.state.key))
            for record in (record_of(turn, project) for turn, project in waiting)
        ]
        # A process may have died between the two writes.
        stored = {record.id for record in store.get([change.record.id for change in changes], now=0)}
        new = [change for change in changes if change.record.id not in stored]
        renewal.note_added(side, new)
        store.apply(new)
        with side.change() as db:
            talks.mark_kept(db, [change.record.id for change in changes])
            for record in filter(is_said, (change.record for change in changes)):
                queue.add(db, [record.id], at=record.created_at or 0)
        if new:
            side.count_commits(1)
    return [change.record.id for change in new]


def has_waiting(side: Side) -> bool:
    """Whether there are turns to make memories of."""
    with side.snapshot() as db:
        return talks.has_waiting(db)


def loose(side: Side | None) -> list[Record]:
    """The turns that are no memories, as the memories they are to be or would be."""
    if side is None:
        return []
    with side.snapshot() as db:
        return [record_of(turn, project) for turn, project in talks.loose(db)]


# --- reading --------------------------------------------------------------------------------------


def listed(side: Side | None) -> list[Session]:
    """Every session without its turns, the one that was spoken in last first."""
    if side is None:
        return []
    with side.snapshot() as db:
        return [replace(session, title=title_of(session.title)) for session in talks.sessions(db)]


def found(side: Side | None, prefix: str) -> Session:
    """The one session whose id begins so, or the "last" that was spoken in, with its turns.

    Raises:
        NothingMatchedError: there is none.
        UsageError: the prefix is too short, or several ids begin so.
    """
    known = listed(side)
    matching = known[:1] if prefix == "last" else _beginning_with(prefix, known)
    if not matching or side is None:
        what = "no chat has left a session yet" if prefix == "last" else f"no session's id begins {prefix!r}"
        raise NothingMatchedError(what, "see them with `memcli sessions`")
    if len(matching) > 1:
        ids = ", ".join(session.id for session in matching)
        raise UsageError(f"the session {prefix!r} is ambiguous: {ids}", "give more characters of it")
    with side.snapshot() as db:
        return replace(matching[0], turns=talks.turns(db, matching[0].id))


def _beginning_with(prefix: str, known: Sequence[Session]) -> list[Session]:
    if len(prefix) < _PREFIX_CHARS:
        raise UsageError(f"the session {prefix!r} is too short", f"give {_PREFIX_CHARS} characters or more")
    return [session for session in known if session.id.startswith(prefix)]


def title_of(text: str | None) -> str | None:
    """The beginning of a text in one line."""
    words = " ".join((text or "").split())
    if len(words) <= _TITLE_CHARS:
        return words or None
    return words[: _TITLE_CHARS - 1].rstrip() + "…"


# --- as JSON --------------------------------------------------------------------------------------


def session_json(session: Session) -> dict[str, Any]:
    """A session without its turns."""
    return {
        "id": session.id,
        "title": session.title,
        "project": session.project,
        "model": session.model,
        "started_at": to_iso(session.started_at),
        "last_at": None if session.last_at is None else to_iso(session.last_at),
        "turns": session.count,
    }


def turn_json(turn: Turn) -> dict[str, Any]:
    """A turn; `id` is that of the memory it becomes."""
    return {
        "id": turn.memory_id,
        "position": turn.position,
        "role": turn.role,
        "text": turn.text,
        "at": to_iso(turn.at),
        "state": turn.state,
        "model": turn.model,
    }


def messages(session: Session) -> Iterator[dict[str, Any]]:
    """A session as messages that `memcli import` takes back as the same conversation."""
    for record in records_of(session):
        yield {
            "session_id": record.session_id,
            "id": record.source_id,
            "role": record.role,
            "content": record.text,
            "timestamp": to_iso(record.created_at or 0),
            **record.meta,
        }
