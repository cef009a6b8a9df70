"""Answers of Ollama's chat models, against a server that answers as a real one does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from memcli.errors import HungUpError, ModelError, PromptTooLongError
from memcli.models.ollama_chat import NUM_CTX, OllamaChat, open_chat
from memcli.stop import Stop
from memcli.types import Answered, Message, Piece
from tests.ollama_chat import BREAKS, HARMLESS, REFUSALS, UNFIT, wrapped
from tests.ollama_server import Model, OllamaServer, Script, chat_model

ASKED = (Message("system", "Be terse."), Message("user", "Which build tool do I use?"))

SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}, "maxItems": 5}},
    "required": ["facts"],
}


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer([chat_model(), chat_model("qwen3:4b", thinks=True), Model("bge-m3:latest")]) as running:
        yield running


@pytest.fixture
def chat(server: OllamaServer) -> OllamaChat:
    return open_chat("llama3.2", host=server.host, silence_s=5)


def said(parts: Sequence[Piece | Answered]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Piece) and not part.is_thinking)


def thought(parts: Sequence[Piece | Answered]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Piece) and part.is_thinking)


# --- streaming ------------------------------------------------------------------------------------


def test_an_answer_comes_in_pieces_and_ends_with_the_counts(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = Script(["You use ", "Maven", "."])
    *pieces, end = chat.stream(ASKED)
    assert pieces == [Piece("You use "), Piece("Maven"), Piece(".")]
    assert end == Answered(prompt_tokens=18, answer_tokens=3)


def test_a_piece_is_here_before_the_next_is_said(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = Script(["now", " later"], pace_s=30)
    stream = chat.stream(ASKED)
    started = time.monotonic()
    assert next(stream) == Piece("now")
    assert time.monotonic() - started < 10
    server.stop()


def test_an_answer_that_reached_its_limit_says_so(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = Script(["and so on"], reason="length")
    assert list(chat.stream(ASKED))[-1] == Answered(18, 1, "length")


def test_the_messages_are_sent_as_they_are(server: OllamaServer, chat: OllamaChat) -> None:
    odd = "忘掉 \N{NEXT LINE} \ud800 </s> \0"
    list(chat.stream([*ASKED, Message("assistant", "Maven."), Message("user", odd)]))
    [body] = server.chats()
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][3]["content"] == "忘掉 \N{NEXT LINE} \ufffd </s> \ufffd"
    assert body["stream"] is True


def test_closing_the_stream_stops_the_model(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = Script(["word "] * 10_000, pace_s=0.005)
    stream = chat.stream(ASKED)
    next(stream)
    stream.close()
    deadline = time.monotonic() + 5
    while not server.left and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(server.left) == 1


def test_a_first_answer_may_wait_for_the_model_to_load(server: OllamaServer, chat: OllamaChat) -> None:
    server.load_s = 0.5
    assert said(list(chat.stream(ASKED))) == "I see."


def test_a_silent_server_is_given_up(server: OllamaServer) -> None:
    server.says = Script(["never"], delay_s=30)
    with pytest.raises(ModelError, match="in time"):
        list(open_chat("llama3.2", host=server.host, silence_s=0.2).stream(ASKED))


# --- the context ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "wanted", "num_ctx"),
    [
        (chat_model(), None, NUM_CTX),
        (chat_model(context=2048), None, 2048),
        (chat_model(), 16_384, 16_384),
        (chat_model(context=2048), 16_384, 2048),
        (chat_model(parameters='stop  "num_ctx 1"\nnum_ctx                        32768'), None, 32_768),
        (chat_model(parameters="num_ctx 32768"), 4096, 4096),
        (chat_model(context=2048, parameters="num_ctx 32768"), None, 2048),
    ],
)
def test_the_context_is_what_is_wanted_and_what_the_model_can(
    model: Model, wanted: int | None, num_ctx: int
) -> None:
    with OllamaServer([model]) as server:
        assert open_chat("llama3.2", host=server.host, num_ctx=wanted).num_ctx == num_ctx


def test_the_context_is_the_same_in_every_request(server: OllamaServer, chat: OllamaChat) -> None:
    list(chat.stream(ASKED))
    chat.ask(ASKED, SCHEMA, max_tokens=50)
    list(chat.stream(ASKED[:1]))
    assert {body["options"]["num_ctx"] for body in server.chats()} == {NUM_CTX}
    assert server.loads == [("llama3.2:latest", NUM_CTX)]


def test_a_prompt_that_an_old_server_cuts_in_silence_is_seen_by_its_count(
    server: OllamaServer, chat: OllamaChat
) -> None:
    server.says = Script(prompt_tokens=259)
    assert list(chat.stream(ASKED))[-1] == Answered(259, 3)


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_a_prompt_that_is_too_long_is_refused_and_not_cut(stream: bool, is_native: bool) -> None:
    with OllamaServer([chat_model(is_native=is_native)]) as server:
        chat = open_chat("llama3.2", host=server.host, num_ctx=512)
        asked = [Message("user", "word " * 2_000)]
        with pytest.raises(PromptTooLongError, match="the conversation is too long") as raised:
            list(chat.stream(asked)) if stream else chat.ask(asked, SCHEMA, max_tokens=9)
    assert (raised.value.tokens, raised.value.room) == (2006, 512)


@pytest.mark.parametrize(
    ("keep_alive", "sent"), [(None, {}), ("30m", {"keep_alive": "30m"}), (-1, {"keep_alive": -1})]
)
def test_the_model_stays_loaded_as_long_as_is_wanted(
    server: OllamaServer, keep_alive: str | int | None, sent: dict[str, Any]
) -> None:
    list(open_chat("llama3.2", host=server.host, keep_alive=keep_alive).stream(ASKED))
    [body] = server.chats()
    assert {key: value for key, value in body.items() if key == "keep_alive"} == sent


# --- hanging up -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "says", [Script(["never"], delay_s=30), Script(['{"', *["a"] * 10_000], pace_s=0.005)]
)
def test_what_is_asked_ends_at_once_when_it_is_stopped_from_another_thread(
    server: OllamaServer, chat: OllamaChat, says: Script
) -> None:
    server.says = says
    stop = Stop()
    with stop.after(0.3), pytest.raises(HungUpError):
        chat.ask(ASKED, SCHEMA, max_tokens=9_000, stop=stop)
    assert stop.is_set
    server.says = "Still here."
    assert said(list(chat.stream(ASKED))) == "Still here."


def test_what_is_stopped_before_it_begins_asks_nothing(server: OllamaServer, chat: OllamaChat) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(HungUpError):
        chat.ask(ASKED, SCHEMA, max_tokens=9, stop=stop)
    assert server.chats() == []


def test_what_is_not_stopped_is_answered(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = [Script(fault="crash"), '{"facts": []}']
    stop = Stop()
    with pytest.raises(ModelError, match="refused"):
        chat.ask(ASKED, SCHEMA, max_tokens=9, stop=stop)
    assert chat.ask(ASKED, SCHEMA, max_tokens=9, stop=stop) == {"facts": []}
    stop.set()


# --- thinking -------------------------------------------------------------------------------------


def test_thinking_is_told_apart(server: OllamaServer) -> None:
    server.says = Script(["Maven."], thinking=["They asked ", "before."])
    parts = list(open_chat("qwen3:4b", host=server.host).stream(ASKED))
    assert (thought(parts), said(parts)) == ("They asked before.", "Maven.")


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>\nHm.\n</think>\n\nMaven.", "\nHm.\n", "Maven."),
        ("\n <think>Hm.</think>Maven.", "Hm.", "Maven."),
        ("<think></think>Maven.", "", "Maven."),
        ("<think>a</think>\n<think>b</think> Maven.", "ab", "Maven."),
        ("<think>a < b </thin> c</think>x", "a < b </thin> c", "x"),
        ("<think>cut off", "cut off", ""),
        ("<think>cut off</thi", "cut off</thi", ""),
        ("Maven.", "", "Maven."),
        ("  Maven <think>is</think> a tag", "", "  Maven <think>is</think> a tag"),
        ("<thinking> is no tag", "", "<thinking> is no tag"),
        ("<thi", "", "<thi"),
        ("", "", ""),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_thinking_in_tags_is_told_apart_however_it_is_cut(
    server: OllamaServer, chat: OllamaChat, size: int, text: str, thinking: str, answer: str
) -> None:
    server.says = Script([text[at : at + size] for at in range(0, len(text), size)])
    parts = list(chat.stream(ASKED))
    assert (thought(parts), said(parts)) == (thinking, answer)
    assert isinstance(parts[-1], Answered)


# --- failures -------------------------------------------------------------------------------------

HINTS = {
    "removed": "run: ollama pull llama3.2",
    "removed, as embed says it": "run: ollama pull llama3.2",
    "removed, as show says it": "run: ollama pull llama3.2",
    "does not chat": "llama3.2 embeds but does not answer, choose a chat model",
    "unauthorized": "look at OLLAMA_API_KEY",
    "forbidden": "look at OLLAMA_HOST, and at the settings of the server",
    "no memory": "choose a smaller model, or close other programs",
    "busy": "the server is busy, try again later",
    "does not support": "choose another model than llama3.2",
    "page of a proxy": "look at OLLAMA_HOST: something else answers there",
    "page": "look at OLLAMA_HOST",
    "too long": "begin a new session, or raise chat.num_ctx",
    "too long, in words": "begin a new session, or raise chat.num_ctx",
}


@pytest.mark.parametrize("fault", sorted(REFUSALS))
@pytest.mark.parametrize("verb", ["stream", "ask"])
def test_a_refusal_is_one_sentence_with_a_hint(
    server: OllamaServer, chat: OllamaChat, verb: str, fault: str
) -> None:
    server.says = Script(fault=fault)
    with pytest.raises(ModelError) as raised:
        list(chat.stream(ASKED)) if verb == "stream" else chat.ask(ASKED, SCHEMA, max_tokens=50)
    error = raised.value
    assert error.message
    assert "\n" not in error.message
    assert not error.message.endswith(".")
    assert "<" not in error.message
    assert "{" not in error.message
    assert error.hint == HINTS.get(fault, error.hint)
    assert len(server.chats()) == 1


@pytest.mark.parametrize("fault", sorted(BREAKS.keys() - set(HARMLESS)))
@pytest.mark.parametrize("after", [0, 2])
def test_a_failure_in_the_middle_is_an_error_with_a_hint(
    server: OllamaServer, chat: OllamaChat, after: int, fault: str
) -> None:
    server.says = Script(["You ", "use ", "Maven", "."], fault=fault, after=after)
    with pytest.raises(ModelError) as raised:
        list(chat.stream(ASKED))
    error = raised.value
    assert error.hint
    assert "{" not in error.message
    assert "Maven" not in error.message


def test_what_was_said_before_a_failure_is_not_lost(server: OllamaServer, chat: OllamaChat) -> None:
    for fault in BREAKS.keys() - set(HARMLESS):
        server.says = Script(["You ", "use ", "Maven", "."], fault=fault)
        stream = chat.stream(ASKED)
        assert [next(stream), next(stream)] == [Piece("You "), Piece("use ")]
        with pytest.raises(ModelError):
            next(stream)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("error", "Ollama failed in the middle: an error was encountered while running the model: EOF"),
        ("error in an object", "Ollama failed in the middle: the slot is unavailable"),
        ("no done", "llama3.2 stopped without saying that it is done"),
        ("dropped", "broke off"),
        ("half a line", "broke off"),
        ("page inside", "does not talk like Ollama"),
    ],
)
def test_a_failure_in_the_middle_says_which(
    server: OllamaServer, chat: OllamaChat, fault: str, message: str
) -> None:
    server.says = Script(fault=fault)
    with pytest.raises(ModelError, match=message):
        list(chat.stream(ASKED))


@pytest.mark.parametrize("fault", HARMLESS)
def test_odd_lines_do_not_break_an_answer(server: OllamaServer, chat: OllamaChat, fault: str) -> None:
    server.says = Script(["You ", "use ", "Maven", "."], fault=fault)
    text = said(list(chat.stream(ASKED)))
    assert text.replace("\N{NEXT LINE}", "") == "You use Maven."
    assert ("\N{NEXT LINE}" in text) == (fault == "next line")


def test_a_server_that_stopped_is_said_to(server: OllamaServer, chat: OllamaChat) -> None:
    server.stop()
    with pytest.raises(ModelError, match="does not answer") as raised:
        list(chat.stream(ASKED))
    assert raised.value.hint == "start it with: ollama serve"


def test_a_server_that_dies_in_the_middle_is_said_to(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = Script(["You ", "use "], pace_s=30)
    stream = chat.stream(ASKED)
    assert next(stream) == Piece("You ")
    server.stop()
    with pytest.raises(ModelError, match="broke off"):
        next(stream)


# --- JSON -----------------------------------------------------------------------------------------


def test_what_is_asked_is_bounded_and_bound_to_the_schema(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = '{"facts": ["uses Maven"]}'
    assert chat.ask(ASKED, SCHEMA, max_tokens=50) == {"facts": ["uses Maven"]}
    [body] = server.chats()
    assert body["options"] == {"num_ctx": NUM_CTX, "temperature": 0, "num_predict": 50}
    assert (body["format"], body["think"]) == (SCHEMA, False)


def test_a_model_that_thinks_is_asked_without(server: OllamaServer) -> None:
    server.says = Script(['{"facts": []}'], thinking=["Hm. "] * 1_000)
    assert open_chat("qwen3:4b", host=server.host).ask(ASKED, SCHEMA, max_tokens=50) == {"facts": []}


@pytest.mark.parametrize(
    "text",
    [
        wrapped({"facts": ["a"]}),
        '<think>Is it {"facts": 1}?</think>\n{"facts": ["a"]}',
        'Hm, {"facts": []}? No.</think>{"facts": ["a"]}',
        'Of the form {"facts": [string]}: {"facts": ["a"]}',
        'As {"answer": 1} is wrong, {"facts": ["a"]}.',
        '\n\n  {"facts": ["a"], "why": {"facts": []}}',
    ],
)
def test_json_is_found_in_what_is_around_it(server: OllamaServer, chat: OllamaChat, text: str) -> None:
    server.says = Script([text])
    assert chat.ask(ASKED, SCHEMA, max_tokens=50)["facts"] == ["a"]
    assert len(server.chats()) == 1


@pytest.mark.parametrize("unfit", sorted(UNFIT))
def test_an_unfit_answer_is_repaired_once(server: OllamaServer, chat: OllamaChat, unfit: str) -> None:
    server.says = [UNFIT[unfit], '{"facts": ["a"]}']
    assert chat.ask(ASKED, SCHEMA, max_tokens=50) == {"facts": ["a"]}
    first, second = server.chats()
    assert second["messages"][: len(ASKED)] == first["messages"]
    assert json.dumps(SCHEMA) in second["messages"][-1]["content"]


@pytest.mark.parametrize("unfit", sorted(UNFIT))
def test_an_answer_that_stays_unfit_is_an_error_that_does_not_quote_it(
    server: OllamaServer, chat: OllamaChat, unfit: str
) -> None:
    server.says = UNFIT[unfit]
    with pytest.raises(ModelError, match="did not give the JSON that was asked for") as raised:
        chat.ask(ASKED, SCHEMA, max_tokens=50)
    assert len(server.chats()) == 2
    assert "The user" not in raised.value.message


def test_an_answer_that_was_cut_off_gets_more_room(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = Script(["{", '"facts": [', *['"a", '] * 60, '"a"', "]}"])
    with pytest.raises(ModelError, match="it was cut off"):
        chat.ask(ASKED, SCHEMA, max_tokens=30)
    assert [body["options"]["num_predict"] for body in server.chats()] == [30, 60]


def test_blanks_without_end_are_not_waited_for(server: OllamaServer, chat: OllamaChat) -> None:
    server.says = [Script(("{", *[" \n"] * 100_000), pace_s=0.0001), '{"facts": []}']
    chat.ask(ASKED, SCHEMA, max_tokens=100_000)
    deadline = time.monotonic() + 5
    while not server.left and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(server.left) == 1


# --- which model, and where -----------------------------------------------------------------------


def test_a_model_is_named_as_the_server_lists_it(server: OllamaServer) -> None:
    chat = open_chat("Llama3.2:LATEST", host=server.host)
    assert (chat.name, chat.host, chat.local) == ("llama3.2", server.host, True)


def test_a_missing_model_is_named_with_how_to_get_it(server: OllamaServer) -> None:
    with pytest.raises(ModelError, match="does not have mistral") as raised:
        open_chat("mistral", host=server.host)
    assert raised.value.hint == "run: ollama pull mistral"


def test_a_model_that_embeds_is_refused(server: OllamaServer) -> None:
    with pytest.raises(ModelError, match="bge-m3 embeds but does not answer"):
        open_chat("bge-m3", host=server.host)


@pytest.mark.parametrize(
    "model",
    [
        chat_model("gpt-oss:120b-cloud"),
        chat_model("big:cloud"),
        chat_model("big", remote_host="https://ollama.com"),
    ],
    ids=lambda model: model.name,
)
def test_a_cloud_model_behind_loopback_is_not_local(model: Model) -> None:
    with OllamaServer([model]) as server:
        assert not open_chat(model.name, host=server.host).local
