"""import --watch: take in what is added to files, as it comes."""

from __future__ import annotations

import signal
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from memcli.absorb import Intake
from memcli.cli.output import one_line
from memcli.cli.run import Run
from memcli.errors import ModelError, UsageError
from memcli.types import FileReport

_EVERY_S = 1.0
# What is not read on from where it was is read whole; this much longer than that took, it rests.
_REST = 5.0
_VECTORS_S = 2.0
_Looks: TypeAlias = tuple[int, int]  # when it was changed, and its size


def follow(run: Run, paths: list[str], intake: Intake, *, with_vectors: bool) -> None:
    """Import the files and directories, then whatever changes in them, until Ctrl-C or a TERM signal.

    A line that its writer has not finished is left for the next look. One line is printed a batch.

    Raises:
        UsageError: a path is standard input or is not there.
    """
    for path in paths:
        if path == "-" or not Path(path).exists():
            raise UsageError(f"{path} cannot be watched", "name files or directories that are there")
    seen: dict[Path, _Looks] = {}
    rests_until: dict[Path, float] = {}
    with _stopping() as stop:
        while not stop.is_set():
            for file in _changed(paths, seen):
                if stop.is_set() or time.monotonic() < rests_until.get(file, 0.0):
                    continue
                began = time.monotonic()
                try:
                    _take(run, file, intake, seen, stop)
                except KeyboardInterrupt:
                    break
                rests_until[file] = time.monotonic() + _REST * (time.monotonic() - began)
                run.memory.settle()
            if with_vectors and not intake.dry_run:
                _fill_some(run)
            stop.wait(_EVERY_S)
    run.out.message("stopped; everything that was read is kept")


def _take(run: Run, file: Path, intake: Intake, seen: dict[Path, _Looks], stop: threading.Event) -> None:
    """Import a file. Raises KeyboardInterrupt between two batches of a long one when it is time to stop."""

    def heed(_done: int, _all: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    looks = _looks(file)
    done = run.memory.absorb([str(file)], intake=intake, progress=heed)
    if looks is not None:
        seen[file] = looks
    _tell(run, done.files)


def _looks(file: Path) -> _Looks | None:
    """What changes when a file does; None where there is none."""
    try:
        status = file.stat()
    except OSError:
        # Gone since it was listed.
        return None
    return (status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C and TERM set, so that a batch under way is finished first."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _changed(paths: Iterable[str], seen: dict[Path, _Looks]) -> Iterator[Path]:
    """The files under the paths whose size or time is another than when they were last read."""
    for path in paths:
        start = Path(path)
        files = sorted(start.rglob("*")) if start.is_dir() else [start]
        for file in files:
            is_hidden = any(part.startswith(".") for part in file.relative_to(start).parts)
            looks = None if is_hidden else _looks(file)
            if looks is not None and seen.get(file) != looks:
                yield file


def _tell(run: Run, reports: Iterable[FileReport]) -> None:
    for report in reports:
        if not report.added:
            continue
        if run.out.as_json:
            run.out.object({"path": report.path, "format": report.format, "added": report.added})
        else:
            run.out.line(f"{one_line(report.path)}\t{report.format}\tadded {report.added:,}")
            run.out.flush()


def _fill_some(run: Run) -> None:
    try:
        run.memory.fill_vectors(until=time.monotonic() + _VECTORS_S)
    except ModelError as error:
        run.out.timing(f"no vectors: {error.message}")
