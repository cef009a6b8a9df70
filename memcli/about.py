"""What `forget --query` means: which thing a person names, and which memories name it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from memcli.errors import UsageError

# Scripts written without spaces: a word of them is found wherever it stands.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNSPACED_CHAR = re.compile(f"[{_UNSPACED}]")

# What frames the thing and is not the thing, taken off the front and the end again and again.
_FRONT = re.compile(
    r"""(?:
      please | kindly | could\ you | can\ you | now
    | (?:forget|erase|delete|remove|drop|wipe|clear) | get\ rid\ of
    | everything | anything | all(?:\ of)?(?:\ (?:the|my|our))?\ (?:memories|things|messages|facts|notes|information)
    | all | whatever | memories | things
    | what(?:ever)? | that | which
    | (?:i|we|you)(?:\ have|'ve)?(?:\ ever)? | have | has | had
    | (?:said|told|mentioned|wrote|written|know|knew|remember|remembered|stored|learned|learnt|talked|spoke)
      (?:\ (?:you|me|us))?
    | about | regarding | concerning | related\ to | to\ do\ with | of | on | with
    | is | are | was | were
    )\b\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_BARE_FRAME = re.compile(
    r"(?:my|our|the|me|us|you|it|them|this|that|these|those|everything|anything|all)", re.IGNORECASE
)
_FRONT_ZH = re.compile(
    "请|麻烦|帮我|把|将|"
    "忘掉|忘记|忘了|删除|删掉|清除|抹掉|移除|去掉|"
    "(?:我|咱们|我们)(?:之前|以前|曾经|刚才)?(?:跟你|对你|和你)?(?:说过|说|提过|提到|讲过|告诉过?你)的?|"
    "所有的?|全部的?|一切|任何|"
    "关于|有关|跟|和|与|涉及|提到|提及"
)
_END_ZH = re.compile(
    "(?:的|之)?(?:所有|全部|一切|任何|那些)?的?"
    "(?:事情|事儿|事|东西|内容|信息|记忆|记录|消息|话题|话|资料)|"
    "的?(?:一切|所有|全部)|(?:有关|相关|无关)的?|都?(?:忘掉|忘了|忘记|删除|删掉)吧?|吧|的"
)
_QUOTES = "\"'“”‘’「」『』«»‹› \t\r\n.,;:!?。，、；：！？…"


@dataclass(frozen=True, slots=True)
class Subject:
    """The thing that a person names, as it is written in the question."""

    name: str


def subject_of(query: str) -> Subject:
    """What a question like "everything about Corin" or "忘掉关于小李的所有事情" is about.

    Raises:
        UsageError: it names nothing.
    """
    asked = unicodedata.normalize("NFKC", query).strip(_QUOTES)
    name = _unframed_zh(asked) if _UNSPACED_CHAR.search(asked) else _unframed(asked)
    if not any(char.isalnum() for char in name) or _BARE_FRAME.fullmatch(name):
        raise UsageError(f"{query!r} names nothing to forget", "name a person or a thing, or use --all")
    return Subject(name)


def _unframed(asked: str) -> str:
    before = None
    while before != asked:
        before = asked
        asked = _FRONT.sub("", asked, count=1).strip(_QUOTES) if _FRONT.match(asked) else asked
    return re.sub(r"^(?:the|my|our)\s+", "", asked, flags=re.IGNORECASE)


def _unframed_zh(asked: str) -> str:
    before = None
    while before != asked:
        before = asked
        if front := _FRONT_ZH.match(asked):
            asked = asked[front.end() :].strip(_QUOTES)
        ends = [end for end in _END_ZH.finditer(asked) if end.end() == len(asked)]
        if ends:
            asked = asked[: ends[0].start()].strip(_QUOTES)
    return asked


def names(subject: Subject, text: str) -> bool:
    """Whether a memory names the thing: on word boundaries, a capitalised name with its case.

    In scripts without spaces the literal string counts. A plural or a possessive of the last word
    counts too; what only means the same does not.
    """
    return _pattern(subject).search(unicodedata.normalize("NFKC", text)) is not None


def _pattern(subject: Subject) -> re.Pattern[str]:
    words = subject.name.split()
    middle = r"[\s\-]+".join(re.escape(word) for word in words)
    starts_spaced = not _UNSPACED_CHAR.match(subject.name[0]) and subject.name[0].isalnum()
    ends_spaced = not _UNSPACED_CHAR.match(subject.name[-1]) and subject.name[-1].isalnum()
    # A letter of a script without spaces beside it is a boundary: "在Lisbon的" names Lisbon.
    front = rf"(?<![^\W{_UNSPACED}])" if starts_spaced else ""
    end = rf"(?:'s|’s|s|es)?(?![^\W{_UNSPACED}])" if ends_spaced else ""
    has_capital = any(char.isupper() for char in subject.name)
    return re.compile(front + middle + end, 0 if has_capital else re.IGNORECASE)
