"""README.md names all that --help, the settings and the errors have; help begins with examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memcli import errors
from memcli.cli.app import call
from memcli.cli.completions import Entry, table
from memcli.config import CONFIG_VARIABLE, SETTINGS, Setting
from memcli.importers import FORMATS

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BUILT = [entry for command in table().subcommands for entry in (command, *command.subcommands)]


def exit_codes() -> set[int]:
    """Those of the errors, besides success and Ctrl-C."""
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    return {0, 130} | {kind.exit_code for kind in classes if issubclass(kind, errors.MemcliError)}


def section(title: str) -> str:
    """What stands under the heading of README.md that holds these words, up to the next heading."""
    parts = re.split(r"^#+ +(.*)$", README, flags=re.MULTILINE)
    return "\n".join(
        text for heading, text in zip(parts[1::2], parts[2::2], strict=True) if title in heading.casefold()
    )


def has_word(text: str, word: str) -> bool:
    """Whether the word stands there, and not as a part of another (`--k` of `--kind`, 5 of 5000)."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


@pytest.mark.parametrize("command", BUILT, ids=lambda command: " ".join(command.path))
def test_readme_names_every_command(command: Entry) -> None:
    assert has_word(README, " ".join(("memcli", *command.path)))


@pytest.mark.parametrize("command", BUILT, ids=lambda command: " ".join(command.path))
def test_readme_names_every_long_option(command: Entry) -> None:
    flags = [flag for option in command.options for flag in option.flags if flag.startswith("--")]
    assert [flag for flag in flags if not has_word(README, flag)] == []


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_readme_names_every_setting_with_its_variables(setting: Setting) -> None:
    missing = [name for name in (setting.name, *setting.variables) if not has_word(README, f"`{name}`")]
    assert missing == []


@pytest.mark.parametrize("form", [row.name for row in FORMATS])
def test_readme_says_how_a_person_gets_each_format(form: str) -> None:
    rows = [line.split("|") for line in section("what can be imported").splitlines() if line.startswith("|")]
    ways = [row[3].strip() for row in rows if f"`{form}`" in row[2]]
    assert ways
    assert all(ways)


def test_readme_names_the_variable_of_the_config_file() -> None:
    assert has_word(README, CONFIG_VARIABLE)


@pytest.mark.parametrize("code", sorted(exit_codes()))
def test_readme_names_every_exit_code(code: int) -> None:
    assert has_word(section("exit code"), str(code))


@pytest.mark.parametrize(
    "path", [(), *(command.path for command in BUILT)], ids=lambda path: " ".join(path) or "memcli"
)
def test_help_begins_with_examples(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert call((*path, "--help")) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    headings = [
        block.partition("\n")[0].strip() for block in blocks if block.partition("\n")[0].endswith(":")
    ]
    assert headings[0] == "Examples:"
    assert f"memcli {' '.join(path)}".strip() in next(block for block in blocks if "Examples:\n" in block)
