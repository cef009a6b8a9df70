"""Hostile content: `python -m tests.torture.fuzz [--examples N]`.

Texts that are SQL, paths, escape sequences or broken Unicode go wherever a text can go. No condition is
injectable: a filter gives what the same comparison in Python gives. What goes into the side store comes out
as it was. What a reader makes of spoilt files can be stored. No terminal is shown what it would obey, and no
name leads out of the data directory.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli import lifecycle
from memcli.absorb import Intake
from memcli.errors import MemcliError, UsageError
from memcli.memory import Memory, open_memory
from memcli.record_json import to_json
from memcli.store.journal import Step
from memcli.store.lance import LanceStore
from memcli.store.side import Side
from memcli.store.where import contains, holds_any, one_of
from memcli.text import clean
from memcli.types import Change, Filters, Record, Selection

NOW = 1_780_000_000_000
HOSTILE = (
    "'",
    "''",
    "\\",
    "\\'",
    "' OR '1'='1",
    "') OR true --",
    "'); DROP TABLE memories; --",
    "%",
    "_",
    "%' ESCAPE '\\",
    "a\nb",
    "/* */",
    "`x`",
    '"x"',
    "NULL",
    "{}",
    "[]",
    "$1",
    ":name",
    "?",
    "../../etc/passwd",
    "\u202eevil",
    "\x1b[31m",
    "\u009b31m",
    "我'们",
    "é",
    "e\u0301",
    "ǅ",
    "🙂",
    " ",
    "A",
    "a",
)
"""Values that mean something to SQL, to a path or to a terminal, and neighbours that are easily confused."""

_pieces = st.sampled_from([*HOSTILE, "x", "OR", "--", "1=1"])
texts = st.lists(_pieces, min_size=1, max_size=4).map(" ".join) | st.text(min_size=1, max_size=20).map(clean)
_FIELDS: tuple[tuple[str, Callable[[str], Filters], Callable[[Record, str], bool]], ...] = (
    (
        "project",
        lambda value: Filters(project=value, project_only=True, with_hidden=True),
        lambda record, value: record.project == value,
    ),
    ("role", lambda value: Filters(role=value, with_hidden=True), lambda record, value: record.role == value),
    (
        "session",
        lambda value: Filters(session=value, with_hidden=True),
        lambda record, value: record.session_id == value,
    ),
    (
        "topic",
        lambda value: Filters(topics=(value,), with_hidden=True),
        lambda record, value: value in record.topics,
    ),
    (
        "source id",
        lambda value: Filters(source_ids=(value,), with_hidden=True),
        lambda record, value: record.source_id == value,
    ),
    (
        "source",
        lambda value: Filters(source=value, with_hidden=True),
        lambda record, value: record.source in (value, f"import:{value}"),
    ),
    (
        "agent",
        lambda value: Filters(agent=value, with_hidden=True),
        lambda record, value: not record.audience or value in record.audience,
    ),
)


class Fuzzed:
    """A store whose every field holds something hostile, and what is asked of it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.side = Side(place / "side.db", writable=True)
        self.store = LanceStore(str(place / "lance"), self.side)
        self.records = [_hostile(number, value) for number, value in enumerate(HOSTILE)]
        key = self.store.state.key
        self.store.apply(
            [Change("add", record, origin=lifecycle.origin_of(record, key)) for record in self.records]
        )

    def filters(self, value: str) -> None:
        """Each filter gives what the same comparison gives."""
        for name, filters, fits in _FIELDS:
            found = {record.id for record in self.store.scan(filters(value), now=NOW, order=())}
            wanted = {record.id for record in self.records if fits(record, value)}
            assert found == wanted, f"{name} {value!r} gives {found ^ wanted} too many or too few"

    def conditions(self, value: str) -> None:
        """So does each condition that a value enters."""
        for condition, fits in (
            (one_of("text", [value, "no such"]), lambda record: record.text == value),
            (contains("text", value), lambda record: value in record.text),
            (holds_any("topics", [value]), lambda record: value in record.topics),
        ):
            every = Filters(with_hidden=True)
            found = {record.id for record in self.store.scan(every, now=NOW, order=(), extra=condition)}
            assert found == {record.id for record in self.records if fits(record)}, condition

    def words(self, value: str) -> None:
        """Any text can be asked for, looked up as an id and chosen to be forgotten."""
        self.store.search(value, lambda: None, filters=Filters(), now=NOW, limit=10)
        for ask in (
            lambda: self.store.resolve(value, now=NOW),
            lambda: self.store.get([value, value], now=NOW),
            lambda: _memory(self.place).plan_forget(Selection(match=value, topics=(value,), project=value)),
        ):
            try:
                ask()
            except MemcliError:
                continue

    def survives(self) -> bool:
        """Whether all is there as it was put in."""
        held = {record.id: record for record in self.store.scan(Filters(with_hidden=True), now=NOW)}
        return held == {record.id: record for record in self.records}


def _hostile(number: int, value: str) -> Record:
    return Record(
        f"{number:020}",
        f"said {value} so",
        topics=(value, f"t {value}"),
        project=value,
        audience=(value,) if number % 2 else (),
        role=value,
        name=value,
        source=value,
        source_id=value,
        session_id=value,
        position=number,
        created_at=NOW + number,
        meta={value: value},
    )


def _memory(place: Path) -> Memory:
    return open_memory(
        side=place, store=str(place / "lance"), data_dir=place, embedder="none", clock=lambda: NOW
    )


