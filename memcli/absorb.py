"""Import: what readers yield becomes records, in batches, each of them known, forgotten before, or added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from memcli import lifecycle, retold
from memcli.errors import MemcliError, UsageError
from memcli.importers import ReadOptions, Source, Unreadable, read
from memcli.importers.parts import Part, parts
from memcli.importers.records import is_of_lines
from memcli.importers.seen import Seen, scratch, translated
from memcli.reading import NOTES_KEPT, Reading, Sessions, all_of, bad_line_again, so_far
from memcli.redact import scrub_records
from memcli.renewal import AS_EXPORTED
from memcli.text import regex
from memcli.types import (
    PRIORITY_OF_KIND,
    ROLES,
    BadLine,
    Change,
    Conversation,
    Document,
    FileReport,
    Item,
    Millis,
    Notice,
    Origin,
    Reached,
    Record,
    Skip,
)

if TYPE_CHECKING:
    from memcli.importers.source import Place
    from memcli.store.lance import LanceStore, Version

# Records stored in one commit: large enough to be fast, small enough that a killed import loses little.
BATCH = 8_000
# So much text makes a batch as well: a few huge notes are as heavy as many messages.
_BATCH_CHARS = 2_000_000
# So many files share one commit at most, and are read again when they are not stored yet at a kill.
_FILES = 100
_NEVER: Version = ("", 0)
_TOLD_EVERY = 500  # records; a progress bar need not move more often
_BAD_LINES_TOLD = 1_000
_OWN_ID = regex(r"[0-9A-Za-z_-]{4,64}")


@dataclass(frozen=True, slots=True)
class Intake:
    """How a person wants files taken in.

    `project` is the label of what has none; what has another one than `only_project` is left out.
    """

    options: ReadOptions = field(default_factory=ReadOptions)
    format_name: str | None = None
    project: str | None = None
    only_project: str | None = None
    role: str | None = None
    since: Millis | None = None
    allow_sensitive: bool = False
    restore: bool = False
    dry_run: bool = False
    learns: bool = False
    """What the person said in it waits to be learned from, …"""
    learns_of_known: bool = False
    """… what was known already too, unless it was learned from before."""
    with_plan: bool = False
    """A dry run returns every change that it would make."""


class Planned:
    """What a dry run would have stored, by its origins' hashes; on disk, for a file may have millions."""

    def __init__(self) -> None:
        self._db = scratch("CREATE TABLE planned (mark TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID")

    def note(self, changes: Sequence[Change]) -> None:
        """These changes would have been made."""
        marks = [
            (mark, change.record.id)
            for change in changes
            for mark in (lifecycle.hashes(change.origin) if change.origin else ())
        ]
        with translated():
            self._db.executemany("INSERT OR REPLACE INTO planned VALUES (?, ?)", marks)

    def among(self, marks: Sequence[str]) -> dict[str, str]:
        """Those of the hashes that are planned, and the ids of their memories."""
        asked = "SELECT id FROM planned WHERE mark = ?"
        with translated():
            found = ((mark, self._db.execute(asked, (mark,)).fetchone()) for mark in marks)
            return {mark: row[0] for mark, row in found if row}


@dataclass(frozen=True, slots=True)
class Shelf:
    """The store as one batch sees it.

    `planned` are origins that a dry run counts as stored; `keep` carries out a plan, or remembers it; `learn`
    lets memories wait to be learned from.
    """

    store: LanceStore
    now: Millis
    planned: Planned | None
    keep: Callable[[Sequence[Change]], None]
    learn: Callable[[Sequence[Record]], None] = lambda _: None

    @property
    def key(self) -> bytes:
        """The key of the store's hashes."""
        return self.store.state.key

    def version(self) -> Version:
        """How often the store was written to."""
        return self.store.version()

    def known(self, origins: Sequence[Origin], *, at: Version) -> lifecycle.Known:
        """What was stored of these origins at that version, and what is buried."""
        marks = [mark for origin in origins for mark in lifecycle.hashes(origin)]
        planned = self.planned.among(marks) if self.planned else {}
        return lifecycle.Known(planned | self.store.known_at(at, origins), self.store.buried(marks))

    def get(self, ids: Sequence[str]) -> Mapping[str, Record]:
        """The memories of these ids."""
        return {record.id: record for record in self.store.get(ids, now=self.now)}

    def newest(self, id_: str) -> Record | None:
        """The memory that stands in the place of this one now."""
        return self.store.newest(id_, now=self.now)


