"""Updates as they are stored: who replaces whom, in whatever order and pieces they come."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.absorb import Intake
from memcli.memory import Draft, Memory, open_memory
from memcli.record_json import to_json
from memcli.times import from_iso
from memcli.types import Filters, Query, Record, Selection

NOW = from_iso("2026-11-29T10:00:00.000Z")


def opened(directory: Path) -> Memory:
    return open_memory(data_dir=directory, clock=lambda: NOW, embedder="none")


def message(id_: str, day: str, text: str, **fields: Any) -> dict[str, Any]:
    said = {"id": id_, "role": "user", "content": text, "timestamp": f"{day}T10:00:00Z", "session_id": day}
    return said | fields


def take_in(memory: Memory, directory: Path, messages: Iterable[Mapping[str, Any]]) -> None:
    path = directory / "messages.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in messages), "utf-8")
    memory.absorb([str(path)], intake=Intake())


def stored(memory: Memory) -> dict[str, Record]:
    """Every memory by its source id."""
    return {record.source_id or record.id: record for record in memory.export(Filters())}


def graph(memory: Memory) -> dict[str, str]:
    """Which memory is superseded by which, by their source ids."""
    records = stored(memory)
    names = {record.id: name for name, record in records.items()}
    return {
        name: names[record.superseded_by]
        for name, record in records.items()
        if record.superseded_by is not None
    }


LEEDS = message("leeds", "2026-01-05", "I live in Leeds, near the canal.")
YORK = message("york", "2026-03-10", "We moved to York in spring.")
BATH = message("bath", "2026-06-20", "I've just moved to Bath.")
COFFEE = message("coffee", "2026-02-01", "I always drink coffee in the morning.")
TEA = message("tea", "2026-05-01", "I've quit coffee for good, green tea it is.")
BUDGET = message("budget", "2026-04-01", "The kitchen budget is 9,500 including the oven.")
CUT = message("cut", "2026-04-20", "We cut the kitchen budget to 7,200.")
CELLO = message("cello", "2026-04-21", "My sister practises the cello every evening.")
EVERYTHING = (LEEDS, YORK, BATH, COFFEE, TEA, BUDGET, CUT, CELLO)
CHAINS = {"leeds": "york", "york": "bath", "coffee": "tea", "budget": "cut"}


def test_what_is_imported_is_superseded_by_what_was_said_later(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, EVERYTHING)
    assert graph(memory) == CHAINS
    leeds = stored(memory)["leeds"]
    assert leeds.valid_to == from_iso("2026-03-10T10:00:00.000Z")
    assert stored(memory)["york"].supersedes == (leeds.id,)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(EVERYTHING), st.integers(1, 4))
def test_order_and_pieces_of_an_import_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, messages: Sequence[Mapping[str, Any]], pieces: int
) -> None:
    directory = tmp_path_factory.mktemp("order")
    memory = opened(directory / "data")
    for start in range(pieces):
        take_in(memory, directory, messages[start::pieces])
    assert graph(memory) == CHAINS


def test_twice_the_same_import_changes_nothing(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, EVERYTHING)
    before = stored(memory)
    take_in(memory, tmp_path, [*EVERYTHING, message("more", "2026-11-01", "The lift is broken again.")])
    assert {name: record for name, record in stored(memory).items() if name != "more"} == before


def test_what_is_remembered_supersedes_at_once_what_was_imported(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, [LEEDS, CELLO])
    done = memory.remember(Draft(text="My address is now 5 Elm Road, Bath."))
    (replaced,) = done.superseded
    assert (replaced.source_id, replaced.superseded_by, replaced.valid_to) == ("leeds", done.added[0].id, NOW)
    assert done.added[0].supersedes == (replaced.id,)


def test_what_is_remembered_of_an_earlier_time_is_superseded_at_once(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, [YORK])
    done = memory.remember(Draft(text="I live in Leeds.", at=from_iso("2025-01-01T00:00:00.000Z")))
    york = stored(memory)["york"]
    assert (done.added[0].superseded_by, done.superseded) == (york.id, ())
    assert york.supersedes == (done.added[0].id,)


def test_an_import_supersedes_what_was_remembered_before_it_was_said(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    at = from_iso("2025-12-01T00:00:00.000Z")
    memory.remember(Draft(text="I live in Hull.", source_id="hull", at=at))
    take_in(memory, tmp_path, [LEEDS])
    assert graph(memory) == {"hull": "leeds"}


def test_a_dry_run_tells_what_would_be_superseded(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, [LEEDS])
    done = memory.remember(Draft(text="I live in Bath now."), dry_run=True)
    assert [record.source_id for record in done.superseded] == ["leeds"]
    assert graph(memory) == {}


def test_an_earlier_successor_that_comes_late_goes_between(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, [LEEDS, BATH])
    assert graph(memory) == {"leeds": "bath"}
    take_in(memory, tmp_path, [YORK])
    records = stored(memory)
    assert graph(memory) == {"leeds": "york", "york": "bath"}
    assert records["bath"].supersedes == (records["york"].id,)


def test_an_edit_keeps_the_pointers(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, [LEEDS, YORK])
    memory.edit(stored(memory)["york"].id, Draft(text="We moved to York, to the old town."))
    memory.settle()
    assert graph(memory) == {"leeds": "york"}


def test_an_edit_that_tells_an_update_is_one(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, [LEEDS, message("note", "2026-05-01", "Remember the boxes.")])
    memory.edit(stored(memory)["note"].id, Draft(text="I moved to York."))
    memory.settle()
    assert graph(memory) == {"leeds": "note"}


def test_a_pointer_that_a_person_set_is_not_turned_round(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    spring, winter = from_iso("2026-03-01T00:00:00.000Z"), from_iso("2026-01-01T00:00:00.000Z")
    memory.remember(Draft(text="I live in York.", source_id="home", at=spring))
    memory.remember(Draft(text="I live in Leeds.", source_id="home", at=winter))
    (york, leeds) = sorted(memory.export(Filters()), key=lambda record: record.text, reverse=True)
    assert (york.superseded_by, leeds.superseded_by) == (leeds.id, None)


def test_an_import_that_was_stopped_is_looked_at_by_the_next_writing_command(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, [COFFEE])
    with memory.write() as (_, side):
        side.note_unseen([stored(memory)["coffee"].id])
    later = opened(tmp_path / "data")
    later.remember(Draft(text="The lift is broken again."))
    later.settle()
    with later.write() as (_, side):
        assert side.count_unseen() == 0


# --- as of a day ----------------------------------------------------------------------------------

MAY = from_iso("2026-05-15T00:00:00.000Z")


def recalled(memory: Memory, question: str, **filters: Any) -> list[str | None]:
    return [
        hit.record.source_id for hit in memory.recall(Query(question, NOW, filters=Filters(**filters))).hits
    ]


def injected(memory: Memory, question: str, **filters: Any) -> str:
    return memory.block(Query(question, NOW, filters=Filters(**filters)), budget_tokens=500).text


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A memory of someone who has moved twice."""
    directory = tmp_path_factory.mktemp("lived")
    memory = opened(directory / "data")
    take_in(memory, directory, EVERYTHING)
    return memory


