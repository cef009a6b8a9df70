"""All that a person or a script sees: the only code that prints, prompts or draws progress."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from memcli.errors import MemcliError, UsageError
from memcli.text import neutral, plain_json, regex
from memcli.times import local_zone, to_day
from memcli.types import Record

if TYPE_CHECKING:
    from rich.console import Console

    from memcli.cli.answer import Answer

_EXCERPT_LINES = 4
_ID_SHOWN = 8
_BARS = "▁▂▃▄▅▆▇█"


_LINE_END = regex("[\n\r\u2028\u2029]")


def one_line(text: str) -> str:
    r"""Neutral text in one line: a newline is `\n`, a tab `\t`, a backslash `\\`."""
    escaped = text.replace("\\", "\\\\").replace("\r\n", "\n").replace("\t", "\\t")
    return neutral(_LINE_END.sub(r"\\n", escaped))


def to_json_text(value: object, *, indent: int | None = None) -> str:
    """JSON as we print it: exact text, escaped only where a terminal would obey it."""
    return plain_json(json.dumps(value, ensure_ascii=False, indent=indent))


@dataclass(slots=True)
class Output:
    """Where answers (stdout) and messages (stderr) go, and how they look."""

    as_json: bool = False
    as_ndjson: bool = False
    quiet: bool = False
    verbose: int = 0
    color: str = "auto"

    @property
    def is_tty(self) -> bool:
        """Whether a person reads the answer."""
        return sys.stdout.isatty() and not self.as_json and not self.as_ndjson

    @property
    def is_plain(self) -> bool:
        """Whether there is to be no colour (no-color.org)."""
        return self.color == "never" or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"

    @property
    def can_ask(self) -> bool:
        """Whether a person can be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def stream_json(self, wanted: bool) -> None:
        """Answer with an object a line when `wanted`. Raises UsageError beside --json."""
        if wanted and self.as_json:
            raise UsageError("--json and --ndjson cannot both be", "choose one document, or an object a line")
        self.as_ndjson = wanted

    # --- answers ----------------------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Put text on stdout as it is."""
        sys.stdout.write(text)

    def line(self, text: str = "") -> None:
        """One line of the answer, without what a terminal would obey."""
        sys.stdout.write(neutral(text) + "\n")

    def flush(self) -> None:
        """Let the answer go out now: what follows takes a while."""
        sys.stdout.flush()

    def document(self, value: object) -> None:
        """The one JSON document of a command."""
        self.line(to_json_text(value, indent=2 if sys.stdout.isatty() else None))

    def object(self, value: object) -> None:
        """One of many JSON objects, out as soon as it is there."""
        self.line(to_json_text(value))
        sys.stdout.flush()

    # --- messages ---------------------------------------------------------------------------------

    def message(self, text: str) -> None:
        """Something the person should know; dropped by --quiet."""
        if not self.quiet:
            sys.stderr.write(neutral(text) + "\n")

    def timing(self, text: str) -> None:
        """How long something took; shown by -v."""
        if self.verbose:
            sys.stderr.write(text + "\n")

    def confirm(self, question: str, *, yes: bool) -> bool:
        """Whether to go on with something dangerous.

        Raises:
            UsageError: there is nobody to ask and no --yes.
        """
        if yes:
            return True
        if not self.can_ask:
            raise UsageError(
                "this needs a yes, and there is nobody to ask", "add --yes, or look with --dry-run"
            )
        sys.stderr.write(neutral(f"{question} [y/N] "))
        sys.stderr.flush()
        return sys.stdin.readline().strip().casefold() in ("y", "yes", "是", "好")

    def ask(self, question: str) -> str:
        """What a person answers to a question."""
        sys.stderr.write(neutral(question) + " ")
        sys.stderr.flush()
        return sys.stdin.readline().strip()

    def ask_secret(self, question: str) -> str:
        """What a person answers without seeing it."""
        from getpass import getpass

        return getpass(neutral(question) + " ")

    @contextmanager
    def progress(self, what: str, *, unit: str = "") -> Iterator[Callable[[int, int], None]]:
        """A bar with the time left, on a terminal; yields a function that takes (done, all)."""
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield lambda _done, _all: None
            return
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[counted]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._console(sys.stderr), transient=True) as bars:
            task = bars.add_task(what, total=None, counted="")

            def update(done: int, total: int) -> None:
                bars.update(task, completed=done, total=total, counted=f"{done:,}/{total:,} {unit}".strip())

            yield update

    # --- a conversation ---------------------------------------------------------------------------

    @contextmanager
    def answering(self, *, with_thinking: bool) -> Iterator[Answer]:
        """Where an answer is shown as it comes: Markdown on a terminal, else its letters and nothing else."""
        from memcli.cli.answer import HiddenAnswer, MarkdownAnswer, PlainAnswer

        with ExitStack() as stack:
            answer: Answer = HiddenAnswer() if self.as_json else PlainAnswer(sys.stdout)
            if self.is_tty and os.environ.get("TERM") != "dumb":
                from rich.live import Live

                live = Live(
                    console=self._console(sys.stdout),
                    auto_refresh=False,
                    transient=True,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                answer = MarkdownAnswer(stack.enter_context(live), with_thinking=with_thinking)
            # Also of an answer that was stopped, what has come stays to be read.
            stack.callback(answer.end)
            yield answer

    def read_entry(self, *, past: Sequence[str], complete: Callable[[str], Iterable[tuple[str, str]]]) -> str:
        """What a person types at the prompt of a session; messages meanwhile appear above it.

        Enter ends it, Esc and Enter begins a new line, and what is pasted keeps its lines.

        Args:
            past: what the keys ↑ and ↓ bring back, the newest at the end.
            complete: the ways a line can go on: (its last word whole, what that is).

        Raises:
            EOFError: Ctrl-D.
            KeyboardInterrupt: Ctrl-C.
        """
        from prompt_toolkit.patch_stdout import patch_stdout

        from memcli.cli.entry import entry

        with patch_stdout(raw=True):
            return entry(past=past, complete=complete, is_plain=self.is_plain).prompt()

    # --- memories ---------------------------------------------------------------------------------

    def memories(
        self,
        records: Iterable[Record],
        *,
        scores: Mapping[str, float] | None = None,
        excerpts: Mapping[str, str] | None = None,
        parts: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        """Memories for a person, or one tab-separated line each: id, date, kind, (score, parts,) text."""
        excerpts = excerpts or {}
        parts = parts or {}
        if self.is_tty:
            console = self._console(sys.stdout)
            for record in records:
                self._memory(console, record, excerpts.get(record.id), (scores or {}).get(record.id))
                if record.id in parts:
                    counted = {name: part for name, part in parts[record.id].items() if part}
                    self.line(f"  {parts_told(counted)}\n")
            return
        for record in records:
            shown = excerpts.get(record.id) or record.text
            fields = [
                record.id,
                to_day(record.created_at) if record.created_at is not None else "",
                record.kind,
            ]
            if scores is not None:
                fields.append(f"{scores[record.id]:.3f}")
            if record.id in parts:
                fields.append(parts_told(parts[record.id]))
            self.line("\t".join([*fields, one_line(shown)]))

    def _memory(self, console: Console, record: Record, excerpt: str | None, score: float | None) -> None:
        from rich.text import Text

        head = Text()
        head.append(record.id[:_ID_SHOWN], style="cyan")
        when = "undated" if record.created_at is None else to_day(record.created_at, tz=local_zone())
        head.append(f"  {when}", style="bold")
        marks = [record.kind, record.priority] + [f"#{topic}" for topic in record.topics]
        marks += [mark for mark, is_so in _marks(record) if is_so]
        head.append("  " + neutral(" ".join(marks)), style="dim")
        said_by = record.name or record.role
        head.append("  " + neutral(f"{said_by} · {record.source}" if said_by else record.source), style="dim")
        if score is not None:
            head.append(f"  {score:.2f}", style="green")
        console.print(head, soft_wrap=True)
        for line in _first_lines(excerpt or record.text, console):
            console.print(f"  {line}", soft_wrap=True)
        console.print()

    def pairs(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        """Names and values: aligned for a person, tab-separated for a script."""
        if not self.is_tty:
            for name, value in rows:
                self.line(f"{name}\t{one_line(value)}")
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title, show_header=False, box=None, title_justify="left", title_style="bold")
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in rows:
            table.add_row(name, Text(neutral(value)))
        self._console(sys.stdout).print(table)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows of cells: aligned below their heads for a person, tab-separated for a script."""
        if not self.is_tty:
            for row in rows:
                self.line("\t".join(map(one_line, row)))
            return
        if not rows:
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, header_style="dim")
        for head in heads:
            table.add_column(head, overflow="fold")
        for row in rows:
            table.add_row(*(Text(neutral(cell)) for cell in row))
        self._console(sys.stdout).print(table)

    def paragraph(self, head: str, text: str) -> None:
        """A text in full below a line on it, on a terminal."""
        from rich.text import Text

        console = self._console(sys.stdout)
        console.print(Text(neutral(head), style="cyan"), soft_wrap=True)
        console.print(Text(neutral(text.replace("\r\n", "\n"))))
        console.print()

    def text(self, text: str) -> None:
        """A text as it is, and a newline; on a terminal what it would obey is neutral."""
        self.write((neutral(text) if self.is_tty else text) + "\n")

    def bars(self, title: str, counts: Mapping[str, int]) -> None:
        """Counts as bars, on a terminal."""
        if not self.is_tty or not counts:
            return
        from rich.table import Table
        from rich.text import Text

        most = max(counts.values())
        table = Table(title=title, show_header=False, box=None, title_justify="left", title_style="bold")
        table.add_column(no_wrap=True)
        table.add_column(justify="right")
        table.add_column()
        for name, count in counts.items():
            table.add_row(
                neutral(name), f"{count:,}", Text("█" * max(1, round(30 * count / most)), style="cyan")
            )
        self._console(sys.stdout).print(table)

    def sparkline(self, title: str, counts: Sequence[int]) -> None:
        """Counts in time as one line of small bars, on a terminal."""
        if self.is_tty and any(counts):
            most = max(counts)
            bars = "".join(" " if not count else _BARS[(len(_BARS) - 1) * count // most] for count in counts)
            self.line(f"{title}  {bars}")

    def _console(self, stream: IO[str]) -> Console:
        from rich.console import Console

        return Console(
            file=stream,
            no_color=self.is_plain or None,
            force_terminal=True if self.color == "always" else None,
            highlight=False,
            markup=False,
            emoji=False,
        )


def parts_told(parts: Mapping[str, float]) -> str:
    """What a score is made of, in one line."""
    return " ".join(f"{name}={value:+.3f}" for name, value in parts.items())


def _marks(record: Record) -> tuple[tuple[str, bool], ...]:
    return (
        ("private", record.private),
        ("superseded", record.superseded_by is not None),
        ("retired", record.retired),
        (f"[{record.project}]", record.project is not None),
    )


def _first_lines(text: str, console: Console) -> list[str]:
    """As much of a text as fits into a glance, wrapped at its words to the width of the terminal."""
    from rich.text import Text

    width = max(20, console.width - 4)
    start = neutral(text.strip()[: 2 * width * _EXCERPT_LINES].replace("\r\n", "\n")).expandtabs(4)
    lines = [line.plain.rstrip() for line in Text(start).wrap(console, width)]
    if len(lines) <= _EXCERPT_LINES:
        return lines
    return [*lines[: _EXCERPT_LINES - 1], f"{lines[_EXCERPT_LINES - 1]} …"]


def report_error(error: MemcliError, *, as_json: bool) -> None:
    """An error on stderr: what failed, then what to do."""
    if as_json:
        told = {"error": error.message, "code": error.exit_code, "hint": error.hint}
        sys.stderr.write(to_json_text(told) + "\n")
        return
    sys.stderr.write(neutral(f"memcli: {error.message}") + "\n")
    if error.hint:
        sys.stderr.write(neutral(f"hint: {error.hint}") + "\n")


def elapsed_ms(began: float) -> int:
    """Milliseconds since a `time.perf_counter()`."""
    return round((time.perf_counter() - began) * 1000)
