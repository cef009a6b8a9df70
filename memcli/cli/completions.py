"""Completion for bash, zsh and fish from the table of commands: static scripts that start no process.

`python -m memcli.cli.completions DIR` writes memcli.bash, _memcli and memcli.fish.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from memcli import export, importers
from memcli.cli.app import COMMANDS, root, to_command
from memcli.config import SETTINGS
from memcli.types import KINDS, PRIORITIES, ROLES

Offer: TypeAlias = tuple[str, ...] | Literal["files", "directories"]
"""What may stand in a place: one of these words (of none: anything), or a path."""

# By option, or by command and option where commands differ; a command alone is its first argument.
_OFFERS: dict[str, Offer] = {
    "--data-dir": "directories",
    "--kind": KINDS,
    "--priority": PRIORITIES,
    "--role": ROLES,
    "--sort": ("time", "updated", "priority"),
    "recall --format": ("prompt",),
    "import --format": tuple(form.name for form in importers.FORMATS),
    "export --format": tuple(form.name for form in export.FORMATS),
    "export -o": "files",
    "import": "files",
    "reembed": ("builtin",),
    "config get": tuple(setting.name for setting in SETTINGS),
    "config set": tuple(setting.name for setting in SETTINGS if setting.in_file),
    "config unset": tuple(setting.name for setting in SETTINGS if setting.in_file),
}


@dataclass(frozen=True, slots=True)
class Option:
    """An option: all its spellings, and what its value may be (None: it takes none)."""

    flags: tuple[str, ...]
    help: str
    value: Offer | None = None
    metavar: str = ""
    is_repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A command or a subcommand; `path` is the words that call it, none for memcli itself."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    argument: Offer | None = None
    metavar: str = ""
    takes_many: bool = False
    subcommands: tuple[Entry, ...] = ()


_HELP = Option(("-h", "--help"), "Show this message and exit.")


def table() -> Entry:
    """The whole command line."""
    commands = tuple(_entry(to_command(row), (row.name,), row.help) for row in COMMANDS)
    return Entry((), "", (*_options(root(), ()), _HELP), subcommands=commands)


def _entry(command: Any, path: tuple[str, ...], help_: str) -> Entry:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    inner = getattr(command, "commands", {})
    return Entry(
        path,
        help_,
        (*_options(command, path), _HELP),
        argument=_OFFERS.get(" ".join(path), ()) if arguments else None,
        metavar=arguments[0].metavar or "" if arguments else "",
        takes_many=bool(arguments) and arguments[0].nargs == -1,
        subcommands=tuple(
            _entry(found, (*path, name), found.get_short_help_str(limit=200)) for name, found in inner.items()
        ),
    )


def _options(command: Any, path: tuple[str, ...]) -> Iterator[Option]:
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            flag = parameter.opts[0]
            takes_none = parameter.is_flag or parameter.count
            yield Option(
                flags=(*parameter.opts, *parameter.secondary_opts),
                help=parameter.help or "",
                value=None if takes_none else _OFFERS.get(" ".join((*path, flag)), _OFFERS.get(flag, ())),
                metavar=parameter.metavar or "",
                is_repeatable=parameter.multiple or parameter.count,
            )


def _walk(entry: Entry) -> Iterator[Entry]:
    yield entry
    for inner in entry.subcommands:
        yield from _walk(inner)


def _common(top: Entry) -> list[Option]:
    """The options that every command has."""
    first, *others = [entry for entry in _walk(top) if entry.path]
    return [option for option in first.options if all(option in other.options for other in others)]


def _flags(options: Iterable[Option]) -> str:
    return " ".join(flag for option in options for flag in option.flags)


# --- bash -----------------------------------------------------------------------------------------

_BASH = """\
# memcli: completion for bash 3.2 and later. Written by `python -m memcli.cli.completions`.

_memcli() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
    local path="" given=0 options="" i word
    # bash cuts --kind=fact into three words.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        case "$path/$word" in
            */-*) ;;
            {paths}) path="$path/$word" ;;
            *) given=$((given + 1)) ;;
        esac
    done
    COMPREPLY=()
    case "$path $prev" in
{values}
    esac
    case "$path" in
{options}
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
        return
    fi
    case "$path/$given" in
{arguments}
    esac
}}

