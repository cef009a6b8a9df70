"""Print what memory costs an answer, and how soon its first word is seen: `python -m tests.benchmarks.chat`.

A session runs on a terminal against the scripted server. What recall and injection add to a turn is the time
from the Enter key to the request, with memory on and off in turn; the first word's delay is from when the
server sends it to when the terminal shows it. Nothing is asserted.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.ollama_chat import Script
from tests.ollama_server import OllamaServer, Request, chat_model
from tests.process import Shared, Terminal

TURNS = 20
READY = "› "


class Watch:
    """A model that notes when it is asked and when it begins to speak."""

    def __init__(self) -> None:
        self.asked_at = 0.0
        self.turn = 0

    def __call__(self, request: Request) -> Script:
        self.asked_at = time.perf_counter()
        self.turn += 1
        return Script([f"word{self.turn} "] + ["and so on "] * 5)


def measure(terminal: Terminal, watch: Watch, question: str) -> tuple[float, float]:
    """Milliseconds from Enter to the request, and from the first chunk to its letters on the terminal."""
    terminal.type(question)
    terminal.wait_for(question[-6:])
    entered_at = time.perf_counter()
    terminal.type("\r")
    terminal.wait_for(f"word{watch.turn + 1}")
    shown_at = time.perf_counter()
    terminal.wait_for(READY)
    return (watch.asked_at - entered_at) * 1000, (shown_at - watch.asked_at) * 1000


def vocabulary(chance: random.Random, words: int = 5_000) -> list[str]:
    """Invented words."""
    syllables = [c + v + e for c in "bdfgklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s")]
    return ["".join(chance.choices(syllables, k=chance.choice((2, 2, 3)))) for _ in range(words)]


def write_history(path: Path, messages: int, words: list[str], chance: random.Random) -> None:
    """Messages whose words are as common as those of a language: the nth a share of 1/n."""
    shares = [1 / rank for rank in range(1, len(words) + 1)]
    with path.open("w", encoding="utf-8") as stream:
        for number in range(messages):
            line = {
                "id": f"m{number}",
                "session_id": f"s{number // 40}",
                "role": "user" if number % 2 == 0 else "assistant",
                "content": " ".join(chance.choices(words, shares, k=25)),
                "timestamp": 1_700_000_000 + 60 * number,
            }
            stream.write(json.dumps(line) + "\n")


def told(name: str, numbers: list[float]) -> str:
    """The middle and the slow end."""
    ordered = sorted(numbers)
    slow = ordered[int(len(ordered) * 0.95)]
    return f"{name}: {statistics.median(ordered):.0f} ms in the middle, {slow:.0f} ms at the slow end"


def main(memories: int) -> None:
    """Fill a store, talk, and print."""
    chance, watch = random.Random(3), Watch()
    with tempfile.TemporaryDirectory() as place, OllamaServer([chat_model()]) as server:
        server.says = watch
        shared = Shared(Path(place), {"OLLAMA_HOST": server.host, "MEMCLI_EMBEDDER": "builtin"})
        words = vocabulary(chance)
        write_history(Path(place, "history.jsonl"), memories, words, chance)
        with shared.start("import", "history.jsonl") as filling:
            filling.communicate()
        times: dict[str, list[tuple[float, float]]] = {"on": [], "off": []}
        with Terminal(shared, "chat", "--history", "window:1") as terminal:
            terminal.wait_for(READY)
            time.sleep(2)
            for number in range(2 * TURNS):
                switch = "off" if number % 2 else "on"
                terminal.type(f"/memory {switch}\r")
                terminal.wait_for(f"memory is {switch}")
                terminal.wait_for(READY)
                about = " and the ".join(chance.choices(words[20:1_000], k=3))
                question = f"what about the {about} {number}?"
                times[switch].append(measure(terminal, watch, question))
    for switch, pairs in times.items():
        print(told(f"memory {switch}, from Enter to the request", [pair[0] for pair in pairs]))
    added = statistics.median(p[0] for p in times["on"]) - statistics.median(p[0] for p in times["off"])
    print(f"recall and injection add {added:.0f} ms to a turn at {memories:,} memories")
    print(told("from the first chunk to the terminal", [pair[1] for side in times.values() for pair in side]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
