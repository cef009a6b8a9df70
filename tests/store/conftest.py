"""A store on a directory of its own, as a test writes and reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memcli import lifecycle
from memcli.store import events
from memcli.store.lance import LanceStore
from memcli.store.side import Side
from memcli.types import Candidate, Change, Filters, Record, Vector

NOW = 1_800_000_000_000
EVERYTHING = Filters(with_hidden=True)


def no_vector() -> Vector | None:
    """The vector of a question that is asked by words alone."""
    return None


@dataclass
class Shop:
    """Opens the store of one directory, as often as a test likes, and closes it at the end."""

    directory: Path
    _sides: list[Side] = field(default_factory=list)

    @property
    def side_path(self) -> Path:
        return self.directory / "side.db"

    def side(self, *, writable: bool = True) -> Side:
        side = Side(self.side_path, writable=writable)
        self._sides.append(side)
        return side

    def store(self, *, writable: bool = True) -> LanceStore:
        return LanceStore(str(self.directory / "lance"), self.side(writable=writable))

    def filled(self, *records: Record) -> LanceStore:
        """The store after these records were added, each with its origin."""
        store = self.store()
        key = store.state.key
        store.apply([Change("add", record, origin=lifecycle.origin_of(record, key)) for record in records])
        return store

    def close(self) -> None:
        while self._sides:
            self._sides.pop().close()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A directory in which a store may be made."""
    directory = tmp_path / "user"
    directory.mkdir()
    shop = Shop(directory)
    yield shop
    shop.close()


@pytest.fixture(scope="module")
def shared_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One store for the readings of a whole file."""
    shop = Shop(tmp_path_factory.mktemp("user"))
    yield shop
    shop.close()


def found(store: LanceStore, question: str, filters: Filters | None = None) -> list[Candidate]:
    """What a search by words alone finds."""
    candidates, _ = store.search(question, no_vector, filters=filters or Filters(), now=NOW, limit=50)
    return candidates


def ids(records: Iterator[Record] | list[Record]) -> set[str]:
    return {record.id for record in records}


def everything(store: LanceStore) -> dict[str, Record]:
    """Every memory that a reader sees, hidden ones too."""
    return {record.id: record for record in store.scan(EVERYTHING, now=NOW)}


def note_recall(side: Side, ids: list[str], **figures: int) -> None:
    """Note a recall as a commit of its own."""
    with side.change() as db:
        events.note_recall(db, ids, **figures)


def recalled(side: Side, id_: str) -> tuple[int, int | None]:
    """How often a memory came back, and when last."""
    with side.snapshot() as db:
        return events.recalled(db, id_)


def recalls(side: Side) -> events.Recalls:
    """The figures of all recalls."""
    with side.snapshot() as db:
        return events.recalls(db)
