"""remember: one memory in, its secrets out, known again by its source id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.process import NOW, Shared, files_of

PASSWORD = "".join(("Xk9#", "mQ2v!", "tRz7"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A home for memories that have nothing to do with one another."""
    return Shared(tmp_path_factory.mktemp("remember"))


def test_a_memory_is_told_with_its_id(shared: Shared) -> None:
    done = shared("remember", "I prefer Maven over Gradle")
    verb, id_ = done.stdout.split()
    assert (done.returncode, verb, done.stderr) == (0, "remembered", "")
    assert shared.json("show", id_)["memory"]["text"] == "I prefer Maven over Gradle"


def test_every_option_ends_up_in_its_field(shared: Shared) -> None:
    answer = shared.json(
        "remember", "The", "lease", "ends", "in", "May", "--kind", "decision", "--priority", "p0",
        "--topic", "home", "--topic", "lease", "--project", "flat", "--private", "--audience", "planner",
        "--source", "letter", "--source-id", "7", "--at", "2026-02-01", "--expires", "30d",
    )  # fmt: skip
    (added,) = answer.pop("added")
    assert answer == {"superseded": [], "duplicates": [], "redacted": {}, "pending": 0}
    assert len(added.pop("id")) >= 16
    assert added == {
        "text": "The lease ends in May",
        "kind": "decision",
        "priority": "P0",
        "topics": ["home", "lease"],
        "project": "flat",
        "audience": ["planner"],
        "private": True,
        "role": None,
        "name": None,
        "source": "letter",
        "source_id": "7",
        "session_id": None,
        "position": None,
        "created_at": "2026-02-01T00:00:00.000Z",
        "updated_at": NOW,
        "valid_from": None,
        "valid_to": None,
        "expires_at": "2026-03-31T09:00:00.000Z",
        "superseded_by": None,
        "supersedes": [],
        "retired": False,
        "derived_from": [],
        "meta": {},
    }


def test_without_options_a_memory_is_a_fact_of_now(shared: Shared) -> None:
    (added,) = shared.json("remember", "Bare words")["added"]
    assert {key: added[key] for key in ("kind", "priority", "source", "private", "created_at")} == {
        "kind": "fact",
        "priority": "P1",
        "source": "cli",
        "private": False,
        "created_at": NOW,
    }


@pytest.mark.parametrize(
    ("words", "typed", "text"),
    [
        (["-"], "piped\nin two lines\n", "piped\nin two lines"),
        ([], "piped without a dash", "piped without a dash"),
        (["--", "--yes is an option"], "not read", "--yes is an option"),
        (["两个词", "👩‍👩‍👧 שלום \u2028"], "", "两个词 👩‍👩‍👧 שלום \u2028"),
    ],
)
def test_the_text_is_taken_from_the_words_or_from_stdin(
    shared: Shared, words: list[str], typed: str, text: str
) -> None:
    done = shared("remember", "--json", *words, input=typed)
    assert json.loads(done.stdout)["added"][0]["text"] == text


def test_a_megabyte_on_stdin_is_one_memory(shared: Shared) -> None:
    text = "".join(f"Line {number} of the long log.\n" for number in range(40_000)) + "The end."
    (added,) = shared.json("remember", "-", input=text)["added"]
    assert len(text) > 1_000_000
    assert added["text"] == text