HOME = "Where do I live, in which town have I moved to?"


def test_what_was_replaced_stands_below_what_replaced_it(lived: Memory) -> None:
    assert recalled(lived, HOME)[:3] == ["bath", "york", "leeds"]


def test_only_the_newest_is_injected(lived: Memory) -> None:
    block = injected(lived, HOME)
    assert [town for town in ("Leeds", "York", "Bath") if town in block] == ["Bath"]


def test_current_leaves_out_what_was_replaced(lived: Memory) -> None:
    assert recalled(lived, HOME, current=True) == ["bath"]


def test_as_of_a_day_what_was_replaced_later_holds_and_what_was_said_later_is_absent(lived: Memory) -> None:
    assert recalled(lived, HOME, as_of=MAY) == ["york"]
    (hit,) = lived.recall(Query(HOME, NOW, filters=Filters(as_of=MAY))).hits
    assert (hit.record.superseded_by, hit.record.valid_to) == (None, None)


def test_as_of_a_day_what_held_then_is_injected(lived: Memory) -> None:
    block = injected(lived, "Where have I moved to?", as_of=MAY)
    assert [town for town in ("Leeds", "York", "Bath") if town in block] == ["York"]
    assert "until" not in block


def test_as_of_and_current_together_are_what_held_then(lived: Memory) -> None:
    assert recalled(lived, HOME, as_of=MAY, current=True) == ["york"]
    listed, _ = lived.list(Filters(as_of=MAY, current=True), n=9)
    assert [record.source_id for record in listed] == ["tea", "cello", "cut", "york"]


