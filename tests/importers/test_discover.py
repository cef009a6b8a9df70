from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from memcli.importers.discover import Place, known_places

PROMPT = json.dumps({"session_id": "a", "ts": 1772355600, "text": "hi"}) + "\n"


def write(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(home: Path, **environ: str) -> list[tuple[str, str, int]]:
    places = known_places(home, environ)
    return [(place.kind, os.path.relpath(place.path, home), len(place.files)) for place in places]


@pytest.mark.parametrize(
    ("kind", "root", "file"),
    [
        ("claude-code", ".claude", "projects/-home-ana-loom/a.jsonl"),
        ("claude-code", ".config/claude", "projects/-home-ana-loom/memory/MEMORY.md"),
        ("claude-code", ".claude", "history.jsonl"),
        ("codex", ".codex", "sessions/2026/03/01/rollout-a.jsonl"),
        ("codex", ".codex", "sessions/rollout-a.json"),
        ("codex", ".codex", "archived_sessions/rollout-a.jsonl.zst"),
        ("codex", ".codex", "history.jsonl"),
        ("gemini-cli", ".gemini/tmp", "loom/chats/session-a.jsonl"),
        ("gemini-cli", ".gemini/tmp", "loom/logs.json"),
        ("pi", ".pi/agent/sessions", "--loom--/a.jsonl"),
        ("llm", ".config/io.datasette.llm", "logs.db"),
        ("aichat", ".config/aichat", "sessions/_/a.yaml"),
        ("aichat", ".config/aichat", "messages.md"),
        ("lm-studio", ".lmstudio/conversations", "1.conversation.json"),
        ("jan", ".config/Jan/data/threads", "t/messages.jsonl"),
        ("open-webui", ".open-webui", "webui.db"),
    ],
)
def test_history_is_found_where_its_program_keeps_it(tmp_path: Path, kind: str, root: str, file: str) -> None:
    write(tmp_path / root / file)
    write(tmp_path / root / "settings.toml")
    assert found(tmp_path) == [(kind, root, 1)]


@pytest.mark.parametrize(
    ("variable", "file"),
    [
        ("CLAUDE_CONFIG_DIR", "projects/p/a.jsonl"),
        ("CODEX_HOME", "sessions/a.jsonl"),
        ("XDG_CONFIG_HOME", "io.datasette.llm/logs.db"),
        ("LLM_USER_PATH", "logs.db"),
    ],
)
def test_place_that_the_environment_names_is_the_one(tmp_path: Path, variable: str, file: str) -> None:
    write(tmp_path / "elsewhere" / file)
    assert found(tmp_path) == []
    assert len(found(tmp_path, **{variable: str(tmp_path / "elsewhere")})) == 1


def test_size_is_of_all_its_files(tmp_path: Path) -> None:
    files = tuple(write(tmp_path / f".claude/projects/p/{name}.jsonl", "12345") for name in "ab")
    (place,) = known_places(tmp_path, {})
    assert place == Place("claude-code", tmp_path / ".claude", files, 10)


def test_download_is_told_by_its_content(tmp_path: Path) -> None:
    write(tmp_path / "Downloads/anything.jsonl", PROMPT)
    write(tmp_path / "Downloads/recipe.txt", "Take two eggs.")
    write(tmp_path / "Downloads/data.json", '{"a": 1}')
    write(tmp_path / "Downloads/talk.json", '{"role": "user", "content": "hi"}')
    with zipfile.ZipFile(tmp_path / "Downloads" / "export.zip", "w") as archive:
        archive.writestr("history.jsonl", PROMPT)
    (tmp_path / "Downloads" / "broken.zip").write_bytes(b"PK\x03\x04")
    assert found(tmp_path) == [("codex", "Downloads/anything.jsonl", 1), ("codex", "Downloads/export.zip", 1)]


@pytest.mark.parametrize("place", ["$HOME/Hämtningar", "{home}/Hämtningar"])
def test_downloads_are_found_in_any_language(tmp_path: Path, place: str) -> None:
    write(tmp_path / ".config/user-dirs.dirs", f'XDG_DOWNLOAD_DIR="{place.format(home=tmp_path)}"\n')
    write(tmp_path / "Hämtningar/anything.jsonl", PROMPT)
    assert found(tmp_path) == [("codex", "Hämtningar/anything.jsonl", 1)]


def test_place_that_two_names_lead_to_comes_once(tmp_path: Path) -> None:
    write(tmp_path / ".claude/projects/p/a.jsonl")
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config/claude").symlink_to("../.claude")
    assert found(tmp_path) == [("claude-code", ".claude", 1)]


def test_home_without_any_history_has_no_places(tmp_path: Path) -> None:
    assert found(tmp_path) == []
    assert found(tmp_path / "missing") == []
