"""In which language a text is, as far as its script and its small words tell."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

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

# Words that only one of these languages has: what several write alike ("in", "do", "mais") says nothing.
_SMALL_WORDS = {
    "en": "i the and of are were it its that this with for from my your our their you he she we they"
    " his her has had have been but what who when where how which why will would could should"
    " does did about is an at by not if so then than there just very",
    "de": "der und ist nicht ein eine einen einem einer eines ich wir ihr mein meine meinen meiner"
    " meinem dein mit auf für von dem im am zu zum zur habe haben wird werden wurde wer wo wann"
    " welche welcher welches welchen auch noch nach bei aus dass sich bin bist sind unser unsere"
    " oder aber als hatte heißt gegen über vor seit mich mir dir sein seine kann muss möchte"
    " wovor wovon wogegen woher um braucht",
    "fr": "le les un une et est pas je elle nous vous ils mon ma mes ses avec pour dans sur au aux qui"
    " quoi où quand comment quel quelle quels cette ne j'ai c'est suis sont était leur chez ou"
    " être avoir fait très",
    "es": "el los las unos yo tú él ella nosotros mis con para del qué quién dónde cuándo cómo cuál"
    " este pero muy fue tengo tiene soy están hay nuestro nuestra también más mí había desde"
    " hasta cuánto vivo",
    "it": "gli è io lui lei noi mio mia miei tuo suo della dello dei che chi dove come quale questo"
    " questa sono nel nella ho ha alla alle anche più perché quando siamo abbiamo delle degli"
    " piace",
    "pt": "os uma é não eu ele ela nós meu minha meus minhas seu sua em nos quem onde qual isto foi"
    " tenho tem são pelo pela dos das você muito às que posso",
    "nl": "het een en niet ik jij hij zij wij mijn voor van op te dat wat wie waar wanneer hoe welke"
    " heb heeft aan om ook naar zijn onze deze maar wordt geen",
    "sv": "och att det som är jag han hon vi på för inte ett av hur när vem vilken vilket har mitt mina min",
    "pl": "jest nie się mój moja moje jak kiedy gdzie kto który która ale jestem mam był była przez"
    " przy oraz czy",
}
_ENOUGH_CHARS = 400
_MARKS = str.maketrans(dict.fromkeys('.,;:!?¿¡…"“”„«»()[]', " "))


def _of_one() -> dict[str, str]:
    counts = Counter(word for words in _SMALL_WORDS.values() for word in set(words.split()))
    told = ((word, tongue) for tongue, words in _SMALL_WORDS.items() for word in words.split())
    return {word: tongue for word, tongue in told if counts[word] == 1}


_TONGUE_OF = _of_one()


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
    words = _TONGUE_OF.keys() & text.lower().translate(_MARKS).split()
    # All of the few there are: to ask for the two most common ones takes longer.
    told = Counter(map(_TONGUE_OF.__getitem__, words)).most_common()
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
