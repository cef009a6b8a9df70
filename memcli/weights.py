"""Every weight and threshold of ranking and relevance, each with the measurement that chose it."""

from __future__ import annotations

from dataclasses import dataclass

# The figures are points of nDCG@10 on the development halves that tests/benchmarks/retrieval.md tells
# of: locomo (two people), memorybank en, zh and across languages, touchstone and memora (a person and
# an assistant).


@dataclass(frozen=True, slots=True)
class Weights:
    """What each step of ranking adds to a score, on a scale where 1 is the best a question could meet."""

    dense: float = 0.3
    keyword: float = 0.7
    """0.2 and 0.4 move the sets by 1 to 2 points in opposite directions; 0.5 costs 2 to 4."""

    k1: float = 0.9
    """BM25's saturation; 0.5 and 1.2 are within half a point."""

    pivot_chars: float = 240
    length_slope: float = 0.5
    """Up to the pivot a passage pays nothing for its length, beyond it half of what BM25's b = 1 would
    take; a pivot of 120 costs a point on locomo and three on memorybank zh. Characters do as well as
    terms, and need no counting."""

    assistant: float = -0.12
    assistant_asked: float = 0.05
    """What the assistant said, by whether the question asks for that: together 6 points on memorybank
    en, 4 on zh, 12 across languages, 8 on touchstone, 17 on memora. A penalty of 0.2 brings touchstone
    three more points and takes two of memorybank zh."""

    question: float = -0.03
    """Who asks tells little: 1 point on locomo, 2 on memora and across languages; 0.1 costs 4 there."""

    courtesy: float = -0.04
    """Thanks and farewells speak of what was told before, and tell nothing: 2 points across languages."""

    answer: float = 0.25
    """An answer is about what was asked: the share of the previous turn's words and closeness that a
    turn takes over. Between people from every question (locomo 5 points); in a chat with an assistant
    only where the question is about what it said (memorybank en and zh 1, across languages 2 points):
    there every user's turn follows one that ends in "anything else?" (memora loses 5)."""

    session: float = 0.6
    session_turns: int = 3
    """Between people: the mean of the best three turns of the conversation that a turn is part of
    (locomo 2 points, 3 of R@10; at 0.3 a point less). Off in a chat with an assistant, which goes from
    one thing to another (memora loses 5)."""

    speaker: float = 0.03
    """For the only speaker that the question names: a fifth of a point on locomo; 0.1 costs one."""

    time: float = 0.05
    time_missed: float = -0.2
    """For what was said in the time that the question names or speaks of that time, and for what was
    not: memorybank en 3, zh 1, across languages 4, memora 3 points. Mostly a penalty, because a bonus
    makes a question without an answer look answered (0.15 and -0.1: AUROC on touchstone .91 to .89)."""

    outdated: float = -0.1
    """For what a later statement has replaced, wherever the question is not about the time before."""

    p0: float = 0.02
    p1: float = 0.01
    """Only parts what stands level: what was noted as a fact before the talk it was noted from."""

    full_list: int = 300
    """From about this many on, a keyword list is taken to be cut off (`rank._estimated_frequency`)."""

    fewest_rows: int = 50
    """A smaller index is treated as one of this size: among five memories a word that one of them holds
    is no more common than it would be among fifty."""

    # --- what is worth telling a model (relevance.py) ---

    relevant: float = 0.35
    """Words met plus closeness that make a memory worth telling a model. Of questions with an answer,
    19 of 20 have a best hit above it (touchstone: 17); of small talk and general knowledge, one of 20
    (locomo: three, memora: four; across languages two)."""

    relevant_of_two: float = 0.17
    few_memories: int = 10
    """The same with two memories to choose from, and how many it takes for the full threshold: among a
    handful there is no background to stand out of. With two to six everyday facts the right one of 40
    questions is told in 65 of 100 cases instead of 37; one of eight questions of general knowledge is told
    of something instead of none."""

    relevant_without_words: float = 0.22
    """The same where question and memory are written in different scripts and cannot share a word."""

    relevant_without_vectors: float = 0.2
    """The same where words alone answer."""

    relevant_time: float = 0.3
    """What being of the time that a question names adds: "what did I do yesterday?" has no other word
    that could meet. The answer is in the block 9 points more often across languages, 2 on memorybank."""

    personal: float = 0.75
    """The share of a threshold that suffices where the person asks about themself: general knowledge
    does not say "my". It brings the answer into the block 2 points more often on memorybank, and across
    languages; of twelve questions that say "I" or "my" and mean nothing personal, one more is told of
    something."""

    following: float = 0.7
    relative_drop: float = 0.5
    """Once the best memory passes, others follow from this share of the threshold and of the best one's
    relevance on: 0.7 instead of 1 brings the answer into the block 21 points more often across
    languages and 12 on touchstone, for one memory more in it; a drop of 0.6 loses 9 on memorybank."""


WEIGHTS = Weights()
