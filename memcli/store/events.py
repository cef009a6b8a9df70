"""What happened, in the side store: ids, times and counts, never words."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memcli.types import Arm, Millis

_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Recalls:
    """How recall has done since events are kept; times in milliseconds."""

    count: int = 0
    hit_rate: float | None = None
    p50_ms: int | None = None
    p95_ms: int | None = None
    injected_tokens: int = 0


def note_recall(
    db: sqlite3.Connection, ids: Sequence[str], *, hits: int, at: Millis, took_ms: int, tokens: int
) -> None:
    """What a recall gave: how many hits, and the ids to count. Called after the answer is out."""
    db.execute(
        "INSERT INTO events (at, kind, hits, took_ms, tokens) VALUES (?, 'recall', ?, ?, ?)",
        (at, hits, took_ms, tokens),
    )
    db.executemany(
        "INSERT INTO recalled VALUES (?, 1, ?) "
        "ON CONFLICT (id) DO UPDATE SET count = count + 1, last = excluded.last",
        [(id_, at) for id_ in ids],
    )
    # An erase may have gone by between the answer and this note.
    db.execute("DELETE FROM recalled WHERE id IN (SELECT id FROM erasing)")
    _trim(db)


def recalled(db: sqlite3.Connection, id_: str) -> tuple[int, Millis | None]:
    """How often a memory came back, and when last."""
    row = db.execute("SELECT count, last FROM recalled WHERE id = ?", (id_,)).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, None)


def recalls(db: sqlite3.Connection) -> Recalls:
    """Figures over the recalls that are kept."""
    rows = db.execute(
        "SELECT took_ms, hits > 0, tokens FROM events WHERE kind = 'recall' ORDER BY took_ms"
    ).fetchall()
    if not rows:
        return Recalls()
    last = len(rows) - 1
    return Recalls(
        count=len(rows),
        hit_rate=round(sum(row[1] for row in rows) / len(rows), 4),
        p50_ms=rows[last // 2][0],
        p95_ms=rows[int(last * 0.95)][0],
        injected_tokens=sum(row[2] for row in rows),
    )


# --- answers of a chat ----------------------------------------------------------------------------


def note_answer(db: sqlite3.Connection, turn: str, *, arm: Arm, at: Millis, took_ms: int) -> None:
    """An answer of a chat: the memory id of its turn, whether memories were put in, how long it took."""
    _note(db, "answer", turn, arm, at, took_ms)
    # The person may have been quicker with a word on it.
    db.execute("UPDATE events SET arm = ? WHERE turn = ? AND arm IS NULL", (arm, turn))


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
    _trim(db)


def _trim(db: sqlite3.Connection) -> None:
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
