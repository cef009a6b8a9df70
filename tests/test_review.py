"""What is unclear waits for a yes or a no: what is asked, and what each answer does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memcli.memory import Memory, open_memory
from memcli.types import Selection
from tests.process import Shared
from tests.test_learn import Clock, facts, say


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return open_memory(data_dir=tmp_path, clock=Clock(), embedder="none")


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared(tmp_path)


def test_a_contradiction_is_asked_and_not_stored(memory: Memory) -> None:
    say(memory, "My car is a Fiat.")
    learned = say(memory, "My car is a Volvo.")
    assert learned.added == ()
    [proposal] = memory.proposals()
    assert (proposal.extracted.text, proposal.why) == (
        "My car is a Volvo",
        "it does not go with: My car is a Fiat",
    )
    assert memory.stats()["pending"]["review"] == 1


def asked(memory: Memory) -> Any:
    say(memory, "My car is a Fiat.", "My car is a Volvo.")
    return memory.proposals()[0]


def test_a_yes_takes_the_place_of_the_old_fact(memory: Memory) -> None:
    done = memory.accept(asked(memory))
    assert [record.text for record in done.superseded] == ["My car is a Fiat"]
    assert (facts(memory), list(memory.proposals())) == (["My car is a Volvo"], [])


def test_a_yes_in_other_words_stores_those(memory: Memory) -> None:
    memory.accept(asked(memory), text="I drive a Fiat and a Volvo")
    assert facts(memory) == ["I drive a Fiat and a Volvo"]


def test_a_no_leaves_all_as_it_is(memory: Memory) -> None:
    memory.reject(asked(memory))
    assert (facts(memory), list(memory.proposals())) == (["My car is a Fiat"], [])


def test_after_a_never_the_like_is_not_asked_again(memory: Memory) -> None:
    memory.reject(asked(memory), never=True)
    say(memory, "My car really is a Volvo!")
    assert (facts(memory), list(memory.proposals())) == (["My car is a Fiat"], [])


def test_forgetting_the_turn_takes_the_question(memory: Memory) -> None:
    proposal = asked(memory)
    memory.erase(memory.plan_forget(Selection(ids=proposal.said_in)))
    assert list(memory.proposals()) == []


# --- the command ----------------------------------------------------------------------------------


def contradicted(shared: Shared) -> str:
    shared.json("remember", "--extract", "My car is a Fiat")
    shared.json("remember", "--extract", "My car is a Volvo")
    [row] = shared.json("review")["review"]
    assert isinstance(row["id"], str)
    return row["id"]


def test_review_lists_what_waits(shared: Shared) -> None:
    id_ = contradicted(shared)
    [row] = shared.json("review")["review"]
    assert (row["text"], row["evidence"]) == ("My car is a Volvo", "My car is a Volvo")
    assert shared.here("review").stdout.split("\t")[::2] == [id_, "My car is a Volvo"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--accept"],
            {"added": ["My car is a Volvo"], "superseded": ["My car is a Fiat"]},
        ),
        (
            ["--text", "I drive a Fiat and a Volvo", "--accept"],
            {"added": ["I drive a Fiat and a Volvo"], "superseded": ["My car is a Fiat"]},
        ),
        (["--reject"], {"added": [], "superseded": []}),
        (["--never"], {"added": [], "superseded": []}),
    ],
)
def test_review_decides_without_a_terminal(
    shared: Shared, options: Sequence[str], expected: Mapping[str, Any]
) -> None:
    id_ = contradicted(shared)
    done = shared.json("review", *options, id_[:6])
    assert {name: [record["text"] for record in done[name]] for name in expected} == expected
    assert done["rejected"] == ([id_] if options[0] in ("--reject", "--never") else [])
    assert shared.json("review")["review"] == []


def test_review_refuses_what_does_not_wait_or_is_not_clear(shared: Shared) -> None:
    assert shared.here("review", "--accept", "zzzz").returncode == 1
    assert shared.here("review", "--text", "x", "--reject", "zzzz").returncode == 2


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("y\n", "remembered"),
        ("n\n", "rejected"),
        ("never\n", "rejected"),
        ("e\nI drive a Fiat and a Volvo\n", "remembered"),
    ],
)
def test_review_asks_on_a_terminal(shared: Shared, typed: str, told: str) -> None:
    contradicted(shared)
    code, shown = shared.on_terminal("review", typed=typed, after="leave:")
    assert code == 0
    assert "it does not go with: My car is a Fiat" in shown
    assert told in shown
    assert shared.json("review")["review"] == []


def test_a_question_may_be_left_for_later(shared: Shared) -> None:
    contradicted(shared)
    shared.on_terminal("review", typed="q\n", after="leave:")
    assert len(shared.json("review")["review"]) == 1
