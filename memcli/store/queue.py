"""What waits in the side store: memories to learn from, and what was learned that needs a yes or no."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict

from memcli.types import Extracted, Millis, Proposal

_MINUTE_MS = 60_000
# Who takes a batch has so long before others may: a process that died gives it back.
_LEASE_MS = 5 * _MINUTE_MS
# The waits between the tries; after the last try it is left alone.
_WAITS_MS = tuple(minutes * _MINUTE_MS for minutes in (1, 10, 60, 24 * 60))
_TRIES = len(_WAITS_MS) + 1

TURNS_PER_CALL = 5
"""A model is asked at most once for so many turns."""

# A model that needs more time than a command has after its answer is left in peace for so long.
_REST_MS = 60 * _MINUTE_MS

# --- memories to learn from: ids, never words -----------------------------------------------------


def add(db: sqlite3.Connection, memory_ids: Sequence[str], *, at: Millis) -> None:
    """Queue memories to learn from.

    One that is queued already, was learned from, or is being erased is left as it is; one that was left alone
    after its last try is tried again.
    """
    db.executemany(
        "INSERT INTO queue SELECT :id, :at, 0, :at, 0 "
        "WHERE NOT EXISTS (SELECT 1 FROM erasing WHERE id = :id) "
        "ON CONFLICT (memory_id) DO UPDATE SET tries = 0, due_at = :at WHERE due_at IS NULL AND tries > 0",
        [{"id": id_, "at": at} for id_ in memory_ids],
    )


def take(db: sqlite3.Connection, *, now: Millis, limit: int, is_read: bool = False) -> list[str]:
    """The memories that are due, the oldest first: taken from others for a few minutes, counted as a try.

    Args:
        now: the clock.
        limit: how many at most.
        is_read: those that rules have read and that wait for a model, in place of those that wait for rules.
    """
    rows = db.execute(
        "SELECT memory_id FROM queue WHERE due_at <= ? AND is_read = ? "
        "AND memory_id NOT IN (SELECT id FROM erasing) ORDER BY at, rowid LIMIT ?",
        (now, is_read, limit),
    ).fetchall()
    db.executemany(
        # The last try has no lease: what kills whoever learns from it must not come back for ever.
        "UPDATE queue SET tries = tries + 1, due_at = iif(tries + 1 < ?, ?, NULL) WHERE memory_id = ?",
        [(_TRIES, now + _LEASE_MS, id_) for (id_,) in rows],
    )
    return [id_ for (id_,) in rows]


def give_back(db: sqlite3.Connection, memory_ids: Sequence[str], *, now: Millis) -> None:
    """These were taken and not tried: they are due as before."""
    db.executemany(
        "UPDATE queue SET tries = tries - 1, due_at = ? WHERE memory_id = ?",
        [(now, id_) for id_ in memory_ids],
    )


def mark_read(db: sqlite3.Connection, memory_ids: Sequence[str], *, now: Millis) -> None:
    """Rules have read these: from now on they wait for a model."""
    db.executemany(
        "UPDATE queue SET is_read = 1, tries = 0, due_at = ? WHERE memory_id = ?",
        [(now, id_) for id_ in memory_ids],
    )


def due(db: sqlite3.Connection, *, now: Millis, is_read: bool = False) -> int:
    """How many are due."""
    sql = "SELECT count(*) FROM queue WHERE due_at <= ? AND is_read = ?"
    return int(db.execute(sql, (now, is_read)).fetchone()[0])


def may_ask(db: sqlite3.Connection, *, now: Millis) -> bool:
    """Whether something waits for a model, and enough has been read since one was last asked."""
    row = db.execute("SELECT value FROM meta WHERE key = 'learn_credit'").fetchone()
    return row is not None and int(row[0]) >= TURNS_PER_CALL and due(db, now=now, is_read=True) > 0


def rest(db: sqlite3.Connection, *, now: Millis) -> None:
    """The model is too slow for the moment after a command's answer: leave it in peace for a while."""
    db.execute("INSERT OR REPLACE INTO meta VALUES ('learn_rests_until', ?)", (str(now + _REST_MS),))


