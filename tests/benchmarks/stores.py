"""Stores of any size to measure on: invented messages, and synthetic unit vectors that are like real ones.

The built-in embedder would need hours for a million. All goes through the store's own API.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from memcli.memory import Memory, open_memory
from memcli.types import Change, Record

WORDS = """
tea coffee garden flat Berlin Bristol Lisbon server brother sister birthday invoice review budget
sprint holiday passport dentist Python bicycle guitar kitchen landlord parcel lecture exam professor
train coffee painter museum market violin report meeting deadline printer router password laptop keyboard
grandmother cousin neighbour doctor allergy recipe tomato basil pasta train station night flight hotel river
""".split()  # noqa: SIM905 - a list of so many words would not be read
NOW = 1_800_000_000_000
DIM = 384
_AT_ONCE = 5_000
_TOPICS = 2_000


def records(count: int) -> Iterator[Record]:
    """Invented messages of about 200 characters, the same in every run."""
    chance = random.Random(7)
    for number in range(count):
        yield Record(
            id=f"{chance.getrandbits(80):020x}",
            text=" ".join(chance.choices(WORDS, k=30)) + f", item {number}",
            kind="episode",
            priority="P2",
            role="user" if number % 2 == 0 else "assistant",
            source="import:message-jsonl",
            source_id=f"m{number}",
            session_id=f"s{number // 40}",
            position=number % 40,
            created_at=1_700_000_000_000 + 60_000 * number,
            updated_at=NOW,
        )


def vectors(count: int) -> Iterator[array[float]]:
    """Unit vectors around a common direction, as those of the built-in model are, in topics."""
    import numpy as np

    chance = np.random.default_rng(7)
    common = chance.normal(size=DIM)
    topics = chance.normal(size=(_TOPICS, DIM)) * 0.4
    for start in range(0, count, _AT_ONCE):
        some = min(_AT_ONCE, count - start)
        drawn = common + topics[chance.integers(_TOPICS, size=some)] + 0.35 * chance.normal(size=(some, DIM))
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        yield from (array("f", row.tobytes()) for row in drawn.astype(np.float32))


def grown(data: Path, count: int, *, embedder: str, upkeep: bool = True) -> Memory:
    """A store of so many memories, each with a vector of this embedder."""
    memory = open_memory(data_dir=data, embedder="builtin", clock=lambda: NOW)
    told, drawn = records(count), vectors(count)
    for start in range(0, count, _AT_ONCE):
        some = list(islice(told, min(_AT_ONCE, count - start)))
        with memory.write() as (store, side):
            if not start:
                store.bind(embedder, DIM, asked=True)
            store.apply([Change("add", record) for record in some])
            store.add_vectors(embedder, {record.id: next(drawn) for record in some})
            side.count_commits(1)
    if upkeep:
        memory._compact()
    return memory
