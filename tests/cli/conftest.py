"""A scripted server, a home and a session for the tests of what is typed on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.talking import READY
from tests.ollama_server import OllamaServer, chat_model
from tests.process import Shared, Terminal


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer([chat_model()]) as server:
        yield server


@pytest.fixture
def shared(tmp_path: Path, server: OllamaServer) -> Shared:
    return Shared(tmp_path, {"OLLAMA_HOST": server.host})


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OllamaServer, Terminal]]:
    """One session in which many tests say something that hangs on nothing before."""
    with OllamaServer([chat_model()]) as server:
        shared = Shared(tmp_path_factory.mktemp("long"), {"OLLAMA_HOST": server.host})
        with Terminal(shared, "chat") as terminal:
            terminal.wait_for(READY)
            yield server, terminal


@pytest.fixture
def terminal(shared: Shared) -> Iterator[Terminal]:
    with Terminal(shared, "chat") as terminal:
        terminal.wait_for(READY)
        yield terminal
