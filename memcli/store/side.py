"""The side store: what is transactional and small, in SQLite.

Here are the connection, the schema with its migrations, what the store is, and erasing; the statements of
chats, tasks, the learning queue and events are in the modules beside it. It says which Lance tables are
the store (so that replacing them is one commit), which memories are being erased (hidden from every reader
from that moment), and keeps tombstones, journal and events. Journal rows hold texts, for undo;
`secure_delete` and the checkpoint after an erase leave no byte of them.
"""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from memcli.errors import DamagedError, DiskFullError, StoreError
from memcli.store import events, journal, queue, talks, tasks
from memcli.store.seal import MEND, Seal, Sum
from memcli.types import Millis

# Append only: a store of version N is brought up by the scripts from N on. What changes the columns of
# the Lance tables adds `INSERT INTO meta VALUES ('rebuild', '1')`: the next writer copies them anew.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE tombstones (origin TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE erasing (id TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE files (digest TEXT PRIMARY KEY, place TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE reads (file TEXT PRIMARY KEY, mark TEXT NOT NULL, size INTEGER, counts TEXT) WITHOUT ROWID;
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY, entry INTEGER NOT NULL, at INTEGER NOT NULL,
        command TEXT NOT NULL, action TEXT NOT NULL, id TEXT NOT NULL, before TEXT
    );
    CREATE INDEX journal_id ON journal (id);
    CREATE INDEX journal_entry ON journal (entry);
    CREATE TABLE recalled (id TEXT PRIMARY KEY, count INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL,
        hits INTEGER NOT NULL, took_ms INTEGER NOT NULL, tokens INTEGER NOT NULL
    );
    """,
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, project TEXT, model TEXT, started_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE turns (
        seq INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL,
        position INTEGER NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL,
        state TEXT NOT NULL, model TEXT, kept INTEGER NOT NULL, UNIQUE (session_id, position)
    );
    CREATE INDEX turns_waiting ON turns (seq) WHERE NOT kept;
    CREATE TABLE tasks (name TEXT PRIMARY KEY, started_at INTEGER NOT NULL, expires_at INTEGER) WITHOUT ROWID;
    CREATE TABLE task_versions (
        task TEXT NOT NULL, version INTEGER NOT NULL, parent INTEGER NOT NULL, label TEXT, at INTEGER,
        PRIMARY KEY (task, version)
    ) WITHOUT ROWID;
    CREATE TABLE task_values (
        task TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, value TEXT,
        PRIMARY KEY (task, key, version)
    );
    CREATE TABLE queue (
        memory_id TEXT PRIMARY KEY, at INTEGER NOT NULL, tries INTEGER NOT NULL, due_at INTEGER
    );
    CREATE TABLE review (
        id TEXT PRIMARY KEY, at INTEGER NOT NULL, candidate TEXT NOT NULL, conflicts_with TEXT,
        evidence TEXT NOT NULL, why TEXT NOT NULL
    );
    ALTER TABLE events ADD COLUMN arm TEXT;
    ALTER TABLE events ADD COLUMN turn TEXT;
    """,
    # A column more: what tells a message or a file that is told again elsewhere.
    "INSERT OR IGNORE INTO meta SELECT 'rebuild', '1' FROM meta WHERE key = 'memories'",
    """
    CREATE TABLE unseen (id TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE telling (id TEXT PRIMARY KEY) WITHOUT ROWID;
    INSERT INTO unseen SELECT '' FROM meta WHERE key = 'memories';
    ALTER TABLE queue ADD COLUMN is_read INTEGER NOT NULL DEFAULT 0
    """,
    # The journal by command: of what was added the ids alone, one after the other and without an index of
    # them, whose pages an import would write anew with each batch.
    """
    ALTER TABLE journal RENAME TO steps;
    CREATE TABLE journal (
        entry INTEGER PRIMARY KEY, place INTEGER NOT NULL, at INTEGER NOT NULL, command TEXT NOT NULL,
        bytes INTEGER NOT NULL
    );
    CREATE TABLE journal_added (entry INTEGER NOT NULL, id TEXT NOT NULL);
    CREATE INDEX journal_added_entry ON journal_added (entry);
    CREATE TABLE journal_changed (
        seq INTEGER PRIMARY KEY, entry INTEGER NOT NULL, action TEXT NOT NULL, id TEXT NOT NULL,
        before TEXT NOT NULL
    );
    CREATE INDEX journal_changed_entry ON journal_changed (entry);
    INSERT INTO journal SELECT entry, entry, min(at), command, sum(coalesce(length(before), 0))
        FROM steps GROUP BY entry;
    INSERT INTO journal_added SELECT DISTINCT entry, id FROM steps WHERE action = 'add';
    INSERT INTO journal_changed SELECT seq, entry, action, id, before FROM steps WHERE before IS NOT NULL;
    DROP TABLE steps;
    CREATE TABLE backups (path TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID
    """,
    # What is indexed is folded: traditional characters, lone letters and digits.
    "INSERT OR IGNORE INTO meta SELECT 'rebuild', '1' FROM meta WHERE key = 'memories'",
    "CREATE TABLE sums (file TEXT PRIMARY KEY, size INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID",
    # SQLite keeps no sums, but it compares a table with its indexes: so each row of what nothing else tells
    # stands in one as a whole.
    """
    CREATE INDEX meta_twin ON meta (value);
    CREATE INDEX tombstones_twin ON tombstones (at);
    CREATE INDEX files_twin ON files (place);
    CREATE INDEX reads_twin ON reads (mark, size, counts);
    CREATE INDEX backups_twin ON backups (at);
    CREATE INDEX sums_twin ON sums (size, crc);
    CREATE INDEX sessions_twin ON sessions (project, model, started_at);
    CREATE INDEX turns_twin ON turns (memory_id, session_id, position, role, text, at, state, model, kept);
    CREATE INDEX tasks_twin ON tasks (started_at, expires_at);
    CREATE INDEX task_versions_twin ON task_versions (parent, label, at);
    CREATE INDEX task_values_twin ON task_values (task, key, version, value);
    CREATE INDEX review_twin ON review (id, at, candidate, conflicts_with, evidence, why);
    CREATE INDEX journal_twin ON journal (place, at, command, bytes);
    CREATE INDEX journal_changed_twin ON journal_changed (entry, action, id, before)
    """,
)
SCHEMA_VERSION = len(MIGRATIONS)
KEY_BYTES = 32
"""Of the key of a store's hashes."""
JSON_COLUMNS: Mapping[str, Sequence[str]] = {
    "journal_changed": ("before",),
    "review": ("candidate", "evidence"),
    "reads": ("counts",),
}
"""The columns that hold JSON, by table."""

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
# What is kept besides the memories and what keeps them away.
_OF_THE_USER = (
    "turns",
    "sessions",
    "task_values",
    "task_versions",
    "tasks",
    "queue",
    "review",
    "events",
    "recalled",
    "journal",
    "journal_added",
    "journal_changed",
    "unseen",
    "telling",
)
_WITH_WORDS = ("turns", "tasks", "review")
# With so little room, SQLite calls it an I/O error that its log has none.
_SCANT_BYTES = 200_000
# What is laid beside a file is named after it and this.
ASIDE = ".aside-"
# The key of the hashes, and what the store is made of.
_OF_THE_STORE = ("meta", "sums")
# Variables in one SQL statement; SQLite's own limit is higher on every build since 3.32.
_AT_ONCE = 900


