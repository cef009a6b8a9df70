"""An archive is imported as one file: its members' records, counts and troubles in one report."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memcli.absorb import Intake
from memcli.memory import Memory, open_memory
from memcli.types import FileReport

from .test_container import zip_of


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return open_memory(data_dir=tmp_path / "data")


def chat(id_: str, *texts: str) -> dict[str, Any]:
    said = {"author": {"role": "user"}, "create_time": 1772355600 + ord(id_)}
    nodes = {
        f"n{n}": {"parent": f"n{n - 1}", "message": {**said, "id": f"n{n}", "content": {"parts": [text]}}}
        for n, text in enumerate(texts)
    }
    return {"conversation_id": id_, "mapping": nodes, "create_time": 1772355600}


def shard(*chats: dict[str, Any]) -> bytes:
    return json.dumps(chats).encode()


def absorb(memory: Memory, path: Path, files: dict[str, bytes] | None = None) -> FileReport:
    if files is not None:
        path.write_bytes(zip_of(files))
    (report,) = memory.absorb([str(path)], intake=Intake()).files
    return report


def test_archive_is_one_file_of_the_report(memory: Memory, tmp_path: Path) -> None:
    files = {
        "conversations-0.json": shard(chat("a", "one", "two")),
        "conversations-1.json": shard(chat("b", "one")),
    }
    report = absorb(memory, tmp_path / "export.zip", files)
    assert (report.path, report.format) == (str(tmp_path / "export.zip"), "chatgpt")
    assert (report.added, report.conversations, report.warnings, report.error) == (3, 2, (), None)


def test_second_import_adds_nothing_wherever_the_archive_lies(memory: Memory, tmp_path: Path) -> None:
    files = {"chat.jsonl": b'{"role":"user","content":"hello"}\n', "tea.md": b"# Tea"}
    assert absorb(memory, tmp_path / "export.zip", files).added == 2
    assert absorb(memory, tmp_path / "export.zip").added == 0
    (tmp_path / "export.zip").rename(tmp_path / "moved.zip")
    report = absorb(memory, tmp_path / "moved.zip")
    assert (report.added, report.duplicates) == (0, 2)


def test_conversation_in_two_shards_is_taken_once(memory: Memory, tmp_path: Path) -> None:
    files = {
        "conversations-0.json": shard(chat("a", "one")),
        "conversations-1.json": shard(chat("a", "one", "two")),
    }
    report = absorb(memory, tmp_path / "export.zip", files)
    assert (report.added, report.skipped) == (2, {"duplicate": 1})


def test_members_without_ids_are_conversations_of_their_own(memory: Memory, tmp_path: Path) -> None:
    line = b'{"role":"user","content":"hello"}\n'
    assert absorb(memory, tmp_path / "export.zip", {"a.jsonl": line, "b.jsonl": line}).conversations == 2


def test_member_with_nuls_in_it_is_read(memory: Memory, tmp_path: Path) -> None:
    padded = (
        b'{"role": "user", "content": "before"}\n' + bytes(64) + b'{"role": "user", "content": "after"}\n'
    )
    path = tmp_path / "padded.zip"
    path.write_bytes(zip_of({"chat.jsonl": padded, "picture.dat": b"GIF\0\1\2"}))
    (report,) = memory.absorb([str(path)], intake=Intake()).files
    assert (report.added, report.error) == (2, None)


def test_member_that_is_damaged_is_told_and_the_others_are_read(memory: Memory, tmp_path: Path) -> None:
    texts = {"a": "one", "b": "x" * 300_000, "c": "three"}
    files = {f"{id_}.json": shard(chat(id_, text)) for id_, text in texts.items()}
    path = tmp_path / "export.zip"
    path.write_bytes(zip_of(files, compression=zipfile.ZIP_STORED).replace(b"x" * 9, b"y" * 9, 1))
    report = absorb(memory, path)
    assert (report.added, report.error) == (2, None)
    (warning,) = report.warnings
    assert "b.json cannot be read: the compressed data is damaged" in warning


def test_bad_line_of_a_member_is_told_with_its_name(memory: Memory, tmp_path: Path) -> None:
    files = {"a.jsonl": b'{"role":"user","content":"hello","ts":1772355600}\n{"role":\n{}\n'}
    assert absorb(memory, tmp_path / "export.zip", files).warnings == (
        "a.jsonl: line 2: expecting value at character 10 of the record",
    )


def test_archive_of_which_nothing_can_be_read_has_an_error(memory: Memory, tmp_path: Path) -> None:
    report = absorb(memory, tmp_path / "export.zip", {"new.json": b'{"weight": 3}'})
    assert "new.json is JSON of no known shape" in str(report.error)
    assert report.added == 0


def test_side_file_in_a_directory_is_no_file_of_the_report(memory: Memory, tmp_path: Path) -> None:
    directory = tmp_path / "export"
    directory.mkdir()
    (directory / "conversations.json").write_bytes(shard(chat("a", "one")))
    (directory / "user.json").write_bytes(b'{"id": "u"}')
    (report,) = memory.absorb([str(directory)], intake=Intake()).files
    assert (Path(report.path).name, report.added) == ("conversations.json", 1)


def test_progress_goes_through_the_members_to_the_end(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    lines = b"".join(b'{"role":"user","content":"line %d","id":"%d"}\n' % (n, n) for n in range(1200))
    path.write_bytes(zip_of({"a.jsonl": lines, "b.jsonl": lines}))
    told: list[tuple[int, int]] = []
    memory.absorb([str(path)], intake=Intake(dry_run=True), progress=lambda *at: told.append(at))
    assert {total for _, total in told} == {2 * len(lines)}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] > len(lines)
