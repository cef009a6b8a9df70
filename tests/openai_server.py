"""An OpenAI-compatible server for tests: streams, usage and errors in the dialects of several servers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.ollama_chat import Says, Script, prompt_tokens, script_for
from tests.wire import DroppedError, Listener, RefusedError, Reply, Request, Stream, answer

EVENTS = "text/event-stream; charset=utf-8"

EVERYTHING = ("stream_options", "chat_template_kwargs", "json_schema", "json_object")


def _error(status: int, message: str, **more: Any) -> Reply:
    return answer({"error": {"message": message, "type": "error", "code": status, **more}}, status=status)


REFUSALS: dict[str, Reply] = {
    "no such model": _error(404, "The model `x` does not exist."),
    "no such path": answer({"detail": "Not Found"}, status=404),
    "unauthorized": _error(401, "Invalid API Key"),
    "forbidden": _error(403, "Country not supported"),
    "limit": _error(429, "Rate limit reached"),
    "crash": _error(500, "EngineCore encountered an issue"),
    "loading": _error(503, "Loading model"),
    "error in words": answer({"error": "Model is unloaded."}, status=400),
    "empty error": answer({"error": {}}, status=500),
    "error without a body": Reply(500, b"", "text/plain"),
    "page of a proxy": Reply(502, b"<html><body>Bad gateway</body></html>", "text/html"),
    "page": Reply(200, b"<html><body>Sign in</body></html>", "text/html"),
    "not json": Reply(200, b"hello", "text/plain"),
    "redirect": Reply(307, b"", None, location="/elsewhere"),
}
"""What a chat request can come to in place of an answer."""

TOO_LONG: dict[str, Reply] = {
    "vLLM": _error(
        400,
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        type="BadRequestError",
    ),
    "llama.cpp": _error(
        400,
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        type="exceed_context_size_error",
        n_prompt_tokens=5000,
        n_ctx=4096,
    ),
    "LM Studio": answer(
        {
            "error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
            "loaded with context length of only 4096 tokens, which is not enough."
        },
        status=400,
    ),
    "OpenAI": _error(400, "Please reduce the length of the messages.", code="context_length_exceeded"),
}
"""How servers say that more was sent than the model takes."""


def _drop(event: bytes) -> tuple[bytes, bool]:
    raise DroppedError


BREAKS: dict[str, Callable[[bytes], tuple[bytes, bool]]] = {
    "error": lambda event: (b'data: {"error": {"message": "EngineCore died", "code": 500}}\n\n', False),
    "crash in words": lambda event: (b'event: error\ndata: {"error": "The model has crashed"}\n\n', False),
    "no end": lambda event: (b"", False),
    "done without a reason": lambda event: (b"data: [DONE]\n\n", False),
    "half an event": lambda event: (event[: len(event) // 2], False),
    "garbage": lambda event: (b"data: hello\n\n", False),
    "another shape": lambda event: (b'data: {"choices": [{"delta": "hello"}]}\n\n', False),
    "dropped": _drop,
    "comment": lambda event: (b": ping\n\n" + event, True),
    "blank lines": lambda event: (b"\n\n" + event, True),
}
"""What can become of a stream: what is sent in place of an event, and whether the rest follows."""

HARMLESS = ("comment", "blank lines")


@dataclass
class OpenAIServer:
    """A server on a free port of 127.0.0.1 for as long as the `with` lasts, at `base_url`.

    `says` is as that of OllamaServer, with faults of REFUSALS, TOO_LONG and BREAKS; `models` maps names to
    what the listing says of them besides; `accepts` is what it takes of EVERYTHING, the rest it refuses with
    400; `thinking_field` is where its thinking goes; `key` is the only one it lets in.
    """

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"qwen3-4b": {}})
    accepts: Sequence[str] = EVERYTHING
    says: Says = None
    thinking_field: str = "reasoning_content"
    key: str | None = None
    requests: list[Request] = field(default_factory=list)
    left: list[Request] = field(default_factory=list)

    def __enter__(self) -> OpenAIServer:
        self._listener = Listener(self)
        self._turns = itertools.count()
        self.base_url = f"{self._listener.host}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._listener.stop()

    def note_left(self, request: Request) -> None:
        self.left.append(request)

    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests so far, with those that were refused."""
        return [request.json for request in self.requests if request.path.endswith("/chat/completions")]

    def reply(self, request: Request) -> Reply | Stream:
        self.requests.append(request)
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return REFUSALS["unauthorized"]
        try:
            if request.path == "/v1/models":
                entries = [{"id": name, "object": "model", **more} for name, more in self.models.items()]
                return answer({"object": "list", "data": entries})
            if request.path == "/v1/chat/completions":
                return self._chat(request)
        except RefusedError as error:
            return error.reply
        return REFUSALS["no such path"]

    def _chat(self, request: Request) -> Reply | Stream:
        body = request.json
        self._refuse_unknown(body)
        if body["model"] not in self.models:
            return REFUSALS["no such model"]
        # A request is in the form that Ollama's scripts look at.
        wanted = body.get("response_format", {}).get("json_schema", {}).get("schema")
        asked = Request(
            "POST", request.path, request.headers, json.dumps({**body, "format": wanted}).encode()
        )
        script = script_for(self.says, asked, turn=next(self._turns))
        if script.fault in REFUSALS | TOO_LONG:
            return (REFUSALS | TOO_LONG)[script.fault]
        return Stream(self._spoken(list(self._events(body, script)), script), EVENTS)

    def _refuse_unknown(self, body: Mapping[str, Any]) -> None:
        given = {name for name in ("stream_options", "chat_template_kwargs") if name in body}
        given |= {body["response_format"]["type"]} if "response_format" in body else set()
        for name in given - set(self.accepts):
            raise RefusedError(400, f"'{name}' is not permitted")

    def _events(self, body: Mapping[str, Any], script: Script) -> Iterator[bytes]:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}

        def event(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return _event({**head, "choices": [choice]})

        is_quiet = body.get("chat_template_kwargs", {}).get("enable_thinking") is False
        thinking = [] if is_quiet else script.thinking
        tokens = [(self.thinking_field, piece) for piece in thinking]
        tokens += [("content", piece) for piece in script.pieces]
        most = body.get("max_tokens", len(tokens))
        yield event({"role": "assistant", "content": ""})
        yield from (event({name: piece}) for name, piece in tokens[:most])
        yield event({}, "length" if most < len(tokens) else script.reason)
        if body.get("stream_options"):
            read = script.prompt_tokens or prompt_tokens(body["messages"])
            usage = {"prompt_tokens": read, "completion_tokens": len(tokens[:most]), "total_tokens": 0}
            yield _event({**head, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def _spoken(self, events: Sequence[bytes], script: Script) -> Iterator[bytes]:
        for number, event in enumerate(events):
            if self._listener.stopping.wait(script.pace_s if number else script.delay_s):
                raise DroppedError
            # The first event has no piece yet.
            is_broken = script.fault and number == script.after + 1
            sent, goes_on = BREAKS[script.fault or ""](event) if is_broken else (event, True)
            if sent:
                yield sent
            if not goes_on:
                return


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
