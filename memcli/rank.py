"""Candidates to hits: words and vectors fused by how well the question's words meet the store."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import lru_cache

from memcli import timewords
from memcli.keywords import keyword_shares
from memcli.passages import query_terms, terms
from memcli.times import Span
from memcli.types import Candidate, Hit, Millis, Record
from memcli.weights import WEIGHTS, Weights

_TOLD = (
    r"(?:told|said|mentioned|recommended|suggested|advised|explained|shared|gave|given|taught|wrote|written)"
)
_TELL = r"(?:tell|say|mention|recommend|suggest|advise|explain|share|give|teach|write)"
_ASKS_FOR_ASSISTANT = re.compile(
    rf"\byou\s+(?:\w+\s+){{0,2}}?{_TOLD}\b|\bdid\s+you\s+(?:\w+\s+)?{_TELL}\b"
    r"|(?<![和跟给向对同])你[^\W]{0,8}?(?:推荐|建议|告诉|说|提到|介绍|教|讲|分享)我?[了过的]",
    re.IGNORECASE,
)

_ASKS_FOR_BEFORE = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|used? to|(?:my|our) (?:old|last)|originally|back then|in the past)\b"
    r"|\bbefore(?:\s+(?-i:[A-Z])|\s+(?:i|we|that|now)\b|\s*(?:[,.;?？]|$))|以前|之前|原来|原先|曾经|从前|过去|旧(?:的|地址|号码|手机)",
    re.IGNORECASE,
)

_CLOSING = "\"'”’」』)）] \n"
_COURTESY = re.compile(
    r"\s*(?:\w+: )?(?:(?:thanks|thank you|you['’]re welcome|no problem|good ?bye|bye|see you)\b"
    r"|(?:好的，?)?谢谢|非常感谢|不用谢|不客气|没问题|没有问题|再见)",
    re.IGNORECASE,
)


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

    A hit's score is the sum of its `parts`, held within 0–1:

    - dense: 0.3 · its cosine on the scale from the least to the greatest among the candidates;
    - keyword: 0.7 · BM25 / the best BM25 this question could score (`keyword_shares`);
    - role: a little less for what an assistant said, a little more if the question asks for it; less
      for a question and for courtesies, more for the only speaker that the question names;
    - context: what the turn before and the conversation around it add (`_context`);
    - time: more for what was said in the time that the question names or speaks of it, less for the rest;
    - priority: next to nothing, it parts equals;
    - update: what a memory loses when a later one has replaced it, or what lifts a memory to the
      place of one that it replaced.

    A memory that was replaced never stands above the one that replaced it, unless only it fits the time
    that the question names, or the question asks for what was before. Equal scores: newest first, then by id.

    Args:
        question: what is asked.
        candidates: what the store found.
        k: how many hits at most.
        total_rows: how many rows the index holds.
        times: the spans of time that the question names.
        tz: the zone in which memories speak of days.
        weights: what each step adds.
    """
    best = _best_passages(question, candidates, total_rows=total_rows, weights=weights)
    asked = _Asked.of(question, best, times=times, tz=tz)
    around = _Around.of(best, weights)
    hits = [_hit(each, asked, around, weights) for each in best]
    return _with_updates(sorted(hits, key=_order), asked, weights)[:k]


@dataclass(frozen=True, slots=True)
class _Scored:
    """The best passage of a memory, with its dense and its keyword part, and both together."""

    record: Record
    candidate: Candidate
    dense: float
    keyword: float
    base: float

    @property
    def is_question(self) -> bool:
        return self.candidate.passage.rstrip(_CLOSING).endswith(("?", "？"))


