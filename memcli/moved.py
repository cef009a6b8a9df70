"""Notes that were moved: the same bytes, gone from one path and found at another, are the same note."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memcli import lifecycle, reading
from memcli.store.lance import LanceStore
from memcli.store.side import Read, Side
from memcli.types import Change, Millis, Record

if TYPE_CHECKING:
    from memcli.importers import Source


def has_twin(side: Side, source: Source, asked: str) -> bool:
    """Whether a file that was not read yet has the bytes of one that was."""
    return any(_twins(side, source, asked))


def follow(store: LanceStore, side: Side, source: Source, asked: str, *, now: Millis) -> list[Change]:
    """What has to change so that the memories of a file that was moved are known at its new path.

    Args:
        store: the store.
        side: its side store.
        source: the file where it lies now.
        asked: how it is wanted, as its reading was remembered.
        now: the clock.

    Returns:
        An update of each memory that is known by the old path; none while there is still a file there.
    """
    for twin in _twins(side, source, asked):
        changes = [
            change
            for record in store.get(twin.counts.get("notes_of", ()), now=now)
            if (change := _moved(record, twin, source, store.state.key, now))
        ]
        if changes:
            return changes
    return []


def _twins(side: Side, source: Source, asked: str) -> Iterator[Read]:
    if not source.size or not source.key or reading.is_known(side, source):
        return
    twins = side.reads_of_size(source.size)
    if twins:
        # Only now: the file has to be read for it.
        mark = reading.mark_of(side.state().key, source.fingerprint, asked)
        yield from (twin for twin in twins if twin.mark == mark)


def _moved(record: Record, twin: Read, source: Source, key: bytes, now: Millis) -> Change | None:
    """The memory under the new path; None where it is not known by a path, or that file is still there."""
    named = record.source_id or ""
    for old in (named, named.rpartition("#")[0]):
        if reading.file_mark(key, old) == twin.file:
            if Path(old).exists():
                return None
            meta = dict(record.meta)
            if meta.get("title") == Path(old).stem:
                meta["title"] = Path(source.key or "").stem
            after = replace(
                record, source_id=f"{source.key}{named.removeprefix(old)}", meta=meta, updated_at=now
            )
            return Change("update", after, before=record, origin=lifecycle.origin_of(after, key))
    return None
