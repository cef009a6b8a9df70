"""Chats in the side store: sessions, and their turns word for word, each on disk before the next begins."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from memcli.types import Session, Turn

# What stands in the column `kept`: it will be a memory, it is one, it stays a turn of its session.
_WAITING, _IS_MEMORY, _NEVER = 0, 1, 2
_TURN = "memory_id, session_id, position, role, text, at, state, model"
# A title is made of the beginning of a text; a pasted page is not fetched for it.
_TITLE_CHARS = 400
# What is being erased is gone for every reader from that moment.
_LEFT = "memory_id NOT IN (SELECT id FROM erasing)"


def next_position(db: sqlite3.Connection, session_id: str) -> int:
    """The place of the turn that comes next."""
    sql = "SELECT coalesce(max(position), -1) + 1 FROM turns WHERE session_id = ?"
    return int(db.execute(sql, (session_id,)).fetchone()[0])


def add_turn(db: sqlite3.Connection, session: Session, turn: Turn, *, becomes_memory: bool) -> None:
    """Keep a turn, and its session with the first one: a chat in which nothing is said leaves nothing."""
    db.execute(
        "INSERT INTO sessions (id, project, model, started_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET model = coalesce(excluded.model, model)",
        (session.id, session.project, turn.model or session.model, session.started_at),
    )
    db.execute(
        f"INSERT INTO turns ({_TURN}, kept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            turn.memory_id,
            turn.session_id,
            turn.position,
            turn.role,
            turn.text,
            turn.at,
            turn.state,
            turn.model,
            _WAITING if becomes_memory else _NEVER,
        ),
    )


def sessions(db: sqlite3.Connection) -> list[Session]:
    """Every session without its turns, the one that was spoken in last first; `title` is raw text."""
    rows = db.execute(
        "SELECT s.id, s.started_at, s.project, s.model, count(*), max(t.at), "
        f"(SELECT substr(text, 1, {_TITLE_CHARS}) FROM turns u WHERE u.session_id = s.id "
        f"AND role = 'user' AND text <> '' AND {_LEFT} ORDER BY position LIMIT 1) "
        f"FROM sessions s JOIN turns t ON t.session_id = s.id WHERE {_LEFT} "
        "GROUP BY s.id ORDER BY max(t.seq) DESC"
    )
    return [
        Session(id_, started_at, project, model, title, count=count, last_at=last_at)
        for id_, started_at, project, model, count, last_at, title in rows
    ]


def turns(db: sqlite3.Connection, session_id: str) -> tuple[Turn, ...]:
    """What was said in a session, in order."""
    sql = f"SELECT {_TURN} FROM turns WHERE session_id = ? AND {_LEFT} ORDER BY position"
    return tuple(Turn(*row) for row in db.execute(sql, (session_id,)))


def waiting(db: sqlite3.Connection, *, limit: int) -> list[tuple[Turn, str | None]]:
    """The oldest turns with words in them that are to be memories, each with its session's project."""
    return _with_projects(db, "NOT kept AND text <> ''", limit)


def loose(db: sqlite3.Connection) -> list[tuple[Turn, str | None]]:
    """The turns that are no memory, those that never will be too, each with its session's project."""
    return _with_projects(db, f"kept <> {_IS_MEMORY}", -1)


def _with_projects(db: sqlite3.Connection, condition: str, limit: int) -> list[tuple[Turn, str | None]]:
    rows = db.execute(
        f"SELECT {', '.join(f't.{name.strip()}' for name in _TURN.split(','))}, s.project "
        f"FROM turns t JOIN sessions s ON s.id = t.session_id WHERE {condition} AND {_LEFT} "
        "ORDER BY t.seq LIMIT ?",
        (limit,),
    )
    return [(Turn(*row[:-1]), row[-1]) for row in rows]


def has_waiting(db: sqlite3.Connection) -> bool:
    """Whether a turn with words in it is no memory yet."""
    return db.execute("SELECT 1 FROM turns WHERE NOT kept AND text <> '' LIMIT 1").fetchone() is not None


def mark_kept(db: sqlite3.Connection, memory_ids: Sequence[str]) -> None:
    """These turns are memories now."""
    db.executemany("UPDATE turns SET kept = ? WHERE memory_id = ?", [(_IS_MEMORY, id_) for id_ in memory_ids])


def keep_again(db: sqlite3.Connection, present: Collection[str]) -> set[str]:
    """Let turns wait whose memories are no longer present; returns the ids of these."""
    kept = {id_ for (id_,) in db.execute(f"SELECT memory_id FROM turns WHERE kept = {_IS_MEMORY}")}
    gone = kept.difference(present)
    db.executemany("UPDATE turns SET kept = ? WHERE memory_id = ?", [(_WAITING, id_) for id_ in gone])
    return gone


def past_inputs(db: sqlite3.Connection, *, limit: int) -> list[str]:
    """What the person said last in any session, the newest at the end."""
    sql = f"SELECT text FROM turns WHERE role = 'user' AND {_LEFT} ORDER BY seq DESC LIMIT ?"
    return [text for (text,) in db.execute(sql, (limit,))][::-1]


def counts(db: sqlite3.Connection) -> tuple[list[str], int]:
    """The ids of all sessions, and how many turns there are."""
    ids = [id_ for (id_,) in db.execute(f"SELECT DISTINCT session_id FROM turns WHERE {_LEFT}")]
    return ids, int(db.execute(f"SELECT count(*) FROM turns WHERE {_LEFT}").fetchone()[0])


def erase(db: sqlite3.Connection, memory_ids: Sequence[str]) -> None:
    """Take these turns out, and the sessions that have none left."""
    touched: set[str] = set()
    for id_ in memory_ids:
        sql = "DELETE FROM turns WHERE memory_id = ? RETURNING session_id"
        touched.update(session_id for (session_id,) in db.execute(sql, (id_,)).fetchall())
    db.executemany(
        "DELETE FROM sessions WHERE id = ? AND id NOT IN (SELECT session_id FROM turns)",
        [(session_id,) for session_id in touched],
    )


def told_elsewhere(db: sqlite3.Connection, memory_ids: Sequence[str]) -> list[str]:
    """All the words that the other turns and the sessions hold."""
    gone = set(memory_ids)
    told = [text for id_, text in db.execute("SELECT memory_id, text FROM turns") if id_ not in gone]
    for project, model in db.execute("SELECT project, model FROM sessions"):
        told += [label for label in (project, model) if label]
    return told
