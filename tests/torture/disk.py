"""Damage files and look: `python -m tests.torture.disk [--rounds N] [--seed N]`.

Each round spoils one file of a copy of a store (a flipped bit, zeros, a cut, an empty file, none at all) and
asks as a reader does: the answer is right, or it is refused as damaged; it is never another one. The doctor
has to find what is wrong with what the store is made of, and `--fix` to mend it, so that every memory is
there again or is named as lost.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memcli.doctor import LOST, ChatUse, checks
from memcli.errors import NothingMatchedError, StoreError
from memcli.memory import Draft, Memory, open_memory
from memcli.models.pick import ChatPlace
from memcli.types import Filters, Query, Selection

NOW = 1_780_000_000_000
_NO_CONFIG = Path("/nowhere/config.toml")
_NO_CHAT = ChatUse(None, None, ChatPlace("127.0.0.1:9"))
_THINGS = ("heron", "owl", "fox", "otter", "badger", "kestrel", "newt", "stoat")


def opened(data: Path) -> Memory:
    """The memories in `data`, without an embedder."""
    return open_memory(data_dir=data, embedder="none", clock=lambda: NOW, ollama_host="127.0.0.1:9")


def filled(data: Path) -> list[str]:
    """Make a store with a little of everything and an erase behind it; returns what its memories say."""
    memory = opened(data)
    for number, thing in enumerate(_THINGS):
        memory.remember(Draft(text=f"The {thing} number {number} was seen by the old pier"))
    memory.erase(memory.plan_forget(Selection(match="stoat")))
    memory.edit(memory.list(Filters(), n=1)[0][0].id, Draft(text="The heron was seen by the new pier"))
    with memory.write() as (store, _):
        keys = store.pending("e")
        store.bind("e", 4, asked=False)
        store.add_vectors("e", {key: _unit(number) for number, key in enumerate(keys)})
    memory.save_turn(memory.begin_session(), "user", "Where is the otter?")
    memory.keep_turns()
    memory.tasks.start("count")
    memory.tasks.set("count", "herons", "seven")
    memory.tasks.step("count")
    memory.close()
    return sorted(texts(opened(data)))


def _unit(number: int) -> array[float]:
    return array("f", [float(place == number % 4) for place in range(4)])


def texts(memory: Memory) -> list[str]:
    """What every memory says."""
    return [record.text for record in memory.export(Filters())]


def _look_around(memory: Memory) -> None:
    """Read what lies beside the memories. What is there may be missing: it is no memory."""
    memory.undoable()
    memory.proposals()
    with suppress(NothingMatchedError):
        memory.session("last")
        for name in memory.tasks.names():
            memory.tasks.get(name)


# --- harm -----------------------------------------------------------------------------------------


def _flip(path: Path, chance: random.Random) -> None:
    held = bytearray(path.read_bytes())
    # Of a byte that says something: most of a database is empty pages.
    places = [place for place, byte in enumerate(held) if byte] or range(len(held))
    held[chance.choice(places)] ^= 1 << chance.randrange(8)
    path.write_bytes(held)


def _zero(path: Path, chance: random.Random) -> None:
    held = bytearray(path.read_bytes())
    start = chance.randrange(len(held))
    length = min(512, len(held) - start)
    held[start : start + length] = bytes(length)
    path.write_bytes(held)


def _cut(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])


def _empty(path: Path, chance: random.Random) -> None:
    path.write_bytes(b"")


def _lose(path: Path, chance: random.Random) -> None:
    path.unlink()


HARMS: dict[str, Callable[[Path, random.Random], None]] = {
    "a flipped bit": _flip,
    "512 bytes of zeros": _zero,
    "cut off": _cut,
    "emptied": _empty,
    "lost": _lose,
}


def part_of(data: Path, path: Path) -> str:
    """What of the store a file is."""
    parts = path.relative_to(data / "users" / "default").parts
    if parts[0] != "lance":
        return parts[0].partition(".aside")[0]
    kind = parts[1].partition("_")[0]
    if parts[2] == "_versions" and path.name.endswith(".manifest"):
        newest = min(path.parent.glob("*.manifest"))
        return f"{kind}: the {'newest' if path == newest else 'an older'} manifest".replace("the an", "an")
    return f"{kind}: {parts[2]}"


# --- rounds ---------------------------------------------------------------------------------------


@dataclass
class Patient:
    """A store that is harmed again and again, each time as it was before."""

    place: Path
    chance: random.Random
    whole: list[str] = field(default_factory=list)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def spoil(self) -> None:
        """One round."""
        data = self.place / "harmed"
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(self.place / "whole", data)
        files = sorted(path for path in data.rglob("*") if path.is_file() and path.name != ".lock")
        part = self.chance.choice(sorted({part_of(data, path) for path in files}))
        path = self.chance.choice([path for path in files if part_of(data, path) == part])
        name = self.chance.choice(sorted(HARMS))
        if not path.stat().st_size:
            return
        HARMS[name](path, self.chance)
        told = f"{part}, {name}"
        self._read(data, part, told)
        self._mend(data, part, told)

    def _read(self, data: Path, part: str, told: str) -> None:
        memory = opened(data)
        try:
            seen = sorted(texts(memory))
            hits = memory.recall(Query("heron pier", NOW), is_noted=False).hits
            _look_around(memory)
            outcome = "reads on"
            if seen != self.whole:
                outcome = "reads something else"
                self.wrong.append(
                    f"{told}: a reader sees {len(seen)} of {len(self.whole)} memories or others"
                )
            if not hits:
                self.wrong.append(f"{told}: nothing is recalled")
        except StoreError as error:
            outcome = "refused"
            if not error.hint or ".rs" in error.message:
                self.wrong.append(f"{told}: {error.message}")
        finally:
            memory.close()
        self.outcomes[part, outcome] += 1

    def _mend(self, data: Path, part: str, told: str) -> None:
        memory = opened(data)
        try:
            found = {check.check: check for check in checks(memory, config=_NO_CONFIG, chat=_NO_CHAT)}
            is_found = any(check.state == "fail" for check in found.values())
            fixed = list(checks(memory, config=_NO_CONFIG, chat=_NO_CHAT, fix=True))
            is_lost = any(check.hint == LOST for check in fixed)
            is_doubted = any("do not agree" in check.found for check in fixed)
            if any(check.state == "fail" for check in fixed):
                self.outcomes[part, "cannot be mended"] += 1
                return
            self.outcomes[part, "found and mended" if is_found else "nothing to find"] += 1
            memory.keep_turns()
            after = sorted(texts(memory))
            if after != self.whole and not (is_lost or is_doubted):
                self.wrong.append(f"{told}: after --fix {len(after)} of {len(self.whole)} memories, unsaid")
            memory.remember(Draft(text="The pine marten came back"))
            if not memory.recall(Query("marten", NOW), is_noted=False).hits:
                self.wrong.append(f"{told}: after --fix nothing new is found")
        except StoreError as error:
            self.wrong.append(f"{told}: the doctor or what follows fails: {error.message}")
        finally:
            memory.close()


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """What compiled code writes to standard error goes to a file."""
    kept = os.dup(2)
    with path.open("wb") as stream:
        os.dup2(stream.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def torture(place: Path, *, rounds: int, seed: int) -> Patient:
    """Harm a store so often; what went wrong is in `wrong` of what is returned."""
    patient = Patient(place, random.Random(seed))
    patient.whole = filled(place / "whole")
    with _stderr_to(place / "stderr"):
        for _ in range(rounds):
            patient.spoil()
    patient.outcomes["in all", "panics on stderr"] = (place / "stderr").read_text().count("panicked")
    return patient


def report(patient: Patient) -> Iterator[str]:
    """The table of what was harmed and what came of it, in Markdown."""
    outcomes = sorted({outcome for _, outcome in patient.outcomes})
    yield f"| what was damaged | {' | '.join(outcomes)} |"
    yield "| --- |" + " ---: |" * len(outcomes)
    for part in sorted({part for part, _ in patient.outcomes}):
        yield f"| {part} | {' | '.join(str(patient.outcomes[part, outcome]) for outcome in outcomes)} |"
    yield f"\n{len(patient.wrong)} wrong"
    yield from patient.wrong


def main(argv: list[str]) -> int:
    """Torture, print the table; returns 1 when something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(argv)
    rounds = 20 if asked.quick else asked.rounds
    with tempfile.TemporaryDirectory() as place:
        patient = torture(Path(place), rounds=rounds, seed=asked.seed)
    print("\n".join(report(patient)))
    print(f"seed {asked.seed}, {rounds} rounds")
    return 1 if patient.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
