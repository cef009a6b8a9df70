"""Mend what can be mended without loss: what replaces a damaged part is made of what is whole.

What was lost with the damage is named. Nothing that may still be of use to somebody is unlinked: a damaged
side store and a damaged manifest are laid aside, until something is forgotten.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memcli.errors import DamagedError, StoreError
from memcli.memory import Memory
from memcli.store import identity, purge, seal, talks
from memcli.store.engine import GoneError, Table
from memcli.store.lance import LanceStore, build_indexes
from memcli.store.lock import writing
from memcli.store.rows import RECORD_COLUMNS, indexed, key_id, to_record
from memcli.store.side import ASIDE, JSON_COLUMNS, Side, refuse_newer

_NAMED = 10
# What `meta` holds besides what the store is made of.
_NUMBERS = ("entries", "places", "commits", "applying", "dropping", "learn_credit", "learn_rests_until")
_LISTS = ("undoing", "background")
_WITH_LOG = ("", "-wal", "-shm")
# What the first row of a memory decides.
_MADE = ("key", "start", "end", "words", "grams")
_LAST = "what was changed last may be as it was before: see `memcli list --sort updated`"
_BACKUP = "restore the newest backup, or save what can be read with `memcli export`"
_UNREADABLE = (DamagedError, GoneError)

# What a table of the side store holds, in words, for whom it is lost.
_HOLDS = {
    "tombstones": "what was forgotten (an import may bring it back)",
    "erasing": "what was being erased (forget it again)",
    "turns": "turns of chats",
    "sessions": "sessions of chats",
    "task_values": "values of tasks",
    "task_versions": "steps of tasks",
    "tasks": "tasks",
    "queue": "what waits to be learned from",
    "review": "what waits for a yes or no",
    "journal": "what undo takes back",
    "journal_added": "the memories that undo takes back",
    "journal_changed": "how memories were before",
    "files": "which files were imported",
    "reads": "how far files were read",
}


@dataclass(frozen=True, slots=True)
class Mended:
    """What was done, and what the damage has taken ("" when nothing is lost)."""

    told: str
    lost: str = ""


@contextmanager
def _opened(memory: Memory) -> Iterator[tuple[LanceStore, Side]]:
    """The store under the lock as it is: nothing that was left unfinished is finished first."""
    memory.close()
    with _locked(memory), closing(Side(memory.side_path, writable=True)) as side:
        store = LanceStore(memory.place.lance, side)
        yield store, side
        store.seal()
        identity.note(memory.place.directory, store.state)


def _locked(memory: Memory) -> Any:
    place = memory.place
    return writing(place.directory / ".lock", timeout_s=place.lock_timeout_s, notice=memory.notice)


def permissions(memory: Memory) -> Mended:
    """Let nobody else look into the directory."""
    try:
        memory.place.directory.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"{error.filename}: {error.strerror}", "mend its permissions as its owner"
        ) from error
    return Mended("closed to others")


def unfinished(memory: Memory) -> Mended:
    """Finish what an erase or a migration has begun."""
    with memory.write() as (store, side):
        if store.state.erasing or store.state.rebuild:
            purge.finish(store, side)
    return Mended("finished")


def left_over(memory: Memory) -> Mended:
    """Drop the tables that are no longer used."""
    with _opened(memory) as (store, _):
        purge.drop_left_over(store)
    return Mended("dropped")


def indexes(memory: Memory) -> Mended:
    """Build the indexes of words anew."""
    with _opened(memory) as (store, _):
        build_indexes(store.table(store.state.memories or ""))
    return Mended("built anew")


def vectors(memory: Memory) -> Mended:
    """Embed what has no vector, as far as the embedder answers."""
    left = memory.fill_vectors()
    return Mended("made" if not left else f"made, but for {left:,}")


# --- tables ---------------------------------------------------------------------------------------


def tables(memory: Memory) -> Mended:
    """Go back to the newest version that is whole; vectors that cannot be read are made anew later."""
    done: list[str] = []
    lost = ""
    with _opened(memory) as (store, side):
        memories = store.state.memories
        if memories and not _opens(store, memories):
            before = _last_known(store, side)
            done.append(f"{memories} went back to version {_go_back(store, side, memories)}")
            present = set(_ids(store.database.open(memories)))
            with side.change() as db:
                again = talks.keep_again(db, present)
            lost = _named("memories that were stored after it", sorted(before - present - again)) or _LAST
            # The seal is of the version that is no more.
            store.seal()
        for embedder, name in store.state.vectors.items():
            if not _is_whole(store, name):
                _drop_vectors(store, side, embedder)
                done.append(f"{name} was dropped")
        if memories and not _is_whole(store, memories):
            raise DamagedError(f"rows of {memories} cannot be read any more", _BACKUP)
    return Mended("; ".join(done), lost)


def _opens(store: LanceStore, name: str) -> bool:
    try:
        return store.table(name).count() >= 0
    except _UNREADABLE:
        return False


def _is_whole(store: LanceStore, name: str) -> bool:
    try:
        table = store.table(name)
        for _ in table.scan(table.columns()):
            pass
    except _UNREADABLE:
        return False
    return True


def _ids(table: Table) -> Iterator[str]:
    for batch in table.scan(["key"]):
        yield from map(key_id, batch.column(0).to_pylist())


def _last_known(store: LanceStore, side: Side) -> set[str]:
    """The memories that something besides their table still knows of."""
    known = side.journalled()
    for name in store.state.vectors.values():
        if _is_whole(store, name):
            known.update(_ids(store.table(name)))
    return known - store.state.erasing


def _go_back(store: LanceStore, side: Side, name: str) -> int:
    """Lay manifests aside until the newest is one that can be read; returns its version."""
    lance, sums = store.directory, side.sums()
    assert lance is not None
    store.forget_handle(name)
    for version, path in seal.manifests(lance, name).items():
        if sums.get(path.relative_to(lance).as_posix()) in (None, seal.sum_of(path)):
            with suppress(*_UNREADABLE):
                store.database.open(name).count()
                return version
        path.rename(path.with_name(f"{path.name}.damaged"))
    raise DamagedError(f"no version of {name} can be read", _BACKUP)


def _drop_vectors(store: LanceStore, side: Side, embedder: str) -> None:
    kept = {name: table for name, table in store.state.vectors.items() if name != embedder}
    dropped = store.state.vectors[embedder]
    side.point_to(memories=store.state.memories, vectors=kept, embedder=store.state.embedder)
    store.refresh()
    store.forget_handle(dropped)
    store.database.drop(dropped)


# --- files ----------------------------------------------------------------------------------------


def faults(memory: Memory) -> list[seal.Fault]:
    """The files of the tables in use that are not what was written."""
    store, side = memory.read(), memory.read_side()
    if store.directory is None or side is None:
        return []
    used = set(store.in_use())
    known = store.sums(side)
    sums = {file: sum_ for file, sum_ in known.items() if file.partition(".lance/")[0] in used}
    found = list(seal.faults(store.directory, sums))
    # Without what another process has dropped meanwhile.
    still = side.sums() if found else {}
    return [fault for fault in found if still.get(fault.file) == sums[fault.file]]


def files(memory: Memory) -> Mended:
    """Write the tables anew from the rows as they can be read; damaged vectors are dropped first.

    Raises:
        DamagedError: rows of memories cannot be read any more.
    """
    found = faults(memory)
    doubted = ""
    with _opened(memory) as (store, side):
        for embedder, name in list(store.state.vectors.items()):
            if any(fault.table == name for fault in found):
                _drop_vectors(store, side, embedder)
        memories = store.state.memories or ""
        if any(fault.table == memories and fault.part in seal.ROWS for fault in found):
            doubted = _named("memories whose text and index do not agree: look at them", _doubtful(store))
        if any(fault.table == memories for fault in found):
            purge.rewrite(store, side)
    return Mended("the tables were written anew", doubted)


def _doubtful(store: LanceStore) -> list[str]:
    """The memories of which one column says something else than another."""
    table = store.table(store.state.memories or "")
    rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    try:
        for batch in table.scan([*RECORD_COLUMNS, *_MADE]):
            for row in batch.to_pylist():
                rows[row["id"]].append(row)
        return sorted(id_ for id_, some in rows.items() if not _agree(some))
    except ValueError as error:
        raise DamagedError(f"a text in {store.state.memories} cannot be read", _BACKUP) from error


def _agree(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the rows of a memory are those that its first one makes."""
    first = [row for row in rows if row["ordinal"] == 0]
    if len(first) != 1 or first[0]["text"] is None:
        return False
    _, columns = indexed([to_record(first[0])])
    made = {row[0]: row for row in zip(*(columns[name] for name in _MADE), strict=True)}
    told = [tuple(row[name] for name in _MADE) for row in rows]
    return made.keys() == {row[0] for row in told} and all(row == made[row[0]] for row in told)


