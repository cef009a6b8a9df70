"""Many processes on one store at once: `python -m tests.torture.many [--seconds N] [--seed N]`.

Eight workers side by side, each command a process of its own: two remember, two import files that overlap,
one edits, one forgets (and proves it), one reads, backs up and lets the doctor look, one makes the store be
compacted. At the end every acknowledged write is there, once, what was forgotten is gone from every byte, no
reader has seen an error, each backup was whole, and nobody has waited for more than five seconds in silence.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from memcli.backup import check
from memcli.errors import MemcliError
from tests.torture.oracle import ABSENT, Oracle, bytes_with, is_erasing, side_path, structure, texts_in
from tests.torture.program import Done, done, history, is_clean, start

_SILENCE_S = 5.0
_WAITING = "waiting for another memcli"
_LOOK_EVERY_S = 0.05
# A process of which less than this share of the time any thread ran, or wanted to, is waiting.
_BUSY_SHARE = 0.1


@dataclass
class Crowd:
    """A store that many work on, and what they were told."""

    data: Path
    place: Path
    messages: int
    until: float = 0.0
    oracle: Oracle = field(default_factory=Oracle)
    imported: set[int] = field(default_factory=set)
    """The numbers of the messages whose import was acknowledged."""
    forgotten: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    took_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    silent_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    told: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, *args: str | Path, fine: Sequence[int] = (0,)) -> Done:
        """The command, with its times taken; one that does not end in a `fine` way is wrong."""
        what, began = str(args[0]), time.monotonic()
        process = start(*args, data=self.data)
        idle = [0.0]
        watch = threading.Thread(target=_watch_idle, args=(process.pid, idle))
        watch.start()
        result = done(process, timeout_s=300)
        watch.join()
        is_told = _WAITING in result.stderr
        with self._lock:
            self.took_s[what].append(time.monotonic() - began)
            self.told[what] += is_told
            if not is_told:
                self.silent_s[what] = max(self.silent_s[what], idle[0])
            if result.returncode not in fine or not is_clean(result):
                self.wrong.append(f"{what} ended with {result.returncode}: {result.stderr.strip()}")
        return result


def _watch_idle(pid: int, idle: list[float]) -> None:
    """Add up, in `idle`, how long a process waited in all: none of its threads ran or wanted to."""
    before, busy = time.monotonic(), 0
    while (now_busy := _busy_ns(pid)) is not None:
        now = time.monotonic()
        if now_busy - busy < _BUSY_SHARE * (now - before) * 1e9:
            idle[0] += now - before
        before, busy = now, now_busy
        time.sleep(_LOOK_EVERY_S)


def _busy_ns(pid: int) -> int | None:
    """How long the threads of a process ran or stood in line for a processor; None when it has ended."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - it shrinks meanwhile
            ran, stood, _ = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
            total += int(ran) + int(stood)
    except (OSError, ValueError):
        return None if not Path(f"/proc/{pid}/fd/0").exists() else total
    return total


# --- the workers ----------------------------------------------------------------------------------


def _remember(crowd: Crowd, number: int, name: str) -> None:
    text = f"Crate {name} was left on the old pier"
    crowd.run("remember", text)
    crowd.oracle.is_now(name, text)


def _import(crowd: Crowd, number: int, name: str) -> None:
    """A file that overlaps with the one before and after it."""
    first = number % 4 * crowd.messages // 2
    file = history(crowd.place / f"{name}.jsonl", crowd.messages, first=first)
    crowd.run("import", file)
    crowd.imported.update(range(first, first + crowd.messages))


def _edit(crowd: Crowd, number: int, name: str) -> None:
    added = crowd.run("remember", f"Crate {name} was left on the old pier", "--json")
    text = f"Crate {name} was seen again near the dock"
    crowd.run("edit", json.loads(added.stdout)["added"][0]["id"], text)
    crowd.oracle.is_now(name, text)


def _forget(crowd: Crowd, number: int, name: str) -> None:
    """A memory of one's own, and a message that is imported again and again."""
    crowd.run("remember", f"Crate {name} was left on the old pier", "--source-id", name)
    proved = crowd.run("forget", "--source-id", name, "--yes", "--prove", "--json")
    if (traces := json.loads(proved.stdout)["traces"]) != 0:
        crowd.wrong.append(f"the proof of {name} finds {traces} traces")
    crowd.oracle.is_now(name, ABSENT)
    found = crowd.run("recall", f"crate {name}", "--json", fine=(0, 1))
    if any(f" {name} " in hit["text"] for hit in json.loads(found.stdout)["results"]):
        crowd.wrong.append(f"{name} was forgotten and is recalled")
    crowd.forgotten.add(name)
    message = number * 7 % crowd.messages
    result = crowd.run("forget", "--source-id", f"m{message}", "--yes", fine=(0, 1))
    if result.returncode == 0:
        crowd.forgotten.add(str(message))


