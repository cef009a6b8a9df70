"""An Ollama server for tests: a real one's answers over HTTP, embeddings out of words, failures on demand."""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/json; charset=utf-8"
TEXT = "text/plain"
SPECIAL_TOKENS = 2
MODIFIED_AT = "2026-08-21T10:00:00.000000000Z"


@dataclass(frozen=True)
class Model:
    """A model that the server has. `capabilities` is what the listing says, which need not be true."""

    name: str
    dim: int = 256
    context: int = 512
    family: str = "bert"
    embeds: bool = True
    capabilities: Sequence[str] = ("embedding",)
    version: int = 1
    remote_host: str | None = None

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.name} {self.version}".encode()).hexdigest()

    @property
    def details(self) -> dict[str, Any]:
        return {
            "parent_model": "",
            "format": "gguf",
            "family": self.family,
            "families": [self.family],
            "parameter_size": "22.57M",
            "quantization_level": "F16",
        }

    @property
    def listing(self) -> dict[str, Any]:
        remote = {"remote_model": self.name, "remote_host": self.remote_host} if self.remote_host else {}
        return {
            "name": self.name,
            "model": self.name,
            "modified_at": MODIFIED_AT,
            "size": 45_949_364,
            "digest": self.digest,
            "details": self.details,
            "capabilities": list(self.capabilities),
            **remote,
        }


