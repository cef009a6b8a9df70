"""A session on a terminal: what is typed is heard, what comes is shown, and nothing is lost."""

from __future__ import annotations

import pytest

from tests.cli.talking import CTRL_C, CTRL_D, ENTER, ESCAPE_ENTER, PASTE, READY, say
from tests.ollama_chat import Script
from tests.ollama_server import OllamaServer, chat_model
from tests.process import Shared, Terminal
from tests.test_chat import asked, turns

# --- the session ----------------------------------------------------------------------------------


@pytest.mark.parametrize("leave", [CTRL_D, "/quit" + ENTER])
def test_each_turn_is_on_disk_before_the_next_prompt_and_stays_when_one_leaves(
    shared: Shared, terminal: Terminal, leave: str
) -> None:
    say(terminal, "My name is Ana")
    assert turns(shared) == [("My name is Ana", "whole"), ("I see.", "whole")]
    say(terminal, "我喜欢 Maven")
    said = ["My name is Ana", "I see.", "我喜欢 Maven", "I see."]
    assert [text for text, _ in turns(shared)] == said
    terminal.type(leave)
    assert terminal.end() == 0
    assert [text for text, _ in turns(shared)] == said


def test_ctrl_c_stops_the_answer_and_keeps_the_session(
    shared: Shared, server: OllamaServer, terminal: Terminal
) -> None:
    server.says = Script(["word "] * 200, pace_s=0.05)
    terminal.type("Tell me a story" + ENTER)
    terminal.wait_for("word word")
    terminal.type(CTRL_C)
    terminal.wait_for("stopped")
    terminal.wait_for(READY)
    server.says = "Yes."
    say(terminal, "Still there?", answer="Yes.")
    states = [state for _, state in turns(shared)]
    assert states == ["whole", "stopped", "whole", "whole"]


def test_ctrl_c_at_the_prompt_drops_what_is_typed(long: tuple[OllamaServer, Terminal]) -> None:
    server, terminal = long
    terminal.type("never mind")
    terminal.wait_for("never mind")
    terminal.type(CTRL_C)
    terminal.wait_for("Ctrl-D leaves")
    terminal.wait_for(READY)
    say(terminal, "Hello")
    assert asked(server)[-1] == "Hello"


@pytest.mark.parametrize(
    "typed",
    [f"one{ESCAPE_ENTER}two{ENTER}", PASTE.format("one\rtwo") + ENTER, PASTE.format("one\ntwo") + ENTER],
)
def test_a_message_may_have_lines(long: tuple[OllamaServer, Terminal], typed: str) -> None:
    server, terminal = long
    terminal.type(typed)
    terminal.wait_for("I see.")
    terminal.wait_for(READY)
    assert asked(server)[-1] == "one\ntwo"


def test_what_was_said_in_any_session_comes_back_by_a_key_and_what_is_forgotten_does_not(
    shared: Shared, server: OllamaServer, terminal: Terminal
) -> None:
    say(terminal, "first of all")
    say(terminal, "Corin sings")
    assert shared.here("forget", "--query", "Corin", "--yes").returncode == 0
    say(terminal, "thanks")
    terminal.type("\x1b[A\x1b[A" + ENTER)
    terminal.wait_for("I see.")
    assert asked(server)[-1] == "first of all"


def test_an_answer_is_shown_as_markdown_and_thoughts_are_gone(
    server: OllamaServer, terminal: Terminal
) -> None:
    server.models = [chat_model(thinks=True)]
    server.says = Script(["Use ", "**Maven**: ", "插件多。"], thinking=["Let me ", "see"], pace_s=0.3)
    terminal.type("What shall I use?" + ENTER)
    terminal.wait_for("Let me see")
    terminal.wait_for("Use Maven: 插件多。")


def test_a_failure_is_told_and_the_session_goes_on(server: OllamaServer, terminal: Terminal) -> None:
    server.says = [Script(["a ", "part ", "of"], fault="dropped"), "Better."]
    terminal.type("Hello" + ENTER)
    terminal.wait_for("a part")
    terminal.wait_for("memcli: ")
    terminal.wait_for(READY)
    say(terminal, "Again?", answer="Better.")


def test_a_host_that_is_not_this_machine_is_named_at_the_start(shared: Shared, server: OllamaServer) -> None:
    server.models = [chat_model("gpt-oss:20b-cloud", remote_host="https://ollama.com:443")]
    with Terminal(shared, "chat", "--model", "gpt-oss:20b-cloud") as terminal:
        assert "leaves this machine" in " ".join(terminal.wait_for(READY).split())


def test_two_models_are_a_choice(shared: Shared, server: OllamaServer) -> None:
    server.models = [chat_model(), chat_model("qwen3:4b")]
    with Terminal(shared, "chat") as terminal:
        terminal.wait_for("Which one?")
        terminal.type("2" + ENTER)
        terminal.wait_for(READY)
        say(terminal, "Hello")
    assert server.chats()[0]["model"] == "qwen3:4b"
