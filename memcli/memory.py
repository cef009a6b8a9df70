"""Memory: one method a verb; the only place that wires the steps, the store and the models."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memcli import (
    inject,
    lifecycle,
    rank,
    relevance,
    renewal,
    sessions,
    stats,
    timewords,
    undo,
    vectors,
    wording,
)
from memcli.about import Subject, subject_of
from memcli.config import user_name
from memcli.errors import MemcliError, ModelError, NothingMatchedError, StoreError, UsageError
from memcli.models import background
from memcli.models.pick import Picked, pick_embedder
from memcli.record_json import to_json
from memcli.redact import scrub_record
from memcli.selection import chosen_by, to_filters
from memcli.stop import Stop
from memcli.store import copies, events, identity, journal, queue, talks, upkeep
from memcli.store.engine import Database
from memcli.store.lance import LanceStore
from memcli.store.lock import writing
from memcli.store.side import Side, refuse_newer
from memcli.store.where import holds_any, one_of
from memcli.tasks import Tasks, value_of
from memcli.times import Span, local_zone, to_iso
from memcli.types import (
    NO_BACKGROUND,
    PRIORITY_OF_KIND,
    Arm,
    Background,
    Block,
    Candidate,
    Change,
    ChatModel,
    Edited,
    FileReport,
    Filters,
    ForgetPlan,
    Hit,
    Imported,
    Learned,
    Millis,
    Proof,
    Proposal,
    Query,
    Recalled,
    Record,
    Remembered,
    Selection,
    Session,
    Shown,
    Turn,
    Undoable,
    Undone,
    Vector,
)
from memcli.weights import HALF_LIFE_DAYS

if TYPE_CHECKING:
    from concurrent.futures import Future

    from memcli.absorb import Intake, Pile, Planned, Shelf, Taking
    from memcli.age import Key, Lock
    from memcli.backup import Progress as BytesDone
    from memcli.backup import Restored
    from memcli.importers import Source
    from memcli.importers.source import Place as FilePlace
    from memcli.learn import Learner
    from memcli.reading import Reading
    from memcli.store.archive import About

# Candidates of each list that ranking looks at.
_CANDIDATES = 150
# After an import of so many at once the store is looked after: no index has words of them yet.
_MANY_ADDED = 1_000
_AFTER_ANSWER_S = 2.0
# What was just said is embedded before the answer; a very long text gets the rest of its vectors later.
_AT_ONCE_S = 5.0
_RELATED = 5
# What a question is about stands in its beginning; a pasted page would keep the embedder for seconds.
_QUESTION_CHARS = 1_600
_SEE_LIST = "see what there is with `memcli list`"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one user's memory is, and how it is spoken to."""

    directory: Path
    """The user's directory: side store, lock, and the tables unless `lance` says otherwise."""
    lance: str
    """The directory or URI of the Lance tables."""
    embedder: str | None = None
    """MEMCLI_EMBEDDER: builtin, ollama:MODEL, none; None for the store's own."""
    ollama_host: str | None = None
    embed_timeout_s: float = 60.0
    lock_timeout_s: float = 60.0
    half_life_days: Mapping[str, float] = field(default_factory=lambda: HALF_LIFE_DAYS)
    """How memories of each kind age, for recall."""
    learns: bool = True
    """Whether anything is learned (the setting `memory`)."""
    has_model: bool = False
    """Whether a model is set that will learn from what rules do not see."""

    def directories(self) -> list[Path]:
        """The directories on this machine that hold something of the user, none inside another."""
        lance = Path(self.lance)
        is_apart = "://" not in self.lance and not lance.is_relative_to(self.directory)
        return [self.directory, lance] if is_apart else [self.directory]

    def holds(self, path: Path) -> bool:
        """Whether a file is part of the store itself: an import of the directory around it leaves it out."""
        return any(path.is_relative_to(directory.resolve()) for directory in self.directories())