def test_what_has_taken_the_place_of_a_p0_is_injected_whatever_is_asked(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    spring = from_iso("2026-03-01T00:00:00.000Z")
    memory.remember(Draft(text="Call me Wren.", priority="P0", at=spring))
    take_in(memory, tmp_path, [message("name", "2026-06-01", "Please call me Robin from now on.")])
    block = injected(memory, "What is the capital of Mongolia?")
    assert ("Robin" in block, "Wren" in block) == (True, False)
    assert "Wren" in injected(memory, "What is the capital of Mongolia?", as_of=MAY)


@pytest.mark.parametrize(
    ("question", "marked"),
    [
        ("Where did I live in February 2026, which town had I moved to?", {"Leeds": "2026-03-10"}),
        ("Which town had I moved to in April 2026?", {"York": "2026-06-20"}),
        ("Which town have I moved to?", {}),
        (
            "Where did I live before, which town had I moved to?",
            {"Leeds": "2026-03-10", "York": "2026-06-20"},
        ),
    ],
)
def test_a_question_about_an_earlier_time_is_told_what_held_then_and_until_when(
    lived: Memory, question: str, marked: Mapping[str, str]
) -> None:
    block = injected(lived, question)
    towns = re.findall(r", until ([\d-]+)\] .*(Leeds|York|Bath)", block)
    assert {town: day for day, town in towns} == marked


# --- forgetting -----------------------------------------------------------------------------------


def forget(memory: Memory, *names: str) -> None:
    memory.erase(memory.plan_forget(Selection(ids=tuple(stored(memory)[name].id for name in names))))


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["bath"], {"leeds": "york"}),
        (["york"], {"leeds": "bath"}),
        (["leeds"], {"york": "bath"}),
        (["york", "bath"], {}),
        (["leeds", "bath"], {}),
    ],
)
def test_without_what_is_forgotten_the_rest_is_as_if_it_had_never_been(
    tmp_path: Path, names: list[str], left: Mapping[str, str]
) -> None:
    memory = opened(tmp_path / "data")
    take_in(memory, tmp_path, [LEEDS, YORK, BATH])
    forget(memory, *names)
    assert graph(memory) == left
    records = {record.id: record for record in memory.export(Filters())}
    pointed = {older for record in records.values() for older in record.supersedes}
    assert pointed == {record.id for record in records.values() if record.superseded_by}
    assert all((record.valid_to is None) == (record.superseded_by is None) for record in records.values())


def test_what_only_the_forgotten_one_had_outdated_holds_again(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    both = message("both", "2026-03-10", "We moved to York, and I work at Acme now.")
    left_acme = message("left", "2026-06-01", "I left Acme.")
    take_in(memory, tmp_path, [LEEDS, both, left_acme])
    assert graph(memory) == {"leeds": "both", "both": "left"}
    forget(memory, "both")
    assert graph(memory) == {}


def test_of_three_texts_of_one_source_the_last_stands_for_the_first(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    for text in ("Espresso", "Green tea", "Water"):
        memory.remember(Draft(text=text, source_id="drink"))
    by_text = {record.text: record for record in memory.export(Filters())}
    memory.erase(memory.plan_forget(Selection(ids=(by_text["Green tea"].id,))))
    espresso, water = sorted(memory.export(Filters()), key=lambda record: record.text)
    assert (espresso.superseded_by, water.supersedes) == (water.id, (espresso.id,))


def test_what_was_exported_keeps_its_own_pointers(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data")
    exported = [
        Record("aaaa1111", "I live in Leeds.", created_at=NOW - 9),
        Record("bbbb2222", "I moved to York.", created_at=NOW - 5),
    ]
    lines = "".join(json.dumps(to_json(record)) + "\n" for record in exported)
    (tmp_path / "export.jsonl").write_text(lines, "utf-8")
    memory.absorb([str(tmp_path / "export.jsonl")], intake=Intake())
    assert graph(memory) == {}
    memory.remember(Draft(text="I live in Bath now.", source_id="bath"))
    assert graph(memory) == {"aaaa1111": "bath", "bbbb2222": "bath"}
