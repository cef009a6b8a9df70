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
"""The share (by idf) of what is given up that an earlier statement has to name; 0.7 misses more updates
than it spares memories that hold (memora's NewFirst 69 and 62 %)."""

FEW_STATEMENTS = 3
COMMON = 0.03
"""One of the terms that both share has to be rare: in no more statements than these, or this share."""

FEW_TERMS = 6
"""Of a longer clause only the first terms are what is given up."""

# --- signs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sign:
    """A pattern, and words one of which a text must hold for it to be worth trying."""

    cues: tuple[str, ...]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, cues: str, pattern: str) -> _Sign:
        """`cues` are alternatives; `CUE` in the pattern stands for them."""
        whole = pattern.replace("CUE", f"(?:{cues})")
        return cls(tuple(cues.split("|")), re.compile(whole, re.IGNORECASE))

    def matches(self, text: str, folded: str) -> Iterator[re.Match[str]]:
        if any(cue in folded for cue in self.cues):
            yield from self.pattern.finditer(text)


_HABIT = re.compile(
    r"\b(?:i|we|my|our)\b.*\b(?:(?:dis)?likes?|loves?|loved|enjoy(?:s|ing|ed)?|prefer(?:red)?|fan"
    r"|favou?rites?|into|keen|hates?|stand|always|usually|often|every|never|takes?|orders?|drink(?:s|ing)?"
    r"|eat(?:s|ing)?|drives?|driving"
    r"|uses?|using|plays?|playing|wears?|smokes?|works?|working|write|lives?|living|stud(?:y|ying)|rents?"
    r"|soft spot|interest(?:ed|ing)|appreciate|lean|adore)\b"
    r"|[爱喜][吃喝玩看用欢]|最爱|爱好|偏[好爱]|习惯|总是|每[天周晚早次]|经常|常常|一直|讨厌|离不开"
    r"|我[^，。；]{0,4}[用吃喝住开学养抽]",
    re.IGNORECASE | re.DOTALL,
)
_PLAN = re.compile(
    r"\b(?:(?:need|have|got|want|going|hop(?:e|ing)|mean|supposed) to|plan(?:s|ned|ning)?|remind(?:er)?"
    r"|should|must|gonna|to-?dos?)\b"
    r"|要|打算|计划|准备|想|记得|待办|提醒",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|jan|feb|march|april|may|june|july|aug|sept|oct|nov"
    r"|dec|noon|midnight|morning|evening|tomorrow|one|two|three|four|five|six|seven|eight|nine|ten)"
    r"|[一二三四五六七八九十两]|周[一二三四五六日末]|明天|后天|上午|下午|晚上",
    re.IGNORECASE,
)

_CLAUSE = r"(?P<old>[^,.;:!?，。；：！？\n]+?)"
_END = (
    r"(?=[,.;:!?，。；：！？\n]|\s+(?:but|and|so|because|since|after|when|while|now|on|in|at|for good"
    r"|any ?more|these days|this|last|though|although|as)\b|$)"
)
_START_ZH = r"(?:^|[，。；,;])"
_END_ZH = r"(?=了|[,.;!?，。；！？\n]|$)"

