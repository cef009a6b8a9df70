"""What the program makes of its surroundings: no home, any locale, odd arguments, closed pipes, long text."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.process import Shared
from tests.torture.program import QUIET, Done, history, is_clean, start

pytestmark = pytest.mark.usefixtures("quiet_home")


@pytest.fixture
def quiet_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No embedder and a clock that stands still, for `run` too."""
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_without_any_home_it_asks_for_a_place(tmp_path: Path) -> None:
    # A user that no list of users knows; it may read everything, the interpreter lies where it lies.
    someone = ["setpriv", "--reuid=54321", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    bare = {name: os.environ[name] for name in ("PATH", "MEMCLI_EMBEDDER")}

    def run_bare(*args: str, **env: str) -> Done:
        command = [*someone, sys.executable, "-m", "memcli", *args]
        return subprocess.run(command, env=bare | env, capture_output=True, encoding="utf-8", cwd="/")

    refused = run_bare("remember", "a heron")
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
    assert "MEMCLI_DATA_DIR" in refused.stderr
    assert "MEMCLI_CONFIG" in refused.stderr
    placed = {"MEMCLI_DATA_DIR": str(tmp_path / "data"), "MEMCLI_CONFIG": str(tmp_path / "config.toml")}
    assert run_bare("remember", "a heron", **placed).returncode == 0
    assert "heron" in run_bare("recall", "heron", **placed).stdout


@pytest.mark.parametrize("coerce", ["0", "1"])
def test_the_locale_does_not_matter(run: Run, coerce: str) -> None:
    plain = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": coerce}
    said = run("remember", "我喜欢喝龙井茶 🍵", "--json", env=plain)
    assert (said.returncode, said.stderr) == (0, "")
    assert json.loads(said.stdout)["added"][0]["text"] == "我喜欢喝龙井茶 🍵"
    assert "我喜欢喝龙井茶 🍵" in run("recall", "龙井", env=plain).stdout
    assert "我喜欢喝龙井茶 🍵" in run("export", env=plain).stdout


@pytest.mark.parametrize("command", [("remember",), ("recall",), ("forget", "--yes", "--match")])
def test_an_argument_that_is_no_text_is_bad_usage_or_mended(
    run: Run, home: Path, command: tuple[str, ...]
) -> None:
    assert run("remember", "a heron").returncode == 0
    broken = [os.fsencode(argument) for argument in (sys.executable, "-m", "memcli", *command)]
    result = subprocess.run(
        [*broken, b"caf\xe9 noir"], capture_output=True, cwd=home, stdin=subprocess.DEVNULL
    )
    assert result.returncode in (0, 1, 2), result.stderr


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of 5,000 memories."""
    place = tmp_path_factory.mktemp("many")
    shared = Shared(place, {**QUIET, "MEMCLI_DATA_DIR": str(place / "data")})
    assert shared.here("import", history(place / "history.jsonl", 5_000)).returncode == 0
    return place / "data"


@pytest.mark.parametrize("command", [("list", "-n", "5000"), ("list", "-n", "5000", "--json"), ("export",)])
def test_output_that_is_closed_early_is_no_error(many: Path, command: tuple[str, ...]) -> None:
    process = start(*command, data=many)
    assert process.stdout is not None
    assert process.stdout.read(1) != ""
    process.stdout.close()
    process.stdout = None
    _, told = process.communicate(timeout=60)
    assert (process.returncode, "Error" in told, "Exception" in told) == (0, False, False), told


def test_a_megabyte_is_remembered_and_found(run: Run) -> None:
    text = " ".join(f"word{n}" for n in range(110_000)) + " and the zanzibar clause"
    assert len(text) > 1_000_000
    said = run("remember", "-", "--json", input=text)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["added"][0]["text"] == text
    found = run("recall", "zanzibar clause", "--json")
    best = json.loads(found.stdout)["results"][0]
    assert best["text"] == text
    assert "zanzibar clause" in best["excerpt"]


@pytest.mark.parametrize("text", ["harbour 我们 calm " * 70_000, "".join(map(str, range(200_000)))], ids=len)
def test_a_megabyte_can_be_asked(run: Run, text: str) -> None:
    assert run("remember", "The harbour was calm").returncode == 0
    asked = run("recall", "-", "--json", input=text, timeout=30)
    assert (asked.returncode, is_clean(asked)) in ((0, True), (1, True)), asked.stderr


@pytest.mark.parametrize("question", ["", " ", '"', "'; drop", "AND OR (", "*", "🙂", "x" * 10_000])
def test_no_question_crashes(home: Path, question: str) -> None:
    result = Shared(home).here("recall", "--", question)
    assert (result.returncode in (0, 1, 2), is_clean(result)) == (True, True), result.stderr
