"""How well a store answers: questions with what must come back, asked as recall would, and the figures."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from memcli.errors import UsageError
from memcli.memory import Memory
from memcli.passages import is_unspaced, query_terms
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Filters, Hit, Millis, Query, Record

PROBES = 100
PROBE_WORDS = 4
_PROBE_CHARS = 700
_CUTS = (1, 5, 10)
_WORD = regex(r"\w+")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, when (None is now), and what must come back.

    `gold` holds groups of source ids (the memory's own id where it has none), any of a group will do;
    `expect` holds texts, each of which must be in a memory; `abstain` says that nothing answers.
    """

    id: str
    text: str
    at: Millis | None = None
    gold: tuple[tuple[str, ...], ...] = ()
    expect: tuple[str, ...] = ()
    abstain: bool = False

    @property
    def wanted(self) -> int:
        """How many things must come back."""
        return len(self.gold) + len(self.expect)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, best first, and how long it took; `met` says which wanted things each place holds."""

    question: Question
    ranked: tuple[tuple[str, float], ...]
    met: tuple[frozenset[int], ...]
    ms: float


# --- questions ------------------------------------------------------------------------------------


def read_questions(lines: Iterable[str]) -> Iterator[Question]:
    """Questions as `memcli eval` takes them, one JSON object a line. Raises UsageError."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _question(line, number)


def _question(line: str, number: int) -> Question:
    try:
        given = json.loads(line)
        asked_at = given.get("question_date")
        question = Question(
            id=str(given["id"]),
            text=str(given["question"]),
            at=parse_file_time(asked_at) if asked_at else None,
            gold=tuple(tuple(map(str, group)) for group in given.get("gold") or ()),
            expect=tuple(map(str, given.get("expect") or ())),
            abstain=bool(given.get("abstain")),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"line {number} is no question",
            'a line is {"id": "1", "question": "…", "gold": [["source id"]]}',
        ) from error
    if asked_at and question.at is None:
        raise UsageError(f"the question_date of line {number} is no time", "2026-03-01T09:00:00Z is one")
    return question


def probes(memory: Memory, *, n: int = PROBES) -> list[Question]:
    """Questions made of the store itself: a few of the rarest words of a memory must bring it back."""
    ids = (("id", True),)
    current = Filters(current=True)
    # Ids look random, so the first of them are a fair sample.
    records = list(memory.read().scan(current, now=memory.clock(), order=ids, limit=n))
    said = {record.id: _pieces(record.text) for record in records}
    frequency = Counter(piece for pieces in said.values() for piece in set(pieces))
    return [
        Question(id=record.id, text=_telling(said[record.id], frequency), gold=((_known_as(record),),))
        for record in records
        if said[record.id]
    ]


