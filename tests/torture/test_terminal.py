"""No command shows a terminal what it would obey: texts, names, files, arguments, answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from memcli.types import Record
from tests.ollama_server import OllamaServer, chat_model
from tests.process import Shared, export_of
from tests.torture.fuzz import ESCAPES, NOW, OBEYED

EVIL = f"heron\x1b]0;owned\x07\x1bPq\x1b\\\x1bc\x1b[6n\x1b[2J{ESCAPES}owl"
"""Sets a title, begins a device string, resets, asks for the cursor, clears: and every control there is."""
TOLD = EVIL.replace("\n", " ")
NAME = "".join(char for char in EVIL if char not in "/\n\0")
ID = "aaaa0000000000000000"
# What the program itself sends to colour and to draw an answer as it grows.
_OURS = re.compile(r"\x1b\[(?:\d+(?:;\d+)*)?m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r")

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "list": ("list",),
    "list as JSON": ("list", "--json"),
    "list as lines": ("list", "--ndjson"),
    "show": ("show", ID),
    "show as JSON": ("show", ID, "--json"),
    "recall": ("recall", "heron owl"),
    "recall, explained": ("recall", "heron owl", "--explain"),
    "the block": ("recall", "heron owl", "--format", "prompt"),
    "stats": ("stats",),
    "edit": ("edit", ID, "--topic", EVIL, "--dry-run"),
    "remember": ("remember", EVIL, "--topic", EVIL, "--source", TOLD, "--dry-run"),
    "forget": ("forget", ID, "--dry-run"),
    "forget by word": ("forget", "--query", EVIL, "--dry-run"),
    "export": ("export",),
    "export as Markdown": ("export", "--format", "markdown"),
    "export as CSV": ("export", "--format", "csv"),
    "import": ("import", NAME),
    "import, planned": ("import", NAME, "--dry-run"),
    "import of nothing": ("import", f"no such {NAME}"),
    "chat": ("chat", EVIL),
    "chat as JSON": ("chat", EVIL, "--json"),
    "sessions": ("sessions",),
    "a session": ("sessions", "show", "last"),
    "a session's messages": ("sessions", "export", "last"),
    "deleting a session": ("sessions", "delete", "last", "--dry-run"),
    "a task": ("task", "show", "work"),
    "a value": ("task", "get", "work", "told"),
    "tasks": ("task", "list"),
    "a task of an evil name": ("task", "start", EVIL),
    "a task that is not there": ("task", "show", EVIL),
    "review": ("review",),
    "undo": ("undo", "--list"),
    "an id that is none": ("show", EVIL),
    "a source that is none": ("forget", "--source-id", EVIL, "--yes"),
    "a command that is none": (EVIL,),
    "an option that is none": ("list", f"--{NAME}"),
    "a kind that is none": ("list", "--kind", EVIL),
    "a time that is none": ("list", "--since", EVIL),
    "a format that is none": ("import", NAME, "--format", EVIL),
    "a file that is none": ("export", "-o", f"/nowhere/{NAME}"),
    "a user that is none": ("list", "--user", EVIL),
    "a place that is none": ("remember", "x", "--data-dir", f"/dev/null/{NAME}"),
    "a setting that is none": ("config", "get", EVIL),
    "a value that is none": ("config", "set", "k", EVIL),
    "an embedder that is none": ("reembed", EVIL),
    "a model that is none": ("chat", "hello", "--model", EVIL),
    "the doctor": ("doctor",),
}

_RUN = """
import json, os, sys
# There is nobody to ask.
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
from memcli.__main__ import _main
for number, argv in enumerate(json.load(open(sys.argv[1]))):
    print(f"<<<{number}>>>", flush=True)
    try:
        _main(argv)
    except SystemExit:
        pass
    sys.stdout.flush()
    sys.stderr.flush()
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command shows on a terminal, all of them run by one process."""
    home = tmp_path_factory.mktemp("home")
    evil = Record(
        ID,
        EVIL,
        topics=(EVIL,),
        project=TOLD,
        role="user",
        name=EVIL,
        source=TOLD,
        source_id=EVIL,
        session_id=EVIL,
        created_at=NOW,
        meta={"title": EVIL},
    )
    (home / "export.jsonl").write_text(export_of([evil]))
    message = {"id": "m1", "session_id": EVIL, "role": "user", "content": EVIL, "timestamp": 1_700_000_000}
    (home / NAME).write_text(json.dumps(message) + "\n{broken\n")
    (home / "commands.json").write_text(json.dumps(list(COMMANDS.values())))
    with OllamaServer([chat_model()], says=EVIL) as server:
        env = {"OLLAMA_HOST": server.host, "MEMCLI_CHAT_MODEL": "llama3.2"}
        shared = Shared(home, env)
        for command in (("import", "export.jsonl"), ("chat", EVIL), ("task", "start", "work")):
            assert shared.here(*command).returncode == 0
        assert shared.here("task", "set", "work", "told", EVIL).returncode == 0
        for car in ("Fiat", "Volvo"):
            assert shared.here("remember", "--extract", f"My car is a {car} {EVIL}").returncode == 0
        _, all_of_it = shared.on_terminal("commands.json", program=("-c", _RUN))
    parts = re.split(r"<<<\d+>>>", all_of_it)[1:]
    return dict(zip(COMMANDS, parts, strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_shows_a_terminal_what_it_would_obey(shown: dict[str, str], command: str) -> None:
    said = shown[command]
    assert said.strip()
    assert "Traceback" not in said
    assert "bug in memcli" not in said
    assert sorted(set(_OURS.sub("", said)) & OBEYED) == []


def test_what_is_escaped_for_the_terminal_is_exact_json(shown: dict[str, str]) -> None:
    found = json.loads(shown["list as JSON"])
    assert EVIL in {memory["text"] for memory in found["memories"]}


def test_names_that_are_paths_lead_nowhere(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("paths")
    shared = Shared(home)
    before = set(home.parent.iterdir())
    for user in ("..", "../x", "/tmp/x", "a/b", ".", ""):
        shared.here("remember", "a heron", "--user", user)
    for name in ("../x", "/x", "a/../../x"):
        shared.here("task", "start", name)
    (home / "evil.zip").write_bytes(_zip_with("../../evil.jsonl", "/evil.jsonl"))
    shared.here("import", "evil.zip")
    assert set(home.parent.iterdir()) == before
    assert {path.name for path in home.iterdir()} <= {".local", "evil.zip"}
    assert {path.name for path in Path(home, ".local/share/memcli/users").iterdir()} == {"default"}


def _zip_with(*names: str) -> bytes:
    import io
    import zipfile

    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(name, json.dumps({"id": "1", "role": "user", "content": f"from {name}"}) + "\n")
    return held.getvalue()
