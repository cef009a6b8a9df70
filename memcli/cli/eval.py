"""eval."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from memcli.cli.run import Run, read_stdin
from memcli.errors import NothingMatchedError, UsageError

if TYPE_CHECKING:
    from memcli.eval import Answer, Question

_COLUMNS = ("R@1", "R@5", "R@10", "nDCG@10", "MRR", "abstention", "empty", "p50_ms", "p95_ms")
_NAME_WIDTH, _WIDTH = 10, 11


def eval_(
    run: Run,
    questions: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERIES", help="Questions, one JSON object a line; - reads them from standard input."
        ),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", metavar="N", min=1, help="How many memories a question may bring back.")
    ] = 20,
    output: Annotated[
        Path | None, typer.Option("--out", metavar="RESULTS", help="Write each answer to this file.")
    ] = None,
) -> None:
    """Measure how well recall finds what it should, beside keywords only.

    Examples:
      memcli eval
      memcli eval questions.jsonl --out results.jsonl
      memcli eval questions.jsonl --json | jq .recall

    A line of QUERIES is {"id", "question"} with what must come back: "gold", groups of source ids of
    which one each will do, or "expect", texts; or "abstain": true where nothing answers; "question_date"
    is the clock for it. Without QUERIES, a few rare words of a memory are the question for it.
    """
    from memcli.eval import evaluate

    asked = _questions(run, questions)
    if not asked:
        raise NothingMatchedError("there is nothing to ask", "import or remember something first")
    with run.out.progress("asking") as progress, _results(output) as file:
        done = 0

        def answered(answer: Answer) -> None:
            nonlocal done
            done += 1
            progress(done, len(asked))
            _write(file, answer)

        figures = evaluate(run.memory, asked, k=k, answered=answered)
    if run.out.as_json:
        run.out.document({"questions": len(asked), "k": k, "from_store": questions is None, **figures})
    else:
        _show(run, figures)


def _questions(run: Run, path: str | None) -> Sequence[Question]:
    from memcli.eval import probes, read_questions

    if path is None:
        return probes(run.memory)
    if path == "-":
        return list(read_questions(read_stdin().split("\n")))
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error})", "give a file of JSON lines in UTF-8") from error
    return list(read_questions(text.split("\n")))


@contextlib.contextmanager
def _results(path: Path | None) -> Iterator[TextIO | None]:
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})", "choose another --out") from error
    with file:
        yield file


def _write(file: TextIO | None, answer: Answer) -> None:
    from memcli.eval import to_line

    if file is not None:
        file.write(to_line(answer) + "\n")


def _show(run: Run, figures: Mapping[str, Mapping[str, Any]]) -> None:
    """A row for each way to ask; a column that no question tells of is a dash."""
    rows = [["", *_COLUMNS], *([name, *map(_told, _COLUMNS, row)] for name, row in _picked(figures))]
    for name, *cells in rows:
        if run.out.is_tty:
            run.out.line(f"{name:<{_NAME_WIDTH}}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells))
        else:
            run.out.line("\t".join((name, *cells)))


def _picked(figures: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, list[float | None]]]:
    for name, row in figures.items():
        yield name, [row[column] for column in _COLUMNS]


def _told(column: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if column.endswith("_ms") else f"{100 * value:.1f}"
