"""Apps' exports and memory tools' files as a person imports them: archives, a second time, without keys."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from memcli.absorb import Intake
from memcli.importers import detect
from memcli.memory import Memory, open_memory
from memcli.types import FileReport, Filters

from .reading import items_of, source_of, summary_of
from .test_container import zip_of

CASES = Path(__file__).parent.parent / "data" / "import"
APPS = (
    *("aichat", "alpaca", "basic-memory", "chatbox", "cherry-studio", "claude-mem", "langchain", "langgraph"),
    *("lm-studio", "lobechat", "mcp-memory", "mem0", "open-webui", "openmemory", "sharegpt", "text-rows"),
)
FILES = sorted(
    path
    for name in APPS
    for folder in CASES.glob(f"{name}*")
    for path in folder.iterdir()
    if path.name != "expected.json"
)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return open_memory(data_dir=tmp_path / "data")


def absorb(memory: Memory, path: Path) -> FileReport:
    (report,) = memory.absorb([str(path)], intake=Intake()).files
    return report


def test_second_import_adds_nothing_and_counts_the_same(memory: Memory) -> None:
    for path in FILES:
        first, second = absorb(memory, path), absorb(memory, path)
        assert first.error is None, path
        assert first.added + first.duplicates > 0, path
        assert (second.added, second.duplicates) == (0, first.added + first.duplicates), path
        assert second.skipped == first.skipped, path


def test_no_key_of_an_app_is_stored(memory: Memory) -> None:
    keys = [path for path in FILES if "must-not-show" in path.read_text("utf-8")]
    assert len(keys) == 7
    for path in keys:
        absorb(memory, path)
    stored = list(memory.export(Filters(with_hidden=True)))
    assert stored
    assert not [record for record in stored if "must-not-show" in repr(record)]


def test_both_forms_of_an_openmemory_backup_are_one(memory: Memory, tmp_path: Path) -> None:
    backup = (CASES / "openmemory-backup" / "memories.json").read_bytes()
    lines = gzip.compress((CASES / "openmemory-lines" / "memories.jsonl").read_bytes())
    path = tmp_path / "export.zip"
    path.write_bytes(zip_of({"memories.json": backup, "memories.jsonl.gz": lines}))
    first, second = absorb(memory, path), absorb(memory, path)
    assert (first.format, first.added, first.notes) == ("openmemory", 2, 2)
    assert first.skipped == {"deleted": 1, "duplicate": 2}
    assert (second.added, second.duplicates) == (0, 2)


def test_cherry_studio_backup_is_read_from_its_archive(memory: Memory, tmp_path: Path) -> None:
    backup = (CASES / "cherry-studio-backup" / "data.json").read_bytes()
    path = tmp_path / "cherry-studio.zip"
    path.write_bytes(zip_of({"data.json": backup, "Data/Files/notes.txt": b"attached"}))
    report = absorb(memory, path)
    assert (report.format, report.added) == ("cherry-studio", 3)


def test_history_of_mem0_is_read_as_it_stands_at_its_end(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE history (id, memory_id, old_memory, new_memory, event, created_at)")
        rows = [
            ("1", "a", None, "Drinks tea", "ADD", "2026-03-01T09:00:00Z"),
            ("2", "b", None, "Has a cat", "ADD", "2026-03-01T09:01:00Z"),
            ("3", "a", "Drinks tea", "Drinks coffee", "UPDATE", "2026-03-02T09:00:00Z"),
            ("4", "b", "Has a cat", None, "DELETE", "2026-03-02T09:01:00Z"),
        ]
        database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)", rows)
        database.commit()
    report = absorb(memory, path)
    assert (report.format, report.notes, report.skipped) == ("mem0", 1, {"superseded": 3})
    assert [record.text for record in memory.export(Filters())] == ["Drinks coffee"]


def test_relation_in_a_damaged_graph_is_kept_for_its_entity_may_be_what_is_lost() -> None:
    torn, whole = (
        '{"type":"entity","name":"Olga","obser',
        {"from": "Olga", "to": "Nils", "relationType": "likes"},
    )
    found = summary_of(items_of(f"{torn}\n{json.dumps({'type': 'relation', **whole})}\n"))
    assert [document["text"] for document in found["documents"]] == ["Olga likes Nils"]


def test_note_with_a_rule_below_its_front_matter_is_no_note_of_basic_memory() -> None:
    assert detect(source_of("---\ntitle: t\n---\n---\n\nText: and\nmore\n\n---\n")).name == "markdown"


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: t\n---\n---\n" + "  - one\n" * 5_000,
        "---\ntitle: t\ntype: note\npermalink: t\n---\n- [fact] a" + " " * 50_000 + "(b) c\n",
        "---\ntitle: t\ntype: note\npermalink: t\n---\n- see" + " x" * 50_000 + "\n# " + " #" * 50_000 + "\n",
        "---\nid: a\ncreated_at: x\n" + "- b\n" * 5_000,
        "# CHAT: " + " [2026-03-01" * 5_000,
        "model: m\nmessages:\n" + " " * 50_000,
    ],
)
def test_note_made_to_be_slow_is_quick(text: str) -> None:
    before = time.process_time()
    assert items_of(text, name="note.md")
    assert time.process_time() - before < 2


def test_branches_that_were_left_are_kept_where_asked_for() -> None:
    for folder, texts in (("open-webui-branches", 5), ("lm-studio-versions", 4), ("chatbox-threads", 4)):
        (path,) = (path for path in (CASES / folder).iterdir() if path.name != "expected.json")
        summary = summary_of(items_of(path.read_bytes(), name=path.name, all_branches=True))
        assert sum(len(chat["messages"]) for chat in summary["conversations"]) == texts
        assert "inactive-branch" not in summary["skipped"]


def test_long_backup_is_known_by_its_beginning() -> None:
    long = "x" * (5 << 20)
    session = {"id": "1", "messages": [{"role": "user", "content": long}]}
    for value, name in (
        ({"time": 1, "version": 5, "localStorage": {"persist:cherry-studio": long}}, "cherry-studio"),
        ({"__exported_items": [], "session:1": session}, "chatbox"),
        ({"exportedAt": "x", "totalObservations": 1, "observations": [{"text": long}]}, "claude-mem"),
    ):
        assert detect(source_of(json.dumps(value))).name == name


def test_langchain_database_is_read_by_its_sessions(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "chat.db")) as database, database:
        database.execute("CREATE TABLE message_store (id INTEGER PRIMARY KEY, session_id TEXT, message TEXT)")
        for session, kind, text in (
            ("a", "human", "Which gull?"),
            ("a", "ai", "Herring."),
            ("b", "human", "Hi"),
        ):
            told = json.dumps({"type": kind, "data": {"content": text, "additional_kwargs": {}}})
            database.execute("INSERT INTO message_store (session_id, message) VALUES (?, ?)", (session, told))
        database.execute("INSERT INTO message_store (session_id, message) VALUES ('b', 'torn {')")
    data = (tmp_path / "chat.db").read_bytes()
    assert detect(source_of(data, name="chat.db")).name == "langchain"
    found = summary_of(items_of(data, name="chat.db"))
    talks = [(told["id"], [each["text"] for each in told["messages"]]) for told in found["conversations"]]
    assert talks == [("a", ["Which gull?", "Herring."]), ("b", ["Hi"])]
    assert found["bad_lines"] == [[4, "not a message"]]
