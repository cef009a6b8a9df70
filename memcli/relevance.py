"""How sure it is that a hit answers, and which hits are worth telling a model: often none."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from memcli.passages import query_terms
from memcli.text import regex
from memcli.tongues import is_foreign
from memcli.types import Hit
from memcli.weights import WEIGHTS, Weights
from memcli.wording import is_echo, is_small_talk

_IS_PERSONAL = regex(
    r"\b(?:my|mine|myself|our)\b|(?<!\bhow )\b(?:do|did|am|was|have|had|are|were) (?:i|we)\b"
    r"|(?<![帮给教替为跟陪和让])我(?![想要应该能可们])",
    re.IGNORECASE,
)
_NUMBER = regex(r"\d+")
# A sign after a number, or words: "141/92" alone, a date or a telephone number is no sum.
_OPERATOR = regex(r"\d\s*[+*×÷=^%]|[^\W\d_]")
_OF_A_SUM = regex(
    r"[\W\d_]|\b(?:what|is|s|the|of|by|and|how|much|calculate|compute|plus|minus|times|x|multiplied|divided"
    r"|squared|cubed|percent|root|sum)\b|[乘除加减]以?|[上去]|等于|平方|计算|一下|多少|几|的|是",
    re.IGNORECASE,
)


def scored(question: str, hits: Sequence[Hit], *, weights: Weights = WEIGHTS) -> list[Hit]:
    """`rank`'s hits in the same order, their scores in calibrated units from 0 to 1, never rising.

    A score says how sure it is that a memory answers, alike for every embedder and for none: 0.5 where
    it is just worth telling a model (`relevant`), 1 / (1 + exp(-steepness · (relevance - 1))). Ranking
    weighs more than what tells whether anything answers at all, so a hit is given what the best of the
    few from it on would be given, and at most what the one before it has.
    """
    told = [_likelihood(share, weights) for share in _relevance(question, hits, weights)]
    found: list[Hit] = []
    for place, hit in enumerate(hits):
        score = max(told[place : place + weights.scored_together])
        score = min(score, found[-1].score) if found else score
        found.append(Hit(hit.record, score, hit.parts, hit.excerpt))
    return found


def relevant(question: str, hits: Sequence[Hit], *, weights: Weights = WEIGHTS) -> list[Hit]:
    """Those of `rank`'s hits that are worth telling a model, in the same order; often none.

    The best has to pass a threshold; the others follow it (`following`, `relative_drop`). Greetings, thanks
    and sums ask for no memory. What was replaced is left out, and what replaced it is as relevant as it was;
    left out is, too, what a chat has left of the same question and of a model's own words, unless it is
    these that are asked for.
    """
    if not query_terms(question) or _is_sum(question) or is_small_talk(question):
        return []
    hits = [hit for hit in hits if not is_echo(question, hit.record)]
    shares = _relevance(question, hits, weights)
    share = {hit.record.id: each for hit, each in zip(hits, shares, strict=True)}
    # Worst first, so that what was replaced twice hands on what it was handed.
    for hit in reversed(hits):
        newer = hit.record.superseded_by
        if newer in share and not is_of_its_time(hit):
            share[newer] = max(share[newer], share[hit.record.id])
    best = max((share[hit.record.id] for hit in hits[: weights.scored_together]), default=0.0)
    if best < 1:
        return []
    following = _among(len(hits), weights.following_of_two, weights.following, weights)
    drop = _among(len(hits), weights.drop_of_two, weights.relative_drop, weights)
    least = max(following, drop * best)
    told = (hit for hit in hits if hit.record.superseded_by is None or is_of_its_time(hit))
    told = (hit for hit in told if "repeat" not in hit.parts)
    return [hit for hit in told if share[hit.record.id] >= least]


def related(subject: str, hits: Sequence[Hit], *, weights: Weights = WEIGHTS) -> list[Hit]:
    """Those of `rank`'s hits that are nearly worth telling of a subject, each by itself."""
    shares = _relevance(subject, hits, weights)
    return [hit for hit, share in zip(hits, shares, strict=True) if share >= weights.related]


def _relevance(question: str, hits: Sequence[Hit], weights: Weights) -> list[float]:
    """Each hit's evidence over what makes a memory worth telling: 1 is just enough.

    Evidence is the share of the words met, the closeness, a little for the time that was asked for,
    and a part of the whole that ranking found.
    """
    has_vectors = any(hit.parts["dense"] for hit in hits)
    standing_out = _among(len(hits), weights.relevant_of_two, weights.relevant, weights)
    without_words = min(standing_out, weights.relevant_without_words)
    ease = weights.relevant_personal if _IS_PERSONAL.search(question) else 1.0

    def relevance(hit: Hit) -> float:
        if not has_vectors:
            return _evidence(hit, weights.dense, weights) / (ease * weights.relevant_without_vectors)
        if is_foreign(hit.excerpt or hit.record.text, question):
            return _evidence(hit, weights.dense * weights.across, weights) / (ease * without_words)
        return _evidence(hit, weights.dense, weights) / (ease * standing_out)

    return [relevance(hit) for hit in hits]


def _evidence(hit: Hit, dense: float, weights: Weights) -> float:
    met = hit.parts["keyword"] / weights.keyword + hit.parts["dense"] / dense
    of_time = weights.relevant_time if hit.parts["time"] > 0 else 0.0
    return met + of_time + weights.relevant_whole * min(max(sum(hit.parts.values()), 0.0), 1.0)


def _likelihood(relevance: float, weights: Weights) -> float:
    return 1 / (1 + math.exp(-weights.steepness * (relevance - 1)))


def _among(memories: int, of_two: float, of_many: float, weights: Weights) -> float:
    """What holds with so many memories to choose from, between what holds with two and with many."""
    share = min(1.0, max(0, memories - 2) / (weights.few_memories - 2))
    return of_two + share * (of_many - of_two)


def is_of_its_time(hit: Hit) -> bool:
    """Whether a memory that was replaced answers all the same: the question is about its time."""
    return hit.record.superseded_by is not None and hit.parts["time"] > 0 and "update" not in hit.parts


def _is_sum(question: str) -> bool:
    """Whether a question is arithmetic and nothing else ("What is 17 times 23?")."""
    numbers = len(_NUMBER.findall(question))
    return numbers > 1 and _OPERATOR.search(question) is not None and not _OF_A_SUM.sub("", question)
