"""Which statement of a person outdates which earlier one: told by rules from the two alone."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from memcli.passages import terms
from memcli.statements import (
    ALSO,
    LONGEST_CHARS,
    PARTNER,
    Said,
    is_of_another,
    kinds_of_value,
    named_terms,
    said,
    sentences,
    terms_of,
    whose,
)
from memcli.types import Record

NAMED = 0.6
"""The share of the terms of what is over that an earlier statement has to name."""

_FEW_OTHERS = 2

_GENERIC = (
    "music book books movie movies film films song songs food foods drink sport sports game games"
    " travel trip place places day days week month year morning evening night time people person friend"
    " thing things way author director actor genre band artist story stories show style life home"
    " house city country project task plan planning goal work job"
    " 音乐 电影 食物 东西 时候 早上 晚上 每天 地方 朋友"
)


@cache
def _generic() -> frozenset[str]:
    """Terms that alone do not say what a statement is about."""
    return frozenset(terms(_GENERIC))


def is_statement(record: Record) -> bool:
    """Whether a memory is something that the person said of themself, short enough to be one statement."""
    return (
        record.role in (None, "user")
        and record.kind not in ("document", "summary")
        and not record.retired
        and len(record.text) <= LONGEST_CHARS
    )


def outdates(newer: Record, older: Record) -> bool:
    """Whether a later statement has put an end to an earlier one of the same person.

    Both have to be statements (`is_statement`). It does when it is later, is seen wherever the earlier
    one is (project, audience), and

    - says that something is over ("I used to love X", "quit X", "戒了X", "finished X"), and the earlier
      one named that as a habit, a liking or a plan;
    - tells a new value of what is planned or counted ("moved to Friday", "改到周五"), and the earlier
      one names the same thing with a value of the same kind;
    - both state what a person has one of at a time (home, work, telephone number, favourite X).

    "I also like tea" outdates nothing. The answer rests on the two alone, so it is the same in whatever
    order and beside whatever else they are stored.
    """
    return (
        is_before(older, newer)
        and _is_same_person(older, newer)
        and _is_seen_wherever(newer, older)
        and _ends(said(newer.text), older, newer)
    )


def is_before(older: Record, newer: Record) -> bool:
    """Whether one was surely said before the other: by time, else by place in the same conversation."""
    if older.id == newer.id:
        return False
    if older.created_at != newer.created_at:
        is_known = older.created_at is not None and newer.created_at is not None
        return is_known and (older.created_at or 0) < (newer.created_at or 0)
    # A fact and the turn that it was learned from have the same time, and say the same.
    return (
        (older.session_id is not None or older.created_at is not None)
        and older.session_id == newer.session_id
        and older.source == newer.source
        and older.position is not None
        and newer.position is not None
        and older.position < newer.position
    )


def order(record: Record) -> tuple[int, bool, int, str]:
    """By when it was said; of one time what was learned first, then by place in the conversation and id."""
    return record.created_at or 0, not record.derived_from, record.position or 0, record.id


def _is_same_person(older: Record, newer: Record) -> bool:
    # Where only one of them has a name, the other is the person's own note; several names are people.
    return older.name is None or newer.name is None or older.name == newer.name


def _is_seen_wherever(newer: Record, older: Record) -> bool:
    """Whether no reader who sees the earlier one misses the later: a project's plan replaces no other's."""
    return newer.project in (None, older.project) and (
        not newer.audience or (bool(older.audience) and set(newer.audience) >= set(older.audience))
    )


def _ends(told: Said, older: Record, newer: Record) -> bool:
    if not told.is_telling:
        return False
    earlier = sentences(older.text)
    return any(_is_over(told, each) or _is_changed(told, each) for each in earlier) or (
        _is_refilled(told, said(older.text)) and not ALSO.search(newer.text)
    )


def _is_over(told: Said, earlier: str) -> bool:
    return any(
        _names(over.named, earlier)
        and _looks_so(over.looks, earlier)
        # Who one is together with is somebody else.
        and (over.looks is PARTNER or not is_of_another(earlier))
        for over in told.over
    )


# An earlier statement is held against many later ones.
@lru_cache(maxsize=8192)
def _looks_so(looks: re.Pattern[str], earlier: str) -> bool:
    return looks.search(earlier) is not None


def _is_changed(told: Said, earlier: str) -> bool:
    return any(
        _names(changed.named, earlier)
        and (len(changed.named) > 1 or _is_bare(changed.named, earlier))
        and not changed.kinds.isdisjoint(kinds_of_value(earlier))
        and changed.whose == whose(earlier)
        for changed in told.changed
    )


def _is_bare(named: frozenset[str], earlier: str) -> bool:
    """Whether little else says which one is meant: "the budget" is not that of every project."""
    return len(named_terms(earlier) - named) <= _FEW_OTHERS


def _is_refilled(told: Said, earlier: Said) -> bool:
    """Whether what the earlier one fills is filled anew, and nothing else that it fills stays."""
    return not told.fills.isdisjoint(earlier.fills | earlier.own) and earlier.fills <= told.fills


def _names(wanted: frozenset[str], earlier: str) -> bool:
    shared = wanted & terms_of(earlier)
    return len(shared) >= NAMED * len(wanted) and not shared <= _generic()
