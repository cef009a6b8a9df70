"""Texts before and vectors after an embedder."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import ModelError
from memcli.models.vectors import embed_pieces, mean, pieces, unit
from memcli.types import Vector


@given(st.text(st.characters()), st.integers(1, 20))
def test_pieces_are_short_and_make_up_the_text(text: str, chars: int) -> None:
    cut = pieces(text, chars=chars)
    assert "".join(cut) == text
    assert all(len(piece) <= chars for piece in cut)


def test_a_text_is_cut_between_words() -> None:
    assert pieces("green tea in May", chars=11) == ["green tea ", "in May"]


@given(st.lists(st.floats(-1e30, 1e30), min_size=1).filter(lambda numbers: math.hypot(*numbers) > 1e-30))
def test_a_vector_is_as_long_as_one(numbers: list[float]) -> None:
    assert math.isclose(math.hypot(*unit(numbers)), 1, abs_tol=1e-5)


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_numbers_without_a_direction_are_refused(numbers: list[float]) -> None:
    with pytest.raises(ModelError):
        unit(numbers)


def test_a_longer_piece_weighs_more() -> None:
    mixed = mean([unit([1, 0]), unit([0, 1])], weights=[3, 1])
    assert list(mixed) == pytest.approx([3 / math.sqrt(10), 1 / math.sqrt(10)])


@given(st.lists(st.text("ab ", max_size=12), max_size=9))
def test_every_text_gets_its_own_vector_whatever_the_pieces(texts: list[str]) -> None:
    def embed(some: object) -> list[Vector]:
        assert isinstance(some, list)
        assert len(some) <= 2
        return [unit([1 + piece.count("a"), 1 + piece.count("b")]) for piece in some]

    together = embed_pieces(texts, chars=5, batch=2, embed=embed)
    assert together == [embed_pieces([text], chars=5, batch=2, embed=embed)[0] for text in texts]
