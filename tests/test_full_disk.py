"""What becomes of the memories on a disk that is full, cannot be written, or goes away."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import Shared
from tests.torture.program import QUIET, Done, history, ids, is_clean, worked_s

_LIMITED = (
    "import resource, sys; from memcli.__main__ import _main; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)); sys.exit(_main(sys.argv[1:]))"
)
_RECIPIENT = "age17xx2qktqzkekpx2cjz5t2tv7pgm7grt6y65cayg9at49c5nw6vws4hfv5x"
_LOG_LEFT = (
    "import os, sys; from pathlib import Path; from memcli.store.side import Side; "
    "side = Side(Path(sys.argv[1]), writable=True); side.note_file('a', 'b'); os._exit(9)"
)
# Somebody who may read everything, as the interpreter lies where it lies, and write nothing.
_READER = (
    "setpriv",
    "--reuid=54321",
    "--clear-groups",
    "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory for the memories."""
    return tmp_path / "place"


@pytest.fixture
def disk(place: Path) -> Iterator[Path]:
    """The place of the memories as a disk of 8 MB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], capture_output=True, encoding="utf-8"
    )
    if mounted.returncode != 0:
        pytest.skip(f"a disk cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def shared(place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Shared]:
    """The program with its memories in that place; nothing of its inside may be shown."""
    (tmp_path / "home").mkdir()
    yield Shared(tmp_path / "home", {**QUIET, "MEMCLI_DATA_DIR": str(place / "data")})
    # What compiled code would write.
    assert capfd.readouterr().err == ""


def fill(disk: Path) -> Path:
    """Leave no byte free."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream:
        for size in (65_536, 4_096, 1):
            try:
                while True:
                    stream.write(b"\0" * size)
            except OSError:
                continue
    return filler


def exported(shared: Shared) -> list[str]:
    """The lines of an export, which has to go well."""
    result = shared.here("export")
    assert (result.returncode, is_clean(result)) == (0, True), result.stderr
    return result.stdout.splitlines()


def remembered(shared: Shared, *texts: str) -> None:
    """The memories of these texts, which have to be stored."""
    for text in texts:
        result = shared.here("remember", text)
        assert result.returncode == 0, result.stderr


def imported(shared: Shared, count: int, *, name: str = "history.jsonl") -> Done:
    """An import of so many messages."""
    return shared.here("import", history(shared.home / name, count))


def is_refused(result: Done, *words: str) -> bool:
    """Whether a command ended as one for which the disk is no good, with these words and what to do."""
    said = [word in result.stderr for word in (*words, "hint: ")]
    assert (result.returncode, is_clean(result), all(said)) == (5, True, True), (result.args, result.stderr)
    return True


# --- full -----------------------------------------------------------------------------------------


def test_a_full_disk_loses_nothing_and_is_said_in_a_sentence(disk: Path, shared: Shared) -> None:
    assert imported(shared, 300).returncode == 0
    before = exported(shared)
    filler = fill(disk)

    assert is_refused(shared.here("remember", "an owl"), "the disk is full")
    assert is_refused(imported(shared, 400, name="more.jsonl"), "the disk is full")
    found = shared.here("recall", "garden")
    assert (found.returncode, is_clean(found)) == (0, True), found.stderr
    assert exported(shared) == before

    filler.unlink()
    remembered(shared, "an owl")
    assert set(before) < set(exported(shared))


WRITING: tuple[tuple[str, ...], ...] = (
    ("remember", "an owl"),
    ("edit", "{id}", "a newer text"),
    ("forget", "{id}", "--yes"),
    ("forget", "{id}", "--yes", "--retire"),
    ("task", "start", "work"),
    ("undo",),
    ("reembed", "builtin"),
    ("backup",),
    ("restore", "saved.tar", "--yes"),
)


