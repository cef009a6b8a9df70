"""Passages cover their text, terms meet in question and memory, dates become words."""

from __future__ import annotations

import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.passages import (
    as_grams,
    as_words,
    date_words,
    folded,
    is_unspaced,
    passages,
    query_terms,
    terms,
    with_lone,
)

LONG_TEXTS = st.text(st.sampled_from("ab .。\n\té\u0301\u200d👩🏽汉字"), min_size=0, max_size=3000)
SENTENCE = "The committee met in the hall and talked about the fence again. "


# --- passages -------------------------------------------------------------------------------------


def test_text_of_700_characters_is_one_passage() -> None:
    assert [part.text for part in passages("x" * 700)] == ["x" * 700]


def test_empty_text_is_one_empty_passage() -> None:
    assert [(part.start, part.end) for part in passages("")] == [(0, 0)]


@given(LONG_TEXTS)
def test_passages_cover_every_character_in_order(text: str) -> None:
    parts = passages(text)
    assert [part.ordinal for part in parts] == list(range(len(parts)))
    assert all(part.text == text[part.start : part.end] for part in parts)
    assert (parts[0].start, parts[-1].end) == (0, len(text))
    assert all(before.start < after.start < before.end for before, after in pairwise(parts))


@given(LONG_TEXTS)
def test_no_passage_is_longer_than_what_may_stay_whole(text: str) -> None:
    assert all(part.end - part.start <= 700 for part in passages(text))


def test_prose_is_cut_between_sentences() -> None:
    for part in passages(SENTENCE * 40):
        assert part.text.startswith("The committee")
        assert part.text.rstrip().endswith("again.")


def test_chinese_prose_is_cut_between_sentences() -> None:
    parts = passages("我们今天又去了河边的花园，看见许多人在那里散步。" * 60)
    assert all(part.text.startswith("我们") and part.text.endswith("。") for part in parts)


def test_code_is_cut_at_blank_lines_first() -> None:
    function = "def step(x):\n    y = x + 1\n    return y * 2.5\n\n"
    assert all(part.text.startswith("def step") for part in passages(function * 40))


def test_neighbouring_passages_share_some_text() -> None:
    parts = passages(SENTENCE * 40)
    shared = [before.end - after.start for before, after in pairwise(parts)]
    assert all(20 <= chars <= 120 for chars in shared)


@pytest.mark.parametrize("cluster", ["e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "की"])
def test_hard_cut_does_not_split_what_is_seen_as_one_character(cluster: str) -> None:
    for part in passages(cluster * 800):
        assert part.text[0] == cluster[0]
        assert not unicodedata.combining(part.text[0])


@pytest.mark.parametrize("piece", ["a", "word ", "汉", " ", "\n", "One sentence. ", "e\u0301"])
def test_megabyte_is_cut_and_read_within_a_second(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    passages(text)
    assert time.process_time() - began < 1


# --- terms ----------------------------------------------------------------------------------------

MEETING = (
    # what is asked, what the memory says
    ("boxes", "a box"),
    ("moving", "we moved"),
    ("Did she move?", "moving house"),
    ("movies", "a movie"),
    ("stories", "a story"),
    ("running", "I run"),
    ("dishes", "the dish"),
    ("cafe", "a Café"),
    ("ＣＡＦＥ", "cafe"),
    ("on May 4th", "4 May"),
    ("email", "e-mail"),
    ("rolling_median", "rollingMedian(xs)"),
    ("median", "rolling_median"),
    ("github", "GitHub"),
    ("1284.50", "1,284.50"),
    ("E0502", "error[E0502]: cannot borrow"),
    ("ring.rs", "src/ring.rs"),
    ("INV-20260917", "Invoice inv-20260917 was paid"),
    ("brother's", "my brother"),
    ("限行", "周四限行"),
    ("我的车", "这辆车"),
    ("25号", "11月25日"),
    ("서울", "서울에서"),
    ("東京", "東京都"),
    ("हिन्दी", "मुझे हिन्दी आती है"),
)


@pytest.mark.parametrize(("asked", "said"), MEETING)
def test_question_meets_memory(asked: str, said: str) -> None:
    assert set(query_terms(asked)) & set(terms(said))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Will Lisbon", "Li"),
        ("2.3.1", "version 231"),
        ("What is the bus number?", "this business"),
        ("光合作用的公式是什么？", "他是什么的"),
        ("is it the one", "the other is in it"),
    ],
)
def test_question_does_not_meet_memory(asked: str, said: str) -> None:
    assert not set(query_terms(asked)) & set(terms(said))


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        ("2.3.1", "2 3 1"),
        ("141/92", "141 92"),
        ("inv-20260917", "inv 20260917"),
        ("src/ring.rs", "src ring rs"),
    ],
)
def test_what_is_joined_is_one_term_and_its_parts(whole: str, parts: str) -> None:
    first, *rest = terms(whole)
    assert first in (whole, whole.replace("/", "").replace(".", ""))
    assert rest == parts.split()


