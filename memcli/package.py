"""The data-subject package: all that is held about a user, in one zip archive with its sums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, cast

from memcli import __version__
from memcli.export import Sink, write_jsonl
from memcli.redact import scrub
from memcli.times import to_iso
from memcli.types import Millis, Record

if TYPE_CHECKING:
    from zipfile import ZipFile

FOLDER = "memcli-package"
"""What the archive holds is in a folder of this name; `memcli import` takes only the memories out of it."""

_README = """\
This is everything that memcli holds about the user {user}, written on {day}.

memories.jsonl      what is remembered, what it replaced and what is hidden: a JSON object a line.
                    `memcli import` of this archive takes it back.
sessions, turns     what was said in chats, word for word.
tasks, task_*       the state of scripts that are not done.
queue, review       what is to be learned from yet, and what was learned and waits for your yes or no.
journal, journal_*  what commands added and changed, with what was there before, for undo.
backups             where you had backups made, and when.
recalled, events    when memories came back and how answers were judged: ids, times and counts, no words.
files, reads        which files were imported: keyed hashes and counts, no names, no words.
tombstones          what was forgotten and must not come back: keyed hashes, no words.
settings.json       how memcli is set up.
manifest.json       the SHA-256 sum of each file, and the version of the store.

Not in it: vectors, which are made of the texts, and the key of the hashes.
Copies that you exported or made yourself are not known to memcli.
"""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What is held besides the memories: the rows of the side store by table, its schema, the settings."""

    user: str
    schema: int
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    settings: Sequence[Mapping[str, Any]]


def write_package(records: Iterable[Record], sink: Sink, *, held: Holdings, now: Millis) -> None:
    """Write the archive; a table is a file of JSON lines, a row each, times as ISO 8601."""
    from zipfile import ZIP_DEFLATED, ZipFile

    # Every sink of a binary format is a file: a terminal is refused.
    with ZipFile(cast("IO[bytes]", sink), "w", ZIP_DEFLATED) as archive:
        package = _Package(archive, now)
        day = to_iso(now)[:10]
        package.add("README.txt", lambda out: out.write(_README.format(user=held.user, day=day).encode()))
        package.add("memories.jsonl", lambda out: write_jsonl(records, out))
        for name, rows in held.tables.items():
            package.add_json(f"{name}.jsonl", *map(_told, rows))
        package.add_json("settings.json", [_without_secrets(setting) for setting in held.settings])
        about = {"program": "memcli", "version": __version__, "schema": held.schema, "user": held.user}
        package.add_json("manifest.json", {**about, "made_at": to_iso(now), "files": dict(package.sums)})


@dataclass(slots=True)
class _Package:
    """An archive that is being written, and the sums of what is in it."""

    archive: ZipFile
    now: Millis
    sums: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def add(self, name: str, write: Callable[[Sink], object]) -> None:
        """Add a file of what `write` puts into a sink."""
        from zipfile import ZIP_DEFLATED, ZipInfo

        day, clock = to_iso(self.now)[:10], to_iso(self.now)[11:19]
        moment = [int(part) for part in (*day.split("-"), *clock.split(":"))]
        # Zip knows no year before this.
        about = ZipInfo(f"{FOLDER}/{name}", (max(1980, moment[0]), *moment[1:]))  # type: ignore[arg-type]
        about.compress_type = ZIP_DEFLATED
        about.external_attr = 0o600 << 16
        with self.archive.open(about, "w", force_zip64=True) as stream:
            counted = _Counted(stream)
            write(counted)
        self.sums[name] = {"bytes": counted.size, "sha256": counted.digest.hexdigest()}

    def add_json(self, name: str, *values: object) -> None:
        """Add a file of JSON values, a line each."""
        lines = "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)
        self.add(name, lambda out: out.write(lines.encode()))


@dataclass(slots=True)
class _Counted:
    """A sink that counts what goes through it."""

    stream: IO[bytes]
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def write(self, data: bytes, /) -> object:
        """Take the bytes."""
        self.size += len(data)
        self.digest.update(data)
        return self.stream.write(data)


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_iso(value) if _is_time(name, value) else value for name, value in row.items()}


def _is_time(column: str, value: object) -> bool:
    return isinstance(value, int) and (column in ("at", "last") or column.endswith("_at"))


def _without_secrets(setting: Mapping[str, Any]) -> dict[str, Any]:
    return {name: scrub(value)[0] if isinstance(value, str) else value for name, value in setting.items()}
