"""Words of time in running text to the spans that they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

from memcli.errors import UsageError
from memcli.text import regex
from memcli.times import Span, parse_typed_time
from memcli.timewords_abroad import holds_any, translated
from memcli.types import Millis

_DAY_MS = 86_400_000
_YEAR_1 = -62_135_596_800_000

_WEEKDAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTHS_EN = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_MONTH = rf"(?P<month>{_MONTHS_EN})\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b(?![-/.]\d)"
_MONTH_CUES = "jan feb mar apr may jun jul aug sep oct nov dec"
_YEAR_CUES = "19 20"
_SEASON_CUES = "spring summer autumn fall winter"
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:day|week|month|year)"
_NUMBER_ZH = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
_COUNT_ZH = r"(?:\d{1,3}|[一二两三四五六七八九十]|十[一二])"
_UNIT_ZH = r"(?:天|周|星期|礼拜|月|年)"
_WEEKDAY_ZH = "[一二三四五六日天]"

_THIRDS = {
    **dict.fromkeys(("early", "beginning", "start", "初", "上旬"), (1, 10)),
    **dict.fromkeys(("mid", "middle", "中", "中旬"), (11, 20)),
    **dict.fromkeys(("late", "end", "底", "末", "下旬"), (21, 31)),
    "first week": (1, 7),
    "second week": (8, 14),
    "third week": (15, 21),
    "last week": (25, 31),
}
"""The first and the last day of a part of a month."""

_HOLIDAYS = {
    **dict.fromkeys(("christmas", "圣诞"), ("12-24", "12-26")),
    **dict.fromkeys(("new year's eve", "跨年"), ("12-31", "12-31")),
    "halloween": ("10-31", "10-31"),
    **dict.fromkeys(("valentine's day", "情人节"), ("02-14", "02-14")),
    **dict.fromkeys(("new year's day", "元旦"), ("01-01", "01-01")),
    **dict.fromkeys(("五一", "劳动节"), ("05-01", "05-05")),
    "妇女节": ("03-08", "03-08"),
    "儿童节": ("06-01", "06-01"),
    "教师节": ("09-10", "09-10"),
    "双十一": ("11-11", "11-11"),
    "国庆": ("10-01", "10-07"),
}
"""The first and the last day of a holiday that is the same every year."""

_SEASONS = {
    **dict.fromkeys(("spring", "春"), 3),
    **dict.fromkeys(("summer", "夏"), 6),
    **dict.fromkeys(("autumn", "fall", "秋"), 9),
    **dict.fromkeys(("winter", "冬"), 12),
}
"""The first of a season's three months, north of the equator."""

_PARTS_OF_YEAR = {"初": (1, 2), "中": (6, 7), "底": (11, 12), "末": (11, 12)}
"""The first and the last month of a part of a year."""

_YEARS_BACK = {"今": 0, "去": 1, "前": 2, "this": 0, "last": 1}

_SAME_DAY = {
    **dict.fromkeys(("this morning", "this afternoon", "this evening", "tonight"), "today"),
    **dict.fromkeys(("今早", "今晚", "今晨", "今夜"), "today"),
    "今儿": "today",
    **dict.fromkeys(("last night", "昨晚", "昨夜", "昨早", "昨儿", "昨"), "yesterday"),
    **dict.fromkeys(("前晚", "前夜", "前儿"), "前天"),
}
_DIGITS_ZH = "一二三四五六七八九"

_REACH_DAYS = {"day": 0, "天": 0, "week": 3, "周": 3, "星期": 3, "礼拜": 3, "month": 15, "月": 15}
"""How far around the day "2 weeks ago" reaches; a year's count reaches half a year."""


@dataclass(frozen=True, slots=True)
class _Here:
    """Where the text stands in time."""

    now: Millis
    tz: tzinfo

    def read(self, words: str) -> Span | None:
        try:
            return parse_typed_time(words, now=self.now, tz=self.tz)
        except UsageError:
            return None

    def today(self) -> datetime:
        return datetime.fromtimestamp(self.now / 1000, UTC).astimezone(self.tz)


