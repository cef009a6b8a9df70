"""The scripted server answers as a real one was recorded to (tests/data/ollama/wire.jsonl)."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ollama_server import Model, OllamaServer, Script, embedding, words

WIRE = Path(__file__).parents[1] / "data" / "ollama" / "wire.jsonl"
RECORDS = [json.loads(line) for line in WIRE.read_text(encoding="utf-8").splitlines()]
RECORDED = {record["name"]: record for record in RECORDS}

# The models of the recorded machine that the requests name.
MODELS = (
    Model("minilm:latest", dim=384, capabilities=("completion",)),
    Model(
        "tiny-go:latest",
        dim=640,
        context=32_768,
        family="gemma3",
        embeds=False,
        capabilities=("completion",),
        parameters='stop                           "<end_of_turn>"\ntemperature                    0',
    ),
    Model("tiny-raw:latest", context=32_768, family="gemma3", embeds=False, capabilities=(), is_native=True),
)


@pytest.fixture
def machine() -> Iterator[OllamaServer]:
    with OllamaServer(MODELS, pull_fault="offline") as running:
        yield running


def replay(machine: OllamaServer, record: dict[str, Any]) -> tuple[int, str | None, str]:
    method, path, *given = record["request"]
    body = given[0] if given else None
    headers = {"Content-Type": "application/json", **record["kwargs"].get("headers", {})}
    connection = http.client.HTTPConnection(machine.host.removeprefix("http://"), timeout=5)
    connection.request(method, path, body if isinstance(body, str) else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers["Content-Type"], text


def shape(value: Any) -> Any:
    """The types of a JSON value: of an object its keys too, of a list its length and its first element's."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [len(value), *map(shape, value[:1])]
    return "number" if isinstance(value, int | float) else type(value).__name__


def without_counts(error: str) -> str:
    """An error whatever the length of the prompt: the scripted models count words."""
    return re.sub(r"\((\d+) tokens\)(.*\D)\1\b", "(N tokens)\\2N", error, count=1)


@pytest.mark.parametrize("record", [r for r in RECORDS if r["status"] >= 400], ids=lambda r: r["name"])
def test_an_error_is_the_recorded_one(machine: OllamaServer, record: dict[str, Any]) -> None:
    status, content_type, body = replay(machine, record)
    assert (status, content_type) == (record["status"], record["content_type"])
    assert without_counts(body) == without_counts(record["body"])


@pytest.mark.parametrize(
    "record",
    [r for r in RECORDS if r["status"] == 200 and r["request"][1] == "/api/embed"],
    ids=lambda r: r["name"],
)
def test_embeddings_have_the_recorded_shape(machine: OllamaServer, record: dict[str, Any]) -> None:
    status, content_type, body = replay(machine, record)
    assert (status, content_type) == (200, record["content_type"])
    assert shape(json.loads(body)) == shape(json.loads(record["body"]))


def test_a_text_is_cut_at_the_recorded_number_of_tokens(machine: OllamaServer) -> None:
    for name in ("embed long default", "embed num_ctx 64"):
        _, _, body = replay(machine, RECORDED[name])
        recorded = json.loads(RECORDED[name]["body"])["prompt_eval_count"]
        assert json.loads(body)["prompt_eval_count"] == recorded


def test_a_listing_has_the_recorded_fields(machine: OllamaServer) -> None:
    _, _, body = replay(machine, RECORDED["tags"])
    recorded = json.loads(RECORDED["tags"]["body"])
    assert shape(json.loads(body)["models"][0]) == shape(recorded["models"][0])


@pytest.mark.parametrize("name", ["show minilm", "show tiny-go"])
def test_a_shown_model_has_recorded_fields_only(machine: OllamaServer, name: str) -> None:
    _, _, body = replay(machine, RECORDED[name])
    shown, recorded = json.loads(body), json.loads(RECORDED[name]["body"])
    assert shown.keys() == recorded.keys()
    assert shown["model_info"].items() <= recorded["model_info"].items()
    assert shown["capabilities"] == recorded["capabilities"]


@pytest.mark.parametrize("name", ["chat stream go", "chat nostream go", "generate stream"])
def test_an_answer_has_the_recorded_shape(machine: OllamaServer, name: str) -> None:
    recorded = [json.loads(line) for line in RECORDED[name]["body"].splitlines()]
    said = [line.get("response") or line.get("message", {}).get("content") for line in recorded]
    machine.says = Script([piece for piece in said if piece], reason="length")
    status, content_type, body = replay(machine, RECORDED[name])
    assert (status, content_type) == (200, RECORDED[name]["content_type"])
    answered = [json.loads(line) for line in body.splitlines()]
    assert [list(line) for line in answered] == [list(line) for line in recorded]
    assert [line.get("message") for line in answered] == [line.get("message") for line in recorded]


@pytest.mark.parametrize(
    "name", ["chat no messages (load)", "chat unload", "generate empty prompt load", "generate unload"]
)
def test_a_load_is_answered_as_recorded(machine: OllamaServer, name: str) -> None:
    status, content_type, body = replay(machine, RECORDED[name])
    recorded = json.loads(RECORDED[name]["body"])
    assert (status, content_type) == (200, RECORDED[name]["content_type"])
    assert {**json.loads(body), "created_at": recorded["created_at"]} == recorded


@pytest.mark.parametrize("name", ["overflow rendered", "overflow rendered stream"])
def test_a_prompt_is_cut_in_silence_to_the_recorded_length(machine: OllamaServer, name: str) -> None:
    last = [
        json.loads(text.splitlines()[-1])
        for text in (replay(machine, RECORDED[name])[2], RECORDED[name]["body"])
    ]
    assert last[0]["prompt_eval_count"] == last[1]["prompt_eval_count"] == 67


def test_a_failed_pull_is_answered_as_recorded(machine: OllamaServer) -> None:
    status, content_type, body = replay(machine, RECORDED["pull offline"])
    assert (status, content_type, body) == (
        200,
        RECORDED["pull offline"]["content_type"],
        RECORDED["pull offline"]["body"],
    )


def test_a_running_model_is_listed_until_it_is_unloaded(machine: OllamaServer) -> None:
    assert json.loads(replay(machine, RECORDED["ps none"])[2]) == {"models": []}
    replay(machine, RECORDED["embed single"])
    running = json.loads(replay(machine, RECORDED["ps"])[2])
    assert shape(running) == shape(json.loads(RECORDED["ps"]["body"]))
    replay(machine, RECORDED["embed keep_alive 0"])
    assert json.loads(replay(machine, RECORDED["ps after ka0"])[2]) == {"models": []}


@pytest.mark.parametrize("name", ["version", "root HEAD"])
def test_a_sign_of_life_is_the_recorded_one(machine: OllamaServer, name: str) -> None:
    status, content_type, body = replay(machine, RECORDED[name])
    assert (status, content_type) == (200, RECORDED[name]["content_type"])
    assert body.startswith(RECORDED[name]["body"][:12])


def test_a_wrong_method_is_405(machine: OllamaServer) -> None:
    assert replay(machine, {"request": ["GET", "/api/embed"], "kwargs": {}}) == (
        405,
        "text/plain",
        "405 method not allowed",
    )


def test_texts_with_the_same_words_are_near() -> None:
    tea, drink, rain = (
        embedding(words(text), 256)
        for text in ("I drink green tea", "green tea is what I drink", "rain in May")
    )
    assert sum(map(float.__mul__, tea, drink)) > 0.7 > 0.3 > sum(map(float.__mul__, tea, rain))
