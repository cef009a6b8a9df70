"""Learning: what waits in the queue becomes facts, by rules first, then by a model; what is unclear is asked.

A turn is read by rules as soon as it is a memory. Where they may have missed something it waits for a
model, which is asked about several turns at once: at most once for every five turns that were read. The
facts are stored before the queue lets go of their turns, and have ids made from the turn and their words:
a process that dies loses nothing and stores nothing twice. No lock is held while a model thinks.
"""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

from memcli import lifecycle, renewal
from memcli.errors import HungUpError, ModelError, NothingMatchedError, UsageError
from memcli.extract import asking
from memcli.extract.likeness import contradicts, is_same, signature
from memcli.extract.rules import by_rules, takes_back
from memcli.passages import folded
from memcli.redact import scrub_record
from memcli.sessions import SOURCE, is_said
from memcli.stop import Stop
from memcli.store import journal, queue
from memcli.store.lance import LanceStore
from memcli.store.side import Side
from memcli.store.where import holds_any, one_of
from memcli.times import local_zone
from memcli.timewords import dated
from memcli.types import (
    PRIORITY_OF_KIND,
    Change,
    ChatModel,
    Extracted,
    Filters,
    Learned,
    Millis,
    Origin,
    Proposal,
    Record,
)

FACT_KINDS = ("identity", "preference", "decision", "fact")

_AT_ONCE = 100
# What was said before a turn tells whether it is meant: so far back.
_EARLIER_TURNS = 30

Found: TypeAlias = Sequence[tuple[Record, Extracted]]
"""Facts, each with the turn that it was said in."""


class Keep(Protocol):
    """Carries out a plan, with what a command does beside the memories, and keeps it for undo."""

    def __call__(
        self,
        store: LanceStore,
        side: Side,
        changes: Sequence[Change],
        *,
        command: str,
        beside: journal.Beside = journal.nothing,
    ) -> None:
        """Do it."""
        ...


class Stores(Protocol):
    """How a store is opened."""

    def write(self) -> AbstractContextManager[tuple[LanceStore, Side]]:
        """The store under the writers' lock."""
        ...

    def write_side(self) -> AbstractContextManager[Side]:
        """The side store for what is in no table."""
        ...


