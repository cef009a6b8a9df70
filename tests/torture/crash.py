"""Kill the program at random moments and look: `python -m tests.torture.crash [--rounds N] [--seed N]`.

Each round starts a command that writes, kills it (-9, or TERM) at a random moment of its life, and looks at
the store as a reader does: it opens, what was acknowledged is there, nothing is there twice, what is being
erased is hidden. The next command that writes has to finish such an erase.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from memcli.errors import MemcliError
from memcli.types import Filters
from tests.ollama_server import Model, OllamaServer, chat_model
from tests.torture.oracle import (
    ABSENT,
    Oracle,
    bytes_with,
    is_erasing,
    opened,
    side_path,
    structure,
    texts_in,
    turns_in,
)
from tests.torture.program import Done, begun, children_s, done, exported, history, kill_after, start

_EMBEDDERS = ("ollama:bge-m3", "ollama:all-minilm")
_FILES = 6
_SIGNALS = (signal.SIGKILL, signal.SIGTERM)
# Every so often a whole process looks too, and every so often the proof is asked for.
_EXPORT_EVERY = 10
_PROVE_EVERY = 5


@dataclass
class Victim:
    """A store, what it may hold, and the chances of its rounds."""

    data: Path
    place: Path
    server: OllamaServer
    chance: random.Random
    messages: int
    oracle: Oracle = field(default_factory=Oracle)
    doomed: set[str] = field(default_factory=set)
    """What a forget, perhaps killed, was to take."""
    forgotten: set[str] = field(default_factory=set)
    lasts: dict[str, float] = field(default_factory=dict)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    embedder: str = _EMBEDDERS[0]
    waiting: set[str] = field(default_factory=set)
    """Turns of chats that are no memory yet."""
    _numbers: int = 0

    def name(self, letter: str) -> str:
        """A name that nothing else has."""
        self._numbers += 1
        return f"{letter}{self._numbers:06}{letter}"

    def run(self, what: str, *args: str | Path, spared: bool = False) -> Done:
        """The command, killed at some moment of the life it usually has, unless it is `spared`."""
        env = {"OLLAMA_HOST": self.server.host, "MEMCLI_EMBEDDER": "", "MEMCLI_CHAT_MODEL": "llama3.2"}
        process = start(*args, data=self.data, **env)
        if spared or what not in self.lasts:
            before = children_s()
            result = done(process)
            self.lasts[what] = children_s() - before
        else:
            by = self.chance.choice(_SIGNALS)
            result = kill_after(process, self.chance.uniform(0.1, 1.0) * self.lasts[what], by=by)
        self.outcomes[what, _ending(result)] += 1
        if result.returncode > 0 and result.returncode != 1:
            self.wrong.append(f"{what} ended with {result.returncode}: {result.stderr.strip()}")
        return result


def _ending(result: Done) -> str:
    if result.returncode < 0:
        return "answered, then killed" if _answer(result) else "killed"
    return "ended"


def _answer(result: Done) -> dict[str, object] | None:
    """What was acknowledged on stdout, whatever became of the process afterwards."""
    try:
        found = json.loads(result.stdout)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


# --- the commands ---------------------------------------------------------------------------------


def _remember(victim: Victim, *, spared: bool, what: str = "remember") -> None:
    name = victim.name("r")
    text = f"Crate {name} was left on the old pier"
    victim.oracle.may_be(name, text, ABSENT)
    if _answer(victim.run(what, "remember", text, "--json", spared=spared)):
        victim.oracle.is_now(name, text)


def _maintain(victim: Victim, *, spared: bool) -> None:
    """The store is compacted after the answer: as if fifty commits had been made."""
    if side_path(victim.data).exists():
        with closing(sqlite3.connect(side_path(victim.data), timeout=30)) as db, db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('commits', '49')")
    _remember(victim, spared=spared, what="compact")


def _import(victim: Victim, *, spared: bool) -> None:
    number = victim.chance.randrange(_FILES)
    first = number * victim.messages
    file = victim.place / f"history-{number}.jsonl"
    if not file.exists():
        history(file, victim.messages, first=first)
    texts = {json.loads(line)["id"]: json.loads(line)["content"] for line in file.read_text().splitlines()}
    # As it is named in its text.
    named = {id_: id_.removeprefix("m") for id_ in texts}
    for id_, name in named.items():
        if name not in victim.forgotten and name not in victim.oracle.living():
            victim.oracle.may_turn(name, texts[id_])
    if _answer(victim.run("import", "import", file, "--no-vectors", "--json", spared=spared)):
        for id_, name in named.items():
            if name not in victim.forgotten and ABSENT in victim.oracle.allowed[name]:
                victim.oracle.is_now(name, texts[id_])


def _chosen(victim: Victim) -> tuple[str, str] | None:
    """A memory that is there for certain: its name and its id."""
    living = victim.oracle.living()
    if not living:
        return None
    name = victim.chance.choice(living)
    (text,) = victim.oracle.allowed[name]
    memory = opened(victim.data)
    try:
        return next(((name, record.id) for record in memory.export(Filters()) if record.text == text), None)
    finally:
        memory.close()


def _forget(victim: Victim, *, spared: bool) -> None:
    chosen = _chosen(victim)
    if chosen is None:
        return
    name, id_ = chosen
    victim.oracle.may_turn(name, ABSENT)
    victim.doomed.add(name)
    prove = ["--prove"] if victim.chance.randrange(_PROVE_EVERY) == 0 else []
    result = victim.run("forget", "forget", id_, "--yes", "--json", *prove, spared=spared)
    answer = _answer(result)
    if answer is None:
        return
    victim.oracle.is_now(name, ABSENT)
    if prove and answer.get("traces") != 0:
        victim.wrong.append(f"the proof of {name} finds {answer.get('traces')} traces")
    if left := bytes_with(victim.data, [f" {name} "]):
        victim.wrong.append(f"{left} are still on disk")


def _edit(victim: Victim, *, spared: bool) -> None:
    chosen = _chosen(victim)
    if chosen is None:
        return
    name, id_ = chosen
    text = f"Crate {name} was seen again near dock {victim.name('d')[1:-1]}"
    victim.oracle.may_turn(name, text)
    if _answer(victim.run("edit", "edit", id_, text, "--json", spared=spared)):
        victim.oracle.is_now(name, text)


def _reembed(victim: Victim, *, spared: bool) -> None:
    wanted = _EMBEDDERS[1 - _EMBEDDERS.index(victim.embedder)]
    if _answer(victim.run("reembed", "reembed", wanted, "--json", spared=spared)):
        victim.embedder = wanted


def _chat(victim: Victim, *, spared: bool) -> None:
    asked, answered = victim.name("q"), victim.name("a")
    question, answer = f"Where is crate {asked} now", f"Nobody has seen crate {answered} so far"
    victim.server.says = answer
    before = len(victim.server.chats())
    victim.oracle.may_be(asked, question, ABSENT)
    victim.oracle.may_be(answered, answer, ABSENT)
    result = victim.run("chat", "chat", question, "--json", spared=spared)
    turns = turns_in(victim.data)
    if len(victim.server.chats()) > before and turns.count(question) != 1:
        victim.wrong.append(f"a question that was sent is on disk {turns.count(question)} times")
    if _answer(result) and (turns.count(question), turns.count(answer)) != (1, 1):
        victim.wrong.append("an exchange that was answered is not on disk, once")
    victim.waiting.update({question, answer} & set(turns))


_COMMANDS: dict[str, tuple[Callable[..., None], int]] = {
    "remember": (_remember, 4),
    "import": (_import, 4),
    "forget": (_forget, 5),
    "edit": (_edit, 3),
    "reembed": (_reembed, 2),
    "compact": (_maintain, 3),
    "chat": (_chat, 3),
}
"""A command, and how often it comes."""


# --- the rounds -----------------------------------------------------------------------------------


def _look(victim: Victim, texts: Iterable[str] | None = None) -> None:
    """The store as a reader finds it after a kill."""
    seen = texts_in(victim.data) if texts is None else list(texts)
    victim.wrong += victim.oracle.look(seen, waiting=victim.waiting)
    victim.waiting.difference_update(seen)
    # Once it is hidden it stays away, whether or not somebody was told so.
    hidden = {name for name in victim.doomed if victim.oracle.allowed[name] == {ABSENT}}
    victim.forgotten |= hidden
    victim.doomed.clear()
    victim.wrong += structure(victim.data)


def _rounds(victim: Victim, rounds: int) -> Iterator[str]:
    # Each at least once; the first time it is spared, to see how long it takes.
    each = list(reversed(_COMMANDS))
    often = [name for name, (_, weight) in _COMMANDS.items() for _ in range(weight)]
    for number in range(rounds):
        name = each.pop() if each else victim.chance.choice(often)
        _COMMANDS[name][0](victim, spared=False)
        try:
            _look(victim)
        except MemcliError as error:
            victim.wrong.append(f"after a killed {name} the store does not open: {error.message}")
        if is_erasing(victim.data):
            victim.outcomes["forget", "hidden at once, finished by the next"] += 1
            _remember(victim, spared=True, what="remember, spared")
            if is_erasing(victim.data):
                victim.wrong.append("a command that wrote has not finished the erase")
        if number % _EXPORT_EVERY == 0:
            records = map(json.loads, exported(victim.data))
            _look(victim, (record["text"] for record in records if not record["derived_from"]))
        yield name


def _finish(victim: Victim) -> None:
    """Once nobody kills any more, everything is in its place."""
    _remember(victim, spared=True, what="remember, spared")
    _look(victim)
    if is_erasing(victim.data):
        victim.wrong.append("an erase was not finished")
    if left := bytes_with(victim.data, [f" {name} " for name in victim.forgotten]):
        victim.wrong.append(f"{left} are still on disk")
    if victim.waiting:
        victim.wrong.append(f"turns that became no memory: {sorted(victim.waiting)[:3]}")


def torture(place: Path, *, rounds: int, seed: int, messages: int, is_told: bool = False) -> Victim:
    """Kill so many commands; what went wrong is in `wrong` of what is returned."""
    models = (Model("bge-m3:latest", dim=32), Model("all-minilm:latest", dim=16), chat_model())
    with OllamaServer(models) as server:
        victim = Victim(place / "data", place, server, random.Random(seed), messages)
        for number, name in enumerate(_rounds(victim, rounds), 1):
            if is_told and (number % 25 == 0 or victim.wrong):
                print(f"{number} of {rounds} ({name}): {len(victim.wrong)} wrong", flush=True)
        _finish(victim)
    return victim


def torture_imports(place: Path, *, kills: int, seed: int, messages: int) -> list[str]:
    """Kill imports into a fresh store each and run them again; returns the ends that were not the same."""
    chance, wrong = random.Random(seed), []
    file, fresh, expected, works_s = begun(place, messages=messages)
    for number in range(kills):
        data = place / f"data-{number}"
        shutil.copytree(fresh, data)
        kill_after(start("import", file, data=data), chance.uniform(0.1, works_s))
        kept = len(exported(data))
        again = done(start("import", file, data=data))
        if again.returncode != 0 or exported(data) != expected:
            wrong.append(f"killed with {kept:,} of {len(expected):,} memories, the end was not the same")
        shutil.rmtree(data)
    return wrong


def report(victim: Victim) -> Iterator[str]:
    """The table of what was killed and what came of it, in Markdown."""
    endings = ("killed", "answered, then killed", "hidden at once, finished by the next", "ended")
    yield f"| command | {' | '.join(endings)} |"
    yield "| --- |" + " ---: |" * len(endings)
    for name in dict.fromkeys(name for name, _ in victim.outcomes):
        counts = (str(victim.outcomes[name, ending]) for ending in endings)
        yield f"| {name} | {' | '.join(counts)} |"
    killed = sum(count for (_, ending), count in victim.outcomes.items() if "killed" in ending)
    yield f"\n{killed} killed, {len(victim.wrong)} wrong"
    yield from victim.wrong


def main(argv: list[str]) -> int:
    """Torture, print the table; returns 1 when something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--messages", type=int, default=3_000, help="messages in each file to import")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(argv)
    rounds, messages = (15, 60) if asked.quick else (asked.rounds, asked.messages)
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        victim = torture(Path(place), rounds=rounds, seed=asked.seed, messages=messages, is_told=True)
        print("\n".join(report(victim)))
        if not asked.quick:
            wrong = torture_imports(Path(place), kills=30, seed=asked.seed, messages=16_000)
            print("\n".join(["", f"imports killed once and run again: 30, {len(wrong)} wrong", *wrong]))
            victim.wrong += wrong
        print(f"seed {asked.seed}, {rounds} rounds, {time.monotonic() - began:.0f} s")
    return 1 if victim.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
