"""Print what the models' work takes inside one process: `python -m tests.benchmarks.warm`.

How much of the embedder's own speed is left when its vectors are stored, and what a warm recall takes beside
the embedder and ranking. Nothing is asserted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.stores import WORDS, write_history


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
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        env = os.environ | {"MEMCLI_CONFIG": str(Path(name, "config.toml")), "OLLAMA_HOST": "127.0.0.1:9"}
        vector_speed(Path(name), env, 600)
        recall_speed(Path(name), env, 10_000)


if __name__ == "__main__":
    main()
