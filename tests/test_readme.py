"""What README.md shows of the program is what it prints."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import memcli
from tests.process import Shared

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
TOURS = ("Tour", "What is learned", "Undo", "Working memory for scripts")
HISTORY = (
    '{"role":"user","content":"The boat is in the yard until May","timestamp":1790000000,"session_id":"a"}\n'
)
ID = re.compile(r"\b(?=[0-9a-f]*[0-9])(?:[0-9a-f]{20}|[0-9a-f]{8})\b")


def shown_in(title: str) -> Iterator[tuple[str, str]]:
    """The commands of a section in order, each with what it prints."""
    section = README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    for block in re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        for command, _, printed in (
            part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        ):
            yield command, printed


def masked(text: str) -> str:
    """The text without what is another in each run: ids, days, figures after a point."""
    text = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DAY", ID.sub("ID", text))
    return re.sub(r"\d+\.\d+", "SCORE", text).strip()


@pytest.mark.parametrize("title", TOURS)
def test_the_program_prints_what_the_readme_shows(title: str, tmp_path: Path) -> None:
    shared = Shared(
        tmp_path, {"MEMCLI_EMBEDDER": "builtin", "NO_COLOR": "1", "TERM": "dumb", "MEMCLI_NOW": ""}
    )
    (tmp_path / "memcli").mkdir()
    shutil.copy(Path(memcli.__file__).with_name("sample.jsonl"), tmp_path / "memcli")
    (tmp_path / "history.jsonl").write_text(HISTORY, "utf-8")
    ids: dict[str, str] = {}
    for command, printed in shown_in(title):
        said, _, piped = command.partition(" | ")
        args = [_present(word, ids) for word in shlex.split(said)[1:]]
        if args[0] == "recall" and "--format" not in args:
            answer = shared.on_terminal(*args, columns=100)[1]
        else:
            done = shared.here(*args)
            answer = done.stdout + done.stderr
        if not piped:
            assert masked(answer) == masked(printed), command
            ids |= zip(ID.findall(printed), ID.findall(answer), strict=True)


def _present(word: str, ids: dict[str, str]) -> str:
    """An argument with the id that this run has in the place of one of the README's."""
    return next((ours for theirs, ours in ids.items() if len(word) >= 4 and theirs.startswith(word)), word)
