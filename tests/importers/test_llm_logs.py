from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers import ReadOptions, Source, sources
from memcli.importers import read as read_source
from memcli.times import parse_file_time
from memcli.types import Item

from .reading import messages_in, summary_of

OLD = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
    conversation_id TEXT, duration_ms INTEGER, datetime_utc TEXT, reasoning TEXT);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, content TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT);
INSERT INTO conversations VALUES ('c-1', 'Herons', 'small');
INSERT INTO fragments VALUES (1, 'A heron is a bird.');
INSERT INTO attachments VALUES ('a-1', 'image/png', '/home/olga/heron.png', NULL, NULL);
"""
NEW = """
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT,
    model TEXT, datetime_utc TEXT, duration_ms INTEGER);
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, text TEXT,
    payload TEXT);
CREATE TABLE IF NOT EXISTS fragments (id INTEGER PRIMARY KEY, content TEXT);
CREATE TABLE IF NOT EXISTS attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE part_attachments (part_id INTEGER, attachment_id TEXT, "order" INTEGER);
INSERT INTO threads VALUES ('t-1', 'Storks', 'm-4', NULL), ('t-2', 'Storks', 'm-6', 't-1');
"""
AT = "2026-03-01T09:00:00.000000"


def database(script: str, rows: dict[str, list[tuple[Any, ...]]]) -> bytes:
    """The bytes of a database with these tables and rows."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(script)
    for table, listed in rows.items():
        for row in listed:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    data = connection.serialize()
    connection.close()
    return data


def responses(texts: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    rows = [
        (f"r-{number:02}", "small", text, None, f"{text} too", "c-1", 1500, AT, None)
        for number, text in enumerate(texts)
    ]
    return {"responses": rows}


THREADS: dict[str, list[tuple[Any, ...]]] = {
    "messages": [
        ("m-1", None, "user"),
        ("m-2", "m-1", "assistant"),
        ("m-3", "m-2", "user"),
        ("m-4", "m-3", "assistant"),
        ("m-5", "m-2", "user"),
        ("m-6", "m-5", "assistant"),
    ],
    "turns": [
        ("r-1", "t-1", "m-1", "m-2", "small", AT, 1000),
        ("r-2", "t-1", "m-3", "m-4", "small", AT, 1000),
        ("r-3", "t-2", "m-5", "m-6", "small", AT, 1000),
    ],
    "parts": [
        (1, "m-1", 0, "text", "Any storks?", None),
        (2, "m-2", 0, "reasoning", "hm", None),
        (3, "m-2", 1, "text", "Two.", None),
        (4, "m-3", 0, "text", None, json.dumps({"text_ref": [{"fragment": 7}, {"literal": "?"}]})),
        (5, "m-4", 0, "tool_call", None, json.dumps({"name": "look", "arguments": {}})),
        (6, "m-5", 0, "text", None, json.dumps({"text": "In spring?"})),
        (7, "m-5", 1, "attachment", None, "{}"),
        (8, "m-6", 0, "reasoning", "hm", None),
    ],
    "fragments": [(7, "Where from")],
    "attachments": [("a-9", "image/png", None, "https://example.org/stork.png", None)],
    "part_attachments": [(7, "a-9", 0)],
}


def items_in(path: Path, *, format_name: str | None = None) -> list[Item]:
    (source,) = sources([str(path)])
    assert isinstance(source, Source)
    with source:
        return list(read_source(source, options=ReadOptions(), format_name=format_name))


def items_of(data: bytes, *, format_name: str | None = None) -> list[Item]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "logs.db")
        path.write_bytes(data)
        return items_in(path, format_name=format_name)


def read(data: bytes) -> dict[str, Any]:
    return summary_of(items_of(data))


def test_responses_become_conversations_with_prompts_made_of_fragments() -> None:
    rows = {
        "responses": [
            ("r-1", "small", "Which heron?", "Be brief.", "The grey one.", "c-1", 1500, AT, None),
            ("r-2", "small", "", "Be brief.", "It is.", "c-1", None, AT, None),
            ("r-3", "small", "", None, "", None, None, None, None),
            ("r-4", "small", "", None, "Done.", "c-1", 0, AT, None),
        ],
        "prompt_fragments": [("r-2", 1, 0)],
        "prompt_attachments": [("r-1", "a-1", 0), ("r-3", "a-1", 0)],
        "tool_calls": [(1, "r-3", "look")],
        "tool_results": [(1, "r-4", "look")],
    }
    found = read(database(OLD, rows))
    (first,) = found["conversations"]
    assert (first["id"], first["title"]) == ("c-1", "Herons")
    assert [(said["role"], said["text"], said["at"]) for said in first["messages"]] == [
        ("system", "Be brief.", "2026-03-01T09:00:00.000Z"),
        ("user", "Which heron?", "2026-03-01T09:00:00.000Z"),
        ("assistant", "The grey one.", "2026-03-01T09:00:01.500Z"),
        ("user", "A heron is a bird.", "2026-03-01T09:00:00.000Z"),
        ("assistant", "It is.", "2026-03-01T09:00:00.000Z"),
        ("assistant", "Done.", "2026-03-01T09:00:00.000Z"),
    ]
    assert first["messages"][1]["meta"] == {"attachments": ["/home/olga/heron.png"]}
    assert first["messages"][2]["meta"] == {"model": "small"}
    assert found["skipped"] == {"media": 1, "tool-only": 2}


