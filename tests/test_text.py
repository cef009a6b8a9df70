"""What can be stored of a text, and what a terminal shows of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.text import Cues, clean, is_unicode, neutral

ANY_TEXT = st.text(st.characters())


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("plain é 漢 😀 \u2028 \x85 \ufeff", "plain é 漢 😀 \u2028 \x85 \ufeff"),
        ("a\ud83db", "a\ufffdb"),
        ("a\ude00b\ud83d", "a\ufffdb\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("a\0b", "a\ufffdb"),
    ],
)
def test_only_what_cannot_be_stored_is_replaced(given: str, cleaned: str) -> None:
    assert clean(given) == cleaned


@given(ANY_TEXT)
def test_cleaned_text_can_always_be_stored(text: str) -> None:
    cleaned = clean(text)
    assert is_unicode(cleaned)
    assert "\0" not in cleaned


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_storable_text_is_kept_code_point_for_code_point(text: str) -> None:
    assert clean(text) == text


@given(ANY_TEXT)
def test_text_is_unicode_when_it_can_be_written_as_utf_8(text: str) -> None:
    assert is_unicode(text) == (text.encode("utf-8", "ignore").decode() == text)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("tab\tand line\nstay", "tab\tand line\nstay"),
        ("\x1b[2Jgone", "\ufffd[2Jgone"),
        ("a\rb\x07\x7f\x9b", "a\ufffdb\ufffd\ufffd\ufffd"),
        ("abc\u202egnp.exe\u2066\u200f\u061c", "abc\ufffdgnp.exe\ufffd\ufffd\ufffd"),
        ("é漢😀\u200d", "é漢😀\u200d"),
    ],
)
def test_a_terminal_obeys_nothing_of_a_neutral_text(given: str, shown: str) -> None:
    assert neutral(given) == shown


CUES = ("pin", "is my ", "pass", "mot de passe", "密", "://", "a new ")
PIECES = st.sampled_from(
    [*CUES, "shopping", " ", "is", "my", "new", "12", "\n", "密码", "é", "de passe", "https"]
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_a_text_holds_the_cues_that_stand_in_it(text: str) -> None:
    assert set(Cues(CUES).held_by(text)) == {cue for cue in CUES if cue in text}