@dataclass(frozen=True, slots=True)
class Learner:
    """Learns from one store at one moment.

    Args:
        stores: the store.
        now: the clock.
        keep: carries out a plan.
        embed: makes vectors of memories just stored.
        notice: told what the person should know, a sentence.
        waits: what rules may have missed waits for a model where it was imported; what was said in a chat
            always does, for there is a model there.
    """

    stores: Stores
    now: Millis
    keep: Keep
    embed: Callable[[Sequence[str]], object]
    notice: Callable[[str], None]
    waits: bool = False

    def drain(self, model: ChatModel | None, *, until: float, stop: Stop | None = None) -> Learned:
        """Learn from what waits, until all is read or the time is over.

        Args:
            model: who is asked about what rules do not see; None for rules alone.
            until: a `time.monotonic()` after which no more is begun.
            stop: ends what the model is asked; its turns wait as before.

        Raises:
            StoreError: the store cannot be written; what is read until then is kept.
        """
        learned = Learned()
        while time.monotonic() < until and (read := self._read_some()) is not None:
            learned = _joined(learned, read)
        while model and time.monotonic() < until and (told := self._ask_some(model, stop)) is not None:
            learned = _joined(learned, told)
        return learned

    def extract(self, turn: Record, pick: Callable[[], ChatModel | None]) -> Learned:
        """Learn from one stored memory now. Where the model fails, the memory waits in the queue.

        Args:
            turn: the memory.
            pick: opens the model that is asked; None for rules alone.

        Raises:
            StoreError: the store cannot be written.
        """
        learned = self._store([(turn, fact) for fact in by_rules(turn.text)])
        try:
            model = pick()
            if model is None or (turn.private and not model.local):
                return learned
            return _joined(learned, self._store(_told(model, [turn], None)))
        except ModelError as error:
            self.notice(f"{error.message}: only rules have read it, and it waits for the model")
            with self.stores.write_side() as side, side.change() as db:
                queue.add(db, [turn.id], at=self.now)
                queue.mark_read(db, [turn.id], now=self.now)
        return learned

    def plan(self, turn: Record) -> list[Change]:
        """What rules would learn from a memory that is not stored; nothing is changed."""
        candidates = (_Candidate.of(turn, fact, b"", now=self.now) for fact in by_rules(turn.text))
        return [replace(each.change, why="stated in it") for each in candidates]

    # --- rules ------------------------------------------------------------------------------------

    def _read_some(self) -> Learned | None:
        """Let rules read some turns; None when none is left."""
        with self.stores.write_side() as side, side.change() as db:
            ids = queue.take(db, now=self.now, limit=_AT_ONCE)
        if not ids:
            return None
        with self.stores.write() as (store, _):
            turns = [record for record in store.get(ids, now=self.now) if is_said(record)]
            talks = _talks_of(turns, store, now=self.now)
        unsaid = _unsaid(turns, talks)
        found = [(turn, fact) for turn, fact in _read(turns, talks) if turn.id not in unsaid]
        learned = _joined(self._take_back(unsaid), self._store(found))
        facts = {turn.id: [fact for said, fact in found if said.id == turn.id] for turn in turns}
        asked = [turn for turn in turns if turn.id not in unsaid]
        worth = {turn.id for turn in asked if asking.is_worth_asking(turn.text, facts[turn.id])}
        later = {turn.id for turn in turns if turn.id in worth and self._waits(turn)}
        learned_from = {turn.id for turn in turns} - worth
        with self.stores.write_side() as side, side.change() as db:
            queue.mark_read(db, sorted(later), now=self.now)
            queue.done(db, sorted(learned_from))
            # Without a model rules are all there is; one may come.
            queue.drop(db, [id_ for id_ in ids if id_ not in later | learned_from])
            queue.credit(db, len(turns))
        return learned

    def _take_back(self, turn_ids: Collection[str]) -> Learned:
        """Hide what was learned from turns that the person took back, and learn nothing more from them."""
        if not turn_ids:
            return Learned()
        said_in = set(turn_ids)
        with self.stores.write() as (store, side):
            from_these = holds_any("derived_from", sorted(said_in))
            derived = store.scan(Filters(kinds=FACT_KINDS), now=self.now, order=(), extra=from_these)
            facts = [fact for fact in derived if said_in.issuperset(fact.derived_from)]
            older = store.get([id_ for fact in facts for id_ in fact.supersedes], now=self.now)
            self.keep(store, side, lifecycle.take_back(facts, older, now=self.now), command="learn")
            with side.change() as db:
                queue.done(db, sorted(said_in))
                for proposal in queue.proposals(db):
                    if said_in.issuperset(proposal.said_in):
                        queue.settle(db, proposal.id)
        return Learned(taken_back=tuple(facts))

    def _waits(self, turn: Record) -> bool:
        return self.waits or turn.source == SOURCE

    # --- the model --------------------------------------------------------------------------------

    def _ask_some(self, model: ChatModel, stop: Stop | None) -> Learned | None:
        """Ask the model about some turns; None when none waits, it is not its time yet, or it fails.

        Then the turns are due again later, each time later, and in the end never: but at once where it did
        not fail but was stopped.
        """
        turns = self._take(model)
        if not turns:
            return None
        ids = [turn.id for turn in turns]
        try:
            learned = self._store(_told(model, turns, stop))
        except HungUpError:
            with self.stores.write_side() as side, side.change() as db:
                queue.give_back(db, ids, now=self.now)
            return None
        except ModelError:
            with self.stores.write_side() as side, side.change() as db:
                queue.fail(db, ids, now=self.now)
            return None
        with self.stores.write_side() as side, side.change() as db:
            queue.done(db, ids)
        return learned

    def _take(self, model: ChatModel) -> list[Record]:
        """Turns for one call, if enough have been read since the last one."""
        with self.stores.write_side() as side, side.change() as db:
            if queue.credit(db, 0) < queue.TURNS_PER_CALL:
                return []
            ids = queue.take(db, now=self.now, limit=asking.MOST_TURNS, is_read=True)
        with self.stores.write() as (store, side):
            there = [turn for turn in store.get(ids, now=self.now) if model.local or not turn.private]
            turns = _for_one_call(there)
            asked = {turn.id for turn in turns}
            rest = [turn.id for turn in there if turn.id not in asked]
            with side.change() as db:
                queue.give_back(db, rest, now=self.now)
                # What is forgotten meanwhile, or must not be shown to this model.
                queue.drop(db, [id_ for id_ in ids if id_ not in asked and id_ not in rest])
                queue.credit(db, -queue.TURNS_PER_CALL if turns else 0)
        return turns

    # --- facts → the store ------------------------------------------------------------------------

    def _store(self, found: Found) -> Learned:
        """Store what is new and clear, propose what contradicts; the rest is known, forgotten or refused."""
        if not found:
            return Learned()
        with self.stores.write() as (store, side):
            # Some may have been forgotten while a model was thinking.
            there = {record.id for record in store.get([turn.id for turn, _ in found], now=self.now)}
            candidates = [
                _Candidate.of(turn, fact, store.state.key, now=self.now)
                for turn, fact in found
                if turn.id in there
            ]
            known = list(store.scan(Filters(kinds=FACT_KINDS, with_hidden=True), now=self.now, order=()))
            with side.snapshot() as db:
                asked = [proposal.extracted.text for proposal in queue.proposals(db)]
            new = [
                each
                for each in _new(candidates, known, store)
                if not any(is_same(each.record.text, text) for text in asked)
            ]
            plan = self._renewed(new, store, side)
            if unclear := _contrary(new, known, plan):
                asked_about = [each for each, _ in unclear]
                plan = self._renewed([each for each in new if each not in asked_about], store, side)
            self._keep(store, side, plan, command="learn")
            proposed = tuple(each.proposal(older, at=self.now) for each, older in unclear)
            with side.change() as db:
                for proposal in proposed:
                    queue.propose(db, proposal)
        return self._embedded(_learned(plan, proposed))

    def _renewed(self, new: Sequence[_Candidate], store: LanceStore, side: Side) -> Sequence[Change]:
        """The plan that adds these, and puts them in the place of what they clearly replace."""
        return renewal.renewed([each.change for each in new], store, side, now=self.now)

    def _keep(
        self,
        store: LanceStore,
        side: Side,
        plan: Sequence[Change],
        *,
        command: str,
        beside: journal.Beside = journal.nothing,
    ) -> None:
        added = [change.record for change in plan if change.action == "add"]
        side.note_seen((), telling=renewal.telling_ids(added))
        self.keep(store, side, plan, command=command, beside=beside)

    def _embedded(self, learned: Learned) -> Learned:
        if learned.added:
            self.embed([record.id for record in learned.added])
        return learned

    # --- what the person says to a proposal -------------------------------------------------------

    def accept(self, proposal: Proposal, *, text: str | None = None) -> Learned:
        """Store a proposal (in other words, where there are some) in place of what it contradicts.

        Raises:
            NothingMatchedError: what it was said in has been forgotten meanwhile.
            UsageError: the new text is empty.
        """
        if text is not None and not text.strip():
            raise UsageError("the new text is empty", "say no to it instead")
        fact = replace(proposal.extracted, text=(text or proposal.extracted.text).strip())
        with self.stores.write() as (store, side):
            turns = store.get(proposal.said_in, now=self.now)
            if not turns:
                raise NothingMatchedError("what this was said in has been forgotten")
            candidate = _Candidate.of(turns[0], fact, store.state.key, now=self.now)
            older = store.get([proposal.conflicts_with] if proposal.conflicts_with else [], now=self.now)
            is_known = bool(store.known([candidate.origin]))
            plan = _plan_accepted(candidate, older, is_known=is_known, now=self.now)
            settle = partial(journal.settle, proposal_id=proposal.id)
            self._keep(store, side, plan, command="review", beside=settle)
        return self._embedded(_learned(plan))

    def reject(self, proposal: Proposal, *, never: bool) -> None:
        """Let go of a proposal; with `never` nothing that says the same is learned or asked again."""
        with self.stores.write_side() as side:
            mark = _never_mark(proposal.extracted.text, side.state().key) if never else None

            def answer(db: sqlite3.Connection) -> Sequence[journal.Step]:
                refused = journal.refuse(db, mark, at=self.now) if mark else []
                return [*journal.settle(db, proposal.id), *refused]

            side.note_steps("review", (), at=self.now, beside=answer)


