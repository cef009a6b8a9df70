"""The command line: a table of commands, each loaded when it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from memcli import __version__
from memcli.errors import UsageError
from memcli.text import is_unicode

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the table: where a command is, and what it does in one line.

    `functions` are the names of its subcommands where it has any (function `config_get` for `config get`).
    """

    name: str
    module: str
    help: str
    subcommands: tuple[str, ...] = ()


COMMANDS = (
    Command("remember", "memcli.cli.write", "Store one memory."),
    Command("recall", "memcli.cli.read", "Find the memories that answer a question."),
    Command("chat", "memcli.cli.chat", "Talk with a model that remembers."),
    Command("import", "memcli.cli.absorb", "Take in chat histories and notes."),
    Command("forget", "memcli.cli.forget", "Erase memories for good, or hide them."),
    Command("export", "memcli.cli.export", "Write memories out, to a file or stdout."),
    Command("stats", "memcli.cli.read", "Numbers about what is remembered."),
    Command("list", "memcli.cli.read", "List memories, newest first."),
    Command("show", "memcli.cli.read", "One memory with its history."),
    Command("edit", "memcli.cli.write", "Change a memory."),
    Command("review", "memcli.cli.review", "Say yes or no to what was learned and is unclear."),
    Command("undo", "memcli.cli.undo", "Take back what the last commands changed."),
    Command("sessions", "memcli.cli.sessions", "What was said in chats.", ("show", "export", "delete")),
    Command(
        "task",
        "memcli.cli.task",
        "Working memory for scripts of many steps.",
        ("start", "set", "get", "step", "back", "show", "list", "done"),
    ),
    Command("backup", "memcli.cli.backup", "Write everything into one checked file."),
    Command("restore", "memcli.cli.backup", "Put a backup in the place of the store."),
    Command("reembed", "memcli.cli.upkeep", "Give every memory the vectors of another embedder."),
    Command("doctor", "memcli.cli.upkeep", "Check the store, the disk and the models."),
    Command("eval", "memcli.cli.eval", "Measure how well recall finds what it should."),
    Command("config", "memcli.cli.upkeep", "Show and change settings.", ("get", "set", "unset", "path")),
)
# Arguments that name files.
_FILE_NAMES = frozenset({"paths", "output", "data_dir", "file", "passphrase_file", "identity"})
_BY_NAME = {command.name: command for command in COMMANDS}


class _Steady:
    """A command whose help is the same at each call: Typer takes the names of --help out of a set."""

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """The names as they are set, in their order."""
        return list(ctx.help_option_names)


class _Table(_Steady, TyperGroup):
    """A group whose commands come from the table and are imported one at a time."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        """The names, in the order of the table."""
        return list(_BY_NAME)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]  # noqa: ARG002
        """The command, built from its function."""
        row = _BY_NAME.get(cmd_name)
        return None if row is None else to_command(row)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command that is called. Raises UsageError that names what may have been meant."""
        if args[0] not in _BY_NAME:
            raise UsageError(f"there is no command {args[0]!r}", _did_you_mean(args[0], _BY_NAME))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.help) for row in COMMANDS])


class _Command(_Steady, TyperCommand):
    """A command whose help begins with examples."""

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Usage, examples, what it does, then the options."""
        _write_help(self, ctx, formatter)


class _Group(_Steady, TyperGroup):
    """A command with subcommands whose help begins with examples."""

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Usage, examples, what it does, the options, then the subcommands."""
        _write_help(self, ctx, formatter)
        self.format_commands(ctx, formatter)


def _write_help(command: Any, ctx: Any, formatter: Any) -> None:
    command.format_usage(ctx, formatter)
    examples, told = examples_apart(command.help or "")
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"  {line}\n")
    for paragraph in told:
        formatter.write_paragraph()
        formatter.write_text(paragraph)
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    if arguments:
        with formatter.section("Arguments"):
            formatter.write_dl(
                [(param.metavar or param.human_readable_name, param.help or "") for param in arguments]
            )
    options = [param.get_help_record(ctx) for param in command.get_params(ctx) if param not in arguments]
    with formatter.section("Options"):
        formatter.write_dl([record for record in options if record])


def examples_apart(help_text: str) -> tuple[list[str], list[str]]:
    """The lines under "Examples:" of a docstring, and its other paragraphs."""
    examples: list[str] = []
    told: list[str] = []
    for block in help_text.split("\n\n"):
        if block.startswith("Examples:"):
            examples = [line.strip() for line in block.split("\n")[1:]]
        elif block.strip():
            told.append(" ".join(block.split()))
    return examples, told


