"""What a file held so far, on disk: it may have millions of records, and memory must not grow with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memcli.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

_CACHE_KIB = 8_192
_AT_HAND = 100_000
"""So many values stay in memory (8 MB): most files hold no more, and need no database."""


class Seen:
    """Values that were met, as hashes of 64 bits; what is too much for memory in a private file."""

    def __init__(self) -> None:
        self._at_hand: set[int] = set()
        self._db: sqlite3.Connection | None = None

    def has(self, value: Hashable) -> bool:
        """Whether this value was met before; from now on it was."""
        return not self.are_new([value])

    def are_new(self, values: Iterable[Hashable]) -> bool:
        """Whether none of these values was met before; then from now on all of them were."""
        marks = list(map(hash, values))
        if self._has_any(marks):
            return False
        self._at_hand.update(marks)
        if len(self._at_hand) > _AT_HAND:
            self._put_by()
        return True

    def has_any(self, values: Iterable[Hashable]) -> bool:
        """Whether one of these values was met before."""
        return self._has_any(list(map(hash, values)))

    def _has_any(self, marks: Sequence[int]) -> bool:
        if not self._at_hand.isdisjoint(marks):
            return True
        return self._db is not None and any(map(self._is_put_by, marks))

    def _is_put_by(self, mark: int) -> bool:
        assert self._db is not None
        with translated():
            return self._db.execute("SELECT 1 FROM seen WHERE mark = ?", (mark,)).fetchone() is not None

    def _put_by(self) -> None:
        if self._db is None:
            self._db = scratch("CREATE TABLE seen (mark INTEGER PRIMARY KEY)")
        with translated():
            # In their order the pages of the table are each written to once.
            self._db.executemany(
                "INSERT OR IGNORE INTO seen VALUES (?)", ((mark,) for mark in sorted(self._at_hand))
            )
        self._at_hand.clear()


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
