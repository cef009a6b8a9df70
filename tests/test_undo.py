"""Undo: what commands changed is as it was, what they added is gone, and what was forgotten stays away."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.absorb import Intake
from memcli.errors import NothingMatchedError, UsageError
from memcli.memory import Draft, Memory, open_memory
from memcli.record_json import to_json
from memcli.store import journal
from memcli.store.journal import Step
from memcli.times import from_iso
from memcli.types import Filters, ForgetPlan, Selection
from tests.process import NOW, Shared

AT = from_iso(NOW)
DAY_MS = 86_400_000


@dataclass
class Clock:
    """A clock that never stands still."""

    now: int = AT

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


def opened(directory: Path, *, embedder: str = "none") -> Memory:
    return open_memory(data_dir=directory, clock=Clock(), embedder=embedder)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A store with a few memories in it, one replaced, one hidden, one forgotten."""
    memory = opened(tmp_path / "data")
    memory.remember(Draft("The harbour office closes at five", source_id="harbour"))
    memory.remember(Draft("The harbour office closes at six", source_id="harbour"))
    memory.remember(Draft("I live in Porto", kind="identity"))
    memory.remember(Draft("The lease ends in May", topics=("home",)))
    memory.retire(chosen(memory, "lease"))
    memory.remember(Draft("The gate opens with a quokka"))
    memory.erase(chosen(memory, "quokka"))
    return memory


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared(tmp_path)


def chosen(memory: Memory, text: str) -> ForgetPlan:
    return memory.plan_forget(Selection(match=text))


def exported(memory: Memory) -> list[dict[str, object]]:
    return [to_json(record) for record in memory.export(Filters())]


def texts(memory: Memory) -> set[str]:
    return {record.text for record in memory.export(Filters())}


def id_of(memory: Memory, text: str) -> str:
    return next(record.id for record in memory.export(Filters()) if text in record.text)


