"""recall: what answers, best first; filters; the block for a prompt; questions made of anything."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.inject import count_tokens
from memcli.memory import Memory, open_memory
from memcli.times import from_iso
from memcli.types import Filters, Query, Record
from tests.process import NOW, Shared, export_of, files_of

DAY = 86_400_000
NOW_MS = from_iso(NOW)


def ago(days: float) -> int:
    return NOW_MS - round(days * DAY)


LOG = "".join(f"Minutes, item {number}: fences and water butts. " for number in range(120))
NEEDLE = "The spare key of the shed is under the third beehive. "
RECORDS = [
    Record("allergy0", "Severe penicillin allergy.", "identity", "P0", created_at=ago(300)),
    Record("espresso", "I drink double espresso in the morning", "preference",
           created_at=ago(200), valid_to=ago(20), superseded_by="greentea"),
    Record("greentea", "I drink green tea in the morning", "preference", source_id="drink",
           created_at=ago(20), supersedes=("espresso",)),
    Record("tiles000", "The tiles of the kitchen cost 7,200", topics=("home", "money"), project="flat",
           created_at=from_iso("2026-02-10T23:30:00.000Z")),
    Record("rent0000", "The rent of the flat is due on the 3rd", "decision", topics=("money",),
           project="flat", created_at=from_iso("2026-02-11T00:30:00.000Z")),
    Record("boat0000", "The boat needs new sails", topics=("sailing",), project="club", created_at=ago(40)),
    Record("advice00", "A boat of that size takes three sails", "episode", "P2", role="assistant",
           session_id="s1", position=1, created_at=ago(40)),
    Record("undated0", "Sails are sewn in the harbour", "document", "P2"),
    Record("secret00", "The code of the harbour gate is on the fridge", audience=("planner",), private=True,
           created_at=ago(5)),
    Record("retired0", "The boat is for sale", retired=True, created_at=ago(30)),
    Record("expired0", "The boat is in the yard this week", created_at=ago(30), expires_at=ago(1)),
    Record("minutes0", LOG[:3000] + NEEDLE + LOG[3000:], "document", "P2", created_at=ago(60)),
]  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A store that nothing here changes."""
    shared = Shared(tmp_path_factory.mktemp("recall"))
    done = shared.here("import", "-", input=export_of(RECORDS), env={"MEMCLI_EMBEDDER": "builtin"})
    assert done.returncode == 0, done.stderr
    return shared