@dataclass(frozen=True, slots=True)
class State:
    """What a reader has to know: which tables are the store now, and what not to show."""

    generation: int = 0
    key: bytes = b""
    """The key of this store's hashes (ids, origins)."""
    memories: str | None = None
    """The table of memories; None before the first one is stored."""
    vectors: Mapping[str, str] = field(default_factory=dict)
    """The vector table of each embedder that the store has vectors of."""
    embedder: str | None = None
    """The embedder that questions are asked with."""
    tables: int = 0
    """How many tables were ever begun: the number in the name of the newest."""
    erasing: frozenset[str] = frozenset()
    rebuild: bool = False
    applying: int | None = None
    """The entry of the journal that is being carried out."""
    undoing: tuple[int, ...] = ()
    """The entries that are being taken back."""
    seals: Mapping[str, Seal] = field(default_factory=dict)
    """The newest version of each table, as it was written."""
    is_dropping: bool = False
    """Whether files that are no longer used have been dropped since the last seal, or are about to be."""


@dataclass(frozen=True, slots=True)
class Read:
    """What the first `size` bytes of a file gave; `mark` tells them and how they were read."""

    file: str
    mark: str
    size: int
    counts: Mapping[str, Any]


def _to_read(row: Sequence[Any]) -> Read:
    file, mark, size, counts = row
    return Read(file, mark, size, json.loads(counts))


