"""import --watch: take in what is added to files, as it comes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memcli.absorb import Intake
from memcli.cli.output import one_line
from memcli.cli.run import Run
from memcli.errors import ModelError, UsageError
from memcli.types import FileReport

_EVERY_S = 1.0
# A file is read again from its beginning when it grows; this much longer than that took, it rests.
_REST = 5.0
_VECTORS_S = 2.0


def follow(run: Run, paths: list[str], intake: Intake, *, with_vectors: bool) -> None:
    """Import the files and directories, then whatever changes in them, until Ctrl-C or a TERM signal.

    A line that its writer has not finished is left for the next look. One line is printed a batch.

    Raises:
        UsageError: a path is standard input or is not there.
    """
    for path in paths:
        if path == "-" or not Path(path).exists():
            raise UsageError(f"{path} cannot be watched", "name files or directories that are there")
    seen: dict[Path, tuple[int, int]] = {}
    rests_until: dict[Path, float] = {}
    with _stopping() as stop:
        while not stop.is_set():
            for file in _changed(paths, seen):
                if stop.is_set() or time.monotonic() < rests_until.get(file, 0.0):
                    continue
                began = time.monotonic()
                status = file.stat()
                done = run.memory.absorb([str(file)], intake=intake)
                seen[file] = (status.st_mtime_ns, status.st_size)
                rests_until[file] = time.monotonic() + _REST * (time.monotonic() - began)
                _tell(run, done.files)
                run.memory.settle()
            if with_vectors and not intake.dry_run:
                _fill_some(run)
            stop.wait(_EVERY_S)
    run.out.message("stopped; everything that was read is kept")


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


def _changed(paths: Iterable[str], seen: dict[Path, tuple[int, int]]) -> Iterator[Path]:
    """The files under the paths whose size or time is another than when they were last read."""
    for path in paths:
        start = Path(path)
        files = sorted(start.rglob("*")) if start.is_dir() else [start]
        for file in files:
            try:
                status = file.stat()
                if file.is_file() and seen.get(file) != (status.st_mtime_ns, status.st_size):
                    yield file
            except OSError:
                # Gone since it was listed.
                continue


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
