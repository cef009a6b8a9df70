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
    """What each step of ranking adds (rank.STEPS), and what the steps and relevance go by.

    Chosen by a linear model of the steps (softmax over a question's candidates, each set with about the
    same say), fitted on every second conversation and measured on the others, then rounded to what is
    level on all sets. retrieval.md tells what each step brings; here stands what other values do.
    """

    dense: float = 0.75
    """Closeness: 1.1 costs locomo 1 and memorybank en 2 points and brings 1.5 across languages."""

    across: float = 1.5
    """How much more closeness counts from one language to another, where hardly a word can be shared. With
    an English conversation and a Chinese one of somebody else in one store (memorybank), a question in
    one language finds what was said in the other at 73 and 74 points of nDCG@10, at 60 and 58 without, at 75
    and 77 with 1.75; what was said in its own language it finds half a point less well, with 1.75 two points.
    Measured against the cosines of both languages together, without this, it was 48 and 25. Facts in English,
    Russian, German, Spanish, Japanese (retrieval.md): 372 of 400 first, by scripts alone 308."""

    keyword: float = 0.45
    """The share of the words met: 0.3 and 0.55 are within a point everywhere."""

    words_around: float = 0.35
    """What a turn and the one before hold together, between people: locomo a point. In a chat with an
    assistant it takes two of memora and of memorybank zh."""

    words_after: float = 0.2
    """What the next turn holds, who answers takes words up: 0.1 costs memorybank one, 0.3 nothing."""

    answer: float = 0.2
    answer_between_people: float = 0.35
    """What the turn before holds, if it asks. Only words: its closeness at 0.05 would cost memora two
    points, at 0.1 seven."""

    session: float = 1.1
    session_turns: int = 3
    """Between people: the best three turns of the conversation; R@10 on locomo 81.7 at 0.7, 83.0 at 1.3."""

    base_dense: float = 0.6
    base_keyword: float = 0.7
    """By what the passage of a memory is chosen and the turns of a conversation are compared."""

    assistant: float = -0.2
    assistant_asked: float = 0.2
    """What the assistant said, by whether the question asks for that: -0.15 costs memora 1.4 and memorybank
    1, -0.25 nothing; 0.1 for what is asked for costs memorybank zh 0.7."""

    question: float = -0.06
    """Who asks tells little: -0.03 costs locomo 0.5, -0.09 memorybank zh 1."""

    personal: float = 0.04
    """For a turn in the first person: 0.025 costs touchstone AUROC .02 and locomo 0.2, 0.05 two points
    across languages."""

    length: float = 0.25
    """For what has room to tell: without it locomo loses 0.5, memorybank 1 to 3. 0.35 is within half a point
    everywhere but across languages, where it brings 1.4 and takes short facts ("My doctor is Dr. Vogel") out
    from behind the long talk of a chat: of twelve in other languages 4 in place of 6 come first."""

    shows_when: float = 0.1
    """For a passage with a time where one is asked for ("when did…"): 0.16 takes AUROC .02 of touchstone,
    whose unanswerable questions ask for days; 0.08 costs locomo 0.2."""

    shows_number: float = 0.2
    shows_place: float = 0.15
    shows_name: float = 0.2
    """The same for numbers, places and names: half of it costs memorybank 0.2, 1 and 1.3 points."""

    shows_task: float = 0.2
    """The same for what has to be done: without it no task is found on memora, where three questions ask."""

    time: float = 0.05
    time_missed: float = -0.25
    """For what was said in the time that the question names or speaks of that time, and for what was not.
    Mostly a penalty, because a bonus makes a question without an answer look answered."""

    recency: float = 0.05
    """Of what is new over what is old: parts what stands level. 0.1 costs locomo 0.4 of R@10, 0.2 1.1, and
    neither moves another set. Where an older note has the question's own words, no weight up to 0.2 puts
    the newer one first in more than 5 of 16 cases: that is for what supersedes."""

    latest: float = 0.1
    """For the newest of those that meet the same words, where the question asks for what is now: of two that
    say as much of a weight the later one. Moves no set by more than 0.1."""

    p0: float = 0.02
    p1: float = 0.01
    """Parts what stands level: what was noted as a fact before the talk it was noted from."""

    k1: float = 0.9
    """BM25's saturation; 0.5 and 1.2 are within half a point."""

    pivot_chars: float = 240
    length_slope: float = 0.5
    """Up to the pivot a passage pays nothing for its length, beyond it half of what BM25's b = 1 would
    take. Characters do as well as terms, and need no counting. Nothing on the sets, whose passages are
    short: for those of long messages."""

    outdated: float = -0.1
    """For what a later statement has replaced, wherever the question is not about the time before."""

    folded_hits: int = 40
    same_words: float = 0.75
    """Among how many of the first hits repeats are looked for, and the share of the words of both that two
    have to have in common: nothing on the sets but 2 points of R@10 on memora."""

    full_list: int = 150
    """From about this many on, a keyword list is taken to be cut off (`keywords._estimated_frequency`)."""

    fewest_rows: int = 50
    """A smaller index is treated as one of this size: among five memories a word that one of them holds
    is no more common than it would be among fifty."""

    # --- what is worth telling a model (relevance.py) ---

    relevant: float = 0.5
    """Evidence (words met, closeness, a little of the rest) that makes a memory worth telling. Of 100
    questions of small talk and general knowledge 95 to 97 are told of nothing (locomo 89, touchstone 100,
    and there of all that nothing answers); of 100 with an answer 93 to 96 are told of it on memorybank, 80
    on locomo and memora, 70 on touchstone. 0.05 less tells up to 4 answers and up to 9 of small talk more."""

    relevant_of_two: float = 0.34
    few_memories: int = 30
    """The same with two memories to choose from, and how many it takes for the full threshold; in between
    it grows with their number. In 44 stores of one to seven memories, of half of which it was chosen, 73
    of 89 answers are told, and something at 6 of 81 questions without one; at 0.40 68 and 2. Without the
    background (models/background.py) 61 and 6 at best, or 55 and 2."""

    relevant_without_words: float = 0.34
    """The same where question and memory are written in different scripts and cannot share a word."""

    relevant_without_vectors: float = 0.25
    """The same where words alone answer."""

    relevant_time: float = 0.1
    relevant_whole: float = 0.25
    """What of the evidence is the time that was asked for, and the share of what ranking adds up to. The
    AUROC of questions with an answer over those without: touchstone .913 to .926, across languages .895
    to .939, elsewhere level."""

    relevant_personal: float = 0.85
    """The share of a threshold that suffices where the person asks about themself: general knowledge
    does not say "my"."""

    following: float = 0.7
    relative_drop: float = 0.5
    """Once the best memory passes, others follow from this share of the threshold and of the best one's
    relevance on: a drop of 0.6 loses 2 to 4 answers of 100, 0.4 tells one or two memories more."""

    related: float = 0.75
    """From what share of the threshold on a memory is told as related when something is forgotten: "I met
    Anna's brother" for Ana has 0.95 and "他下周结婚" for 小李 0.82, what shares nothing at most 0.71."""

    following_of_two: float = 1.0
    drop_of_two: float = 0.75
    """The same with two memories to choose from: beside the ones that answer, 9 of 228 others are told in
    place of 37."""

    scored_together: int = 5
    """The best of so many hits says how sure an answer is: alone the first hit costs locomo AUROC .04."""

    steepness: float = 3.0
    """How fast a score leaves 0.5 with relevance: half of what is just enough is 0.18, twice is 0.95."""


WEIGHTS = Weights()
