"""What the chat models of the scripted Ollama server say, and how they fail."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.wire import DroppedError, RefusedError, Reply, Request, Stream, answer

CREATED_AT = "2026-08-21T10:00:01.000000000Z"
NDJSON = "application/x-ndjson"
DEFAULT_CONTEXT = 4096
LEAST_ROOM = 256
"""Tokens that a runner has at least, whatever num_ctx says."""


# --- scripts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Script:
    """One answer of a chat model.

    `pieces` are its tokens and go over the wire one by one, after the `thinking` (which a model that thinks
    says where the request does not turn it off). `num_predict` of the request cuts both together. `delay_s`
    goes before the first piece, `pace_s` between two. `fault` is a key of REFUSALS (in place of the answer)
    or of BREAKS (after `after` pieces). `prompt_tokens` is what the server says that it read, by default
    what it would have read.
    """

    pieces: Sequence[str] = ("I ", "see", ".")
    thinking: Sequence[str] = ()
    reason: str = "stop"
    delay_s: float = 0.0
    pace_s: float = 0.0
    fault: str | None = None
    after: int = 2
    prompt_tokens: int | None = None


Said = str | Script
"""A text stands for a Script of its words."""

Line = Said | Callable[[Request], Said]
Says = Line | Sequence[Line] | None
"""One line for all requests, or one a request of which the last stays; None: "I see.", and for a request with
a schema the smallest object that fits it."""


def script_for(says: Says, request: Request, *, turn: int) -> Script:
    """What is said to the request that is the `turn`th (from 0)."""
    line = says
    if isinstance(says, Sequence) and not isinstance(says, str):
        line = says[min(turn, len(says) - 1)]
    if callable(line):
        line = line(request)
    if line is None:
        schema = request.json.get("format")
        line = json.dumps(smallest(schema)) if isinstance(schema, dict) else Script()
    assert isinstance(line, str | Script)
    return Script(re.findall(r"\s*\S+|\s+", line)) if isinstance(line, str) else line


def smallest(schema: Mapping[str, Any]) -> Any:
    """The smallest value that fits a schema: only what is required, empty texts and lists."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: smallest(schema["properties"][name]) for name in schema.get("required", ())}
    return {"string": "", "array": [], "boolean": False, "null": None}.get(schema.get("type", ""), 0)


def wrapped(value: object) -> str:
    """JSON as models that talk give it: with words and a fence around it."""
    return f"Sure! Here it is:\n```json\n{json.dumps(value, ensure_ascii=False)}\n```\nAnything {{else}}?"


UNFIT: dict[str, Script] = {
    "cut off": Script(('{"', "facts", '": [', '{"te'), reason="length"),
    "thinking inside": Script(('{"facts": ["', "<think>", "The user", '"]}')),
    "blanks without end": Script(("{", *["\n  "] * 10_000)),
    "nothing but blanks": Script((" \n",) * 10_000),
    "another shape": Script(('{"answer": ', "42}")),
    "a list": Script(("[1, ", "2]")),
    "no JSON": Script(("I ", "cannot ", "do ", "that.")),
    "empty": Script(()),
    "NaN": Script(('{"facts": ', "NaN}")),
    "too deep": Script(('{"facts": ', "[" * 100_000)),
}
"""Answers to a request with a schema that fit no schema anybody would ask for."""


# --- failures -------------------------------------------------------------------------------------


def _error(status: int, message: object) -> Reply:
    return answer({"error": message}, status=status)


def exceeded(tokens: int, room: int) -> str:
    """The error of a runner to which too much was sent: JSON in a string."""
    message = (
        f"request ({tokens} tokens) exceeds the available context size ({room} tokens), try increasing it"
    )
    inner = {
        "code": 400,
        "message": message,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": tokens,
        "n_ctx": room,
    }
    return json.dumps({"error": inner}, separators=(",", ":"))


