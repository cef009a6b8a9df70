"""What the store is made of, told once more beside the side store: enough to find every memory without it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.atomic import write_atomically
from memcli.errors import DamagedError
from memcli.lifecycle import origin_of
from memcli.store.rows import ORIGIN_COLUMNS, RECORD_COLUMNS, to_record
from memcli.store.seal import MEND
from memcli.store.side import KEY_BYTES, State
from memcli.text import regex

if TYPE_CHECKING:
    from memcli.store.engine import Table
    from memcli.store.lance import LanceStore

NAME = "tables.json"
TABLE = regex(r"(?:memories|vectors)_\d+")
"""How the tables of a store are called."""
# Of so many memories at least one has not been edited since.
_ASKED = 50


@dataclass(frozen=True, slots=True)
class Identity:
    """The key of the hashes, the tables in use, the embedder, and how many tables were ever begun.

    `generation` is that of the side store when this became so.
    """

    key: str
    memories: str | None
    vectors: Mapping[str, str] = field(default_factory=dict)
    embedder: str | None = None
    tables: int = 0
    generation: int = field(default=0, compare=False)

    @classmethod
    def of(cls, state: State) -> Identity:
        """What the side store says of itself."""
        return cls(
            state.key.hex(),
            state.memories,
            dict(state.vectors),
            state.embedder,
            state.tables,
            state.generation,
        )

    @classmethod
    def told(cls, meta: Mapping[str, str]) -> Identity | None:
        """What rows of a side store say, as far as they can be read; None where they cannot."""
        try:
            is_whole = len(bytes.fromhex(meta["key"])) == KEY_BYTES
            vectors = dict(json.loads(meta.get("vectors", "{}")))
            tables, generation = (int(meta.get(name, 0)) for name in ("tables", "generation"))
        except (LookupError, ValueError, TypeError):
            return None
        told = cls(meta["key"], meta.get("memories"), vectors, meta.get("embedder"), tables, generation)
        return told if is_whole else None


def note(directory: Path, state: State) -> None:
    """Keep what the side store says, where it is not what was kept."""
    now = Identity.of(state)
    if now.memories is not None and now != kept(directory):
        told = {name: getattr(now, name) for name in Identity.__slots__}
        write_atomically(directory / NAME, lambda stream: stream.write(json.dumps(told).encode()))


def kept(directory: Path) -> Identity | None:
    """What was kept; None where there is nothing, or it cannot be read."""
    try:
        told: Any = json.loads((directory / NAME).read_bytes())
        return Identity(**told)
    except (OSError, ValueError, TypeError):
        return None


def is_lost(side: Path, lance: str) -> bool:
    """Whether there are tables and no side store that could say which of them are the store."""
    has_tables = not _is_there(side) and "://" not in lance and any(Path(lance).glob("*.lance"))
    # Once more: whoever makes a store at this moment has made its side store before its tables.
    return has_tables and not _is_there(side)


def refuse_lost(side: Path, lance: str) -> None:
    """Raise DamagedError where memories would look as if there were none."""
    if is_lost(side, lance):
        raise DamagedError(f"{side} is missing or empty: without it no memory is found", MEND)


def is_torn(directory: Path, state: State) -> bool:
    """Whether the side store is older than what is told of it beside: its log has lost its end."""
    known = kept(directory)
    return known is not None and known.generation > state.generation


def is_misled(directory: Path, store: LanceStore) -> bool:
    """Whether the side store names tables that are missing, and what is told beside others that are there."""
    known, lance = kept(directory), store.directory
    if known is None or known.memories is None or lance is None:
        return False

    def are_there(names: Iterable[str]) -> bool:
        return all((lance / f"{name}.lance").is_dir() for name in names)

    return are_there([known.memories, *known.vectors.values()]) and not are_there(store.in_use())


def refuse_torn(directory: Path, store: LanceStore) -> None:
    """Raise DamagedError where the side store is of an earlier time, or would take what is known for new."""
    if is_torn(directory, store.state):
        # Once more: a writer may just have made a table.
        store.refresh()
        if is_torn(directory, store.state):
            raise DamagedError(f"side.db in {directory} has lost what was written to it last", MEND)
    if has_wrong_key(directory, store):
        raise DamagedError(f"side.db in {directory} has lost the key that memories are known by", MEND)


def has_wrong_key(directory: Path, store: LanceStore) -> bool:
    """Whether the memories were stored by the key that is told beside, and not by that of the side store."""
    known, name = kept(directory), store.state.memories
    if known is None or name is None or known.key == store.state.key.hex():
        return False
    # A restore that was killed has not told the new one yet: the memories know.
    table = store.table(name)
    return is_key_of(table, known.key) and not is_key_of(table, store.state.key.hex())


def is_key_of(table: Table, key: str) -> bool:
    """Whether some of the memories were stored by this key (hexadecimal)."""
    try:
        secret = bytes.fromhex(key)
    except ValueError:
        return False
    rows = (
        row
        for batch in table.scan([*RECORD_COLUMNS, *ORIGIN_COLUMNS], where="ordinal = 0", limit=_ASKED)
        for row in batch.to_pylist()
    )
    return any(
        mark == row[column]
        for row in rows
        for column, mark in zip(ORIGIN_COLUMNS, astuple(origin_of(to_record(row), secret)), strict=True)
        if mark is not None
    )


def _is_there(side: Path) -> bool:
    # SQLite drops the log of an empty file, whatever stands in it.
    try:
        return side.stat().st_size > 0
    except OSError:
        return False
