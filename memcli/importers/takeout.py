"""The format "gemini-activity": "My Activity › Gemini Apps" of a Google Takeout, as JSON or as a web page.

Google keeps no conversations there: each record is a prompt with its answer, and a conversation of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memcli.importers.encoding import read_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import meta_with
from memcli.importers.seen import Seen
from memcli.importers.session import in_pieces, objects
from memcli.importers.source import Source
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import Conversation, Item, Message, Millis, Skip

NAME = "gemini-activity"

_PRODUCT = regex(r"gemini|bard", re.IGNORECASE)
_PAGE = regex(r"outer-cell mdl-cell|mdl-typography--title")  # its styles may be longer than a head
_CELL = regex(r'<div class="outer-cell[ "]')
_PRODUCT_CELL = regex(r'<p class="mdl-typography--title">(.*?)</p>', re.DOTALL)
_CONTENT_CELL = regex(
    r'<div class="content-cell [^"]*mdl-typography--body-1">(.*?)</div>\s*<div class="content-cell', re.DOTALL
)

# The verb before a prompt, and those before what is none ("Used Gemini Apps", "Gave feedback"). In other
# languages than English nothing tells them apart, so the verb stays and everything is taken for a prompt.
_PROMPT = regex(r"^(?:Prompted with:|Asked (?:Gemini|Bard):|Prompted|Asked|Said|Branched|Answered)\s+")
_NO_PROMPT = regex(r"(?:Added|Created|Deleted|Gave|Opened|Selected|Shared|Used|Viewed|Visited)\s")
_ATTACHED = regex(r"\s*Attached \d+ files?\.\s*$")


def sniff(head: Head) -> bool:
    """Activity records, or the page of them; those of other products too: they are no notes."""
    if head.kind == "text":
        return head.text.lstrip().startswith("<") and _PAGE.search(head.text) is not None
    return any(record.keys() >= {"header", "title", "time"} for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Each prompt with its answer; what is of other products, and no prompt, is skipped."""
    told = _of_page if source.begins_with(b"<") else _of_records
    return in_pieces(_without_repeats(told(source, options)))


def _without_repeats(items: Iterator[Item]) -> Iterator[Item]:
    seen = Seen()
    for item in items:
        if isinstance(item, Conversation):
            yield Skip("duplicate") if seen.has(item.id) else item
        else:
            yield item


# --- JSON -----------------------------------------------------------------------------------------


def _of_records(source: Source, options: ReadOptions) -> Iterator[Item]:
    for item in objects(source, options):
        yield _of_record(item, options) if isinstance(item, dict) else item


def _of_record(record: Mapping[str, Any], options: ReadOptions) -> Item:
    from memcli.importers.html_text import text_of_html

    products = record.get("products")
    names = [record.get("header"), *(products if isinstance(products, list) else [])]
    if not any(isinstance(name, str) and _PRODUCT.search(name) for name in names):
        return Skip("other-product")
    answers = record.get("safeHtmlItem")
    parts = (
        [part.get("html") for part in answers if isinstance(part, dict)] if isinstance(answers, list) else []
    )
    answer = "\n\n".join(text_of_html(part) for part in parts if isinstance(part, str))
    title = record.get("title")
    at = parse_file_time(record.get("time"), tz=options.tz)
    return _exchange(title if isinstance(title, str) else "", answer, at, _files_of(record))


def _files_of(record: Mapping[str, Any]) -> list[str]:
    """The names of what was attached."""
    listed: list[object] = []
    for key in ("imageFile", "attachedFiles", "audioFiles", "files"):
        value = record.get(key)
        listed += value if isinstance(value, list) else [value]
    return [name for name in listed if isinstance(name, str)]


# --- a web page -----------------------------------------------------------------------------------


def _of_page(source: Source, options: ReadOptions) -> Iterator[Item]:
    from memcli.importers.html_text import text_of_html

    page, encoding = read_text(source, asked=options.encoding)
    yield from encoding.notices()
    for cell in _CELL.split(page)[1:]:
        product, content = _PRODUCT_CELL.search(cell), _CONTENT_CELL.search(cell)
        if product is None or not _PRODUCT.search(product[1]):
            yield Skip("other-product")
            continue
        yield _of_lines(text_of_html(content[1] if content else "").split("\n"), options)