def _joined(one: Learned, other: Learned) -> Learned:
    return Learned(
        one.added + other.added,
        one.superseded + other.superseded,
        one.proposed + other.proposed,
        one.taken_back + other.taken_back,
    )


def _learned(plan: Sequence[Change], proposed: tuple[Proposal, ...] = ()) -> Learned:
    return Learned(
        added=tuple(change.record for change in plan if change.action == "add"),
        superseded=tuple(change.record for change in plan if change.action == "supersede"),
        proposed=proposed,
    )


# --- turns → facts --------------------------------------------------------------------------------

_Talks: TypeAlias = Mapping[tuple[str, str | None], Sequence[Record]]
"""What was said in conversations, in order, by (source, conversation)."""


def _talks_of(turns: Sequence[Record], store: LanceStore, *, now: Millis) -> _Talks:
    sessions = sorted({turn.session_id for turn in turns if turn.session_id})
    talks: dict[tuple[str, str | None], list[Record]] = defaultdict(list)
    if sessions:
        for record in store.scan(Filters(with_hidden=True), now=now, extra=one_of("session_id", sessions)):
            if record.kind == "episode":
                talks[record.source, record.session_id].append(record)
    for talk in talks.values():
        talk.sort(key=lambda record: (record.position or 0, record.created_at or 0))
    return talks


