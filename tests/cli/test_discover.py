"""import --discover: the histories of this machine, what is new in them, and which of them to take."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.process import Shared

START = 1772355600
SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Wind the warp"}]}
CODEX = [
    {"timestamp": "2026-03-01T09:00:00Z", "type": "session_meta", "payload": {"id": "a", "cwd": "/b/loom"}},
    {"timestamp": "2026-03-02T09:00:00Z", "type": "response_item", "payload": SAID},
]
LOG = [
    {"session_id": "a", "ts": START + 86_399, "text": "Wind the warp"},
    {"session_id": "gone", "ts": START, "text": "Oil the loom"},
]
CHAT = {
    "history": {
        "currentId": "m2",
        "messages": {
            "m1": {
                "id": "m1",
                "parentId": None,
                "role": "user",
                "content": "Which heron?",
                "timestamp": START,
            },
            "m2": {
                "id": "m2",
                "parentId": "m1",
                "role": "assistant",
                "content": "Grey",
                "timestamp": START + 1,
            },
        },
    }
}
WHATSAPP = "[13/03/2026, 09:01:05] Ana: Home by six\n[13/03/2026, 09:02:05] Bo: I cook\n"


def write(path: Path, records: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    """A home with the histories of three programs and one download."""
    write(tmp_path / ".codex/sessions/2026/03/01/rollout-a.jsonl", CODEX)
    write(tmp_path / ".codex/history.jsonl", LOG)
    (tmp_path / ".open-webui").mkdir()
    with closing(sqlite3.connect(tmp_path / ".open-webui/webui.db")) as database, database:
        database.execute("CREATE TABLE chat (id TEXT, user_id TEXT, title TEXT, chat JSON, archived INTEGER)")
        database.execute("INSERT INTO chat VALUES ('c', 'u', 'Herons', ?, 0)", (json.dumps(CHAT),))
    (tmp_path / "Downloads").mkdir()
    (tmp_path / "Downloads/chat.txt").write_text(WHATSAPP)
    return Shared(tmp_path)


def places(shared: Shared, *options: str) -> list[tuple[str, int, str, str]]:
    answer = shared.json("import", "--discover", *options)
    return [(each["kind"], each["new"], each["oldest"], each["newest"]) for each in answer["places"]]


FOUND = [
    ("codex", 2, "2026-03-01T09:00:00.000Z", "2026-03-02T09:00:00.000Z"),
    ("open-webui", 2, "2026-03-01T09:00:00.000Z", "2026-03-01T09:00:01.000Z"),
    ("whatsapp", 2, "2026-03-13T09:01:05.000Z", "2026-03-13T09:02:05.000Z"),
]


def test_where_nobody_can_be_asked_the_list_is_the_answer_and_nothing_is_taken(shared: Shared) -> None:
    done = shared.here("import", "--discover")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [row[:4] for row in rows] == [
        ["1", "codex", "2 new", "2026-03-01 – 2026-03-02"],
        ["2", "open-webui", "2 new", "2026-03-01 – 2026-03-01"],
        ["3", "whatsapp", "2 new", "2026-03-13 – 2026-03-13"],
    ]
    assert places(shared) == FOUND
    assert shared.json("list")["total"] == 0


def test_a_person_takes_what_they_pick_by_number(shared: Shared) -> None:
    code, shown = shared.on_terminal(
        "import", "--discover", "--no-vectors", typed="2\n", after="import which?"
    )
    assert (code, "webui.db" in shown) == (0, True)
    listed = shared.json("list")["memories"]
    assert [(memory["text"], memory["role"], memory["meta"]["title"]) for memory in listed] == [
        ("Grey", "assistant", "Herons"),
        ("Which heron?", "user", "Herons"),
    ]
    assert [new for _, new, _, _ in places(shared)] == [2, 0, 2]


@pytest.mark.parametrize(("typed", "code"), [("\n", 1), ("9\n", 2), ("loom\n", 2)])
def test_an_answer_that_picks_nothing_takes_nothing(shared: Shared, typed: str, code: int) -> None:
    assert shared.on_terminal("import", "--discover", typed=typed, after="import which?")[0] == code
    assert shared.json("list")["total"] == 0


def test_yes_takes_all_of_them_once(shared: Shared) -> None:
    assert shared.json("import", "--discover", "--yes")["totals"]["added"] == 6
    again = shared.json("import", "--discover", "--yes")
    assert again["totals"]["added"] == 0
    assert [place["new"] for place in again["places"]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("options", "new"),
    [
        (["--since", "2026-03-02"], [1, 0, 2]),
        (["--role", "assistant"], [0, 1, 2]),
        (["--me", "Ana", "--role", "user"], [2, 1, 1]),
    ],
)
def test_what_is_wanted_limits_what_is_new_and_what_is_taken(
    shared: Shared, options: list[str], new: list[int]
) -> None:
    answer = shared.json("import", "--discover", "--yes", *options)
    assert [place["new"] for place in answer["places"]] == new
    assert answer["totals"]["added"] == sum(new)


def test_a_dry_run_takes_nothing_whoever_says_yes(shared: Shared) -> None:
    answer = shared.json("import", "--discover", "--yes", "--dry-run")
    assert len(answer["plan"]) == 6
    assert places(shared) == FOUND


def test_a_machine_without_histories_is_told(tmp_path: Path) -> None:
    done = Shared(tmp_path).here("import", "--discover")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no history was found" in done.stderr
