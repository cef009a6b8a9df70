"""Which turns of a conversation go into the prompt, so that a model can read all that is sent to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memcli.inject import count_tokens
from memcli.types import Message, Turn

# What a model's template puts around a message.
_FRAME_TOKENS = 8
_MOST_ANSWER_TOKENS = 1024
_LAST_EXCHANGES = 6
# English and Chinese have four to five bytes a token in the usual vocabularies: fewer tokens than this
# many bytes each, and some text was not read.
_MOST_BYTES_A_TOKEN = 5.2
# Ollama's runner keeps about half of its window when it cuts (67 of 128 were seen).
_LEFT_BY_A_CUT = 0.4
_AFTER_A_CUT = 0.6
# Ollama's runner has as many whatever it is told.
_LEAST_ROOM = 256
_LEFT_OUT = " […] "
_OF_A_LONG_QUESTION = 0.1


@dataclass(frozen=True, slots=True)
class History:
    """How much of a conversation is sent along: `mode` "buffer" (all that fits), "window" or "summary".

    `exchanges` (a question with its answer) is the most that is sent word for word, None for no limit.
    """

    mode: str = "buffer"
    exchanges: int | None = None


def parse_history(text: str) -> History:
    """buffer, window:N or summary. Raises ValueError."""
    if match := re.fullmatch(r"window:([1-9][0-9]{0,5})", text.strip()):
        return History("window", int(match[1]))
    modes = {"buffer": History(), "summary": History("summary", _LAST_EXCHANGES)}
    if text.strip() not in modes:
        raise ValueError(text)
    return modes[text.strip()]


# --- what a prompt costs --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gauge:
    """What a text costs in tokens of one model: an estimate, corrected by what its server has counted.

    `num_ctx` is the model's window, `ratio` how many tokens it makes of an estimated one (never below 1:
    the estimate is an upper one for the usual texts), `most` what it was last seen to read whole.
    """

    num_ctx: int
    ratio: float = 1.0
    most: int | None = None

    @property
    def room(self) -> int:
        """Tokens that a prompt may have, so that the answer has its place too."""
        free = self.num_ctx - min(_MOST_ANSWER_TOKENS, self.num_ctx // 4)
        return free if self.most is None else min(free, self.most)

    def cost(self, text: str) -> int:
        """Tokens of one message with this text."""
        return -int(-(count_tokens(text) + _FRAME_TOKENS) * self.ratio // 1)

    def corrected(self, prompt: Sequence[Message], counted: int | None) -> Gauge:
        """The gauge after a server has said how many tokens it read of a prompt."""
        if counted is None:
            return self
        if self.is_cut(prompt, counted):
            return self.refused(prompt)
        return replace(self, ratio=max(1.0, counted / _estimated(prompt)))

    def refused(
        self, prompt: Sequence[Message], *, tokens: int | None = None, window: int | None = None
    ) -> Gauge:
        """The gauge after a server has not read a prompt whole: less is sent from now on.

        Args:
            prompt: what was sent.
            tokens: how many it was, where the server tells: then as much is sent as has its place.
            window: how many the model can have, where the server tells.
        """
        told = replace(
            self,
            num_ctx=min(self.num_ctx, window or self.num_ctx),
            ratio=max(self.ratio, (tokens or 0) / _estimated(prompt)),
        )
        sent = sum(told.cost(message.text) for message in prompt)
        if sent > told.room:
            return told
        return replace(told, most=min(told.room, max(_LEAST_ROOM, int(sent * _AFTER_A_CUT))))

    def is_cut(self, prompt: Sequence[Message], counted: int) -> bool:
        """Whether the server has read clearly less than it was sent, as it does without a word."""
        letters = sum(len(" ".join(message.text.split()).encode()) for message in prompt)
        return self.num_ctx * _LEFT_BY_A_CUT <= counted < letters / _MOST_BYTES_A_TOKEN


def _estimated(prompt: Sequence[Message]) -> int:
    return sum(count_tokens(message.text) + _FRAME_TOKENS for message in prompt)


# --- what is sent ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages for a model, and the turns that are in them.

    `is_shortened`: the newest message is not whole; `has_block`: the memories had their place.
    """

    messages: tuple[Message, ...]
    turns: tuple[Turn, ...]
    is_shortened: bool
    has_block: bool


