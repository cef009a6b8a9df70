"""The program in a home that the tests of a module share: as a process, in this one, and on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from memcli.__main__ import _main as run_main
from memcli.record_json import to_json
from memcli.types import Record
from tests.conftest import XDG, Run

NOW = "2026-03-01T09:00:00.000Z"
_SILENT_S = 60
"""So long a program that shows nothing is waited for."""


@dataclass(frozen=True)
class Shared:
    """Runs the program in a home that many tests read; nothing of this machine reaches it.

    The clock stands at NOW, and no embedder is asked unless `env` says otherwise.
    """

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        ours = dict.fromkeys((name for name in os.environ if name.startswith("MEMCLI_")), "")
        places = {name: str(self.home / place) for name, place in XDG.items()}
        fixed = {"HOME": str(self.home), "OLLAMA_HOST": "127.0.0.1:9", "TZ": "UTC", "TERM": "xterm-256color"}
        return {**ours, **places, **fixed, "MEMCLI_NOW": NOW, "MEMCLI_EMBEDDER": "none", **self.env}

    def __call__(
        self,
        *args: str | Path,
        input: str = "",  # noqa: A002 (as subprocess calls it)
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return Run(self.home)(*args, input=input, env={**self.environment, **(env or {})})

    def here(
        self,
        *args: str | Path,
        input: str = "",  # noqa: A002 (as subprocess calls it)
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """The same in this process: ten times as fast, for long tables."""
        with contextlib.ExitStack() as stack:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            stack.enter_context(contextlib.chdir(self.home))
            for name, value in {**self.environment, **(env or {})}.items():
                patch.setenv(name, value)
            streams = {
                name: stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline=""))
                for name in ("stdin", "stdout", "stderr")
            }
            streams["stdin"].write(input)
            for name, stream in streams.items():
                stream.seek(0)
                patch.setattr(sys, name, stream)
            code = run_main([*map(str, args)])
            told = {name: _whole(stream) for name, stream in streams.items()}
        return subprocess.CompletedProcess(args, code, told["stdout"], told["stderr"])

    def json(self, *args: str | Path, **given: Any) -> Any:
        """The JSON document that a command answers with, run in this process, whatever its exit code."""
        done = self.here(*args, "--json", **given)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def start(self, *args: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """The program while it runs, with pipes that nobody has closed."""
        return subprocess.Popen(
            [sys.executable, "-m", "memcli", *map(str, args)],
            env={**os.environ, **self.environment, **(env or {})},
            cwd=self.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def on_terminal(
        self,
        *args: str,
        columns: int = 80,
        typed: str = "",
        after: str = "",
        env: Mapping[str, str] | None = None,
        program: tuple[str, str] = ("-m", "memcli"),
    ) -> tuple[int, str]:
        """The exit code, and all that the program shows to a person who types once `after` is to be read."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        # A Ctrl-C reaches only what the terminal controls.
        begin = "import os, sys; os.login_tty(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
        with subprocess.Popen(
            [sys.executable, "-c", begin, *program, *args],
            env={**os.environ, **self.environment, **(env or {})},
            cwd=self.home,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as done:
            os.close(theirs)
            shown = b""
            while piece := _read(ours):
                shown += piece
                if typed and after in shown.decode(errors="ignore"):
                    os.write(ours, typed.encode())
                    typed = ""
            try:
                done.wait(_SILENT_S)
            except subprocess.TimeoutExpired:
                # It waits for what nobody types: the test fails by what was shown, and does not hang.
                done.kill()
        os.close(ours)
        return done.returncode, shown.decode().replace("\r\n", "\n")


class Terminal:
    """The program on a terminal of its own, with somebody who waits for what it shows and types."""

    def __init__(self, shared: Shared, *args: str, columns: int = 80, env: Mapping[str, str] | None = None):
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        begin = "import os, sys; os.login_tty(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
        self.process = subprocess.Popen(
            [sys.executable, "-c", begin, "-m", "memcli", *args],
            env={**os.environ, **shared.environment, **(env or {})},
            cwd=shared.home,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self._raw = b""
        self._read_to = 0

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    @property
    def shown(self) -> str:
        """All that was shown, without what moves and colours it."""
        return re.sub(
            r"\x1b(?:\[[0-9;?]*[A-Za-z]|[=>]|\][^\x07]*\x07)|\r", "", self._raw.decode(errors="ignore")
        )

    def wait_for(self, text: str) -> str:
        """Wait until a text is shown after what was waited for before; returns what came up to it."""
        while (at := self.shown.find(text, self._read_to)) < 0:
            piece = _read(self._ours)
            assert piece, f"{text!r} is not shown in {self.shown[self._read_to :]!r}"
            self._raw += piece
            if b"\x1b[6n" in piece:
                # It asks where the cursor is.
                os.write(self._ours, b"\x1b[1;1R")
        came = self.shown[self._read_to : at + len(text)]
        self._read_to = at + len(text)
        return came

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """Wait until it is over; returns the exit code."""
        while piece := _read(self._ours):
            self._raw += piece
        return self.process.wait(_SILENT_S)


def _whole(stream: IO[str]) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def _read(descriptor: int) -> bytes:
    """What is shown next; nothing at the end, or when a minute brings nothing."""
    if not select.select([descriptor], [], [], _SILENT_S)[0]:
        return b""
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def export_of(records: Iterable[Record]) -> str:
    """Records as our own export writes them, for import to take as they are."""
    return "".join(json.dumps(to_json(record), ensure_ascii=False) + "\n" for record in records)


def files_of(directory: Path) -> dict[str, tuple[int, int]]:
    """Every file under a directory with its size and the time of its last change.

    SQLite's `-shm` is left out: it is no data, and a reader touches it.
    """
    return {
        str(path.relative_to(directory)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }
