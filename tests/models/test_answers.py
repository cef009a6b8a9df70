"""Answers taken apart: thinking in tags however it is cut, and values that do not fit a schema."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.models.answers import without_tags
from memcli.models.schema import misfit
from memcli.types import Answered, Piece

END = Answered(1, 1)
SCRAPS = st.lists(
    st.sampled_from(["<think>", "</think>", "<", "</", "th", "ink>", " ", "\n", "a", "思", ">"])
)


def parted(pieces: Sequence[str]) -> list[tuple[bool, str]]:
    """What is thought and what is said, in their order, each run in one."""
    told = list(without_tags([*map(Piece, pieces), END]))
    assert told.pop() == END
    parts = [part for part in told if isinstance(part, Piece)]
    runs = groupby(parts, key=lambda part: part.is_thinking)
    return [(is_thinking, "".join(part.text for part in run)) for is_thinking, run in runs]


@given(SCRAPS, st.sets(st.integers(1, 60)))
def test_it_is_the_same_however_the_text_is_cut(scraps: list[str], cuts: set[int]) -> None:
    text = "".join(scraps)
    at = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    assert parted([text[start:end] for start, end in pairwise(at)]) == parted([text])


@given(SCRAPS)
def test_what_does_not_begin_with_thinking_is_said_as_it_is(scraps: list[str]) -> None:
    text = "Well, " + "".join(scraps)
    assert parted([text]) == [(False, text)]


def test_an_answer_is_not_held_back() -> None:
    stream = without_tags([Piece("<"), Piece("b>"), Piece("x"), END])
    assert [next(stream), next(stream)] == [Piece("<b>"), Piece("x")]


FACT = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["fact", "preference"]},
        "text": {"type": "string", "minLength": 1, "maxLength": 5},
        "topics": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "sure": {"type": "number", "minimum": 0, "maximum": 1},
        "until": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "private": {"type": ["boolean", "null"]},
    },
    "required": ["kind"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "fact"},
        {
            "kind": "fact",
            "text": "茶茶茶茶茶",
            "topics": ["a", "b"],
            "sure": 1,
            "until": None,
            "private": None,
        },
        {"kind": "preference", "sure": 0.5, "until": 10**400, "private": False},
    ],
)
def test_what_fits_a_schema_has_no_misfit(value: object) -> None:
    assert misfit(value, FACT) is None


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([], "the answer is not of type object"),
        ({}, "the answer has no kind"),
        ({"kind": "joke"}, "kind is none of fact, preference"),
        ({"kind": ["fact"]}, "kind is not of type string"),
        ({"kind": "fact", "more": 1}, "the answer has fields that were not asked for"),
        ({"kind": "fact", "text": ""}, "text is shorter than 1"),
        ({"kind": "fact", "text": "secret"}, "text is longer than 5"),
        ({"kind": "fact", "topics": []}, "topics is shorter than 1"),
        ({"kind": "fact", "topics": ["a", "b", "c"]}, "topics is longer than 2"),
        ({"kind": "fact", "topics": ["a", 2]}, "item 2 of topics is not of type string"),
        ({"kind": "fact", "sure": True}, "sure is not of type number"),
        ({"kind": "fact", "sure": 1.01}, "sure is more than 1"),
        ({"kind": "fact", "sure": -(10**400)}, "sure is less than 0"),
        ({"kind": "fact", "until": 1.5}, "until is not of type integer"),
        ({"kind": "fact", "until": True}, "until is not of type integer"),
        ({"kind": "fact", "private": 0}, "private is not of type boolean or null"),
    ],
)
def test_a_misfit_is_named_without_its_value(value: Any, fault: str) -> None:
    assert misfit(value, FACT) == fault