_Reader = Callable[[re.Match[str], _Here], Span | None]
_Rows = Sequence[tuple[str, str, _Reader]]
"""What a text must hold one of to be looked at (`holds_any`), what is looked for, and what it means."""


def spans(text: str, *, now: Millis, tz: tzinfo) -> tuple[Span, ...]:
    """The stretches of time that a text speaks of, said at `now` by someone in the zone; often none.

    English and Chinese: "last week", "3 days ago", "on May 4th", "in early March", "昨天", "上周三",
    "5月4号", "三月初"; the more usual of them in German, Spanish, French, Russian, Japanese and Korean too
    (`timewords_abroad`). A date without its year is the latest one that is not to come. Where a text names
    a date, its words that count from the day of speaking are left out: "last week, as told on 6 May"
    was not last week. "between A and B" is one span, "since A" lasts until now, "before A" begins with time.
    """
    text, here = translated(text), _Here(now, tz)
    try:
        found = list(_found(text, _DATES, here)) or list(_found(text, _RELATIVE, here))
    except (ValueError, OverflowError):  # said at the end of the calendar
        return ()
    reaching = [(start, end, _reaching(text, start, end, span, here)) for start, end, span in found]
    return tuple(_joined(text, reaching))


def dated(text: str, *, now: Millis, tz: tzinfo) -> str:
    """The text with its date after each word that counts from the day of speaking, said at `now` in the zone.

    "next Friday (2026-03-13)", "下个月（2026-04）". What tells a date is left as it is, and so is what may
    mean the past as well as the future ("on Friday").
    """
    here, told = _Here(now, tz), list(text)
    try:
        found = [] if any(_found(text, _DATES, here)) else list(_found(text, _PLAIN, here))
    except (ValueError, OverflowError):  # said at the end of the calendar
        found = []
    for _, end, span in found:
        if text[end : end + 2].lstrip().startswith(("(", "（")):
            continue
        day = f"（{_told(span, here)}）" if text[end - 1] > "\u2e7f" else f" ({_told(span, here)})"
        told[end - 1] += day
    return "".join(told)


def _told(span: Span, here: _Here) -> str:
    ends = (datetime.fromtimestamp(at / 1000, UTC).astimezone(here.tz) for at in (span.start, span.end))
    first, last = (f"{day:%Y-%m-%d}" for day in ends)
    whole = (first[:size] for size in (4, 7) if here.read(first[:size]) == span)
    return first if first == last else next(whole, f"{first} – {last}")


def _found(text: str, rows: _Rows, here: _Here) -> Iterator[tuple[int, int, Span]]:
    """(start, end, span) of what the rows match, in the order of the text, none inside another."""
    padded = f" {text.casefold()} "
    matches = [
        (match, read)
        for cues, pattern, read in rows
        if holds_any(padded, cues)
        for match in _compiled(pattern).finditer(text)
    ]
    end = 0
    for match, read in sorted(matches, key=lambda each: (each[0].start(), -each[0].end())):
        span = read(match, here) if match.start() >= end else None
        if span is not None:
            end = match.end()
            yield match.start(), end, span


def _reaching(text: str, start: int, end: int, span: Span, here: _Here) -> Span:
    """The span, or all since it ("since Monday"), or all that was before it ("before 4 May", "5月之前")."""
    if _SINCE.search(text, max(0, start - 10), end) or _SINCE_ZH.match(text, end):
        return Span(span.start, max(span.end, here.now))
    if _BEFORE.search(text, max(0, start - 12), end) or _BEFORE_ZH.match(text, end):
        return Span(min(_YEAR_1, span.start), span.start)
    return span


def _joined(text: str, found: Sequence[tuple[int, int, Span]]) -> Iterator[Span]:
    """The spans, those that a word of "between A and B" joins as one."""
    open_end, opened = 0, None
    for start, end, span in found:
        if opened is None:
            opened = span
        elif _BETWEEN.fullmatch(text, open_end, start) and span.end >= opened.start:
            opened = Span(opened.start, span.end)
        else:
            yield opened
            opened = span
        open_end = end
    if opened is not None:
        yield opened


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.IGNORECASE)