_OVER: tuple[tuple[_Sign, re.Pattern[str]], ...] = (
    (_Sign.of("used to|no longer", rf"\bCUE {_CLAUSE}{_END}"), _HABIT),
    (
        _Sign.of(
            "anymore|any more|any longer",
            rf"(?:\bnot?|n['’]t|\bnever) {_CLAUSE},? CUE\b",
        ),
        _HABIT,
    ),
    (
        _Sign.of(
            "quit|stopped|give up|gave up|given up|giving up|dropped|ditched|abandoned|sold|left|replaced"
            "|swapped|done with|finished with|goodbye to|moved on from|grown out of|allergic to|instead of"
            "|rather than|moved away from|shift from",
            rf"\bCUE {_CLAUSE}{_END}",
        ),
        _HABIT,
    ),
    (
        _Sign.of(
            "switched|changed|moved|went",
            rf"\bCUE (?:\w+ )?from {_CLAUSE} (?:over )?to\b",
        ),
        _HABIT,
    ),
    (
        _Sign.of(
            "is gone|is out|is history|is no more|are gone|are out|are history",
            r"(?:^|[,.;:!?] )(?:my |the )?(?P<old>\w+(?: \w+)?) CUE\b",
        ),
        _HABIT,
    ),
    (
        _Sign.of(
            "finished|completed|done|wrapped up|ticked off|taken care of|canceled|cancelled|called off",
            rf"\bCUE {_CLAUSE}{_END}",
        ),
        _PLAN,
    ),
    (
        _Sign.of(
            "戒掉|戒|忌口|忌|不再|别再|再也不|不怎么|放弃|停掉|停用|告别|卖掉|受不了",
            rf"CUE{_CLAUSE}{_END_ZH}",
        ),
        _HABIT,
    ),
    (
        _Sign.of(
            "不",
            rf"CUE(?:能|想|爱|敢|可以|常)?(?:喜欢|[吃喝用玩看去抽碰打学做养练跑骑开穿住加放]){_CLAUSE}了",
        ),
        _HABIT,
    ),
    (
        _Sign.of(
            "以前|过去|原来|曾经",
            rf"CUE(?:很|最|都|总是?|常|一直)?(?:爱|喜欢|是|用|吃|喝|在)?{_CLAUSE}"
            r"[，,]?(?=但|可|不过|现在|最近|如今|后来)",
        ),
        _HABIT,
    ),
    (_Sign.of("换成|改成|换到|改用|转到|跳槽到", rf"从{_CLAUSE}CUE"), _HABIT),
    (
        _Sign.of(
            "不",
            rf"{_START_ZH}{_CLAUSE}(?:已经|也|都)?CUE再?[吃喝用玩看去抽打学做养练跑骑开穿住]了",
        ),
        _HABIT,
    ),
    (
        _Sign.of("戒|停|卖|退|扔", rf"{_START_ZH}{_CLAUSE}(?:已经|都|也)?CUE[了掉]"),
        _HABIT,
    ),
    (_Sign.of("做完|完成|搞定|办完|取消|处理完", rf"CUE了?{_CLAUSE}{_END_ZH}"), _PLAN),
    (
        _Sign.of(
            "做完|完成|搞定|办完|取消",
            rf"{_START_ZH}{_CLAUSE}(?:已经|都)?CUE了?{_END_ZH}",
        ),
        _PLAN,
    ),
)
"""What a later statement says is over, and what an earlier one must look like to be over with it."""

_CHANGED: tuple[_Sign, ...] = (
    _Sign.of(
        "moved|changed|postponed|rescheduled|pushed|brought forward|delayed|cut|raised|reduced|increased"
        "|lowered|extended|switched|updated|revised|shortened",
        r"\bCUE\b(?P<what>[^.;!?\n]*?)\b(?:to|until|till|by)\b",
    ),
    _Sign.of(
        "new plan|new date|new time|new budget|new price|new deadline|new number|new rate|new limit"
        "|new schedule|new target",
        r"\bCUE\b(?P<what>)",
    ),
    _Sign.of(
        "改到|改成|改为|改在|改期|推迟|提前到|提前至|延期|延到|延后|调到|调整到|调整为|调成|换成|换到"
        "|涨到|降到|升到|减到|变成",
        r"CUE(?P<what>)",
    ),
)
"""A plan or a figure that has another value now."""

# Where one's relatives and friends live or work is another matter.
_SELF_ZH = "[^，。；妈爸哥弟姐妹朋友同邻儿女奶爷]{0,6}?"

