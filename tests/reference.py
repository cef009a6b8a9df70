"""Write the reference of README.md from the program itself: `python -m tests.reference`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memcli.cli.app import COMMANDS, Command, examples_apart, to_command
from memcli.cli.run import common
from memcli.config import SETTINGS

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- reference: written by tests/reference.py -->\n", "<!-- end of reference -->\n"
COMMON = set(inspect.signature(common).parameters)


def option_rows(command: Any, *, shared: bool) -> Iterator[str]:
    """A table row for each argument and option; the common ones apart from a command's own."""
    for param in command.get_params(command_context(command)):
        if (param.name in COMMON or param.name == "help") is not shared:
            continue
        if param.param_type_name == "argument":
            name = f"`{param.metavar or param.human_readable_name}`"
        else:
            value = f" {param.metavar}" if param.metavar and not param.is_flag else ""
            name = ", ".join(f"`{option}{value}`" for option in (*param.opts, *param.secondary_opts))
        # A bar would end the cell.
        yield f"| {name.replace('|', '&#124;')} | {(param.help or '').replace('|', '&#124;')} |"


def command_context(command: Any) -> Any:
    """What Typer wants to be told to list a command's options, --help among them."""
    return command.make_context(command.name, [], resilient_parsing=True)


def table(rows: Iterator[str]) -> str:
    """Rows as a table; nothing when there are none."""
    lines = list(rows)
    return "\n".join(["| | |", "| --- | --- |", *lines]) + "\n" if lines else ""


def command_section(row: Command) -> str:
    """What a command does and every argument and option of its own."""
    command = to_command(row)
    _, told = examples_apart(command.help or "")
    parts = [f"### memcli {row.name}\n", *(f"{paragraph}\n" for paragraph in told)]
    parts.append(table(option_rows(command, shared=False)))
    for name in row.subcommands:
        inner = command.commands[name]
        arguments = [param.metavar for param in inner.params if param.param_type_name == "argument"]
        usage = " ".join(["memcli", row.name, name, *arguments])
        parts.append(f"`{usage}`: {examples_apart(inner.help)[1][0]}\n")
    return "\n".join(part for part in parts if part)


def reference() -> str:
    """The whole reference in Markdown."""
    rows = [
        f"| `{setting.name}` | {variables_told(setting)} | {default_told(setting)} | {setting.help} |"
        for setting in SETTINGS
    ]
    settings = "\n".join(["| setting | variable | default | |", "| --- | --- | --- | --- |", *rows])
    version = "`memcli --version` prints the version."
    shared = table(option_rows(to_command(COMMANDS[0]), shared=True))
    commands = "\n".join(map(command_section, COMMANDS))
    return (
        f"### Options of every command\n\n{shared}\n{version}\n\n### Settings\n\n"
        f"A flag wins over a variable, a variable over `config.toml`, that over the default. "
        f"`memcli config` shows each value and where it came from; `MEMCLI_CONFIG` names another file.\n\n"
        f"{settings}\n\n{commands}"
    )


def variables_told(setting: Any) -> str:
    """The variables that a setting is read from, the first first."""
    return ", ".join(f"`{name}`" for name in setting.variables)


def default_told(setting: Any) -> str:
    """A default as it is written in the table."""
    if callable(setting.default):
        return "the platform's"
    if isinstance(setting.default, bool):
        return "`on`" if setting.default else "`off`"
    return "" if setting.default is None else f"`{setting.default}`"


def with_reference(readme: str) -> str:
    """The README with the reference as it has to be."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{reference()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_reference(README.read_text("utf-8")), "utf-8")
