"""Candidates to hits: what each memory has to say for itself, weighed and added up."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from memcli import timewords
from memcli.keywords import Met, meet
from memcli.passages import query_terms, terms
from memcli.times import Span
from memcli.tongues import UNSPACED, seen_from, tongue_of
from memcli.types import NO_BACKGROUND, Background, Candidate, Hit, Millis, Record
from memcli.weights import HALF_LIFE_DAYS, TELLING_LETTERS, WEIGHTS, Weights
from memcli.wording import (
    WANTED,
    Look,
    asked_event,
    asks_for_assistant,
    asks_for_before,
    asks_for_now,
    denials,
    is_echo,
    look,
    shows,
    wanted,
)

_DAY_MS = 86_400_000
_YEAR_1, _YEAR_9999 = -62_135_596_800_000, 253_402_300_799_999
_LOG_TELLING = math.log1p(TELLING_LETTERS)


def rank(
    question: str,
    candidates: Sequence[Candidate],
    *,
    k: int,
    total_rows: int,
    times: Sequence[Span] = (),
    tz: tzinfo = UTC,
    now: Millis | None = None,
    half_life_days: Mapping[str, float] = HALF_LIFE_DAYS,
    background: Background = NO_BACKGROUND,
    weights: Weights = WEIGHTS,
) -> list[Hit]:
    """The memories that answer, best first: at most `k`, one a memory, by its best passage.

    A hit's score is the sum of its `parts`. A part is made of the STEPS of its name: what each
    measures, times its weight. Two parts come after them: `update` is what a memory loses when a later
    one has replaced it, or what lifts a memory to the place of one that it replaced; `repeat` is what
    puts a memory that says the same as a better one, or that the better one was learned from, behind
    all others.

    A memory that was replaced never stands above the one that replaced it, unless only it fits the time
    that the question names, or the question asks for what was before. Equal scores: newest first, then by id.

    Args:
        question: what is asked.
        candidates: what the store found.
        k: how many hits at most.
        total_rows: how many rows the index holds.
        times: the spans of time that the question names.
        tz: the zone in which memories speak of days.
        now: the clock, by which memories age; None: none does.
        half_life_days: after how many days a memory of each kind has half its recency left; 0: it does
            not age.
        background: how near the question is to what says nothing.
        weights: what each step is worth.
    """
    near = _closeness(question, candidates, background, weights)
    asked, best = _read(
        question, candidates, near, total_rows=total_rows, times=times, tz=tz, weights=weights
    )
    asked = replace(asked, now=now, half_life_days=half_life_days)
    around = _Around.of(best, weights)
    seen = [_Seen.of(each, asked, around) for each in best]
    hits = sorted(map(_hit, best, _weighed(seen, asked, weights)), key=_order)
    return _repeats_last(_with_updates(hits, asked, weights), weights)[:k]


# --- what a question sees of a memory -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question says: what each of its words is worth, and what it says besides."""

    worth: Mapping[str, float]
    wants_assistant: bool
    wanted: frozenset[str]
    is_between_people: bool
    """Some candidates have a name."""
    times: Sequence[Span]
    of_event: frozenset[str]
    """The terms of an event before or after which it asks: what names it fits as it is."""
    tz: tzinfo
    is_of_before: bool
    """It asks for what held before what holds now, without a time."""
    is_of_now: bool
    now: Millis | None = None
    half_life_days: Mapping[str, float] = field(default_factory=dict)


class _Scored(NamedTuple):
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
    near: Sequence[float],
    *,
    total_rows: int,
    times: Sequence[Span],
    tz: tzinfo,
    weights: Weights,
) -> tuple[_Asked, list[_Scored]]:
    words = query_terms(question) or list(dict.fromkeys(terms(question)))
    mets, worth = meet(words, candidates, total_rows=total_rows, weights=weights)
    best: dict[str, _Scored] = {}
    for candidate, dense, met in zip(candidates, near, mets, strict=True):
        record, base = candidate.record, weights.base_dense * dense + weights.base_keyword * met.share
        known = best.get(record.id)
        if known is None or base > known.base:
            best[record.id] = _Scored(record, candidate, look(candidate.passage), dense, met, base)
    is_before, event = ("", "") if times else asked_event(question)
    of_event = frozenset(query_terms(event))
    asked = _Asked(
        worth=worth,
        wants_assistant=asks_for_assistant(question),
        wanted=wanted(question),
        is_between_people=any(each.record.name for each in best.values()),
        times=times or _beside_event(of_event, best.values(), tz, is_before=bool(is_before)),
        of_event=of_event,
        tz=tz,
        is_of_before=not times and asks_for_before(question),
        is_of_now=not times and asks_for_now(question),
    )
    return asked, list(best.values())