# --- dates ----------------------------------------------------------------------------------------


def _read_date(match: re.Match[str], here: _Here) -> Span | None:
    """A day, a month or a part of one, by numbers or by the month's name."""
    named = match.groupdict()
    month = _month_number(match["month"])
    day = _number(named.get("day"))
    part = named.get("part")
    year = named.get("year")
    if named.get("which"):
        year = _year_of(match["which"], here)
    if day is not None:
        return _dated(here, year, f"{month:02}-{day:02}")
    span = _dated(here, year, f"{month:02}")
    if span is None or part is None:
        return span
    first, last = _THIRDS[part.casefold()]
    return Span(span.start + (first - 1) * _DAY_MS, min(span.start + last * _DAY_MS - 1, span.end))


def _year_of(which: str, here: _Here) -> str:
    return str(here.today().year - _YEARS_BACK[which.casefold()])


def _dated(here: _Here, year: str | None, rest: str) -> Span | None:
    if year is not None:
        return here.read(f"{year}-{rest}")
    this_year = here.today().year
    candidates = (here.read(f"{this_year - back}-{rest}") for back in range(5))
    return next((span for span in candidates if span and span.start <= here.now), None)


def _month_number(word: str) -> int:
    number = _number(word)
    return number if number is not None else 1 + _MONTHS.index(word[:3].casefold())


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _number(word: str | None) -> int | None:
    """A number up to 99 in digits or Chinese characters; None for other words."""
    if word is None or word.isascii():
        return int(word) if word and word.isdecimal() else None
    tens, ten, ones = word.rpartition("十")
    tens_digit = _DIGITS_ZH.find(tens) + 1 if tens else 1 if ten else 0
    return 10 * tens_digit + (_DIGITS_ZH.find(ones) + 1 if ones else 0)


def _read_day_of_month(match: re.Match[str], here: _Here) -> Span | None:
    """The latest such day that is not to come."""
    today = here.today()
    months = (today.year * 12 + today.month - 1 - back for back in range(3))
    days = (here.read(f"{month // 12}-{month % 12 + 1:02}-{int(match['day']):02}") for month in months)
    return next((day for day in days if day and day.start <= here.now), None)


def _read_holiday(match: re.Match[str], here: _Here) -> Span | None:
    first, last = _HOLIDAYS[match["holiday"].casefold().replace("’", "'")]
    named = match.groupdict()
    year = _year_of(match["which"], here) if named.get("which") else named.get("year")
    begin = _dated(here, year, first)
    return begin and Span(begin.start, begin.end + (int(last[-2:]) - int(first[-2:])) * _DAY_MS)


def _read_quarter(match: re.Match[str], here: _Here) -> Span | None:
    """The quarter of the year that is named, else the latest that has begun."""
    first = 3 * (_number(match["quarter"]) or 1) - 2
    this_year = here.today().year
    years = [int(match["year"])] if match["year"] else [this_year, this_year - 1]
    quarters = (_months(here, year, first, 3) for year in years)
    return next((span for span in quarters if span and (match["year"] or span.start <= here.now)), None)


def _read_half_year(match: re.Match[str], here: _Here) -> Span | None:
    """A half of this year or another."""
    is_first = match["half"].casefold() in ("first", "上")
    year = int(_year_of(match["which"] or "今", here))
    return _months(here, year, 1 if is_first else 7, 6)


def _read_from_month(match: re.Match[str], here: _Here) -> Span | None:
    """From one month to another: "between June and August"."""
    last = _dated(here, match["year"], f"{_month_number(match['last']):02}")
    year = last and datetime.fromtimestamp(last.start / 1000, UTC).astimezone(here.tz).year
    first = last and here.read(f"{year}-{_month_number(match['month']):02}")
    return Span(first.start, last.end) if first and last and first.start <= last.start else last


