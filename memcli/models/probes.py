"""What a model can really do, found by asking it: its listing is not always true."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from memcli.types import ChatModel, Message, Piece

SILENCE_S = 60.0
"""How long a model that is only tried may be silent."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What was found; `hint` says what to do where it is not well, else it is empty."""

    found: str
    hint: str = ""


def probe_json(model: ChatModel) -> Probed:
    """Whether it says by a schema what stands in a text. Raises ModelError."""
    told = model.ask([Message("user", _TEXT)], _SCHEMA, max_tokens=100)
    if (told["name"], told["age"]) == _EXPECTED:
        return Probed("fits the schema and the text")
    return Probed("fits the schema but not the text", "choose a larger model with learn.model")


_TEXT = "Ana is 33 years old and lives in Lisbon. Give her name and her age as JSON."
_EXPECTED = ("Ana", 33)
_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
}


def probe_chinese(model: ChatModel) -> Probed:
    """Whether it answers a Chinese question in Chinese. Raises ModelError."""
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "maxLength": 60}},
        "required": ["answer"],
    }
    told = model.ask([Message("user", "晴天的天空是什么颜色？请用中文回答。")], schema, max_tokens=100)
    if re.search(r"[\u4e00-\u9fff]", told["answer"]):
        return Probed("answers in Chinese")
    return Probed("does not answer Chinese in Chinese", "for Chinese, choose another chat.model")


def probe_thinking(model: ChatModel) -> Probed:
    """Whether it thinks before it answers; it is stopped at the first piece. Raises ModelError."""
    with closing(model.stream([Message("user", "Say hello.")])) as stream:
        for part in stream:
            if isinstance(part, Piece) and part.text.strip():
                return Probed("thinks before it answers" if part.is_thinking else "answers at once")
    return Probed("said nothing at all", "choose another chat.model")


CHAT_PROBES: dict[str, Callable[[ChatModel], Probed]] = {
    "chat thinking": probe_thinking,
    "chat Chinese": probe_chinese,
}
LEARN_PROBES: dict[str, Callable[[ChatModel], Probed]] = {"learning JSON": probe_json}
