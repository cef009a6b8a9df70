"""The program as processes that are started, killed, and looked at from outside."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

NOW = "2026-06-01T12:00:00Z"
QUIET = {"MEMCLI_EMBEDDER": "none", "MEMCLI_NOW": NOW, "OLLAMA_HOST": "127.0.0.1:9"}
"""No embedder and a clock that stands still: the same commands make the same memories."""
Done = subprocess.CompletedProcess[str]

# What only shows when something of the program's inside comes out.
_INSIDE = ("Traceback", "bug in memcli", "panicked", "Warning", "LanceError", ".rs:")


def start(*args: str | Path, data: Path, **env: str) -> subprocess.Popen[str]:
    """The program, running, on the memories in `data`."""
    return subprocess.Popen(
        [sys.executable, "-m", "memcli", *map(str, args), "--data-dir", str(data)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **QUIET, **env},
    )


def done(process: subprocess.Popen[str], *, timeout_s: float = 60) -> Done:
    """The process at its end."""
    out, err = process.communicate(timeout=timeout_s)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def is_clean(result: Done) -> bool:
    """Whether nothing of the program's inside shows."""
    return result.returncode != 70 and not any(word in result.stderr for word in _INSIDE)


def kill_after(process: subprocess.Popen[str], cpu_s: float, *, by: int = signal.SIGKILL) -> Done:
    """The process after it was killed when it had worked for so long, or has ended before.

    Time of its own: on a busy machine the moment is the same as on an idle one.
    """
    while process.poll() is None and worked_s(process.pid) < cpu_s:
        time.sleep(0.002)
    process.send_signal(by)
    return done(process)


def worked_s(pid: int) -> float:
    """The seconds that a child has worked so far, all its threads together; infinite when it has ended."""
    try:
        # The name of the program may hold anything but ends with the last bracket.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def history(path: Path, count: int, *, first: int = 0) -> Path:
    """A file of so many messages to import, numbered from `first` on."""
    lines = (
        json.dumps(
            {
                "id": f"m{n}",
                "session_id": f"s{n // 40}",
                "role": ("user", "assistant")[n % 2],
                "content": f"Message {n} speaks of the garden and of topic {n % 97}",
                "timestamp": 1_700_000_000 + n,
            }
        )
        for n in range(first, first + count)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def exported(data: Path) -> list[str]:
    """The lines of an export, which has to go well."""
    result = done(start("export", data=data))
    assert (result.returncode, is_clean(result)) == (0, True), result.stderr
    return result.stdout.splitlines()


def begun(place: Path, *, messages: int) -> tuple[Path, Path, list[str], float]:
    """A file, a store to import it into, what the store should hold then, and how long that works."""
    file = history(place / "history.jsonl", messages)
    data, undisturbed = place / "killed", place / "undisturbed"
    assert done(start("remember", "what was there before", data=data)).returncode == 0
    # The ids hang on the store's key, so both begin as copies of one store.
    shutil.copytree(data, undisturbed)
    before_s = children_s()
    assert done(start("import", file, data=undisturbed)).returncode == 0
    return file, data, exported(undisturbed), children_s() - before_s


def children_s() -> float:
    """The seconds that the processes which have ended have worked."""
    used = os.times()
    return used.children_user + used.children_system


def ids(lines: list[str]) -> list[str]:
    """The ids of exported memories."""
    return [json.loads(line)["id"] for line in lines]
