"""Lets one thread end what another one waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """A wish that something ends, said in one thread and obeyed in another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._ends: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether it is wished."""
        return self._is_set

    def set(self) -> None:
        """Wish it."""
        with self._lock:
            self._is_set = True
            ends = list(self._ends)
        for end in ends:
            end()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """Within this the wish calls `end` from its own thread, for what waits where it cannot look."""
        with self._lock:
            self._ends.append(end)
            is_set = self._is_set
        if is_set:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """Within this it is wished once so much time has gone by."""
        timer = threading.Timer(seconds, self.set)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
