"""The journal in the side store: what each command changed, as it was before, for undo.

An added memory is its id and nothing more; of a changed one the fields that changed are kept as they were. A
row of `journal` is a command, however many steps it took.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from memcli.types import Change, Millis, Undoable

FOLLOWING = "update"
"""The command of what followed by itself from an earlier one: it is taken back with it."""

_ENTRIES = 500
_DAYS = 30
_DAY_MS = 86_400_000
_PROPOSAL = ("at", "candidate", "conflicts_with", "evidence", "why")
# Of the old texts and fields of all commands together; the newest command is kept however much it changed.
_BYTES = 32_000_000


class Step(NamedTuple):
    """One thing that a command did. `before` holds what undoes it; None for a memory that was added."""

    action: str
    id: str
    before: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A kept step of a changed memory; `number` is in the order of time."""

    number: int
    entry: int
    step: Step


# --- writing --------------------------------------------------------------------------------------


def steps_of(changes: Sequence[Change], to_json: Callable[[Any], Mapping[str, Any]]) -> list[Step]:
    """What of a plan is kept; `to_json` makes a record's fields JSON values."""
    steps = []
    for change in changes:
        if change.action == "add":
            steps.append(Step("add", change.record.id))
        elif change.before is not None and change.action != "skip":
            before, after = to_json(change.before), to_json(change.record)
            changed = {name: value for name, value in before.items() if value != after[name]}
            if changed:
                steps.append(Step(change.action, change.record.id, changed))
    return steps


def note(
    db: sqlite3.Connection, entry: int, command: str, steps: Sequence[Step], *, place: int, at: Millis
) -> None:
    """Keep steps of a command; `place` is a number that grows from one call to the next."""
    changed = [(entry, step.action, step.id, json.dumps(step.before)) for step in steps if step.before]
    size = sum(len(row[-1]) for row in changed)
    db.execute(
        "INSERT INTO journal VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (entry) DO UPDATE SET place = excluded.place, bytes = bytes + excluded.bytes",
        (entry, place, at, command, size),
    )
    db.executemany(
        "INSERT INTO journal_added VALUES (?, ?)",
        [(entry, step.id) for step in steps if not step.before],
    )
    db.executemany("INSERT INTO journal_changed (entry, action, id, before) VALUES (?, ?, ?, ?)", changed)
    _trim(db, at=at)


def _trim(db: sqlite3.Connection, *, at: Millis) -> None:
    """Let go of what is too old, and of the oldest where there is too much."""
    rows = db.execute("SELECT entry, at, bytes FROM journal ORDER BY place DESC").fetchall()
    total, gone = 0, []
    for newer, (entry, then, size) in enumerate(rows):
        total += size
        if newer and (newer >= _ENTRIES or then < at - _DAYS * _DAY_MS or total > _BYTES):
            gone.append(entry)
    drop(db, gone)


def drop(db: sqlite3.Connection, entries: Collection[int]) -> None:
    """Let go of these entries."""
    for table in ("journal_added", "journal_changed", "journal"):
        db.executemany(f"DELETE FROM {table} WHERE entry = ?", [(entry,) for entry in entries])


def keep_only(
    db: sqlite3.Connection, entry: int, *, added: Collection[str], changed: Collection[int]
) -> None:
    """Let go of what an entry holds besides these memories and these steps, and of itself if that is all."""
    marks = json.dumps(list(added)), json.dumps(list(changed))
    inside = "NOT IN (SELECT value FROM json_each(?))"
    db.execute(f"DELETE FROM journal_added WHERE entry = ? AND id {inside}", (entry, marks[0]))
    db.execute(f"DELETE FROM journal_changed WHERE entry = ? AND seq {inside}", (entry, marks[1]))
    _drop_empty(db)


def _drop_empty(db: sqlite3.Connection) -> None:
    for entry in [entry for (entry,) in db.execute("SELECT entry FROM journal").fetchall()]:
        rows = [
            db.execute(f"SELECT 1 FROM {table} WHERE entry = ? LIMIT 1", (entry,)).fetchone()
            for table in ("journal_added", "journal_changed")
        ]
        if not any(rows):
            drop(db, [entry])


# --- reading --------------------------------------------------------------------------------------


