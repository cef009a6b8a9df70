"""show: one memory, where it comes from, what it replaced and what was made of it."""

from __future__ import annotations

import json

import pytest

from memcli.times import from_iso
from memcli.types import Record
from tests.process import NOW, Shared, export_of

RECORDS = [
    Record("aaaa1111", "First", created_at=from_iso("2026-01-01T00:00:00.000Z"), superseded_by="aaaa2222"),
    Record("aaaa2222", "Second", created_at=from_iso("2026-01-02T00:00:00.000Z"), supersedes=("aaaa1111",),
           superseded_by="bbbb3333"),
    Record("bbbb3333", "Third", supersedes=("aaaa2222",), topics=("a", "b"), private=True,
           created_at=from_iso("2026-01-03T00:00:00.000Z"), meta={"title": "Päivä"}),
    Record("dddd4444", "Learned from the third", "summary", derived_from=("bbbb3333", "aaaa1111")),
    Record("per%ent_", "An id of another program"),
]  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A store that nothing here changes."""
    shared = Shared(tmp_path_factory.mktemp("show"))
    assert shared.here("import", "-", input=export_of(RECORDS)).returncode == 0
    return shared


def texts(memories: list[dict[str, str]]) -> list[str]:
    return [memory["text"] for memory in memories]


def test_json_tells_all_that_is_known(shared: Shared) -> None:
    answer = shared.json("show", "bbbb3333")
    assert list(answer) == ["memory", "history", "derived", "recalled"]
    assert (answer["memory"]["text"], answer["memory"]["meta"]) == ("Third", {"title": "Päivä"})
    assert texts(answer["history"]) == ["First", "Second"]
    assert texts(answer["derived"]) == ["Learned from the third"]


def test_a_replaced_memory_shows_what_replaced_it(shared: Shared) -> None:
    assert texts(shared.json("show", "aaaa1111")["history"]) == ["Second", "Third"]


def test_a_script_reads_fields_line_by_line(shared: Shared) -> None:
    fields = dict(line.split("\t", 1) for line in shared("show", "bbbb").stdout.splitlines()[:10])
    assert {name: fields[name] for name in ("id", "topics", "private", "supersedes")} == {
        "id": "bbbb3333",
        "topics": "a, b",
        "private": "yes",
        "supersedes": "aaaa2222",
    }


def test_recalls_are_counted(shared: Shared) -> None:
    assert shared.json("show", "dddd4444")["recalled"] == {"count": 0, "last": None}
    assert shared("recall", "learned").returncode == 0
    assert shared.json("show", "dddd4444")["recalled"] == {"count": 1, "last": NOW}


@pytest.mark.parametrize(
    ("prefix", "code", "message"),
    [
        ("aaaa", 2, "the id 'aaaa' is ambiguous: aaaa1111, aaaa2222"),
        ("aa", 2, "the id 'aa' is too short"),
        ("cccc", 1, "no memory has an id that begins with 'cccc'"),
        ("aaa_", 1, "no memory has an id that begins with 'aaa_'"),
        ("%%%%", 1, "no memory has an id that begins with '%%%%'"),
        ("' OR", 1, 'no memory has an id that begins with "\' OR"'),
    ],
)
def test_what_names_no_single_memory_is_refused(shared: Shared, prefix: str, code: int, message: str) -> None:
    done = shared.here("show", prefix, "--json")
    error = json.loads(done.stderr)
    assert (done.returncode, done.stdout, error["code"], error["error"]) == (code, "", code, message)
    assert error["hint"]


@pytest.mark.parametrize("prefix", ["aaaa1", "aaaa1111"])
def test_a_prefix_that_is_unique_is_enough(shared: Shared, prefix: str) -> None:
    assert shared.json("show", prefix)["memory"]["id"] == "aaaa1111"