_Marked: TypeAlias = "tuple[_Told, Origin, Taking]"

Shelves: TypeAlias = Callable[[], AbstractContextManager[Shelf]]
"""Opens the shelf for one batch: the store must not stay locked while a file is read."""


@dataclass(slots=True)
class _Tally:
    """The counts of one file while it is read."""

    messages: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    sessions: Sessions = field(default_factory=Sessions)
    note_ids: list[str] = field(default_factory=list)
    notes: int = 0
    oldest: Millis | None = None
    newest: Millis | None = None
    bad_lines: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    changed_roles: Counter[str] = field(default_factory=Counter)
    """Messages that were known, and by somebody else."""
    failures: list[UsageError] = field(default_factory=list)
    """Why members of an archive could not be read."""
    error: MemcliError | None = None

    @property
    def has_anything(self) -> bool:
        """Whether any record was read."""
        return bool(self.outcomes or self.skipped or self.bad_lines)

    def go_on(self, counts: Mapping[str, Any]) -> None:
        """Begin with what an earlier reading of the same file gave: all of it is known by now."""
        self.messages.update(counts["messages"])
        self.skipped.update(counts["skipped"])
        self.redacted.update(counts["redacted"])
        self.outcomes.update(known=counts["duplicates"], forgotten=counts["forgotten"])
        self.sessions.load(counts["sessions"])
        self.notes = counts["notes"]
        for number in counts["bad_lines"]:
            self.bad_lines.append(number)
            self.warnings.append(bad_line_again(number))

    def note(self, item: Skip | BadLine | Notice) -> None:
        """What is no record, or one that was left out."""
        match item:
            case Skip():
                self.skipped[item.reason] += item.count
            case Notice():
                self.warnings.append(item.text)
            case BadLine():
                self._note_bad_line(item)

    def _note_bad_line(self, bad: BadLine) -> None:
        # A file of another kind may be nothing but bad lines, millions of them.
        self.bad_lines.append(bad.number)
        if len(self.bad_lines) <= _BAD_LINES_TOLD:
            self.warnings.append(f"line {bad.number}: {bad.why}")
        elif len(self.bad_lines) == _BAD_LINES_TOLD + 1:
            self.warnings.append(f"more than {_BAD_LINES_TOLD:,} lines could not be read")

    def count(self, record: Record, outcome: str) -> None:
        """One record that the file holds: added, known or forgotten."""
        self.outcomes[outcome] += 1
        at = record.created_at
        if at is not None:
            self.oldest = at if self.oldest is None else min(at, self.oldest)
            self.newest = at if self.newest is None else max(at, self.newest)
        if record.kind == "episode" and record.role in ROLES:
            self.messages[record.role or ""] += 1
            self.sessions.note_kept(record.session_id or "")
        else:
            self.notes += 1

    def note_known_by(self, change: Change) -> None:
        """A note that the file holds; of so many files that are no notes, only the first."""
        if change.record.kind != "episode" and len(self.note_ids) <= NOTES_KEPT:
            self.note_ids.append(change.record.id)

    def report(self, path: str, form: str | None, told: Sequence[str] = ()) -> FileReport:
        """The counts as they stand; `told` is what else there is to say."""
        # Every record that was kept has one outcome and is counted once, as a message or as a note.
        assert self.messages.total() + self.notes == self.outcomes.total()
        return FileReport(
            path=path,
            format=form,
            conversations=self.sessions.kept(),
            messages={role: self.messages[role] for role in ROLES},
            notes=self.notes,
            added=self.outcomes["added"],
            duplicates=self.outcomes["known"],
            forgotten=self.outcomes["forgotten"],
            redacted=dict(self.redacted),
            skipped=dict(self.skipped),
            bad_lines=tuple(self.bad_lines),
            warnings=(*self.warnings, *told),
            oldest=self.oldest,
            newest=self.newest,
            error=self.error,
        )


