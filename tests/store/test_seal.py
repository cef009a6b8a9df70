"""A file that was dropped for a newer one is no damage."""

from __future__ import annotations

import threading
from pathlib import Path

from memcli.store import seal


def manifest(lance: Path, version: int) -> Path:
    return lance / "t.lance" / "_versions" / f"{2**64 - 1 - version}.manifest"


def test_a_newest_version_that_is_replaced_during_the_look_at_it_is_no_damage(tmp_path: Path) -> None:
    for number in range(500):
        lance = tmp_path / str(number)
        manifest(lance, 10).parent.mkdir(parents=True)
        manifest(lance, 10).write_bytes(b"ten")
        known = seal.Seal(10, *seal.sum_of(manifest(lance, 10)))

        both = threading.Barrier(2)

        def replace(lance: Path = lance, both: threading.Barrier = both) -> None:
            both.wait()
            manifest(lance, 11).write_bytes(b"eleven")
            manifest(lance, 10).unlink()

        compaction = threading.Thread(target=replace)
        compaction.start()
        both.wait()
        for _ in range(5):
            seal.check_newest(lance, "t", known)
        compaction.join()
