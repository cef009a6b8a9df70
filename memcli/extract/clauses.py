"""A person's words to the clauses that plainly state something: no questions, quotes, pastes or jokes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memcli.extract import chinese, english
from memcli.extract.language import Language
from memcli.text import regex

LONGEST_CHARS = 8_000
"""A longer turn is something pasted, not something said."""

_LONGEST_CLAUSE_CHARS = 300

_HIDDEN = "\ufffc"
"""Stands for each character that is not the person's own words, so that places stay the same."""

_MARK_LETTERS = 4
"""A sentence of no more than these and a joke's mark ("lol", "🙃") speaks of the one before."""

_HAN = regex(r"[\u3400-\u9fff]")
_SAME_LENGTH = str.maketrans(
    {
        code: chr(code - 0xFEE0)
        for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
    }
    | chinese.SIMPLIFIED
    | {"’": "'", "‘": "'", "ʼ": "'", "`": " ", "\u3000": " ", "\xa0": " ", "\t": " "}
)

# --- what is not the person's own words -----------------------------------------------------------

_FOREIGN = regex(
    r"(?s:```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<\s*memories\b.*?(?:</\s*memories\s*>|\Z)|<(\w+)[^<>]*>.*?</\1>)"
    r"|(?m:^[ \t]*(?:>|\||\$ |#!|//|/\*|\* @|at [\w.$]+\(|File \"|Traceback|\+\+\+|---|@@"
    r"|diff |import \w|from \w+ import"
    r"|def |class \w+[:({]|function |const |let \w+ =|var |return |public |private |SELECT |INSERT ).*$)"
    r"|(?m:^(?: {4}|\t).*\S.*$)"
    r"|(?m:^.*(?:[{};]|=>|\)\s*:)[ \t]*$)"
    r"|(?m:^[ \t]*(?:\[[^\]\n]{2,40}\]|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|(?:INFO"
    r"|WARN(?:ING)?|ERROR|DEBUG|FATAL)\b).*$)"
    r"|(?mi:^[ \t]*(?:【转发】|\[转发\]|转发[:：]|fwd?:|forwarded message).*$)"
    r"|https?://\S+"
)
"""Fences, memories that were put into a prompt, markup, quoted lines, code, logs, addresses of pages."""

_QUOTED = regex(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』"
    r"|(?<![\w'])'(?:[^'\n]|(?<=\w)'(?=\w)){3,400}'(?!\w)"
)
_SPEAKS_OF_ONESELF = regex(r"\b(?:I|me|my|we|our)\b|[我咱]|(?:\S+\s+){3}\S", re.IGNORECASE)
_LETTER = regex(
    r"(?m)^[ \t]*(?:dear [\w .]{1,30}|尊敬的.{1,15}|亲爱的.{1,15})[,，:：!！]?[ \t]*$", re.IGNORECASE
)


def own_words(text: str) -> str:
    """The text with everything but the person's own words hidden, each character at its place."""
    folded = _FOREIGN.sub(_hide, text).translate(_SAME_LENGTH)
    letter = _LETTER.search(folded)
    if letter:
        folded = folded[: letter.start()] + _HIDDEN * (len(folded) - letter.start())
    return _QUOTED.sub(
        lambda match: _hide(match) if _SPEAKS_OF_ONESELF.search(match[0]) else match[0], folded
    )


def _hide(match: re.Match[str]) -> str:
    # Lines stay apart: what follows a block is a sentence of its own.
    return "".join("\n" if char == "\n" else _HIDDEN for char in match[0])


# --- sentences and clauses ------------------------------------------------------------------------