ESCAPES = "".join(map(chr, (*range(1, 0x20), 0x7F, *range(0x80, 0xA0)))) + (
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""Every control character and every mark that turns text around."""
OBEYED = frozenset(ESCAPES) - set("\t\n\r")
"""What a terminal must never be sent out of a memory."""


# --- the properties -------------------------------------------------------------------------------


def _conditions(place: Path, settled: settings) -> None:
    fuzzed = Fuzzed(place)

    @settled
    @given(texts)
    def ask(value: str) -> None:
        fuzzed.filters(value)
        fuzzed.conditions(value)

    for value in HOSTILE:
        fuzzed.filters(value)
    ask()
    assert fuzzed.survives()


def _questions(place: Path, settled: settings) -> None:
    fuzzed = Fuzzed(place)

    @settled
    @given(texts)
    def ask(value: str) -> None:
        fuzzed.words(value)

    ask()
    assert fuzzed.survives()


def _side_store(place: Path, settled: settings) -> None:
    memory = _memory(place)
    place_of: dict[str, str] = {}

    @settled
    @given(st.lists(texts, min_size=1, max_size=3))
    def keep(values: list[str]) -> None:
        session = memory.begin_session(project=values[0])
        turns = [memory.save_turn(session, "user", value, becomes_memory=False) for value in values]
        assert memory.session(session.id).turns == tuple(turns)
        with memory.write_side() as side:
            side.note_file(values[0], values[-1])
            # What a file was imported as first is what it stays.
            place_of.setdefault(values[0], values[-1])
            assert side.place_of_file(values[0]) == place_of[values[0]]
            assert side.is_place(place_of[values[0]])
            assert side.buried(values) == set()
            side.note_steps("import", [Step("add", value) for value in values], at=NOW)
            assert set(values) <= side.journalled()
            assert side.check() is None

    keep()
    memory.close()


def _spoilt_files(place: Path, settled: settings) -> None:
    memory = _memory(place / "store")
    files = sorted(path for path in _CASES.rglob("*") if path.is_file() and path.name != "expected.json")

    @settled
    @given(st.sampled_from(files), _edits)
    def take_in(file: Path, edits: list[tuple[int, bytes]]) -> None:
        copy = place / f"spoilt{file.suffix}"
        copy.write_bytes(spoilt(file.read_bytes(), edits))
        with suppress(UsageError):
            reports = memory.absorb([str(copy)], intake=Intake()).files
            taken.append(sum(report.added for report in reports))
        for record in memory.export(Filters()):
            said = json.dumps(to_json(record), ensure_ascii=False)
            assert clean(said) == said

    taken: list[int] = []
    take_in()
    assert any(taken)
    memory.close()


def _names(place: Path, settled: settings) -> None:
    inside = place / "inside"

    @settled
    @given(st.sampled_from(_PATHS) | texts)
    def be_a_user(name: str) -> None:
        with suppress(MemcliError, ValueError):
            memory = open_memory(name, data_dir=inside, embedder="none", clock=lambda: NOW)
            memory.save_turn(memory.begin_session(), "user", "hello")
            memory.close()
        assert {path.name for path in place.iterdir()} <= {"inside"}
        if inside.exists():
            assert {path.name for path in inside.iterdir()} <= {"users"}
            assert all((path / "side.db").is_file() for path in (inside / "users").iterdir())

    be_a_user()


_CASES = Path(__file__).parents[1] / "data" / "import"
_PATHS = (
    "..",
    ".",
    "../x",
    "a/b",
    "/x",
    "~",
    "a\\b",
    "C:x",
    "con\x00",
    "..\u2215x",
    "-x",
    ".x",
    "x\n",
    "a" * 300,
)
_edits = st.lists(
    st.tuples(
        st.integers(0, 1 << 20),
        st.sampled_from([b"\x00", b"\xff", b'"', b"{", b"]", b"\x1b", b"\\ud800", b"null", b"1e999", b"\n"]),
    ),
    max_size=4,
)


def spoilt(held: bytes, edits: Sequence[tuple[int, bytes]]) -> bytes:
    """A file in which some bytes were replaced."""
    for at, piece in edits:
        start = at % (len(held) + 1)
        held = held[:start] + piece + held[start + len(piece) :]
    return held


PROPERTIES: dict[str, tuple[Callable[[Path, settings], None], float]] = {
    "no filter is injectable": (_conditions, 1),
    "any text can be asked and chosen": (_questions, 1),
    "the side store gives back what it was given": (_side_store, 1),
    "a spoilt file makes nothing that cannot be stored": (_spoilt_files, 2),
    "no user lies outside of the data directory": (_names, 2),
}
"""A property, how it is tried, and how many examples it gets for each that is asked for."""


def torture(place: Path, name: str, *, examples: int) -> None:
    """Try a property. Raises AssertionError."""
    attempt, share = PROPERTIES[name]
    room = place / name.replace(" ", "-")
    room.mkdir()
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    attempt(
        room,
        settings(
            max_examples=round(examples * share), deadline=None, database=None, suppress_health_check=checks
        ),
    )


def main(argv: list[str]) -> int:
    """Try every property, print the table; returns how many do not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(argv)
    examples = 10 if asked.quick else asked.examples
    wrong = 0
    print("| property | examples | s | holds |\n| --- | ---: | ---: | --- |")
    for name, (_, share) in PROPERTIES.items():
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            try:
                torture(Path(place), name, examples=examples)
                told = "yes"
            except AssertionError as error:
                told, wrong = f"no: {error}", wrong + 1
        print(f"| {name} | {round(examples * share)} | {time.monotonic() - began:.0f} | {told} |")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