def absorb_file(
    source: Source,
    pile: Pile,
    *,
    place_of: Callable[[Source], str],
    progress: Callable[[int, int | None], None],
    before: tuple[Reading, Place] | None,
    buried: int,
) -> Taking:
    """Take in one file, or what an archive holds: it is stored to its end once the pile tells so.

    Args:
        source: the file.
        pile: where what it holds is put.
        place_of: the conversation of what names none in this file, or in this member of it.
        progress: told (bytes read, bytes in all or None), now and then.
        before: what an earlier reading gave of the beginning of the file, and its end.
        buried: how much was forgotten of the store when the reading began.
    """
    taking = Taking(source, pile, place_of, progress, before, buried)
    options = pile.intake.options
    try:
        is_archive = source.kind == "zip"
        for part in parts(source, encoding=options.encoding, format_name=pile.intake.format_name):
            if isinstance(part, Notice):
                taking.tally.warnings.append(part.text)
            elif is_archive:
                taking.take_member(part)
            else:
                taking.go_on(part)
                taking.take(part)
    except UsageError as error:
        # What was read before stays; the report says why no more was.
        taking.tally.error = error
    pile.end(taking)
    return taking


@dataclass(slots=True, eq=False)
class Taking:
    """A file on its way in. Once it is stored to its end, what became of it."""

    source: Source
    pile: Pile
    place_of: Callable[[Source], str]
    progress: Callable[[int, int | None], None]
    before: tuple[Reading, Place] | None
    buried: int
    so_far: Reading | None = None
    """How far a file by lines is stored, until the next such place is reached."""
    is_followed: bool = False
    tally: _Tally = field(default_factory=_Tally)
    forms: dict[str, None] = field(default_factory=dict)
    """The names of the formats that were met, in order."""
    asked: dict[str, tuple[Source, str]] = field(default_factory=dict)
    """The conversations of what names none, by the path of the file or member."""
    seen: Seen = field(default_factory=Seen)
    """What this file held so far is known by: what repeats inside one file is skipped."""
    forks: retold.Forks = field(default_factory=retold.Forks)
    looked_at: Version = None
    """The store without what this file has added to it; that alone is searched, however large the file."""
    left_at: Version = _NEVER

    @property
    def intake(self) -> Intake:
        """How it is wanted."""
        return self.pile.intake

    @property
    def report(self) -> FileReport | None:
        """What became of it; None when it only belongs to an export (settings…)."""
        tally = self.tally
        if not self.forms and not tally.warnings and tally.error is None:
            return None
        if tally.failures and not tally.has_anything:
            tally.error = tally.failures[0]
        told = retold.notices(tally.changed_roles)
        return tally.report(self.source.path, self._form(), [notice.text for notice in told])

    @property
    def reading(self) -> Reading | None:
        """What another reading need not read again; None for nothing more than was kept."""
        report = self.report
        if self.is_followed or report is None:
            return self.so_far
        return all_of(report, self.source, self.tally.note_ids)

    @property
    def places(self) -> Mapping[str, str]:
        """The conversations of what names none, by the fingerprint of the file or member."""
        if self not in self.pile.files or not self.tally.outcomes["added"]:
            return {}
        known = self.asked.values()
        return {file.fingerprint: name for file, name in known if file is self.source or file.is_read}

    def place(self, file: Source) -> str:
        """The conversation of what names none in this file or member; most histories never ask."""
        if file.path not in self.asked:
            self.asked[file.path] = (file, self.place_of(file))
        return self.asked[file.path][1]

    def go_on(self, part: Part) -> None:
        """Read a file by lines from where it was left."""
        source, encoding = part.source, self.intake.options.encoding
        if not (part.form.by_line and source.can_go_on and is_of_lines(source, encoding=encoding)):
            return
        self.is_followed = True
        if self.before is None or self.before[0].counts["format"] != part.form.name:
            source.go_on(None)
            return
        reading, place = self.before
        source.go_on(place)
        self.tally.go_on(reading.counts)

    def reach(self, reached: Reached) -> None:
        """Store all that stands before a place between two lines, and remember the place."""
        self.pile.store()
        if self.so_far is not None:
            self.pile.stored([self])
        self.so_far = so_far(self.tally.report("", self._form()), reached, self.tally.sessions)

    def _form(self) -> str | None:
        return " + ".join(self.forms) or None

    def take_member(self, part: Part) -> None:
        """Take in a member of an archive; when it cannot be read, the others are read all the same."""
        tally, name = self.tally, part.source.name
        told = len(tally.warnings)
        try:
            self.take(part)
        except UsageError as error:
            tally.failures.append(error)
            tally.warnings.append(error.message)
        tally.warnings[told:] = [
            text if name in text else f"{name}: {text}" for text in tally.warnings[told:]
        ]

    def take(self, part: Part) -> None:
        """Take in a file of one format. Raises UsageError when it cannot be read, or not to its end."""
        self.forms[part.form.name] = None
        items = read(part.source, options=self.intake.options, format_name=part.form.name)
        for number, told in enumerate(_records(items, self, lambda: self.place(part.source))):
            self.pile.add(told, self)
            is_full = self.pile.is_full
            if is_full:
                self.pile.store()
            if is_full or number % _TOLD_EVERY == 0:
                self.progress(part.before_bytes + part.source.bytes_read, part.total_bytes)