REFUSALS: dict[str, Reply] = {
    "removed": _error(404, "model 'llama3.2' not found"),
    "removed, as embed says it": _error(404, 'model "llama3.2" not found, try pulling it first'),
    "removed, as show says it": _error(404, "model 'llama3.2:latest' not found"),
    "bad request": _error(400, "invalid character 'b' looking for beginning of object key string"),
    "does not chat": _error(400, '"llama3.2" does not support chat'),
    "too long": _error(400, exceeded(730, 256)),
    "too long, in words": _error(
        400,
        "the prompt is longer than the context length currently available to the model; shorten the prompt, "
        "adjust the context length in settings, or use a model with a longer context length",
    ),
    "unauthorized": _error(401, "unauthorized"),
    "forbidden": Reply(403, b"", None),
    "crash": _error(500, "llama runner process has terminated: exit status 2"),
    "no memory": _error(500, "model requires more system memory (5.6 GiB) than is available (3.1 GiB)"),
    "load stalled": _error(500, "timed out waiting for llama runner to start - progress 0.00 - "),
    "does not support": _error(501, "this model is not supported by this version"),
    "busy": _error(503, "server busy, please try again.  maximum pending requests exceeded"),
    "nested error": _error(500, {"code": 500, "message": "the slot is unavailable", "type": "server_error"}),
    "empty error": _error(500, ""),
    "error without a body": Reply(500, b"", "text/plain"),
    "error in a list": Reply(400, b"[1]"),
    "page of a proxy": Reply(502, b"<html><body>Bad gateway</body></html>", "text/html"),
    "page": Reply(200, b"<html><body>Sign in</body></html>", "text/html"),
    "not json": Reply(200, b"Ollama is thinking", "text/plain"),
    "json of another shape": Reply(200, b"[1]\n", NDJSON),
    "cut body": Reply(200, b'{"message":{"content":"I see"},"done":true}\n', NDJSON, is_cut=True),
    "redirect": Reply(307, b"", None, location="/elsewhere"),
}
"""What a chat request can come to in place of an answer."""


def _drop(line: bytes) -> tuple[bytes, bool]:
    raise DroppedError


def _with_next_line(line: bytes) -> tuple[bytes, bool]:
    value = json.loads(line)
    value["message"]["content"] += "\N{NEXT LINE}"
    return to_line(value), True


