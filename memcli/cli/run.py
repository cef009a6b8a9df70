"""What every command is given: its settings, its output, and the memory it works on."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memcli.cli.output import Output, elapsed_ms
from memcli.config import Settings, load_settings
from memcli.errors import UsageError
from memcli.times import Span, local_zone, parse_typed_time
from memcli.types import KINDS, Filters, Millis

if TYPE_CHECKING:
    from memcli.memory import Memory
    from memcli.types import ChatModel


def common(
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="Whose memories; each user is stored apart.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="A label inside a user.")
    ] = None,
    data_dir: Annotated[
        str | None, typer.Option("--data-dir", metavar="DIR", help="Where memories are kept.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No messages, only results and errors.")
    ] = False,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="Timings; -vv tracebacks as well.")
    ] = 0,
) -> None:
    """The options that every command takes. This function is a signature; nothing calls it."""


@dataclass
class Run:
    """One run of a command. Its settings are read when first asked for: `config set` mends bad ones."""

    flags: dict[str, str | None]
    out: Output
    began: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, options: dict[str, Any]) -> Run:
        """A run with the common options as they were given."""
        output = Output(
            as_json=options["as_json"],
            quiet=options["quiet"],
            verbose=options["verbose"],
            color="never" if options["no_color"] else "auto",
        )
        return cls({name: options[name] for name in ("user", "project", "data_dir")}, output)

    @cached_property
    def settings(self) -> Settings:
        """The settings in force. Raises UsageError for a bad one."""
        import os

        settings = load_settings(self.flags, environ=os.environ)
        if self.out.color == "auto":
            self.out.color = settings.color
        return settings

    def choose_model(self, name: str | None) -> None:
        """Let another chat model be the one that is set, for this run; None for the one of the settings."""
        self.flags["chat.model"] = name
        self.__dict__.pop("settings", None)

    @cached_property
    def memory(self) -> Memory:
        """The memory that the settings name."""
        from memcli.memory import open_memory
        from memcli.weights import half_lives

        settings = self.settings
        return open_memory(
            settings.user,
            data_dir=settings.data_dir,
            clock=self.now,
            notice=self.out.message,
            student=self._pick_student if self.has_student else None,
            embedder=settings.embedder,
            ollama_host=settings.ollama_host,
            embed_timeout_s=settings.embed_timeout_s,
            lock_timeout_s=settings.lock_timeout_s,
            half_life_days=half_lives(settings.recall_half_life_days),
            learns=settings.memory,
            has_model=self.has_student,
        )

    def _pick_student(self) -> ChatModel | None:
        from memcli.cli.models import pick_student

        return pick_student(self)

    @property
    def has_student(self) -> bool:
        """Whether a model is set that learns what rules do not see."""
        return (self.settings.learn_model or self.settings.chat_model or "none") != "none"

    def now(self) -> Millis:
        """The clock: MEMCLI_NOW, else the machine's."""
        return time.time_ns() // 1_000_000 if self.settings.now is None else self.settings.now

    def span(self, text: str | None) -> Span | None:
        """A time as a person types it; None when nothing was typed. Raises UsageError."""
        return parse_typed_time(text, now=self.now(), tz=local_zone()) if text else None

    def settle(self) -> None:
        """Let the answer go out, then do what could wait."""
        sys.stdout.flush()
        self.out.timing(f"took {elapsed_ms(self.began)} ms")
        if "memory" in self.__dict__:
            self.memory.settle()
            self.memory.close()


def or_subcommand(ctx: typer.Context) -> bool:
    """Whether a subcommand does the work: it is given the options that stand before its name too."""
    if ctx.invoked_subcommand is None:
        return False
    ctx.default_map = {ctx.invoked_subcommand: ctx.params}
    return True


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The options that narrow what a command reads; a command that takes one has them all."""

    kind: Annotated[
        list[str] | None, typer.Option("--kind", metavar="KIND", help="Only of this kind; may be repeated.")
    ] = None
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="T", help="Only with this label; may be repeated.")
    ] = None
    role: Annotated[str | None, typer.Option("--role", metavar="ROLE", help="Only what this role said.")] = (
        None
    )
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Not older than this.")] = None
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Not newer than this.")] = None
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="As the store would have answered then.")
    ] = None
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="A", help="Only what this agent may see.")
    ] = None
    current: Annotated[bool, typer.Option("--current", help="Without what something newer has replaced.")] = (
        False
    )

    def filters(self, run: Run, *, project_only: bool = False) -> Filters:
        """What they ask for; `project_only` leaves out what carries no label. Raises UsageError."""
        first, last, asked_of = run.span(self.since), run.span(self.until), run.span(self.as_of)
        return Filters(
            kinds=tuple(filter(None, (one_of("--kind", word, KINDS) for word in self.kind or ()))),
            topics=tuple(filter(None, self.topic or ())),
            project=run.settings.project_flag if project_only else run.settings.project,
            project_only=project_only,
            role=self.role or None,
            since=first.start if first else None,
            until=last.end if last else None,
            as_of=asked_of.end if asked_of else None,
            agent=self.agent or None,
            current=self.current,
        )


def one_of(option: str, value: str | None, allowed: Sequence[str]) -> str | None:
    """The value of an option that is one of a few words; None when it was not given. Raises UsageError."""
    if not value:
        return None
    for word in allowed:
        if value.casefold() == word.casefold():
            return word
    raise UsageError(f"{option} cannot be {value!r}", f"it is one of {', '.join(allowed)}")


def text_or_stdin(words: list[str] | None, *, what: str) -> str:
    """The words of an argument, or standard input for `-` or nothing.

    Raises:
        UsageError: nothing was given and standard input is a terminal.
    """
    if words and words != ["-"]:
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise UsageError(f"{what} is missing", "give it as an argument, or - to read standard input")
    return read_stdin()


def read_stdin() -> str:
    """Standard input as text, without the newline at its end. Raises UsageError when it is not UTF-8."""
    raw = sys.stdin.buffer.read()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            "standard input is not UTF-8 text", "convert it first, for example with iconv"
        ) from error
    return text.replace("\x00", "").removesuffix("\n")
