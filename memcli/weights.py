"""Every weight and threshold of ranking and relevance, each with the measurement that chose it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# The figures are points of nDCG@10 on the development halves that tests/benchmarks/retrieval.md tells
# of: locomo (two people), memorybank en, zh and across languages, touchstone and memora (a person and
# an assistant).


TELLING_LETTERS = 300
LETTERS_OF_IDEOGRAPH = 3
"""A turn says more the longer it is, up to so many letters; a Chinese character counts as three."""

HALF_LIFE_DAYS: Mapping[str, float] = MappingProxyType(
    {
        "identity": 0.0,
        "preference": 720.0,
        "decision": 360.0,
        "fact": 720.0,
        "episode": 180.0,
        "document": 0.0,
        "summary": 360.0,
    }
)
"""After how many days a memory of each kind has half its recency left; 0: it does not age."""


def half_lives(text: str) -> Mapping[str, float]:
    """HALF_LIFE_DAYS with what a text says of some kinds ("episode=90, fact=0"). Raises ValueError."""
    told = dict(part.strip().split("=", 1) for part in text.split(","))
    days = {kind: float(number) for kind, number in told.items()}
    if not days.keys() <= HALF_LIFE_DAYS.keys() or not all(
        0 <= number < math.inf for number in days.values()
    ):
        raise ValueError(text)
    return {**HALF_LIFE_DAYS, **days}


@dataclass(frozen=True, slots=True)
class Weights:
    """What each step of ranking adds to a score, on a scale where 1 is the best a question could meet."""

    dense: float = 0.75
    keyword: float = 0.45
    words_around: float = 0.35
    words_after: float = 0.2
    answer: float = 0.2
    answer_between_people: float = 0.35
    session: float = 1.1
    assistant: float = -0.2
    assistant_asked: float = 0.2
    speaker: float = 0.04
    question: float = -0.06
    courtesy: float = -0.04
    personal: float = 0.05
    length: float = 0.35
    shows_when: float = 0.1
    shows_number: float = 0.2
    shows_place: float = 0.15
    shows_name: float = 0.2
    time: float = 0.05
    time_missed: float = -0.25
    recency: float = 0.02
    p0: float = 0.02
    p1: float = 0.01

    base_dense: float = 0.6
    base_keyword: float = 0.7
    session_turns: int = 3
    k1: float = 0.9
    pivot_chars: float = 240
    length_slope: float = 0.5

    outdated: float = -0.1
    """For what a later statement has replaced, wherever the question is not about the time before."""

    folded_hits: int = 40
    same_words: float = 0.75

    full_list: int = 200
    """From about this many on, a keyword list is taken to be cut off (`rank._estimated_frequency`)."""

    fewest_rows: int = 50
    """A smaller index is treated as one of this size: among five memories a word that one of them holds
    is no more common than it would be among fifty."""

    # --- what is worth telling a model (relevance.py) ---

    relevant: float = 0.48
    relevant_of_two: float = 0.28
    few_memories: int = 10
    relevant_without_words: float = 0.34
    relevant_without_vectors: float = 0.25
    relevant_time: float = 0.1
    relevant_whole: float = 0.25
    relevant_personal: float = 0.85

    following: float = 0.7
    relative_drop: float = 0.5
    """Once the best memory passes, others follow from this share of the threshold and of the best one's
    relevance on: 0.7 instead of 1 brings the answer into the block 21 points more often across
    languages and 12 on touchstone, for one memory more in it; a drop of 0.6 loses 9 on memorybank."""

    steepness: float = 3.0
    scored_together: int = 5


WEIGHTS = Weights()
