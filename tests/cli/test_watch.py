"""import --watch: what is added to files comes in, a line is printed a batch, and nothing comes twice."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import pytest

from tests.process import Shared

WAIT_S = 30


def line(number: int) -> str:
    return json.dumps({"role": "user", "content": f"said {number}", "session_id": "s"}) + "\n"


class Watching:
    """The program while it watches, and the lines that it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self.process.stdout
        for printed in self.process.stdout:
            self._lines.put(printed)

    def told(self) -> tuple[str, str]:
        """The next line: the file's name and what was added."""
        path, _, added = self._lines.get(timeout=WAIT_S).rstrip().split("\t")
        return Path(path).name, added

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str, int]:
        """The exit code, what was said on stderr, and how many lines were not asked for."""
        self.process.send_signal(number)
        code = self.process.wait(WAIT_S)
        assert self.process.stderr
        return code, self.process.stderr.read(), self._lines.qsize()


@contextmanager
def watching(shared: Shared, *paths: str) -> Iterator[Watching]:
    process = shared.start("import", "--watch", "--no-vectors", *paths)
    try:
        yield Watching(process)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def fresh(tmp_path: Path) -> Shared:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\nOolong at five.\n", "utf-8")
    (tmp_path / "chat.jsonl").write_text(line(1), "utf-8")
    return Shared(tmp_path)


def add(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write(text)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_added_lines_come_in_and_a_signal_stops_it(fresh: Shared, number: int) -> None:
    with watching(fresh, "chat.jsonl") as watch:
        assert watch.told() == ("chat.jsonl", "added 1")
        add(fresh.home / "chat.jsonl", line(2) + line(3))
        assert watch.told() == ("chat.jsonl", "added 2")
        assert watch.stop(number) == (0, "stopped; everything that was read is kept\n", 0)
    assert fresh.json("list")["total"] == 3


def test_a_torn_line_comes_in_when_it_is_finished(fresh: Shared) -> None:
    with watching(fresh, "chat.jsonl") as watch:
        watch.told()
        add(fresh.home / "chat.jsonl", line(2) + line(3)[:20])
        assert watch.told() == ("chat.jsonl", "added 1")
        add(fresh.home / "chat.jsonl", line(3)[20:])
        assert watch.told() == ("chat.jsonl", "added 1")
        assert watch.stop()[0] == 0
    texts = sorted(memory["text"] for memory in fresh.json("list")["memories"])
    assert texts == ["said 1", "said 2", "said 3"]


def test_a_note_that_is_renamed_is_the_same_note(fresh: Shared) -> None:
    notes = fresh.home / "notes"
    with watching(fresh, "notes", "chat.jsonl") as watch:
        assert [watch.told()[0], watch.told()[0]] == ["tea.md", "chat.jsonl"]
        (notes / "tea.md").rename(notes / "drinks.md")
        (fresh.home / "chat.jsonl").rename(notes / "moved.jsonl")
        add(notes / "other.md", "# Other\n\nJust to see a line.\n")
        assert watch.told() == ("other.md", "added 1")
        (notes / "drinks.md").write_text("# Tea\n\nSencha at six.\n", "utf-8")
        assert watch.told() == ("drinks.md", "added 1")
        assert watch.stop()[::2] == (0, 0)
    current = sorted(
        memory["text"].splitlines()[-1] for memory in fresh.json("list", "--current")["memories"]
    )
    assert current == ["Just to see a line.", "Sencha at six.", "said 1"]


def test_a_copy_of_a_note_is_another_note(fresh: Shared) -> None:
    notes = fresh.home / "notes"
    fresh.here("import", "notes")
    (notes / "copy.md").write_bytes((notes / "tea.md").read_bytes())
    assert fresh.json("import", "notes")["totals"]["added"] == 1


def test_hidden_files_are_left_out_as_without_watching(fresh: Shared) -> None:
    (fresh.home / "notes" / ".trash").mkdir()
    (fresh.home / "notes" / ".trash" / "old.md").write_text("# Old\n", "utf-8")
    with watching(fresh, "notes") as watch:
        assert watch.told() == ("tea.md", "added 1")
        time.sleep(1.5)
        assert watch.stop() == (0, "stopped; everything that was read is kept\n", 0)
