"""Moments: read from files, typed by people, written as ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache, partial

from memcli.errors import UsageError
from memcli.types import Millis

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def _to_millis(moment: datetime) -> Millis:
    return (moment - _EPOCH) // _MILLISECOND


_FIRST = _to_millis(datetime.min.replace(tzinfo=UTC))
_LAST = _to_millis(datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, both ends included; a moment is a span whose ends are equal."""

    start: Millis
    end: Millis


# --- written --------------------------------------------------------------------------------------


def to_iso(at: Millis) -> str:
    """The moment as "2026-03-01T09:00:00.000Z", exact for the years 1 to 9999 (else OverflowError)."""
    return (_EPOCH + timedelta(milliseconds=at)).isoformat(timespec="milliseconds")[:-6] + "Z"


def from_iso(text: str) -> Millis:
    """The moment that `to_iso` wrote, and nothing else. Raises UsageError."""
    moment = _parse_iso(text)
    if moment is not None and moment.tzinfo is not None:
        at = _to_millis(moment)
        if _FIRST <= at <= _LAST and to_iso(at) == text:
            return at
    raise UsageError(f"{text!r} is not a time of this program's own form", "2026-03-01T09:00:00.000Z is one")


def to_day(at: Millis, *, tz: tzinfo = UTC) -> str:
    """The day of the moment in the zone, as "2026-03-01"."""
    return _to_datetime(at, tz).date().isoformat()


def to_minute(at: Millis, *, tz: tzinfo = UTC) -> str:
    """Date and time of day of a moment in a zone: 2025-05-04 09:30."""
    return f"{_to_datetime(at, tz):%Y-%m-%d %H:%M}"


def _to_datetime(at: Millis, tz: tzinfo) -> datetime:
    return (_EPOCH + timedelta(milliseconds=at)).astimezone(tz)


# --- zones ----------------------------------------------------------------------------------------


