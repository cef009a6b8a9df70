"""Each folder of tests/data/imported is what a person imports, and what must hold of it in the store."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from .process import Shared

CASES = Path(__file__).parent / "data" / "imported"
BUILTIN = {"MEMCLI_EMBEDDER": "builtin"}


def folders(key: str) -> Any:
    """The cases that say something under this key."""
    cases = [path.parent for path in sorted(CASES.glob("*/expected.json")) if key in expected_of(path.parent)]
    return pytest.mark.parametrize("folder", cases, ids=lambda folder: folder.name)


def expected_of(folder: Path) -> Any:
    return json.loads((folder / "expected.json").read_text("utf-8"))


def history_of(folder: Path, home: Path) -> Path:
    """The file to import, or what the case describes: an archive, a tree that no repository keeps."""
    expected = expected_of(folder)
    tree, packed = expected.get("tree"), expected.get("zip")
    if packed is not None:
        with ZipFile(home / "export.zip", "w") as archive:
            for name, text in packed.items():
                archive.writestr(name, text)
        return home / "export.zip"
    if tree is None:
        (file,) = (path for path in folder.iterdir() if path.name != "expected.json")
        return file
    root = home / "tree"
    for name, text in tree["files"].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    for name, target in tree["links"].items():
        (root / name).symlink_to(target)
    for name in tree["fifos"]:
        os.mkfifo(root / name)
    return root


def first_of(shared: Shared, question: str) -> str:
    (hit,) = shared.json("recall", question, "-k", "1", env=BUILTIN)["results"]
    return str(hit["text"])


@folders("totals")
def test_it_is_counted_and_a_second_time_adds_nothing(folder: Path, tmp_path: Path) -> None:
    shared, expected = Shared(tmp_path), expected_of(folder)
    history = history_of(folder, tmp_path)
    found = shared.json("import", history, *expected.get("args", ()))["totals"]
    assert {key: found[key] for key in expected["totals"]} == expected["totals"]
    again = shared.json("import", history, *expected.get("args", ()))["totals"]
    assert (again["added"], again["duplicates"]) == (0, expected["totals"]["added"])


@folders("first")
def test_its_first_and_its_last_message_are_stored_as_they_were_said(folder: Path, tmp_path: Path) -> None:
    shared, expected = Shared(tmp_path), expected_of(folder)
    shared.here("import", history_of(folder, tmp_path), *expected.get("args", ()))
    memories = [json.loads(line) for line in shared.here("export").stdout.split("\n") if line]
    for memory, told in ((memories[0], expected["first"]), (memories[-1], expected["last"])):
        assert {key: memory[key] for key in told} == told


@folders("totals")
def test_its_export_fills_an_empty_store_with_the_same(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    shared, other = Shared(tmp_path), Shared(tmp_path / "other")
    shared.here("import", history_of(folder, tmp_path), "--no-vectors")
    exported = shared.here("export").stdout
    other.here("import", "-", "--no-vectors", input=exported)
    assert other.here("export").stdout == exported


@folders("shown_at_most")
def test_an_answer_does_not_show_the_whole_of_a_long_one(folder: Path, tmp_path: Path) -> None:
    shared, expected = Shared(tmp_path), expected_of(folder)
    shared.here("import", history_of(folder, tmp_path), *expected["args"])
    assert len(shared.here("recall", "tide at the quay").stdout) < expected["shown_at_most"]


@folders("recalled")
def test_each_question_returns_its_line_first(folder: Path, tmp_path: Path) -> None:
    shared, expected = Shared(tmp_path), expected_of(folder)
    shared.here("import", history_of(folder, tmp_path), env=BUILTIN)
    questions: Mapping[str, str] = expected["recalled"]
    assert {question: first_of(shared, question) for question in questions} == questions


@folders("alone")
def test_keywords_alone_return_nothing_but_the_line(folder: Path, tmp_path: Path) -> None:
    shared, expected = Shared(tmp_path), expected_of(folder)
    shared.here("import", history_of(folder, tmp_path))
    found = {
        question: [hit["text"] for hit in shared.json("recall", question)["results"]]
        for question in expected["alone"]
    }
    assert found == {question: [line] for question, line in expected["alone"].items()}


@folders("nothing")
def test_a_question_without_a_word_finds_nothing(folder: Path, tmp_path: Path) -> None:
    shared, expected = Shared(tmp_path), expected_of(folder)
    shared.here("import", history_of(folder, tmp_path), env=BUILTIN)
    for question in expected["nothing"]:
        done = shared.here("recall", "--", question, env=BUILTIN)
        assert (done.returncode, done.stdout) == (1, ""), question


@folders("forgotten")
def test_what_is_forgotten_does_not_come_back_with_its_file(folder: Path, tmp_path: Path) -> None:
    shared, expected = Shared(tmp_path), expected_of(folder)
    shared.here("import", history_of(folder, tmp_path), env=BUILTIN)
    word, count = expected["forgotten"]["match"], expected["forgotten"]["count"]
    receipt = shared.json("forget", "--match", word, "--yes", "--prove")
    assert (len(receipt["forgotten"]), receipt["traces"]) == (count, 0)
    again = shared.json("import", history_of(folder, tmp_path), env=BUILTIN)["totals"]
    assert (again["added"], again["forgotten"]) == (0, count)
    assert word not in shared("recall", word, env=BUILTIN).stdout
    questions = expected["forgotten"]["recalled"]
    assert {question: first_of(shared, question) for question in questions} == questions
