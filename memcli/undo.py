"""Undo: what the last commands changed is as it was before, and what they added is gone from disk.

What is taken back leaves the journal, so there is no redo: an added memory is erased from every byte, without
a tombstone, and the same command brings it back. Only the fields that a command changed are set back.
Nothing is ever added here, so that what was forgotten stays away.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from memcli.errors import NothingMatchedError, UsageError
from memcli.record_json import record_from_json, to_json
from memcli.store import journal, purge
from memcli.store.lance import LanceStore
from memcli.store.side import Side
from memcli.types import Change, Millis, Record, Undoable, Undone

_GOES_ON = "the next command that writes goes on with what is being taken back"


class Stores(Protocol):
    """How a store is opened."""

    def read(self) -> LanceStore:
        """The store for reading."""
        ...

    def read_side(self) -> Side | None:
        """The side store for reading; None where there is no store."""
        ...

    def write(self) -> AbstractContextManager[tuple[LanceStore, Side]]:
        """The store under the writers' lock; what was broken off is finished first."""
        ...


def entries(store: LanceStore, side: Side | None, *, now: Millis) -> Sequence[Undoable]:
    """The commands that can be taken back, the last one first."""
    if side is None:
        return ()
    with side.snapshot() as db:
        known = journal.entries(db)
    entry = store.state.applying
    if entry is None:
        return known
    # Its process may have died before it did what it had noted: the next writer lets go of that.
    part = _Part.of(store, side, entry, now=now)
    return [done for command in known if (done := part.as_done(command)) is not None]


@dataclass(frozen=True, slots=True)
class _Part:
    """The last part of an entry that is being carried out, and what of it is in the store."""

    entry: int
    added: Sequence[str]
    there: Sequence[str]
    beside: Sequence[journal.Kept]
    done: Sequence[journal.Kept]

    @classmethod
    def of(cls, store: LanceStore, side: Side, entry: int, *, now: Millis) -> _Part:
        with side.snapshot() as db:
            added, kept = journal.added(db, [entry]), journal.changed(db, [entry])
        records = {record.id: record for record in store.get([each.step.id for each in kept], now=now)}
        beside = [each for each in kept if each.step.action in journal.BESIDE]
        done = [
            each for each in kept if each not in beside and _differs(records.get(each.step.id), each.step)
        ]
        return cls(entry, added, store.present(added), beside, done)

    def as_done(self, command: Undoable) -> Undoable | None:
        """The command without what was only noted; None where that is all."""
        if self.entry not in command.numbers:
            return command
        added = command.added - len(self.added) + len(self.there)
        if self.there or self.done:
            return replace(command, added=added)
        others = tuple(number for number in command.numbers if number != self.entry)
        return replace(command, numbers=others, added=added) if others else None


def plan(store: LanceStore, side: Side | None, *, count: int, now: Millis) -> Undone:
    """What taking back the last commands would do. Nothing is changed.

    Raises:
        NothingMatchedError: there is nothing to take back.
        UsageError: a command that ran at the same time has changed the same memory since.
    """
    known = entries(store, side, now=now)
    chosen = known[:count]
    if side is None or not chosen:
        raise NothingMatchedError(
            "there is nothing to take back", "see what there is with `memcli undo --list`"
        )
    numbers = [number for entry in chosen for number in entry.numbers]
    back = _Back.of(side, numbers)
    with side.snapshot() as db:
        touched = journal.touched_since(db, back.first, numbers)
    if touched is not None:
        raise UsageError(
            f"the memory {touched[0]} was changed since by another command that ran at the same time",
            f"take that back too: memcli undo {_place(known, touched[1])}",
        )
    return Undone(tuple(chosen), tuple(store.present(back.added)), tuple(back.changes(store, now=now)))


def take_back(stores: Stores, *, count: int, now: Millis) -> Undone:
    """Take back the last commands; one that is being taken back since a process died or a disk was full is
    among them, and no other is in its place. Raises what `plan` does.
    """
    begun = _begun(stores.read(), stores.read_side(), now=now)
    # What was begun is finished in here.
    with stores.write() as (store, side):
        left = count - len(begun.commands) if begun else count
        if begun is not None and begun.commands and (left <= 0 or not entries(store, side, now=now)):
            return begun
        done = plan(store, side, count=left, now=now)
        side.begin_undo([number for command in done.commands for number in command.numbers])
        store.refresh()
        finish(store, side, now=now)
    if begun is None:
        return done
    return Undone(
        begun.commands + done.commands, begun.removed + done.removed, begun.restored + done.restored
    )