def _read_year(match: re.Match[str], here: _Here) -> Span | None:
    return here.read(match["year"])


def _read_season(match: re.Match[str], here: _Here) -> Span | None:
    """The season of the year that is named, else the latest that has begun (with "last": and ended).

    "In summer" alone is none: it asks for a habit as often as for a time.
    """
    first = _SEASONS[match["season"].casefold()]
    named = match.groupdict()
    which = (named.get("which") or "").casefold()
    this_year = here.today().year
    if named.get("year"):
        return _months(here, int(named["year"]), first, 3)
    if which in ("今", "去", "前"):
        return _months(here, this_year - _YEARS_BACK[which], first, 3)
    latest = (_months(here, this_year - back, first, 3) for back in range(3))
    return next(
        (span for span in latest if span and (span.end if which == "last" else span.start) <= here.now), None
    )


def _read_part_of_year(match: re.Match[str], here: _Here) -> Span | None:
    first, last = _PARTS_OF_YEAR[match["part"]]
    year = here.today().year - _YEARS_BACK.get(match["which"] or "今", 0)
    return _months(here, year, first, last - first + 1)


def _months(here: _Here, year: int, first: int, count: int) -> Span | None:
    """So many months from the first on, into the next year where they reach it."""
    last = first + count - 1
    begin, end = here.read(f"{year}-{first:02}"), here.read(f"{year + last // 13}-{(last - 1) % 12 + 1:02}")
    return Span(begin.start, end.end) if begin and end else None


_DATES: _Rows = (
    (_YEAR_CUES, r"\b(?P<year>(?:19|20)\d\d)[-/.](?P<month>[01]?\d)[-/.](?P<day>[0-3]?\d)\b", _read_date),
    (_MONTH_CUES, rf"\b{_DAY}\s+(?:of\s+)?{_MONTH},?(?:\s*{_YEAR})?", _read_date),
    (_MONTH_CUES, rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s*{_YEAR})?", _read_date),
    (
        _MONTH_CUES,
        rf"\b(?P<part>early|mid|late|beginning|start|middle|end)(?:[ -]|\s+of\s+){_MONTH}(?:,?\s*{_YEAR})?",
        _read_date,
    ),
    (_MONTH_CUES, rf"\b(?:in|of|since|during|until|by)\s+{_MONTH}(?:,?\s*(?:of\s+)?{_YEAR})?", _read_date),
    (_MONTH_CUES, rf"\b{_MONTH},?\s+{_YEAR}", _read_date),
    (_YEAR_CUES, rf"\b(?:in|of|during|since)\s+{_YEAR}", _read_year),
    (
        "week_of week_in",
        rf"\b(?P<part>(?:first|second|third|last) week) (?:of|in) {_MONTH}(?:,?\s*{_YEAR})?",
        _read_date,
    ),
    ("q1 q2 q3 q4", rf"\bQ(?P<quarter>[1-4])\b(?:,? (?:of |in )?{_YEAR})?", _read_quarter),
    ("季度", r"(?:(?P<year>(?:19|20)\d\d)年)?第?(?P<quarter>[一二三四1-4])季度", _read_quarter),
    (
        "half_of_",
        r"\bthe (?P<half>first|second) half of (?:the|(?P<which>this|last)) year\b",
        _read_half_year,
    ),
    ("半年", r"(?:(?P<which>[今去前])年)?(?P<half>[上下])半年", _read_half_year),
    (
        "between_ from_",
        rf"\b(?:between|from)\s+{_MONTH}\s+(?:and|to|until|till|through)\s+(?P<last>{_MONTHS_EN})\b"
        rf"(?:,?\s*{_YEAR})?",
        _read_from_month,
    ),
    (
        "_year",
        rf"\b(?:(?:in|of|during|since|until|by)\s+)?{_MONTH},? (?:of )?(?P<which>last|this) year\b",
        _read_date,
    ),
    ("_year", rf"\b(?P<which>last|this) year,? in {_MONTH}", _read_date),
    (
        "christmas new_year halloween valentine",
        rf"\b(?:at|on|over|around|for|last|this|during) (?P<holiday>Christmas"
        r"|New Year['\u2019]s (?:Eve|Day)|Halloween|Valentine['\u2019]s Day)"
        rf"(?:,? (?:of |in )?(?:{_YEAR}|(?P<which>last|this) year\b))?",
        _read_holiday,
    ),
    (
        "节 圣诞 元旦 国庆 五一 跨年 双十一",
        r"(?:(?:(?P<year>(?:19|20)\d\d)|(?P<which>[今去前]))\s*年的?\s*)?"
        r"(?P<holiday>圣诞|情人节|元旦|国庆|跨年|劳动节|妇女节|儿童节|教师节|双十一|(?<![周期拜第十])五一(?![起定直点些个共]))",
        _read_holiday,
    ),
    (
        "月",
        rf"(?:(?:(?P<year>(?:19|20)\d\d)|(?P<which>[今去前]))\s*年的?\s*)?(?<![\d个第一二三四五六七八九十上下])(?P<month>{_NUMBER_ZH})\s*月份?"
        rf"\s*(?:(?P<day>{_NUMBER_ZH})\s*[日号]?|(?P<part>初|上旬|中旬|中|底|末|下旬))?",
        _read_date,
    ),
    (
        _SEASON_CUES,
        rf"\b(?:in|of|during|since) (?:the )?(?P<season>spring|summer|autumn|fall|winter),? (?:of )?{_YEAR}",
        _read_season,
    ),
    ("年", r"(?P<year>(?:19|20)\d\d)\s*年(?P<season>[春夏秋冬])[天季]?", _read_season),
    ("年", r"(?P<year>(?:19|20)\d\d)\s*年(?!\s*(?:\d|[一二三四五六七八九十]))", _read_year),
)


