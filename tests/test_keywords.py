"""How candidates meet the words of a question."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memcli.keywords import meet
from memcli.passages import query_terms, terms
from memcli.types import Candidate, Record


def met(asked: list[str], passage: str) -> frozenset[str]:
    """The terms that a passage holds of those that are asked for."""
    candidate = Candidate(Record("m1", passage), passage, ordinal=0, chunks=1, cosine=None, bm25=1.0)
    (told,), _ = meet(asked, [candidate], total_rows=1)
    return told.terms


@pytest.mark.parametrize(
    ("question", "passage", "is_met"),
    [
        ("garden", "Two gardens and one gardener", True),
        ("garden", "Nothing but ungardened fields", False),
        ("garden", "我的garden很大", True),
        ("cities", "A city by the sea", True),
        ("茶", "他喝茶", True),
        ("2.3.1", "It runs since version 2.3.1.", True),
        ("2.3.1", "It runs since version 2.3.2.", False),
        ("1284.50", "They paid 1,284.50 for it", True),
        ("5号", "5月5日交房租", True),
        ("сестра", "Моя сестра живёт в Риге", True),
        ("straße", "Die lange STRASSE", True),
        ("rolling median", "see rollingMedian", True),
    ],
)
def test_a_passage_meets_a_word_however_it_is_written(question: str, passage: str, *, is_met: bool) -> None:
    asked = query_terms(question)
    assert (asked[0] in met(asked[:1], passage)) is is_met


@given(st.text("aeiysgdtñéß ЖйІ中号日年月3①1,.-_/:@+'’한글ทကिſKİı\n", max_size=40))
@example("5月4号, 1,284.50")
def test_a_text_meets_each_of_its_own_terms(text: str) -> None:
    # Beside one with a sign, for which texts are taken apart: those alone that may hold one of the two.
    for term in set(terms(text)):
        assert term in met([term, "7.5"], text)
