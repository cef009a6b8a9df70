"""How answers, messages and errors look: to a person, to a pipe and as JSON; and the exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unicodedata import east_asian_width

import pytest
from filelock import FileLock

from memcli.cli.app import COMMANDS
from memcli.times import from_iso
from memcli.types import Record
from tests.process import NOW, Shared, export_of

NASTY = (
    "evil \x1b[31mred\x1b]0;title\x07 \x9b1m \u202egnp.exe [bold]markup[/bold] :smile:\tand\r\nthe next line"
)
LONG = "The tiles of the kitchen cost more than the whole of last year's holiday on the island. " * 8
WIDE = "厨房的预算是七千二百元，瓷砖要绿色的，师傅周四来量尺寸。" * 12
NOW_MS = from_iso(NOW)
RECORDS = [
    Record("nasty000", NASTY, topics=("a\x1bb",), source="so\x1b[2Jurce", name="na\x07me", created_at=NOW_MS),
    Record("long0000", LONG, "decision", created_at=NOW_MS - 1),
    Record("wide0000", WIDE, created_at=NOW_MS - 2),
]
# What a terminal is told by us: colours and styles, nothing else.
STYLE = re.compile(r"\x1b\[[\d;]*m")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)\d(?:;\d+)*m")
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A store that nothing here changes."""
    shared = Shared(tmp_path_factory.mktemp("output"))
    assert shared.here("import", "-", input=export_of(RECORDS)).returncode == 0
    return shared


def cells(line: str) -> int:
    return sum(2 if east_asian_width(char) in "FW" else 1 for char in line)


# --- a terminal -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "command"),
    [
        (80, ("list",)),
        (120, ("list",)),
        (80, ("recall", "kitchen evil 厨房", "--explain")),
        (120, ("recall", "kitchen evil 厨房")),
        (80, ("show", "nasty000")),
        (80, ("stats",)),
    ],
)
def test_a_terminal_gets_lines_that_fit_and_nothing_that_it_obeys(
    shared: Shared, command: tuple[str, ...], columns: int
) -> None:
    code, shown = shared.on_terminal(*command, columns=columns)
    plain = STYLE.sub("", shown)
    assert code == 0
    assert OBEYED.findall(plain) == []
    assert [line for line in plain.split("\n") if cells(line) > columns] == []
    assert STYLE.search(shown)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_long_text_is_shown_in_its_first_four_lines(shared: Shared, columns: int) -> None:
    _, shown = shared.on_terminal("list", "--no-color", columns=columns)
    blocks = STYLE.sub("", shown).rstrip("\n").split("\n\n")
    assert [len(block.split("\n")) for block in blocks] == [3, 5, 5]
    assert blocks[0].startswith("nasty000  2026-03-01  fact P1 #a\N{REPLACEMENT CHARACTER}b")
    assert re.search(r"gnp\.exe \[bold\]markup\[/bold\] :smile: +and\n  the next line$", blocks[0])
    assert blocks[1].split("\n")[1].startswith("  The tiles of the kitchen cost more")
    assert all(block.endswith(" …") for block in blocks[1:])
    assert not any(line.endswith(" ") for line in shown.split("\n"))


@pytest.mark.parametrize(
    ("options", "env"), [([], {"NO_COLOR": "1"}), (["--no-color"], {}), ([], {"TERM": "dumb"})]
)
def test_colour_can_be_turned_off(shared: Shared, options: list[str], env: dict[str, str]) -> None:
    code, shown = shared.on_terminal("recall", "kitchen", *options, env=env)
    assert (code, COLOUR.findall(shown)) == (0, [])
    assert ("TERM" in env) <= (STYLE.search(shown) is None)


def test_json_is_exact_on_a_terminal_too(shared: Shared) -> None:
    code, shown = shared.on_terminal("show", "nasty000", "--json")
    assert (code, json.loads(shown)["memory"]["text"]) == (0, NASTY)


@pytest.mark.parametrize("command", ["remember", "recall"])
def test_a_terminal_with_no_input_gets_usage(shared: Shared, command: str) -> None:
    code, shown = shared.on_terminal(command)
    assert code == 2
    assert "is missing\nhint: give it as an argument, or - to read standard input" in shown


# --- a pipe ---------------------------------------------------------------------------------------


def test_a_pipe_gets_one_line_a_memory_and_nothing_to_obey(shared: Shared) -> None:
    done = shared("list")
    assert [line.split("\t")[0] for line in done.stdout.split("\n")] == [
        "nasty000",
        "long0000",
        "wide0000",
        "",
    ]
    assert OBEYED.findall(done.stdout) == []
    assert done.stdout.split("\n")[0].endswith(":smile:\\tand\\nthe next line")