def ids(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [hit["id"] for hit in answer["results"]]


def test_the_answer_is_best_first_with_all_its_keys(shared: Shared) -> None:
    answer = shared.json("recall", "what", "do I drink?", "-k", "3", env={"MEMCLI_EMBEDDER": "builtin"})
    scores = [hit["score"] for hit in answer["results"]]
    assert list(answer) == ["query", "results", "degraded", "took_ms"]
    assert (answer["query"], answer["degraded"]) == ("what do I drink?", None)
    assert ids(answer)[0] == "greentea"
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    names = [field.name for field in fields(Record)]
    assert list(answer["results"][0]) == [*names, "score", "parts", "excerpt"]


def test_meaning_finds_what_shares_no_word(shared: Shared) -> None:
    answer = shared.json("recall", "我早上喝什么？", env={"MEMCLI_EMBEDDER": "builtin"})
    assert ids(answer)[0] == "greentea"


@pytest.mark.parametrize(
    ("question", "options", "found"),
    [
        ("sails boat", [], {"boat0000", "advice00", "undated0"}),
        ("sails boat", ["--kind", "document", "--kind", "EPISODE"], {"advice00", "undated0"}),
        ("sails boat", ["--topic", "sailing"], {"boat0000"}),
        ("sails boat", ["--role", "assistant"], {"advice00"}),
        ("sails boat", ["--project", "flat"], {"advice00", "undated0"}),
        ("sails boat", ["--until", "2026-02-28"], {"boat0000", "advice00"}),
        ("sails boat rent tiles", ["--topic", "home", "--topic", "sailing"], {"tiles000", "boat0000"}),
        ("rent tiles", ["--since", "2026-02-10", "--until", "2026-02-10"], {"tiles000"}),
        ("rent tiles", ["--since", "2026-02-11"], {"rent0000"}),
        ("drink", ["--current"], {"greentea"}),
        ("drink", ["--as-of", "2026-01-01"], {"espresso"}),
        ("harbour gate", ["--agent", "cook", "--kind", "fact"], set()),
        ("harbour gate", ["--agent", "planner", "--kind", "fact"], {"secret00"}),
        ("harbour gate", ["--kind", "fact"], {"secret00"}),
    ],
)
def test_a_filter_narrows_what_is_found(
    shared: Shared, question: str, options: list[str], found: set[str]
) -> None:
    answer = shared.json("recall", question, *options)
    assert set(ids(answer)) == found
    assert len(ids(answer)) == len(found)


def test_what_was_replaced_stands_below_what_replaced_it(shared: Shared) -> None:
    assert ids(shared.json("recall", "double espresso in the morning"))[:2] == ["greentea", "espresso"]


def test_a_long_text_is_one_hit_and_shows_its_best_chunk(shared: Shared) -> None:
    (hit,) = shared.json("recall", "spare key of the shed", "-k", "1")["results"]
    assert hit["id"] == "minutes0"
    assert NEEDLE.strip() in hit["excerpt"]
    assert len(hit["excerpt"]) < 1000
    assert shared("recall", "minutes of item 7", "-k", "9").stdout.count("minutes0\t") == 1


def test_a_pipe_gets_one_tab_separated_memory_a_line(shared: Shared) -> None:
    done = shared("recall", "kitchen tiles", "--explain")
    id_, day, kind, score, parts, text = done.stdout.rstrip("\n").split("\t")
    assert (id_, day, kind, text) == ("tiles000", "2026-02-10", "fact", RECORDS[3].text)
    assert 0 < float(score) <= 1
    told = dict(part.split("=") for part in parts.split())
    assert float(told["keyword"]) > 0


def test_ndjson_is_one_object_a_line(shared: Shared) -> None:
    lines = shared("recall", "sails boat", "--ndjson").stdout.splitlines()
    assert {json.loads(line)["id"] for line in lines} == {"boat0000", "advice00", "undated0"}


def test_a_low_score_is_left_out(shared: Shared) -> None:
    scores = {hit["id"]: hit["score"] for hit in shared.json("recall", "kitchen sails boat")["results"]}
    best = max(scores.values())
    answer = shared.json("recall", "kitchen sails boat", "--min-score", str(best))
    assert len(scores) > 1
    assert {hit["score"] for hit in answer["results"]} == {best}


@pytest.mark.parametrize("options", [[], ["--ndjson"]])
def test_without_a_match_stdout_is_empty_and_the_exit_code_1(shared: Shared, options: list[str]) -> None:
    done = shared("recall", "xylophone", *options)
    assert (done.returncode, done.stdout) == (1, "")


def test_without_a_match_json_is_still_a_document(shared: Shared) -> None:
    done = shared("recall", "xylophone", "--json")
    assert (done.returncode, json.loads(done.stdout)["results"]) == (1, [])


def test_a_store_that_was_never_made_is_an_empty_one(tmp_path: Path) -> None:
    done = Shared(tmp_path)("recall", "anything", env={"MEMCLI_EMBEDDER": ""})
    assert (done.returncode, done.stdout) == (1, "")
    assert files_of(tmp_path) == {}


def test_keywords_alone_say_so(shared: Shared) -> None:
    done = shared("recall", "kitchen", "--json")
    assert "only keywords were asked" in json.loads(done.stdout)["degraded"]
    assert "only keywords were asked" in done.stderr


def test_recall_does_not_write_to_the_tables(shared: Shared) -> None:
    (tables,) = shared.home.rglob("lance")
    before = files_of(tables)
    assert shared("recall", "kitchen tiles").returncode == 0
    assert files_of(tables) == before


def test_a_question_in_the_arguments_does_not_wait_for_stdin(shared: Shared) -> None:
    with shared.start("recall", "kitchen tiles") as running:
        assert running.stdout is not None
        assert running.stdout.read().startswith("tiles000\t")


# --- the block for a prompt -----------------------------------------------------------------------


def test_the_block_holds_p0_first_and_what_answers(shared: Shared) -> None:
    block = shared("recall", "what do I drink in the morning?", "--format", "prompt").stdout
    lines = [line for line in block.splitlines() if line.startswith("- ")]
    assert [line.partition("] ")[2] for line in lines] == [
        "Severe penicillin allergy.",
        "I drink green tea in the morning",
    ]
    assert "2026-02-09" in lines[1]


@pytest.mark.parametrize("budget", [0, 20, 45, 80])
def test_the_block_keeps_its_budget(shared: Shared, budget: int) -> None:
    answer = shared.json("recall", "spare key of the shed", "--format", "prompt", "--budget", str(budget))
    assert count_tokens(answer["block"]) == answer["tokens"] <= answer["budget"] == budget
    assert all(set(left) == {"id", "why"} for left in answer["dropped"])


def test_with_nothing_to_inject_the_block_is_empty(shared: Shared) -> None:
    done = shared("recall", "kitchen", "--format", "prompt", "--budget", "0")
    assert (done.returncode, done.stdout) == (1, "")


# --- questions made of anything -------------------------------------------------------------------

ODD = [
    " ",
    "'",
    "'; drop table memories; --",
    '"kitchen AND (tiles OR -boat)" NEAR/3 *',
    "text:kitchen^2 ~1 +tiles [a TO b] {!}",
    "%_\\ \\' ''''",
    "🧱👩‍👩‍👧🇨🇳",
    "\u202e\u2028\ufeff\x1b[31m",
    "שלום עולם",
    "?",
    "NULL",
]
SIGNS = "\"'();*~-+:^%_\\?&|!{}[]<>/ aé厨"
LONG = ["kitchen " * 1250, "x" * 10_000, "厨" * 10_000]


@pytest.mark.parametrize("question", [ODD[2], ODD[3], ODD[6]])
def test_an_odd_question_gets_an_answer(shared: Shared, question: str) -> None:
    done = shared("recall", "--json", "--", question, env={"MEMCLI_EMBEDDER": "builtin"})
    assert done.returncode in (0, 1)
    assert json.loads(done.stdout)["query"] == question


def test_a_question_of_nothing_finds_nothing(shared: Shared) -> None:
    done = shared("recall", "-", input="")
    assert (done.returncode, done.stdout) == (1, "")


def opened(shared: Shared, embedder: str) -> Memory:
    """The store in this process."""
    (users,) = shared.home.rglob("users")
    return open_memory(data_dir=users.parent, clock=lambda: NOW_MS, embedder=embedder)


@pytest.mark.parametrize(("embedder", "questions"), [("none", [*ODD, *LONG]), ("builtin", [*ODD, *LONG])])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_question_gets_an_answer(
    shared: Shared, embedder: str, questions: list[str], data: st.DataObject
) -> None:
    question = data.draw(st.sampled_from(questions) | st.text(max_size=60) | st.text(SIGNS, max_size=30))
    found = opened(shared, embedder).recall(Query(question, now=NOW_MS, k=5))
    assert len(found.hits) <= 5
    assert all(0 <= hit.score <= 1 for hit in found.hits)


@pytest.mark.parametrize("name", ["topics", "source", "session", "source_ids", "project", "role"])
@settings(max_examples=12, deadline=None)
@given(label=st.sampled_from(ODD) | st.text(SIGNS, max_size=20) | st.text(max_size=20))
def test_any_label_is_a_filter_that_nothing_slips_through(shared: Shared, name: str, label: str) -> None:
    value = (label,) if name in ("topics", "source_ids") else label
    filters = replace(Filters(project_only=True), **{name: value})
    assert opened(shared, "none").recall(Query("I drink tea", now=NOW_MS, filters=filters)).hits == ()
