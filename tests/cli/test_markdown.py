"""Markdown on a terminal: nothing is lost, nothing is too wide, and what is final stays as it is."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from memcli.cli.markdown import breaks, final_chars, render

ANSWER = """# Title

Use **Maven**: 它的生态最好，插件也多。

1. first
2. second

   - nested

> quoted

```python
def f():

    return 1
```

| a | b |
|---|---|
| 1 | 二 |

Done.
"""


def shown(text: str, width: int = 40) -> list[str]:
    console = Console(width=width, force_terminal=True, color_system=None)
    lines = render(text, console, width=width)
    return ["".join(segment.text for segment in line).rstrip() for line in lines]


paragraphs = st.text(st.sampled_from("abc  ,.(，。“”《》花生カナ한😀"), max_size=200)


@given(paragraphs, st.integers(4, 60))
def test_no_line_is_wider_than_the_terminal_and_no_character_is_lost(text: str, width: int) -> None:
    edges = [0, *breaks(text, width), len(text)]
    lines = [text[start:end] for start, end in pairwise(edges)]
    assert "".join(lines) == text
    assert all(cell_len(line.rstrip()) <= width for line in lines)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("我喜欢用 Maven 来构建项目", 12, ["我喜欢用 ", "Maven 来构建", "项目"]),
        ("我们今天去北京，好吗", 14, ["我们今天去北", "京，好吗"]),
        ("他说《三国演义》好看", 6, ["他说", "《三国", "演义》", "好看"]),
        ("one two three", 7, ["one two ", "three"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
    ],
)
def test_lines_break_where_a_reader_expects_it(text: str, width: int, lines: list[str]) -> None:
    edges = [0, *breaks(text, width), len(text)]
    assert [text[start:end] for start, end in pairwise(edges)] == lines


def test_a_whole_answer_keeps_every_word() -> None:
    words = re.findall(r"\w+", re.sub(r"[#*`|>]|\d\.", " ", ANSWER))
    told = "\n".join(shown(ANSWER))
    assert [word for word in words if word not in told] == ["python"]


def test_what_would_control_the_terminal_is_shown_and_not_obeyed() -> None:
    assert shown("evil \x1b[2J\x07 end") == ["evil \ufffd[2J\ufffd end"]


@given(st.integers(0, len(ANSWER)))
def test_what_is_final_looks_the_same_whatever_comes(at: int) -> None:
    final = final_chars(ANSWER[:at])
    whole = "\n".join(shown(ANSWER)).strip()
    part = "\n".join(shown(ANSWER[:final])).strip()
    assert whole.startswith(part)


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("", ""),
        ("one", ""),
        ("one\n\ntwo", "one\n\n"),
        ("one\u2028a\n\ntwo", "one\u2028a\n\n"),
        ("- a\n\n- b", ""),
        ("- a\n\n  more", ""),
        ("```\na\n\nb", ""),
        ("```\na\n```\n\nb", "```\na\n```\n\n"),
        ("a | b\n--|--\n1 | 2", ""),
    ],
)
def test_only_the_last_block_may_still_change(text: str, final: str) -> None:
    assert text[: final_chars(text)] == final


def test_colours_are_read_on_a_light_terminal_as_well_as_on_a_dark_one() -> None:
    console = Console(width=80, force_terminal=True, color_system="standard")
    styles = [
        segment.style for line in render(ANSWER, console, width=80) for segment in line if segment.style
    ]
    assert any(style.color for style in styles)
    assert [style for style in styles if style.bgcolor and not style.bgcolor.is_default] == []
    assert [
        style for style in styles if style.color and style.color.name in ("white", "black", "yellow")
    ] == []
