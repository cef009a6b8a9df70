"""In which language a text is, as far as its script and its small words tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain

from memcli.text import regex

# Characters of which so many texts of a language are made that nothing else has to be looked at. Kana first:
# most of a Japanese text may be Chinese characters.
_SCRIPTS = (
    ("ja", regex("[\u3040-\u30ff]"), 1 / 8),
    ("zh", regex("[\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 1 / 4),
    ("ko", regex("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]"), 1 / 4),
    ("ru", regex("[\u0400-\u052f]"), 1 / 4),
    ("el", regex("[\u0370-\u03ff\u1f00-\u1fff]"), 1 / 4),
    ("he", regex("[\u0590-\u05ff]"), 1 / 4),
    ("ar", regex("[\u0600-\u06ff\u0750-\u077f]"), 1 / 4),
    ("hi", regex("[\u0900-\u097f]"), 1 / 4),
    ("th", regex("[\u0e00-\u0e7f]"), 1 / 4),
)
"""A language stands for all that are written in its script: what matters is that they are another."""

_SCRIPT_OF = {tongue: script for tongue, script, _ in _SCRIPTS}
UNSPACED = frozenset({"ja", "zh", "ko", "th"})
"""Languages whose texts share few whole words with others: they are written without spaces, or nearly so."""

STOP_WORDS: Mapping[str, str] = {
    "en": "a about after again all also am an and any anything are as at be because been before being"
    " both but by can could did do does doing during each else ever few for from had has have"
    " having he her here hers him his how i if in into is it its just let many me mine more most"
    " much my no nor not now of off on once only or other our ours out over own please same shall"
    " she should so some something such than that the their theirs them then there these they this"
    " those through to too under until up us very was we were what when where which while who whom"
    " whose why will with would yes you your yours ca wo bye hello hey hi know ok okay remember"
    " remind said say tell thank thanks today",
    "de": "der und ist nicht ein eine einen einem einer eines ich wir ihr mein meine meinen meiner"
    " meinem dein mit auf für von dem im am zu zum zur habe haben wird werden wurde wer wo wann"
    " welche welcher welches welchen auch noch nach bei aus dass sich bin bist sind unser unsere"
    " oder aber als hatte heißt gegen über vor seit mich mir dir sein seine kann muss möchte wovor"
    " wovon wogegen woher um die das den des kein keine keinen du er sie dich ihm ihn uns euch"
    " ihnen deine war waren hast hat kannst soll wie wen wem warum wieso beim vom schon mal bitte"
    " denn doch nur sehr gibt in an so da ob was meines deines seines",
    "fr": "le les un une et est pas je elle nous vous ils mon ma mes ses avec pour dans sur au aux qui"
    " quoi où quand comment quel quelle quels cette ne j'ai c'est suis sont était leur chez ou être"
    " avoir fait très la des du de mais aussi tu il te se ce cet ces ton ta tes sa ai avons avez"
    " ont que pourquoi quelles par sans en à y l'ai d'une",
    "es": "el los las unos yo tú él ella nosotros mis con para del qué quién dónde cuándo cómo cuál este"
    " pero muy fue tengo tiene soy están hay nuestro nuestra también más mí había desde hasta"
    " cuánto la un una unas y o te se le lo nos mi tu tus su sus es son eres era está estoy ha"
    " tienes cuáles por sin de al en sobre que ya me a e",
    "it": "gli è io lui lei noi mio mia miei tuo suo della dello dei che chi dove come quale questo"
    " questa sono nel nella ho ha alla alle anche più perché quando siamo abbiamo delle degli un"
    " una la le lo e a in con non si mi ti per su il da al ed",
    "pt": "os uma é não eu ele ela nós meu minha meus minhas seu sua em nos quem onde qual isto foi"
    " tenho tem são pelo pela dos das você muito às que posso um o a e no na de da do se me te com para"
    " por como as estão",
    "nl": "het een en niet ik jij hij zij wij mijn voor van op te dat wat wie waar wanneer hoe welke heb"
    " heeft aan om ook naar zijn onze deze maar wordt geen de in is die ben bent uit als of met",
    "sv": "och att det som är jag han hon vi på för inte ett av hur när vem vilken vilket har mitt mina"
    " min en i de man om",
    "pl": "jest nie się mój moja moje jak kiedy gdzie kto który która ale jestem mam był była przez przy"
    " oraz czy do na to w z a",
    "ru": "и или но а не я ты он она мы вы они мне меня тебе тебя мой моя моё мои моего моей моём твой"
    " твоя это этот эта что кто как где когда почему какой какая какое какие в во на с со из у к по"
    " о об от до за для же ли бы есть был была было были",
}
"""By language, words that say nothing of what a sentence is about. English: question words, auxiliaries,
pronouns, and what is said in greeting or in asking to be told."""

_ALSO_ENGLISH = "ya die war hat bin man men son ten red sin pan its let's i'm i've don't can't"
"""What else is English of what others say in nearly every sentence: "Die Hard" is no German."""

_ENOUGH_CHARS = 400
_MARKS = str.maketrans(dict.fromkeys('.,;:!?¿¡…"“”„«»()[]', " "))


@cache
def _tongues() -> Mapping[str, Sequence[str]]:
    """The languages that a small word is of."""
    found: dict[str, list[str]] = defaultdict(list)
    for tongue, words in (*STOP_WORDS.items(), ("en", _ALSO_ENGLISH)):
        for word in words.split():
            found[word].append(tongue)
    return found


# Another question soon asks of the same memories.
@lru_cache(maxsize=8192)
def tongue_of(text: str) -> str | None:
    """The language of a text, by its ISO 639-1 code; None where nothing tells it from another.

    Of a script that several languages have, Latin apart, one stands for all of them.
    """
    text = text[:_ENOUGH_CHARS]
    if not text.isascii():
        for tongue, script, share in _SCRIPTS:
            if len(script.findall(text)) > len(text) * share:
                return tongue
    tongues = _tongues()
    words = tongues.keys() & text.lower().translate(_MARKS).split()
    # All of the few there are: to ask for the two most common ones takes longer.
    told = Counter(chain.from_iterable(tongues[word] for word in words)).most_common()
    (first, count), (_, other) = [*told, _NONE, _NONE][:2]
    return first if count > other else None


_NONE = ("", 0)


def seen_from(question: str, text: str) -> str | None:
    """The language of a text, as `tongue_of`; that of a question where the text may well be in it.

    A few characters of the question's script are enough: figures and names beside them say little.
    """
    own, told = tongue_of(question), tongue_of(text)
    if own in _SCRIPT_OF:
        return own if _SCRIPT_OF[own].search(text) else told
    return told if (own and told) or told in _SCRIPT_OF else own


def is_foreign(text: str, question: str) -> bool:
    """Whether a text is in another language than a question, and can hardly share a word with it."""
    return seen_from(question, text) != tongue_of(question)