BREAKS: dict[str, Callable[[bytes], tuple[bytes, bool]]] = {
    "error": lambda line: (b'{"error":"an error was encountered while running the model: EOF"}\n', False),
    "error in an object": lambda line: (
        b'{"error":{"code":500,"message":"the slot is unavailable","type":"server_error"}}\n',
        False,
    ),
    "no done": lambda line: (b"", False),
    "half a line": lambda line: (line[: len(line) // 2], False),
    "page inside": lambda line: (b"<html><body>Bad gateway</body></html>\n", False),
    "another shape inside": lambda line: (b'{"done":"perhaps"}\n', False),
    "dropped": _drop,
    "blank line": lambda line: (b"\n" + line, True),
    "next line": _with_next_line,
}
"""What can become of a stream: what is sent in place of a line, and whether the rest follows."""

HARMLESS = ("blank line", "next line")
"""The keys of BREAKS after which the answer is whole."""


# --- requests -------------------------------------------------------------------------------------

_THINK = (True, False, "low", "medium", "high", "max", None)


def check_chat(body: Mapping[str, Any]) -> None:
    """The errors that a request has whatever the model."""
    if not body.get("model"):
        raise RefusedError(400, "model is required")
    if body.get("think") not in _THINK:
        allowed = '"high", "medium", "low", "max", true, or false'
        raise RefusedError(400, f'invalid think value: "{body["think"]}" (must be {allowed})')
    if any(not isinstance(message["content"], str) for message in body.get("messages") or ()):
        raise RefusedError(
            400,
            "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
        )


def check_abilities(body: Mapping[str, Any], capabilities: Sequence[str], full_name: str) -> None:
    """The errors of a model that is asked for what it cannot do."""
    if body.get("think") and "thinking" not in capabilities:
        raise RefusedError(400, f'"{body["model"]}" does not support thinking')
    if body.get("tools") and "tools" not in capabilities:
        raise RefusedError(400, f"registry.ollama.ai/library/{full_name} does not support tools")
    wanted = body.get("format")
    if wanted not in (None, "", "json") and not isinstance(wanted, dict):
        told = json.dumps(json.dumps(wanted, separators=(",", ":")))
        raise RefusedError(500, f'invalid format: {told}; expected "json" or a valid JSON Schema object')


def check_schema(body: Mapping[str, Any]) -> None:
    """The errors of the runner, which makes a grammar of the schema."""
    properties = body["format"].get("properties", {}) if isinstance(body.get("format"), dict) else {}
    for wanted in properties.values():
        why = None
        if not re.fullmatch(r"\^.*\$", wanted.get("pattern", "^$")):
            why = "Pattern must start with '^' and end with '$'"
        if wanted.get("type") not in {
            None,
            "object",
            "array",
            "string",
            "number",
            "integer",
            "boolean",
            "null",
        }:
            why = f"Unrecognized schema: {json.dumps(wanted, separators=(',', ':'))}"
        if why:
            said = f"Field 'json_schema': \"json_schema\": JSON schema conversion failed:\n{why}"
            inner = {"code": 400, "message": said, "type": "invalid_request_error"}
            raise _of_runner(body, json.dumps({"error": inner}, separators=(",", ":")))


def _of_runner(body: Mapping[str, Any], message: str) -> RefusedError:
    refused = RefusedError(400, message)
    if body.get("stream", True):
        refused.reply = replace(refused.reply, content_type="application/json")
    return refused


def words(text: str) -> list[str]:
    """Words; of Chinese and Japanese, characters."""
    return re.findall(r"[぀-ヿ一-鿿]|\w+", text.casefold())


def prompt_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of a prompt as the scripted models count them: its words, and a few around each message."""
    return 2 + sum(4 + len(words(message["content"])) for message in messages)


def tokens_read(body: Mapping[str, Any], context: int, *, is_native: bool) -> int:
    """How much of the prompt the model reads: the oldest messages go first, then the beginning, in silence.

    A model of the native path refuses the latter, and every model both where `truncate` is false.
    """
    messages = list(body["messages"])
    may_cut = body.get("truncate") is not False
    old = [message for message in messages[:-1] if message["role"] != "system"] if may_cut else []
    sent = prompt_tokens(messages)
    while prompt_tokens(messages) > context and old:
        messages.remove(old.pop(0))
    needed = prompt_tokens(messages)
    if needed <= context:
        return needed
    if is_native or not may_cut:
        raise _of_runner(body, exceeded(sent, max(context, LEAST_ROOM)))
    if body.get("shift") is False:
        raise RefusedError(400, json.loads(REFUSALS["too long, in words"].body)["error"])
    return context // 2 + 3


# --- answers --------------------------------------------------------------------------------------


def to_line(value: Any) -> bytes:
    """A line of a stream as Go writes it: UTF-8, and U+0085 as it is."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text.encode() + b"\n"


def chat_message(content: str, thinking: str) -> dict[str, Any]:
    """The part of a line of /api/chat."""
    thought = {"thinking": thinking} if thinking else {}
    return {"message": {"role": "assistant", "content": content, **thought}}


def generate_message(content: str, thinking: str) -> dict[str, Any]:
    """The part of a line of /api/generate."""
    return {"response": content, **({"thinking": thinking} if thinking else {})}


Shape = Callable[[str, str], dict[str, Any]]


def script_answer(
    script: Script,
    body: Mapping[str, Any],
    *,
    shape: Shape,
    thinks: bool,
    read: int,
    wait: Callable[[float], bool],
) -> Reply | Stream:
    """The script over the wire, as `body` asks for it.

    Args:
        read: tokens of the prompt.
        wait: sleeps; whether the server stopped meanwhile.
    """
    if script.fault in REFUSALS:
        wait(script.delay_s)
        return REFUSALS[script.fault]
    thinking = [(piece, True) for piece in script.thinking if thinks and body.get("think") is not False]
    tokens = thinking + [(piece, False) for piece in script.pieces]
    most = (body.get("options") or {}).get("num_predict", -1)
    is_cut = 0 <= most < len(tokens)
    spoken = tokens[:most] if is_cut else tokens
    end = {
        "done": True,
        "done_reason": "length" if is_cut else script.reason,
        **({"context": [105, 2364, 107]} if shape is generate_message else {}),
        "total_duration": 429_244_722,
        "load_duration": 772_399,
        "prompt_eval_count": read if script.prompt_tokens is None else script.prompt_tokens,
        "prompt_eval_duration": 329_750_000,
        "eval_count": len(spoken),
        "eval_duration": 96_109_000,
    }
    head = {"model": body["model"], "created_at": CREATED_AT}
    if not body.get("stream", True):
        wait(script.delay_s)
        if script.fault:
            return _error(500, "an error was encountered while running the model: EOF")
        thought = "".join(piece for piece, is_thinking in spoken if is_thinking)
        said = "".join(piece for piece, is_thinking in spoken if not is_thinking)
        return answer({**head, **shape(said, thought), **end})
    lines = [
        to_line({**head, **(shape("", piece) if is_thinking else shape(piece, "")), "done": False})
        for piece, is_thinking in spoken
    ]
    return Stream(_spoken([*lines, to_line({**head, **shape("", ""), **end})], script, wait), NDJSON)


def _spoken(lines: Sequence[bytes], script: Script, wait: Callable[[float], bool]) -> Iterator[bytes]:
    at = min(script.after, len(lines) - 1)
    for number, line in enumerate(lines):
        if wait(script.pace_s if number else script.delay_s):
            raise DroppedError
        is_broken = script.fault and number == at
        sent, goes_on = BREAKS[script.fault or ""](line) if is_broken else (line, True)
        if sent:
            yield sent
        if not goes_on:
            return
