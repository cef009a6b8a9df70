"""A session on a terminal: what is typed, what is answered, and the commands that begin with a slash."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memcli.chat import PAUSE_S, WARM_RECALL_S, Manner
from memcli.cli.chat import Notices, forgets, name_host, open_chat, show_answer, show_why
from memcli.cli.forget import carry_out
from memcli.cli.models import pick_model
from memcli.cli.output import report_error
from memcli.cli.write import say_remembered
from memcli.errors import MemcliError, NothingMatchedError, UsageError
from memcli.memory import Draft
from memcli.text import regex
from memcli.types import Filters, Learned, Query, Record, Selection, Session

if TYPE_CHECKING:
    from memcli.cli.run import Run

_PAST_INPUTS = 500
_LISTED = 10
_COMMAND = regex(r"/(\w+)(?:\s+(.*))?", re.DOTALL)


def talk(run: Run, *, session: Session | None, manner: Manner, remembers: bool, with_why: bool) -> None:
    """Hold a session until the person leaves."""
    warm = replace(manner, recall_limit_s=WARM_RECALL_S, pause_s=PAUSE_S)
    Talk(run, session=session, manner=warm, remembers=remembers, with_why=with_why).hold()


class Talk:
    """One person at one terminal.

    Args:
        run: the run of the command.
        session: what is gone on with, None for a new one.
        manner: how the conversation is held.
        remembers: whether memory is on.
        with_why: whether every answer is followed by what went into it.
    """

    def __init__(
        self, run: Run, *, session: Session | None, manner: Manner, remembers: bool, with_why: bool
    ) -> None:
        self.run = run
        self.is_over = False
        self.learned: Sequence[Record] = ()
        self.notices = Notices(run.out)
        self._with_why = with_why
        self.chat = open_chat(
            run,
            pick_model(run),
            session=session,
            manner=manner,
            remembers=remembers,
            notices=self.notices,
            heard=self._heard,
        )

    def hold(self) -> None:
        """Greet, then hear and answer."""
        self.chat.warm_up()
        self._greet()
        try:
            while not self.is_over:
                self._hear()
        finally:
            self.chat.close()

    def say(self, text: str) -> None:
        """Tell the person something."""
        self.notices.say(text)

    def _heard(self, learned: Learned) -> None:
        self.learned = learned.added or self.learned
        self.notices.say_learned(learned, remedy=" · /undo")

    def _greet(self) -> None:
        chat = self.chat
        memory = "on" if chat.remembers else "off"
        self.say(f"{chat.model.name} · memory {memory} · /help shows the commands, Ctrl-D leaves")
        if chat.session.count:
            self.say(f"going on with “{chat.session.title or chat.session.id}” ({chat.session.count} turns)")

    # --- hearing ----------------------------------------------------------------------------------

    def _hear(self) -> None:
        try:
            past = self.run.memory.past_inputs(_PAST_INPUTS)
            said = self.run.out.read_entry(past=past, complete=completions).strip()
            command = _COMMAND.fullmatch(said)
            if command:
                self._obey(command[1], (command[2] or "").strip())
            elif said and forgets(self.run, said):
                self.chat.last = None
            elif said:
                self.answer(said)
        except EOFError:
            self.is_over = True
        except KeyboardInterrupt:
            self.say("(Ctrl-D leaves)")
        except MemcliError as error:
            report_error(error, as_json=False)

    def _obey(self, name: str, words: str) -> None:
        import difflib

        slash = _BY_NAME.get(name.casefold())
        if slash is None:
            near = difflib.get_close_matches(name, _BY_NAME, n=1)
            hint = f"did you mean /{near[0]}?" if near else "see /help"
            raise UsageError(f"there is no command /{name}", hint)
        slash.do(self, words)

    def answer(self, said: str) -> None:
        """Answer what is said; Ctrl-C stops the answer only."""
        self.run.out.line()
        try:
            show_answer(self.run, self.chat, said, self.notices)
        except KeyboardInterrupt:
            self.say("stopped; what has come is kept")
        finally:
            self.run.out.line()
        if self._with_why and self.chat.last:
            show_why(self.run, self.chat.last)


# --- the commands ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slash:
    """A command of a session: `takes` are the words after it, `words` what they can be completed to."""

    name: str
    takes: str
    help: str
    do: Callable[[Talk, str], None]
    words: tuple[str, ...] = ()


def _help(talk: Talk, _: str) -> None:
    told = [(f"/{slash.name} {slash.takes}".strip(), slash.help) for slash in SLASHES]
    talk.run.out.pairs("", [*told, ("Esc Enter", "a new line"), ("Ctrl-C", "stops an answer")])


def _why(talk: Talk, _: str) -> None:
    exchange = talk.chat.last
    if exchange is None:
        raise NothingMatchedError("there is no answer yet", "ask something first")
    told = {hit.record.id for hit in exchange.block.hits} if exchange.block else set()
    there = {record.id for record in talk.run.memory.read().get(list(told), now=talk.run.now())}
    show_why(talk.run, exchange, forgotten=told - there)


def _memories(talk: Talk, words: str) -> None:
    memory, filters = talk.run.memory, Filters(project=talk.run.settings.project)
    if words:
        found = memory.recall(Query(words, now=talk.run.now(), k=_LISTED, filters=filters))
        talk.run.out.memories(
            [hit.record for hit in found.hits],
            scores={hit.record.id: hit.score for hit in found.hits},
            excerpts={hit.record.id: hit.excerpt for hit in found.hits if hit.excerpt},
        )
        return
    known = Filters(project=talk.run.settings.project, kinds=_LEARNED_KINDS)
    talk.run.out.memories(memory.list(known, n=_LISTED)[0])


_LEARNED_KINDS = ("identity", "preference", "decision", "fact", "document", "summary")


def _remember(talk: Talk, words: str) -> None:
    draft = Draft(text=words, source="chat", project=talk.run.settings.project)
    done = talk.run.memory.remember(draft)
    talk.learned = done.added
    say_remembered(talk.run, done)


def _forget(talk: Talk, words: str) -> None:
    if not words:
        raise UsageError("what is to be forgotten?", "say what it is about: /forget Corin")
    carry_out(talk.run, talk.run.memory.plan_forget(Selection(query=words)))
    talk.chat.last = None


def _good(talk: Talk, _: str) -> None:
    _judge(talk, is_good=True)


def _bad(talk: Talk, _: str) -> None:
    _judge(talk, is_good=False)


def _judge(talk: Talk, *, is_good: bool) -> None:
    answer = talk.chat.last.answer if talk.chat.last else None
    if answer is None:
        raise NothingMatchedError("there is no answer to judge", "ask something first")
    talk.run.memory.note_feedback(answer, is_good=is_good)
    talk.say("noted; `memcli stats` counts it")


def _memory(talk: Talk, words: str) -> None:
    if words not in ("on", "off", ""):
        raise UsageError(f"memory cannot be {words!r}", "it is on or off")
    if words:
        talk.chat.remembers = words == "on"
    told = "memories are used and made" if talk.chat.remembers else "nothing is injected, nothing is learned"
    talk.say(f"memory is {'on' if talk.chat.remembers else 'off'}: {told}")


def _model(talk: Talk, words: str) -> None:
    talk.run.choose_model(words or None)
    talk.chat.use(pick_model(talk.run))
    talk.say(f"{talk.chat.model.name} answers from now on")
    name_host(talk.chat.model, talk.notices)


def _undo(talk: Talk, _: str) -> None:
    if not talk.learned:
        raise NothingMatchedError("nothing was learned in this session", "/forget takes what was before")
    memory, learned = talk.run.memory, talk.learned
    if set(memory.undo(dry_run=True).removed) != {record.id for record in learned}:
        raise UsageError("something else was remembered or changed since", "see `memcli undo --list`")
    memory.undo()
    talk.learned, talk.chat.last = (), None
    for record in learned:
        talk.say(f"no longer remembered: {record.text}")


def _new(talk: Talk, _: str) -> None:
    chat = talk.chat
    project = talk.run.settings.project
    chat.begin(talk.run.memory.begin_session(project=project, model=chat.model.name))
    talk.say("a new session")


def _sessions(talk: Talk, words: str) -> None:
    if words:
        talk.chat.begin(talk.run.memory.session(words))
        talk.say(f"going on with “{talk.chat.session.title or talk.chat.session.id}”")
        return
    from memcli.times import local_zone, to_day

    rows = [
        (session.id, f"{to_day(session.last_at or session.started_at, tz=local_zone())}  {session.title}")
        for session in talk.run.memory.sessions()[:_LISTED]
    ]
    talk.run.out.pairs("", rows)
    talk.say("/sessions ID goes on with one")


def _export(talk: Talk, words: str) -> None:
    from memcli.cli.output import to_json_text
    from memcli.sessions import messages

    session = talk.run.memory.session(talk.chat.session.id)
    lines = "".join(to_json_text(message) + "\n" for message in messages(session))
    if not words:
        talk.run.out.write(lines)
        return
    from pathlib import Path

    from memcli.atomic import write_atomically

    write_atomically(Path(words).expanduser(), lambda stream: stream.write(lines.encode()))
    talk.say(f"{len(session.turns)} turns are in {words}; `memcli import` takes them back")


def _quit(talk: Talk, _: str) -> None:
    talk.is_over = True


SLASHES = (
    Slash("help", "", "what can be typed here", _help),
    Slash("why", "", "which memories went into the last answer, and what was left out", _why),
    Slash("memories", "[WORDS]", "what is remembered, the newest or about something", _memories),
    Slash("remember", "TEXT", "remember this", _remember),
    Slash("forget", "WORDS", "erase what is remembered about this", _forget),
    Slash("undo", "", "take back what was remembered or learned last", _undo),
    Slash("good", "", "the last answer was good", _good),
    Slash("bad", "", "the last answer was bad", _bad),
    Slash("memory", "on|off", "use and make memories, or stop both at once", _memory, ("on", "off")),
    Slash("model", "[NAME]", "let another model answer", _model),
    Slash("new", "", "begin a new session", _new),
    Slash("sessions", "[ID]", "earlier sessions, or go on with one", _sessions),
    Slash("export", "[FILE]", "this session as JSON lines", _export),
    Slash("quit", "", "leave", _quit),
)
_BY_NAME = {slash.name: slash for slash in SLASHES}


def completions(text: str) -> Iterable[tuple[str, str]]:
    """What a line that begins with a slash can go on as: (the last word whole, what it does)."""
    name, space, word = text.removeprefix("/").partition(" ")
    if not text.startswith("/") or "\n" in text:
        return []
    if not space:
        return [(f"/{slash.name}", slash.help) for slash in SLASHES if slash.name.startswith(name)]
    words = _BY_NAME[name].words if name in _BY_NAME else ()
    return [(each, "") for each in words if each.startswith(word)]