def _begun(store: LanceStore, side: Side | None, *, now: Millis) -> Undone | None:
    """What was begun to be taken back and is not finished; None for nothing."""
    numbers = store.state.undoing
    if side is None or not numbers:
        return None
    back = _Back.of(side, numbers)
    commands = tuple(command for command in entries(store, side, now=now) if {*command.numbers} <= {*numbers})
    return Undone(commands, tuple(store.present(back.added)), tuple(back.changes(store, now=now)))


def _place(known: Sequence[Undoable], number: int) -> int:
    return next((at for at, entry in enumerate(known, 1) if number in entry.numbers), len(known))


@dataclass(frozen=True, slots=True)
class _Back:
    """What leads back: ids that were added, and of other memories the fields as they were before."""

    numbers: Sequence[int]
    added: Sequence[str]
    before: Mapping[str, Mapping[str, Any]]
    first: Mapping[str, int]
    """For each memory the number of the first step that concerns it; 0 for one that was added."""
    kept: Sequence[journal.Kept]

    @classmethod
    def of(cls, side: Side, numbers: Sequence[int]) -> _Back:
        with side.snapshot() as db:
            added, kept = journal.added(db, numbers), journal.changed(db, numbers)
        before: dict[str, Mapping[str, Any]] = {}
        first: dict[str, int] = {}
        gone = set(added)
        for each in kept:
            if each.step.action not in journal.BESIDE and each.step.id not in gone:
                # The last one comes first: what was before an earlier one counts.
                before[each.step.id] = {**before.get(each.step.id, {}), **(each.step.before or {})}
                first[each.step.id] = each.number
        return cls(numbers, added, before, first | dict.fromkeys(added, 0), kept)

    def changes(self, store: LanceStore, *, now: Millis) -> list[Change]:
        """The memories that are to be as they were and are not."""
        changes = []
        for record in store.get(list(self.before), now=now):
            was = record_from_json({**to_json(record), **self.before[record.id]})
            if was != record:
                changes.append(Change("update", was, before=record, why="as it was before"))
        return changes


def finish(store: LanceStore, side: Side, *, now: Millis) -> None:
    """Carry through what was begun, now or in a process that died. The writers' lock is held.

    An entry that was journaled and is not in the store leaves the journal; an undo goes on.
    """
    if store.state.applying is not None:
        _look_at(store, side, store.state.applying, now=now)
    if store.state.undoing:
        with purge.room_told(Path(store.uri), then=_GOES_ON):
            _take_back(store, side, store.state.undoing, now=now)
    store.refresh()


def _look_at(store: LanceStore, side: Side, entry: int, *, now: Millis) -> None:
    """Keep of an entry what did come to be: its last part was one commit of the store, or none."""
    part = _Part.of(store, side, entry, now=now)
    beside = part.beside
    with side.change() as db:
        if not part.there and not part.done:
            journal.take_back(db, [each.step for each in beside])
            beside = []
        changed = [each.number for each in (*part.done, *beside)]
        journal.keep_only(db, entry, added=part.there, changed=changed)
        db.execute("DELETE FROM meta WHERE key = 'applying'")


def _differs(record: Record | None, step: journal.Step) -> bool:
    if record is None or step.before is None:
        return False
    now = to_json(record)
    return any(now[name] != value for name, value in step.before.items())


def _take_back(store: LanceStore, side: Side, numbers: Sequence[int], *, now: Millis) -> None:
    back = _Back.of(side, numbers)
    changes = back.changes(store, now=now)
    unlinked = _unlinked(changes, store, set(back.added))
    store.apply(changes)

    def set_back(db: sqlite3.Connection) -> None:
        journal.take_back(db, [each.step for each in back.kept])
        db.executemany("INSERT OR IGNORE INTO unseen VALUES (?)", [(id_,) for id_ in unlinked])

    # No origins: whatever brings the same again is welcome.
    side.begin_erase(back.added, origins=(), at=now, also=set_back)
    store.refresh()
    if back.added:
        purge.finish(store, side)
    # Only now: whoever asks again, because a disk was full, means these and no others.
    with side.change() as db:
        journal.drop(db, numbers)
        db.execute("DELETE FROM meta WHERE key = 'undoing'")


def _unlinked(changes: Sequence[Change], store: LanceStore, gone: Collection[str]) -> list[str]:
    """Memories that both stay and are no longer tied: what ties them has to be looked for again."""
    tied = {
        change.record.id: change.before.superseded_by
        for change in changes
        if change.before is not None
        and change.before.superseded_by not in (None, change.record.superseded_by, *gone)
    }
    both = [id_ for pair in tied.items() for id_ in pair if id_]
    return store.present(both)
