"""Which statements a later one of the same person has outdated, told by rules and not by a model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memcli.passages import query_terms, terms
from memcli.types import Hit, Record

NAMED = 0.6
"""The share (by idf) of what is given up that an earlier statement has to name."""

FEW_STATEMENTS = 3
COMMON = 0.03
"""One of the terms that both share has to be rare: in no more statements than these, or this share."""

FEW_TERMS = 6
"""Of a longer clause only the first terms are what is given up."""

# --- what a statement says ------------------------------------------------------------------------

_HABIT = re.compile(
    r"\b(?:i|i'm|i've|we|we're|we've|my|our)\b.*\b(?:dis|un)?(?:likes?|loves?|loved|enjoy(?:s|ing|ed)?|prefer(?:red)?|fan"
    r"|favou?rites?|into|keen|hates?|stand|always|usually|often|every|never|drink(?:s|ing)?|eat(?:s|ing)?|drives?|driving"
    r"|uses?|using|plays?|playing|wears?|smokes?|works?|working|write|lives?|living|stud(?:y|ying)|rents?|soft spot"
    r"|interest(?:ed|ing)|appreciate|lean|adore)\b"
    r"|[爱喜][吃喝玩看用欢]|最爱|爱好|偏[好爱]|习惯|总是|每[天周晚早次]|经常|常常|一直|讨厌|离不开|我[^，。；]{0,4}[用吃喝住开学养抽]",
    re.IGNORECASE | re.DOTALL,
)
_PLAN = re.compile(
    r"\b(?:(?:need|have|got|want|going|hop(?:e|ing)|mean|supposed) to|plan(?:s|ned|ning)?|remind(?:er)?|should|must|gonna|to-?dos?)\b"
    r"|要|打算|计划|准备|想|记得|待办|提醒",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:jan|feb|march|april|may|june|july|aug|sept|oct|nov|dec)"
    r"|\b(?:noon|midnight|morning|evening|tomorrow|one|two|three|four|five|six|seven|eight|nine|ten)\b"
    r"|[一二三四五六七八九十两]|周[一二三四五六日末]|明天|后天|上午|下午|晚上",
    re.IGNORECASE,
)

_CLAUSE = r"(?P<old>[^,.;:!?，。；：！？\n]+?)"
_END = (
    r"(?=[,.;:!?，。；：！？\n]|\s+(?:but|and|so|because|since|after|when|while|now|on|in|at|for good|any ?more|these days"
    r"|this|last|though|although|as)\b|$)"
)
_END_ZH = r"(?=了|[,.;!?，。；！？\n]|$)"

_GIVEN_UP: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), earlier)
    for pattern, earlier in (
        (rf"\bused to {_CLAUSE}{_END}", _HABIT),
        (rf"\bno longer {_CLAUSE}{_END}", _HABIT),
        (rf"(?:\bnot|n['’]t|\bnever) {_CLAUSE},? (?:any ?more|any longer)\b", _HABIT),
        (
            r"\b(?:quit|stopped|g[ai]ve(?:n|s)? up|giving up|dropped|ditched|abandoned|sold|left|replaced|swapped"
            rf"|done with|finished with|goodbye to|moved on from|grown out of|allergic to) {_CLAUSE}{_END}",
            _HABIT,
        ),
        (rf"\b(?:instead of|rather than|moved away from|shift from) {_CLAUSE}{_END}", _HABIT),
        (rf"\b(?:switched|changed|moved|went) (?:\w+ )?from {_CLAUSE} (?:over )?to\b", _HABIT),
        (
            r"(?:^|[,.;:!?] )(?:my |the )?(?P<old>\w+(?: \w+)?) (?:is|are) (?:gone|out|history|no more|off)\b",
            _HABIT,
        ),
        (
            rf"\b(?:finished|completed|done|wrapped up|ticked off|taken care of|cancel?led|called off) {_CLAUSE}{_END}",
            _PLAN,
        ),
        (
            rf"(?:戒掉?|忌口?|不再|别再|再也不|不怎么|放弃|停掉|停用|告别|卖掉?|受不了){_CLAUSE}{_END_ZH}",
            _HABIT,
        ),
        (rf"不(?:能|想|爱|喜欢|敢|可以)?(?:吃|喝|用|玩|看|去|抽|碰|喜欢){_CLAUSE}了", _HABIT),
        (
            rf"(?:以前|过去|原来|曾经)(?:很|最|都|总|常|一直|总是)?(?:爱|喜欢|是|用|吃|喝|在)?{_CLAUSE}[，,]?(?=但|可|不过|现在|最近|如今|后来)",
            _HABIT,
        ),
        (rf"从{_CLAUSE}(?:换成|改成|换到|改用|转到|跳槽到)", _HABIT),
        (rf"(?:^|[，。；,;]){_CLAUSE}(?:已经|都|也)?(?:戒|停|卖|退|扔)(?:了|掉)", _HABIT),
        (rf"(?:做完|完成|搞定|办完|取消|处理完|交)了?{_CLAUSE}{_END_ZH}", _PLAN),
    )
)
"""What a later statement says is over, and what an earlier one must look like to be over with it."""

_EMPTY = frozenset(
    terms(
        "really like liked love loved enjoy enjoying enjoyed prefer into fan big huge idea think thought say said favorite"
        " favourite lot much quite just actually thing things work works being use using go going have been want doing do"
        " find stuff bit kind play go watch read write visit live make take get feel listen start try be buy eat drink see always pretty very all about keen crazy now still my our update make dislike disliked hate"
    )
)
_LEADING_ZH = re.compile(
    r"^(?:给我|推荐|跟我|再|去|吃|喝|用|做|玩|看|学|抽|养|碰|的|掉|了|过|任何|一点)+|(?:的|掉|了|过)+$"
)

_CHANGED = re.compile(
    r"\b(?:moved|changed|postponed|rescheduled|pushed|brought forward|delayed|cut|raised|reduced|increased|lowered|extended"
    r"|switched|updated|revised|shortened)\b[^.;!?\n]*?\b(?:to|until|till|by)\b"
    r"|\bnew (?:plan|date|time|budget|price|deadline|number|address|rate|limit|schedule|target)\b"
    r"|改[到成为在期]|推迟[到至]?|提前[到至]|延期|延[到后]|调整?[到为成]|换[成到]|[涨降升减]到|变成",
    re.IGNORECASE,
)
"""A plan or a figure that has another value now."""

_SLOTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        (
            "home",
            r"\b(?:i|we)(?:'m| am|'ve| have|'re| are)?(?: (?:now|just|currently|recently|finally|also|both))*"
            r" (?:live|living|moved|moving|relocated)(?: (?:back|house|out|over|away))? (?:in|at|to|on|into)\b"
            r"|\bmy (?:new |current |home |postal )*address\b"
            r"|我们?(?:现在|目前|刚|已经|最近|今年)*(?:住在|住到|搬到|搬去|搬进|搬家到)|我家?的?新?(?:地址|住址)|新家在",
        ),
        (
            "work",
            r"\bi(?:'m| am|'ve| have)?(?: (?:now|just|currently|recently|been))* (?:work|working) (?:at|for|as)\b"
            r"|\bi(?:'ve| have)?(?: (?:just|recently))* (?:started|begun) (?:at|working (?:at|for|as)|(?:my|a) new job)\b"
            r"|\bmy (?:new |current )*(?:job|employer) is\b"
            r"|我(?:现在|目前|刚)*在[^，。；]{1,14}(?:工作|上班|任职|当)|入职|跳槽到|新工作",
        ),
        (
            "phone",
            r"\bmy (?:new |current )*(?:phone|mobile|cell|telephone)(?: number)?\b|\b(?:my new|new (?:phone|mobile)) number\b"
            r"|我?的?新?(?:手机号码?|电话号码?|电话|手机号)(?:是|改|换|为|：)|换号",
        ),
        ("email", r"\bmy (?:new |current )*e-?mail(?: address)?\b|我的?新?(?:邮箱|邮件地址)"),
    )
)
"""Of these a person has one at a time: what is stated later holds."""

_FAVOURITE = re.compile(
    r"\bmy (?:new |current |all-time )*favou?rite (?P<what>[a-z]+(?: [a-z]+)?) (?:is|are)\b|我最(?:喜欢|爱)的(?P<what_zh>[^，。；是]{1,6})(?:现在)?是",
    re.IGNORECASE,
)
_ALSO = re.compile(r"\b(?:also|too|as well|another|second|besides)\b|也|还有|另外|第二", re.IGNORECASE)
_CUE = re.compile(
    r"used to|no longer|any ?more|any longer|quit|stopp|up|dropp|ditch|abandon|sold|left|replac|swapp|done|finish|goodbye|grown"
    r"|moved|allergic|instead|rather|shift|switch|chang|went|gone|\bout\b|history|complet|ticked|care of|cancel|called off"
    r"|[戒忌不别再停弃告卖受从完取搞办处交改推提延调换涨降变退扔]|以前|过去|原来|曾经|postpon|resched|push|forward|delay|cut"
    r"|rais|reduc|increas|lower|extend|revis|short|\bnew\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a text says that matters here."""

    given_up: tuple[tuple[frozenset[str], re.Pattern[str]], ...]
    changed: tuple[frozenset[str], ...]
    slots: frozenset[str]


