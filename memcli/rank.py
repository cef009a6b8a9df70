"""Candidates to hits: what each memory has to say for itself, weighed and added up."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import lru_cache

from memcli import timewords
from memcli.keywords import Met, meet
from memcli.passages import is_unspaced, query_terms, terms
from memcli.times import Span
from memcli.types import Candidate, Hit, Millis, Record
from memcli.weights import CHARS_OF_IDEOGRAPH, TELLING_CHARS, WEIGHTS, Weights
from memcli.wording import WANTED, Look, asks_for_assistant, asks_for_before, is_echo, look, wanted


def rank(
    question: str,
    candidates: Sequence[Candidate],
    *,
    k: int,
    total_rows: int,
    times: Sequence[Span] = (),
    tz: tzinfo = UTC,
    weights: Weights = WEIGHTS,
) -> list[Hit]:
    """The memories that answer, best first: at most `k`, one a memory, by its best passage.

    A hit's score is the sum of its `parts`, held within 0–1. A part is made of the STEPS of its name:
    what each measures, times its weight. One part more, `update`, is what a memory loses when a later
    one has replaced it, or what lifts a memory to the place of one that it replaced.

    A memory that was replaced never stands above the one that replaced it, unless only it fits the time
    that the question names, or the question asks for what was before. Equal scores: newest first, then by id.

    Args:
        question: what is asked.
        candidates: what the store found.
        k: how many hits at most.
        total_rows: how many rows the index holds.
        times: the spans of time that the question names.
        tz: the zone in which memories speak of days.
        weights: what each step is worth.
    """
    asked, best = _read(question, candidates, total_rows=total_rows, times=times, tz=tz, weights=weights)
    around = _Around.of(best, weights)
    hits = [_hit(_Seen.of(each, asked, around), weights) for each in best]
    return _with_updates(sorted(hits, key=_order), asked, weights)[:k]


# --- what a question sees of a memory -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question says: what each of its words is worth, and what it says besides."""

    worth: Mapping[str, float]
    wants_assistant: bool
    wanted: frozenset[str]
    speaker: str | None
    times: Sequence[Span]
    tz: tzinfo
    is_of_before: bool
    """It asks for what held before what holds now, without a time."""


@dataclass(frozen=True, slots=True)
class _Scored:
    """The best passage of a memory: how near it is, how it meets the words, and both together."""

    record: Record
    candidate: Candidate
    look: Look
    dense: float
    met: Met
    base: float


def _read(
    question: str,
    candidates: Sequence[Candidate],
    *,
    total_rows: int,
    times: Sequence[Span],
    tz: tzinfo,
    weights: Weights,
) -> tuple[_Asked, list[_Scored]]:
    words = query_terms(question) or list(dict.fromkeys(terms(question)))
    mets, worth = meet(words, candidates, total_rows=total_rows, weights=weights)
    best: dict[str, _Scored] = {}
    for candidate, dense, met in zip(candidates, _closeness(question, candidates), mets, strict=True):
        record, base = candidate.record, weights.base_dense * dense + weights.base_keyword * met.share
        known = best.get(record.id)
        if known is None or base > known.base:
            best[record.id] = _Scored(record, candidate, look(candidate.passage), dense, met, base)
    asked = _Asked(
        worth=worth,
        wants_assistant=asks_for_assistant(question),
        wanted=wanted(question),
        speaker=_only_named(question, {each.record.name for each in best.values() if each.record.name}),
        times=times,
        tz=tz,
        is_of_before=not times and asks_for_before(question),
    )
    return asked, list(best.values())


def _only_named(question: str, names: Iterable[str]) -> str | None:
    words = frozenset(terms(question))
    named = [name for name in names if not words.isdisjoint(terms(name))]
    return named[0] if len(named) == 1 else None


