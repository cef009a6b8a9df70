"""Erasing for real: the tables are copied without what is forgotten, the old ones unlinked, the rest proved.

Lance's own delete leaves a row readable in its data file, its words in index dictionaries and its id
in transaction files. So nothing is deleted in place: the rows that stay are written to new tables
with new indexes, one commit in the side store makes those the store, and the old directories go as
a whole. Stopped at any point, the next writer begins again; readers never see what is being erased.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memcli.errors import DiskFullError, StoreError
from memcli.lifecycle import hashes, origin_of
from memcli.passages import as_grams, as_words, terms
from memcli.store import copies
from memcli.store.engine import Table, run
from memcli.store.lance import INDEXES, LanceStore, build_indexes
from memcli.store.rows import RECORD_COLUMNS, key_id, schema, to_record, to_table
from memcli.store.side import Side, drop_copies
from memcli.store.where import one_of
from memcli.types import Filters, Millis, Proof, Record

if TYPE_CHECKING:
    import pyarrow as pa

# Rows in one commit of the copy: many, so that the new table needs no compaction soon.
_COPY_ROWS = 50_000
_HIDDEN = "the next command that writes erases what is hidden from every answer already"
_CHUNK_BYTES = 1 << 20
# What the new tables take beside the old ones, at most, and what the side store's log takes meanwhile.
_ROOM = 1.2
_ROOM_BESIDE_BYTES = 1_000_000
# Shorter pieces of a text stand in other texts and in binary files by chance and prove nothing.
_NEEDLE_BYTES = 12
_CODES = ("utf-8", "utf-16-le")
# So many pieces are looked for one after the other; more by their first bytes.
_FEW = 32
_WORDS_AT_ONCE = 100


def erase(
    store: LanceStore, side: Side, records: Sequence[Record], *, at: Millis, everything: bool = False
) -> None:
    """Erase these memories from every byte of the store. The writers' lock is held.

    Args:
        store: the tables.
        side: the side store.
        records: the memories, and turns of a chat that would have become some.
        at: the clock.
        everything: sessions, tasks and events go too.

    Raises:
        StoreError: the disk is full or cannot be written: the memories stay hidden from every answer
            and the next writing command goes on.
    """
    # First, so that none is left when this is stopped; new ones are made under the lock.
    copies.drop_all(side.path.parent)
    ids = [record.id for record in records]
    key = store.state.key
    origins = {record.id: origin_of(record, key) for record in records} | store.origins(ids)
    whole = _Needles(text.encode() for text in _whole_texts(records))
    side.begin_erase(
        ids,
        origins=[text for origin in origins.values() for text in hashes(origin)],
        at=at,
        is_told=lambda value: bool(whole.found_in(value.encode())),
        learned_from=[id_ for record in records for id_ in record.derived_from],
        everything=everything,
    )
    finish(store, side)
    if not ids:
        side.empty_log()
        drop_copies(side.path)


def finish(store: LanceStore, side: Side) -> None:
    """Carry through what an erase has begun, now or in a process that died. The writers' lock is held."""
    store.refresh()
    gone = store.state.erasing
    if gone or store.state.rebuild:
        store.check_rows()
        with room_told(Path(store.uri), then=_HIDDEN), _dropped_on_failure(store):
            _replace_tables(store, side, gone)
    drop_left_over(store)
    if gone:
        side.finish_erase(sorted(gone))
        store.refresh()


@contextmanager
def room_told(lance: Path, *, then: str) -> Iterator[None]:
    """Say of a full disk how much more room would do: the tables are written anew before the old ones go."""
    try:
        yield
    except DiskFullError as error:
        if error.is_measured:
            raise
        size = copies.size_bytes(lance)
        missing = max(0, round(size * _ROOM) + _ROOM_BESIDE_BYTES - shutil.disk_usage(lance.parent).free)
        raise DiskFullError(f"{missing:,} bytes on the disk of {lance}", then) from error


@contextmanager
def _dropped_on_failure(store: LanceStore) -> Iterator[None]:
    """Give back the room of tables that could not be written to their end."""
    try:
        yield
    except StoreError:
        drop_left_over(store)
        raise


def rewrite(store: LanceStore, side: Side, *, vectors: bool = True) -> None:
    """Write the tables (or that of memories alone) anew from their rows. The writers' lock is held.

    It takes as much memory for a large table as for a small one.
    """
    store.refresh()
    with _dropped_on_failure(store):
        _replace_tables(store, side, frozenset(), vectors=vectors)
    drop_left_over(store)


