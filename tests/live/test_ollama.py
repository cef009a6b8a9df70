"""A real Ollama server: what the scripted one is made to do, and what the program does with it."""

from __future__ import annotations

import json
import math
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memcli.errors import ModelError, PromptTooLongError
from memcli.models.ollama import list_models, probe, show_model
from memcli.models.ollama_chat import OllamaChat, open_chat
from memcli.models.ollama_embed import OllamaEmbedder, open_ollama
from memcli.models.probes import probe_json, probe_thinking
from memcli.types import Answered, Message, Piece
from tests.live.conftest import WORLD
from tests.process import Shared

HOST = WORLD.get("OLLAMA_HOST", "")
CHAT = WORLD.get("MEMCLI_LIVE_CHAT_MODEL", "")
EMBED = WORLD.get("MEMCLI_LIVE_EMBED_MODEL", "")

chats = pytest.mark.live("OLLAMA_HOST", "MEMCLI_LIVE_CHAT_MODEL")
embeds = pytest.mark.live("OLLAMA_HOST", "MEMCLI_LIVE_EMBED_MODEL")


@pytest.fixture(scope="module")
def chat() -> OllamaChat:
    return open_chat(CHAT, host=HOST)


@pytest.fixture(scope="module")
def embedder() -> OllamaEmbedder:
    return open_ollama(EMBED, host=HOST)


# --- chat -----------------------------------------------------------------------------------------


@chats
def test_the_server_lists_and_shows_the_model() -> None:
    assert probe(HOST)
    names = [model.name for model in list_models(HOST) if not model.is_embedding]
    assert any(show_model(name, host=HOST).is_chat for name in names)


@chats
def test_an_answer_comes_in_pieces_and_ends_with_the_counts(chat: OllamaChat) -> None:
    *pieces, end = chat.stream([Message("user", "Say hello in one short sentence.")])
    assert any(isinstance(piece, Piece) and not piece.is_thinking for piece in pieces)
    assert isinstance(end, Answered)
    assert end.prompt_tokens
    assert end.answer_tokens


@chats
def test_a_closed_stream_leaves_the_server_free(chat: OllamaChat) -> None:
    with closing(chat.stream([Message("user", "Count from 1 to 10000, in words.")])) as stream:
        next(stream)
    started = time.monotonic()
    next(chat.stream([Message("user", "Say hello.")]))
    assert time.monotonic() - started < 60


@chats
def test_thinking_and_json_are_as_the_doctor_finds_them(chat: OllamaChat) -> None:
    assert probe_thinking(chat).found
    assert probe_json(chat).found


@chats
def test_a_prompt_that_is_too_long_is_refused_or_seen_by_its_count() -> None:
    chat = open_chat(CHAT, host=HOST, num_ctx=512)
    words = 3_000
    read = None
    with suppress(PromptTooLongError), closing(chat.stream([Message("user", "word " * words)])) as stream:
        read = next(part.prompt_tokens for part in stream if isinstance(part, Answered))
    assert (read or 0) < words


@chats
def test_a_model_that_is_not_there_is_named_with_how_to_get_it() -> None:
    with pytest.raises(ModelError) as raised:
        open_chat("no-such-model-at-all", host=HOST)
    assert raised.value.hint == "run: ollama pull no-such-model-at-all"


@chats
def test_a_chat_is_given_the_memory_that_answers_and_not_the_other(tmp_path: Path) -> None:
    run = Shared(tmp_path, {"OLLAMA_HOST": HOST, "MEMCLI_CHAT_MODEL": CHAT, "MEMCLI_EMBEDDER": "builtin"})
    [maven] = run.json("remember", "I prefer Maven over Gradle", "--kind", "preference")["added"]
    run.json("remember", "My cat is called Corin")
    told = run.json("chat", "Which build tool do I prefer? Answer in one short sentence.")
    assert [memory["id"] for memory in told["memories"]] == [maven["id"]]
    assert told["incomplete"] is False
    assert "<think>" not in json.dumps(told)


# --- embedding ------------------------------------------------------------------------------------


@embeds
def test_vectors_are_units_in_order(embedder: OllamaEmbedder) -> None:
    texts = ["green tea", "a late train", "我喜欢绿茶"]
    vectors = embedder.embed_documents(texts)
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-3) for vector in vectors)
    assert {len(vector) for vector in vectors} == {embedder.dim}
    alone = embedder.embed_documents(texts[1:2])[0]
    assert sum(map(float.__mul__, vectors[1], alone)) > 0.999


@embeds
def test_the_end_of_a_text_that_is_too_long_is_not_lost(embedder: OllamaEmbedder) -> None:
    read, _ = embedder.measure_limit()
    head = "Grey weather and a late train. " * ((read or 512) // 4)
    with_end, without = embedder.embed_documents(
        [head + "The passport is in the blue suitcase. " * 200, head]
    )
    asked = embedder.embed_query("Where is the passport?")
    assert sum(map(float.__mul__, with_end, asked)) > sum(map(float.__mul__, without, asked))


@embeds
def test_what_is_remembered_is_found_by_its_meaning(tmp_path: Path) -> None:
    run = Shared(tmp_path, {"OLLAMA_HOST": HOST, "MEMCLI_EMBEDDER": f"ollama:{EMBED}"})
    run.json("remember", "The boiler is serviced every May")
    run.json("remember", "Ana plays the cello")
    [first, *_] = run.json("recall", "When is the heating maintained?")["results"]
    assert "boiler" in first["text"]
