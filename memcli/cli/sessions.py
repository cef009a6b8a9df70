"""sessions: what was said in chats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from memcli.cli.forget import receipt_json
from memcli.cli.output import one_line
from memcli.cli.run import Run, or_subcommand
from memcli.cli.write import DryRun, show_plan
from memcli.errors import NothingMatchedError
from memcli.sessions import messages, session_json, turn_json
from memcli.times import local_zone, to_day, to_minute
from memcli.types import ForgetPlan, Session, Turn

Name = Annotated[
    str, typer.Argument(metavar="S", help="The id of a session, 4 or more characters of it, or last.")
]
Names = Annotated[
    list[str], typer.Argument(metavar="S", help="Ids of sessions, 4 or more characters of them, or last.")
]


def sessions(run: Run, ctx: typer.Context) -> None:
    """List the chat sessions, the one that was spoken in last first.

    Examples:
      memcli sessions
      memcli sessions show last
      memcli sessions export 3fa9 > talk.jsonl
      memcli sessions delete 3fa9 7c01 --yes
    """
    if or_subcommand(ctx):
        return
    found = run.memory.sessions()
    if run.out.as_json:
        run.out.document({"sessions": [session_json(session) for session in found]})
        return
    run.out.table(
        ("session", "begun", "turns", "title"),
        [
            (session.id, to_day(session.started_at), f"{session.count:,}", session.title or "")
            for session in found
        ],
    )
    if not found:
        run.out.message("no chat has left a session yet")


def sessions_show(run: Run, session: Name) -> None:
    """What was said in a session.

    Examples:
      memcli sessions show last
      memcli sessions show 3fa9 --json
    """
    found = run.memory.session(session)
    if run.out.as_json:
        run.out.document({"session": session_json(found), "turns": [turn_json(turn) for turn in found.turns]})
    elif run.out.is_tty:
        for turn in found.turns:
            run.out.paragraph(_head(turn), turn.text)
    else:
        for turn in found.turns:
            run.out.line("\t".join([turn.memory_id, to_day(turn.at), turn.role, one_line(turn.text)]))


def _head(turn: Turn) -> str:
    who = turn.model if turn.role == "assistant" and turn.model else turn.role
    broken_off = "" if turn.state == "whole" else f"  ({turn.state})"
    return f"{who}  {to_minute(turn.at, tz=local_zone())}{broken_off}"


def sessions_export(run: Run, session: Name) -> None:
    """Write a session as JSON lines, a message each, which `memcli import` takes back.

    Examples:
      memcli sessions export last > talk.jsonl
      memcli sessions export 3fa9 --json
    """
    found = run.memory.session(session)
    if run.out.as_json:
        run.out.document(list(messages(found)))
        return
    for message in messages(found):
        run.out.object(message)


def sessions_delete(
    run: Run,
    session: Names,
    prove: Annotated[
        bool, typer.Option("--prove", help="Read every file again and say what was found.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Erase sessions for good: their turns, the memories these became, and what was learned from these alone.

    Examples:
      memcli sessions delete last
      memcli sessions delete 3fa9 7c01 --yes
      memcli sessions delete last --prove
    """
    chosen, plan = run.memory.plan_delete(session)
    if dry_run:
        show_plan(run, plan.changes)
        return
    if not yes and run.out.can_ask:
        for each in chosen:
            run.out.message(f"  {each.id}  {to_day(each.started_at)}  {one_line(each.title or '')}")
    if not run.out.confirm(_question(chosen, plan), yes=yes):
        raise NothingMatchedError("nothing was deleted", "")
    proof = run.memory.erase(plan, prove=prove)
    deleted = [each.id for each in chosen]
    forgotten = [change.record.id for change in plan.changes]
    receipt = {} if proof is None else receipt_json(proof, forgotten)
    if run.out.as_json or receipt:
        run.out.document({"deleted": deleted, "forgotten": forgotten, **receipt})
        return
    for id_ in deleted:
        run.out.line(f"deleted {id_}")


def _question(chosen: Sequence[Session], plan: ForgetPlan) -> str:
    turns = sum(session.count for session in chosen)
    counted = f"{len(chosen)} {'session' if len(chosen) == 1 else 'sessions'} of {turns:,} turns"
    learned = len(plan.changes) - turns
    also = f" and {learned:,} learned from them alone" if learned > 0 else ""
    return f"erase {counted}{also} for good?"
