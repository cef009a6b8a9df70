"""How well candidates meet a question's words: BM25 as a share of the best that the question could score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memcli.passages import date_words, terms
from memcli.types import Candidate, Millis
from memcli.weights import WEIGHTS, Weights


@dataclass(frozen=True, slots=True)
class Met:
    """How a passage meets a question: its BM25 as a share of the best, 0–1, and the terms it holds."""

    share: float
    terms: frozenset[str]


def meet(
    asked: Sequence[str], candidates: Sequence[Candidate], *, total_rows: int, weights: Weights = WEIGHTS
) -> tuple[list[Met], Mapping[str, float]]:
    """How each candidate meets the terms of a question, and what each term is worth (together 1).

    BM25 in Lucene's form: Σ idf · tf / (tf + k1 · length norm), idf = ln(1 + (N − df + ½) / (df + ½)).
    The best is Σ idf: a word that no memory holds has the highest idf, so a question that does not
    meet the store scores low everywhere.
    """
    wanted = frozenset(asked)
    found = [_frequencies(wanted, candidate) for candidate in candidates]
    idf = _idf(asked, found, total_rows=total_rows, weights=weights)
    best = sum(idf.values()) or 1.0
    worth = {term: value / best for term, value in idf.items()}
    norms = [_length_norm(candidate, weights) for candidate in candidates]
    shares = [
        sum(worth[term] * tf / (tf + norm) for term, tf in met.items())
        for met, norm in zip(found, norms, strict=True)
    ]
    return [Met(share, frozenset(met)) for share, met in zip(shares, found, strict=True)], worth


def _frequencies(wanted: frozenset[str], candidate: Candidate) -> dict[str, int]:
    held = _indexed_terms(candidate.passage, candidate.record.name, candidate.record.created_at)
    return {term: held[term] for term in wanted if term in held}


# A long-lived process asks about the same memories again.
@lru_cache(maxsize=4096)
def _indexed_terms(passage: str, name: str | None, at: Millis | None) -> Mapping[str, int]:
    """How often a passage holds each term, its speaker's and its date's too: people ask by both."""
    dated = () if at is None else _date_terms(at // 86_400_000)
    return Counter((*terms(passage), *(terms(name) if name else ()), *dated))


@lru_cache(maxsize=4096)
def _date_terms(day: int) -> tuple[str, ...]:
    return tuple(terms(date_words(day * 86_400_000)))


def _length_norm(candidate: Candidate, weights: Weights) -> float:
    beyond = max(0.0, len(candidate.passage) / weights.pivot_chars - 1)
    return weights.k1 * (1 + weights.length_slope * beyond)


def _idf(
    asked: Iterable[str], found: Sequence[Mapping[str, int]], *, total_rows: int, weights: Weights
) -> dict[str, float]:
    held = Counter(term for met in found for term in met)
    rows = max(total_rows, len(found), weights.fewest_rows)
    frequency = {
        term: _estimated_frequency(held[term], len(found), rows, weights.full_list) for term in asked
    }
    return {term: math.log(1 + (rows - df + 0.5) / (df + 0.5)) for term, df in frequency.items()}


def _estimated_frequency(held: int, seen: int, rows: int, full_list: int) -> float:
    """How many rows of the index hold a term, by how many of the candidates do.

    The keyword list holds every row of a rare term, and of a frequent one only as many as its length
    allows: the more of a full list a term fills, the more of the unseen rows are taken to hold it.
    Exact where the candidates are the whole index; at 8,000 rows and lists of 300 as good as the true
    frequencies (nDCG@10 43.2 and 42.4 on locomo).
    """
    return held + max(0, rows - seen) * min(1.0, held / full_list) ** 2
