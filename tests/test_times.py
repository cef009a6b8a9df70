"""Moments: what files say, what people type, what is written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.times import (
    Span,
    from_iso,
    local_zone,
    parse_expiry,
    parse_file_time,
    parse_typed_time,
    to_day,
    to_iso,
)

DAY = 86_400_000
NINE = 1_772_355_600_000  # 2026-03-01T09:00:00Z, a Sunday
SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999  # the years 1 and 9999

moments = st.integers(FIRST, LAST)
zones = st.sampled_from([UTC, SHANGHAI, NEW_YORK, ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/Sao_Paulo")])


# --- written --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (NINE + 7, "2026-03-01T09:00:00.007Z"),
        (FIRST, "0001-01-01T00:00:00.000Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_is_written_as_iso_utc_with_milliseconds(at: int, text: str) -> None:
    assert to_iso(at) == text


@given(moments)
def test_what_was_written_is_read_back_exactly(at: int) -> None:
    assert from_iso(to_iso(at)) == at


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01",
        "2026-03-01T09:00:00Z",
        "2026-03-01T09:00:00.000",
        "2026-03-01T09:00:00.000+00:00",
        "2026-03-01 09:00:00.000Z",
        "2026-03-01T09:00:00.0001Z",
        "2026-02-30T09:00:00.000Z",
        "0001-01-01T00:00:00.000+08:00",
    ],
)
def test_any_other_form_than_its_own_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        from_iso(text)


def test_a_day_is_the_day_of_its_zone() -> None:
    late = NINE + 8 * 3_600_000
    assert (to_day(late), to_day(late, tz=SHANGHAI)) == ("2026-03-01", "2026-03-02")


# --- read from files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        1_772_355_600,
        1_772_355_600_000,
        1_772_355_600_000_000,
        1_772_355_600_000_000_000,
        1_772_355_600.0,
        1_772_355_600_000.0,
        1.7723556e18,
        "1772355600",
        "1772355600000",
        "1772355600.000100",
        "2026-03-01T09:00:00Z",
        "2026/03/01 09:00",
        "2026/3/1 9:00:00 AM",
        "2026年3月1日 上午9:00",
        "2026. 3. 1. 오전 9:00",
        "01.03.2026 09:00",
        "1.3.2026, 09:00:00",
        "March 1, 2026 9:00 AM",
        "Sunday, March 1st, 2026 at 9:00:00\u202fAM",
        "1 March 2026 09:00:00 UTC",
        "1 Mar 2026, 18:00 +0900",
        "Sun Mar  1 09:00:00 2026",
        {"$date": "2026-03-01T09:00:00Z"},
        {"$date": {"$numberLong": "1772355600000"}},
        "2026-03-01t09:00:00z",
        "2026-03-01T09:00Z",
        "2026-03-01T17:00:00+08:00",
        "2026-03-01T17:00:00+0800",
        "2026-03-01 17:00:00 +0800",
        "2026-03-01T17:00:00+08",
        "2026-03-01T04:00:00-05:00",
        "2026-03-01T09:00:00",
        "2026-03-01 09:00:00",
        "2026-03-01 09:00:00 UTC",
        "  2026-03-01 09:00:00\n",
        "20260301T090000Z",
        "20260301T090000",
        "20260301090000",
        "2026-W09-7T09:00:00Z",
        "Sun, 01 Mar 2026 09:00:00 +0000",
        "Sun, 1 Mar 2026 09:00:00 GMT",
        "01 Mar 2026 04:00:00 -0500",
        "1 Mar 2026 09:00",
        datetime(2026, 3, 1, 9, tzinfo=UTC),
        datetime(2026, 3, 1, 9),
    ],
)
def test_every_form_of_one_instant_is_that_instant(value: object) -> None:
    assert parse_file_time(value) == NINE


@pytest.mark.parametrize("value", ["2026-03-01", "20260301", "2026-W09-7", date(2026, 3, 1)])
def test_a_date_in_a_file_is_its_midnight(value: object) -> None:
    assert parse_file_time(value) == NINE - 9 * 3_600_000


@pytest.mark.parametrize(
    "fraction", ["1", "12", "123", "1239", "12399", "123999", "1239999", "12399999", "123999999"]
)
def test_digits_finer_than_a_millisecond_are_cut(fraction: str) -> None:
    expected = NINE + int(fraction.ljust(3, "0")[:3])
    assert parse_file_time(f"2026-03-01T09:00:00.{fraction}Z") == expected


@given(st.integers(10**14, 2 * 10**15))
def test_float_seconds_and_iso_microseconds_meet_in_the_same_millisecond(micros: int) -> None:
    iso = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)).isoformat()
    assert parse_file_time(micros / 1e6) == parse_file_time(iso) == parse_file_time(micros * 1000)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        float("nan"),
        float("inf"),
        float("-inf"),
        0,
        -1,
        42,
        10**20,
        -(10**20),
        -(10**14) + 1,
        FIRST,
        10**400,
        "9" * 5000,
        "",
        " ",
        "0",
        "last Tuesday",
        "nan",
        "1e9",
        "２０２６-03-01",
        "2026-13-01",
        "2026-02-30T00:00:00Z",
        "2026-03-01x09:00",
        "2026-03-01T25:00:00Z",
        "2026-03-01T09:00:00+99:00",
        "0000-01-01",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+08:00",
        "9999-12-31T23:59:59-08:00",
        "10000-01-01",
        "1970-01-01T00:00:00Z",
        "Sun, 41 Mar 2026 09:00:00 +0000",
        "03/04/2026",
        [NINE],
        {"when": NINE},
        {"$date": {"$date": "soon"}},
        "3/1/2026",
        "31.02.2026",
        "Smarch 1, 2026",
        b"2026-03-01",
    ],
)
def test_what_stands_for_no_time_is_unknown(value: object) -> None:
    assert parse_file_time(value) is None


@given(st.text() | st.floats() | st.integers() | st.booleans() | st.binary())
def test_any_value_is_a_moment_within_the_calendar_or_unknown(value: object) -> None:
    at = parse_file_time(value)
    assert at is None or FIRST <= at <= LAST


@given(st.integers(-(10**20), 10**20) | st.floats(-1e20, 1e20))
def test_any_number_is_a_moment_within_the_calendar_or_unknown(value: float) -> None:
    at = parse_file_time(value)
    assert at is None or FIRST <= at <= LAST


def test_a_time_without_zone_is_of_the_zone_that_is_given() -> None:
    assert parse_file_time("2026-03-01T17:00:00", tz="Asia/Shanghai") == NINE


@pytest.mark.parametrize("value", [NINE, "2026-03-01T09:00:00Z", "Sun, 01 Mar 2026 09:00:00 -0000"])
def test_a_time_with_its_own_zone_keeps_it(value: object) -> None:
    assert parse_file_time(value, tz="Asia/Shanghai") == NINE


@pytest.mark.parametrize("name", ["Middle/Earth", "", "../etc/passwd", "America"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no time zone is called"):
        parse_file_time("2026-03-01T09:00:00", tz=name)


# --- typed by people ------------------------------------------------------------------------------

NOW = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)  # a Sunday


def to_millis(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def days(first: str, last: str, tz: tzinfo = UTC) -> Span:
    """The whole days from first to last, both included."""
    start = datetime.fromisoformat(first).replace(tzinfo=tz)
    after = datetime.fromisoformat(last).replace(tzinfo=tz) + timedelta(days=1)
    return Span(to_millis(start), to_millis(after) - 1)


def typed(text: str, tz: tzinfo = UTC, now: datetime = NOW) -> Span:
    return parse_typed_time(text, now=to_millis(now), tz=tz)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-03-01", "2026-03-01", "2026-03-01"),
        ("20260301", "2026-03-01", "2026-03-01"),
        ("2026/3/1", "2026-03-01", "2026-03-01"),
        ("2026年3月1日", "2026-03-01", "2026-03-01"),
        ("1 March 2026", "2026-03-01", "2026-03-01"),
        ("Mar 1st, 2026", "2026-03-01", "2026-03-01"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026年3月", "2026-03-01", "2026-03-31"),
        ("december 2025", "2025-12-01", "2025-12-31"),
        ("2026", "2026-01-01", "2026-12-31"),
        ("2025年", "2025-01-01", "2025-12-31"),
        ("today", "2026-11-29", "2026-11-29"),
        ("Yesterday", "2026-11-28", "2026-11-28"),
        ("the  day before yesterday", "2026-11-27", "2026-11-27"),
        ("tomorrow", "2026-11-30", "2026-11-30"),
        ("3 days ago", "2026-11-26", "2026-11-26"),
        ("two weeks ago", "2026-11-15", "2026-11-15"),
        ("a month ago", "2026-10-29", "2026-10-29"),
        ("9 months ago", "2026-02-28", "2026-02-28"),
        ("a year ago", "2025-11-29", "2025-11-29"),
        ("in 3 days", "2026-12-02", "2026-12-02"),
        ("two weeks from now", "2026-12-13", "2026-12-13"),
        ("last week", "2026-11-16", "2026-11-22"),
        ("this week", "2026-11-23", "2026-11-29"),
        ("next week", "2026-11-30", "2026-12-06"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("this month", "2026-11-01", "2026-11-30"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last monday", "2026-11-23", "2026-11-23"),
        ("last sunday", "2026-11-22", "2026-11-22"),
        ("this sunday", "2026-11-29", "2026-11-29"),
        ("next sunday", "2026-12-06", "2026-12-06"),
        ("next monday", "2026-11-30", "2026-11-30"),
        ("今天", "2026-11-29", "2026-11-29"),
        ("昨天", "2026-11-28", "2026-11-28"),
        ("前天", "2026-11-27", "2026-11-27"),
        ("大前天", "2026-11-26", "2026-11-26"),
        ("明天", "2026-11-30", "2026-11-30"),
        ("3天前", "2026-11-26", "2026-11-26"),
        ("三天之前", "2026-11-26", "2026-11-26"),
        ("两周前", "2026-11-15", "2026-11-15"),
        ("2个星期以前", "2026-11-15", "2026-11-15"),
        ("一个月前", "2026-10-29", "2026-10-29"),
        ("十二年前", "2014-11-29", "2014-11-29"),
        ("3天后", "2026-12-02", "2026-12-02"),
        ("上周", "2026-11-16", "2026-11-22"),
        ("上个星期", "2026-11-16", "2026-11-22"),
        ("上上周", "2026-11-09", "2026-11-15"),
        ("这周", "2026-11-23", "2026-11-29"),
        ("下周", "2026-11-30", "2026-12-06"),
        ("上个月", "2026-10-01", "2026-10-31"),
        ("本月", "2026-11-01", "2026-11-30"),
        ("去年", "2025-01-01", "2025-12-31"),
        ("前年", "2024-01-01", "2024-12-31"),
        ("上周一", "2026-11-16", "2026-11-16"),
        ("上星期天", "2026-11-22", "2026-11-22"),
        ("本周五", "2026-11-27", "2026-11-27"),
        ("下周二", "2026-12-01", "2026-12-01"),
    ],
)
def test_what_a_person_types_is_whole_days(text: str, first: str, last: str) -> None:
    assert typed(text) == days(first, last)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("现在", NOW),
        ("an hour ago", NOW - timedelta(hours=1)),
        ("90 minutes ago", NOW - timedelta(minutes=90)),
        ("两个小时前", NOW - timedelta(hours=2)),
        ("30分钟前", NOW - timedelta(minutes=30)),
        ("2026-03-01T09:00:00Z", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("2026-03-01T17:00+08:00", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("20260301T0900Z", datetime(2026, 3, 1, 9, tzinfo=UTC)),
    ],
)
def test_a_clock_time_is_a_moment(text: str, expected: datetime) -> None:
    assert typed(text, SHANGHAI) == Span(to_millis(expected), to_millis(expected))


@pytest.mark.parametrize("text", ["2026-03-01T09:30", "2026-03-01 09:30", "2026-03-01 09:30:00"])
def test_a_typed_moment_without_zone_is_local(text: str) -> None:
    assert typed(text, SHANGHAI).start == to_millis(datetime(2026, 3, 1, 1, 30, tzinfo=UTC))


def test_today_is_the_day_of_the_zone() -> None:
    evening = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
    assert typed("today", SHANGHAI, evening) == days("2026-11-30", "2026-11-30", SHANGHAI)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-08", 23), ("2026-11-01", 25), ("2026-11-02", 24)])
def test_a_day_on_which_the_clock_changes_is_whole(day: str, hours: int) -> None:
    span = typed(day, NEW_YORK)
    assert span.end - span.start + 1 == hours * 3_600_000


@given(
    zones,
    st.integers(to_millis(datetime(1980, 1, 1, tzinfo=UTC)), to_millis(datetime(2090, 1, 1, tzinfo=UTC))),
)
def test_neighbouring_periods_meet_without_gap_or_overlap(tz: tzinfo, now: int) -> None:
    for before, after in (
        ("yesterday", "today"),
        ("today", "tomorrow"),
        ("last week", "this week"),
        ("last month", "this month"),
        ("this year", "next year"),
    ):
        first, second = (parse_typed_time(text, now=now, tz=tz) for text in (before, after))
        assert first.start < first.end == second.start - 1


@given(
    zones,
    st.integers(to_millis(datetime(1980, 1, 1, tzinfo=UTC)), to_millis(datetime(2090, 1, 1, tzinfo=UTC))),
)
def test_the_present_lies_in_today_in_this_week_and_in_this_month(tz: tzinfo, now: int) -> None:
    for text in ("today", "this week", "本月", "今年"):
        span = parse_typed_time(text, now=now, tz=tz)
        assert span.start <= now <= span.end


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "soon",
        "-",
        "2026-13",
        "2026-02-30",
        "31 february 2026",
        "0000",
        "03/04/2026",
        "4 May",
        "monday",
        "30d",
        "1772355600",
        "999999 years ago",
        "in 999999 weeks",
        "last",
        "3 days",
        "某天",
    ],
)
def test_what_cannot_be_understood_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        typed(text)
    assert "yesterday" in caught.value.hint


@given(zones, st.text() | st.datetimes().map(str) | st.dates().map(str))
@example(SHANGHAI, "0001-01-01")
@example(NEW_YORK, "9999-12-31T23:00")
def test_any_text_is_a_span_within_the_calendar_or_refused(tz: tzinfo, text: str) -> None:
    try:
        span = typed(text, tz)
    except UsageError:
        return
    assert FIRST <= span.start <= span.end <= LAST


# --- how long -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 90_000),
        ("90m", 90 * 60_000),
        ("12h", DAY // 2),
        ("30d", 30 * DAY),
        ("2w", 14 * DAY),
        ("1y", 365 * DAY),
        ("6 months", 180 * DAY),
        (" 30 Days ", 30 * DAY),
        ("3天", 3 * DAY),
        ("两个星期", 14 * DAY),
    ],
)
def test_a_length_of_time_is_read(text: str, expected: int) -> None:
    assert parse_expiry(text, now=to_millis(NOW), tz=UTC) == to_millis(NOW) + expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30d", to_millis(NOW) + 30 * DAY),
        ("2026-12-24", days("2026-12-24", "2026-12-24", SHANGHAI).end),
        ("2026-12-24T10:00:00Z", to_millis(datetime(2026, 12, 24, 10, tzinfo=UTC))),
        ("next month", days("2026-12-01", "2026-12-31", SHANGHAI).end),
    ],
)
def test_an_expiry_is_a_length_from_now_or_the_end_of_a_date(text: str, expected: int) -> None:
    assert parse_expiry(text, now=to_millis(NOW), tz=SHANGHAI) == expected


@pytest.mark.parametrize(
    "text", ["", "never", "0d", "-1d", "d", "1.5h", "30 parsecs", "999999y", "9" * 5000 + "d"]
)
def test_an_expiry_that_is_neither_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_expiry(text, now=to_millis(NOW), tz=UTC)


# --- the machine's zone ---------------------------------------------------------------------------


@pytest.fixture
def in_new_york() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_new_york")
@pytest.mark.parametrize("day", ["2026-01-15", "2026-03-08", "2026-07-15", "2026-11-01"])
def test_the_local_zone_has_the_offset_of_each_date(day: str) -> None:
    assert typed(day, local_zone()) == typed(day, NEW_YORK)


@pytest.mark.usefixtures("in_new_york")
@given(
    st.integers(to_millis(datetime(2026, 11, 1, tzinfo=UTC)), to_millis(datetime(2026, 11, 2, tzinfo=UTC)))
)
def test_the_hour_that_comes_twice_keeps_its_instant(at: int) -> None:
    moment = datetime.fromtimestamp(at / 1000, UTC)
    local = moment.astimezone(local_zone())
    assert (local.utcoffset(), local.fold) == (
        moment.astimezone(NEW_YORK).utcoffset(),
        moment.astimezone(NEW_YORK).fold,
    )
