"""What happened, in the side store: ids, times and counts, never words."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from memcli.types import Arm, Millis

_KEPT = 10_000


def note_answer(db: sqlite3.Connection, turn: str, *, arm: Arm, at: Millis, took_ms: int) -> None:
    """An answer of a chat: the memory id of its turn, whether memories were put in, how long it took."""
    _note(db, "answer", turn, arm, at, took_ms)


def note_verdict(db: sqlite3.Connection, turn: str, *, is_good: bool, at: Millis) -> None:
    """What the person thinks of an answer; a second word takes the place of the first."""
    row = db.execute("SELECT arm FROM events WHERE kind = 'answer' AND turn = ?", (turn,)).fetchone()
    db.execute("DELETE FROM events WHERE kind IN ('good', 'bad') AND turn = ?", (turn,))
    _note(db, "good" if is_good else "bad", turn, row[0] if row else None, at, 0)


def _note(db: sqlite3.Connection, kind: str, turn: str, arm: str | None, at: Millis, took_ms: int) -> None:
    db.execute(
        "INSERT INTO events (at, kind, hits, took_ms, tokens, arm, turn) "
        # An answer that has been forgotten meanwhile leaves no trace.
        "SELECT ?, ?, 0, ?, 0, ?, memory_id FROM turns WHERE memory_id = ?",
        (at, kind, took_ms, arm, turn),
    )
    trim(db)


def trim(db: sqlite3.Connection) -> None:
    """Keep only the newest."""
    db.execute("DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?", (_KEPT,))


def feedback(db: sqlite3.Connection) -> dict[str, Any]:
    """Verdicts in all, and with and without memory: answers, their latency in the middle, verdicts."""
    verdicts = dict(db.execute("SELECT kind, count(*) FROM events GROUP BY kind").fetchall())
    arms: dict[str, dict[str, Any]] = {}
    sql = "SELECT arm, kind, took_ms FROM events WHERE arm IS NOT NULL ORDER BY arm DESC, took_ms"
    took: dict[str, list[int]] = {}
    for arm, kind, took_ms in db.execute(sql):
        figures = arms.setdefault(arm, {"answers": 0, "p50_ms": None, "good": 0, "bad": 0})
        if kind == "answer":
            took.setdefault(arm, []).append(took_ms)
        else:
            figures[kind] += 1
    for arm, times in took.items():
        arms[arm] |= {"answers": len(times), "p50_ms": times[(len(times) - 1) // 2]}
    return {"good": verdicts.get("good", 0), "bad": verdicts.get("bad", 0), "by_arm": arms}


def erase(db: sqlite3.Connection, turns: Sequence[str]) -> None:
    """Take out what was noted of these turns."""
    db.executemany("DELETE FROM events WHERE turn = ?", [(turn,) for turn in turns])
