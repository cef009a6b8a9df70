"""What a file held so far, on disk: it may have millions of records, and memory must not grow with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memcli.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

_CACHE_KIB = 8_192


class Seen:
    """Values that were met, as hashes of 64 bits in a private file that is gone with this process."""

    def __init__(self) -> None:
        self._db = scratch("CREATE TABLE seen (mark INTEGER PRIMARY KEY)")

    def has(self, value: Hashable) -> bool:
        """Whether this value was met before; from now on it was."""
        with translated():
            done = self._db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (hash(value),))
        return done.rowcount == 0

    def has_any(self, values: Iterable[Hashable]) -> bool:
        """Whether one of these values was met before."""
        with translated():
            return any(
                self._db.execute("SELECT 1 FROM seen WHERE mark = ?", (hash(value),)).fetchone()
                for value in values
            )

    def update(self, values: Iterable[Hashable]) -> None:
        """All of these values were met."""
        with translated():
            self._db.executemany(
                "INSERT OR IGNORE INTO seen VALUES (?)", [(hash(value),) for value in values]
            )


def scratch(schema: str) -> sqlite3.Connection:
    """A database without a name: SQLite writes to a file of its own only what its cache has no room for."""
    import sqlite3

    with translated():
        db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = OFF")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        db.execute(schema)
        # Never committed: nothing of it is to outlive the process.
        db.execute("BEGIN")
    return db


@contextmanager
def translated() -> Iterator[None]:
    """Turn what SQLite says of such a database into StoreError."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(
            f"there is no room for what an import has to remember ({error})",
            "free some space, or name another directory for temporary files: TMPDIR",
        ) from error