def _named(what: str, ids: Sequence[str]) -> str:
    if not ids:
        return ""
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return f"{len(ids):,} {what}: {', '.join(ids[:_NAMED])}{more}"


# --- the side store -------------------------------------------------------------------------------


def side_store(memory: Memory) -> Mended:
    """Make the side store anew from what can be read of it, of `tables.json`, and of the tables themselves.

    Raises StoreError when it is not damaged but newer, locked or unreadable for us.
    """
    path = memory.side_path
    refuse_newer(path)
    memory.close()
    with _locked(memory):
        # A mending that was killed has laid it aside already.
        damaged = path if path.exists() and path.stat().st_size else _aside(path)
        found = _salvaged(damaged)
        new = path.with_name(f"{path.name}{ASIDE}new")
        for name in _WITH_LOG:
            new.with_name(f"{new.name}{name}").unlink(missing_ok=True)
        with closing(Side(new, writable=True)) as side:
            store = LanceStore(memory.place.lance, side)
            who, whose, is_cut = _identity(memory.place.directory, found, store)
            _fill(side, found, who)
            side.empty_log()
        for name in _WITH_LOG:
            old = path.with_name(f"{path.name}{name}")
            if old.exists() and damaged == path:
                old.rename(_aside(path).with_name(f"{_aside(path).name}{name}"))
        new.rename(path)
    with _opened(memory):
        # Sealed when it is closed.
        pass
    lost = [words for table, words in _HOLDS.items() if table not in found.whole]
    lost += ["what was written to it last"] if is_cut else []
    doubtful = [words for table, words in _HOLDS.items() if table in found.doubtful]
    told = [f"lost with it: {', '.join(lost)}"] if lost else []
    told += [f"kept of two copies that differ, look at them: {', '.join(doubtful)}"] if doubtful else []
    return Mended(f"made anew, its tables known from {whose}", "; ".join(told))


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}{ASIDE}damaged")


