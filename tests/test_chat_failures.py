"""Every way in which an answer can fail: what is said, shown and kept of it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.chat import Chat, Manner
from memcli.memory import Draft, open_memory
from memcli.models.ollama_chat import open_chat
from tests.ollama_chat import Script, prompt_tokens
from tests.ollama_server import Model, OllamaServer, chat_model
from tests.process import Shared
from tests.test_chat import MAVEN, QUESTION, asked, turns


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer([chat_model()]) as server:
        server.says = "Take Maven."
        yield server


@pytest.fixture
def shared(tmp_path: Path, server: OllamaServer) -> Shared:
    return Shared(tmp_path, {"OLLAMA_HOST": server.host})


def test_without_a_server_it_is_4_with_a_hint(shared: Shared) -> None:
    done = shared.here("chat", QUESTION, env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert (done.returncode, done.stdout) == (4, "")
    assert "hint: " in done.stderr


@pytest.mark.parametrize("fault", ["dropped", "error", "no done", "half a line"])
def test_a_server_that_dies_on_the_way_leaves_a_part_that_is_shown_and_kept_and_marked(
    shared: Shared, server: OllamaServer, fault: str
) -> None:
    server.says = Script(["Take ", "Maven ", "or ", "Gradle."], fault=fault, after=2)
    done = shared.here("chat", QUESTION)
    assert (done.returncode, done.stdout) == (3, "Take Maven \n")
    assert turns(shared) == [(QUESTION, "whole"), ("Take Maven ", "cut")]
    done = shared.here("chat", QUESTION, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["answer"], told["incomplete"]) == (3, "Take Maven ", True)
    assert json.loads(done.stderr)["code"] == 3


def test_a_model_that_says_nothing_is_4_and_the_question_is_kept(
    shared: Shared, server: OllamaServer
) -> None:
    server.says = Script(fault="crash")
    done = shared.here("chat", QUESTION)
    assert (done.returncode, done.stdout) == (4, "")
    assert turns(shared) == [(QUESTION, "whole")]


def test_a_prompt_that_the_server_refuses_is_sent_again_with_less(
    shared: Shared, server: OllamaServer
) -> None:
    for number in range(4):
        shared.here("chat", f"Number {number}: " + "word " * 300, "--session", "last" if number else "")
    before = len(server.chats())
    server.says = lambda request: "Yes." if len(request.json["messages"]) < 6 else Script(fault="too long")
    assert shared.here("chat", QUESTION, "--session", "last").stdout == "Yes.\n"
    assert len(server.chats()) > before + 1


def test_a_text_of_more_tokens_than_it_looks_is_read_whole_with_the_rules_by_the_model_that_answers(
    shared: Shared, server: OllamaServer
) -> None:
    server.models = [chat_model(context=2048)]
    shared.here("remember", "I am Ana, a beekeeper", "--priority", "P0")
    for question in ("1 2 3 4 " * 500, "Which build tool?"):
        told = shared.json("chat", question, "--session", "last" if len(server.chats()) else "")
        assert (told["answer"], len(told["memories"])) == ("Take Maven.", 1)
        read = prompt_tokens(server.chats()[-1]["messages"])
        assert told["tokens"]["prompt"] == read <= 2048
        assert "I am Ana" in asked(server)[-1]


def test_memories_that_have_no_place_beside_a_question_are_not_said_to_have_been_told(
    shared: Shared, server: OllamaServer
) -> None:
    server.says = [Script(fault="too long"), "Take Maven."]
    shared.here("remember", "I am Ana, a beekeeper", "--priority", "P0")
    (memory,) = shared.json("list")["memories"]
    done = shared.here("chat", QUESTION, "--json")
    told = json.loads(done.stdout)
    assert "I am Ana" not in json.dumps(server.chats()[-1])
    assert (told["answer"], told["memories"]) == ("Take Maven.", [])
    assert told["dropped"] == [{"id": memory["id"], "why": "no place beside the question"}]
    assert "no place for memories" in done.stderr


def test_a_silent_cut_by_an_old_server_is_said_with_what_to_do(shared: Shared, server: OllamaServer) -> None:
    server.says = Script(["Yes."], prompt_tokens=4096 + 3)
    done = shared.here("chat", "supercalifragilistic " * 1_200)
    assert done.stdout == "Yes.\n"
    assert "read only 4,099 tokens" in done.stderr
    assert "ask again, or raise chat.num_ctx" in done.stderr


def test_memories_that_do_not_come_are_gone_without_and_that_is_said_once(
    shared: Shared, server: OllamaServer
) -> None:
    shared.here("remember", MAVEN)
    (side,) = shared.home.rglob("lance")
    for path in side.rglob("*.lance"):
        if path.is_file():
            path.write_bytes(b"damaged")
    done = shared.here("chat", QUESTION)
    assert (done.returncode, done.stdout) == (0, "Take Maven.\n")
    assert done.stderr.count("answering without") == 1
    assert asked(server) == [QUESTION]


def test_memories_that_come_too_late_are_gone_without_and_that_is_said_once(
    tmp_path: Path, server: OllamaServer
) -> None:
    memory = open_memory(data_dir=tmp_path, embedder="none")
    memory.remember(Draft(text=MAVEN))
    told: list[str] = []
    chat = Chat(
        memory,
        open_chat("llama3.2", host=server.host),
        memory.begin_session(),
        manner=Manner(recall_limit_s=0.05),
        notice=told.append,
        heard=print,
    )
    for _ in range(2):
        # As a store on a slow disk keeps who reads from it.
        chat._reader.do(lambda _: time.sleep(0.5))
        assert "".join(piece.text for piece in chat.answer(QUESTION)) == "Take Maven."
    chat.close()
    assert told == ["the memories did not come within 0.05 s: answering without them"]
    assert asked(server) == [QUESTION, QUESTION]


def test_an_embedder_that_is_gone_leaves_the_memories_that_words_find(
    shared: Shared, server: OllamaServer
) -> None:
    server.models = [chat_model(), Model("bge-m3:latest")]
    env = {"MEMCLI_EMBEDDER": ""}
    shared.here("remember", MAVEN, env=env)
    server.models = [chat_model()]
    done = shared.here("chat", QUESTION, env=env)
    assert (done.returncode, done.stdout) == (0, "Take Maven.\n")
    assert done.stderr.count("only keywords were asked") == 1
    assert MAVEN in asked(server)[0]


def test_ctrl_c_is_130_and_what_came_is_kept_as_stopped(shared: Shared, server: OllamaServer) -> None:
    server.says = Script(["Take ", "Maven ", "now."] * 100, pace_s=0.05)
    running = shared.start("chat", QUESTION)
    assert running.stdout is not None
    assert os.read(running.stdout.fileno(), 5) == b"Take "
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)
    assert running.returncode == 130
    question, (answer, state) = turns(shared)
    assert (question, state) == ((QUESTION, "whole"), "stopped")
    assert answer.startswith("Take ")


def test_a_kill_loses_nothing_that_was_said_before(shared: Shared, server: OllamaServer) -> None:
    shared.here("chat", MAVEN)
    server.says = Script(["Take "] * 100, pace_s=0.05)
    running = shared.start("chat", QUESTION, "--session", "last")
    assert running.stdout is not None
    assert os.read(running.stdout.fileno(), 5) == b"Take "
    running.kill()
    running.communicate()
    assert [text for text, _ in turns(shared)] == [MAVEN, "Take Maven.", QUESTION]


def test_a_reader_that_goes_away_is_a_quiet_0(shared: Shared, server: OllamaServer) -> None:
    server.says = Script(["Take "] * 50, pace_s=0.02)
    running = shared.start("chat", QUESTION)
    assert running.stdout is not None
    assert os.read(running.stdout.fileno(), 5) == b"Take "
    running.stdout.close()
    running.stdout = None
    running.communicate(timeout=20)
    assert running.returncode == 0
    assert turns(shared)[1][1] == "stopped"


def test_a_store_that_cannot_be_written_is_5_before_the_model_is_asked(tmp_path: Path) -> None:
    with OllamaServer([chat_model()]) as server:
        (tmp_path / "file").write_text("no directory")
        shared = Shared(tmp_path, {"OLLAMA_HOST": server.host})
        assert shared("chat", QUESTION, "--data-dir", "file").returncode == 5
        assert server.chats() == []


def test_the_answer_comes_while_it_is_made(shared: Shared, server: OllamaServer) -> None:
    server.says = Script(["Take ", "Maven."], pace_s=0.4)
    running = shared.start("chat", QUESTION)
    assert running.stdout is not None
    assert os.read(running.stdout.fileno(), 100) == b"Take "
    began = time.monotonic()
    assert running.communicate(timeout=20)[0].endswith("Maven.\n")
    assert time.monotonic() - began > 0.2