@dataclass(frozen=True, slots=True)
class Draft:
    """What a person asks to remember or to change; None leaves a field as it is (or at its default)."""

    text: str | None = None
    kind: str | None = None
    priority: str | None = None
    topics: tuple[str, ...] | None = None
    project: str | None = None
    private: bool | None = None
    audience: tuple[str, ...] | None = None
    source: str | None = None
    source_id: str | None = None
    at: Millis | None = None
    expires: Millis | None = None

    def fields(self) -> dict[str, Any]:
        """The fields of a Record that are given."""
        given = {
            "text": self.text,
            "kind": self.kind,
            "priority": self.priority,
            "topics": self.topics,
            "project": self.project,
            "private": self.private,
            "audience": self.audience,
            "source": self.source,
            "source_id": self.source_id,
            "created_at": self.at,
            "expires_at": self.expires,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Found:
    """What the store found for a question: of `rows` passages these `candidates`, unranked.

    `times` are what the question's words of time mean; `degraded`: why only keywords were asked;
    `background`: how near the question is to what says nothing.
    """

    candidates: tuple[Candidate, ...]
    rows: int
    times: tuple[Span, ...]
    degraded: str | None
    background: Background = NO_BACKGROUND


def _stands_in(record: Record, known: Collection[str]) -> bool:
    """Whether a memory, or all that it was derived from, is among the known ones."""
    sources = record.derived_from or (record.id,)
    return record.id in known or all(id_ in known for id_ in sources)


def _silent(_: str) -> None:
    """Tell nobody."""


def _not_told(_done: int, _all: int) -> None:
    """Tell nobody how far it is."""


@dataclass(slots=True)
class Memory:
    """One user's memory. Methods that write take the lock for as long as a step needs it.

    Args:
        place: where it is.
        clock: the time in milliseconds; a replay or a test hands in its own.
        notice: told what a person should know meanwhile, a sentence each.
        student: opens the model that learns what rules do not see; None for rules alone.
        looks_at_rows: whether rows that are not what was written are refused where a look takes little.
    """

    place: Place
    clock: Callable[[], Millis]
    notice: Callable[[str], None] = _silent
    student: Callable[[], ChatModel | None] | None = None
    looks_at_rows: bool = True
    _embedder: Picked | None = field(default=None, init=False)
    _side: tuple[int, Side] | None = field(default=None, init=False)
    _database: Database | None = field(default=None, init=False)
    _later: list[Callable[[], object]] = field(default_factory=list, init=False)
    _command: list[int] | None = field(default=None, init=False)
    _last_entry: int | None = field(default=None, init=False)

    # --- remember ---------------------------------------------------------------------------------

    def remember(self, draft: Draft, *, allow_sensitive: bool = False, dry_run: bool = False) -> Remembered:
        """Store one memory, in place of the one that had its source id.

        Raises:
            UsageError: there is no text.
            StoreError: it cannot be stored; nothing was.
        """
        if not (draft.text or "").strip():
            raise UsageError(
                "there is nothing to remember", "give the text as an argument, or - and pipe it in"
            )
        now = self.clock()
        kind = draft.kind or "fact"
        asked = Record(
            **{
                "id": "",
                "kind": kind,
                "priority": PRIORITY_OF_KIND[kind],
                "source": "cli",
                "created_at": now,
                "updated_at": now,
                **draft.fields(),
            }
        )
        asked, redacted = _scrubbed(asked, allow_sensitive=allow_sensitive)
        if dry_run:
            store = self.read()
            plan = _plan_remember(asked, store, now=now)
            changes = renewal.renewed(plan, store, self.read_side(), now=now)
            return _remembered(changes, redacted, pending=0)
        with self.write() as (store, side):
            plan = _plan_remember(asked, store, now=now)
            changes = renewal.renewed(plan, store, side, now=now)
            side.note_seen((), telling=renewal.telling_ids([change.record for change in plan]))
            lift = partial(journal.lift, origins=_hashes(changes))
            self._apply(store, side, changes, command="remember", beside=lift)
        added = [change.record.id for change in changes if change.action == "add"]
        pending = self._embed_now(added) if added else 0
        return _remembered(changes, redacted, pending=pending)

    # --- recall -----------------------------------------------------------------------------------

    def recall(self, query: Query, *, is_noted: bool = True) -> Recalled:
        """The memories that answer a question, best first. `is_noted`: it counts in the statistics."""
        began = time.perf_counter()
        generation = self._generation()
        hits, degraded = self._search(query)
        found = tuple(hit for hit in hits if hit.score >= query.min_score)[: query.k]
        took_ms = round((time.perf_counter() - began) * 1000)
        if is_noted:
            self._note_recall([hit.record.id for hit in found], generation, took_ms=took_ms, tokens=0)
        return Recalled(hits=found, degraded=degraded, took_ms=took_ms)

    def block(
        self,
        query: Query,
        *,
        budget_tokens: int,
        allow_private: bool = True,
        known: Collection[str] = (),
    ) -> Block:
        """What would be put into a prompt for this question: P0 always, the rest when it answers.

        `known` are the memories that stand in the prompt already, as turns of the conversation: what was
        learned from these alone is not told again.
        """
        began = time.perf_counter()
        generation = self._generation()
        hits, degraded = self._search(query)
        relevant = relevance.relevant(query.text, hits)
        answering = [hit for hit in relevant if not _stands_in(hit.record, known)][: query.k]
        block = inject.block(
            answering,
            p0=self._always(query),
            earlier={hit.record.id for hit in answering if relevance.is_of_its_time(hit)},
            question=query.text,
            budget_tokens=budget_tokens,
            allow_private=allow_private,
            agent=query.filters.agent,
            now=query.now,
        )
        took_ms = round((time.perf_counter() - began) * 1000)
        self._note_recall(
            [hit.record.id for hit in block.hits], generation, took_ms=took_ms, tokens=block.tokens
        )
        return replace(block, degraded=degraded)

    def _always(self, query: Query) -> list[Record]:
        """What is told whatever the question: P0, and what has taken the place of one."""
        store = self.read()
        p0 = store.scan(query.filters, now=query.now, order=(), extra=one_of("priority", ["P0"]))
        told: dict[str, Record] = {}
        for record in p0:
            is_replaced = record.superseded_by is not None
            as_of = query.filters.as_of
            newest = store.newest(record.id, now=query.now, as_of=as_of) if is_replaced else record
            if newest is not None:
                told[newest.id] = newest
        return list(told.values())

    def _search(self, query: Query) -> tuple[list[Hit], str | None]:
        found = self.find(query)
        hits = rank.rank(
            query.text,
            found.candidates,
            k=len(found.candidates),
            total_rows=found.rows,
            times=found.times,
            tz=local_zone(),
            now=query.now,
            half_life_days=self.place.half_life_days,
            background=found.background,
        )
        if query.filters.current:
            hits = [hit for hit in hits if hit.record.superseded_by is None]
        return relevance.scored(query.text, hits), found.degraded

    def find(self, query: Query) -> Found:
        """What the store holds that may answer, before it is ranked."""
        from concurrent.futures import ThreadPoolExecutor

        store = self.read()
        times = timewords.spans(query.text, now=query.now, tz=local_zone())
        # Loading the model and searching by words take about as long: side by side.
        with ThreadPoolExecutor(1) as pool:
            asked: Future[tuple[Vector | None, str | None]] = pool.submit(
                self._query_vector, store, query.text
            )
            near = pool.submit(self._background, self._kept_background(store), asked)
            candidates, rows = store.search(
                wording.sought(query.text),
                lambda: asked.result()[0],
                # What was replaced leads to what replaced it; it is left out afterwards.
                filters=replace(query.filters, current=False),
                now=query.now,
                limit=_CANDIDATES,
                times=times,
            )
        degraded = asked.result()[1] if store.state.memories else None
        return Found(tuple(candidates), rows, times, degraded, near.result())

    def _kept_background(self, store: LanceStore) -> str | None:
        """What says nothing, as the store's embedder sees it; None where that is not noted yet."""
        name, side = store.state.embedder, self.read_side()
        return (
            None if name is None or side is None else background.shipped().get(name) or side.background(name)
        )

    @staticmethod
    def _background(kept: str | None, asked: Future[tuple[Vector | None, str | None]]) -> Background:
        """How near a question is to what says nothing."""
        vector, _ = asked.result()
        return NO_BACKGROUND if vector is None or kept is None else background.nearness(vector, kept)

    def _query_vector(self, store: LanceStore, text: str) -> tuple[Vector | None, str | None]:
        """The question's vector, or why there is none."""
        if not any(char.isalnum() for char in text):
            # A vector of a lone quote or dash is near to everything; signs are looked for letter by letter.
            return None, None
        if store.state.embedder is None:
            return None, "no memory has a vector yet: only keywords were asked"
        try:
            embedder = self.pick(store).embedder
            if embedder is None:
                return None, "MEMCLI_EMBEDDER=none: only keywords were asked"
            return embedder.embed_query(text[:_QUESTION_CHARS]), None
        except ModelError as error:
            return None, f"{error.message}: only keywords were asked"

    def _note_recall(self, ids: Sequence[str], generation: int, *, took_ms: int, tokens: int) -> None:
        """Queue the note on a recall that began when the store was of this generation."""

        def note() -> None:
            if not self.side_path.exists():
                return
            with self.write_side() as side:
                # An erase has gone by since: nothing may bring an erased id back.
                known = ids if side.generation() == generation else ()
                with side.change() as db:
                    events.note_recall(
                        db, known, hits=len(ids), at=self.clock(), took_ms=took_ms, tokens=tokens
                    )

        self._later.append(note)

    # --- import -----------------------------------------------------------------------------------

    def absorb(
        self,
        paths: Sequence[str],
        *,
        intake: Intake,
        progress: Callable[[int, int], None] | None = None,
    ) -> Imported:
        """Take in files, directories and standard input ("-"); a batch a commit, so that a stop keeps it.

        Vectors are not made here: `fill_vectors` does that.

        Args:
            paths: what to read.
            intake: how it is wanted.
            progress: told (bytes read, bytes in all) of the file at hand.
        """
        from memcli.absorb import Pile, Planned, Taking, unread
        from memcli.importers import Unreadable, sources

        began = time.perf_counter()
        side = self.read_side()
        if side is not None and sessions.has_waiting(side) and not intake.dry_run:
            # What a chat exports has to be known here.
            sessions.keep(self)
        plan: list[Change] = []
        stored = partial(self._note_read, intake)
        pile = Pile(partial(self._shelf, intake, Planned(), plan), intake, self.clock(), stored)
        taken: list[FileReport | Taking] = []
        with self.one_command():
            try:
                for source in sources(paths):
                    if isinstance(source, Unreadable):
                        taken.append(unread(source))
                    elif not (source.key and self.place.holds(Path(source.key))):
                        with source:
                            taken.append(self._absorb_one(source, pile, progress))
                pile.store()
            except KeyboardInterrupt:
                pile.store()  # what was read is kept
                raise
            told = (each.report if isinstance(each, Taking) else each for each in taken)
            reports = [report for report in told if report]
            if any(report.added for report in reports) and not intake.dry_run:
                self._renew(until=time.monotonic() + max(_AFTER_ANSWER_S, (time.perf_counter() - began) / 4))
        if sum(report.added for report in reports) >= _MANY_ADDED and not intake.dry_run:
            self._later.append(self._compact)
        took_ms = round((time.perf_counter() - began) * 1000)
        return Imported(files=tuple(reports), took_ms=took_ms, plan=tuple(plan))

    def _absorb_one(
        self, source: Source, pile: Pile, progress: Callable[[int, int], None] | None
    ) -> FileReport | Taking:
        from memcli import reading
        from memcli.absorb import absorb_file

        intake = pile.intake
        self._follow_moved(source, intake)
        before = self._read_before(source, intake)
        if before and before[0].size == source.size:
            return reading.report_again(source.path, before[0].counts)
        side = self.read_side()
        buried = side.tombstones() if side else 0

        def tell(done: int, total: int | None) -> None:
            if progress and total:
                progress(done, total)

        return absorb_file(source, pile, place_of=self._place_of, progress=tell, before=before, buried=buried)

    @contextmanager
    def _shelf(self, intake: Intake, planned: Planned, plan: list[Change]) -> Iterator[Shelf]:
        """The store as one batch of an import sees it; a dry run's plan goes to `planned` and `plan`."""
        from memcli import absorb

        def note(changes: Sequence[Change]) -> None:
            plan.extend(changes if intake.with_plan else ())
            planned.note(changes)

        if intake.dry_run:
            yield absorb.Shelf(self.read(), self.clock(), planned, note)
            return
        with self.write() as (store, side):

            def keep(changes: Sequence[Change]) -> None:
                lifted = _hashes(changes) if intake.restore else ()
                renewal.note_added(side, changes)
                if intake.learns:
                    self._queue(side, [change.record for change in changes if change.action == "add"])
                lift = partial(journal.lift, origins=lifted)
                self._apply(store, side, changes, command="import", beside=lift)

            yield absorb.Shelf(store, self.clock(), None, keep, partial(self._queue, side))

    def _note_read(self, intake: Intake, files: Sequence[Taking]) -> None:
        """Remember what was read of stored files: they may come again, moved, grown or as they are."""
        done = [(file, file.reading) for file in files]
        places = {fingerprint: place for file in files for fingerprint, place in file.places.items()}
        if intake.dry_run or not (places or any(reading and file.source.key for file, reading in done)):
            return
        with self.write() as (store, side):
            for fingerprint, place in places.items():
                side.note_file(lifecycle.keyed_hash(store.state.key, "file", fingerprint), place)
            self._note(side, intake, done)

    def _note(self, side: Side, intake: Intake, done: Sequence[tuple[Taking, Reading | None]]) -> None:
        from memcli import reading

        # Something forgotten meanwhile: the counts are no longer what a second reading would give.
        buried = side.tombstones()
        read = [(file.source, told) for file, told in done if told and file.buried == buried]
        reading.note(side, [(source, told) for source, told in read if source.key], repr(intake))

    def _read_before(self, source: Source, intake: Intake) -> tuple[Reading, FilePlace] | None:
        """What the beginning of a file gave that was read the same way and has not changed since."""
        from memcli import reading

        side = self.read_side()
        if side is None or not source.key or intake.dry_run or intake.restore:
            return None
        before = reading.earlier(side, source, repr(intake))
        if before is None and reading.is_known(side, source):
            with self.write() as (_, writable):
                reading.drop(writable, source)
        return before

    def _follow_moved(self, source: Source, intake: Intake) -> None:
        """Let a note that was moved be known where it lies now."""
        from memcli import moved

        side, asked = self.read_side(), repr(intake)
        if side is None or intake.dry_run or not moved.has_twin(side, source, asked):
            return
        with self.write() as (store, writable):
            changes = moved.follow(store, writable, source, asked, now=self.clock())
            self._apply(store, writable, changes, command="import")

    def _place_of(self, source: Source) -> str:
        """The conversation of a file's messages that name none: the file's own, wherever it lies now."""
        side = self.read_side()
        key = side.state().key if side else b""
        if source.key is None:
            # Standard input has no name; what it begins with tells it from another.
            return f"stdin-{lifecycle.keyed_hash(b'', source.head().decode('latin-1'))[:10]}"
        place = f"file-{lifecycle.keyed_hash(b'', source.key)[:10]}"
        if side is None or side.is_place(place):
            return place
        return side.place_of_file(lifecycle.keyed_hash(key, "file", source.fingerprint)) or place

    # --- list, show, edit -------------------------------------------------------------------------

    def list(self, filters: Filters, *, n: int, sort: str = "time") -> tuple[Sequence[Record], int]:
        """The newest memories (or the ones changed last, or by priority), and how many match in all."""
        orders: Mapping[str, Sequence[tuple[str, bool]]] = {
            "time": (("created_at", False), ("id", True)),
            "updated": (("updated_at", False), ("id", True)),
            "priority": (("priority", True), ("created_at", False), ("id", True)),
        }
        store, now = self.read(), self.clock()
        records = list(store.scan(filters, now=now, order=orders[sort], limit=n)) if n else []
        return records, store.count(filters, now=now)

    def show(self, prefix: str) -> Shown:
        """One memory with what it replaced and what replaced it. Raises NothingMatchedError, UsageError."""
        store, now = self.read(), self.clock()
        record = store.resolve(prefix, now=now)
        count, last = self._recalled(record.id)
        derived = store.scan(Filters(with_hidden=True), now=now, extra=holds_any("derived_from", [record.id]))
        return Shown(
            record=record,
            history=_history(store, record, now=now),
            derived=tuple(derived),
            recalled_count=count,
            recalled_last=last,
        )

    def _recalled(self, id_: str) -> tuple[int, Millis | None]:
        side = self.read_side()
        if side is None:
            return 0, None
        with side.snapshot() as db:
            return events.recalled(db, id_)

    def edit(
        self, prefix: str, draft: Draft, *, allow_sensitive: bool = False, dry_run: bool = False
    ) -> Edited:
        """Change a memory where it is; its origin stays, so an import still knows it."""
        now = self.clock()
        if draft.text is not None and not draft.text.strip():
            raise UsageError("the new text is empty", "to remove a memory use `memcli forget ID`")
        given = draft.fields()
        # Only what is new is looked at: what the person insisted on before stays.
        new, redacted = _scrubbed(replace(Record("", ""), **given), allow_sensitive=allow_sensitive)
        changed = {name: getattr(new, name) for name in given}

        def plan(store: LanceStore) -> Change:
            before = store.resolve(prefix, now=now)
            return Change("update", replace(before, updated_at=now, **changed), before=before)

        if dry_run:
            change = plan(self.read())
        else:
            with self.write() as (store, side):
                change = plan(store)
                side.note_unseen([change.record.id] if draft.text is not None else [])
                # What was said in a chat is not told there in the old words.
                beside = partial(journal.reword, memory_id=change.record.id, text=change.record.text)
                self._apply(store, side, [change], command="edit", beside=beside)
            self._embed_now([change.record.id])
        assert change.before is not None
        return Edited(before=change.before, after=change.record, redacted=redacted)

    # --- forget -----------------------------------------------------------------------------------

    def plan_forget(self, selection: Selection) -> ForgetPlan:
        """What a selection takes. Nothing is changed.

        Raises:
            UsageError: nothing is selected, or a source id is found in several conversations.
            NothingMatchedError: nothing matches.
        """
        store, now = self.read(), self.clock()
        subject = subject_of(selection.query) if selection.query is not None else None
        side = self.read_side()
        chosen = chosen_by(selection, subject, store, now=now, loose=sessions.loose(side))
        related = self._related(subject, chosen, selection, now=now) if subject else []
        if selection.with_related:
            chosen, related = [*chosen, *related], []
        everything = selection == Selection(everything=True)
        names = self.tasks.names() if everything else ()
        asides = copies.asides(self.place.directory)
        has_more = everything and bool(asides or (side and side.holds_words()))
        if not any((chosen, related, names, has_more)):
            hint = f"what a restore has set aside may hold it: remove {asides[-1]}" if asides else _SEE_LIST
            raise NothingMatchedError("no memory matches", hint)
        plan = self._plan_erase(chosen)
        return replace(plan, related=tuple(related), tasks=tuple(names), everything=everything)

    def _plan_erase(self, chosen: Sequence[Record]) -> ForgetPlan:
        """To erase these, and what was derived from these alone."""
        extra = "derived_from IS NOT NULL"
        derived = self.read().scan(Filters(with_hidden=True), now=self.clock(), order=(), extra=extra)
        return ForgetPlan(changes=tuple(lifecycle.with_derived(chosen, list(derived))), related=())

    def _related(
        self,
        subject: Subject,
        chosen: Sequence[Record],
        selection: Selection,
        *,
        now: Millis,
    ) -> Sequence[Record]:
        """What is only similar in meaning, inside the same selection."""
        taken = {record.id for record in chosen}
        asked = " ".join(subject.terms)
        hits, _ = self._search(Query(asked, now=now, filters=to_filters(selection)))
        near = [hit.record for hit in relevance.related(asked, hits)]
        return [
            record for record in near if record.id not in taken and (selection.match or "") in record.text
        ][:_RELATED]

    def erase(self, plan: ForgetPlan, *, prove: bool = False) -> Proof | None:
        """Erase what was planned from every byte, and read everything again when `prove`."""
        from memcli.store import purge

        records = [change.record for change in plan.changes]
        room = purge.room_told(Path(self.place.lance), then="run the command again: nothing is changed yet")
        with room, self.write() as (store, side):
            if copies.asides(self.place.directory):
                self.notice("the store that a restore has set aside goes too: it may hold what is forgotten")
            if records and not plan.everything:
                store.apply(renewal.bridged(store, side, records, now=self.clock()))
            if records or plan.everything:
                purge.erase(store, side, records, at=self.clock(), everything=plan.everything)
                self._do_later(self._index)
            if not prove:
                return None
            return purge.prove(store, side, self.place.directories(), records, now=self.clock())

    def retire(self, plan: ForgetPlan) -> Sequence[Record]:
        """Hide what was planned and keep it as history."""
        with self.write() as (store, side):
            changes = lifecycle.retire([change.record for change in plan.changes], now=self.clock())
            self._apply(store, side, changes, command="retire")
        return [change.record for change in changes]

    # --- undo -------------------------------------------------------------------------------------

    def undoable(self) -> Sequence[Undoable]:
        """The commands that can be taken back, the last one first."""
        return undo.entries(self.read(), self.read_side(), now=self.clock())

    def last_done(self) -> Undoable | None:
        """What this process has changed last, as undo would take it back; None for nothing."""
        return next((done for done in self.undoable() if self._last_entry in done.numbers), None)

    def undo(self, count: int = 1, *, dry_run: bool = False) -> Undone:
        """Take back the last commands: what they changed is as it was, what they added is gone from disk.

        Raises NothingMatchedError, UsageError.
        """
        now = self.clock()
        if dry_run:
            return undo.plan(self.read(), self.read_side(), count=count, now=now)
        done = undo.take_back(self, count=count, now=now)
        self._last_entry = None
        self._do_later(self._index)
        self._embed_now([change.record.id for change in done.restored])
        return done

    # --- sessions ---------------------------------------------------------------------------------

    def begin_session(self, *, project: str | None = None, model: str | None = None) -> Session:
        """A new chat session; it is on disk from its first turn on."""
        return sessions.begin(at=self.clock(), project=project, model=model)

    def save_turn(
        self,
        session: Session,
        role: str,
        text: str,
        *,
        state: Literal["whole", "stopped", "cut"] = "whole",
        model: str | None = None,
        becomes_memory: bool = True,
    ) -> Turn:
        """Put what was said on disk, without its secrets, before anything else happens.

        Where it does not become a memory, it stays in its session and nothing is learned from it. Needs no
        lock of the store: a chat never waits for an import.
        """
        at = self.clock()
        with self.write_side() as side:
            return sessions.save(
                side,
                session,
                role=role,
                text=text,
                at=at,
                state=state,
                model=model,
                becomes_memory=becomes_memory,
            )

    def session(self, prefix: str) -> Session:
        """The session whose id begins so, or the "last" one, with its turns.

        Raises NothingMatchedError, UsageError.
        """
        return sessions.found(self.read_side(), prefix)

    def sessions(self) -> Sequence[Session]:
        """Every session without its turns, the one that was spoken in last first."""
        return sessions.listed(self.read_side())

    def past_inputs(self, limit: int) -> Sequence[str]:
        """What the person said last in any session, the newest at the end."""
        side = self.read_side()
        if side is None:
            return []
        with side.snapshot() as db:
            return talks.past_inputs(db, limit=limit)

    def keep_turns(self) -> Sequence[str]:
        """Make memories of some hundred turns that are none yet, and embed them; returns their ids."""
        side = self.read_side()
        if side is None or not sessions.has_waiting(side):
            return []
        ids = sessions.keep(self)
        if ids:
            self._renew(until=time.monotonic() + _AFTER_ANSWER_S)
            self._embed_now(ids)
        return ids

    def plan_delete(self, prefixes: Sequence[str]) -> tuple[Sequence[Session], ForgetPlan]:
        """The sessions that are named, and what goes with them: turns, and what was derived from these."""
        chosen = {found.id: found for found in map(self.session, prefixes)}
        said = {record.id: record for found in chosen.values() for record in sessions.records_of(found)}
        # As they are in the store: one may have been edited.
        said |= {record.id: record for record in self.read().get(list(said), now=self.clock())}
        return list(chosen.values()), self._plan_erase(list(said.values()))

    def note_answer(self, turn: Turn, *, arm: Arm, took_ms: int) -> None:
        """Count an answer, with or without memories in its prompt."""
        with self.write_side() as side, side.change() as db:
            events.note_answer(db, turn.memory_id, arm=arm, at=self.clock(), took_ms=took_ms)

    def note_feedback(self, turn: Turn, *, is_good: bool) -> None:
        """Count what the person thinks of an answer."""
        with self.write_side() as side, side.change() as db:
            events.note_verdict(db, turn.memory_id, is_good=is_good, at=self.clock())

    # --- learning ---------------------------------------------------------------------------------

    def learn(
        self, model: ChatModel | None = None, *, until: float | None = None, stop: Stop | None = None
    ) -> Learned:
        """Learn from what was said and waits: by rules, and by a model where there is one.

        Args:
            model: who is asked about what rules do not see, once for several turns.
            until: a `time.monotonic()` after which no more is begun; by default in a moment.
            stop: ends what the model is asked.
        """
        if not self._can_learn(self.read_side(), model):
            return Learned()
        with self.one_command():
            return self._learner.drain(
                model, until=time.monotonic() + _AFTER_ANSWER_S if until is None else until, stop=stop
            )

    def study(self, *, until: float, stop: Stop) -> Learned:
        """Learn by the model, where there is one and enough waits for it. Raises ModelError, UsageError."""
        side = self.read_side()
        if side is None or not self._may_study(side):
            return Learned()
        return self.learn(self.student() if self.student else None, until=until, stop=stop)

    def study_some(self, *, limit_s: float | None = None) -> Learned:
        """Learn by the model for a moment. One that is down or too slow for it is left in peace for a while.

        What waits goes on waiting: the pauses of a session are long enough for any model.
        """
        side, stop = self.read_side(), Stop()
        limit_s = _AFTER_ANSWER_S if limit_s is None else limit_s
        until = time.monotonic() + limit_s
        if side is None or self.student is None or not self._may_study(side, briefly=True):
            return Learned()
        with stop.after(limit_s):
            try:
                learned = self.learn(_opened(self.student, within_s=limit_s), until=until, stop=stop)
            except (ModelError, UsageError):
                stop.set()
                learned = Learned()
        if stop.is_set:
            with self.write_side() as side, side.change() as db:
                queue.rest(db, now=self.clock())
        return learned

    def extract(self, record: Record, pick: Callable[[], ChatModel | None]) -> Learned:
        """Learn from one memory at once, by rules and by the model that `pick` opens."""
        return self._learner.extract(record, pick)

    def plan_extract(self, record: Record) -> Sequence[Change]:
        """What rules would learn from a memory. Nothing is changed."""
        return self._learner.plan(record)

    def proposals(self) -> Sequence[Proposal]:
        """What was learned and waits for a yes or no, the oldest first."""
        side = self.read_side()
        if side is None:
            return []
        with side.snapshot() as db:
            return queue.proposals(db)

    def accept(self, proposal: Proposal, *, text: str | None = None) -> Learned:
        """Store what was proposed, in other words where they are given, in place of what it contradicts.

        Raises NothingMatchedError, UsageError.
        """
        return self._learner.accept(proposal, text=text)

    def reject(self, proposal: Proposal, *, never: bool = False) -> None:
        """Let go of what was proposed; with `never` the same is not learned or asked again."""
        self._learner.reject(proposal, never=never)

    @property
    def _learner(self) -> Learner:
        # Its rules take a while to load, and most commands learn nothing.
        from memcli.learn import Learner

        return Learner(
            self,
            now=self.clock(),
            keep=self._apply,
            embed=self._embed_now,
            notice=self.notice,
            waits=self.place.has_model,
        )

    def _can_learn(self, side: Side | None, model: ChatModel | None) -> bool:
        if side is None or not self.place.learns:
            return False
        with side.snapshot() as db:
            return any(
                queue.due(db, now=self.clock(), is_read=is_read) for is_read in {False, model is not None}
            )

    def _may_study(self, side: Side, *, briefly: bool = False) -> bool:
        if not self.place.learns or self.student is None:
            return False
        with side.snapshot() as db:
            now = self.clock()
            return queue.may_ask(db, now=now) and not (briefly and queue.rests(db, now=now))

    def _queue(self, side: Side, records: Sequence[Record]) -> None:
        """Let what is about to be stored, or is stored, wait for learning."""
        said = [record.id for record in records if sessions.is_said(record)]
        if said:
            with side.change() as db:
                queue.add(db, said, at=self.clock())
            self._do_later(self.learn)

    # --- working memory ---------------------------------------------------------------------------

    @property
    def tasks(self) -> Tasks:
        """The state of scripts of many steps."""
        return Tasks(self, self.clock)

    def finish_task(
        self, name: str, *, keep: Sequence[str] = (), project: str | None = None
    ) -> Sequence[Record]:
        """Make memories of some values of a task, with this label, and take it out of every byte on disk.

        Stopped in between, the task is still there, and finishing it again stores nothing twice.

        Raises:
            NothingMatchedError: there is no such task or key.
            UsageError: a value to keep is empty.
        """
        task = self.tasks.get(name)
        values = {key: value_of(task, key) for key in keep}
        for key, value in values.items():
            if not value.strip():
                raise UsageError(f"the value of {key!r} is empty", "leave it out of --keep")
        kept: list[Record] = []
        with self.one_command():
            for key, value in values.items():
                done = self.remember(Draft(value, source=f"task:{name}", source_id=key, project=project))
                kept += [change.record for change in done.plan if change.action != "supersede"]
        self.tasks.drop(name)
        return kept

    # --- export -----------------------------------------------------------------------------------

    def export(self, filters: Filters) -> Iterator[Record]:
        """Every memory that matches, superseded and retired ones too, in the fixed order of an export."""
        return self.read().scan(replace(filters, with_hidden=True), now=self.clock())

    def tables(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """All that is held besides the memories: the rows of the side store, by table."""
        side = self.read_side()
        return side.tables() if side else {}

    # --- backup -----------------------------------------------------------------------------------

    def backup(
        self, path: Path, *, user: str, lock: Lock | None = None, progress: BytesDone = _not_told
    ) -> About:
        """Write the whole store into one file, checked; raises what `backup.make` does."""
        from memcli import backup

        return backup.make(self, path, user=user, lock=lock, now=self.clock(), progress=progress)

    def check_backup(self, path: Path, *, key: Key | None = None, progress: BytesDone = _not_told) -> About:
        """Read a backup to its end and change nothing; raises what `backup.check` does."""
        from memcli import backup

        return backup.check(path, key=key, progress=progress)

    def restore(self, path: Path, *, key: Key | None = None, progress: BytesDone = _not_told) -> Restored:
        """Put a backup in the place of the store; raises what `backup.restore` does."""
        from memcli import backup

        self._embedder, self._last_entry = None, None
        return backup.restore(self, path, key=key, now=self.clock(), progress=progress)

    def backups(self) -> Sequence[str]:
        """The backups that are still where they were written, the last one first."""
        side = self.read_side()
        return [path for path, _ in side.backups() if Path(path).exists()] if side else []

    def drop_backups(self, paths: Sequence[Path]) -> None:
        """Remove these files, and what is known of them. Raises StoreError."""
        for path in paths:
            with copies.written(path):
                path.unlink(missing_ok=True)
        with self.write_side() as side:
            side.drop_backups([str(path) for path in paths])

    # --- stats ------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """The figures of `memcli stats --json`, without the user's name."""
        store, side, now = self.read(), self.read_side(), self.clock()
        columns = store.tally(stats.COLUMNS, now=now)
        beside = stats.beside(side)
        backups = side.backups() if side else []
        embedder = store.state.embedder
        return {
            "memories": stats.of_memories(columns, now=now),
            "sessions": len(stats.sessions(columns).union(beside.sessions)),
            "turns": beside.turns,
            "pending": {"vectors": len(store.pending(embedder or "")), **beside.pending},
            "storage": {"bytes": copies.size_bytes(self.place.directory), **store.shape()},
            "embedder": {
                "name": embedder,
                "dim": store.dim(embedder) if embedder else None,
                "state": _embedder_state(store),
            },
            "activity": {"by_day": stats.by_day(columns)},
            "recall": asdict(beside.recalls),
            "feedback": beside.feedback,
            "last_backup": to_iso(backups[0][1]) if backups else None,
        }

    # --- vectors ----------------------------------------------------------------------------------

    def pick(self, store: LanceStore) -> Picked:
        """The embedder of this store, opened once."""
        if self._embedder is None:
            self._embedder = pick_embedder(
                wanted=self.place.embedder,
                bound=store.state.embedder,
                ollama_host=self.place.ollama_host,
                timeout_s=self.place.embed_timeout_s,
            )
        return self._embedder

    def check_embedder(self) -> None:
        """Refuse an embedder that the store was not made with, beforehand. Raises UsageError."""
        try:
            self.pick(self.read())
        except ModelError:
            # It is down: what is stored waits for it.
            return

    def fill_vectors(
        self,
        *,
        of: Sequence[str] = (),
        until: float | None = None,
        progress: vectors.Progress | None = None,
    ) -> int:
        """Embed what has no vector yet (of these memories, or of all); returns the passages left without.

        Raises:
            ModelError: the embedder fails; what is done is kept.
        """
        store = self.read()
        embedder = self.pick(store).embedder if store.state.memories else None
        if embedder is None:
            return 0
        if embedder.name not in background.shipped():
            self._do_later(self._note_background)
        left = vectors.fill(self, embedder, of=of, until=until, progress=progress)
        side = self.read_side()
        if side is not None and side.commits() >= upkeep.COMMITS_KEPT:
            self._do_later(self._compact)
        return left

    def _note_background(self) -> None:
        """Let the store know, once, what its embedder makes of sentences that say nothing."""
        store, side = self.read(), self.read_side()
        embedder = self.pick(store).embedder
        if embedder is None or side is None or side.background(embedder.name) is not None:
            return
        vectors_of_it = background.embedded(embedder)
        with self.write_side() as writable:
            writable.note_background(embedder.name, vectors_of_it)

    def _embed_now(self, ids: Sequence[str]) -> int:
        """Embed what a command has just stored, if the embedder answers; returns how many memories wait."""
        try:
            left = self.fill_vectors(of=ids, until=time.monotonic() + _AT_ONCE_S)
        except (ModelError, UsageError) as error:
            self.notice(
                f"saved without a vector: {error.message}" + (f" ({error.hint})" if error.hint else "")
            )
            return len(ids)
        self._later.append(self._fill_some)
        return min(left, len(ids))

    def _fill_some(self) -> None:
        """A little of what waits for vectors since an import was stopped or a model was down."""
        self.fill_vectors(until=time.monotonic() + _AFTER_ANSWER_S)

    def reembed(self, wanted: str | None, *, progress: vectors.Progress | None = None) -> tuple[str, int]:
        """Give every memory a vector of another embedder, then ask questions with that one.

        Returns:
            The new embedder's name, and how many vectors were made.
        """
        picked = pick_embedder(
            wanted=wanted,
            bound=None,
            ollama_host=self.place.ollama_host,
            timeout_s=self.place.embed_timeout_s,
        )
        if picked.embedder is None:
            raise UsageError("reembed needs an embedder", "choose builtin or ollama:MODEL")
        made = vectors.replace_embedder(self, picked.embedder, progress=progress)
        self._do_later(self._compact)
        self._do_later(self._index)
        return picked.embedder.name, made

    # --- updates ----------------------------------------------------------------------------------

    def _renew(self, *, until: float) -> None:
        """Let what was added take the place of what it outdates; what is left is looked at later."""
        renewal.catch_up(self, partial(self._apply, command=journal.FOLLOWING), now=self.clock(), until=until)

    def _renew_some(self) -> None:
        """A little of what an import that was stopped has left."""
        self._renew(until=time.monotonic() + _AFTER_ANSWER_S)

    # --- after the answer -------------------------------------------------------------------------

    def settle(self) -> None:
        """What can wait until the answer is out: events, and the upkeep of a store that was written to.

        Nothing here may fail a command that has answered.
        """
        later, self._later = self._later, []
        with self._going_on():
            for work in later:
                try:
                    work()
                except MemcliError as error:
                    self.notice(f"after the answer: {error.message}")

    def _compact(self) -> None:
        """Merge what many small writes or a large one have left."""
        with self.write() as (store, side):
            upkeep.tidy(store, side)

    def _index(self) -> None:
        """Make the index of many vectors again where an erase or another embedder has left none."""
        if self.read().lacks_index():
            with self.write() as (store, _):
                store.index_vectors()

    # --- opening ----------------------------------------------------------------------------------

    @property
    def side_path(self) -> Path:
        """The side store's file."""
        return self.place.directory / "side.db"

    def read_side(self) -> Side | None:
        """The side store for reading, opened once as long as it is the same file."""
        identity.refuse_lost(self.side_path, self.place.lance)
        try:
            file = self.side_path.stat().st_ino
        except FileNotFoundError:
            self.close()
            return None
        if self._side is None or self._side[0] != file:
            self.close()
            self._side = (file, Side(self.side_path, writable=False))
        self._side[1].catch_up()
        return self._side[1]

    def close(self) -> None:
        """Let go of what is open; the next method opens it again."""
        self._database = None
        if self._side is not None:
            self._side[1].close()
            self._side = None

    def _generation(self) -> int:
        side = self.read_side()
        return side.generation() if side else 0

    def read(self) -> LanceStore:
        """The store for reading; one that was never made is an empty one."""
        store = self._open_store(self.read_side())
        identity.refuse_torn(self.place.directory, store)
        return store

    def _open_store(self, side: Side | None) -> LanceStore:
        """The store as it is now, over one connection as long as the side store is the same file."""
        if self._database is None:
            self._database = Database(self.place.lance)
        return LanceStore(self.place.lance, side, database=self._database, looks_at_rows=self.looks_at_rows)

    @contextmanager
    def write(self) -> Iterator[tuple[LanceStore, Side]]:
        """The store for writing, under the lock; made on first use. What was broken off is finished first."""
        from memcli.store import purge

        self._prepare()
        with writing(self.place.directory / ".lock", timeout_s=self.place.lock_timeout_s, notice=self.notice):
            side = Side(self.side_path, writable=True)
            try:
                store = self._open_store(side)
                identity.refuse_torn(self.place.directory, store)
                if store.state.erasing or store.state.rebuild:
                    purge.finish(store, side)
                undo.finish(store, side, now=self.clock())
                if (self.place.directory / copies.RESTORING).exists():
                    from memcli import backup

                    backup.clear(store, self.place.directory)
                yield store, side
                store.seal()
                identity.note(self.place.directory, store.state)
            finally:
                side.close()

    @contextmanager
    def write_side(self) -> Iterator[Side]:
        """The side store for what is in no table: SQLite's own lock is enough, nobody waits for an import."""
        self._prepare()
        with closing(Side(self.side_path, writable=True)) as side:
            yield side

    def _prepare(self) -> None:
        """Make the directory, or refuse one that must not be written to, before anything in it is touched."""
        refuse_newer(self.side_path)
        identity.refuse_lost(self.side_path, self.place.lance)
        make_private(self.place.directory)

    @contextmanager
    def one_command(self) -> Iterator[None]:
        """Within this, all that is done is one command, and is taken back as one."""
        if self._command is not None:
            yield
            return
        self._command = []
        try:
            yield
        finally:
            self._command = None

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Within this, what is done is a part of what was done last, if nobody else has done more since."""
        side = self.read_side() if self._last_entry is not None else None
        with self.one_command():
            if self._command == [] and side is not None and side.newest_entry() == self._last_entry:
                self._command = [side.newest_entry()]
            yield

    def _apply(
        self,
        store: LanceStore,
        side: Side,
        changes: Sequence[Change],
        *,
        command: str,
        beside: journal.Beside = journal.nothing,
    ) -> None:
        """Carry out a plan: the journal first, with what it does `beside` the memories, then the store."""
        steps = journal.steps_of(changes, to_json)
        entry = side.note_steps(
            command,
            steps,
            at=self.clock(),
            entry=self._command[0] if self._command else None,
            beside=beside,
        )
        if entry is None:
            return
        if self._command == []:
            self._command.append(entry)
        self._last_entry = entry
        store.apply(changes)
        if side.is_applied() >= upkeep.COMMITS_KEPT:
            self._do_later(self._compact)
        if side.count_unseen():
            self._do_later(self._renew_some)
        # Asked of the writer: a reader that stays open would keep SQLite's log from being emptied.
        if self._can_learn(side, None):
            self._do_later(self.learn)
        if self._may_study(side, briefly=True):
            self._do_later(self.study_some)
        # Left over from a chat that died.
        if sessions.has_waiting(side):
            self._do_later(self.keep_turns)

    def _do_later(self, work: Callable[[], object]) -> None:
        if work not in self._later:
            self._later.append(work)


def open_memory(
    user: str = "default",
    *,
    data_dir: Path,
    store: str | None = None,
    side: Path | None = None,
    clock: Callable[[], Millis] | None = None,
    notice: Callable[[str], None] = _silent,
    student: Callable[[], ChatModel | None] | None = None,
    **options: Any,
) -> Memory:
    """The memory of a user under `data_dir`.

    Args:
        user: a directory of its own under `data_dir/users`.
        data_dir: where everything is kept.
        store: the directory or URI of the Lance tables, elsewhere than in the user's directory.
        side: the directory of the side store and the lock, elsewhere than in the user's directory.
        clock: the time in milliseconds; the machine's by default.
        notice: told what a person should know, a sentence each.
        student: opens the model that learns what rules do not see.
        **options: the other fields of Place.

    Raises:
        UsageError: the name would lead elsewhere.
    """
    try:
        directory = side or data_dir / "users" / user_name(user)
    except ValueError as error:
        raise UsageError(
            f"no user can be called {user!r}", "letters, digits and -_. make a name, 64 of them at most"
        ) from error
    place = Place(directory=directory, lance=store or str(directory / "lance"), **options)
    return Memory(place, clock or (lambda: time.time_ns() // 1_000_000), notice, student)


def _opened(pick: Callable[[], ChatModel | None], *, within_s: float) -> ChatModel | None:
    """The model that is picked. Raises ModelError, UsageError; also where that takes too long."""
    from concurrent.futures import Future
    from concurrent.futures import TimeoutError as LateError

    done: Future[ChatModel | None] = Future()

    def work() -> None:
        try:
            done.set_result(pick())
        except MemcliError as error:
            done.set_exception(error)

    # A server that does not answer is not waited for: the thread does not keep the process alive.
    threading.Thread(target=work, daemon=True).start()
    try:
        return done.result(within_s)
    except LateError as error:
        raise ModelError("the model that learns did not answer in time") from error


def _embedder_state(store: LanceStore) -> str:
    if store.state.embedder is None:
        return "none yet"
    return "changing" if len(store.state.vectors) > 1 else "ready"


def _hashes(changes: Sequence[Change]) -> list[str]:
    """The origins of what a plan is about."""
    return [value for change in changes if change.origin for value in lifecycle.hashes(change.origin)]


def make_private(directory: Path) -> None:
    """Make a directory two levels below the data directory, nobody else's. Raises StoreError."""
    try:
        # `mode` holds for the last of a path only: what is above a user is nobody else's either.
        for level in (directory.parent.parent, directory.parent, directory):
            level.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the data directory {directory} cannot be made ({error.strerror or error})",
            "check its permissions, or choose another with --data-dir",
        ) from error


def _scrubbed(record: Record, *, allow_sensitive: bool) -> tuple[Record, Mapping[str, int]]:
    return (record, {}) if allow_sensitive else scrub_record(record)


def _plan_remember(asked: Record, store: LanceStore, *, now: Millis) -> list[Change]:
    key = store.state.key
    origin = lifecycle.origin_of(asked, key)
    record = replace(asked, id=lifecycle.id_of(asked, origin, key))
    stored = store.known([origin])
    change = lifecycle.reconcile(record, origin, lifecycle.Known(stored, ()), restore=True)
    if change.action == "add":
        return [change]
    before = store.newest(change.record.id, now=now)
    if before is None or before.text == record.text:
        return [replace(change, record=before or change.record)]
    named = replace(record, id=lifecycle.id_of(asked, origin, key, after=before.id))
    return list(lifecycle.supersede(before, Change("add", named, origin=origin), now=now))


def _remembered(changes: Sequence[Change], redacted: Mapping[str, int], *, pending: int) -> Remembered:
    return Remembered(
        added=tuple(change.record for change in changes if change.action == "add"),
        superseded=tuple(change.record for change in changes if change.action == "supersede"),
        duplicates=tuple(change.record.id for change in changes if change.action == "skip"),
        redacted=redacted,
        pending=pending,
        plan=tuple(changes),
    )


def _history(store: LanceStore, record: Record, *, now: Millis) -> tuple[Record, ...]:
    """The chain of memories that this one is part of, oldest first, without itself."""
    chain: dict[str, Record] = {}
    wanted = [*record.supersedes, *([record.superseded_by] if record.superseded_by else [])]
    while wanted:
        for found in store.get(wanted, now=now):
            chain[found.id] = found
        wanted = [
            id_
            for found in list(chain.values())
            for id_ in (*found.supersedes, *([found.superseded_by] if found.superseded_by else []))
            if id_ not in chain and id_ != record.id
        ]
        if not any(store.get(wanted, now=now)):
            break
    return tuple(sorted(chain.values(), key=lambda found: (found.created_at or 0, found.id)))
