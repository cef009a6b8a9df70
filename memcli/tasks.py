"""Working memory: the state of a script of many steps, each call on disk before it returns."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from memcli.errors import NothingMatchedError, UsageError
from memcli.redact import scrub
from memcli.store import tasks
from memcli.store.side import Side
from memcli.text import neutral
from memcli.times import to_iso
from memcli.types import Millis, Step, Task

_LABEL_CHARS = 200


class Stores(Protocol):
    """How the side store is opened."""

    def read_side(self) -> Side | None:
        """For reading; None when nothing was ever stored."""
        ...

    def write_side(self) -> AbstractContextManager[Side]:
        """For writing beside the tables."""
        ...


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one user."""

    stores: Stores
    clock: Callable[[], Millis]

    # --- reading ----------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of all tasks, the one begun first first."""
        side = self.stores.read_side()
        if side is None:
            return []
        with side.snapshot() as db:
            return tasks.names(db, now=self.clock())

    def all(self) -> list[Task]:
        """Every task, the one begun first first."""
        return [self.get(name) for name in self.names()]

    def get(self, name: str) -> Task:
        """One task. Raises NothingMatchedError when there is none, or its time is over."""
        side = self.stores.read_side()
        if side is not None:
            with side.snapshot() as db:
                task = tasks.task(db, name, now=self.clock())
            if task is not None:
                return task
        raise _unknown(name)

    def value(self, name: str, key: str) -> str:
        """One value. Raises NothingMatchedError when there is none."""
        return value_of(self.get(name), key)

    # --- writing ----------------------------------------------------------------------------------

    def start(self, name: str, *, expires_at: Millis | None = None) -> tuple[Task, bool]:
        """Begin a task, or go on with the one that is there, with the new expiry if there is one.

        Returns:
            The task, and whether it is new.
        """
        _check_label(name, "the name of a task")
        with self._changing() as db:
            is_new = tasks.start(db, name, at=self.clock(), expires_at=expires_at)
            return self._known(db, name), is_new

    def set(self, name: str, key: str, value: str) -> Mapping[str, int]:
        """Set a value, without its secrets; returns how many of each kind were taken out."""
        _check_label(key, "a key")
        said, redacted = scrub(value)
        with self._changing() as db:
            self._known(db, name)
            tasks.put(db, name, key, said)
        return redacted

    def step(self, name: str, label: str | None = None) -> Step:
        """Make a checkpoint of the whole state."""
        if label is not None:
            _check_label(label, "a label")
            if label.isdecimal():
                raise UsageError(f"a label cannot be a number like {label}", "the steps are numbered already")
        with self._changing() as db:
            self._known(db, name)
            tasks.step(db, name, label=label, at=self.clock())
            return self._known(db, name).steps[-1]

    def back(self, name: str, to: str | None = None) -> Task:
        """Drop what was set since the last step, and go on from a step: its number, or its label.

        0 is the beginning; None the last step. Of several steps with a label the newest is meant.

        Raises:
            NothingMatchedError: there is no such task or step.
        """
        with self._changing() as db:
            task = self._known(db, name)
            tasks.back(db, name, task.step if to is None else _number(task, to))
            return self._known(db, name)

    def drop(self, name: str) -> None:
        """Take a task out, from every byte on disk."""
        with self.stores.write_side() as side:
            with side.change() as db:
                self._known(db, name)
                tasks.drop(db, [name])
            side.empty_log()

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One change, on disk when this ends; what has expired goes first."""
        with self.stores.write_side() as side:
            with side.change() as db:
                expired = tasks.expired(db, now=self.clock())
                tasks.drop(db, expired)
            if expired:
                side.empty_log()
            with side.change() as db:
                yield db

    def _known(self, db: sqlite3.Connection, name: str) -> Task:
        task = tasks.task(db, name, now=self.clock())
        if task is None:
            raise _unknown(name)
        return task


def value_of(task: Task, key: str) -> str:
    """One value of a task. Raises NothingMatchedError when there is none."""
    value = task.values.get(key)
    if value is not None:
        return value
    if key in task.values:
        raise NothingMatchedError(
            f"the value of {key!r} was forgotten together with a memory", "set it again if it is needed"
        )
    known = ", ".join(task.values) or "none yet"
    raise NothingMatchedError(f"the task {task.name!r} has no key {key!r}", f"its keys: {known}")


def _number(task: Task, to: str) -> int:
    if to == "0":
        return 0
    for step in reversed(task.steps):
        if to in (str(step.number), step.label):
            return step.number
    raise NothingMatchedError(
        f"the task {task.name!r} has no step {to!r}", f"see its steps with `memcli task show {task.name}`"
    )


def _check_label(text: str, what: str) -> None:
    """Names, keys and labels are one line of text without secrets. Raises UsageError."""
    if not text.strip() or neutral(text) != text or set(text) & set("\n\t\u2028\u2029"):
        raise UsageError(f"{what} cannot be {text!r}", "it is one line of text without control characters")
    if len(text) > _LABEL_CHARS:
        raise UsageError(f"{what} has {len(text):,} characters", f"it has at most {_LABEL_CHARS}")
    if scrub(text)[1]:
        raise UsageError(f"{what} holds a secret", "put secrets nowhere in a task: its values lose them too")


def _unknown(name: str) -> NothingMatchedError:
    return NothingMatchedError(
        f"there is no task {name!r}, or its time is over",
        f"begin it with `memcli task start {name}`, or see `memcli task list`",
    )


# --- as JSON --------------------------------------------------------------------------------------


def task_json(task: Task) -> dict[str, Any]:
    """A task with its values and its steps."""
    return {
        "name": task.name,
        "started_at": to_iso(task.started_at),
        "expires_at": None if task.expires_at is None else to_iso(task.expires_at),
        "step": task.step,
        "changed": task.is_changed,
        "values": dict(task.values),
        "steps": [step_json(step) for step in task.steps],
    }


def step_json(step: Step) -> dict[str, Any]:
    """A step that one can go back to."""
    return {"step": step.number, "parent": step.parent, "label": step.label, "at": to_iso(step.at)}
