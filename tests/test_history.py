"""What is sent to a model fits its window, keeps its order, and always holds the question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.history import Gauge, History, Prompt, block_budget, lay_out, parse_history, shortened
from memcli.inject import count_tokens
from memcli.types import Message, Turn

SYSTEM = "You are a helpful assistant."
QUESTION = "Which build tool shall I use?"
LONG = "The quick brown fox jumps over the lazy dog near the river bank. " * 200


def turns(*texts: str) -> list[Turn]:
    """Questions and answers in turn, beginning with a question."""
    roles = ("user", "assistant")
    return [Turn(f"m{at}", "s", at, roles[at % 2], text, at=at) for at, text in enumerate(texts)]


def sent(prompt: Prompt) -> list[str]:
    return [message.text for message in prompt.messages]


def cost(prompt: Prompt, gauge: Gauge) -> int:
    return sum(gauge.cost(message.text) for message in prompt.messages)


# --- the setting ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "history"),
    [
        ("buffer", History("buffer")),
        ("window:1", History("window", 1)),
        ("window:20", History("window", 20)),
        ("summary", History("summary", 6)),
    ],
)
def test_a_history_as_it_is_written(text: str, history: History) -> None:
    assert parse_history(text) == history


@pytest.mark.parametrize(
    "text", ["", "window", "window:", "window:0", "window:-1", "window:x", "all", "Buffer"]
)
def test_another_history_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text or "^$"):
        parse_history(text)


# --- what fits ------------------------------------------------------------------------------------

texts = st.text(st.sampled_from("ab c花,\n\t😀"), max_size=300)
gauges = st.builds(
    Gauge,
    num_ctx=st.integers(256, 4096),
    ratio=st.floats(1, 3),
    most=st.none() | st.integers(200, 4000),
)
histories = st.sampled_from([History(), History("window", 1), History("window", 3), History("summary", 6)])


@given(texts, texts, st.lists(texts, max_size=12), texts, histories, gauges)
def test_a_prompt_never_goes_over_the_room(
    system: str, question: str, said: list[str], block: str, history: History, gauge: Gauge
) -> None:
    budget = block_budget(gauge, system=system, question=question, wanted=800)
    fitting = block if count_tokens(block) <= budget else ""
    prompt = lay_out(question, system=system, block=fitting, turns=turns(*said), history=history, gauge=gauge)
    assert cost(prompt, gauge) <= gauge.room


@given(texts, texts.filter(bool), gauges)
def test_it_is_said_whether_the_memories_had_their_place(question: str, block: str, gauge: Gauge) -> None:
    prompt = lay_out(question, system=SYSTEM, block=block, gauge=gauge)
    asked = prompt.messages[-1].text
    assert prompt.has_block is asked.startswith(f"{block}\n")
    assert prompt.is_shortened is not (asked in (question, f"{block}\n{question}"))


@given(texts, st.lists(texts, max_size=12), histories, gauges)
def test_the_question_is_last_and_what_is_sent_before_it_is_the_end_of_the_talk_in_order(
    question: str, said: list[str], history: History, gauge: Gauge
) -> None:
    before = turns(*said)
    prompt = lay_out(question, system=SYSTEM, turns=before, history=history, gauge=gauge)
    spoken = [turn for turn in before if turn.text]
    assert prompt.messages[-1].role == "user"
    assert prompt.is_shortened or prompt.messages[-1].text == question
    assert list(prompt.turns) == spoken[len(spoken) - len(prompt.turns) :]
    assert [message.text for message in prompt.messages[1:-1]] == [turn.text for turn in prompt.turns]


@given(st.lists(texts.filter(bool), min_size=2, max_size=12), histories, gauges)
def test_no_answer_is_sent_without_its_question(said: list[str], history: History, gauge: Gauge) -> None:
    prompt = lay_out(QUESTION, system=SYSTEM, turns=turns(*said), history=history, gauge=gauge)
    assert [turn.role for turn in prompt.turns[:1]] in ([], ["user"])


def test_a_window_sends_so_many_exchanges() -> None:
    prompt = lay_out(
        QUESTION,
        system=SYSTEM,
        turns=turns("q1", "a1", "q2", "a2", "q3", "a3"),
        history=History("window", 2),
        gauge=Gauge(4096),
    )
    assert sent(prompt) == [SYSTEM, "q2", "a2", "q3", "a3", QUESTION]


def test_the_block_stands_before_the_question_and_after_the_talk() -> None:
    prompt = lay_out(
        QUESTION, system=SYSTEM, block="<memories>\n</memories>\n", turns=turns("q", "a"), gauge=Gauge(4096)
    )
    assert sent(prompt) == [SYSTEM, "q", "a", f"<memories>\n</memories>\n\n{QUESTION}"]


def test_a_question_longer_than_the_window_keeps_its_beginning_and_its_end() -> None:
    prompt = lay_out(f"Begin. {LONG} End?", system=SYSTEM, gauge=Gauge(1024))
    asked = prompt.messages[-1].text
    assert prompt.is_shortened
    assert asked.startswith("Begin. The quick")
    assert asked.endswith("End?")
    assert "[…]" in asked


@given(st.text(max_size=400), st.integers(40, 400))
def test_a_shortened_text_fits_and_a_fitting_one_is_whole(text: str, room: int) -> None:
    short = shortened(text, room, count_tokens)
    assert count_tokens(short) <= room
    assert short == text or count_tokens(text) > room


def test_a_question_longer_than_the_window_leaves_a_place_for_memories() -> None:
    gauge = Gauge(1024)
    budget = block_budget(gauge, system=SYSTEM, question=LONG, wanted=800)
    block = "m" * 4 * budget
    prompt = lay_out(LONG, system=SYSTEM, block=block, gauge=gauge)
    assert 50 < budget < 100
    assert prompt.has_block
    assert prompt.is_shortened
    assert cost(prompt, gauge) <= gauge.room


@given(st.integers(0, 5000), gauges)
def test_memories_get_at_most_what_was_wanted_and_half_of_what_is_left(wanted: int, gauge: Gauge) -> None:
    budget = block_budget(gauge, system=SYSTEM, question=QUESTION, wanted=wanted)
    left = gauge.room - gauge.cost(SYSTEM) - gauge.cost(QUESTION)
    assert 0 <= budget <= min(wanted, max(0, left) // 2)


# --- what a server counts -------------------------------------------------------------------------

PROMPT = (Message("system", SYSTEM), Message("user", LONG))
ESTIMATE = sum(count_tokens(message.text) + 8 for message in PROMPT)


def test_a_model_that_makes_more_tokens_is_sent_less() -> None:
    gauge = Gauge(8192)
    corrected = gauge.corrected(PROMPT, ESTIMATE * 2)
    assert corrected.cost(LONG) > 1.9 * gauge.cost(LONG)


@pytest.mark.parametrize("counted", [None, ESTIMATE, int(ESTIMATE * 0.85), 26, 1])
def test_a_count_that_is_no_cut_changes_nothing(counted: int | None) -> None:
    assert Gauge(8192).corrected(PROMPT, counted).room == Gauge(8192).room
    assert Gauge(8192).corrected(PROMPT, counted).cost(LONG) == Gauge(8192).cost(LONG)


def test_a_refusal_that_tells_the_count_leads_to_what_just_fits() -> None:
    gauge = Gauge(4096).refused(PROMPT, tokens=ESTIMATE * 2, window=4096)
    assert gauge.room == Gauge(4096).room
    assert gauge.cost(LONG) == pytest.approx(2 * Gauge(4096).cost(LONG), rel=0.01)


def test_a_refusal_that_tells_a_smaller_window_is_believed() -> None:
    assert Gauge(4096).refused(PROMPT, tokens=ESTIMATE, window=1024).num_ctx == 1024


@given(gauges, st.none() | st.integers(1, 10_000), st.none() | st.integers(256, 5000))
def test_after_a_refusal_less_is_sent(gauge: Gauge, tokens: int | None, window: int | None) -> None:
    prompt = lay_out(LONG, system=SYSTEM, gauge=gauge)
    after = gauge.refused(prompt.messages, tokens=tokens, window=window)
    again = lay_out(LONG, system=SYSTEM, gauge=after)
    assert count_tokens(again.messages[-1].text) <= count_tokens(prompt.messages[-1].text)
    assert len(again.messages[-1].text) < len(prompt.messages[-1].text) or after.room <= 256


def test_a_silent_cut_is_seen_and_less_is_sent_until_the_server_reads_all() -> None:
    gauge = Gauge(4096)
    window, made_of = 4096, 1.9

    def sends(gauge: Gauge) -> tuple[Message, ...]:
        return lay_out(LONG * 3, system=SYSTEM, gauge=gauge).messages

    rooms = []
    for _ in range(4):
        prompt = sends(gauge)
        rooms.append(gauge.room)
        tokens = int(made_of * sum(count_tokens(message.text) for message in prompt))
        is_cut = tokens > window
        gauge = gauge.corrected(prompt, window // 2 + 3 if is_cut else tokens)
        if not is_cut:
            break
    assert not is_cut
    assert rooms == sorted(rooms, reverse=True)
    assert len(rooms) > 1
