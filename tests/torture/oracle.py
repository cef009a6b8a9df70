"""What a store may hold, as somebody knows who saw every acknowledgement and every kill."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from memcli.memory import Memory, open_memory
from memcli.store.rows import key_id
from memcli.store.side import Side
from memcli.types import Filters

ABSENT = None
Texts = frozenset[str | None]
"""The texts that a memory may have; ABSENT among them when it need not be there."""


@dataclass
class Oracle:
    """What each memory may say now. A memory is known by a name that all its texts hold."""

    allowed: dict[str, Texts] = field(default_factory=dict)

    def may_be(self, name: str, *texts: str | None) -> None:
        """One of these is so; nobody can know which before looking."""
        self.allowed[name] = frozenset(texts)

    def is_now(self, name: str, text: str | None) -> None:
        """This was acknowledged."""
        self.allowed[name] = frozenset([text])

    def may_turn(self, name: str, text: str | None) -> None:
        """It is as it was, or this already."""
        self.allowed[name] = self.allowed.get(name, frozenset([ABSENT])) | {text}

    def living(self) -> list[str]:
        """The names of what is there for certain."""
        return [name for name, texts in self.allowed.items() if ABSENT not in texts]

    def look(self, texts: Iterable[str], *, waiting: Collection[str] = ()) -> list[str]:
        """Compare with what a reader sees; from then on, that is what is so. Returns what is wrong.

        What is `waiting` (turns of a chat) may become a memory later.
        """
        found: dict[str, list[str]] = {}
        for text in texts:
            found.setdefault(name_in(text), []).append(text)
        wrong = [f"{name} is there {len(seen)} times" for name, seen in found.items() if len(seen) > 1]
        wrong += [f"nobody wrote {name!r}" for name in found.keys() - self.allowed.keys()]
        for name, may in self.allowed.items():
            seen = found.get(name, [ABSENT])[0]
            if seen not in may:
                wrong.append(f"{name} is {seen!r}, not one of {sorted(map(repr, may))}")
            if seen is not ABSENT or may.isdisjoint(waiting):
                self.allowed[name] = frozenset([seen])
        return wrong


def name_in(text: str) -> str:
    """The name that a text holds: its first word with a digit in it."""
    return next((word for word in text.split() if any(char.isdigit() for char in word)), text)


def opened(data: Path) -> Memory:
    """The memories as a reader in this process sees them."""
    return open_memory(data_dir=data, embedder="none")


def texts_in(data: Path) -> list[str]:
    """What every memory says, hidden ones too; what is learned from another is left out."""
    memory = opened(data)
    try:
        return [record.text for record in memory.export(Filters()) if not record.derived_from]
    finally:
        memory.close()


def structure(data: Path) -> list[str]:
    """What is wrong with the tables: passages twice, vectors twice or of nothing; and with the side store."""
    memory = opened(data)
    try:
        store = memory.read()
        if store.state.memories is None:
            return []
        erasing = store.state.erasing
        keys = list(_keys(store.table(store.state.memories)))
        wrong = [f"passage {key} twice" for key, count in Counter(keys).items() if count > 1]
        for name, table in store.state.vectors.items():
            embedded = list(_keys(store.table(table)))
            wrong += [
                f"vector {key} of {name} twice" for key, count in Counter(embedded).items() if count > 1
            ]
            wrong += [
                f"vector {key} of nothing" for key in set(embedded) - set(keys) if key_id(key) not in erasing
            ]
        side = memory.read_side()
        assert side is not None
        return wrong + [f"side store: {fault}" for fault in [side.check()] if fault]
    finally:
        memory.close()


def _keys(table: object) -> Iterator[str]:
    for batch in table.scan(["key"]):  # type: ignore[attr-defined]
        yield from batch.column(0).to_pylist()


def is_erasing(data: Path) -> bool:
    """Whether an erase has begun and is not finished."""
    with closing(sqlite3.connect(side_path(data))) as db:
        return bool(db.execute("SELECT count(*) FROM erasing").fetchone()[0])


def side_path(data: Path) -> Path:
    """The side store of the one user."""
    return data / "users" / "default" / "side.db"


def turns_in(data: Path) -> list[str]:
    """What was said in every chat."""
    if not side_path(data).exists():
        return []
    with closing(Side(side_path(data), writable=False)) as side, side.snapshot() as db:
        return [text for (text,) in db.execute("SELECT text FROM turns")]


def bytes_with(data: Path, names: Iterable[str]) -> list[str]:
    """Which of these names stand in a file under the directory."""
    wanted = [name.encode() for name in names]
    left: set[str] = set()
    for folder, _, files in os.walk(data):
        for file in files:
            held = Path(folder, file).read_bytes()
            left.update(name.decode() for name in wanted if name in held)
    return sorted(left)
