"""Working memory in the side store: the state of a script's task, its steps, and the way back to one.

A task's versions form a tree: each has a parent, and its state is the nearest value of each key on the
way up. Version 0 is the beginning, before any value. The newest version takes what is set; a step closes
it and begins the next; going back gives it another parent. So a value is (task, key, version, value) and a
version (task, version, parent): another branch to go on from is a row more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from memcli.types import Millis, Step, Task

# A parent has the smaller number; one of a damaged file that has not would lead around for ever.
_UP = (
    "WITH RECURSIVE up (version, parent) AS ("
    "SELECT version, parent FROM task_versions WHERE task = :task AND version = :version "
    "UNION ALL SELECT v.version, v.parent FROM task_versions v JOIN up ON v.version = up.parent "
    "WHERE v.task = :task AND v.version < up.version) "
)


def start(db: sqlite3.Connection, name: str, *, at: Millis, expires_at: Millis | None) -> bool:
    """Begin a task; one that is there goes on, with the new expiry if there is one. Whether it is new."""
    if _is_there(db, name):
        if expires_at is not None:
            db.execute("UPDATE tasks SET expires_at = ? WHERE name = ?", (expires_at, name))
        return False
    db.execute("INSERT INTO tasks VALUES (?, ?, ?)", (name, at, expires_at))
    db.execute("INSERT INTO task_versions VALUES (?, 1, 0, NULL, NULL)", (name,))
    return True


def put(db: sqlite3.Connection, name: str, key: str, value: str) -> None:
    """Set a value of a task that is there."""
    sql = "INSERT OR REPLACE INTO task_values VALUES (?, ?, ?, ?)"
    db.execute(sql, (name, key, _newest(db, name)[0], value))


def step(db: sqlite3.Connection, name: str, *, label: str | None, at: Millis) -> None:
    """Close the newest version and begin the next."""
    version, _ = _newest(db, name)
    sql = "UPDATE task_versions SET label = ?, at = ? WHERE task = ? AND version = ?"
    db.execute(sql, (label, at, name, version))
    db.execute("INSERT INTO task_versions VALUES (?, ?, ?, NULL, NULL)", (name, version + 1, version))


def back(db: sqlite3.Connection, name: str, version: int) -> None:
    """Drop what was set since the last step, and go on from the step of this number; 0 is the beginning."""
    newest, _ = _newest(db, name)
    db.execute("DELETE FROM task_values WHERE task = ? AND version = ?", (name, newest))
    sql = "UPDATE task_versions SET parent = ? WHERE task = ? AND version = ?"
    db.execute(sql, (version, name, newest))


def task(db: sqlite3.Connection, name: str, *, now: Millis) -> Task | None:
    """A task with its state and its steps; None when there is none, or it has expired."""
    sql = "SELECT started_at, expires_at FROM tasks WHERE name = ? AND (expires_at IS NULL OR expires_at > ?)"
    row = db.execute(sql, (name, now)).fetchone()
    if row is None:
        return None
    newest, parent = _newest(db, name)
    steps = db.execute(
        "SELECT version, parent, label, at FROM task_versions WHERE task = ? AND at IS NOT NULL "
        "ORDER BY version",
        (name,),
    )
    is_changed = db.execute(
        "SELECT 1 FROM task_values WHERE task = ? AND version = ? LIMIT 1", (name, newest)
    ).fetchone()
    return Task(
        name,
        started_at=row[0],
        expires_at=row[1],
        step=parent,
        values=_state(db, name, newest),
        steps=tuple(Step(*values) for values in steps),
        is_changed=is_changed is not None,
    )


def names(db: sqlite3.Connection, *, now: Millis) -> list[str]:
    """The tasks that have not expired, the one begun first first."""
    sql = "SELECT name FROM tasks WHERE expires_at IS NULL OR expires_at > ? ORDER BY started_at, name"
    return [name for (name,) in db.execute(sql, (now,))]


def drop(db: sqlite3.Connection, names: Sequence[str]) -> None:
    """Take tasks out, with all they hold."""
    for name in names:
        db.execute("DELETE FROM task_values WHERE task = ?", (name,))
        db.execute("DELETE FROM task_versions WHERE task = ?", (name,))
        db.execute("DELETE FROM tasks WHERE name = ?", (name,))


def expired(db: sqlite3.Connection, *, now: Millis) -> list[str]:
    """The tasks whose time is over."""
    return [name for (name,) in db.execute("SELECT name FROM tasks WHERE expires_at <= ?", (now,))]


def _is_there(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM tasks WHERE name = ?", (name,)).fetchone() is not None


def _newest(db: sqlite3.Connection, name: str) -> tuple[int, int]:
    """The version that takes what is set, and its parent."""
    sql = "SELECT version, parent FROM task_versions WHERE task = ? ORDER BY version DESC LIMIT 1"
    version, parent = db.execute(sql, (name,)).fetchone()
    return int(version), int(parent)


def _state(db: sqlite3.Connection, name: str, version: int) -> dict[str, str | None]:
    """Key → its nearest value on the way up; None where that was forgotten."""
    rows = db.execute(
        # Of a group SQLite gives the row that has the maximum; parents have the smaller numbers.
        f"{_UP} SELECT key, value, max(version) FROM task_values JOIN up USING (version) "
        "WHERE task = :task GROUP BY key ORDER BY key",
        {"task": name, "version": version},
    )
    return {key: value for key, value, _ in rows}


# --- erasing --------------------------------------------------------------------------------------


def erase_values(db: sqlite3.Connection, is_told: Callable[[str], bool]) -> None:
    """Take out every value, in every version, that holds what is to be erased.

    The key stays without a value: an older one must not come forth in its place.
    """
    values = db.execute("SELECT rowid, value FROM task_values WHERE value IS NOT NULL")
    told = [(row,) for row, value in values if is_told(value)]
    db.executemany("UPDATE task_values SET value = NULL WHERE rowid = ?", told)


def told(db: sqlite3.Connection) -> list[str]:
    """All the words that tasks hold."""
    values = [value for (value,) in db.execute("SELECT value FROM task_values WHERE value IS NOT NULL")]
    labels = db.execute(
        "SELECT name FROM tasks UNION SELECT key FROM task_values "
        "UNION SELECT label FROM task_versions WHERE label IS NOT NULL"
    )
    return values + [label for (label,) in labels]
