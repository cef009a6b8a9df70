"""The learning queue and what waits for a yes or no: taken once, tried again later, gone with evidence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memcli.store import queue
from memcli.types import Extracted, Proposal
from tests.store.conftest import NOW, Shop, note_recall
from tests.store.test_side import asked, bytes_of

MINUTE = 60_000
DAY = 1_440 * MINUTE


@contextmanager
def failing(shop: Shop, *ids: str, now: int) -> Iterator[list[str]]:
    """What is due now, which then cannot be learned from."""
    with shop.side().change() as db:
        taken = queue.take(db, now=now, limit=9)
        yield taken
        queue.fail(db, list(ids), now=now)


def take(shop: Shop, *, now: int, limit: int = 9) -> list[str]:
    with shop.side().change() as db:
        return queue.take(db, now=now, limit=limit)


def add(shop: Shop, *ids: str, at: int = NOW) -> None:
    with shop.side().change() as db:
        queue.add(db, ids, at=at)


def waiting(shop: Shop) -> int:
    with shop.side().snapshot() as db:
        return queue.waiting(db)


def test_the_oldest_are_taken_first_and_by_one_process_only(shop: Shop) -> None:
    add(shop, "c", "a", at=NOW)
    add(shop, "b", "c", at=NOW + 1)
    assert take(shop, now=NOW + 1, limit=2) == ["c", "a"]
    assert take(shop, now=NOW + 1) == ["b"]
    assert take(shop, now=NOW + 1) == []
    assert waiting(shop) == 3


def test_what_a_dead_process_took_is_due_again(shop: Shop) -> None:
    add(shop, "a")
    assert take(shop, now=NOW) == ["a"]
    assert take(shop, now=NOW + 4 * MINUTE) == []
    assert take(shop, now=NOW + 5 * MINUTE) == ["a"]


def test_what_is_done_is_gone(shop: Shop) -> None:
    add(shop, "a", "b")
    with shop.side().change() as db:
        queue.done(db, queue.take(db, now=NOW, limit=1))
    assert take(shop, now=NOW + DAY) == ["b"]
    assert waiting(shop) == 1


def test_tries_come_later_each_time_and_stop(shop: Shop) -> None:
    add(shop, "a")
    now, waits = NOW, []
    for wait in (0, 1, 10, 60, 1_440):
        assert take(shop, now=now + wait * MINUTE - 1) == []
        now += wait * MINUTE
        with failing(shop, "a", now=now) as taken:
            waits.append(taken)
    assert waits == [["a"]] * 5
    assert take(shop, now=now + 1_000 * DAY) == []
    assert waiting(shop) == 0


def test_what_kills_whoever_learns_from_it_is_not_tried_for_ever(shop: Shop) -> None:
    add(shop, "a")
    # Nobody lives to say that it failed.
    tries = [take(shop, now=NOW + number * DAY) for number in range(20)]
    assert 0 < len([taken for taken in tries if taken]) <= 5


def test_what_is_being_erased_is_neither_queued_nor_taken(shop: Shop) -> None:
    add(shop, "gone-id-0001", "kept-id-0001")
    side = shop.side()
    side.begin_erase(["gone-id-0001", "gone-id-0002"], origins=[], at=NOW)
    add(shop, "gone-id-0001", "gone-id-0002")
    assert take(shop, now=NOW) == ["kept-id-0001"]
    side.finish_erase(["gone-id-0001", "gone-id-0002"])
    assert b"gone-id" not in bytes_of(shop.directory)


# --- review ---------------------------------------------------------------------------------------

SECRET = Extracted("小李 lives in Lindisfarne", "fact", "我住在 Lindisfarne", 0.5, topics=("home",))


def proposal(id_: str, *said_in: str, conflicts_with: str | None = None) -> Proposal:
    return Proposal(id_, NOW, SECRET, said_in, conflicts_with, why="It said Farne before")


def proposed(shop: Shop) -> list[Proposal]:
    with shop.side(writable=False).snapshot() as db:
        return queue.proposals(db)


def test_what_is_proposed_waits_until_the_person_has_said(shop: Shop) -> None:
    first, second = proposal("p1", "m1", conflicts_with="m9"), proposal("p2", "m1", "m2")
    with shop.side().change() as db:
        queue.propose(db, first)
        queue.propose(db, second)
        queue.propose(db, second)
    assert proposed(shop) == [first, second]
    with shop.side().change() as db:
        queue.settle(db, "p1")
        assert queue.proposed(db) == 1
    assert proposed(shop) == [second]


@pytest.mark.parametrize("gone", ["m1", "m2"])
def test_what_was_said_in_a_forgotten_memory_is_in_no_byte(shop: Shop, gone: str) -> None:
    side = shop.side()
    with side.change() as db:
        queue.propose(db, proposal("p1", "m1", "m2"))
    assert "小李".encode() in bytes_of(shop.directory)
    side.begin_erase([gone], origins=[], at=NOW)
    side.finish_erase([gone])
    assert proposed(shop) == []
    assert b"Lindisfarne" not in bytes_of(shop.directory)


def test_what_contradicts_a_forgotten_memory_says_nothing_of_it(shop: Shop) -> None:
    side = shop.side()
    with side.change() as db:
        queue.propose(db, proposal("p1", "m1", conflicts_with="gone-id-0001"))
    side.begin_erase(["gone-id-0001"], origins=[], at=NOW)
    side.finish_erase(["gone-id-0001"])
    assert [(left.conflicts_with, left.why, left.extracted) for left in proposed(shop)] == [
        (None, "", SECRET)
    ]
    assert b"gone-id" not in bytes_of(shop.directory)
    assert b"Farne before" not in bytes_of(shop.directory)


def test_forgetting_everything_leaves_only_what_keeps_it_away(shop: Shop) -> None:
    side = shop.side()
    add(shop, "m1")
    with side.change() as db:
        queue.propose(db, proposal("p1", "m1"))
    note_recall(side, ["m1"], hits=1, at=NOW, took_ms=1, tokens=1)
    side.begin_erase([], origins=["o1"], at=NOW, everything=True)
    side.empty_log()
    tables = [name for (name,) in asked(shop, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    filled = {name for name in tables if asked(shop, f"SELECT 1 FROM {name}")}
    assert filled == {"meta", "tombstones"}
