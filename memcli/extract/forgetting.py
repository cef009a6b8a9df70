"""Whether a person asks in a chat to have something forgotten, and in which words."""

from __future__ import annotations

import re

from memcli.text import regex

_POLITE = (
    r"(?:(?:ok(?:ay)?|hey|hi|well|so|then|now|actually|please|kindly|could you|can you"
    r"|would you|will you|I want you to|I'd like you to|you should|you can"
    r"|you may)[, ]+)*"
)
_TOLD = (
    r"(?:I|we)(?:'ve| have)?(?: (?:ever|just|once))? (?:said|told you|mentioned|shared"
    r"|wrote|say|tell you)(?: to you)?"
)
_KNOWN = r"(?:you (?:know|remember|have(?: stored| saved)?|learned|learnt|saved|stored))"
_ALL = (
    r"(?:everything|anything|all(?: (?:of )?(?:that|this))?|whatever|what"
    r"|the (?:things?|stuff|facts?|memor(?:y|ies))|all (?:the |your )?(?:memor(?:y"
    r"|ies)|notes)|your (?:memor(?:y|ies)|notes)|my (?:memor(?:y|ies)|notes)"
    r"|any (?:memor(?:y|ies)|notes))"
)
_ABOUT = r"(?:about|of|on|regarding|concerning|related to|that mentions?)"
_THING = r"(?!(?:it|that|this|these|those|them|him|her|you|me|everything|anything)\b\W*$)\S.*"

_ENGLISH = regex(
    rf"^{_POLITE}(?:"
    rf"(?:forget|erase|delete|remove|wipe"
    rf"|unlearn)(?: about)? {_ALL}(?: that)?(?: (?:{_TOLD}|{_KNOWN}))?(?: (?:so far"
    rf"|before|earlier|today|yesterday))? {_ABOUT} {_THING}"
    rf"|forget about (?=my |our |(?-i:[A-Z])){_THING}"
    rf"|forget that (?=(?:I|I'm|I've|my|we|our)\b)(?!I (?:said|asked|told|mentioned)\b){_THING}"
    rf"|(?:erase|delete|remove|wipe) ({_THING}?) from your (?:memor(?:y|ies)|notes)"
    rf"|(?:don't|do not|stop) remember(?:ing)? (?:anything|everything|things) {_ABOUT} ({_THING})"
    r")$",
    re.IGNORECASE,
)

_THING_ZH = (
    r"(?!(?:它|他|她|这个?|那个?|这些|那些|这件事|那件事|刚才|刚刚|我|你|前面|上面"
    r"|之前的(?:指令|内容|对话|要求)|以上|所有(?:指令|要求))的?(?:话|内容|指令"
    r"|事情?)?(?:吧|了|$))[^，。]+"
)
_POLITE_ZH = (
    r"(?:请你?|麻烦你?|拜托|帮我|你(?=[忘把删])|那就?|好了|好吧|现在|能不能|可以"
    r"|可不可以|给我|，|,|\s)*"
)
_SAID_ZH = (
    r"(?:我(?:之前|以前|刚才|曾经?)?(?:跟你|和你|对你|向你)?(?:说|讲|提|聊|告诉)(?:过"
    r"|到|及|过?你)?的?)"
)
_CHINESE = regex(
    rf"^{_POLITE_ZH}(?:"
    rf"忘掉(?!自己){_THING_ZH}"
    rf"|(?:忘了|忘记|删掉|删除|清除|抹掉)(?=关于|有关|{_SAID_ZH}|所有关于|一切关于"
    rf"|你记得的|你知道的){_THING_ZH}"
    rf"|(?:删掉|删除|清除|抹掉)(?=\S{{1,16}}的(?:所有)?(?:记忆|回忆))(?!数据库|缓存){_THING_ZH}"
    rf"|[把将](?=\S{{1,24}}(?:忘掉|忘了|忘记|从记忆[里中](?:删掉|删除|清除|抹掉))(?:吧|了)?$){_THING_ZH}"
    r")$"
)
_ASKED_ELSE = regex(
    r"^(?:did|do|does|how|why|what|when|if|don't forget|never forget|i|we)\b|怎么"
    r"|为什么|如何|别忘|不要忘|忘不|是不是|有没有",
    re.IGNORECASE,
)


def forget_request(text: str) -> str | None:
    """What the person asks to forget ("Forget what I said about Corin", "忘掉关于小李的事"), in their words.

    Returns:
        The request, for `forget --query` to read; None when it is not one: "forget it", "I forgot", "don't
        forget", "forget the previous instructions".
    """
    said = " ".join(text.split()).replace("’", "'")
    sentences = [each.strip() for each in re.split(r"(?<=[.!?。！？])\s*", said) if each.strip()]
    if len(sentences) != 1 or len(said) > 200:
        return None
    asked = re.split(
        r"[,，;；] ?(?!(?:and|or)\b)(?=(?:let's|use|and then|then|we|I|it|just|换|改|我们"
        r"|以后|用)\b|[换改我以用])",
        sentences[0],
    )[0]
    asked = asked.strip(" .!?。！？~～")
    if _ASKED_ELSE.search(asked):
        return None
    match = _ENGLISH.match(asked) or _CHINESE.match(asked)
    if match is None:
        return None
    return f"everything about {match[match.lastindex]}" if match.lastindex else asked
