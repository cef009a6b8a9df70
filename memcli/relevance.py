"""Which hits are worth telling a model: often none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memcli.passages import is_unspaced, query_terms
from memcli.rank import KEYWORD_WEIGHT
from memcli.types import Candidate, Hit

RELEVANT = 0.35
"""Words met plus closeness that make a memory worth telling a model. Of questions with an answer, 19
of 20 have a best hit above it (touchstone: 17); of small talk and general knowledge, one of 20
(locomo: three, memora: four; across languages two)."""

RELEVANT_WITHOUT_WORDS = 0.22
"""The same where question and memory are written in different scripts and cannot share a word."""

RELEVANT_WITHOUT_VECTORS = 0.2
"""The same where words alone answer."""

RELEVANT_TIME = 0.3
"""What being of the time that a question names adds: "what did I do yesterday?" has no other word that
could meet. The answer is in the block 9 points more often across languages, 2 on memorybank."""

PERSONAL = 0.75
"""The share of a threshold that suffices where the person asks about themself: general knowledge does
not say "my". It brings the answer into the block 2 points more often on memorybank, and across
languages; of twelve questions that say "I" or "my" and mean nothing personal, one more is told of
something."""

FOLLOWING = 0.7
RELATIVE_DROP = 0.5
"""Once the best memory passes, others follow from this share of the threshold and of the best one's
relevance on: 0.7 instead of 1 brings the answer into the block 21 points more often across languages
and 12 on touchstone, for one memory more in it; a drop of 0.6 loses 9 on memorybank."""

_IS_PERSONAL = re.compile(
    r"\b(?:my|mine|myself|our)\b|(?<!\bhow )\b(?:do|did|am|was|have|had|are|were) (?:i|we)\b"
    r"|(?<![帮给教替为跟陪和让])我(?![想要应该能可们])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
# A sign after a number, or words: "141/92" alone, a date or a telephone number is no sum.
_OPERATOR = re.compile(r"\d\s*[+*×÷=^%]|[^\W\d_]")
_OF_A_SUM = re.compile(
    r"[\W\d_]|\b(?:what|is|s|the|of|by|and|how|much|calculate|compute|plus|minus|times|x|multiplied|divided"
    r"|squared|cubed|percent|root|sum)\b|[乘除加减]以?|[上去]|等于|平方|计算|一下|多少|几|的|是",
    re.IGNORECASE,
)


def relevant(question: str, hits: Sequence[Hit], candidates: Sequence[Candidate]) -> list[Hit]:
    """Those of `rank`'s hits that are worth telling a model, in the same order; often none.

    A hit's relevance is its keyword share plus its closeness (how far its cosine has come from the
    lower quartile of the candidates' towards 1) plus what its time adds. Cosines of different
    embedders lie in different ranges, so only their place among this question's own candidates says
    something. The best has to pass a threshold; the others follow it (FOLLOWING, RELATIVE_DROP), and
    for them their context counts too. Greetings and sums ask for no memory. What was replaced is left
    out, and what replaced it is as relevant as it was.
    """
    if not query_terms(question) or _is_sum(question):
        return []
    closeness = _closeness(candidates)
    is_asked_unspaced = is_unspaced(question)

    ease = PERSONAL if _IS_PERSONAL.search(question) else 1.0

    def threshold(hit: Hit) -> float:
        if not closeness:
            return ease * RELEVANT_WITHOUT_VECTORS
        shares_script = is_unspaced(hit.excerpt or hit.record.text) == is_asked_unspaced
        return ease * (RELEVANT if shares_script else RELEVANT_WITHOUT_WORDS)

    def relevance(hit: Hit) -> float:
        met = hit.parts["keyword"] / KEYWORD_WEIGHT + closeness.get(hit.record.id, 0.0)
        return (met + (RELEVANT_TIME if hit.parts["time"] > 0 else 0.0)) / threshold(hit)

    share = {hit.record.id: relevance(hit) for hit in hits}
    # Worst first, so that what was replaced twice hands on what it was handed.
    for hit in reversed(hits):
        newer = hit.record.superseded_by
        if newer in share and not is_of_its_time(hit):
            share[newer] = max(share[newer], share[hit.record.id])
    best = max(share.values(), default=0.0)
    if best < 1:
        return []
    least = max(FOLLOWING, RELATIVE_DROP * best)
    told = (hit for hit in hits if hit.record.superseded_by is None or is_of_its_time(hit))
    return [hit for hit in told if share[hit.record.id] + hit.parts["context"] / threshold(hit) >= least]


def is_of_its_time(hit: Hit) -> bool:
    """Whether a memory that was replaced answers all the same: the question is about its time."""
    return hit.record.superseded_by is not None and hit.parts["time"] > 0 and "update" not in hit.parts


def _closeness(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Per memory, from 0 for a cosine at the candidates' lower quartile to 1 for a cosine of 1.

    Empty with fewer than two cosines: nothing to compare with.
    """
    cosines = sorted(candidate.cosine for candidate in candidates if candidate.cosine is not None)
    if len(cosines) < 2:
        return {}
    background = min(cosines[len(cosines) // 4], 0.999)
    found: dict[str, float] = {}
    for candidate in candidates:
        if candidate.cosine is not None:
            share = (candidate.cosine - background) / (1 - background)
            found[candidate.record.id] = max(share, found.get(candidate.record.id, 0.0))
    return found


def _is_sum(question: str) -> bool:
    """Whether a question is arithmetic and nothing else ("What is 17 times 23?")."""
    numbers = len(_NUMBER.findall(question))
    return numbers > 1 and _OPERATOR.search(question) is not None and not _OF_A_SUM.sub("", question)