_SLOTS: tuple[tuple[str, _Sign], ...] = (
    (
        "home",
        _Sign.of(
            "live|living|moved|moving|relocated",
            r"\b(?:i|we)(?:'m| am|'ve| have|'re| are)?(?: (?:now|just|currently|recently|finally|also|both))*"
            r" CUE(?: (?:back|house|out|over|away))? (?:in|at|to|on|into)\b",
        ),
    ),
    (
        "home",
        _Sign.of("address", r"\bmy (?:new |current |home |postal )*CUE (?:is|has changed)\b"),
    ),
    ("home", _Sign.of("住在|住到|搬到|搬去|搬进|搬家到", rf"我们?{_SELF_ZH}CUE")),
    ("home", _Sign.of("地址|住址|新家在", r"我家?的?新?CUE")),
    (
        "work",
        _Sign.of(
            "work|working|started|begun|job",
            r"\bi(?:'m| am|'ve| have)?(?: (?:now|just|currently|recently|been|started|begun))* "
            r"(?:work|working|started|begun) (?:at|for|as)\b|\bmy (?:new |current )*job is\b",
        ),
    ),
    (
        "work",
        _Sign.of(
            "工作|上班|任职|公司做|公司当|医院做|医院当|学校教|银行做",
            rf"我{_SELF_ZH}在[^，。；]{{1,14}}CUE",
        ),
    ),
    ("work", _Sign.of("入职|跳槽到", rf"我{_SELF_ZH}CUE")),
    (
        "phone",
        _Sign.of(
            "phone|mobile|number",
            r"\bmy (?:new |current )*(?:(?:tele|cell)?phone|mobile|new number)(?: number)?"
            r"(?: is| has changed to)?(?: now)?[: ]+[+(]?\d",
        ),
    ),
    (
        "phone",
        _Sign.of(
            "手机|电话",
            r"(?:我的?|新)+CUE号?码?(?:现在)?(?:是|改成|换成|改为|：|:) ?\+?\d",
        ),
    ),
    (
        "email",
        _Sign.of("mail", r"\bmy (?:new |current )*e-?mail(?: address)? (?:is|has changed)\b"),
    ),
    ("email", _Sign.of("邮箱", r"我的?新?CUE(?:地址)?(?:是|改|换)")),
)
"""Of these a person has one at a time: what is stated later holds."""

_OWN = (
    _Sign.of(
        "is|are",
        r"\bmy (?:new |current |all-time )*(?P<what>[a-z-]+(?: [a-z-]+){0,2}?) (?:CUE|has changed to)\b",
    ),
    _Sign.of(
        "是|改成|换成|变成",
        r"(?:我|我的|现在|现在的|新)(?:现在)?(?P<what>[^，。；：！？的是我]{1,6}(?:的[^，。；：！？的是]{1,4})?)CUE",
    ),
)
_ALWAYS_ONE = re.compile(
    r"\b(?:number|name|favou?rite|dentist|doctor|landlord|boss|manager|teacher|salary|rent|password|pin|bank|gym"
    r"|size|major)\b"
    r"|最喜欢|最爱|牙医|医生|老板|经理|房东|老师|工资|月薪|房租|密码|专业|号|名字|昵称",
    re.IGNORECASE,
)
"""Of these a person has one; of what else is "mine" only if the later statement says that it is new."""

_RELATIVES = re.compile(
    r"\b(?:mother|father|mum|mom|dad|parents|sister|brother|son|daughter|kids?|wife|husband|partner|(?:girl|boy)?friend"
    r"|cousin|aunt|uncle|grand\w+|neighbou?r|colleague|flatmate|cat|dog)s?\b|[妈爸哥弟姐妹爷奶儿女]|朋友|同事|邻居",
    re.IGNORECASE,
)
_NEWS = re.compile(
    r"\b(?:now|new|these days|nowadays|from now on|currently|changed)\b|现在|如今|目前|换|新|改|以后",
    re.IGNORECASE,
)
_ALSO = re.compile(r"\b(?:also|too|as well|another|second|besides)\b|也|还有|另外|第二", re.IGNORECASE)

_EMPTY = frozenset(
    terms(
        "really like liked love loved enjoy enjoying enjoyed dislike disliked hate prefer into fan crazy keen"
        " big huge idea think thought say said favorite favourite lot much quite just actually thing work use"
        " go have been want do find stuff bit kind always pretty very all about now still my our update make"
        " play watch read write visit live take get feel listen start try be buy eat drink see giving"
        " having change mind"
    )
)
"""Terms that do not say what is given up."""

_LEADING_ZH = re.compile(
    r"^(?:给我|推荐|跟我|再|去|吃|喝|用|做|玩|看|学|抽|养|碰|的|掉|了|过|任何|一点)+|(?:的|掉|了|过)+$"
)
_NOW = re.compile(
    r"\b(?:now|these days|nowadays|from now on|changed my mind)\b|现在|如今|改主意|以后",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"\b(?:it|them|that|this|one)$", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.;!?。；！？\n]+(?:\.\d[^.;!?。；！？\n]*)*")

# --- what a statement says ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Said:
    """What a text says is over, has a new value, and which slots it fills."""

    over: tuple[tuple[frozenset[str], re.Pattern[str]], ...]
    changed: tuple[frozenset[str], ...]
    slots: frozenset[str]
    own: frozenset[str]

    @property
    def is_empty(self) -> bool:
        return not (self.over or self.changed or self.slots)


