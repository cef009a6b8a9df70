"""Print what whole imports cost as files grow: `python -m tests.benchmarks.importing [MEGABYTES…]`.

First a message-a-line history of each size (50, 200 and 1,000 MB by default): peak memory has to stay
flat. Then a one-line ChatGPT export of 300 MB, beside `json.load` of the same file, which only parses it.
Text only, without vectors. Nothing is asserted.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.reading import LOADING, write_export
from tests.benchmarks.stores import WORDS

EXPORT_MB = 300


def write_lines(path: Path, megabytes: int) -> int:
    """A history of about a kilobyte a message and forty messages a session; returns how many."""
    chance, number = random.Random(7), 0
    with path.open("w", encoding="utf-8") as stream:
        while stream.tell() < megabytes * 1_000_000:
            line = {
                "id": f"m{number}",
                "session_id": f"s{number // 40}",
                "role": "user" if number % 2 == 0 else "assistant",
                "content": " ".join(chance.choices(WORDS, k=chance.randint(37, 262))) + f", item {number}",
                "timestamp": 1_700_000_000 + 60 * number,
            }
            stream.write(json.dumps(line) + "\n")
            number += 1
    return number


def cost(command: list[str], env: dict[str, str]) -> tuple[float, float]:
    """Seconds on the wall and peak memory (MB) of a process of its own."""
    began = time.perf_counter()
    silent = os.open(os.devnull, os.O_WRONLY)
    process = os.posix_spawn(
        command[0], command, env, file_actions=[(os.POSIX_SPAWN_DUP2, silent, place) for place in (1, 2)]
    )
    _, status, used = os.wait4(process, 0)
    os.close(silent)
    if status:
        raise SystemExit(f"{command} failed")
    return time.perf_counter() - began, used.ru_maxrss / 1024


def main(sizes: list[int]) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = os.environ | {"MEMCLI_EMBEDDER": "none", "MEMCLI_CONFIG": str(folder / "config.toml")}

        def imported(path: Path) -> tuple[float, float]:
            data = folder / f"data-{path.name}"
            command = [sys.executable, "-m", "memcli", "import", str(path), "--no-vectors", "-q"]
            return cost([*command, "--data-dir", str(data)], env)

        for megabytes in sizes:
            path = folder / f"{megabytes}.jsonl"
            messages = write_lines(path, megabytes)
            took_s, peak_mb = imported(path)
            print(
                f"{megabytes:>5} MB of lines: {messages / took_s:,.0f} messages/s, {took_s:,.0f} s, "
                f"peak {peak_mb:.0f} MB"
            )
            path.unlink()
        export = folder / "conversations.json"
        write_export(export, EXPORT_MB)
        (took_s, peak_mb), (load_s, load_mb) = (
            imported(export),
            cost([sys.executable, "-c", LOADING, str(export)], env),
        )
        print(
            f"{EXPORT_MB:>5} MB in one: {took_s:,.0f} s ({took_s / load_s:.0f} × json.load, a mere parser), "
            f"peak {peak_mb:.0f} MB ({peak_mb / load_mb:.2f} of json.load)"
        )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [50, 200, 1_000])
