"""Print how well the program recalls on public conversation data, and what each step of ranking brings.

    python tests/benchmarks/retrieval.py DATA STORES [--set NAME]… [--steps] [--part 1/2]

DATA holds a directory a data set (retrieval.md says where each comes from), anywhere below it the file
`queries.jsonl` and beside that `import/<conversation>.jsonl`. Each conversation is imported once, through
the program's own import, into a store of its own under STORES. Each question is then answered in this
process by what `recall` does: the store's candidates, and `rank` over them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from memcli.absorb import Intake
from memcli.eval import Answer, Question, answer, figures, ndcg, read_questions
from memcli.memory import Found, Memory, open_memory
from memcli.rank import STEPS, rank
from memcli.relevance import scored
from memcli.times import local_zone
from memcli.types import Candidate, Filters, Hit, Query
from memcli.weights import WEIGHTS, Weights

K = 20
RESAMPLES = 1000

WITHOUT: Mapping[str, Weights] = {
    **{
        step.name: replace(WEIGHTS, **{step.name: 0.0})
        for step in STEPS
        if step.name not in ("dense", "keyword")
    },
    "time, time_missed": replace(WEIGHTS, time=0.0, time_missed=0.0),
    "length_slope": replace(WEIGHTS, length_slope=0.0),
    "outdated": replace(WEIGHTS, outdated=0.0),
    "repeats": replace(WEIGHTS, folded_hits=0),
}
"""Each step of ranking and the weights without it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a data set, the conversation it is about, and what is outdated by now."""

    question: Question
    conversation: str
    stale: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer, and whether what holds stands above all that it has replaced (None: nothing has been)."""

    answer: Answer
    is_newest_first: bool | None


Ranking = Callable[[Query, Found], Sequence[Hit]]


def by_weights(weights: Weights) -> Ranking:
    """What recall does, with these weights."""

    def ranked(query: Query, found: Found) -> Sequence[Hit]:
        hits = rank(
            query.text,
            found.candidates,
            k=K,
            total_rows=found.rows,
            times=found.times,
            tz=local_zone(),
            now=query.now,
            background=found.background,
            weights=weights,
        )
        return scored(query.text, hits, weights=weights)

    return ranked


def by_list(score: Callable[[Candidate], float | None]) -> Ranking:
    """One of the store's lists as it is."""

    def ranked(_: Query, found: Found) -> Sequence[Hit]:
        best: dict[str, Hit] = {}
        for candidate in found.candidates:
            value = score(candidate)
            known = best.get(candidate.record.id)
            if value is not None and (known is None or value > known.score):
                best[candidate.record.id] = Hit(candidate.record, value, {})
        return sorted(best.values(), key=lambda hit: -hit.score)[:K]

    return ranked


ROWS: Mapping[str, Ranking] = {
    "BM25 only": by_list(lambda candidate: candidate.bm25),
    "dense only": by_list(lambda candidate: candidate.cosine),
    "recall": by_weights(WEIGHTS),
}


# --- data -----------------------------------------------------------------------------------------


def data_sets(data: Path) -> Iterator[tuple[str, Path]]:
    """The name and the directory of each data set."""
    for queries in sorted(data.rglob("queries.jsonl")):
        yield queries.relative_to(data).parts[0], queries.parent


def read_asked(path: Path) -> Iterator[Asked]:
    """The questions of a data set."""
    lines = path.read_text("utf-8").splitlines()
    for line, question in zip(lines, read_questions(lines), strict=True):
        told = json.loads(line)
        yield Asked(question, told["conv"], frozenset(told.get("stale") or ()))


def stored(history: Path, store: Path) -> Memory:
    """The memory of one conversation, imported and embedded once."""
    memory = open_memory(data_dir=store, embedder="builtin")
    if not memory.read().count(Filters(), now=memory.clock()):
        memory.absorb([str(history)], intake=Intake())
    memory.fill_vectors()
    memory.settle()
    return memory


