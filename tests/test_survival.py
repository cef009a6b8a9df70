"""What becomes of the memories when the machine, the disk, the terminal or another process misbehaves."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.torture.program import (
    QUIET,
    Done,
    begun,
    done,
    exported,
    history,
    ids,
    is_clean,
    kill_after,
    start,
)

pytestmark = pytest.mark.usefixtures("quiet_home")


@pytest.fixture
def quiet_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No embedder and a clock that stands still, for `run` too."""
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)


# --- killed ---------------------------------------------------------------------------------------


def test_an_import_killed_again_and_again_ends_with_the_same_memories(tmp_path: Path) -> None:
    file, data, expected, works_s = begun(tmp_path, messages=9_000)
    for number in range(8):
        # Each a little later than the one before: what is stored already takes no time.
        kill_after(start("import", file, data=data), works_s * (number + random.Random(number).random()) / 8)
        opened = done(start("list", "-n", "1", "--json", data=data))
        assert (opened.returncode, opened.stderr) == (0, "")
        assert json.loads(opened.stdout)["total"] >= 1
    assert done(start("import", file, data=data)).returncode == 0
    assert exported(data) == expected


def test_the_first_command_of_all_may_be_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for moment in (0.25, 0.35, 0.45, 0.55):
        kill_after(start("remember", "a heron by the water", data=data), moment)
        assert is_clean(done(start("recall", "heron", data=data)))
    assert done(start("remember", "an owl in the barn", data=data)).returncode == 0
    assert done(start("recall", "owl", data=data)).stdout.count("owl") == 1


# --- several at once ------------------------------------------------------------------------------


def test_processes_that_write_and_read_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    file = history(tmp_path / "history.jsonl", 3_000)
    data = tmp_path / "data"
    for turn in range(2):
        running = [
            start("import", file, data=data),
            start("import", file, data=data),
            start("remember", f"the owl of turn {turn}", data=data),
            start("remember", f"the fox of turn {turn}", data=data),
            start("recall", "garden", data=data),
            start("recall", "owl", "--json", data=data),
        ]
        results = [done(process) for process in running]
        assert [result.stderr for result in results if not is_clean(result)] == []
        assert [result.returncode for result in results[:4]] == [0] * 4
        assert {result.returncode for result in results[4:]} <= {0, 1}
    lines = exported(data)
    assert len(lines) == 3_000 + 4
    assert len(set(ids(lines))) == len(lines)
    assert len({json.loads(line)["text"] for line in lines}) == len(lines)


def test_readers_are_never_disturbed_by_an_erase(tmp_path: Path) -> None:
    file = history(tmp_path / "history.jsonl", 2_000)
    data = tmp_path / "data"
    assert done(start("import", file, data=data)).returncode == 0
    running = [
        start("forget", "--session", "s3", "--yes", data=data),
        *(start("recall", "garden", "--json", "-k", "5", data=data) for _ in range(2)),
        start("export", data=data),
        start("forget", "--session", "s4", "--yes", data=data),
    ]
    results = [done(process) for process in running]
    assert [result.stderr for result in results if not is_clean(result)] == []
    assert [result.returncode for result in results] == [0] * 5
    assert len(exported(data)) == 2_000 - 80


# --- the lock -------------------------------------------------------------------------------------

HOLD = """
import sys, filelock
lock = filelock.FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A store with one memory, and the process that holds its lock."""
    data = tmp_path / "data"
    assert done(start("remember", "a heron", data=data)).returncode == 0
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, data / "users" / "default" / ".lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    yield data, holder
    holder.kill()
    holder.communicate()


def test_a_locked_store_is_waited_for_then_refused(locked: tuple[Path, subprocess.Popen[str]]) -> None:
    data, _ = locked
    began = time.monotonic()
    waiting = start("remember", "an owl", "--json", data=data, MEMCLI_LOCK_TIMEOUT_S="3")
    assert waiting.stderr is not None
    first = waiting.stderr.readline()
    told_after_s = time.monotonic() - began
    result = done(waiting)
    took_s = time.monotonic() - began
    assert "waiting for another memcli" in first
    assert 2 <= told_after_s < 5
    assert 3 <= took_s < 8
    assert (result.returncode, result.stdout) == (5, "")
    error = json.loads(result.stderr.splitlines()[-1])
    assert error.keys() == {"error", "code", "hint"}
    assert error["code"] == 5
    assert "locked" in error["error"]


def test_a_locked_store_can_be_read(locked: tuple[Path, subprocess.Popen[str]]) -> None:
    data, _ = locked
    result = done(start("recall", "heron", data=data))
    assert (result.returncode, "heron" in result.stdout) == (0, True)


