"""Vectors for what is stored: filled in after the text, in steps that can be stopped and gone on with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from memcli.errors import NothingMatchedError
from memcli.store.lance import LanceStore
from memcli.store.side import Side
from memcli.types import Embedder, Vector

# Passages embedded between two commits: a killed fill loses no more, and a commit costs nothing beside them.
_AT_ONCE = 512
# Passages handed to the embedder in one call; between two of them the clock is looked at.
_A_CALL = 16

# Under constant edits by others a step is in vain; after so many in a row what is left waits.
_TRIES = 5

Progress = Callable[[int, int], None]
"""Told (done, all) passages."""


class Stores(Protocol):
    """How a store is opened: for reading, and under the lock for writing."""

    def read(self) -> LanceStore:
        """The store as it is now."""
        ...

    def write(self) -> AbstractContextManager[tuple[LanceStore, Side]]:
        """The store under the writers' lock."""
        ...


def fill(
    stores: Stores,
    embedder: Embedder,
    *,
    of: Sequence[str] = (),
    until: float | None = None,
    progress: Progress | None = None,
    asked: bool = True,
) -> int:
    """Embed the passages that have no vector of this embedder yet; returns how many still have none.

    Args:
        stores: the store.
        embedder: what embeds; private memories are only shown to a local one.
        of: only those of these memories; all when empty.
        until: a `time.monotonic()` to stop at; None goes on to the end.
        progress: told after each commit.
        asked: whether questions are embedded with it from now on.

    Raises:
        ModelError: the embedder fails; what is done is kept.
    """
    keys = stores.read().pending(embedder.name, private=embedder.local, of=of)
    total = len(keys)
    tries = _TRIES
    while keys and tries and (until is None or time.monotonic() < until):
        done = _embed(stores, embedder, keys[:_AT_ONCE], until=until, asked=asked)
        tries = _TRIES if done else tries - 1
        keys = keys[done:]
        if progress:
            progress(total - len(keys), total)
    return len(keys)


def _embed(
    stores: Stores, embedder: Embedder, keys: Sequence[str], *, until: float | None, asked: bool
) -> int:
    """Embed these passages and store their vectors; returns how many of the keys are dealt with."""
    store = stores.read()
    texts = store.passages_of(keys)
    vectors: dict[str, Vector] = {}
    dealt_with = 0
    for start in range(0, len(keys), _A_CALL):
        some = [key for key in keys[start : start + _A_CALL] if key in texts]
        vectors.update(zip(some, embedder.embed_documents([texts[key] for key in some]), strict=True))
        dealt_with = start + _A_CALL
        if until is not None and time.monotonic() > until:
            break
    with stores.write() as (now, side):
        if now.state.generation != store.state.generation:
            # Texts have changed or gone since they were read: these may be vectors of old ones.
            return 0
        if embedder.name not in now.state.vectors or (asked and now.state.embedder != embedder.name):
            now.bind(embedder.name, embedder.dim, asked=asked)
        now.add_vectors(embedder.name, vectors)
        side.count_commits(1)
    return min(len(keys), dealt_with)


def replace_embedder(stores: Stores, embedder: Embedder, *, progress: Progress | None = None) -> int:
    """Give every memory a vector of this embedder, then ask questions with it; returns how many were made.

    Until the end recall goes on with the old vectors. Stopped, it goes on where it was.

    Raises:
        NothingMatchedError: nothing is stored yet.
        ModelError: the embedder fails; what is done is kept.
    """
    made = 0

    def count(done: int, total: int) -> None:
        nonlocal made
        made = max(made, done)
        if progress:
            progress(done, total)

    while True:
        fill(stores, embedder, progress=count, asked=False)
        with stores.write() as (store, _):
            if store.state.memories is None:
                raise NothingMatchedError(
                    "there is nothing to embed yet", "remember or import something first"
                )
            if embedder.name not in store.state.vectors:
                store.bind(embedder.name, embedder.dim, asked=False)
            # Under the lock: nobody has added a memory since this look.
            if not store.pending(embedder.name, private=embedder.local):
                store.unbind_others(embedder.name)
                return made
