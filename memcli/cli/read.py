"""recall, list, show and stats."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memcli.cli.run import Narrowing, Run, one_of, text_or_stdin
from memcli.errors import NothingMatchedError, UsageError
from memcli.record_json import to_json
from memcli.times import from_iso, to_day
from memcli.types import Block, Filters, Hit, Query

_DAY_MS = 86_400_000
# Fewer are soon told again.
_WORTH_A_BACKUP = 100
_BACKUP_DAYS = 30

Ndjson = Annotated[bool, typer.Option("--ndjson", help="One JSON object a line, as they come.")]


def recall(
    run: Run,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="The question; - or nothing reads standard input."),
    ] = None,
    k: Annotated[int | None, typer.Option("-k", metavar="N", help="How many at most.")] = None,
    *,
    narrowing: Narrowing,
    min_score: Annotated[
        float, typer.Option("--min-score", metavar="0–1", help="Only what scores as much.")
    ] = 0.0,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    ndjson: Ndjson = False,
    form: Annotated[
        str | None, typer.Option("--format", metavar="prompt", help="The block that a chat would inject.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="The most that the block may take.")
    ] = None,
) -> None:
    """Find the memories that answer a question, best first.

    Examples:
      memcli recall "which build tool do I like?"
      memcli recall budget kitchen --since "last month" -k 3 --json
      memcli recall "what shall we eat?" --format prompt --budget 400
    """
    asked = Query(
        text_or_stdin(query, what="the question"),
        now=run.now(),
        k=run.settings.k if k is None else _at_least("-k", k, 1),
        filters=narrowing.filters(run),
        min_score=min_score,
    )
    if one_of("--format", form, ("prompt",)):
        _recall_block(run, asked, run.settings.budget if budget is None else _at_least("--budget", budget, 0))
    else:
        run.out.stream_json(ndjson)
        _recall_hits(run, asked, explain=explain)


def _recall_hits(run: Run, asked: Query, *, explain: bool) -> None:
    found = run.memory.recall(asked)
    if run.out.as_json:
        run.out.document(
            {
                "query": asked.text,
                "results": [hit_json(hit) for hit in found.hits],
                "degraded": found.degraded,
                "took_ms": found.took_ms,
            }
        )
    elif run.out.as_ndjson:
        for hit in found.hits:
            run.out.object(hit_json(hit))
    else:
        run.out.memories(
            [hit.record for hit in found.hits],
            scores={hit.record.id: hit.score for hit in found.hits},
            excerpts={hit.record.id: hit.excerpt for hit in found.hits if hit.excerpt},
            parts={hit.record.id: hit.parts for hit in found.hits} if explain else None,
        )
    if found.degraded:
        run.out.message(f"memcli: {found.degraded}")
    if not found.hits:
        _nothing(run, "nothing that is remembered matches", "try other words, or see `memcli list`")


def _recall_block(run: Run, asked: Query, budget: int) -> None:
    block = run.memory.block(asked, budget_tokens=budget)
    if run.out.as_json:
        run.out.document(block_json(block))
    else:
        run.out.write(block.text)
    if not block.text:
        _nothing(run, "nothing is worth injecting for this question", "")


def _nothing(run: Run, message: str, hint: str) -> None:
    """An empty answer has been given: exit code 1, and a word on why when a person reads."""
    if not run.out.as_json:
        run.out.message(f"memcli: {message}" + (f"\nhint: {hint}" if hint else ""))
    raise typer.Exit(NothingMatchedError.exit_code)


def list_(
    run: Run,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many at most.")] = 20,
    sort: Annotated[
        str, typer.Option("--sort", metavar="BY", help="time (newest first), updated or priority.")
    ] = "time",
    *,
    narrowing: Narrowing,
    ndjson: Ndjson = False,
) -> None:
    """List memories, newest first.

    Examples:
      memcli list -n 5
      memcli list --kind preference --sort priority --json
    """
    run.out.stream_json(ndjson)
    filters = narrowing.filters(run)
    order = one_of("--sort", sort, ("time", "updated", "priority")) or "time"
    records, total = run.memory.list(filters, n=_at_least("-n", n, 0), sort=order)
    if run.out.as_json:
        run.out.document({"memories": [to_json(record) for record in records], "total": total})
    elif run.out.as_ndjson:
        for record in records:
            run.out.object(to_json(record))
    else:
        run.out.memories(records)
        if total > len(records):
            run.out.message(f"{len(records)} of {total:,} memories; -n shows more")
        if not total and filters == Filters():
            run.out.message(
                'nothing is remembered yet; begin with `memcli remember "…"` or `memcli import FILE`'
            )
        elif not total:
            run.out.message("no memory is like this")


def show(
    run: Run,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id, or 4 or more characters of it.")],
) -> None:
    """One memory: all its fields, what it replaced, what replaced it, and when it was last recalled.

    Examples:
      memcli show 3fa9
      memcli show 3fa9 --json
    """
    shown = run.memory.show(id_)
    if run.out.as_json:
        run.out.document(
            {
                "memory": to_json(shown.record),
                "history": [to_json(record) for record in shown.history],
                "derived": [to_json(record) for record in shown.derived],
                "recalled": {"count": shown.recalled_count, "last": iso_or_none(shown.recalled_last)},
            }
        )
        return
    fields = to_json(shown.record)
    rows = [(name, _told(value)) for name, value in fields.items() if value not in (None, [], {}, False)]
    rows.append(("recalled", f"{shown.recalled_count}×, last {iso_or_none(shown.recalled_last) or 'never'}"))
    run.out.pairs("", rows)
    for title, records in (("history", shown.history), ("derived from it", shown.derived)):
        if records:
            run.out.message(f"{title}:")
            run.out.memories(records)


def _told(value: Any) -> str:
    from memcli.cli.output import to_json_text

    if value is True:
        return "yes"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return to_json_text(value) if isinstance(value, dict) else str(value)


def stats(run: Run) -> None:
    """Numbers about what is remembered, and how recall is doing.

    Examples:
      memcli stats
      memcli stats --json | jq .memories.total
    """
    figures = {"user": run.settings.user, **run.memory.stats()}
    _advise_backup(run, figures)
    if run.out.as_json:
        run.out.document(figures)
        return
    memories = figures["memories"]
    embedder = figures["embedder"]
    run.out.pairs(
        f"{figures['user']}: {memories['total']:,} memories",
        [
            ("total", f"{memories['total']:,}"),
            ("active", f"{memories['active']:,}"),
            ("superseded", f"{memories['superseded']:,}"),
            ("retired", f"{memories['retired']:,}"),
            ("conversations", f"{figures['sessions']:,}"),
            *_of_chats(figures),
            *((f"waiting {what}", f"{figures['pending'][name]:,}") for name, what in _WAITING),
            ("embedder", f"{embedder['name'] or 'none yet'} ({embedder['state']})"),
            ("on disk", f"{figures['storage']['bytes']:,} bytes"),
            ("recalls", _recalls(figures["recall"])),
            ("last backup", figures["last_backup"] or "none"),
        ],
    )
    for title, name in (("by kind", "by_kind"), ("by source", "by_source"), ("by project", "by_project")):
        run.out.bars(title, memories[name])
    by_day = figures["activity"]["by_day"]
    days = [to_day(run.now() - ago * _DAY_MS) for ago in reversed(range(60))]
    run.out.sparkline("last 60 days", [by_day.get(day, 0) for day in days])


def _advise_backup(run: Run, figures: dict[str, Any]) -> None:
    """Say so where the last backup is old, or where there is much to lose and none."""
    last, total = figures["last_backup"], figures["memories"]["total"]
    if last is None:
        told = "there is no backup yet" if total >= _WORTH_A_BACKUP else None
    else:
        age_days = (run.now() - from_iso(last)) // _DAY_MS
        told = f"the last backup is {age_days:,} days old" if total and age_days > _BACKUP_DAYS else None
    if told:
        run.out.message(f"{told}: `memcli backup` makes one")


_WAITING = (("vectors", "for a vector"), ("extraction", "to be learned from"), ("review", "for a yes or no"))


def _of_chats(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Sessions, and what became of answers with and without memory; nothing where nobody has chatted."""
    rows = []
    if figures["turns"]:
        rows.append(("turns in chats", f"{figures['turns']:,}"))
    for arm, counted in figures["feedback"]["by_arm"].items():
        latency = "" if counted["p50_ms"] is None else f", {counted['p50_ms']:,} ms in the middle"
        told = f"{counted['answers']:,} answers{latency}, {counted['good']:,} good, {counted['bad']:,} bad"
        rows.append((arm.replace("_", " "), told))
    return rows


