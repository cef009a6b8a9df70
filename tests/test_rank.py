"""What answers comes first, says why, and nothing is told when nothing is relevant."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.rank import rank
from memcli.relevance import is_of_its_time
from memcli.times import Span
from memcli.types import Candidate, Hit, Record
from memcli.weights import WEIGHTS, Weights

DAY = 86_400_000
NOON = 1_795_608_000_000  # 2026-11-25T12:00Z


def candidate(
    text: str, *, cosine: float | None = None, passage: str | None = None, ordinal: int = 0, **fields: Any
) -> Candidate:
    fields = {"id": text, "kind": "episode", "priority": "P2"} | fields
    chunks = 1 if passage is None else 9
    return Candidate(Record(text=text, **fields), passage or text, ordinal, chunks, cosine, None)


def ask(question: str, candidates: Sequence[Candidate], *, k: int = 10, total_rows: int = 100) -> list[Hit]:
    return rank(question, candidates, k=k, total_rows=total_rows)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


# --- order ----------------------------------------------------------------------------------------


def test_no_candidates_give_no_hits() -> None:
    assert ask("Where is the key?", []) == []


@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        ("INV-20260917", "Invoice INV-20260917 was paid.", ["Invoice INV-20260918 was not.", "20260917"]),
        ("E0502 in which file?", "It died with `error[E0502]` in ring.rs.", ["It died in which year?"]),
        ("Who plays the cello?", "My sister is playing cello.", ["Who is it?", "He plays the flute."]),
        ("谁帮我改了演示文稿？", "小周帮我改好了演示文稿。", ["小李又迟到了。", "谁知道呢？"]),
        ("谁在 google 工作？", "小王在Google做SRE。", ["谁在工作？", "小王在工作。", "他不在。"]),
        ("k8s 集群", "K8s集群在阿里云上。", ["集群在上海。", "上云了。"]),
        ("rolling_median", "def rolling_median(xs): ...", ["def rolling_mean(xs): ...", "median"]),
    ],
)
def test_memory_that_holds_the_question_s_words_is_first(
    question: str, answer: str, others: list[str]
) -> None:
    hits = ask(question, [candidate(text) for text in [*others, answer]])
    assert hits[0].record.text == answer


def test_rare_word_counts_more_than_a_frequent_one() -> None:
    diary = [candidate(f"Garden diary {day}: watered the beans") for day in range(40)]
    hits = ask("beans in the diary of slugs", [*diary, candidate("The slugs came")])
    assert hits[0].record.text == "The slugs came"


def test_vector_decides_where_no_word_is_shared() -> None:
    near, far = candidate("我对花生过敏。", cosine=0.8), candidate("电梯坏了。", cosine=0.7)
    assert ids(ask("What am I allergic to?", [far, near])) == ["我对花生过敏。", "电梯坏了。"]


@pytest.mark.parametrize(
    ("question", "own", "other"),
    [
        ("What am I allergic to?", "The lift was broken on day {}.", "第{}天的电梯坏了。"),
        ("我对什么过敏？", "第{}天的电梯坏了。", "The lift was broken on day {}."),
        (
            "What am I allergic to?",
            "The lift was broken on day {}.",
            "Am Tag {} war der Aufzug kaputt.",
        ),
        ("На что у меня аллергия?", "В день {} лифт был сломан.", "El día {} el ascensor no estaba abierto."),
    ],
)
def test_what_stands_out_in_another_language_is_above_what_is_only_in_the_question_s(
    question: str, own: str, other: str
) -> None:
    near_anyway = [candidate(own.format(day), cosine=0.80 + day / 1000) for day in range(10)]
    far_anyway = [candidate(other.format(day), cosine=0.74 + day / 1000) for day in range(10)]
    answer = candidate(other.format("answer"), cosine=0.805)
    assert ids(ask(question, [*near_anyway, *far_anyway, answer]))[0] == answer.record.id


def test_only_text_in_another_language_is_not_its_own_measure() -> None:
    known = [candidate(f"The lift was broken on day {day}.", cosine=0.75) for day in range(10)]
    assert (
        ids(ask("What am I allergic to?", [*known, candidate("我对花生过敏。", cosine=0.85)]))[0][0] == "我"
    )


def test_words_outweigh_a_slightly_better_vector() -> None:
    candidates = [
        candidate("A hymn about keys", cosine=0.86),
        candidate("The spare key of the shed is under the hive", cosine=0.85),
        candidate("Something else", cosine=0.70),
    ]
    assert ask("Where is the spare key of the shed?", candidates)[0].record.text.startswith("The spare")


def test_question_of_stop_words_is_answered_by_them() -> None:
    assert ids(ask("Who are you?", [candidate("nobody"), candidate("you are who you are")]))[0].startswith(
        "you"
    )


def test_long_passage_ranks_below_a_short_one_with_the_same_words() -> None:
    long = "The key is here. " + "Nothing more of interest was said. " * 18
    assert ids(ask("key", [candidate(long), candidate("The key is here. ")])) == ["The key is here. ", long]


def test_date_of_a_memory_is_found_by_its_words() -> None:
    then = candidate("Blood pressure 141/92", created_at=NOON)
    other = candidate("Blood pressure 128/84", created_at=NOON - 5 * DAY)
    assert ids(ask("blood pressure on 25 November", [other, then]))[0] == "Blood pressure 141/92"


def test_speaker_is_found_by_name() -> None:
    said = [candidate("I like it.", id=name, name=name) for name in ("Ann", "Bob")]
    assert ids(ask("What does Bob like?", said))[0] == "Bob"


def test_assistant_stands_below_the_person() -> None:
    said = [candidate("tea in the morning", id=role, role=role) for role in ("assistant", "user")]
    assert ids(ask("tea", said)) == ["user", "assistant"]


@pytest.mark.parametrize(
    "question", ["Which tea did you recommend?", "What tea have you suggested?", "你给我推荐过什么tea"]
)
def test_assistant_stands_first_when_it_is_asked_for(question: str) -> None:
    said = [candidate("tea in the morning", id=role, role=role) for role in ("user", "assistant")]
    assert ids(ask(question, said)) == ["assistant", "user"]


def test_named_other_side_is_a_person() -> None:
    said = candidate("tea", role="assistant", name="John")
    assert ask("tea", [said])[0].parts["role"] == 0


def test_equal_scores_are_ordered_by_newest_then_id() -> None:
    ages = [("c", None), ("b", 1), ("d", 2), ("a", 1)]
    same = [candidate("the same words", id=id_, created_at=at) for id_, at in ages]
    expected = ["d", "a", "b", "c"]
    assert ids(ask("unrelated", same)) == ids(ask("unrelated", same[::-1])) == expected


def test_same_text_twice_stays_twice() -> None:
    assert len(ask("tea", [candidate("tea", id="one"), candidate("tea", id="two")])) == 2


def test_at_most_k_hits() -> None:
    assert len(ask("tea", [candidate(f"tea {n}") for n in range(20)], k=3)) == 3


# --- the turns around -----------------------------------------------------------------------------


def turn(text: str, position: int, *, name: str | None, session: str = "s", **fields: Any) -> Candidate:
    return candidate(text, name=name, session_id=session, position=position, **fields)


def test_answer_takes_over_what_was_asked_between_people() -> None:
    asked = turn("Which team did you sign with?", 0, name="Tim", role="user")
    answer = turn("The Wolves!", 1, name="John", role="assistant")
    other = turn("Lovely weather.", 7, name="John", role="assistant")
    hits = ask("Which team did he sign with?", [other, answer, asked])
    assert ids(hits) == ["The Wolves!", "Which team did you sign with?", "Lovely weather."]


def test_turn_after_a_question_takes_over_more_than_after_a_statement() -> None:
    told = turn("I signed with a team.", 0, name="Tim", session="a")
    after = turn("Great!", 1, name="John", session="a")
    asked = turn("You signed with a team?", 4, name="Tim", session="a")
    answer = turn("Great!", 5, name="John", session="a", id="answer")
    apart = turn("Great!", 9, name="John", session="a", id="apart")
    hits = ask("Which team was signed?", [told, after, asked, answer, apart])
    found = {hit.record.id: hit.parts["context"] for hit in hits}
    assert found["answer"] > found["Great!"] > found["apart"]


def test_assistant_s_turn_takes_over_a_request_only_when_it_is_asked_for() -> None:
    asked = turn("Suggest some music for running", 0, name=None, role="user")
    answer = turn("Try Kraftwerk.", 1, name=None, role="assistant")
    told = {hit.record.id: hit for hit in ask("What music did you suggest?", [asked, answer])}
    plain = {hit.record.id: hit for hit in ask("What music for running?", [asked, answer])}
    assert told["Try Kraftwerk."].parts["context"] > plain["Try Kraftwerk."].parts["context"] == 0


def test_conversation_about_the_question_lifts_its_turns_between_people() -> None:
    trip = [turn(f"We talked of the trip to Norway {n}", n, name="Ann", session="trip") for n in range(3)]
    near = turn("It was cold.", 7, name="Ann", session="trip")
    far = turn("It was cold.", 7, name="Ann", session="work", id="far")
    hits = ask("trip to Norway", [*trip, near, far])
    assert ids(hits).index("It was cold.") < ids(hits).index("far")


@pytest.mark.parametrize("text", ["Do you like tea?", "你喜欢tea吗？"])
def test_question_stands_below_a_statement(text: str) -> None:
    assert ids(ask("tea", [candidate(text, role="user"), candidate("I like tea so", role="user")]))[0] != text


# --- age and repeats ------------------------------------------------------------------------------


def test_of_two_alike_the_newer_is_first_and_an_identity_does_not_age() -> None:
    def recency(kind: str, days: int) -> float:
        asked = candidate("tea", kind=kind, created_at=NOON - days * DAY)
        return rank("tea", [asked], k=1, total_rows=1, now=NOON)[0].parts["recency"]

    assert recency("episode", 0) > recency("episode", 90) > recency("episode", 900) > 0
    assert recency("identity", 0) == recency("identity", 9000)
    assert recency("episode", 90) < recency("fact", 90)


def test_half_life_is_the_age_at_which_half_of_the_recency_is_left() -> None:
    def recency(days: int) -> float:
        asked = candidate("tea", created_at=NOON - days * DAY)
        hits = rank("tea", [asked], k=1, total_rows=1, now=NOON, half_life_days={"episode": 7.0})
        return hits[0].parts["recency"]

    assert recency(7) == pytest.approx(recency(0) / 2)


DENTIST = "My dentist is Dr Okafor in Elm Street"


@pytest.mark.parametrize(
    ("text", "is_repeat"),
    [
        ("Dr Okafor in Elm Street is my dentist!", True),
        ("my DENTIST is dr. Okafor, in Elm street", True),
        ("My dentist is not Dr Okafor in Elm Street", False),
        ("My dentist is Dr Okafor in 7 Elm Street", False),
        ("My doctor is Dr Lindqvist in Elm Street", False),
    ],
)
def test_phrasings_of_one_fact_take_one_place(text: str, *, is_repeat: bool) -> None:
    other = candidate("A dentist has to be kind to children")
    hits = ask("Who is my dentist in Elm Street?", [candidate(DENTIST), candidate(text), other])
    assert ("repeat" in hits[-1].parts) is is_repeat
    assert (hits[-1].record.id != other.record.id) is is_repeat


def test_fact_and_what_it_was_learned_from_take_one_place() -> None:
    said = candidate(
        "I was at the dentist again, Dr Okafor as ever, and it took an hour", id="said", role="user"
    )
    fact = candidate("The dentist is Dr Okafor", id="fact", kind="fact", derived_from=("said",))
    other = candidate("A dentist has to be kind", id="other")
    assert ids(ask("Who is the dentist?", [said, fact, other]))[-1] != "other"


# --- time -----------------------------------------------------------------------------------------

THAT_DAY = (Span(NOON - DAY // 2, NOON + DAY // 2 - 1),)


def test_what_was_said_then_stands_above_what_was_said_at_another_time() -> None:
    then = candidate("The budget is 7,200", created_at=NOON)
    later = candidate("The kitchen budget is 8,000", created_at=NOON + 9 * DAY)
    hits = rank("What about the kitchen budget?", [later, then], k=9, total_rows=9, times=THAT_DAY)
    assert ids(hits) == ["The budget is 7,200", "The kitchen budget is 8,000"]


def test_what_speaks_of_the_time_counts_as_said_then() -> None:
    spoken = candidate("Yesterday I ran", created_at=NOON + DAY)
    other = candidate("Today I ran", created_at=NOON + DAY, id="other")
    hits = rank("ran", [other, spoken], k=9, total_rows=9, times=THAT_DAY)
    assert [hit.parts["time"] > 0 for hit in hits] == [True, False]
    assert ids(hits)[0] == "Yesterday I ran"


def test_memory_without_a_time_is_not_moved_by_one() -> None:
    [hit] = rank("tea", [candidate("tea")], k=9, total_rows=9, times=THAT_DAY)
    assert hit.parts["time"] == 0


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("What's on my to-do list?", "I still need to renew my passport.", "I finished painting the fence."),
        ("What do I have to do tomorrow?", "Remind me to call the plumber.", "The plumber is called Otto."),
        ("我还有什么事要做？", "我得去交电费。", "电费我已经交完了。"),
    ],
)
def test_what_has_to_be_done_answers_what_is_left_to_do(question: str, answer: str, other: str) -> None:
    assert ids(ask(question, [candidate(other, role="user"), candidate(answer, role="user")]))[0] == answer


# --- long texts -----------------------------------------------------------------------------------


def test_long_text_is_one_hit_with_its_best_passage() -> None:
    passages = ["Minutes of May.", "The spare key is under the hive.", "Minutes of June."]
    chunks = [candidate("all", passage=passage, ordinal=n) for n, passage in enumerate(passages)]
    [hit] = ask("Where is the spare key?", chunks)
    assert hit.excerpt == "The spare key is under the hive."


def test_short_text_has_no_excerpt() -> None:
    assert ask("tea", [candidate("tea")])[0].excerpt is None


# --- updates --------------------------------------------------------------------------------------

OLD = candidate("I drink espresso coffee", id="old", superseded_by="mid", valid_to=1)
MID = candidate("I drink decaf", id="mid", superseded_by="new", supersedes=("old",))
NEW = candidate("Green tea now", id="new", supersedes=("mid",))


def test_newer_takes_the_place_of_what_it_replaced() -> None:
    other = candidate("coffee cup", id="other")
    assert ids(ask("espresso coffee", [OLD, MID, other, NEW])) == ["new", "mid", "old", "other"]


def test_lift_of_an_update_is_among_the_parts() -> None:
    newest, *_, oldest = ask("espresso coffee", [OLD, MID, NEW])
    assert newest.score == pytest.approx(oldest.score)
    assert newest.parts["update"] > 0


def test_replaced_memory_keeps_its_place_below() -> None:
    assert ids(ask("green tea", [OLD, NEW, candidate("green cup", id="other")])) == ["new", "other", "old"]


def test_superseded_memory_without_its_successor_stays() -> None:
    assert ids(ask("espresso", [OLD])) == ["old"]


def test_memories_that_replace_each_other_all_stay() -> None:
    circle = [candidate("tea", id="a", superseded_by="b"), candidate("tea", id="b", superseded_by="a")]
    assert sorted(ids(ask("tea", circle))) == ["a", "b"]


def test_older_stands_first_for_its_own_time() -> None:
    old = candidate("I drink espresso", id="old", superseded_by="new", created_at=NOON)
    new = candidate("I drink tea", id="new", supersedes=("old",), created_at=NOON + 9 * DAY)
    hits = rank("What did I drink then?", [new, old], k=9, total_rows=9, times=THAT_DAY)
    assert ids(hits) == ["old", "new"]
    assert [is_of_its_time(hit) for hit in hits] == [True, False]


# --- scores ---------------------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from(("tea", "key", "the", "茶", "钥匙", "2.3.1", "E0502", "may")), max_size=12)
CANDIDATES = st.lists(
    st.builds(
        lambda id_, words, cosine, role, newer: candidate(
            " ".join(words), id=id_, cosine=cosine, role=role, superseded_by=newer
        ),
        st.sampled_from("abcdefgh"),
        WORDS,
        st.none() | st.floats(-1, 1),
        st.sampled_from(["user", "assistant"]),
        st.none() | st.sampled_from("abcdefgh"),
    ),
    max_size=12,
)


@given(st.text(max_size=40) | WORDS.map(" ".join), CANDIDATES, st.integers(0, 10**6))
def test_score_is_the_sum_of_its_parts(question: str, candidates: list[Candidate], total_rows: int) -> None:
    hits = ask(question, candidates, total_rows=total_rows)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.parts.values()))


@given(WORDS.map(" ".join), CANDIDATES)
def test_every_memory_is_one_hit(question: str, candidates: list[Candidate]) -> None:
    assert sorted(ids(ask(question, candidates, k=99))) == sorted({each.record.id for each in candidates})


def test_parts_are_named() -> None:
    [hit] = ask("tea", [candidate("tea", cosine=0.8)])
    assert {"dense", "keyword", "role", "context", "time", "priority"} <= hit.parts.keys()


def test_six_hundred_candidates_are_ranked_in_milliseconds() -> None:
    chance = random.Random(7)
    words = [f"word{n}" for n in range(3000)]
    candidates = [
        candidate(" ".join(chance.choices(words, k=35)), cosine=chance.random(), created_at=NOON)
        for _ in range(600)
    ]
    question = "word1 word2 word3 word4 word5 word6 word7 word8"
    took = []
    for _ in range(5):
        began = time.process_time()
        ask(question, candidates, total_rows=10_000)
        took.append(time.process_time() - began)
    assert min(took) < 0.05


# --- what parts what stands level -----------------------------------------------------------------

KEY = "The key of the shed is under the hive"


@pytest.mark.parametrize(
    ("step", "first", "second"),
    [
        # Nearly as near, and said a year later.
        (
            "recency",
            candidate("The shed key hangs at hook 7 now", cosine=0.849, created_at=NOON),
            candidate("The shed key hangs at hook 4 now", cosine=0.85, created_at=NOON - 400 * DAY),
        ),
        # Of what meets the same words, where it is asked for what is now.
        (
            "latest",
            candidate("The current shed key: 7", cosine=0.848, created_at=NOON),
            candidate("The current shed key: 4", cosine=0.85, created_at=NOON - 3 * DAY),
        ),
        # Somebody asked for it always to be known.
        (
            "p0",
            candidate("Nuts are an allergy of Wren", cosine=0.8495, priority="P0"),
            candidate("Nuts are a snack of Wren", cosine=0.85, priority="P1"),
        ),
        # A fact stands for the turn that it was learned from.
        (
            "p1",
            candidate("Shed key: under the hive", cosine=0.8495, kind="fact", priority="P1"),
            candidate("Shed key: below the hive", cosine=0.85),
        ),
        # Of two that hold the words, the one that is about them.
        (
            "length_slope",
            candidate(KEY, cosine=0.85),
            candidate(f"{KEY} and {'much else was said that day about the garden ' * 12}", cosine=0.8505),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_step_that_moves_no_data_set_parts_what_stands_level(
    step: str, first: Candidate, second: Candidate
) -> None:
    question = "current shed key" if step == "latest" else "shed key nuts Wren under hive"
    far = [candidate(f"Something else {n}", cosine=0.7) for n in range(12)]

    def best(weights: Weights) -> Record:
        hits = rank(question, [second, first, *far], k=2, total_rows=100, now=NOON, weights=weights)
        return hits[0].record

    assert best(WEIGHTS) == first.record
    assert best(replace(WEIGHTS, **{step: 0.0})) == second.record
