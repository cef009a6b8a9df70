"""A session on a terminal: what is typed is heard, what comes is shown, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memcli.cli.talk import SLASHES, completions
from tests.ollama_chat import Script
from tests.ollama_server import OllamaServer, chat_model
from tests.process import Shared, Terminal
from tests.test_chat import asked, turns

READY = "› "
ENTER = "\r"
ESCAPE_ENTER = "\x1b\r"
CTRL_C = "\x03"
CTRL_D = "\x04"
PASTE = "\x1b[200~{}\x1b[201~"


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer([chat_model()]) as server:
        yield server


@pytest.fixture
def shared(tmp_path: Path, server: OllamaServer) -> Shared:
    return Shared(tmp_path, {"OLLAMA_HOST": server.host})


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OllamaServer, Terminal]]:
    """One session in which many tests say something that hangs on nothing before."""
    with OllamaServer([chat_model()]) as server:
        shared = Shared(tmp_path_factory.mktemp("long"), {"OLLAMA_HOST": server.host})
        with Terminal(shared, "chat") as terminal:
            terminal.wait_for(READY)
            yield server, terminal


@pytest.fixture
def terminal(shared: Shared) -> Iterator[Terminal]:
    with Terminal(shared, "chat") as terminal:
        terminal.wait_for(READY)
        yield terminal


def say(terminal: Terminal, text: str, *, answer: str = "I see.") -> None:
    """Type something and wait for the answer and the next prompt."""
    terminal.type(text + ENTER)
    terminal.wait_for(answer)
    terminal.wait_for(READY)


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


# --- memories -------------------------------------------------------------------------------------


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


# --- the commands ---------------------------------------------------------------------------------


def obey(terminal: Terminal, command: str, *, shows: str) -> str:
    terminal.type(command + ENTER)
    came = terminal.wait_for(shows)
    terminal.wait_for(READY)
    return came


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
