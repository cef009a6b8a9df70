"""The format "whatsapp": the text that WhatsApp exports a chat as, on any phone, in any language.

    [13/03/2026, 9:01:05 PM] Ana: on my way          iPhone
    13.03.26, 21:01 - Ana: on my way                 Android

Its dates do not say whether the day or the month comes first; `_order_of` says how that is decided. Its
times do not name their zone: they are UTC unless `--tz` says otherwise.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from memcli.errors import UsageError
from memcli.importers.chats import between_people, in_chats, role_of
from memcli.importers.encoding import read_text
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, meta_with
from memcli.importers.source import Source
from memcli.importers.text import file_title
from memcli.text import regex
from memcli.times import parse_file_time
from memcli.types import BadLine, Item, Message, Millis, Notice, Skip

NAME = "whatsapp"

_MARKS = "[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]*"
_BLANK = r"[^\S\n]"
_DATE = (
    rf"(?P<first>\d{{1,4}}){_MARKS}(?P<sign>[./-]|(?P<korean>년)|年){_MARKS}{_BLANK}?"
    rf"(?P<second>\d{{1,2}}){_MARKS}(?:[./-]|월|月){_MARKS}{_BLANK}?"
    rf"(?P<third>\d{{1,4}})(?:\.|일|日)?(?:{_BLANK}г\.)?"
)
_HALF = r"[^\W\d_][^\d\]\[:\n-]{0,11}?"
_CLOCK = (
    rf"(?:(?P<before>{_HALF}){_BLANK}?)?(?P<hour>\d{{1,2}})[:.](?P<minute>\d\d)(?:[:.](?P<seconds>\d\d))?"
    rf"(?:{_BLANK}?(?P<after>{_HALF}))?"
)
_BETWEEN = rf"{_MARKS}[,،、]?{_BLANK}{{0,2}}(?:(?:klo|kl\.?|um|at|às){_BLANK})?{_MARKS}"
_STAMP = regex(
    rf"^{_MARKS}(?P<bracket>\[)?{_MARKS}{_DATE}{_BETWEEN}{_CLOCK}{_MARKS}"
    rf"(?(bracket)\]|(?(korean)(?:,|{_BLANK}[-–])|{_BLANK}[-–])){_BLANK}",
    re.MULTILINE,
)
# Vietnamese phones write the clock first.
_CLOCK_FIRST = regex(
    rf"^{_MARKS}(?P<bracket>\[)?{_MARKS}{_CLOCK}{_BETWEEN}{_DATE}{_MARKS}(?(bracket)\]|{_BLANK}[-–]){_BLANK}",
    re.MULTILINE,
)
# Group names are quoted, and what is said of groups has colons in it.
_AUTHOR = regex(rf"([^:\n\"“”„«»]{{1,100}}?){_BLANK}?:(?:{_BLANK}|$)", re.MULTILINE)
_LOG_LEVELS = {"critical", "debug", "error", "fatal", "info", "notice", "trace", "warn", "warning"}

_MORNING = {"a", "am", "上午", "凌晨", "清晨", "早上", "午前", "오전", "ص", "قظ", "öö", "pg", "sa", "πμ"}
_AFTERNOON = {"p", "pm", "下午", "中午", "傍晚", "晚上", "午後", "오후", "م", "بظ", "ös", "ptg", "ch", "μμ"}

_ATTACHED_WORDS = (
    r"file attached|datei angehängt|archivo adjunto|fichier joint|(?:arquivo|ficheiro) anexado|file allegato"
    r"|bestand bijgevoegd|файл добавлен|dosya ekli|plik dołączony|file terlampir|ملف مرفق"
    r"|文件附件|檔案附件|ファイル添付|添付ファイル|파일 첨부됨?"
)
_ATTACHED = regex(
    r"\u200e?<[^<>:：\n]{2,30}[:：]\s?(?P<iphone>[^<>\n]+\.\w{2,5})>"
    rf"|^(?P<android>[^\s\u200e][^\n]*\.\w{{2,5}}) \((?:{_ATTACHED_WORDS})\)$"
    r"|^\u200e(?P<marked>[^\n]+\.\w{2,5}) \([^()\n]+\)$",
    re.MULTILINE | re.IGNORECASE,
)
# What a phone leaves in the place of a picture: "<Media omitted>", "<省略多媒体文件>".
_PLACEHOLDER = regex(r"\u200e?<[^<>=\"/]*(?:\s|[^\x00-\x7f])[^<>=\"/]*>")
_OMITTED = regex(
    r"(?:image|video|audio|sticker|gif|document|contact card|video note|media) omitted"
    r"|(?:bild|foto|video|audio|sticker|gif|dokument|kontaktkarte) (?:weg|aus)gelassen"
    r"|(?:imagen|imagem|áudio|audio|v[ií]deo|sticker|figurinha|gif|documento) (?:omitid|ocultad)[oa]"
    r"|(?:image|vidéo|audio|sticker|gif|document) (?:absente?|omise?|manquante?)"
    r"|(?:immagine|video|audio|sticker|gif|documento) (?:omess[oa]|non inclus[oa])"
    r"|(?:afbeelding|video|audio|sticker|gif|document) weggelaten"
    r"|(?:图像|图片|视频|音频|贴图|文档)已(?:省略|忽略)|(?:圖片|影片|音訊|貼圖|文件)已(?:略去|忽略)",
    re.IGNORECASE,
)
# What the program itself writes under an author's name, where no mark tells it (Android).
_NOTICE = regex(
    r"(?:this message was deleted|you deleted this message"
    r"|missed (?:voice|video|group voice|group video) call|waiting for this message\..*"
    r"|diese nachricht wurde gelöscht|du hast diese nachricht gelöscht"
    r"|(?:se eliminó|eliminaste) este mensaje|(?:esta mensagem foi apagada|mensagem apagada)"
    r"|ce message a été supprimé|questo messaggio è stato eliminato|(?:此|该)消息已被?删除|此訊息已刪除)\.?",
    re.IGNORECASE,
)
_EDITED = regex(r"\s*(?:\u200e<[^<>\n]+>|<(?:This message was edited|Diese Nachricht wurde bearbeitet)>)$")
_LONGEST_MARKED_CHARS = 300


def sniff(head: Head) -> bool:
    """A text whose first line is stamped, with an author who is no level of a log."""
    if head.kind != "text":
        return False
    stamps = _stamps(head.text)
    if not stamps or head.text[: stamps[0].start()].strip():
        return False
    authors = {
        author[1].strip().lower() for stamp in stamps if (author := _AUTHOR.match(head.text, stamp.end()))
    }
    return bool(authors - _LOG_LEVELS)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages of the chat; what the program says itself is skipped.

    Raises UsageError when there is no message in it.
    """
    text, encoding = read_text(source, asked=options.encoding)
    yield from encoding.notices()
    stamps = _stamps(text)
    if not stamps:
        raise UsageError(f"no line of {source.path} begins with a time as WhatsApp writes it")
    order = _order_of(stamps)
    if not order.is_certain:
        yield Notice(f"its dates were read as {order.name}, which nothing in it proves")
    title = file_title(source)
    titles: dict[str | None, str | None] = {None: None if title == "_chat" else title}
    messages = between_people(_messages(text, stamps, order, options), options)
    yield from in_chats(messages, source=NAME, titles=titles)