def history(directory: Path, *said: str, name: str = "history") -> str:
    """A history of what one person said."""
    path = directory / f"{name}.jsonl"
    lines = [
        {
            "session_id": name,
            "id": str(n),
            "role": "user",
            "content": text,
            "timestamp": f"2026-01-{n + 1:02}T10:00Z",
        }
        for n, text in enumerate(said)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(path)


# --- each command ---------------------------------------------------------------------------------


def say(memory: Memory, text: str) -> None:
    memory.save_turn(memory.begin_session(), "user", text)
    memory.keep_turns()


def remember_in_place(memory: Memory, _: Path) -> None:
    memory.remember(Draft("The harbour office closes at seven", source_id="harbour"))


def move(memory: Memory, _: Path) -> None:
    moved = memory.remember(Draft("I moved to Turin"))
    assert [record.text for record in moved.superseded] == ["I live in Porto"]


def edit_text(memory: Memory, _: Path) -> None:
    memory.edit(id_of(memory, "Porto"), Draft("I live in Turin, by the river"))


def edit_fields(memory: Memory, _: Path) -> None:
    draft = Draft(kind="fact", priority="P2", topics=("a", "b"), private=True, expires=AT + DAY_MS)
    memory.edit(id_of(memory, "Porto"), draft)


def retire(memory: Memory, _: Path) -> None:
    memory.retire(chosen(memory, "Porto"))


def take_in(memory: Memory, place: Path) -> None:
    files = [history(place, f"{n} herons", "I moved to Turin", name=f"history-{n}") for n in range(3)]
    memory.absorb(files, intake=Intake())


def take_in_what_was_forgotten(memory: Memory, place: Path) -> None:
    path = history(place, "A heron and a quokka")
    memory.absorb([path], intake=Intake())
    memory.erase(chosen(memory, "heron"))
    memory.absorb([path], intake=Intake(restore=True))
    assert "A heron and a quokka" in texts(memory)


def remember_what_was_forgotten(memory: Memory, _: Path) -> None:
    memory.remember(Draft("The gate opens with a quokka"))


def keep_of_a_task(memory: Memory, _: Path) -> None:
    memory.tasks.start("job")
    for key in ("one", "two"):
        memory.tasks.set("job", key, f"value {key}")
    memory.finish_task("job", keep=["one", "two"])


COMMANDS: tuple[Callable[[Memory, Path], None], ...] = (
    remember_in_place,
    move,
    edit_text,
    edit_fields,
    retire,
    take_in,
    take_in_what_was_forgotten,
    remember_what_was_forgotten,
    keep_of_a_task,
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_all_is_as_it_was_before_a_command(
    memory: Memory, tmp_path: Path, command: Callable[[Memory, Path], None]
) -> None:
    before = exported(memory)
    command(memory, tmp_path)
    memory.settle()
    assert exported(memory) != before
    memory.undo()
    assert exported(memory) == before


def test_what_was_learned_is_taken_back_and_what_was_said_stays(memory: Memory) -> None:
    say(memory, "I have a cat called Mog.")
    before = exported(memory)
    assert memory.learn().added
    memory.undo()
    assert exported(memory) == before


def test_a_proposal_that_was_accepted_is_to_be_decided_again(memory: Memory) -> None:
    for text in ("My car is a Fiat.", "My car is a Volvo."):
        say(memory, text)
        memory.learn()
    before, waiting = exported(memory), memory.proposals()
    memory.accept(waiting[0])
    assert (memory.proposals(), exported(memory) == before) == ([], False)
    memory.undo()
    assert (memory.proposals(), exported(memory)) == (waiting, before)


def test_a_never_is_taken_back(memory: Memory) -> None:
    for text in ("My car is a Fiat.", "My car is a Volvo."):
        say(memory, text)
        memory.learn()
    (proposal,) = memory.proposals()
    with memory.write_side() as side:
        buried = side.tombstones()
        memory.reject(proposal, never=True)
        assert side.tombstones() == buried + 1
        memory.undo()
        assert (side.tombstones(), memory.proposals()) == (buried, [proposal])


def test_what_was_let_in_again_is_kept_out_again(memory: Memory, tmp_path: Path) -> None:
    path = history(tmp_path, "A heron and a quokka")
    memory.absorb([path], intake=Intake())
    memory.erase(chosen(memory, "heron"))
    memory.absorb([path], intake=Intake(restore=True))
    memory.undo()
    (report,) = memory.absorb([path], intake=Intake()).files
    assert (report.added, report.forgotten) == (0, 1)


def test_an_import_that_was_taken_back_can_be_imported_again(memory: Memory, tmp_path: Path) -> None:
    path = history(tmp_path, "A heron", "A crane")
    memory.absorb([path], intake=Intake())
    memory.undo()
    (report,) = memory.absorb([path], intake=Intake()).files
    assert (report.added, report.duplicates, report.forgotten) == (2, 0, 0)


def test_what_an_undone_command_added_is_in_no_byte(memory: Memory, tmp_path: Path) -> None:
    memory.absorb([history(tmp_path, "Xanthippe keeps a zeppelin in the hangar")], intake=Intake())
    before = [path.read_bytes() for path in memory.place.directory.rglob("*") if path.is_file()]
    assert any(b"zeppelin" in data for data in before)
    memory.undo()
    after = [path.read_bytes() for path in memory.place.directory.rglob("*") if path.is_file()]
    assert not any(b"zeppelin" in data or b"Xanthippe" in data for data in after)


def test_a_restored_text_gets_its_vector_anew(tmp_path: Path) -> None:
    memory = opened(tmp_path, embedder="builtin")
    memory.remember(Draft("The otter sleeps on the river"))
    memory.edit(id_of(memory, "otter"), Draft("Invoices are paid within thirty days"))
    memory.undo()
    assert memory.stats()["pending"]["vectors"] == 0
    with memory.write() as (store, _):
        assert sum(store.table(name).count() for name in store.state.vectors.values()) == 1


# --- several, and in order ------------------------------------------------------------------------


def test_several_commands_are_taken_back_at_once(memory: Memory, tmp_path: Path) -> None:
    before = exported(memory)
    for command in (edit_text, take_in, keep_of_a_task):
        command(memory, tmp_path)
    done = memory.undo(3)
    assert [each.command for each in done.commands] == ["remember", "import", "edit"]
    assert exported(memory) == before


def test_what_is_done_after_the_answer_belongs_to_the_command(memory: Memory) -> None:
    memory.remember(Draft("A heron"))
    before = exported(memory)
    memory.edit(id_of(memory, "heron"), Draft("I moved to Turin"))
    edited = exported(memory)
    memory.settle()
    # Porto has been replaced.
    assert exported(memory) != edited
    assert [each.command for each in memory.undo().commands] == ["edit"]
    assert exported(memory) == before


def test_there_is_no_redo(memory: Memory) -> None:
    known = memory.undoable()
    memory.remember(Draft("A heron"))
    memory.undo()
    assert memory.undoable() == known


def test_with_nothing_to_take_back_that_is_said(tmp_path: Path) -> None:
    for memory in (opened(tmp_path / "none"), opened(tmp_path / "some")):
        if "some" in str(memory.place.directory):
            say(memory, "Hello")
        with pytest.raises(NothingMatchedError, match="nothing to take back"):
            memory.undo()


def test_a_memory_that_another_command_has_changed_since_is_refused(memory: Memory, tmp_path: Path) -> None:
    # An import that goes on while another process edits what it has brought.
    with memory.one_command():
        memory.absorb([history(tmp_path, "A heron", name="first")], intake=Intake())
        opened(tmp_path / "data").edit(id_of(memory, "heron"), Draft("A grey heron"))
        memory.absorb([history(tmp_path, "A crane", name="second")], intake=Intake())
    before = exported(memory)
    with pytest.raises(UsageError, match="changed since") as caught:
        memory.undo()
    assert (caught.value.hint, exported(memory)) == ("take that back too: memcli undo 2", before)
    memory.undo(2)
    assert not {"A grey heron", "A heron", "A crane"} & texts(memory)


# --- whatever the order ---------------------------------------------------------------------------

WORDS = st.sampled_from(
    ("I live in Porto", "I moved to Turin", "I live in Lyon now", "A heron", "I like tea")
)
STEPS = st.one_of(
    st.tuples(st.just("remember"), WORDS, st.sampled_from((None, "a", "b"))),
    st.tuples(st.just("edit"), st.integers(0, 9), WORDS),
    st.tuples(st.just("retire"), st.integers(0, 9)),
    st.tuples(st.just("import"), st.lists(WORDS, min_size=1, max_size=3), st.integers(0, 1)),
    st.tuples(st.just("forget"), st.integers(0, 9)),
)


def do(memory: Memory, step: tuple[object, ...]) -> str | None:
    """Carry out a step; returns the text that it has forgotten, if any."""
    match step:
        case ("remember", str(text), source_id):
            memory.remember(Draft(text, source_id=str(source_id) if source_id else None))
        case ("import", list(said), name):
            path = history(memory.place.directory.parent.parent, *said, name=f"h{name}")
            memory.absorb([path], intake=Intake())
        case (name, int(place), *rest):
            records = list(memory.export(Filters()))
            if not records:
                return None
            record = records[place % len(records)]
            if name == "edit":
                memory.edit(record.id, Draft(str(rest[0])))
            elif name == "retire":
                memory.retire(memory.plan_forget(Selection(ids=(record.id,))))
            else:
                plan = memory.plan_forget(Selection(ids=(record.id,)))
                memory.erase(plan)
                return record.id
    memory.settle()
    return None


@settings(max_examples=6)
@given(
    st.lists(STEPS.filter(lambda step: step[0] != "forget"), max_size=3),
    st.lists(STEPS.filter(lambda step: step[0] != "forget"), min_size=1, max_size=5),
)
def test_undoing_all_gives_what_was_before(
    first: list[tuple[object, ...]], then: list[tuple[object, ...]]
) -> None:
    with TemporaryDirectory() as directory:
        memory = opened(Path(directory))
        for step in first:
            do(memory, step)
        before, known = exported(memory), len(memory.undoable())
        for step in then:
            do(memory, step)
        if new := len(memory.undoable()) - known:
            memory.undo(new)
        assert exported(memory) == before


@settings(max_examples=6)
@given(st.lists(STEPS, min_size=2, max_size=7), st.integers(1, 7))
def test_undo_never_brings_back_what_was_forgotten(steps: list[tuple[object, ...]], count: int) -> None:
    with TemporaryDirectory() as directory:
        memory = opened(Path(directory))
        for step in steps:
            gone = do(memory, step)
            there = {record.id for record in memory.export(Filters())}
            assert gone not in there
        if memory.undoable():
            memory.undo(count)
        after = list(memory.export(Filters()))
        # Nothing comes back, and nothing points to what is not there.
        assert {record.id for record in after} <= there
        pointers = {id_ for record in after for id_ in (record.superseded_by, *record.supersedes) if id_}
        assert pointers <= {record.id for record in after}


# --- the journal ----------------------------------------------------------------------------------


def test_what_was_never_stored_is_not_listed(memory: Memory) -> None:
    known, before = memory.undoable(), exported(memory)
    with memory.write() as (_, side):
        # A process that died between the journal and the store.
        porto = id_of(memory, "Porto")
        steps = [Step("add", "00000000000000000000"), Step("update", porto, {"text": "I live in Porto"})]
        side.note_steps("import", steps, at=AT, beside=lambda db: journal.lift(db, _tombstones(db)))
        assert side.tombstones() == 0
    with memory.write() as (_, side):
        assert side.tombstones() > 0
    assert (memory.undoable(), exported(memory)) == (known, before)


def _tombstones(db: object) -> list[str]:
    return [origin for (origin,) in db.execute("SELECT origin FROM tombstones")]  # type: ignore[attr-defined]


def test_what_was_only_noted_when_its_process_died_is_not_listed_as_done(memory: Memory) -> None:
    known = memory.undoable()
    with memory.write_side() as side:
        side.note_steps("import", [Step("add", "a" * 20), Step("add", "b" * 20)], at=AT)
    assert memory.undoable() == known
    # So the command that is taken back is the one that was listed first.
    assert memory.undo().commands == (known[0],)


def test_of_what_was_half_noted_the_list_counts_what_is_there(memory: Memory, tmp_path: Path) -> None:
    memory.absorb([history(tmp_path, "A heron", "An owl")], intake=Intake())
    done = memory.undoable()[0]
    with memory.write_side() as side:
        side.note_steps("import", [Step("add", "a" * 20)], at=AT, entry=done.numbers[-1])
    assert memory.undoable()[0].added == done.added == 2


def test_an_undo_that_was_broken_off_is_finished_by_the_next_writer(memory: Memory, tmp_path: Path) -> None:
    before = exported(memory)
    move(memory, tmp_path)
    with memory.write() as (_, side):
        side.begin_undo(memory.undoable()[0].numbers)
    with memory.write():
        pass
    assert exported(memory) == before


def test_what_is_forgotten_is_in_no_byte_of_the_journal(memory: Memory) -> None:
    memory.remember(Draft("Xanthippe keeps a zeppelin"))
    id_ = id_of(memory, "zeppelin")
    memory.edit(id_, Draft("Xanthippe keeps a balloon"))
    memory.erase(chosen(memory, "balloon"))
    held = b"".join(path.read_bytes() for path in memory.place.directory.glob("side.db*"))
    assert (b"zeppelin" in held, b"balloon" in held, id_.encode() in held) == (False, False, False)


def test_of_what_was_added_the_journal_keeps_no_words_and_few_bytes(memory: Memory) -> None:
    with memory.write() as (_, side):
        size = side.path.stat().st_size
        for batch in range(5):
            ids = [random.Random(f"{batch} {n}").randbytes(10).hex() for n in range(8_000)]
            side.note_steps("import", [Step("add", id_) for id_ in ids], at=AT, entry=77)
        side.empty_log()
        assert (side.path.stat().st_size - size) / 40_000 < 50


def test_the_journal_keeps_no_more_than_some_megabytes_of_old_texts(memory: Memory) -> None:
    old = {"text": "x" * 1_000_000}
    with memory.write() as (_, side):
        for _ in range(40):
            side.note_steps("edit", [Step("update", "a", old)], at=AT)
        with side.snapshot() as db:
            assert len(journal.entries(db)) == 31
        # The last command can be taken back however much it changed.
        side.note_steps("edit", [Step("update", "a", old)] * 40, at=AT)
        with side.snapshot() as db:
            assert len(journal.entries(db)) == 1


def test_of_a_changed_memory_only_what_changed_is_kept(memory: Memory) -> None:
    memory.retire(chosen(memory, "Porto"))
    with memory.write_side() as side, side.snapshot() as db:
        (kept,) = journal.changed(db, memory.undoable()[0].numbers)
    assert kept.step.before is not None
    assert kept.step.before.keys() == {"retired", "updated_at"}


@pytest.mark.parametrize(("count", "left"), [(1, 1), (2, 0), (9, 0)])
def test_what_was_broken_off_is_taken_back_first_and_no_other_command_for_it(
    tmp_path: Path, count: int, left: int
) -> None:
    memory = opened(tmp_path / "data")
    memory.remember(Draft("The harbour office closes at five"))
    memory.remember(Draft("The lease ends in May"))
    with memory.write_side() as side:
        side.begin_undo(memory.undoable()[0].numbers)
    done = memory.undo(count)
    assert (len(done.commands), len(done.removed)) == (2 - left, 2 - left)
    assert texts(memory) == ({"The harbour office closes at five"} if left else set())
    assert len(memory.undoable()) == left


# --- the command ----------------------------------------------------------------------------------


def test_the_list_says_what_each_command_did(shared: Shared) -> None:
    shared.here("remember", "I live in Porto", "--at", "2026-02-01")
    shared.here("remember", "I moved to Turin")
    (moved, _) = shared.json("undo", "--list")["commands"]
    assert {name: moved[name] for name in ("command", "at", "added", "changed")} == {
        "command": "remember",
        "at": NOW,
        "added": 1,
        "changed": 1,
    }
    assert moved["sample"]["text"] == "I moved to Turin"
    assert len(shared.here("undo", "--list", "1").stdout.splitlines()) == 1


def test_of_an_import_the_list_tells_the_first_text_and_counts_a_memory_once(
    memory: Memory, tmp_path: Path
) -> None:
    said = [f"The garden has heron number {n}" for n in range(9)]
    path = history(tmp_path, *said, "I moved to Turin", "I moved to Berlin")
    memory.absorb([path], intake=Intake())
    # Berlin takes the place of Turin, both new, and of Porto, which was there.
    done, *_ = memory.undoable()
    (first,) = memory.read().get([done.sample or ""], now=AT)
    assert (done.added, done.changed, first.text) == (11, 1, said[0])


def test_of_fields_that_were_changed_the_list_tells_the_first_memory(memory: Memory) -> None:
    plan = memory.plan_forget(Selection(match="e"))
    retired = memory.retire(plan)
    done, *_ = memory.undoable()
    assert (done.added, done.changed, done.sample) == (0, len(retired), retired[0].id)


def test_a_dry_run_says_what_it_would_do_and_does_nothing(shared: Shared) -> None:
    shared.here("remember", "I live in Porto", "--at", "2026-02-01")
    shared.here("remember", "I moved to Turin")
    before = shared.here("export").stdout
    plan = shared.json("undo", "--dry-run")["plan"]
    assert [(step["action"], step["text"]) for step in plan] == [
        ("erase", "I moved to Turin"),
        ("update", "I live in Porto"),
    ]
    assert shared.here("export").stdout == before
    done = shared.json("undo")
    assert (len(done["removed"]), len(done["restored"]), len(done["undone"])) == (1, 1, 1)


@pytest.mark.parametrize(("count", "code"), [("0", 2), ("-1", 2), ("many", 2), ("1", 1)])
def test_what_cannot_be_taken_back_is_an_error(shared: Shared, count: str, code: int) -> None:
    assert shared.here("undo", "--", count).returncode == code


# --- killed ---------------------------------------------------------------------------------------


def test_a_kill_at_any_moment_leaves_nothing_that_cannot_be_taken_back(shared: Shared) -> None:
    chance = random.Random(7)
    shared.here("remember", "I live in Porto", "--kind", "identity")
    before = shared.here("export").stdout
    path = history(shared.home, *[f"I moved to Turin, heron {n}" for n in range(28)])
    for _ in range(5):
        for command in (("import", path), ("undo",)):
            # An import that was killed before it did anything leaves nothing of its own to take back.
            if command == ("undo",) and len(shared.json("undo", "--list")["commands"]) < 2:
                continue
            process = shared.start(*command)
            time.sleep(chance.uniform(0.1, 1.2))
            process.kill()
            process.communicate()
    # Whatever is there now was journaled: taken back, only the first memory is left.
    if more := len(shared.json("undo", "--list")["commands"]) - 1:
        assert shared.here("undo", str(more)).returncode == 0
    assert shared.here("export").stdout == before