class Side:
    """One open side store.

    What hangs together with the tables is written under the writers' lock; chats, tasks and events need none.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self._is_copy = False
        # Opening is enough to change a file: the log is begun, or written back.
        refuse_newer(path)
        with self._translated():
            self._db = _connect(path, writable=writable)
            version = self._version()
            _refuse_newer(version)
            if version < SCHEMA_VERSION:
                if not writable:
                    # Older, or just being made by a writer: read as what the next writer will make of it.
                    self._db = _copied_to_memory(self._db)
                    self._is_copy = True
                self._migrate()

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def catch_up(self) -> None:
        """Look at the file again where a copy of it was read: a writer may have brought it up to date."""
        if self._is_copy:
            now = Side(self.path, writable=False)
            self._db, now._db = now._db, self._db
            self._is_copy = now._is_copy
            now.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # What SQLite says of damage may quote it.
            raise _translation(self.path, error) from error

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing."""
        with self._translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """The file as it is at one moment, for reading. Raises DamagedError for what was not written so."""
        with self._translated():
            self._db.execute("BEGIN")
            try:
                yield self._db
            except (TypeError, ValueError, LookupError) as error:
                # A bit of a row that flipped: nothing where there has to be something, no JSON, no number.
                raise DamagedError(f"{self.path} is damaged ({error})", MEND) from error
            finally:
                self._db.execute("ROLLBACK")

    def _migrate(self) -> None:
        """Bring the file up to date in one commit; its old self is laid beside it until the next forget."""
        # executescript would commit first.
        with self.change() as db:
            # Another process may have migrated while this one waited.
            version = self._version()
            if version and not self._is_copy and version < SCHEMA_VERSION:
                copy_beside(self.path, f"schema-{version}")
            for statement in ";".join(MIGRATIONS[version:]).split(";"):
                if statement.strip():
                    db.execute(statement)
            # In the same commit: a process that finds the schema made has to find the key too.
            db.execute("INSERT OR IGNORE INTO meta VALUES ('key', ?)", (secrets.token_hex(KEY_BYTES),))
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    # --- state ------------------------------------------------------------------------------------

    def state(self) -> State:
        """What the store is at this moment, read in one snapshot."""
        with self.snapshot() as db:
            meta = dict(db.execute("SELECT key, value FROM meta"))
            erasing = frozenset(row[0] for row in db.execute("SELECT id FROM erasing"))
        try:
            return _state(meta, erasing)
        except (ValueError, TypeError, AttributeError) as error:
            raise DamagedError(f"{self.path} is damaged ({error})", MEND) from error

    def generation(self) -> int:
        """A number that grows with every change of tables and every erase."""
        with self._translated():
            row = self._db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
        return int(row[0]) if row else 0

    def point_to(
        self, *, memories: str | None, vectors: Mapping[str, str], embedder: str | None, rebuilt: bool = False
    ) -> None:
        """Make these tables the store, in one commit."""
        with self.change() as db:
            values = {"memories": memories, "vectors": json.dumps(dict(vectors)), "embedder": embedder}
            for key, value in values.items():
                if value is None:
                    db.execute("DELETE FROM meta WHERE key = ?", (key,))
                else:
                    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
            if rebuilt:
                db.execute("DELETE FROM meta WHERE key = 'rebuild'")
            _bump(db, "generation")

    def background(self, embedder: str) -> str | None:
        """What an embedder makes of sentences that say nothing, as it was noted; None if it was not."""
        with self._translated():
            row = self._db.execute("SELECT value FROM meta WHERE key = 'background'").fetchone()
        told: Mapping[str, str] = json.loads(row[0]) if row else {}
        return told.get(embedder)

    def note_background(self, embedder: str, vectors: str) -> None:
        """Note it, in place of what the embedder before made of them."""
        with self.change() as db:
            told = json.dumps({embedder: vectors})
            db.execute("INSERT OR REPLACE INTO meta VALUES ('background', ?)", (told,))

    def note_change(self) -> None:
        """Texts have changed: who has read them before begins anew."""
        with self.change() as db:
            _bump(db, "generation")

    def next_number(self) -> int:
        """A number never given before, for the name of a table."""
        with self.change() as db:
            return _bump(db, "tables")

    def count_commits(self, commits: int) -> int:
        """Add to the commits since the last compaction, and return them."""
        with self.change() as db:
            return _bump(db, "commits", by=commits)

    def commits(self) -> int:
        """How many commits there were since the last compaction."""
        with self._translated():
            row = self._db.execute("SELECT value FROM meta WHERE key = 'commits'").fetchone()
        return int(row[0]) if row else 0

    def reset_commits(self) -> None:
        """Begin to count again: the store is compact."""
        with self.change() as db:
            db.execute("DELETE FROM meta WHERE key = 'commits'")

    # --- seals ------------------------------------------------------------------------------------

    def sums(self) -> dict[str, Sum]:
        """The size and the CRC-32 of each file of the tables, as it was written."""
        with self._translated():
            return {file: (size, crc) for file, size, crc in self._db.execute("SELECT * FROM sums")}

    def begin_drop(self) -> None:
        """From here on until the next seal, files that are no longer used may go."""
        with self.change() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('dropping', '1')")

    def seal(self, seals: Mapping[str, Seal], *, new: Mapping[str, Sum], gone: Iterable[str]) -> None:
        """Note what was written and what was dropped, and which versions of the tables are the newest."""
        with self.change() as db:
            db.executemany("DELETE FROM sums WHERE file = ?", [(file,) for file in gone])
            rows = [(file, *known) for file, known in new.items()]
            db.executemany("INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", rows)
            told = {name: (seal.version, seal.size, seal.crc) for name, seal in seals.items()}
            db.execute("INSERT OR REPLACE INTO meta VALUES ('seals', ?)", (json.dumps(told),))
            db.execute("DELETE FROM meta WHERE key = 'dropping'")

    # --- erasing ----------------------------------------------------------------------------------

    def begin_erase(
        self,
        ids: Sequence[str],
        *,
        origins: Iterable[str],
        at: Millis,
        is_told: Callable[[str], bool] | None = None,
        learned_from: Sequence[str] = (),
        everything: bool = False,
        also: Callable[[sqlite3.Connection], object] = journal.nothing,
    ) -> None:
        """From here on no reader shows `ids`, and no import brings back `origins`.

        Args:
            ids: the memories.
            origins: their keyed hashes.
            at: the clock.
            is_told: whether a text, the value of a task, holds what they say: such a value goes too.
            learned_from: the memories that they were learned from: nothing more is learned from these.
            everything: nothing of the user stays, no session, task or event.
            also: what is done in the same commit.
        """
        with self.change() as db:
            also(db)
            db.executemany("INSERT OR IGNORE INTO erasing VALUES (?)", [(id_,) for id_ in ids])
            _delete_noted(db, ids)
            queue.done(db, learned_from)
            for table in _OF_THE_USER if everything else ():
                db.execute(f"DELETE FROM {table}")
            if is_told is not None:
                tasks.erase_values(db, is_told)
            db.executemany(
                "INSERT OR REPLACE INTO tombstones VALUES (?, ?)", [(origin, at) for origin in origins]
            )
            # What a file holds is no longer what is kept of it.
            db.execute("DELETE FROM reads")
            _bump(db, "generation")

    def finish_erase(self, ids: Sequence[str]) -> None:
        """Purge what the side store holds of `ids`, from its free pages and its log too.

        Raises StoreError when another program reads for so long that the log cannot be emptied: the
        ids stay marked, and the next writer begins again.
        """
        with self.change() as db:
            _delete_ids(db, ("recalled", "unseen", "telling"), ids)
            journal.erase(db, ids)
            # Again: something may have been noted of them since the erase began.
            _delete_noted(db, ids)
        self.empty_log()
        drop_copies(self.path)
        # Only now: stopped before this, the next writer empties the log again.
        with self.change() as db:
            _delete_ids(db, ("erasing",), ids)
            _bump(db, "generation")
        self.empty_log()

    def empty_log(self) -> None:
        """Leave no byte of what was deleted: SQLite's log holds pages as they were. Raises StoreError."""
        # TRUNCATE writes the log back and empties it.
        with self._translated():
            is_busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if is_busy:
            raise StoreError(
                f"what was forgotten is hidden but still on disk: another program is reading {self.path}",
                "end that program and run the command again",
            )

    def told_besides(self, ids: Sequence[str]) -> list[str]:
        """The words of chats and tasks, without the turns that became these memories."""
        with self.snapshot() as db:
            return [*talks.told_elsewhere(db, ids), *tasks.told(db)]

    def holds_words(self) -> bool:
        """Whether anything is kept here that somebody said or wrote."""
        with self.snapshot() as db:
            return any(db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in _WITH_WORDS)

    def rows(self) -> Iterator[str]:
        """What each row of each table says, as it is and with JSON decoded."""
        with self.snapshot() as db:
            for (table,) in db.execute(_TABLES).fetchall():
                for row in db.execute(f"SELECT * FROM {table}"):
                    texts = [value for value in row if isinstance(value, str)]
                    yield "\n".join(chain(texts, *map(_in_json, texts)))

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Every row of every table, without the key of the hashes and what the store is made of."""
        with self.snapshot() as db:
            held = {}
            for (table,) in db.execute(_TABLES).fetchall():
                if table not in _OF_THE_STORE:
                    rows = db.execute(f"SELECT * FROM {table}")
                    columns = [column[0] for column in rows.description]
                    held[table] = [dict(zip(columns, row, strict=True)) for row in rows]
        return held

    def buried(self, origins: Sequence[str]) -> set[str]:
        """Which of these origins have a tombstone."""
        # Most stores have none, and an import asks for each message.
        if not self.tombstones():
            return set()
        return self._known("SELECT origin FROM tombstones WHERE origin IN ({})", origins)

    def tombstones(self) -> int:
        """How many origins are kept out."""
        with self._translated():
            return int(self._db.execute("SELECT count(*) FROM tombstones").fetchone()[0])

    def all_buried(self) -> set[str]:
        """Every origin that has a tombstone."""
        with self._translated():
            return {row[0] for row in self._db.execute("SELECT origin FROM tombstones")}

    # --- backups ----------------------------------------------------------------------------------

    def note_backup(self, path: str, *, at: Millis) -> None:
        """Remember where a backup is: it may hold what is forgotten later."""
        with self.change() as db:
            db.execute("INSERT OR REPLACE INTO backups VALUES (?, ?)", (path, at))

    def drop_backups(self, paths: Sequence[str]) -> None:
        """These are no more."""
        with self.change() as db:
            db.executemany("DELETE FROM backups WHERE path = ?", [(path,) for path in paths])

    def backups(self) -> list[tuple[str, Millis]]:
        """Where backups were written, and when, the last one first."""
        with self._translated():
            return self._db.execute("SELECT path, at FROM backups ORDER BY at DESC, path").fetchall()

    def copy_to(self, path: Path) -> None:
        """Write all of it into a file of its own, as it is at one moment."""
        path.touch(mode=0o600)
        with self._translated(), closing(sqlite3.connect(path, isolation_level=None)) as copy:
            self._db.backup(copy)
            # One file, without a log beside it.
            copy.execute("PRAGMA journal_mode = DELETE")

    def take_over(
        self, path: Path, *, memories: str | None, vectors: Mapping[str, str], keeps_tombstones: bool
    ) -> None:
        """Be what another side store is, in one commit, with these tables. The writers' lock is held.

        Args:
            path: the other one, of the same schema.
            memories: the table of memories.
            vectors: the tables of vectors, by embedder.
            keeps_tombstones: those of the other one are added to ours.
        """
        with self._translated():
            self._db.execute("ATTACH ? AS other", (str(path),))
        try:
            with self.change() as db:
                for (table,) in db.execute(_TABLES).fetchall():
                    if table not in ("meta", "backups", *(("tombstones",) if keeps_tombstones else ())):
                        db.execute(f"DELETE FROM {table}")
                    # The files of the tables have other names here, and are sealed anew.
                    if table not in _OF_THE_STORE:
                        db.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table}")
                _take_over_meta(db, memories=memories, vectors=vectors)
        finally:
            with self._translated():
                self._db.execute("DETACH other")

    # --- files that have been imported ------------------------------------------------------------

    def place_of_file(self, digest: str) -> str | None:
        """The conversation that a file of this content was imported as."""
        with self._translated():
            row = self._db.execute("SELECT place FROM files WHERE digest = ?", (digest,)).fetchone()
        return row[0] if row else None

    def is_place(self, place: str) -> bool:
        """Whether a file was imported as this conversation."""
        with self._translated():
            return self._db.execute("SELECT 1 FROM files WHERE place = ?", (place,)).fetchone() is not None

    def note_file(self, digest: str, place: str) -> None:
        """Remember what a file was imported as, so that a moved copy is known again."""
        with self.change() as db:
            db.execute("INSERT OR IGNORE INTO files VALUES (?, ?)", (digest, place))

    def read_of(self, file: str) -> Read | None:
        """How far a file was read last, and what that gave."""
        with self._translated():
            row = self._db.execute("SELECT * FROM reads WHERE file = ?", (file,)).fetchone()
        return _to_read(row) if row else None

    def reads_of_size(self, size: int) -> list[Read]:
        """What is remembered of the files of which so many bytes were read."""
        with self._translated():
            rows = self._db.execute("SELECT * FROM reads WHERE size = ?", (size,)).fetchall()
        return [_to_read(row) for row in rows]

    def note_reads(self, reads: Iterable[Read]) -> None:
        """Remember how far files were read, until something is forgotten: counts, never words."""
        rows = [(read.file, read.mark, read.size, json.dumps(read.counts)) for read in reads]
        with self.change() as db:
            db.executemany("INSERT OR REPLACE INTO reads VALUES (?, ?, ?, ?)", rows)

    def drop_read(self, file: str) -> None:
        """A file is about to be read anew: what an older reading gave says nothing of it any more."""
        with self.change() as db:
            db.execute("DELETE FROM reads WHERE file = ?", (file,))

    # --- updates: which memories tell one, and which were not looked at yet ------------------------

    def note_unseen(self, ids: Iterable[str]) -> None:
        """These are about to be stored and have to be looked at for what they replace."""
        with self.change() as db:
            db.executemany("INSERT OR IGNORE INTO unseen VALUES (?)", [(id_,) for id_ in ids])

    def unseen(self, limit: int) -> list[str]:
        """Some of what was not looked at yet; "" stands for every memory of an older store."""
        with self._translated():
            return [row[0] for row in self._db.execute("SELECT id FROM unseen LIMIT ?", (limit,))]

    def count_unseen(self) -> int:
        """How many memories were not looked at yet."""
        with self._translated():
            return int(self._db.execute("SELECT count(*) FROM unseen").fetchone()[0])

    def note_seen(self, ids: Iterable[str], *, telling: Iterable[str]) -> None:
        """These have been looked at, and `telling` ones among them tell something."""
        with self.change() as db:
            db.executemany("DELETE FROM unseen WHERE id = ?", [(id_,) for id_ in ids])
            db.executemany("INSERT OR IGNORE INTO telling VALUES (?)", [(id_,) for id_ in telling])

    def tells_anything(self) -> bool:
        """Whether any memory that was looked at tells something."""
        with self._translated():
            return self._db.execute("SELECT 1 FROM telling LIMIT 1").fetchone() is not None

    def telling(self) -> set[str]:
        """The memories that tell something of what holds now: what a person has, likes, plans."""
        with self._translated():
            return {row[0] for row in self._db.execute("SELECT id FROM telling")}

    # --- journal ----------------------------------------------------------------------------------

    def note_steps(
        self,
        command: str,
        steps: Sequence[journal.Step],
        *,
        at: Millis,
        entry: int | None = None,
        beside: journal.Beside = journal.nothing,
    ) -> int | None:
        """Keep what a command is about to do to memories, and do what it does beside them in the same commit.

        Until `is_applied` the next writer looks which of the steps are in the store.

        Args:
            command: its name.
            steps: what it does to memories.
            at: the clock.
            entry: the entry of an earlier part of the same command.
            beside: what it does to anything else.

        Returns:
            The entry; None where nothing was done.
        """
        with self.change() as db:
            told = [*steps, *beside(db)]
            if not told:
                return None
            if entry is None:
                entry = _bump(db, "entries")
            journal.note(db, entry, command, told, place=_bump(db, "places"), at=at)
            if steps:
                db.execute("INSERT OR REPLACE INTO meta VALUES ('applying', ?)", (str(entry),))
        return entry

    def newest_entry(self) -> int:
        """The entry that was made last, by any process."""
        with self._translated():
            row = self._db.execute("SELECT value FROM meta WHERE key = 'entries'").fetchone()
        return int(row[0]) if row else 0

    def is_applied(self) -> int:
        """What was journaled is in the store: one commit more, of how many since the last compaction."""
        with self.change() as db:
            db.execute("DELETE FROM meta WHERE key = 'applying'")
            return _bump(db, "commits")

    def begin_undo(self, entries: Sequence[int]) -> None:
        """From here on the next writer takes these entries back, if this process does not."""
        with self.change() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('undoing', ?)", (json.dumps(list(entries)),))

    def journalled(self) -> set[str]:
        """The memories that the journal has seen stored."""
        with self._translated():
            return {id_ for (id_,) in self._db.execute("SELECT id FROM journal_added")}

    # --- checking ---------------------------------------------------------------------------------

    def restore(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Have of a table what a damaged side store still gives; what cannot be a row of it is left out."""
        marks = ",".join("?" * len(columns))
        sql = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        with self.change() as db:
            db.execute(f"DELETE FROM {table}")
            db.executemany(sql, rows)

    def layout(self) -> dict[str, list[str]]:
        """The columns of each table."""
        with self._translated():
            return {name: [row[1] for row in rows] for name, rows in _described(self._db).items()}

    def check(self) -> str | None:
        """What is wrong with the file; None when all is well. Raises DamagedError for what cannot be read."""
        with self._translated():
            found = str(self._db.execute("PRAGMA integrity_check(1)").fetchone()[0])
            if found != "ok":
                return found
            if _described(self._db) != _described_new():
                return "its tables are not those that were made"
            for table, columns in JSON_COLUMNS.items():
                wrong = " OR ".join(f"NOT json_valid({column})" for column in columns)
                if self._db.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
                    return f"a row of {table} cannot be read"
            for (table,) in self._db.execute(_TABLES).fetchall():
                # Only when it is read, a text is found to be none.
                for _ in self._db.execute(f"SELECT * FROM {table}"):
                    pass
        return None

    def _known(self, sql: str, values: Sequence[str]) -> set[str]:
        found: set[str] = set()
        with self._translated():
            for part in _parts(values):
                found.update(row[0] for row in self._db.execute(sql.format(",".join("?" * len(part))), part))
        return found