# --- counted from the day of speaking -------------------------------------------------------------


def _read_typed(match: re.Match[str], here: _Here) -> Span | None:
    words = " ".join(match[0].casefold().split())
    return here.read(_SAME_DAY.get(words, words))


def _read_ago(match: re.Match[str], here: _Here) -> Span | None:
    span = _read_typed(match, here)
    if span is None:
        return None
    reach = _REACH_DAYS.get(match["unit"].casefold(), 182) * _DAY_MS
    return Span(span.start - reach, span.end + reach)


def _read_past(match: re.Match[str], here: _Here) -> Span | None:
    """From then until now: "the past two weeks"."""
    count, unit = match["count"] or "1", match["unit"].casefold()
    since = here.read(f"{count} {unit}s ago" if unit.isascii() else f"{count}{unit}前")
    return since and Span(since.start, here.now)


def _read_few(match: re.Match[str], here: _Here) -> Span | None:
    """Some days or weeks ago, as loosely as it is said: the last two weeks, or two months."""
    is_days = (match["unit"] or "天").casefold() in ("day", "天")
    since = here.read("14 days ago" if is_days else "60 days ago")
    return since and Span(since.start, here.now)


def _read_weekday(match: re.Match[str], here: _Here) -> Span | None:
    """The last such day, today included."""
    name = match["weekday"].casefold()
    today = here.today()
    index = (
        _WEEKDAY.split("|").index(name)
        if name.isascii()
        else "一二三四五六日".index(name.replace("天", "日"))
    )
    return here.read(f"{today - timedelta(days=(today.weekday() - index) % 7):%Y-%m-%d}")


def _read_weekend(match: re.Match[str], here: _Here) -> Span | None:
    """The last weekend that has begun, or with "next" the one after the next Monday."""
    today = here.today()
    which = match["which"].casefold()
    # Without a word before it ("over the weekend"), the last that has begun.
    saturday = today - timedelta(days=(today.weekday() - 5) % 7)
    if which in ("last", "上") and today.weekday() >= 5:
        saturday -= timedelta(days=7)
    if which in ("next", "下"):
        saturday += timedelta(days=14 if today.weekday() < 5 else 7)
    if which in ("this", "这", "本") and today.weekday() < 5:
        saturday += timedelta(days=7)
    first = here.read(f"{saturday:%Y-%m-%d}")
    return first and Span(first.start, first.end + _DAY_MS)