@lru_cache(maxsize=4096)
def _said(text: str) -> _Said:
    folded = text.casefold()
    return _Said(
        over=(*_over(text, folded), *_news(text)),
        changed=tuple(_changed(text, folded)),
        slots=frozenset(_slots(text, folded)),
        own=frozenset(_own(text)),
    )


def _over(text: str, folded: str) -> Iterator[tuple[frozenset[str], re.Pattern[str]]]:
    for sign, earlier in _OVER:
        for match in sign.matches(text, folded):
            clause = _LEADING_ZH.sub("", match["old"].strip())
            named = _named(clause)
            if named and not _POINTS_BACK.search(clause):
                yield named, earlier


def _news(text: str) -> Iterator[tuple[frozenset[str], re.Pattern[str]]]:
    """What each sentence says is so now: an earlier one that names the same speaks of the same."""
    for sentence in _SENTENCE.findall(text):
        named = (
            _named(_NEWS.sub(" ", sentence)) if _NOW.search(sentence) and _HABIT.search(sentence) else None
        )
        if named and len(named) > 1:
            yield named, _HABIT


def _changed(text: str, folded: str) -> Iterator[frozenset[str]]:
    """What each sentence that tells a new value is about: its terms up to the value."""
    if not any(cue in folded for sign in _CHANGED for cue in sign.cues):
        return
    for sentence in _SENTENCE.findall(text):
        for match in (match for sign in _CHANGED for match in sign.matches(sentence, sentence.casefold())):
            value = _VALUE.search(sentence, match.end())
            if value is not None:
                what = match["what"] or sentence[match.end() : value.start()]
                before = re.split("[,:，：]", sentence[: match.start()])[-1]
                yield _named(_VALUE.sub(" ", f"{before} {what}"))


def _slots(text: str, folded: str) -> Iterator[str]:
    for name, sign in _SLOTS:
        if next(sign.matches(text, folded), None):
            yield name
    is_news = _NEWS.search(text) is not None
    for match in (match for sign in _OWN for match in sign.matches(text, folded)):
        if not _RELATIVES.search(match["what"]) and (is_news or _ALWAYS_ONE.search(match["what"])):
            yield f"my {match['what'].casefold()}"


def _own(text: str) -> Iterator[str]:
    """What a text says of the person's own things, whether it is news or not."""
    for match in (match for sign in _OWN for match in sign.matches(text, text.casefold())):
        yield f"my {match['what'].casefold()}"


def _named(clause: str) -> frozenset[str]:
    return frozenset([term for term in query_terms(clause) if term not in _EMPTY][:FEW_TERMS])


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
    telling = [(newer, _said(_text(newer))) for newer in later if _is_persons(newer.record)]
    telling = [(newer, said) for newer, said in telling if not said.is_empty]
    if not telling:
        return {}
    frequency = Counter(term for each in later for term in _terms(_text(each)))
    found: dict[str, Record] = {}
    for newer, said in sorted(telling, key=lambda each: _when(each[0].record)):
        for older in earlier:
            if _is_before(older.record, newer.record) and _outdates(
                said, newer, older, frequency, len(later)
            ):
                found[older.record.id] = newer.record
    return {older: newer.id for older, newer in found.items()}


def _outdates(said: _Said, newer: Hit, older: Hit, frequency: Mapping[str, int], total: int) -> bool:
    held = _terms(_text(older))

    def names(wanted: frozenset[str]) -> bool:
        if all(frequency[term] > max(FEW_STATEMENTS, COMMON * total) for term in wanted & held):
            return False
        weights = {term: math.log(1 + total / (0.5 + frequency[term])) for term in wanted}
        return sum(weights[term] for term in wanted & held) >= NAMED * sum(weights.values())

    return (
        any(names(wanted) and looks.search(_text(older)) for wanted, looks in said.over)
        or any(names(wanted) and _VALUE.search(_text(older)) for wanted in said.changed)
        or (_fill_the_same(said, _said(_text(older))) and not _ALSO.search(_text(newer)))
    )


def _text(hit: Hit) -> str:
    return hit.excerpt or hit.record.text


def _fill_the_same(newer: _Said, older: _Said) -> bool:
    return not newer.slots.isdisjoint(older.slots | older.own)


@lru_cache(maxsize=4096)
def _terms(passage: str) -> frozenset[str]:
    return frozenset(terms(passage))


def _is_persons(record: Record) -> bool:
    return record.kind != "document" and (record.role in (None, "user") or record.name is not None)


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