@pytest.mark.parametrize("free_bytes", [0, 40_000, 200_000])
def test_no_command_that_writes_breaks_anything_on_a_full_disk(
    disk: Path, shared: Shared, free_bytes: int
) -> None:
    remembered(shared, "a heron by the water", "a fox")
    assert shared.here("backup", "saved.tar").returncode == 0
    (first,) = (json.loads(line) for line in exported(shared) if "heron" in line)
    filler = fill(disk)
    os.truncate(filler, filler.stat().st_size - free_bytes)
    refused = 0
    for command in WRITING:
        result = shared.here(*(part.format(id=first["id"]) for part in command), env={"MEMCLI_EMBEDDER": ""})
        assert (result.returncode in (0, 1, 2, 5), is_clean(result)) == (True, True), (command, result.stderr)
        if result.returncode == 5:
            refused += is_refused(result, "is full")
        assert len(exported(shared)) in (1, 2, 3)
    assert refused or free_bytes
    filler.unlink()
    remembered(shared, "a newt")
    lines = exported(shared)
    assert len(set(ids(lines))) == len(lines)
    assert any("a newt" in line for line in lines)


def test_a_backup_for_which_there_is_no_room_leaves_nothing(disk: Path, shared: Shared) -> None:
    assert imported(shared, 300).returncode == 0
    fill(disk)
    os.truncate(disk / "filler", (disk / "filler").stat().st_size - 150_000)
    for path in ([disk / "saved.tar"], []):
        result = shared.here("backup", *path)
        assert is_refused(result, "is full")
    left = [path.name for path in disk.rglob("*") if ".tar" in path.name or path.name.startswith(".")]
    assert set(left) <= {".lock", ".backup.lock"}
    assert shared.json("stats")["last_backup"] is None


def test_a_backup_that_cannot_be_put_back_for_want_of_room_changes_nothing(
    disk: Path, shared: Shared
) -> None:
    assert imported(shared, 300).returncode == 0
    assert shared.here("backup", "saved.tar").returncode == 0
    remembered(shared, "an owl")
    before = exported(shared)
    fill(disk)
    for free_bytes in (0, 50_000, 150_000):
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - free_bytes)
        assert is_refused(shared.here("restore", "saved.tar", "--yes"))
        assert exported(shared) == before
    (disk / "filler").unlink()
    assert shared.here("restore", "saved.tar", "--yes").returncode == 0
    assert len(exported(shared)) == 300


def test_forgetting_on_a_full_disk_says_how_much_room_it_needs_and_needs_no_more(
    disk: Path, shared: Shared
) -> None:
    assert imported(shared, 2_000).returncode == 0
    filler = fill(disk)
    result = shared.here("forget", "--source-id", "m7", "--yes")
    assert is_refused(result)
    asked = re.search(r"free ([\d,]+) bytes on the disk of", result.stderr)
    assert asked, result.stderr
    os.truncate(filler, filler.stat().st_size - int(asked[1].replace(",", "")))
    assert shared.json("forget", "--source-id", "m7", "--yes", "--prove")["traces"] == 0
    assert len(exported(shared)) == 1_999


def test_what_is_forgotten_on_a_nearly_full_disk_is_hidden_until_there_is_room(
    disk: Path, shared: Shared
) -> None:
    assert imported(shared, 2_000).returncode == 0
    filler = fill(disk)
    os.truncate(filler, filler.stat().st_size - 300_000)
    result = shared.here("forget", "--source-id", "m7", "--yes")
    assert is_refused(result)
    assert re.search(r"free [\d,]+ bytes .* hidden", result.stderr)
    assert len(exported(shared)) == 1_999
    filler.unlink()
    remembered(shared, "an owl")
    assert len(exported(shared)) == 2_000
    assert "Message 7 " not in "".join(exported(shared))


def test_an_import_larger_than_the_disk_keeps_what_was_read(disk: Path, shared: Shared) -> None:
    (disk / "filler").write_bytes(b"\0" * 5_000_000)
    result = imported(shared, 16_000)
    assert result.returncode in (3, 5)
    assert is_clean(result), result.stderr
    assert "the disk is full" in result.stderr
    lines = exported(shared)
    assert len(lines) >= 4_000
    assert len(set(ids(lines))) == len(lines)


@pytest.mark.parametrize(
    "command",
    [
        ("remember", "an owl"),
        ("import", "more.jsonl"),
        ("forget", "--all", "--yes"),
        ("backup", "saved.tar"),
        ("backup", "saved.tar", "--recipient", _RECIPIENT),
        ("restore", "earlier.tar", "--yes"),
        ("export", "-o", "saved.jsonl"),
        ("export", "-o", "saved.age", "--recipient", _RECIPIENT),
    ],
    ids=lambda command: command[0],
)
def test_a_limit_of_the_system_on_files_is_said_like_a_full_disk(
    shared: Shared, command: tuple[str, ...]
) -> None:
    assert imported(shared, 300).returncode == 0
    assert shared.here("backup", "earlier.tar").returncode == 0
    history(shared.home / "more.jsonl", 900)
    before, files = exported(shared), set(shared.home.iterdir())
    result = subprocess.run(
        [sys.executable, "-c", _LIMITED, *command],
        capture_output=True,
        encoding="utf-8",
        cwd=shared.home,
        env={**os.environ, **shared.environment},
    )
    assert is_refused(result)
    assert (exported(shared), set(shared.home.iterdir())) == (before, files)


