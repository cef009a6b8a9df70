"""Sessions: every turn on disk at once, an episode soon after, and gone from every byte when deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from memcli.errors import NothingMatchedError, UsageError
from memcli.memory import Memory, open_memory
from memcli.times import from_iso
from memcli.types import Filters, Query, Selection, Session
from tests.process import NOW

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
    from memcli.memory import Draft

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


def test_the_title_is_the_first_thing_said_that_is_left(memory: Memory) -> None:
    session = talked(memory, "The heron of Lindisfarne", "waits", "on\n the   pier " + "x" * 90)
    memory.erase(memory.plan_forget(Selection(match="Lindisfarne")))
    left = memory.session(session.id)
    assert left.title == "on the pier " + "x" * 47 + "…"
    assert [turn.position for turn in left.turns] == [1, 2]
