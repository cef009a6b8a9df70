"""Of an archive what holds a history or a note is read, and what only belongs to an export is passed over."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from memcli.errors import UsageError
from memcli.importers import Source, sources
from memcli.importers.parts import Part, parts
from memcli.types import Notice

from .reading import source_of
from .test_container import zip_of

CHAT = json.dumps(
    [{"mapping": {"u": {"id": "u", "parent": None, "message": None}}, "current_node": "u"}]
).encode()
LINE = b'{"role":"user","content":"hello"}\n'
UNKNOWN = b'{"weight": 3}'


def split(files: dict[str, bytes], format_name: str | None = None) -> tuple[dict[str, str], list[str]]:
    """The members that are read with their formats, and what is told of the others."""
    source = source_of(zip_of(files), name="export.zip")
    found = list(parts(source, encoding=None, format_name=format_name))
    told = [item.text for item in found if isinstance(item, Notice)]
    return {part.source.name: part.form.name for part in found if isinstance(part, Part)}, told


@pytest.mark.parametrize(
    ("files", "taken", "told"),
    [
        (
            {
                "conversations-001.json": CHAT,
                "conversations-000.json": CHAT,
                "chat.html": b"<html>the same</html>",
                "user.json": b'{"id": "u"}',
                "user_settings.json": b"{}",
                "export_manifest.json": b'{"version": 1}',
                "message_feedback.json": b'[{"id": "x", "rating": "thumbsUp"}]',
                "file-1.png": b"\x89PNG\r\n\x1a\n\0\0",
                "file-2.dat": b"RIFF\0\0\0\0WEBP",
                "__MACOSX/._conversations-000.json": b"\0\5\x16\7",
            },
            {"conversations-000.json": "chatgpt", "conversations-001.json": "chatgpt"},
            [],
        ),
        ({"tea.md": b"# Tea", "list.txt": b"milk"}, {"list.txt": "text", "tea.md": "markdown"}, []),
        ({"a.jsonl": LINE, "tea.md": b"# Tea"}, {"a.jsonl": "message-jsonl", "tea.md": "markdown"}, []),
        ({"a.jsonl.gz": gzip.compress(LINE)}, {"a.jsonl.gz": "message-jsonl"}, []),
        (
            {"conversations.json": CHAT, "README.txt": b"how to read it"},
            {"conversations.json": "chatgpt"},
            ["texts beside the history were not read: README.txt"],
        ),
        (
            {"conversations.json": CHAT, "new.json": UNKNOWN},
            {"conversations.json": "chatgpt"},
            ["export.zip!new.json is JSON of no known shape: its keys are weight"],
        ),
        (
            {"a.md": b"# A", "inner.zip": zip_of({"b.md": b"# B"})},
            {"a.md": "markdown", "b.md": "markdown"},
            [],
        ),
        (
            {"takeout-1.zip": zip_of({"conversations.json": CHAT, "README.txt": b"how to read it"})},
            {"conversations.json": "chatgpt"},
            ["texts beside the history were not read: README.txt"],
        ),
        (
            {"a.md": b"# A", "inner.zip": zip_of({"b.md": b"# B", "in.zip": zip_of({"c.md": b"# C"})})},
            {"a.md": "markdown", "b.md": "markdown"},
            ["export.zip!inner.zip!in.zip is a zip archive, which cannot be read"],
        ),
        (
            {"a.md": b"# A", "broken.zip": zip_of({"b.md": b"# B" * 99})[:70]},
            {"a.md": "markdown"},
            ["export.zip!broken.zip cannot be read: the zip archive is damaged or cut off"],
        ),
        ({"a.md": b"# A", "page.html": b"<p>words</p>", "style.css": b"p {}"}, {"a.md": "markdown"}, []),
    ],
    ids=[
        *("chatgpt", "notes", "both", "compressed", "manual", "unknown", "archive in it", "export in it"),
        *("archive two deep", "damaged archive in it", "web page"),
    ],
)
def test_archive_gives_its_histories(files: dict[str, bytes], taken: dict[str, str], told: list[str]) -> None:
    found = split(files)
    assert found == (taken, told)
    assert list(found[0]) == sorted(taken)


def test_many_members_of_no_known_shape_are_told_in_a_few_lines() -> None:
    _, told = split({"a.md": b"# A", **{f"{n}.json": UNKNOWN for n in range(20)}})
    assert len(told) == 6
    assert told[-1] == "15 more files of the archive could not be read"


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "holds no history and no note"),
        ({"user.json": b'{"id": "u"}', "photo.jpg": b"\xff\xd8\xff\0"}, "holds no history and no note"),
        ({"new.json": UNKNOWN}, "new.json is JSON of no known shape"),
        ({"a.json": bytes(30 << 20)}, "200 times its size"),
        ({"in.zip": zip_of({"a.json": bytes(30 << 20)})}, "200 times its size"),
        ({"in.zip": zip_of({"photo.jpg": b"\xff\xd8\xff\0"})}, "holds no history and no note"),
    ],
    ids=["empty", "side files", "unknown", "bomb", "bomb in it", "pictures in it"],
)
def test_archive_of_which_nothing_can_be_read_is_refused(files: dict[str, bytes], why: str) -> None:
    with pytest.raises(UsageError, match=f"export.zip.* {why}|{why}"):
        split(files)


def test_archive_whose_members_are_too_much_together_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memcli.importers.container.MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(UsageError, match="it unpacks to more than"):
        split({f"{n}.jsonl": LINE * 10 for n in range(9)})


def test_archives_in_an_archive_are_held_against_what_they_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memcli.importers.container.MAX_UNPACKED_BYTES", 2500)
    inner = zip_of({"a.jsonl": LINE * 10})
    assert split({"1.zip": inner})[0] == {"a.jsonl": "message-jsonl"}
    _, told = split({f"{n}.zip": inner for n in range(9)})
    assert "it unpacks to more than" in told[0]


def test_format_that_is_named_is_read_from_the_members_that_have_it() -> None:
    files = {"a.jsonl": LINE, "b.json": CHAT, "user.json": b'{"id": "u"}'}
    assert split(files, "message-jsonl") == ({"a.jsonl": "message-jsonl"}, [])
    with pytest.raises(UsageError, match="holds nothing of the format csv"):
        split(files, "csv")


def test_parts_say_how_far_into_the_archive_they_are() -> None:
    source = source_of(zip_of({"a.md": b"# A", "b.md": b"# B and more"}))
    found = [part for part in parts(source, encoding=None, format_name=None) if isinstance(part, Part)]
    assert [(part.before_bytes, part.total_bytes) for part in found] == [(0, 15), (3, 15)]


def test_side_files_of_an_unpacked_export_are_passed_over(tmp_path: Path) -> None:
    files = {"conversations.json": CHAT, "chat.html": b"<html>the same</html>", "user.json": b'{"id": "u"}'}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    taken = []
    for source in sources([str(tmp_path)]):
        assert isinstance(source, Source)
        with source:
            taken += [
                item for item in parts(source, encoding=None, format_name=None) if isinstance(item, Part)
            ]
    assert [part.source.name for part in taken] == ["conversations.json"]


def test_side_file_that_is_named_is_an_error_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "user.json").write_bytes(b'{"id": "u"}')
    (source,) = sources([str(tmp_path / "user.json")])
    assert isinstance(source, Source)
    with source, pytest.raises(UsageError, match="JSON of no known shape"):
        list(parts(source, encoding=None, format_name=None))
