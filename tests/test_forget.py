"""forget: what a selection takes, gone from every answer and every byte; what it must not take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memcli.errors import NothingMatchedError
from memcli.memory import Draft, open_memory
from memcli.times import from_iso
from memcli.types import Record, Selection
from tests.process import Shared, export_of, files_of


def day(text: str) -> int:
    return from_iso(f"{text}T12:00:00.000Z")


RECORDS = [
    Record("corin111", "Corin lives in flat 12 on Quayside Row", topics=("people",),
           created_at=day("2025-01-01")),
    Record("corin222", "Tell Corin's sister about the boat", "episode", "P2", role="user", session_id="s1",
           source="import:chat", source_id="1", position=0, created_at=day("2025-02-01")),
    Record("corinth3", "Corinth has a canal", source="import:book", created_at=day("2025-03-01")),
    Record("lisbon44", "Lisbon is on the Tagus", topics=("travel",), project="trip",
           created_at=day("2025-04-01")),
    Record("xiaoli55", "小李今天又迟到了", topics=("work",), created_at=day("2025-05-01")),
    Record("will0066", "Will plays the cello", created_at=day("2025-06-01")),
    Record("modal077", "I will buy tiles", "episode", "P2", role="user", session_id="s2",
           source="import:chat", source_id="1", position=0, created_at=day("2025-07-01")),
    Record("percent8", "The rate is 50%_off, she said \"now\"", created_at=day("2025-08-01")),
    Record("derived9", "The person knows somebody on Quayside Row", "summary", derived_from=("corin111",)),
    Record("derived0", "Summary of two", "summary", derived_from=("lisbon44", "corin111")),
]  # fmt: skip
EVERY_ID = {record.id for record in RECORDS}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A store of which plans are made and that nothing here changes."""
    shared = Shared(tmp_path_factory.mktemp("forget"))
    assert shared.here("import", "-", input=export_of(RECORDS)).returncode == 0
    return shared


@pytest.fixture
def fresh(tmp_path: Path) -> Shared:
    """A store of its own for a test that erases."""
    fresh = Shared(tmp_path)
    assert fresh.here("import", "-", input=export_of(RECORDS)).returncode == 0
    return fresh


def bytes_with(shared: Shared, text: str) -> list[Path]:
    files = [path for path in shared.home.rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]


# --- what a selection takes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        (["corin111", "lisb"], {"corin111", "derived9", "lisbon44", "derived0"}),
        (["--query", "everything about Corin"], {"corin111", "corin222", "derived9"}),
        (["--query", "忘掉关于小李的所有事情"], {"xiaoli55"}),
        (["--query", "Will"], {"will0066"}),
        (["--query", "li", "--topic", "work"], None),
        (["--query", "Lis"], None),
        (["--topic", "travel", "--topic", "work"], {"lisbon44", "xiaoli55"}),
        (["--topic", "people", "--before", "2025-01-01"], None),
        (["--before", "2025-03-01"], {"corin111", "corin222", "derived9"}),
        (["--match", "50%_off, she said \"n"], {"percent8"}),
        (["--match", "%"], {"percent8"}),
        (["--session", "s1"], {"corin222"}),
        (["--source", "import:book"], {"corinth3"}),
        (["--source-id", "1", "--session", "s2"], {"modal077"}),
        (["--project", "trip"], {"lisbon44"}),
        (["--project", "trip", "--query", "Corin"], None),
        (["--all"], EVERY_ID),
    ],
)  # fmt: skip
def test_a_selection_takes_what_it_names_and_what_came_of_that_alone(
    shared: Shared, selection: list[str], taken: set[str] | None
) -> None:
    done = shared.here("forget", *selection, "--dry-run", "--json")
    if taken is None:
        assert (done.returncode, done.stdout) == (1, "")
        return
    plan = json.loads(done.stdout)["plan"]
    assert {step["id"] for step in plan} == taken
    assert {step["action"] for step in plan} == {"erase"}


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ([], "nothing is selected to forget"),
        (["--query", "", "--topic", "", "--match", ""], "nothing is selected to forget"),
        (["--query", "everything"], "named in 'everything'"),
        (["corin111", "--topic", "people"], "ids cannot be mixed with a selection"),
        (["--before", "blurgh"], "'blurgh' is not a time"),
        (["cori"], "the id 'cori' is ambiguous"),
        (["--source-id", "1"], "the source id '1' is found in several places"),
    ],
)
def test_what_selects_nothing_or_too_much_is_refused(
    shared: Shared, selection: list[str], message: str
) -> None:
    done = shared.here("forget", *selection, "--yes", "--json")
    error = json.loads(done.stderr)
    assert (done.returncode, done.stdout, error["code"]) == (2, "", 2)
    assert message in error["error"]
    assert error["hint"]