def _read(crowd: Crowd, number: int, name: str) -> None:
    commands = (
        ("recall", "garden"),
        ("export",),
        ("list", "-n", "5", "--json"),
        ("stats", "--json"),
        ("doctor", "--json"),
        ("backup", str(crowd.place / f"{name}.tar"), "--json"),
    )
    what = commands[number % len(commands)]
    if what[0] in _WATCHED:
        _WATCHED[what[0]](crowd, what)
        return
    result = crowd.run(*what, "--quiet", fine=(0, 1))
    if result.stderr and result.returncode == 0:
        crowd.wrong.append(f"a reader is told {result.stderr.strip()!r}")


def _doctor(crowd: Crowd, command: Sequence[str]) -> None:
    """He may warn of what others are about to finish, and must see no damage."""
    told = json.loads(crowd.run(*command, fine=(0, 3)).stdout)
    crowd.wrong += [f"the doctor sees {check['found']}" for check in told if check["state"] == "fail"]


def _backup(crowd: Crowd, command: Sequence[str]) -> None:
    """What is forgotten meanwhile is in no backup: then none is made."""
    result = crowd.run(*command, fine=(0, 5))
    path = Path(command[1])
    if result.returncode == 0:
        check(path, key=None, progress=lambda *_: None)
        path.unlink()
    elif "something was forgotten" not in result.stderr or path.exists():
        crowd.wrong.append(f"backup: {result.stderr.strip()}")


_WATCHED: dict[str, Callable[[Crowd, Sequence[str]], None]] = {"doctor": _doctor, "backup": _backup}


def _compact(crowd: Crowd, number: int, name: str) -> None:
    """After the answer the store is compacted: as if fifty commits had been made."""
    with closing(sqlite3.connect(side_path(crowd.data), timeout=30)) as db, db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('commits', '49')")
    _remember(crowd, number, name)


_WORKERS: tuple[Callable[[Crowd, int, str], None], ...] = (
    _remember,
    _remember,
    _import,
    _import,
    _edit,
    _forget,
    _read,
    _compact,
)


def _work(crowd: Crowd, place: int, chance: random.Random) -> None:
    worker, number = _WORKERS[place], chance.randrange(4)
    while time.monotonic() < crowd.until:
        number += 1
        try:
            worker(crowd, number, f"w{place}{number:05}w")
        except (AssertionError, LookupError, ValueError, MemcliError) as error:
            crowd.wrong.append(f"{worker.__name__}: {error!r}")


# --- the whole ------------------------------------------------------------------------------------


def torture(place: Path, *, seconds: float, seed: int, messages: int) -> Crowd:
    """Let them work for so long; what went wrong is in `wrong` of what is returned."""
    crowd = Crowd(place / "data", place, messages)
    _remember(crowd, 0, "w000000w")
    crowd.until = time.monotonic() + seconds
    chances = [random.Random(seed + number) for number in range(len(_WORKERS))]
    workers = [threading.Thread(target=_work, args=(crowd, *pair)) for pair in enumerate(chances)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    _judge(crowd)
    return crowd


def _judge(crowd: Crowd) -> None:
    for number in crowd.imported:
        name, topic = str(number), number % 97
        text = f"Message {name} speaks of the garden and of topic {topic}"
        crowd.oracle.is_now(name, ABSENT if name in crowd.forgotten else text)
    crowd.wrong += crowd.oracle.look(texts_in(crowd.data))
    crowd.wrong += structure(crowd.data)
    if is_erasing(crowd.data):
        crowd.wrong.append("an erase was not finished")
    own = [name for name in crowd.forgotten if not name.isdigit()]
    gone = [f" {name} " for name in own] + [f"Message {name} " for name in crowd.forgotten - set(own)]
    if left := bytes_with(crowd.data, gone):
        crowd.wrong.append(f"{left} are still on disk")
    for what, silent_s in crowd.silent_s.items():
        if silent_s > _SILENCE_S:
            crowd.wrong.append(f"{what} waited {silent_s:.1f} s without a word")


def report(crowd: Crowd) -> Iterator[str]:
    """The table of what was run and how it went, in Markdown."""
    yield "| command | runs | median s | longest s | told that they wait | longest silent wait s |"
    yield "| --- |" + " ---: |" * 5
    for what, took in sorted(crowd.took_s.items()):
        yield (
            f"| {what} | {len(took)} | {statistics.median(took):.1f} | {max(took):.1f} "
            f"| {crowd.told[what]} | {crowd.silent_s[what]:.1f} |"
        )
    runs = sum(map(len, crowd.took_s.values()))
    yield f"\n{runs} processes, {len(crowd.imported):,} messages imported, {len(crowd.wrong)} wrong"
    yield from crowd.wrong


def main(argv: list[str]) -> int:
    """Torture, print the table; returns 1 when something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--messages", type=int, default=2_000, help="messages in each file to import")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(argv)
    seconds, messages = (8.0, 200) if asked.quick else (asked.seconds, asked.messages)
    with tempfile.TemporaryDirectory() as place:
        crowd = torture(Path(place), seconds=seconds, seed=asked.seed, messages=messages)
    print("\n".join(report(crowd)))
    print(f"seed {asked.seed}, {seconds:.0f} s")
    return 1 if crowd.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
