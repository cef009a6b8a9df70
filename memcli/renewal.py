"""Updates as they are stored: what is added takes the place of what it outdates, and has its own taken.

Which of two statements outdates the other is told from the two alone (`updates.outdates`), and an
outdated one is superseded by the earliest that does so. So the chains are the same in whatever order
and in however many pieces the statements came.

What an import adds is only noted as not looked at yet, in the side store, before it is stored, and is
looked at after the file (`catch_up`): stopped in between, the next writing command goes on.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Protocol

from memcli import lifecycle
from memcli.statements import names_any, said, sentences, tell, terms_of
from memcli.store.lance import LanceStore
from memcli.store.side import Side
from memcli.store.where import one_of
from memcli.types import Change, Filters, Millis, Record
from memcli.updates import is_statement, order, outdates

AT_ONCE = 20_000
"""Memories looked at under one lock."""

_A_SEARCH, _A_ROW = 200, 1.5
"""A search of the store takes about as long as reading so many texts, and so many more for each row that no
index of words holds yet."""

AS_EXPORTED = "as exported"
"""Why of what comes from the program's own export: its pointers come with it and are left alone."""

_EVERY = ""
"""Among the ids not looked at: a store of an earlier version, of which nothing was."""

NOTHING: Mapping[str, Record] = {}

Keep = Callable[[LanceStore, Side, Sequence[Change]], None]
"""Carries out a plan and keeps it for undo."""


# --- what a plan adds -----------------------------------------------------------------------------


def renewed(plan: Sequence[Change], store: LanceStore, side: Side | None, *, now: Millis) -> list[Change]:
    """A plan, with what follows from what it adds: memories that it supersedes, or that supersede it.

    For what is remembered or learned one by one; pass the result to the store as one plan. What the
    plan adds carries its pointers from the beginning; a stored memory gets a Change of its own:
    "supersede" for one that is replaced, "update" for one that replaces.

    Args:
        plan: what is about to be stored.
        store: the store that it goes to.
        side: its side store, None where there is none yet.
        now: the clock.
    """
    planned = {change.record.id: change.record for change in plan if change.action != "skip"}
    added = [change.record for change in plan if change.action == "add"]
    changes = {
        change.record.id: change for change in changes_for(store, side, added, now=now, planned=planned)
    }
    told = [
        replace(change, record=changes[change.record.id].record) if change.record.id in changes else change
        for change in plan
    ]
    return told + [change for id_, change in changes.items() if id_ not in planned]


def changes_for(
    store: LanceStore,
    side: Side | None,
    added: Sequence[Record],
    *,
    now: Millis,
    planned: Mapping[str, Record] = NOTHING,
    without: Collection[str] = (),
) -> list[Change]:
    """What has to change so that each of these memories stands in its place among the stored ones.

    Args:
        store: the store.
        side: its side store: which stored memories tell something.
        added: memories just stored, or about to be.
        now: the clock.
        planned: memories as they are about to be stored, by id, where that is not how they are.
        without: ids of memories that are on their way out.

    Returns:
        One Change a record: "supersede" for one that is replaced (`superseded_by`, `valid_to`: when the
        later one was said), "update" for one that replaces. Empty when all is as it should be.
    """
    new = {record.id: record for record in added if is_statement(record)}
    known = side.telling() if side else set()
    stored = _as_planned(store.get(sorted(known - new.keys() - set(without)), now=now), planned)
    telling = _telling(new.values())
    seen = {*new, *without, *(record.id for record in stored)}
    olders = [*stored, *_as_planned(_spoken_of(telling, store, seen, now=now), planned)]
    found: dict[str, list[Record]] = defaultdict(list)
    for older, newer in chain(_pairs([*telling, *stored], list(new.values())), _pairs(telling, olders)):
        found[older.id].append(newer)
    links = _Links(store, chain(new.values(), olders), now)
    for id_, newers in sorted(found.items()):
        links.point(id_, min(newers, key=order).id)
    return links.changes()


def telling_ids(records: Iterable[Record]) -> list[str]:
    """Which of these memories tell something: a later search for what they replace begins with them."""
    return [record.id for record in _telling(record for record in records if is_statement(record))]


def _telling(statements: Iterable[Record]) -> list[Record]:
    some = list(statements)
    return [
        record for record, tells in zip(some, tell([record.text for record in some]), strict=True) if tells
    ]