@dataclass(frozen=True, slots=True)
class _Salvaged:
    """The rows that a damaged side store still gives, by table.

    It gave `whole` tables to their end; of `doubtful` ones two copies of a row differ.
    """

    rows: Mapping[str, tuple[Sequence[str], Sequence[Sequence[Any]]]]
    whole: frozenset[str]
    doubtful: frozenset[str]

    @property
    def meta(self) -> dict[str, str]:
        """What it said of itself."""
        columns, rows = self.rows.get("meta", ((), ()))
        return {row[0]: row[1] for row in rows} if list(columns) == ["key", "value"] else {}


def _salvaged(path: Path) -> _Salvaged:
    rows: dict[str, tuple[Sequence[str], Sequence[Sequence[Any]]]] = {}
    whole: set[str] = set()
    doubtful: set[str] = set()
    if not path.exists():
        return _Salvaged(rows, frozenset(), frozenset())
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            # A text that is none is found out row by row.
            db.text_factory = bytes
            names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for name in map(bytes.decode, names):
                columns = [row[1].decode() for row in db.execute(f"PRAGMA table_info({name})")]
                held, is_whole, is_doubtful = _rows_of(db, name, columns)
                rows[name] = (columns, held)
                whole |= {name} if is_whole else set()
                doubtful |= {name} if is_doubtful else set()
    except (sqlite3.Error, UnicodeDecodeError):
        # Not even its list of tables can be read.
        pass
    return _Salvaged(rows, frozenset(whole), frozenset(doubtful))


def _rows_of(
    db: sqlite3.Connection, table: str, columns: Sequence[str]
) -> tuple[list[tuple[Any, ...]], bool, bool]:
    """The rows of a table, whether they are all that it had, and whether its twin has others."""
    # Without an order SQLite may take the twin. From the end on where it breaks off from the beginning on.
    ways = (f"NOT INDEXED ORDER BY {key}" for key in _keys_of(db, table))
    own, is_own_whole = _rows_in(db, table, columns, ways)
    twin, is_twin_whole = _rows_in(db, table, columns, [f"INDEXED BY {table}_twin"])
    if is_own_whole is is_twin_whole is True:
        # What is known by another name in one of them is kept under both.
        return [*own, *twin], True, set(own) != set(twin)
    if is_own_whole or is_twin_whole:
        return own if is_own_whole else twin, True, False
    return [*own, *twin], False, False


