"""import: the same thing from another file is known again, and what that file knows more of it is learned."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memcli import retold
from memcli.types import Record
from tests.process import Shared

START = 1772355600
LONG = "0d5c2a44-31f7-4c0e-9d6e-000000000001"


def iso(seconds: float) -> str:
    return f"2026-03-01T09:{int(seconds) // 60:02}:{seconds % 60:06.3f}Z"


def lines(records: Iterable[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def fresh(tmp_path: Path) -> Shared:
    return Shared(tmp_path)


def taken(shared: Shared, *files: tuple[str, str], options: Iterable[str] = ()) -> list[tuple[int, int]]:
    """What importing the files, one after the other, adds and knows."""
    counts = []
    for name, text in files:
        path = shared.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        totals = shared.json("import", name, *options)["totals"]
        counts.append((totals["added"], totals["duplicates"]))
    return counts


def listed(shared: Shared) -> list[dict[str, Any]]:
    memories: list[dict[str, Any]] = shared.json("list", "-n", "100")["memories"]
    return sorted(memories, key=lambda memory: memory["created_at"] or "")


def texts(shared: Shared) -> list[str]:
    return [memory["text"] for memory in listed(shared)]


# --- prompts that a program keeps twice -----------------------------------------------------------

# What was typed in a session, and how many seconds after the start; the last is in the log alone.
TYPED = (("yes", 1), ("Sort the list", 20), ("yes", 40), ("yes", 60))
ANSWERED = TYPED[:3]


def claude_code_session(session: str = "one", forked_from: str | None = None) -> str:
    records = []
    for number, (text, at) in enumerate(ANSWERED):
        place = {"sessionId": session, "cwd": "/home/ana/garden"}
        fork = {"forkedFrom": {"sessionId": forked_from, "messageUuid": f"{forked_from}-{number}"}}
        user = {"type": "user", "uuid": f"{session}-{number}", "timestamp": iso(at + 0.4)}
        answer = {"type": "assistant", "uuid": f"{session}-{number}a", "timestamp": iso(at + 5)}
        records += [
            {**place, **user, **(fork if forked_from else {}), "message": {"role": "user", "content": text}},
            {**place, **answer, "message": {"role": "assistant", "content": f"answer {number}"}},
        ]
    return lines(records)


def claude_code_log() -> str:
    return lines(
        {"display": text, "pastedContents": {}, "timestamp": (START + at) * 1000, "project": "/home/ana/b",
         "sessionId": "one"}
        for text, at in TYPED
    )  # fmt: skip


def codex_session() -> str:
    meta = {"timestamp": iso(0), "type": "session_meta", "payload": {"id": "one", "cwd": "/home/ana/garden"}}
    records: list[Any] = [meta]
    for number, (text, at) in enumerate(ANSWERED):
        for role, said, when in (("user", text, at + 0.4), ("assistant", f"answer {number}", at + 5)):
            part = {"type": "input_text" if role == "user" else "output_text", "text": said}
            payload = {"type": "message", "role": role, "content": [part]}
            records.append({"timestamp": iso(when), "type": "response_item", "payload": payload})
    return lines(records)


def codex_log() -> str:
    return lines({"session_id": "one", "ts": START + at, "text": text} for text, at in TYPED)


def gemini_session() -> str:
    records: list[Any] = [{"sessionId": "one", "projectHash": "f00d", "startTime": iso(0)}]
    for number, (text, at) in enumerate(ANSWERED):
        records += [
            {"id": f"u{number}", "timestamp": iso(at + 0.4), "type": "user", "content": text},
            {"id": f"a{number}", "timestamp": iso(at + 5), "type": "gemini", "content": f"answer {number}"},
        ]
    return lines(records)


def gemini_log() -> str:
    return json.dumps(
        [
            {"sessionId": "one", "messageId": number, "type": "user", "message": text, "timestamp": iso(at)}
            for number, (text, at) in enumerate(TYPED)
        ]
    )


PROGRAMS = {
    "claude-code": (claude_code_session, claude_code_log),
    "codex": (codex_session, codex_log),
    "gemini-cli": (gemini_session, gemini_log),
}
every_program = pytest.mark.parametrize(("session", "log"), PROGRAMS.values(), ids=PROGRAMS)
Written = Callable[[], str]


@every_program
def test_a_log_of_prompts_adds_only_what_no_session_holds(
    fresh: Shared, session: Written, log: Written
) -> None:
    files = [("session.jsonl", session()), ("log.json", log())]
    assert taken(fresh, *files, *files) == [(6, 0), (1, 3), (0, 6), (0, 4)]
    assert texts(fresh) == ["yes", "answer 0", "Sort the list", "answer 1", "yes", "answer 2", "yes"]


@every_program
def test_a_session_adds_only_what_no_log_holds_and_places_the_rest(
    fresh: Shared, session: Written, log: Written
) -> None:
    files = [("log.json", log()), ("session.jsonl", session())]
    assert taken(fresh, *files, *files) == [(4, 0), (3, 3), (0, 4), (0, 6)]
    places = [(memory["text"], memory["position"]) for memory in listed(fresh)]
    said = ["yes", "answer 0", "Sort the list", "answer 1", "yes", "answer 2"]
    assert places == [*zip(said, range(6), strict=True), ("yes", None)]


@every_program
def test_a_prompt_forgotten_in_one_file_is_not_brought_back_by_the_other(
    fresh: Shared, session: Written, log: Written
) -> None:
    taken(fresh, ("session.jsonl", session()))
    assert fresh.here("forget", "--match", "Sort the list", "--yes").returncode == 0
    assert taken(fresh, ("log.json", log()), ("session.jsonl", session())) == [(1, 2), (0, 5)]
    assert "Sort the list" not in texts(fresh)


def test_a_prompt_typed_in_a_fork_is_known_under_the_session_that_it_belongs_to(fresh: Shared) -> None:
    fork = claude_code_session("fork", forked_from="one")
    assert taken(fresh, ("fork.jsonl", fork), ("log.jsonl", claude_code_log())) == [(6, 0), (1, 3)]
    assert {memory["session_id"] for memory in listed(fresh)} == {"one"}


def test_a_prompt_of_a_codex_fork_is_known_by_the_session_it_was_typed_in(fresh: Shared) -> None:
    meta = {"id": "fork", "forked_from_id": "one", "timestamp": iso(100), "cwd": "/home/ana/garden"}
    copied = [json.loads(line) | {"timestamp": iso(100.5)} for line in codex_session().splitlines()[1:]]
    typed = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "yes"}]}
    fork = [
        {"timestamp": iso(100), "type": "session_meta", "payload": meta},
        *copied,
        {"timestamp": iso(130.4), "type": "response_item", "payload": typed},
    ]
    log = [{"session_id": "one", "ts": START + at, "text": text} for text, at in ANSWERED]
    log.append({"session_id": "fork", "ts": START + 130, "text": "yes"})
    assert taken(fresh, ("fork.jsonl", lines(fork)), ("log.jsonl", lines(log))) == [(7, 0), (0, 4)]


def test_a_fork_that_does_not_say_so_belongs_to_the_session_whose_messages_it_begins_with(
    fresh: Shared,
) -> None:
    origin = claude_code_session(LONG)
    copied = origin.replace(f'"sessionId": "{LONG}"', '"sessionId": "fork"')
    new = {"type": "user", "uuid": f"{LONG}-new", "sessionId": "fork", "timestamp": iso(90)}
    fork = copied + lines([new | {"message": {"role": "user", "content": "And now?"}}])
    assert taken(fresh, ("origin.jsonl", origin), ("fork.jsonl", fork), ("fork.jsonl", fork)) == [
        (6, 0),
        (1, 6),
        (0, 7),
    ]
    assert {memory["session_id"] for memory in listed(fresh)} == {LONG}
    with zipfile.ZipFile(fresh.home / "both.zip", "w") as archive:
        archive.writestr("a.jsonl", origin)
        archive.writestr("b.jsonl", fork)
    fresh.json("import", "both.zip", "--user", "other")
    sessions = {memory["session_id"] for memory in fresh.json("list", "--user", "other")["memories"]}
    assert sessions == {LONG}


# --- whose words they are -------------------------------------------------------------------------

CHAT = "[13/03/2026, 09:01:05] Ana: Home by six\n[13/03/2026, 09:02:05] Bo: I cook\n"


def roles(shared: Shared) -> list[tuple[str, str]]:
    return [(memory["name"], memory["role"]) for memory in listed(shared)]


def test_who_the_person_is_may_be_said_later(fresh: Shared) -> None:
    assert taken(fresh, ("chat.txt", CHAT)) == [(2, 0)]
    assert roles(fresh) == [("Ana", "assistant"), ("Bo", "assistant")]
    done = fresh.here("import", "chat.txt", "--me", "ana")
    assert "1 known message is yours now" in done.stderr
    assert roles(fresh) == [("Ana", "user"), ("Bo", "assistant")]


def test_a_wrong_name_is_put_right_by_another(fresh: Shared) -> None:
    taken(fresh, ("chat.txt", CHAT), options=["--me", "Bo"])
    done = fresh.here("import", "chat.txt", "--me", "Ana")
    assert "1 known message is yours now" in done.stderr
    assert "1 known message is not yours any more" in done.stderr
    assert roles(fresh) == [("Ana", "user"), ("Bo", "assistant")]


def test_an_import_that_does_not_say_who_the_person_is_changes_nobody(fresh: Shared) -> None:
    taken(fresh, ("chat.txt", CHAT), options=["--me", "Ana"])
    before = fresh.here("export").stdout
    assert taken(fresh, ("chat.txt", CHAT), ("copy/chat (1).txt", CHAT)) == [(0, 2), (0, 2)]
    assert fresh.here("export").stdout == before


def test_a_dry_run_tells_whose_words_would_change_hands_and_changes_none(fresh: Shared) -> None:
    taken(fresh, ("chat.txt", CHAT))
    before = fresh.here("export").stdout
    answer = fresh.json("import", "chat.txt", "--me", "Ana", "--dry-run")
    assert [(step["action"], step["text"]) for step in answer["plan"]] == [("update", "Home by six")]
    assert fresh.here("export").stdout == before


# --- conversations that look alike ----------------------------------------------------------------


def chatgpt(conversation: str, ids: tuple[str, str] = ("u", "a")) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    for number, (id_, text) in enumerate(zip(ids, ("Hi", "Hello"), strict=True)):
        message = {
            "id": id_,
            "author": {"role": ("user", "assistant")[number]},
            "create_time": START + number,
        }
        message["content"] = {"content_type": "text", "parts": [text]}
        nodes[id_] = {"id": id_, "parent": ids[0] if number else None, "message": message}
    return {"conversation_id": conversation, "title": "Tea", "create_time": START, "mapping": nodes,
            "current_node": ids[1]}  # fmt: skip


def test_conversations_alike_in_all_but_their_ids_are_two(fresh: Shared) -> None:
    both = json.dumps([chatgpt("one"), chatgpt("two")])
    assert taken(fresh, ("both.json", both), ("both.json", both)) == [(4, 0), (0, 4)]
    assert sorted(memory["session_id"] for memory in listed(fresh)) == ["one", "one", "two", "two"]


def test_conversations_alike_in_two_files_are_two(fresh: Shared) -> None:
    one, two = ("one.json", json.dumps([chatgpt("one")])), ("two.json", json.dumps([chatgpt("two")]))
    assert taken(fresh, one, two, one, two) == [(2, 0), (2, 0), (0, 2), (0, 2)]


def test_a_copy_of_a_conversation_with_its_unique_ids_adds_nothing(fresh: Shared) -> None:
    ids = ("0d5c2a44-31f7-4c0e-9d6e-000000000001", "0d5c2a44-31f7-4c0e-9d6e-000000000002")
    one, two = json.dumps([chatgpt("one", ids)]), json.dumps([chatgpt("one", ids), chatgpt("two", ids)])
    assert taken(fresh, ("one.json", one), ("two.json", two)) == [(2, 0), (0, 2)]


@pytest.mark.parametrize(
    ("changes", "is_another"),
    [
        ({"session_id": "two"}, True),
        ({"session_id": "two", "source_id": "m2"}, True),
        ({"source_id": "m2"}, False),
        ({"session_id": "two", "source": "import:other"}, False),
        ({"session_id": "two", "source_id": None}, False),
    ],
)
def test_same_words_at_the_same_time_are_two_in_two_conversations_of_one_program(
    changes: Mapping[str, Any], is_another: bool
) -> None:
    stored = {"source": "import:x", "session_id": "one", "source_id": "m1"}
    assert (
        retold.is_another(Record("", "Hi", **{**stored, **changes}), Record("a", "Hi", **stored))
        is is_another
    )


def test_the_same_words_at_the_same_time_under_the_ids_of_another_tool_are_one_message() -> None:
    told = Record("", "Hi", source="import:message-jsonl", session_id="one", source_id="m1")
    assert not retold.is_another(told, replace(told, session_id="two", source_id="9f3"))


# --- files that move ------------------------------------------------------------------------------

MOVED = {
    "a note": ("tea.md", "# Tea\n\nOolong at five.\n"),
    "a text": ("tea.txt", "Oolong at five.\n"),
    "rows of a table": ("teas.csv", "title,minutes\nOolong,5\nSencha,2\n"),
    "messages without ids and times": ("chat.jsonl", lines([{"role": "user", "content": "Oolong"}] * 2)),
}


@pytest.mark.parametrize(("name", "text"), MOVED.values(), ids=MOVED)
def test_a_file_is_known_where_it_moved_to_and_in_an_archive(fresh: Shared, name: str, text: str) -> None:
    ((added, _),) = taken(fresh, (name, text))
    assert added
    assert taken(fresh, (f"elsewhere/{name}", text)) == [(0, added)]
    with zipfile.ZipFile(fresh.home / "all.zip", "w") as archive:
        archive.writestr(f"inside/{name}", text)
    assert fresh.json("import", "all.zip")["totals"]["added"] == 0


MOVES: Mapping[str, Callable[[Path], Path]] = {
    "to another name": lambda file: file.rename(file.with_stem("renamed")),
    "to another directory": lambda file: file.rename(new_directory(file) / file.name),
    "to another directory and name": lambda file: file.rename(new_directory(file) / f"new{file.suffix}"),
    "with its directory": lambda file: file.parent.rename(file.parent.with_name("other")) / file.name,
    "into an archive": lambda file: packed(file, "all.zip"),
}


def new_directory(file: Path) -> Path:
    (file.parent / "below").mkdir()
    return file.parent / "below"


def packed(file: Path, name: str) -> Path:
    """An archive in which the file lies, which is gone where it was."""
    with zipfile.ZipFile(file.with_name(name), "w") as archive:
        archive.write(file, f"inside/{file.name}")
    file.unlink()
    return file.with_name(name)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize(("name", "text"), MOVED.values(), ids=MOVED)
def test_a_file_that_was_forgotten_does_not_come_back_when_it_is_moved(
    fresh: Shared, name: str, text: str, move: Callable[[Path], Path]
) -> None:
    ((added, _),) = taken(fresh, (f"kept/{name}", text))
    fresh.here("forget", "--match", "Oolong", "--yes")
    moved = move(fresh.home / "kept" / name)
    for path in (moved, moved.parent):
        again = fresh.json("import", path)["totals"]
        assert (again["added"], again["forgotten"] + again["duplicates"]) == (0, added)
    assert fresh.here("recall", "Oolong").returncode == 1


@pytest.mark.parametrize("names", [("one.zip", "two.zip"), ("one.zip", "inside")])
def test_a_note_in_an_archive_that_was_forgotten_stays_forgotten(
    fresh: Shared, names: tuple[str, str]
) -> None:
    (fresh.home / "inside").mkdir()
    (fresh.home / "inside" / "tea.md").write_text("# Tea\n\nOolong at five.\n")
    packed(fresh.home / "inside" / "tea.md", "one.zip").rename(fresh.home / "one.zip")
    fresh.here("import", "one.zip")
    fresh.here("forget", "--match", "Oolong", "--yes")
    if names[1] == "inside":
        with zipfile.ZipFile(fresh.home / "one.zip") as archive:
            archive.extractall(fresh.home)
    else:
        (fresh.home / "one.zip").rename(fresh.home / names[1])
    assert fresh.json("import", names[1])["totals"]["added"] == 0


def test_a_note_in_the_place_of_an_older_one_is_not_taken_for_a_third_that_has_its_old_text(
    fresh: Shared,
) -> None:
    old, new = "# Tea\n\nOolong.\n", "# Tea\n\nSencha.\n"
    assert taken(fresh, ("a/tea.md", old), ("a/tea.md", new), ("b/tea.md", old)) == [(1, 0)] * 3
    current = fresh.json("list", "--current")["memories"]
    assert sorted(memory["text"].split()[-1] for memory in current) == ["Oolong.", "Sencha."]


def test_a_channel_alone_takes_its_names_from_the_workspace_around_it(fresh: Shared) -> None:
    workspace = fresh.home / "export"
    (workspace / "general").mkdir(parents=True)
    users = [{"id": "U01", "name": "ana", "profile": {"real_name": "Ana"}}]
    (workspace / "users.json").write_text(json.dumps(users))
    (workspace / "channels.json").write_text(json.dumps([{"id": "C01", "name": "general"}]))
    day = [{"type": "message", "user": "U01", "text": "Tea is up", "ts": "1772355600.000100"}]
    (workspace / "general" / "2026-03-01.json").write_text(json.dumps(day))
    for path in ("export/general", "export/general/2026-03-01.json", "export"):
        fresh.here("import", path)
    (memory,) = listed(fresh)
    assert (memory["name"], memory["session_id"]) == ("Ana", "C01")
