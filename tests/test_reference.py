"""The README's reference is what the program says of itself."""

from __future__ import annotations

from tests.reference import README, with_reference


def test_the_reference_in_the_readme_is_the_one_the_program_writes() -> None:
    readme = README.read_text("utf-8")
    assert with_reference(readme) == readme, "run `python -m tests.reference`"
