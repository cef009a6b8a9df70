"""Whether two facts say the same in other words, or contradict each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memcli.passages import folded, query_terms
from memcli.text import regex

SAME = 0.8
"""The share of terms (Jaccard) from which two facts of one polarity say the same."""

OPPOSITE = 0.65
"""The share of terms, but those that deny, from which two facts of opposite polarity contradict."""

_DENIES = regex(
    r"\b(?:not|never|no longer|cannot|dislike|hate|detest|loathe|despise|avoid|quit|stopped|without|gave up"
    r"|anymore|any more|stand|bear)\b|n['’]t\b|\b(?:dont|cant|doesnt|isnt)\b|[不没别]"
    r"|讨厌|厌恶|戒|受不了|恨|无法"
    r"|討厭|沒|別",
    re.IGNORECASE,
)
_LIKING = frozenset(
    query_terms(
        "like love enjoy adore prefer really hate dislike detest loathe avoid stand bear use eat drink do any"
        " anymore very much still now"
    )
)
_DEGREE = regex(
    r"\b(?:really|very|so|truly|absolutely|totally|quite|definitely|actually|also|just"
    r"|always)\b|非常|特别|真的|喜欢|喜歡|喜爱|讨厌|討厭|厌恶|受不了|不太|不怎么|很|最"
    r"|更|不|没|爱|恨|怕|了",
    re.IGNORECASE,
)
_RANKS = regex(r"\b(?:over|than|instead of|rather than)\b|而不是|胜过|比起|不用|不选", re.IGNORECASE)
_NUMBER = regex(r"\d[\d.,:/-]*|[一二三四五六七八九十百千万两]+(?=[岁个只月日号点块元万千百年码])")
_OWN = (
    regex(
        r"^(?:my|our) (?:new |current )?(?P<what>[\w' -]{2,40}?)(?: (?:is"
        r"|are)(?: (?:called|named|on|in|at))?| has changed to)"
        r" (?P<value>.+)$",
        re.IGNORECASE,
    ),
    regex(
        r"^(?:我|我们|我家)的?(?P<what>[^，。叫是]{1,10}?)(?:的?名字)?(?:现在)?(?:是|叫做?"
        r"|为|改成|在)(?P<value>.+)$"
    ),
    regex(r"^(?P<what>我)的?(?:名字)?叫做?(?P<value>.+)$"),
)
_MANY = regex(
    r"hobb|interest|goal|friend|tool|language|colleague|plan|team|爱好|兴趣|目标|朋友"
    r"|同事|计划|語言|语言",
    re.IGNORECASE,
)
"""Of these one has several: another value contradicts nothing."""


@dataclass(frozen=True, slots=True)
class _Told:
    terms: frozenset[str]
    order: tuple[str, ...]
    denies: bool
    numbers: frozenset[str]
    own: tuple[str, str] | None
    ranks: bool


def is_same(one: str, other: str) -> bool:
    """Whether two facts say the same: the same words but for a few, and no other number, order or denial."""
    if _bare(one) == _bare(other):
        return True
    told, held = _told(one), _told(other)
    return (
        told.denies == held.denies
        and told.numbers == held.numbers
        and _overlap(told.terms, held.terms) >= SAME
        and not _is_swapped(told, held)
    )


def contradicts(newer: str, older: str) -> bool:
    """Whether two facts cannot well both hold: denied, ranked the other way, another value of one thing."""
    told, held = _told(newer), _told(older)
    if told.own and held.own and told.own[0] == held.own[0] and not _MANY.search(told.own[0]):
        return told.own[1] != held.own[1] and not is_same(newer, older)
    if told.denies != held.denies:
        return _overlap(told.terms - _LIKING, held.terms - _LIKING) >= OPPOSITE
    return _is_swapped(told, held)


def signature(text: str) -> tuple[str, ...]:
    """What facts that say the same mostly have in common, for a keyed hash: sorted terms, and denial."""
    told = _told(text)
    return (str(told.denies), *sorted(told.terms - _LIKING or told.terms))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _is_swapped(told: _Told, held: _Told) -> bool:
    shared = told.terms & held.terms
    if not (told.ranks and held.ranks) or _overlap(told.terms, held.terms) < SAME:
        return False
    return [term for term in told.order if term in shared] != [term for term in held.order if term in shared]


@lru_cache(maxsize=4096)
def _told(text: str) -> _Told:
    own = next((match for pattern in _OWN if (match := pattern.match(text.strip()))), None)
    plain = _DEGREE.sub(" ", text)
    order = tuple(query_terms(plain))
    return _Told(
        terms=frozenset(order),
        order=order,
        denies=_DENIES.search(text) is not None,
        numbers=frozenset(_NUMBER.findall(text)),
        own=(folded(own["what"]), _bare(own["value"])) if own else None,
        ranks=_RANKS.search(text) is not None,
    )


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", folded(text))
