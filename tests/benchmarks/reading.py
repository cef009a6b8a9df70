"""Print what reading a one-line ChatGPT export costs against `json.load`: `python reading.py [MEGABYTES]`.

Each side is a process of its own, in turn (A, B, A, B, …): time by its own processor clock, memory at its
peak less that of a process that reads nothing. Nothing is asserted.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5
_COST = "import resource, sys; cost = resource.getrusage(resource.RUSAGE_SELF)\n"
_COST += "print(cost.ru_utime + cost.ru_stime, cost.ru_maxrss)"
READING = f"""
import sys
from pathlib import Path
from memcli.importers import ReadOptions, read, sources
(source,) = sources(sys.argv[1:])
for item in read(source, options=ReadOptions()): pass
{_COST}"""
LOADING = f"""
import json, sys
from memcli.importers import read
data = json.load(open(sys.argv[1], encoding="utf-8"))
{_COST}"""
NOTHING = f"from memcli.importers import read\n{_COST}"


def write_export(path: Path, megabytes: int) -> None:
    """One line: an array of conversations of 40 messages, a few kilobytes each."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write("[")
        number = 0
        while stream.tell() < megabytes * 1_000_000:
            nodes = {"r": {"id": "r", "parent": None, "message": None}}
            for n in range(40):
                message = {
                    "author": {"role": "assistant" if n % 2 else "user"},
                    "create_time": 1772355600 + 40 * number + n,
                    "content": {"content_type": "text", "parts": [f"{number} {n} " + "words to fill " * 170]},
                }
                nodes[f"m{n}"] = {"id": f"m{n}", "parent": f"m{n - 1}" if n else "r", "message": message}
            chat = {"title": "t", "mapping": nodes, "current_node": "m39", "conversation_id": f"c{number}"}
            stream.write(("," if number else "") + json.dumps(chat))
            number += 1
        stream.write("]")


def cost(code: str, path: Path) -> tuple[float, int]:
    """Processor seconds and peak memory (KB) of the code, run on the file."""
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "conversations.json")
        write_export(path, int(sys.argv[1]) if len(sys.argv) > 1 else 300)
        idle_s, idle_kb = cost(NOTHING, path)
        pairs = [(cost(READING, path), cost(LOADING, path)) for _ in range(RUNS)]
    times = [(ours[0] - idle_s) / (theirs[0] - idle_s) for ours, theirs in pairs]
    memory = [(ours[1] - idle_kb) / (theirs[1] - idle_kb) for ours, theirs in pairs]
    print(f"time   {statistics.median(times):5.2f} of json.load ({min(times):.2f}–{max(times):.2f})")
    print(f"memory {statistics.median(memory):5.2f} of json.load ({min(memory):.2f}–{max(memory):.2f})")


if __name__ == "__main__":
    main()
