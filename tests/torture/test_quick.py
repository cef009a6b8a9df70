"""The torture for a few seconds each; each module of this directory runs for as long as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture import crash, disk, fuzz, many

pytestmark = pytest.mark.usefixtures("home")


def test_what_was_acknowledged_survives_every_kill_and_nothing_is_there_twice(tmp_path: Path) -> None:
    assert crash.torture(tmp_path, rounds=12, seed=1, messages=60).wrong == []


def test_eight_processes_at_once_lose_and_double_nothing_and_wait_in_no_silence(tmp_path: Path) -> None:
    assert many.torture(tmp_path, seconds=5, seed=1, messages=200).wrong == []


def test_no_damage_to_a_file_is_believed_and_the_doctor_mends_or_names_it(tmp_path: Path) -> None:
    assert disk.torture(tmp_path, rounds=25, seed=1).wrong == []


@pytest.mark.parametrize("name", fuzz.PROPERTIES)
def test_hostile_content_is_content(tmp_path: Path, name: str) -> None:
    fuzz.torture(tmp_path, name, examples=10)