def test_what_some_readers_take_for_the_end_of_a_line_ends_none(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    said = "one\u2028two\u2029three\x85four\x0bfive"
    assert shared.here("remember", "-", input=said).returncode == 0
    for command in (("list",), ("list", "--json"), ("list", "--ndjson"), ("export",)):
        assert len(shared.here(*command).stdout.splitlines()) == 1
    assert json.loads(shared.here("export").stdout)["text"] == said


def test_a_path_is_told_without_what_a_terminal_would_obey(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    shared.here("remember", "A heron")
    name = "x\x1b[31m\u202e.tar"
    for command in (("backup", name), ("restore", name, "--dry-run"), ("restore", name, "--yes")):
        done = shared.here(*command)
        assert (done.returncode, OBEYED.findall(done.stdout + done.stderr)) == (0, [])


@pytest.mark.parametrize(
    "command", [c.name for c in COMMANDS if c.name in ("list", "recall", "stats", "show")]
)
def test_json_is_one_exact_document_and_nothing_else(shared: Shared, command: str) -> None:
    words = {"recall": ["evil"], "show": ["nasty000"]}.get(command, [])
    done = shared(command, *words, "--json", "-q")
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")
    found = json.loads(done.stdout)
    held = {"list": "memories", "recall": "results", "show": "memory", "stats": "user"}[command]
    told = found[held] if isinstance(found[held], list) else [found[held]]
    assert command == "stats" or NASTY in {memory["text"] for memory in told}


def test_quiet_drops_messages_and_keeps_results_and_errors(shared: Shared) -> None:
    assert shared("list", "-n", "1").stderr == "1 of 3 memories; -n shows more\n"
    done = shared("list", "-n", "1", "--quiet")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    assert shared("show", "ffff", "-q").stderr.startswith("memcli: no memory has an id")


@pytest.mark.parametrize("command", [["list"], ["recall", "evil"], ["stats"], ["list", "--json"]])
def test_verbose_adds_how_long_it_took(shared: Shared, command: list[str]) -> None:
    done = shared.here(*command, "-v")
    assert re.search(r"^took \d+ ms$", done.stderr, re.MULTILINE)
    assert "took" not in shared.here(*command, "-q").stderr


# --- errors ---------------------------------------------------------------------------------------


def test_an_error_says_what_failed_and_what_to_do(shared: Shared) -> None:
    done = shared("show", "ffff")
    assert done.stderr == (
        "memcli: no memory has an id that begins with 'ffff'\nhint: see the ids with `memcli list`\n"
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_an_error_is_json_where_json_was_asked_for(shared: Shared) -> None:
    done = shared("show", "ffff", "--json")
    assert json.loads(done.stderr) == {
        "error": "no memory has an id that begins with 'ffff'",
        "code": 1,
        "hint": "see the ids with `memcli list`",
    }
    assert done.stdout == ""


def test_a_traceback_comes_only_when_it_is_asked_for(shared: Shared) -> None:
    assert "Traceback" not in shared.here("show", "ffff", "-v").stderr
    done = shared.here("show", "ffff", "-vv")
    assert "Traceback (most recent call last):\n" in done.stderr
    assert "memcli: no memory has an id" in done.stderr


def test_an_error_cannot_speak_to_the_terminal(shared: Shared) -> None:
    assert OBEYED.findall(shared("show", "\x1b[31mffff").stderr) == []


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        (["rember", "x"], "there is no command 'rember'", "did you mean remember?"),
        (["lst"], "there is no command 'lst'", "did you mean list?"),
        (["frobnicate"], "there is no command 'frobnicate'", "see `memcli --help`"),
        (["recall", "--sinc", "x"], "there is no option --sinc", "did you mean --since?"),
        (["list", "-n", "many"], "invalid value for '-n'", "see `memcli list --help`"),
        (["show"], "missing argument 'ID'", "see `memcli show --help`"),
    ],
)
def test_a_mistyped_command_line_is_answered_with_what_was_meant(
    shared: Shared, words: list[str], problem: str, hint: str
) -> None:
    done = shared.here(*words)
    first, second = done.stderr.splitlines()
    assert (done.returncode, done.stdout, second) == (2, "", f"hint: {hint}")
    assert first.startswith(f"memcli: {problem}")


def test_no_command_gets_the_help_and_2(shared: Shared) -> None:
    done = shared()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: memcli")


@pytest.mark.parametrize("name", ["", *(command.name for command in COMMANDS)])
def test_help_begins_with_examples_that_call_the_command(shared: Shared, name: str) -> None:
    done = shared.here(*name.split(), "-h")
    assert done.returncode == 0
    assert done.stdout == shared.here(*name.split(), "--help").stdout
    examples, _, options = done.stdout.partition("Options:")
    assert f"memcli {name}".strip() in examples.partition("Examples:")[2]
    assert "--help" in options
    assert "\\b" not in done.stdout


def test_version_is_an_option_of_its_own_and_never_v(shared: Shared) -> None:
    assert re.fullmatch(r"memcli \d+\.\d+\.\d+\n", shared("--version").stdout)
    assert shared.here("-v").returncode == 2


# --- exit codes -----------------------------------------------------------------------------------


def test_a_place_that_cannot_hold_a_store_is_5(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    done = Shared(tmp_path)("remember", "x", "--data-dir", "file")
    problem, hint = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (5, "")
    assert problem.startswith("memcli: ")
    assert hint.startswith("hint: ")


def test_a_store_that_another_writes_to_for_too_long_is_5(tmp_path: Path) -> None:
    shared = Shared(tmp_path, {"MEMCLI_LOCK_TIMEOUT_S": "0.2"})
    assert shared("remember", "x").returncode == 0
    (lock,) = tmp_path.rglob(".lock")
    with FileLock(lock):
        done = shared("remember", "y")
        assert shared.json("list")["total"] == 1
    assert (done.returncode, done.stdout) == (5, "")
    assert "hint: " in done.stderr


def test_a_damaged_store_is_5(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    assert shared("remember", "x").returncode == 0
    (side,) = tmp_path.rglob("side.db")
    for path in (side, *side.parent.glob("side.db-*")):
        path.unlink()
    side.write_bytes(b"no database" * 1000)
    done = shared("recall", "x")
    assert (done.returncode, done.stdout) == (5, "")
    assert "bug" not in done.stderr


@pytest.mark.parametrize("command", [["list"], ["recall", "evil", "--json", "-q"], ["-h"]])
def test_a_reader_that_has_gone_is_a_quiet_0(shared: Shared, command: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "memcli", *command],
        env={**os.environ, **shared.environment},
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_disk_that_is_full_behind_stdout_is_5(shared: Shared) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "memcli", "list"],
            env={**os.environ, **shared.environment},
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 5
    assert done.stderr.startswith(b"memcli: ")