def entries(db: sqlite3.Connection) -> list[Undoable]:
    """The commands that can be taken back, the last one first."""
    found: list[Undoable] = []
    numbers: list[int] = []
    for entry, at, command in db.execute(
        "SELECT entry, at, command FROM journal ORDER BY place DESC"
    ).fetchall():
        numbers.append(entry)
        if command != FOLLOWING:
            found.append(_told(db, entry, numbers, at, command))
            numbers = []
    return found


def _told(db: sqlite3.Connection, entry: int, numbers: Sequence[int], at: Millis, command: str) -> Undoable:
    """A command with all its entries."""
    inside = f"entry IN ({_marks(numbers)})"
    (new,) = db.execute(f"SELECT count(*) FROM journal_added WHERE {inside}", numbers).fetchone()
    # What it has both added and changed is new, and nothing else.
    (changed,) = db.execute(
        f"SELECT count(DISTINCT id) FROM journal_changed WHERE {inside} AND {_OF_MEMORIES} "
        f"AND id NOT IN (SELECT id FROM journal_added WHERE {inside})",
        (*numbers, *numbers),
    ).fetchone()
    # What it did itself comes before what followed from it.
    samples = (_sample(db, number) for number in (entry, *numbers))
    return Undoable(tuple(numbers), at, command, new, changed, next(filter(None, samples), None))


def _sample(db: sqlite3.Connection, number: int) -> str | None:
    """The first memory that an entry added, or else changed."""
    for sql in (
        "SELECT id FROM journal_added WHERE entry = ? ORDER BY rowid LIMIT 1",
        f"SELECT id FROM journal_changed WHERE entry = ? AND {_OF_MEMORIES} ORDER BY seq LIMIT 1",
    ):
        if row := db.execute(sql, (number,)).fetchone():
            return str(row[0])
    return None


def added(db: sqlite3.Connection, numbers: Collection[int]) -> list[str]:
    """The ids that these entries added."""
    sql = "SELECT id FROM journal_added WHERE entry = ?"
    return [id_ for number in numbers for (id_,) in db.execute(sql, (number,))]


def changed(db: sqlite3.Connection, numbers: Collection[int]) -> list[Kept]:
    """The steps of these entries on what was there before, the last one first."""
    sql = f"SELECT seq, entry, action, id, before FROM journal_changed WHERE entry IN ({_marks(numbers)})"
    return [
        Kept(seq, entry, Step(action, id_, json.loads(before)))
        for seq, entry, action, id_, before in db.execute(f"{sql} ORDER BY seq DESC", tuple(numbers))
    ]


def touched_since(
    db: sqlite3.Connection, first: Mapping[str, int], numbers: Collection[int]
) -> tuple[str, int] | None:
    """A memory that another entry has changed since: (its id, that entry). `first`: id → a step of these."""
    sql = f"SELECT seq, entry, id FROM journal_changed WHERE entry NOT IN ({_marks(numbers)}) ORDER BY seq"
    for seq, entry, id_ in db.execute(sql, tuple(numbers)):
        if seq > first.get(id_, seq):
            return id_, entry
    return None


def _marks(values: Collection[object]) -> str:
    return ",".join("?" * len(values))


# --- what is beside the memories ------------------------------------------------------------------


Beside: TypeAlias = Callable[[sqlite3.Connection], Sequence[Step]]
"""Changes something beside the memories, and returns what it did as steps."""


def nothing(_: sqlite3.Connection) -> Sequence[Step]:
    """Leave all as it is."""
    return ()


def settle(db: sqlite3.Connection, proposal_id: str) -> list[Step]:
    """Let go of a proposal: the person has said yes or no. Returns the steps."""
    rows = db.execute(f"DELETE FROM review WHERE id = ? RETURNING {', '.join(_PROPOSAL)}", (proposal_id,))
    return [Step("settle", proposal_id, dict(zip(_PROPOSAL, row, strict=True))) for row in rows.fetchall()]


def lift(db: sqlite3.Connection, origins: Sequence[str]) -> list[Step]:
    """Let these origins in again: the person asked for it. Returns the steps."""
    steps = []
    for origin in origins:
        sql = "DELETE FROM tombstones WHERE origin = ? RETURNING at"
        steps += [Step("lift", origin, {"at": at}) for (at,) in db.execute(sql, (origin,)).fetchall()]
    if steps:
        db.execute("DELETE FROM reads")
    return steps


