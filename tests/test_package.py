"""The package of all that is held about a user: nothing is missing, sums are right, memories come back."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memcli.memory import Draft, open_memory
from memcli.store import queue
from memcli.store.side import SCHEMA_VERSION
from memcli.times import from_iso
from memcli.types import Extracted, Proposal, Selection
from tests.process import NOW, Shared

AT = from_iso(NOW)
FOLDER = "memcli-package/"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A store that holds something in every table that a person fills."""
    shared = Shared(tmp_path_factory.mktemp("package"))
    shared.here("config", "set", "k", "7")
    data_dir = Path(shared.here("config", "get", "data_dir").stdout.strip())
    memory = open_memory(data_dir=data_dir, clock=lambda: AT, embedder="none")
    memory.remember(Draft(text="Herons eat fish", source_id="h"))
    memory.remember(Draft(text="Herons eat frogs", source_id="h"))
    memory.remember(Draft(text="forgotten before"))
    memory.erase(memory.plan_forget(Selection(match="forgotten")))
    session = memory.begin_session(model="tiny")
    turn = memory.save_turn(session, "user", "Where is the heron? 鹭")
    answer = memory.save_turn(session, "assistant", "On the pier", model="tiny")
    memory.note_answer(answer, arm="with_memory", took_ms=5)
    memory.note_feedback(answer, is_good=True)
    memory.tasks.start("job")
    memory.tasks.set("job", "k", "a value")
    with memory.write_side() as side, side.change() as db:
        queue.add(db, [turn.memory_id], at=AT)
        learned = Extracted("Likes herons", "preference", "the heron", 0.5)
        queue.propose(db, Proposal("p1", AT, learned, (turn.memory_id,)))
    memory.close()
    return shared


def package(shared: Shared, path: Path) -> dict[str, bytes]:
    done = shared.here("export", "-o", path)
    assert (done.returncode, done.stderr) == (0, f"wrote 2 memories to {path}\n")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name.removeprefix(FOLDER): archive.read(name) for name in archive.namelist()}


def rows(held: dict[str, bytes], table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in held[f"{table}.jsonl"].splitlines()]


def test_everything_that_is_held_is_in_it(shared: Shared, tmp_path: Path) -> None:
    held = package(shared, tmp_path / "all.zip")
    assert {row["text"] for row in rows(held, "memories")} == {"Herons eat fish", "Herons eat frogs"}
    assert [(row["text"], row["at"]) for row in rows(held, "turns")] == [
        ("Where is the heron? 鹭", NOW),
        ("On the pier", NOW),
    ]
    assert [row["value"] for row in rows(held, "task_values")] == ["a value"]
    assert [row["kind"] for row in rows(held, "events")] == ["answer", "good"]
    assert len(rows(held, "tombstones")) == len(rows(held, "queue")) == len(rows(held, "review")) == 1
    assert {row["name"]: row["value"] for row in json.loads(held["settings.json"])}["k"] == 7
    assert b"user default" in held["README.txt"]


def test_the_key_of_the_hashes_is_not_in_it(shared: Shared, tmp_path: Path) -> None:
    held = package(shared, tmp_path / "all.zip")
    data_dir = Path(shared.here("config", "get", "data_dir").stdout.strip())
    key = open_memory(data_dir=data_dir).read().state.key.hex().encode()
    assert len(key) == 64
    assert not any(key in content for content in held.values())


def test_the_manifest_has_the_sum_of_every_other_file(shared: Shared, tmp_path: Path) -> None:
    held = package(shared, tmp_path / "all.zip")
    manifest = json.loads(held.pop("manifest.json"))
    assert (manifest["user"], manifest["made_at"], manifest["schema"]) == (
        "default",
        NOW,
        SCHEMA_VERSION,
    )
    assert manifest["files"] == {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in held.items()
    }


def test_its_memories_come_back_as_they_were_and_nothing_else(shared: Shared, tmp_path: Path) -> None:
    package(shared, tmp_path / "all.zip")
    (tmp_path / "home").mkdir()
    other = Shared(tmp_path / "home")
    done = other.here("import", tmp_path / "all.zip")
    assert (done.returncode, done.stdout.split("\t")[1:]) == (
        0,
        ["memcli", "added 2, 0 known, 0 forgotten before\n"],
    )
    assert other.here("export").stdout == shared.here("export").stdout
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    again = other.json("import", tmp_path / "unpacked")["totals"]
    assert (again["added"], again["duplicates"]) == (0, 2)


def test_it_may_go_into_a_pipe(shared: Shared) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memcli", "export", "--format", "zip"],
        env={**shared.environment, "PATH": ""},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as archive:
        assert archive.testzip() is None


def test_a_store_that_was_never_made_has_a_package_too(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    done = Shared(tmp_path / "home").here("export", "-o", tmp_path / "all.zip")
    assert done.stderr == f"wrote 0 memories to {tmp_path / 'all.zip'}\n"