def _state(meta: Mapping[str, str], erasing: frozenset[str]) -> State:
    """What the rows say of the store. Raises ValueError, TypeError, AttributeError for what is damaged."""
    key = bytes.fromhex(meta.get("key", ""))
    if len(key) not in (0, KEY_BYTES):
        raise ValueError("the key of its hashes is cut short")
    return State(
        generation=int(meta.get("generation", 0)),
        key=key,
        memories=meta.get("memories"),
        vectors=dict(json.loads(meta.get("vectors", "{}"))),
        embedder=meta.get("embedder"),
        tables=int(meta.get("tables", 0)),
        erasing=erasing,
        rebuild="rebuild" in meta,
        applying=int(meta["applying"]) if "applying" in meta else None,
        undoing=tuple(map(int, json.loads(meta.get("undoing", "[]")))),
        seals={name: Seal(*seal) for name, seal in json.loads(meta.get("seals", "{}")).items()},
        is_dropping="dropping" in meta,
    )


def _described(db: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """What SQLite says of the columns of each table: place, name, type, …"""
    names = [table for (table,) in db.execute(_TABLES)]
    return {name: db.execute(f"PRAGMA table_info({name})").fetchall() for name in names}


def _described_new() -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(";".join(MIGRATIONS))
        return _described(db)


def _version_in(path: Path) -> int:
    """The schema that the head of the file names; 0 where there is none. What its log holds may be newer."""
    # Through SQLite and not with open(): closing a file of one's own drops the locks that this process
    # holds on it, and others would take the log away. Immutable: neither log nor lock is touched.
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            return int(db.execute("PRAGMA user_version").fetchone()[0])
    except (sqlite3.Error, UnicodeDecodeError):
        return 0


def refuse_newer(path: Path) -> None:
    """Raise StoreError for the file of a newer memcli, before anything of it is touched."""
    _refuse_newer(_version_in(path))


def _refuse_newer(version: int) -> None:
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"this store was written by a newer memcli (schema {version}, ours is {SCHEMA_VERSION})",
            "update memcli; nothing was touched",
        )