def _of_lines(lines: Sequence[str], options: ReadOptions) -> Item:
    """A prompt, the line with its time, the answer."""
    for number, line in enumerate(lines):
        at = read_page_time(line, tz=options.tz)
        if at is not None:
            return _exchange("\n".join(lines[:number]), "\n".join(lines[number + 1 :]), at, [])
    return _exchange("\n".join(lines), "", None, [])


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:\s?(?P<half>[AP]M))?"
_PAGE_TIMES = tuple(
    regex(rf"{date},? {_CLOCK}(?: (?P<zone>[A-Z]{{2,5}}(?:[+-]\d\d?(?::?\d\d)?)?))?", re.ASCII)
    for date in (
        r"(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2}), (?P<year>\d{4})",
        r"(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2})[a-z]* (?P<year>\d{4})",
        r"(?P<day>\d{1,2})[./](?P<month>\d{1,2})[./](?P<year>\d{4})",
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
    )
)
_CHINESE_TIME = regex(
    r"(?P<year>\d{4})年(?P<month>\d{1,2})月(?P<day>\d{1,2})日 ?(?P<zone>[A-Z]{2,5})? ?" + _CLOCK, re.ASCII
)
# Hours from UTC of the abbreviations that stand for one zone only (not CST, IST or BST).
_ZONE_HOURS = {
    "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "EEST": 3,
    "MSK": 3, "SGT": 8, "HKT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
    "EDT": -4, "EST": -5, "CDT": -5, "MDT": -6, "MST": -7, "PDT": -7, "PST": -8, "AKDT": -8, "AKST": -9,
    "HST": -10,
}  # fmt: skip


def read_page_time(line: str, *, tz: str | None) -> Millis | None:
    """The moment of a line like "Mar 1, 2026, 9:00:01 AM UTC"; None for any other line.

    A zone whose abbreviation stands for several is the person's own, `tz`.
    """
    plain = line.replace("\u202f", " ").replace("\xa0", " ").strip()
    for pattern in (*_PAGE_TIMES, _CHINESE_TIME):
        found = pattern.fullmatch(plain)
        if found:
            return _moment_of(found.groupdict(), tz)
    return None


def _moment_of(parts: Mapping[str, str | None], tz: str | None) -> Millis | None:
    month = (parts["month"] or "").lower()
    number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month) if month.isdigit() else 0
    hour = int(parts["hour"] or 0)
    if parts["half"]:
        hour = hour % 12 + (12 if parts["half"] == "PM" else 0)
    date = f"{parts['year']}-{number:02}-{int(parts['day'] or 0):02}"
    return parse_file_time(
        f"{date}T{hour:02}:{parts['minute']}:{parts['second']}{_offset(parts['zone'])}", tz=tz
    )


def _offset(zone: str | None) -> str:
    """A zone as ISO 8601 has it: "GMT+5" as "+05:00"; "" when it is not known."""
    name, sign, hours = re.fullmatch(r"([A-Z]*)([+-]?)([\d:]*)", zone or "").groups()  # type: ignore[union-attr]
    if sign:
        whole, _, minutes = hours.partition(":")
        return f"{sign}{int(whole):02}:{minutes or '00'}"
    return f"{_ZONE_HOURS[name]:+03}:00" if name in _ZONE_HOURS else ""


# --- both -----------------------------------------------------------------------------------------


def _exchange(title: str, answer: str, at: Millis | None, files: list[str]) -> Item:
    """A prompt and its answer as a conversation, known by its time and its words."""
    title = title.replace("\xa0", " ").strip()
    is_prompt = _NO_PROMPT.match(title) is None
    if not is_prompt and not answer:
        return Skip("event")
    prompt = _ATTACHED.sub("", _PROMPT.sub("", title)) if is_prompt else ""
    said = [Message("user", prompt, at=at, meta=meta_with(attachments=files))] if prompt.strip() else []
    if answer.strip():
        # The record has one time, that of the prompt.
        said.append(
            Message("assistant", answer.strip(), at=at, meta={} if at is None else {"time_estimated": True})
        )
    if not said:
        return Skip("media" if files else "empty")
    mark = hashlib.sha256(f"{at}\0{title}\0{answer}".encode()).hexdigest()[:16]
    return Conversation(f"gemini-{mark}", NAME, said, started_at=at)
