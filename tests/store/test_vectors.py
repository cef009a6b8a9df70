"""An index of many vectors: what it finds, how it is kept, and what is left of it."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterator
from operator import mul
from pathlib import Path

import pytest

from memcli.store import purge
from memcli.store.lance import LanceStore
from memcli.types import Change, Filters, Record, Vector
from tests.store.conftest import NOW, Shop

DIM, COUNT, LEAST = 24, 2_000, 1_000


def drawn(chance: random.Random, near: Vector | None = None) -> Vector:
    """A unit vector by chance, or one near to another."""
    numbers = [(near[axis] * 4 if near else 0.0) + chance.gauss(0, 1) for axis in range(DIM)]
    norm = math.hypot(*numbers)
    return array("f", [number / norm for number in numbers])


CHANCE = random.Random(3)
TOPICS = [drawn(CHANCE) for _ in range(20)]
VECTORS = {f"r{n:04}": drawn(CHANCE, TOPICS[n % 20]) for n in range(COUNT)}
QUESTIONS = [drawn(CHANCE, CHANCE.choice(TOPICS)) for _ in range(40)]


def cosines(question: Vector, ids: set[str]) -> dict[str, float]:
    return {id_: sum(map(mul, question, VECTORS[id_])) for id_ in ids}


def best(question: Vector, ids: set[str], *, k: int = 10) -> list[str]:
    told = cosines(question, ids)
    return sorted(told, key=told.__getitem__, reverse=True)[:k]


def made(shop: Shop) -> LanceStore:
    store = shop.filled(*(Record(id_, f"text of {id_}", topics=(f"t{id_[-1]}",)) for id_ in VECTORS))
    store.bind("e", DIM, asked=True)
    store.add_vectors("e", VECTORS)
    return store


def found(store: LanceStore, question: Vector, filters: Filters | None = None) -> dict[str, float]:
    """What a search by vector alone finds, with its cosines, best first."""
    candidates, _ = store.search("", lambda: question, filters=filters or Filters(), now=NOW, limit=30)
    told = {candidate.record.id: candidate.cosine or 0.0 for candidate in candidates}
    return dict(sorted(told.items(), key=lambda each: each[1], reverse=True))


def indexed(store: LanceStore) -> tuple[int, int] | None:
    """How many vectors the index holds and how many it does not yet; None without one."""
    table = store.table(store.state.vectors[store.state.embedder or ""])
    for index in table.indexes():
        return table.count() - index.num_unindexed_rows, index.num_unindexed_rows
    return None


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanceStore]:
    """A store with an index, for reading."""
    shop = Shop(tmp_path_factory.mktemp("user"))
    store = made(shop)
    store.compact(indexed_from=LEAST)
    yield store
    shop.close()


def test_few_vectors_are_given_no_index(shop: Shop) -> None:
    store = made(shop)
    store.compact(indexed_from=COUNT + 1)
    assert indexed(store) is None


def test_an_index_finds_what_a_look_at_every_vector_finds(store: LanceStore) -> None:
    assert indexed(store) == (COUNT, 0)
    hits = sum(
        len(set(list(found(store, question))[:10]) & set(best(question, set(VECTORS))))
        for question in QUESTIONS
    )
    assert hits / (10 * len(QUESTIONS)) >= 0.99


def test_cosines_are_those_of_the_vectors_themselves(store: LanceStore) -> None:
    for question in QUESTIONS[:5]:
        told = found(store, question)
        assert told == pytest.approx(cosines(question, set(told)), abs=1e-5)


def test_filters_hold_beside_an_index(store: LanceStore) -> None:
    those = {id_ for id_ in VECTORS if id_.endswith("7")}
    for question in QUESTIONS[:5]:
        told = found(store, question, Filters(topics=("t7",)))
        assert list(told)[:10] == best(question, those)
        assert told.keys() <= those


def test_a_vector_is_found_before_the_index_holds_it_and_after(shop: Shop) -> None:
    store = made(shop)
    store.compact(indexed_from=LEAST)
    store.apply([Change("add", Record("new", "what is new"))])
    store.add_vectors("e", {"new": QUESTIONS[0]})
    assert indexed(store) == (COUNT, 1)
    assert next(iter(found(store, QUESTIONS[0]).items())) == ("new", pytest.approx(1, abs=1e-5))
    store.compact(indexed_from=LEAST)
    assert indexed(store) == (COUNT + 1, 0)
    assert next(iter(found(store, QUESTIONS[0]))) == "new"


def test_what_is_forgotten_is_in_no_index_of_vectors(shop: Shop) -> None:
    store, side = made(shop), shop.side()
    store.compact(indexed_from=LEAST)
    before = set(Path(store.uri).rglob("_indices/*/*"))
    gone = best(QUESTIONS[0], set(VECTORS), k=3)
    purge.erase(store, side, store.get(gone, now=NOW), at=NOW)
    assert indexed(store) is None
    assert not any(path.exists() for path in before)
    store.index_vectors(least=LEAST)
    assert indexed(store) == (COUNT - 3, 0)
    assert list(found(store, QUESTIONS[0]))[:5] == best(QUESTIONS[0], VECTORS.keys() - gone, k=5)


def test_the_vectors_of_another_embedder_get_an_index_of_their_own(shop: Shop) -> None:
    store = made(shop)
    store.compact(indexed_from=LEAST)
    store.bind("other", DIM, asked=False)
    store.add_vectors("other", VECTORS)
    store.unbind_others("other")
    assert indexed(store) is None
    store.compact(indexed_from=LEAST)
    assert indexed(store) == (COUNT, 0)
    assert list(found(store, QUESTIONS[1]))[:5] == best(QUESTIONS[1], set(VECTORS), k=5)
