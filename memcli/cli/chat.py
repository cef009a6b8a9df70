"""chat: one question with one answer; a session on a terminal is in talk.py."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memcli.cli.forget import carry_out
from memcli.cli.models import pick_model, pick_student
from memcli.cli.run import Narrowing, Run, read_stdin
from memcli.errors import ModelError, StoppedError, UsageError
from memcli.history import parse_history
from memcli.types import Selection

if TYPE_CHECKING:
    from memcli.chat import Chat, Exchange, Manner
    from memcli.cli.output import Output
    from memcli.types import ChatModel, Learned, Session


def chat(
    run: Run,
    message: Annotated[
        list[str] | None,
        typer.Argument(metavar="MESSAGE", help="What you say; - reads standard input; nothing: a session."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Who answers.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID|last", help="Go on with this session.")
    ] = None,
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Inject nothing and learn nothing.")] = False,
    history: Annotated[
        str | None,
        typer.Option("--history", metavar="buffer|window:N|summary", help="What is sent along."),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="FILE", help="Your own system text in place of ours.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="The most that memories may take.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Show which memories went into the answer.")] = False,
) -> None:
    """Talk with a model that remembers: one answer to a message, or a session on a terminal.

    Examples:
      memcli chat
      memcli chat "which build tool shall I take for the new service?"
      git diff | memcli chat - --system review.txt --no-memory
      memcli chat --session last --history window:6
    """
    run.flags |= {"chat.model": model, "chat.history": history}
    said = _said(message, as_json=run.out.as_json)
    manner = _manner(run, system=system, budget=budget)
    going_on = run.memory.session(session) if session else None
    remembers = run.settings.memory and not no_memory
    if said is None:
        from memcli.cli.talk import talk

        talk(run, session=going_on, manner=manner, remembers=remembers, with_why=why)
        return
    if forgets(run, said):
        return
    notices = Notices(run.out)
    begun = open_chat(
        run,
        pick_model(run),
        session=going_on,
        manner=manner,
        remembers=remembers,
        notices=notices,
        heard=notices.say_learned,
    )
    _answer_once(run, begun, said, notices, with_why=why)


def _said(words: list[str] | None, *, as_json: bool) -> str | None:
    """What is said; None when a person sits at a terminal and wants a session. Raises UsageError."""
    if not words and sys.stdin.isatty():
        if sys.stdout.isatty() and not as_json:
            return None
        raise UsageError("there is no message", "give it as an argument, or - to read standard input")
    said = " ".join(words) if words and words != ["-"] else read_stdin()
    if not said.strip():
        raise UsageError("the message is empty", "say something, or call `memcli chat` on a terminal")
    return said


def _manner(run: Run, *, system: str | None, budget: int | None) -> Manner:
    from memcli.chat import COLD_RECALL_S, Manner

    if budget is not None and budget < 0:
        raise UsageError(f"--budget cannot be {budget}", "it is 0 or more")
    return Manner(
        history=parse_history(run.settings.chat_history),
        budget_tokens=run.settings.budget if budget is None else budget,
        k=run.settings.k,
        filters=Narrowing().filters(run),
        system=_read_system(system) if system else None,
        share_without=run.settings.chat_ab,
        recall_limit_s=COLD_RECALL_S,
        pause_s=None,
    )


def _read_system(name: str) -> str:
    if name == "-":
        raise UsageError("the system text cannot come from standard input", "name a file")
    try:
        return Path(name).read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{name} cannot be read ({error.strerror})", "name a file with your text") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 text", "save it as UTF-8") from error


def open_chat(
    run: Run,
    model: ChatModel,
    *,
    session: Session | None,
    manner: Manner,
    remembers: bool,
    notices: Notices,
    heard: Callable[[Learned], None],
) -> Chat:
    """A conversation that begins, or goes on with a session; says where the words go when they go away."""
    from memcli.chat import Chat

    name_host(model, notices)
    return Chat(
        run.memory,
        model,
        session or run.memory.begin_session(project=run.settings.project, model=model.name),
        manner=manner,
        remembers=remembers,
        notice=notices.say,
        heard=heard,
        student=partial(pick_student, run, model),
    )


def forgets(run: Run, said: str) -> bool:
    """Whether that asks to forget something: then it is forgotten, after a yes, and the model hears nothing.

    Raises:
        NothingMatchedError: nothing is remembered of it, or the person said no.
        UsageError: there is nobody to ask.
    """
    from memcli.extract.forgetting import forget_request

    request = forget_request(said)
    if request is not None:
        carry_out(run, run.memory.plan_forget(Selection(query=request)))
    return request is not None


def name_host(model: ChatModel, notices: Notices) -> None:
    """Say so when what is said leaves this machine."""
    if not model.local:
        notices.say(
            f"what you say goes to {model.name} through {model.host} and leaves this machine; "
            "private memories are kept from it"
        )


class Notices:
    """What the person should know meanwhile, from any thread: it never stands inside an answer."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._held: list[str] | None = None

    def say(self, text: str) -> None:
        """Say it now, or after the answer that is being shown."""
        if self._held is None:
            self._out.message(text)
        else:
            self._held.append(text)

    def say_learned(self, learned: Learned, *, remedy: str = "") -> None:
        """Say what was learned, and what it takes to have it otherwise."""
        for record in learned.taken_back:
            self.say(f"taken back: {record.text}")
        for record in learned.added:
            self.say(f"learned: {record.text}{remedy}")
        for proposal in learned.proposed:
            self.say(f"{proposal.extracted.text}? `memcli review` asks what holds")

    @contextmanager
    def after(self) -> Iterator[None]:
        """Say nothing as long as this lasts, and then all of it."""
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for text in held:
                self._out.message(text)