def test_what_is_not_ascii_is_exact_under_the_c_locale(shared: Shared) -> None:
    plain = {"LANG": "C", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = shared("remember", "Café 厨房 🧱", "--json", env=plain)
    assert json.loads(done.stdout)["added"][0]["text"] == "Café 厨房 🧱"


def test_a_typed_day_begins_in_the_zone_of_the_person(shared: Shared) -> None:
    done = shared("remember", "Rain", "--at", "yesterday", "--json", env={"TZ": "Asia/Shanghai"})
    assert json.loads(done.stdout)["added"][0]["created_at"] == "2026-02-27T16:00:00.000Z"


def test_the_same_again_is_known(shared: Shared) -> None:
    (added,) = shared.json("remember", "Said twice")["added"]
    done = shared("remember", "Said twice")
    assert (done.returncode, done.stdout) == (0, f"known already {added['id']}\n")


def test_a_source_id_that_comes_again_with_another_text_supersedes(shared: Shared) -> None:
    note = ("--source", "notes", "--source-id", "drink")
    (old,) = shared.json("remember", "Espresso in the morning", *note, "--at", "2026-01-01")["added"]
    answer = shared.json("remember", "Green tea in the morning", *note)
    (new,), (replaced,) = answer["added"], answer["superseded"]
    assert (new["supersedes"], replaced["id"]) == ([old["id"]], old["id"])
    assert (replaced["superseded_by"], replaced["valid_to"]) == (new["id"], NOW)


def test_the_third_text_of_a_source_id_supersedes_the_second(shared: Shared) -> None:
    ids = [
        shared.json("remember", text, "--source-id", "three")["added"][0]["id"]
        for text in ("First", "Second", "Third")
    ]
    assert [memory["id"] for memory in shared.json("show", ids[2])["history"]] == sorted(ids[:2])
    assert shared.json("show", ids[1])["memory"]["superseded_by"] == ids[2]


def test_a_secret_is_taken_out_before_anything_is_written(shared: Shared) -> None:
    done = shared("remember", f"The router password is {PASSWORD}, on the wall")
    assert done.stderr == "taken out before storing: 1 password (--allow-sensitive keeps them)\n"
    memory = shared.json("show", done.stdout.split()[1])["memory"]
    assert memory["text"] == "The router password is [redacted:password], on the wall"
    files = [path for path in shared.home.rglob("*") if path.is_file()]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []


def test_redacted_kinds_are_counted(shared: Shared) -> None:
    answer = shared.json("remember", f"password: {PASSWORD} and 口令是{PASSWORD[::-1]}")
    assert sum(answer["redacted"].values()) == 2


def test_the_person_who_insists_keeps_the_secret(tmp_path: Path) -> None:
    answer = Shared(tmp_path).json("remember", f"password: {PASSWORD}", "--allow-sensitive")
    assert (answer["added"][0]["text"], answer["redacted"]) == (f"password: {PASSWORD}", {})


@pytest.mark.parametrize(
    ("options", "typed", "message"),
    [
        ([""], "", "there is nothing to remember"),
        ([], " \n\t ", "there is nothing to remember"),
        (["x", "--kind", "opinion"], "", "--kind cannot be 'opinion'"),
        (["x", "--priority", "P9"], "", "--priority cannot be 'P9'"),
        (["x", "--at", "blurgh"], "", "'blurgh' is not a time"),
        (["x", "--expires", "never"], "", "'never'"),
        (["x", "--user", "../other"], "", "user cannot be"),
    ],
)
def test_what_cannot_be_remembered_is_refused(
    tmp_path: Path, options: list[str], typed: str, message: str
) -> None:
    done = Shared(tmp_path)("remember", *options, input=typed)
    problem, hint = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert problem.startswith("memcli: ")
    assert message in problem
    assert hint.startswith("hint: ")
    assert files_of(tmp_path) == {}


def test_a_dry_run_says_the_plan_and_makes_no_store(tmp_path: Path) -> None:
    fresh = Shared(tmp_path)
    assert fresh("remember", "Not yet", "--dry-run").stdout.startswith("would add\t")
    (step,) = fresh.json("remember", "Not yet", "--dry-run")["plan"]
    assert (step["action"], step["text"]) == ("add", "Not yet")
    assert files_of(tmp_path) == {}


def test_a_dry_run_of_a_new_text_plans_to_supersede(shared: Shared) -> None:
    (old,) = shared.json("remember", "Old plan", "--source-id", "plan")["added"]
    before = files_of(shared.home)
    plan = shared.json("remember", "New plan", "--source-id", "plan", "--dry-run")["plan"]
    assert [(step["action"], step["text"]) for step in plan] == [
        ("add", "New plan"),
        ("supersede", "Old plan"),
    ]
    assert plan[1]["id"] == old["id"]
    assert files_of(shared.home) == before


def test_a_store_is_its_owners_alone(tmp_path: Path) -> None:
    Shared(tmp_path)("remember", "Mine", "--data-dir", tmp_path / "data", "--user", "wren")
    assert (tmp_path / "data" / "users" / "wren").stat().st_mode & 0o777 == 0o700


def test_a_value_that_comes_back_keeps_both_earlier_ones_as_history(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    for text in ("tea", "coffee", "tea"):
        shared("remember", text, "--source-id", "drink")
    (current,) = shared.json("list", "--current")["memories"]
    history = shared.json("show", current["id"])["history"]
    assert (current["text"], sorted(memory["text"] for memory in history)) == ("tea", ["coffee", "tea"])
    assert len({memory["id"] for memory in [current, *history]}) == 3
