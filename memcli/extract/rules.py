"""Clauses to facts by rules: no model, no guess."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memcli.extract import chinese, english
from memcli.extract.clauses import Clause, clauses, is_in_play, own_words
from memcli.extract.language import Language, Rule
from memcli.text import regex
from memcli.types import Extracted

_LONGEST_FACT_CHARS = 300
_FEWEST_WORDS = 2
_FEWEST_CHARS = 4
_SURE = 0.95
# Mixed text has spaces around the words of the other script ("用 Vue 写"): they mean nothing.
_SPACE_OF_MIXED = regex(r"(?<=[\u3400-\u9fff]) +| +(?=[\u3400-\u9fff])")
_JOINS = regex(r"^(?:and|but|then) ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Said:
    """A clause with `who` it goes on about where it does not name them ("I ", "我女儿"), from `start` on."""

    clause: Clause
    who: str
    start: int
    end: int
    text: str
    """As rules read it: folded, without the filler, with `who`."""

    @property
    def language(self) -> Language:
        return self.clause.language


@dataclass(frozen=True, slots=True)
class _Found:
    """A fact, by which rule, and where: a correction has to find what it corrects."""

    fact: Extracted
    rule: Rule | None
    clause: Clause


def by_rules(text: str, *, previous: str = "", earlier: Sequence[str] = ()) -> list[Extracted]:
    """What a person states of themselves in one turn, in their own words; nothing where in doubt.

    Args:
        text: what the person said, whole.
        previous: what the assistant said before: a person who repeats its words states nothing.
        earlier: what the person said in the same conversation before, oldest first: a part may be played.
    """
    found: list[_Found] = []
    who, sentence = "", -1
    for clause in clauses(text, is_playing=is_in_play(earlier)):
        who, sentence = (who if clause.sentence == sentence else ""), clause.sentence
        said = _said(clause, who)
        if not said.who and (subject := clause.language.subject.search(said.text)):
            who = text[said.start + subject.start("who") : said.start + subject.end("who")]
        new = _remembered(said, text) or _stated(said, text) if clause.states else None
        if new and not (previous and new.fact.evidence.casefold() in previous.casefold()):
            found = [old for old in found if not _is_corrected(old, new)] + [new]
    return list(_distinct(found))


def takes_back(text: str) -> bool:
    """Whether a person takes back with this turn what they said in the one before ("just kidding")."""
    folded = own_words(text)
    return any(language.unsays.match(folded) for language in (english.LANGUAGE, chinese.LANGUAGE))


def _said(clause: Clause, who: str) -> _Said:
    language = clause.language
    filler = language.fillers.match(clause.text)
    start = filler.end() if filler else 0
    said = clause.text[start:]
    if not who or language.subject.search(said) or not language.bare.search(_close(said, language)):
        return _Said(clause, "", clause.start + start, clause.end, said)
    kept = _JOINS.sub("", said)
    who += "" if language.name == "zh" else " "
    return _Said(clause, who, clause.start + start + len(said) - len(kept), clause.end, who + kept)


def _stated(said: _Said, text: str) -> _Found | None:
    rule = _rule_of(said.text, said.language)
    return _found(said, text, rule) if rule and not said.language.empty.search(said.text) else None


def _remembered(said: _Said, text: str) -> _Found | None:
    """What the person asks to remember, to the end of the sentence."""
    clause = said.clause
    whole = clause.text + text[clause.end : clause.whole_end]
    asked = said.language.remembers.match(whole) if clause.leads else None
    if asked is None or len(whole) - asked.end() < _FEWEST_CHARS:
        return None
    start = clause.start + asked.end()
    told = _Said(clause, "", start, clause.whole_end, whole[asked.end() :])
    return _found(told, text, _rule_of(told.text, said.language))


def _rule_of(said: str, language: Language) -> Rule | None:
    close = _close(said, language)
    return next((rule for rule in language.rules() if rule.pattern.match(close)), None)


def _close(said: str, language: Language) -> str:
    return _SPACE_OF_MIXED.sub("", said) if language.name == "zh" else said


def _found(said: _Said, text: str, rule: Rule | None) -> _Found | None:
    evidence = said.language.endings.sub("", text[said.start : said.end])
    told = said.who + " ".join(evidence.split())
    too_short = said.language.name == "en" and len(told.split()) < _FEWEST_WORDS
    if not evidence or too_short or len(told) > _LONGEST_FACT_CHARS:
        return None
    fact = Extracted(
        text=told[:1].upper() + told[1:],
        kind=rule.kind if rule else "fact",
        evidence=evidence,
        confidence=rule.confidence if rule else _SURE,
        topics=(rule.topic,) if rule and rule.topic else (),
    )
    return _Found(fact, rule, said.clause)


def _is_corrected(old: _Found, new: _Found) -> bool:
    """Whether the newer takes the place of the older: the same thing, said again with a correction."""
    is_same = bool(old.rule and new.rule and old.rule.about and old.rule.about == new.rule.about)
    return is_same and new.clause.corrects and new.clause.sentence - old.clause.sentence <= 1


def _distinct(found: Sequence[_Found]) -> Iterator[Extracted]:
    seen: set[str] = set()
    for each in found:
        if each.fact.text.casefold() not in seen:
            seen.add(each.fact.text.casefold())
            yield each.fact
