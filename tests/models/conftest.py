"""The scripted Ollama server, one a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ollama_server import OllamaServer


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as running:
        yield running
