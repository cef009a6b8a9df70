"""Text as it can be stored, and as it can be shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, cast


class _Late:
    """Stands for a regular expression that nobody has asked anything yet."""

    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._given)
        # From now on these are found without a detour.
        self.__dict__.update(
            {each: getattr(compiled, each) for each in dir(compiled) if not each.startswith("_")}
        )
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression that is compiled when it is first used: a command needs few of all there are."""
    return cast("re.Pattern[str]", _Late(source, flags))


class Cues:
    """Words and phrases of which a text has to hold one for a closer look at it to be worth its time.

    Args:
        cues: in small letters.
    """

    def __init__(self, cues: Iterable[str]) -> None:
        self._cues = frozenset(cues)
        self._longest_words = {cue: max(cue.split(), key=len) for cue in self._cues if cue.isascii()}
        # Of most words of a text it is known which cues they can be a part of.
        self._near = lru_cache(maxsize=16_384)(self._near_word)

    def held_by(self, text: str) -> Collection[str]:
        """Those that a text in small letters holds; word by word, for to look for each takes longer."""
        if not text.isascii():
            return {cue for cue in self._cues if cue in text}
        near = {cue for word in set(text.split()) if not word.isdigit() for cue in self._near(word)}
        return {cue for cue in near if cue in text}

    def _near_word(self, word: str) -> tuple[str, ...]:
        return tuple(cue for cue, longest in self._longest_words.items() if longest in word)


# For fewer texts it is not worth its while to load what looks at them.
_MANY = 200


def matching(texts: Sequence[str], pattern: str) -> list[bool]:
    """Which of many texts match a pattern of RE2's (linear in the text, no look-arounds); of a few, all may.

    About ten times as fast as to search each with `re`. So do all texts where one is no Unicode.
    """
    if len(texts) < _MANY:
        return [True] * len(texts)
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column = pa.array(texts, pa.string())
    except UnicodeEncodeError:
        return [True] * len(texts)
    found: list[bool] = pc.match_substring_regex(column, pattern).to_pylist()
    return found


_UNSTORABLE = regex("[\0\ud800-\udfff]")

# C0 and C1 controls but tab and newline, and marks that turn the direction of text around.
_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
OBEYED = regex(f"[{_OBEYED}]")
"""What a terminal obeys and does not show."""


_UNPLAIN = regex(rf"[{_OBEYED}\u2028\u2029]")


def clean(text: str) -> str:
    """The text as it can be stored: a lone surrogate and a NUL become U+FFFD, two halves are joined."""
    if _UNSTORABLE.search(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")


def is_unicode(text: str) -> bool:
    """Whether the text has no lone surrogates, which stand for bytes that were no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_json(text: str) -> str:
    """The same JSON, with escapes for what a terminal would obey, or a reader take for the end of a line."""
    return _UNPLAIN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def neutral(text: str) -> str:
    """The text as a terminal shows it and does not obey it: controls become U+FFFD."""
    return OBEYED.sub("\N{REPLACEMENT CHARACTER}", text)