def _read_before_last(match: re.Match[str], here: _Here) -> Span | None:
    return here.read({"week": "上上周", "month": "上上个月", "year": "前年"}[match["unit"].casefold()])


def _read_weekday_last_week(match: re.Match[str], here: _Here) -> Span | None:
    number = _WEEKDAY.split("|").index(match["weekday"].casefold())
    return here.read(f"上周{'一二三四五六日'[number]}")


def _read_this_so_far(match: re.Match[str], here: _Here) -> Span | None:
    whole = here.read(f"this {match['unit'].casefold()}")
    return whole and Span(whole.start, here.now)


def _read_fortnight_ago(_: re.Match[str], here: _Here) -> Span | None:
    day = here.read("14 days ago")
    return day and Span(day.start - 4 * _DAY_MS, day.end + 4 * _DAY_MS)


def _read_half_a_year_ago(_: re.Match[str], here: _Here) -> Span | None:
    day = here.read("6 months ago")
    return day and Span(day.start - 45 * _DAY_MS, day.end + 45 * _DAY_MS)


def _read_part_of_month(match: re.Match[str], here: _Here) -> Span | None:
    month = here.read(f"{match.groupdict().get('which') or '这'}个月")
    first, last = _THIRDS[match["part"]]
    return month and Span(
        month.start + (first - 1) * _DAY_MS, min(month.start + last * _DAY_MS - 1, month.end)
    )


def _read_named_month(match: re.Match[str], here: _Here) -> Span | None:
    """The latest month of that name that is not to come."""
    return _dated(here, None, f"{_month_number(match['month']):02}")