@lru_cache(maxsize=4096)
def _said(text: str) -> _Said:
    slots = {name for name, pattern in _SLOTS if pattern.search(text)}
    for match in _FAVOURITE.finditer(text):
        slots.add("favourite " + " ".join(terms(match["what"] or match["what_zh"])))
    if not _CUE.search(text):
        return _Said((), (), frozenset(slots))
    return _Said(tuple(_given_up(text)), tuple(_changed(text)), frozenset(slots))


def _given_up(text: str) -> Iterator[tuple[frozenset[str], re.Pattern[str]]]:
    for pattern, earlier in _GIVEN_UP:
        for match in pattern.finditer(text):
            clause = _LEADING_ZH.sub("", match["old"].strip())
            named = [term for term in query_terms(clause) if term not in _EMPTY][:FEW_TERMS]
            if named and not _POINTS_BACK.search(clause):
                yield frozenset(named), earlier


_POINTS_BACK = re.compile(r"\b(?:it|them|that|this|one)$", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.;!?。；！？\n]+(?:\.\d[^.;!?。；！？\n]*)*")


def _changed(text: str) -> Iterator[frozenset[str]]:
    """What each sentence that tells a change is about: its terms before the change or all but the values."""
    for sentence in _SENTENCE.findall(text):
        match = _CHANGED.search(sentence)
        if match is None or not _VALUE.search(sentence, match.start()):
            continue
        about = _VALUE.sub(" ", sentence[: match.end()] if match.start() > 4 else sentence)
        about = _CHANGED.sub(" ", about)
        named = [term for term in query_terms(about) if term not in _EMPTY and len(term) > 1]
        if named:
            yield frozenset(named[:FEW_TERMS])


