"""An Ollama server for tests: a real one's answers over HTTP, embeddings out of words, failures on demand."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.ollama_chat import (
    DEFAULT_CONTEXT,
    NDJSON,
    Says,
    Script,
    chat_message,
    check_abilities,
    check_chat,
    check_schema,
    generate_message,
    script_answer,
    script_for,
    to_line,
    tokens_read,
    words,
)
from tests.wire import JSON, TEXT, DroppedError, Listener, RefusedError, Reply, Request, Stream, answer

__all__ = [
    "FAULTS",
    "Model",
    "OllamaServer",
    "Reply",
    "Request",
    "Script",
    "chat_model",
    "embedding",
    "words",
]

SPECIAL_TOKENS = 2
MODIFIED_AT = "2026-08-21T10:00:00.000000000Z"


@dataclass(frozen=True)
class Model:
    """A model that the server has; `chat_model` makes one that answers.

    It was made for `context` tokens, of which it embeds `batch` at most.
    `capabilities` is what the listing says, which need not be true; `parameters` are of its Modelfile; a
    native one refuses a prompt that is too long, the others cut it in silence.
    """

    name: str
    dim: int = 256
    context: int = 512
    family: str = "bert"
    embeds: bool = True
    capabilities: Sequence[str] = ("embedding",)
    version: int = 1
    remote_host: str | None = None
    parameters: str = ""
    is_native: bool = False
    batch: int | None = None

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
        return {
            "name": self.name,
            "model": self.name,
            "modified_at": MODIFIED_AT,
            "size": 45_949_364,
            "digest": self.digest,
            "details": self.details,
            "capabilities": list(self.capabilities),
            **self.remote,
        }

    @property
    def remote(self) -> dict[str, str]:
        return {"remote_model": self.name, "remote_host": self.remote_host} if self.remote_host else {}


def chat_model(
    name: str = "llama3.2:latest",
    *,
    context: int = 131_072,
    thinks: bool = False,
    is_native: bool = False,
    parameters: str = "",
    remote_host: str | None = None,
) -> Model:
    """A model that answers: `thinks` where it has a field for its thinking, and thinks by default."""
    return Model(
        name,
        dim=640,
        context=context,
        family="llama",
        embeds=False,
        capabilities=("completion", "tools", *(["thinking"] if thinks else [])),
        remote_host=remote_host,
        parameters=parameters,
        is_native=is_native,
    )


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
    all requests to another server, `stop()` makes the port refuse and breaks off what is being said.

    Chat: `says` is what the models answer to /api/chat and /api/generate: a text, a Script (pieces, delays,
    failures), a function of the Request that gives one, or a list of these, one a request. `load_s` is how
    long a model loads before its first answer, and again when its num_ctx changes (`loads` tells each time).
    `chats()` are the requests so far, `left` those whose client did not wait for the end. Models of
    `library` can be pulled, unless `pull_fault` says how that fails.

        with OllamaServer([chat_model()]) as server:
            server.says = ["Noted.", Script(["Maven", "."], pace_s=0.01), Script(fault="dropped")]
            ...  # OLLAMA_HOST is server.host
            assert server.chats()[0]["messages"][-1]["content"] == "I use Maven."
    """

    models: Sequence[Model] = (Model("bge-m3:latest"),)
    fault: str | None = None
    poison: str | None = None
    delay_s: float = 0.0
    redirect_to: str | None = None
    says: Says = None
    load_s: float = 0.0
    library: Sequence[Model] = ()
    pull_fault: str | None = None
    requests: list[Request] = field(default_factory=list)
    left: list[Request] = field(default_factory=list)
    loaded: dict[str, int] = field(default_factory=dict)
    loads: list[tuple[str, int]] = field(default_factory=list)

    def __enter__(self) -> OllamaServer:
        self._listener = Listener(self)
        self._turns = itertools.count()
        self.host = self._listener.host
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._listener.stop()

    def wait(self, seconds: float) -> bool:
        """Sleep; whether the server was stopped meanwhile."""
        return self._listener.stopping.wait(seconds)

    def note_left(self, request: Request) -> None:
        self.left.append(request)

    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests so far, without those that only load or unload."""
        bodies = [request.json for request in self.requests if request.path == "/api/chat"]
        return [body for body in bodies if body.get("messages")]

    @property
    def routes(self) -> dict[str, dict[str, Callable[[Request], Reply | Stream]]]:
        """Path → method → handler."""
        return {
            "/": {"GET": self._root, "HEAD": self._root},
            "/api/version": {"GET": lambda request: answer({"version": "0.33.0"})},
            "/api/tags": {"GET": lambda request: answer({"models": [m.listing for m in self.models]})},
            "/api/ps": {"GET": self._ps},
            "/api/show": {"POST": self._show},
            "/api/embed": {"POST": self._embed_or_fail},
            "/api/chat": {"POST": self._chat},
            "/api/generate": {"POST": self._generate},
            "/api/pull": {"POST": self._pull},
        }

    def reply(self, request: Request) -> Reply | Stream:
        self.requests.append(request)
        self.wait(self.delay_s)
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
        room = min(context, model.batch or context)
        cut = [_fit(words(text), room, truncate=body.get("truncate")) for text in texts]
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

    # --- chat ---

    def _chat(self, request: Request) -> Reply | Stream:
        body = read_body(request)
        check_chat(body)
        return self._say(request, body, body.get("messages") or [], chat_message, "chat")

    def _generate(self, request: Request) -> Reply | Stream:
        body = read_body(request)
        check_chat(body)
        given = (("system", body.get("system")), ("user", body.get("prompt")))
        messages = [{"role": role, "content": text} for role, text in given if text]
        return self._say(request, body, messages, generate_message, "generate")

    def _say(
        self,
        request: Request,
        body: Mapping[str, Any],
        messages: Sequence[Mapping[str, Any]],
        shape: Callable[[str, str], dict[str, Any]],
        verb: str,
    ) -> Reply | Stream:
        model = self.find(body["model"])
        if model is None:
            raise RefusedError(404, f"model '{body['model']}' not found")
        if model.embeds:
            raise RefusedError(400, f'"{body["model"]}" does not support {verb}')
        check_abilities(body, model.capabilities, full_name(model.name))
        context = _context(body, model, default=DEFAULT_CONTEXT)
        if not messages:
            self._load(body, model, context)
            reason = "unload" if body.get("keep_alive") == 0 else "load"
            head = {"model": body["model"], "created_at": MODIFIED_AT}
            return answer({**head, **shape("", ""), "done": True, "done_reason": reason})
        check_schema(body)
        self._load(body, model, context)
        read = tokens_read({**body, "messages": messages}, context, is_native=model.is_native)
        return script_answer(
            script_for(self.says, request, turn=next(self._turns)),
            body,
            shape=shape,
            thinks="thinking" in model.capabilities,
            read=read,
            wait=self.wait,
        )

    def _pull(self, request: Request) -> Reply | Stream:
        body = read_body(request)
        name = body.get("model", "")
        if " " in name:
            raise RefusedError(400, "invalid model name")
        wanted = full_name(name).casefold()
        model = next((model for model in self.library if full_name(model.name).casefold() == wanted), None)
        events = self._pulled(model)
        if body.get("stream", True):
            return Stream((to_line(event) for event in events), NDJSON)
        last = list(events)[-1]
        return replace(answer(last, status=500 if "error" in last else 200), content_type="application/json")

    def _pulled(self, model: Model | None) -> Iterator[dict[str, Any]]:
        yield {"status": "pulling manifest"}
        if model is None or self.pull_fault in PULL_FAULTS:
            yield {"error": PULL_FAULTS[self.pull_fault or "no such model"]}
            return
        for digest, total in ((model.digest, 4_000), (model.digest[::-1], 50)):
            layer = {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": total}
            yield layer
            for share in (1, 2, 4):
                yield {**layer, "completed": total * share // 4}
                if share == 2 and self.pull_fault:
                    yield from _broken_pull(self.pull_fault)
                    return
        yield {"status": "verifying sha256 digest"}
        yield {"status": "writing manifest"}
        self.models = [*self.models, model]
        yield {"status": "success"}

    def _load(self, body: Mapping[str, Any], model: Model, context: int) -> None:
        if self.loaded.get(model.name) != context:
            self.loads.append((model.name, context))
            self.wait(self.load_s)
        self.loaded[model.name] = context
        if body.get("keep_alive") == 0:
            del self.loaded[model.name]

    def find(self, name: str) -> Model | None:
        wanted = full_name(name).casefold()
        return next((model for model in self.models if full_name(model.name).casefold() == wanted), None)


_NO_MODEL = "model '' not found"

PULL_FAULTS = {
    "no such model": "pull model manifest: file does not exist",
    "offline": 'pull model manifest: Get "https://registry.ollama.ai/v2/library/nope/manifests/latest": '
    "dial tcp: lookup registry.ollama.ai on 127.0.0.53:53: no such host",
}
"""Errors before anything was fetched; "disk full", "dropped" and "no success" come in the middle."""


def _broken_pull(fault: str) -> Iterator[dict[str, Any]]:
    if fault == "dropped":
        raise DroppedError
    if fault == "disk full":
        yield {"error": "write /models/blobs/sha256-partial: no space left on device"}


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


def _context(body: Mapping[str, Any], model: Model, *, default: int | None = None) -> int:
    context = (body.get("options") or {}).get("num_ctx", default or model.context)
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
        **({"parameters": model.parameters} if model.parameters else {}),
        "template": "",
        "details": model.details,
        "model_info": {
            "general.architecture": model.family,
            f"{model.family}.context_length": model.context,
            f"{model.family}.embedding_length": model.dim,
            **({f"{model.family}.pooling_type": 1} if model.embeds else {}),
        },
        "tensors": [{"name": "token_embd.weight", "type": "F16", "shape": [model.dim, 30_522]}],
        "capabilities": ["embedding"] if model.embeds else list(model.capabilities) or ["completion"],
        "modified_at": MODIFIED_AT,
        **model.remote,
    }
