"""import: files in, each record once, what was forgotten kept out; and out again, byte for byte."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.absorb import Intake
from memcli.memory import open_memory
from memcli.text import plain_json
from memcli.times import from_iso
from memcli.types import Filters, Record, Selection
from tests.process import NOW, Shared, export_of, files_of

PASSWORD = "".join(("Xk9#", "mQ2v!", "tRz7"))
KEYS = ("added", "duplicates", "forgotten")

CHAT = [
    {"id": "1", "session_id": "a", "role": "user", "content": "Corin lives on Quayside Row",
     "timestamp": "2026-01-01T10:00:00Z"},
    {"id": "2", "session_id": "a", "role": "assistant", "content": "Noted",
     "timestamp": "2026-01-01T10:01:00Z"},
    {"id": "1", "session_id": "b", "role": "user", "content": "The beans need water",
     "timestamp": "2026-01-02T10:01:00Z"},
]  # fmt: skip


def lines(messages: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in messages)


def counts(report: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(report[key] for key in KEYS)


@pytest.fixture
def fresh(tmp_path: Path) -> Shared:
    """An empty home with a chat to import, and a copy of it."""
    for name in ("chat.jsonl", "copy.jsonl"):
        (tmp_path / name).write_text(lines(CHAT), "utf-8")
    return Shared(tmp_path)


# --- the summary ----------------------------------------------------------------------------------


def test_the_summary_tells_what_became_of_every_line(fresh: Shared) -> None:
    (fresh.home / "chat.jsonl").write_text(
        lines([*CHAT, CHAT[0], {"role": "user", "content": ""}])
        + "not json\n"
        + lines([{"role": "user", "content": f"The password is {PASSWORD}"}]),
        "utf-8",
    )
    answer = fresh.json("import", "chat.jsonl")
    (report,) = answer["files"]
    assert "line 6: expecting value at column 1" in report.pop("warnings")
    assert report == {
        "path": "chat.jsonl",
        "format": "message-jsonl",
        "conversations": 3,
        "messages": {"user": 3, "assistant": 1, "system": 0, "tool": 0},
        "notes": 0,
        "added": 4,
        "duplicates": 0,
        "forgotten": 0,
        "redacted": {"password": 1},
        "skipped": {"duplicate": 1, "empty": 1},
        "bad_lines": [6],
    }
    assert list(answer) == ["files", "totals", "took_ms"]
    assert answer["totals"].pop("warnings") >= answer["totals"].pop("bad_lines") == 1
    assert answer["totals"] == {key: report[key] for key in answer["totals"]}


def test_a_person_reads_one_line_a_file(fresh: Shared) -> None:
    (fresh.home / "tea.md").write_text("# Tea\n\nOolong at five.\n", "utf-8")
    done = fresh("import", "chat.jsonl", "tea.md")
    assert done.stdout == (
        "chat.jsonl\tmessage-jsonl\tadded 3, 0 known, 0 forgotten before\n"
        "tea.md\tmarkdown\tadded 1, 0 known, 0 forgotten before\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_twice_the_same_adds_nothing(fresh: Shared) -> None:
    assert counts(fresh.json("import", "chat.jsonl")["totals"]) == (3, 0, 0)
    before = fresh.here("export").stdout
    again = fresh.json("import", "chat.jsonl", "copy.jsonl")
    assert [counts(report) for report in again["files"]] == [(0, 3, 0), (0, 3, 0)]
    assert fresh.here("export").stdout == before


def test_a_dry_run_counts_and_makes_no_store(fresh: Shared) -> None:
    before = files_of(fresh.home)
    answer = fresh.json("import", "chat.jsonl", "copy.jsonl", "--dry-run")
    assert [counts(report) for report in answer["files"]] == [(3, 0, 0), (0, 3, 0)]
    assert fresh("import", "chat.jsonl", "--dry-run").stdout.split("\t")[2].startswith("would add 3, ")
    assert files_of(fresh.home) == before


def test_a_dry_run_on_a_store_changes_no_byte_of_it(fresh: Shared) -> None:
    fresh.here("import", "-", input=lines(CHAT[:1]))
    before = files_of(fresh.home), fresh.here("export").stdout
    assert counts(fresh.json("import", "-", "--dry-run", input=lines(CHAT))["totals"]) == (2, 1, 0)
    assert (files_of(fresh.home), fresh.here("export").stdout) == before


MESSAGE = st.fixed_dictionaries(
    {
        "content": st.sampled_from(["Tea", "Rain", " ", "Tea\u2028🧱"]),
        "role": st.sampled_from(["user", "assistant"]),
    },
    optional={
        "id": st.sampled_from(["1", "2"]),
        "session_id": st.sampled_from(["a", "b"]),
        "timestamp": st.sampled_from([1_700_000_000, 1_700_000_060]),
    },
)  # fmt: skip


@settings(max_examples=10, deadline=None)
@given(
    first=st.lists(MESSAGE, max_size=8),
    second=st.lists(MESSAGE, max_size=8),
    gone=st.sampled_from(["Tea", "?"]),
)
def test_every_record_is_in_exactly_one_count(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[dict[str, Any]],
    second: list[dict[str, Any]],
    gone: str,
) -> None:
    home = tmp_path_factory.mktemp("counts")
    memory = open_memory(data_dir=home, clock=lambda: from_iso(NOW), embedder="none")
    for name, messages in (("a", first), ("b", second), ("b", second)):
        path = home / f"{name}.jsonl"
        path.write_text(lines(messages), "utf-8")
        before = {record.id for record in memory.export(Filters())}
        (report,) = memory.absorb([str(path)], intake=Intake()).files
        after = {record.id for record in memory.export(Filters())}
        held = sum(report.messages.values()) + report.notes
        assert report.added + report.duplicates + report.forgotten == held
        assert held + sum(report.skipped.values()) == len(messages)
        assert (len(after - before), before - after) == (report.added, set())
        if any(record.text == gone for record in memory.export(Filters())):
            memory.erase(memory.plan_forget(Selection(match=gone)))
    assert report.added == 0


# --- while it runs --------------------------------------------------------------------------------


@pytest.fixture
def long_history(fresh: Shared) -> Shared:
    """A home with a history that takes a second or so."""
    said = (
        {**CHAT[0], "id": f"m{n}", "content": f"{n} {LONG * 2}", "timestamp": 1_770_000_000 + n}
        for n in range(100)
    )
    (fresh.home / "long.jsonl").write_text(lines(said), "utf-8")
    return fresh


def test_on_a_terminal_it_is_told_how_many_bytes_are_read_and_how_long_it_will_take(
    long_history: Shared,
) -> None:
    code, shown = long_history.on_terminal("import", "long.jsonl", "--no-vectors", columns=100)
    assert code == 0
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)
    size = (long_history.home / "long.jsonl").stat().st_size
    assert re.search(rf"reading .*\d+% [\d,]+/{size:,} bytes (\d:\d\d:\d\d|-:--:--)", plain)


def test_in_a_pipe_nothing_is_told_of_the_way(long_history: Shared) -> None:
    done = long_history("import", "long.jsonl", "--no-vectors")
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(long_history: Shared) -> None:
    code, shown = long_history.on_terminal(
        "import", "long.jsonl", "chat.jsonl", "--no-vectors", typed="\x03", after="reading"
    )
    assert code == 130
    assert "memcli: stopped; " in shown
    assert "hint: run the same command again to go on" in shown
    long_history.json("import", "long.jsonl", "chat.jsonl", "--no-vectors")
    assert long_history.json("list")["total"] == 103


def test_of_a_directory_that_was_half_read_it_is_said_what_is_stored_and_it_can_be_taken_back(
    fresh: Shared,
) -> None:
    directory = fresh.home / "many"
    directory.mkdir()
    for n in range(6):
        said = ({**CHAT[0], "session_id": f"c{n}", "id": str(m), "content": f"{n} {m}"} for m in range(4_000))
        (directory / f"{n}.jsonl").write_text(lines(said), "utf-8")
    code, shown = fresh.on_terminal("import", "many", "--no-vectors", typed="\x03", after="100%")
    stored = fresh.json("stats")["memories"]["total"]
    assert (code, stored > 0) == (130, True)
    assert f"stopped; {stored:,} memories are stored already" in shown
    assert "or take back what is stored with `memcli undo`" in shown
    assert fresh.here("undo").returncode == 0
    assert fresh.json("stats")["memories"]["total"] == 0


# --- what was forgotten ---------------------------------------------------------------------------


def forget_corin(shared: Shared) -> None:
    assert shared.here("forget", "--match", "Quayside", "--yes").returncode == 0


def quayside(shared: Shared) -> list[str]:
    return [memory["text"] for memory in shared.json("list")["memories"] if "Quayside" in memory["text"]]


OTHER_TOOL = [
    {"messages": [
        {"uuid": f"x{number}", "role": message["role"], "content": message["content"],
         "created_at": message["timestamp"]}
        for number, message in enumerate(CHAT[:2])
    ]}
]  # fmt: skip


def test_what_was_forgotten_stays_forgotten_whoever_exports_it(fresh: Shared) -> None:
    fresh.here("import", "chat.jsonl")
    forget_corin(fresh)
    assert counts(fresh.json("import", "chat.jsonl")["totals"]) == (0, 2, 1)
    assert counts(fresh.json("import", "-", input=lines(OTHER_TOOL))["totals"]) == (0, 1, 1)
    assert quayside(fresh) == []


def test_the_own_export_does_not_bring_back_what_was_forgotten(fresh: Shared) -> None:
    fresh.here("import", "chat.jsonl")
    export = fresh.here("export").stdout
    forget_corin(fresh)
    assert counts(fresh.json("import", "-", input=export)["totals"]) == (0, 2, 1)
    assert quayside(fresh) == []
    assert counts(fresh.json("import", "-", "--restore", input=export)["totals"]) == (1, 2, 0)
    assert fresh.here("export").stdout == export


def test_restore_brings_it_back_for_good(fresh: Shared) -> None:
    fresh.here("import", "chat.jsonl")
    forget_corin(fresh)
    assert counts(fresh.json("import", "chat.jsonl", "--restore")["totals"]) == (1, 2, 0)
    assert counts(fresh.json("import", "chat.jsonl")["totals"]) == (0, 3, 0)
    assert quayside(fresh) == ["Corin lives on Quayside Row"]


def test_an_explicit_remember_brings_it_back(fresh: Shared) -> None:
    fresh.here("remember", "Corin lives on Quayside Row", "--source-id", "x")
    forget_corin(fresh)
    assert quayside(fresh) == []
    fresh.here("remember", "Corin lives on Quayside Row", "--source-id", "x")
    assert quayside(fresh) == ["Corin lives on Quayside Row"]


def test_a_forgotten_word_without_a_time_does_not_block_the_same_word_elsewhere(fresh: Shared) -> None:
    said = [{"role": "user", "content": "ok"}]
    fresh.here("import", "-", input=lines([{**said[0], "session_id": "a"}]))
    assert fresh.here("forget", "--session", "a", "--yes").returncode == 0
    assert counts(fresh.json("import", "-", input=lines([{**said[0], "session_id": "b"}]))["totals"]) == (
        1,
        0,
        0,
    )


# --- the same thing, however it comes -------------------------------------------------------------


def test_a_note_that_has_changed_replaces_its_old_text(fresh: Shared) -> None:
    note = fresh.home / "plan.md"
    note.write_text("# Plan\n\nPaint the fence.\n", "utf-8")
    fresh.here("import", "plan.md")
    note.write_text("# Plan\n\nPaint the shed.\n", "utf-8")
    assert counts(fresh.json("import", "plan.md")["totals"]) == (1, 0, 0)
    assert counts(fresh.json("import", "plan.md")["totals"]) == (0, 1, 0)
    current = fresh.json("list", "--current")["memories"]
    assert ["shed" in memory["text"] for memory in current] == [True]


def test_a_directory_and_stdin_are_read_as_files_are(fresh: Shared) -> None:
    (fresh.home / "notes").mkdir()
    (fresh.home / "notes" / "a.md").write_text("# Note\n\nIt *rains*.\n", "utf-8")
    (fresh.home / "notes" / "b.txt").write_text("It rains.\n", "utf-8")
    answer = fresh.json("import", "notes", "-", input=lines(CHAT))
    assert sorted((report["format"], report["added"]) for report in answer["files"]) == [
        ("markdown", 1),
        ("message-jsonl", 3),
        ("text", 1),
    ]


def test_options_leave_out_what_is_not_wanted(fresh: Shared) -> None:
    answer = fresh.json("import", "chat.jsonl", "--role", "user", "--since", "2026-01-02", "--project", "p")
    assert (answer["totals"]["added"], answer["totals"]["skipped"]) == (1, {"role": 1, "since": 1})
    (memory,) = fresh.json("list")["memories"]
    assert (memory["text"], memory["project"]) == ("The beans need water", "p")


def test_a_project_that_is_asked_for_labels_what_has_none_and_leaves_out_the_others(fresh: Shared) -> None:
    said = [
        {"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": {"role": "user", "content": "Hi"}}
        | ({"cwd": f"/home/ana/{project}"} if project else {})
        | {"sessionId": f"s{number}"}
        for number, project in enumerate(("loom", "garden", None))
    ]
    (report,) = fresh.json("import", "-", "--project", "loom", input=lines(said))["files"]
    assert (report["added"], report["skipped"]) == (2, {"project": 1})
    assert {memory["project"] for memory in fresh.json("list")["memories"]} == {"loom"}
    # One that stands in the configuration is a label only.
    loom = {"MEMCLI_PROJECT": "loom"}
    (report,) = fresh.json("import", "-", input=lines(said), env=loom)["files"]
    assert (report["added"], report["skipped"]) == (1, {})


def test_vectors_are_made_of_what_was_imported_unless_they_are_not_wanted(fresh: Shared) -> None:
    builtin = {"MEMCLI_EMBEDDER": "builtin"}
    fresh.here("import", "chat.jsonl", "--no-vectors", env=builtin)
    assert fresh.json("stats")["pending"]["vectors"] == 3
    fresh.here("import", "chat.jsonl", env=builtin)
    assert fresh.json("stats")["pending"]["vectors"] == 0


# --- what cannot be read --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "there is nothing to import"),
        (["missing.jsonl"], "missing.jsonl"),
        (["bad.jsonl", "--format", "message-jsonl"], "no record could be read"),
        (["chat.jsonl", "--format", "dream"], "--format cannot be 'dream'"),
        (["chat.jsonl", "--tz", "Mars/Base"], "Mars/Base"),
        (["chat.jsonl", "--role", "boss"], "--role cannot be 'boss'"),
        (["chat.jsonl", "--encoding", "utf-99"], "utf-99"),
    ],
)
def test_an_import_of_nothing_is_refused(fresh: Shared, paths: list[str], message: str) -> None:
    (fresh.home / "bad.jsonl").write_text("{broken\n[1\n", "utf-8")
    before = files_of(fresh.home)
    done = fresh.here("import", *paths)
    problem, hint = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert problem.startswith("memcli: ")
    assert message in problem
    assert hint.startswith("hint: ")
    assert files_of(fresh.home) == before


def test_one_file_that_cannot_be_read_does_not_stop_the_others(fresh: Shared) -> None:
    done = fresh("import", "missing.jsonl", "chat.jsonl", "--json")
    reports = json.loads(done.stdout)["files"]
    assert (done.returncode, [report["added"] for report in reports]) == (0, [0, 3])
    assert "no such file" in reports[0]["warnings"][0]


def test_quiet_never_drops_why_a_file_could_not_be_read(fresh: Shared) -> None:
    (fresh.home / "new.json").write_text('{"a": 1}', "utf-8")
    done = fresh.here("import", "missing.jsonl", "new.json", "chat.jsonl", "-q")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "memcli: missing.jsonl was left out: no such file or directory",
        "hint: look at the path and its permissions",
        "memcli: new.json is JSON of no known shape: its keys are a",
        "hint: if it is one of the known formats, name it with --format",
    ]


def test_a_bomb_in_a_directory_is_told_as_nothing_else(fresh: Shared) -> None:
    (fresh.home / "notes").mkdir()
    (fresh.home / "notes" / "a.md").write_text("# Tea\n\nGreen.\n", "utf-8")
    (fresh.home / "notes" / "b.gz").write_bytes(gzip.compress(bytes(50 << 20)))
    _, bomb = fresh.json("import", "notes")["files"]
    assert bomb["format"] is None
    assert bomb["warnings"] == [
        "notes/b.gz cannot be read: it unpacks to more than 200 times its size and is not read"
    ]


# --- there and back -------------------------------------------------------------------------------

LONG = "".join(f"Item {number}: fences, water butts 🧱 and the compost heap. " for number in range(200))
KEPT = [
    Record("aaaa0001", "👩‍👩‍👧 שלום \u202eabc\u202c line\u2028separator\x85 \x1b[31m \ttab\r\nnew \\ \"",
           topics=("שלום", "a,b"), meta={"title": "🧱\u2028", "n": [1, None, {"x": 1.5}]}),
    Record("bbbb0002", "Espresso", "preference", source_id="drink", created_at=1, superseded_by="bbbb0003",
           valid_to=2),
    Record("bbbb0003", "Green tea", "preference", source_id="drink", created_at=2, supersedes=("bbbb0002",)),
    Record("cccc0004", "Hidden", retired=True, private=True, audience=("planner",), project="p"),
    Record("dddd0005", LONG, "document", "P2", source="import:markdown", source_id="long.md"),
    Record("eeee0006", "Hi", "episode", "P2", role="user", name="Wren", source="import:x", source_id="1",
           session_id="a", position=0),
    Record("eeee0007", "Hi", "episode", "P2", role="user", source="import:x", source_id="1", session_id="b",
           position=0, created_at=1_767_225_600_000),
    Record("eeee0008", "ok", "episode", "P2", role="user", source="import:x", session_id="b", position=1),
    Record("eeee0009", "ok", "episode", "P2", role="user", source="import:x", session_id="b", position=2),
    Record("ffff0010", "Summary", "summary", "P2", derived_from=("eeee0006", "eeee0007"), expires_at=5,
           valid_from=-62_135_596_800_000),
]  # fmt: skip


def test_export_import_export_is_the_same_to_the_byte(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    assert counts(shared.json("import", "-", "--user", "a", input=export_of(KEPT))["totals"]) == (
        len(KEPT),
        0,
        0,
    )
    once = shared("export", "--user", "a").stdout
    assert sorted(once.splitlines(keepends=True)) == sorted(
        plain_json(export_of(KEPT)).splitlines(keepends=True)
    )
    later = {"MEMCLI_NOW": "2027-01-01T00:00:00Z"}
    assert counts(shared.json("import", "-", "--user", "b", input=once, env=later)["totals"]) == (
        len(KEPT),
        0,
        0,
    )
    assert shared("export", "--user", "b").stdout == once
    assert counts(shared.json("import", "-", "--user", "b", input=once)["totals"]) == (0, len(KEPT), 0)


def test_a_csv_export_comes_back_as_it_was(fresh: Shared) -> None:
    fresh.json("import", "-", "--user", "a", input=export_of(KEPT))
    assert fresh.here("export", "--user", "a", "-o", "kept.csv").returncode == 0
    (report,) = fresh.json("import", "kept.csv", "--user", "b")["files"]
    assert (report["format"], report["added"]) == ("memcli", len(KEPT))
    assert fresh.here("export", "--user", "b").stdout == fresh.here("export", "--user", "a").stdout


def test_what_was_remembered_edited_and_imported_goes_there_and_back(fresh: Shared) -> None:
    fresh.here("import", "chat.jsonl")
    for text in ("Espresso", "Green tea", "Oolong"):
        fresh.here("remember", text, "--source-id", "drink")
    fresh.here("forget", "--match", "Noted", "--retire", "--yes")
    once = fresh.here("export").stdout
    assert once.count("\n") == 6
    assert counts(fresh.json("import", "-", "--user", "b", input=once)["totals"]) == (6, 0, 0)
    assert fresh.here("export", "--user", "b").stdout == once
    assert counts(fresh.json("import", "chat.jsonl", "--user", "b")["totals"]) == (0, 3, 0)


def test_a_file_that_was_read_to_its_end_is_counted_again_without_being_read(fresh: Shared) -> None:
    first = fresh.json("import", "chat.jsonl")["files"][0]
    again = fresh.json("import", "chat.jsonl")["files"][0]
    assert again == first | {"added": 0, "duplicates": 3}
    # Asked for otherwise it is read: what is left out differs.
    assistant = fresh.json("import", "chat.jsonl", "--role", "assistant")["files"][0]
    assert assistant["skipped"] == {"role": 3 - sum(assistant["messages"].values())}


def test_a_file_of_which_something_was_forgotten_is_read_again(fresh: Shared) -> None:
    fresh("import", "chat.jsonl")
    fresh("import", "chat.jsonl")
    fresh("forget", "--match", "Noted", "--yes")
    assert counts(fresh.json("import", "chat.jsonl")["files"][0]) == (0, 2, 1)
    fresh("import", "chat.jsonl", "--restore")
    assert counts(fresh.json("import", "chat.jsonl")["files"][0]) == (0, 3, 0)


def test_a_file_that_has_grown_is_read_again(fresh: Shared) -> None:
    fresh("import", "chat.jsonl")
    path = fresh.home / "chat.jsonl"
    path.write_text(path.read_text("utf-8") + '{"role": "user", "content": "One more thing"}\n', "utf-8")
    assert counts(fresh.json("import", "chat.jsonl")["files"][0]) == (1, 3, 0)


def test_a_note_that_goes_back_to_an_earlier_text_is_that_text_again(fresh: Shared) -> None:
    note = fresh.home / "note.md"
    for text in ("Oolong at five", "Sencha at six", "Oolong at five"):
        note.write_text(f"# Tea\n\n{text}.\n", "utf-8")
        assert counts(fresh.json("import", "note.md")["files"][0]) == (1, 0, 0)
    assert counts(fresh.json("import", "note.md")["files"][0]) == (0, 1, 0)
    listed = fresh.json("list", "--current")["memories"]
    assert [memory["text"].split("\n")[2] for memory in listed] == ["Oolong at five."]
    (current,) = listed
    history = fresh.json("show", current["id"])["history"]
    assert sorted(memory["text"].split("\n")[2] for memory in history) == [
        "Oolong at five.",
        "Sencha at six.",
    ]
