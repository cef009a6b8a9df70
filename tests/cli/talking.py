"""What a person does at a session: types, waits for the answer, gives a command."""

from __future__ import annotations

from tests.process import Terminal

READY = "› "
ENTER = "\r"
ESCAPE_ENTER = "\x1b\r"
CTRL_C = "\x03"
CTRL_D = "\x04"
PASTE = "\x1b[200~{}\x1b[201~"


def say(terminal: Terminal, text: str, *, answer: str = "I see.") -> None:
    """Type something and wait for the answer and the next prompt."""
    terminal.type(text + ENTER)
    terminal.wait_for(answer)
    terminal.wait_for(READY)


def obey(terminal: Terminal, command: str, *, shows: str) -> str:
    terminal.type(command + ENTER)
    came = terminal.wait_for(shows)
    terminal.wait_for(READY)
    return came
