"""edit: a memory is changed where it is, and stays known by its origin."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.process import NOW, Shared, files_of

PASSWORD = "".join(("Xk9#", "mQ2v!", "tRz7"))
LATER = "2026-03-02T09:00:00.000Z"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A home for memories that have nothing to do with one another."""
    return Shared(tmp_path_factory.mktemp("edit"))


def remembered(shared: Shared, *words: str) -> str:
    id_: str = shared.json("remember", *words)["added"][0]["id"]
    return id_


def test_a_new_text_takes_the_place_of_the_old(shared: Shared) -> None:
    id_ = remembered(shared, "The walrus is in the bathtub", "--topic", "zoo")
    answer = shared.json("edit", id_[:6], "The", "pelican is on the roof", env={"MEMCLI_NOW": LATER})
    before, after = answer["before"], answer["after"]
    assert (before["text"], before["updated_at"]) == ("The walrus is in the bathtub", NOW)
    assert after == {**before, "text": "The pelican is on the roof", "updated_at": LATER}
    assert shared.json("show", id_)["memory"] == after
    assert shared("recall", "pelican").stdout.startswith(f"{id_}\t")
    assert "walrus" not in shared("recall", "walrus").stdout


def test_the_meaning_of_the_new_text_is_what_is_found(tmp_path: Path) -> None:
    shared = Shared(tmp_path, {"MEMCLI_EMBEDDER": "builtin"})
    id_ = remembered(shared, "The harbour master has a red boat")
    remembered(shared, "The library opens at nine")
    shared.here("edit", id_, "I am allergic to peanuts")
    best = shared.json("recall", "Welche Nüsse vertrage ich nicht?")["results"][0]
    assert (best["id"], best["text"]) == (id_, "I am allergic to peanuts")


def test_a_field_is_changed_and_the_others_stay(shared: Shared) -> None:
    id_ = remembered(shared, "Sails", "--topic", "boat", "--kind", "decision", "--audience", "cook")
    answer = shared.json("edit", id_, "--priority", "P0", "--topic", "sea", "--topic", "wind", "--private")
    changed = {key for key in answer["after"] if answer["after"][key] != answer["before"][key]}
    assert changed == {"priority", "topics", "private"}
    assert answer["after"]["topics"] == ["sea", "wind"]
    assert shared.json("edit", id_, "--no-private")["after"]["private"] is False


def test_the_new_text_may_come_from_stdin(shared: Shared) -> None:
    id_ = remembered(shared, "To be piped over")
    done = shared("edit", id_, "-", input="Piped\nover\n")
    assert (done.returncode, done.stdout) == (0, f"changed {id_}\n")
    assert shared.json("show", id_)["memory"]["text"] == "Piped\nover"


def test_a_secret_in_the_new_text_is_taken_out(shared: Shared) -> None:
    id_ = remembered(shared, "The gate is locked")
    done = shared("edit", id_, f"The password of the gate is {PASSWORD}")
    assert "taken out before storing: 1 password" in done.stderr
    files = [path for path in shared.home.rglob("*") if path.is_file()]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []


def test_an_import_still_knows_an_edited_memory(shared: Shared) -> None:
    line = json.dumps({"role": "user", "content": "The bus goes at 8", "timestamp": 1_760_000_000}) + "\n"
    shared.here("import", "-", input=line)
    (memory,) = shared.json("list", "--kind", "episode")["memories"]
    shared.here("edit", memory["id"], "The bus goes at 9")
    again = shared.json("import", "-", input=line)["totals"]
    assert (again["added"], again["duplicates"]) == (0, 1)


def test_a_dry_run_changes_nothing(shared: Shared) -> None:
    id_ = remembered(shared, "As it is")
    before = files_of(shared.home)
    plan = shared.json("edit", id_, "As it might be", "--dry-run")["plan"]
    assert [(step["action"], step["id"], step["text"]) for step in plan] == [
        ("update", id_, "As it might be")
    ]
    assert files_of(shared.home) == before


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 2, "nothing to change was given"),
        (["  "], 2, "the new text is empty"),
        (["--kind", "opinion"], 2, "--kind cannot be 'opinion'"),
    ],
)
def test_what_cannot_be_meant_is_refused(shared: Shared, options: list[str], code: int, message: str) -> None:
    id_ = remembered(shared, f"Refused {options}")
    done = shared("edit", id_, *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr


def test_an_unknown_id_changes_nothing(shared: Shared) -> None:
    done = shared("edit", "ffffffff", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no memory has an id that begins with 'ffffffff'" in done.stderr
