"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

import pytest

from memcli.atomic import write_atomically
from memcli.errors import StoreError, UsageError


def write_hello(stream: IO[bytes]) -> int:
    return stream.write(b"hello")


def write_half(stream: IO[bytes]) -> None:
    stream.write(b"half")
    raise ZeroDivisionError


def test_a_file_is_its_owners_alone(tmp_path: Path) -> None:
    assert write_atomically(tmp_path / "out", write_hello) == 5
    assert (tmp_path / "out").read_bytes() == b"hello"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600


def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, write_half)
    assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == {"out": b"old"}


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    seen = write_atomically(
        path, lambda stream: (stream.write(b"new"), stream.flush(), path.read_bytes())[-1]
    )
    assert (seen, path.read_bytes()) == (b"old", b"new")


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", write_hello)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"hello"


def test_a_pipe_is_written_to_as_it_comes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", write_hello)
    assert os.read(reader, 100) == b"hello"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_missing_directory_is_a_mistake_of_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no directory .*missing"):
        write_atomically(tmp_path / "missing" / "out", write_hello)


def test_a_directory_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(StoreError, match="out cannot be written: Is a directory"):
        write_atomically(tmp_path / "out", write_hello)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_is_told_as_such() -> None:
    with pytest.raises(StoreError, match="/dev/full cannot be written: No space left on device"):
        write_atomically(Path("/dev/full"), write_hello)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_forbidden_directory_is_told_as_such(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="out cannot be written: Permission denied"):
        write_atomically(tmp_path / "out", write_hello)
