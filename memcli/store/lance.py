"""Memories and their vectors in LanceDB: changes in, candidates and records out.

One table holds the memories, a row a passage. Each embedder has a table of its own with the vector of
each passage, so text is stored and found before any model is asked, and a new embedder's vectors grow
beside the old ones. The side store says which tables are in use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter, mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from memcli import lifecycle
from memcli.errors import DamagedError, NothingMatchedError, StoreError, UsageError
from memcli.passages import as_grams, as_words, is_unspaced, query_terms, without_contractions
from memcli.store import seal
from memcli.store.engine import FTS, Database, GoneError, IvfSq, Table, quoted, run
from memcli.store.rows import (
    ORIGIN_COLUMNS,
    RECORD_COLUMNS,
    key_id,
    schema,
    to_records,
    to_table,
    to_vector_table,
    vector_schema,
)
from memcli.store.side import Side, State
from memcli.store.where import both, contains, is_narrow, one_of, where
from memcli.times import Span
from memcli.types import Candidate, Change, Filters, Millis, Origin, Record, Vector

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Version: TypeAlias = "tuple[str, int] | None"

# Of folded text, whose letters are small: English stems plus Chinese, Japanese and Thai words; then what
# those miss (a word inside a word, "2.3.1", "C++", a Korean noun with its particle) by pairs of characters.
INDEXES: dict[str, FTS] = {
    "words": FTS(base_tokenizer="icu", lower_case=False),
    "grams": FTS(
        base_tokenizer="ngram",
        ngram_min_length=2,
        ngram_max_length=2,
        lower_case=False,
        stem=False,
        remove_stop_words=False,
    ),
}
INDEXED_FROM = 50_000
"""So many vectors are worth an index: of fewer, all are looked at in a few milliseconds."""
_ORDER = (("created_at", True), ("session_id", True), ("position", True), ("id", True))

# With so few memories left by the filters, the dense list is asked of these alone.
_NARROW = 5_000
_DEEPER = 16
_REOPENS = 5
# An index looks up each word and each pair of a question, a repeated one too: a megabyte takes minutes.
_WORD_CHARS = 8_000
_PART_CHARS = 3
_GRAM_CHARS = 1_000
# More values than these are no condition of a search: each fragment would hold them all.
_IDS_AT_ONCE = 500
_TAKEN_AT_ONCE = 5_000
# What a person may have said of themself, in one row.
_STATEMENT = (
    "chunks = 1 AND (role IS NULL OR role = 'user') AND kind NOT IN ('document', 'summary') AND NOT retired"
)
# So much is looked at whenever it is opened: some 15,000 memories, in 15 ms at most.
_LOOKED_AT_BYTES = 8_000_000
# More memories that share words are not looked at: what one statement ends is rarely said so often.
_STATEMENTS = 1_000


class LanceStore:
    """The tables of one user. Reading needs no lock; writing methods are called with it held."""

    def __init__(
        self, uri: str, side: Side | None, *, database: Database | None = None, looks_at_rows: bool = False
    ) -> None:
        self.uri = uri
        self.database = database or Database(uri)
        """The directory of tables; one that is handed in has read some of it already."""
        self._side = side
        self._looks_at_rows = looks_at_rows
        self._state = side.state() if side else State()
        self._open: dict[str, Table] = {}

    # --- opening ----------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The side store's word on this store, as of the last `refresh`."""
        return self._state

    def refresh(self) -> None:
        """See what other processes have changed since: new tables, memories being erased."""
        if self._side is not None:
            self._state = self._side.state()

    @property
    def directory(self) -> Path | None:
        """The directory of tables; None where they are not on this machine."""
        return None if "://" in self.uri else Path(self.uri).absolute()

    def table(self, name: str) -> Table:
        """A table by name, opened once. Raises DamagedError when it is not the one that was written."""
        if name not in self._open:
            self._check(name)
            self._open[name] = self.database.open(name)
        return self._open[name]

    def _check(self, name: str) -> None:
        known = self._state.seals.get(name)
        if known is None or self.directory is None:
            return
        try:
            seal.check_newest(self.directory, name, known)
            if self._looks_at_rows and name == self._state.memories:
                self._check_few_rows(self.directory, name)
        except DamagedError:
            self.refresh()
            if self._state.seals.get(name) != known or name not in self.in_use():
                raise GoneError("another process has replaced a table", "run the command again") from None
            raise

    def _check_few_rows(self, lance: Path, name: str) -> None:
        """Look at the rows of a store that is not large: Lance reads a flipped bit as another letter."""
        rows = seal.rows_of(name, self.sums(self._side)) if self._side else {}
        if sum(size for size, _ in rows.values()) <= _LOOKED_AT_BYTES:
            new = {file: known for file, known in rows.items() if file not in self.database.looked_at}
            seal.check_rows(lance, name, new)
            self.database.looked_at.update(new)

    def _memories(self) -> Table | None:
        return self.table(self._state.memories) if self._state.memories else None

    def _vectors(self, embedder: str | None) -> Table | None:
        name = self._state.vectors.get(embedder) if embedder else None
        return self.table(name) if name else None

    def _reading(self, read: Callable[[], T]) -> T:
        """Read, and begin anew when another process has replaced the tables meanwhile."""
        for _ in range(_REOPENS):
            try:
                self.refresh()
                return read()
            except GoneError:
                self._open.clear()
        self.refresh()
        return read()

    # --- reading ----------------------------------------------------------------------------------

    def _first_rows(self, filters: Filters, now: Millis, extra: str | None = None) -> str | None:
        """The condition of one row for each memory that matches: the one that holds it whole."""
        return both("ordinal = 0", where(filters, now=now, erasing=self._state.erasing), extra)

    def count(self, filters: Filters, *, now: Millis) -> int:
        """How many memories match."""

        def read() -> int:
            table = self._memories()
            return table.count(self._first_rows(filters, now)) if table else 0

        return self._reading(read)

    def scan(
        self,
        filters: Filters,
        *,
        now: Millis,
        order: Sequence[tuple[str, bool]] = _ORDER,
        limit: int | None = None,
        extra: str | None = None,
    ) -> Iterator[Record]:
        """Memories that match, in `order` ((column, ascending) pairs, unknown last)."""

        def start() -> Iterator[pa.RecordBatch]:
            table = self._memories()
            if table is None:
                return iter(())
            condition = self._first_rows(filters, now, extra)
            batches = table.scan(RECORD_COLUMNS, where=condition, order=order, limit=limit)
            # The first is fetched here, where a table that has been replaced is opened again.
            return chain(list(islice(batches, 1)), batches)

        told: set[str] = set()
        for batch in self._to_its_end(start):
            for record in _as_read(to_records(batch.to_pydict()), filters):
                if record.id not in told:
                    told.add(record.id)
                    yield record

    def _to_its_end(self, start: Callable[[], Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """The batches of a reading; from the first one again when the tables are replaced meanwhile."""
        for left in reversed(range(_REOPENS)):
            try:
                yield from self._reading(start)
            except GoneError as error:
                self._open.clear()
                if not left:
                    raise StoreError(
                        "other processes rewrite the store faster than it can be read",
                        "run the command again",
                    ) from error
            else:
                return

    def tally(self, columns: Sequence[str], *, now: Millis) -> dict[str, list[Any]]:
        """The named columns of every memory, for counting: a list a column, all in the same order."""

        def read() -> list[pa.RecordBatch]:
            table = self._memories()
            condition = self._first_rows(Filters(with_hidden=True), now)
            return list(table.scan(columns, where=condition)) if table else []

        batches = self._reading(read)
        return {
            name: [value for batch in batches for value in batch.column(name).to_pylist()] for name in columns
        }

    def get(self, ids: Sequence[str], *, now: Millis) -> list[Record]:
        """The memories of these whole ids, hidden ones too, in that order; missing ones are left out."""

        def read() -> dict[str, Record]:
            table = self._memories()
            condition = self._first_rows(Filters(with_hidden=True), now)
            batches = _matching(table, RECORD_COLUMNS, "id", ids, condition) if table else ()
            return {record.id: record for batch in batches for record in to_records(batch.to_pydict())}

        found = self._reading(read)
        return [found[id_] for id_ in ids if id_ in found]

    def present(self, ids: Sequence[str]) -> list[str]:
        """Which of these whole ids are stored, hidden ones too, in that order."""

        def read() -> set[str]:
            table = self._memories()
            if table is None:
                return set()
            return {
                id_
                for batch in _matching(table, ["id"], "id", ids, "ordinal = 0")
                for id_ in batch.column(0).to_pylist()
            }

        stored = self._reading(read)
        return [id_ for id_ in ids if id_ in stored]

    def resolve(self, prefix: str, *, now: Millis) -> Record:
        """The one memory whose id begins so (4 characters or more, or a whole id).

        Raises:
            NothingMatchedError: no id begins so.
            UsageError: the prefix is too short, or several ids begin so.
        """
        whole = self.get([prefix], now=now)
        if whole:
            return whole[0]
        if len(prefix) < 4:
            raise UsageError(f"the id {prefix!r} is too short", "give at least 4 characters of it")
        escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        matching = list(
            self.scan(
                Filters(with_hidden=True),
                now=now,
                order=(("id", True),),
                limit=6,
                extra=f"id LIKE {quoted(escaped + '%')}",
            )
        )
        if not matching:
            raise NothingMatchedError(
                f"no memory has an id that begins with {prefix!r}", "see the ids with `memcli list`"
            )
        if len(matching) > 1:
            raise UsageError(
                f"the id {prefix!r} is ambiguous: {', '.join(record.id for record in matching)}",
                "give more characters of it",
            )
        return matching[0]

    def newest(self, id_: str, *, now: Millis, as_of: Millis | None = None) -> Record | None:
        """The memory that stands in the place of this one now (or then); itself where nothing replaced it."""
        passed: set[str] = set()
        following = self.get([id_], now=now)
        newest = None
        while following and following[0].id not in passed:
            newest = lifecycle.as_then(following[0], at=as_of)
            passed.add(newest.id)
            following = self.get([newest.superseded_by], now=now) if newest.superseded_by else []
        return newest

    def count_statements(self) -> int:
        """How many memories a person may have said of themself (`statements`)."""

        def read() -> int:
            table = self._memories()
            return table.count(_STATEMENT) if table else 0

        return self._reading(read)

    def statements(self, *, now: Millis) -> list[Record]:
        """Every memory that a person may have said of themself, short enough to be one passage."""
        return list(self.scan(Filters(), now=now, order=(), extra=_STATEMENT))

    def statements_like(self, is_like: Callable[[str], bool], *, now: Millis) -> list[Record]:
        """Those of the `statements` whose text passes a test; of the others nothing but the text is read."""

        def read() -> list[str]:
            table = self._memories()
            if table is None:
                return []
            batches = table.scan(["id", "text"], where=self._first_rows(Filters(), now, _STATEMENT))
            told = (zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches)
            return [id_ for rows in told for id_, text in rows if is_like(text)]

        return self.get(self._reading(read), now=now)

    def statements_with(self, texts: Sequence[str], *, now: Millis) -> list[Record]:
        """Those of the `statements` that hold words of any of the texts."""
        asked = [words for words in (_shortened(text, chars=_WORD_CHARS) for text in texts) if words.strip()]

        def read() -> set[str]:
            table = self._memories()
            if table is None:
                return set()
            condition = both(_STATEMENT, where(Filters(), now=now, erasing=self._state.erasing))

            async def ask() -> set[str]:
                import asyncio

                found = await asyncio.gather(
                    *(
                        table.match(words, "words", columns=["key"], limit=_STATEMENTS, where=condition)
                        for words in asked
                    )
                )
                return {row["key"] for rows in found for row in rows}

            return run(ask())

        return self.get(sorted(self._reading(read)), now=now)

    def version(self) -> Version:
        """Which table of memories is in use and how often it was written to; None before there is one."""

        def read() -> Version:
            table = self._memories()
            return None if table is None else (self._state.memories or "", table.version())

        return self._reading(read)

    def known(self, origins: Sequence[Origin]) -> dict[str, str]:
        """Which of these origins are stored: origin hash → memory id."""
        # A dry run asks without the lock.
        return self._reading(lambda: _known_in(self._memories(), origins))

    def known_at(self, version: Version, origins: Sequence[Origin]) -> dict[str, str]:
        """Which of these origins were stored at that version; or are, where it is no longer there."""
        if version is None:
            return {}
        if version == self.version():
            return self.known(origins)
        try:
            table = self.database.open(version[0])
            table.go_back(version[1])
            return _known_in(table, origins)
        except GoneError:
            return self.known(origins)

    def buried(self, origins: Sequence[str]) -> set[str]:
        """Which of these origin hashes have a tombstone."""
        return self._side.buried(origins) if self._side else set()

    def origins(self, ids: Sequence[str]) -> dict[str, Origin]:
        """The origin that each of these memories was stored with."""
        table = self._memories()
        found: dict[str, Origin] = {}
        if table is None:
            return found
        for batch in _matching(table, ["id", *ORIGIN_COLUMNS], "id", ids, "ordinal = 0"):
            for row in batch.to_pylist():
                found[row["id"]] = Origin(*(row[column] for column in ORIGIN_COLUMNS))
        return found

    # --- searching --------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        vector: Callable[[], Vector | None],
        *,
        filters: Filters,
        now: Millis,
        limit: int,
        times: Sequence[Span] = (),
    ) -> tuple[list[Candidate], int]:
        """The passages that may answer, unranked, and how many passages the store has.

        `vector` waits for the question's vector, None when only words are asked; it is called when all has
        been asked that does not need it.
        What was said in one of the `times` may answer whatever its words are.
        """

        def read() -> tuple[list[Candidate], int]:
            table = self._memories()
            if table is None:
                vector()
                return [], 0
            condition = where(filters, now=now, erasing=self._state.erasing)
            words = _keyword_scores(table, text, condition=condition, limit=limit)
            then = _keys_within(table, times, condition, limit=limit) if times else []
            total_rows = table.count()
            # Opened while the model still works.
            self._vectors(self._state.embedder)
            cosines = self._cosines(table, vector(), {*words, *then}, filters, condition, limit)
            keys = list(dict.fromkeys([*words, *cosines, *then]))
            return _candidates(table, keys, words, cosines, condition, filters), total_rows

        return self._reading(read)

    def _cosines(
        self,
        table: Table,
        vector: Vector | None,
        wanted: set[str],
        filters: Filters,
        condition: str | None,
        limit: int,
    ) -> dict[str, float]:
        vectors = self._vectors(self._state.embedder)
        if vector is None or vectors is None:
            return {}
        if is_narrow(filters):
            keys = _keys(table, condition, limit=_NARROW + 1)
            if len(keys) <= _NARROW:
                cosines = run(_cosines_of(vectors, vector, keys))
                best = dict(sorted(cosines.items(), key=itemgetter(1), reverse=True)[:limit])
                return best | {key: cosines[key] for key in wanted & cosines.keys()}
            # The nearest of all are looked through for those that match: the fewer these are, the deeper.
            limit *= min(_DEEPER, -(-table.count() // table.count(condition)))
        return _nearest(vectors, vector, limit=limit, beside=sorted(wanted))

    # --- writing (the lock is held) ---------------------------------------------------------------

    def apply(self, changes: Sequence[Change]) -> None:
        """Add and update records, all of them in one commit."""
        adds = [change for change in changes if change.action == "add"]
        updates = [change for change in changes if change.action in ("update", "supersede", "retire")]
        if not adds and not updates:
            return
        table = self._memories() or self._create()
        rows = [(change.record, change.origin) for change in adds]
        if not updates:
            table.add(to_table(rows))
            return
        ids = [change.record.id for change in updates]
        self._drop_stale_vectors(updates)
        kept = self.origins(ids)
        rows += [(change.record, change.origin or kept.get(change.record.id)) for change in updates]
        table.upsert(to_table(rows), key="key", replaces=one_of("id", ids))

    def _create(self) -> Table:
        name = f"memories_{self._writable_side().next_number()}"
        table = self.database.create(name, schema())
        build_indexes(table)
        self._writable_side().point_to(
            memories=name, vectors=self._state.vectors, embedder=self._state.embedder
        )
        self.refresh()
        return self.table(name)

    def _drop_stale_vectors(self, updates: Sequence[Change]) -> None:
        """First the vectors, then the text: stopped in between, they are pending, never wrong."""
        ids = [
            change.record.id
            for change in updates
            if change.before is None or change.before.text != change.record.text
        ]
        table = self._memories()
        if not ids or table is None:
            return
        # Another process may be embedding the old text: it looks whether anything has changed meanwhile.
        self._writable_side().note_change()
        keys = _keys(table, one_of("id", ids))
        for name in self._state.vectors.values():
            if keys:
                self.table(name).delete(one_of("key", keys))

    # --- vectors ----------------------------------------------------------------------------------

    def bind(self, embedder: str, dim: int, *, asked: bool) -> None:
        """Make a table for this embedder's vectors; `asked`: questions are embedded with it from now on."""
        vectors = dict(self._state.vectors)
        if embedder not in vectors:
            name = f"vectors_{self._writable_side().next_number()}"
            self.database.create(name, vector_schema(dim))
            vectors[embedder] = name
        self._writable_side().point_to(
            memories=self._state.memories,
            vectors=vectors,
            embedder=embedder if asked else self._state.embedder,
        )
        self.refresh()

    def unbind_others(self, embedder: str) -> None:
        """Drop the vectors of every other embedder; questions are embedded with this one."""
        kept = {embedder: self._state.vectors[embedder]}
        dropped = [name for name in self._state.vectors.values() if name != kept[embedder]]
        self._writable_side().point_to(memories=self._state.memories, vectors=kept, embedder=embedder)
        self.refresh()
        for name in dropped:
            self._open.pop(name, None)
            self.database.drop(name)

    def pending(self, embedder: str, *, private: bool = True, of: Sequence[str] = ()) -> list[str]:
        """Keys of passages without a vector of this embedder (of these memories, or of all).

        `private`: those of private memories too.
        """
        condition = both(None if private else "private = false", one_of("id", of) if of else None)

        def read() -> list[str]:
            table, vectors = self._memories(), self._vectors(embedder)
            if table is None:
                return []
            if vectors is None:
                return _keys(table, condition)
            # Vectors of what has become private since make the numbers equal by chance.
            if private and not of and table.count() == vectors.count():
                return []
            keys = _keys(table, condition)
            done = _fetch(vectors, keys, ("key",)) if of else set(_keys(vectors, None))
            return [key for key in keys if key not in done]

        return self._reading(read)

    def passages_of(self, keys: Sequence[str]) -> dict[str, str]:
        """The text of these passages, as they are embedded."""

        def read() -> dict[str, str]:
            table = self._memories()
            if table is None:
                return {}
            wanted = set(keys) | {key_id(key) for key in keys}
            rows = _fetch(table, sorted(wanted), ("key", "start", "end", "text"))
            texts = {key: row["text"] for key, row in rows.items() if row["text"] is not None}
            return {
                key: texts[key_id(key)][rows[key]["start"] : rows[key]["end"]]
                for key in keys
                if key in rows and key_id(key) in texts
            }

        return self._reading(read)

    def add_vectors(self, embedder: str, vectors: Mapping[str, Vector]) -> None:
        """Store the vectors of passages, in one commit; one that has a vector keeps it."""
        table = self._vectors(embedder)
        if table is None or not vectors:
            return
        # Two processes may have embedded the same passages at the same time.
        stored = set(_keys(table, one_of("key", vectors)))
        new = {key: vector for key, vector in vectors.items() if key not in stored}
        if new:
            table.add(to_vector_table(new))

    # --- upkeep -----------------------------------------------------------------------------------

    def compact(self, *, keep_ms: int = 0, indexed_from: int = INDEXED_FROM, memories: bool = True) -> None:
        """Merge what many small writes left; versions younger than `keep_ms` stay.

        `memories`: the table of memories too. Raises DamagedError before what is damaged is copied.
        """
        self.check_rows()
        self._writable_side().begin_drop()
        for name in self.in_use():
            if memories or name != self._state.memories:
                self.table(name).compact(keep_ms=keep_ms)
        self.index_vectors(least=indexed_from)

    def unindexed(self) -> tuple[int, int]:
        """How many passages no index of words holds yet, and how many there are."""
        table = self._memories()
        if table is None:
            return 0, 0
        rows = table.count()
        return max((int(index.num_unindexed_rows) for index in table.indexes()), default=rows), rows

    def index(self) -> None:
        """Make the indexes of words anew, of all memories as they lie."""
        table = self._memories()
        if table is not None:
            build_indexes(table)

    def lacks_index(self) -> bool:
        """Whether so many vectors have no index that they are worth one."""
        return any(_is_unindexed(self.table(name), INDEXED_FROM) for name in self._state.vectors.values())

    def index_vectors(self, *, least: int = INDEXED_FROM) -> None:
        """Make an index of so many vectors and more, where there is none; `compact` keeps it up to date."""
        for name in self._state.vectors.values():
            table = self.table(name)
            if _is_unindexed(table, least):
                table.index({"vector": IvfSq()})

    def check_rows(self) -> None:
        """Look at every file that holds rows. Raises DamagedError when one is not what was written."""
        if self.directory is not None:
            sums = self.sums(self._writable_side())
            for name in self.in_use():
                seal.check_rows(self.directory, name, sums)

    def sums(self, side: Side) -> dict[str, seal.Sum]:
        """The size and the CRC-32 of each file that has to be there, as it was written."""
        is_dropping = side.state().is_dropping and self.directory is not None
        return seal.still_there(Path(self.uri), side.sums()) if is_dropping else side.sums()

    def seal(self) -> None:
        """Put what was written on disk for good, and note what it is: a writer's last act under the lock."""
        self.refresh()
        lance, names, known = self.directory, self.in_use(), self._state.seals
        if lance is None:
            return
        newest = {name: next(iter(seal.manifests(lance, name).items()), None) for name in names}
        if {name: found and found[0] for name, found in newest.items()} == {
            name: sealed.version for name, sealed in known.items()
        } and not self._state.is_dropping:
            return
        lost = next((name for name, found in newest.items() if found is None), None)
        if lost is not None:
            # What is known of it is all that can tell whether it is whole when it is back.
            raise seal.damaged(lost, "its newest version is missing")
        sums = self._writable_side().sums()
        there = {file for name in names for file in seal.files_of(lance, name)}
        new = seal.sums_of(lance, sorted(there - sums.keys()))
        seals = {
            name: seal.Seal(found[0], *(sums | new)[found[1].relative_to(lance).as_posix()])
            for name, found in newest.items()
            if found
        }
        self._writable_side().seal(seals, new=new, gone=sums.keys() - there)
        self.refresh()

    def dim(self, embedder: str) -> int | None:
        """How long this embedder's vectors are; None when the store has none of them."""
        table = self._vectors(embedder)
        return None if table is None else int(table.schema().field("vector").type.list_size)

    def shape(self) -> dict[str, int]:
        """How many versions, fragments and indexes the tables are made of."""

        def read() -> dict[str, int]:
            tables = [self.table(name) for name in self.in_use()]
            return {
                "versions": sum(table.versions() for table in tables),
                "fragments": sum(table.fragments() for table in tables),
                "indexes": sum(len(table.indexes()) for table in tables),
            }

        return self._reading(read)

    def in_use(self) -> list[str]:
        """The names of the tables that are the store; others in the directory are left over."""
        return [name for name in (self._state.memories, *self._state.vectors.values()) if name]

    def forget_handle(self, name: str) -> None:
        """Let go of a table that is about to be dropped."""
        self._open.pop(name, None)

    def _writable_side(self) -> Side:
        if self._side is None:
            raise StoreError(
                "the store is open for reading only", "check the permissions of the data directory"
            )
        return self._side


def build_indexes(table: Table) -> None:
    """Make (again) every full-text index of a table of memories."""
    table.index(INDEXES)


def _is_unindexed(vectors: Table, least: int) -> bool:
    return vectors.count() >= least and not vectors.indexes()


def _in_parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """The values, as many at a time as one condition may name."""
    return (values[start : start + _IDS_AT_ONCE] for start in range(0, len(values), _IDS_AT_ONCE))


def _matching(
    table: Table, columns: Sequence[str], column: str, values: Sequence[str], condition: str | None = None
) -> Iterator[pa.RecordBatch]:
    """Batches of the rows whose `column` holds one of the values and that match."""
    if len(values) > _IDS_AT_ONCE:
        places = table.places(column, set(values), where=condition)
        for start in range(0, len(places), _TAKEN_AT_ONCE):
            yield from table.take(places[start : start + _TAKEN_AT_ONCE], columns)
    elif values:
        yield from table.scan(columns, where=both(one_of(column, values), condition))


def _known_in(table: Table | None, origins: Sequence[Origin]) -> dict[str, str]:
    found: dict[str, str] = {}
    if table is None or not origins:
        return found
    marks = [(origin.place, origin.said, origin.echo) for origin in origins]
    asked = dict(zip(ORIGIN_COLUMNS, zip(*marks, strict=True), strict=True))
    # A store that no new version has written to lacks the newest of them.
    for column in asked.keys() & table.columns():
        for batch in _matching(table, [column, "id"], column, [value for value in asked[column] if value]):
            found.update((row[column], row["id"]) for row in batch.to_pylist())
    return found


def _keys(table: Table, condition: str | None, *, limit: int | None = None) -> list[str]:
    batches = table.scan(["key"], where=condition, limit=limit)
    return [key for batch in batches for key in batch.column(0).to_pylist()]


def _fetch(
    table: Table, keys: Sequence[str], columns: Sequence[str], condition: str | None = None
) -> dict[str, dict[str, Any]]:
    """The rows of these keys that match."""
    batches = _matching(table, columns, "key", keys, condition)
    return {row["key"]: row for batch in batches for row in batch.to_pylist()}


def _shortened(text: str, *, chars: int) -> str:
    """A question as it is, or of a very long one its distinct words, as many as fit."""
    return text if len(text) <= chars else " ".join(dict.fromkeys(text.split()))[:chars]


def _gram_text(text: str) -> str:
    """What of a question the pairs of characters are asked for.

    Pairs of Latin letters match nearly every text; they are worth their time for what word indexes
    miss: scripts without spaces, digits, and words joined by signs.
    """
    kept = [
        word
        for word in without_contractions(as_grams(text)).split()
        if not word.isascii() or any(not char.isalpha() for char in word.strip(".,;:!?\"'()[]"))
    ]
    return " ".join(kept)


def _keyword_scores(table: Table, text: str, *, condition: str | None, limit: int) -> dict[str, float]:
    """Passages that hold words of the question → BM25 of the words plus a third of that of the pairs."""

    words = as_words(_shortened(text, chars=_WORD_CHARS))
    grams = _shortened(_gram_text(text), chars=_GRAM_CHARS)

    async def ask() -> dict[str, float]:
        import asyncio

        queries = [table.match(words, "words", columns=["key"], limit=limit, where=condition)]
        if grams:
            queries.append(table.match(grams, "grams", columns=["key"], limit=limit, where=condition))
        scores: dict[str, float] = {}
        for rows, weight in zip(await asyncio.gather(*queries), (1.0, 1 / 3), strict=False):
            for row in rows:
                scores[row["key"]] = scores.get(row["key"], 0.0) + weight * row["_score"]
        if not scores and not grams:
            # A part of a word is better than nothing; pairs of letters alone would match any text.
            part = as_grams(text)[:_GRAM_CHARS]
            rows = await table.match(part, "grams", columns=["key", "grams"], limit=limit, where=condition)
            parts = [word for word in part.split() if len(word) >= _PART_CHARS]
            scores = {
                row["key"]: row["_score"] / 3 for row in rows if any(word in row["grams"] for word in parts)
            }
        return scores

    scores = run(ask()) if text.strip() else {}
    return dict.fromkeys(_keys_with_lone(table, words, condition, limit=limit), 0.0) | scores


def _keys_with_lone(table: Table, text: str, condition: str | None, *, limit: int) -> list[str]:
    """Passages with a character of a script without spaces that stands alone in the question ("茶"): no
    index holds a single one."""
    lone = [term for term in query_terms(text) if len(term) == 1 and is_unspaced(term)]
    if not lone:
        return []
    held = " OR ".join(contains("grams", term) for term in lone)
    return _keys(table, both(condition, held), limit=limit)


def _keys_within(table: Table, times: Sequence[Span], condition: str | None, *, limit: int) -> list[str]:
    """Passages of these times; none where there are more than `limit`: a year tells too little."""
    then = " OR ".join(f"created_at BETWEEN {span.start} AND {span.end}" for span in times)
    keys = _keys(table, both(condition, then), limit=limit + 1)
    return keys if len(keys) <= limit else []


def _nearest(table: Table, vector: Vector, *, limit: int, beside: Sequence[str]) -> dict[str, float]:
    """The cosines of the nearest passages, and of those `beside` them."""
    import pyarrow as pa

    asked = pa.array(vector, pa.float32())

    async def ask() -> dict[str, float]:
        import asyncio

        near = table.nearest(asked, columns=["key"], limit=limit)
        rows, cosines = await asyncio.gather(near, _cosines_of(table, vector, beside))
        return {**{row["key"]: 1.0 - row["_distance"] for row in rows}, **cosines}

    return run(ask())


async def _cosines_of(table: Table, vector: Vector, keys: Sequence[str]) -> dict[str, float]:
    """The cosines of these passages, one by one: a search among so few would still read every vector."""
    found: dict[str, float] = {}
    # An array makes its numbers anew whenever it is gone through.
    asked = vector.tolist()
    for some in _in_parts(keys):
        for batch in await table.collect(["key", "vector"], where=one_of("key", some)):
            flat = batch.column("vector").flatten()
            numbers = memoryview(flat.buffers()[1]).cast("f")[flat.offset :]
            for place, key in enumerate(batch.column("key").to_pylist()):
                start = place * len(asked)
                found[key] = sum(map(mul, numbers[start : start + len(asked)], asked))
    return found


def _as_read(records: Iterable[Record], filters: Filters) -> Iterator[Record]:
    """Memories as a reading shows them; what sees hidden ones too (an export) takes them as they are."""
    at = None if filters.with_hidden else filters.as_of
    return (lifecycle.as_then(record, at=at) for record in records)


_CANDIDATE_COLUMNS = ("key", "start", "end", *RECORD_COLUMNS)


class _Place(NamedTuple):
    """Which passage of its memory a row is, and what part of the text."""

    ordinal: int
    chunks: int
    start: int
    end: int


def _read(
    table: Table, keys: Collection[str], condition: str | None, filters: Filters
) -> tuple[dict[str, _Place], dict[str, Record]]:
    """Those of these passages that match: their places by key, and the memories of first ones by id."""
    places: dict[str, _Place] = {}
    records: dict[str, Record] = {}
    for batch in _matching(table, _CANDIDATE_COLUMNS, "key", sorted(keys), condition):
        columns = batch.to_pydict()
        read = map(_Place, *(columns[name] for name in _Place._fields))
        places.update(zip(columns["key"], read, strict=True))
        told = zip(columns["ordinal"], _as_read(to_records(columns), filters), strict=True)
        records.update((record.id, record) for ordinal, record in told if ordinal == 0)
    return places, records


def _candidates(
    table: Table,
    keys: Sequence[str],
    words: Mapping[str, float],
    cosines: Mapping[str, float],
    condition: str | None,
    filters: Filters,
) -> list[Candidate]:
    """Each of these passages, with the memory that it is of."""
    places, records = _read(table, {*keys, *map(key_id, keys)}, condition, filters)
    # What replaced one of them may share no word with the question and belongs above it all the same.
    followers: list[str] = []
    while newer := {each.superseded_by for each in records.values() if each.superseded_by} - records.keys():
        beside, found = _read(table, newer, condition, filters)
        if not found:
            break
        places |= beside
        records |= found
        followers += found
    told = [(key, records.get(key_id(key))) for key in (*keys, *followers) if key in places]
    return [
        Candidate(
            record=record,
            passage=record.text[places[key].start : places[key].end],
            ordinal=places[key].ordinal,
            chunks=places[key].chunks,
            cosine=cosines.get(key),
            bm25=words.get(key),
        )
        for key, record in told
        if record is not None
    ]
