"""Words of time in a question, and the days that they mean."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.times import from_iso, to_iso
from memcli.timewords import dated, spans

SUNDAY = from_iso("2026-11-29T10:00:00.000Z")


def days(text: str) -> list[tuple[str, str]]:
    """The first and the last day of each span, the year left out where it is 2026."""
    found = spans(text, now=SUNDAY, tz=UTC)
    return [tuple(to_iso(at)[:10].removeprefix("2026-") for at in (span.start, span.end)) for span in found]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did I say yesterday?", "11-28", "11-28"),
        ("What did I eat last night?", "11-28", "11-28"),
        ("Where was I the day before yesterday?", "11-27", "11-27"),
        ("What did I do last week about the budget?", "11-16", "11-22"),
        ("and this month?", "11-01", "11-30"),
        ("Who called last Friday?", "11-27", "11-27"),
        ("What happened on Wednesday?", "11-25", "11-25"),
        ("last weekend", "11-21", "11-22"),
        ("3 days ago", "11-26", "11-26"),
        ("two weeks ago", "11-12", "11-18"),
        ("What did I read in the past two weeks?", "11-15", "11-29"),
        ("On May 4th, what did I buy?", "05-04", "05-04"),
        ("the 4 May meeting", "05-04", "05-04"),
        ("on 4 May 2023", "2023-05-04", "2023-05-04"),
        ("on December 1,2023", "2023-12-01", "2023-12-01"),
        ("on 2023-05-04", "2023-05-04", "2023-05-04"),
        ("in December", "2025-12-01", "2025-12-31"),
        ("in early March", "03-01", "03-10"),
        ("at the end of April", "04-21", "04-30"),
        ("in October 2023", "2023-10-01", "2023-10-31"),
        ("in 2023", "2023-01-01", "2023-12-31"),
        ("between August 11 and August 15", "08-11", "08-15"),
        ("我昨天做了什么？", "11-28", "11-28"),
        ("昨晚吃了什么", "11-28", "11-28"),
        ("前天呢", "11-27", "11-27"),
        ("上周三我去哪了", "11-18", "11-18"),
        ("周三的会", "11-25", "11-25"),
        ("上周说的预算", "11-16", "11-22"),
        ("上周末", "11-21", "11-22"),
        ("上个月花了多少", "10-01", "10-31"),
        ("三天前", "11-26", "11-26"),
        ("最近两周", "11-15", "11-29"),
        ("三月初我做了什么", "03-01", "03-10"),
        ("十一月二十号", "11-20", "11-20"),
        ("在5月4日这天", "05-04", "05-04"),
        ("2023年5月的旅行", "2023-05-01", "2023-05-31"),
        ("去年", "2025-01-01", "2025-12-31"),
        ("十月一日到十月三日", "10-01", "10-03"),
        ("on the morning of 2026-03-01", "03-01", "03-01"),
        ("last summer", "06-01", "08-31"),
        ("in the winter of 2023", "2023-12-01", "2024-02-29"),
        ("last winter", "2025-12-01", "02-28"),
        ("a few days ago", "11-15", "11-29"),
        ("in the past few weeks", "09-30", "11-29"),
        ("去年夏天去了哪里", "2025-06-01", "2025-08-31"),
        ("去年年底", "2025-11-01", "2025-12-31"),
        ("今年年初", "01-01", "02-28"),
        ("几天前", "11-15", "11-29"),
    ],
)
def test_words_of_time_mean_these_days(text: str, first: str, last: str) -> None:
    assert days(text) == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        "May I go in?",
        "What may I eat?",
        "Where is the march?",
        "What do I like to do in summer?",
        "Who fell in the fall?",
        "几天后开会",
        "What is my name?",
        "blood pressure 141/92",
        "room 2024",
        "the last bus",
        "第三个月",
        "三个月大的猫",
        "每周三都有课",
        "我的生日",
        "on 31 February",
        "",
    ],
)
def test_other_words_mean_no_time(text: str) -> None:
    assert days(text) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I fly to Oslo next Friday", "I fly to Oslo next Friday (2026-12-04)"),
        (
            "We move next month, and rest next weekend",
            "We move next month (2026-12), and rest next weekend (2026-12-05 – 2026-12-06)",
        ),
        ("I start next year", "I start next year (2027)"),
        ("I'm away this week", "I'm away this week (2026-11-23 – 2026-11-29)"),
        ("我下周三要去医院", "我下周三（2026-12-02）要去医院"),
        ("我们下个月搬家", "我们下个月（2026-12）搬家"),
        ("I fly next Friday, 4 December", "I fly next Friday, 4 December"),
        ("I fly on Friday", "I fly on Friday"),
        ("I like tea", "I like tea"),
        ("", ""),
    ],
)
def test_a_day_that_is_told_by_another_is_written_out(text: str, told: str) -> None:
    assert dated(text, now=SUNDAY, tz=UTC) == told


@given(
    st.lists(
        st.sampled_from(["I fly", "next week", "tomorrow", "下周三", "明年", "on 3 May", "，", "本月"])
    ).map(" ".join)
)
def test_writing_a_date_out_adds_it_once_and_changes_no_word(text: str) -> None:
    told = dated(text, now=SUNDAY, tz=UTC)
    assert re.sub(r" \([^)]*\)|（[^）]*）", "", told) == text
    assert dated(told, now=SUNDAY, tz=UTC) == told


def test_a_date_outweighs_words_that_count_from_today() -> None:
    assert days("What was the issue last week, as told on 6 November?") == [("11-06", "11-06")]


def test_days_are_those_of_the_zone() -> None:
    (yesterday,) = spans("昨天", now=from_iso("2026-11-28T20:00:00.000Z"), tz=timezone(timedelta(hours=8)))
    assert to_iso(yesterday.start) == "2026-11-27T16:00:00.000Z"


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(["last week", "on", "31 May", "2023", "前", "天", "上", "周", "三", "月", "9", "ago"])
    ).map(" ".join)
)
def test_any_text_gives_spans_that_run_forward(text: str) -> None:
    assert all(span.start <= span.end for span in spans(text, now=SUNDAY, tz=UTC))


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"])
def test_end_of_the_calendar_is_no_error(at: str) -> None:
    for text in ("last weekend", "on Friday", "2 years ago", "on 4 May", "上周三", "昨天"):
        assert len(spans(text, now=from_iso(at), tz=timezone(timedelta(hours=-8)))) <= 1
        assert dated(text, now=from_iso(at), tz=timezone(timedelta(hours=-8))).startswith(text[:1])
