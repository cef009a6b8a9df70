"""The format "ai-studio": a chat of Google AI Studio, as it lies in the person's Drive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.chats import in_chats
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import Said, meta_with, text_at
from memcli.importers.session import mapping_at, mappings_at, objects
from memcli.importers.source import Source
from memcli.importers.text import file_title
from memcli.times import parse_file_time
from memcli.types import Item, Message, Skip

NAME = "ai-studio"

_RUN_KEYS = ("executableCode", "codeExecutionResult", "functionCall", "functionResponse")
_FILE_WORDS = ("drive", "inline", "youtube")  # driveDocument, inlineImage, youtubeVideo, …


def sniff(head: Head) -> bool:
    """A prompt in chunks, with what the model was set to."""
    return any(isinstance(record.get("chunkedPrompt"), dict) for record in head.objects)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The chat; thoughts, what was run and what was attached are skipped."""
    return in_chats(_messages(source, options), source=NAME, titles={None: file_title(source)})


def _messages(source: Source, options: ReadOptions) -> Iterator[Said | Item]:
    for item in objects(source, options):
        if isinstance(item, dict):
            yield from _in_chat(item, options)
        else:
            yield item


def _in_chat(chat: Mapping[str, Any], options: ReadOptions) -> Iterator[Said | Item]:
    instruction = mapping_at(chat, "systemInstruction")
    prompt = text_at(instruction, ("text",)) or _joined(instruction)
    if prompt.strip():
        yield None, Message("system", prompt)
    model = text_at(mapping_at(chat, "runSettings"), ("model",))
    chunks = mapping_at(chat, "chunkedPrompt").get("chunks")
    if not isinstance(chunks, list) or not chunks:
        yield Skip("empty-conversation")
        return
    for chunk in chunks:
        message = _message_of(chunk, model, options) if isinstance(chunk, dict) else Skip("empty")
        yield message if isinstance(message, Skip) else (None, message)


def _message_of(chunk: Mapping[str, Any], model: str | None, options: ReadOptions) -> Message | Skip:
    if chunk.get("isThought") is True:
        return Skip("thinking")
    text = text_at(chunk, ("text",)) or _joined(chunk)
    if not text.strip():
        return Skip(_lack_of(chunk))
    is_answer = chunk.get("role") == "model"
    return Message(
        "assistant" if is_answer else "user",
        text,
        at=parse_file_time(chunk.get("createTime"), tz=options.tz),
        meta=meta_with(model=model if is_answer else None),
    )


def _joined(holder: Mapping[str, Any]) -> str:
    """The text of the parts, without thoughts."""
    said = [part for part in mappings_at(holder, "parts") if part.get("thought") is not True]
    return "".join(text_at(part, ("text",)) or "" for part in said)


def _lack_of(chunk: Mapping[str, Any]) -> str:
    if any(key in chunk for key in _RUN_KEYS):
        return "tool-only"
    if "errorMessage" in chunk:
        return "error"
    return "media" if any(key.startswith(_FILE_WORDS) for key in chunk) else "empty"
