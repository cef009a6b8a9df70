"""Where histories lie on a machine: where programs keep theirs, and exports among the downloads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memcli.errors import UsageError
from memcli.importers.parts import Part, parts
from memcli.importers.source import Source, sources
from memcli.text import regex

_ENDINGS = (".zip", ".json", ".jsonl", ".txt", ".html", ".csv", ".gz", ".zst", ".db", ".sqlite")
_DOWNLOADS = regex(r'^XDG_DOWNLOAD_DIR="(\$HOME/)?([^"]+)"', re.MULTILINE)

# What anything may be taken for; it does not tell an export.
_ANYBODYS_FORMATS = {"csv", "markdown", "text", "message-jsonl", "openai-jsonl"}


@dataclass(frozen=True, slots=True)
class Place:
    """A history: what wrote it, where it is, and the files of it that can be imported."""

    kind: str
    path: Path
    files: tuple[Path, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Home:
    """Where a program keeps its history.

    `variable` names its home if it is set, else `homes` are tried, below the person's own; below a home
    it is `below`, and there `patterns` are its files.
    """

    kind: str
    variable: str | None
    homes: Sequence[str]
    below: str
    patterns: Sequence[str]


_ROLLOUTS = ("sessions", "archived_sessions")
_HOMES = (
    _Home(
        "claude-code",
        "CLAUDE_CONFIG_DIR",
        (".claude", ".config/claude"),
        "",
        ("history.jsonl", "projects/**/*.jsonl", "projects/*/memory/**/*.md"),
    ),
    _Home(
        "codex",
        "CODEX_HOME",
        (".codex",),
        "",
        (
            "history.jsonl",
            *(f"{place}/**/*.{end}" for place in _ROLLOUTS for end in ("jsonl", "jsonl.zst", "json")),
        ),
    ),
    _Home(
        "gemini-cli",
        "GEMINI_CLI_HOME",
        ("",),
        ".gemini/tmp",
        ("*/logs.json", "*/chats/**/*.json", "*/chats/**/*.jsonl"),
    ),
    _Home("pi", "PI_CODING_AGENT_DIR", (".pi/agent",), "sessions", ("**/*.jsonl",)),
    _Home(
        "llm",
        "LLM_USER_PATH",
        (".config/io.datasette.llm", "Library/Application Support/io.datasette.llm"),
        "",
        ("logs.db",),
    ),
    _Home(
        "aichat",
        "AICHAT_CONFIG_DIR",
        (".config/aichat", "Library/Application Support/aichat"),
        "",
        ("sessions/**/*.yaml", "messages.md"),
    ),
    _Home("lm-studio", None, (".lmstudio", ".cache/lm-studio"), "conversations", ("**/*.json",)),
    _Home(
        "jan",
        None,
        (
            ".config/Jan/data",
            ".local/share/Jan/data",
            "Library/Application Support/Jan/data",
            "jan",
        ),
        "threads",
        ("*/messages.jsonl",),
    ),
    _Home(
        "open-webui",
        "DATA_DIR",
        (
            ".open-webui",
            ".local/share/open-webui",
            "open-webui",
            "open-webui/data",
            "open-webui/backend/data",
        ),
        "",
        ("webui.db",),
    ),
)


def known_places(home: Path, environ: Mapping[str, str]) -> Iterator[Place]:
    """The histories that there are, those of programs first.

    Args:
        home: the person's home directory.
        environ: the environment: programs can be told to keep their history elsewhere.

    What cannot be read is as if it were not there.
    """
    seen: set[Path] = set()
    for program in _HOMES:
        for root in _roots(program, home, environ):
            if root.resolve() in seen or not (files := _files(root, program.patterns)):
                continue
            seen.add(root.resolve())
            place = _place(program.kind, root, files)
            if place is not None:
                yield place
    for path in _files(_downloads(home, environ), ("*",)):
        kind = _export_kind(path) if path.suffix.lower() in _ENDINGS else None
        place = _place(kind, path, [path]) if kind else None
        if place is not None:
            yield place


def _roots(program: _Home, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    named = environ.get(program.variable) if program.variable else None
    for start in [Path(named)] if named else [_below(home, place, environ) for place in program.homes]:
        yield start / program.below


def _below(home: Path, place: str, environ: Mapping[str, str]) -> Path:
    """A place in the home directory, also where the desktop's own rules have moved it."""
    for variable, usual in (("XDG_CONFIG_HOME", ".config/"), ("XDG_DATA_HOME", ".local/share/")):
        if place.startswith(usual) and environ.get(variable):
            return Path(environ[variable]) / place.removeprefix(usual)
    return home / place


def _downloads(home: Path, environ: Mapping[str, str]) -> Path:
    """The directory of downloads, which is called otherwise in other languages."""
    with suppress(OSError, UnicodeDecodeError):
        match = _DOWNLOADS.search(_below(home, ".config/user-dirs.dirs", environ).read_text("utf-8"))
        if match:
            return home / match[2] if match[1] else Path(match[2])
    return home / "Downloads"


def _files(root: Path, patterns: Sequence[str]) -> list[Path]:
    with suppress(OSError):
        return sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    return []


def _place(kind: str, path: Path, files: Sequence[Path]) -> Place | None:
    sizes: dict[Path, int] = {}
    for file in files:
        with suppress(OSError):  # gone in the meantime
            sizes[file] = file.stat().st_size
    return Place(kind, path, tuple(sizes), sum(sizes.values())) if sizes else None


def _export_kind(path: Path) -> str | None:
    """The format of a download that is an export of some program's."""
    for source in sources([str(path)]):
        if not isinstance(source, Source):
            continue
        with source, suppress(UsageError):
            for part in parts(source, encoding=None, format_name=None):
                if isinstance(part, Part) and part.form.name not in _ANYBODYS_FORMATS:
                    return part.form.name
    return None
