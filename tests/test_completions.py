"""Completion: the scripts are those of today's commands, say all of them, and work in their shells."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from memcli.cli.app import COMMANDS, call
from memcli.cli.completions import scripts
from memcli.config import SETTINGS
from memcli.types import KINDS, PRIORITIES, ROLES

WRITTEN = Path(__file__).parents[1] / "completions"
BASH = WRITTEN / "memcli.bash"
PATHS = [
    (command.name, *inner)
    for command in COMMANDS
    for inner in ((), *((name,) for name in command.subcommands))
]
NAMES = " ".join(command.name for command in COMMANDS)


@pytest.mark.parametrize("name", ["memcli.bash", "_memcli", "memcli.fish"])
def test_a_script_is_what_the_commands_make_it(name: str) -> None:
    assert (WRITTEN / name).read_text("utf-8") == scripts()[name], (
        "run: python -m memcli.cli.completions completions"
    )


# --- everything that --help says ------------------------------------------------------------------


def flags_in_help(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> set[str]:
    assert call((*path, "--help")) == 0
    options = capsys.readouterr().out.partition("\nOptions:\n")[2].partition("\nCommands:\n")[0]
    heads = [re.split(r"  +", line.strip())[0] for line in options.splitlines() if re.match(r"  -", line)]
    return {flag for head in heads for flag in re.findall(r"(?:^|[ ,/])(--?[a-z][\w-]*)", head)}


def bash_flags(path: tuple[str, ...]) -> set[str]:
    return set(completed(*path, "-"))


def zsh_flags(path: tuple[str, ...]) -> set[str]:
    text = (WRITTEN / "_memcli").read_text("utf-8")
    name = "_".join(("_memcli", *path))
    body = text.partition(f"\n{name}() {{\n")[2].partition("\n}")[0]
    if "$_memcli_common[@]" in body:
        body += "\n" + text.partition("_memcli_common=(\n")[2].partition("\n)\n")[0]
    return set(re.findall(r"^ +'(?:\*|\([^)]*\))?(--?[a-z][\w-]*)", body, re.MULTILINE))


def fish_flags(path: tuple[str, ...]) -> set[str]:
    places = {f"__memcli_in {' '.join(path)}", "not __memcli_at"} if path else {"__memcli_at"}
    found = set()
    for line in (WRITTEN / "memcli.fish").read_text("utf-8").splitlines():
        said = re.match(r"complete -c memcli -n '([^']*)'((?: -[ls] \S+)+)", line)
        if said and said[1] in places:
            found |= {f"-{flag}" for flag in re.findall(r" -s (\S+)", said[2])}
            found |= {f"--{flag}" for flag in re.findall(r" -l (\S+)", said[2])}
    return found


@pytest.mark.parametrize("flags", [bash_flags, zsh_flags, fish_flags], ids=["bash", "zsh", "fish"])
@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_a_script_has_every_option_of_help(
    path: tuple[str, ...], flags: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(flags)
    told = flags_in_help(path, capsys)
    assert told >= {"--json", "--help"}
    assert flags(path) >= told


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_a_script_has_every_command(path: tuple[str, ...]) -> None:
    *before, last = path
    assert last in completed(*before, "")
    assert f"\n_memcli_{'_'.join(path)}() {{\n" in (WRITTEN / "_memcli").read_text("utf-8")
    fish = (WRITTEN / "memcli.fish").read_text("utf-8")
    assert f"-n '{' '.join(('__memcli_at', *before))}' -a {last} -d " in fish


# --- in the shells --------------------------------------------------------------------------------


def completed(*words: str, cwd: Path | None = None) -> list[str]:
    """What a real bash offers when TAB is pressed at the end of these words."""
    program = """
        source "$1"; shift
        COMP_WORDS=(memcli "$@"); COMP_CWORD=$#
        _memcli
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    argv = ["bash", "--norc", "--noprofile", "-c", program, "bash", str(BASH), *words]
    done = subprocess.run(argv, cwd=cwd, capture_output=True, encoding="utf-8", check=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout != "\n" else []


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("|", NAMES),
        ("rem|", "remember"),
        ("-q li|", "list"),
        ("--v|", "--version"),
        ("list --kind |", " ".join(KINDS)),
        ("list --kind f|", "fact"),
        ("list --kind = f|", "fact"),
        ("list --kind =|", " ".join(KINDS)),
        ("remember --priority |", " ".join(PRIORITIES)),
        ("recall --role |", " ".join(ROLES)),
        ("list --sort u|", "updated"),
        ("recall --format |", "prompt"),
        ("export --format js|", "jsonl json"),
        ("import --format opena|", "openai-jsonl"),
        ("remember --topic |", ""),
        ("remember the |", ""),
        ("recall list --k|", "--kind"),
        ("config |", "get set unset path"),
        ("config get |", " ".join(setting.name for setting in SETTINGS)),
        ("config set n|", ""),
        ("config set k |", ""),
        ("reembed b|", "builtin"),
        ("unknown |", ""),
    ],
)
def test_bash_completes(words: str, offered: str) -> None:
    assert completed(*words.removesuffix("|").split(" ")) == offered.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("import", ""), ["a chat.jsonl", "notes"]),
        (("import", "a chat.jsonl", "n"), ["notes"]),
        (("export", "-o", "a"), ["a chat.jsonl"]),
        (("list", "--data-dir", ""), ["notes"]),
        (("recall", ""), []),
    ],
)
def test_bash_completes_files_where_they_belong(
    tmp_path: Path, words: tuple[str, ...], offered: list[str]
) -> None:
    (tmp_path / "a chat.jsonl").touch()
    (tmp_path / "notes").mkdir()
    assert sorted(completed(*words, cwd=tmp_path)) == offered


@pytest.mark.parametrize(
    ("shell", "option", "name"),
    [("bash", "-n", "memcli.bash"), ("zsh", "-n", "_memcli"), ("fish", "--no-execute", "memcli.fish")],
)
def test_a_shell_takes_its_script(shell: str, option: str, name: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, option, WRITTEN / name], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [("memcli rec", {"recall"}), ("memcli config un", {"unset"}), ("memcli list --kind f", {"fact"})],
)
def test_fish_completes(line: str, offered: set[str]) -> None:
    program = f"source {WRITTEN / 'memcli.fish'}; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", program], capture_output=True, encoding="utf-8")
    assert {told.split("\t")[0] for told in done.stdout.splitlines()} == offered