class _LocalZone(tzinfo):
    """The machine's zone as the C library knows it: each date has the offset that held on it."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None if moment is None else moment.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, _: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None if moment is None else moment.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, moment: datetime) -> datetime:
        there = moment.replace(tzinfo=UTC).astimezone()
        here = there.replace(tzinfo=self)
        # An hour that comes twice: the second pass is told by its offset.
        return here if here.utcoffset() == there.utcoffset() else here.replace(fold=1)


def local_zone() -> tzinfo:
    """The zone of the person at this machine, daylight saving of any date included."""
    return _LocalZone()


@cache
def to_zone(name: str | None) -> tzinfo:
    """The zone of an IANA name ("Asia/Shanghai"); UTC for None. Raises UsageError."""
    if name is None:
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(
            f"no time zone is called {name!r}", "use an IANA name: Europe/Berlin, Asia/Shanghai, UTC"
        ) from error


# --- read from files ------------------------------------------------------------------------------

_SMALLEST_SECONDS = 1e8
"""March 1973. Below it a number in a time field is a counter or says "not set" (0, -1)."""

_MICROS_PER_UNIT = ((1e11, 1_000_000), (1e14, 1_000), (1e17, 1))
"""A number smaller than the first counts seconds, milliseconds, microseconds: up to the year 5138."""

_NANOS_LIMIT = 1e20

_NOT_SET = {0, _FIRST}
"""How Unix, Go and .NET programs write a time that they do not know."""

_ISO = r"(\d{4}-?(?:\d\d-?\d\d|W\d\d-?\d))(?:[T ](\d\d[\d:.,]*) ?(Z|UTC|GMT|[+-]\d[\d:]+)?)?"

_LONGEST_DATE = 60
_RFC_2822 = r"(?:[A-Z]{3}, ?)?\d{1,2} [A-Z]{3} \d{2,4} \d\d?:\d\d(?::\d\d)?(?: .*)?"


def parse_file_time(value: object, *, tz: str | None = None) -> Millis | None:
    """The moment that a file's value stands for, None where it stands for none.

    Args:
        value: a number (seconds, milliseconds, microseconds or nanoseconds since 1970, by its size), the
            same as a string, ISO 8601, RFC 2822, a date as people write it of which day and month are
            certain, MongoDB's `{"$date": …}`, or the dates that a YAML reader makes. Digits finer than a
            millisecond are cut off.
        tz: IANA name of the zone of times that name none; UTC when None.

    Raises:
        UsageError: no such zone.
    """
    if isinstance(value, str):
        return _from_text(value.strip(), tz)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    if isinstance(value, dict):
        return parse_file_time(value.get("$date", value.get("$numberLong")), tz=tz)
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        return _from_moment(moment, tz)
    return None


_CLOCK = (
    r"(?:(?:,| at|T)? ?(?P<before>上午|下午|午前|午後|오전|오후)? ?(?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d))?(?:[\s\u202f]?(?P<after>[AP])\.?\s?M\.?)?"
    r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d))?)?"
)
_NAMED_MONTH = r"(?P<month>JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)[A-Z]{0,6}\.?"
_WEEKDAY = r"(?:(?:MON|TUE|WED|THU|FRI|SAT|SUN)[A-Z]{0,6}\.?,? )?"
# The year first, or dots, say which number is the day; 3/1/2026 says nothing.
_WRITTEN = (
    rf"(?P<year>\d{{4}})[/.年] ?(?P<month>\d{{1,2}})[/.月] ?(?P<day>\d{{1,2}})日?\.?{_CLOCK}",
    rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){_CLOCK}",
    rf"{_WEEKDAY}{_NAMED_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}}){_CLOCK}",
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th)? {_NAMED_MONTH},? (?P<year>\d{{4}}){_CLOCK}",
    # What C's ctime() writes.
    rf"{_WEEKDAY}{_NAMED_MONTH} {{1,2}}(?P<day>\d{{1,2}}){_CLOCK} (?P<year>\d{{4}})",
)
_AFTERNOON = ("P", "下午", "午後", "오후")


def _from_text(text: str, tz: str | None) -> Millis | None:
    if text[4:5] != "-" and re.fullmatch(r"[+-]?\d{1,30}(\.\d*)?", text, re.ASCII):
        if len(text) in (8, 14) and text.isdigit():  # 20260301, 20260301090000
            text = f"{text[:8]}T{text[8:] or '00'}"
        else:
            return _from_number(float(text) if "." in text else int(text))
    moment = _parse_iso(text) or _parse_rfc_2822(text) or _parse_written(text)
    return None if moment is None else _from_moment(moment, tz)


def _from_number(number: float) -> Millis | None:
    size = abs(number)
    if not _SMALLEST_SECONDS <= size < _NANOS_LIMIT:  # NaN too
        return None
    for limit, micros in _MICROS_PER_UNIT:
        if size < limit:
            # Rounded to what a float holds of it, then cut: 1.123 s is 1123 ms, as "1.123456" in ISO is.
            return _known(round(number * micros) // 1000)
    return _known(int(number // 1_000_000))


def _from_moment(moment: datetime, tz: str | None) -> Millis | None:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=to_zone(tz))
    return _known(_to_millis(moment))


def _known(at: Millis) -> Millis | None:
    return at if _FIRST <= at <= _LAST and at not in _NOT_SET else None


def _parse_iso(text: str) -> datetime | None:
    match = re.fullmatch(_ISO, text, re.ASCII | re.IGNORECASE)
    if match is None:
        return None
    day, clock, zone = match.groups()
    if zone is not None:
        zone = zone if zone[0] in "+-" else "Z"
    try:
        return datetime.fromisoformat(f"{day.upper()}T{clock}{zone or ''}" if clock else day.upper())
    except ValueError:
        return None


def _parse_written(text: str) -> datetime | None:
    """A date with its month by name, its year first or numbers between dots; and the clock, if it is told."""
    found = (re.fullmatch(pattern, text, re.ASCII | re.IGNORECASE) for pattern in _WRITTEN)
    match = next(filter(None, found), None) if len(text) < _LONGEST_DATE else None
    if match is None:
        return None
    month = match["month"].lower()[:3]
    half = (match["before"] or match["after"] or "").upper()
    hour = int(match["hour"] or 0)
    if half:
        hour = hour % 12 + 12 * (half in _AFTERNOON)
    try:
        moment = datetime(
            int(match["year"]),
            _MONTHS.index(month) + 1 if month in _MONTHS else int(month),
            int(match["day"]),
            hour,
            int(match["minute"] or 0),
            int(match["second"] or 0),
        )
    except ValueError:
        return None
    zone = (match["zone"] or "").upper()
    if not zone:
        return moment
    return datetime.fromisoformat(f"{moment.isoformat()}{'Z' if zone in ('Z', 'UTC', 'GMT') else zone}")


def _parse_rfc_2822(text: str) -> datetime | None:
    if not re.fullmatch(_RFC_2822, text, re.ASCII | re.IGNORECASE):
        return None
    from email.utils import parsedate_to_datetime

    try:
        # "-0000" is UTC that knows of no local zone; Python would make it a time without any.
        return parsedate_to_datetime(text.replace("-0000", "+0000"))
    except (ValueError, OverflowError):
        return None


# --- typed by people ------------------------------------------------------------------------------

_EXAMPLES = "2026-03-01, 2026-03, 2026-03-01T09:30, yesterday, 3 days ago, last week, 昨天, 3天前"

_UNIT_WORDS = {
    "second": "s sec secs second seconds 秒 秒钟",
    "minute": "m min mins minute minutes 分 分钟",
    "hour": "h hr hrs hour hours 小时 钟头",
    "day": "d day days 天 日",
    "week": "w week weeks 周 星期 礼拜",
    "month": "mo month months 月",
    "year": "y year years 年",
}
_UNITS = {word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()}

_MILLIS = {
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 7 * 86_400_000,
    "month": 30 * 86_400_000,
    "year": 365 * 86_400_000,
}

_MONTHS_AND_DAYS = {"day": (0, 1), "week": (0, 7), "month": (1, 0), "year": (12, 0)}

_COUNT_WORDS = (
    ("a", "an", "one", "一"),
    ("two", "二", "两"),
    ("three", "三"),
    ("four", "四"),
    ("five", "五"),
    ("six", "六"),
    ("seven", "七"),
    ("eight", "八"),
    ("nine", "九"),
    ("ten", "十"),
    ("eleven", "十一"),
    ("twelve", "十二"),
)
_COUNTS = {word: count for count, words in enumerate(_COUNT_WORDS, start=1) for word in words}

_PERIODS = {
    "today": ("day", 0),
    "yesterday": ("day", -1),
    "the day before yesterday": ("day", -2),
    "day before yesterday": ("day", -2),
    "tomorrow": ("day", 1),
    "the day after tomorrow": ("day", 2),
    "day after tomorrow": ("day", 2),
    "今天": ("day", 0),
    "昨天": ("day", -1),
    "昨日": ("day", -1),
    "前天": ("day", -2),
    "大前天": ("day", -3),
    "明天": ("day", 1),
    "后天": ("day", 2),
    "大后天": ("day", 3),
    "今年": ("year", 0),
    "去年": ("year", -1),
    "前年": ("year", -2),
    "明年": ("year", 1),
    "后年": ("year", 2),
}
"""The unit that the word names, counted from the present one."""

_MOMENTS = {"now", "right now", "现在"}

_WHICH = {"last": -1, "previous": -1, "this": 0, "next": 1, "上上": -2, "上": -1, "这": 0, "本": 0, "下": 1}

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CHINESE_WEEKDAYS = "一二三四五六日"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_MONTH = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_COUNT = rf"(?P<count>\d{{1,6}}|{'|'.join(_COUNTS)})"
_UNIT = rf"(?P<unit>{'|'.join(_UNITS)})"


def parse_typed_time(text: str, *, now: Millis, tz: tzinfo) -> Span:
    """The span that a person means: a moment, or the whole of a day, week, month or year in the zone.

    ISO 8601 and dates with their year, or plain words, English and Chinese: "yesterday", "3 days ago"
    (that whole day), "an hour ago" (a moment), "last week" (Monday to Sunday), "last monday" (the one
    before today), "上周一" (Monday of the week before). What would have to be guessed ("4 May",
    "03/04/26") is refused.

    Raises:
        UsageError: the text is none of these.
    """
    try:
        span = _parse_span(text, _to_datetime(now, tz))
    except (ValueError, OverflowError):  # a day that no calendar has, a year past 9999
        span = None
    if span is None or span.start < _FIRST or span.end > _LAST:
        raise UsageError(f"{text!r} is not a time", f"write it like one of these: {_EXAMPLES}")
    return span


def _parse_span(text: str, here: datetime) -> Span | None:
    iso = text.strip()
    moment = _parse_iso(iso)
    if moment is not None:
        return _span_of_iso(moment, here, has_clock=len(iso) > len("2026-03-01"))
    words = " ".join(iso.split()).casefold()
    if words in _MOMENTS:
        return _moment(_to_millis(here))
    if words in _PERIODS:
        unit, count = _PERIODS[words]
        return _period(_moved(here.date(), unit, count), unit, here)
    for pattern, read in _FORMS:
        match = re.fullmatch(pattern, words)
        if match is not None:
            return read(match, here)
    return None


def _span_of_iso(moment: datetime, here: datetime, *, has_clock: bool) -> Span:
    if not has_clock:
        return _period(moment.date(), "day", here)
    return _moment(_to_millis(moment if moment.tzinfo else moment.replace(tzinfo=here.tzinfo)))


def _moment(at: Millis) -> Span:
    return Span(at, at)


def _period(day: date, unit: str, here: datetime) -> Span:
    """The calendar's day, week (from Monday), month or year that holds `day`."""
    first = {
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "year": day.replace(month=1, day=1),
    }[unit]
    return Span(_midnight(first, here), _midnight(_moved(first, unit, 1), here) - 1)