_memcli_words() {{
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}}

_memcli_files() {{
    local IFS=$'\\n'
    compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$cur"))
}}

_memcli_directories() {{
    local IFS=$'\\n'
    compopt -o dirnames 2>/dev/null || COMPREPLY=($(compgen -d -- "$cur"))
}}

complete -F _memcli memcli
"""


def bash(top: Entry) -> str:
    """The script for bash."""
    entries = list(_walk(top))
    common = _common(top)
    return _BASH.format(
        paths=" | ".join(_slashed(entry) for entry in entries if entry.path),
        values="\n".join(_bash_values(entries)),
        options="\n".join(
            f'        "{_slashed(entry)}") options="{_flags(entry.options)}" ;;'
            for entry in entries
            if entry.path == () or list(entry.options) != common
        )
        + f'\n        *) options="{_flags(common)}" ;;',
        arguments="\n".join(_bash_arguments(entries)),
    )


def _slashed(entry: Entry) -> str:
    return "".join(f"/{word}" for word in entry.path)


def _bash_values(entries: Sequence[Entry]) -> Iterator[str]:
    """What follows an option; its command is named only where commands differ."""
    offers: dict[str, dict[str, Offer]] = {}
    for entry in entries:
        for option in entry.options:
            for flag in option.flags if option.value is not None else ():
                offers.setdefault(flag, {})[_slashed(entry)] = option.value or ()
    patterns: dict[Offer, list[str]] = {}
    for flag, by_path in offers.items():
        if len(set(by_path.values())) == 1:
            patterns.setdefault(next(iter(by_path.values())), []).append(f'*" {flag}"')
        else:
            for path, offer in by_path.items():
                patterns.setdefault(offer, []).append(f'"{path} {flag}"')
    for offer, places in patterns.items():
        act = f"{_bash_offer(offer)}; return" if offer else "return"
        yield f"        {' | '.join(places)}) {act} ;;"


def _bash_arguments(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        offer = tuple(inner.path[-1] for inner in entry.subcommands) or entry.argument
        if offer:
            place = f'"{_slashed(entry)}/"*' if entry.takes_many else f'"{_slashed(entry)}/0"'
            yield f"        {place}) {_bash_offer(offer)} ;;"


def _bash_offer(offer: Offer) -> str:
    return f"_memcli_{offer}" if isinstance(offer, str) else f'_memcli_words "{" ".join(offer)}"'


# --- zsh ------------------------------------------------------------------------------------------

_ZSH = """\
#compdef memcli
# memcli: completion for zsh. Written by `python -m memcli.cli.completions`.

typeset -ga _memcli_common=(
{common}
)

{functions}

if [[ $funcstack[1] == _memcli ]]; then
    _memcli "$@"
else
    compdef _memcli memcli