_ABBREVIATED = "".join(
    rf"(?<!\b{short})"
    for short in ("Dr", "Mr", "Mrs", "Ms", "St", "vs", "etc", "e.g", "i.e", "approx", "No", "a.m", "p.m")
)
_SENTENCE_END = regex(rf"(?:{_ABBREVIATED}\.|…)+(?=[\s\"')\]]|$)|[!?。！？；;~～\n]+|\.\.\.+")
_CLAUSE_END = regex(
    r",(?=\s|[\u3400-\u9fff])|(?<!决定了)(?<!想好了)[，：](?!一[只条个头](?:就?叫|是))|:(?=\s|[\u3400-\u9fff])|\s[-–—]+\s|—+|[()（）]"
    r"|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])"
    rf"|\s+(?={english.NEW_CLAUSE})|{chinese.NEW_CLAUSE}",
    re.IGNORECASE,
)
_LISTED = (
    r"(?!(?:i|i'm|we|my|our|he|she|they|it|but|so|because|which|who|and|or|if|is|are|am|was)\b)[\w'&+#.-]++"
)
_ITEM = rf"{_LISTED}(?: {_LISTED}){{0,2}}"
_LIST = regex(rf"(?<![\w'&+#.-]){_ITEM}(?:, {_ITEM}){{0,12}}+,? (?:and|or|&) {_ITEM}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a text that states something: `text` is the text's folded slice from `start` to `end`.

    One that does not state (a doubt, the past) only says whom the next goes on about. `leads` says that it
    opens its sentence, `sentence` which that is; `corrects` that it takes back what was said just before,
    `whole_end` where its sentence ends.
    """

    text: str
    start: int
    end: int
    sentence: int
    states: bool
    leads: bool
    corrects: bool
    whole_end: int
    language: Language


def is_in_play(earlier: Sequence[str]) -> bool:
    """Whether a person plays a part after these turns of theirs: what they say then is not their own."""
    is_playing = False
    for text in earlier:
        for language in (english.LANGUAGE, chinese.LANGUAGE):
            if language.opens_play.search(text):
                is_playing = True
            elif language.back_to_earnest.search(text):
                is_playing = False
    return is_playing


def clauses(text: str, *, is_playing: bool = False) -> list[Clause]:
    """The clauses of a person's turn that may state something about them, in order.

    Args:
        text: the turn, whole.
        is_playing: whether a part was being played before it.
    """
    if len(text) > LONGEST_CHARS:
        return []
    words = own_words(text)
    found: list[Clause] = []
    frame = _Frame(is_closed=is_playing)
    for number, (start, end) in enumerate(_sentences(words)):
        sentence = words[start:end]
        language = chinese.LANGUAGE if _HAN.search(sentence) else english.LANGUAGE
        if not frame.lets_in(sentence, language, is_last_line=words.find("\n", end - 1) < 0):
            continue
        if language.takes_back.search(sentence) or _is_mark_of_joke(sentence, language):
            found = _without_sentence(found, number - 1)
        if not _states(sentence, language):
            continue
        found += _stating(words, start, end, number, language)
    return found


@dataclass(slots=True)
class _Frame:
    """Whether what comes is the person's own case, or a scene, a letter or a text to work on."""

    is_closed: bool = False

    def lets_in(self, sentence: str, language: Language, *, is_last_line: bool) -> bool:
        if self.is_closed:
            if not language.back_to_earnest.search(sentence):
                return False
            self.is_closed = False
            return True
        if language.opens_scene.search(sentence):
            self.is_closed = True
            return False
        if language.text_to_work_on.search(sentence):
            # "Translate: …" works on what follows; "Write a cover letter. I'm a nurse" tells a fact.
            self.is_closed = (
                re.search(r"[:：]", sentence) is not None or "这" in sentence or "this" in sentence.lower()
            )
            return False
        if re.search(r"[:：]\s*$", sentence) and not is_last_line and not language.remembers.search(sentence):
            self.is_closed = True
        return True


def _without_sentence(found: Sequence[Clause], number: int) -> list[Clause]:
    return [clause for clause in found if clause.sentence != number]


def _sentences(words: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _SENTENCE_END.finditer(words):
        if words[start : match.start()].strip():
            yield start, match.end()
        start = match.end()
    if words[start:].strip():
        yield start, len(words)


def _is_mark_of_joke(sentence: str, language: Language) -> bool:
    return language.jokes.search(sentence) is not None and len(re.findall(r"\w", sentence)) <= _MARK_LETTERS


def _states(sentence: str, language: Language) -> bool:
    return not any(
        pattern.search(sentence)
        for pattern in (language.jokes, language.reports, language.supposes, language.fiction)
    )


def _stating(words: str, start: int, end: int, number: int, language: Language) -> Iterator[Clause]:
    """The clauses of one sentence that are statements: a question at its end leaves the ones before it."""
    parts = list(_parts(words, start, end))
    if not parts:
        return
    asks = [language.asks.search(words[begin:stop]) is not None for begin, stop in parts]
    if re.search(r"[?？]\s*$", words[start:end]):
        last = words[slice(*parts[-1])]
        asks[-1] = asks[-1] or language.opens_question.search(last) is not None
        if len(parts) == 1 or not asks[-1] or language.tag.search(last):
            return
    if asks[0]:
        return
    whole_end = start + len(words[start:end].rstrip(" .!?。！？；;~～\n…"))
    is_past = corrects = False
    for place, (begin, stop) in enumerate(parts):
        clause = words[begin:stop]
        if language.starts_condition.search(clause):
            return
        is_past = (is_past or language.past.search(clause) is not None) and not language.present.search(
            clause
        )
        states = not (asks[place] or is_past or language.hedges.search(clause) or _HIDDEN in clause)
        states = states and len(clause) <= _LONGEST_CLAUSE_CHARS
        corrects = corrects or language.corrects.search(clause) is not None
        yield Clause(clause, begin, stop, number, states, place == 0, corrects, whole_end, language)


def _parts(words: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the clauses of a sentence are; a list ("tea, coffee and cake") is not torn."""
    lists = [match.span() for match in _LIST.finditer(words, start, end)]
    begin = start
    cuts = [
        match.span()
        for match in _CLAUSE_END.finditer(words, start, end)
        if not (match[0] == "," and any(low < match.start() < high for low, high in lists))
    ]
    whole = len(words[:end].rstrip(" .!?。！？；;~～\n…"))
    for low, high in [*cuts, (whole, whole)]:
        part = words[begin:low]
        if part.strip():
            yield begin + len(part) - len(part.lstrip()), begin + len(part.rstrip())
        begin = max(high, begin)
