"""A conversation with memory: recall, inject, stream, save, queue for learning."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeVar

from memcli import prompt
from memcli.errors import MemcliError, ModelError, NothingMatchedError, PromptTooLongError
from memcli.history import Gauge, History, Prompt, block_budget, exchanges, lay_out
from memcli.memory import Memory
from memcli.stop import Stop
from memcli.types import Answered, Arm, Block, ChatModel, Filters, Learned, Piece, Query, Session, Turn

T = TypeVar("T")

WARM_RECALL_S = 0.8
COLD_RECALL_S = 5.0
"""How long an answer waits for its memories: in a session, and in a process that has just begun."""

PAUSE_S = 15.0
"""A model learns when nobody waits for its answers: once the person has been silent for so long."""

OFF = "memory is off"
EXPERIMENT = "this answer goes without, for comparison"
"""Why an answer goes without memories."""

_SUMMARY_TOKENS = 400
# The model is asked to sum up only when so many exchanges have gone out of its sight since the last time.
_UNSEEN_EXCHANGES = 4
_TRIES = 3
_AT_END_S = 2.0
# … of which the last is kept for what an unfinished lesson leaves to be written down.
_WRITE_DOWN_S = 0.3
# As long may a lesson last while the person is silent: their machine is not to run hot for hours.
_LESSON_S = 300.0
_ASKED_CHARS = 3_000


@dataclass(frozen=True, slots=True)
class Manner:
    """How a conversation is to be held.

    `system` is the person's own text instead of ours; `share_without` the share of answers that go
    without memory for comparison (0–1); `recall_limit_s` how long an answer waits for its memories;
    `pause_s` how long the person has been silent when a model begins to learn, None for never.
    """

    history: History = field(default_factory=History)
    budget_tokens: int = 800
    k: int = 10
    filters: Filters = field(default_factory=Filters)
    system: str | None = None
    share_without: float = 0.0
    recall_limit_s: float = WARM_RECALL_S
    pause_s: float | None = PAUSE_S


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what became of it; times in milliseconds from the question on.

    `said` is the answer letter for letter, `answer` the turn that is kept of it, None when nothing came;
    `block` is None when it went without memories: `without` says why.
    """

    question: Turn
    model: str
    said: str = ""
    answer: Turn | None = None
    block: Block | None = None
    without: str | None = None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    first_ms: int | None = None
    took_ms: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the answer came to its end."""
        return self.answer is not None and self.answer.state == "whole"


class Chat:
    """A session with a model. A question is on disk before the model is asked, an answer once it has come.

    Args:
        memory: the person's memory.
        model: who answers; may be changed between two questions.
        session: what is gone on with.
        manner: how.
        notice: told what the person should know, a sentence each.
        heard: told what was learned, from another thread.
        student: the model that learns, None for rules alone; by default the one that answers.
        chance: a number in 0–1, for the experiment.
    """

    def __init__(
        self,
        memory: Memory,
        model: ChatModel,
        session: Session,
        *,
        manner: Manner,
        remembers: bool = True,
        notice: Callable[[str], None],
        heard: Callable[[Learned], None],
        student: Callable[[], ChatModel | None] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.memory = memory
        self.session = session
        self.manner = manner
        self.remembers = remembers
        self.last: Exchange | None = None
        self._notice = notice
        self._heard = heard
        self._noticed: set[str] = set()
        self._pause: threading.Timer | None = None
        self._lesson = Stop()
        self._chance = chance
        self._sent: Prompt | None = None
        self._summary = _Summary()
        # Neither may write into the answer.
        quiet = replace(memory, notice=self._say_once, student=student or (lambda: self.model))
        self._reader = Aside(_hurried(quiet, manner.recall_limit_s), name="recall")
        self._learner = Aside(quiet, name="learn")
        self.use(model)

    def use(self, model: ChatModel) -> None:
        """Let another model answer from now on."""
        self.model = model
        self._gauge = Gauge(model.num_ctx)

    def begin(self, session: Session) -> None:
        """Go on with another session."""
        self.session = session
        self.last = None
        self._summary = _Summary()

    def warm_up(self) -> None:
        """Load what the first recall will need while the person still types."""
        if self.remembers:
            now = self.memory.clock()
            self._reader.do(lambda memory: memory.recall(Query("hello", now=now), is_noted=False))

    def turns(self) -> tuple[Turn, ...]:
        """What has been said, and not been forgotten or kept from this model since by whatever process."""
        try:
            said = self.memory.session(self.session.id).turns
        except NothingMatchedError:
            return ()
        if self.model.local:
            return said
        ids = [turn.memory_id for turn in said]
        private = {each.id for each in self.memory.read().get(ids, now=self.memory.clock()) if each.private}
        return tuple(turn for turn in said if turn.memory_id not in private)

    # --- one exchange -----------------------------------------------------------------------------

    def answer(self, text: str) -> Generator[Piece, None, None]:
        """The answer to what the person says, in pieces as they come; `last` says what became of it.

        Closing the generator stops the model and keeps what has come.

        Raises:
            ModelError: the model cannot be asked, or fails on the way; what has come is kept.
            StoreError: the turn cannot be kept; the model is not asked.
        """
        began = time.perf_counter()
        self._end_pause()
        before = self.turns()
        self._sum_up(before, text)
        without = self._without()
        asked = None if without else self._recall(text, before)
        question = self.memory.save_turn(self.session, "user", text, becomes_memory=self.remembers)
        block = None
        if asked is not None:
            block, without = self._recalled(asked)
        exchange = Exchange(question, self.model.name, block=block, without=without)
        yield from self._stream(exchange, text, before, began)

    def _stream(self, exchange: Exchange, text: str, before: Sequence[Turn], began: float) -> Iterator[Piece]:
        said: list[str] = []
        state: Literal["whole", "stopped", "cut"] = "stopped"
        ended = Answered(None, None)
        first_ms = None
        self._sent = None
        try:
            for part in self._asked(text, before, exchange.block):
                if isinstance(part, Answered):
                    ended, state = part, "whole" if part.reason == "stop" else "cut"
                    continue
                first_ms = _since(began) if first_ms is None else first_ms
                said += [] if part.is_thinking else [part.text]
                yield part
        except ModelError:
            state = "cut"
            raise
        finally:
            self.last = replace(
                exchange,
                block=self._told(exchange.block),
                said="".join(said),
                answer=self._keep_answer("".join(said), state),
                prompt_tokens=ended.prompt_tokens,
                answer_tokens=ended.answer_tokens,
                first_ms=first_ms,
                took_ms=_since(began),
            )
            self._after(self.last)
        if not self.last.answer:
            raise ModelError(f"{self.model.name} gave no answer", "ask again, or choose another model")

    def _asked(self, text: str, before: Sequence[Turn], block: Block | None) -> Iterator[Piece | Answered]:
        """What the model says; asked again with less where it refuses as much as was sent."""
        for tries in range(1, _TRIES + 1):
            sent = self._sent = self._prompt(text, before, block.text if block else "")
            try:
                for part in self.model.stream(sent.messages):
                    if isinstance(part, Answered):
                        self._measure(sent, part.prompt_tokens)
                    yield part
                return
            except PromptTooLongError as error:
                self._gauge = self._gauge.refused(sent.messages, tokens=error.tokens, window=error.room)
                if tries == _TRIES:
                    raise

    def _told(self, block: Block | None) -> Block | None:
        """The memories that the model was told: none, where the question alone fills what it can read."""
        if not block or not block.hits or (self._sent and self._sent.has_block):
            return block
        self._say_once("there was no place for memories beside a question of that length")
        left_out = [(hit.record.id, "no place beside the question") for hit in block.hits]
        return replace(block, text="", hits=(), tokens=0, dropped=(*left_out, *block.dropped))

    def _prompt(self, text: str, before: Sequence[Turn], block: str) -> Prompt:
        language = prompt.language(text, before)
        seen = self._summary.unsummed(before)
        sent = lay_out(
            text,
            system=self._system(language),
            block=block,
            turns=seen,
            history=self.manner.history,
            gauge=self._gauge,
        )
        if sent.is_shortened:
            self._say_once("that is longer than the model can read at once: only its two ends were sent")
        return sent

    def _system(self, language: str) -> str:
        return prompt.system_text(
            language,
            now=self.memory.clock(),
            own=self.manner.system,
            with_memory=self.remembers,
            summary=self._summary.text,
        )

    def _measure(self, sent: Prompt, counted: int | None) -> None:
        if counted is not None and self._gauge.is_cut(sent.messages, counted):
            self._say_once(
                f"{self.model.name} read only {counted:,} tokens of what it was sent, perhaps without the "
                "memories: less is sent from now on, so ask again, or raise chat.num_ctx"
            )
        self._gauge = self._gauge.corrected(sent.messages, counted)

    def _keep_answer(self, said: str, state: Literal["whole", "stopped", "cut"]) -> Turn | None:
        if not said.strip():
            return None
        return self.memory.save_turn(
            self.session, "assistant", said, state=state, model=self.model.name, becomes_memory=self.remembers
        )

    # --- memories ---------------------------------------------------------------------------------

    def _without(self) -> str | None:
        """Why the answer goes without memories; None when it does not."""
        if not self.remembers:
            return OFF
        return EXPERIMENT if self._chance() < self.manner.share_without else None

    def _recall(self, text: str, before: Sequence[Turn]) -> Future[Block]:
        """Begin to look for the memories that help with an answer and are not in the talk already."""
        query = Query(_asked(text), now=self.memory.clock(), k=self.manner.k, filters=self.manner.filters)
        budget = block_budget(
            self._gauge,
            system=self._system(prompt.language(text, before)),
            question=text,
            wanted=self.manner.budget_tokens,
        )
        # With the memories in their place, fewer turns may be sent.
        seen = self._prompt(text, before, "____" * budget)
        is_local = self.model.local
        known = [turn.memory_id for turn in seen.turns]
        return self._reader.do(
            lambda memory: memory.block(query, budget_tokens=budget, allow_private=is_local, known=known)
        )

    def _recalled(self, asked: Future[Block]) -> tuple[Block | None, str | None]:
        """The memories, or why there are none."""
        try:
            block = asked.result(self.manner.recall_limit_s)
            # Who wants no embedder need not be told so each time.
            if block.degraded and self.memory.place.embedder != "none":
                self._say_once(block.degraded)
            return block, None
        except LateError:
            why = f"the memories did not come within {self.manner.recall_limit_s:g} s"
        except MemcliError as error:
            why = error.message
        self._say_once(f"{why}: answering without them")
        return None, why

    def _say_once(self, text: str) -> None:
        if text not in self._noticed:
            self._noticed.add(text)
            self._notice(text)

    # --- what no longer fits ----------------------------------------------------------------------

    def _sum_up(self, turns: Sequence[Turn], question: str) -> None:
        """Have the model sum up what has gone out of its sight; where it fails, that is left out."""
        if self.manner.history.mode != "summary":
            return
        self._summary = self._summary.of(turns)
        seen = len(self._prompt(question, turns, "").turns)
        spoken = self._summary.unsummed(turns)
        unseen = spoken[: len(spoken) - seen]
        if len(exchanges(unseen)) < _UNSEEN_EXCHANGES:
            return
        language = prompt.language(question, turns)
        asked = prompt.ask_for_summary(unseen, before=self._summary.text, language=language)
        try:
            told = self.model.ask(
                lay_out(asked[1].text, system=asked[0].text, gauge=self._gauge).messages,
                prompt.SUMMARY_SCHEMA,
                max_tokens=_SUMMARY_TOKENS,
            )
        except ModelError as error:
            self._say_once(f"the beginning of this talk could not be summed up ({error.message})")
            return
        ids = frozenset(turn.memory_id for turn in unseen)
        self._summary = _Summary(told["summary"], self._summary.ids | ids)

    # --- after the answer -------------------------------------------------------------------------

    def _after(self, exchange: Exchange) -> None:
        """Have done what can wait, beside the conversation: it must not fail it."""
        answer = exchange.answer
        if answer is not None:
            arm: Arm = "without_memory" if exchange.block is None else "with_memory"
            took_ms = exchange.took_ms
            self._later(lambda memory: memory.note_answer(answer, arm=arm, took_ms=took_ms))
        if self.remembers:
            self._later(self._keep_and_learn)
            self._begin_pause()

    def _later(self, job: Callable[[Memory], object]) -> None:
        """Have something done beside the conversation; where it fails, that is said and nothing else."""

        def tell(done: Future[object]) -> None:
            error = done.exception()
            if isinstance(error, MemcliError):
                self._say_once(f"after the answer: {error.message}")

        self._learner.do(job).add_done_callback(tell)

    def _begin_pause(self) -> None:
        """Let the model learn, if the person says nothing for a while."""
        if self.manner.pause_s is None:
            return
        lesson = self._lesson = Stop()
        self._pause = threading.Timer(self.manner.pause_s, lambda: self._later(partial(self._study, lesson)))
        self._pause.daemon = True
        self._pause.start()

    def _end_pause(self) -> None:
        """End the lesson: a server on one's own machine answers nothing else meanwhile."""
        if self._pause is not None:
            self._pause.cancel()
        self._lesson.set()

    # Turned off meanwhile, nothing more is learned.

    def _keep_and_learn(self, memory: Memory) -> None:
        memory.keep_turns()
        if self.remembers:
            self._heard(memory.learn())

    def _study(self, lesson: Stop, memory: Memory) -> None:
        if self.remembers and not lesson.is_set:
            self._heard(memory.study(until=time.monotonic() + _LESSON_S, stop=lesson))

    def _study_until(self, until: float, memory: Memory) -> None:
        left_s = until - time.monotonic()
        if self.remembers and left_s > 0:
            self._heard(memory.study_some(limit_s=left_s))

    def close(self) -> None:
        """Do what is left, for a moment; the rest is done by later commands."""
        self._end_pause()
        until = time.monotonic() + _AT_END_S
        self._later(partial(self._study_until, until - _WRITE_DOWN_S))
        for aside in (self._learner, self._reader):
            aside.close(timeout_s=max(0.0, until - time.monotonic()))