def _keys_of(db: sqlite3.Connection, table: str) -> tuple[str, str]:
    """The order that the rows of a table stand in, and that from its end on."""
    keys = ["rowid"]
    try:
        db.execute(f"SELECT rowid FROM {table} LIMIT 0")
    except sqlite3.OperationalError:
        info = db.execute(f"PRAGMA table_info({table})").fetchall()
        keys = [row[1].decode() for row in sorted(info, key=lambda row: int(row[5])) if row[5]]
    return ", ".join(keys), ", ".join(f"{key} DESC" for key in keys)


def _rows_in(
    db: sqlite3.Connection, table: str, columns: Sequence[str], ways: Iterable[str]
) -> tuple[list[tuple[Any, ...]], bool]:
    """The rows that one of these ways gives to its end, or that all give; whether the first gave them all."""
    held: list[tuple[Any, ...]] = []
    of_json = [columns.index(name) for name in JSON_COLUMNS.get(table, ())]
    are_read = True
    for number, way in enumerate(ways):
        try:
            for row in db.execute(f"SELECT {', '.join(columns)} FROM {table} {way}"):
                read = _read(row, of_json)
                held += [read] if read else []
                are_read &= read is not None
        except sqlite3.Error:
            continue
        return held, are_read and not number
    return held, False


def _read(row: Sequence[Any], of_json: Sequence[int]) -> tuple[Any, ...] | None:
    """A row with its texts decoded; None where one cannot be, or is no JSON where it should."""
    try:
        values = tuple(value.decode() if isinstance(value, bytes) else value for value in row)
        for place in of_json:
            json.loads(values[place])
    except (ValueError, TypeError):
        return None
    return values


def _identity(directory: Path, found: _Salvaged, store: LanceStore) -> tuple[identity.Identity, str, bool]:
    """What the store is made of, who says so, and whether the side store tells of an earlier time only."""
    names = [name for name in store.database.table_names() if identity.TABLE.fullmatch(name)]
    newest = max((_number(name) for name in names), default=0)
    told, beside = identity.Identity.told(found.meta), identity.kept(directory)
    is_cut = told is not None and beside is not None and beside.generation > told.generation
    keys = [known.key for known in (told, beside) if known is not None]
    for known, whose in ((None if is_cut else told, "what could be read of it"), (beside, identity.NAME)):
        if known is not None and known.memories in names:
            key = _fitting(store, known.memories, keys) or known.key
            vectors = {name: table for name, table in known.vectors.items() if table in names}
            tables = max(known.tables, newest)
            return replace(known, key=key, vectors=vectors, tables=tables), whose, is_cut
    # The copy that an erase has not finished has no index yet.
    memories = (name for name in names if name.startswith("memories_"))
    best = max(memories, key=lambda name: (_is_indexed(store, name), _number(name)), default=None)
    key = (best and _fitting(store, best, keys)) or next(iter(keys), store.state.key.hex())
    return identity.Identity(key, best, tables=newest), "the tables themselves", is_cut


def _fitting(store: LanceStore, table: str, keys: Sequence[str]) -> str | None:
    """The one of the keys that the memories of a table were stored by."""
    try:
        return next((key for key in keys if identity.is_key_of(store.database.open(table), key)), None)
    except _UNREADABLE:
        return None


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _is_indexed(store: LanceStore, name: str) -> bool:
    try:
        return bool(store.database.open(name).indexes())
    except _UNREADABLE:
        return False


def _fill(side: Side, found: _Salvaged, who: identity.Identity) -> None:
    layout = side.layout()
    for name, (columns, rows) in found.rows.items():
        if name in layout and name not in ("meta", "sums"):
            # A column whose name is damaged stands where it stood.
            known = columns if set(columns) <= set(layout[name]) else layout[name]
            if len(known) == len(columns):
                side.restore(name, known, rows)
    meta = {name: value for name, value in found.meta.items() if _is_kept(name, value)}
    meta |= {"key": who.key, "tables": str(who.tables), "generation": str(who.generation)}
    side.restore("meta", ("key", "value"), meta.items())
    side.point_to(memories=who.memories, vectors=who.vectors, embedder=who.embedder)


def _is_kept(name: str, value: str) -> bool:
    """Whether a row of `meta` holds for the new file too, and can be read."""
    if name in _NUMBERS:
        return value.isdecimal()
    try:
        return name in _LISTS and bool(json.loads(value))
    except ValueError:
        return False
