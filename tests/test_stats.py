"""stats: how much is remembered, how it is stored and how recall is doing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memcli.times import from_iso
from memcli.types import Record
from tests.process import NOW, Shared, export_of, files_of

DAY = 86_400_000
NOW_MS = from_iso(NOW)
RECORDS = [
    Record("fact0001", "The tiles are green", project="flat", created_at=NOW_MS),
    Record("fact0002", "The tiles were red", created_at=NOW_MS - 2 * DAY, superseded_by="fact0001"),
    Record("fact0003", "The tiles are gone", retired=True, created_at=NOW_MS - 2 * DAY),
    Record("fact0004", "Over", expires_at=NOW_MS, created_at=NOW_MS - 400 * DAY),
    Record("name0005", "Call me Wren", "identity", "P0"),
    Record("said0006", "Hello", "episode", "P2", role="user", session_id="s1", source="import:chat"),
    Record("said0007", "Hi", "episode", "P2", role="user", session_id="s2", source="import:chat"),
    Record("said0008", "Bye", "episode", "P2", role="user", session_id="s2", source="import:chat"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A store without vectors that was asked twice."""
    shared = Shared(tmp_path_factory.mktemp("stats"))
    assert shared.here("import", "-", input=export_of(RECORDS)).returncode == 0
    assert shared.here("recall", "green tiles").returncode == 0
    assert shared.here("recall", "zzzz").returncode == 1
    return shared


@pytest.fixture(scope="module")
def figures(shared: Shared) -> dict[str, Any]:
    figures: dict[str, Any] = shared.json("stats")
    return figures


def test_memories_are_counted_by_state_and_label(figures: dict[str, Any]) -> None:
    assert figures["user"] == "default"
    assert figures["memories"] == {
        "total": 8,
        "active": 5,
        "superseded": 1,
        "retired": 1,
        "by_kind": {"fact": 4, "episode": 3, "identity": 1},
        "by_priority": {"P1": 4, "P2": 3, "P0": 1},
        "by_project": {"flat": 1},
        "by_source": {"cli": 5, "import:chat": 3},
    }
    assert figures["sessions"] == 2
    assert figures["activity"] == {"by_day": {"2025-01-25": 1, "2026-02-27": 2, "2026-03-01": 1}}


def test_the_store_and_its_embedder_are_described(shared: Shared, figures: dict[str, Any]) -> None:
    assert figures["pending"] == {"vectors": 8, "extraction": 0, "review": 0}
    assert figures["embedder"] == {"name": None, "dim": None, "state": "none yet"}
    assert set(figures["storage"]) == {"bytes", "versions", "fragments", "indexes"}
    assert figures["storage"]["bytes"] > 10_000


def test_recalls_are_counted_without_their_words(shared: Shared, figures: dict[str, Any]) -> None:
    recall = figures["recall"]
    assert (recall["count"], recall["hit_rate"]) == (2, 0.5)
    assert 0 <= recall["p50_ms"] <= recall["p95_ms"]
    assert not any(b"zzzz" in path.read_bytes() for path in shared.home.rglob("*") if path.is_file())


def test_a_script_reads_names_and_values(shared: Shared) -> None:
    told = dict(line.split("\t") for line in shared("stats").stdout.splitlines())
    assert (told["total"], told["waiting for a vector"]) == ("8", "8")


def test_a_terminal_shows_bars_and_the_last_60_days(shared: Shared) -> None:
    code, shown = shared.on_terminal("stats", "--no-color")
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert code == 0
    assert lines["episode"].count("█") < lines["fact"].count("█") == 30
    assert lines["last"].endswith("last 60 days".ljust(14 + 57) + "█ ▄")


def test_stats_change_nothing(shared: Shared) -> None:
    before = files_of(shared.home)
    assert shared("stats").returncode == 0
    assert files_of(shared.home) == before


def test_a_store_that_was_never_made_is_all_zeros(tmp_path: Path) -> None:
    figures = Shared(tmp_path).json("stats", "--user", "nobody")
    assert (figures["user"], figures["memories"]["total"], figures["recall"]["hit_rate"]) == (
        "nobody",
        0,
        None,
    )
    assert files_of(tmp_path) == {}