def _unsaid(turns: Sequence[Record], talks: _Talks) -> set[str]:
    """The ids of what the person said just before those of the turns that take it back."""
    unsaid: set[str] = set()
    for turn in turns:
        if takes_back(turn.text):
            talk = talks.get((turn.source, turn.session_id), ())
            said = [record.id for record in _before(turn, talk) if is_said(record)]
            unsaid.update(said[-1:])
    return unsaid


def _before(turn: Record, talk: Sequence[Record]) -> list[Record]:
    return [record for record in talk if (record.position or 0) < (turn.position or 0)]


def _read(turns: Sequence[Record], talks: _Talks) -> Iterator[tuple[Record, Extracted]]:
    for turn in turns:
        talk = talks.get((turn.source, turn.session_id), ())
        before = _before(turn, talk)
        answered = before[-1].text if before and before[-1].role == "assistant" else ""
        earlier = [record.text for record in before if is_said(record)][-_EARLIER_TURNS:]
        yield from ((turn, fact) for fact in by_rules(turn.text, previous=answered, earlier=earlier))


def _told(model: ChatModel, turns: Sequence[Record], stop: Stop | None) -> Found:
    """What a model finds in some turns that is really there. Raises HungUpError, ModelError."""
    texts = [turn.text for turn in turns]
    answer = model.ask(asking.question(texts), asking.schema(texts), max_tokens=asking.MAX_TOKENS, stop=stop)
    return [(turns[place], fact) for place, fact in asking.supported(answer, texts)]


def _for_one_call(turns: list[Record]) -> list[Record]:
    """The first turns that are no more than a model is asked about at once; one at least."""
    chars, count = 0, 0
    for turn in turns:
        chars += len(turn.text)
        if count and chars > asking.MOST_CHARS:
            break
        count += 1
    return turns[:count]