def test_a_project_of_the_environment_selects_nothing(shared: Shared) -> None:
    done = shared("forget", "--yes", env={"MEMCLI_PROJECT": "trip"})
    assert (done.returncode, shared.json("list")["total"]) == (2, len(RECORDS))


def test_without_a_yes_nothing_is_forgotten(shared: Shared) -> None:
    before = files_of(shared.home)
    done = shared("forget", "--all")
    assert (done.returncode, done.stdout) == (2, "")
    assert "add --yes" in done.stderr
    assert files_of(shared.home) == before


@pytest.mark.parametrize(("typed", "code"), [("n\n", 1), ("\n", 1), ("\x04", 1), ("\x03", 130)])
def test_a_person_who_does_not_say_yes_keeps_everything(shared: Shared, typed: str, code: int) -> None:
    done, shown = shared.on_terminal("forget", "--topic", "people", typed=typed, after="[y/N]")
    assert done == code
    assert "corin111  Corin lives in flat 12 on Quayside Row" in shown
    assert "erase for good 2 memories? [y/N]" in shown
    assert "Traceback" not in shown
    assert shared.json("list")["total"] == len(RECORDS)


def test_what_is_only_similar_is_told_and_left(tmp_path: Path) -> None:
    shared = Shared(tmp_path, {"MEMCLI_EMBEDDER": "builtin"})
    for text in (
        "The dentist Dr Okafor is on Elm Street",
        "My tooth doctor moved to Elm Street",
        "Tea is hot",
    ):
        shared.here("remember", text)
    answer = shared.json("forget", "--query", "the dentist", "--yes")
    assert len(answer["forgotten"]) == 1
    assert [memory["text"] for memory in answer["related"]] == ["My tooth doctor moved to Elm Street"]
    assert shared.json("list")["total"] == 2


def test_what_is_similar_is_looked_for_inside_the_selection_only(tmp_path: Path) -> None:
    shared = Shared(tmp_path, {"MEMCLI_EMBEDDER": "builtin"})
    shared.here("remember", "The dentist Dr Okafor is on Elm Street", "--project", "health")
    shared.here("remember", "My tooth doctor moved to Elm Street", "--project", "gossip")
    shared.here("remember", "Tea is hot", "--project", "health")
    asked = ("forget", "--query", "the dentist", "--project", "health", "--related", "--dry-run")
    assert [step["text"] for step in shared.json(*asked)["plan"]] == [
        "The dentist Dr Okafor is on Elm Street"
    ]


# --- gone -----------------------------------------------------------------------------------------


def test_what_was_forgotten_is_in_no_byte_and_the_rest_is_whole(fresh: Shared) -> None:
    fresh.here("recall", "Quayside")
    fresh.here("edit", "corin111", "--topic", "neighbours")
    rest = [line for line in fresh.here("export").stdout.splitlines() if "corin" not in line.lower()]
    assert bytes_with(fresh, "Quayside Row") != []
    answer = fresh.json("forget", "--query", "everything about Corin", "--yes")
    assert set(answer["forgotten"]) == {"corin111", "corin222", "derived9"}
    assert answer["receipt"] is None
    assert bytes_with(fresh, "Quayside") == bytes_with(fresh, "corin111") == []
    kept = [
        line
        for line in fresh.here("export").stdout.splitlines()
        if "corinth3" in line or "derived0" not in line
    ]
    assert [line for line in rest if "derived0" not in line] == [
        line for line in kept if "corinth3" not in line
    ]
    assert fresh.here("recall", "Corin sister flat", "--json").returncode in (0, 1)
    assert fresh.here("show", "corin111").returncode == 1


