"""Answers of chat models behind an OpenAI-compatible server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import pytest

from memcli.errors import HungUpError, ModelError, PromptTooLongError
from memcli.models.openai import NUM_CTX, OpenAIChat, key_for, list_served, open_compatible
from memcli.stop import Stop
from memcli.types import Answered, Message, Piece
from tests.ollama_chat import UNFIT, Script, wrapped
from tests.openai_server import BREAKS, EVERYTHING, HARMLESS, REFUSALS, TOO_LONG, OpenAIServer

ASKED = (Message("system", "Be terse."), Message("user", "Which build tool do I use?"))

SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def chat(server: OpenAIServer) -> OpenAIChat:
    return opened(server)


def opened(server: OpenAIServer, *, silence_s: float = 5, num_ctx: int | None = None) -> OpenAIChat:
    return open_compatible(
        "qwen3-4b", base_url=server.base_url, api_key=None, num_ctx=num_ctx, silence_s=silence_s
    )


def said(parts: Sequence[Piece | Answered]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Piece) and not part.is_thinking)


def thought(parts: Sequence[Piece | Answered]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Piece) and part.is_thinking)


# --- streaming ------------------------------------------------------------------------------------


def test_an_answer_comes_in_pieces_and_ends_with_the_counts(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.says = Script(["You use ", "Maven", "."])
    *pieces, end = chat.stream(ASKED)
    assert pieces == [Piece("You use "), Piece("Maven"), Piece(".")]
    assert end == Answered(prompt_tokens=18, answer_tokens=3)


def test_a_server_that_counts_nothing_answers_all_the_same(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.accepts = ()
    for _ in range(2):
        assert list(chat.stream(ASKED))[-1] == Answered(None, None)
    assert ["stream_options" in body for body in server.chats()] == [True, False, False]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_told_apart(server: OpenAIServer, chat: OpenAIChat, field: str) -> None:
    server.thinking_field = field
    server.says = Script(["Maven."], thinking=["They asked ", "before."])
    parts = list(chat.stream(ASKED))
    assert (thought(parts), said(parts)) == ("They asked before.", "Maven.")


def test_thinking_in_tags_is_told_apart(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.says = Script(["<th", "ink>Hm.</", "think>\n\nMaven", "."])
    parts = list(chat.stream(ASKED))
    assert (thought(parts), said(parts)) == ("Hm.", "Maven.")


def test_an_answer_that_reached_its_limit_says_so(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.says = Script(["and so on"], reason="length")
    assert list(chat.stream(ASKED))[-1] == Answered(18, 1, "length")


def test_closing_the_stream_stops_the_model(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.says = Script(["word "] * 10_000, pace_s=0.005)
    stream = chat.stream(ASKED)
    next(stream)
    stream.close()
    deadline = time.monotonic() + 5
    while not server.left and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(server.left) == 1


def test_what_is_asked_ends_at_once_when_it_is_stopped_from_another_thread(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    server.says = Script(["never"], delay_s=30)
    stop = Stop()
    with stop.after(0.3), pytest.raises(HungUpError):
        chat.ask(ASKED, SCHEMA, max_tokens=9, stop=stop)
    server.says = "Still here."
    assert said(list(chat.stream(ASKED))) == "Still here."


# --- failures -------------------------------------------------------------------------------------

HINTS = {
    "unauthorized": "set MEMCLI_CHAT_API_KEY to the key of this server",
    "limit": "the server is busy or its limit is reached, try again later",
    "loading": "the server is busy, or still loads the model, try again later",
    "no such path": "look at chat.model, and at chat.base_url: with most servers it ends in /v1",
}


@pytest.mark.parametrize("fault", sorted(REFUSALS))
@pytest.mark.parametrize("verb", ["stream", "ask"])
def test_a_refusal_is_one_sentence_with_a_hint(
    server: OpenAIServer, chat: OpenAIChat, verb: str, fault: str
) -> None:
    server.says = Script(fault=fault)
    with pytest.raises(ModelError) as raised:
        list(chat.stream(ASKED)) if verb == "stream" else chat.ask(ASKED, SCHEMA, max_tokens=50)
    error = raised.value
    assert error.message
    assert "\n" not in error.message
    assert "<" not in error.message
    assert "{" not in error.message
    assert error.hint
    assert error.hint == HINTS.get(fault, error.hint)


@pytest.mark.parametrize("fault", sorted(TOO_LONG))
@pytest.mark.parametrize("verb", ["stream", "ask"])
def test_a_prompt_that_is_too_long_is_said_to_be_at_once(
    server: OpenAIServer, chat: OpenAIChat, verb: str, fault: str
) -> None:
    server.says = Script(fault=fault)
    with pytest.raises(PromptTooLongError) as raised:
        list(chat.stream(ASKED)) if verb == "stream" else chat.ask(ASKED, SCHEMA, max_tokens=50)
    assert len(server.chats()) == 1
    assert (raised.value.tokens, raised.value.room) == ((None, None) if fault == "OpenAI" else (5000, 4096))


@pytest.mark.parametrize("fault", sorted(BREAKS.keys() - set(HARMLESS)))
def test_a_failure_in_the_middle_comes_after_what_was_said(
    server: OpenAIServer, chat: OpenAIChat, fault: str
) -> None:
    server.says = Script(["You ", "use ", "Maven", "."], fault=fault)
    stream = chat.stream(ASKED)
    assert [next(stream), next(stream)] == [Piece("You "), Piece("use ")]
    with pytest.raises(ModelError) as raised:
        list(stream)
    assert raised.value.hint
    assert "{" not in raised.value.message


@pytest.mark.parametrize("fault", HARMLESS)
def test_odd_lines_do_not_break_an_answer(server: OpenAIServer, chat: OpenAIChat, fault: str) -> None:
    server.says = Script(["You ", "use ", "Maven", "."], fault=fault)
    assert said(list(chat.stream(ASKED))) == "You use Maven."


def test_a_server_that_is_down_is_said_to_be(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.stop()
    with pytest.raises(ModelError, match="nothing answers at") as raised:
        list(chat.stream(ASKED))
    assert raised.value.hint == "start the server, or look at chat.base_url"


def test_a_server_that_dies_in_the_middle_is_said_to(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.says = Script(["You ", "use "], pace_s=0.2)
    stream = chat.stream(ASKED)
    assert next(stream) == Piece("You ")
    server.stop()
    with pytest.raises(ModelError, match="broke off"):
        list(stream)


def test_a_silent_server_is_given_up(server: OpenAIServer) -> None:
    server.says = Script(["never"], delay_s=30)
    with pytest.raises(ModelError, match="in time"):
        list(opened(server, silence_s=0.2).stream(ASKED))


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepts", "requests"),
    [
        (EVERYTHING, 1),
        (("json_schema", "json_object"), 2),
        # LM Studio takes a schema only, older vLLM and llama.cpp an object only.
        (("json_schema",), 2),
        (("json_object",), 3),
        ((), 4),
    ],
)
def test_json_is_asked_for_in_the_strictest_way_that_the_server_takes(
    server: OpenAIServer, chat: OpenAIChat, accepts: Sequence[str], requests: int
) -> None:
    server.accepts = accepts
    server.says = wrapped({"facts": ["uses Maven"]})
    for _ in range(2):
        assert chat.ask(ASKED, SCHEMA, max_tokens=50) == {"facts": ["uses Maven"]}
    # The way that was found is kept.
    assert len(server.chats()) == requests + 1
    last = server.chats()[-1]
    assert (last["temperature"], last["max_tokens"]) == (0, 50)
    assert json.dumps(SCHEMA) in last["messages"][-1]["content"]


def test_a_model_that_thinks_is_asked_without(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.says = Script(['{"facts": []}'], thinking=["Hm. "] * 1_000)
    assert chat.ask(ASKED, SCHEMA, max_tokens=50) == {"facts": []}


@pytest.mark.parametrize("unfit", sorted(UNFIT))
def test_an_unfit_answer_is_repaired_once(server: OpenAIServer, chat: OpenAIChat, unfit: str) -> None:
    server.says = [UNFIT[unfit], '{"facts": ["a"]}']
    assert chat.ask(ASKED, SCHEMA, max_tokens=50) == {"facts": ["a"]}
    roles = [message["role"] for message in server.chats()[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


def test_an_answer_that_stays_unfit_is_an_error(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.says = UNFIT["another shape"]
    with pytest.raises(ModelError, match="did not give the JSON"):
        chat.ask(ASKED, SCHEMA, max_tokens=50)
    assert len(server.chats()) == 2


# --- which model, and where -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "wanted", "num_ctx"),
    [
        ({}, None, NUM_CTX),
        ({"max_model_len": 32_768}, None, 32_768),
        ({"meta": {"n_ctx": 16_384, "n_ctx_train": 131_072}}, None, 16_384),
        ({"meta": None}, None, NUM_CTX),
        ({"max_model_len": 32_768}, 2048, 2048),
    ],
)
def test_the_context_is_what_the_person_or_the_server_says(
    server: OpenAIServer, listed: dict[str, object], wanted: int | None, num_ctx: int
) -> None:
    server.models = {"qwen3-4b": listed}
    assert opened(server, num_ctx=wanted).num_ctx == num_ctx


def test_a_missing_model_is_named_with_those_there_are(server: OpenAIServer) -> None:
    server.models = {"llama-3": {}, "text-embedding-nomic-embed-text-v1.5": {}, "bge-m3": {}}
    with pytest.raises(ModelError, match="does not have qwen3-4b") as raised:
        opened(server)
    assert raised.value.hint == "it has llama-3"


def test_models_that_embed_are_told_apart(server: OpenAIServer) -> None:
    server.models = {"llama-3": {}, "text-embedding-3-small": {}, "bge-m3": {}}
    listed = list_served(server.base_url, api_key=None)
    assert {model.name: model.is_chat for model in listed} == {
        "llama-3": True,
        "text-embedding-3-small": False,
        "bge-m3": False,
    }


def test_a_server_on_this_machine_is_local(server: OpenAIServer, chat: OpenAIChat) -> None:
    assert (chat.name, chat.host, chat.local) == ("qwen3-4b", server.base_url, True)


@pytest.mark.parametrize(
    ("base_url", "environ", "key"),
    [
        ("http://127.0.0.1:1/v1", {}, None),
        ("http://127.0.0.1:1/v1", {"MEMCLI_CHAT_API_KEY": "ours", "OPENAI_API_KEY": "theirs"}, "ours"),
        ("http://127.0.0.1:1/v1", {"OPENAI_API_KEY": "theirs"}, None),
        ("https://api.openai.com.example.org/v1", {"OPENAI_API_KEY": "theirs"}, None),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "theirs"}, "theirs"),
        ("https://api.openai.com/v1", {"MEMCLI_CHAT_API_KEY": "", "OPENAI_API_KEY": ""}, None),
    ],
)
def test_a_key_goes_only_where_it_belongs(base_url: str, environ: dict[str, str], key: str | None) -> None:
    assert key_for(base_url, environ) == key


def test_what_the_environment_says_for_openai_goes_to_no_other_server(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    list(opened(server).stream(ASKED))
    assert all("theirs" not in request.headers.values() for request in server.requests)
    assert {request.headers["Authorization"] for request in server.requests} == {"Bearer none"}


def test_the_key_lets_in(server: OpenAIServer) -> None:
    server.key = "sesame"
    with pytest.raises(ModelError, match="401"):
        opened(server)
    assert open_compatible("qwen3-4b", base_url=server.base_url, api_key="sesame").name == "qwen3-4b"


def test_without_the_client_it_is_said_how_to_get_it() -> None:
    program = (
        "import sys; sys.modules['openai'] = None\n"
        "from memcli.models.openai import open_compatible\n"
        "from memcli.errors import ModelError\n"
        "try: open_compatible('x', base_url='http://127.0.0.1:9/v1', api_key=None)\n"
        "except ModelError as error: print(error.message, '|', error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == (
        "an OpenAI-compatible server needs the client of OpenAI | pip install 'memcli[openai]'\n"
    ), done.stderr
