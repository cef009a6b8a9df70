"""Sessions: every turn on disk at once, an episode soon after, and gone from every byte when deleted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.errors import NothingMatchedError, UsageError
from memcli.memory import Draft, Memory, open_memory
from memcli.times import from_iso
from memcli.types import Filters, Query, Selection, Session
from tests.process import NOW, Shared, files_of

AT = from_iso(NOW)
EVERYTHING = Filters(with_hidden=True)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A store of one's own, by words alone, at NOW."""
    return open_memory(data_dir=tmp_path, clock=lambda: AT, embedder="none")


def talked(memory: Memory, *texts: str, model: str | None = "tiny") -> Session:
    """A session in which these were said, by the person and the model in turn."""
    session = memory.begin_session(model=model)
    for number, text in enumerate(texts):
        memory.save_turn(session, ("user", "assistant")[number % 2], text)
    return memory.session(session.id)


def bytes_with(directory: Path, text: str) -> list[str]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return [path.name for path in files if text.encode() in path.read_bytes()]


def test_a_session_is_not_stored_before_its_first_turn(memory: Memory, tmp_path: Path) -> None:
    memory.begin_session(project="garden")
    assert list(tmp_path.rglob("*")) == []
    assert memory.sessions() == []


def test_what_was_said_comes_back_in_order(memory: Memory) -> None:
    session = talked(memory, "Where is the heron?", "On the pier", "还在吗？")
    assert [(turn.position, turn.role, turn.text, turn.at) for turn in session.turns] == [
        (0, "user", "Where is the heron?", AT),
        (1, "assistant", "On the pier", AT),
        (2, "user", "还在吗？", AT),
    ]
    assert (session.title, session.count, session.model) == ("Where is the heron?", 3, "tiny")


