"""The connections of a client of httpx, which another thread can hang up."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from memcli.errors import HungUpError, ModelError
from memcli.stop import Stop

if TYPE_CHECKING:
    import socket

# A connection that is encrypted has another socket than before; a proxy's has the same events.
_OPENED = (".connect_tcp.complete", ".start_tls.complete")


class Lines:
    """The open connections of a client that is made with these `hooks`.

    To close a client does not wake who reads from it; to shut its sockets down does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_cut = False

    @property
    def hooks(self) -> dict[str, list[Any]]:
        """The event hooks for the client."""
        return {"request": [lambda request: request.extensions.update(trace=self._note)]}

    def hang_up(self) -> None:
        """End every request, also those that are still to come."""
        with self._lock:
            self._is_cut = True
            for line in self._sockets:
                _shut(line)

    def _note(self, event: str, told: Mapping[str, Any]) -> None:
        if not event.endswith(_OPENED):
            return
        with self._lock:
            line = told["return_value"].get_extra_info("socket")
            self._sockets.append(line)
            if self._is_cut:
                _shut(line)


def _shut(line: socket.socket) -> None:
    import socket

    # It may be closed, or in the hands of its encrypted successor. That one's own method would take the
    # encryption from under who still reads.
    with suppress(OSError):
        socket.socket.shutdown(line, socket.SHUT_RDWR)


@contextmanager
def hung_up_by(stop: Stop | None, lines: Lines) -> Iterator[None]:
    """Within this a wish to stop hangs up. Raises HungUpError in place of what that leads to."""
    if stop is None:
        yield
        return
    if stop.is_set:
        raise HungUpError
    try:
        with stop.ending(lines.hang_up):
            yield
    except ModelError as error:
        if stop.is_set:
            raise HungUpError from error
        raise