def test_the_wait_ends_when_the_holder_is_killed(locked: tuple[Path, subprocess.Popen[str]]) -> None:
    data, holder = locked
    waiting = start("remember", "an owl", data=data)
    assert waiting.stderr is not None
    assert "waiting" in waiting.stderr.readline()
    holder.kill()
    assert done(waiting).returncode == 0
    assert len(exported(data)) == 2


# --- the disk -------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB of one's own."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], capture_output=True, encoding="utf-8"
    )
    if mounted.returncode != 0:
        pytest.skip(f"a disk cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


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


def test_a_full_disk_loses_nothing_and_is_said_in_a_sentence(disk: Path, tmp_path: Path) -> None:
    data = disk / "data"
    assert done(start("import", history(tmp_path / "history.jsonl", 300), data=data)).returncode == 0
    before = exported(data)
    filler = fill(disk)

    for command in (("remember", "an owl"), ("import", history(tmp_path / "more.jsonl", 400))):
        result = done(start(*command, data=data))
        assert (result.returncode, is_clean(result)) == (5, True), result.stderr
        assert "the disk is full" in result.stderr
        assert "hint: " in result.stderr
    found = done(start("recall", "garden", data=data))
    assert (found.returncode, is_clean(found)) == (0, True), found.stderr
    assert exported(data) == before

    filler.unlink()
    assert done(start("remember", "an owl", data=data)).returncode == 0
    assert set(before) < set(exported(data))


WRITING: tuple[tuple[str, ...], ...] = (
    ("remember", "an owl"),
    ("edit", "{id}", "a newer text"),
    ("forget", "{id}", "--yes"),
    ("forget", "{id}", "--yes", "--retire"),
    ("task", "start", "work"),
    ("undo", "--yes"),
    ("reembed", "builtin"),
)


@pytest.mark.parametrize("free_bytes", [0, 40_000, 200_000])
def test_no_command_that_writes_breaks_anything_on_a_full_disk(disk: Path, free_bytes: int) -> None:
    data = disk / "data"
    for text in ("a heron by the water", "a fox"):
        assert done(start("remember", text, data=data)).returncode == 0
    (first,) = (json.loads(line) for line in exported(data) if "heron" in line)
    filler = fill(disk)
    os.truncate(filler, filler.stat().st_size - free_bytes)
    refused = 0
    for command in WRITING:
        result = done(
            start(*(part.format(id=first["id"]) for part in command), data=data, MEMCLI_EMBEDDER="")
        )
        assert (result.returncode in (0, 1, 2, 5), is_clean(result)) == (True, True), (command, result.stderr)
        if result.returncode == 5:
            refused += 1
            assert "the disk is full" in result.stderr, (command, result.stderr)
            assert "hint: free" in result.stderr
        assert len(exported(data)) in (1, 2, 3)
    assert refused or free_bytes
    filler.unlink()
    assert done(start("remember", "a newt", data=data)).returncode == 0
    lines = exported(data)
    assert len(set(ids(lines))) == len(lines)
    assert any("a newt" in line for line in lines)


def test_forgetting_on_a_full_disk_says_how_much_room_it_needs_and_needs_no_more(
    disk: Path, tmp_path: Path
) -> None:
    data = disk / "data"
    assert done(start("import", history(tmp_path / "history.jsonl", 2_000), data=data)).returncode == 0
    filler = fill(disk)
    result = done(start("forget", "--source-id", "m7", "--yes", data=data))
    assert (result.returncode, is_clean(result)) == (5, True), result.stderr
    asked = re.search(r"free ([\d,]+) bytes on the disk of", result.stderr)
    assert asked, result.stderr
    os.truncate(filler, filler.stat().st_size - int(asked[1].replace(",", "")))
    again = done(start("forget", "--source-id", "m7", "--yes", "--json", "--prove", data=data))
    assert (again.returncode, json.loads(again.stdout)["traces"]) == (0, 0), again.stderr
    assert len(exported(data)) == 1_999


def test_what_is_forgotten_on_a_nearly_full_disk_is_hidden_until_there_is_room(
    disk: Path, tmp_path: Path
) -> None:
    data = disk / "data"
    assert done(start("import", history(tmp_path / "history.jsonl", 2_000), data=data)).returncode == 0
    filler = fill(disk)
    os.truncate(filler, filler.stat().st_size - 300_000)
    result = done(start("forget", "--source-id", "m7", "--yes", data=data))
    assert (result.returncode, is_clean(result)) == (5, True), result.stderr
    assert re.search(r"free [\d,]+ bytes .* hidden", result.stderr)
    assert len(exported(data)) == 1_999
    filler.unlink()
    assert done(start("remember", "an owl", data=data)).returncode == 0
    assert len(exported(data)) == 2_000
    assert "Message 7 " not in "".join(exported(data))


@pytest.mark.parametrize(
    "command", [("remember", "an owl"), ("import", "more.jsonl"), ("forget", "--all", "--yes")]
)
def test_a_limit_of_the_system_on_files_is_said_like_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    assert done(start("import", history(tmp_path / "history.jsonl", 300), data=data)).returncode == 0
    history(tmp_path / "more.jsonl", 900)
    before = exported(data)
    limited = [
        "-c",
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)); "
        "sys.argv[0] = 'memcli'; runpy.run_module('memcli', run_name='__main__', alter_sys=True)",
    ]
    result = subprocess.run(
        [sys.executable, *limited, *command, "--data-dir", data], capture_output=True, encoding="utf-8"
    )
    assert (result.returncode, is_clean(result)) == (5, True), result.stderr
    assert exported(data) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_directory_that_one_may_only_read_is_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert done(start("remember", "a heron by the water", data=data)).returncode == 0
    for path in (data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    # Somebody who may read everything, as the interpreter lies where it lies, and write nothing.
    someone = [
        "setpriv",
        "--reuid=54321",
        "--clear-groups",
        "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search",
    ]

    def as_someone(*args: str) -> Done:
        command = [*someone, sys.executable, "-m", "memcli", *args, "--data-dir", str(data)]
        return subprocess.run(command, capture_output=True, encoding="utf-8", cwd="/")

    assert "heron" in as_someone("recall", "heron").stdout
    assert as_someone("export").returncode == 0
    for command in (("remember", "a fox"), ("forget", "--all", "--yes"), ("task", "start", "work")):
        refused = as_someone(*command)
        assert (refused.returncode, is_clean(refused)) == (5, True), refused.stderr
        assert "hint: check the permissions" in refused.stderr


def test_a_directory_that_vanishes_is_an_empty_store_to_readers_and_made_anew_by_writers(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    assert done(start("remember", "a heron", data=data)).returncode == 0
    shutil.rmtree(data)
    assert exported(data) == []
    assert done(start("recall", "heron", data=data)).returncode == 1
    assert done(start("remember", "an owl", data=data)).returncode == 0
    assert len(exported(data)) == 1


def test_an_import_larger_than_the_disk_keeps_what_was_read(disk: Path, tmp_path: Path) -> None:
    data = disk / "data"
    (disk / "filler").write_bytes(b"\0" * 5_000_000)
    result = done(start("import", history(tmp_path / "history.jsonl", 16_000), data=data))
    assert result.returncode in (3, 5)
    assert is_clean(result), result.stderr
    assert "the disk is full" in result.stderr
    lines = exported(data)
    assert len(lines) >= 4_000
    assert len(set(ids(lines))) == len(lines)


@pytest.mark.parametrize("was_killed", [False, True])
def test_a_disk_that_cannot_be_written_is_read(disk: Path, was_killed: bool) -> None:
    data = disk / "data"
    for text in ("a heron by the water", "an owl in the barn"):
        assert done(start("remember", text, data=data)).returncode == 0
    if was_killed:
        # A writer that died has left its last change in the log beside the file.
        code = (
            "import os, sys; from pathlib import Path; from memcli.store.side import Side; "
            "side = Side(Path(sys.argv[1]), writable=True); side.note_file('a', 'b'); os._exit(9)"
        )
        subprocess.run([sys.executable, "-c", code, data / "users" / "default" / "side.db"])
        assert (data / "users" / "default" / "side.db-wal").stat().st_size > 0
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    found = done(start("recall", "heron", data=data))
    assert (found.returncode, is_clean(found), "heron" in found.stdout) == (0, True, True), found.stderr
    assert len(exported(data)) == 2
    for command in (("remember", "a fox"), ("forget", "--all", "--yes")):
        refused = done(start(*command, data=data))
        assert (refused.returncode, is_clean(refused)) == (5, True), refused.stderr
        assert "hint: " in refused.stderr


def test_a_damaged_side_store_is_said_and_left_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert done(start("remember", "a heron", data=data)).returncode == 0
    side = data / "users" / "default" / "side.db"
    # What stands in its log is as good as what stands in it.
    side.with_name("side.db-wal").unlink(missing_ok=True)
    side.write_bytes(b"damaged" * 1000)
    for command in (("recall", "heron"), ("remember", "an owl"), ("stats",), ("list",)):
        result = done(start(*command, data=data))
        assert (result.returncode, is_clean(result)) == (5, True), result.stderr
        assert "damaged" in result.stderr
    assert side.read_bytes() == b"damaged" * 1000


# --- the surroundings -----------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_without_any_home_it_asks_for_a_place(tmp_path: Path) -> None:
    # A user that no list of users knows; it may read everything, the interpreter lies where it lies.
    someone = ["setpriv", "--reuid=54321", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    bare = {name: os.environ[name] for name in ("PATH", "MEMCLI_EMBEDDER")}

    def run_bare(*args: str, **env: str) -> Done:
        command = [*someone, sys.executable, "-m", "memcli", *args]
        return subprocess.run(command, env=bare | env, capture_output=True, encoding="utf-8", cwd="/")

    refused = run_bare("remember", "a heron")
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
    assert "MEMCLI_DATA_DIR" in refused.stderr
    assert "MEMCLI_CONFIG" in refused.stderr
    placed = {"MEMCLI_DATA_DIR": str(tmp_path / "data"), "MEMCLI_CONFIG": str(tmp_path / "config.toml")}
    assert run_bare("remember", "a heron", **placed).returncode == 0
    assert "heron" in run_bare("recall", "heron", **placed).stdout


@pytest.mark.parametrize("coerce", ["0", "1"])
def test_the_locale_does_not_matter(run: Run, coerce: str) -> None:
    plain = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": coerce}
    said = run("remember", "我喜欢喝龙井茶 🍵", "--json", env=plain)
    assert (said.returncode, said.stderr) == (0, "")
    assert json.loads(said.stdout)["added"][0]["text"] == "我喜欢喝龙井茶 🍵"
    assert "我喜欢喝龙井茶 🍵" in run("recall", "龙井", env=plain).stdout
    assert "我喜欢喝龙井茶 🍵" in run("export", env=plain).stdout


@pytest.mark.parametrize("command", [("remember",), ("recall",), ("forget", "--yes", "--match")])
def test_an_argument_that_is_no_text_is_bad_usage_or_mended(
    run: Run, home: Path, command: tuple[str, ...]
) -> None:
    assert run("remember", "a heron").returncode == 0
    broken = [os.fsencode(argument) for argument in (sys.executable, "-m", "memcli", *command)]
    result = subprocess.run(
        [*broken, b"caf\xe9 noir"], capture_output=True, cwd=home, stdin=subprocess.DEVNULL
    )
    assert result.returncode in (0, 1, 2), result.stderr


@pytest.mark.parametrize("command", [("list", "-n", "5000"), ("list", "-n", "5000", "--json"), ("export",)])
def test_output_that_is_closed_early_is_no_error(tmp_path: Path, command: tuple[str, ...]) -> None:
    data = tmp_path / "data"
    assert done(start("import", history(tmp_path / "history.jsonl", 5_000), data=data)).returncode == 0
    process = start(*command, data=data)
    assert process.stdout is not None
    assert process.stdout.read(1) != ""
    process.stdout.close()
    process.stdout = None
    _, told = process.communicate(timeout=60)
    assert (process.returncode, "Error" in told, "Exception" in told) == (0, False, False), told


def test_a_megabyte_is_remembered_and_found(run: Run) -> None:
    text = " ".join(f"word{n}" for n in range(110_000)) + " and the zanzibar clause"
    assert len(text) > 1_000_000
    said = run("remember", "-", "--json", input=text)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["added"][0]["text"] == text
    found = run("recall", "zanzibar clause", "--json")
    best = json.loads(found.stdout)["results"][0]
    assert best["text"] == text
    assert "zanzibar clause" in best["excerpt"]


@pytest.mark.parametrize("text", ["harbour 我们 calm " * 70_000, "".join(map(str, range(200_000)))], ids=len)
def test_a_megabyte_can_be_asked(run: Run, text: str) -> None:
    assert run("remember", "The harbour was calm").returncode == 0
    asked = run("recall", "-", "--json", input=text, timeout=30)
    assert (asked.returncode, is_clean(asked)) in ((0, True), (1, True)), asked.stderr


@pytest.mark.parametrize("question", ["", " ", '"', "'; drop", "AND OR (", "*", "🙂", "x" * 10_000])
def test_no_question_crashes(run: Run, question: str) -> None:
    result = run("recall", "--", question, input="")
    assert (result.returncode in (0, 1, 2), is_clean(result)) == (True, True), result.stderr
