"""Ollama's embeddings, against a server that answers as a real one does (tests/ollama_server.py)."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time

import pytest

from memcli.errors import ModelError, UsageError
from memcli.models.families import family_of
from memcli.models.ollama import is_loopback, is_same_model, list_models, probe, to_url
from memcli.models.ollama_embed import BATCH, OllamaEmbedder, open_ollama
from memcli.types import Vector
from tests.ollama_server import FAULTS, Model, OllamaServer


@pytest.fixture
def embedder(server: OllamaServer) -> OllamaEmbedder:
    return open_ollama("bge-m3", host=server.host, timeout_s=5)


def cosine(one: Vector, other: Vector) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("  ", "http://127.0.0.1:11434"),
        (":11435", "http://127.0.0.1:11435"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
        (" '127.0.0.1:8080' ", "http://127.0.0.1:8080"),
        ('"localhost"', "http://localhost:11434"),
        ("example.com", "http://example.com:11434"),
        ("http://example.com", "http://example.com:80"),
        ("HTTPS://Example.com", "https://example.com:443"),
        ("https://example.com:8443/ollama/", "https://example.com:8443/ollama"),
        ("example.com/ollama", "http://example.com:11434/ollama"),
    ],
)
def test_an_address_is_read_as_the_server_reads_it(host: str | None, url: str) -> None:
    assert to_url(host) == url
    assert to_url(url) == url


@pytest.mark.parametrize(
    "host", ["host:abc", "host:99999", "ftp://host", "two words", "a'b", "[::1", "http://a\tb", "bü.example"]
)
def test_what_is_no_address_is_a_usage_error(host: str) -> None:
    with pytest.raises(UsageError, match="not an address"):
        to_url(host)


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://127.1.2.3:11434", True),
        ("http://[::1]:11434", True),
        ("http://localhost:80", True),
        ("http://192.168.0.2:11434", False),
        ("http://localhost.example.com:80", False),
    ],
)
def test_only_loopback_is_this_machine(url: str, near: bool) -> None:
    assert is_loopback(url) is near


# --- what the server has --------------------------------------------------------------------------


def test_a_server_tells_its_version(server: OllamaServer) -> None:
    assert probe(server.host) == "0.33.0"


def test_a_server_that_is_down_is_said_to_be(server: OllamaServer) -> None:
    server.stop()
    with pytest.raises(ModelError, match="does not answer"):
        probe(server.host)
    with pytest.raises(ModelError, match="does not answer"):
        list_models(server.host)


def test_a_slow_server_is_given_up(server: OllamaServer) -> None:
    server.delay_s = 5
    start = time.monotonic()
    with pytest.raises(ModelError):
        probe(server.host, timeout_s=0.1)
    with pytest.raises(ModelError, match="in time"):
        list_models(server.host, timeout_s=0.1)
    assert time.monotonic() - start < 2


def test_models_are_listed_with_what_they_are() -> None:
    models = (
        Model("bge-m3:latest", capabilities=("completion",)),
        Model("granite-embedding:30m", capabilities=("embedding",)),
        Model("my-import:latest", family="bert", capabilities=("completion",)),
        Model("llama3.2:latest", family="llama", embeds=False, capabilities=("completion", "tools")),
        Model("big-embed:cloud", family="", capabilities=("embedding",)),
        Model("mirror:latest", capabilities=("embedding",), remote_host="https://ollama.com"),
    )
    with OllamaServer(models) as server:
        listed = {model.name: (model.is_embedding, model.is_remote) for model in list_models(server.host)}
    assert listed == {
        "bge-m3:latest": (True, False),
        "granite-embedding:30m": (True, False),
        "my-import:latest": (True, False),
        "llama3.2:latest": (False, False),
        "big-embed:cloud": (True, True),
        "mirror:latest": (True, True),
    }


def test_a_missing_model_is_named_with_how_to_get_it(server: OllamaServer) -> None:
    with pytest.raises(ModelError, match="does not have nomic-embed-text") as raised:
        open_ollama("nomic-embed-text", host=server.host)
    assert raised.value.hint == "run: ollama pull nomic-embed-text"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("bge-m3", "bge-m3:latest", True),
        ("BGE-M3", "bge-m3", True),
        ("qwen3-embedding:0.6b", "qwen3-embedding", False),
        ("localhost:5000/me/e5", "localhost:5000/me/e5:latest", True),
    ],
)
def test_a_model_is_the_same_whatever_its_case_and_implied_tag(one: str, other: str, same: bool) -> None:
    assert is_same_model(one, other) is same


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("nomic-embed-text:v1.5", "nomic-embed-text"),
        ("hf.co/nomic-ai/Nomic-Embed-Text-v1.5-GGUF:Q8_0", "nomic-embed-text"),
        ("snowflake-arctic-embed2", "snowflake-arctic-embed2"),
        ("snowflake-arctic-embed:137m", "snowflake-arctic-embed"),
        ("jeffh/intfloat-multilingual-e5-large:f16", "e5"),
        ("code5:latest", None),
        ("llama3.2", None),
    ],
)
def test_a_family_is_known_by_its_name(model: str, family: str | None) -> None:
    found = family_of(model)
    assert (found.name if found else None) == family


# --- embedding ------------------------------------------------------------------------------------


def test_an_embedder_is_named_by_model_and_digest(server: OllamaServer, embedder: OllamaEmbedder) -> None:
    assert embedder.name == f"ollama:bge-m3@{server.models[0].digest[:12]}"
    assert embedder.local


def test_vectors_are_units_in_order_over_many_batches(server: OllamaServer, embedder: OllamaEmbedder) -> None:
    texts = [f"memory number {number}" for number in range(2 * BATCH + 3)]
    vectors = embedder.embed_documents(texts)
    assert [len(batch) for batch in server.embedded_texts()] == [BATCH, BATCH, 3]
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-5) for vector in vectors)
    assert vectors == [embedder.embed_documents([text])[0] for text in texts]


def test_the_dimension_is_measured_once(server: OllamaServer, embedder: OllamaEmbedder) -> None:
    assert (embedder.dim, embedder.dim) == (256, 256)
    assert len(server.embedded_texts()) == 1


def test_a_model_gets_the_prefixes_of_its_family() -> None:
    with OllamaServer((Model("nomic-embed-text:latest"),)) as server:
        embedder = open_ollama("nomic-embed-text", host=server.host)
        embedder.embed_query("tea?")
        embedder.embed_documents(["green tea"])
        assert server.embedded_texts() == [["search_query: tea?"], ["search_document: green tea"]]


@pytest.mark.parametrize("text", ["", "\0", "a\0b", "\ud800", "🍵", " "])
def test_odd_texts_are_embedded(embedder: OllamaEmbedder, text: str) -> None:
    assert len(embedder.embed_query(text)) == 256


def test_no_text_is_cut_in_silence() -> None:
    with OllamaServer((Model("bge-m3:latest", context=32),)) as server:
        embedder = open_ollama("bge-m3", host=server.host)
        start, tail = "grey weather and a late train " * 40, "passport in the blue suitcase " * 40
        vectors = embedder.embed_documents(["a short one", start + tail, "another"])
        asked = embedder.embed_query("passport in the blue suitcase")
    assert cosine(vectors[1], asked) > 0.5


def test_a_text_that_never_fits_is_an_error_after_few_requests() -> None:
    with OllamaServer((Model("bge-m3:latest", context=0),)) as server:
        embedder = open_ollama("bge-m3", host=server.host)
        with pytest.raises(ModelError, match="exceeds the context length"):
            embedder.embed_documents(["word " * 100, "tea"])
        assert len(server.embedded_texts()) < 10


def test_one_bad_text_does_not_hide_which_are_good(server: OllamaServer, embedder: OllamaEmbedder) -> None:
    server.poison = "cyanide"
    with pytest.raises(ModelError, match="EOF"):
        embedder.embed_documents(["tea", "cyanide", "coffee"])
    assert server.embedded_texts() == [["tea", "cyanide", "coffee"], ["tea"], ["cyanide"]]


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_failure_is_a_model_error_with_a_message(
    server: OllamaServer, embedder: OllamaEmbedder, fault: str
) -> None:
    assert embedder.dim == 256
    server.fault = fault
    with pytest.raises(ModelError) as raised:
        embedder.embed_documents(["tea", "coffee"])
    assert raised.value.message
    assert "tea" not in raised.value.message
    assert len(server.embedded_texts()) <= 3


def test_a_chat_model_is_said_not_to_embed() -> None:
    with OllamaServer((Model("llama3.2:latest", family="llama", embeds=False),)) as server:
        embedder = open_ollama("llama3.2", host=server.host)
        with pytest.raises(ModelError) as raised:
            embedder.embed_query("tea")
    assert raised.value.hint == "llama3.2 answers but does not embed, choose an embedding model"


def test_a_model_that_was_removed_is_said_to_be(server: OllamaServer, embedder: OllamaEmbedder) -> None:
    server.models = ()
    with pytest.raises(ModelError) as raised:
        embedder.embed_query("tea")
    assert raised.value.hint == "run: ollama pull bge-m3"


def test_a_server_that_stops_is_not_asked_text_by_text(
    server: OllamaServer, embedder: OllamaEmbedder
) -> None:
    server.stop()
    with pytest.raises(ModelError, match="does not answer"):
        embedder.embed_documents(["tea", "coffee"])


def test_a_slow_answer_is_given_up(server: OllamaServer) -> None:
    embedder = open_ollama("bge-m3", host=server.host, timeout_s=0.2)
    server.delay_s = 5
    with pytest.raises(ModelError, match="in time"):
        embedder.embed_query("tea")


def test_a_store_of_another_dimension_is_refused(server: OllamaServer) -> None:
    embedder = open_ollama("bge-m3", host=server.host, dim=1024)
    with pytest.raises(ModelError, match="256 numbers in place of 1024"):
        embedder.embed_query("tea")


# --- privacy and the environment ------------------------------------------------------------------


def test_a_cloud_model_behind_loopback_is_not_local() -> None:
    with OllamaServer((Model("big-embed:cloud"),)) as server:
        assert not open_ollama("big-embed:cloud", host=server.host).local


def test_loopback_is_reached_past_any_proxy(server: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert probe(server.host)
    assert open_ollama("bge-m3", host=server.host).dim == 256


def test_texts_do_not_follow_a_redirect(server: OllamaServer, embedder: OllamaEmbedder) -> None:
    with OllamaServer() as elsewhere:
        server.redirect_to = elsewhere.host
        with pytest.raises(ModelError, match="307"):
            embedder.embed_query("tea")
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    "variables",
    [
        {"OLLAMA_HOST": "::1"},
        {"OLLAMA_HOST": "host:abc"},
        {"ALL_PROXY": "socks5://127.0.0.1:9"},
        {"HTTPS_PROXY": "odd://127.0.0.1:9"},
        {"SSL_CERT_FILE": "/nowhere.pem"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_the_client_is_imported_whatever_the_environment(
    server: OllamaServer, variables: dict[str, str]
) -> None:
    code = (
        "import os; from memcli.models.ollama import list_models; before = dict(os.environ);"
        f"print(list_models({server.host!r})[0].name, os.environ == before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.stdout == "bge-m3:latest True\n", done.stderr


def test_an_unusable_key_is_said_without_showing_it(
    server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "sécret")
    with pytest.raises(ModelError, match="cannot be set up") as raised:
        list_models(server.host)
    assert "cret" not in raised.value.message