@dataclass(frozen=True, slots=True)
class _Summary:
    """What was said in the turns of these ids, in short."""

    text: str = ""
    ids: frozenset[str] = frozenset()

    def of(self, turns: Sequence[Turn]) -> _Summary:
        """Itself, or an empty one where a turn has been forgotten: its words may be in the summary."""
        return self if self.ids <= {turn.memory_id for turn in turns} else _Summary()

    def unsummed(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        """The turns with words in them that it does not tell of."""
        return [turn for turn in turns if turn.text and turn.memory_id not in self.ids]


class Aside:
    """A thread that works beside the conversation, one thing after the other, with a memory of its own.

    (An open side store stays in its thread.) What a process cannot wait for at its end is left undone: the
    thread does not keep it alive.
    """

    def __init__(self, memory: Memory, *, name: str) -> None:
        self._memory = replace(memory)
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def do(self, job: Callable[[Memory], T]) -> Future[T]:
        """Have a job done. Its MemcliError comes with the result."""
        done: Future[T] = Future()

        def work() -> None:
            try:
                done.set_result(job(self._memory))
            except MemcliError as error:
                done.set_exception(error)
            self._memory.settle()

        self._jobs.put(work)
        return done

    def close(self, *, timeout_s: float) -> None:
        """Finish what is queued, but wait no longer than this."""
        self._jobs.put(None)
        self._thread.join(timeout_s)

    def _work(self) -> None:
        while job := self._jobs.get():
            job()
        self._memory.close()


def _hurried(memory: Memory, limit_s: float) -> Memory:
    """The memory with an embedder that leaves time for an answer from keywords within the limit."""
    place = memory.place
    return replace(memory, place=replace(place, embed_timeout_s=min(place.embed_timeout_s, limit_s / 2)))


def _asked(text: str) -> str:
    """What memories are looked for with: of something pasted, what it begins and ends with."""
    return text if len(text) <= _ASKED_CHARS else f"{text[: _ASKED_CHARS // 2]}\n{text[-_ASKED_CHARS // 2 :]}"


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
