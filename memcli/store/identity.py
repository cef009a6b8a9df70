"""What the store is made of, told once more beside the side store: enough to find every memory without it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.atomic import write_atomically
from memcli.errors import DamagedError
from memcli.store.seal import MEND
from memcli.store.side import State

if TYPE_CHECKING:
    from memcli.store.lance import LanceStore

NAME = "tables.json"


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
        """What rows of a side store say, as far as they can be read; None without the key."""
        if "key" not in meta:
            return None
        vectors = json.loads(meta.get("vectors", "{}"))
        tables, generation = (int(meta.get(name, 0)) for name in ("tables", "generation"))
        return cls(meta["key"], meta.get("memories"), vectors, meta.get("embedder"), tables, generation)


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


def refuse_torn(directory: Path, store: LanceStore) -> None:
    """Raise DamagedError where the side store would lead to tables of an earlier time."""
    if is_torn(directory, store.state):
        # Once more: a writer may just have made a table.
        store.refresh()
        if is_torn(directory, store.state):
            raise DamagedError(f"side.db in {directory} has lost what was written to it last", MEND)


def _is_there(side: Path) -> bool:
    # SQLite drops the log of an empty file, whatever stands in it.
    try:
        return side.stat().st_size > 0
    except OSError:
        return False
