"""import --discover: the histories on this machine, what is new in them, and which to take."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from memcli.absorb import Intake
from memcli.cli.output import one_line
from memcli.cli.read import iso_or_none
from memcli.cli.run import Run
from memcli.errors import NothingMatchedError, UsageError
from memcli.importers.discover import Place, known_places
from memcli.times import to_day


def pick_places(run: Run, intake: Intake, *, yes: bool) -> tuple[list[str], dict[str, Any]]:
    """The files of the places that the person picks, and all places as JSON.

    Raises:
        NothingMatchedError: there is no history, or none was picked.
        UsageError: an answer that is no number of the list.
    """
    places = list(known_places(Path.home(), os.environ))
    if not places:
        raise NothingMatchedError("no history was found on this machine", "name a file: memcli import PATH")
    news = []
    with run.out.progress("looking", unit="histories") as tell:
        for number, place in enumerate(places, 1):
            news.append(_count_new(run, place, intake))
            tell(number, len(places))
    _show(run, places, news)
    picked = places if yes else [] if intake.dry_run else _ask(run, places)
    told = [_place_json(place, new) for place, new in zip(places, news, strict=True)]
    return [str(file) for place in picked for file in place.files], {"places": told}


def _count_new(run: Run, place: Place, intake: Intake) -> int:
    files = [str(file) for file in place.files]
    found = run.memory.absorb(files, intake=replace(intake, dry_run=True))
    return sum(report.added for report in found.files)


def _show(run: Run, places: list[Place], news: list[int]) -> None:
    if run.out.as_json:
        return
    for number, (place, new) in enumerate(zip(places, news, strict=True), 1):
        span = f"{to_day(place.oldest)} – {to_day(place.newest)}"
        size = f"{place.size_bytes / 1_000_000:,.1f} MB"
        path = one_line(str(place.path))
        cells = [str(number), place.kind, f"{new:,} new", span, size, path]
        run.out.line(
            f"{number:>3}  {place.kind:<12} {new:>8,} new  {span}  {size:>10}  {path}"
            if run.out.is_tty
            else "\t".join(cells)
        )
    run.out.flush()


def _place_json(place: Place, new: int) -> dict[str, Any]:
    return {
        "kind": place.kind,
        "path": str(place.path),
        "files": [str(file) for file in place.files],
        "size_bytes": place.size_bytes,
        "oldest": iso_or_none(place.oldest),
        "newest": iso_or_none(place.newest),
        "new": new,
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