def _whole_texts(records: Iterable[Record]) -> Iterator[str]:
    """What these memories say, as it is and as it stands in JSON.

    The value of a task that holds a whole one goes too; a script that happens to share a line with a memory
    goes on undisturbed.
    """
    for record in records:
        text = record.text.strip()
        yield from {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _replace_tables(store: LanceStore, side: Side, gone: frozenset[str], *, vectors: bool = True) -> None:
    state = store.state
    memories = None
    if state.memories is not None:
        patched = _without_pointers(store, gone)
        memories = _copy_memories(store, side, gone, patched)
    tables = {
        name: _copy_vectors(store, side, table, gone) if vectors else table
        for name, table in state.vectors.items()
    }
    side.point_to(memories=memories, vectors=tables, embedder=state.embedder, rebuilt=True)
    store.refresh()


def _without_pointers(store: LanceStore, gone: frozenset[str]) -> list[Record]:
    """The memories that point to an erased one, as they are without the pointer."""
    if not gone or store.state.memories is None:
        return []
    # Not by the ids of what is gone: a hundred thousand of them are no condition.
    is_set = " OR ".join(f"{name} IS NOT NULL" for name in ("superseded_by", "supersedes", "derived_from"))
    table = store.table(store.state.memories)
    rows = _rows(table, RECORD_COLUMNS, where=f"ordinal = 0 AND ({is_set})")
    records = (to_record(row) for row in rows if row["id"] not in gone)
    return [clear for record in records if (clear := _unpointed(record, gone)) != record]


def _unpointed(record: Record, gone: frozenset[str]) -> Record:
    left = tuple(id_ for id_ in record.derived_from if id_ not in gone)
    return replace(
        record,
        superseded_by=None if record.superseded_by in gone else record.superseded_by,
        valid_to=None if record.superseded_by in gone else record.valid_to,
        supersedes=tuple(id_ for id_ in record.supersedes if id_ not in gone),
        derived_from=left,
        # It still tells what the erased one told: hidden until it is made anew from what is left.
        retired=record.retired or left != record.derived_from,
    )


def _copy_memories(store: LanceStore, side: Side, gone: frozenset[str], patched: Sequence[Record]) -> str:
    old = store.table(store.state.memories or "")
    name = f"memories_{side.next_number()}"
    new = store.database.create(name, schema())
    changed = {record.id for record in patched}
    batches = _filtered(old, [field for field in schema().names if field in old.columns()], gone | changed)
    _append(new, map(_as_indexed_now, batches) if store.state.rebuild else batches)
    if patched:
        origins = store.origins([record.id for record in patched])
        new.add(to_table((record, origins.get(record.id)) for record in patched))
    build_indexes(new)
    return name


def _as_indexed_now(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of an older store with what is searched in the form it has now."""
    import pyarrow as pa

    for name, form in (("words", as_words), ("grams", as_grams)):
        place = batch.schema.get_field_index(name)
        texts = [None if text is None else form(text) for text in batch.column(place).to_pylist()]
        batch = batch.set_column(place, batch.schema.field(place), pa.array(texts, pa.string()))
    return batch


def _copy_vectors(store: LanceStore, side: Side, old_name: str, gone: frozenset[str]) -> str:
    old = store.table(old_name)
    name = f"vectors_{side.next_number()}"
    new = store.database.create(name, old.schema())
    _append(new, _filtered(old, ["key", "vector"], gone))
    return name


def _filtered(table: Table, columns: Sequence[str], gone: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """Every row but those of the memories in `gone`."""
    import pyarrow as pa

    out = set(gone)
    if not out:
        yield from table.scan(columns)
        return
    for batch in table.scan(columns):
        kept = [key_id(key) not in out for key in batch.column("key").to_pylist()]
        yield batch if all(kept) else batch.filter(pa.array(kept))


def _append(table: Table, batches: Iterator[pa.RecordBatch]) -> None:
    for first in batches:
        table.append(first.schema, _so_many(chain([first], batches)))


def _so_many(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The next of the batches, for one commit."""
    rows = 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        if rows >= _COPY_ROWS:
            return


def drop_left_over(store: LanceStore) -> None:
    """Unlink tables that are not the store: replaced ones, and copies that a dead process left."""
    used = set(store.in_use())
    for name in store.database.table_names():
        if name not in used:
            store.forget_handle(name)
            store.database.drop(name)


# --- the proof ------------------------------------------------------------------------------------


def prove(
    store: LanceStore, side: Side, directories: Sequence[Path], forgotten: Sequence[Record], *, now: Millis
) -> Proof:
    """Look for what was forgotten in every byte, every decoded row of every version and every index.

    The directories hold the side store and the tables, none of them inside another.

    A piece of a forgotten text that a living memory, another turn of a chat or a task holds too is no trace
    and is not looked for.
    """
    ids = {record.id for record in forgotten}
    pieces = _pieces_of_none_else(store, side, forgotten, now=now)
    needles = _Needles(pieces)
    texts = [*(piece.decode() for piece in pieces), *ids]
    coded = _Needles(text.encode(code) for text in texts for code in _CODES)
    files = size = traces = rows = words_asked = 0
    for directory in directories:
        counts = _scan_files(directory, coded)
        files, size, traces = files + counts[0], size + counts[1], traces + counts[2]
    for name in store.database.table_names():
        table = store.database.open(name)
        columns = [column for column in table.columns() if column != "vector"]
        for version in table.at_every_version():
            for row in _rows(version, columns):
                rows += 1
                traces += key_id(row["key"]) in ids or bool(needles.found_in(_told(row)))
        if INDEXES.keys() <= set(columns):
            asked, found = _ask_indexes(table, forgotten, store, now=now)
            words_asked += asked
            traces += found
    for told in side.rows():
        rows += 1
        traces += bool(needles.found_in(told.encode())) or any(id_ in told for id_ in ids)
    return Proof(
        files_scanned=files,
        bytes_scanned=size,
        rows_decoded=rows,
        words_asked=words_asked,
        traces=traces,
        backups=tuple(path for path, _ in side.backups() if Path(path).exists()),
    )


class _Needles:
    """Pieces to look for, all at once; those too short to prove anything are left out."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._all = {piece for piece in pieces if len(piece) >= _NEEDLE_BYTES}
        self._by_head: dict[bytes, list[bytes]] = {}
        for piece in self._all:
            self._by_head.setdefault(piece[:_NEEDLE_BYTES], []).append(piece)
        self.longest = max(map(len, self._all), default=0)

    def found_in(self, data: bytes) -> set[bytes]:
        """Which of them stand in `data`."""
        if len(self._all) <= _FEW:
            return {piece for piece in self._all if piece in data}
        # One look at each place, however many there are.
        return {
            piece
            for at in range(len(data) - _NEEDLE_BYTES + 1)
            for piece in self._by_head.get(data[at : at + _NEEDLE_BYTES], ())
            if data.startswith(piece, at)
        }


def _rows(table: Table, columns: Sequence[str], where: str | None = None) -> Iterator[dict[str, Any]]:
    for batch in table.scan(columns, where=where):
        yield from batch.to_pylist()


def _told(row: Mapping[str, Any]) -> bytes:
    return "\n".join(str(value) for value in row.values() if value).encode()


def _pieces_of_none_else(
    store: LanceStore, side: Side, forgotten: Sequence[Record], *, now: Millis
) -> set[bytes]:
    pieces = {piece.encode() for record in forgotten for piece in _pieces(_said(record))}
    needles = _Needles(pieces)
    living = map(_said, store.scan(Filters(with_hidden=True), now=now, order=()))
    for text in chain(living, side.told_besides([record.id for record in forgotten])):
        pieces -= needles.found_in(text.encode())
    return pieces


def _said(record: Record) -> str:
    """All that a memory says in words: its text, and what else its source told of it."""
    told = [value for value in (record.name, *record.meta.values()) if isinstance(value, str)]
    return "\n".join([record.text, *told])


def _pieces(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        for start in range(0, len(line), 40):
            yield line[start : start + 40].strip()


@contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    """A file to read; one of SQLite's is not closed before the process ends.

    Closing it would take the locks on it from every connection of this process (POSIX locks are the
    process's), and another process might then write over what is in use.
    """
    is_sqlite = path.name.startswith("side.db")
    descriptor = os.open(path, os.O_RDONLY)
    with open(descriptor, "rb", closefd=not is_sqlite) as stream:
        yield stream


def _scan_files(directory: Path, needles: _Needles) -> tuple[int, int, int]:
    files = size = traces = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            if not path.is_file():
                continue
            files += 1
            found: set[bytes] = set()
            tail = b""
            with _reading(path) as stream:
                while chunk := stream.read(_CHUNK_BYTES):
                    size += len(chunk)
                    window = tail + chunk
                    found |= needles.found_in(window)
                    tail = window[-needles.longest :] if needles.longest else b""
            traces += len(found)
    return files, size, traces


def _ask_indexes(
    table: Table, forgotten: Sequence[Record], store: LanceStore, *, now: Millis
) -> tuple[int, int]:
    """Ask both indexes for the words that only the forgotten texts held: (asked, found)."""
    words = {word for record in forgotten for word in terms(record.text)}
    for record in store.scan(Filters(with_hidden=True), now=now, order=()):
        if not words:
            break
        words -= set(terms(f"{record.name or ''} {record.text}"))
    # A word counts as found only when the row it leads to is a forgotten one: an index may stem
    # or split words otherwise than we do, and then leads to a living memory.
    theirs = one_of("id", (record.id for record in forgotten))
    asked = sorted(words)
    found = 0
    for start in range(0, len(asked), _WORDS_AT_ONCE):
        some = " ".join(asked[start : start + _WORDS_AT_ONCE])
        for column in INDEXES:
            found += len(run(table.match(some, column, columns=["id"], limit=50, where=theirs)))
    return len(asked), found
