"""The language of a text is told by its script and its small words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.tongues import is_foreign, tongue_of

TEXTS = {
    "en": ("My sister plays the cello.", "Where did I park?", "I can't swim.", "HOW MANY DAYS ARE THERE?"),
    "de": ("Meine Schwester spielt Cello.", "Wo habe ich geparkt?", "Der Zug war wieder zu spät."),
    "fr": ("Ma sœur joue du violoncelle.", "Où est la clé ?", "J'ai mal au genou."),
    "es": ("Mi hermana toca el violonchelo.", "¿Dónde están las llaves?", "Soy alérgica a los frutos secos."),
    "it": ("Mia sorella suona il violoncello.", "Dove sono le chiavi?", "La riunione comincia alle dieci."),
    "pt": ("A minha irmã toca violoncelo.", "Onde estão as chaves?", "Não como carne."),
    "nl": ("Mijn zus speelt cello.", "Waar is het feest?", "Ik heb een hond."),
    "ru": ("Моя сестра играет на виолончели.", "Где ключ?", "Куплено 2 билета в Минск"),
    "zh": ("我姐姐会拉大提琴。", "鑰匙在哪裡？", "我用 Vim 写代码"),
    "ja": ("姉はチェロを弾きます。", "鍵はどこですか？"),
    "ko": ("누나는 첼로를 연주해요.", "열쇠 어디 있어요?"),
    "ar": ("أختي تعزف على التشيلو.",),
    "el": ("Η αδελφή μου παίζει τσέλο.",),
    "he": ("אחותי מנגנת בצ'לו.",),
    "hi": ("मेरी बहन सेलो बजाती है।",),
    "th": ("พี่สาวของฉันเล่นเชลโล",),
}


@pytest.mark.parametrize(("tongue", "text"), [(each, text) for each, some in TEXTS.items() for text in some])
def test_a_text_is_in_its_language(tongue: str, text: str) -> None:
    assert tongue_of(text) == tongue


@pytest.mark.parametrize("text", ["", "deploy 4.2", "Pinecone", "🎻🎻🎻", "x = y + 1", "Anna, Bruno"])
def test_what_may_be_of_any_language_is_of_none(text: str) -> None:
    assert tongue_of(text) is None


@given(st.text(max_size=60), st.sampled_from([text for some in TEXTS.values() for text in some]))
def test_two_texts_are_foreign_to_each_other_or_neither_is(text: str, other: str) -> None:
    assert is_foreign(text, other) is is_foreign(other, text)
    assert not is_foreign(text, text)
