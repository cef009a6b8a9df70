"""Stores and histories of any size to measure on: invented messages, and synthetic unit vectors.

The built-in embedder would need hours for a million, so vectors are drawn: in topics around a common
direction, as those of the model are. All goes in through the store's own API.
"""

from __future__ import annotations

import json
import random
import sys
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from memcli.memory import open_memory
from memcli.models.builtin import load_builtin
from memcli.store.upkeep import tidy
from memcli.types import Change, Record

WORDS = """
project meeting kitchen budget garden beans coffee report build maven gradle travel sister doctor
allergy piano lesson weekend hiking weather invoice parcel ticket deploy server token cache memory
model question recipe tomato basil pasta train station night flight hotel bridge river
""".split()  # noqa: SIM905 - a list of so many words would not be read
DIM = 384
VECTOR_BYTES = 4 * DIM
_NOW = 1_800_000_000_000
_AT_ONCE = 5_000
_TOPICS = 2_000


def texts(count: int) -> Iterator[str]:
    """Invented messages of about 200 characters, the same in every run."""
    chance = random.Random(7)
    return (" ".join(chance.choices(WORDS, k=30)) + f", item {number}" for number in range(count))


def write_history(path: Path, messages: int) -> None:
    """A history of invented messages, forty a session."""
    with path.open("w", encoding="utf-8") as stream:
        for number, text in enumerate(texts(messages)):
            line = {
                "id": f"m{number}",
                "session_id": f"s{number // 40}",
                "role": "user" if number % 2 == 0 else "assistant",
                "content": text,
                "timestamp": 1_700_000_000 + 60 * number,
            }
            stream.write(json.dumps(line) + "\n")


def records(count: int) -> Iterator[Record]:
    """The memories that an import of such a history makes."""
    chance = random.Random(8)
    for number, text in enumerate(texts(count)):
        yield Record(
            id=f"{chance.getrandbits(80):020x}",
            text=text,
            kind="episode",
            priority="P2",
            role="user" if number % 2 == 0 else "assistant",
            source="import:message-jsonl",
            source_id=f"m{number}",
            session_id=f"s{number // 40}",
            position=number % 40,
            created_at=1_700_000_000_000 + 60_000 * number,
            updated_at=_NOW,
        )


def vectors(count: int) -> Iterator[array[float]]:
    """Unit vectors, the same in every run."""
    import numpy as np

    chance = np.random.default_rng(7)
    common, topics = chance.normal(size=DIM), 0.4 * chance.normal(size=(_TOPICS, DIM))
    for start in range(0, count, _AT_ONCE):
        some = min(_AT_ONCE, count - start)
        drawn = common + topics[chance.integers(_TOPICS, size=some)] + 0.35 * chance.normal(size=(some, DIM))
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        yield from (array("f", row.tobytes()) for row in drawn.astype(np.float32))


def grow(data: Path, count: int) -> int:
    """Make a store of so many memories with a vector each; returns the bytes of their texts."""
    embedder = load_builtin()[0].name
    memory = open_memory(data_dir=data, embedder="builtin", clock=lambda: _NOW)
    told, drawn, size = records(count), vectors(count), 0
    while some := list(islice(told, _AT_ONCE)):
        with memory.write() as (store, side):
            store.bind(embedder, DIM, asked=True)
            store.apply([Change("add", record) for record in some])
            store.add_vectors(embedder, {record.id: next(drawn) for record in some})
            side.count_commits(1)
        size += sum(len(record.text.encode()) for record in some)
    with memory.write() as (store, side):
        tidy(store, side)
    memory.close()
    return size


if __name__ == "__main__":
    print(grow(Path(sys.argv[1]), int(sys.argv[2])))
