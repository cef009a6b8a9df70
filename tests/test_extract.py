"""What a person's words state of them, by rules alone: scripted dialogues, and what holds of any text.

A dialogue of tests/data/learning is `{"name", "lang", "said": […], "facts": [[word, …], …]}`: what the
person said in order (`{"assistant": …}` between), and for each fact that should be learned the words
that its text has. Whatever else is learned is wrong. The dialogues of `first` were written before the
rules; on those of `second`, written without looking at them, the rules first had a precision of 0.83 and
a recall of 0.71, and, after they were mended, 0.97 and 0.80 on the unseen ones of `third`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.extract import by_rules
from memcli.types import KINDS, Extracted

DATA = Path(__file__).parent / "data" / "learning"


@cache
def dialogues() -> Sequence[Mapping[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(DATA.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]


def learned(dialogue: Mapping[str, Any]) -> list[Extracted]:
    found: list[Extracted] = []
    previous, earlier = "", []
    for said in dialogue["said"]:
        if isinstance(said, dict):
            previous = said["assistant"]
        else:
            found += by_rules(said, previous=previous, earlier=earlier)
            previous = ""
            earlier.append(said)
    return found


def is_of(fact: Extracted, words: Sequence[str]) -> bool:
    return all(word.casefold() in fact.text.casefold() for word in words)


def test_dialogues_are_enough_and_half_of_them_chinese() -> None:
    languages = [dialogue["lang"] for dialogue in dialogues()]
    assert len(languages) >= 60
    assert languages.count("zh") >= 30
    assert languages.count("en") >= 30


def test_rules_learn_little_that_is_wrong() -> None:
    wrong, total = [], 0
    for dialogue in dialogues():
        facts = learned(dialogue)
        total += len(facts)
        wrong += [fact.text for fact in facts if not any(is_of(fact, words) for words in dialogue["facts"])]
    assert len(wrong) <= 0.05 * total, wrong


def test_rules_learn_most_of_what_is_said() -> None:
    missed, total = [], 0
    for dialogue in dialogues():
        facts = learned(dialogue)
        total += len(dialogue["facts"])
        missed += [words for words in dialogue["facts"] if not any(is_of(fact, words) for fact in facts)]
    assert len(missed) <= 0.4 * total, missed


def test_evidence_is_what_was_said_word_for_word() -> None:
    for dialogue in dialogues():
        said = "\n".join(said for said in dialogue["said"] if isinstance(said, str))
        for fact in learned(dialogue):
            assert fact.evidence in said
            assert fact.kind in KINDS


KINDS_OF = (
    ("My name is Priya", "identity", "name"),
    ("I'm a nurse", "identity", "work"),
    ("I live in Leeds", "identity", "home"),
    ("I'm allergic to peanuts", "identity", "health"),
    ("I prefer Maven over Gradle", "preference", "likes"),
    ("I don't like coriander", "preference", "likes"),
    ("I use Neovim for everything", "preference", "tools"),
    ("We decided to use Postgres", "decision", "decision"),
    ("My daughter Mia is 6", "fact", "family"),
    ("We have two cats", "fact", "pets"),
    ("We're flying to Oslo on 3 May", "fact", "plan"),
    ("我叫林晓", "identity", "name"),
    ("我对海鲜过敏", "identity", "health"),
    ("我喜欢爬山", "preference", "likes"),
    ("我决定用 PostgreSQL", "decision", "decision"),
    ("我們養了兩隻貓", "fact", "pets"),
    ("我下周三要去医院复查", "fact", "plan"),
)


@pytest.mark.parametrize(("said", "kind", "topic"), KINDS_OF)
def test_a_plain_statement_has_its_kind_and_topic(said: str, kind: str, topic: str) -> None:
    assert [(fact.text, fact.kind, fact.topics) for fact in by_rules(f"{said}.")] == [(said, kind, (topic,))]


SAID_AND_STORED = (
    ("hey, i live in Oslo btw", ["I live in Oslo"]),
    ("I'm Tom and work as a nurse", ["I'm Tom", "I work as a nurse"]),
    ("我叫李雷，今年28岁，在杭州上班", ["我叫李雷", "我今年28岁", "我在杭州上班"]),
    ("remember that the key is under the pot!", ["The key is under the pot"]),
    ("I like tea, coffee and cake.", ["I like tea, coffee and cake"]),
)


@pytest.mark.parametrize(("said", "stored"), SAID_AND_STORED)
def test_a_fact_makes_sense_alone(said: str, stored: list[str]) -> None:
    assert [fact.text for fact in by_rules(said)] == stored


def test_what_only_repeats_the_assistant_states_nothing() -> None:
    assert by_rules("I live in Rome", previous="You might say: I live in Rome.") == []


def test_a_part_that_is_played_goes_on_until_it_ends() -> None:
    earlier = ["Let's roleplay, you are a waiter and I'm a guest"]
    assert by_rules("I'm allergic to nuts", earlier=earlier) == []
    assert by_rules("I'm allergic to nuts", earlier=[*earlier, "ok stop"]) != []


def test_injected_memories_state_nothing() -> None:
    assert by_rules("<memories>\nI live in Rome.\n</memories>\nwhere do I live?") == []


HOSTILE = (
    "我跟" * 4_000, "I really " * 800, "I am a " + "very " * 1_500, "a, " * 2_600, "a" * 8_000, "(" * 8_000,
    "\n" * 8_000, "<a>" * 2_600, "```" * 2_600, '"' * 8_000, "I'm a " + "a " * 3_900 + "er", "，" * 8_000,
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:8]))
def test_text_made_to_be_slow_is_read_and_states_nothing(text: str) -> None:
    assert by_rules(text) == []


@given(st.text(max_size=300))
def test_any_text_gives_facts_that_stand_in_it(text: str) -> None:
    assert all(fact.evidence in text for fact in by_rules(text))
