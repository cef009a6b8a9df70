"""What is known of a language: the signs of what is no statement, and the rules of what is one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memcli.text import regex


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of statement: a clause that begins as `pattern` says states it.

    `about` tells what one can have only one of inside a turn ("home"): a correction replaces it.
    """

    about: str
    kind: str
    topic: str
    pattern: re.Pattern[str]
    confidence: float = 0.9


def sign(pattern: str) -> re.Pattern[str]:
    """A pattern that minds no case."""
    return regex(pattern, re.IGNORECASE)


def rules(about: str, kind: str, topic: str, *patterns: str, confidence: float = 0.9) -> list[Rule]:
    """The rules of one kind of statement, a pattern each."""
    return [Rule(about, kind, topic, sign(pattern), confidence) for pattern in patterns]


@dataclass(frozen=True, slots=True)
class Language:
    """The signs and rules of a language. All patterns ignore case.

    `fillers` begin a clause and say nothing; `subject` finds whom a clause is about (`who`), `bare` a
    clause that goes on about the same without naming them.
    """

    name: str
    asks: re.Pattern[str]
    opens_question: re.Pattern[str]
    tag: re.Pattern[str]
    supposes: re.Pattern[str]
    starts_condition: re.Pattern[str]
    jokes: re.Pattern[str]
    reports: re.Pattern[str]
    fiction: re.Pattern[str]
    opens_play: re.Pattern[str]
    opens_scene: re.Pattern[str]
    text_to_work_on: re.Pattern[str]
    back_to_earnest: re.Pattern[str]
    takes_back: re.Pattern[str]
    unsays: re.Pattern[str]
    """A turn that begins so takes back what was said in the turn before."""
    corrects: re.Pattern[str]
    hedges: re.Pattern[str]
    past: re.Pattern[str]
    present: re.Pattern[str]
    fillers: re.Pattern[str]
    endings: re.Pattern[str]
    subject: re.Pattern[str]
    bare: re.Pattern[str]
    remembers: re.Pattern[str]
    rules: Callable[[], tuple[Rule, ...]]
    empty: re.Pattern[str]
    """What a statement may be only about the conversation itself ("I like it", "我喜欢这个")."""
