"""HTTP for the scripted servers: replies, streams that wait and break, and a server on a free port."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

JSON = "application/json; charset=utf-8"
TEXT = "text/plain"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What goes over the wire; a cut one announces all of its body and sends half of it."""

    status: int
    body: bytes
    content_type: str | None = JSON
    is_cut: bool = False
    location: str | None = None


@dataclass(frozen=True)
class Stream:
    """An answer that goes over the wire as it is made, with status 200; DroppedError breaks it off."""

    parts: Iterator[bytes]
    content_type: str


class DroppedError(Exception):
    """Ends a stream as a server does that dies."""


class RefusedError(Exception):
    """Ends a handler with an error of the server."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.reply = answer({"error": message}, status=status)


def answer(value: Any, *, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value, separators=(",", ":")).encode())


class Answering(Protocol):
    """What a scripted server is to its handler."""

    def reply(self, request: Request) -> Reply | Stream: ...

    def note_left(self, request: Request) -> None:
        """The client went away before the answer was whole."""


class Listener:
    """A scripted server on a free port of 127.0.0.1 until `stop()`."""

    def __init__(self, scripted: Answering) -> None:
        self.stopping = threading.Event()
        self._http = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Handler", (_Handler,), {"scripted": scripted})
        )
        self._http.daemon_threads = False
        self.host = f"http://127.0.0.1:{self._http.server_port}"
        # The default looks for a shutdown only every half second.
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Pieces go out one by one, as they do from a real server.
    disable_nagle_algorithm = True
    scripted: Answering

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.title(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self.rfile.read(length))
        reply = self.scripted.reply(request)
        self.close_connection = True
        try:
            if isinstance(reply, Stream):
                self._send_stream(reply)
            else:
                self._send(reply)
        except (BrokenPipeError, ConnectionResetError):
            # A client that no longer waits is no error of the server.
            self.scripted.note_left(request)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        if reply.content_type:
            self.send_header("Content-Type", reply.content_type)
        if reply.location:
            self.send_header("Location", reply.location)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body[: len(reply.body) // 2] if reply.is_cut else reply.body)

    def _send_stream(self, stream: Stream) -> None:
        self.send_response(200)
        self.send_header("Content-Type", stream.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(DroppedError):
            for part in stream.parts:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass
