"""import: files, directories and standard input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from memcli.absorb import Intake
from memcli.cli.output import one_line, report_error
from memcli.cli.run import Run
from memcli.cli.write import plan_json, redaction_note
from memcli.errors import ModelError, UsageError
from memcli.importers import FORMATS, ReadOptions
from memcli.times import to_zone
from memcli.types import ROLES, FileReport, Imported

_COUNTS = ("conversations", "notes", "added", "duplicates", "forgotten")


def import_(
    run: Run,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Files and directories; - is standard input.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="F", help="Read it as this and do not guess.")
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", metavar="E", help="Of files that do not tell theirs: gb18030, latin-1…"),
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option("--tz", metavar="ZONE", help="The zone of times that name none (UTC without it)."),
    ] = None,
    extract: Annotated[
        bool | None,
        typer.Option(
            "--extract/--no-extract",
            help="Learn from what you said in it, afterwards; by default if a chat model is set.",
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Only what is not older.")
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="Only what this role said.")
    ] = None,
    me: Annotated[
        str | None, typer.Option("--me", metavar="NAME", help="Which author of a messenger's history is you.")
    ] = None,
    all_branches: Annotated[
        bool, typer.Option("--all-branches", help="Answers that were regenerated or edited away, too.")
    ] = False,
    include_tools: Annotated[
        bool, typer.Option("--include-tools", help="Keep what tools were asked, too.")
    ] = False,
    restore: Annotated[bool, typer.Option("--restore", help="Bring back what was forgotten.")] = False,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Text only; vectors later.")] = False,
    allow_sensitive: Annotated[
        bool, typer.Option("--allow-sensitive", help="Keep secrets as they are.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be taken, and store nothing.")
    ] = False,
    discover: Annotated[
        bool, typer.Option("--discover", help="Look for histories on this machine, and ask which to take.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on taking in what is added to the files, until Ctrl-C.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --discover: take all, do not ask.")] = False,
) -> None:
    """Take in chat histories and notes. Twice the same file adds nothing.

    Examples:
      memcli import history.jsonl
      memcli import ~/notes --since 2025-01-01
      zcat chats.jsonl.gz | memcli import -
      memcli import old.jsonl --dry-run --json
      memcli import --discover
      memcli import --watch ~/.claude/projects

    The format is told from the content, never from the name; `--format` names one of: FORMAT_NAMES.
    """
    paths = [path for path in paths or () if path]
    _refuse_bad_options(form, tz, role, paths, discover=discover)
    first = run.span(since)
    intake = Intake(
        options=ReadOptions(
            encoding=encoding or None,
            tz=tz or None,
            me=me or None,
            include_tools=include_tools,
            all_branches=all_branches,
        ),
        format_name=form or None,
        project=run.settings.project,
        only_project=run.settings.project_flag,
        role=role or None,
        since=first.start if first else None,
        allow_sensitive=allow_sensitive,
        restore=restore,
        dry_run=dry_run,
        learns=run.settings.memory and (run.has_student if extract is None else extract),
        learns_of_known=run.settings.memory and bool(extract),
        with_plan=dry_run and run.out.as_json,
    )
    places: dict[str, Any] = {}
    if discover:
        from memcli.cli.discover import pick_places

        paths, places = pick_places(run, intake, yes=yes)
    if watch:
        from memcli.cli.watch import follow

        follow(run, paths, intake, with_vectors=not no_vectors)
    elif paths:
        take_in(run, paths, intake, with_vectors=not no_vectors, also=places)
    elif run.out.as_json:
        run.out.document(places)


def _refuse_bad_options(
    form: str | None, tz: str | None, role: str | None, paths: list[str] | None, *, discover: bool
) -> None:
    if not paths and not discover:
        raise UsageError(
            "there is nothing to import", "name files or directories, - for standard input, or --discover"
        )
    if form and form not in [row.name for row in FORMATS]:
        raise UsageError(
            f"--format cannot be {form!r}", f"it is one of {', '.join(row.name for row in FORMATS)}"
        )
    if role and role not in ROLES:
        raise UsageError(f"--role cannot be {role!r}", f"it is one of {', '.join(ROLES)}")
    if tz:
        to_zone(tz)


def take_in(
    run: Run, paths: list[str], intake: Intake, *, with_vectors: bool, also: Mapping[str, Any]
) -> None:
    """Import once, answer (with what `also` has for the JSON), then make vectors."""
    if with_vectors and not intake.dry_run:
        run.memory.check_embedder()
    try:
        with run.out.progress("reading", unit="bytes") as tell:
            done = run.memory.absorb(paths, intake=intake, progress=tell)
    except KeyboardInterrupt:
        _say_stopped(run)
        raise
    _refuse_if_nothing(done)
    answer(run, done, dry_run=intake.dry_run, also=also)
    if with_vectors and not intake.dry_run:
        _fill_vectors(run)


def _say_stopped(run: Run) -> None:
    """What an import has stored that was stopped, and how to go on or back."""
    done = run.memory.last_done()
    what, back = "nothing was stored yet", ""
    if done is not None:
        what = f"{done.added:,} {'memory is' if done.added == 1 else 'memories are'} stored already"
        back = ", or take back what is stored with `memcli undo`"
    run.out.message(f"memcli: stopped; {what}\nhint: run the same command again to go on{back}")


def _refuse_if_nothing(done: Imported) -> None:
    """An import of which nothing could be read is bad input."""
    errors = [report.error for report in done.files if report.error]
    if any(not report.error and _records(report) + _left_out(report) for report in done.files):
        return
    if any(_records(report) for report in done.files):
        return
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise UsageError(f"{errors[0].message}{more}", errors[0].hint)
    bad = sum(len(report.bad_lines) for report in done.files)
    if bad:
        raise UsageError(
            f"no record could be read: {bad} bad lines ({done.files[0].warnings[0]})",
            "look at the first of them, or name the format with --format",
        )


# The names come from the table of formats, so that the help is never behind it.
import_.__doc__ = (import_.__doc__ or "").replace("FORMAT_NAMES", ", ".join(row.name for row in FORMATS))


def _records(report: FileReport) -> int:
    return report.added + report.duplicates + report.forgotten


def _left_out(report: FileReport) -> int:
    return sum(report.skipped.values()) + (0 if report.bad_lines else 1)


def answer(run: Run, done: Imported, *, dry_run: bool, also: Mapping[str, Any]) -> None:
    """The summary of an import."""
    totals = _totals(done)
    if run.out.as_json:
        files = [_report_json(report) for report in done.files]
        summary = {**also, "files": files, "totals": totals, "took_ms": done.took_ms}
        run.out.document(summary | ({"plan": plan_json(done.plan)} if dry_run else {}))
        return
    verb = "would add" if dry_run else "added"
    for report in done.files:
        kept = f"{verb} {report.added:,}, {report.duplicates:,} known, {report.forgotten:,} forgotten before"
        left = ", ".join(f"{count:,} {reason}" for reason, count in report.skipped.items())
        bad = f"{len(report.bad_lines):,} bad lines" if report.bad_lines else ""
        out = "; ".join(part for part in (kept, f"skipped {left}" if left else "", bad) if part)
        run.out.line(f"{one_line(report.path)}\t{report.format or 'unreadable'}\t{out}")
        _warn(run, report)
    if totals["redacted"] and totals["added"]:
        run.out.message(redaction_note(totals["redacted"]))


def _warn(run: Run, report: FileReport) -> None:
    warnings = [text for text in report.warnings if report.error is None or text != report.error.message]
    shown = warnings[:10]
    for warning in shown:
        run.out.message(f"  {report.path}: {warning}")
    if len(warnings) > len(shown):
        run.out.message(f"  {report.path}: and {len(warnings) - len(shown):,} more")
    if report.error:
        report_error(report.error, as_json=False)


def _report_json(report: FileReport) -> dict[str, Any]:
    warnings = [*report.warnings, *([report.error.message] if report.error else [])]
    return {
        "path": report.path,
        "format": report.format,
        "conversations": report.conversations,
        "messages": dict(report.messages),
        "notes": report.notes,
        "added": report.added,
        "duplicates": report.duplicates,
        "forgotten": report.forgotten,
        "redacted": dict(report.redacted),
        "skipped": dict(report.skipped),
        "bad_lines": list(report.bad_lines),
        "warnings": list(dict.fromkeys(warnings)),
    }


def _totals(done: Imported) -> dict[str, Any]:
    return {
        **{name: sum(getattr(report, name) for report in done.files) for name in _COUNTS},
        "messages": dict.fromkeys(ROLES, 0) | _summed(report.messages for report in done.files),
        "redacted": _summed(report.redacted for report in done.files),
        "skipped": _summed(report.skipped for report in done.files),
        "bad_lines": sum(len(report.bad_lines) for report in done.files),
        "warnings": sum(len(report.warnings) for report in done.files),
    }


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for some in counts:
        total.update(some)
    return dict(total)


def _fill_vectors(run: Run) -> None:
    """Vectors of what is stored; without them everything is found by its words."""
    run.out.flush()
    try:
        with run.out.progress("vectors", unit="passages") as tell:
            run.memory.fill_vectors(progress=tell)
    except ModelError as error:
        run.out.message(f"memcli: stored without vectors: {error.message}\nhint: {error.hint}")
    except KeyboardInterrupt:
        run.out.message(
            "memcli: stopped while making vectors; the text is stored and found by its words\n"
            "hint: any import goes on where this one stopped"
        )
        raise
