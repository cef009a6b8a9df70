"""doctor, config and reembed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memcli.cli.output import elapsed_ms, one_line
from memcli.cli.run import Run, or_subcommand
from memcli.config import CONFIG_VARIABLE, SETTINGS, set_value, unset
from memcli.config import config_path as find_config
from memcli.errors import NothingMatchedError, StoppedError, StoreError, UsageError
from memcli.text import neutral
from memcli.times import to_iso

if TYPE_CHECKING:
    from memcli.doctor import Check

Name = Annotated[str, typer.Argument(metavar="NAME", help="A setting, as `memcli config` lists them.")]

_EXIT_CODES = {"ok": 0, "warn": StoppedError.exit_code, "fail": StoreError.exit_code}
_MARKS = {
    "ok": ("✓", typer.colors.GREEN),
    "warn": ("!", typer.colors.YELLOW),
    "fail": ("✗", typer.colors.RED),
}
_NAME_WIDTH = 16


# --- doctor ---------------------------------------------------------------------------------------


def doctor(
    run: Run,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be mended without loss, and say what was done.")
    ] = False,
) -> None:
    """Check the place, the store and the models, and say what to do. Changes nothing without --fix.

    Examples:
      memcli doctor
      memcli doctor --fix
      memcli doctor --json | jq '.[] | select(.state != "ok")'

    Exit code: 0 all well, 3 with warnings, 5 when the store is in danger.
    """
    from memcli.doctor import ChatUse, checks
    from memcli.models.pick import ChatPlace

    settings = run.settings
    chat = ChatUse(settings.chat_model, settings.learn_model, ChatPlace.of(settings))
    found = []
    for check in checks(run.memory, config=settings.config_path, chat=chat, fix=fix):
        found.append(check)
        if not run.out.as_json:
            _show(run, check)
    if run.out.as_json:
        run.out.document([_check_json(check) for check in found])
    raise typer.Exit(max(_EXIT_CODES[check.state] for check in found))


def _check_json(check: Check) -> dict[str, str]:
    return {"check": check.check, "state": check.state, "found": check.found, "hint": check.hint}


def _show(run: Run, check: Check) -> None:
    if not run.out.is_tty:
        run.out.line("\t".join(map(one_line, _check_json(check).values())))
        return
    mark, color = _MARKS[check.state]
    shown = mark if run.out.is_plain else typer.style(mark, fg=color)
    run.out.write(f"{shown} {check.check:<{_NAME_WIDTH}} {neutral(check.found)}\n")
    if check.hint:
        run.out.line(f"  {'':<{_NAME_WIDTH}} {check.hint}")


# --- config ---------------------------------------------------------------------------------------


def config(run: Run, ctx: typer.Context) -> None:
    """Show every setting, its value and where that comes from.

    Examples:
      memcli config
      memcli config set ollama_host http://127.0.0.1:11434
      memcli config get data_dir
      memcli config unset ollama_host
      memcli config path
    """
    if or_subcommand(ctx):
        return
    settings = [setting_json(run, setting.name) for setting in SETTINGS]
    file = {"name": "config", "value": str(run.settings.config_path), "origin": _origin_of_file()}
    if run.out.as_json:
        run.out.document({"config": file["value"], "origin": file["origin"], "settings": settings})
    elif run.out.is_tty:
        rows = [(row["name"], f"{_text(row['value'])}  ({row['origin']})") for row in (*settings, file)]
        run.out.pairs("", rows)
    else:
        for row in (*settings, file):
            run.out.line("\t".join((row["name"], one_line(_text(row["value"])), row["origin"])))


def config_get(run: Run, name: Name) -> None:
    """Print the value of one setting; an empty line where it has none.

    Examples:
      memcli config get data_dir
      memcli config get ollama_host --json
    """
    known = [setting.name for setting in SETTINGS]
    if name not in known:
        raise UsageError(f"no setting is called {name!r}", f"settings: {', '.join(known)}")
    told = setting_json(run, name)
    if run.out.as_json:
        run.out.document(told)
    else:
        run.out.line(_text(told["value"]))


def config_set(
    run: Run, name: Name, value: Annotated[str, typer.Argument(metavar="VALUE", help="What it shall be.")]
) -> None:
    """Write one setting into the config file, which keeps its comments.

    Examples:
      memcli config set k 20
      memcli config set embedder builtin
    """
    path = find_config(os.environ)
    set_value(path, name, value)
    if run.out.as_json:
        run.out.document({"name": name, "value": value, "path": str(path)})
    else:
        run.out.line(f"set {name} to {one_line(value)} in {path}")
    above = [variable for row in SETTINGS if row.name == name for variable in row.variables]
    for variable in above:
        if os.environ.get(variable):
            run.out.message(f"memcli: {variable} is set, and stands above the file")


def config_unset(run: Run, name: Name) -> None:
    """Take one setting out of the config file.

    Examples:
      memcli config unset k
    """
    path = find_config(os.environ)
    if not unset(path, name):
        raise NothingMatchedError(f"{name} is not set in {path}", "see `memcli config` for what is set where")
    if run.out.as_json:
        run.out.document({"name": name, "path": str(path)})
    else:
        run.out.line(f"unset {name} in {path}")


def config_path(run: Run) -> None:
    """Print where the config file is, or would be.

    Examples:
      memcli config path
      $EDITOR "$(memcli config path)"
    """
    path = str(find_config(os.environ))
    if run.out.as_json:
        run.out.document({"path": path, "origin": _origin_of_file()})
    else:
        run.out.line(path)


def setting_json(run: Run, name: str) -> dict[str, Any]:
    """A setting: its name, its value and where that comes from."""
    value = getattr(run.settings, name.replace(".", "_"))
    if name == "now" and value is not None:
        value = to_iso(value)
    return {
        "name": name,
        "value": str(value) if isinstance(value, Path) else value,
        "origin": run.settings.origins[name],
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else str(value)


def _origin_of_file() -> str:
    return CONFIG_VARIABLE if os.environ.get(CONFIG_VARIABLE) else "default"


# --- reembed --------------------------------------------------------------------------------------


def reembed(
    run: Run,
    embedder: Annotated[
        str | None,
        typer.Argument(
            metavar="EMBEDDER",
            help="builtin or ollama:MODEL; without it the one of the settings, else the best there is.",
        ),
    ] = None,
) -> None:
    """Give every memory a vector of another embedder, then recall with that one.

    Examples:
      memcli reembed builtin
      memcli reembed ollama:bge-m3

    Meanwhile recall goes on with the old vectors. Stopped, it goes on where it was.
    """
    began = time.perf_counter()
    try:
        with run.out.progress("vectors", unit="passages") as tell:
            name, vectors = run.memory.reembed(embedder or run.settings.embedder, progress=tell)
    except KeyboardInterrupt:
        run.out.message(
            "memcli: stopped; the vectors made so far are kept\nhint: run the same command again to go on"
        )
        raise
    took_ms = elapsed_ms(began)
    if run.out.as_json:
        run.out.document({"embedder": name, "vectors": vectors, "took_ms": took_ms})
    else:
        run.out.line(f"made {vectors:,} vectors; recall asks {name} now")
    run.out.timing(f"reembed took {took_ms} ms")
