"""export: memories to a file or to standard output."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from memcli.atomic import write_atomically, writing_to
from memcli.cli.encryption import Encrypt, PassphraseFile, Recipients, lock_of
from memcli.cli.output import Output
from memcli.cli.read import Ndjson
from memcli.cli.run import Narrowing, Run, one_of
from memcli.cli.upkeep import setting_json
from memcli.config import SETTINGS
from memcli.errors import UsageError
from memcli.export import FORMATS, Format, Sink
from memcli.text import neutral
from memcli.times import local_zone, to_day
from memcli.types import Filters, Record

if TYPE_CHECKING:
    from memcli.age import Lock

_PACKAGE = "zip"
_AGE = ".age"
_NAMES = (*(form.name for form in FORMATS), _PACKAGE)


def export(
    run: Run,
    output: Annotated[
        str | None,
        typer.Option("-o", metavar="FILE|DIR", help="Where to; into a directory under the day's name."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="F", help=f"{', '.join(_NAMES)}; by the name of FILE, else jsonl."),
    ] = None,
    *,
    narrowing: Narrowing,
    ndjson: Ndjson = False,
    encrypt: Encrypt = False,
    passphrase_file: PassphraseFile = None,
    recipient: Recipients = None,
) -> None:
    """Write memories out, those replaced and hidden too, in an order that never changes.

    Examples:
      memcli export > memories.jsonl
      memcli export -o memories.parquet
      memcli export -o ~/backups --project kitchen
      memcli export --format markdown --kind preference --current
      memcli export -o everything.zip
      memcli export -o memories.jsonl.age --encrypt

    `memcli import` takes JSONL, JSON and CSV back; JSONL and JSON are exact. In CSV a text that a
    spreadsheet would run as a formula has a ' before it. Markdown and Parquet are one-way. A zip holds all
    that is kept about the user: memories, sessions, tasks, events, settings, with a manifest of SHA-256 sums.
    What is encrypted is one age file, put together in memory; `age -d` opens it.
    """
    run.out.as_ndjson = ndjson
    place = None if output in (None, "", "-") else output
    lock = lock_of(run, encrypt=encrypt, passphrase_file=passphrase_file, recipients=recipient)
    chosen = _format(run, _unlocked_name(place, lock), form)
    if lock is not None:
        chosen = _locked(chosen, lock)
    if chosen.is_binary and place is None and run.out.is_tty:
        raise UsageError(f"a terminal cannot show {chosen.name}", "name a file with -o, or pipe it")
    filters = narrowing.filters(run, project_only=True)
    if chosen.name == _PACKAGE and filters != Filters(project_only=True):
        raise UsageError("a zip holds everything about a user", "leave the filters out, or choose jsonl")
    records = run.memory.export(filters)
    if place is None:
        _to_stdout(run, chosen, records)
    else:
        _to_file(run, chosen, records, _path(run, chosen, place))


def _unlocked_name(place: str | None, lock: Lock | None) -> str | None:
    """The name of a file without what says that it is encrypted. Raises UsageError when it will not be."""
    if place is None or _is_directory(place) or not place.lower().endswith(_AGE):
        return place
    if lock is None:
        raise UsageError(f"{place} is named as an encrypted file", "add --encrypt, or leave its .age out")
    return place[: -len(_AGE)]


def _locked(form: Format, lock: Lock) -> Format:
    """The format, with what it writes encrypted."""
    from memcli import age

    def write(records: Iterable[Record], sink: Sink) -> None:
        held = io.BytesIO()
        form.write(records, held)
        sink.write(age.encrypted(held.getvalue(), lock))

    return Format(form.name, f"{form.suffix}{_AGE}", write, is_binary=True)


def _formats(run: Run) -> Sequence[Format]:
    """The formats of memories alone, and the archive of all that is held about the user."""
    return (*FORMATS, Format(_PACKAGE, ".zip", partial(_write_package, run), is_binary=True))


def _write_package(run: Run, records: Iterable[Record], sink: Sink) -> None:
    from memcli.package import Holdings, write_package
    from memcli.store.side import SCHEMA_VERSION

    held = Holdings(
        user=run.settings.user,
        schema=SCHEMA_VERSION,
        tables=run.memory.tables(),
        settings=[setting_json(run, setting.name) for setting in SETTINGS],
    )
    write_package(records, sink, held=held, now=run.now())


def _format(run: Run, place: str | None, name: str | None) -> Format:
    """The format that is asked for, else what the file's name says, else JSON lines. Raises UsageError."""
    words = (
        one_of("--format", name, _NAMES),
        "jsonl" if run.out.as_ndjson else None,
        # With a file it is the answer about the file that is JSON.
        "json" if run.out.as_json and place is None else None,
    )
    asked = sorted({word for word in words if word})
    if len(asked) > 1:
        raise UsageError(
            f"the output cannot be {' and '.join(asked)} at once",
            "give one of --format, --json and --ndjson",
        )
    return next(form for form in _formats(run) if form.name == asked[0]) if asked else _named_by(run, place)


def _named_by(run: Run, place: str | None) -> Format:
    """The format that the name of a file says; JSON lines where it says none. Raises UsageError."""
    suffix = Path(place or "").suffix.lower()
    if place is None or not suffix or _is_directory(place):
        return FORMATS[0]
    for form in _formats(run):
        if suffix in (form.suffix, f".{form.name}"):
            return form
    raise UsageError(
        f"no format's files end in {suffix!r}",
        f"name the file {', '.join(f'*{form.suffix}' for form in _formats(run))}, or say its --format",
    )


def _is_directory(place: str) -> bool:
    with writing_to(place):
        return place.endswith("/") or Path(place).is_dir()


def _path(run: Run, form: Format, place: str) -> Path:
    day = to_day(run.now(), tz=local_zone())
    return Path(place, f"memcli-export-{day}{form.suffix}") if _is_directory(place) else Path(place)


def _to_file(run: Run, form: Format, records: Iterable[Record], path: Path) -> None:
    count = 0

    def counted() -> Iterator[Record]:
        nonlocal count
        for record in records:
            count += 1
            yield record

    write_atomically(path, lambda stream: form.write(counted(), stream))
    if run.out.as_json:
        run.out.document({"path": str(path), "format": form.name, "memories": count})
    else:
        run.out.message(f"wrote {count:,} {'memory' if count == 1 else 'memories'} to {path}")


def _to_stdout(run: Run, form: Format, records: Iterable[Record]) -> None:
    if run.out.is_tty:
        form.write(records, _Terminal(run.out))
        return
    # A stream of its own: bytes that could not be written must not wait in sys.stdout and fail again.
    with writing_to("standard output"), os.fdopen(sys.stdout.fileno(), "wb", closefd=False) as stream:
        form.write(_flushed(records, stream) if run.out.as_ndjson else records, stream)


def _flushed(records: Iterable[Record], stream: IO[bytes]) -> Iterator[Record]:
    """The records; what was written of one is out before the next is asked for."""
    for record in records:
        yield record
        stream.flush()


@dataclass(frozen=True, slots=True)
class _Terminal:
    """A sink that shows text and lets the terminal obey none of it."""

    out: Output

    def write(self, data: bytes, /) -> None:
        """Show the text."""
        self.out.write(neutral(data.decode()))