def block_budget(gauge: Gauge, *, system: str, question: str, wanted: int) -> int:
    """Tokens (as `count_tokens` estimates them) for the memories: at most half of what the rest leaves.

    A question that has to be shortened gives up a small part more for them.
    """
    left = gauge.room - _cost_of_system(gauge, system) - gauge.cost(question)
    free = left / 2 if left >= 0 else gauge.room * _OF_A_LONG_QUESTION
    return max(0, min(wanted, int(free / gauge.ratio)))


def lay_out(
    question: str,
    *,
    system: str,
    block: str = "",
    turns: Sequence[Turn] = (),
    history: History = History(),
    gauge: Gauge,
) -> Prompt:
    """The prompt for a question: never over the gauge's room, the question always in it, order kept.

    The block stands before the question in the same message: what a person brings along, with less
    authority than the system text; and what stands before it is the same as last time, so that a server
    need not read it again. `turns` are those before the question, oldest first.
    """
    rules = system
    if gauge.cost(system) > gauge.room // 2:
        rules = shortened(system, gauge.room // 2, gauge.cost)
    room = gauge.room - gauge.cost(rules)
    asked = _asked(question, block, room, gauge)
    recent = _recent(turns, history=history, room=room - gauge.cost(asked), cost=gauge.cost)
    messages = [
        Message("system", rules),
        *(Message(turn.role, turn.text) for turn in recent),
        Message("user", asked),
    ]
    return Prompt(
        tuple(messages),
        tuple(recent),
        is_shortened=not asked.endswith(question),
        has_block=bool(block) and asked.startswith(block),
    )


def _asked(question: str, block: str, room: int, gauge: Gauge) -> str:
    """The newest message: the whole question is worth more than the memories, but not every word of it."""
    whole = f"{block}\n{question}" if block else question
    if gauge.cost(whole) <= room:
        return whole
    left = room - gauge.cost(block)
    if block and gauge.cost(question) > room and left > room // 2:
        return f"{block}\n{shortened(question, left, gauge.cost)}"
    return shortened(question, room, gauge.cost)


def _cost_of_system(gauge: Gauge, system: str) -> int:
    return min(gauge.cost(system), gauge.room // 2)


def exchanges(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Each question with what was answered to it, in order."""
    found: list[list[Turn]] = []
    for turn in turns:
        if turn.role == "user" or not found:
            found.append([])
        found[-1].append(turn)
    return found


def _recent(turns: Sequence[Turn], *, history: History, room: int, cost: Callable[[str], int]) -> list[Turn]:
    """The newest whole exchanges that fit, in order."""
    kept: list[Turn] = []
    for exchange in reversed(exchanges([turn for turn in turns if turn.text])[-(history.exchanges or 0) :]):
        room -= sum(cost(turn.text) for turn in exchange)
        if room < 0:
            break
        kept = exchange + kept
    return kept


def shortened(text: str, room: int, cost: Callable[[str], int]) -> str:
    """The beginning and the end of a text that is too long: both say most of what it is about."""
    # No text has fewer tokens than a quarter of its characters.
    low, high = 0, min(len(text), 4 * room)
    while low < high:
        middle = (low + high + 1) // 2
        if cost(_ends(text, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return _ends(text, low)


def _ends(text: str, kept_chars: int) -> str:
    if kept_chars >= len(text):
        return text
    tail = kept_chars // 3
    return text[: kept_chars - tail] + _LEFT_OUT + text[len(text) - tail :]