def rests(db: sqlite3.Connection, *, now: Millis) -> bool:
    """Whether that while is not over."""
    row = db.execute("SELECT value FROM meta WHERE key = 'learn_rests_until'").fetchone()
    return row is not None and now < int(row[0])


def credit(db: sqlite3.Connection, turns: int) -> int:
    """Add to the turns that have been read since a model was last asked (or take some away); returns them."""
    row = db.execute("SELECT value FROM meta WHERE key = 'learn_credit'").fetchone()
    value = (int(row[0]) if row else 0) + turns
    db.execute("INSERT OR REPLACE INTO meta VALUES ('learn_credit', ?)", (str(value),))
    return value


def done(db: sqlite3.Connection, memory_ids: Sequence[str]) -> None:
    """These have been learned from, and are not queued again."""
    db.executemany(
        "UPDATE queue SET tries = 0, due_at = NULL WHERE memory_id = ?", [(id_,) for id_ in memory_ids]
    )


def drop(db: sqlite3.Connection, memory_ids: Sequence[str]) -> None:
    """These do not wait any more; nothing is known of whether they were learned from."""
    db.executemany("DELETE FROM queue WHERE memory_id = ?", [(id_,) for id_ in memory_ids])


def fail(db: sqlite3.Connection, memory_ids: Sequence[str], *, now: Millis) -> None:
    """These could not be learned from: they are due again later, each time later, and in the end never."""
    for id_ in memory_ids:
        row = db.execute("SELECT tries FROM queue WHERE memory_id = ?", (id_,)).fetchone()
        if row is not None:
            due_at = now + _WAITS_MS[row[0] - 1] if 0 < row[0] < _TRIES else None
            db.execute("UPDATE queue SET due_at = ? WHERE memory_id = ?", (due_at, id_))


def waiting(db: sqlite3.Connection) -> int:
    """How many memories will be tried yet."""
    return int(db.execute("SELECT count(*) FROM queue WHERE due_at IS NOT NULL").fetchone()[0])


# --- what needs a yes or no -----------------------------------------------------------------------


def propose(db: sqlite3.Connection, proposal: Proposal) -> None:
    """Keep a candidate until the person says yes or no; one of the same id takes the place of the other."""
    db.execute(
        "INSERT OR REPLACE INTO review VALUES (?, ?, ?, ?, ?, ?)",
        (
            proposal.id,
            proposal.at,
            json.dumps(asdict(proposal.extracted), ensure_ascii=False),
            proposal.conflicts_with,
            json.dumps(proposal.said_in),
            proposal.why,
        ),
    )


def proposals(db: sqlite3.Connection) -> list[Proposal]:
    """What waits for a yes or no, the oldest first."""
    rows = db.execute("SELECT id, at, candidate, conflicts_with, evidence, why FROM review ORDER BY at, id")
    return [
        Proposal(id_, at, _extracted(candidate), tuple(json.loads(evidence)), conflicts_with, why)
        for id_, at, candidate, conflicts_with, evidence, why in rows
    ]


def settle(db: sqlite3.Connection, proposal_id: str) -> None:
    """The person has said yes or no."""
    db.execute("DELETE FROM review WHERE id = ?", (proposal_id,))


def proposed(db: sqlite3.Connection) -> int:
    """How many candidates wait for a yes or no."""
    return int(db.execute("SELECT count(*) FROM review").fetchone()[0])


def _extracted(text: str) -> Extracted:
    fields = json.loads(text)
    return Extracted(**{**fields, "topics": tuple(fields["topics"])})


# --- erasing --------------------------------------------------------------------------------------


def erase(db: sqlite3.Connection, memory_ids: Sequence[str]) -> None:
    """Take out what waits because of these memories.

    A candidate goes with any memory that it was said in. One that only contradicts an erased memory
    stays, without what told of the contradiction.
    """
    drop(db, memory_ids)
    gone = set(memory_ids)
    for proposal in proposals(db):
        if gone.intersection(proposal.said_in):
            settle(db, proposal.id)
        elif proposal.conflicts_with in gone:
            db.execute("UPDATE review SET conflicts_with = NULL, why = '' WHERE id = ?", (proposal.id,))
