from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.importers import ReadOptions, read
from memcli.types import Document, Notice

from .reading import items_of, source_of


def note_of(text: str | bytes, *, name: str = "note.md", **options: Any) -> Document:
    (note,) = (
        item
        for item in items_of(text, name=name, format_name="markdown", **options)
        if isinstance(item, Document)
    )
    return note


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Front\n---\n# Heading", "Front"),
        ("---\nTitle: Front\n---\n", "Front"),
        ("intro\n\n# Heading #\n\n# Second", "Heading"),
        ("```\n# comment\n```\n# Real", "Real"),
        ("## Only a second level", "note"),
        ("---\ntitle:\n---\n", "note"),
        ("---\ntitle: 2026-03-01\n---\n", "2026-03-01"),
        ("---\ntitle: no\n---\n", "no"),
        ("---\ntitle: [a]\n---\n# Heading", "Heading"),
    ],
)
def test_title_is_from_front_matter_then_heading_then_file(text: str, title: str) -> None:
    assert note_of(text).title == title


@pytest.mark.parametrize(
    ("front", "topics"),
    [
        ("tags: [a, b/c]", ("a", "b/c")),
        ("tags:\n  - a\n  - '#b'", ("a", "b")),
        ("tags: a, b c", ("a", "b c")),
        ("tags: a b", ("a", "b")),
        ("tag: a", ("a",)),
        ("tags: 2026", ("2026",)),
        ("tags:", ()),
        ("tags: [[a], {b: c}, d, d]", ("d",)),
    ],
)
def test_tags_of_the_front_matter_become_topics(front: str, topics: tuple[str, ...]) -> None:
    assert note_of(f"---\n{front}\n---\ntext").topics == topics


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("#one and #two/three, #四 (#five)", ("one", "two/three", "四", "five")),
        ("# heading ##two a#b &#39; #1 \\#x /#y", ()),
        ("`#a` ``` #b ```\n~~~\n#c\n~~~\n#d", ("d",)),
        ("```\n#never closed", ()),
    ],
)
def test_tags_in_the_text_become_topics_outside_code(text: str, topics: tuple[str, ...]) -> None:
    assert note_of(text).topics == topics


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\na: 1\n---\nbody", "body"),
        ("---\na: 1\n...\nbody", "body"),
        ("---\r\na: 1\r\n---\r\nbody\r\nmore\r\n", "body\nmore"),
        ("\ufeff---\na: 1\n---\nbody", "body"),
        ("---\n---\nbody", "body"),
        ("---\na: 1\n---", ""),
        ("---\na: 1\nnever closed", "---\na: 1\nnever closed"),
        ("----\na: 1\n---\nb", "----\na: 1\n---\nb"),
        ("text\n---\na: 1\n---\n", "text\n---\na: 1\n---"),
    ],
)
def test_body_is_what_follows_the_front_matter(text: str, body: str) -> None:
    assert note_of(text).text == body


@pytest.mark.parametrize(
    "front",
    [
        "title: a: b",
        "title: a\n\ttab: x",
        "title: a {{date}}: x",
        "title: a\n- b",
        "title: a\nx: [",
        "title: a\nx: " + "[" * 1500,
    ],
)
def test_invalid_front_matter_is_read_line_by_line_with_a_notice(front: str) -> None:
    notice, note = items_of(f"---\n{front}\n---\nbody", name="note.md")
    assert isinstance(notice, Notice)
    assert isinstance(note, Document)
    assert note.text == "body"
    assert note.title == front.split("\n")[0].removeprefix("title: ")


@pytest.mark.parametrize("front", ["title: {{title}}\ntags: tea", 'title: "{{title}}"\ntags: tea'])
def test_place_that_a_template_left_open_says_nothing(front: str) -> None:
    note = note_of(f"---\n{front}\n---\n# Oolong\nbody")
    assert (note.title, note.topics) == ("Oolong", ("tea",))


def test_aliases_that_multiply_do_no_harm() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi")
    )
    assert note_of(f"---\n{bomb}---\nbody").meta == {"a": ["x", "x"]}


@pytest.mark.parametrize(
    ("front", "name", "at"),
    [
        ("created: 2026-03-01", "2025-01-01.md", 1772323200000),
        ("date: 2026-03-01 09:00:00", "x.md", 1772355600000),
        ("date: soon", "2026-03-01 trip.md", 1772323200000),
        ("", "20260301.md", 1772323200000),
        ("", "IMG_2026_03_01_2.md", 1772323200000),
        ("", "2026-13-45.md", 99),
        ("", "123420260301.md", 99),
        ("", "x.md", 99),
    ],
)
def test_time_is_from_front_matter_then_name_then_last_change(front: str, name: str, at: int) -> None:
    source = source_of(f"---\n{front}\n---\nbody", name=name, mtime_ms=99)
    (note,) = read(source, options=ReadOptions(), format_name="markdown")
    assert isinstance(note, Document)
    assert note.at == at
    assert note.meta.get("time_estimated", False) is (at == 99)


def test_note_keeps_its_id_when_its_text_changes() -> None:
    assert note_of("one").id == note_of("two").id != note_of("one", name="other.md").id
    assert note_of("---\nid: n7\n---\none").id == "n7"


def test_rest_of_the_front_matter_is_kept_beside_the_note() -> None:
    note = note_of("---\ntitle: t\naliases: [x, y]\ncolour: 007\nempty:\nnested: {a: 1}\n---\nbody")
    assert note.meta == {"aliases": ["x", "y"], "colour": "007"}


@given(st.text())
def test_any_text_is_a_note(text: str) -> None:
    (note,) = (
        item
        for item in items_of(f"# {text}".encode("utf-8", "replace"), format_name="markdown")
        if isinstance(item, Document)
    )
    assert note.text.startswith("#")
