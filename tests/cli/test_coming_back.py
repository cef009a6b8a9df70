"""Sessions that were killed and are gone on with, and what a new one knows of them."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.cli.talking import CTRL_D, READY, say
from tests.ollama_server import OllamaServer
from tests.process import Shared, Terminal
from tests.test_chat import asked


def test_a_session_survives_a_kill_and_goes_on(shared: Shared, server: OllamaServer) -> None:
    with Terminal(shared, "chat") as terminal:
        terminal.wait_for(READY)
        for number in range(3):
            say(terminal, f"Number {number}")
        terminal.process.kill()
        terminal.process.wait()
    with Terminal(shared, "chat", "--session", "last") as terminal:
        assert "Number 0" in terminal.wait_for(READY)
        say(terminal, "And now?")
    said = [message["content"] for message in server.chats()[-1]["messages"] if message["role"] == "user"]
    assert said == ["Number 0", "Number 1", "Number 2", "And now?"]


def test_ten_turns_a_changed_mind_a_kill_and_a_new_session_that_knows(
    shared: Shared, server: OllamaServer
) -> None:
    shared = replace(shared, env={**shared.env, "MEMCLI_EMBEDDER": "builtin"})
    with Terminal(shared, "chat") as terminal:
        terminal.wait_for(READY)
        say(terminal, "Hello, my name is Ana.")
        say(terminal, "I prefer Maven over Gradle.")
        for number in range(4):
            say(terminal, f"What is {number} plus 1?")
        say(terminal, "I prefer Gradle over Maven now.")
        say(terminal, "How do I cook rice?")
        say(terminal, "And beans?")
        say(terminal, "Thanks!")
        terminal.process.kill()
        terminal.process.wait()
    with Terminal(shared, "chat", "--session", "last") as terminal:
        assert "20 turns" in " ".join(terminal.wait_for(READY).split())
        say(terminal, "How long for the beans?")
        assert "And beans?" in json.dumps(server.chats()[-1])
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    with Terminal(shared, "chat") as terminal:
        terminal.wait_for(READY)
        say(terminal, "Which build tool do I prefer?")
    question = asked(server)[-1]
    assert "I prefer Gradle over Maven now" in question
    assert "I prefer Maven over Gradle" not in question
