"""What a file is encrypted with and opened by: the options, passphrases and keys."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.run import Run
from memcli.config import PASSPHRASE_VARIABLE
from memcli.errors import UsageError

if TYPE_CHECKING:
    from memcli.age import Key, Lock

Encrypt = Annotated[bool, typer.Option("--encrypt", help="Encrypt it with a passphrase (age).")]
PassphraseFile = Annotated[
    str | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help=f"Its first line is the passphrase; or {PASSPHRASE_VARIABLE}.",
    ),
]
Recipients = Annotated[
    list[str] | None,
    typer.Option("--recipient", metavar="KEY", help="Encrypt it for this public key: age1…, ssh-…"),
]


def lock_of(
    run: Run, *, encrypt: bool, passphrase_file: str | None, recipients: list[str] | None
) -> Lock | None:
    """What to encrypt a file with; None where nobody wants it. Raises UsageError."""
    from memcli.age import Lock

    wants_passphrase = encrypt or bool(passphrase_file)
    if recipients and wants_passphrase:
        raise UsageError(
            "a file is opened by a passphrase or by a key", "leave --recipient out, or --encrypt"
        )
    if recipients:
        return Lock(recipients=tuple(recipients))
    return Lock(passphrase=_passphrase(run, passphrase_file, is_new=True)) if wants_passphrase else None


def key_of(run: Run, path: Path, *, passphrase_file: str | None, identity: str | None) -> Key | None:
    """What opens a backup; None where nothing is needed. Raises UsageError."""
    from memcli.age import Key
    from memcli.backup import locked_with, unlock

    needed = locked_with(path)
    if needed == "passphrase":
        return unlock(path, _passphrase(run, passphrase_file, is_new=False))
    if needed == "identity":
        if not identity:
            raise UsageError("the backup is encrypted for a key", "give its secret half with --identity FILE")
        return Key(_read(identity))
    return None


def _passphrase(run: Run, file: str | None, *, is_new: bool) -> str:
    """From a file, MEMCLI_PASSPHRASE or the person. Raises UsageError for none and for an empty one."""
    if file:
        given = _read(file).partition("\n")[0].removesuffix("\r")
    elif not (given := os.environ.get(PASSPHRASE_VARIABLE, "")) and run.out.can_ask:
        given = run.out.ask_secret("passphrase:")
        if is_new and given and given != run.out.ask_secret("once more:"):
            raise UsageError("the two are not the same", "try again")
    if not given:
        raise UsageError(
            "there is no passphrase", f"set {PASSPHRASE_VARIABLE}, or give --passphrase-file FILE"
        )
    return given


def _read(name: str) -> str:
    try:
        return Path(name).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{name} cannot be read as text", "name a file with the key or passphrase"
        ) from error