def _pieces(text: str) -> list[str]:
    """The words of a text that say something, as they are written; pairs of scripts without spaces."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text[:_PROBE_CHARS]):
        asked = query_terms(word)
        found.update(dict.fromkeys(asked if is_unspaced(word) else [word] if asked else []))
    return list(found)


def _telling(pieces: Sequence[str], frequency: Counter[str]) -> str:
    rarest = sorted(pieces, key=lambda piece: frequency[piece])[:PROBE_WORDS]
    return " ".join(piece for piece in pieces if piece in rarest)


# --- answers --------------------------------------------------------------------------------------


def without_vectors(memory: Memory) -> Memory:
    """The same memory, asked for words only."""
    return Memory(replace(memory.place, embedder="none"), memory.clock, memory.notice)


def ask(memory: Memory, questions: Sequence[Question], *, k: int) -> Iterator[Answer]:
    """Each question answered as recall would, without leaving a trace in the statistics."""
    for question in questions:
        now = memory.clock() if question.at is None else question.at
        began = time.perf_counter()
        hits = memory.recall(Query(question.text, now=now, k=k), is_noted=False).hits
        yield answer(question, hits, ms=1000 * (time.perf_counter() - began))


def answer(question: Question, hits: Sequence[Hit], *, ms: float = 0.0) -> Answer:
    """What hits are worth to a question."""
    return Answer(
        question=question,
        ranked=tuple((_known_as(hit.record), hit.score) for hit in hits),
        met=tuple(_met(question, hit) for hit in hits),
        ms=ms,
    )


def _known_as(record: Record) -> str:
    return record.id if record.source_id is None else record.source_id


def _met(question: Question, hit: Hit) -> frozenset[int]:
    known_as, text = _known_as(hit.record), hit.record.text
    by_id = {number for number, group in enumerate(question.gold) if known_as in group}
    by_text = {
        number for number, part in enumerate(question.expect, start=len(question.gold)) if part in text
    }
    return frozenset(by_id | by_text)


def to_line(answer: Answer) -> str:
    """A line of the results file."""
    ranked = [{"id": id_, "score": score} for id_, score in answer.ranked]
    return json.dumps(
        {"id": answer.question.id, "ranked": ranked, "ms": round(answer.ms, 1)}, ensure_ascii=False
    )


# --- figures --------------------------------------------------------------------------------------


def figures(answers: Sequence[Answer]) -> dict[str, Any]:
    """What the answers are worth, shares from 0 to 1; None where no question tells.

    R@k is the share of the wanted things among the first k; nDCG@10 gives each its gain at its first
    place; MRR is 1 / the first place of any. Abstention is the AUROC of the best score: how often a
    question with an answer scores above one without; `empty` the share of those that got nothing.
    """
    telling = [each for each in answers if each.question.wanted and not each.question.abstain]
    unanswerable = [each for each in answers if each.question.abstain]
    took = sorted(each.ms for each in answers)
    return {
        "questions": len(answers),
        **{f"R@{k}": _mean(_recall_at(each, k) for each in telling) for k in _CUTS},
        "nDCG@10": _mean(map(ndcg, telling)),
        "MRR": _mean(map(_reciprocal_rank, telling)),
        "abstention": _auroc(telling, unanswerable),
        "empty": _mean(float(not each.ranked) for each in unanswerable),
        "p50_ms": median(took) if took else None,
        "p95_ms": took[int(0.95 * (len(took) - 1))] if took else None,
    }


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return fmean(listed) if listed else None


def _recall_at(answer: Answer, k: int) -> float:
    return len(frozenset[int]().union(*answer.met[:k])) / answer.question.wanted


def ndcg(answer: Answer) -> float:
    """Binary gain at the first place of each wanted thing, over what the best order would have."""
    seen: set[int] = set()
    gain = 0.0
    for place, met in enumerate(answer.met[:10], start=1):
        gain += len(met - seen) / math.log2(place + 1)
        seen |= met
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(answer.question.wanted, 10) + 1))
    return gain / ideal


def _reciprocal_rank(answer: Answer) -> float:
    return next((1 / place for place, met in enumerate(answer.met, start=1) if met), 0.0)


def _auroc(answerable: Sequence[Answer], unanswerable: Sequence[Answer]) -> float | None:
    return _mean(
        (yes > no) + 0.5 * (yes == no)
        for yes in map(_best_score, answerable)
        for no in map(_best_score, unanswerable)
    )


def _best_score(answer: Answer) -> float:
    return answer.ranked[0][1] if answer.ranked else -math.inf


def evaluate(
    memory: Memory,
    questions: Sequence[Question],
    *,
    k: int,
    answered: Callable[[Answer], None] = lambda _: None,
) -> dict[str, dict[str, Any]]:
    """The figures of both ways to ask: all that recall does, and words only.

    Args:
        memory: the store.
        questions: what is asked of it.
        k: how many memories a question brings back at most.
        answered: told each answer of the first way, as it comes.
    """
    answers = []
    for each in ask(memory, questions, k=k):
        answers.append(each)
        answered(each)
    return {
        "recall": figures(answers),
        "keywords": figures(list(ask(without_vectors(memory), questions, k=k))),
    }
