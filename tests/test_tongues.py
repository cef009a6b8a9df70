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


@pytest.mark.parametrize(
    ("question", "text", "foreign"),
    [
        ("Where is the key?", "Der Schlüssel ist bei Anna.", True),
        ("Где ключ?", "The key is with Anna.", True),
        ("Where is the key?", "钥匙在安娜那里。", True),
        ("钥匙在哪里？", "The key is with Anna.", True),
        ("钥匙在哪里？", "Pinecone 42", True),
        ("钥匙在哪里？", "141/92 mmHg, 76 bpm, 早上", False),
        ("Where is the key?", "Pinecone 42", False),
        ("Pinecone?", "The key is with Anna.", False),
        ("Pinecone?", "Der Schlüssel ist bei Anna.", False),
        ("Pinecone?", "钥匙在安娜那里。", True),
    ],
)
def test_a_text_is_foreign_where_it_is_surely_in_another_language(
    question: str, text: str, foreign: bool
) -> None:
    assert is_foreign(text, question) is foreign


@given(st.text(max_size=60))
def test_no_text_is_foreign_to_itself(text: str) -> None:
    assert not is_foreign(text, text)