def _best_passages(
    question: str, candidates: Sequence[Candidate], *, total_rows: int, weights: Weights
) -> list[_Scored]:
    asked = query_terms(question) or list(dict.fromkeys(terms(question)))
    best: dict[str, _Scored] = {}
    for candidate, dense, keyword in zip(
        candidates,
        _on_unit_scale([candidate.cosine for candidate in candidates]),
        keyword_shares(asked, candidates, total_rows=total_rows, weights=weights),
        strict=True,
    ):
        record, base = candidate.record, weights.dense * dense + weights.keyword * keyword
        known = best.get(record.id)
        if known is None or base > known.base:
            parts = weights.dense * dense, weights.keyword * keyword
            best[record.id] = _Scored(record, candidate, *parts, base)
    return list(best.values())


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question says besides its words."""

    wants_assistant: bool
    speaker: str | None
    times: Sequence[Span]
    tz: tzinfo
    is_of_before: bool
    """It asks for what held before what holds now, without a time."""

    @classmethod
    def of(cls, question: str, best: Sequence[_Scored], *, times: Sequence[Span], tz: tzinfo) -> _Asked:
        words = frozenset(terms(question))
        names = {each.record.name for each in best if each.record.name}
        named = [name for name in names if not words.isdisjoint(terms(name))]
        return cls(
            wants_assistant=_ASKS_FOR_ASSISTANT.search(question) is not None,
            speaker=named[0] if len(named) == 1 else None,
            times=times,
            tz=tz,
            is_of_before=not times and _ASKS_FOR_BEFORE.search(question) is not None,
        )


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

    def before(self, record: Record) -> _Scored | None:
        if record.session_id is None or record.position is None:
            return None
        return self.turns.get((record.session_id, record.position - 1))


def _hit(each: _Scored, asked: _Asked, around: _Around, weights: Weights) -> Hit:
    record = each.record
    parts = {
        "dense": each.dense,
        "keyword": each.keyword,
        "role": _role(each, asked, weights),
        "context": _context(each, asked, around, weights),
        "time": _time(each, asked, weights),
        "priority": {"P0": weights.p0, "P1": weights.p1}.get(record.priority, 0.0),
    }
    excerpt = each.candidate.passage if each.candidate.chunks > 1 else None
    return Hit(record, min(max(sum(parts.values()), 0.0), 1.0), parts, excerpt)


def _is_assistant(record: Record) -> bool:
    # In an export of a chat between people the other side is "assistant" too, but has a name.
    return record.role == "assistant" and record.name is None


def _role(each: _Scored, asked: _Asked, weights: Weights) -> float:
    total = 0.0
    if each.record.role is not None:
        total += weights.question if each.is_question else 0.0
        total += weights.courtesy if _COURTESY.match(each.candidate.passage) else 0.0
    if _is_assistant(each.record):
        total += weights.assistant_asked if asked.wants_assistant else weights.assistant
    elif asked.speaker is not None and each.record.name == asked.speaker:
        total += weights.speaker
    return total


def _context(each: _Scored, asked: _Asked, around: _Around, weights: Weights) -> float:
    """What the turn before and the conversation add to a turn."""
    record, before = each.record, around.before(each.record)
    if record.name is None:
        is_answer = before is not None and asked.wants_assistant and _is_assistant(record)
        return weights.answer * before.base if before is not None and is_answer else 0.0
    total = weights.session * around.best_of_session.get(record.session_id or "", 0.0)
    if before is not None and before.is_question:
        total += weights.answer * before.base
    return total


def _time(each: _Scored, asked: _Asked, weights: Weights) -> float:
    at = each.record.created_at
    if asked.is_of_before and each.record.superseded_by is not None:
        return weights.time
    if at is None or not asked.times:
        return 0.0
    spoken = _spoken_of(each.candidate.passage, at, asked.tz)
    fits = _is_of(each.record, asked.times) or any(_overlaps(span, asked.times) for span in spoken)
    return weights.time if fits else weights.time_missed


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


def _on_unit_scale(cosines: Sequence[float | None]) -> list[float]:
    """The least known cosine as 0, the greatest as 1; an unknown one is no better than the least."""
    known = [cosine for cosine in cosines if cosine is not None]
    least, greatest = min(known, default=0.0), max(known, default=0.0)
    if least == greatest:
        # One memory, or all alike: each is the nearest there is.
        return [0.0 if cosine is None else 1.0 for cosine in cosines]
    return [0.0 if cosine is None else (cosine - least) / (greatest - least) for cosine in cosines]


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