def _spoken_of(
    telling: Sequence[Record], store: LanceStore, seen: Collection[str], *, now: Millis
) -> list[Record]:
    """Stored statements, but those `seen`, that hold words of what the telling ones say is over or new."""
    clauses = [clause for record in telling for clause in _clauses(record)]
    if not clauses or store.state.memories is None:
        return []
    rest = store.count_statements() - len(seen)
    if rest <= 0:
        return []
    if len(clauses) * (_A_SEARCH + _A_ROW * store.unindexed()[0]) > rest:
        named = frozenset[str]().union(*map(_named, telling))
        found = store.statements_like(partial(names_any, named=named), now=now)
    else:
        found = store.statements_with(clauses, now=now)
    return [record for record in found if record.id not in seen]


def _as_planned(records: Iterable[Record], planned: Mapping[str, Record]) -> list[Record]:
    return [each for record in records if is_statement(each := planned.get(record.id, record))]


def _clauses(record: Record) -> list[str]:
    told = said(record.text)
    return [*(each.clause for each in told.over), *(each.clause for each in told.changed)]


def _named(record: Record) -> frozenset[str]:
    """The terms of what a statement says is over or new."""
    told = said(record.text)
    return frozenset[str]().union(*(each.named for each in told.over), *(each.named for each in told.changed))


def _pairs(newer: Sequence[Record], older: Sequence[Record]) -> Iterable[tuple[Record, Record]]:
    """(older, newer) of each statement that another outdates."""
    by_term: dict[str, list[Record]] = defaultdict(list)
    by_slot: dict[str, list[Record]] = defaultdict(list)
    for record in newer:
        for term in _named(record):
            by_term[term].append(record)
        for slot in said(record.text).fills:
            by_slot[slot].append(record)
    for record in older:
        near: dict[str, Record] = {}
        if by_term and names_any(record.text, by_term.keys()):
            held = {term for sentence in sentences(record.text) for term in terms_of(sentence)}
            near |= {each.id: each for term in held & by_term.keys() for each in by_term[term]}
        if by_slot:
            told = said(record.text)
            near |= {each.id: each for slot in told.fills | told.own for each in by_slot.get(slot, ())}
        yield from ((record, each) for each in near.values() if outdates(each, record))


class _Links:
    """Pointers between memories, as they are and as they become."""

    def __init__(self, store: LanceStore, records: Iterable[Record], now: Millis) -> None:
        self._store = store
        self._now = now
        self._before = {record.id: record for record in records}
        self._after: dict[str, Record] = {}

    def point(self, older_id: str, newer_id: str) -> None:
        """Let one memory be superseded by another, unless it is already by an earlier one or on purpose."""
        older, newer = self._record(older_id), self._record(newer_id)
        if older is None or newer is None or not self._is_free(older, newer):
            return
        if self._leads_to(newer, older_id):
            return
        self._release(older)
        renewing, replaced = lifecycle.supersede(older, Change("update", newer), now=self._now)
        self._after |= {newer_id: renewing.record, older_id: replaced.record}

    def pass_on(self, older_id: str, leaving: Mapping[str, Record]) -> None:
        """Let what has superseded those that are `leaving` supersede it from when that was."""
        passed: set[str] = set()
        last = leaving[self._before[older_id].superseded_by or ""]
        while last.superseded_by in leaving and last.id not in passed:
            passed.add(last.id)
            last = leaving[last.superseded_by or ""]
        heir = self._record(last.superseded_by) if last.superseded_by else None
        if heir is None or heir.id in leaving or heir.id == older_id:
            return
        older = self._before[older_id]
        self._after[heir.id] = replace(heir, supersedes=(*heir.supersedes, older_id))
        self._after[older_id] = replace(
            older, superseded_by=heir.id, valid_to=last.valid_to, updated_at=self._now
        )

    def changes(self) -> list[Change]:
        """What has to be stored."""
        return [
            Change("supersede", record, before=before, why=f"replaced by {record.superseded_by}")
            if record.superseded_by != before.superseded_by
            else Change("update", record, before=before, why=f"replaces {', '.join(record.supersedes)}")
            for record, before in ((record, self._before[id_]) for id_, record in self._after.items())
        ]

    def _record(self, id_: str) -> Record | None:
        if id_ not in self._before:
            self._before.update((record.id, record) for record in self._store.get([id_], now=self._now))
        return self._after.get(id_) or self._before.get(id_)

    def _is_free(self, older: Record, newer: Record) -> bool:
        """Whether nothing has replaced it, or a later one that outdates it by these same rules."""
        if older.superseded_by is None:
            return True
        other = self._record(older.superseded_by)
        return other is not None and outdates(other, older) and order(newer) < order(other)

    def _leads_to(self, newer: Record, older_id: str) -> bool:
        """Whether the newer one has itself been replaced by the older: what a person set goes first."""
        passed: set[str] = set()
        following: Record | None = newer
        while following is not None and following.superseded_by and following.id not in passed:
            passed.add(following.id)
            if following.superseded_by == older_id:
                return True
            following = self._record(following.superseded_by)
        return False

    def _release(self, older: Record) -> None:
        """Take it from what has superseded it until now."""
        if older.superseded_by is None or (other := self._record(older.superseded_by)) is None:
            return
        left = tuple(id_ for id_ in other.supersedes if id_ != older.id)
        self._after[other.id] = replace(other, supersedes=left)


