"""import again: what is known of a file is not read again, and the end is the same as if it had been."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.absorb import Intake
from memcli.importers import records
from memcli.memory import Memory, open_memory
from memcli.types import FileReport, Filters, Selection

FORMATS: Mapping[str, Callable[[int], Mapping[str, Any]]] = {
    "message-jsonl": lambda n: {"role": "user", "content": f"said {n}", "session_id": f"s{n % 2}"},
    "text-jsonl": lambda n: {"text": f"text {n}", "id": f"t{n}"},
}


def lines(messages: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(message) + "\n" for message in messages).encode()


def memory_in(place: Path) -> Memory:
    return open_memory(data_dir=place, embedder="none", clock=lambda: 1_770_000_000_000)


def take(memory: Memory, path: Path) -> tuple[FileReport, int]:
    """The report, and after how many bytes reading began."""
    told: list[int] = []
    (report,) = memory.absorb([str(path)], intake=Intake(), progress=lambda done, _: told.append(done)).files
    return report, told[0] if told else -1


def held(memory: Memory) -> list[tuple[str, str | None, int | None]]:
    return sorted((m.text, m.session_id, m.position) for m in memory.export(Filters()))


def sums(report: FileReport) -> tuple[Any, ...]:
    kept = sum(report.messages.values()) + report.notes
    assert report.added + report.duplicates + report.forgotten == kept
    return report.conversations, dict(report.messages), report.notes, report.bad_lines


@pytest.mark.parametrize("form", FORMATS)
def test_of_a_file_that_has_grown_only_the_new_lines_are_read(tmp_path: Path, form: str) -> None:
    memory, path = memory_in(tmp_path / "data"), tmp_path / "history.jsonl"
    path.write_bytes(lines(map(FORMATS[form], range(6))))
    size = path.stat().st_size
    assert take(memory, path)[0].format == form
    path.write_bytes(path.read_bytes() + lines(map(FORMATS[form], range(6, 10))))
    report, began = take(memory, path)
    assert (report.added, report.duplicates) == (4, 6)
    assert began > size
    assert take(memory, path) == (replaced(report, added=0, duplicates=10), -1)


def replaced(report: FileReport, **counts: int) -> FileReport:
    return replace(report, warnings=(), **counts)


def test_a_torn_line_is_left_for_the_next_reading(tmp_path: Path) -> None:
    memory, path = memory_in(tmp_path / "data"), tmp_path / "history.jsonl"
    whole = lines(map(FORMATS["message-jsonl"], range(4)))
    path.write_bytes(whole[:-9])
    report, _ = take(memory, path)
    assert (report.added, report.bad_lines) == (3, (4,))
    path.write_bytes(whole)
    report, began = take(memory, path)
    assert (report.added, report.duplicates, report.bad_lines) == (1, 3, ())
    assert began > len(whole) - 100


def test_a_last_line_without_its_end_is_taken_and_not_taken_twice(tmp_path: Path) -> None:
    memory, path = memory_in(tmp_path / "data"), tmp_path / "history.jsonl"
    whole = lines(map(FORMATS["message-jsonl"], range(4)))
    path.write_bytes(whole[:-1])
    assert take(memory, path)[0].added == 4
    path.write_bytes(whole + lines([FORMATS["message-jsonl"](4)]))
    report, _ = take(memory, path)
    assert (report.added, report.duplicates) == (1, 4)
    assert sorted(position for _, _, position in held(memory) if position is not None) == [0, 0, 1, 1, 2]


def test_a_file_with_another_beginning_is_read_whole(tmp_path: Path) -> None:
    memory, path = memory_in(tmp_path / "data"), tmp_path / "history.jsonl"
    path.write_bytes(lines(map(FORMATS["text-jsonl"], range(6))))
    take(memory, path)
    path.write_bytes(lines(map(FORMATS["text-jsonl"], range(20, 30))))
    report, _ = take(memory, path)
    assert (report.added, report.duplicates) == (10, 0)


def test_what_was_forgotten_in_the_part_that_is_known_stays_so(tmp_path: Path) -> None:
    memory, path = memory_in(tmp_path / "data"), tmp_path / "history.jsonl"
    path.write_bytes(lines(map(FORMATS["message-jsonl"], range(6))))
    take(memory, path)
    memory.erase(memory.plan_forget(Selection(match="said 3")))
    path.write_bytes(path.read_bytes() + lines(map(FORMATS["message-jsonl"], range(6, 8))))
    report, _ = take(memory, path)
    assert (report.added, report.duplicates, report.forgotten) == (2, 5, 1)


def test_an_import_that_was_stopped_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_TOLD_EVERY_BYTES", 200_000)
    memory, path = memory_in(tmp_path / "data"), tmp_path / "history.jsonl"
    path.write_bytes(lines(map(FORMATS["message-jsonl"], range(30_000))))

    def stop(done: int, total: int) -> None:
        if 3 * done > 2 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.absorb([str(path)], intake=Intake(), progress=stop)
    kept = len(held(memory))
    assert 0 < kept < 30_000
    report, began = take(memory, path)
    assert began > 100_000
    assert (report.added, report.duplicates, report.conversations) == (30_000 - kept, kept, 2)
    assert [p for _, s, p in sorted(held(memory), key=lambda m: m[2] or 0) if s == "s0"] == [*range(15_000)]


def test_a_line_that_is_repeated_is_skipped_whether_the_first_is_new_or_known(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(lines([{**FORMATS["message-jsonl"](n), "id": f"m{n}"} for n in (1, 2, 1)]))
    memory, copy = memory_in(tmp_path / "data"), tmp_path / "copy.jsonl"
    assert [take(memory, path)[0].skipped, take(memory, path)[0].skipped] == [{"duplicate": 1}] * 2
    copy.write_bytes(path.read_bytes())
    report, _ = take(memory, copy)
    assert (report.added, report.duplicates, report.skipped) == (0, 2, {"duplicate": 1})


LINES = st.lists(
    st.one_of(
        st.builds(
            lambda text, session, at: json.dumps(
                {"role": "user", "content": text} | ({"session_id": session} if session else {})
                | ({"timestamp": at} if at else {})
            ).encode(),
            st.sampled_from(["ok", "yes", "tea", "Corin"]),
            st.sampled_from([None, "a", "b"]),
            st.none() | st.integers(1_770_000_000, 1_780_000_000),
        ),
        st.sampled_from([b"not json", b'{"role": "user", "content": ""}', b"", b"\xff\xfe"]),
    ),
    min_size=3,
    max_size=12,
)  # fmt: skip


@settings(max_examples=12)
@given(LINES, st.data())
def test_read_in_steps_it_is_what_it_is_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, written: list[bytes], data: st.DataObject
) -> None:
    place = tmp_path_factory.mktemp("steps")
    first = lines([{"role": "assistant", "content": "Hello", "session_id": "a", "id": "first"}])
    whole = first + b"\n".join(written) + b"\n"
    in_steps, at_once = memory_in(place / "steps"), memory_in(place / "once")
    path = place / "history.jsonl"
    for cut in sorted(data.draw(st.lists(st.integers(len(first), len(whole)), max_size=3))):
        path.write_bytes(whole[:cut])
        take(in_steps, path)
    path.write_bytes(whole)
    (stepped, _), (once, _) = take(in_steps, path), take(at_once, path)
    assert held(in_steps) == held(at_once)
    assert stepped.bad_lines == once.bad_lines
    assert stepped.conversations == once.conversations
    total = sum(stepped.messages.values()) + sum(stepped.skipped.values())
    assert total == sum(once.messages.values()) + sum(once.skipped.values())
