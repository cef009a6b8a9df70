"""The text of a piece of HTML, with its paragraphs and lists as lines."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from memcli.text import regex

_PARAGRAPH_TAGS = {
    "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "ol", "p", "pre", "table", "ul",
}  # fmt: skip
_LINE_TAGS = {"dd", "div", "dt", "li", "tr"}
_HIDDEN_TAGS = {"script", "style", "template"}
_BLANKS = regex(r"\s+")
_BLANKS_AT_LINE_END = regex(r" +$", re.MULTILINE)


class _Reader(HTMLParser):
    """Gathers the text; blanks in a row are one, except in `<pre>`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._line_ends = 2  # how many the text ends with; at its beginning none are wanted
        self._hidden = 0
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self._hidden += tag in _HIDDEN_TAGS
        self._pre += tag == "pre"
        self._end_line(self._line_ends + 1 if tag == "br" else _ends_of(tag))
        if tag == "li":
            self._add("- ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in _HIDDEN_TAGS), 0)
        self._pre = max(self._pre - (tag == "pre"), 0)
        self._end_line(_ends_of(tag))

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if not self._pre:
            data = _BLANKS.sub(" ", data)
            data = data.lstrip() if self._line_ends else data
        if data:
            self._add(data)

    def _add(self, text: str) -> None:
        self.pieces.append(text)
        self._line_ends = len(text) - len(text.rstrip("\n"))

    def _end_line(self, count: int) -> None:
        if count > self._line_ends:
            self.pieces.append("\n" * (count - self._line_ends))
            self._line_ends = count


def _ends_of(tag: str) -> int:
    """How many line ends stand before and after such a tag."""
    return 2 if tag in _PARAGRAPH_TAGS else 1 if tag in _LINE_TAGS else 0


def text_of_html(html: str) -> str:
    """The text that a browser would show: entities as characters, tags gone, code as it is."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return _BLANKS_AT_LINE_END.sub("", "".join(reader.pieces)).strip()
