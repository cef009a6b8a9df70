"""remember and edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import typer

from memcli.cli.run import Run, one_of, text_or_stdin
from memcli.memory import Draft
from memcli.record_json import to_json
from memcli.times import local_zone, parse_expiry
from memcli.types import KINDS, PRIORITIES, Change, Remembered

Sensitive = Annotated[bool, typer.Option("--allow-sensitive", help="Keep secrets as they are.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")]


@dataclass(frozen=True, slots=True)
class Fields:
    """The options that say what a memory is besides its text; a command that takes one has them all."""

    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help=f"One of {', '.join(KINDS)}.")
    ] = None
    priority: Annotated[
        str | None, typer.Option("--priority", metavar="P", help=f"One of {', '.join(PRIORITIES)}.")
    ] = None
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="T", help="A label; may be repeated.")
    ] = None
    private: Annotated[
        bool | None, typer.Option("--private/--no-private", help="Never sent to a model that is not local.")
    ] = None
    audience: Annotated[
        list[str] | None,
        typer.Option("--audience", metavar="A", help="An agent who may see it; may be repeated."),
    ] = None
    source: Annotated[str | None, typer.Option("--source", metavar="S", help="Where it comes from.")] = None
    source_id: Annotated[
        str | None, typer.Option("--source-id", metavar="ID", help="The id it has there.")
    ] = None
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="When it was said: ISO, a date, “3 days ago”.")
    ] = None
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="When it stops to hold: 30d, or a date.")
    ] = None

    def draft(self, run: Run, *, text: str | None, project: str | None) -> Draft:
        """What is asked to be stored or changed. Raises UsageError."""
        said = run.span(self.at)
        return Draft(
            text=text,
            kind=one_of("--kind", self.kind, KINDS),
            priority=one_of("--priority", self.priority, PRIORITIES),
            topics=tuple(filter(None, self.topic or ())) or None,
            project=project,
            private=self.private,
            audience=tuple(filter(None, self.audience or ())) or None,
            source=self.source or None,
            source_id=self.source_id or None,
            at=said.start if said else None,
            expires=parse_expiry(self.expires, now=run.now(), tz=local_zone()) if self.expires else None,
        )


def remember(
    run: Run,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to remember; - or nothing reads standard input."),
    ] = None,
    *,
    fields: Fields,
    extract: Annotated[
        bool,
        typer.Option("--extract", help="Keep it word for word, as an episode, and learn its facts."),
    ] = False,
    allow_sensitive: Sensitive = False,
    dry_run: DryRun = False,
) -> None:
    """Store one memory. Secrets in it are taken out first.

    Examples:
      memcli remember "I prefer Maven over Gradle" --kind preference --topic build
      git log -1 --format=%B | memcli remember - --topic work
      memcli remember "The lease ends in May" --expires 2027-06-01
      memcli remember --extract "I'm a nurse in Leeds and I'm allergic to nuts"
    """
    from memcli.errors import UsageError

    if extract and not fields.kind:
        fields = replace(fields, kind="episode")
    draft = fields.draft(run, text=text_or_stdin(text, what="the text"), project=run.settings.project)
    if not (draft.text or "").strip():
        raise UsageError("there is nothing to remember", "give the text as an argument, or pipe it in")
    if draft.expires is not None and draft.expires <= run.now():
        run.out.message("it has expired already: no recall will show it")
    with run.memory.one_command():
        done = run.memory.remember(draft, allow_sensitive=allow_sensitive, dry_run=dry_run)
        if extract:
            done = _with_facts(run, done, dry_run=dry_run)
    if dry_run:
        show_plan(run, done.plan)
    elif run.out.as_json:
        run.out.document(
            {
                "added": [to_json(record) for record in done.added],
                "superseded": [to_json(record) for record in done.superseded],
                "duplicates": list(done.duplicates),
                "redacted": dict(done.redacted),
                "pending": done.pending,
            }
        )
    else:
        say_remembered(run, done)


def _with_facts(run: Run, done: Remembered, *, dry_run: bool) -> Remembered:
    """What was done, with the facts that were learned from it."""
    from memcli.cli.models import pick_student

    known = [change.record for change in done.plan if change.action != "supersede"]
    if dry_run:
        facts = [change for record in known for change in run.memory.plan_extract(record)]
        return replace(done, plan=(*done.plan, *facts))
    for record in known:
        learned = run.memory.extract(record, partial(pick_student, run))
        done = replace(
            done, added=done.added + learned.added, superseded=done.superseded + learned.superseded
        )
        if learned.proposed:
            run.out.message(f"{len(learned.proposed)} to be decided: see `memcli review`")
    return done


def say_remembered(run: Run, done: Remembered) -> None:
    """What became of something to remember, a line each."""
    for record in done.added:
        run.out.line(f"remembered {record.id}")
    for record in done.superseded:
        run.out.line(f"superseded {record.id}")
    for id_ in done.duplicates:
        run.out.line(f"known already {id_}")
    if done.redacted:
        run.out.message(redaction_note(done.redacted))


def edit(
    run: Run,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id, or 4 or more characters of it.")],
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="The new text; - reads standard input.")
    ] = None,
    *,
    fields: Fields,
    allow_sensitive: Sensitive = False,
    dry_run: DryRun = False,
) -> None:
    """Change the text or the fields of a memory.

    Examples:
      memcli edit 3fa9 "I prefer Gradle now"
      memcli edit 3fa9 --priority P0 --topic build --topic java
    """
    from memcli.errors import UsageError

    new = text_or_stdin(text, what="the text") if text else None
    draft = fields.draft(run, text=new, project=run.settings.project_flag)
    if not draft.fields():
        raise UsageError("nothing to change was given", "give a new text, or a field such as --topic")
    done = run.memory.edit(id_, draft, allow_sensitive=allow_sensitive, dry_run=dry_run)
    if dry_run:
        show_plan(run, [Change("update", done.after, before=done.before, why="edited")])
    elif run.out.as_json:
        run.out.document({"before": to_json(done.before), "after": to_json(done.after)})
    else:
        run.out.line(f"changed {done.after.id}")
        if done.redacted:
            run.out.message(redaction_note(done.redacted))


def show_plan(run: Run, changes: Sequence[Change]) -> None:
    """What a dry run would do."""
    if run.out.as_json:
        run.out.document({"plan": plan_json(changes)})
        return
    from memcli.cli.output import one_line

    for change in changes:
        run.out.line("\t".join([f"would {change.action}", change.record.id, one_line(change.record.text)]))


def plan_json(changes: Sequence[Change]) -> list[dict[str, str]]:
    """A plan as JSON."""
    return [
        {"action": change.action, "id": change.record.id, "text": change.record.text, "why": change.why}
        for change in changes
    ]


def redaction_note(redacted: Mapping[str, int]) -> str:
    """A sentence on what was taken out."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(redacted.items()))
    return f"taken out before storing: {kinds} (--allow-sensitive keeps them)"