def _midnight(day: date, here: datetime) -> Millis:
    return _to_millis(datetime(day.year, day.month, day.day, tzinfo=here.tzinfo))


def _moved(day: date, unit: str, count: int) -> date:
    """`count` units later; the last of the month where the month has no such day."""
    from calendar import monthrange

    months, days = _MONTHS_AND_DAYS[unit]
    year, month0 = divmod(day.year * 12 + day.month - 1 + count * months, 12)
    last_day = monthrange(year, month0 + 1)[1]
    return date(year, month0 + 1, min(day.day, last_day)) + timedelta(days=count * days)


def _read_date(match: re.Match[str], here: datetime) -> Span:
    year, month, day = (match.groupdict().get(part) for part in ("year", "month", "day"))
    unit = "day" if day else "month" if month else "year"
    number = 1 if month is None else int(month) if month.isdecimal() else _MONTHS.index(month[:3]) + 1
    return _period(date(int(year or 0), number, int(day or 1)), unit, here)


def _read_count(match: re.Match[str], here: datetime, *, direction: int) -> Span:
    unit = _UNITS[match["unit"]]
    count = direction * (_COUNTS.get(match["count"]) or int(match["count"]))
    if unit in _MONTHS_AND_DAYS:
        return _period(_moved(here.date(), unit, count), "day", here)
    return _moment(_to_millis(here) + count * _MILLIS[unit])


