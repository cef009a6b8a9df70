"""Print how fast the program is, as ratios measured in one run: `python tests/benchmarks/speed.py`.

Whole processes are timed in turn (A, B, A, B, …) so that a machine that slows down slows both; the
median of the ratios is what counts. Nothing is asserted.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 7
WORDS = """
project meeting kitchen budget garden beans coffee report build maven gradle travel sister doctor
allergy piano lesson weekend hiking weather invoice parcel ticket deploy server token cache memory
model question recipe tomato basil pasta train station night flight hotel bridge river
""".split()  # noqa: SIM905 - a list of so many words would not be read


def timed(command: list[str], env: dict[str, str]) -> float:
    """Seconds of one whole process."""
    began = time.perf_counter()
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - began


def ratio(name: str, command: list[str], reference: list[str], env: dict[str, str]) -> None:
    """Print the median ratio of two commands, run in turn."""
    timed(command, env), timed(reference, env)
    pairs = [(timed(command, env), timed(reference, env)) for _ in range(RUNS)]
    ratios = [ours / theirs for ours, theirs in pairs]
    ours, theirs = (statistics.median(side) * 1000 for side in zip(*pairs, strict=True))
    print(
        f"{name:<44} {statistics.median(ratios):5.2f}  ({min(ratios):.2f}–{max(ratios):.2f})"
        f"  {ours:7.0f} ms / {theirs:7.0f} ms"
    )


def write_history(path: Path, messages: int) -> None:
    """A history of invented messages, the same in every run."""
    chance = random.Random(7)
    with path.open("w", encoding="utf-8") as stream:
        for number in range(messages):
            line = {
                "id": f"m{number}",
                "session_id": f"s{number // 40}",
                "role": "user" if number % 2 == 0 else "assistant",
                "content": " ".join(chance.choices(WORDS, k=30)) + f", item {number}",
                "timestamp": 1_700_000_000 + 60 * number,
            }
            stream.write(json.dumps(line) + "\n")


def import_speed(memcli: list[str], env: dict[str, str], folder: Path, messages: int) -> None:
    """Print messages a second and the peak memory of an import without vectors."""
    history = folder / f"{messages}.jsonl"
    write_history(history, messages)
    meter = (
        "import resource, subprocess, sys, time; began = time.perf_counter(); "
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "took = time.perf_counter() - began; "
        "print(took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    command = [sys.executable, "-c", meter, *memcli, "import", str(history), "--no-vectors"]
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split()
    took_s, peak_mb = map(float, told)
    speed = f"{messages / took_s:,.0f} messages/s"
    print(f"import of {messages:,} messages, text only: {speed}, peak {peak_mb:.0f} MB")


def vector_speed(folder: Path, env: dict[str, str], passages: int) -> None:
    """Print how much of the embedder's own speed is left when its vectors are stored."""
    history = folder / "vectors.jsonl"
    write_history(history, passages)
    script = f"""
import json, time
from pathlib import Path
from memcli.absorb import Intake
from memcli.memory import open_memory
from memcli.models.builtin import load_builtin
texts = [json.loads(line)["content"] for line in Path({str(history)!r}).open(encoding="utf-8")]
embedder, _ = load_builtin()
embedder.embed_documents(texts[:16])
def bare(some):
    began = time.perf_counter()
    for start in range(0, len(some), 16):
        embedder.embed_documents(some[start:start + 16])
    return time.perf_counter() - began
before = bare(texts)
memory = open_memory(data_dir=Path({str(folder / "vectors")!r}), embedder="builtin")
memory.absorb([{str(history)!r}], intake=Intake())
began = time.perf_counter()
memory.fill_vectors()
stored = time.perf_counter() - began
after = bare(texts)
print((before + after) / 2 / stored, len(texts) / stored)
"""
    told = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    share, speed = map(float, told.stdout.split())
    print(f"vectors of {passages:,} passages: {share:.0%} of the embedder alone, {speed:.0f} passages/s")


def recall_speed(folder: Path, env: dict[str, str], memories: int) -> None:
    """Print what a warm recall inside one process takes, what ranking, and what the embedder alone."""
    history = folder / "warm.jsonl"
    write_history(history, memories)
    script = f"""
import random, statistics, time
from pathlib import Path
from memcli.absorb import Intake
from memcli.memory import open_memory
from memcli.models.builtin import load_builtin
from memcli.models.vectors import unit
from memcli.rank import rank
from memcli.types import Query
embedder, _ = load_builtin()
memory = open_memory(data_dir=Path({str(folder / "warm")!r}), embedder="builtin")
memory.absorb([{str(history)!r}], intake=Intake())
# Vectors as near to each other as those of the model are; to make them would take minutes.
chance = random.Random(7)
base = [chance.gauss(0, 1) for _ in range(embedder.dim)]
with memory.write() as (store, _):
    store.bind(embedder.name, embedder.dim, asked=True)
    keys = store.pending(embedder.name)
    for start in range(0, len(keys), 2000):
        store.add_vectors(embedder.name, {{
            key: unit([each + chance.gauss(0, 0.5) for each in base]) for key in keys[start:start + 2000]
        }})
memory.settle()
words = {WORDS!r}
def timed(call):
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)
took = {{"embedder": [], "recall": [], "ranking": []}}
for _ in range(40):
    question = "What about the " + " ".join(chance.choices(words, k=3)) + "?"
    query = Query(question, now=1_800_000_000_000)
    took["embedder"].append(timed(lambda: embedder.embed_query(question)))
    took["recall"].append(timed(lambda: memory.recall(query, is_noted=False)))
    found = memory.find(query)
    took["ranking"].append(timed(lambda: rank(question, found.candidates, k=10, total_rows=found.rows)))
print(*(statistics.median(each[5:]) for each in took.values()))
"""
    told = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    embedder, recall, ranking = map(float, told.stdout.split())
    print(
        f"warm recall at {memories:,} memories: {recall:.1f} ms, ranking {ranking:.1f} ms, "
        f"the embedder's own query {embedder:.1f} ms"
    )


def main() -> None:
    """Measure and print everything."""
    memcli = [sys.executable, "-m", "memcli"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = os.environ | {
            "MEMCLI_DATA_DIR": str(folder / "data"),
            "MEMCLI_CONFIG": str(folder / "config.toml"),
            "MEMCLI_EMBEDDER": "builtin",
            "OLLAMA_HOST": "127.0.0.1:9",
        }
        write_history(folder / "thousand.jsonl", 1000)
        timed([*memcli, "import", str(folder / "thousand.jsonl")], env)
        python = [sys.executable, "-c"]
        print(f"{'whole processes, in turn':<44} ratio  (range)")
        ratio("memcli --help / import typer", [*memcli, "--help"], [*python, "import typer"], env)
        recall = [*memcli, "recall", "the sister's piano lesson", "-k", "5"]
        ratio("memcli recall (1,000) / import lancedb", recall, [*python, "import lancedb"], env)
        listing = [*memcli, "list", "-n", "20"]
        ratio("memcli list -n 20 / import lancedb", listing, [*python, "import lancedb"], env)
        remember = [*memcli, "remember", "The spare key is in the blue jar"]
        ratio("memcli remember / import lancedb", remember, [*python, "import lancedb"], env)
        env["MEMCLI_DATA_DIR"] = str(folder / "bulk")
        import_speed(memcli, env, folder, 10_000)
        vector_speed(folder, env, 600)
        recall_speed(folder, env, 10_000)


if __name__ == "__main__":
    main()