def _beside_event(
    event: frozenset[str], found: Iterable[_Scored], tz: tzinfo, *, is_before: bool
) -> Sequence[Span]:
    """The time before or after an event, if a memory of the person's tells when that was."""
    telling = [
        each
        for each in found
        if event
        and event <= each.met.terms
        and each.record.created_at is not None
        and not each.look.is_question
        and each.record.role != "assistant"
    ]
    if not telling:
        return ()
    best = max(telling, key=lambda each: each.base)
    at = best.record.created_at or 0
    spoken = _spoken_of(best.candidate.passage, at, tz)
    start = spoken[0].start if spoken else at
    return (Span(min(_YEAR_1, start), start) if is_before else Span(start, max(start, _YEAR_9999)),)


@dataclass(frozen=True, slots=True)
class _Around:
    """The conversations that candidates are part of."""

    turns: Mapping[tuple[str, int], _Scored]
    best_of_session: Mapping[str, float]
    latest: Mapping[frozenset[str], Millis]
    """When the newest memory was said of those that meet the same words."""

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
        latest: dict[frozenset[str], Millis] = defaultdict(int)
        for each in best:
            if each.met.terms:
                latest[each.met.terms] = max(latest[each.met.terms], each.record.created_at or 0)
        return cls(turns, top, latest)

    def beside(self, record: Record, by: int) -> _Scored | None:
        """The turn so many places after this one, where it is a candidate too."""
        if record.session_id is None or record.position is None:
            return None
        return self.turns.get((record.session_id, record.position + by))


class _Seen(NamedTuple):
    """A memory as a question sees it, with the turns beside it and the best of its conversation."""

    own: _Scored
    asked: _Asked
    before: _Scored | None
    after: _Scored | None
    session: float
    is_latest: bool
    is_turn: bool
    is_between_people: bool
    is_assistant: bool

    @classmethod
    def of(cls, own: _Scored, asked: _Asked, around: _Around) -> _Seen:
        role, name = own.record.role, own.record.name
        return cls(
            own,
            asked,
            before=around.beside(own.record, -1),
            after=around.beside(own.record, 1),
            session=around.best_of_session.get(own.record.session_id or "", 0.0),
            is_latest=around.latest.get(own.met.terms) == own.record.created_at,
            is_turn=role is not None,
            is_between_people=name is not None,
            # In an export of a chat between people the other side is "assistant" too, but has a name.
            is_assistant=role == "assistant" and name is None,
        )


# --- steps ----------------------------------------------------------------------------------------


def _words_around(seen: _Seen) -> float:
    """What the words are worth that a turn between people and the one before hold together."""
    if not seen.is_between_people:
        return 0.0
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
    return min(1.0, math.log1p(seen.own.look.letters) / _LOG_TELLING)


def _time(seen: _Seen) -> bool | None:
    """Whether a memory is of the time that is asked for or speaks of it; None when none is asked for."""
    record, times = seen.own.record, seen.asked.times
    if seen.asked.is_of_before and record.superseded_by is not None:
        return True
    if record.created_at is None or not times:
        return None
    if seen.asked.of_event and seen.asked.of_event <= seen.own.met.terms:
        return None
    spoken = _spoken_of(seen.own.candidate.passage, record.created_at, seen.asked.tz)
    return _is_of(record, times) or any(_overlaps(span, times) for span in spoken)


def _recency(seen: _Seen) -> float:
    """What is left of a memory's recency, 1 for a new one; of an unknown age nothing is left."""
    record, now = seen.own.record, seen.asked.now
    half_life = seen.asked.half_life_days.get(record.kind, 0.0)
    if not half_life:
        return 1.0
    if now is None or record.created_at is None:
        return 0.0
    return float(0.5 ** (max(0, now - record.created_at) / _DAY_MS / half_life))


