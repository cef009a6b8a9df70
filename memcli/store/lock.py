"""The writers' lock: one writer at a time, readers never wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memcli.errors import StoreError

# Past this a waiting person is told what they wait for.
_QUIET_S = 2.0


@contextmanager
def writing(path: Path, *, timeout_s: float, notice: Callable[[str], None]) -> Iterator[None]:
    """Hold the writers' lock of a store. The kernel lets go of it when its holder dies.

    Args:
        path: the lock file; its directory exists.
        timeout_s: how long to wait in all.
        notice: told once, in a sentence, when the wait takes more than two seconds.

    Raises:
        StoreError: the lock is still held after `timeout_s`, or the file cannot be made.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, mode=0o600)
    try:
        try:
            lock.acquire(timeout=min(_QUIET_S, timeout_s), poll_interval=0.02)
        except Timeout:
            notice("waiting for another memcli that is writing to this store")
            lock.acquire(timeout=max(0.0, timeout_s - _QUIET_S), poll_interval=0.05)
    except Timeout as error:
        raise StoreError(
            f"the store is locked: another memcli has been writing for more than {timeout_s:.0f} seconds",
            "wait for it to end, or raise `lock_timeout_s` (memcli config set lock_timeout_s 600)",
        ) from error
    except OSError as error:
        raise StoreError(
            f"the lock file {path} cannot be written ({error.strerror or error})",
            "check the permissions of the data directory and the free space on its disk",
        ) from error
    try:
        yield
    finally:
        lock.release()