def _recalls(recall_figures: dict[str, Any]) -> str:
    if not recall_figures["count"]:
        return "0"
    return (
        f"{recall_figures['count']:,}, {recall_figures['hit_rate']:.0%} with an answer, "
        f"{recall_figures['p50_ms']} ms in the middle, {recall_figures['p95_ms']} ms at the slow end"
    )


def hit_json(hit: Hit) -> dict[str, Any]:
    """A result of recall: the memory, its score and what that is made of, the best chunk of a long text."""
    return to_json(hit.record) | {"score": hit.score, "parts": dict(hit.parts), "excerpt": hit.excerpt}


def block_json(block: Block) -> dict[str, Any]:
    """The injected block with the memories in it and those left out."""
    return {
        "block": block.text,
        "memories": [hit_json(hit) for hit in block.hits],
        "dropped": [{"id": id_, "why": why} for id_, why in block.dropped],
        "tokens": block.tokens,
        "budget": block.budget,
    }


def iso_or_none(at: int | None) -> str | None:
    """ISO 8601, or None for an unknown time."""
    from memcli.times import to_iso

    return None if at is None else to_iso(at)


def _at_least(option: str, value: int, least: int) -> int:
    if value < least:
        raise UsageError(f"{option} cannot be {value}", f"it is {least} or more")
    return value