def unread(path: Unreadable) -> FileReport:
    """The report of a path that cannot be read at all."""
    error = UsageError(f"{path.path} was left out: {path.why}", "look at the path and its permissions")
    return _Tally(warnings=[error.message], error=error).report(path.path, None)


# --- items → records ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Told:
    """A record as a file tells it.

    `echo` is what other files of its program tell of it too; `has_session` says that its source names
    its conversation.
    """

    record: Record
    echo: str | None = None
    has_session: bool = False


def _records(items: Iterator[Item], taking: Taking, place: Callable[[], str]) -> Iterator[_Told]:
    tally = taking.tally
    for item in items:
        match item:
            case Skip() | BadLine() | Notice():
                tally.note(item)
            case Reached():
                taking.reach(item)
            case Conversation():
                session = item.id or place()
                said = _of_conversation(item, session, tally.sessions, taking.pile.now)
                yield from _wanted(said, tally, taking.intake)
            case Document():
                document = _Told(_of_document(item, taking.pile.now), item.echo)
                yield from _wanted(iter([document]), tally, taking.intake)
            case Record():
                yield from _own(item, tally)


def _of_conversation(
    conversation: Conversation, session: str, sessions: Sessions, now: Millis
) -> Iterator[_Told]:
    about = dict(conversation.meta) | ({"title": conversation.title} if conversation.title else {})
    first = None if conversation.is_excerpt else sessions.place(session, len(conversation.messages))
    for ordinal, message in enumerate(conversation.messages):
        record = Record(
            id="",
            text=message.text,
            kind="episode",
            priority="P2",
            project=conversation.project,
            role=message.role,
            name=message.name,
            source=f"import:{conversation.source}",
            source_id=message.id,
            session_id=session,
            position=None if first is None else first + ordinal,
            created_at=message.at,
            updated_at=now,
            meta=about | dict(message.meta) if message.meta else about,
        )
        yield _Told(record, message.echo, has_session=conversation.id is not None)


def _of_document(document: Document, now: Millis) -> Record:
    return Record(
        id="",
        text=document.text,
        kind=document.kind,
        priority=PRIORITY_OF_KIND[document.kind],
        topics=tuple(document.topics),
        source=f"import:{document.source}",
        source_id=document.id,
        created_at=document.at,
        updated_at=now,
        meta=dict(document.meta) | ({"title": document.title} if document.title else {}),
    )


def _wanted(records: Iterator[_Told], tally: _Tally, intake: Intake) -> Iterator[_Told]:
    """The records that the person asked for."""
    for told in records:
        record = told.record
        if intake.role is not None and record.role != intake.role:
            tally.skipped["role"] += 1
        elif intake.only_project and record.project not in (None, intake.only_project):
            tally.skipped["project"] += 1
        elif intake.since is not None and (record.created_at is None or record.created_at < intake.since):
            tally.skipped["since"] += 1
        else:
            if intake.project and not record.project:
                record = replace(record, project=intake.project)
            # A copy of each would take longer than to look whether it is another.
            yield told if record is told.record else replace(told, record=record)


def _own(record: Record, tally: _Tally) -> Iterator[_Told]:
    """A record of our own export, as it is; its id was ours and is checked like any input."""
    if _OWN_ID.fullmatch(record.id):
        yield _Told(record)
    else:
        tally.skipped["bad-id"] += 1


# --- records → changes ----------------------------------------------------------------------------


