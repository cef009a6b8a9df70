"""Upkeep: what many small writes or a large one have left becomes few files and whole indexes."""

from __future__ import annotations

from memcli.store import purge
from memcli.store.engine import sparing_memory
from memcli.store.lance import LanceStore
from memcli.store.side import Side

COMMITS_KEPT = 25
"""After so many commits a small store is compacted: each leaves a file, and a reader opens them all."""

# In a large store that takes longer, and waits for one more for each so many passages.
_ROWS_A_COMMIT = 5_000
# A question is put to each passage that no index of words holds: a hundred take a millisecond.
_UNINDEXED = 1_000
# To merge that many into the indexes takes as long as to make them anew, and memory that grows with these.
_ANEW_ROWS, _ANEW_SHARE = 20_000, 0.1


def tidy(store: LanceStore, side: Side) -> None:
    """Compact the store, if it is due. The writers' lock is held.

    Raises DamagedError before what is damaged is copied.
    """
    commits = side.commits()
    unindexed, rows = store.unindexed()
    if not commits or (unindexed < _UNINDEXED and commits < COMMITS_KEPT + rows // _ROWS_A_COMMIT):
        return
    with sparing_memory():
        store.check_rows()
        if unindexed == rows and commits < COMMITS_KEPT and not store.state.vectors:
            # Just imported, in few files. To write all once more takes a fourth of the time of the indexes;
            # that can wait for more commits, such as those of vectors: nothing beside the making of these.
            store.index()
            return
        is_anew = unindexed >= max(_ANEW_ROWS, rows * _ANEW_SHARE)
        if is_anew:
            purge.rewrite(store, side, vectors=False)
        store.compact(memories=not is_anew)
        side.reset_commits()