def test_a_proof_says_what_was_read(fresh: Shared) -> None:
    done = fresh("forget", "--session", "s1", "--prove", "--yes")
    receipt = json.loads(done.stdout)
    assert (receipt["forgotten"], receipt["traces"], receipt["backups"]) == (["corin222"], 0, [])
    assert receipt["files_scanned"] > 5
    assert receipt["bytes_scanned"] > 1000
    answer = fresh.json("forget", "--match", "Tagus", "--prove", "--yes")
    assert answer["receipt"] == {key: answer[key] for key in answer["receipt"]}
    assert (answer["forgotten"], answer["traces"]) == (["lisbon44"], 0)


def test_what_is_retired_is_hidden_and_kept(fresh: Shared) -> None:
    done = fresh("forget", "--match", "cello", "--retire", "--yes")
    assert done.stdout == "retired will0066\n"
    assert fresh.here("recall", "cello").stdout.count("will0066") == 0
    assert fresh.json("show", "will0066")["memory"]["retired"] is True


def test_forgetting_all_leaves_an_empty_store_that_works(fresh: Shared) -> None:
    assert set(fresh.json("forget", "--all", "--yes")["forgotten"]) == EVERY_ID
    assert fresh.here("export").stdout == ""
    assert fresh("forget", "--all", "--yes").returncode == 1
    assert fresh.here("remember", "A new beginning").returncode == 0
    assert [memory["text"] for memory in fresh.json("list")["memories"]] == ["A new beginning"]


def test_forgetting_all_takes_what_is_no_memory_too(tmp_path: Path) -> None:
    memory = open_memory(data_dir=tmp_path / "data", embedder="none")
    memory.save_turn(memory.begin_session(), "user", "Where is the ocelot?", becomes_memory=False)
    memory.erase(memory.plan_forget(Selection(everything=True)))
    assert b"ocelot" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(NothingMatchedError):
        memory.plan_forget(Selection(everything=True))
    memory.close()


def test_what_a_restore_has_set_aside_is_forgotten_with_all_or_pointed_at(fresh: Shared) -> None:
    fresh.here("backup", "saved.tar")
    fresh.here("remember", "The ocelot sleeps")
    fresh.here("restore", "saved.tar", "--yes")
    done = fresh.here("forget", "--match", "ocelot", "--yes")
    assert (done.returncode, "aside-2026" in done.stderr) == (1, True)
    assert fresh.here("forget", "--all", "--yes").returncode == 0
    fresh.here("remember", "The ocelot sleeps again")
    fresh.here("restore", "saved.tar", "--yes")
    assert fresh.here("forget", "--all", "--yes").returncode == 0
    aside = [path for path in fresh.home.rglob("aside-*") if path.is_dir()]
    assert (aside, fresh.here("forget", "--all", "--yes").returncode) == ([], 1)


def test_one_text_among_many_ids_may_come_from_stdin(fresh: Shared) -> None:
    answer = fresh.json("forget", "--match", "-", "--yes", input='she said "now"\n')
    assert answer["forgotten"] == ["percent8"]


def test_a_store_that_was_never_made_has_nothing_to_forget(tmp_path: Path) -> None:
    assert Shared(tmp_path)("forget", "--all", "--yes").returncode == 1
    assert files_of(tmp_path) == {}


def test_the_proof_reads_tables_that_are_kept_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "tables"
    memory = open_memory(data_dir=tmp_path / "data", store=str(elsewhere), embedder="none")
    memory.remember(Draft("Corin lives in flat 12 on Quayside Row"))
    plan = memory.plan_forget(Selection(query="Corin"))
    stray = elsewhere / "stray.bin"
    stray.write_bytes(b"\0\1Corin lives in flat 12 on Quayside Row")
    proof = memory.erase(plan, prove=True)
    assert proof is not None
    assert proof.traces > 0
    stray.unlink()
    memory.close()