fi
"""

_ZSH_GROUP = """\
{name}() {{
    local curcontext=$curcontext context state line ret=1
    local -A opt_args
    local -a commands=(
{commands}
    )
    _arguments -C -s -S \\
{specs} \\
        '1: :->command' \\
        '*:: :->argument' && ret=0
    case $state in
        command) _describe -t commands command commands && ret=0 ;;
        argument) (( $+functions[{name}_$line[1]] )) && {name}_$line[1] && ret=0 ;;
    esac
    return ret
}}"""

_ZSH_COMMAND = """\
{name}() {{
    _arguments -s -S \\
{specs}
}}"""


def zsh(top: Entry) -> str:
    """The script for zsh."""
    common = _common(top)
    shared = [_quoted(spec) for option in common for spec in _zsh_option(option)]
    return _ZSH.format(
        common="\n".join(f"    {spec}" for spec in shared),
        functions="\n\n".join(_zsh_function(entry, common) for entry in _walk(top)),
    )


def _zsh_function(entry: Entry, common: Sequence[Option]) -> str:
    own = [option for option in entry.options if not entry.path or option not in common]
    specs = [_quoted(spec) for option in own for spec in _zsh_option(option)]
    if entry.path:
        specs.insert(0, '"$_memcli_common[@]"')
    if entry.argument is not None:
        place = "*" if entry.takes_many else "1"
        specs.append(_quoted(f"{place}:{_zsh_escaped(entry.metavar)}:{_zsh_offer(entry.argument)}"))
    commands = [f"{inner.path[-1]}:{inner.help}" for inner in entry.subcommands]
    return (_ZSH_GROUP if commands else _ZSH_COMMAND).format(
        name="_".join(("_memcli", *entry.path)),
        specs=" \\\n".join(f"        {spec}" for spec in specs),
        commands="\n".join(f"        {_quoted(command)}" for command in commands),
    )


def _zsh_option(option: Option) -> Iterator[str]:
    before = "*" if option.is_repeatable else f"({' '.join(option.flags)})" if option.flags[1:] else ""
    value = "" if option.value is None else f":{_zsh_escaped(option.metavar)}:{_zsh_offer(option.value)}"
    for flag in option.flags:
        joint = "" if option.value is None else "=" if flag.startswith("--") else "+"
        yield f"{before}{flag}{joint}[{_zsh_escaped(option.help)}]{value}"


def _zsh_offer(offer: Offer) -> str:
    if isinstance(offer, str):
        return {"files": "_files", "directories": "_files -/"}[offer]
    return f"({' '.join(offer)})" if offer else " "


def _zsh_escaped(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\[]:" else letter for letter in text)


def _quoted(text: str) -> str:
    """The text between single quotes, as bash and zsh read it."""
    return "'" + text.replace("'", "'\\''") + "'"


# --- fish -----------------------------------------------------------------------------------------

_FISH = """\
# memcli: completion for fish. Written by `python -m memcli.cli.completions`.

function __memcli_words --description 'The words so far that are no options'
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        string match -q -- '-*' $word; or echo $word
    end
end

function __memcli_in --description 'Whether the command line begins with these words'
    set -l words (__memcli_words)
    set -l first $words[1..(count $argv)]
    test "$first" = "$argv"
end

function __memcli_at --description 'Whether these words are the whole command line so far'
    set -l words (__memcli_words)
    test "$words" = "$argv"
end

complete -c memcli -f
{lines}
"""


def fish(top: Entry) -> str:
    """The script for fish."""
    common = _common(top)
    lines = [_fish_option(option, "not __memcli_at") for option in common]
    for entry in _walk(top):
        lines += _fish_lines(entry, [option for option in entry.options if option not in common])
    return _FISH.format(lines="\n".join(f"complete -c memcli {line}" for line in lines))


def _fish_lines(entry: Entry, options: Iterable[Option]) -> Iterator[str]:
    here = " ".join(("__memcli_at", *entry.path))
    within = " ".join(("__memcli_in", *entry.path)) if entry.path else here
    for inner in entry.subcommands:
        yield f"-n '{here}' -a {inner.path[-1]} -d {_fish_quoted(inner.help)}"
    for option in options:
        yield _fish_option(option, within)
    if entry.argument:
        yield f"-n '{within if entry.takes_many else here}'{_fish_offer(entry.argument)}"


def _fish_option(option: Option, condition: str) -> str:
    flags = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
    value = "" if option.value is None else " -r" + (_fish_offer(option.value) or " -f")
    return f"-n '{condition}' {' '.join(flags)}{value} -d {_fish_quoted(option.help)}"


def _fish_offer(offer: Offer) -> str:
    if isinstance(offer, str):
        return {"files": " -F", "directories": " -f -a '(__fish_complete_directories)'"}[offer]
    return f" -f -a {_fish_quoted(' '.join(offer))}" if offer else ""


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# --- writing --------------------------------------------------------------------------------------


def scripts() -> dict[str, str]:
    """Each script by the name of its file."""
    top = table()
    return {"memcli.bash": bash(top), "_memcli": zsh(top), "memcli.fish": fish(top)}


def write(directory: Path) -> None:
    """Write the three scripts into a directory that exists."""
    for name, text in scripts().items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m memcli.cli.completions DIR")
    write(Path(sys.argv[1]))
