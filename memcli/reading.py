"""What is remembered of files that were read: how far, and what they gave; counts and hashes, never words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memcli import __version__, lifecycle
from memcli.importers.seen import scratch, translated
from memcli.types import FileReport, Reached

if TYPE_CHECKING:
    from memcli.importers import Source
    from memcli.importers.source import Place
    from memcli.store.side import Side

# A file of more conversations than this is read again from its beginning.
_SESSIONS_KEPT = 20_000
_BAD_LINES_KEPT = 1_000
NOTES_KEPT = 200
_COUNTS = ("conversations", "messages", "notes", "duplicates", "forgotten", "skipped", "format")
_MORE_COUNTS = ("redacted", "bad_lines")


class Sessions:
    """The conversations of one file: how many messages each has had, and whether any was kept.

    On disk: a file may have millions.
    """

    def __init__(self) -> None:
        self._db = scratch(
            "CREATE TABLE sessions (session TEXT PRIMARY KEY, next INTEGER, kept INTEGER) WITHOUT ROWID"
        )
        self._last_kept: str | None = None

    def place(self, session: str, messages: int) -> int:
        """The position of the first of so many messages that follow in this conversation."""
        mark = _mark(session)
        with translated():
            row = self._db.execute("SELECT next FROM sessions WHERE session = ?", (mark,)).fetchone()
            first = int(row[0]) if row else 0
            self._db.execute(
                "INSERT INTO sessions VALUES (?, ?, 0) "
                "ON CONFLICT (session) DO UPDATE SET next = excluded.next",
                (mark, first + messages),
            )
        return first

    def note_kept(self, session: str) -> None:
        """A message of this conversation is kept (one of our own export may be in none that was placed)."""
        if session == self._last_kept:
            return
        self._last_kept = session
        with translated():
            self._db.execute(
                "INSERT INTO sessions VALUES (?, 0, 1) ON CONFLICT (session) DO UPDATE SET kept = 1",
                (_mark(session),),
            )

    def kept(self) -> int:
        """How many conversations have a message that is kept."""
        with translated():
            return int(self._db.execute("SELECT count(*) FROM sessions WHERE kept").fetchone()[0])

    def rows(self) -> list[list[Any]] | None:
        """All of it as JSON; None where it is too much to be remembered."""
        with translated():
            rows = self._db.execute("SELECT * FROM sessions LIMIT ?", (_SESSIONS_KEPT + 1,)).fetchall()
        return [list(row) for row in rows] if len(rows) <= _SESSIONS_KEPT else None

    def load(self, rows: list[list[Any]]) -> None:
        """Go on from what `rows` gave."""
        with translated():
            self._db.executemany("INSERT INTO sessions VALUES (?, ?, ?)", rows)


def _mark(session: str) -> str:
    return lifecycle.keyed_hash(b"", session)[:16]


@dataclass(frozen=True, slots=True)
class Reading:
    """What so many bytes at the beginning of a file gave: `counts` as `all_of` or `so_far` make them."""

    size: int
    digest: str
    counts: Mapping[str, Any]


def all_of(report: FileReport, source: Source, notes: Sequence[str]) -> Reading | None:
    """The reading of a whole file; None when there was something to say of it, so that it is said again.

    `notes` are the ids of the memories that it is known by at its path: it may move.
    """
    if not source.size or report.error or report.warnings or report.bad_lines:
        return None
    kept = {"notes_of": list(notes)} if len(notes) <= NOTES_KEPT else {}
    return Reading(source.size, source.fingerprint, _counts(report) | kept)


def so_far(report: FileReport, reached: Reached, sessions: Sessions) -> Reading | None:
    """The reading of a file by lines up to a place that a later one can go on from."""
    rows = sessions.rows()
    if rows is None or len(report.bad_lines) > _BAD_LINES_KEPT:
        return None
    going_on = {"lines": reached.lines, "sessions": rows}
    return Reading(reached.size, reached.digest, _counts(report) | going_on)


def _counts(report: FileReport) -> dict[str, Any]:
    counts = {name: getattr(report, name) for name in (*_COUNTS, *_MORE_COUNTS)}
    return counts | {"duplicates": report.added + report.duplicates}


def report_again(path: str, counts: Mapping[str, Any]) -> FileReport:
    """The report of a file that is known to the last byte, without reading it."""
    bad_lines = tuple(counts["bad_lines"])
    return FileReport(
        path=path,
        **{name: counts[name] for name in _COUNTS},
        redacted=counts["redacted"],
        bad_lines=bad_lines,
        warnings=tuple(bad_line_again(number) for number in bad_lines),
    )


def bad_line_again(number: int) -> str:
    """What is said of a line that an earlier reading could not read."""
    return f"line {number} could not be read"


# --- in the side store ----------------------------------------------------------------------------


def earlier(side: Side, source: Source, asked: str) -> tuple[Reading, Place] | None:
    """What the bytes gave that a file begins with and that were read the same way; and their end.

    Args:
        side: the side store.
        source: the file.
        asked: how it is wanted; another wish reads it anew.
    """
    key = side.state().key
    row = side.read_of(file_mark(key, source.key))
    if row is None or source.size is None or row.size > source.size:
        return None
    if row.size < source.size and "lines" not in row.counts:
        return None
    place = source.place_after(row.size, row.counts.get("lines", 0))
    if place is None or row.mark != mark_of(key, place.reached().digest, asked):
        return None
    return Reading(row.size, place.reached().digest, row.counts), place


def is_known(side: Side, source: Source) -> bool:
    """Whether anything is remembered of a file."""
    return side.read_of(file_mark(side.state().key, source.key)) is not None


def note(side: Side, readings: Iterable[tuple[Source, Reading]], asked: str) -> None:
    """Remember readings, until something is forgotten."""
    from memcli.store.side import Read

    key = side.state().key
    side.note_reads(
        Read(file_mark(key, source.key), mark_of(key, done.digest, asked), done.size, done.counts)
        for source, done in readings
    )


def drop(side: Side, source: Source) -> None:
    """A file is about to be read anew: what an older reading gave says nothing of it any more."""
    side.drop_read(file_mark(side.state().key, source.key))


def file_mark(key: bytes, path: str | None) -> str:
    """What tells a file by where it lies."""
    return lifecycle.keyed_hash(key, "file", path)


def mark_of(key: bytes, digest: str, asked: str) -> str:
    """What tells a reading: its bytes, how it was asked for and who read it."""
    return lifecycle.keyed_hash(key, "read", digest, asked, __version__)
