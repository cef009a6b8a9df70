"""A person at a terminal picks a chat model, or has one fetched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, chat_model
from tests.process import Shared

PROGRAM = """
import sys
from memcli.cli.models import pick_model
from memcli.cli.output import Output, report_error
from memcli.cli.run import Run
from memcli.errors import MemcliError
try:
    print("picked:", pick_model(Run({}, Output())).name)
except MemcliError as error:
    report_error(error, as_json=False)
    sys.exit(error.exit_code)
"""

MODELS = (chat_model("qwen3:4b"), chat_model(), chat_model("big:cloud"))


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer(MODELS, library=[chat_model("mistral:latest")]) as running:
        yield running


def picked(
    tmp_path: Path, server: OllamaServer, *, typed: str, after: str, model: str = ""
) -> tuple[int, str]:
    env = {"OLLAMA_HOST": server.host, "MEMCLI_CHAT_MODEL": model, "COLUMNS": "100"}
    shared = Shared(tmp_path, env)
    return shared.on_terminal(typed=typed, after=after, program=("-c", PROGRAM))


@pytest.mark.parametrize(
    ("typed", "name"),
    [("\n", "llama3.2"), ("2\n", "qwen3:4b"), ("qwen3:4b\n", "qwen3:4b"), ("3\n", "big:cloud")],
)
def test_a_number_or_a_name_or_enter_picks_a_model(
    tmp_path: Path, server: OllamaServer, typed: str, name: str
) -> None:
    code, shown = picked(tmp_path, server, typed=typed, after="[1]")
    assert (code, f"picked: {name}\n" in shown) == (0, True)
    assert "   3  big:cloud  what you say leaves this machine" in shown


def test_what_is_no_choice_is_asked_again_and_then_given_up(tmp_path: Path, server: OllamaServer) -> None:
    code, shown = picked(tmp_path, server, typed="9\nx\n0\n", after="[1]")
    assert (code, "no chat model was chosen" in shown) == (1, True)


def test_a_model_that_leaves_the_machine_is_not_picked_by_a_mere_enter(
    tmp_path: Path, server: OllamaServer
) -> None:
    server.models = [chat_model("big:cloud")]
    code, shown = picked(tmp_path, server, typed="\n\n\n", after="one?")
    assert (code, "picked" in shown) == (1, False)


def test_a_model_is_fetched_after_a_yes(tmp_path: Path, server: OllamaServer) -> None:
    code, shown = picked(tmp_path, server, typed="y\n", after="[y/N]", model="mistral")
    assert (code, "picked: mistral\n" in shown) == (0, True)
    assert "to keep it: memcli config set chat.model mistral" in shown


def test_a_model_is_not_fetched_after_a_no(tmp_path: Path, server: OllamaServer) -> None:
    code, shown = picked(tmp_path, server, typed="n\n", after="[y/N]", model="mistral")
    assert (code, "hint: run: ollama pull mistral" in shown) == (1, True)
    assert "/api/pull" not in {request.path for request in server.requests}


def test_names_of_models_do_not_command_the_terminal(tmp_path: Path) -> None:
    with OllamaServer([chat_model("a\x1b[2Jb:latest"), chat_model()]) as server:
        _, shown = picked(tmp_path, server, typed="2\n", after="[1]")
    assert "\x1b[2J" not in shown


def test_where_nobody_is_to_be_asked_it_is_exit_4_with_the_names(
    tmp_path: Path, server: OllamaServer
) -> None:
    env = {**os.environ, **Shared(tmp_path, {"OLLAMA_HOST": server.host}).environment}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "")
    assert "llama3.2, qwen3:4b, big:cloud" in done.stderr
