"""task: every call on disk before it returns, the way back to a step, and nothing left when it is done."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from memcli.errors import NothingMatchedError
from memcli.memory import Draft, Memory, open_memory
from memcli.times import from_iso
from memcli.types import Selection
from tests.process import NOW, Shared

AT = from_iso(NOW)


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared(tmp_path)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A task that nothing here changes."""
    shared = Shared(tmp_path_factory.mktemp("standing"))
    shared.here("task", "start", "job")
    shared.here("task", "set", "job", "empty", "")
    return shared


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return open_memory(data_dir=tmp_path, clock=lambda: AT, embedder="none")


def bytes_with(directory: Path, text: str) -> list[str]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return [path.name for path in files if text.encode() in path.read_bytes()]


def started(memory: Memory, **values: str) -> None:
    memory.tasks.start("job")
    for key, value in values.items():
        memory.tasks.set("job", key, value)


def values(memory: Memory) -> Mapping[str, str | None]:
    return memory.tasks.get("job").values


# --- the command line -----------------------------------------------------------------------------


def test_a_script_sees_what_each_call_did(shared: Shared) -> None:
    told = [
        shared.here("task", *args).stdout
        for args in (
            ("start", "job"),
            ("set", "job", "a", "1"),
            ("step", "job", "first"),
            ("set", "job", "a", "2"),
            ("get", "job", "a"),
            ("back", "job"),
            ("get", "job"),
            ("start", "job"),
            ("list",),
            ("done", "job"),
        )
    ]
    assert told == [
        "started job\n",
        "set a\n",
        "step 1 (first)\n",
        "set a\n",
        "2\n",
        "back at step 1 (first)\n",
        "a\t1\n",
        "going on with job at step 1 (first)\n",
        "job\tstep 1 (first)\t1\t\n",
        "done job\n",
    ]


def test_everything_speaks_json(shared: Shared) -> None:
    begun = shared.json("task", "start", "job", "--ttl", "7d")
    assert begun == {
        "started": True,
        "name": "job",
        "started_at": NOW,
        "expires_at": "2026-03-08T09:00:00.000Z",
        "step": 0,
        "changed": False,
        "values": {},
        "steps": [],
    }
    assert shared.json("task", "set", "job", "k", "v") == {"name": "job", "key": "k", "redacted": {}}
    step = {"step": 1, "parent": 0, "label": None, "at": NOW}
    assert shared.json("task", "step", "job") == {"name": "job", **step}
    assert shared.json("task", "get", "job", "k") == {"name": "job", "key": "k", "value": "v"}
    assert shared.json("task", "get", "job") == {"name": "job", "step": 1, "values": {"k": "v"}}
    shown = {**begun, "step": 1, "values": {"k": "v"}, "steps": [step]}
    del shown["started"]
    assert shared.json("task", "show", "job") == shared.json("task", "back", "job") == shown
    listed = {name: shown[name] for name in ("name", "started_at", "expires_at", "step", "changed")}
    assert shared.json("task", "list") == shared.json("task") == {"tasks": [{**listed, "keys": ["k"]}]}
    kept = shared.json("task", "done", "job", "--keep", "k")["kept"]
    assert [(memory["text"], memory["source"], memory["source_id"]) for memory in kept] == [
        ("v", "task:job", "k")
    ]
    assert shared.json("task", "list") == {"tasks": []}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("get", "nope"), "there is no task 'nope'"),
        (("set", "nope", "k", "v"), "there is no task 'nope'"),
        (("step", "nope"), "there is no task 'nope'"),
        (("back", "nope"), "there is no task 'nope'"),
        (("show", "nope"), "there is no task 'nope'"),
        (("done", "nope"), "there is no task 'nope'"),
        (("get", "job", "x"), "the task 'job' has no key 'x'"),
        (("done", "job", "--keep", "x"), "the task 'job' has no key 'x'"),
        (("back", "job", "7"), "the task 'job' has no step '7'"),
        (("back", "job", "x"), "the task 'job' has no step 'x'"),
    ],
)
def test_what_is_not_there_is_said_with_a_hint(standing: Shared, args: tuple[str, ...], message: str) -> None:
    done = standing.here("task", *args, "--json")
    error = json.loads(done.stderr)
    assert (done.returncode, done.stdout, error["code"]) == (1, "", 1)
    assert message in error["error"]
    assert error["hint"]