def _stamps(text: str) -> Sequence[re.Match[str]]:
    return list(_STAMP.finditer(text)) or list(_CLOCK_FIRST.finditer(text))


# --- the order of day and month -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Order:
    """Which of the three numbers is the day, the month and the year, counted from 0."""

    name: str
    day: int
    month: int
    year: int
    is_certain: bool = True

    def date_of(self, numbers: Sequence[int]) -> tuple[int, int, int]:
        """Year, month and day. A year of two digits is of this century, one past 2400 is Thai."""
        year = numbers[self.year]
        year += 2000 if year < 100 else -543 if year > 2400 else 0
        return year, numbers[self.month], numbers[self.day]


_YEAR_FIRST = _Order("year/month/day", 2, 1, 0)
_DAY_FIRST = _Order("day/month/year", 0, 1, 2)
_MONTH_FIRST = _Order("month/day/year", 1, 0, 2)


def _order_of(stamps: Sequence[re.Match[str]]) -> _Order:
    """The order in which a chat writes its dates; the first of these that decides it:

    1. a year of four digits or a sign for "year" in front;
    2. a number over 12, which is no month (if both orders have one, the one that has more);
    3. time: of the two orders the one under which it goes back less often;
    4. a dot or a dash between the numbers: the day first, everywhere;
    5. a slash, no zeros in front, and AM or PM in capitals: the month first, as in the United States;
    6. otherwise the day first.

    Only the first four are certain.
    """
    if any(len(stamp["first"]) == 4 or stamp["sign"] in "年년" for stamp in stamps):
        return _YEAR_FIRST
    dates = [_numbers_of(stamp) for stamp in stamps]
    by_day = sum(first > 12 for first, _, _ in dates) - sum(second > 12 for _, second, _ in dates)
    by_day = by_day or _steps_back(dates, _MONTH_FIRST) - _steps_back(dates, _DAY_FIRST)
    if by_day:
        return _DAY_FIRST if by_day > 0 else _MONTH_FIRST
    if any(stamp["sign"] != "/" for stamp in stamps):
        return _DAY_FIRST
    likely = _MONTH_FIRST if all(map(_is_american, stamps)) else _DAY_FIRST
    is_same = all(first == second for first, second, _ in dates)
    return _Order(likely.name, likely.day, likely.month, likely.year, is_certain=is_same)


