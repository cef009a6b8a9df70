"""The commands of a session, and what is learned in it."""

from __future__ import annotations

import json

import pytest

from memcli.cli.talk import SLASHES, completions
from tests.cli.talking import CTRL_D, ENTER, READY, obey, say
from tests.ollama_server import OllamaServer, chat_model
from tests.process import Shared, Terminal
from tests.test_chat import asked

# --- the commands ---------------------------------------------------------------------------------


def test_help_tells_every_command(long: tuple[OllamaServer, Terminal]) -> None:
    told = obey(long[1], "/help", shows="stops an answer")
    assert [slash.name for slash in SLASHES if f"/{slash.name}" not in told] == []


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/remembr x", "did you mean /remember?"),
        ("/xyzzy", "see /help"),
        ("/forget", "what is to be forgotten"),
        ("/memory perhaps", "it is on or off"),
        ("/sessions zzzz", "no session's id begins"),
    ],
)
def test_a_command_that_makes_no_sense_is_told_so(
    long: tuple[OllamaServer, Terminal], typed: str, told: str
) -> None:
    server, terminal = long
    before = len(server.chats())
    obey(terminal, typed, shows=told)
    assert len(server.chats()) == before


def test_a_path_is_no_command(long: tuple[OllamaServer, Terminal]) -> None:
    server, terminal = long
    say(terminal, "/etc/hosts is empty, why?")
    assert asked(server)[-1] == "/etc/hosts is empty, why?"


def test_commands_of_memory(shared: Shared, server: OllamaServer, terminal: Terminal) -> None:
    obey(terminal, "/remember The key of the shed is under the beehive", shows="remembered")
    obey(terminal, "/memories", shows="under the beehive")
    say(terminal, "Where is the key of the shed?")
    assert "under the beehive" in asked(server)[-1]
    assert "keyword=+" in obey(terminal, "/why", shows="of 800 tokens")
    obey(terminal, "/memory off", shows="memory is off")
    say(terminal, "Where is the key of the shed now?")
    assert asked(server)[-1] == "Where is the key of the shed now?"
    obey(terminal, "/why", shows="memory is off")
    obey(terminal, "/memory on", shows="memory is on")
    terminal.type("/forget beehive" + ENTER)
    terminal.wait_for("[y/N]")
    terminal.type("y\r")
    terminal.wait_for("forgotten")
    terminal.wait_for(READY)
    assert "beehive" not in json.dumps(shared.json("list"))


def test_feedback_is_counted(shared: Shared, terminal: Terminal) -> None:
    obey(terminal, "/why", shows="there is no answer yet")
    obey(terminal, "/good", shows="there is no answer to judge")
    say(terminal, "Hello")
    obey(terminal, "/good", shows="noted")
    say(terminal, "Hello again")
    obey(terminal, "/bad", shows="noted")
    feedback = shared.json("stats")["feedback"]
    assert (feedback["good"], feedback["bad"]) == (1, 1)


def test_sessions_can_be_begun_left_and_gone_on_with(
    shared: Shared, server: OllamaServer, terminal: Terminal
) -> None:
    say(terminal, "About herons")
    obey(terminal, "/new", shows="a new session")
    say(terminal, "About owls")
    assert "herons" not in json.dumps(server.chats()[-1]["messages"][1:])
    first = shared.json("chat", "Hello")["session_id"]
    came = obey(terminal, "/sessions", shows="goes on with one")
    assert "About herons" in came
    assert "About owls" in came
    obey(terminal, f"/sessions {first}", shows="going on with")
    say(terminal, "More")
    assert [message["content"] for message in server.chats()[-1]["messages"][1:]] == [
        *("Hello", "I see.", "More")
    ]


def test_another_model_answers(server: OllamaServer, shared: Shared) -> None:
    server.models = [chat_model(), chat_model("qwen3:4b")]
    with Terminal(shared, "chat", "--model", "llama3.2") as terminal:
        terminal.wait_for(READY)
        obey(terminal, "/model qwen3:4b", shows="qwen3:4b answers from now on")
        say(terminal, "Hello")
    assert server.chats()[-1]["model"] == "qwen3:4b"


def test_a_session_is_exported_as_import_takes_it(shared: Shared, terminal: Terminal) -> None:
    say(terminal, "About herons")
    obey(terminal, "/export talk.jsonl", shows="2 turns are in talk.jsonl")
    assert shared.json("import", "talk.jsonl", "--user", "other")["totals"]["added"] == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/he", ["/help"]),
        ("/mem", ["/memories", "/memory"]),
        ("/memory o", ["on", "off"]),
        ("/", [f"/{slash.name}" for slash in SLASHES]),
        ("hello /he", []),
        ("/he\nllo", []),
        ("", []),
    ],
)
def test_a_slash_is_completed(line: str, words: list[str]) -> None:
    assert [word for word, _ in completions(line)] == words


def test_what_another_terminal_remembers_and_forgets_counts_at_once(
    shared: Shared, server: OllamaServer, terminal: Terminal
) -> None:
    shared.here("remember", "The key of the shed is under the beehive")
    say(terminal, "Where is the key of the shed?")
    assert "under the beehive" in asked(server)[-1]
    assert shared.here("forget", "--query", "beehive", "--yes").returncode == 0
    assert "beehive" not in obey(terminal, "/why", shows="forgotten since")
    say(terminal, "Where was the key of the shed again?")
    assert "under the beehive" not in json.dumps(server.chats()[-1])


# --- learning -------------------------------------------------------------------------------------


def teach(terminal: Terminal, text: str) -> None:
    """Say something that is learned, and wait until that is said."""
    terminal.type(text + ENTER)
    terminal.wait_for("I see.")
    terminal.wait_for("· /undo")
    terminal.wait_for(READY)


def test_what_was_learned_is_said_and_can_be_taken_back(
    shared: Shared, server: OllamaServer, terminal: Terminal
) -> None:
    teach(terminal, "I prefer Maven over Gradle.")
    (fact,) = shared.json("list", "--kind", "preference")["memories"]
    assert "Maven" in fact["text"]
    obey(terminal, "/undo", shows="no longer remembered")
    assert shared.json("list", "--kind", "preference")["total"] == 0
    obey(terminal, "/undo", shows="nothing was learned")


def test_what_was_learned_in_place_of_something_is_taken_back_alone(
    shared: Shared, terminal: Terminal
) -> None:
    teach(terminal, "I live in Porto.")
    teach(terminal, "I live in Turin now.")
    obey(terminal, "/undo", shows="no longer remembered")
    facts = [fact["text"] for fact in shared.json("list", "--kind", "identity")["memories"]]
    assert facts == ["I live in Porto"]


def test_nothing_is_learned_where_memory_is_off(shared: Shared, terminal: Terminal) -> None:
    obey(terminal, "/memory off", shows="memory is off")
    say(terminal, "I prefer Maven over Gradle.")
    say(terminal, "Bye")
    terminal.type(CTRL_D)
    assert terminal.end() == 0
    assert shared.json("list")["total"] == 0
