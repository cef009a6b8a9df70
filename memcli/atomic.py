"""A file that is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

from memcli.errors import StoreError, UsageError

T = TypeVar("T")


def write_atomically(path: Path, write: Callable[[IO[bytes]], T]) -> T:
    """What `write` puts into a stream, as the file `path`, readable by its owner alone.

    The file appears, or takes the place of the one before, when all of it is on disk; if `write` or the
    disk fails, all is as it was. A link stays, and what it leads to is replaced. A device or a pipe has
    no such moment and is written to as it comes.

    Returns:
        What `write` returns.

    Raises:
        UsageError: the directory is not there.
        StoreError: the file cannot be written.
        BrokenPipeError: who reads the pipe has gone.
    """
    with writing_to(str(path)):
        if not path.parent.is_dir():
            raise UsageError(f"there is no directory {path.parent}", "make it first, or choose another place")
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                return write(stream)
        return _replace(Path(os.path.realpath(path)), write)


def _replace(path: Path, write: Callable[[IO[bytes]], T]) -> T:
    from tempfile import mkstemp

    descriptor, name = mkstemp(prefix=".memcli-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            answer = write(stream)
            stream.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    return answer


@contextmanager
def writing_to(place: str) -> Iterator[None]:
    """Say of an OSError that `place` cannot be written, as a StoreError; a closed pipe is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(
            f"{place} cannot be written: {error.strerror or error}",
            "make room there or change its permissions, or choose another place",
        ) from error
