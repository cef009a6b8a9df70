"""The format "aider": the chat history that aider keeps as Markdown in a project's folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import PurePath

from memcli.importers.encoding import byte_lines, encoding_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.session import dated_from, in_pieces
from memcli.importers.source import Source
from memcli.text import clean, regex
from memcli.times import parse_file_time
from memcli.types import BadLine, Conversation, Item, Message, Skip

NAME = "aider"

_START = "# aider chat started at "
# These only say how the words after them are meant.
_BLANK = "<blank>"  # what an empty line that was sent is written as
_ASKING = regex(r"/(?:ask|code|architect|context)\s+(?=\S)")


def sniff(head: Head) -> bool:
    """Text with the line that begins a chat."""
    return head.kind == "text" and re.search(rf"^{_START}\d", head.text, re.MULTILINE) is not None


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """A conversation for each start of the program. Only the starts have a time: the rest is estimated."""
    encoding = encoding_of(source.head(), asked=options.encoding, path=source.path, by_line=True)
    yield from encoding.notices()
    codec = encoding.line_codec
    started, turns = "", _Turns()
    for number, line in enumerate(byte_lines(source, encoding), start=1):
        try:
            text = clean(line.decode(codec)).rstrip("\r\n")
        except UnicodeDecodeError as error:
            yield BadLine(number, f"not {codec} at byte {error.start + 1}")
            continue
        if text.startswith(_START):
            yield from _chat(started, turns, source, options)
            started, turns = text.removeprefix(_START).strip(), _Turns()
        else:
            turns.add(text)
    yield from _chat(started, turns, source, options)


class _Turns:
    """The lines of a chat, by who wrote them."""

    def __init__(self) -> None:
        self.blocks: list[tuple[str, list[str]]] = []
        self._is_code = False
        self._is_over = False

    def add(self, line: str) -> None:
        """Put a line to the block that it goes on with, or begin another."""
        role = self._role_of(line)
        if role is None:
            # Within what a person wrote a blank line has a mark of its own: after this one they wrote again.
            self._is_over = bool(self.blocks) and self.blocks[-1][0] == "user"
            if self.blocks:
                self.blocks[-1][1].append("")
            return
        if not self.blocks or self.blocks[-1][0] != role or self._is_over:
            self.blocks.append((role, []))
        self._is_over = False
        words = line.removeprefix("####").removeprefix(" ").removesuffix("  ") if role == "user" else line
        self.blocks[-1][1].append(words)

    def _role_of(self, line: str) -> str | None:
        """Who wrote the line, None for a blank one, which is part of what it stands in."""
        if line.startswith("#### ") or line == "####":
            self._is_code = False  # an answer that was stopped leaves its code open
            return "user"
        if line.startswith(">") and not self._is_code:
            return "tool"
        if line.startswith("```"):
            self._is_code = not self._is_code
        return "assistant" if line.strip() else None


def _chat(started: str, turns: _Turns, source: Source, options: ReadOptions) -> Iterator[Item]:
    messages: list[Message] = []
    for role, lines in turns.blocks:
        text = "\n".join(lines).strip("\n")
        if role == "user":
            text = _ASKING.sub("", text, count=1) if _ASKING.match(text) else text
        if role == "tool" and not options.include_tools:
            yield Skip("tool")
        elif not text.strip() or (role == "user" and text == _BLANK):
            yield Skip("empty")
        elif role == "user" and text.startswith("/"):
            yield Skip("meta")
        else:
            messages.append(Message(role, text))
    if messages:
        start = parse_file_time(started, tz=options.tz)
        first = hashlib.sha256(messages[0].text.encode()).hexdigest()[:8]
        # Nothing but its start names a chat, and two may start in one second, in two projects.
        id_ = f"{started} {first}" if started else None
        project = PurePath(source.key).parent.name or None if source.key else None
        yield from in_pieces(
            [Conversation(id_, NAME, list(dated_from(start, messages)), started_at=start, project=project)]
        )
