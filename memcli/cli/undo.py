"""undo: take back what the last commands changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from memcli.cli.output import one_line
from memcli.cli.run import Run
from memcli.cli.write import DryRun, show_plan
from memcli.errors import UsageError
from memcli.times import local_zone, to_iso, to_minute
from memcli.types import Change, Undoable, Undone


def undo(
    run: Run,
    count: Annotated[
        int | None, typer.Argument(metavar="N", help="How many commands, the last ones; 1 by default.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List what can be taken back.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Take back the last commands: remember, import, edit, forget --retire, learning, review.

    Examples:
      memcli undo
      memcli undo --list
      memcli undo 3 --dry-run

    What a command changed is as it was before; what it added is erased from disk, and the same command
    brings it back. The last 500 commands of 30 days can be taken back. What was forgotten is not among
    them: it stays away.
    """
    if count is not None and count < 1:
        raise UsageError(f"{count} commands cannot be taken back", "give 1 or more")
    if listed:
        _show_list(run, run.memory.undoable()[:count])
        return
    done = run.memory.undo(count or 1, dry_run=dry_run)
    if dry_run:
        removed = run.memory.read().get(done.removed, now=run.now())
        erased = [Change("erase", record, before=record, why="added") for record in removed]
        show_plan(run, [*erased, *done.restored])
    else:
        _show_undone(run, done)


def _show_list(run: Run, commands: Sequence[Undoable]) -> None:
    samples = [command.sample for command in commands if command.sample]
    texts = {record.id: record.text for record in run.memory.read().get(samples, now=run.now())}
    if run.out.as_json:
        run.out.document({"commands": [_listed_json(command, texts) for command in commands]})
        return
    rows = [
        (
            str(place),
            to_minute(command.at, tz=local_zone()),
            command.command,
            _counted(command),
            one_line(texts.get(command.sample or "", "")[:80]),
        )
        for place, command in enumerate(commands, 1)
    ]
    run.out.table(("undo", "when", "command", "what", "such as"), rows)
    if not commands:
        run.out.message("there is nothing to take back")


def _command_json(command: Undoable) -> dict[str, Any]:
    return {
        "command": command.command,
        "at": to_iso(command.at),
        "added": command.added,
        "changed": command.changed,
    }


def _listed_json(command: Undoable, texts: Mapping[str, str]) -> dict[str, Any]:
    text = texts.get(command.sample or "")
    sample = None if text is None else {"id": command.sample, "text": text}
    return {**_command_json(command), "sample": sample}


def _counted(command: Undoable) -> str:
    counts = (("added", command.added), ("changed", command.changed))
    return ", ".join(f"{count:,} {what}" for what, count in counts if count) or "an answer"


def _show_undone(run: Run, done: Undone) -> None:
    restored = [change.record.id for change in done.restored]
    if run.out.as_json:
        told = [_command_json(command) for command in done.commands]
        run.out.document({"undone": told, "removed": list(done.removed), "restored": restored})
        return
    for word, ids in (("removed", done.removed), ("restored", restored)):
        for id_ in ids:
            run.out.line(f"{word} {id_}")
    for command in done.commands:
        when = to_minute(command.at, tz=local_zone())
        run.out.message(f"took back {command.command} of {when}: {_counted(command)}")