@dataclass(frozen=True, slots=True)
class _Around:
    """The conversations that candidates are part of."""

    turns: Mapping[tuple[str, int], _Scored]
    best_of_session: Mapping[str, float]

    @classmethod
    def of(cls, best: Sequence[_Scored], weights: Weights) -> _Around:
        sessions: dict[str, list[float]] = defaultdict(list)
        turns: dict[tuple[str, int], _Scored] = {}
        for each in best:
            session, position = each.record.session_id, each.record.position
            if session is not None and position is not None:
                sessions[session].append(each.base)
                turns[session, position] = each
        top = {
            session: sum(sorted(scores, reverse=True)[: weights.session_turns]) / weights.session_turns
            for session, scores in sessions.items()
        }
        return cls(turns, top)

    def beside(self, record: Record, by: int) -> _Scored | None:
        """The turn so many places after this one, where it is a candidate too."""
        if record.session_id is None or record.position is None:
            return None
        return self.turns.get((record.session_id, record.position + by))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A memory as a question sees it, with the turns beside it and the best of its conversation."""

    own: _Scored
    asked: _Asked
    before: _Scored | None
    after: _Scored | None
    session: float

    @classmethod
    def of(cls, own: _Scored, asked: _Asked, around: _Around) -> _Seen:
        session = around.best_of_session.get(own.record.session_id or "", 0.0)
        return cls(own, asked, around.beside(own.record, -1), around.beside(own.record, 1), session)

    @property
    def is_turn(self) -> bool:
        return self.own.record.role is not None

    @property
    def is_between_people(self) -> bool:
        return self.own.record.name is not None

    @property
    def is_assistant(self) -> bool:
        # In an export of a chat between people the other side is "assistant" too, but has a name.
        return self.own.record.role == "assistant" and not self.is_between_people


# --- steps ----------------------------------------------------------------------------------------


def _words_around(seen: _Seen) -> float:
    """What the words are worth that a turn and the one before hold together."""
    met = seen.own.met.terms | (seen.before.met.terms if seen.before else frozenset())
    return sum(seen.asked.worth[term] for term in met)


def _words_after(seen: _Seen) -> float:
    return seen.after.met.share if seen.after else 0.0


def _answers(seen: _Seen) -> float:
    """What the turn before met, if it asks: an answer is about what was asked."""
    before = seen.before
    # To the assistant also a request: "Suggest some music for running."
    is_asked = before and (before.look.is_question or (seen.is_assistant and seen.asked.wants_assistant))
    return before.met.share if before and is_asked else 0.0


def _length(seen: _Seen) -> float:
    """How much a turn has room to tell, from 0 to 1; what was noted says it in few words."""
    if not seen.is_turn:
        return 1.0
    text = seen.own.candidate.passage
    chars = len(text) * (CHARS_OF_IDEOGRAPH if is_unspaced(text) else 1)
    return min(1.0, math.log1p(chars) / math.log1p(TELLING_CHARS))


def _time(seen: _Seen) -> bool | None:
    """Whether a memory is of the time that is asked for or speaks of it; None when none is asked for."""
    record, times = seen.own.record, seen.asked.times
    if seen.asked.is_of_before and record.superseded_by is not None:
        return True
    if record.created_at is None or not times:
        return None
    spoken = _spoken_of(seen.own.candidate.passage, record.created_at, seen.asked.tz)
    return _is_of(record, times) or any(_overlaps(span, times) for span in spoken)


def _shows(kind: str) -> Callable[[_Seen], float]:
    return lambda seen: kind in seen.asked.wanted and kind in seen.own.look.shows


@dataclass(frozen=True, slots=True)
class Step:
    """What is measured of a memory, 0 to 1 as a rule; `name` is its weight's, `part` is told to a person."""

    name: str
    part: str
    measure: Callable[[_Seen], float]


STEPS: tuple[Step, ...] = (
    Step("dense", "dense", lambda seen: seen.own.dense),
    Step("keyword", "keyword", lambda seen: seen.own.met.share),
    Step("words_around", "context", lambda seen: seen.is_between_people and _words_around(seen)),
    Step("words_after", "context", _words_after),
    Step("answer", "context", _answers),
    Step("answer_between_people", "context", lambda seen: seen.is_between_people and _answers(seen)),
    Step("session", "context", lambda seen: seen.is_between_people and seen.session),
    Step("assistant", "role", lambda seen: seen.is_assistant and not seen.asked.wants_assistant),
    Step("assistant_asked", "role", lambda seen: seen.is_assistant and seen.asked.wants_assistant),
    Step("speaker", "role", lambda seen: seen.own.record.name == seen.asked.speaker is not None),
    Step("question", "form", lambda seen: seen.is_turn and seen.own.look.is_question),
    Step("courtesy", "form", lambda seen: seen.is_turn and seen.own.look.is_courtesy),
    Step("personal", "form", lambda seen: not seen.is_turn or seen.own.look.is_personal),
    Step("length", "form", _length),
    *(Step(f"shows_{kind}", "form", _shows(kind)) for kind in WANTED),
    Step("time", "time", lambda seen: _time(seen) is True),
    Step("time_missed", "time", lambda seen: _time(seen) is False),
    Step("p0", "priority", lambda seen: seen.own.record.priority == "P0"),
    Step("p1", "priority", lambda seen: seen.own.record.priority == "P1"),
)


