"""The figures of `memcli stats`, from the rows and the events of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memcli.store import events, queue, talks
from memcli.store.side import Side
from memcli.times import to_day
from memcli.types import Millis

_LABELS = ("kind", "priority", "project", "source")
COLUMNS = (*_LABELS, "session_id", "created_at", "superseded_by", "retired", "expires_at")
"""What is asked of every memory."""


def of_memories(rows: Sequence[Mapping[str, Any]], *, now: Millis) -> dict[str, Any]:
    """How many memories there are, and of which sort. A row holds COLUMNS."""
    return {
        "total": len(rows),
        "active": sum(_is_active(row, now) for row in rows),
        "superseded": sum(row["superseded_by"] is not None for row in rows),
        "retired": sum(bool(row["retired"]) for row in rows),
        **{f"by_{name}": _counted(row[name] for row in rows) for name in _LABELS},
    }


def sessions(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """The conversations that the memories come from."""
    return {row["session_id"] for row in rows if row["session_id"]}


@dataclass(frozen=True, slots=True)
class Beside:
    """What the side store counts: chats, what waits, what the person thought of answers, recalls."""

    sessions: Sequence[str]
    turns: int
    pending: Mapping[str, int]
    feedback: Mapping[str, Any]
    recalls: events.Recalls


def beside(side: Side | None) -> Beside:
    """The figures of what is kept beside the memories."""
    if side is None:
        nothing = {"good": 0, "bad": 0, "by_arm": {}}
        return Beside((), 0, {"extraction": 0, "review": 0}, nothing, events.Recalls())
    with side.snapshot() as db:
        ids, turns = talks.counts(db)
        pending = {"extraction": queue.waiting(db), "review": queue.proposed(db)}
        return Beside(ids, turns, pending, events.feedback(db), events.recalls(db))


def by_day(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Day (UTC) → memories of that day, in order of time."""
    days = Counter(to_day(row["created_at"]) for row in rows if row["created_at"] is not None)
    return dict(sorted(days.items()))


def _is_active(row: Mapping[str, Any], now: Millis) -> bool:
    is_over = row["expires_at"] is not None and row["expires_at"] <= now
    return not row["retired"] and not is_over and row["superseded_by"] is None


def _counted(labels: Iterable[str | None]) -> dict[str, int]:
    """Label → how many carry it, most first; what has none is left out."""
    return dict(Counter(label for label in labels if label is not None).most_common())
