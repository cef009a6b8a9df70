"""Text to what an index holds of it: passages, ranking terms, and the words of a date."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache

from memcli.text import matching, regex
from memcli.tongues import STOP_WORDS, tongue_of
from memcli.types import Millis
from memcli.variants import simplified

# --- passages -------------------------------------------------------------------------------------

# Where a long text may be cut, the best place first; the cut falls after the match.
_BREAKS = (
    regex(r"\n[ \t]*\n"),
    regex(r"\n"),
    regex(r"""[.!?…]["'”’)\]]*\s|[。！？；…]["'”’」』）]*"""),
    regex(r"\s"),
)
_ZERO_WIDTH_JOINER = "\u200d"
_LONGEST_CLUSTER_CHARS = 16


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a text: `text` is the whole's slice from `start` to `end`; `ordinal` counts from 0."""

    ordinal: int
    start: int
    end: int
    text: str


def passages(text: str, *, size_chars: int = 500, overlap_chars: int = 80) -> list[Passage]:
    """The passages of a text in order, at least one; together they cover every character.

    A text up to 1.4 times `size_chars` stays whole. A longer one is cut into pieces of 0.6 to 1.2
    times `size_chars` (the last may be longer: the rest is kept whole too), each at the best break its
    window has: a blank line, a line's end, a sentence's end, a space, or anywhere between two
    characters that a reader sees as such. Each piece begins about `overlap_chars` before the end of
    the one before, at a break again where there is one. `overlap_chars` is at most a quarter of
    `size_chars`. Takes time linear in the text.
    """
    if len(text) <= size_chars * 7 // 5:
        return [Passage(0, 0, len(text), text)]
    return [
        Passage(ordinal, start, end, text[start:end])
        for ordinal, (start, end) in enumerate(_spans(text, size_chars, overlap_chars))
    ]