@dataclass(frozen=True)
class Reply:
    """What goes over the wire; a cut one announces all of its body and sends half of it."""

    status: int
    body: bytes
    content_type: str | None = JSON
    is_cut: bool = False
    location: str | None = None


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RefusedError(Exception):
    """Ends a handler with an error of the server."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.reply = answer({"error": message}, status=status)


def answer(value: Any, *, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value, separators=(",", ":")).encode())


def _with_vectors(change: Callable[[list[list[float]]], Any]) -> Callable[[Reply], Reply]:
    def spoil(reply: Reply) -> Reply:
        value = json.loads(reply.body)
        return answer({**value, "embeddings": change(value["embeddings"])})

    return spoil


def _always(status: int, body: str, content_type: str = JSON) -> Callable[[Reply], Reply]:
    return lambda reply: Reply(status, body.encode(), content_type)


FAULTS: dict[str, Callable[[Reply], Reply]] = {
    "busy": _always(503, '{"error":"server busy, please try again.  maximum pending requests exceeded"}'),
    "crash": _always(500, '{"error":"llama runner process has terminated: exit status 2"}'),
    "runner gone": _always(
        400, '{"error":"do embedding request: Post \\"http://127.0.0.1:41411/embedding\\": EOF"}'
    ),
    "unauthorized": _always(401, '{"error":"unauthorized"}'),
    "nan": _always(500, '{"error":"failed to encode response: json: unsupported value: NaN"}'),
    "nan in body": _with_vectors(lambda rows: [[math.nan] * len(row) for row in rows]),
    "zeros": _with_vectors(lambda rows: [[0] * len(row) for row in rows]),
    "nulls": _with_vectors(lambda rows: [[None] * len(row) for row in rows]),
    "short vectors": _with_vectors(lambda rows: [row[:-1] for row in rows]),
    "one vector less": _with_vectors(lambda rows: rows[:-1]),
    "no vectors": _with_vectors(lambda rows: None),
    "cut body": lambda reply: replace(reply, is_cut=True),
    "not json": _always(200, "Ollama is thinking", TEXT),
    "json of another shape": _always(200, "[1]"),
    "empty error": _always(500, '{"error":""}'),
    "error without a body": _always(500, "", TEXT),
    "error in a list": _always(400, "[1]"),
    "page of a proxy": _always(502, "<html><body>Bad gateway</body></html>", "text/html"),
}
"""What an embedding request can come to instead of its answer."""


def words(text: str) -> list[str]:
    """Words; of Chinese and Japanese, characters."""
    return re.findall(r"[぀-ヿ一-鿿]|\w+", text.casefold())


def embedding(tokens: Sequence[str], dim: int) -> list[float]:
    """A unit vector that points where the vectors of texts with the same words point."""
    sums = [0.0] * dim
    for token in tokens or ["(nothing)"]:
        seed = int.from_bytes(hashlib.blake2b(token.encode(errors="replace"), digest_size=8).digest(), "big")
        sums[seed % dim] += 1 if seed >> 63 else -1
    return _unit(sums)


def _unit(numbers: Sequence[float]) -> list[float]:
    norm = math.hypot(*numbers) or 1.0
    return array("f", [number / norm for number in numbers]).tolist()


@dataclass
class OllamaServer:
    """A server on a free port of 127.0.0.1 for as long as the `with` lasts.

    Switches, to be set at any time: `fault` (a key of FAULTS) spoils what embed answers, `poison` makes
    every embed request fail that holds this word, `delay_s` makes all answers wait, `redirect_to` sends
    all requests to another server, `stop()` makes the port refuse.
    """

    models: Sequence[Model] = (Model("bge-m3:latest"),)
    fault: str | None = None
    poison: str | None = None
    delay_s: float = 0.0
    redirect_to: str | None = None
    requests: list[Request] = field(default_factory=list)
    loaded: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> OllamaServer:
        self._stopping = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"ollama": self}))
        self._http.daemon_threads = False
        self.host = f"http://127.0.0.1:{self._http.server_port}"
        # The default looks for a shutdown only every half second.
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def routes(self) -> dict[str, dict[str, Callable[[Request], Reply]]]:
        """Path → method → handler."""
        return {
            "/": {"GET": self._root, "HEAD": self._root},
            "/api/version": {"GET": lambda request: answer({"version": "0.33.0"})},
            "/api/tags": {"GET": lambda request: answer({"models": [m.listing for m in self.models]})},
            "/api/ps": {"GET": self._ps},
            "/api/show": {"POST": self._show},
            "/api/embed": {"POST": self._embed_or_fail},
        }

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        self._stopping.wait(self.delay_s)
        if request.headers.get("Host", "").rpartition(":")[0] not in {"127.0.0.1", "localhost"}:
            return Reply(403, b"", None)
        if self.redirect_to:
            return Reply(307, b"", None, location=self.redirect_to + request.path)
        methods = self.routes.get(request.path)
        if methods is None:
            return Reply(404, b"404 page not found", TEXT)
        if request.method not in methods:
            return Reply(405, b"405 method not allowed", TEXT)
        try:
            return methods[request.method](request)
        except RefusedError as error:
            return error.reply

    def embedded_texts(self) -> list[list[str]]:
        """The inputs of the embed requests so far."""
        return [request.json["input"] for request in self.requests if request.path == "/api/embed"]

    def _root(self, request: Request) -> Reply:
        return Reply(200, b"Ollama is running", "text/plain; charset=utf-8")

    def _ps(self, request: Request) -> Reply:
        return answer(
            {"models": [_running(m, self.loaded[m.name]) for m in self.models if m.name in self.loaded]}
        )

    def _show(self, request: Request) -> Reply:
        name = read_body(request).get("model", "")
        if not name:
            raise RefusedError(400, "model is required")
        if " " in name:
            raise RefusedError(400, "invalid model name")
        model = self.find(name)
        if model is None:
            raise RefusedError(404, f"model '{full_name(name)}' not found")
        return answer(_shown(model))

    def _embed_or_fail(self, request: Request) -> Reply:
        reply = self._embed(request)
        if self.poison and self.poison in request.body.decode():
            return FAULTS["runner gone"](reply)
        return FAULTS[self.fault](reply) if self.fault else reply

    def _embed(self, request: Request) -> Reply:
        body = read_body(request)
        texts = _inputs(body)
        dim = _dimensions(body)
        name = body.get("model", "")
        model = self.find(name)
        if model is None:
            raise RefusedError(404, f'model "{name}" not found, try pulling it first' if name else _NO_MODEL)
        context = _context(body, model)
        self._load(body, model, context)
        if not model.embeds:
            raise RefusedError(501, "This server does not support embeddings. Start it with `--embeddings`")
        if not texts:
            return answer({"model": name, "embeddings": []})
        cut = [_fit(words(text), context, truncate=body.get("truncate")) for text in texts]
        rows = [embedding(tokens, model.dim) for tokens in cut]
        return answer(
            {
                "model": name,
                "embeddings": [_unit(row[:dim]) if dim else row for row in rows],
                "total_duration": 14_000_000,
                "load_duration": 1_000_000,
                "prompt_eval_count": sum(len(tokens) + SPECIAL_TOKENS for tokens in cut),
            }
        )

    def _load(self, body: Mapping[str, Any], model: Model, context: int) -> None:
        self.loaded[model.name] = context
        if body.get("keep_alive") == 0:
            del self.loaded[model.name]

    def find(self, name: str) -> Model | None:
        wanted = full_name(name).casefold()
        return next((model for model in self.models if full_name(model.name).casefold() == wanted), None)


_NO_MODEL = "model '' not found"


def full_name(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def read_body(request: Request) -> dict[str, Any]:
    """The JSON object of a request, or the error that Go's decoder gives."""
    if not request.body:
        raise RefusedError(400, "missing request body")
    try:
        body: dict[str, Any] = json.loads(request.body)
    except json.JSONDecodeError as error:
        sign = error.doc[error.pos : error.pos + 1]
        raise RefusedError(
            400, f"invalid character '{sign}' looking for beginning of object key string"
        ) from error
    return body