# --- facts → a plan -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A fact as it would be stored; `never` is what it is kept out by where the person said never."""

    fact: Extracted
    record: Record
    origin: Origin
    never: str

    @classmethod
    def of(cls, turn: Record, fact: Extracted, key: bytes, *, now: Millis) -> _Candidate:
        record, _ = scrub_record(_record(turn, fact, key, now=now))
        origin = lifecycle.origin_of(record, key)
        named = replace(record, id=lifecycle.id_of(record, origin, key))
        return cls(replace(fact, text=record.text), named, origin, _never_mark(record.text, key))

    @property
    def change(self) -> Change:
        return Change("add", self.record, origin=self.origin)

    def proposal(self, older: Record, *, at: Millis) -> Proposal:
        """The question to the person."""
        why = f"it does not go with: {older.text}"
        return Proposal(self.record.id, at, self.fact, self.record.derived_from, older.id, why)


def _record(turn: Record, fact: Extracted, key: bytes, *, now: Millis) -> Record:
    """The memory of a fact: of its turn's time, conversation and privacy."""
    mark = lifecycle.keyed_hash(key, "fact", folded(fact.text))[:8]
    return Record(
        id="",
        # On another day its words would say another date.
        text=dated(fact.text, now=turn.created_at, tz=local_zone()) if turn.created_at else fact.text,
        kind=fact.kind,
        priority=PRIORITY_OF_KIND[fact.kind],
        topics=fact.topics,
        project=turn.project,
        audience=turn.audience,
        private=turn.private,
        source=turn.source,
        source_id=f"{turn.id}/{mark}",
        session_id=turn.session_id,
        # At its turn's place: neither comes after the other, so neither takes the other's place.
        position=turn.position,
        created_at=turn.created_at,
        updated_at=now,
        expires_at=turn.expires_at,
        derived_from=(turn.id,),
    )


def _never_mark(text: str, key: bytes) -> str:
    return lifecycle.keyed_hash(key, "never", *signature(text))[:32]


def _new(
    candidates: Sequence[_Candidate], known: Sequence[Record], store: LanceStore
) -> Iterator[_Candidate]:
    """The candidates that are not stored, forgotten, refused or said already, each once."""
    origins = [each.origin for each in candidates]
    marks = [value for origin in origins for value in lifecycle.hashes(origin)]
    buried = store.buried([*marks, *(each.never for each in candidates)])
    there = lifecycle.Known(store.known(origins), buried)
    taken: list[Record] = []
    for each in candidates:
        outcome = lifecycle.reconcile(each.record, each.origin, there, restore=False)
        is_new = outcome.action == "add" and each.never not in buried
        if is_new and not any(_says_already(record, each.record) for record in (*known, *taken)):
            taken.append(each.record)
            yield each


def _says_already(held: Record, new: Record) -> bool:
    """Whether a memory says the same already, and still did when the new one was said."""
    if held.kind != new.kind or held.project not in (None, new.project) or not is_same(held.text, new.text):
        return False
    return held.superseded_by is None or (new.created_at or 0) <= (held.valid_to or 0)


def _contrary(
    new: Sequence[_Candidate], known: Sequence[Record], plan: Sequence[Change]
) -> list[tuple[_Candidate, Record]]:
    """What contradicts a memory, or a fact just before it, and does not replace that; with that."""
    replaced = {change.record.id for change in plan if change.record.superseded_by}
    held = [record for record in known if record.superseded_by is None and not record.retired]
    found: list[tuple[_Candidate, Record]] = []
    for each in new:
        contrary = [
            record
            for record in held
            if not replaced & {record.id, each.record.id} and contradicts(each.record.text, record.text)
        ]
        if contrary:
            found.append((each, contrary[0]))
        else:
            held.append(each.record)
    return found


def _plan_accepted(
    candidate: _Candidate, older: Collection[Record], *, is_known: bool, now: Millis
) -> Sequence[Change]:
    if is_known:
        return ()
    replaced = [record for record in older if record.superseded_by is None]
    if not replaced:
        return (candidate.change,)
    return lifecycle.supersede(replaced[0], candidate.change, now=now)