_RELATIVE: _Rows = (
    (
        "yesterday today tomorrow",
        r"\b(?:the day before yesterday|the day after tomorrow|yesterday|today|tomorrow)\b",
        _read_typed,
    ),
    (
        "this_morning this_afternoon this_evening tonight last_night",
        r"\b(?:this (?:morning|afternoon|evening)|tonight|last night)\b",
        _read_typed,
    ),
    ("_week _month _year", r"\b(?:last|previous|this|next) (?:week|month|year)\b", _read_typed),
    ("day", rf"\b(?:last|previous|this|next) (?:{_WEEKDAY})\b", _read_typed),
    ("_weekend", r"\b(?P<which>last|this|next) weekend\b", _read_weekend),
    ("the_weekend", r"\b(?:over|at|on) (?P<which>the) weekend\b", _read_weekend),
    (
        "day_ day?",
        rf"(?<!every )(?<!each )(?<!next )\b(?P<weekday>{_WEEKDAY})"
        r"(?= (?:morning|afternoon|evening|night)\b|\s*\?)",
        _read_weekday,
    ),
    ("_before_last", r"\bthe (?P<unit>week|month|year) before last\b", _read_before_last),
    ("last_week", rf"\b(?P<weekday>{_WEEKDAY}) (?:of )?last week\b", _read_weekday_last_week),
    ("earlier_this_", r"\bearlier this (?P<unit>week|month|year)\b", _read_this_so_far),
    ("on_the_", r"\bon the (?P<day>[0-3]?\d)(?:st|nd|rd|th)\b", _read_day_of_month),
    (
        "号",
        r"(?<![\d月])(?P<day>[0-3]?\d)号(?=那天|当天|的时候|早上|上午|中午|下午|晚上)",
        _read_day_of_month,
    ),
    ("fortnight 半个月", r"\ba fortnight ago\b|半个月(?:之前|以前|前)", _read_fortnight_ago),
    ("half_a_year_ago 半年", r"\bhalf a year ago\b|半年(?:之前|以前|前)", _read_half_a_year_ago),
    ("the_other_day", r"\bthe other (?P<unit>day)\b", _read_few),
    ("月初 月中 月底 月末", r"(?P<which>[上这本])个?月(?P<part>初|中旬|中|底|末)", _read_part_of_month),
    (
        "月初 月中旬 月底 月末",
        r"(?<![\d一二三四五六七八九十上这本下个每])月(?P<part>初|中旬|底|末)",
        _read_part_of_month,
    ),
    ("日", r"(?<![\d月年第])(?P<day>[0-3]?\d)日(?![元本均内常\d])", _read_day_of_month),
    (
        "号",
        r"(?:^|[，,我在])(?P<day>[0-3]?\d)号(?![楼线门店机院车房厅桌码球选公电])",
        _read_day_of_month,
    ),
    ("last_", rf"\blast {_MONTH}", _read_named_month),
    (_SEASON_CUES, r"\b(?P<which>last|this) (?P<season>spring|summer|autumn|fall|winter)\b", _read_season),
    ("s_ago", r"\b(?:a few|several|some|a couple of) (?P<unit>day|week)s ago\b", _read_few),
    ("_few_", r"\b(?:last|past) few (?P<unit>day|week)s\b", _read_few),
    ("day", rf"\b(?:on|since) (?P<weekday>{_WEEKDAY})\b", _read_weekday),
    ("_ago", rf"\b{_COUNT} (?P<unit>{_UNIT})s? ago\b", _read_ago),
    ("past_ last_", rf"\b(?:past|last) (?:(?P<count>{_COUNT}) )?(?P<unit>{_UNIT})s?\b", _read_past),
    ("春 夏 秋 冬", r"(?P<which>[今去前])年的?(?P<season>[春夏秋冬])[天季]", _read_season),
    ("年初 年中 年底 年末", r"(?P<which>[今去前])?年(?:年)?(?P<part>[初中底末])", _read_part_of_year),
    ("几", r"几个?(?P<unit>天|周|星期)(?:之前|以前|前)", _read_few),
    ("几 前两天 前三天", r"(?:前|最近|这)几个?(?P<unit>天|周|星期)|前[两三]天", _read_few),
    (
        "前天 昨天 昨日 今天 明天 后天 去年 今年 前年 明年 后年",
        r"大前天|前天|昨天|昨日|今天|明天|大后天|后天|去年|今年|前年|明年|后年",
        _read_typed,
    ),
    ("今 昨 前", r"今[早晚晨夜儿]|昨[晚夜早儿]|前[晚夜儿]", _read_typed),
    ("周 星期 礼拜 月", r"(?:上上|[上这本下])个?(?:周|星期|礼拜|月)(?![一二三四五六日天末])", _read_typed),
    ("周 星期 礼拜", rf"(?:上上|[上这本下])个?(?:周|星期|礼拜){_WEEKDAY_ZH}", _read_typed),
    ("周末", r"(?P<which>[上这本下])个?周末", _read_weekend),
    ("周 星期 礼拜", rf"(?<![上这本下个每])(?:周|星期|礼拜)(?P<weekday>{_WEEKDAY_ZH})", _read_weekday),
    ("前", rf"{_COUNT_ZH}个?(?P<unit>{_UNIT_ZH})(?:之前|以前|前)", _read_ago),
    ("最近 过去 近", rf"(?:最近|过去|近)的?这?(?P<count>{_COUNT_ZH})个?(?P<unit>{_UNIT_ZH})", _read_past),
)

_PLAIN = [row for row in _RELATIVE if row[2] in (_read_typed, _read_weekend)]
"""What means one stretch of time, whether it was or is to come."""

_SINCE = re.compile(r"\b(?:since|seit|desde|depuis)\b|从", re.IGNORECASE)
_SINCE_ZH = re.compile("以来|到现在|至今")
_BEFORE = re.compile(r"\b(?:before|prior to|vor dem|antes de|avant)\b(?! yesterday| last\b)", re.IGNORECASE)
_BEFORE_ZH = re.compile("[之以]前")

_BETWEEN = regex(r"\s*(?:and|to|until|till|through|-|–|—|~|到|至|和)\s*", re.IGNORECASE)
