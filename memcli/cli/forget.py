"""forget: erase for good, or hide."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from memcli.cli.output import one_line
from memcli.cli.run import Run, read_stdin
from memcli.cli.write import show_plan
from memcli.errors import NothingMatchedError, UsageError
from memcli.types import ForgetPlan, Proof, Selection


def forget(
    run: Run,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids, or 4 or more characters of them.")
    ] = None,
    source_id: Annotated[
        list[str] | None, typer.Option("--source-id", metavar="ID", help="What has this id in its source.")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="WORDS", help="What names this: “everything about Corin”."),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="T", help="What carries this label.")
    ] = None,
    match: Annotated[
        str | None, typer.Option("--match", metavar="TEXT|-", help="What holds this text, letter for letter.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="S", help="What was said in this session.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="S", help="What came from here.")] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="What is older than this day.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything this user has.")] = False,
    related: Annotated[bool, typer.Option("--related", help="What is only similar in meaning, too.")] = False,
    retire: Annotated[bool, typer.Option("--retire", help="Hide it and keep it as history.")] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Read every file again and say what was found.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would go, and change nothing.")
    ] = False,
) -> None:
    """Erase memories from every answer at once and from every byte on disk.

    Examples:
      memcli forget 3fa9c1
      memcli forget --query "everything about Corin"
      memcli forget --topic work --before 2025-01-01 --yes
      memcli forget --all --prove
    """
    selection = Selection(
        ids=tuple(ids or ()),
        source_ids=tuple(filter(None, source_id or ())),
        query=query or None,
        topics=tuple(filter(None, topic or ())),
        match=(read_stdin() if match == "-" else match) or None,
        session=session or None,
        source=source or None,
        project=run.settings.project_flag,
        before=_day_before(run, before),
        everything=everything,
        with_related=related,
    )
    if ids and replace(selection, ids=(), with_related=False) != Selection():
        raise UsageError("ids cannot be mixed with a selection", "give ids, or options that select")
    carry_out(run, run.memory.plan_forget(selection), retire=retire, prove=prove, yes=yes, dry_run=dry_run)


def carry_out(
    run: Run,
    plan: ForgetPlan,
    *,
    retire: bool = False,
    prove: bool = False,
    yes: bool = False,
    dry_run: bool = False,
) -> None:
    """Show what would go, ask, and have it gone. Raises NothingMatchedError when nothing is, or for a no."""
    _show_related(run, plan)
    if not plan.changes and not plan.tasks and not plan.everything:
        raise NothingMatchedError("no memory names this", "--related takes what is similar in meaning")
    if dry_run:
        show_plan(run, plan.changes)
        return
    _ask(run, plan, retire=retire, yes=yes)
    if retire:
        retired = [record.id for record in run.memory.retire(plan)]
        if not retired:
            raise NothingMatchedError("every memory that matches is hidden already", "")
        _answer(run, retired, plan, None, verb="retired")
        return
    proof = run.memory.erase(plan, prove=prove)
    _answer(run, [change.record.id for change in plan.changes], plan, proof, verb="forgotten")


def _day_before(run: Run, before: str | None) -> int | None:
    span = run.span(before)
    return span.start if span else None


def _show_related(run: Run, plan: ForgetPlan) -> None:
    if plan.related and not run.out.as_json:
        run.out.message("similar in meaning, and left (--related takes them too):")
        for record in plan.related:
            run.out.message(f"  {record.id[:8]}  {one_line(record.text[:80])}")


def _ask(run: Run, plan: ForgetPlan, *, retire: bool, yes: bool) -> None:
    if not yes and run.out.can_ask:
        for change in plan.changes[:20]:
            run.out.message(f"  {change.record.id[:8]}  {one_line(change.record.text[:80])}")
        if len(plan.changes) > 20:
            run.out.message(f"  … and {len(plan.changes) - 20:,} more")
    verb = "hide" if retire else "erase for good"
    noun = "memory" if len(plan.changes) == 1 else "memories"
    tasks = f" and the tasks {', '.join(plan.tasks)}" if plan.tasks and not retire else ""
    rest = " and all else that is kept" if plan.everything and not retire else ""
    if not run.out.confirm(f"{verb} {len(plan.changes):,} {noun}{tasks}{rest}?", yes=yes):
        raise NothingMatchedError("nothing was forgotten", "")


def _answer(run: Run, ids: list[str], plan: ForgetPlan, proof: Proof | None, *, verb: str) -> None:
    # What is hidden is only ever a memory.
    tasks = plan.tasks if verb == "forgotten" else ()
    receipt = None if proof is None else receipt_json(proof, ids)
    if run.out.as_json:
        related = [{"id": record.id, "text": record.text} for record in plan.related]
        also = {"tasks": list(tasks)} if tasks else {}
        run.out.document(
            {"forgotten": ids, **also, "related": related, **(receipt or {}), "receipt": receipt}
        )
        return
    if receipt is not None:
        run.out.document(receipt)
        return
    for id_ in ids:
        run.out.line(f"{verb} {id_}")
    for name in tasks:
        run.out.line(f"{verb} the task {one_line(name)}")
    if verb == "forgotten" and plan.everything:
        run.out.message("all else that was kept is erased as well")
    if verb == "forgotten" and (backups := run.memory.backups()):
        run.out.message(f"backups are not touched and may still hold it: {', '.join(backups)}")


def receipt_json(proof: Proof, ids: list[str]) -> dict[str, Any]:
    """What `--prove` answers."""
    return {
        "forgotten": ids,
        "files_scanned": proof.files_scanned,
        "bytes_scanned": proof.bytes_scanned,
        "rows_decoded": proof.rows_decoded,
        "words_asked": proof.words_asked,
        "traces": proof.traces,
        "backups": list(proof.backups),
    }