def test_a_secret_is_taken_out_before_a_turn_is_stored(memory: Memory, tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "Zk3vQ9xT7mB2nL5pR8wY1cD4fG6hJ0" * 3
    assert talked(memory, f"Use {key} please").turns[0].text == "Use [redacted:api-key] please"
    assert bytes_with(tmp_path, key[:30]) == []


def test_the_last_session_is_the_one_that_was_spoken_in_last(memory: Memory) -> None:
    first, second = talked(memory, "one"), talked(memory, "two")
    memory.save_turn(first, "user", "three")
    assert memory.session("last").id == first.id
    assert [session.id for session in memory.sessions()] == [first.id, second.id]
    assert memory.session(second.id[:6]).title == "two"


@pytest.mark.parametrize(
    ("prefix", "error"), [("last", NothingMatchedError), ("ffff", NothingMatchedError), ("fff", UsageError)]
)
def test_a_session_that_is_not_there_is_an_error(memory: Memory, prefix: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        memory.session(prefix)


def test_a_turn_becomes_the_episode_that_its_id_names(memory: Memory) -> None:
    session = memory.begin_session(project="garden")
    turns = [
        memory.save_turn(session, "user", "Where is the heron?"),
        memory.save_turn(session, "assistant", "On the", state="cut", model="tiny"),
        memory.save_turn(session, "assistant", " \n", state="stopped"),
    ]
    assert list(memory.keep_turns()) == [turn.memory_id for turn in turns[:2]]
    assert list(memory.keep_turns()) == []
    said, cut = memory.list(EVERYTHING, n=9, sort="priority")[0]
    if said.position:
        said, cut = cut, said
    assert (said.source, said.session_id, said.source_id) == ("chat", session.id, "0")
    assert (said.kind, said.role, said.project, said.created_at) == ("episode", "user", "garden", AT)
    assert (cut.text, cut.meta) == ("On the", {"model": "tiny", "state": "cut"})
    assert memory.recall(Query("heron", AT)).hits[0].record.id == turns[0].memory_id


def test_the_same_words_at_the_same_time_are_two_turns(memory: Memory) -> None:
    talked(memory, "ok", "fine", "ok")
    talked(memory, "ok")
    assert len(memory.keep_turns()) == 4


def test_turns_that_a_crash_left_are_kept_by_the_next_command_that_writes(memory: Memory) -> None:
    turn = talked(memory, "Where is the heron?").turns[0]
    memory.remember(Draft(text="Herons eat fish"))
    memory.settle()
    assert memory.show(turn.memory_id).record.text == "Where is the heron?"


def test_past_inputs_are_what_the_person_said_newest_last(memory: Memory) -> None:
    talked(memory, "one", "answer", "two")
    talked(memory, "three")
    assert list(memory.past_inputs(2)) == ["two", "three"]


@pytest.mark.parametrize("kept", [False, True])
def test_forgetting_a_session_takes_its_turns_whether_they_are_memories_or_not(
    memory: Memory, tmp_path: Path, kept: bool
) -> None:
    session = talked(memory, "The heron of Lindisfarne", "waits on the pier", "")
    other = talked(memory, "Something else entirely")
    if kept:
        memory.keep_turns()
    plan = memory.plan_forget(Selection(session=session.id))
    proof = memory.erase(plan, prove=True)
    assert proof is not None
    assert proof.traces == 0
    assert [left.id for left in memory.sessions()] == [other.id]
    assert bytes_with(tmp_path, "Lindisfarne") == bytes_with(tmp_path, session.id) == []
    assert list(memory.past_inputs(9)) == ["Something else entirely"]


def test_an_erase_that_died_hides_turns_and_is_finished_by_the_next_writer(
    memory: Memory, tmp_path: Path
) -> None:
    session = talked(memory, "The heron of Lindisfarne")
    with memory.write_side() as side:
        side.begin_erase([session.turns[0].memory_id], origins=[], at=AT)
    assert (memory.sessions(), list(memory.past_inputs(9))) == ([], [])
    memory.remember(Draft(text="Gulls eat anything"))
    memory.settle()
    assert [record.text for record in memory.export(EVERYTHING)] == ["Gulls eat anything"]
    assert bytes_with(tmp_path, "Lindisfarne") == bytes_with(tmp_path, session.turns[0].memory_id) == []


def test_the_title_is_the_first_thing_said_that_is_left(memory: Memory) -> None:
    session = talked(memory, "The heron of Lindisfarne", "waits", "on\n the   pier " + "x" * 90)
    memory.erase(memory.plan_forget(Selection(match="Lindisfarne")))
    left = memory.session(session.id)
    assert left.title == "on the pier " + "x" * 47 + "…"
    assert [turn.position for turn in left.turns] == [1, 2]


def test_a_turn_is_on_disk_when_its_process_is_killed(memory: Memory, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from memcli.memory import open_memory\n"
        "memory = open_memory(data_dir=Path(sys.argv[1]), embedder='none')\n"
        "memory.save_turn(memory.begin_session(), 'user', 'Where is the heron?')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path]).returncode == -9
    assert [turn.text for turn in memory.session("last").turns] == ["Where is the heron?"]


def test_two_terminals_may_speak_in_one_session(memory: Memory, tmp_path: Path) -> None:
    session = talked(memory, "begin")
    code = (
        "import sys; from pathlib import Path; from memcli.memory import open_memory\n"
        "memory = open_memory(data_dir=Path(sys.argv[1]), embedder='none')\n"
        "for number in range(15): memory.save_turn(memory.session('last'), 'user', sys.argv[2])"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, tmp_path, name]) for name in "ab"]
    assert [process.wait(timeout=60) for process in started] == [0, 0]
    turns = memory.session(session.id).turns
    assert [turn.position for turn in turns] == list(range(31))
    assert sorted(turn.text for turn in turns[1:]) == ["a"] * 15 + ["b"] * 15


# --- feedback -------------------------------------------------------------------------------------


def test_answers_and_verdicts_are_counted_with_and_without_memory(memory: Memory) -> None:
    session = memory.begin_session()
    took = (30, 10, 20, 50)
    turns = [memory.save_turn(session, "assistant", f"answer {number}") for number in range(4)]
    for turn, took_ms in zip(turns[:3], took, strict=False):
        memory.note_answer(turn, arm="with_memory", took_ms=took_ms)
    memory.note_feedback(turns[0], is_good=False)
    memory.note_feedback(turns[0], is_good=True)
    # The person may be quicker than the note on the answer.
    memory.note_feedback(turns[3], is_good=False)
    memory.note_answer(turns[3], arm="without_memory", took_ms=took[3])
    assert memory.stats()["feedback"] == {
        "good": 1,
        "bad": 1,
        "by_arm": {
            "without_memory": {"answers": 1, "p50_ms": 50, "good": 0, "bad": 1},
            "with_memory": {"answers": 3, "p50_ms": 20, "good": 1, "bad": 0},
        },
    }
    memory.erase(memory.plan_forget(Selection(ids=(turns[3].memory_id,))))
    assert memory.stats()["feedback"]["by_arm"].keys() == {"with_memory"}


def test_stats_count_sessions_and_turns_whether_they_are_memories_or_not(memory: Memory) -> None:
    talked(memory, "one", "two")
    memory.keep_turns()
    talked(memory, "three")
    figures = memory.stats()
    assert (figures["sessions"], figures["turns"]) == (2, 3)
    assert figures["pending"] == {"vectors": 2, "extraction": 1, "review": 0}


# --- the command line -----------------------------------------------------------------------------


def home_in(directory: Path) -> Shared:
    directory.mkdir(exist_ok=True)
    return Shared(directory)


def chatted(tmp_path: Path, *texts: str, kept: bool = True) -> tuple[Shared, Session]:
    """A home in which a session is stored."""
    shared = home_in(tmp_path)
    data_dir = Path(shared.here("config", "get", "data_dir").stdout.strip())
    memory = open_memory(data_dir=data_dir, clock=lambda: AT, embedder="none")
    session = talked(memory, *texts)
    if kept:
        memory.keep_turns()
    memory.close()
    return shared, session


def test_sessions_are_listed_and_shown(tmp_path: Path) -> None:
    shared, session = chatted(tmp_path, "Where is\nthe heron?", "On the \x1b[1mpier")
    listed = {
        "id": session.id,
        "title": "Where is the heron?",
        "project": None,
        "model": "tiny",
        "started_at": NOW,
        "last_at": NOW,
        "turns": 2,
    }
    assert shared.json("sessions") == {"sessions": [listed]}
    assert shared.here("sessions").stdout == f"{session.id}\t2026-03-01\t2\tWhere is the heron?\n"
    shown = shared.json("sessions", "show", session.id[:4])
    assert shown["session"] == listed
    assert shown["turns"][1] == {
        "id": session.turns[1].memory_id,
        "position": 1,
        "role": "assistant",
        "text": "On the \x1b[1mpier",
        "at": NOW,
        "state": "whole",
        "model": None,
    }
    lines = shared.here("sessions", "show", "last").stdout.splitlines()
    assert lines[0] == f"{session.turns[0].memory_id}\t2026-03-01\tuser\tWhere is\\nthe heron?"
    assert "\x1b" not in lines[1]
    code, seen = shared.on_terminal("sessions", "show", "last")
    assert code == 0
    assert "user  2026-03-01 09:00" in seen
    assert "\x1b[1mpier" not in seen


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_exported_session_is_known_when_it_comes_back(
    tmp_path: Path, kept: bool, form: tuple[str, ...]
) -> None:
    shared, session = chatted(tmp_path / "a", "Where is the heron?", "On the pier", "ok", "ok", kept=kept)
    exported = shared.here("sessions", "export", "last", *form).stdout
    totals = shared.json("import", "-", input=exported)["totals"]
    assert (totals["added"], totals["duplicates"]) == (0, 4)
    assert shared.json("list")["total"] == 4
    other = home_in(tmp_path / "b")
    assert other.json("import", "-", input=exported)["totals"]["added"] == 4
    memories = other.json("list", "--sort", "updated")["memories"]
    assert {memory["session_id"] for memory in memories} == {session.id}
    in_order = sorted(memories, key=lambda memory: memory["position"])
    assert [memory["text"] for memory in in_order] == [turn.text for turn in session.turns]
    assert {memory["created_at"] for memory in memories} == {NOW}


def test_a_deleted_session_is_in_no_byte_and_does_not_come_back(tmp_path: Path) -> None:
    shared, session = chatted(tmp_path, "The heron of Lindisfarne", "waits")
    exported = shared.here("sessions", "export", "last").stdout
    planned = shared.json("sessions", "delete", "last", "--dry-run")["plan"]
    assert [step["id"] for step in planned] == [turn.memory_id for turn in session.turns]
    answer = shared.json("sessions", "delete", session.id[:5], "--yes")
    assert answer == {"deleted": [session.id], "forgotten": [turn.memory_id for turn in session.turns]}
    assert bytes_with(tmp_path, "Lindisfarne") == bytes_with(tmp_path, session.id) == []
    assert shared.json("sessions") == {"sessions": []}
    totals = shared.json("import", "-", input=exported)["totals"]
    assert (totals["added"], totals["forgotten"]) == (0, 2)


def test_deleting_a_session_can_be_proved(tmp_path: Path) -> None:
    shared, session = chatted(tmp_path, "The heron of Lindisfarne", "waits")
    receipt = json.loads(shared.here("sessions", "delete", "last", "--prove", "--yes").stdout)
    assert receipt["deleted"] == [session.id]
    assert receipt["forgotten"] == [turn.memory_id for turn in session.turns]
    assert receipt["traces"] == 0 < receipt["bytes_scanned"]


def test_an_edited_turn_is_told_in_its_new_words_and_undo_brings_the_old_ones_back(tmp_path: Path) -> None:
    shared, session = chatted(tmp_path, "The heron of Lindisfarne", "waits")

    def told() -> list[str]:
        found = shared.json("sessions", "show", "last")
        return [found["session"]["title"], *(turn["text"] for turn in found["turns"])]

    before = told()
    shared.here("edit", session.turns[0].memory_id, "The stork of Jarrow")
    assert told() == ["The stork of Jarrow", "The stork of Jarrow", *before[2:]]
    assert shared.here("undo").returncode == 0
    assert told() == before


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("delete",), 2),
        (("delete", "last"), 2),
        (("delete", "ffff", "--yes"), 1),
        (("delete", "last", "ffff", "--yes"), 1),
        (("show", "ab"), 2),
        (("export", "ffff"), 1),
    ],
)
def test_what_cannot_be_deleted_or_shown_changes_nothing(
    tmp_path: Path, args: tuple[str, ...], code: int
) -> None:
    shared, _ = chatted(tmp_path, "The heron of Lindisfarne")
    before = files_of(tmp_path)
    done = shared.here("sessions", *args, "--json")
    assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (code, "", code)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize(("typed", "left"), [("n\n", 1), ("y\n", 0)])
def test_a_person_is_asked_before_a_session_goes(tmp_path: Path, typed: str, left: int) -> None:
    shared, _ = chatted(tmp_path, "The heron of Lindisfarne", "waits")
    code, seen = shared.on_terminal("sessions", "delete", "last", typed=typed, after="[y/N]")
    assert code == left
    assert "2026-03-01  The heron of Lindisfarne" in seen
    assert "erase 1 session of 2 turns for good?" in seen
    assert len(shared.json("sessions")["sessions"]) == left


def test_a_turn_said_without_memory_stays_in_its_session_and_can_be_forgotten(
    memory: Memory, tmp_path: Path
) -> None:
    session = memory.begin_session()
    memory.save_turn(session, "user", "Corin sings", becomes_memory=False)
    assert memory.keep_turns() == []
    assert memory.list(EVERYTHING, n=9)[1] == 0
    assert [turn.text for turn in memory.session(session.id).turns] == ["Corin sings"]
    memory.erase(memory.plan_forget(Selection(query="Corin")))
    assert bytes_with(tmp_path, "Corin") == []