@pytest.mark.parametrize(
    "args",
    [
        ("start", ""),
        ("start", "two\nlines"),
        ("start", "x" * 300),
        ("start", "new", "--ttl", "2020-01-01"),
        ("start", "new", "--ttl", "soonish"),
        ("set", "job", " ", "v"),
        ("step", "job", "12"),
        ("done", "job", "k"),
        ("done", "job", "--keep", "empty"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(standing: Shared, args: tuple[str, ...]) -> None:
    before = standing.json("task", "show", "job")
    done = standing.here("task", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "hint: " in done.stderr
    assert standing.json("task", "show", "job") == before
    assert len(standing.json("task", "list")["tasks"]) == 1


@pytest.mark.parametrize(
    "value",
    ["", "two\nlines\n", "\x01\x1b[31m\x7f\u202e", "小李\U0001f600", '{"a": [1, 2]}', "é" * 300_000],
    ids=["empty", "lines", "controls", "scripts", "json", "huge"],
)
def test_any_text_comes_back_as_it_was_set(shared: Shared, value: str) -> None:
    shared.here("task", "start", "job")
    assert shared.here("task", "set", "job", "k", "-", input=f"{value}\n").returncode == 0
    assert shared.json("task", "get", "job", "k")["value"] == value
    assert shared.here("task", "get", "job", "k").stdout == f"{value}\n"


def test_a_secret_does_not_reach_the_disk(shared: Shared) -> None:
    key = "sk-ant-api03-" + "Zk3vQ9xT7mB2nL5pR8wY1cD4fG6hJ0" * 3
    shared.here("task", "start", "job")
    done = shared.here("task", "set", "job", "k", f"key {key}")
    assert "taken out before storing: 1 api-key" in done.stderr
    assert shared.here("task", "get", "job", "k").stdout == "key [redacted:api-key]\n"
    assert bytes_with(shared.home, key[:30]) == []


# --- time -----------------------------------------------------------------------------------------


def test_a_task_whose_time_is_over_is_gone_and_soon_from_disk_too(shared: Shared) -> None:
    shared.here("task", "start", "job", "--ttl", "2d")
    shared.here("task", "set", "job", "k", "the heron of Lindisfarne")
    later = {"MEMCLI_NOW": "2026-03-03T09:00:00Z"}
    assert shared.here("task", "get", "job", "k", env={"MEMCLI_NOW": "2026-03-03T08:59:59Z"}).returncode == 0
    assert shared.here("task", "get", "job", env=later).returncode == 1
    assert shared.json("task", "list", env=later) == {"tasks": []}
    assert shared.json("task", "start", "other", env=later)["started"] is True
    assert bytes_with(shared.home, "Lindisfarne") == []


def test_a_start_with_a_new_time_puts_the_end_off(memory: Memory) -> None:
    memory.tasks.start("job", expires_at=AT + 1)
    assert memory.tasks.start("job", expires_at=AT + 9)[0].expires_at == AT + 9
    assert memory.tasks.start("job")[0].expires_at == AT + 9


# --- steps, against a model -----------------------------------------------------------------------

KEYS = st.sampled_from(["a", "b", "c"])
LABELS = st.sampled_from([None, "x", "y"])


class Steps(RuleBasedStateMachine):
    """Sets, steps and ways back do to a task what they do to a dictionary and a list of copies of it."""

    @initialize()
    def start(self) -> None:
        import tempfile

        self.directory = tempfile.TemporaryDirectory()
        self.memory = open_memory(data_dir=Path(self.directory.name), clock=lambda: AT, embedder="none")
        self.memory.tasks.start("job")
        self.now: dict[str, str] = {}
        self.kept: list[tuple[str | None, int, dict[str, str]]] = [(None, 0, {})]
        self.at = 0

    @rule(key=KEYS, value=st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
    def set(self, key: str, value: str) -> None:
        self.memory.tasks.set("job", key, value)
        self.now[key] = value

    @rule(label=LABELS)
    def step(self, label: str | None) -> None:
        made = self.memory.tasks.step("job", label)
        assert (made.number, made.parent, made.label) == (len(self.kept), self.at, label)
        self.kept.append((label, self.at, dict(self.now)))
        self.at = made.number

    @rule()
    def back_to_the_last(self) -> None:
        self.memory.tasks.back("job")
        self.now = dict(self.kept[self.at][2])

    @rule(data=st.data())
    def back_to_a_number(self, data: st.DataObject) -> None:
        self.at = data.draw(st.integers(0, len(self.kept) - 1))
        self.memory.tasks.back("job", str(self.at))
        self.now = dict(self.kept[self.at][2])

    @rule(label=LABELS.filter(bool))
    def back_to_a_label(self, label: str) -> None:
        found = [number for number, (made, _, _) in enumerate(self.kept) if made == label]
        if not found:
            with pytest.raises(NothingMatchedError):
                self.memory.tasks.back("job", label)
            return
        self.memory.tasks.back("job", label)
        self.at = found[-1]
        self.now = dict(self.kept[self.at][2])

    @precondition(lambda self: hasattr(self, "memory"))
    @rule()
    def another_process_goes_on(self) -> None:
        self.memory.close()
        assert self.memory.tasks.start("job")[1] is False

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            task = self.memory.tasks.get("job")
            assert task.values == self.now
            assert (task.step, len(task.steps)) == (self.at, len(self.kept) - 1)
            assert task.is_changed or task.values == self.kept[self.at][2]
            self.memory.close()
            self.directory.cleanup()


Steps.TestCase.settings = settings(max_examples=10, stateful_step_count=10, deadline=None)
TestSteps = Steps.TestCase


# --- killed, and two at once ----------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
from memcli.memory import open_memory
tasks = open_memory(data_dir=Path(sys.argv[1]), embedder="none").tasks
"""


def script(body: str, directory: Path) -> subprocess.Popen[str]:
    import sys

    return subprocess.Popen(
        [sys.executable, "-u", "-c", SCRIPT + body, str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def test_a_killed_script_goes_on_from_its_last_step(memory: Memory, tmp_path: Path) -> None:
    endless = """
tasks.start("job")
for number in range(10**9):
    tasks.set("job", "number", str(number))
    tasks.step("job", f"after-{number}")
    tasks.set("job", "half", str(number))
    print(number)
"""
    process = script(endless, tmp_path)
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(6)][-1]
    process.kill()
    seen = (process.stdout.read().splitlines() or [seen])[-1].strip() or seen
    process.communicate()
    task = memory.tasks.back("job")
    assert int(task.steps[-1].label.removeprefix("after-")) >= int(seen)  # type: ignore[union-attr]
    assert task.steps[-1].label == f"after-{task.values['number']}"
    assert task.values["half"] == str(int(task.values["number"] or 0) - 1)
    assert not task.is_changed


def test_a_version_that_a_damaged_bit_made_its_own_parent_leads_around_only_once(memory: Memory) -> None:
    memory.tasks.start("job")
    memory.tasks.set("job", "page", "seven")
    with memory.write_side() as side, side.change() as db:
        db.execute("UPDATE task_versions SET parent = version")
    assert memory.tasks.get("job").values == {"page": "seven"}


def test_two_scripts_that_set_at_once_lose_nothing(memory: Memory, tmp_path: Path) -> None:
    memory.tasks.start("job")
    body = 'for number in range(15): tasks.set("job", f"{sys.argv[1][-1]}{number}", "x")'
    writers = [script(body.replace("sys.argv[1][-1]", repr(name)), tmp_path) for name in "ab"]
    assert [writer.communicate(timeout=60)[1] for writer in writers] == ["", ""]
    assert len(values(memory)) == 30


# --- gone -----------------------------------------------------------------------------------------


def test_a_task_that_is_done_leaves_no_byte_but_what_was_kept(memory: Memory, tmp_path: Path) -> None:
    started(memory, kept="The heron of Lindisfarne", gone="The gull of Farne waits")
    memory.tasks.step("job", "unlabelled-label")
    memory.tasks.set("job", "gone", "another gull of Farne" * 500)
    kept = memory.finish_task("job", keep=["kept"])
    assert [record.text for record in kept] == ["The heron of Lindisfarne"]
    assert bytes_with(tmp_path, "Farne") == bytes_with(tmp_path, "unlabelled-label") == []
    assert memory.tasks.all() == []


def test_what_is_kept_gets_the_label_of_the_project(shared: Shared) -> None:
    shared.here("task", "start", "job")
    shared.here("task", "set", "job", "k", "The heron of Lindisfarne")
    kept = shared.json("task", "done", "job", "--keep", "k", "--project", "birds")["kept"]
    assert [memory["project"] for memory in kept] == ["birds"]


def test_a_done_that_was_killed_half_way_may_be_said_again(memory: Memory) -> None:
    started(memory, k="The heron of Lindisfarne")
    memory.remember(Draft(text="The heron of Lindisfarne", source="task:job", source_id="k"))
    assert len(memory.finish_task("job", keep=["k"])) == 1
    assert memory.stats()["memories"]["total"] == 1


@pytest.mark.parametrize(
    "value",
    [
        "The heron of Lindisfarne",
        "say: The heron of Lindisfarne waits",
        json.dumps({"note": 'The "heron" of\nLindisfarne, 鹭'}),
        json.dumps({"note": 'The "heron" of\nLindisfarne, 鹭'}, ensure_ascii=False),
    ],
)
def test_forgetting_a_memory_takes_the_values_that_it_stands_in(
    memory: Memory, tmp_path: Path, value: str
) -> None:
    started(memory, k="an older value", other="The heron is a bird")
    memory.tasks.step("job")
    memory.tasks.set("job", "k", value)
    for text in ("The heron of Lindisfarne", 'The "heron" of\nLindisfarne, 鹭', "bird"):
        memory.remember(Draft(text=text))
    proof = memory.erase(memory.plan_forget(Selection(query="heron")), prove=True)
    memory.erase(memory.plan_forget(Selection(query="bird")))
    assert proof is not None
    assert proof.traces == 0
    assert bytes_with(tmp_path, "Lindisfarne") == []
    # No older value comes forth, and a word that stands in a value by chance takes nothing.
    assert values(memory) == {"k": None, "other": "The heron is a bird"}
    with pytest.raises(NothingMatchedError, match="forgotten together with a memory"):
        memory.tasks.value("job", "k")


def test_forgetting_everything_takes_tasks_without_a_memory_too(shared: Shared) -> None:
    shared.here("task", "start", "job")
    shared.here("task", "set", "job", "k", "the heron of Lindisfarne")
    answer: dict[str, Any] = shared.json("forget", "--all", "--yes")
    assert (answer["forgotten"], answer["tasks"]) == ([], ["job"])
    assert shared.json("task", "list") == {"tasks": []}
    assert bytes_with(shared.home, "Lindisfarne") == []
    assert shared.here("forget", "--all", "--yes").returncode == 1