def _spans(text: str, size_chars: int, overlap_chars: int) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > size_chars * 7 // 5:
        end = _last_break(text, start + size_chars * 3 // 5, start + size_chars * 6 // 5)
        yield start, end
        start = _first_break(text, end - overlap_chars * 3 // 2, end - overlap_chars // 4)
    yield start, len(text)


def _last_break(text: str, low: int, high: int) -> int:
    for pattern in _BREAKS:
        if ends := [match.end() for match in pattern.finditer(text, low, high)]:
            return ends[-1]
    return _between_clusters(text, high, low)


def _first_break(text: str, low: int, high: int) -> int:
    for pattern in _BREAKS:
        if match := pattern.search(text, low, high):
            return match.end()
    return _between_clusters(text, (low + high) // 2, low)


def _between_clusters(text: str, at: int, low: int) -> int:
    """The nearest place at or before `at` that parts no accent, joiner or skin tone from its base."""
    for place in range(at, max(low, at - _LONGEST_CLUSTER_CHARS), -1):
        if text[place - 1] != _ZERO_WIDTH_JOINER and not _continues_cluster(text[place]):
            return place
    return at


def _continues_cluster(char: str) -> bool:
    return (
        char == _ZERO_WIDTH_JOINER
        or unicodedata.category(char) in ("Mn", "Mc", "Me")
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


# --- terms ----------------------------------------------------------------------------------------

# Scripts that put no spaces between words, and Hangul, whose particles stick to the word: Thai, Lao,
# Myanmar, Khmer, Han, kana, Hangul. They are indexed as characters and pairs of characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff"
    "\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
LETTER = rf"[^\W_{_UNSPACED}]"
"""A letter or digit of a word of a script with spaces: in "我用Vim写" the word ends where the script does."""
_IS_UNSPACED = regex(f"[{_UNSPACED}]")
# Marks that belong to a word and that `\w` does not match: accents, Hebrew and Arabic points, Indic vowels.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
# A date's number with its unit, a run without spaces, or words with the marks that join them (and
# perhaps one at the end). The class of letters takes 2 ms to compile: it stands here once.
_RUN = regex(
    rf"[0-9]+[年月日号]|[{_UNSPACED}]+"
    rf"|(?:(?:[^\W_{_UNSPACED}]|[{_MARKS}])++(?:[-_./:@+]|(?<=[0-9]),(?=[0-9]{{3}}))?)++"
)
# Not the 7 of "7.5", "7:30" and "7-9", nor the t of "don't".
_LONE = regex(rf"(?<![\w.,:/'’-])[^\W_{_UNSPACED}](?![\w'’]|[.,:/-]\w)")
# The same of ASCII, as RE2 knows it and without the letters that are words.
_MAY_BE_LONE = "(?:^|[^a-z0-9_.,:/'-])[b-hj-z0-9](?:$|[^a-z0-9_'])"
# Of letters and digits, so that the index takes it for one word and stems nothing off it.
_LONGER = "0x0"
# The same where all is ASCII, in a third of the time.
_ASCII_RUN = regex(r"(?:[a-z0-9]++(?:[-_./:@+]|(?<=[0-9]),(?=[0-9]{3}))?)++")
_JOINERS = "-_./:@+,"
_NO_JOINERS = str.maketrans("", "", _JOINERS)
_JOINER = regex(r"[-_./:@+]")
_CAMEL_HUMP = regex(r"([a-z])([A-Z])")
_CONTRACTION = regex(r"(?:n['’]t|['’](?:s|m|d|ve|ll|re))\b")
_ACCENT = regex("[\u0300-\u036f]")
_ORDINAL = regex(r"^([0-9]+)(?:st|nd|rd|th)$")

_STOP_ZH = """
什么时候 什么 哪些 哪个 哪里 哪儿 哪位 哪天 哪 谁 怎么样 怎么 怎样 为什么 为何 如何 多少 几个
是不是 有没有 是否 我们 你们 他们 她们 咱们 我 你 您 他 她 它 们 这个 那个 这些 那些 这里 那里 这 那
的 了 吗 呢 吧 呀 啊 嘛 哦 是 很 请问 请 告诉 记得 知道 可以 一下 一个 曾经 以及
你好 您好 早上好 晚上好 下午好 晚安 谢谢 再见 嗨 好的 在吗
"""

STOP = frozenset(STOP_WORDS["en"].split())
"""English words, unstemmed, that say nothing of what a question is about."""

STOP_ZH = frozenset(_STOP_ZH.split())
"""The same in Chinese, only such as are rarely part of another word (of 没, 过 and 会 too many are)."""

_IS_STOP_ZH = regex("|".join(sorted(STOP_ZH, key=len, reverse=True)))
_VOWELS = frozenset("aeiouy")
_MONTHS = (
    ("january", "一"),
    ("february", "二"),
    ("march", "三"),
    ("april", "四"),
    ("may", "五"),
    ("june", "六"),
    ("july", "七"),
    ("august", "八"),
    ("september", "九"),
    ("october", "十"),
    ("november", "十一"),
    ("december", "十二"),
)
_WEEKDAYS = (
    ("monday", "一"),
    ("tuesday", "二"),
    ("wednesday", "三"),
    ("thursday", "四"),
    ("friday", "五"),
    ("saturday", "六"),
    ("sunday", "日"),
)
_DAY_MS = 24 * 60 * 60 * 1000
_GREETING = regex(r"\bgood (?:morning|afternoon|evening|night|day)\b", re.IGNORECASE)


def folded(text: str) -> str:
    """The form in which texts are compared letter by letter: NFKC and casefold."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def as_words(text: str) -> str:
    """A text as the index of words takes it, or a question to it; the same again for what is so already.

    Folded, Chinese simplified. A lone letter or digit ("C", "room 7"), which the index would drop, is made
    longer.
    """
    return _with_lone(as_grams(text))


def without_contractions(text: str) -> str:
    """A text without "'s", "n't" and their like: what is left of a word is found by itself."""
    return _CONTRACTION.sub("", text) if "'" in text or "’" in text else text


def with_lone(grams: Sequence[str]) -> list[str]:
    """What `as_grams` made of some texts, as the index of words takes it."""
    # Most texts have none; where all is ASCII, that is soon seen.
    may_have = matching([text if text.isascii() else "0" for text in grams], _MAY_BE_LONE)
    return [_with_lone(text) if may else text for text, may in zip(grams, may_have, strict=True)]


def _with_lone(grams: str) -> str:
    return _LONE.sub(lambda match: match[0] + _LONGER if match[0] not in STOP else match[0], grams)


def as_grams(text: str) -> str:
    """A text as the index of pairs of characters takes it: folded, Chinese simplified."""
    return text.lower() if text.isascii() else simplified(folded(text))


def terms(text: str) -> list[str]:
    """The ranking terms of a text, in order, with repetitions, stop words too.

    Words are folded (NFKC, case, accents) and lightly stemmed. What is joined by a mark is one term
    and each of its parts is another: `rolling_median` and `rollingMedian` give rollingmedian, roll,
    median; `inv-20260917` stays as it is, beside inv and 20260917; `1,284.50` gives 1284.50.
    Scripts without spaces give each character and each pair of neighbours.
    """
    return [
        term
        for run in _runs(text)
        for term in ((*run, *_pairs(run)) if _IS_UNSPACED.match(run) else _word_terms(run))
    ]


def query_terms(text: str) -> list[str]:
    """The terms by which a question searches: each once, in order, without stop words.

    Of scripts without spaces only the pairs, or the character where it stands alone. Empty for a
    question made of stop words only.
    """
    found: dict[str, None] = {}
    abroad = _stop_abroad(tongue_of(text))
    for run in dict.fromkeys(_runs(_GREETING.sub(" ", text))):
        if not run.isascii() and _IS_UNSPACED.match(run):
            for piece in _IS_STOP_ZH.split(run):
                found.update(dict.fromkeys(_pairs(piece) or piece))
        elif run not in STOP and run not in abroad:
            found.update(dict.fromkeys(_word_terms(run)))
    return list(found)


@cache
def _stop_abroad(tongue: str | None) -> frozenset[str]:
    """The stop words of another language than English, as terms are read."""
    return frozenset(plain(STOP_WORDS.get(tongue or "", "")).split()) - STOP


def is_unspaced(text: str) -> bool:
    """Whether a text is mostly in a script without spaces: such a text shares few words with others."""
    return not text.isascii() and len(_IS_UNSPACED.findall(text)) > len(text) / 4


def is_all_unspaced(text: str) -> bool:
    """Whether every character is of a script without spaces."""
    return len(_IS_UNSPACED.findall(text)) == len(text)


# A long-lived process reads the same memories again.
@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """The text that terms are read from: folded without accents, Chinese simplified, `camelHumps` parted."""
    if not text.isascii():
        text = simplified(unicodedata.normalize("NFKC", text))
    text = _CAMEL_HUMP.sub(r"\1_\2", text).casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))
    return text


def without_joiners(text: str) -> str:
    """The text in which every one of its `terms` stands, without the marks that join them."""
    return without_contractions(plain(text)).translate(_NO_JOINERS)


def _runs(text: str) -> list[str]:
    text = without_contractions(plain(text))
    pattern = _ASCII_RUN if text.isascii() else _RUN
    return [run.rstrip(_JOINERS) for run in pattern.findall(text)]


@lru_cache(maxsize=32_768)
def _word_terms(run: str) -> tuple[str, ...]:
    if run[-1] in "年月日号":
        return run[:-1], run.replace("号", "日")
    run = run.replace(",", "")
    parts = _JOINER.split(run)
    if len(parts) == 1:
        return (stem(run),)
    whole = run if any(map(str.isdigit, run)) else "".join(parts)
    return (whole, *map(stem, parts))


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """An English word without its plural, -ing, -ed and last letter of spelling (e, y, a double)."""
    if not (word.isascii() and word.isalpha()):
        return _ORDINAL.sub(r"\1", word)
    if len(word) < 4:
        return word
    return _without_ending(_without_inflection(_without_plural(word)))


def _without_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word[-1] == "s" and word[-2] not in "sui" else word


def _without_inflection(word: str) -> str:
    for suffix in ("ing", "ed"):
        root = word.removesuffix(suffix)
        if root != word and len(root) >= 3 and root[-1] != "e" and not _VOWELS.isdisjoint(root):
            return root
    return word


def _without_ending(word: str) -> str:
    if len(word) >= 4:
        word = word.removesuffix("e")
    if word[-1] == "y":
        word = word[:-1] + "i"
    return word[:-1] if len(word) >= 4 and word[-1] == word[-2] else word


def date_words(at: Millis) -> str:
    """The day of a moment in UTC as words to be indexed, English and Chinese; empty out of the calendar.

    "25 november 2026 wednesday 2026-11-25 2026年11月25日 十一月 星期三 周三"
    """
    return _words_of_day(at // _DAY_MS)


@lru_cache(maxsize=1024)
def _words_of_day(days: int) -> str:
    try:
        day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)
    except OverflowError:
        return ""
    month_en, month_zh = _MONTHS[day.month - 1]
    weekday_en, weekday_zh = _WEEKDAYS[day.weekday()]
    return (
        f"{day.day} {month_en} {day.year} {weekday_en} {day:%Y-%m-%d} "
        f"{day.year}年{day.month}月{day.day}日 {month_zh}月 星期{weekday_zh} 周{weekday_zh}"
    )