@dataclass(slots=True)
class Pile:
    """Records on their way onto a shelf, in one commit: of several small files, or a part of a large one."""

    shelf: Shelves
    """Opens the shelf for one batch."""
    intake: Intake
    now: Millis
    stored: Callable[[Sequence[Taking]], None]
    """Told of files that are stored to their end; of one by lines also of how far it is, now and then."""
    waiting: list[tuple[_Told, Taking]] = field(default_factory=list)
    known: list[Record] = field(default_factory=list)
    """What was known of the pile, where it is to be learned from."""
    files: list[Taking] = field(default_factory=list)
    """Those of which nothing more comes."""
    chars: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to store it."""
        return len(self.waiting) >= BATCH or self.chars >= _BATCH_CHARS

    def add(self, told: _Told, taking: Taking) -> None:
        """Put one more record on the pile."""
        if not told.record.text.strip():
            taking.tally.skipped["empty"] += 1
            return
        self.waiting.append((told, taking))
        self.chars += len(told.record.text)

    def end(self, taking: Taking) -> None:
        """Nothing more comes of this file; the next one joins it, if both are small."""
        self.files.append(taking)
        # A copy of a file that names no conversation is known by its bytes, but only once it is stored.
        if len(self.files) >= _FILES or taking.left_at != _NEVER or taking.asked:
            self.store()

    def store(self) -> None:
        """Store the pile and count what became of each record."""
        if self.waiting:
            with self.shelf() as shelf:
                self._store(shelf)
            self.waiting, self.known, self.chars = [], [], 0
        if self.files:
            self.stored(self.files)
            self.files = []

    def _store(self, shelf: Shelf) -> None:
        marked = [
            (told, lifecycle.origin_of(told.record, shelf.key, echo=told.echo), taking)
            for told, taking in self._without_secrets()
        ]
        plan = _Plan(shelf)
        view: _View | None = None
        for at, group in _by_file(marked):
            taking = group[0][2]
            if view is None or taking not in self.files or plan.touches(group, view):
                # What the files before this one tell of the same has to be looked at where it is stored.
                plan.carry_out()
                view = self._view(shelf, marked[at:], taking)
            taking.looked_at = view.version
            for told, origin, _ in group:
                plan.add(self._plan(told, origin, view, taking))
        plan.carry_out()
        shelf.learn(self.known)
        taking.left_at = shelf.version()

    def _without_secrets(self) -> Iterator[tuple[_Told, Taking]]:
        """The pile as it may be stored; our own export was looked at when it came in first."""
        if self.intake.allow_sensitive:
            yield from self.waiting
            return
        scrubbed = iter(scrub_records([told.record for told, _ in self.waiting if not told.record.id]))
        for told, taking in self.waiting:
            record, found = (told.record, {}) if told.record.id else next(scrubbed)
            taking.tally.redacted.update(found)
            yield (replace(told, record=record) if found else told), taking

    def _view(self, shelf: Shelf, marked: Sequence[_Marked], taking: Taking) -> _View:
        """What is known of these records; a file that is stored in parts does not see what it has added."""
        version = shelf.version()
        if version == taking.left_at:
            # Nobody else has written since the part before.
            version = taking.looked_at
        known = shelf.known([origin for _, origin, _ in marked], at=version)
        asked = [told.record.id for told, _, _ in marked if told.record.id]
        asked += [
            id_ for _, origin, _ in marked if self._is_looked_at(origin, known) and (id_ := known.id(origin))
        ]
        return _View(shelf, version, known, shelf.get(list(dict.fromkeys(asked))))

    def _is_looked_at(self, origin: Origin, known: lifecycle.Known) -> bool:
        """Whether what is stored tells more than that it is known."""
        by_place = origin.place is not None and origin.place in known.stored
        return not by_place or origin.echo is not None or self.intake.options.me is not None

    def _plan(self, told: _Told, origin: Origin, view: _View, taking: Taking) -> Sequence[Change]:
        tally = taking.tally
        stored = view.stored.get(view.known.id(origin) or "")
        record, marks = taking.forks.at_home(told.record, stored), _marks(told, origin)
        if not taking.seen.are_new(marks):
            tally.skipped["duplicate"] += 1
            return ()
        if record.id in view.stored:
            tally.count(record, "known")
            return ()
        known = self._known(told, origin, view, taking)
        named = (
            record if record.id else lifecycle.named(record, lifecycle.id_of(record, origin, view.shelf.key))
        )
        change = lifecycle.reconcile(named, origin, known, restore=self.intake.restore)
        if change.action == "add":
            tally.count(record, "added")
            tally.note_known_by(change)
            return (replace(change, why=AS_EXPORTED) if record.id else change,)
        changes: Sequence[Change] = (change,)
        if change.why == "known" and not record.id:
            changes = self._plan_known(named, change, view, tally)
            self.known += [change.record] if self.intake.learns_of_known else []
        added = any(change.action == "add" for change in changes)
        tally.count(record, "added" if added else change.why)
        tally.note_known_by(next((each for each in changes if each.action == "add"), change))
        return [change for change in changes if change.action != "skip"]

    def _known(self, told: _Told, origin: Origin, view: _View, taking: Taking) -> lifecycle.Known:
        """What is known, without what only looks like this record."""
        there = view.known.id(origin)
        stored = view.stored.get(there or "")
        if told.record.id:
            # Two of our own that share an origin: one has replaced the other.
            is_other = there is not None and taking.seen.has_any([there])
        elif stored is None or (origin.place or "") in view.known.stored:
            is_other = False
        elif told.record.kind == "document":
            is_other = stored.superseded_by is not None
        else:
            is_echo = (origin.echo or "") in view.known.stored
            is_other = told.has_session and not is_echo and retold.is_another(told.record, stored)
        return lifecycle.Known({}, view.known.buried) if is_other else view.known

    def _plan_known(self, record: Record, known: Change, view: _View, tally: _Tally) -> Sequence[Change]:
        """What is learned of a memory that is known; a note may have a new text that replaces the old one."""
        if record.kind == "document":
            return self._plan_changed(record, known, view.shelf)
        before = view.stored.get(known.record.id)
        if before is None:
            return ()
        after = retold.placed(before, record, now=self.now)
        origin = known.origin if after is not before else None
        if self.intake.options.me:
            is_placed, after = after, retold.owned(after, record, now=self.now)
            tally.changed_roles[after.role or ""] += after is not is_placed
        return () if after is before else (Change("update", after, before=before, origin=origin),)

    def _plan_changed(self, record: Record, known: Change, shelf: Shelf) -> Sequence[Change]:
        """A note that is known: the same, or a new text of it that replaces the old one."""
        before = shelf.newest(known.record.id)
        if before is None or before.text == record.text or known.origin is None:
            return ()
        id_ = lifecycle.id_of(record, known.origin, shelf.key, after=before.id)
        added = Change("add", replace(record, id=id_), origin=known.origin)
        return lifecycle.supersede(before, added, now=record.updated_at or 0)


@dataclass(slots=True)
class _Plan:
    """What is to be changed on a shelf, in one commit."""

    shelf: Shelf
    changes: dict[str, Change] = field(default_factory=dict)
    """One of a memory: a file may tell twice what is learned of it."""
    marks: set[str] = field(default_factory=set)
    """What these are known by, as far as it was asked."""
    unmarked: list[Change] = field(default_factory=list)

    def add(self, changes: Sequence[Change]) -> None:
        """Change this too."""
        for change in changes:
            self.changes[change.record.id] = change
        self.unmarked += changes

    def touches(self, group: Sequence[_Marked], view: _View) -> bool:
        """Whether it changes what one of these records is."""
        origins = (change.origin for change in self.unmarked if change.origin)
        self.marks.update(mark for origin in origins for mark in lifecycle.hashes(origin))
        self.unmarked = []
        return any(
            self.marks.intersection(lifecycle.hashes(origin)) or view.known.id(origin) in self.changes
            for _, origin, _ in group
        )

    def carry_out(self) -> None:
        """Make the changes."""
        if self.changes:
            self.shelf.keep(list(self.changes.values()))
        self.changes, self.marks, self.unmarked = {}, set(), []


def _by_file(marked: Sequence[_Marked]) -> Iterator[tuple[int, list[_Marked]]]:
    """The records of each file, and how many stand before them."""
    at = 0
    for _, group in groupby(marked, key=lambda each: id(each[2])):
        records = list(group)
        yield at, records
        at += len(records)


@dataclass(frozen=True, slots=True)
class _View:
    """What the store knew, at a version, of the records of one batch."""

    shelf: Shelf
    version: Version
    known: lifecycle.Known
    stored: Mapping[str, Record]


def _marks(told: _Told, origin: Origin) -> list[str]:
    """What a record is known by inside its file: its own id, or its origin."""
    if told.record.id:
        return [told.record.id]
    marks = [mark for mark in (origin.place, origin.echo) if mark]
    id_ = told.record.source_id
    # Where a source tells messages apart by ids, the same words at the same time are one only under one id.
    if origin.said and (id_ is None or retold.is_unique(id_)):
        marks.append(f"{origin.said}{id_ or ''}")
    return marks