def _numbers_of(stamp: re.Match[str]) -> tuple[int, int, int]:
    return int(stamp["first"]), int(stamp["second"]), int(stamp["third"])


def _steps_back(dates: Sequence[Sequence[int]], order: _Order) -> int:
    return sum(later < earlier for earlier, later in pairwise(map(order.date_of, dates)))


def _is_american(stamp: re.Match[str]) -> bool:
    has_zero = stamp["first"].startswith("0") or stamp["second"].startswith("0")
    return stamp["after"] in ("AM", "PM") and not has_zero


# --- messages -------------------------------------------------------------------------------------


def _messages(
    text: str, stamps: Sequence[re.Match[str]], order: _Order, options: ReadOptions
) -> Iterator[Said | Item]:
    for number, line in enumerate(text[: stamps[0].start()].split("\n"), start=1):
        if line.strip():
            yield BadLine(number, "it stands before the first message")
    ends = [stamp.start() for stamp in stamps[1:]] + [len(text)]
    minute, said = "", Counter[str]()
    for stamp, end in zip(stamps, ends, strict=True):
        if stamp[0] != minute:
            minute, said = stamp[0], Counter()
        message = _message_of(stamp, text[stamp.end() : end].rstrip("\n"), order, options)
        if isinstance(message, Skip):
            yield message
            continue
        # Many phones tell no seconds: the same words in one minute are said twice; copies of it all are not.
        mark = message.id or ""
        said[mark] += 1
        yield None, replace(message, id=f"{mark}-{said[mark]}") if said[mark] > 1 else message


def _message_of(stamp: re.Match[str], body: str, order: _Order, options: ReadOptions) -> Message | Skip:
    author = _AUTHOR.match(body)
    if author is None:
        return Skip("system")
    name = re.sub(_MARKS, "", author[1]).strip()
    said = body[author.end() :]
    text, attachments = _without_attachments(said)
    if not text.strip():
        return Skip("media" if attachments else "empty")
    reason = _not_said(text)
    if reason:
        return Skip(reason)
    # There are no ids; this one stays when a file is read again in another zone or with another --me.
    mark = hashlib.sha256(f"{stamp[0]}{name}\0{said}".encode()).hexdigest()[:16]
    meta = meta_with(attachments=attachments)
    plain = _EDITED.sub("", text).strip().strip("\u200e")
    return Message(role_of(options, name), plain, name, _time_of(stamp, order, options), mark, meta)


def _without_attachments(said: str) -> tuple[str, list[str]]:
    attachments = [
        found["iphone"] or found["android"] or found["marked"] for found in _ATTACHED.finditer(said)
    ]
    return (_ATTACHED.sub("", said) if attachments else said), attachments


def _not_said(text: str) -> str | None:
    """Why nobody said this: "media", "system"; None for what somebody said.

    iPhones mark a line of the program's own; only a poll has several and is somebody's.
    """
    line = text.strip().strip("\u200e")
    is_marked = text.startswith("\u200e") and "\n" not in text.strip() and len(text) < _LONGEST_MARKED_CHARS
    if _PLACEHOLDER.fullmatch(line) or (is_marked and _OMITTED.search(line)):
        return "media"
    if is_marked or _NOTICE.fullmatch(line):
        return "system"
    return "media" if _OMITTED.fullmatch(line) else None


def _time_of(stamp: re.Match[str], order: _Order, options: ReadOptions) -> Millis | None:
    year, month, day = order.date_of(_numbers_of(stamp))
    hour = _hour_of(int(stamp["hour"]), stamp["before"] or stamp["after"])
    clock = f"{hour:02}:{int(stamp['minute']):02}:{int(stamp['seconds'] or 0):02}"
    return parse_file_time(f"{year:04}-{month:02}-{day:02}T{clock}", tz=options.tz)


def _hour_of(hour: int, half: str | None) -> int:
    """The hour of 24. 12 AM is midnight, 12 PM is noon; a clock of 24 hours has no halves."""
    word = re.sub(r"[\W_]", "", half or "").lower()
    if hour > 12 or word not in _MORNING | _AFTERNOON:
        return hour
    return hour % 12 + (12 if word in _AFTERNOON else 0)
