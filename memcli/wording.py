"""What a question asks for, and what a passage looks like, told by words alone (English and Chinese)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from memcli.passages import is_unspaced, query_terms
from memcli.text import regex
from memcli.types import Record
from memcli.weights import LETTERS_OF_IDEOGRAPH

_TOLD = (
    r"(?:told|said|mentioned|recommended|suggested|advised|explained|shared|gave|given|taught|wrote|written)"
)
_TELL = r"(?:tell|say|mention|recommend|suggest|advise|explain|share|give|teach|write)"
_ASKS_FOR_ASSISTANT = regex(
    rf"\byou\s+(?:\w+\s+){{0,2}}?{_TOLD}\b|\bdid\s+you\s+(?:\w+\s+)?{_TELL}\b"
    r"|(?<![和跟给向对同])你[^\W]{0,8}?(?:推荐|建议|告诉|说|提到|介绍|教|讲|分享)我?[了过的]",
    re.IGNORECASE,
)

_ASKS_FOR_BEFORE = regex(
    r"\b(?:previous(?:ly)?|former(?:ly)?|used? to|(?:my|our) (?:old|last)|originally|back then|in the past)\b"
    r"|\bbefore(?:\s+(?-i:[A-Z])|\s+(?:i|we|that|now)\b|\s*(?:[,.;?？]|$))|以前|之前|原来|原先|曾经|从前|过去|旧(?:的|地址|号码|手机)",
    re.IGNORECASE,
)

_SMALL_TALK = regex(
    r"(?:[\W_]|\b(?:good (?:morning|evening|night|afternoon)|thank(?:s| you)"
    r"|thx|ty|cheers|great|perfect|nice|cool|awesome|good|well|sure|fine"
    r"|ok(?:ay)?|yes|yeah|yep|no|nope|hi|hello|hey|there|bye|goodbye|later|see|you|your|soon|so|very|much"
    r"|that(?:['’]s)?|this|it|was|is|really|help(?:s|ed|ful)?|a|lot|sounds?|got|understood"
    r"|how|are|doing|going|what['’]s up|for|the|answer|again|all|i|me|please|welcome|never|mind|sorry"
    r"|haha|lol|hallo|danke|dir|ihnen|vielen|dank|tschüss|guten|tag|morgen|abend|hola|gracias|muchas|adiós|buen[oa]s"
    r"|días|tardes|noches|merci|beaucoup|bonjour|bonsoir|salut|спасибо|большое|привет|здравствуйте|пока)\b"
    r"|谢谢|多谢|感谢|太好了|好的|明白|知道|收到|不客气|辛苦|有帮助|帮大忙|没事|哈+|嗯+|[行好对]|可以|不错|厉害|很|你|您|的|了|吧|啊|呀"
    r"|上午|早上|早|中午|下午|晚上|晚安|再见|拜拜|ありがとう(?:ございます)?|こんにちは|こんばんは|おはよう(?:ございます)?"
    r"|감사합니다|고마워요?|안녕(?:하세요)?)++",
    re.IGNORECASE,
)

_ASKS_FOR_NOW = regex(
    r"\b(?:current(?:ly)?|latest|newest|most recent(?:ly)?|now|nowadays|these days|at the moment)\b"
    r"|现在|目前|当前|如今|最新",
    re.IGNORECASE,
)

_BY_AN_EVENT = regex(
    r"\b(?P<before>before)\s(?P<one>(?:i|we|my|our|the)\s[^?.,;!]+)|\b(?:after|since)\s(?P<two>(?:i|we|my|our|the)\s[^?.,;!]+)"
    r"|(?:^|[，,我们在])(?P<three>[^，。？,?我们在]{2,10}?)(?:(?P<before_zh>[之以]前)|[之以]后)",
    re.IGNORECASE,
)

_DENIAL = regex(r"\b(?:no|not|never|none|without|stopped|quit)\b|n['’]t\b|[不没无别戒]", re.IGNORECASE)

_CLOSING = "\"'”’」』)）] \n"
_FIRST_PERSON = regex(r"\b(?:i|my|me|we|our)\b|我", re.IGNORECASE)

_ONLY_ASKS = regex(r"(?:[^.!。！?？\n]|\.(?=\w))*[?？]+")
_ASKS_FOR_THE_TALK = regex(
    r"\b(?:told|said|say|asked|ask|mentioned?|discuss\w*|talk\w*|recommend\w*|suggest\w*|advi[sc]ed?"
    r"|answer\w*|conversation|chat|session|last time|remind)\b"
    r"|说过|问过|提过|聊|谈|讨论|推荐|建议|回答|上次|刚才|之前",
    re.IGNORECASE,
)

WANTED: Mapping[str, re.Pattern[str]] = {
    "when": regex(
        r"\bwhen\b|\bwhat (?:date|day|time|year|month)\b|\bwhich (?:year|month|day)\b|\bhow long\b"
        r"|什么时候|何时|哪[天年]|几[号点月]|多久",
        re.IGNORECASE,
    ),
    "number": regex(r"\bhow (?:many|much|often|old)\b|多少|几[^号点月]|多大", re.IGNORECASE),
    "place": regex(
        r"\bwhere\b|\bwhich (?:country|city|place|town|state)\b|哪里|哪儿|什么地方|哪个城市", re.IGNORECASE
    ),
    "name": regex(
        r"\bnamed?\b|\bcalled\b|\b(?:which|what) (?:book|movie|film|game|band|song|show)s?\b"
        r"|名字|叫什么|哪[本部首]|什么(?:书|电影|歌|游戏)",
        re.IGNORECASE,
    ),
    "task": regex(
        r"\bto-?dos?\b|\b(?:tasks?|errands?|chores?)\b|\b(?:need|have|supposed|left) to (?:do|get done|buy)\b"
        r"|待办|要做|(?:任务|事情?)(?:没|还)|还有(?:什么|哪些)(?:事|任务)|该做",
        re.IGNORECASE,
    ),
}
"""What kind of thing a question asks for."""

_SHOWN: Mapping[str, re.Pattern[str]] = {
    "when": regex(
        r"\d|\b(?:yesterday|today|tonight|tomorrow|last|ago|next|recently"
        r"|this (?:week|month|morning|weekend|year)"
        r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august"
        r"|september|october|november|december|(?:day|week|month|year)s?)\b|[昨今明前后]天|[周月日年]",
        re.IGNORECASE,
    ),
    "number": regex(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|couple|few|several|once|twice)\b"
        r"|[一二三四五六七八九十两几百千]",
        re.IGNORECASE,
    ),
    "place": regex(
        r"\b(?:in|at|to|from|near) (?:the )?[A-Z][a-z]+|[省市县区镇村路街国]|公园|酒店|餐厅|医院|大学"
    ),
    "name": regex(r"(?<=[a-z,] )[A-Z][a-z]+|\"[^\"]+\"|[《“「]"),
    "task": regex(
        # What is done is to be done no longer.
        r"^(?!.*(?:\b(?:complet|finish|remov)(?:e|ed|ing)?\b|\bno longer\b|\bdone\b|完成|做完|搞定))"
        r".*?(?:\b(?:i|we|user)(?:['’](?:ve|m))? (?:still |also |really |have )*"
        r"(?:need|have|got|must|should|ought|supposed|want)(?:s|ed)?\b"
        r"|\bremind me\b|\bto-?do\b|\bdon['’]t (?:let me )?forget\b"
        r"|我[^，。；]{0,4}?(?:要|得)(?!是|到)|需要|必须|记得|待办|别忘)",
        re.IGNORECASE | re.DOTALL,
    ),
}
"""What a passage that may answer it holds."""


_BESIDE = {"task": "need must 需要 记得 待办"}


@dataclass(frozen=True, slots=True)
class Look:
    """What a passage looks like."""

    is_question: bool
    is_personal: bool
    letters: int
    """How long it is; a character of a script without spaces counts as several letters."""


def asks_for_assistant(question: str) -> bool:
    """Whether a question is about what the assistant has said ("Which tea did you recommend?")."""
    return _ASKS_FOR_ASSISTANT.search(question) is not None


def denials(text: str) -> frozenset[str]:
    """What a text denies with ("not", "never", "不"): what differs in it is no repeat."""
    return frozenset(
        "not" if found[0].endswith(("t", "T")) else found[0].casefold() for found in _DENIAL.finditer(text)
    )


def asks_for_before(question: str) -> bool:
    """Whether a question is about what held before what holds now ("my previous job")."""
    return _ASKS_FOR_BEFORE.search(question) is not None


def is_small_talk(question: str) -> bool:
    """Whether a message only greets, thanks or agrees."""
    return _SMALL_TALK.fullmatch(question) is not None


def asks_for_now(question: str) -> bool:
    """Whether a question is about what holds now ("my current weight")."""
    return _ASKS_FOR_NOW.search(question) is not None


def asked_event(question: str) -> tuple[bool, str]:
    """The event before or after which a question asks ("before we moved"), and whether before; often ""."""
    found = _BY_AN_EVENT.search(question)
    if found is None:
        return False, ""
    is_before = bool(found["before"] or found["before_zh"])
    return is_before, next(filter(None, (found["one"], found["two"], found["three"])), "")


def wanted(question: str) -> frozenset[str]:
    """The kinds of things (of WANTED) that a question asks for; often none."""
    return frozenset(kind for kind, pattern in WANTED.items() if pattern.search(question))


@lru_cache(maxsize=16)
def _asks_for_the_talk(question: str) -> bool:
    return _ASKS_FOR_THE_TALK.search(question) is not None


def sought(question: str) -> str:
    """A question with words to search for besides its own: "I need to buy oil" holds none of "my tasks"."""
    beside = (words for kind, words in _BESIDE.items() if WANTED[kind].search(question))
    return " ".join((question, *beside))


def is_echo(question: str, record: Record) -> bool:
    """Whether a memory is a question like this one, or what a model once answered here.

    A question that was asked before meets the words of this one better than what answers it, and a
    model that is told its own words believes them whatever the person has said since.
    """
    if record.kind != "episode" or _asks_for_the_talk(question):
        return False
    if record.role == "assistant":
        return record.source == "chat"
    if record.role != "user" or not look(record.text).is_question:
        return False
    if not _ONLY_ASKS.fullmatch(record.text.strip()):
        return False
    asked, before = set(query_terms(question)), set(query_terms(record.text))
    return len(before & asked) * 2 >= len(before)


@lru_cache(maxsize=8192)
def shows(passage: str, kind: str) -> bool:
    """Whether a passage may tell a thing of a kind (of WANTED)."""
    return _SHOWN[kind].search(passage) is not None


# A long-lived process asks about the same memories again.
@lru_cache(maxsize=8192)
def look(passage: str) -> Look:
    """What a passage looks like."""
    return Look(
        is_question=passage.rstrip(_CLOSING).endswith(("?", "？")),
        is_personal=_FIRST_PERSON.search(passage) is not None,
        letters=len(passage) * (LETTERS_OF_IDEOGRAPH if is_unspaced(passage) else 1),
    )
