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
        ("Where was I on New Year's Day?", "01-01", "01-01"),
        ("Where did we go for Christmas last year?", "2025-12-24", "2025-12-26"),
        ("What did I buy in May last year?", "2025-05-01", "2025-05-31"),
        ("last year in May", "2025-05-01", "2025-05-31"),
        ("What did I spend between June and August?", "06-01", "08-31"),
        ("What did I do over the weekend?", "11-28", "11-29"),
        ("What did I eat Monday?", "11-23", "11-23"),
        ("Who called Tuesday morning?", "11-24", "11-24"),
        ("a fortnight ago", "11-11", "11-19"),
        ("half a year ago", "04-14", "07-13"),
        ("How much did I earn in Q3?", "07-01", "09-30"),
        ("in the first half of the year", "01-01", "06-30"),
        ("去年国庆我去了哪里", "2025-10-01", "2025-10-07"),
        ("前年五一", "2024-05-01", "2024-05-05"),
        ("双十一买了什么", "11-11", "11-11"),
        ("第三季度的销量", "07-01", "09-30"),
        ("上半年看了几本书", "01-01", "06-30"),
        ("月初交的房租", "11-01", "11-10"),
        ("半个月前", "11-11", "11-19"),
        ("22号我去哪儿了", "11-22", "11-22"),
        ("昨儿吃的啥", "11-28", "11-28"),
    ],
)
def test_words_of_time_mean_these_days(text: str, first: str, last: str) -> None:
    assert days(text) == [(first, last)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Was habe ich gestern gegessen?", "11-28", "11-28"),
        ("Wo war ich vorgestern?", "11-27", "11-27"),
        ("Was habe ich letzte Woche über das Budget gesagt?", "11-16", "11-22"),
        ("Wen habe ich letzten Freitag getroffen?", "11-27", "11-27"),
        ("Was habe ich am Mittwoch gekauft?", "11-25", "11-25"),
        ("Was war vor drei Tagen?", "11-26", "11-26"),
        ("Was war vor 2 Wochen?", "11-12", "11-18"),
        ("Am 4. Mai, was habe ich gekauft?", "05-04", "05-04"),
        ("Was war im März?", "03-01", "03-31"),
        ("Was geschah Anfang März?", "03-01", "03-10"),
        ("im Oktober 2023", "2023-10-01", "2023-10-31"),
        ("letzten Monat", "10-01", "10-31"),
        ("voriges Jahr", "2025-01-01", "2025-12-31"),
        ("am 4.5.2026", "05-04", "05-04"),
        ("letztes Wochenende", "11-21", "11-22"),
        ("Was habe ich heute morgen gesagt?", "11-29", "11-29"),
        ("im Jahr 2023", "2023-01-01", "2023-12-31"),
        ("in den letzten zwei Wochen", "11-15", "11-29"),
        ("letzten Sommer", "06-01", "08-31"),
        ("Что я ел вчера?", "11-28", "11-28"),
        ("Где я был позавчера вечером?", "11-27", "11-27"),
        ("Что я купил на прошлой неделе?", "11-16", "11-22"),
        ("в прошлом месяце", "10-01", "10-31"),
        ("Что было в понедельник?", "11-23", "11-23"),
        ("три дня назад", "11-26", "11-26"),
        ("3 марта 2025 года", "2025-03-03", "2025-03-03"),
        ("Куда я ездил в мае?", "05-01", "05-31"),
        ("в начале марта", "03-01", "03-10"),
        ("прошлым летом", "06-01", "08-31"),
        ("в 2024 году", "2024-01-01", "2024-12-31"),
        ("¿Qué comí ayer?", "11-28", "11-28"),
        ("¿Dónde estuve anteayer?", "11-27", "11-27"),
        ("¿Qué dije la semana pasada?", "11-16", "11-22"),
        ("¿A quién vi el viernes pasado?", "11-27", "11-27"),
        ("¿Qué compré el miércoles?", "11-25", "11-25"),
        ("hace tres días", "11-26", "11-26"),
        ("hace 2 semanas", "11-12", "11-18"),
        ("El 4 de mayo, ¿qué compré?", "05-04", "05-04"),
        ("¿Qué pasó en marzo?", "03-01", "03-31"),
        ("a principios de marzo", "03-01", "03-10"),
        ("en octubre de 2023", "2023-10-01", "2023-10-31"),
        ("el mes pasado", "10-01", "10-31"),
        ("el año pasado", "2025-01-01", "2025-12-31"),
        ("el 4 de mayo de 2023", "2023-05-04", "2023-05-04"),
        ("el fin de semana pasado", "11-21", "11-22"),
        ("anoche", "11-28", "11-28"),
        ("en 2023", "2023-01-01", "2023-12-31"),
        ("el verano pasado", "06-01", "08-31"),
        ("Qu'est-ce que j'ai mangé hier ?", "11-28", "11-28"),
        ("Où étais-je avant-hier ?", "11-27", "11-27"),
        ("la semaine dernière", "11-16", "11-22"),
        ("Qui ai-je vu vendredi dernier ?", "11-27", "11-27"),
        ("il y a trois jours", "11-26", "11-26"),
        ("il y a 2 semaines", "11-12", "11-18"),
        ("Le 4 mai, qu'ai-je acheté ?", "05-04", "05-04"),
        ("le 1er mai 2023", "2023-05-01", "2023-05-01"),
        ("Que s'est-il passé en mars ?", "03-01", "03-31"),
        ("début mars", "03-01", "03-10"),
        ("en octobre 2023", "2023-10-01", "2023-10-31"),
        ("le mois dernier", "10-01", "10-31"),
        ("l'année dernière", "2025-01-01", "2025-12-31"),
        ("l'an dernier", "2025-01-01", "2025-12-31"),
        ("le week-end dernier", "11-21", "11-22"),
        ("hier soir", "11-28", "11-28"),
        ("l'été dernier", "06-01", "08-31"),
        ("aujourd'hui", "11-29", "11-29"),
        ("昨日何を食べた？", "11-28", "11-28"),
        ("一昨日どこにいた？", "11-27", "11-27"),
        ("先週予算について何と言った？", "11-16", "11-22"),
        ("先週の水曜日に何をした？", "11-18", "11-18"),
        ("金曜日に誰に会った？", "11-27", "11-27"),
        ("2週間前", "11-12", "11-18"),
        ("5月4日に何を買った？", "05-04", "05-04"),
        ("3月に何があった？", "03-01", "03-31"),
        ("三月の初め", "03-01", "03-10"),
        ("2023年10月", "2023-10-01", "2023-10-31"),
        ("先月", "10-01", "10-31"),
        ("去年", "2025-01-01", "2025-12-31"),
        ("先週末", "11-21", "11-22"),
        ("昨夜", "11-28", "11-28"),
        ("今週", "11-23", "11-29"),
        ("去年の夏", "2025-06-01", "2025-08-31"),
        ("어제 뭐 먹었지?", "11-28", "11-28"),
        ("지난주에 뭐라고 했지?", "11-16", "11-22"),
        ("5월 4일에 뭘 샀지?", "05-04", "05-04"),
        ("3일 전", "11-26", "11-26"),
        ("지난달", "10-01", "10-31"),
        ("작년", "2025-01-01", "2025-12-31"),
        ("What did I do the week before last?", "11-09", "11-15"),
        ("the other day", "11-15", "11-29"),
        ("in the first week of May", "05-01", "05-07"),
        ("What did I say on the 15th?", "11-15", "11-15"),
        ("over Christmas", "2025-12-24", "2025-12-26"),
        ("since Monday", "11-23", "11-29"),
        ("since March", "03-01", "11-29"),
        ("in the last 3 months", "08-29", "11-29"),
        ("earlier this year", "01-01", "11-29"),
        ("this spring", "03-01", "05-31"),
        ("in Q1 2026", "01-01", "03-31"),
        ("Tuesday last week", "11-17", "11-17"),
        ("last Tuesday", "11-24", "11-24"),
        ("a couple of days ago", "11-15", "11-29"),
        ("上上周", "11-09", "11-15"),
        ("这个月初", "11-01", "11-10"),
        ("上个月底", "10-21", "10-31"),
        ("15号那天", "11-15", "11-15"),
        ("今年三月", "03-01", "03-31"),
        ("去年三月", "2025-03-01", "2025-03-31"),
        ("前几天", "11-15", "11-29"),
        ("前年夏天", "2024-06-01", "2024-08-31"),
    ],
)
def test_words_of_time_of_many_languages_mean_these_days(text: str, first: str, last: str) -> None:
    assert days(text) == [(first, last)]


def test_all_before_a_date_is_a_time_and_all_since_it() -> None:
    (before,) = spans("What did I weigh before May 4th?", now=SUNDAY, tz=UTC)
    assert before.start < 0
    assert before.end == from_iso("2026-05-04T00:00:00.000Z")
    (since,) = spans("seit März", now=SUNDAY, tz=UTC)
    assert since.end == SUNDAY


@pytest.mark.parametrize(
    "text",
    [
        "Guten Morgen",
        "Wie heißt mein Chef?",
        "Ich trinke jeden Morgen Tee.",
        "por la mañana",
        "¿Cómo se llama mi jefe?",
        "Comment s'appelle mon chef ?",
        "私の上司の名前は？",
        "我们周五一起吃饭吧？".replace("周五", "大家"),
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
