from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.errors import UsageError
from memcli.importers import ReadOptions, Source, Unreadable, detect, read, sources
from memcli.importers.source import HEAD_BYTES


def found(*paths: Path, below: Path) -> list[str]:
    """The files that the paths lead to, relative; what is left out, with why."""
    return [
        os.path.relpath(item.path, below) + (f": {item.why}" if isinstance(item, Unreadable) else "")
        for item in sources(map(str, paths))
    ]


def write(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_directory_is_walked_in_order_of_name_without_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b/2.md", "b/1.md", "a.md", ".obsidian/x.md", "b/.trash/y.md", "b/.z.md", "c.md"):
        write(tmp_path / name)
    assert found(tmp_path, below=tmp_path) == ["a.md", "b/1.md", "b/2.md", "c.md"]


def test_hidden_file_that_is_named_is_read(tmp_path: Path) -> None:
    assert found(write(tmp_path / ".notes"), below=tmp_path) == [".notes"]


def test_file_that_several_links_lead_to_comes_once(tmp_path: Path) -> None:
    real = write(tmp_path / "real" / "a.jsonl")
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "real" / "loop").symlink_to("..")
    (tmp_path / "real" / "same.jsonl").symlink_to("a.jsonl")
    assert found(tmp_path, real, real, below=tmp_path) == ["alias/a.jsonl"]


def test_link_to_nothing_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").symlink_to("nowhere")
    (tmp_path / "b.jsonl").symlink_to("b.jsonl")
    write(tmp_path / "c.jsonl")
    dangling, circular, good = found(tmp_path, below=tmp_path)
    assert dangling == "a.jsonl: no such file or directory"
    assert circular.startswith("b.jsonl: ")
    assert good == "c.jsonl"


def test_pipe_in_a_directory_is_left_out_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert found(tmp_path, below=tmp_path) == ["pipe.jsonl: not a regular file"]


def test_pipe_that_is_named_is_read() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as pipe:
        pipe.write(b"hello")
    (source,) = sources([f"/dev/fd/{read_end}"])
    assert isinstance(source, Source)
    with source:
        assert source.stream().read() == b"hello"
    os.close(read_end)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_device_is_left_out_though_it_is_named(device: str) -> None:
    (item,) = sources([device])
    assert item == Unreadable(device, "it is a device, not a file")


def test_device_that_is_standard_input_is_read() -> None:
    code = "from memcli.importers import sources; [source] = sources(['/dev/stdin']); print(source.head())"
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    assert done.stdout == "b''\n"


def test_device_is_left_out_where_standard_input_is_closed() -> None:
    code = "from memcli.importers import sources; print(*sources(['/dev/zero']))"
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" <&-', sys.executable, code], capture_output=True, text=True, check=True
    )
    assert "it is a device, not a file" in done.stdout


def test_missing_path_is_reported(tmp_path: Path) -> None:
    assert found(tmp_path / "no.md", below=tmp_path) == ["no.md: no such file or directory"]


def test_name_that_is_not_utf_8_can_be_printed(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("text")
    (source,) = sources([str(tmp_path)])
    assert isinstance(source, Source)
    assert source.path.endswith("caf\\xe9.md")
    assert source.key is not None
    assert source.key.encode().endswith(b"caf\\xe9.md")
    with source:
        assert source.head() == b"text"


def test_file_that_vanishes_is_an_error_of_that_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md")
    (source,) = sources([str(path)])
    path.unlink()
    assert isinstance(source, Source)
    with pytest.raises(UsageError, match="cannot be read: no such file"):
        source.head()


def test_head_does_not_change_what_is_read() -> None:
    data = bytes(range(256)) * 1000
    source = Source("x", lambda: io.BytesIO(data))
    assert data.startswith(source.head())
    assert source.bytes_read == 0
    assert source.stream().read() == data
    assert source.bytes_read == len(data)
    assert source.head() == data[:HEAD_BYTES]


def test_head_holds_the_first_line_though_it_is_long() -> None:
    line = b"x" * (3 * HEAD_BYTES)
    source = Source("x", lambda: io.BytesIO(line + b"\nrest" + b"y" * (1 << 21)))
    assert source.head().startswith(line + b"\n")


def test_digest_is_of_all_that_was_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"role":"user","content":"hi"}\n' * 5000)
    (source,) = sources([str(path)])
    assert isinstance(source, Source)
    with source:
        list(read(source, options=ReadOptions()))
    assert source.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert source.bytes_read == source.size == path.stat().st_size


def test_standard_input_is_a_source_without_key_and_stays_open() -> None:
    stdin = io.BytesIO(b'{"role":"user","content":"hi"}\n')
    (source,) = sources(["-"], stdin=stdin)
    assert isinstance(source, Source)
    with source:
        assert (source.path, source.key, source.size) == ("-", None, None)
        assert detect(source).name == "message-jsonl"
    assert not stdin.closed


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04rest", "a zip archive"),
        (b"%PDF-1.7", "a PDF document"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"PAR1\x15\x04", "a Parquet table"),
        (b"notes.md".ljust(257, b"\0") + b"ustar\0", "a tar archive"),
    ],
)
@pytest.mark.parametrize("format_name", [None, "text"])
def test_what_is_no_text_is_refused_by_its_first_bytes(
    data: bytes, what: str, format_name: str | None
) -> None:
    source = Source("notes.md", lambda: io.BytesIO(data))
    with pytest.raises(UsageError, match=f"notes.md is {what}, which cannot be read"):
        list(read(source, options=ReadOptions(), format_name=format_name))


def test_parquet_is_said_to_be_one_way() -> None:
    source = Source("memories.parquet", lambda: io.BytesIO(b"PAR1\x15\x04"))
    with pytest.raises(UsageError) as error:
        detect(source)
    assert "one-way" in error.value.hint
    assert "JSONL" in error.value.hint


def test_bomb_that_begins_like_an_empty_file_is_a_bomb_and_nothing_else() -> None:
    bomb = gzip.compress(bytes(50 << 20))
    with pytest.raises(UsageError, match="200 times its size"):
        detect(Source("zeros.gz", lambda: io.BytesIO(bomb)))
    items = read(Source("zeros.gz", lambda: io.BytesIO(bomb)), options=ReadOptions(), format_name="text")
    with pytest.raises(UsageError, match="200 times its size"):
        next(items)


def test_reading_does_not_wait_for_the_end_of_the_file() -> None:
    lines = b"".join(b'{"role":"user","content":"%d %s"}\n' % (n, b"x" * 500) for n in range(20_000))
    source = Source("x", lambda: io.BytesIO(lines), size=len(lines))
    next(read(source, options=ReadOptions()))
    assert source.bytes_read < len(lines) / 3