def copy_beside(path: Path, why: str) -> Path:
    """Lay the file as it is now beside itself, for its owner alone; returns where."""
    copy = path.with_name(f"{path.name}{ASIDE}{why}")
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as now,
        closing(sqlite3.connect(copy)) as db,
    ):
        now.backup(db)
    return copy


def drop_copies(path: Path) -> None:
    """Unlink what was laid beside the file: it may hold what is forgotten."""
    for copy in path.parent.glob(f"{path.name}{ASIDE}*"):
        copy.unlink()


def _take_over_meta(db: sqlite3.Connection, *, memories: str | None, vectors: Mapping[str, str]) -> None:
    # Ours go on counting: readers have to see the change, and no table gets the name of another.
    db.execute("DELETE FROM meta WHERE key NOT IN ('generation', 'tables')")
    db.execute("INSERT OR IGNORE INTO meta SELECT * FROM other.meta WHERE key NOT IN ('memories', 'seals')")
    db.execute("INSERT OR REPLACE INTO meta VALUES ('vectors', ?)", (json.dumps(dict(vectors)),))
    if memories is not None:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('memories', ?)", (memories,))
    _bump(db, "generation")


def _connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    if writable:
        try:
            # Its mode decides that of the log files beside it.
            path.touch(mode=0o600, exist_ok=True)
        except OSError as error:
            raise _unwritable(path) from error
        db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        return db
    db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5, isolation_level=None)
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        # On a read-only disk the log's shared memory cannot be made; nobody else can be writing either.
        db.close()
        db = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True, isolation_level=None)
    return db


