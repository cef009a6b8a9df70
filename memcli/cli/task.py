"""task: working memory for scripts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memcli.cli.output import one_line
from memcli.cli.run import Run, or_subcommand, text_or_stdin
from memcli.cli.write import redaction_note
from memcli.errors import UsageError
from memcli.record_json import to_json
from memcli.tasks import step_json, task_json, value_of
from memcli.times import local_zone, parse_expiry, to_iso
from memcli.types import Task

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the task.")]


def task(run: Run, ctx: typer.Context) -> None:
    """The state of a script of many steps: kept until it is done, on disk before each call returns.

    Examples:
      memcli task start report --ttl 7d
      memcli task set report draft "Two pages on herons"
      memcli task step report drafted
      memcli task get report draft
      memcli task back report drafted
      memcli task done report --keep draft
    """
    if not or_subcommand(ctx):
        _list(run)


def task_start(
    run: Run,
    name: Name,
    ttl: Annotated[
        str | None,
        typer.Option(
            "--ttl", metavar="TIME", help="When it goes by itself: 7d, 12h, or a date; never without."
        ),
    ] = None,
) -> None:
    """Begin a task, or go on with the one of this name as it was left.

    Examples:
      memcli task start report
      memcli task start report --ttl 7d
    """
    expires_at = parse_expiry(ttl, now=run.now(), tz=local_zone()) if ttl else None
    if expires_at is not None and expires_at <= run.now():
        raise UsageError(f"--ttl {ttl} is over already", "give a length such as 7d, or a day to come")
    begun, is_new = run.memory.tasks.start(name, expires_at=expires_at)
    if run.out.as_json:
        run.out.document({"started": is_new, **task_json(begun)})
    elif is_new:
        run.out.line(f"started {one_line(name)}")
    else:
        run.out.line(f"going on with {one_line(name)} at {_where(begun)}")


def task_set(
    run: Run,
    name: Name,
    key: Annotated[str, typer.Argument(metavar="KEY", help="What the value is called.")],
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="VALUE",
            help="Any text; - or nothing reads standard input. One that begins with - stands after --.",
        ),
    ] = None,
) -> None:
    """Set a value. Secrets in it are taken out first.

    Examples:
      memcli task set report draft "Two pages on herons"
      git diff | memcli task set report patch -
      memcli task set report offset -- -5
    """
    text = text_or_stdin(None if value is None else [value], what="the value")
    redacted = run.memory.tasks.set(name, key, text)
    if run.out.as_json:
        run.out.document({"name": name, "key": key, "redacted": dict(redacted)})
        return
    run.out.line(f"set {one_line(key)}")
    if redacted:
        run.out.message(redaction_note(redacted))


def task_get(
    run: Run,
    name: Name,
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="Which value; all without it.")] = None,
) -> None:
    """Print one value as it is, or all of them, a line each.

    Examples:
      memcli task get report draft
      memcli task get report --json
    """
    found = run.memory.tasks.get(name)
    if key is not None:
        value = value_of(found, key)
        if run.out.as_json:
            run.out.document({"name": name, "key": key, "value": value})
        else:
            run.out.text(value)
    elif run.out.as_json:
        run.out.document({"name": name, "step": found.step, "values": dict(found.values)})
    else:
        run.out.pairs("", _values(found))


def task_step(
    run: Run,
    name: Name,
    label: Annotated[str | None, typer.Argument(metavar="LABEL", help="A word to go back to it by.")] = None,
) -> None:
    """Make a checkpoint of all values.

    Examples:
      memcli task step report
      memcli task step report drafted
    """
    step = run.memory.tasks.step(name, label or None)
    if run.out.as_json:
        run.out.document({"name": name, **step_json(step)})
    else:
        run.out.line(_told(step.number, step.label))


def task_back(
    run: Run,
    name: Name,
    step: Annotated[
        str | None,
        typer.Argument(
            metavar="STEP", help="Its number or label; 0 is the beginning; the last one without it."
        ),
    ] = None,
) -> None:
    """Make all values what they were at a step: what was set since is dropped, later steps stay reachable.

    Examples:
      memcli task back report
      memcli task back report drafted
      memcli task back report 0
    """
    found = run.memory.tasks.back(name, step or None)
    if run.out.as_json:
        run.out.document(task_json(found))
    else:
        run.out.line(f"back at {_where(found)}")


def task_show(run: Run, name: Name) -> None:
    """A task with its values and its steps.

    Examples:
      memcli task show report
      memcli task show report --json
    """
    found = run.memory.tasks.get(name)
    if run.out.as_json:
        run.out.document(task_json(found))
        return
    ends = [("expires", to_iso(found.expires_at))] if found.expires_at is not None else []
    since = ", changed since" if found.is_changed else ""
    run.out.pairs(
        one_line(name), [("started", to_iso(found.started_at)), *ends, ("at", f"{_where(found)}{since}")]
    )
    run.out.table(
        ("step", "after", "label", "made"),
        [(str(step.number), str(step.parent), step.label or "", to_iso(step.at)) for step in found.steps],
    )
    run.out.pairs("values", _values(found))


def task_list(run: Run) -> None:
    """List the tasks that are not done.

    Examples:
      memcli task list
      memcli task list --json
    """
    _list(run)


def task_done(
    run: Run,
    name: Name,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="More keys, where --keep names the first.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="KEY", help="Make a memory of this value; may be repeated."),
    ] = None,
) -> None:
    """End a task: what is kept becomes a memory, the rest is erased from every byte on disk.

    Examples:
      memcli task done report
      memcli task done report --keep draft --keep sources
    """
    if keys and not keep:
        raise UsageError("a task is ended alone", "to make memories of values, name their keys with --keep")
    wanted = [*(keep or ()), *(keys or ())]
    kept = run.memory.finish_task(name, keep=wanted, project=run.settings.project)
    if run.out.as_json:
        run.out.document({"name": name, "kept": [to_json(record) for record in kept]})
        return
    for record in kept:
        run.out.line(f"remembered {record.id}")
    run.out.line(f"done {one_line(name)}")


def _list(run: Run) -> None:
    found = run.memory.tasks.all()
    if run.out.as_json:
        run.out.document({"tasks": [_in_list(each) for each in found]})
        return
    run.out.table(
        ("task", "at", "keys", "expires"),
        [
            (
                each.name,
                _where(each),
                str(len(each.values)),
                "" if each.expires_at is None else to_iso(each.expires_at),
            )
            for each in found
        ],
    )
    if not found:
        run.out.message("no task is begun")


def _in_list(found: Task) -> dict[str, Any]:
    """A task without its values and steps: these may be long."""
    told = task_json(found)
    return {**{name: told[name] for name in told if name not in ("values", "steps")}, "keys": [*found.values]}


def _values(found: Task) -> list[tuple[str, str]]:
    return [(key, value) for key, value in found.values.items() if value is not None]


def _where(found: Task) -> str:
    label = next((step.label for step in found.steps if step.number == found.step), None)
    return _told(found.step, label)


def _told(number: int, label: str | None) -> str:
    return f"step {number} ({label})" if label else f"step {number}"