def test_chinese_gives_characters_and_pairs() -> None:
    assert terms("周四限行") == ["周", "四", "限", "行", "周四", "四限", "限行"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Who are you?",
        "What is it about?",
        "Hello!",
        "Good morning",
        "Thanks.",
        "你好",
        "早上好！",
        "我是谁",
    ],
)
def test_question_of_stop_words_has_no_terms(text: str) -> None:
    assert query_terms(text) == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Erkläre mir die Fotosynthese", ["erklar", "fotosynthes"]),
        ("¿Cuál es la capital de Australia?", ["capital", "australia"]),
        ("Où est la clé de la cave ?", ["cle", "cav"]),
        ("Что я купил для бабушки?", ["купил", "бабушки"]),
        ("When did my grandma die?", ["grandma", "die"]),
        ("Die Hard", ["die", "hard"]),
    ],
)
def test_stop_words_are_those_of_the_language_of_a_question(text: str, left: list[str]) -> None:
    assert query_terms(text) == left


@given(st.text(max_size=300))
def test_terms_are_never_empty_strings(text: str) -> None:
    assert "" not in terms(text)
    assert "" not in query_terms(text)


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_terms_do_not_depend_on_case_of_plain_words(text: str) -> None:
    assert terms(text.upper()) == terms(text.upper().lower())


@given(st.text(max_size=200))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@pytest.mark.parametrize(("text", "form"), [("ＡＢＣ", "abc"), ("Straße", "strasse"), ("ｶﾞ", "ガ")])
def test_folded_form(text: str, form: str) -> None:
    assert folded(text) == form


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我对花生过敏", True),
        ("What food?", False),
        ("用 Python 写的 rolling_median 函数", False),
        ("", False),
    ],
)
def test_script_without_spaces_is_known(text: str, *, expected: bool) -> None:
    assert is_unspaced(text) is expected


# --- dates ----------------------------------------------------------------------------------------


def test_date_words_of_a_day() -> None:
    assert date_words(1_795_600_800_000) == (
        "25 november 2026 wednesday 2026-11-25 2026年11月25日 十一月 星期三 周三"
    )


@pytest.mark.parametrize(
    "asked", ["25 November", "Wednesday", "in 2026", "2026-11-25", "11月25日", "十一月", "上周三"]
)
def test_date_is_met_by_its_words(asked: str) -> None:
    assert set(query_terms(asked)) & set(terms(date_words(1_795_600_800_000)))


def test_moment_before_1970_has_words() -> None:
    assert date_words(-1).startswith("31 december 1969")


@pytest.mark.parametrize("at", [10**18, -(10**18), 10**30])
def test_moment_out_of_the_calendar_has_no_words(at: int) -> None:
    assert date_words(at) == ""


@given(st.lists(st.text(st.sampled_from("abi 7C.,:'-’é汉\n"), max_size=20), max_size=20))
def test_many_texts_are_made_words_like_each_of_them(texts: list[str]) -> None:
    grams = [*map(as_grams, texts), *[""] * 200]
    assert with_lone(grams)[: len(texts)] == list(map(as_words, texts))
