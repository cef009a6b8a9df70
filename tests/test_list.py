"""list: memories in order, as many as are wanted, with how many there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memcli.record_json import to_json
from memcli.times import from_iso
from memcli.types import Record
from tests.process import Shared, export_of, files_of


def day(text: str) -> int:
    return from_iso(f"{text}T12:00:00.000Z")


RECORDS = [
    Record("oldest00", "Lisbon in spring", "fact", topics=("travel",), created_at=day("2025-01-01"),
           updated_at=day("2026-02-20")),
    Record("middle00", "Call me Wren", "identity", "P0", created_at=day("2025-06-01"),
           updated_at=day("2025-06-01")),
    Record("newest00", "We said hello\nand\tgoodbye", "episode", "P2", role="user", project="club",
           created_at=day("2026-02-01"), updated_at=day("2026-02-01")),
    Record("undated0", "A note without a day", "document", "P2", updated_at=day("2024-01-01")),
    Record("retired0", "Hidden", retired=True, created_at=day("2026-01-01")),
]  # fmt: skip
NEWEST_FIRST = ["newest00", "middle00", "oldest00", "undated0"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A store that nothing here changes."""
    shared = Shared(tmp_path_factory.mktemp("list"))
    assert shared.here("import", "-", input=export_of(RECORDS)).returncode == 0
    return shared


def test_json_holds_whole_memories_newest_first_and_how_many_there_are(shared: Shared) -> None:
    by_id = {record.id: to_json(record) for record in RECORDS}
    assert shared.json("list") == {"memories": [by_id[id_] for id_ in NEWEST_FIRST], "total": 4}


def test_a_pipe_gets_one_tab_separated_memory_a_line(shared: Shared) -> None:
    assert shared("list").stdout == (
        "newest00\t2026-02-01\tepisode\tWe said hello\\nand\\tgoodbye\n"
        "middle00\t2025-06-01\tidentity\tCall me Wren\n"
        "oldest00\t2025-01-01\tfact\tLisbon in spring\n"
        "undated0\t\tdocument\tA note without a day\n"
    )


def test_ndjson_is_one_memory_a_line(shared: Shared) -> None:
    lines = shared("list", "--ndjson").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == NEWEST_FIRST


def test_fewer_than_there_are_says_so(shared: Shared) -> None:
    done = shared("list", "-n", "2")
    assert done.stdout.count("\n") == 2
    assert done.stderr == "2 of 4 memories; -n shows more\n"
    assert shared.json("list", "-n", "0") == {"memories": [], "total": 4}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--sort", "updated"], ["oldest00", "newest00", "middle00", "undated0"]),
        (["--sort", "priority"], ["middle00", "oldest00", "newest00", "undated0"]),
        (["--kind", "fact", "--kind", "identity"], ["middle00", "oldest00"]),
        (["--topic", "travel"], ["oldest00"]),
        (["--project", "club"], NEWEST_FIRST),
        (["--project", "other"], NEWEST_FIRST[1:]),
        (["--role", "user"], ["newest00"]),
        (["--since", "2025-06-01"], ["newest00", "middle00"]),
        (["--until", "2025-06-01"], ["middle00", "oldest00"]),
        (["--since", "last month", "--until", "today"], ["newest00"]),
        (["--since", "", "--kind", "", "--role", ""], NEWEST_FIRST),
    ],
)
def test_options_choose_and_order(shared: Shared, options: list[str], found: list[str]) -> None:
    answer = shared.json("list", *options)
    assert [memory["id"] for memory in answer["memories"]] == found
    assert answer["total"] == len(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-n", "-1"], "-n cannot be -1"),
        (["--sort", "size"], "--sort cannot be 'size'"),
        (["--since", "blurgh"], "'blurgh' is not a time"),
    ],
)
def test_what_cannot_be_meant_is_refused(shared: Shared, options: list[str], message: str) -> None:
    done = shared.here("list", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_no_memory_that_fits_is_told_apart_from_an_empty_store(shared: Shared) -> None:
    done = shared("list", "--topic", "golf")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing is remembered yet" not in done.stderr


def test_a_store_that_was_never_made_is_empty(tmp_path: Path) -> None:
    done = Shared(tmp_path)("list", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"memories": [], "total": 0})
    assert files_of(tmp_path) == {}


def test_users_do_not_see_each_other(shared: Shared) -> None:
    shared("remember", "Only for Bob", "--user", "bob")
    assert [memory["text"] for memory in shared.json("list", "--user", "bob")["memories"]] == ["Only for Bob"]
    assert shared.json("list")["total"] == 4