def _read_period(match: re.Match[str], here: datetime) -> Span:
    unit = _UNITS[match["unit"]]
    return _period(_moved(here.date(), unit, _WHICH[match["which"]]), unit, here)


def _read_weekday(match: re.Match[str], here: datetime) -> Span:
    today = here.date()
    ahead_days = _WEEKDAYS.index(match["weekday"]) - today.weekday()
    if match["which"] in ("last", "previous") and ahead_days >= 0:
        ahead_days -= 7
    if match["which"] == "next" and ahead_days <= 0:
        ahead_days += 7
    return _period(today + timedelta(days=ahead_days), "day", here)


def _read_chinese_weekday(match: re.Match[str], here: datetime) -> Span:
    today = here.date()
    weekday = _CHINESE_WEEKDAYS.index(match["weekday"].replace("天", "日"))
    ahead_days = 7 * _WHICH[match["which"]] + weekday - today.weekday()
    return _period(today + timedelta(days=ahead_days), "day", here)


_FORMS: tuple[tuple[str, Callable[[re.Match[str], datetime], Span]], ...] = (
    (r"(?P<year>\d{4})年?", _read_date),
    (r"(?P<year>\d{4})[-/.年](?P<month>\d{1,2})月?", _read_date),
    (r"(?P<year>\d{4})[-/.年](?P<month>\d{1,2})[-/.月](?P<day>\d{1,2})[日号]?", _read_date),
    (rf"{_DAY} {_MONTH},? (?P<year>\d{{4}})", _read_date),
    (rf"{_MONTH}(?: {_DAY})?,? (?P<year>\d{{4}})", _read_date),
    (rf"{_COUNT} ?个?{_UNIT} ?(?:ago|之?前|以前)", partial(_read_count, direction=-1)),
    (rf"in {_COUNT} ?{_UNIT}", partial(_read_count, direction=1)),
    (rf"{_COUNT} ?个?{_UNIT} ?(?:from now|之?后|以后)", partial(_read_count, direction=1)),
    (r"(?P<which>last|previous|this|next) (?P<unit>week|month|year)", _read_period),
    (r"(?P<which>上上|[上这本下])个?(?P<unit>周|星期|礼拜|月)", _read_period),
    (rf"(?P<which>last|previous|this|next) (?P<weekday>{'|'.join(_WEEKDAYS)})", _read_weekday),
    (
        rf"(?P<which>上上|[上这本下])个?(?:周|星期|礼拜)(?P<weekday>[{_CHINESE_WEEKDAYS}天])",
        _read_chinese_weekday,
    ),
)


# --- how long -------------------------------------------------------------------------------------


def parse_expiry(text: str, *, now: Millis, tz: tzinfo) -> Millis:
    """When something ends: a length from now on ("30d"), or the end of what `parse_typed_time` reads.

    Raises:
        UsageError: the text is neither, or the end lies past the year 9999.
    """
    length = _parse_length(text)
    if length is None:
        return parse_typed_time(text, now=now, tz=tz).end
    if now + length > _LAST:
        raise UsageError(f"{text!r} is too long a time", "leave the expiry out to keep it for good")
    return now + length


def _parse_length(text: str) -> Millis | None:
    """A length of time: "30d", "12h", "2w", "6 months"; None for none. A month is 30 days, a year 365."""
    match = re.fullmatch(rf"{_COUNT} ?个?{_UNIT}", text.strip().casefold())
    if match is None:
        return None
    return (_COUNTS.get(match["count"]) or int(match["count"])) * _MILLIS[_UNITS[match["unit"]]] or None
