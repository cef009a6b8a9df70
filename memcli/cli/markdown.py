"""Markdown as it comes, for a terminal: what of it is final, and lines broken right in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from memcli.text import neutral, regex

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.segment import Segment
    from rich.syntax import ANSISyntaxTheme

_WIDE = (
    "[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\U00020000-\U0003ffff]"
)
# What no line begins with, and what none ends with (the commonest of JIS X 4051 and GB/T 15834).
_NOT_FIRST = "，。、；：？！）］｝〕〉》」』】〗”’…—～·％ーァィゥェォッャュョ々,.;:?!)]}%"
_NOT_LAST = "（［｛〔〈《「『【〖“‘([{"
_BREAKABLE = regex(
    rf"(?<={_WIDE})(?<![{re.escape(_NOT_LAST)}])(?=\S)(?![{re.escape(_NOT_FIRST)}])"
    rf"|(?<=\S)(?<![{re.escape(_NOT_LAST)}])(?={_WIDE})(?![{re.escape(_NOT_FIRST)}])"
    r"|(?<=\s)(?=\S)"
)


def final_chars(text: str) -> int:
    """How many characters at the beginning of an unfinished Markdown text will look the same whatever comes.

    They end where the last block of the text begins: only that one can still grow.
    """
    from markdown_it import MarkdownIt

    starts = [
        token.map[0]
        for token in MarkdownIt().enable("table").parse(text)
        if token.level == 0 and token.map and token.nesting >= 0
    ]
    return sum(len(line) + 1 for line in text.split("\n")[: starts[-1]]) if starts else 0


def breaks(text: str, width: int) -> list[int]:
    """Where to break a paragraph (offsets of characters) so that no line is wider than `width` cells.

    Between words, and between any two wide characters but before a closing sign and after an opening one.
    """
    from rich.cells import cell_len

    found: list[int] = []
    used = 0
    for start, piece in _pieces(text):
        if used and used + cell_len(piece.rstrip()) > width:
            found.append(start)
            used = 0
        rest = piece
        while cell_len(rest.rstrip()) > width:
            rest = rest[max(1, _chars_in(rest, width)) :]
            found.append(start + len(piece) - len(rest))
        used += cell_len(rest)
    return found


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The parts that stay together, with where they start."""
    edges = [0, *(match.start() for match in _BREAKABLE.finditer(text) if match.start()), len(text)]
    for start, end in pairwise(edges):
        if start < end:
            yield start, text[start:end]


def _chars_in(text: str, width: int) -> int:
    from rich.cells import cell_len

    cells = 0
    for count, char in enumerate(text):
        cells += cell_len(char)
        if cells > width:
            return count
    return len(text)


def render(text: str, console: Console, *, width: int) -> list[list[Segment]]:
    """The lines of a Markdown text on a terminal, none blank at its ends; controls are neutralised."""
    from rich.theme import Theme

    # A background of its own would be a black box on a light terminal.
    with console.use_theme(Theme({"markdown.code": "bold cyan"})):
        lines = console.render_lines(_markdown(neutral(text)), console.options.update(width=width), pad=False)
    told = [at for at, line in enumerate(lines) if any(segment.text.strip() for segment in line)]
    return lines[told[0] : told[-1] + 1] if told else []


def _markdown(text: str) -> Any:
    """Rich's Markdown, with paragraphs broken by `breaks` and code that can be copied as it is."""
    from rich.markdown import CodeBlock, Heading, Markdown, Paragraph
    from rich.syntax import Syntax

    class Wrapped(Paragraph):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for line in self.text.split("\n", allow_blank=True):
                for part in line.divide(breaks(line.plain, options.max_width)):
                    part.rstrip()
                    yield part

    class Left(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            yield self.text

    class Plain(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = str(self.text).rstrip()
            yield Syntax(
                code,
                self.lexer_name,
                theme=_colors(),
                word_wrap=True,
                background_color="default",
                padding=0,
            )

    class Answer(Markdown):
        elements: ClassVar = {
            **Markdown.elements,
            "heading_open": Left,
            "paragraph_open": Wrapped,
            "fence": Plain,
            "code_block": Plain,
        }

    return Answer(text, hyperlinks=False)


@cache
def _colors() -> ANSISyntaxTheme:
    """The colours of code, none of them bright: to be read on a light terminal as well as on a dark one."""
    from pygments import token  # type: ignore[import-untyped]
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme

    return ANSISyntaxTheme(
        {
            token.Token: Style(),
            token.Comment: Style(dim=True),
            token.Keyword: Style(color="magenta"),
            token.Keyword.Type: Style(color="cyan"),
            token.Name.Builtin: Style(color="cyan"),
            token.Name.Class: Style(bold=True),
            token.Name.Function: Style(bold=True),
            token.Literal.Number: Style(color="cyan"),
            token.Literal.String: Style(color="green"),
            token.Generic.Deleted: Style(color="red"),
            token.Generic.Inserted: Style(color="green"),
            token.Generic.Heading: Style(bold=True),
        }
    )
