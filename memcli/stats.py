"""The figures of `memcli stats`, from the rows and the events of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from memcli.store import events, queue, talks
from memcli.store.side import Side
from memcli.times import to_day
from memcli.types import Millis

_DAY_MS = 24 * 60 * 60 * 1000
_LABELS = ("kind", "priority", "project", "source")
COLUMNS = (*_LABELS, "session_id", "created_at", "superseded_by", "retired", "expires_at")
"""What is asked of every memory."""


Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""The values of COLUMNS, one of each a memory."""


def of_memories(columns: Columns, *, now: Millis) -> dict[str, Any]:
    """How many memories there are, and of which sort."""
    retired, replaced_by = columns["retired"], columns["superseded_by"]
    states = zip(retired, replaced_by, columns["expires_at"], strict=True)
    return {
        "total": len(retired),
        "active": sum(
            not is_retired and by is None and (until is None or until > now)
            for is_retired, by, until in states
        ),
        "superseded": len(replaced_by) - replaced_by.count(None),
        "retired": retired.count(True),
        **{f"by_{name}": _counted(columns[name]) for name in _LABELS},
    }


def sessions(columns: Columns) -> set[str]:
    """The conversations that the memories come from."""
    return set(filter(None, columns["session_id"]))


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


def by_day(columns: Columns) -> dict[str, int]:
    """Day (UTC) → memories of that day, in order of time."""
    days = Counter(at // _DAY_MS for at in columns["created_at"] if at is not None)
    return {to_day(day * _DAY_MS): count for day, count in sorted(days.items())}


def _counted(labels: Iterable[str | None]) -> dict[str, int]:
    """Label → how many carry it, most first; what has none is left out."""
    return dict(Counter(label for label in labels if label is not None).most_common())
