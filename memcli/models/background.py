"""Sentences that say nothing: how near a question is to these, it is to anything."""

from __future__ import annotations

import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import mul
from pathlib import Path

from memcli.passages import is_unspaced
from memcli.types import Background, Embedder, Vector

# A question is nearer to whatever is in its language. Eight languages more make it no better.
SENTENCES: Mapping[str, Sequence[str]] = {
    "en": (
        "The weather was fine yesterday.",
        "There is a meeting in the afternoon.",
        "The shop closes at six.",
        "He told a long story.",
        "The train was late again.",
    ),
    "de": (
        "Das Wetter war gestern schön.",
        "Am Nachmittag ist eine Besprechung.",
        "Das Geschäft schließt um sechs.",
        "Er erzählte eine lange Geschichte.",
        "Der Zug hatte wieder Verspätung.",
    ),
    "es": (
        "Ayer hizo buen tiempo.",
        "Hay una reunión por la tarde.",
        "La tienda cierra a las seis.",
        "Contó una larga historia.",
        "El tren volvió a llegar tarde.",
    ),
    "fr": (
        "Il faisait beau hier.",
        "Il y a une réunion cet après-midi.",
        "Le magasin ferme à six heures.",
        "Il a raconté une longue histoire.",
        "Le train était encore en retard.",
    ),
    "pt": (
        "O tempo estava bom ontem.",
        "Há uma reunião à tarde.",
        "A loja fecha às seis.",
        "Ele contou uma longa história.",
        "O trem atrasou de novo.",
    ),
    "it": (
        "Ieri il tempo era bello.",
        "Nel pomeriggio c'è una riunione.",
        "Il negozio chiude alle sei.",
        "Ha raccontato una lunga storia.",
        "Il treno era di nuovo in ritardo.",
    ),
    "ru": (
        "Вчера была хорошая погода.",
        "Днём будет совещание.",
        "Магазин закрывается в шесть.",
        "Он рассказал длинную историю.",
        "Поезд опять опоздал.",
    ),
    "ko": (
        "어제 날씨가 좋았어요.",
        "오후에 회의가 있어요.",
        "가게는 여섯 시에 닫아요.",
        "그는 긴 이야기를 했어요.",
        "기차가 또 늦었어요.",
    ),
    "zh": (
        "天气很好。",
        "会议推迟了。",
        "商店六点关门。",
        "他讲了一个很长的故事。",
        "火车又晚点了。",
    ),
    "ja": (
        "昨日は天気がよかった。",
        "午後に会議があります。",
        "店は六時に閉まります。",
        "彼は長い話をした。",
        "電車がまた遅れた。",
    ),
}

SHIPPED = Path(__file__).with_name("background.json")
"""Their vectors by each built-in embedder, as `embedded` gives them, by its name."""

_STEPS = 127


def embedded(embedder: Embedder) -> str:
    """The vectors of the sentences as they are kept: what a step is worth, and bytes of steps in base64.

    Raises:
        ModelError: the embedder fails.
    """
    texts = list(chain.from_iterable(SENTENCES.values()))
    numbers = [number for vector in embedder.embed_documents(texts) for number in vector]
    step = max(map(abs, numbers)) / _STEPS
    steps = array("b", [round(number / step) for number in numbers])
    return f"{step} {b64encode(steps.tobytes()).decode('ascii')}"


@cache
def shipped() -> Mapping[str, str]:
    """What comes with memcli, by the name of the embedder."""
    told: Mapping[str, str] = json.loads(SHIPPED.read_text("ascii"))
    return told


def nearness(question: Vector, kept: str) -> Background:
    """The cosines of a question to the sentences of the language it is nearest to, of either kind of script.

    Args:
        question: its unit vector.
        kept: what `embedded` has made of the sentences by the same embedder.
    """
    step, languages = _read(kept)
    # An array makes its numbers anew whenever it is gone through.
    numbers = question.tolist()

    def nearest(*, unspaced: bool) -> tuple[float, ...]:
        of_script = (each for each in languages if each.is_unspaced is unspaced)
        language = max(of_script, key=lambda each: sum(map(mul, numbers, each.total)))
        return tuple(step * sum(map(mul, numbers, vector)) for vector in language.vectors)

    return Background(spaced=nearest(unspaced=False), unspaced=nearest(unspaced=True))


@dataclass(frozen=True, slots=True)
class _Language:
    """The vectors of a language, in steps, and their sum, which tells how near a question is on the whole."""

    is_unspaced: bool
    vectors: Sequence[array[int]]
    total: Sequence[int]


@cache
def _read(kept: str) -> tuple[float, Sequence[_Language]]:
    step, _, steps = kept.partition(" ")
    numbers = array("b", b64decode(steps))
    dim = len(numbers) // sum(map(len, SENTENCES.values()))
    vectors = iter([numbers[start : start + dim] for start in range(0, len(numbers), dim)])
    languages = []
    for sentences in SENTENCES.values():
        its = [next(vectors) for _ in sentences]
        total = [sum(column) for column in zip(*its, strict=True)]
        languages.append(_Language(is_unspaced(sentences[0]), its, total))
    return float(step), languages
