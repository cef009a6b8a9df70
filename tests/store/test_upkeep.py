"""When a store is compacted, and that nobody who reads it meanwhile misses anything."""

from __future__ import annotations

import pytest

from memcli.store import purge
from memcli.store.lance import LanceStore
from memcli.store.side import Side
from memcli.store.upkeep import COMMITS_KEPT, tidy
from memcli.types import Change, Filters, Record
from tests.store.conftest import EVERYTHING, NOW, Shop, found, ids


def grown(shop: Shop, *, commits: int, records: int) -> tuple[LanceStore, Side]:
    """A store of so many records, written in so many commits."""
    store, side = shop.store(), shop.side()
    told = [Change("add", Record(f"r{n:05}", f"text {n}")) for n in range(records)]
    for number in range(commits):
        store.apply(told[number::commits])
        side.count_commits(1)
    return store, side


@pytest.mark.parametrize(
    ("commits", "records", "is_due"),
    [(0, 0, False), (3, 30, False), (COMMITS_KEPT, COMMITS_KEPT, True), (COMMITS_KEPT - 1, 999, False)],
)
def test_a_store_is_compacted_after_many_commits(
    shop: Shop, commits: int, records: int, is_due: bool
) -> None:
    store, side = grown(shop, commits=commits, records=records)
    tidy(store, side)
    assert side.commits() == (0 if is_due else commits)
    assert store.count(EVERYTHING, now=NOW) == records
    if is_due:
        assert store.shape()["fragments"] == 1
        assert store.unindexed() == (0, records)


@pytest.mark.parametrize("records", [1_000, 20_000])
def test_what_was_just_imported_in_few_commits_is_indexed_where_it_is(shop: Shop, records: int) -> None:
    store, side = grown(shop, commits=3, records=records)
    before = store.state.memories
    tidy(store, side)
    assert store.unindexed() == (0, records)
    assert (store.state.memories, side.commits(), store.shape()["fragments"]) == (before, 3, 3)
    tidy(store, side)
    assert store.shape()["fragments"] == 3


def test_what_was_just_imported_with_vectors_is_compacted(shop: Shop) -> None:
    store, side = grown(shop, commits=3, records=1_000)
    store.bind("e", 2, asked=True)
    tidy(store, side)
    assert store.unindexed() == (0, 1_000)
    assert (side.commits(), store.shape()["fragments"]) == (0, 1)


def test_after_an_import_into_a_large_store_it_is_compacted(shop: Shop) -> None:
    store, side = grown(shop, commits=3, records=2_000)
    tidy(store, side)
    store.apply([Change("add", Record(f"s{n:05}", f"text {n}")) for n in range(1_000)])
    side.count_commits(1)
    tidy(store, side)
    assert store.unindexed() == (0, 3_000)
    assert (side.commits(), store.shape()["fragments"]) == (0, 1)


def test_after_a_large_import_the_memories_are_written_anew(shop: Shop) -> None:
    store, side = grown(shop, commits=3, records=20_000)
    store.bind("e", 2, asked=True)
    before, vectors = store.state.memories, dict(store.state.vectors)
    tidy(store, side)
    assert store.state.memories != before
    assert store.state.vectors == vectors
    assert store.database.table_names() == sorted(store.in_use())
    assert store.unindexed() == (0, 20_000)
    assert len(ids(store.scan(EVERYTHING, now=NOW, order=()))) == 20_000
    assert max(found(store, "19999"), key=lambda candidate: candidate.bm25 or 0).record.id == "r19999"


@pytest.mark.parametrize("order", [(), (("created_at", True), ("id", True))])
def test_a_reading_goes_on_when_the_tables_are_replaced_under_it(
    shop: Shop, order: tuple[tuple[str, bool], ...]
) -> None:
    writer, side = grown(shop, commits=12, records=12_000)
    reading = shop.store(writable=False).scan(Filters(), now=NOW, order=order)
    told = [next(reading).id]
    purge.rewrite(writer, side)
    told += [record.id for record in reading]
    assert len(told) == 12_000
    assert set(told) == {f"r{n:05}" for n in range(12_000)}


def test_many_memories_are_read_by_their_ids(shop: Shop) -> None:
    store, _ = grown(shop, commits=2, records=3_000)
    asked = [f"r{n:05}" for n in range(2_999, -1, -2)]
    assert [record.id for record in store.get([*asked, "none"], now=NOW)] == asked
    assert store.present(["none", *asked]) == asked
