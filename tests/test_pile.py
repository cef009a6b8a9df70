"""import: small files share a commit, and what comes of it is the same as of one after the other."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memcli.absorb import Intake
from memcli.memory import Memory, open_memory
from memcli.record_json import to_json
from memcli.types import FileReport, Filters
from tests.process import Shared

CASES = Path(__file__).parent / "data" / "import"
# Sessions and the log of their prompts, forks, exports that overlap, notes with one text.
FOLDERS = (
    *("claude-code-fork", "claude-code-history", "claude-code-shapes", "codex-fork", "codex-history"),
    *("chatgpt-branches", "gemini-cli-logs", "gemini-cli-session", "mem0-list", "mem0-results"),
    *("front-matter-crlf", "plain-text", "csv-rows", "repeats", "slack-day", "memcli-export"),
)
COPIED = ("claude-code-fork", "chatgpt-branches", "front-matter-crlf", "csv-rows", "repeats", "mem0-list")
NOW = 1772400000000
WITHOUT_IDS: Mapping[str, Any] = {"id": "", "superseded_by": "", "supersedes": ""}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for name, folder in [
        *((f"a-{name}", name) for name in FOLDERS),
        *((f"b-{name}", name) for name in COPIED),
    ]:
        shutil.copytree(CASES / folder, tree / name, ignore=shutil.ignore_patterns("expected.json"))
    for file in tree.rglob("*"):
        os.utime(file, (NOW // 1000, NOW // 1000))
    return tree


def opened(directory: Path) -> Memory:
    return open_memory(data_dir=directory, embedder="none", clock=lambda: NOW)


def counts(reports: Iterable[FileReport]) -> list[FileReport]:
    return [replace(report, oldest=None, newest=None) for report in reports]


def stored(memory: Memory) -> list[str]:
    """All that is stored but the ids, which hang on the store's key."""
    records = [to_json(record) for record in memory.export(Filters(with_hidden=True))]
    return sorted(json.dumps({**record, **WITHOUT_IDS}, sort_keys=True) for record in records)


def test_a_directory_is_taken_in_as_its_files_are_one_after_the_other(tree: Path, tmp_path: Path) -> None:
    together, apart = opened(tmp_path / "together"), opened(tmp_path / "apart")
    at_once = together.absorb([str(tree)], intake=Intake()).files
    files = [report.path for report in at_once]
    in_turn = [report for path in files for report in apart.absorb([path], intake=Intake()).files]
    assert counts(at_once) == counts(in_turn)
    assert stored(together) == stored(apart)
    assert sum(report.added for report in together.absorb([str(tree)], intake=Intake()).files) == 0


def test_many_small_notes_take_few_commits(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(60):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nHerons counted: {number}.\n")
    shared = Shared(tmp_path)
    assert shared.json("import", notes)["totals"]["added"] == 60
    assert shared.json("stats")["storage"]["versions"] < 10


def test_a_file_by_lines_that_fills_a_commit_knows_what_the_notes_before_it_said(tmp_path: Path) -> None:
    said = {"role": "user", "content": "The tide is out", "timestamp": "2026-03-01T09:00:00Z", "name": "Ana"}
    lines = [said, *({**said, "content": f"wave {number}"} for number in range(4_100)), said]
    (tmp_path / "a.jsonl").write_text(json.dumps(said) + "\n")
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    memory = opened(tmp_path / "data")
    first, second = memory.absorb(
        [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], intake=Intake()
    ).files
    assert (first.added, second.added, second.duplicates, dict(second.skipped)) == (
        1,
        4_100,
        1,
        {"duplicate": 1},
    )


def test_a_dry_run_of_a_directory_tells_what_the_import_does(tree: Path, tmp_path: Path) -> None:
    # A copy of messages that have neither ids nor times is known by its bytes, which a dry run does not keep.
    shutil.rmtree(tree / "b-repeats")
    memory = opened(tmp_path / "data")
    planned = memory.absorb([str(tree)], intake=Intake(dry_run=True)).files
    assert not (tmp_path / "data").exists()
    done = memory.absorb([str(tree)], intake=Intake()).files
    assert [(each.path, each.added, each.duplicates) for each in planned] == [
        (each.path, each.added, each.duplicates) for each in done
    ]


def test_a_copy_of_messages_without_ids_and_times_is_known_in_the_same_directory(tmp_path: Path) -> None:
    said = json.dumps(
        [{"role": "user", "content": "The tide is out"}, {"role": "assistant", "content": "ok"}]
    )
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(said)
    reports = opened(tmp_path / "data").absorb([str(tmp_path)], intake=Intake()).files
    assert [(report.added, report.duplicates) for report in reports] == [(2, 0), (0, 2)]