# --- not to be written ----------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_directory_that_one_may_only_read_is_read(shared: Shared, place: Path) -> None:
    remembered(shared, "a heron by the water")
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)

    def as_someone(*args: str) -> Done:
        command = [*_READER, sys.executable, "-m", "memcli", *args]
        environment = {**os.environ, **shared.environment}
        return subprocess.run(command, capture_output=True, encoding="utf-8", cwd="/", env=environment)

    assert "heron" in as_someone("recall", "heron").stdout
    for command in (
        ("remember", "a fox"),
        ("forget", "--all", "--yes"),
        ("task", "start", "work"),
        ("backup", "/saved.tar"),
    ):
        assert is_refused(as_someone(*command), "hint: check the permissions")


@pytest.mark.parametrize("was_killed", [False, True])
def test_a_disk_that_cannot_be_written_is_read(disk: Path, shared: Shared, was_killed: bool) -> None:
    remembered(shared, "a heron by the water", "an owl in the barn")
    assert shared.here("backup", "saved.tar").returncode == 0
    if was_killed:
        # A writer that died has left its last change in the log beside the file.
        side = disk / "data" / "users" / "default" / "side.db"
        subprocess.run([sys.executable, "-c", _LOG_LEFT, side])
        assert side.with_name("side.db-wal").stat().st_size > 0
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    found = shared.here("recall", "heron")
    assert (found.returncode, is_clean(found), "heron" in found.stdout) == (0, True, True), found.stderr
    assert len(exported(shared)) == 2
    for command in (
        ("remember", "a fox"),
        ("forget", "--all", "--yes"),
        ("backup", "other.tar"),
        ("restore", "saved.tar", "--yes"),
        ("export", "-o", str(disk / "x.jsonl")),
    ):
        assert is_refused(shared.here(*command))


# --- gone -----------------------------------------------------------------------------------------


def test_a_directory_that_vanishes_is_an_empty_store_to_readers_and_made_anew_by_writers(
    shared: Shared, place: Path
) -> None:
    remembered(shared, "a heron")
    shutil.rmtree(place)
    assert exported(shared) == []
    assert shared.here("recall", "heron").returncode == 1
    remembered(shared, "an owl")
    assert len(exported(shared)) == 1


@pytest.mark.parametrize(
    "command", [("import", "more.jsonl"), ("backup", "saved.tar"), ("export", "-o", "all.jsonl")]
)
def test_a_directory_that_vanishes_while_a_command_runs_is_a_sentence(
    shared: Shared, place: Path, command: tuple[str, ...]
) -> None:
    assert imported(shared, 4_000).returncode == 0
    history(shared.home / "more.jsonl", 12_000)
    running = shared.start(*command)
    while running.poll() is None and worked_s(running.pid) < 0.5:
        time.sleep(0.01)
    shutil.rmtree(place, ignore_errors=True)
    out, err = running.communicate()
    result = Done(running.args, running.returncode, out, err)
    assert (result.returncode in (0, 3, 5), is_clean(result)) == (True, True), result.stderr
    assert result.returncode == 0 or "hint: " in result.stderr
    shutil.rmtree(place, ignore_errors=True)
    remembered(shared, "an owl")
    assert len(exported(shared)) == 1


def test_an_undo_on_a_full_disk_is_gone_on_with_and_takes_nothing_more(disk: Path, shared: Shared) -> None:
    remembered(shared, "an owl")
    assert imported(shared, 400).returncode == 0
    filler = fill(disk)
    for _ in range(2):
        os.truncate(filler, filler.stat().st_size - 40_000)
        assert is_refused(shared.here("undo"), "the disk is full")
    filler.unlink()
    assert shared.here("undo").returncode == 0
    assert [json.loads(line)["text"] for line in exported(shared)] == ["an owl"]
