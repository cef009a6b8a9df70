"""review: a yes or no to what was learned and does not go with what is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from memcli.cli.output import one_line
from memcli.cli.run import Run
from memcli.errors import NothingMatchedError, UsageError
from memcli.record_json import to_json
from memcli.times import to_day, to_iso
from memcli.types import Learned, Proposal

_QUESTION = "y yes · n no · e edit · never · q leave"


def review(
    run: Run,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", metavar="ID", help="Yes: remember it; may be repeated.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="With one --accept: in these words.")
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option("--reject", metavar="ID", help="No: let go of it; may be repeated.")
    ] = None,
    never: Annotated[
        list[str] | None,
        typer.Option("--never", metavar="ID", help="No, and do not ask the like again; may be repeated."),
    ] = None,
) -> None:
    """What was learned from your words and contradicts what is known waits here for a yes or no.

    Examples:
      memcli review
      memcli review --json
      memcli review --accept 3fa9
      memcli review --accept 3fa9 --text "I drive a Fiat and a Volvo"
      memcli review --never 77c1

    A yes puts it in the place of what it contradicts, which stays as history. Without options it asks on a
    terminal and lists elsewhere: id, date, text, why.
    """
    answers = {"accept": accept or (), "reject": reject or (), "never": never or ()}
    if text is not None and (len(answers["accept"]) != 1 or answers["reject"] or answers["never"]):
        raise UsageError("--text goes with one --accept", "decide the others in a call of their own")
    decided = _Decided(run)
    if any(answers.values()):
        for name, ids in answers.items():
            for proposal in [_found(run, prefix) for prefix in ids]:
                decided.settle(name, proposal, text=text)
        decided.show()
    elif run.out.can_ask and not run.out.as_json:
        _ask(run, decided)
    else:
        _list(run, run.memory.proposals())


def _found(run: Run, prefix: str) -> Proposal:
    """The one that waits whose id begins so."""
    matching = [proposal for proposal in run.memory.proposals() if prefix and proposal.id.startswith(prefix)]
    if not matching:
        raise NothingMatchedError(f"nothing that waits has the id {prefix!r}", "see them: memcli review")
    if len(matching) > 1:
        ids = ", ".join(proposal.id for proposal in matching)
        raise UsageError(f"the id {prefix!r} is ambiguous: {ids}", "give more characters of it")
    return matching[0]


# --- decisions ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Decided:
    """What became of proposals."""

    run: Run
    learned: list[Learned] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)

    def settle(self, name: str, proposal: Proposal, *, text: str | None = None) -> None:
        """Carry out an answer: accept, reject or never."""
        if name == "accept":
            self.learned.append(self.run.memory.accept(proposal, text=text))
        else:
            self.run.memory.reject(proposal, never=name == "never")
            self.rejected.append(proposal.id)

    def show(self) -> None:
        """Say what was done, with ids."""
        added = [record for each in self.learned for record in each.added]
        superseded = [record for each in self.learned for record in each.superseded]
        if self.run.out.as_json:
            self.run.out.document(
                {
                    "added": [to_json(record) for record in added],
                    "superseded": [to_json(record) for record in superseded],
                    "rejected": self.rejected,
                }
            )
            return
        for word, ids in (
            ("remembered", [record.id for record in added]),
            ("superseded", [record.id for record in superseded]),
            ("rejected", self.rejected),
        ):
            for id_ in ids:
                self.run.out.line(f"{word} {id_}")


def _ask(run: Run, decided: _Decided) -> None:
    """Go through what waits with the person."""
    waiting = run.memory.proposals()
    if not waiting:
        run.out.message("nothing waits for a yes or no")
    for proposal in waiting:
        run.out.line(f"\n{one_line(proposal.extracted.text)}")
        run.out.line(f"  you said: {one_line(proposal.extracted.evidence)} ({to_day(proposal.at)})")
        if proposal.why:
            run.out.line(f"  {one_line(proposal.why)}")
        answer = _answer(run)
        if answer == "q":
            break
        _OBEYED[answer](run, decided, proposal)
    decided.show()


def _answer(run: Run) -> str:
    """y, n, e, never or q, asked until it is one of them; the end of the input leaves."""
    while True:
        typed = run.out.ask(_QUESTION + ":").casefold()
        for answer in _OBEYED:
            if typed in (answer, _WORDS[answer]):
                return answer
        if typed in ("", "q", "quit"):
            return "q"


def _edit(run: Run, decided: _Decided, proposal: Proposal) -> None:
    words = run.out.ask("in your words:")
    if words:
        decided.settle("accept", proposal, text=words)


_WORDS = {"y": "yes", "n": "no", "e": "edit", "never": "never"}
_OBEYED: dict[str, Callable[[Run, _Decided, Proposal], None]] = {
    "y": lambda _, decided, proposal: decided.settle("accept", proposal),
    "n": lambda _, decided, proposal: decided.settle("reject", proposal),
    "e": _edit,
    "never": lambda _, decided, proposal: decided.settle("never", proposal),
}


# --- the list -------------------------------------------------------------------------------------


def _list(run: Run, waiting: Sequence[Proposal]) -> None:
    if run.out.as_json:
        run.out.document({"review": [_json(proposal) for proposal in waiting]})
        return
    for proposal in waiting:
        fields = (proposal.id, to_day(proposal.at), proposal.extracted.text, proposal.why)
        run.out.line("\t".join(one_line(part) for part in fields))


def _json(proposal: Proposal) -> dict[str, Any]:
    fact = proposal.extracted
    return {
        "id": proposal.id,
        "at": to_iso(proposal.at),
        "text": fact.text,
        "kind": fact.kind,
        "topics": list(fact.topics),
        "evidence": fact.evidence,
        "confidence": fact.confidence,
        "conflicts_with": proposal.conflicts_with,
        "said_in": list(proposal.said_in),
        "why": proposal.why,
    }
