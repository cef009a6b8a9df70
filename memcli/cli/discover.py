"""import --discover: the histories on this machine, what is new in them, and which to take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memcli.absorb import Intake
from memcli.cli.output import one_line
from memcli.cli.read import iso_or_none
from memcli.cli.run import Run
from memcli.errors import NothingMatchedError, UsageError
from memcli.importers.discover import Place, known_places
from memcli.times import to_day
from memcli.types import FileReport, Millis


@dataclass(frozen=True, slots=True)
class _Found:
    """A history, and what a dry run tells of it: how much is new, and when the first and last were said."""

    place: Place
    new: int
    oldest: Millis | None
    newest: Millis | None

    @classmethod
    def of(cls, place: Place, reports: Sequence[FileReport]) -> _Found:
        oldest = [report.oldest for report in reports if report.oldest is not None]
        newest = [report.newest for report in reports if report.newest is not None]
        new = sum(report.added for report in reports)
        return cls(place, new, min(oldest, default=None), max(newest, default=None))


def pick_places(run: Run, intake: Intake, *, yes: bool) -> tuple[list[str], dict[str, Any]]:
    """The files of the places that the person picks, and all places as JSON.

    Raises:
        NothingMatchedError: there is no history, or none was picked.
        UsageError: an answer that is no number of the list.
    """
    places = list(known_places(Path.home(), os.environ))
    if not places:
        raise NothingMatchedError("no history was found on this machine", "name a file: memcli import PATH")
    found = []
    with run.out.progress("looking", unit="histories") as tell:
        for number, place in enumerate(places, 1):
            files = [str(file) for file in place.files]
            planned = run.memory.absorb(files, intake=replace(intake, dry_run=True, with_plan=False))
            found.append(_Found.of(place, planned.files))
            tell(number, len(places))
    _show(run, found)
    picked = places if yes else [] if intake.dry_run else _ask(run, places)
    files = [str(file) for place in picked for file in place.files]
    return files, {"places": [_place_json(each) for each in found]}


def _show(run: Run, found: Sequence[_Found]) -> None:
    if run.out.as_json:
        return
    for number, each in enumerate(found, 1):
        place, new = each.place, each.new
        days = [to_day(at) for at in (each.oldest, each.newest) if at is not None]
        span = " – ".join(days) or "no dates"
        size = f"{place.size_bytes / 1_000_000:,.1f} MB"
        path = one_line(str(place.path))
        cells = [str(number), place.kind, f"{new:,} new", span, size, path]
        run.out.line(
            f"{number:>3}  {place.kind:<12} {new:>8,} new  {span:<23}  {size:>10}  {path}"
            if run.out.is_tty
            else "\t".join(cells)
        )
    run.out.flush()


def _place_json(found: _Found) -> dict[str, Any]:
    place = found.place
    return {
        "kind": place.kind,
        "path": str(place.path),
        "files": [str(file) for file in place.files],
        "size_bytes": place.size_bytes,
        "oldest": iso_or_none(found.oldest),
        "newest": iso_or_none(found.newest),
        "new": found.new,
    }


def _ask(run: Run, places: list[Place]) -> list[Place]:
    if not run.out.can_ask:
        # The list was the answer; a script takes what it wants by path.
        return []
    answer = run.out.ask("import which? (numbers, all, or nothing)").casefold()
    if answer in ("all", "全部"):
        return places
    numbers = answer.replace(",", " ").split()
    if not numbers:
        raise NothingMatchedError("nothing was imported", "")
    if not all(number.isdecimal() and 1 <= int(number) <= len(places) for number in numbers):
        raise UsageError(f"{answer!r} is no number of the list", f"it goes from 1 to {len(places)}")
    return [places[int(number) - 1] for number in numbers]