def _hit(seen: _Seen, weights: Weights) -> Hit:
    parts: dict[str, float] = {}
    for step in STEPS:
        parts[step.part] = parts.get(step.part, 0.0) + getattr(weights, step.name) * step.measure(seen)
    excerpt = seen.own.candidate.passage if seen.own.candidate.chunks > 1 else None
    return Hit(seen.own.record, min(max(sum(parts.values()), 0.0), 1.0), parts, excerpt)


@lru_cache(maxsize=4096)
def _spoken_of(passage: str, at: Millis, tz: tzinfo) -> tuple[Span, ...]:
    return timewords.spans(passage, now=at, tz=tz)


def _is_within(at: Millis | None, times: Sequence[Span]) -> bool:
    return at is not None and any(span.start <= at <= span.end for span in times)


def _is_of(record: Record, times: Sequence[Span]) -> bool:
    """Whether a memory was said in one of the times, or held at the end of one and was replaced later."""
    at, ended = record.created_at, record.valid_to
    has_held = at is not None and ended is not None and any(at <= span.end < ended for span in times)
    return has_held or _is_within(at, times)


def _overlaps(spoken: Span, times: Sequence[Span]) -> bool:
    return any(spoken.start <= span.end and span.start <= spoken.end for span in times)


def _total(hit: Hit) -> float:
    return sum(hit.parts.values())


def _order(hit: Hit) -> tuple[float, float, str]:
    at = hit.record.created_at
    return -_total(hit), math.inf if at is None else -at, hit.record.id


def _closeness(question: str, candidates: Sequence[Candidate]) -> list[float]:
    """How far each cosine has come from the lower quartile of the candidates' towards 1; 0 at least.

    Cosines of different embedders lie in different ranges: only their place among this question's own
    candidates says something. Echoes of the question are no background to stand out of.
    """
    known = sorted(
        candidate.cosine
        for candidate in candidates
        if candidate.cosine is not None and not is_echo(question, candidate.record)
    )
    usual = min(known[len(known) // 4], 0.999) if known else 0.999
    cosines = (candidate.cosine for candidate in candidates)
    return [0.0 if cosine is None else max(0.0, (cosine - usual) / (1 - usual)) for cosine in cosines]


# --- updates --------------------------------------------------------------------------------------


def _with_updates(hits: Sequence[Hit], asked: _Asked, weights: Weights) -> list[Hit]:
    """The same hits in order; what was replaced costs something and follows what replaced it."""
    by_id = {hit.record.id: hit for hit in hits}
    marked = [_outdated(hit, by_id.get(hit.record.superseded_by or ""), asked, weights) for hit in hits]
    return _updates_first(sorted(marked, key=_order), asked)


def _outdated(hit: Hit, newer: Hit | None, asked: _Asked, weights: Weights) -> Hit:
    if newer is None or _fits_better(hit, newer, asked):
        return hit
    return _moved(hit, weights.outdated)


def _fits_better(older: Hit, newer: Hit, asked: _Asked) -> bool:
    """Whether the question is about a time that only the older one fits."""
    return asked.is_of_before or (_is_of(older.record, asked.times) and not _is_of(newer.record, asked.times))


def _updates_first(hits: Sequence[Hit], asked: _Asked) -> list[Hit]:
    """The same hits; one that was replaced by another of them gives it its place and follows it."""
    by_id = {hit.record.id: hit for hit in hits}
    placed: dict[str, Hit] = {}
    for hit in hits:
        chain = {hit.record.id: hit}
        newer = hit.record.superseded_by
        while newer is not None and newer in by_id and newer not in chain:
            if _fits_better(hit, by_id[newer], asked):
                break
            chain[newer] = by_id[newer]
            newer = by_id[newer].record.superseded_by
        for link in reversed(chain.values()):
            lift = _total(hit) - _total(link)
            lifted = replace(_moved(link, lift), score=hit.score) if lift > 0 else link
            placed.setdefault(link.record.id, lifted)
    return list(placed.values())


def _moved(hit: Hit, by: float) -> Hit:
    parts = {**hit.parts, "update": hit.parts.get("update", 0.0) + by}
    return replace(hit, parts=parts, score=min(max(sum(parts.values()), 0.0), 1.0))