# --- what is about to be forgotten ----------------------------------------------------------------


def bridged(store: LanceStore, side: Side, gone: Sequence[Record], *, now: Millis) -> list[Change]:
    """What has to change before memories are erased, so that nothing that they replaced seems to hold.

    Of a chain A → B → C without B, C stands for A too: where a statement had outdated A, if C outdates
    it by itself, and where a new text of the same source had replaced it, always.

    Args:
        store: the store.
        side: its side store.
        gone: what is about to be erased.
        now: the clock.

    Returns:
        Changes that point past what is erased; where nothing follows, the pointer is cleared by the erase.
    """
    leaving = {record.id: record for record in gone}
    left = [
        record
        for record in store.scan(
            Filters(with_hidden=True), now=now, order=(), extra=one_of("superseded_by", leaving)
        )
        if record.id not in leaving
    ]
    freed: dict[str, Record] = {}
    links = _Links(store, left, now)
    for record in left:
        successor = leaving[record.superseded_by or ""]
        if outdates(successor, record) and is_statement(successor) and is_statement(record):
            freed[record.id] = replace(record, superseded_by=None, valid_to=None)
        else:
            links.pass_on(record.id, leaving)
    again = changes_for(store, side, list(freed.values()), now=now, without=leaving)
    return [*links.changes(), *again]


# --- what an import has added ---------------------------------------------------------------------


class Stores(Protocol):
    """How a store is opened under the lock for writing."""

    def write(self) -> AbstractContextManager[tuple[LanceStore, Side]]:
        """The store under the writers' lock."""
        ...


def note_added(side: Side, plan: Sequence[Change]) -> None:
    """Note what a plan is about to add, for `catch_up`; what was exported has its pointers already.

    What tells nothing can only be replaced: by what is stored already and tells something. What comes later
    looks for it (`_spoken_of`).
    """
    side.note_seen((), telling=telling_ids(each.record for each in plan if each.why == AS_EXPORTED))
    added = [
        change.record
        for change in plan
        if change.why != AS_EXPORTED and _is_new(change) and is_statement(change.record)
    ]
    side.note_unseen(record.id for record in (added if side.tells_anything() else _telling(added)))


def _is_new(change: Change) -> bool:
    """Whether a memory is added, or turns out to be the person's own word."""
    return change.action == "add" or (change.before is not None and change.before.role != change.record.role)


def catch_up(stores: Stores, keep: Keep, *, now: Millis, until: float) -> int:
    """Look at what was added and not looked at yet; returns how many memories are left.

    Args:
        stores: the store.
        keep: carries out a plan.
        now: the clock.
        until: a `time.monotonic()` after which no more are begun.
    """
    while True:
        with stores.write() as (store, side):
            ids = side.unseen(AT_ONCE)
            if _EVERY in ids:
                side.note_unseen(record.id for record in store.statements(now=now))
                side.note_seen([_EVERY], telling=())
            elif ids:
                added = store.get(ids, now=now)
                keep(store, side, changes_for(store, side, added, now=now))
                # After the pointers are stored: stopped before this, the same is found again.
                side.note_seen(ids, telling=telling_ids(added))
            left = side.count_unseen()
        if not left or time.monotonic() > until:
            return left
