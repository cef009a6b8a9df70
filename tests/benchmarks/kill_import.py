"""Kill thirty imports at random moments and compare: `python -m tests.benchmarks.kill_import [SEED]`."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.test_survival import NOW, begun, done, exported, kill_after, start

KILLS = 30


def main(seed: int) -> int:
    """Kill, look, import again, compare; returns how often the memories were not the same."""
    os.environ.update(MEMCLI_EMBEDDER="none", MEMCLI_NOW=NOW)
    chance, outcomes = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        file, fresh, expected, took_s = begun(Path(place), messages=16_000)
        data = Path(place, "data")
        for _ in range(KILLS):
            shutil.copytree(fresh, data)
            kill_after(start("import", file, data=data), chance.uniform(0.2, took_s))
            kept = len(exported(data))
            again = done(start("import", file, data=data))
            same = again.returncode == 0 and exported(data) == expected
            outcomes["same" if same else "different"] += 1
            print(f"killed with {kept:,} of {len(expected):,} memories; same in the end: {same}")
            shutil.rmtree(data)
    print(f"seed {seed}: {dict(outcomes)}")
    return outcomes["different"]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