@dataclass(frozen=True, slots=True)
class Step:
    """What is measured of a memory, 0 to 1 as a rule; `name` is its weight's, `part` is told to a person."""

    name: str
    part: str
    measure: Callable[[_Seen], float]
    is_asked: Callable[[_Asked], object] = lambda _: True
    """Whether the question gives it anything to measure; the rest need not be asked of each memory."""


def _is_between_people(asked: _Asked) -> bool:
    return asked.is_between_people


def _step_of(kind: str) -> Step:
    """For a passage that shows a thing of the kind that is asked for ("when did…": a time)."""
    return Step(
        f"shows_{kind}",
        "form",
        lambda seen: shows(seen.own.candidate.passage, kind),
        lambda asked: kind in asked.wanted,
    )


STEPS: tuple[Step, ...] = (
    Step("dense", "dense", lambda seen: seen.own.dense),
    Step("keyword", "keyword", lambda seen: seen.own.met.share),
    Step("words_around", "context", _words_around, _is_between_people),
    Step("words_after", "context", _words_after),
    Step("answer", "context", _answers),
    Step(
        "answer_between_people",
        "context",
        lambda seen: seen.is_between_people and _answers(seen),
        _is_between_people,
    ),
    Step("session", "context", lambda seen: seen.is_between_people and seen.session, _is_between_people),
    Step("assistant", "role", lambda seen: seen.is_assistant, lambda asked: not asked.wants_assistant),
    Step("assistant_asked", "role", lambda seen: seen.is_assistant, lambda asked: asked.wants_assistant),
    Step("question", "form", lambda seen: seen.is_turn and seen.own.look.is_question),
    Step("personal", "form", lambda seen: not seen.is_turn or seen.own.look.is_personal),
    Step("length", "form", _length),
    *(_step_of(kind) for kind in WANTED),
    Step("time", "time", lambda seen: _time(seen) is True, lambda asked: asked.times or asked.is_of_before),
    Step("time_missed", "time", lambda seen: _time(seen) is False, lambda asked: asked.times),
    Step("recency", "recency", _recency, lambda asked: asked.now is not None),
    Step("latest", "recency", lambda seen: seen.is_latest, lambda asked: asked.is_of_now),
    Step("p0", "priority", lambda seen: seen.own.record.priority == "P0"),
    Step("p1", "priority", lambda seen: seen.own.record.priority == "P1"),
)


_NO_PARTS = dict.fromkeys((step.part for step in STEPS), 0.0)


def _weighed(seen: Sequence[_Seen], asked: _Asked, weights: Weights) -> list[dict[str, float]]:
    """The parts of each memory's score."""
    told = [_NO_PARTS.copy() for _ in seen]
    for step in STEPS:
        part, worth = step.part, getattr(weights, step.name)
        if worth and step.is_asked(asked):
            for parts, measured in zip(told, map(step.measure, seen), strict=True):
                if measured:
                    parts[part] += worth * measured
    return told


def _hit(own: _Scored, parts: Mapping[str, float]) -> Hit:
    excerpt = own.candidate.passage if own.candidate.chunks > 1 else None
    return Hit(own.record, sum(parts.values()), parts, excerpt)


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


def _order(hit: Hit) -> tuple[float, float, str]:
    at = hit.record.created_at
    return -hit.score, math.inf if at is None else -at, hit.record.id


