"""What a later statement replaces, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.types import Record
from memcli.updates import is_statement, outdates

DAY = 86_400_000


def said(text: str, *, day: int, **fields: Any) -> Record:
    return Record(
        **{"id": text, "text": text, "kind": "episode", "role": "user", "created_at": day * DAY} | fields
    )


def replaced(*records: Record) -> dict[str, list[str]]:
    """Each statement that others outdate, and which do."""
    statements = [record for record in records if is_statement(record)]
    found = {older.id: [newer.id for newer in statements if outdates(newer, older)] for older in statements}
    return {older: newer for older, newer in found.items() if newer}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I always start the day with an espresso, coffee is my drink.",
         "I've quit coffee for good; from now on I drink green tea."),
        ("I really like director Ada Fern, her films are thoughtful.",
         "I used to really like Ada Fern's films, but now I prefer Bo Lindt."),
        ("I love travelling to the Baltic coast.", "I'm not that keen on the Baltic coast anymore."),
        ("I use Emacs for everything.", "I switched from Emacs to Helix last month."),
        ("I use Emacs for everything.", "Emacs is gone, I write in Helix now."),
        ("We eat meat every Sunday.", "We no longer eat meat at home."),
        ("I need to update the design blog soon.", "I've finished updating the design blog."),
        ("I have to book the spa appointment.", "I cancelled the spa appointment."),
        ("I live in Leeds, near the canal.", "We moved to York in October."),
        ("My address is 3 Oak Street.", "I've moved house, my new address is 5 Elm Road."),
        ("I work at Acme as a designer.", "I've just started working at Borealis."),
        ("I work at Acme as a designer.", "I left Acme in May."),
        ("My phone number is 555 0101.", "My new phone number is 555 0199."),
        ("My favourite colour is green.", "My favourite colour is now blue."),
        ("The kitchen budget is 9,500 including the oven.", "We cut the kitchen budget to 7,200."),
        ("The dentist appointment is on Tuesday.", "The dentist appointment was moved to Friday."),
        ("The team meeting is at ten on Monday.", "New time for the team meeting: Thursday at two."),
        ("I take my coffee with two sugars.", "No sugar in my coffee any more, please."),
        ("My dentist is Dr Marlow.", "My dentist is now Dr Quist."),
        ("I prefer tabs over spaces.", "I changed my mind: I prefer spaces over tabs now."),
        ("My salary is 3,100 a month.", "Good news: my salary was raised to 3,400."),
        ("My locker number is 47.", "They gave me a new locker, my locker number is 112."),
        ("我喝咖啡要加两块糖。", "我现在不加糖了，咖啡喝黑的。"),
        ("我的牙医是马医生。", "我换牙医了，现在的牙医是钱医生。"),
        ("我最喜欢的颜色是绿色。", "我现在最喜欢的颜色是深蓝色。"),
        ("装修预算是二十万。", "装修预算涨到二十五万了。"),
        ("我在学法语，每周两节课。", "法语不学了，改学西班牙语。"),
        ("我用安卓手机。", "我从安卓换成苹果手机了。"),
        ("我最爱吃麻辣火锅，越辣越好。", "医生让我忌辣，我现在改吃清淡的。"),
        ("我每天早上都喝咖啡。", "我戒咖啡了，现在早上喝绿茶。"),
        ("我每天早上都喝咖啡。", "咖啡已经戒了，改喝绿茶。"),
        ("我喜欢用谷歌浏览器。", "以前喜欢用谷歌浏览器，现在换成火狐了。"),
        ("我住在杭州西湖区。", "我上个月搬到苏州了。"),
        ("我在腾云公司上班。", "我跳槽到青木公司了。"),
        ("我的手机号是13800000001。", "我的新手机号是13900000002。"),
        ("部门会议定在周二上午。", "部门会议改到周四下午了。"),
        ("我打算周末去露营。", "周末的露营取消了。"),
    ],
)  # fmt: skip
def test_later_statement_replaces_the_earlier_one(older: str, newer: str) -> None:
    assert replaced(said(older, day=1), said(newer, day=9)) == {older: [newer]}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I drink coffee in the morning.", "I also like tea."),
        ("I drink coffee in the morning.", "I had a great coffee in Vienna."),
        ("The coffee machine broke.", "I've quit coffee for good."),
        ("I like hiking.", "I like swimming."),
        ("My brother lives in Leeds.", "I moved to York."),
        ("I live in Leeds.", "I'm staying in York this week."),
        ("I work at Acme.", "I also work at the animal shelter on Sundays."),
        ("My phone number is 555 0101.", "My phone is broken."),
        ("My sister is a nurse.", "My sister is now in Rome."),
        ("My car is red.", "My car is in the garage."),
        ("I prefer tea in the morning.", "I now walk to work in the morning."),
        ("Blood pressure this morning 128/84.", "Blood pressure this morning 141/92."),
        ("The kitchen budget is 9,500.", "We cut the garden budget to 300."),
        ("I need to call the landlord.", "I've finished the book about octopuses."),
        ("我每天早上都喝咖啡。", "我也喜欢喝茶。"),
        ("我住在杭州。", "我下周去苏州出差。"),
        ("我喜欢吃辣。", "我喜欢吃甜。"),
        ("咖啡机坏了。", "我戒咖啡了。"),
    ],
)  # fmt: skip
def test_what_is_not_contradicted_stays(older: str, newer: str) -> None:
    assert replaced(said(older, day=1), said(newer, day=9)) == {}


OLD, NEW = "I live in Leeds.", "I moved to York."


def test_order_of_arrival_does_not_matter() -> None:
    assert replaced(said(NEW, day=9), said(OLD, day=1)) == {OLD: [NEW]}


def test_older_statement_replaces_nothing() -> None:
    assert replaced(said(OLD, day=9), said(NEW, day=1)) == {NEW: [OLD]}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"name": "Ann"}, {"name": "Bob"}),
        ({}, {"role": "assistant"}),
        ({}, {"role": "assistant", "name": "Bob"}),
        ({"role": "assistant"}, {}),
        ({"created_at": None}, {}),
        ({}, {"kind": "document"}),
        ({}, {"retired": True}),
        ({"project": "flat"}, {"project": "office"}),
        ({}, {"project": "office"}),
        ({}, {"audience": ("planner",)}),
    ],
)
def test_who_did_not_say_it_for_the_same_readers_replaces_nothing(
    older: dict[str, Any], newer: dict[str, Any]
) -> None:
    assert replaced(said(OLD, day=1, **older), said(NEW, day=9, **newer)) == {}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"name": "Ann"}, {"name": "Ann"}),
        ({"name": "Ann"}, {"role": None, "source": "cli", "kind": "fact"}),
        ({"role": None, "source": "cli", "kind": "fact"}, {}),
        ({"project": "flat"}, {"project": "flat"}),
        ({"project": "flat"}, {}),
        ({"audience": ("planner",)}, {"audience": ("planner", "coach")}),
        ({"day": 9, "position": 1}, {"position": 2}),
        (
            {"created_at": None, "session_id": "s", "position": 1},
            {"created_at": None, "session_id": "s", "position": 2},
        ),
    ],
)
def test_the_same_person_replaces_what_the_same_readers_see(
    older: dict[str, Any], newer: dict[str, Any]
) -> None:
    assert replaced(said(OLD, **{"day": 1} | older), said(NEW, day=9, **newer)) == {OLD: [NEW]}


def test_a_page_is_no_statement() -> None:
    page = "The house has a garden and a shed with tools. " * 20
    assert replaced(said(OLD + page, day=1), said(NEW, day=9)) == {}


TEXTS = st.lists(
    st.sampled_from(
        ("I", "used to", "like", "tea", "quit", "live in", "York", "moved to", ",", ".", "戒", "茶", "改到")
    )
).map(" ".join)


@given(st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=6, unique_by=lambda each: each[0]))
def test_only_a_later_statement_replaces(statements: Sequence[tuple[str, int]]) -> None:
    days = dict(statements)
    found = replaced(*(said(text, day=day) for text, day in statements))
    assert all(days[older] < days[newer] for older, newers in found.items() for newer in newers)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_read(older: str, newer: str) -> None:
    assert set(replaced(said(f"1{older}", day=1), said(f"2{newer}", day=9))) <= {f"1{older}"}
