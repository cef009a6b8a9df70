"""What `forget --query` means: the thing that is asked about, and whether a memory names it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import normalize

from memcli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Subject:
    """What a person asks about: a memory is about it when it names one of `terms` (NFKC, none empty)."""

    terms: tuple[str, ...]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that frame the question and name nothing, stripped from its ends.
_FRAME = _set(
    """please kindly can could would you i we me us like i'd i'll i've want need let's to just now
    forget delete erase remove drop wipe clear purge discard unlearn
    everything anything all any every each whatever whichever something things thing stuff what which that who
    whom where when how there memory memories note notes information info data details facts record records
    entry entries mention mentions mentioning mentioned
    ever already previously told tell said say saying mentioned shared share wrote written know known remember
    remembered have has had stored saved learned learnt got is was are were
    about regarding concerning related relating relates relate connected linked involving involve involves
    on of with do does from in for
    my our the a an his her their your this these those
    alles über vergiss lösche was ich mein meine meinen tout tous toute ce que sur concernant oublie efface
    mon ma mes todo todos lo que sobre olvida borra elimina acerca mi mis he te me dicho dije
    contado bitte dir j'ai t'ai dit raconté
    забудь забудьте удали удалите сотри пожалуйста всё все что я говорил говорила тебе про обо об о мой моя
    моё мои моего моей моих"""
)
_FRAME_AFTER = _set(
    """please now stuff things thing memory memories information info data details too anymore completely
    forever entirely again at all related gesagt erzählt habe hab"""
)
_PRONOUNS = _set(
    """i me myself you yourself he him she her it they them we us ourselves mine this that these those
    我 我们 你 你们 他 她 它 他们 她们 自己"""
)
_TOLD = (
    r"(?i)\s(?:(?:that|which|what)\s)?(?:i|we|you)(?:'ve|\shave)?\s(?:ever\s)?(?:told|said|mentioned|shared|wrote|know"
    r"|remember|saved|stored)(?:\s(?:to|with))?(?:\syou|\sme)?$"
)

# "my ex-partner Corin" is Corin; "the red BMW" stays whole: only these are known to stand beside a name.
_ROLES = (
    r"(?i)(?:ex|ex-\w+|old|former|late|new|best|dear|good|big|little|older|younger|eldest|youngest|step\w+|grand\w+"
    r"|\w+-in-law|friend|friends|partner|wife|husband|girlfriend|boyfriend|fiancée?|spouse|brother|sister|mother"
    r"|father|mum|mom|dad|son|daughter|cousin|uncle|aunt|nephew|niece|boss|manager|colleague|co-?worker|teammate"
    r"|neighbou?r|flatmate|roommate|landlord|landlady|teacher|tutor|doctor|dentist|therapist|client|customer|dog"
    r"|cat|puppy|kitten|horse|rabbit|company|employer|project|app|school|work)(?:'s)?"
)

_ZH_ROLE = (
    "前?(?:男朋友|女朋友|男友|女友|妻子?|丈夫|夫|任|同事|老板|室友)|朋友|同学|同桌|邻居|房东|上司|领导|客户|老师|医生|老公|老婆"
    "|弟弟|哥哥|姐姐|妹妹|儿子|女儿|表[哥弟姐妹]|堂[哥弟姐妹]|公司|项目"
)
_ZH_ALL = "所有|全部|一切|任何"
_ZH_WHAT = "事情|事儿|事|内容|信息|记忆|东西|资料|话|记录|情况|对话|消息|数据"
_ZH_FORGET = "忘[掉记了]|删[除掉了]|清[除空]|抹[掉去]|移除|去掉"
_ZH_BEFORE = (
    rf"(?:(?:请你?|麻烦你?|帮我|给我)(?=把|将|帮|{_ZH_FORGET})|[把将](?=.*(?:{_ZH_FORGET}))"
    rf"|{_ZH_FORGET}|{_ZH_ALL}|(?:别|不要|不用)再?(?:记得|记着|记住)"
    r"|我(?:曾经?|以前|之前)?[和跟对向]?你?(?:说|讲|提|告诉|聊)[过到及]*你?的?"
    r"|关于|有关|涉及到?|提到过?|提及|我们?的|我(?=[爸妈爷奶叔姑舅姨哥弟姐妹])|那些|这些|(?<=.)的|\s)+"
)
_ZH_AFTER = (
    rf"(?:(?:有关|相关)的?|的?(?:{_ZH_ALL})的?(?:{_ZH_WHAT})?|的(?:{_ZH_WHAT})|都|全|给我"
    rf"|{_ZH_FORGET}|[吧了的]|\s)+$"
)
_ZH_WITH = r"我?[和跟与同](.+?)(?:有关|相关|之间)"
_ZH_OWN = rf"(?:我们?的?)?(?:{_ZH_ROLE})(?=..)"
_JA_AFTER = (
    r"(?:に関する|に関して|についての|について|のこと|の話|の件)"
    r"(?:すべて|全て|全部|話|件|こと|事|記憶|情報|もの|の|を|は|忘れて|削除して|消して|ください)*$"
)
_KO_AFTER = (
    r"(?:에\s?(?:대한|대해|관한|대해서)|\s?(?:관련|얘기|이야기))\s?"
    r"(?:모든|모두|전부|다|[것거건게]|내용|얘기|이야기|기억|정보|[은는을를도]|잊어|지워|삭제해|줘|주세요|\s)*$"
)

# Scripts written without spaces, and Hangul, whose particles stick to the name.
_RUNNING = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"  # kana, Han, Hangul
)
_LETTER = rf"[^\W{_RUNNING}]"
_RUNNING_TEXT = f"[{_RUNNING}]"

_CASES = "[аяоёеуюыийь]|[оеё][мйв]|[иы][ймх]|ью|[ая][мх]|[ая]ми|[ое]го|[ое]му|ая|яя|ую|юю|[оеыи]е|и[яию]"
"""The endings of Russian nouns and adjectives."""

_QUOTED = r"[\"“”「『《](.+?)[\"“”」』》]"
_EDGES = " \t\r\n.,;:!?。，、；：！？…()（）\"'“”‘’「」『』《》"


def subject_of(query: str) -> Subject:
    """What "everything about Corin" or "忘掉关于小李的一切" asks about: Corin, 小李.

    What stands in quotation marks is taken as it is. Several names ("Corin and Dorian") are several terms.

    Raises:
        UsageError: the question names nothing ("everything", "全部").
    """
    folded = _fold(query)
    quoted = re.findall(_QUOTED, folded)
    terms = quoted or [_named(_without_frame(part.split())) for part in _split(_unframed(folded))]
    terms = [term.strip() for term in terms if re.search(r"\w", term) and term.lower() not in _PRONOUNS]
    if not terms:
        raise UsageError(
            f"Nothing is named in {query.strip()!r}" if query.strip() else "The question is empty",
            "name a person or a thing (--query Corin), or say --all to forget everything",
        )
    return Subject(tuple(dict.fromkeys(terms)))


def names(subject: Subject, text: str) -> bool:
    """Whether `text` names the subject: a phrase of whole words, a capitalised word with its case.

    The last word may carry a possessive, or a plural where it is lower-case. In scripts without spaces the
    literal string is enough.
    """
    return _pattern(subject).search(_fold(text)) is not None


def _fold(text: str) -> str:
    return normalize("NFKC", text).replace("’", "'").replace("‘", "'")


# --- from the question to its terms ---------------------------------------------------------------


def _unframed(query: str) -> str:
    text = query.strip(_EDGES)
    if re.search(_RUNNING_TEXT, text):
        text = _without_running_frame(text)
    return re.sub(_TOLD, "", text)


def _without_running_frame(text: str) -> str:
    text = re.sub(_KO_AFTER, "", re.sub(_JA_AFTER, "", text))
    if before := re.match(_ZH_BEFORE, text):
        text = text[before.end() :]
    text = with_it[1] if (with_it := re.match(_ZH_WITH, text)) else re.sub(_ZH_AFTER, "", text)
    if re.fullmatch(_ZH_WHAT, text):
        return ""
    return text[own.end() :] if (own := re.match(_ZH_OWN, text)) else text


def _without_frame(words: list[str]) -> list[str]:
    start, end = 0, len(words)
    while start < end and _is_frame(words[start], first=start == 0):
        start += 1
    while start < end and words[end - 1].strip(_EDGES) in _FRAME_AFTER:
        end -= 1
    return words[start:end]


def _is_frame(word: str, *, first: bool) -> bool:
    bare = word.strip(_EDGES)
    if _is_capitalised(bare) and not first and not re.match("I(?:'|$)", bare):
        return False
    return bare.lower() in _FRAME or not bare


def _named(words: list[str]) -> str:
    """The phrase that is left, or only the name in it where a known role stands before: "my dog Rex"."""
    name = next((index for index, word in enumerate(words) if _is_capitalised(word)), 0)
    roles = [word.strip(_EDGES) for word in words[:name]]
    if all(re.fullmatch(_ROLES, role) for role in roles):
        words = words[name:]
    text = " ".join(words).strip(_EDGES)
    return re.sub("'s?$|-related$", "", text)


def _split(text: str) -> list[str]:
    """Several names, if all are names: "salt and pepper" is one thing."""
    parts = [
        part.strip(_EDGES)
        for part in re.split(r",\s*(?:and\s)?|\s(?:and|or|&|und|et|y)\s|、|[和与跟](?=..)", text)
    ]
    if all(_is_capitalised(part) or (len(part) > 1 and re.match(_RUNNING_TEXT, part)) for part in parts):
        return parts
    return [text]


def _is_capitalised(word: str) -> bool:
    return any(map(str.isupper, word))


# --- from the terms to a pattern ------------------------------------------------------------------


@lru_cache(maxsize=8)
def _pattern(subject: Subject) -> re.Pattern[str]:
    return re.compile("|".join(map(_term_pattern, subject.terms)))


def _term_pattern(term: str) -> str:
    words = term.split()
    phrase = r"[\s_-]+".join(map(_word_pattern, words))
    if re.match(_LETTER, term):
        phrase = rf"(?<!{_LETTER}){_not_joined(words[0], '(?<!{}-)')}{phrase}"
    if re.search(f"{_LETTER}$", term):
        ending = "'s?" if _is_capitalised(words[-1]) else "'s?|e?s'?"
        phrase = rf"{phrase}(?:{ending})?(?!{_LETTER}){_not_joined(words[-1], '(?!-[A-Z])')}"
    return phrase


def _not_joined(word: str, edge: str) -> str:
    # "Luc" is not Jean-Luc, nor "Anna" Anna-Maria.
    return edge.format(_LETTER) if _is_capitalised(word) else ""


def _word_pattern(word: str) -> str:
    spelt = re.escape(word)
    if declined := re.fullmatch(f"([а-яё]{{2,}}?)(?:{_CASES})?", word, re.IGNORECASE):
        # "Всё про Игоря" is about Игорь: a name changes its last letters with what is said of it.
        spelt = f"{declined[1]}(?:{_CASES})?"
    return spelt if _is_capitalised(word) else f"(?i:{spelt})"