def _closeness(
    question: str, candidates: Sequence[Candidate], background: Background, weights: Weights
) -> list[float]:
    """How far each cosine has come from the lower quartile of the usual ones towards 1; 0 at least.

    Cosines of different embedders lie in different ranges, and those from one language to another below
    those within one: only their place among this question's own, in the same language, says something.
    Usual are those of the candidates and, that a handful has something to stand out of, of the background.
    Echoes of the question are no background. In another language a step is worth more (`across`).
    """
    own = tongue_of(question)
    tongues = [seen_from(question, candidate.passage) for candidate in candidates]
    known: dict[str | None, list[float]] = defaultdict(list)
    for candidate, tongue in zip(candidates, tongues, strict=True):
        if candidate.cosine is not None and not is_echo(question, candidate.record):
            known[tongue].append(candidate.cosine)
    usual: dict[str | None, float] = defaultdict(lambda: _lower_quartile([]))
    for tongue, cosines in known.items():
        among = [*cosines, *(background.unspaced if tongue in UNSPACED else background.spaced)]
        usual[tongue] = _lower_quartile(
            among if len(among) >= _FEW else [*chain.from_iterable(known.values())]
        )
    return [
        0.0
        if candidate.cosine is None
        else (1.0 if tongue == own else weights.across)
        * max(0.0, (candidate.cosine - usual[tongue]) / (1 - usual[tongue]))
        for candidate, tongue in zip(candidates, tongues, strict=True)
    ]


# So few cosines have no usual one.
_FEW = 4


def _lower_quartile(cosines: Sequence[float]) -> float:
    return min(sorted(cosines)[len(cosines) // 4], 0.999) if cosines else 0.999


# --- updates --------------------------------------------------------------------------------------


def _with_updates(hits: Sequence[Hit], asked: _Asked, weights: Weights) -> list[Hit]:
    """The same hits in order; what was replaced costs something and follows what replaced it."""
    by_id = {hit.record.id: hit for hit in hits}
    if not any(hit.record.superseded_by in by_id for hit in hits):
        return list(hits)
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
            lift = hit.score - link.score
            lifted = replace(_moved(link, lift), score=hit.score) if lift > 0 else link
            placed.setdefault(link.record.id, lifted)
    return list(placed.values())


def _moved(hit: Hit, by: float, part: str = "update") -> Hit:
    parts = {**hit.parts, part: hit.parts.get(part, 0.0) + by}
    return replace(hit, parts=parts, score=hit.score + by)


# --- repeats --------------------------------------------------------------------------------------


def _repeats_last(hits: Sequence[Hit], weights: Weights) -> list[Hit]:
    """The same hits; of several among the first that say the same, all but the best go behind the rest."""
    kept: list[Hit] = []
    told: list[_Told] = []
    repeats: list[Hit] = []
    for hit in hits[: weights.folded_hits]:
        one = _Told(hit.record, _speaker(hit.record), _gist(hit.excerpt or hit.record.text))
        if any(_says_the_same(one, better, weights) for better in told):
            repeats.append(hit)
        else:
            kept.append(hit)
            told.append(one)
    if not repeats:
        return list(hits)
    rest = [*kept, *hits[weights.folded_hits :]]
    last = rest[-1].score
    # Beside the last and not a rounding above it.
    behind = (_moved(hit, min(0.0, last - hit.score), "repeat") for hit in repeats)
    return [*rest, *(replace(hit, score=min(hit.score, last)) for hit in behind)]


class _Told(NamedTuple):
    """A memory, who says it, and what."""

    record: Record
    speaker: str | None
    gist: _Gist


def _says_the_same(one: _Told, other: _Told, weights: Weights) -> bool:
    """Whether one was learned from the other, or both hold nearly the same words, the same numbers and
    the same denials. What was replaced has its place below what replaced it."""
    if one.record.superseded_by is not None or other.record.superseded_by is not None:
        return False
    if one.record.id in other.record.derived_from or other.record.id in one.record.derived_from:
        return True
    if one.gist.fixed != other.gist.fixed or one.speaker != other.speaker:
        return False
    words, others = one.gist.words, other.gist.words
    shared = len(words & others)
    return shared > 1 and shared >= weights.same_words * (len(words) + len(others) - shared)


def _speaker(record: Record) -> str | None:
    return record.name if record.name is not None or record.role in (None, "user") else record.role


@dataclass(frozen=True, slots=True)
class _Gist:
    """What a text says: its words, and what of it makes another statement when it differs."""

    words: frozenset[str]
    fixed: frozenset[str]


@lru_cache(maxsize=1024)
def _gist(text: str) -> _Gist:
    words = frozenset(query_terms(text))
    numbers = {word for word in words if not word.isalpha() and any(map(str.isdigit, word))}
    return _Gist(words, frozenset(numbers | set(denials(text))))