def _inputs(body: Mapping[str, Any]) -> list[str]:
    given = body.get("input") or []
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RefusedError(400, "invalid input type")
    return texts


def _dimensions(body: Mapping[str, Any]) -> int:
    """How many numbers are wanted, 0 for all of them."""
    if isinstance(body.get("keep_alive"), str) and body["keep_alive"].isdigit():
        raise RefusedError(400, f'time: missing unit in duration "{body["keep_alive"]}"')
    dim = body.get("dimensions", 0)
    if not isinstance(dim, int):
        raise RefusedError(
            400, "json: cannot unmarshal string into Go struct field EmbedRequest.dimensions of type int"
        )
    return max(dim, 0)


def _context(body: Mapping[str, Any], model: Model) -> int:
    context = body.get("options", {}).get("num_ctx", model.context)
    if not isinstance(context, int):
        raise RefusedError(500, 'option "num_ctx" must be of type integer')
    return min(context, model.context)


def _fit(tokens: list[str], context: int, *, truncate: bool | None) -> list[str]:
    """As many as the model takes: the rest is dropped in silence, or refused where `truncate` is false."""
    room = context - SPECIAL_TOKENS
    if len(tokens) > room and truncate is False:
        raise RefusedError(400, "the input length exceeds the context length")
    return tokens[:room]


def _running(model: Model, context: int) -> dict[str, Any]:
    return {
        "name": model.name,
        "model": model.name,
        "size": 51_359_251,
        "digest": model.digest,
        "details": model.details,
        "expires_at": MODIFIED_AT,
        "size_vram": 0,
        "context_length": context,
    }


def _shown(model: Model) -> dict[str, Any]:
    return {
        "modelfile": "",
        "template": "",
        "details": model.details,
        "model_info": {
            "general.architecture": model.family,
            f"{model.family}.context_length": model.context,
            f"{model.family}.embedding_length": model.dim,
            **({f"{model.family}.pooling_type": 1} if model.embeds else {}),
        },
        "tensors": [{"name": "token_embd.weight", "type": "F16", "shape": [model.dim, 30_522]}],
        "capabilities": ["embedding" if model.embeds else "completion"],
        "modified_at": MODIFIED_AT,
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ollama: OllamaServer

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
        request = Request(self.command, self.path, dict(self.headers), self.rfile.read(length))
        self._send(self.ollama.reply(request))

    def _send(self, reply: Reply) -> None:
        self.close_connection = True
        self.send_response(reply.status)
        if reply.content_type:
            self.send_header("Content-Type", reply.content_type)
        if reply.location:
            self.send_header("Location", reply.location)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            # A client that no longer waits is no error of the server.
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(reply.body[: len(reply.body) // 2] if reply.is_cut else reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass
