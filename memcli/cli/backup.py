"""backup and restore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.encryption import Encrypt, PassphraseFile, Recipients, key_of, lock_of
from memcli.cli.run import Run
from memcli.cli.write import DryRun
from memcli.errors import NothingMatchedError, UsageError
from memcli.text import regex
from memcli.times import local_zone, to_iso, to_minute

if TYPE_CHECKING:
    from memcli.store.archive import About

_NAME = regex(r"memcli-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(?:-\d+)?\.tar(?:\.age)?")
"""How a backup in the usual place is called; other files there are not ours."""


# --- backup ---------------------------------------------------------------------------------------


def backup(
    run: Run,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="Where to; in a directory, or without it, under the date's name."
        ),
    ] = None,
    encrypt: Encrypt = False,
    passphrase_file: PassphraseFile = None,
    recipient: Recipients = None,
    keep: Annotated[
        int | None,
        typer.Option("--keep", metavar="N", help="Then remove all but the last N of these backups."),
    ] = None,
) -> None:
    """Write everything into one file: memories, vectors, chats, tasks, journal. Others may write meanwhile.

    Examples:
      memcli backup
      memcli backup --keep 7
      memcli backup ~/memories.tar.age --encrypt
      memcli backup /media/stick --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kdqm0

    Every file in it has a SHA-256 sum, and it is read again before it gets its name. Without FILE it goes to
    backups/USER in the data directory, where --keep removes older ones. `memcli restore` puts it back.
    """
    _check_keep(file, keep)
    lock = lock_of(run, encrypt=encrypt, passphrase_file=passphrase_file, recipients=recipient)
    path = _path(run, file, is_encrypted=lock is not None)
    with run.out.progress("saving", unit="bytes") as progress:
        about = run.memory.backup(path, user=run.settings.user, lock=lock, progress=progress)
    removed = _older(run, keep) if keep else []
    if removed:
        run.memory.drop_backups(removed)
    if run.out.as_json:
        told = {"path": str(path), "bytes": path.stat().st_size, "memories": about.memories}
        run.out.document({**told, "encrypted": lock is not None, "removed": [str(each) for each in removed]})
        return
    run.out.line(f"saved {path}")
    for each in removed:
        run.out.line(f"removed {each}")
    run.out.message(_counted(about))


def _check_keep(file: str | None, keep: int | None) -> None:
    if keep is not None and keep < 1:
        raise UsageError(f"--keep cannot be {keep}", "it is 1 or more")
    if keep is not None and file:
        raise UsageError("--keep removes backups from their usual place only", "leave FILE out")


def _place(run: Run) -> Path:
    return run.settings.data_dir / "backups" / run.settings.user


def _path(run: Run, file: str | None, *, is_encrypted: bool) -> Path:
    from memcli.memory import make_private
    from memcli.store.copies import stamp

    directory = Path(file).expanduser().absolute() if file else _place(run)
    if not file:
        make_private(directory)
    if file and not directory.is_dir() and not file.endswith("/"):
        return directory
    suffix = ".tar.age" if is_encrypted else ".tar"
    name = f"memcli-{stamp(run.now())}"
    return next(
        path
        for count in range(1, 10_000)
        if not (path := directory / f"{name}{'' if count == 1 else f'-{count}'}{suffix}").exists()
    )


def _older(run: Run, keep: int) -> list[Path]:
    """The backups in the usual place besides the last ones."""
    ours = [path for path in _place(run).iterdir() if _NAME.fullmatch(path.name) and path.is_file()]
    return sorted(ours, key=lambda path: (path.stat().st_mtime_ns, path.name))[:-keep]


def _counted(about: About) -> str:
    noun = "memory" if about.memories == 1 else "memories"
    chats = f" and {about.sessions:,} {'chat' if about.sessions == 1 else 'chats'}" if about.sessions else ""
    return f"{about.memories:,} {noun}{chats}, {about.bytes:,} bytes"


# --- restore --------------------------------------------------------------------------------------


def restore(
    run: Run,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A backup, or a store that was set aside.")],
    passphrase_file: PassphraseFile = None,
    identity: Annotated[
        str | None, typer.Option("--identity", metavar="FILE", help="The secret key of a --recipient.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Put a backup in the place of the store, which is kept aside until the next restore or forget.

    Examples:
      memcli restore memcli-2026-03-01T09-00-00Z.tar
      memcli restore memories.tar.age --dry-run
      memcli restore memories.tar.age --identity ~/.config/age/key.txt --yes

    It is read to its end first; if a bit of it is wrong, nothing is changed. What was forgotten since stays
    forgotten.
    """
    path = Path(file).expanduser().absolute()
    key = key_of(run, path, passphrase_file=passphrase_file, identity=identity)
    with run.out.progress("checking", unit="bytes") as progress:
        about = run.memory.check_backup(path, key=key, progress=progress)
    told = f"{_counted(about)}, of {to_minute(about.made_at, tz=local_zone())}"
    if dry_run:
        _show_plan(run, path, told)
        return
    if not yes and run.out.can_ask:
        run.out.message(f"{path}: {told}")
    if not run.out.confirm(f"put it in the place of all that {run.settings.user} has now?", yes=yes):
        raise NothingMatchedError("nothing was restored", "")
    with run.out.progress("restoring", unit="bytes") as progress:
        done = run.memory.restore(path, key=key, progress=progress)
    aside = None if done.aside is None else str(done.aside)
    if run.out.as_json:
        counts = {"memories": about.memories - done.forgotten, "forgotten": done.forgotten}
        run.out.document({"restored": str(path), "made_at": to_iso(about.made_at), **counts, "aside": aside})
        return
    run.out.line(f"restored {path}")
    if done.forgotten:
        run.out.message(f"forgotten since then, and left out: {done.forgotten:,}")
    if done.uncarried:
        run.out.message(
            "the backup is of another store: an import may bring back what was forgotten here, if it is not "
            "in the backup"
        )
    if aside:
        run.out.message(f"what was there is in {aside}, until the next restore or forget")


def _show_plan(run: Run, path: Path, told: str) -> None:
    if run.out.as_json:
        step = {"action": "restore", "id": "", "text": str(path), "why": told}
        run.out.document({"plan": [step]})
    else:
        run.out.line(f"would restore\t{path}\t{told}")
