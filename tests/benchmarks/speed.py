"""Print how fast the program is, as ratios measured in one run: `python -m tests.benchmarks.speed`.

With `--million` the rows of a million memories too (half an hour, 6 GB of disk), with `--loop` those of 1,000
single `remember`s (some minutes). Whole processes are timed in turn (A, B, A, B, …) so that a machine that
slows down slows both; the median of the ratios is what counts. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from memcli.store.copies import size_bytes
from tests.benchmarks.importing import cost
from tests.benchmarks.stores import VECTOR_BYTES, texts, write_history

RUNS = 7
PYTHON = [sys.executable, "-c"]
MEMCLI = [sys.executable, "-m", "memcli"]
LANCEDB = [*PYTHON, "import lancedb"]
# Written as its makers mean it: the same messages, one table, one index of their words.
REFERENCE = """
import sys
import lancedb
import pyarrow.json
from lancedb.index import FTS
rows = pyarrow.json.read_json(sys.argv[1])
table = lancedb.connect(sys.argv[2]).create_table("messages", rows)
table.create_index("content", config=FTS(base_tokenizer="icu"))
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the stores are made; each in a data directory of its own."""

    folder: Path

    def data(self, name: str) -> Path:
        return self.folder / name

    def env(self, name: str) -> dict[str, str]:
        """The environment of a program that works on the store of this name."""
        return os.environ | {
            "MEMCLI_DATA_DIR": str(self.data(name)),
            "MEMCLI_CONFIG": str(self.folder / "config.toml"),
            "MEMCLI_EMBEDDER": "builtin",
            "OLLAMA_HOST": "127.0.0.1:9",
        }


def told(name: str, ratios: list[float], limits: str, more: str = "") -> None:
    """Print a row: the median, its range, what is asked, and what it was made of."""
    span = f"({min(ratios):.2f}–{max(ratios):.2f})" if len(ratios) > 1 else ""
    print(f"{name:<52} {statistics.median(ratios):6.2f} {span:<13} {limits:<12} {more}", flush=True)


def pairs(
    name: str,
    command: list[str],
    reference: list[str],
    env: dict[str, str],
    *,
    limits: str,
    runs: int = RUNS,
    fresh: tuple[Path, ...] = (),
) -> None:
    """Print the ratio of two commands, run in turn; what is `fresh` is gone before each of them."""

    def once(asked: list[str]) -> float:
        for path in fresh:
            subprocess.run(["rm", "-rf", str(path)], check=True)
        return cost(asked, env)[0]

    once(command), once(reference)
    took = [(once(command), once(reference)) for _ in range(runs)]
    ours, theirs = (statistics.median(side) for side in zip(*took, strict=True))
    ratios = [mine / other for mine, other in took]
    told(name, ratios, limits, f"{1000 * ours:,.0f} ms / {1000 * theirs:,.0f} ms")


def recalls(place: Place, memories: int, *, limits: str) -> None:
    """Make a store of so many memories and print what asking it takes."""
    question = [*MEMCLI, "recall", "the sister's piano lesson", "-k", "5"]
    name = f"{memories:,}"
    # In a process of its own: the peak of what is started from a large one is at least as high.
    growing = [sys.executable, "-m", "tests.benchmarks.stores", str(place.data(name)), str(memories)]
    said = int(subprocess.run(growing, capture_output=True, check=True).stdout)
    pairs(f"recall at {name} / import lancedb", question, LANCEDB, place.env(name), limits=limits)
    vectors = memories * VECTOR_BYTES
    if memories >= 100_000:
        peak_mb = cost(question, place.env(name))[1]
        limit = "≤ 0.5 (0.2)" if memories >= 1_000_000 else ""
        ratio = peak_mb * 1024 * 1024 / vectors
        told(f"memory of a recall at {name} / its vectors", [ratio], limit, f"{peak_mb:,.0f} MB")
        size = size_bytes(place.data(name))
        limit = "≤ 1.6 (1.3)" if memories == 100_000 else ""
        ratio = size / (said + vectors)
        told(f"disk at {name} / text and vectors", [ratio], limit, f"{size / 1e6:,.0f} MB")


def looks(place: Place, memories: int) -> None:
    """Print what looking at a store without a question takes."""
    env = place.env(f"{memories:,}")
    listed = subprocess.run(
        [*MEMCLI, "list", "-n", "1", "--json"], env=env, capture_output=True, check=True
    ).stdout
    some = json.loads(listed)["memories"][0]["id"]
    for command in (["list", "-n", "20"], ["show", some], ["stats"]):
        name = f"{command[0]} at {memories:,} / import lancedb"
        pairs(name, [*MEMCLI, *command], LANCEDB, env, limits="≤ 0.30 (0.20)")


def imports(place: Place, messages: int) -> None:
    """Print what an import of text takes, stored and searchable, beside the least that it takes."""
    history = place.folder / f"{messages}.jsonl"
    write_history(history, messages)
    data, table = place.data("imported"), place.folder / "reference"
    name, limits = f"import of {messages:,} messages / pyarrow and one index", "≤ 3 (1.5)"
    ours = [*MEMCLI, "import", str(history), "--no-vectors"]
    theirs = [*PYTHON, REFERENCE, str(history), str(table)]
    pairs(name, ours, theirs, place.env("imported"), limits=limits, runs=3, fresh=(data, table))


def speed(place: Place, messages: int) -> None:
    """Print messages a second and the peak memory of an import of text."""
    history = place.folder / f"{messages}.jsonl"
    write_history(history, messages)
    took_s, peak_mb = cost([*MEMCLI, "import", str(history), "--no-vectors"], place.env("quick"))
    print(f"import of {messages:,} messages, text only: {messages / took_s:,.0f} a second, {peak_mb:.0f} MB")


def loop(place: Place, memories: int) -> None:
    """Print what single `remember`s take as a store grows, and what they leave on disk."""
    some = list(texts(memories))
    took = [cost([*MEMCLI, "remember", text], place.env("loop"))[0] for text in some]
    parts = max(1, memories // 10)
    first, last = statistics.median(took[1 : parts + 1]), statistics.median(took[-parts:])
    name, more = f"the last of {memories:,} remembers / the first", f"{1000 * last:.0f} ms, {sum(took):.0f} s"
    told(name, [last / first], "≤ 1.3", more)
    bulk = place.folder / "bulk.jsonl"
    bulk.write_text("".join(json.dumps({"role": "user", "content": text}) + "\n" for text in some))
    cost([*MEMCLI, "import", str(bulk)], place.env("bulk"))
    sizes = size_bytes(place.data("loop")), size_bytes(place.data("bulk"))
    told("their disk / that of one import", [sizes[0] / sizes[1]], "≤ 1.5", f"{sizes[0] / 1e6:.1f} MB")


def main(argv: list[str]) -> None:
    """Measure and print everything that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--loop", action="store_true")
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        print(f"{'whole processes, in turn':<52}  ratio (range)       at most (aim)")
        env = place.env("1,000")
        pairs(
            "--help / import typer", [*MEMCLI, "--help"], [*PYTHON, "import typer"], env, limits="≤ 1.5 (1.2)"
        )
        for memories, limits in (
            (1_000, "≤ 0.35 (0.25)"),
            (10_000, "≤ 0.38 (0.28)"),
            (100_000, "≤ 0.5 (0.35)"),
        ):
            recalls(place, memories, limits=limits)
        remember = [*MEMCLI, "remember", "The spare key is in the blue jar"]
        pairs("remember / import lancedb", remember, LANCEDB, place.env("1,000"), limits="≤ 0.30 (0.20)")
        looks(place, 100_000)
        imports(place, 100_000)
        speed(place, 10_000)
        if asked.million:
            recalls(place, 1_000_000, limits="≤ 0.7 (0.45)")
        if asked.loop:
            loop(place, 1_000)


if __name__ == "__main__":
    main(sys.argv[1:])
