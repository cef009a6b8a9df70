"""What becomes of the memories when the program is killed, or others write and read at the same time."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import Shared
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

pytestmark = pytest.mark.usefixtures("home")


def looked_at(data: Path, *args: str) -> Done:
    """What a reader in this process is told of the memories in `data`."""
    return Shared(data.parent, {**QUIET, "MEMCLI_DATA_DIR": str(data)}).here(*args)


# --- killed ---------------------------------------------------------------------------------------


def test_an_import_killed_again_and_again_ends_with_the_same_memories(tmp_path: Path) -> None:
    file, data, expected, works_s = begun(tmp_path, messages=8_500)
    for number in range(4):
        # Each a little later than the one before: what is stored already takes no time.
        kill_after(start("import", file, data=data), works_s * (number + random.Random(number).random()) / 4)
        opened = looked_at(data, "list", "-n", "1", "--json")
        assert (opened.returncode, opened.stderr) == (0, "")
        assert json.loads(opened.stdout)["total"] >= 1
    assert done(start("import", file, data=data)).returncode == 0
    assert exported(data) == expected


def test_the_first_command_of_all_may_be_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for moment in (0.25, 0.35, 0.45, 0.55):
        kill_after(start("remember", "a heron by the water", data=data), moment)
        assert is_clean(looked_at(data, "recall", "heron"))
    assert done(start("remember", "an owl in the barn", data=data)).returncode == 0
    assert looked_at(data, "recall", "owl").stdout.count("owl") == 1


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
        assert [(result.returncode, result.stderr) for result in results[:4] if result.returncode] == []
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


@pytest.mark.parametrize("left", [None, b"", b"4711\n" * 2_000], ids=["missing", "empty", "stale"])
@pytest.mark.parametrize("name", [".lock", "side.db-wal", "side.db-shm"])
def test_a_file_that_only_a_running_process_needs_may_be_missing_or_left_over(
    tmp_path: Path, name: str, left: bytes | None
) -> None:
    data = tmp_path / "data"
    assert looked_at(data, "remember", "a heron by the water").returncode == 0
    path = data / "users" / "default" / name
    path.unlink(missing_ok=True)
    if left is not None:
        path.write_bytes(left)
    found = looked_at(data, "recall", "heron")
    assert (found.returncode, found.stdout.count("heron"), is_clean(found)) == (0, 1, True), found.stderr
    assert done(start("remember", "an owl in the barn", data=data)).returncode == 0
    lines = looked_at(data, "export").stdout.splitlines()
    assert {json.loads(line)["text"] for line in lines} == {"a heron by the water", "an owl in the barn"}


# --- damage ---------------------------------------------------------------------------------------


def test_a_damaged_side_store_is_said_and_left_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert looked_at(data, "remember", "a heron").returncode == 0
    side = data / "users" / "default" / "side.db"
    # What stands in its log is as good as what stands in it.
    side.with_name("side.db-wal").unlink(missing_ok=True)
    side.write_bytes(b"damaged" * 1000)
    for command in (("recall", "heron"), ("remember", "an owl"), ("stats",), ("list",)):
        result = looked_at(data, *command)
        assert (result.returncode, is_clean(result)) == (5, True), result.stderr
        assert "damaged" in result.stderr
    assert side.read_bytes() == b"damaged" * 1000