def test_forked_thread_belongs_to_the_one_it_was_forked_from() -> None:
    found = read(database(NEW, THREADS))
    (first,) = found["conversations"]
    assert (first["id"], first["title"]) == ("t-1", "Storks")
    assert [(said["id"], said["text"], said["at"][-5:]) for said in first["messages"]] == [
        ("m-1", "Any storks?", ".000Z"),
        ("m-2", "Two.", ".000Z"),
        ("m-3", "Where from?", ".000Z"),
        ("m-5", "In spring?", ".000Z"),
    ]
    assert first["messages"][3]["meta"] == {"attachments": ["https://example.org/stork.png"]}
    assert found["skipped"] == {"tool-only": 1, "thinking": 1}


def test_same_words_in_two_threads_are_two_conversations() -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {
        "messages": [("m-1", None, "user")],
        "turns": [("r-1", "t-3", "m-1", "m-1", "small", AT, 0), ("r-2", "t-4", "m-1", "m-1", "small", AT, 1)],
        "parts": [(1, "m-1", 0, "text", "Hello", None)],
    }
    found = read(database(NEW, rows))["conversations"]
    assert [(one["id"], one["messages"][0]["text"]) for one in found] == [("t-3", "Hello"), ("t-4", "Hello")]


def test_what_both_generations_tell_is_taken_once() -> None:
    rows = THREADS | responses(["one", "two"])
    rows["responses"][0] = ("r-1", *rows["responses"][0][1:])
    found = read(database(OLD + NEW, rows))
    assert found["skipped"]["duplicate"] == 1
    assert [conversation["id"] for conversation in found["conversations"]] == ["c-1", "t-1"]


def test_first_version_of_the_database_is_read() -> None:
    columns = ("provider", "system", "prompt", "chat_id", "response", "model", "timestamp")
    row = ("p", None, "Which heron?", None, "The grey one.", "small", "2026-03-01 09:00:00")
    data = database(f"CREATE TABLE log ({', '.join(columns)});", {"log": [row]})
    assert [(message.text, message.at) for message in messages_in(items_of(data))] == [
        ("Which heron?", parse_file_time(AT)),
        ("The grey one.", parse_file_time(AT)),
    ]


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"]), min_size=1)


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(words, min_size=1, max_size=6))
def test_every_question_and_answer_is_read(texts: list[str]) -> None:
    items = items_of(database(OLD, responses(texts)))
    expected = [said for text in texts for said in (text, f"{text} too")]
    skipped = summary_of(items).get("skipped", {}).get("duplicate", 0)
    assert len(messages_in(items)) + skipped == len(expected)
    assert {message.text for message in messages_in(items)} == set(expected)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_damaged_database_is_read_or_refused(data: st.DataObject) -> None:
    damaged = bytearray(database(OLD + NEW, THREADS | responses(["one", "two"])))
    where = data.draw(st.integers(16, len(damaged) - 1))
    with suppress(UsageError):
        items_of(bytes(damaged[:where]), format_name="llm")
    damaged[where] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(UsageError):
        items_of(bytes(damaged), format_name="llm")


def test_circles_of_threads_and_messages_end() -> None:
    rows = THREADS | {"messages": [("m-1", "m-2", "user"), ("m-2", "m-1", "assistant")]}
    script = NEW + "UPDATE threads SET forked_from = 't-2' WHERE id = 't-1';"
    assert [message.text for message in messages_in(items_of(database(script, rows)))] == [
        "Any storks?",
        "Two.",
    ]


def test_database_that_is_being_written_is_read_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    path.write_bytes(database(OLD, responses(["one"])))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE responses SET prompt = 'newer'")
        writer.commit()
        before = path.read_bytes()
        assert [message.text for message in messages_in(items_in(path))] == ["newer", "one too"]
        assert path.read_bytes() == before