# --- which is outdated ----------------------------------------------------------------------------


def outdated(earlier: Sequence[Hit], later: Sequence[Hit]) -> dict[str, str]:
    """Of the `earlier` statements those that one of the `later` outdates: id → id of the latest such.

    A statement outdates an earlier one of the same person when

    - it says that something is over ("I used to love X", "quit X", "戒了X", "finished X"), and the
      earlier one named that as a habit, a liking or a plan;
    - it tells a new value of what is planned or counted ("moved to Friday", "改到周五"), and the
      earlier one names the same thing with a value;
    - both state what a person has one of at a time (home, work, telephone number, favourite X).

    "I also like tea" outdates nothing.
    """
    frequency = Counter(term for each in later for term in _terms(_text(each)))
    found: dict[str, tuple[tuple[int, int], str]] = {}
    for newer in later:
        said = _said(_text(newer))
        if not (said.given_up or said.changed or said.slots) or not _is_persons(newer.record):
            continue
        for older in earlier:
            if _is_before(older.record, newer.record) and _outdates(
                said, newer, older, frequency, len(later)
            ):
                when = _when(newer.record)
                if older.record.id not in found or when > found[older.record.id][0]:
                    found[older.record.id] = (when, newer.record.id)
    return {older: newer for older, (_, newer) in found.items()}


def _outdates(said: _Said, newer: Hit, older: Hit, frequency: Mapping[str, int], total: int) -> bool:
    held = _terms(_text(older))

    def names(wanted: frozenset[str]) -> bool:
        if all(frequency[term] > max(FEW_STATEMENTS, COMMON * total) for term in wanted & held):
            return False
        weights = {term: math.log(1 + total / (0.5 + frequency[term])) for term in wanted}
        return sum(weights[term] for term in wanted & held) >= NAMED * sum(weights.values())

    return (
        any(names(wanted) and looks.search(_text(older)) for wanted, looks in said.given_up)
        or any(names(wanted) and _VALUE.search(_text(older)) for wanted in said.changed)
        or bool(said.slots & _said(_text(older)).slots and not _ALSO.search(_text(newer)))
    )


def _text(hit: Hit) -> str:
    return hit.excerpt or hit.record.text


@lru_cache(maxsize=4096)
def _terms(passage: str) -> frozenset[str]:
    return frozenset(terms(passage))


def _is_persons(record: Record) -> bool:
    return record.role in (None, "user") or record.name is not None


def _speaker(record: Record) -> str | None:
    return record.name if record.name is not None else None if record.role in (None, "user") else record.role


def _is_before(older: Record, newer: Record) -> bool:
    if older.id == newer.id or _speaker(older) != _speaker(newer):
        return False
    if older.created_at is None or newer.created_at is None:
        return False
    return _when(older) < _when(newer)


def _when(record: Record) -> tuple[int, int]:
    return record.created_at or 0, record.position or 0
