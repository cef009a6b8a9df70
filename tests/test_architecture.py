"""The house: who imports whom, how a module begins, what a light start loads."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memcli

LINE = """
__main__ → cli → serve → mcp → doctor → mend → eval → chat → memory → absorb → moved → reading → retold →
vectors → learn → backup → sessions → tasks → undo → renewal → selection → stats → package → export → models
→ store → prompt → history → inject → relevance → rank → wording → updates → statements →
statements_abroad → keywords →
timewords → timewords_abroad → lifecycle → about → extract → passages → tongues → variants → importers →
redact → config → weights → age → atomic → record_json → text → times → types → stop → lean → errors
"""
STATIONS = LINE.replace("→", "").split()

HOUSE = Path(memcli.__file__).parent
SOURCES = {path.relative_to(HOUSE.parent).as_posix(): path.read_text("utf-8") for path in HOUSE.rglob("*.py")}
PLACED = sorted(SOURCES.keys() - {"memcli/__init__.py"})

HEAVY = {
    "lancedb",
    "pyarrow",
    "numpy",
    "ollama",
    "httpx",
    "pydantic",
    "rich",
    "fastapi",
    "mcp",
    "prompt_toolkit",
    "openai",
    "pyrage",
}


def imported(source: str) -> Iterator[str]:
    """The full name of whatever a module of the house imports from it, also inside functions."""
    parts = source.removesuffix(".py").split("/")
    for node in ast.walk(ast.parse(SOURCES[source])):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            package = parts[: -node.level] if node.level else []
            names = [".".join([*package, *filter(None, [node.module, alias.name])]) for alias in node.names]
        yield from (name for name in names if name.startswith("memcli.") and name != "memcli.__version__")


@pytest.mark.parametrize("source", PLACED)
def test_a_module_imports_only_what_stands_to_its_right(source: str) -> None:
    # From its own place on: the modules of one package may import each other.
    allowed = STATIONS[STATIONS.index(Path(source).parts[1].removesuffix(".py")) :]
    assert [name for name in imported(source) if name.split(".")[1] not in allowed] == []


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_the_first_line_of_a_module_says_its_job(source: str) -> None:
    first = SOURCES[source].partition("\n")[0]
    assert first.startswith('"""')
    assert first.rstrip('"').endswith(".")


@pytest.mark.parametrize("source", sorted(SOURCES.keys() - {"memcli/__main__.py"}))
def test_only_main_catches_every_exception(source: str) -> None:
    handlers = [node for node in ast.walk(ast.parse(SOURCES[source])) if isinstance(node, ast.ExceptHandler)]
    caught = [
        name.id
        for node in handlers
        if node.type
        for name in ast.walk(node.type)
        if isinstance(name, ast.Name)
    ]
    assert all(handler.type for handler in handlers)
    assert "Exception" not in caught


def loaded_by(*args: str) -> set[str]:
    """The modules that a process of the program has loaded when it ends."""
    program = (
        "import atexit, json, runpy, sys\n"
        "loaded = lambda: [name for name, module in sys.modules.items() if module]\n"
        "atexit.register(lambda: print(json.dumps(loaded()), file=sys.stderr))\n"
        f"sys.argv = ['memcli', *{args!r}]\n"
        "runpy.run_module('memcli', run_name='__main__', alter_sys=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8")
    assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.usefixtures("home")
def test_help_loads_no_heavy_library() -> None:
    loaded = loaded_by("--help")
    assert loaded & HEAVY == set()
    assert loaded & {"memcli.memory", "memcli.types", "memcli.config"} == set()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", ["remember a blue heron", "list", "recall heron", "stats"])
def test_a_command_loads_of_the_heavy_libraries_what_it_needs(command: str) -> None:
    loaded_by("remember", "a grey heron")
    loaded = loaded_by(*command.split(maxsplit=1))
    assert loaded & HEAVY == {"pyarrow"}
    assert loaded & {"lancedb", "memcli.absorb", "memcli.extract", "memcli.chat"} == set()