def _copied_to_memory(db: sqlite3.Connection) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    db.backup(copy)
    db.close()
    return copy


def _delete_ids(db: sqlite3.Connection, tables: Sequence[str], ids: Sequence[str]) -> None:
    for part in _parts(ids):
        marks = ",".join("?" * len(part))
        for table in tables:
            db.execute(f"DELETE FROM {table} WHERE id IN ({marks})", part)


def _delete_noted(db: sqlite3.Connection, ids: Sequence[str]) -> None:
    for part in (talks, queue, events):
        part.erase(db, ids)


def _in_json(text: str) -> Iterator[str]:
    """The strings inside a JSON text; nothing where it is none."""
    try:
        waiting = [json.loads(text)] if text[:1] in ("{", "[") else []
    except ValueError:
        return
    while waiting:
        match waiting.pop():
            case str() as found:
                yield found
            case list() as several:
                waiting += several
            case dict() as mapping:
                waiting += [*mapping, *mapping.values()]


def _bump(db: sqlite3.Connection, name: str, *, by: int = 1) -> int:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (name,)).fetchone()
    value = (int(row[0]) if row else 0) + by
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, str(value)))
    return value


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


def _translation(path: Path, error: Exception) -> StoreError:
    told = str(error)
    if "full" in told or ("I/O" in told and shutil.disk_usage(path.parent).free < _SCANT_BYTES):
        return DiskFullError()
    if "I/O" in told:
        return StoreError(f"{path} cannot be read or written ({told})", "look at its disk, then try again")
    if "readonly" in told or "unable to open" in told:
        return _unwritable(path)
    if "locked" in told:
        return StoreError("the store is locked by another program", f"see which program holds {path}")
    return DamagedError(f"{path} is damaged ({told})", MEND)


def _unwritable(path: Path) -> StoreError:
    return StoreError(f"{path} cannot be opened for writing", "check the permissions of the data directory")
