"""What all tests share: a home of one's own, and the program run as a process in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# A shell ignores Ctrl-C for what it runs in the background, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

XDG = {
    "XDG_DATA_HOME": ".local/share",
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}


@dataclass(frozen=True)
class Run:
    """Runs `python -m memcli ARGS` in a home; `env` is laid over the environment, stdin is only `input`."""

    home: Path

    def __call__(
        self,
        *args: str | Path,
        input: str = "",  # noqa: A002 (as subprocess calls it)
        env: Mapping[str, str] | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "memcli", *map(str, args)],
            input=input,
            env={**os.environ, **(env or {})},
            cwd=self.home,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
        )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home with no settings, no memories, no Ollama within reach, in UTC."""
    home = tmp_path / "home"
    home.mkdir()
    for variable in [name for name in os.environ if name.startswith("MEMCLI_")]:
        monkeypatch.delenv(variable)
    for variable, place in XDG.items():
        monkeypatch.setenv(variable, str(home / place))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("TZ", "UTC")
    return home


@pytest.fixture
def run(home: Path) -> Run:
    """The program as a person runs it, in `home`."""
    return Run(home)