def to_command(row: Command) -> Any:
    """The Typer command of a row. Its functions are named after it: `import_`, `config`, `config_get`."""
    module = import_module(row.module)
    app = _typer()
    name = row.name if hasattr(module, row.name) else f"{row.name}_"
    function = _with_common(getattr(module, name))
    if not row.subcommands:
        app.command(row.name, cls=_Command, context_settings=_CONTEXT)(function)
        return typer.main.get_command(app)
    app.callback(cls=_Group, invoke_without_command=True, context_settings=_CONTEXT)(function)
    for subcommand in row.subcommands:
        inner = _with_common(getattr(module, f"{row.name}_{subcommand}"))
        app.command(subcommand, cls=_Command, context_settings=_CONTEXT)(inner)
    group = typer.main.get_command(app)
    group.name = row.name
    return group


def _typer(**options: Any) -> typer.Typer:
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **options)


def _with_common(function: Callable[..., None]) -> Callable[..., None]:
    """A command with the common options added to its own and a Run handed to it first."""
    from memcli.cli.run import Run, common

    shared = _options(common)
    own = _options(function)
    # An argument whose type is a dataclass stands for the options that are its fields.
    types: dict[str, Any] = {name: option.annotation for name, option in own.items() if name != "run"}
    groups: dict[str, Any] = {name: type_ for name, type_ in types.items() if is_dataclass(type_)}
    options = {name: _options(groups[name]) if name in groups else {name: own[name]} for name in types}

    def command(**given: Any) -> None:
        _refuse_bytes(given)
        run = Run.of({name: given.pop(name) for name in shared})
        for name, group in groups.items():
            given[name] = group(**{option: given.pop(option) for option in options[name]})
        try:
            function(run, **given)
        finally:
            run.settle()

    parameters = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for some in (*options.values(), shared)
        for option in some.values()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = function.__doc__
    command.__name__ = function.__name__
    return command


def _options(signature: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(signature, eval_str=True).parameters


def _refuse_bytes(given: dict[str, Any]) -> None:
    """Arguments are text; only the names of files may be bytes that are not UTF-8. Raises UsageError."""
    for name, value in given.items():
        for text in value if isinstance(value, (list, tuple)) else [value]:
            if name not in _FILE_NAMES and isinstance(text, str) and not is_unicode(text):
                raise UsageError("an argument is not UTF-8 text", "give it in UTF-8, or pipe it in")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"memcli {__version__}")
        raise typer.Exit


def root() -> Any:
    """The whole command line as a Typer command."""
    app = _typer(cls=_Table)

    @app.callback(context_settings=_CONTEXT, invoke_without_command=True)
    def memcli(
        ctx: typer.Context,
        version: Annotated[  # noqa: ARG001 - its callback prints it
            bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
        ] = False,
    ) -> None:
        """Long-term memory for language models, on your own machine.

        \b
        Examples:
          memcli remember "I prefer Maven over Gradle"
          memcli recall "which build tool do I like?"
          memcli import history.jsonl
          memcli forget --query "everything about Corin"
        """
        if ctx.invoked_subcommand is None:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(UsageError.exit_code)

    # A group with commands of its own is what makes Typer build a group.
    app.command("help", hidden=True)(lambda: None)
    return typer.main.get_command(app)


def call(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code.

    Raises:
        UsageError: the command line is not understood.
        MemcliError: what the command itself raises.
    """
    try:
        code = root().main(list(argv), prog_name="memcli", standalone_mode=False)
    except typer.Exit as leave:
        return int(leave.exit_code)
    except typer.Abort:
        return 130
    except SystemExit as leave:
        # Typer answers a closed pipe with an exit of its own; main() knows better.
        if isinstance(leave.__context__, BrokenPipeError):
            raise leave.__context__ from None
        raise
    except typer.TyperException as error:
        raise _usage_error(error) from error
    return int(code or 0)


def _usage_error(error: Any) -> UsageError:
    """What Typer found wrong, in our words."""
    message = str(error.format_message() if hasattr(error, "format_message") else error).strip().rstrip(".")
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "memcli"
    hint = f"see `{where} --help`"
    if possible := getattr(error, "possibilities", None):
        message, hint = f"there is no option {error.option_name}", _did_you_mean(error.option_name, possible)
    return UsageError(message[:1].lower() + message[1:], hint)


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else "see `memcli --help`"
