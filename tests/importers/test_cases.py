"""Each folder of tests/data/import is a file and what its reader must yield, in full."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memcli.importers import detect

from .reading import items_of, source_of, summary_of

CASES = Path(__file__).parent.parent / "data" / "import"


@pytest.mark.parametrize("folder", sorted(CASES.iterdir()), ids=lambda folder: folder.name)
def test_case_is_read_as_expected(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    (file,) = (path for path in folder.iterdir() if path.name != "expected.json")
    options = expected.pop("options", {})
    source = source_of(file.read_bytes(), name=file.name)
    found = {"format": detect(source, encoding=options.get("encoding")).name}
    found |= summary_of(items_of(file.read_bytes(), name=file.name, **options))
    assert found == expected