def show_answer(run: Run, chat: Chat, said: str, notices: Notices) -> None:
    """Ask, and show the answer as it comes. Raises what `answer` does; what has come is shown and kept."""
    shown = run.out.answering(with_thinking=run.settings.chat_thinking)
    with notices.after(), shown as answer, closing(chat.answer(said)) as pieces:
        for piece in pieces:
            answer.add(piece)


def _answer_once(run: Run, chat: Chat, said: str, notices: Notices, *, with_why: bool) -> None:
    failure = None
    try:
        show_answer(run, chat, said, notices)
    except ModelError as error:
        failure = error
    run.out.flush()
    exchange = chat.last
    if failure and (exchange is None or exchange.answer is None):
        chat.close()
        raise failure
    assert exchange is not None
    if run.out.as_json:
        run.out.document(exchange_json(exchange))
        run.out.flush()
    elif with_why:
        show_why(run, exchange)
    if not exchange.is_whole and not failure:
        run.out.message("the model stopped at the length it may have: the answer is not whole")
    chat.close()
    if failure:
        raise StoppedError(
            f"the answer is not whole: {failure.message}",
            f"go on with `memcli chat --session {chat.session.id}`",
        ) from failure


# --- what went into an answer ---------------------------------------------------------------------


def exchange_json(exchange: Exchange) -> dict[str, Any]:
    """An answer as CLI.md says."""
    block = exchange.block
    return {
        "answer": exchange.said,
        "model": exchange.model,
        "session_id": exchange.question.session_id,
        "memories": [{"id": hit.record.id, "score": hit.score} for hit in block.hits] if block else [],
        "dropped": [{"id": id_, "why": why} for id_, why in block.dropped] if block else [],
        "tokens": {"prompt": exchange.prompt_tokens, "answer": exchange.answer_tokens},
        "took_ms": exchange.took_ms,
        "incomplete": not exchange.is_whole,
    }


def show_why(run: Run, exchange: Exchange, *, forgotten: Collection[str] = ()) -> None:
    """Every memory that went into an answer, with its score and what it cost, and what was left out."""
    from memcli.cli.output import one_line, parts_told
    from memcli.inject import item_tokens

    block = exchange.block
    if block is None:
        run.out.message(f"no memories: {exchange.without}")
        return
    if not block.hits:
        run.out.message("no memory helps with that")
    for hit, tokens in zip(block.hits, item_tokens(block), strict=True):
        if hit.record.id in forgotten:
            run.out.message(f"{hit.record.id[:8]}  forgotten since")
            continue
        shown = one_line((hit.excerpt or hit.record.text)[:80])
        told = parts_told({name: part for name, part in hit.parts.items() if part}) or "always told"
        # What is told whatever the question was not asked how well it answers.
        score = f"{hit.score:.2f}" if hit.parts else "   –"
        run.out.message(f"{hit.record.id[:8]}  {score}  {tokens} tokens  {shown}\n          {told}")
    for id_, reason in block.dropped:
        run.out.message(f"{id_[:8]}  left out: {reason}")
    run.out.message(f"{block.tokens} of {block.budget} tokens")