def outcomes(
    directory: Path, stores: Path, rankings: Mapping[str, Ranking], keeps: Callable[[int], bool]
) -> dict[str, list[Outcome]]:
    """The outcome of every question under every ranking, of the conversations whose number is kept."""
    asked = list(read_asked(directory / "queries.jsonl"))
    told: dict[str, list[Outcome]] = defaultdict(list)
    for number, history in enumerate(sorted((directory / "import").glob("*.jsonl"))):
        if not keeps(number):
            continue
        memory = stored(history, stores / history.stem)
        for each in (each for each in asked if each.conversation == history.stem):
            now = memory.clock() if each.question.at is None else each.question.at
            query = Query(each.question.text, now=now, k=K)
            found = memory.find(query)
            for name, ranked in rankings.items():
                told[name].append(outcome(each, ranked(query, found)))
        memory.close()
    return told


def outcome(asked: Asked, hits: Sequence[Hit]) -> Outcome:
    """What hits are worth."""
    given = answer(asked.question, hits)
    if not asked.stale:
        return Outcome(given, None)
    held = next((place for place, met in enumerate(given.met) if met), len(hits))
    outdated = (place for place, (id_, _) in enumerate(given.ranked) if id_ in asked.stale)
    return Outcome(given, held < next(outdated, len(hits)))


# --- figures --------------------------------------------------------------------------------------


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean, by the percentiles of its bootstrap (Efron 1979)."""
    chance = random.Random(20261125)
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[RESAMPLES * 25 // 1000], means[RESAMPLES * 975 // 1000 - 1]


def gains(of: Sequence[Outcome]) -> list[float]:
    """nDCG@10 of each question that has an answer."""
    return [ndcg(each.answer) for each in of if each.answer.question.wanted]


def newest_first(of: Sequence[Outcome]) -> float | None:
    """The share of questions about something that has changed where what holds stands first."""
    told = [each.is_newest_first for each in of if each.is_newest_first is not None]
    return fmean(told) if told else None


def percent(value: float | None) -> str:
    """A share as it stands in the table."""
    return "" if value is None else f"{100 * value:.1f}"


def line(name: str, row: str, of: Sequence[Outcome]) -> str:
    """A row of the table of figures."""
    told = figures([each.answer for each in of])
    low, high = interval(gains(of))
    auroc = told["abstention"]
    cells = [
        name,
        row,
        str(len(gains(of))),
        f"{percent(told['nDCG@10'])} [{percent(low)}, {percent(high)}]",
        *(percent(told[key]) for key in ("R@1", "R@5", "R@10", "MRR")),
        "" if auroc is None else f".{round(1000 * auroc):03}",
        percent(newest_first(of)),
    ]
    return f"| {' | '.join(cells)} |"


HEAD = """
| set | | questions | nDCG@10 [95 %] | R@1 | R@5 | R@10 | MRR | AUROC | NewFirst |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def print_steps(told: Mapping[str, Mapping[str, Sequence[Outcome]]]) -> None:
    """What each step brings, in points of nDCG@10 and of NewFirst: the whole less the whole without it."""
    print(f"\n| step | {' | '.join(told)} |\n| --- |{' --- |' * len(told)}")
    for step in WITHOUT:
        cells = []
        for of in told.values():
            points = 100 * (fmean(gains(of["recall"])) - fmean(gains(of[step])))
            whole, without = newest_first(of["recall"]), newest_first(of[step])
            updates = "" if whole is None or without is None else f" / {100 * (whole - without):+.0f}"
            cells.append(f"{points:+.1f}{updates}")
        print(f"| {step} | {' | '.join(cells)} |")


def main() -> None:
    """Measure and print."""
    # Days begin when they begin for the people who talk: the data is in UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path, help="where the data sets lie")
    parser.add_argument("stores", type=Path, help="where imported conversations are kept")
    parser.add_argument("--set", action="append", help="only this data set")
    parser.add_argument("--steps", action="store_true", help="also what each step of ranking brings")
    parser.add_argument("--part", default="1/1", help="2/2: every second conversation, from the second on")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    rankings = dict(ROWS)
    if given.steps:
        rankings |= {step: by_weights(weights) for step, weights in WITHOUT.items()}
    told = {}
    print(HEAD)
    for name, directory in data_sets(given.data):
        if given.set and name not in given.set:
            continue
        told[name] = outcomes(
            directory, given.stores / name, rankings, keeps=lambda number: number % parts == part - 1
        )
        for row in ROWS:
            print(line(name, row, told[name][row]), flush=True)
    if given.steps:
        print_steps(told)


if __name__ == "__main__":
    main()
