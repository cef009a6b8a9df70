"""What a statement of the person says: what is over, what has another value, and what it fills."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from memcli import statements_abroad as abroad
from memcli.passages import query_terms, terms
from memcli.text import Cues, matching, regex

LONGEST_CHARS = 600
MOST_SENTENCES = 6
"""What is longer is a letter, a page or a diary: much of it holds whatever one sentence of it says."""

FEW_TERMS = 6
"""Of a longer clause only the first terms are what is given up."""


@dataclass(frozen=True, slots=True)
class Over:
    """Something that is over: its terms, the clause that names it, and how an earlier statement looks."""

    named: frozenset[str]
    clause: str
    looks: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Changed:
    """Something that has another value now: its terms, its words, what kind of value, whose it is."""

    named: frozenset[str]
    clause: str
    kinds: frozenset[str]
    whose: frozenset[str]


@dataclass(frozen=True, slots=True)
class Said:
    """What a text tells. `fills` are the slots whose earlier filling it ends, `own` those it speaks of."""

    over: tuple[Over, ...] = ()
    changed: tuple[Changed, ...] = ()
    fills: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    @property
    def is_telling(self) -> bool:
        """Whether it can replace or be replaced by more than words that it shares."""
        return bool(self.over or self.changed or self.fills or self.own)


_NOTHING = Said()


@dataclass(frozen=True, slots=True)
class _Sign:
    """A pattern, and words one of which a text must hold for it to be worth trying."""

    cues: frozenset[str]
    pattern: re.Pattern[str]
    is_of_me: bool = False
    """Its cues are words of all kinds of texts, and before them stands one for the person."""

    @classmethod
    def of(cls, cues: str, pattern: str, *, is_of_me: bool = False) -> _Sign:
        """`cues` are alternatives; `CUE` in the pattern stands for them."""
        whole = pattern.replace("CUE", f"(?:{cues})")
        return cls(frozenset(cues.split("|")), regex(whole, re.IGNORECASE), is_of_me)

    def matches(self, text: str, held: frozenset[str]) -> Iterator[re.Match[str]]:
        """Where the text says it; `held` are the cues of all signs that it holds."""
        if not held.isdisjoint(self.cues):
            yield from self.pattern.finditer(text)


# --- sentences that state something ---------------------------------------------------------------

_CODE = regex(r"```.*?(?:```|\Z)|^[ \t]*>.*$", re.DOTALL | re.MULTILINE)
# Only what speaks of a person inside the marks is somebody's words; a title stays.
_QUOTED = regex(
    r"""["“”「『](?=[^"“”」』\n]*(?:\b(?:i|we|my|i['’]\w+)\b|我))[^"“”」』\n]*["“”」』]""", re.IGNORECASE
)
_TOLD_BY = regex(
    r"\b(?:said|says|told (?:me|us)|wrote|asked)\s*[,:]\s.*$|[说道写问][：:].*$", re.IGNORECASE | re.MULTILINE
)
# Words of others, and what a folded text must hold for it to be worth looking for them.
_OF_OTHERS = (
    (_CODE, ("```", ">")),
    (_QUOTED, tuple('"“”「『')),
    (_TOLD_BY, ("said", "says", "told ", "wrote", "asked", *"说道写问")),
)
_SENTENCE = regex(r"(?P<said>[^.;!?。；！？\n]+(?:\.\d[^.;!?。；！？\n]*)*)(?P<end>[.;!?。；！？]?)")
_ASKS = regex(
    r"\s*(?:(?:what|where|when|who|whose|which|how|why)\b(?! (?:i|it|we|he|she|they)\b)"
    r"|(?:do|does|did|is|are|am|was|were|can|could|should|shall|would|will|have|has)"
    r" (?:i|you|we|it|he|she|they|my)\b)"
    r"|[吗么呢]\s*$|^(?:为什么|怎么|什么|哪|谁|是不是|要不要|能不能|可不可以)",
    re.IGNORECASE,
)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text that state something: no questions, no code, nobody else's words.

    None of a text that is too long to be a statement.
    """
    return () if len(text) > LONGEST_CHARS else _sentences(text)


@lru_cache(maxsize=8192)
def _sentences(text: str) -> tuple[str, ...]:
    folded = text.casefold()
    for pattern, cues in _OF_OTHERS:
        if any(map(folded.__contains__, cues)):
            text = pattern.sub(" ", text)
    stated = [
        match["said"].strip()
        for match in _SENTENCE.finditer(text)
        if match["end"] not in tuple("?？") and not _ASKS.match(match["said"]) and match["said"].strip()
    ]
    return tuple(stated) if len(stated) <= MOST_SENTENCES else ()


@lru_cache(maxsize=16_384)
def terms_of(sentence: str) -> frozenset[str]:
    """The terms of a sentence."""
    return frozenset(terms(sentence))


def names_any(text: str, named: Collection[str]) -> bool:
    """Whether a text has one of these terms, in whatever sentence; several times faster than `terms`."""
    return any(not _terms_of_word(word).isdisjoint(named) for word in text.split())


# No term goes over a space.
_terms_of_word = lru_cache(maxsize=65_536)(terms_of.__wrapped__)


_FAMILY = (
    "mother|father|mum|mom|dad|parents|sister|brother|son|daughter|kids?|wife|husband|partner"
    "|(?:girl|boy)?friend"
    "|fianc[eé]e?|cousin|aunt|uncle|grand\\w+|nephew|niece|neighbou?r|colleague|co-?worker"
    "|(?:flat|room|house)mate|family|team"
)
_OTHERS = rf"{_FAMILY}|boss|manager|landlord|doctor|teacher|company"
_FAMILY_ZH = (
    # Milk is no grandmother.
    "[妈爸哥弟姐妹爷姑舅叔姨]|奶奶|(?<=[我他她])奶(?![茶粉酪油昔糖瓶])|儿子|女儿|孩子|老婆|老公|丈夫|妻子|女友|男友|女朋友|男朋友|朋友|同事|邻居"
    "|室友|父母|家人|家长"
)
_OTHERS_ZH = f"{_FAMILY_ZH}|老板|领导"
RELATIVES = regex(rf"\b(?:{_FAMILY}|cat|dog)s?\b|{_FAMILY_ZH}", re.IGNORECASE)

_SUBJECT = regex(
    r"\b(?P<me>i|we|(?:the )?user)\b"
    rf"|\b(?:he|she|they|you|people|every(?:one|body)|some(?:one|body)|(?:{_OTHERS})s?)\b"
    rf"|(?P<me_zh>我(?!(?:们)?的?(?:{_OTHERS_ZH}))|(?:和|跟|带着?)我|咱|用户|本人)"
    rf"|(?:{_OTHERS_ZH})|(?<![吉其])[他她它你您]们?|人家|大家|别人|有人",
    re.IGNORECASE,
)
# "my sister and I", "我和老婆": the person is one of those who are spoken of.
_WITH_ME = regex(rf"\band i\b|我[和跟与](?:我?的?)(?:{_OTHERS_ZH})|(?:{_OTHERS_ZH})[和跟与]我", re.IGNORECASE)
_FILLER = regex(
    r"\b(?:finally|just|recently|actually|officially|so|well|news|good|great|update|oh|yes|and|but|now|also|have|has"
    r"|been|ok|okay|by the way|btw|as of \w+|today|yesterday)\b|[\W\d_]",
    re.IGNORECASE,
)
_CAPITALS = regex(r"\b[A-Z][a-z]")


def _is_own(before: str) -> bool:
    """Whether what follows these words of a sentence is said of the person."""
    if _WITH_ME.search(before):
        return True
    subjects = list(_SUBJECT.finditer(before))
    if subjects:
        return bool(subjects[-1]["me"] or subjects[-1]["me_zh"])
    # "Quit coffee in May": nobody is named.
    return not _FILLER.sub("", before) or not re.search(r"[A-Za-z]", before)


@lru_cache(maxsize=8192)
def is_of_another(sentence: str) -> bool:
    """Whether a sentence speaks of somebody else and not of the person."""
    return not _is_own(sentence) and _SUBJECT.search(sentence) is not None


_UNREAL = regex(
    r"\b(?:if|whether|suppose|imagine|would|could|might|maybe|perhaps|wish|hop(?:e|ing)|almost|nearly|unless|let['’]?s"
    r"|thinking (?:of|about)|think(?:ing)? i|considering|tempted|plan(?:ning)? to"
    r"|(?:going|want|wants|need|like|love|try|trying|about|have|supposed) to|gonna|wanna|should|must"
    r"|ought|will|never|dream(?:t|ed)?|pretend|translate"
    r"|write|story|poem|character|example|['’](?:ll|d)|until"
    r"|n['’]t|not|cannot)\b"
    r"|n['’]t\b|['’](?:ll|d)\b"
    r"|如果|要是|假如|假设|万一|可能|也许|或许|想|打算|准备|考虑|希望|应该|要不|会不会|本来要|差点|翻译|写一|编一|故事|例如|比如|假装|今天|今晚|这次|暂时|没有?|还没|从不|从没",
    re.IGNORECASE,
)


def _is_real(before: str) -> bool:
    """Whether what follows these words is said to be so: no wish, no condition, no denial."""
    return _UNREAL.search(before) is None


# --- what an earlier statement looks like ---------------------------------------------------------

HABIT = regex(
    r"\b(?:i|we|my|our|for me|user)\b.*\b(?:(?:dis)?likes?|loves?|loved|enjoy(?:s|ing|ed)?|prefer(?:s|red)?"
    r"|fan|favou?rites?|into|keen|hates?|stand|always|usually|often|every|never|takes?|orders?|drink(?:s|ing)?"
    r"|eat(?:s|ing)?|drives?|driving|go(?:es|ing)? to|train(?:s|ing)?|practi[sc](?:es?|ing)|allergic"
    r"|vegetarian|vegan|uses?|using|plays?|playing|wears?|smokes?|smoking|works?|working|writes?|writing|lives?|living"
    r"|stud(?:y|ies|ying)|learn(?:s|ing)?|rents?|runs?|running|subscribe[sd]?|own|member"
    r"|is an? (?-i:[A-Z])\w*"
    r"|on an? \w+ diet|on the \w+ plan|go-to|usual|soft spot|interest(?:ed|ing)|appreciate|lean|adore)\b"
    r"|[爱喜][吃喝玩看用欢]|最爱|爱好|偏[好爱]|习惯|总是|每[天周晚早次]|经常|常常|一直|讨厌|离不开|过敏"
    r"|我[^，。；]{0,4}[用吃喝住开学养抽]|用户[^，。；]{0,4}[用吃喝住开学养抽]",
    re.IGNORECASE | re.DOTALL,
)
LIKING = regex(
    r"\b(?:i|we|user)\b[^,;]*\b(?<!n['’]t )(?<!not )"
    r"(?:likes?|loves?|enjoys?|prefers?|adores?|fan of|keen on|into|drinks?|eats?)\b"
    r"|(?<!不)(?:喜欢|爱[吃喝看玩]|最爱|每天[吃喝看玩])",
    re.IGNORECASE | re.DOTALL,
)
DISLIKING = regex(
    r"\b(?:hates?|dislikes?|(?:don['’]t|do not|doesn['’]t|never) (?:like|eat|drink|enjoy)"
    r"|can['’]?no?t stand|allergic)\b"
    r"|不(?:喜欢|爱|吃|喝)|讨厌|受不了|过敏",
    re.IGNORECASE,
)
PLAN = regex(
    r"\b(?:(?:need|have|got|want|going|hop(?:e|ing)|mean|supposed) to|plan(?:s|ned|ning)?|remind(?:er)?"
    r"|should|must|gonna|to-?dos?|appointment|booked|scheduled|training for|signed up)\b"
    r"|要|打算|计划|准备|想|记得|待办|提醒|预约|安排",
    re.IGNORECASE,
)
PLACE = regex(
    r"\b(?:work(?:s|ing)?|job|employed|live[sd]?|living|stud(?:y|ying)|based|rent|member|team)\b"
    r"|住|上班|工作|任职|读书|上学",
    re.IGNORECASE,
)
PARTNER = regex(
    r"\b(?:girlfriend|boyfriend|partner|wife|husband|fianc[eé]e?|dating|together with)\b"
    r"|女朋友|男朋友|女友|男友|老婆|老公|对象|在一起",
    re.IGNORECASE,
)
_DAY = regex(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|jan(?:uary)?|feb(?:ruary)?|march|april|may|june|july"
    r"|aug(?:ust)?|sept(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|tomorrow|tonight|weekend"
    r"|spring|summer|autumn|winter|next (?:week|month|year)|\d{4}-\d\d(?:-\d\d)?|mornings?|afternoons?"
    r"|evenings?|noon|midnight)\b"
    r"|[上下]*个?(?:周|星期|礼拜)[一二三四五六日末天]|明[天晚早年]|后天|下个?[周月]|上午|下午|晚上|早上|中午|月底|月初"
    r"|[0-9一二三四五六七八九十]+[月日号]|[春夏秋冬]天",
    re.IGNORECASE,
)
_NUMBER = regex(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty"
    r"|fifty|hundred|thousand|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|noon|midnight)\b"
    r"|[一二三四五六七八九十两百千万](?:点(?:半|一刻|三刻)?)?",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def kinds_of_value(text: str) -> frozenset[str]:
    """What kinds of value a text names: a day, a number."""
    return frozenset(kind for kind, sign in (("day", _DAY), ("number", _NUMBER)) if sign.search(text))


# --- what is over ---------------------------------------------------------------------------------

_CLAUSE = r"(?P<old>[^,.;:!?，。；：！？\n]+?)"
_END = (
    r"(?=[,.;:!?，。；：！？\n]|\s+(?:but|and|so|because|since|after|when|while|now"
    r"|on(?! my)|in(?! the (?:morning|evening|afternoon))"
    r"|at(?! (?:work|night))|for good"
    r"|any ?more|these days|this|last|though|although|as|a (?:week|month|year) ago)\b|$)"
)
_STOP = r"(?=\s*(?:[,.;:!?]|$|\b(?:any ?more|at all|now|but|these days|because)\b))"
_START_ZH = r"(?:^|[，。；,;])"
_FOR_ZH = r"(?:快|将近|差不多|整整)?(?:好?几|半|[一二两三四五六七八九十\d]+)多?个?(?:[天周月年]|星期|礼拜)"
_END_ZH = rf"(?=了|{_FOR_ZH}|[,.;!?，。；！？\n]|$)"
_STOP_ZH = r"(?=[,.;!?，。；！？\n]|了?$)"

_OVER: tuple[tuple[_Sign, re.Pattern[str]], ...] = (
    (
        _Sign.of(
            "used to",
            rf"(?<!'m )(?<!am )(?<!re )(?<!get )(?<!got )(?<!getting )\bCUE {_CLAUSE}{_END}",
        ),
        HABIT,
    ),
    (_Sign.of("used to", rf"\bCUE (?:really )?(?:like|love|enjoy|adore), {_CLAUSE},"), HABIT),
    (_Sign.of("no longer", rf"\bCUE {_CLAUSE}{_END}"), HABIT),
    (
        _Sign.of("anymore|any more|any longer", rf"(?:\bnot?|n['’]t|\bnever) {_CLAUSE},? CUE\b"),
        HABIT,
    ),
    (
        _Sign.of(
            "quit|stopped|give up|gave up|given up|giving up|dropped|ditched|abandoned|sold|swapped|done with"
            "|finished with|gone off|went off|fed up with|had enough of|goodbye to"
            "|moved on from|grown out of|switched away from|allergic to|shift from"
            "|cut out|off the|unsubscribed from|cancelled my|canceled my",
            rf"\bCUE (?!by\b|at\b|in\b|off\b|to\b|for\b){_CLAUSE}{_END}",
        ),
        HABIT,
    ),
    (
        _Sign.of(
            "quit my job at|left my job at|left|quit|moved away from|moved out of|fired from|resigned from"
            "|stopped working at|stopped working for",
            rf"\bCUE {_CLAUSE}{_END}",
        ),
        PLACE,
    ),
    (
        _Sign.of(
            "switched|changed|moved",
            rf"\bCUE (?:\w+ ){{0,3}}?from {_CLAUSE} (?:over )?to\b",
        ),
        HABIT,
    ),
    (_Sign.of("replaced|traded in|traded", rf"\bCUE {_CLAUSE} (?:with|for|by)\b"), HABIT),
    (_Sign.of("broke up with|split up with|divorced", rf"\bCUE {_CLAUSE}{_END}"), PARTNER),
    (_Sign.of("分手|离婚", rf"[和跟与]{_CLAUSE}CUE了"), PARTNER),
    (
        _Sign.of(
            "finished|completed|done|wrapped up|ticked off|taken care of|canceled|cancelled|called off"
            "|had to cancel|pulled out of|withdrew from|dropped out of",
            rf"\bCUE {_CLAUSE}{_END}",
        ),
        PLAN,
    ),
    (
        _Sign.of(
            "戒掉|戒|忌口|忌|不再|别再|再也不|放弃|停掉|停用|告别|卖掉|受不了",
            rf"CUE{_CLAUSE}{_END_ZH}",
        ),
        HABIT,
    ),
    (
        _Sign.of(
            "不",
            rf"CUE(?:能|想|爱|敢|可以|常)?(?:喜欢|[吃喝用玩看去抽碰打学做养练跑骑开穿住加放]){_CLAUSE}了",
        ),
        HABIT,
    ),
    (
        _Sign.of(
            "以前|过去|原来|曾经",
            rf"CUE(?:很|最|都|总是?|常|一直)?(?:爱|喜欢|是|用|吃|喝|在)?{_CLAUSE}"
            r"[，,]?(?=但|可|不过|现在|最近|如今|后来)",
        ),
        HABIT,
    ),
    (_Sign.of("换成|改成|换到|改用|转到|跳槽到", rf"从{_CLAUSE}CUE"), HABIT),
    (_Sign.of("辞职|离职|跳槽|退学|毕业", rf"从{_CLAUSE}CUE"), PLACE),
    (_Sign.of("离开了", rf"CUE{_CLAUSE}{_STOP_ZH}"), PLACE),
    (
        _Sign.of(
            "不",
            rf"{_START_ZH}{_CLAUSE}(?:已经|也|都)?CUE再?[吃喝用玩看去抽打学做养练跑骑开穿住]了",
        ),
        HABIT,
    ),
    (
        _Sign.of(
            "只",
            rf"(?:以后|今后|现在|如今|目前)我?{_CLAUSE}我?(?:都|就)?CUE[吃喝用要看听穿买点做]",
        ),
        HABIT,
    ),
    (
        _Sign.of("戒|停|卖|退|扔", rf"{_START_ZH}{_CLAUSE}(?:已经|都|也)?CUE[了掉]"),
        HABIT,
    ),
    (_Sign.of("做完|完成|搞定|办完|取消|处理完", rf"CUE了{_CLAUSE}{_END_ZH}"), PLAN),
    (
        _Sign.of(
            "做完|完成|搞定|办完|取消",
            rf"{_START_ZH}{_CLAUSE}(?:(?:已经|都|被)CUE了?|CUE了)(?=[,.;!?，。；！？\n]|$)",
        ),
        PLAN,
    ),
)
"""What a later statement of the person's own doing says is over, and what an earlier one looks like."""

_THINGS_OVER: tuple[tuple[_Sign, re.Pattern[str]], ...] = (
    (
        _Sign.of(
            "is gone|is out|is history|is no more|are gone|are out|are history",
            r"(?:^|[,.;:!?] )(?:my |the )?(?P<old>\w+(?: \w+)?) CUE\b",
        ),
        HABIT,
    ),
    (
        _Sign.of(
            "cancelled|canceled|called off",
            r"(?:^|\b(?:the|my|our|that)\s)(?P<old>\w+(?: \w+){0,3}?)"
            r" (?:was|is|has been|got|were|are) (?:just )?CUE\b",
        ),
        PLAN,
    ),
)
"""The same where the thing itself is the subject; the first kind needs news beside it."""

_OVER_ABROAD = tuple(
    (_Sign.of(cues, pattern), regex(looks, re.IGNORECASE)) for cues, pattern, looks in abroad.OVER
)
"""The same in other languages, whose words say that it is the person's own."""

_TURNED: tuple[tuple[_Sign, re.Pattern[str]], ...] = (
    (
        _Sign.of(
            "don't|don’t|do not|can't stand|can’t stand|hate|dislike|doesn't|doesn’t",
            r"(?:\b(?:i|we|user) (?:really |just |now |actually |absolutely )*"
            r"(?:(?:do(?:es)?n['’]t|do not) (?:really |even )?(?:like|enjoy|drink|eat|love)"
            r"|can['’]t stand|hates?|dislikes?)) "
            rf"{_CLAUSE}{_STOP}",
        ),
        LIKING,
    ),
    (
        _Sign.of(
            "now like|now love|now enjoy|now eat|now drink|actually like|actually love|actually enjoy|do like"
            "|do love|do enjoy|come to like|come to love|come to enjoy",
            r"\b(?:i|we|user) (?:now |actually |do |have come to )+"
            rf"(?:likes?|loves?|enjoys?|eat|drink) {_CLAUSE}"
            r"(?=\s*(?:[,.;:!?]|$|\b(?:again|now|after all|these days)\b))",
        ),
        DISLIKING,
    ),
    (
        _Sign.of(
            "不喜欢|讨厌|不爱|不吃|不喝",
            rf"(?:我|用户)(?:现在|其实|真的|最近|很|已经)*CUE(?P<old>[^，。；,;!?！？]{{1,8}}?){_STOP_ZH}",
        ),
        LIKING,
    ),
    (
        _Sign.of(
            "喜欢|爱上|吃|喝",
            r"(?:我|用户)(?:现在|又|开始|反而|已经)+(?:喜欢|爱)?CUE"
            rf"(?P<old>[^，。；,;!?！？]{{1,8}}?){_STOP_ZH}",
        ),
        DISLIKING,
    ),
)
"""A liking that has turned: exactly the same thing, said of the person."""

_OR = "instead of|rather than|over|to"
_RATHER = _Sign.of(
    "prefer",
    rf"\bCUE(?:s|ring)? [^,.;:!?\n]+? (?:{_OR}) (?P<old>[^,.;:!?\n]+?){_END}",
)
_INSTEAD = _Sign.of("instead of|rather than", rf"\bCUE {_CLAUSE}{_END}")

NEWS = regex(
    r"\b(?:now|new|these days|nowadays|from now on|currently|changed|lately)\b"
    r"|现在|如今|目前|换|新|改|以后|最近",
    re.IGNORECASE,
)
_NOW = _Sign.of(
    " now|now i|now,|now we|these days|nowadays|changed my mind|现在|如今|改主意|以后",
    r"\b(?:now|these days|nowadays|from now on|changed my mind)\b|现在|如今|改主意|以后",
)
ALSO = regex(r"\b(?:also|too|as well|another|second|besides|both)\b|也|还有|另外|第二", re.IGNORECASE)

_EMPTY = (
    "really like liked love loved enjoy enjoying enjoyed dislike disliked hate prefer into fan crazy keen"
    " big huge idea think thought say said favorite favourite lot much quite just actually thing work use"
    " go have been want do find stuff bit kind always pretty very all about now still my our update make"
    " play watch read write visit live take get feel listen start try be buy eat drink see giving"
    " having change mind being user yesterday today 今天 昨天 现在 目前 最近"
)


@cache
def _empty() -> frozenset[str]:
    """Terms that do not say what is given up."""
    return frozenset(terms(_EMPTY))


_LEADING_ZH = regex(
    r"^(?:给我|推荐|把|跟我|再|去|吃|喝|用|做|玩|看|学|抽|养|碰|的|掉|了|过|任何|一点|我|我们|现在|如今|最近|已经|用户|每天|早上|晚上)+"
    r"|(?:的|掉|了|过|我)+$"
)
_LEADING = regex(
    r"^(?:(?:really |to )*(?:like|love|enjoy) )?(?:my |the )?(?:(?:old|previous|former|earlier|usual) )*"
    r"(?:preference|love|taste|liking|fondness|passion|habit|idea)s? (?:for|of)"
    r"(?: (?:travel(?:l?ing)?|going|moving) to)? ",
    re.IGNORECASE,
)
"""What goes before the thing itself: "my old preference for", "the idea of travelling to"."""
_TASTES = "辣糖烟酒茶肉奶盐油甜鱼蛋虾醋葱蒜咸米面"
_ALWAYS = regex(
    r"\b(?:now|these days|nowadays|from now on|always|every|usually)\b|现在|如今|以后", re.IGNORECASE
)
_POINTS_BACK = regex(r"\b(?:it|them|that|this|one)$", re.IGNORECASE)


def _named(clause: str) -> frozenset[str]:
    return frozenset([term for term in query_terms(clause) if term not in _empty()][:FEW_TERMS])


def _over(sentence: str, held: frozenset[str]) -> Iterator[Over]:
    for sign, looks in _OVER:
        for match in sign.matches(sentence, held):
            # A Chinese clause holds its subject: "我妈咖啡已经戒了".
            before = sentence[: match.start() if match.group().isascii() else match.end()]
            is_own = _is_own(before) or match["old"].casefold().startswith("my ")
            if is_own and _is_real(sentence[: match.start()]):
                yield from _ended(match["old"], looks)
    for sign, looks in _THINGS_OVER:
        for match in sign.matches(sentence, held):
            is_told = looks is PLAN or _SAYS_I.search(sentence, match.end()) is not None
            if is_told and _is_real(sentence[: match.start()]):
                yield from _ended(match["old"], looks)
    yield from _over_abroad(sentence, held)
    yield from _turned(sentence, held)
    yield from _instead(sentence, held)


def _over_abroad(sentence: str, held: frozenset[str]) -> Iterator[Over]:
    for sign, looks in _OVER_ABROAD:
        for match in sign.matches(sentence, held):
            yield from _ended(match["old"], looks)


_SAYS_I = regex(r"\b(?:i|we)\b", re.IGNORECASE)


def _turned(sentence: str, held: frozenset[str]) -> Iterator[Over]:
    for sign, earlier in _TURNED:
        for match in sign.matches(sentence, held):
            if _is_real(sentence[: match.start()]):
                the_same = rf"(?:{earlier.pattern})[^,.;，。；]*{re.escape(match['old'].strip())}"
                yield from _ended(match["old"], re.compile(the_same, earlier.flags))


def _instead(sentence: str, held: frozenset[str]) -> Iterator[Over]:
    for match in _RATHER.matches(sentence, held):
        if _is_meant(sentence, match):
            # The other way round: what comes second now came first.
            swapped = rf"\bprefer\w* [^,.;:!?\n]*{re.escape(match['old'].strip())}\b[^,.;:!?\n]* (?:{_OR})\b"
            yield from _ended(match["old"], re.compile(swapped, re.IGNORECASE))
    if _ALWAYS.search(sentence):
        for match in _INSTEAD.matches(sentence, held):
            if _is_meant(sentence, match):
                yield from _ended(match["old"], HABIT)


def _is_meant(sentence: str, match: re.Match[str]) -> bool:
    return _is_own(sentence[: match.start()]) and _is_real(sentence[: match.start()])


def _ended(old: str, looks: re.Pattern[str]) -> Iterator[Over]:
    clause = _LEADING.sub("", _LEADING_ZH.sub("", old.strip()))
    named = _named(clause)
    # Of single characters only what one eats or drinks says what it is.
    is_vague = len(clause) == 1 and clause not in _TASTES
    if named and not is_vague and not _POINTS_BACK.search(clause):
        yield Over(named, clause, looks)


def _news(sentence: str, held: frozenset[str]) -> Iterator[Over]:
    """What a sentence says is so now: an earlier one that names the same speaks of the same."""
    news = next(_NOW.matches(sentence, held), None)
    if news is None:
        return
    # "体检血糖偏高，以后奶茶我只喝无糖的": what goes before the news is why.
    sentence = sentence[max(sentence.rfind(mark, 0, news.start() + 1) for mark in ",，") + 1 :]
    if HABIT.search(sentence) and not ALSO.search(sentence):
        clause = NEWS.sub(" ", sentence)
        named = _named(clause)
        if len(named) > 1 and _is_own(sentence) and _is_real(sentence):
            yield Over(named, clause, HABIT)


# --- what has another value -----------------------------------------------------------------------

_CHANGED: tuple[_Sign, ...] = (
    _Sign.of(
        "moved|changed|postponed|rescheduled|pushed|brought forward|delayed|cut|raised|reduced|increased"
        "|lowered|extended|switched|updated|revised|shortened|bumped|went up|went down|put off",
        r"\bCUE\b(?P<what>[^.;!?\n]*?)\b(?:to|until|till|by)\b",
    ),
    _Sign.of(
        "new plan|new date|new time|new budget|new price|new deadline|new number|new rate|new limit"
        "|new schedule|new target|change of plan",
        r"\bCUE\b(?P<what>)",
    ),
    _Sign.of(
        "is now|are now|starts now|start now|takes place now|costs now|leaves now|begins now|happens now"
        "|now starts|now start|now takes place|now costs|now leaves|now begins|now happens",
        r"\bCUE\b(?P<what>)",
    ),
    _Sign.of(
        " now",
        r"\b(?:is|are|starts?|begins?|takes? place|costs?|leaves?|opens?|closes?|happens?)\b(?P<what>)"
        r"(?=[^,.;!?\n]*CUE(?:$|[,.!]))",
    ),
    _Sign.of(
        "actually|correction|update",
        r"^(?:no, |sorry, |oh, )?CUE\b[,:]?(?P<what> (?:the|my|our) [^.;!?\n]*?"
        r"\b(?:is|are|starts?|costs?))\b",
    ),
    _Sign.of(
        "搬到|移到|挪到|改到|改成|改为|改在|改期|推迟到|推迟至|推迟|提前到|提前至|延期|延到|延后|调到|调整到|调整为|调成|换成|换到"
        "|涨到|降到|升到|减到|砍到|压到|变成|现在是|现在定在|定到",
        r"CUE(?P<what>)",
    ),
    _Sign.of("其实|更正|纠正一下|更新一下", r"^CUE[，,：:]?(?P<what>[^，。；！？]*?[是在])"),
)
"""A plan or a figure that has another value now."""


def _changed(sentence: str, held: frozenset[str]) -> Iterator[Changed]:
    """What a sentence that tells a new value is about: its terms up to the value."""
    for match in (match for sign in _CHANGED for match in sign.matches(sentence, held)):
        value = min(
            (found.start() for sign in (_DAY, _NUMBER) if (found := sign.search(sentence, match.end()))),
            default=None,
        )
        before = re.split("[,:，：]", sentence[: match.start()])[-1]
        if value is None or _UNREAL_VALUE.search(before):
            continue
        clause = _about(f"{before} {match['what'] or sentence[match.end() : value]}")
        if not _named(clause):
            # "改成六点起床": what it is comes after the value.
            clause = _about(sentence[value:])
        named = _planned(clause)
        if named:
            yield Changed(named, clause, kinds_of_value(sentence[match.end() :]), whose(sentence))


def _planned(clause: str) -> frozenset[str]:
    """What of a clause names a plan: "the thesis deadline" is the date of the thesis."""
    named = frozenset(query_terms(clause)) - (_empty() - _activities())
    return (named - _attributes() or named) if _named(clause) else frozenset()


@cache
def _activities() -> frozenset[str]:
    return frozenset(terms("play watch read write visit listen work"))


@cache
def _attributes() -> frozenset[str]:
    return frozenset(terms("deadline due date start"))


def named_terms(sentence: str) -> frozenset[str]:
    """The terms of a sentence that say what it is about, its values left out."""
    return frozenset(query_terms(_without_values(sentence))) - _empty()


_UNREAL_VALUE = regex(
    r"\b(?:if|would|could|might|maybe|perhaps|wish|should|want to|not|asked|suggested|can we|let['’]?s)\b"
    r"|n['’]t\b|如果|要是|可能|希望|想|没",
    re.IGNORECASE,
)


def _about(text: str) -> str:
    """What a text is about besides its values and who has changed them."""
    return _ROLES.sub(" ", _LEADING_ZH.sub("", _without_values(text).strip()))


_ROLES = regex(
    r"\b(?:boss|manager|landlord|doctor|teacher|company|they)\b|医生|房东|老板|领导", re.IGNORECASE
)


def _without_values(text: str) -> str:
    return _NUMBER.sub(" ", _DAY.sub(" ", text))


def whose(sentence: str) -> frozenset[str]:
    """The relatives and other people that a sentence names: their plans are not the person's."""
    return frozenset(match.group().casefold() for match in RELATIVES.finditer(sentence))


# --- what a person has one of ---------------------------------------------------------------------

# Where one's relatives and friends live or work is another matter.
_SELF_ZH = "[^，。；的妈爸哥弟姐妹朋友同邻儿女奶爷]{0,6}?"
_I = r"(?:\b(?:i|we|(?:the )?user)(?:['’]?m| am|['’]?ve| have|['’]re| are| has| is)?)"
_A_PLACE = (
    r"(?=(?!(?:the|an?|my|our|this|that|to) )(?-i:[A-Z])[\w-]++(?! \d)|\d"
    r"|(?:the |an? |my |our )?(?:\w+ ){0,2}?(?:flat|house|apartment|city|town|village|country(?:side)?"
    r"|suburbs|street|coast|studio|dorm|farm|island)\b)"
)
"""A name or a kind of place: one moves to the front row too."""
_A_JOB = (
    r"(?!home\b|night|noon|the (?:moment|weekend)|least|now\b|me\b|free\b|it\b|that\b|\d"
    r"|an? (?:hour|while|day|week|month|year)|(?:two|three|four|five|six|many|some) |hours|years)"
)
_JUST = r"(?: (?:now|just|currently|recently|finally|both|actually|officially))*"

_BY_THE_WAY = r"(?:,? (?:by the way|btw))?"
_SLOTS: tuple[tuple[str, _Sign], ...] = (
    (
        "home",
        _Sign.of(
            "live |lives |living |moved |relocated |based ",
            rf"(?:{_I}{_JUST} (?:lives?|living|moved|relocated|based)|^(?:lives|moved|based))"
            rf"(?: (?:back|house|out|over|away|here))? (?:in|at|to|on|into) {_A_PLACE}",
        ),
    ),
    (
        "home",
        _Sign.of(
            "new place|new flat|new apartment|new house|new home",
            rf"(?:\b(?:my|our|the) |^)CUE is (?:now )?(?:(?:over|out|down|up) )?(?:in|at|on) {_A_PLACE}",
        ),
    ),
    (
        "home",
        _Sign.of(
            "address",
            r"\b(?:my|our|user['’]s) (?:new |current |home |postal )*CUE"
            r" (?:has changed\b|is (?:now )?(?=\d|(?-i:[A-Z])|at |in ))|^(?:home )?CUE: ",
        ),
    ),
    (
        "home",
        _Sign.of(
            "住在|住到|搬到|搬去|搬进|搬家到|搬回",
            rf"(?:我们?|用户|(?:^|[，,])(?:现在|目前|如今|已经|刚)?){_SELF_ZH}CUE"
            r"(?!了?(?:酒店|宾馆|民宿|旅馆|医院|新?办公室|新?公司|新?工位))",
        ),
    ),
    (
        "home",
        _Sign.of("我家", r"CUE(?:现在|目前)?在[^，。；]{1,10}(?:[区市路街镇村县省楼]|小区|附近|旁边)"),
    ),
    ("home", _Sign.of("new address|new home address", rf"^(?:my |our )?CUE{_BY_THE_WAY}: ")),
    ("home", _Sign.of("地址|住址|新家在", r"(?:我家?|用户)?的?新?CUE(?:现在)?(?:是|改|换|变|在|：|:)")),
    (
        "work",
        _Sign.of(
            "work at|work for|work as|works at|works for|works as|working at|working for|working as"
            "|started at|started as|begun at|begun as|started work|job is|work in|works in"
            "|job at|job with|job as",
            rf"(?:{_I}(?: been)?{_JUST} (?:started |begun )?(?:works?|working)|^works)(?: in \w+)?"
            rf" (?:at|for|as an?) {_A_JOB}"
            rf"|{_I}{_JUST} (?:started|begun) (?:at|as an?) {_A_JOB}"
            rf"|{_I}{_JUST} (?:got|found|landed|accepted|started) (?:an?|the|my) (?:new )?job"
            r" (?:at|with|as|in)\b"
            r"|\bmy (?:new |current )*job is (?:now )?(?:at|as|with)\b",
        ),
    ),
    (
        "work",
        _Sign.of(
            "teach at|teaches at|teaching at",
            rf"(?:{_I}{_JUST} |^)CUE (?:the )?(?-i:[A-Z])",
        ),
    ),
    (
        "work",
        _Sign.of(
            "工作|上班|任职|公司做|公司当|医院做|医院当|学校教|银行做",
            rf"(?:我|用户|(?:^|[，,])(?:现在|目前|如今|已经|刚)){_SELF_ZH}"
            r"在(?!考虑|想|找|努力|忙|网上|线上|家)[^，。；]{1,14}CUE",
        ),
    ),
    (
        "work",
        _Sign.of(
            "做|当|教",
            rf"(?:我|用户|(?:^|[，,])(?:现在|目前|如今|已经|刚)){_SELF_ZH}在[^，。；]{{0,10}}"
            r"(?:公司|集团|工作室|事务所|研究所|[社院校厂店局行]|[小中大]学|餐厅)[^，。；]{0,2}CUE(?!客|完|过|了|检查|手术|志愿|义工|兼职|作业)",
        ),
    ),
    ("work", _Sign.of("入职|跳槽到", rf"(?:我|用户){_SELF_ZH}CUE")),
    ("work", _Sign.of("调到|调去|换到", rf"(?:我|用户){_SELF_ZH}CUE[^，。；]{{1,10}}(?:工作|上班)")),
    (
        "phone",
        _Sign.of(
            "phone|mobile|new number",
            r"\b(?:my|user['’]s) (?:new |current )*(?:(?:tele|cell)?phone|mobile|new number)(?: number)?"
            r"(?: is| has changed to)?(?: now)?[: ]+[+(]?\d[\d ()-]{4}|^(?:tele)?phone(?: number)?: [+(]?\d",
        ),
    ),
    (
        "phone",
        _Sign.of(
            "my number|new number|new phone|new mobile",
            rf"(?:\b(?:my|our|user['’]s) (?:new )?|^)CUE(?: number)?{_BY_THE_WAY}"
            r"(?: is(?: now)?|:) [+(]?\d[\d ()-]{4}",
        ),
    ),
    (
        "phone",
        _Sign.of(
            "手机|电话",
            r"(?:我的?|新|用户的?)+CUE号?码?(?:现在)?(?:是|改成|换成|改为|：|:)? ?\+?\d{3}",
        ),
    ),
    (
        "email",
        _Sign.of(
            "email|e-mail",
            r"\b(?:my|user['’]s) (?:new |current )*e-?mail(?: address)?"
            r" (?:has changed\b|is (?:now )?(?=\S+@|\[))"
            r"|^e-?mail(?: address)?: \S+@",
        ),
    ),
    (
        "email",
        _Sign.of("new email|new e-mail", rf"^(?:my |our )?CUE(?: address)?{_BY_THE_WAY}: (?=\S+@|\[)"),
    ),
    ("email", _Sign.of("邮箱", r"(?:我|用户)的?新?CUE(?:地址)?(?:现在)?(?:是|改|换)")),
    (
        "age",
        _Sign.of(
            "years old|turned ", rf"{_I}{_JUST} (?:turned \d{{1,2}}|\d{{1,2}} years old)(?= now|[,.!]|$)"
        ),
    ),
    ("age", _Sign.of("岁", r"(?:我|用户)(?:今年|现在|已经|刚满|满)?\d{1,2}CUE")),
    (
        "partner",
        _Sign.of(
            "wife|husband|partner|girlfriend|boyfriend|fianc",
            r"\bmy (?:new |current )*(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?)"
            r"(?:['’]s name)? is (?:now )?(?:called |named )?(?-i:[A-Z])\w+(?=[,.!]|$)",
        ),
    ),
    (
        "diet",
        _Sign.of(
            "vegetarian|vegan|pescatarian|eat meat|eating meat",
            rf"{_I}{_JUST} (?:been |an? |turned |became |gone |go |went |become )*(?:strict )?"
            r"(?:vegetarian|vegan|pescatarian)\b"
            rf"|{_I}{_JUST} (?:eats?|eating) meat\b",
        ),
    ),
    (
        "diet",
        _Sign.of(
            "吃素|素食|吃肉", r"(?:我|用户)(?:现在|又|开始|已经|也|是|在|平时|一直|不再|不)*CUE(?![包丸松])"
        ),
    ),
    (
        "rent",
        _Sign.of(
            "rent",
            r"\b(?:my|our|the) CUE (?:is|was|has been|has gone|has|went|goes)(?: now| been)?"
            r"(?: (?:raised|increased|lowered|cut|up|down))? (?:to |at )?[£$€]?\d",
        ),
    ),
    (
        "rent",
        _Sign.of(
            "房租|月租|租金",
            r"CUE(?:现在|每个?月|一个月)?(?:是|要|为|涨到|降到|涨成|降成|变成|改成)?"
            r"了?[一二两三四五六七八九\d][一二两三四五六七八九十百千万\d]",
        ),
    ),
    (
        "status",
        _Sign.of(
            "single|married|divorced|engaged|widowed",
            rf"{_I}{_JUST} (?:got |getting )?CUE(?=[,.!]|$| (?:last|now|in|on|yesterday|since|to)\b)",
        ),
    ),
    (
        "status",
        _Sign.of("单身|结婚了|离婚了|订婚了", r"(?:我|我们|用户)(?:现在|还|是|已经|终于|刚|上个?[周月])*CUE"),
    ),
    (
        "language of answers",
        _Sign.of("answer|reply|respond", r"\bCUE(?: to)?(?: me)?(?: only| always)? in (?-i:[A-Z])\w+"),
    ),
    ("language of answers", _Sign.of("回答|回复", r"用[中英日法德韩俄西][文语]CUE")),
    ("called", _Sign.of("call me|go by", r"\b(?:please |just )?CUE (?:as )?(?-i:[A-Z])\w+")),
    ("called", _Sign.of("叫我|称呼我", r"(?<!别)(?<!不要)CUE[^，。的]{1,6}(?=[，。吧就]|$)")),
    *((name, _Sign.of(cues, pattern)) for name, cues, pattern in abroad.SLOTS),
)
"""Of these a person has one at a time: what is stated later holds."""

_OWN = (
    _Sign.of(
        "my |user's |user’s ",
        r"\b(?:my|user['’]s) (?:new |current |all-time )*(?P<what>[a-z-]+(?: [a-z-]+){0,2}?)"
        r" (?:is|are|has changed to|was changed to)\b",
    ),
    _Sign.of("favourite|favorite", r"^(?P<what>favou?rite [a-z]+): "),
    _Sign.of(
        "changed|is new|different",
        r"\b(?:my|our|user['’]s) (?P<what>[a-z-]+(?: [a-z-]+){0,2}?) (?:has |have )?CUE"
        r"(?: now)?[,;:]? (?:it|he|she|that)(?:['’]s| is)\b",
    ),
    _Sign.of(
        " a new ",
        rf"{_I}{_JUST} (?:have|has|got|found|hired)CUE(?P<what>[a-z]+(?: [a-z]+)??)"
        r"(?=,? (?:called |named )?(?-i:[A-Z])|[,.!]? (?:it|he|she)(?:['’]s| is)\b|$),?",
    ),
    _Sign.of(
        "换人|换了人|变了|换了",
        r"(?:我|我们|用户)的?(?P<what>[^，。；：！？的是我]{1,6})CUE了?[，,](?:现在)?(?:是|叫)",
    ),
    _Sign.of("转专业|换专业", r"我[^，。；]{0,4}[转换](?P<what>专业)(?=[到成为去])"),
    _Sign.of(
        "是|改成|换成|变成",
        r"(?:我|我的|现在|现在的|新|用户的?)(?:现在)?"
        r"(?P<what>[^，。；：！？的是我]{1,6}(?:的[^，。；：！？的是]{1,4})?)CUE",
    ),
)
_ALWAYS_ONE = regex(
    r"\b(?:number|name|favou?rite|dentist|doctor|gp|landlord|boss|manager|teacher|therapist|salary|rent"
    r"|password|pin|bank|gym|size|major|username|nickname|birthday|blood type|locker|job title|pronouns)\b"
    r"|最喜欢|最爱|牙医|医生|老板|经理|房东|老师|工资|月薪|房租|密码|专业|号|名字|昵称|车牌",
    re.IGNORECASE,
)
"""Of these a person has one; of what else is "mine" only if the later statement says that it is new."""
_SPELLING = (("favorite", "favourite"), ("color", "colour"))


_OF_ANY_WORD = regex(
    r"\b(?:favou?rite|major|size|username|nickname|pronouns|blood type|job title)\b|[^\x00-\x7f]"
)
_VALUE = regex(
    r"\s*(?:now |called |named |currently |back )*(?:(?:an?|the|at|in|with) |(?-i:[A-Z0-9+(£$€\"“']))",
    re.IGNORECASE,
)
"""How a thing of one's own is said to be another: "my bank is closed" tells no new bank."""


_ONE_ZH = "手机|电脑|平板|浏览器|输入法|编辑器|耳机|相机|手表|眼镜|车|健身房|银行|牙医|医生|理发师|运营商"
_REPLACED = (
    _Sign.of("changed|switched|swapped", rf"{_I}{_JUST} CUE (?:my )?(?P<what>[a-z]{{3,}}?)s\b"),
    _Sign.of(
        " a new ",
        rf"{_I}{_JUST} (?:bought|got|have|ordered)(?: myself)?CUE"
        r"(?P<what>phone|laptop|computer|tablet|car|bike|watch|camera|desk|bed|fridge)\b(?! for\b)",
    ),
    _Sign.of(
        "换|买",
        rf"(?:^|[，,])我?{_SELF_ZH}(?:换|买[^，。；]{{0,4}}新)[^，。；]{{0,6}}?(?P<what>{_ONE_ZH})(?:了|[，,]|$)",
    ),
)
"""What of their own the person has another of now, whichever it is: "I changed banks", "换了健身房"."""
_HELD = _Sign.of(
    "用|开|戴",
    rf"我{_SELF_ZH}CUE(?!心|会|车|的人)(?:着|的是?)?[^，。；]{{2,8}}?(?P<what>{_ONE_ZH})(?:$|[，,])",
)
"""And how it is said that they have one."""


def _slots(sentence: str, held: frozenset[str]) -> Iterator[str]:
    named = [] if held.isdisjoint(_SLOT_CUES) else list(_named_slots(sentence, held))
    yield from (name for name, _, _ in named)
    yield from _used(_USED_NOW, sentence, held)
    yield from _one_of(_REPLACED, sentence, held)
    counted = list(_counted(sentence, held))
    # "My new number is …" fills the slot of that name, not another one called "new number".
    own = [
        what
        for what, start, end in _own_places(sentence, held)
        if not any(start < until and begin < end for _, begin, until in named)
    ]
    if (counted or own) and NEWS.search(sentence):
        yield from (*counted, *own)
    else:
        yield from (what for what in own if _ALWAYS_ONE.search(what))


def _one_of(signs: Sequence[_Sign], sentence: str, held: frozenset[str]) -> Iterator[str]:
    """The things of their own that a sentence says the person has, or has another of."""
    for match in (match for sign in signs for match in sign.matches(sentence, held)):
        if _is_filled(sentence[: match.end()], ""):
            yield f"my {match['what'].casefold()}"


def _named_slots(sentence: str, held: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """The slots of `_SLOTS` that a sentence fills, and from where to where it says so."""
    # Names have no capitals where a person writes none at all.
    cased = sentence.title() if sentence.islower() else sentence
    for name, sign in _SLOTS:
        for match in sign.matches(cased, held):
            if _is_filled(cased[: match.end()], name):
                yield name, match.start(), match.end()


def _is_filled(told: str, name: str) -> bool:
    """Whether the beginning of a sentence says that the person themself has it, and has it now."""
    is_theirs = name == "partner" or not RELATIVES.search(told) or _WITH_ME.search(told) is not None
    return is_theirs and _is_real(told) and _FORMERLY.search(told) is None


_FORMERLY = regex(
    r"\b(?:used to|once|formerly|previously|back then)\b|以前|曾经|原来|过去|小时候", re.IGNORECASE
)


def _own(sentence: str, held: frozenset[str]) -> Iterator[str]:
    """What a sentence says of the person's own things, whether it is news or not."""
    return (what for what, _, _ in _own_places(sentence, held))


def _own_places(sentence: str, held: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    for match in (match for sign in _OWN for match in sign.matches(sentence, held)):
        what = match["what"].casefold().lstrip("新")
        is_value = _OF_ANY_WORD.search(what) or _VALUE.match(sentence, match.end())
        if is_value and not RELATIVES.search(what) and _is_filled(sentence[: match.end()], ""):
            for american, british in _SPELLING:
                what = what.replace(american, british)
            yield f"my {what}", match.start(), match.end()


# --- what one uses for something, and how much one has ---------------------------------------------

_USED: tuple[_Sign, ...] = (
    _Sign.of(
        " for ",
        rf"{_I}(?: \w+)? (?:use|uses|using|take|rely on) [^,.;!?\n]+?CUE(?:my |our |the )?"
        r"(?P<what>[^,.;!?\n]+)",
        is_of_me=True,
    ),
    _Sign.of(
        "用",
        r"(?:^|[，,])(?:我|用户)(?P<what>[^，。；我不没]{1,6}?)(?:一直|都|平时|主要|通常|现在)?(?<![不没])CUE(?!了|完|过|不)",
    ),
)
_USED_NOW: tuple[_Sign, ...] = (
    _Sign.of(
        "switched|moved|changed|migrated",
        rf"{_I}{_JUST} CUE(?: over)? to [^,.;!?\n]+? for (?:my |our |the )?(?P<what>[^,.;!?\n]+)",
    ),
    _Sign.of(
        "switched|moved|migrated",
        rf"{_I}{_JUST} CUE (?:all )?(?:my|our) (?P<what>\w+(?: \w+)?)(?: over)? to (?-i:[A-Z])",
    ),
    _Sign.of(
        "改用|换成|换用|转用",
        r"(?:^|[，,])(?:我|用户)?(?:现在|最近|已经)?(?P<what>[^，。；我不没从把]{1,6}?)我?(?:现在|已经|都|又)*CUE",
    ),
    _Sign.of(
        " for ",
        rf"{_I}(?: now) (?:use|uses) [^,.;!?\n]+?CUE(?:my |our |the )?(?P<what>[^,.;!?\n]+)",
        is_of_me=True,
    ),
)
"""What one uses for a purpose, and that it is another now."""

_COUNTED = _Sign.of(
    "weigh|have|own|go|run|sleep|work|drink|smoke|earn|make|pay|spend|save|walk|swim|cycle|train|practise|practice"
    "|eat|read|study|meet|need|owe",
    rf"^(?:now |currently )?{_I}{_JUST} CUEs?\b",
    is_of_me=True,
)
_COUNTED_ZH = _Sign.of(
    "体重|身高|每|有|存|欠|睡|跑|走|喝|抽|赚|交", r"^(?:现在)?(?:我们?|用户)[^，。；]{0,4}CUE"
)
_HOW_OFTEN = regex(
    r"\b(?:once|twice|times?|about|around|only|already|(?:up|down) to|at|half|past|quarter)\b"
    r"|大约|大概|已经|只",
    re.IGNORECASE,
)
_PRONOUNS = frozenset(terms("i we user the 我 我们 用户"))


def _used(signs: Sequence[_Sign], sentence: str, held: frozenset[str]) -> Iterator[str]:
    """The purposes for which a sentence says that the person uses something."""
    for match in (match for sign in signs for match in sign.matches(sentence, held)):
        what = " ".join(sorted(_named(NEWS.sub(" ", match["what"]))))
        if what and _is_filled(sentence[: match.start("what")], ""):
            yield f"for {what}"


def _counted(sentence: str, held: frozenset[str]) -> Iterator[str]:
    """What a sentence says the person has or does so much or so often of: its words without the number."""
    is_counted = any(True for sign in (_COUNTED, _COUNTED_ZH) for _ in sign.matches(sentence, held))
    if is_counted and _NUMBER.search(sentence) and _is_filled(sentence, ""):
        rest = _HOW_OFTEN.sub(" ", NEWS.sub(" ", _NUMBER.sub(" ", re.sub(r"\d[\d.,]*", " ", sentence))))
        words = frozenset(terms(rest)) - _PRONOUNS
        if words - _empty():
            yield "so much: " + " ".join(sorted(words))


# --- all together ---------------------------------------------------------------------------------

_OVER_SIGNS = (
    *(sign for table in (_OVER, _THINGS_OVER, _OVER_ABROAD, _TURNED) for sign, _ in table),
    _INSTEAD,
    _RATHER,
)
_SLOT_SIGNS = tuple(sign for _, sign in _SLOTS)
_SIGNS = (
    *_OVER_SIGNS,
    *_SLOT_SIGNS,
    *_CHANGED,
    *_OWN,
    *_USED,
    *_USED_NOW,
    *_REPLACED,
    _HELD,
    _COUNTED,
    _COUNTED_ZH,
    _NOW,
)
_CUES = Cues(cue for sign in _SIGNS for cue in sign.cues)
_OVER_CUES, _SLOT_CUES = (
    frozenset[str]().union(*(sign.cues for sign in signs)) for signs in (_OVER_SIGNS, _SLOT_SIGNS)
)


def said(text: str) -> Said:
    """What a text of the person tells; nothing where it only talks."""
    # What is too long to be a statement is not kept either.
    return _NOTHING if len(text) > LONGEST_CHARS else _said(text)


@lru_cache(maxsize=16_384)
def _said(text: str) -> Said:
    cues = _CUES.held_by(text.casefold())
    if not cues:
        return _NOTHING
    over: list[Over] = []
    changed: list[Changed] = []
    fills: set[str] = set()
    own: set[str] = set()
    for sentence in sentences(text):
        folded = sentence.casefold()
        held = frozenset(cue for cue in cues if cue in folded)
        if not held:
            continue
        # Most words are cues of some table, and few of most tables.
        over += () if held.isdisjoint(_OVER_CUES) else _over(sentence, held)
        over += _news(sentence, held)
        changed += _changed(sentence, held)
        fills.update(_slots(sentence, held))
        own.update(_own(sentence, held), _used(_USED, sentence, held), _counted(sentence, held))
        own.update(_one_of((_HELD,), sentence, held))
    told = Said(tuple(over), tuple(changed), frozenset(fills), frozenset(own))
    return _NOTHING if told == _NOTHING else told


@cache
def _needs() -> str:
    """What a text in small letters has to match to tell anything, as RE2 knows it."""
    of_me, of_any = (
        "|".join(
            sorted({re.escape(cue) for sign in _SIGNS if sign.is_of_me is is_of_me for cue in sign.cues})
        )
        for is_of_me in (True, False)
    )
    return rf"(?s)(?:{of_any})|(?:^|[^a-z0-9_])(?:[iı]|we|user)(?:m|ve)?(?:[^a-z0-9_]|$).*(?:{of_me})"


def tell(texts: Sequence[str]) -> list[bool]:
    """Which of many texts tell something; most do not, and that is soon seen."""
    may_tell = matching([text.casefold() for text in texts], _needs())
    return [may and said(text).is_telling for text, may in zip(texts, may_tell, strict=True)]