def refuse(db: sqlite3.Connection, origin: str, *, at: Millis) -> list[Step]:
    """Let nothing of this origin in any more. Returns the steps."""
    rows = db.execute("INSERT OR IGNORE INTO tombstones VALUES (?, ?) RETURNING at", (origin, at))
    return [Step("refuse", origin, {"at": then}) for (then,) in rows.fetchall()]


def reword(db: sqlite3.Connection, memory_id: str, text: str) -> list[Step]:
    """Let the turn of a chat that this memory was made of be told in these words too. Returns the steps."""
    said = db.execute("SELECT text FROM turns WHERE memory_id = ?", (memory_id,)).fetchall()
    db.execute("UPDATE turns SET text = ? WHERE memory_id = ?", (text, memory_id))
    return [Step("reword", memory_id, {"text": before}) for (before,) in said if before != text]


def take_back(db: sqlite3.Connection, steps: Sequence[Step]) -> None:
    """Undo what these steps did beside the memories, the last one first."""
    for step in steps:
        if step.action in BESIDE and step.before is not None:
            BESIDE[step.action](db, step.id, step.before)


def _propose_again(db: sqlite3.Connection, proposal_id: str, before: Mapping[str, Any]) -> None:
    values = (proposal_id, *(before[name] for name in _PROPOSAL))
    db.execute(
        f"INSERT OR REPLACE INTO review (id, {', '.join(_PROPOSAL)}) VALUES (?, ?, ?, ?, ?, ?)", values
    )


def _bury_again(db: sqlite3.Connection, origin: str, before: Mapping[str, Any]) -> None:
    db.execute("INSERT OR IGNORE INTO tombstones VALUES (?, ?)", (origin, before["at"]))


def _let_in_again(db: sqlite3.Connection, origin: str, _: Mapping[str, Any]) -> None:
    db.execute("DELETE FROM tombstones WHERE origin = ?", (origin,))


def _say_again(db: sqlite3.Connection, memory_id: str, before: Mapping[str, Any]) -> None:
    reword(db, memory_id, before["text"])


BESIDE: Mapping[str, Callable[[sqlite3.Connection, str, Mapping[str, Any]], None]] = {
    "settle": _propose_again,
    "lift": _bury_again,
    "refuse": _let_in_again,
    "reword": _say_again,
}
"""The actions on anything but a memory, and what undoes each: it is given the id and what was before."""
_OF_MEMORIES = f"action NOT IN ({', '.join(map(repr, BESIDE))})"


# --- erasing --------------------------------------------------------------------------------------


def erase(db: sqlite3.Connection, ids: Collection[str]) -> None:
    """Take out all that is kept of these memories, and every pointer to them: undo brings none back."""
    gone = set(ids)
    listed = json.dumps(list(gone))
    for table in ("journal_added", "journal_changed"):
        db.execute(f"DELETE FROM {table} WHERE id IN (SELECT value FROM json_each(?))", (listed,))
    rows = db.execute("SELECT seq, action, before FROM journal_changed").fetchall()
    for seq, action, told in rows:
        before = json.loads(told)
        clear = _unproposed(before, gone) if action == "settle" else _unpointed(before, gone)
        if clear is None:
            db.execute("DELETE FROM journal_changed WHERE seq = ?", (seq,))
        elif clear != before:
            db.execute("UPDATE journal_changed SET before = ? WHERE seq = ?", (json.dumps(clear), seq))
    _drop_empty(db)


def _unproposed(before: Mapping[str, Any], gone: set[str]) -> Mapping[str, Any] | None:
    if not gone.isdisjoint(json.loads(before["evidence"])):
        return None
    if before["conflicts_with"] in gone:
        return {**before, "conflicts_with": None, "why": ""}
    return before


def _unpointed(before: Mapping[str, Any], gone: Collection[str]) -> Mapping[str, Any]:
    lists = ("supersedes", "derived_from")
    clear: dict[str, Any] = {
        name: [id_ for id_ in before[name] if id_ not in gone] for name in lists if name in before
    }
    if before.get("superseded_by") in gone:
        clear |= {"superseded_by": None, "valid_to": None}
    return {**before, **clear}
