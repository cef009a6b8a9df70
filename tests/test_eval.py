"""eval: questions answered as recall does, and figures that are right by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import UsageError
from memcli.eval import Answer, Question, figures, read_questions
from memcli.types import Record
from tests.process import Shared, export_of

RECORDS = [
    Record("budget00", "The kitchen budget is 9,500 including the oven", source_id="m1"),
    Record("cello000", "My sister practises the cello every evening", source_id="m2"),
    Record("lunch000", "麻辣火锅越辣越好", source_id="m3"),
    Record("harbour0", "The harbour gate has a code on the fridge"),
]  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A store of four memories that nothing here changes."""
    shared = Shared(tmp_path_factory.mktemp("eval"))
    done = shared("import", "-", input=export_of(RECORDS))
    assert done.returncode == 0, done.stderr
    return shared


def lines(*questions: dict[str, Any]) -> str:
    return "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)


QUESTIONS = lines(
    {"id": "1", "question": "Who plays the cello?", "gold": [["m2", "elsewhere"]]},
    {"id": "2", "question": "kitchen budget", "expect": ["9,500"], "question_date": "2026-03-01T09:00:00Z"},
    {"id": "3", "question": "gate code", "gold": [["harbour0"]]},
    {"id": "4", "question": "xylophone", "abstain": True},
)


# --- the command ----------------------------------------------------------------------------------


def test_questions_are_answered_and_counted(shared: Shared) -> None:
    told = shared.json("eval", "-", input=QUESTIONS)
    assert (told["questions"], told["k"], told["from_store"]) == (4, 20, False)
    recalled = told["recall"]
    assert (recalled["R@1"], recalled["nDCG@10"], recalled["MRR"]) == (1, 1, 1)
    assert (recalled["abstention"], recalled["empty"]) == (1, 1)
    assert {**told["keywords"], "p50_ms": 0, "p95_ms": 0} == {**recalled, "p50_ms": 0, "p95_ms": 0}


def test_results_hold_what_recall_answers(shared: Shared, tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text(QUESTIONS, "utf-8")
    results = tmp_path / "results.jsonl"
    shared.json("eval", tmp_path / "questions.jsonl", "--out", results)
    answers = {line["id"]: line for line in map(json.loads, results.read_text("utf-8").splitlines())}
    hits = shared.json("recall", "kitchen budget")["results"]
    assert answers["2"]["ranked"] == [{"id": hit["source_id"], "score": hit["score"]} for hit in hits]
    assert answers["3"]["ranked"][0]["id"] == "harbour0"
    assert answers["4"]["ranked"] == []
    assert all(answer["ms"] > 0 for answer in answers.values())


def test_a_store_is_asked_for_its_own_memories(shared: Shared) -> None:
    told = shared.json("eval")
    assert (told["questions"], told["from_store"], told["recall"]["R@1"]) == (len(RECORDS), True, 1)


def test_a_pipe_gets_a_row_for_each_way_to_ask(shared: Shared) -> None:
    head, *rows = shared.here("eval", "-", input=QUESTIONS).stdout.splitlines()
    assert head.split("\t")[1:6] == ["R@1", "R@5", "R@10", "nDCG@10", "MRR"]
    assert [row.split("\t")[:2] for row in rows] == [["recall", "100.0"], ["keywords", "100.0"]]


def test_a_person_sees_a_table(shared: Shared) -> None:
    code, shown = shared.on_terminal("eval", "-q", columns=120)
    head, *rows = shown.splitlines()
    assert code == 0
    assert {len(row) for row in rows} == {len(head)}


def test_eval_leaves_no_recall_in_the_statistics(shared: Shared) -> None:
    before = shared.json("stats")["recall"]["count"]
    shared.json("eval")
    assert shared.json("stats")["recall"]["count"] == before


def test_an_empty_store_has_nothing_to_ask(tmp_path: Path) -> None:
    done = Shared(tmp_path).here("eval")
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        '{"id": 1}',
        '{"question": "x"}',
        '{"id": 1, "question": "x", "question_date": "soon"}',
        '{"id": 1, "question": "x", "gold": 3}',
    ],
)
def test_a_line_that_is_no_question_is_named(line: str) -> None:
    with pytest.raises(UsageError, match="2"):
        list(read_questions(['{"id": 1, "question": "x"}', line]))


def test_a_file_that_is_not_there_is_a_usage_error(shared: Shared) -> None:
    assert shared.here("eval", "nowhere.jsonl").returncode == 2


# --- the figures ----------------------------------------------------------------------------------


def answered(
    met: list[set[int]], *, wanted: int = 0, scores: tuple[float, ...] = (), ms: float = 1
) -> Answer:
    question = Question("q", "?", gold=(("g",),) * wanted, abstain=not wanted)
    ranked = tuple(("id", score) for score in scores)
    return Answer(question, ranked, tuple(map(frozenset, met)), ms=1)


@pytest.mark.parametrize(
    ("met", "wanted", "expected"),
    [
        ([{0}], 1, {"R@1": 1, "R@5": 1, "nDCG@10": 1, "MRR": 1}),
        ([set(), {0}], 1, {"R@1": 0, "R@5": 1, "nDCG@10": 1 / math.log2(3), "MRR": 0.5}),
        ([{0}, {0}, {1}], 2, {"R@1": 0.5, "R@5": 1, "nDCG@10": 1.5 / (1 + 1 / math.log2(3)), "MRR": 1}),
        ([set()] * 10 + [{0}], 1, {"R@10": 0, "nDCG@10": 0, "MRR": 1 / 11}),
        ([], 1, {"R@1": 0, "R@10": 0, "nDCG@10": 0, "MRR": 0}),
    ],
)
def test_figures_are_those_made_by_hand(met: list[set[int]], wanted: int, expected: dict[str, float]) -> None:
    told = figures([answered(met, wanted=wanted)])
    assert {name: told[name] for name in expected} == pytest.approx(expected)


def test_abstention_is_how_often_an_answer_scores_above_none() -> None:
    known = [answered([{0}], wanted=1, scores=(score,)) for score in (0.9, 0.4)]
    unknown = [answered([set()], scores=(0.4,)), answered([])]
    told = figures([*known, *unknown])
    assert told["abstention"] == pytest.approx(3.5 / 4)
    assert told["empty"] == 0.5


def test_figures_of_nothing_are_unknown() -> None:
    assert {value for name, value in figures([]).items() if name != "questions"} == {None}
