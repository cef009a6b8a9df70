from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers import FORMATS, detect, format_named

from .reading import items_of, source_of, texts_in

MESSAGE = {"role": "user", "content": "hello"}
LONG = "word " * 300_000


def name_of(data: bytes | str, *, name: str = "x") -> str:
    return detect(source_of(data, name=name)).name


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("# Title\n\ntext", "markdown"),
        ("---\ntitle: t\n---\ntext", "markdown"),
        ("see [[other note]]", "markdown"),
        ("see [this](https://example.org)", "markdown"),
        ("- one\n- two", "markdown"),
        ("[ ] task, not JSON", "text"),
        ("[1] a footnote\n[2] another", "text"),
        ("[[wikilink]] first", "markdown"),
        ("{{template}} text", "text"),
        ("just words, and more words", "text"),
        ("Dear Ana, how are you?\nI am well, thanks, and you?\nBo", "text"),
        ("role,content\nuser,hi\n", "csv"),
        ("Title;Body\nTea;Green\n", "csv"),
        ("weight,height\n1,2\n", "text"),
        ("42\n43\n", "text"),
        (json.dumps(MESSAGE) + "\n", "message-jsonl"),
        ("log line\n" + json.dumps(MESSAGE), "message-jsonl"),
        (json.dumps([MESSAGE, MESSAGE]), "message-jsonl"),
        (json.dumps({"messages": [MESSAGE]}), "openai-jsonl"),
        (json.dumps({"title": LONG, "messages": [MESSAGE]}), "openai-jsonl"),
        (json.dumps({"messages": [MESSAGE]}, indent=2), "openai-jsonl"),
        (json.dumps({"messages": [{**MESSAGE, "content": LONG}]}, indent=2), "openai-jsonl"),
        (json.dumps([{"role": "user", "content": LONG}]), "message-jsonl"),
    ],
)
def test_format_is_told_by_content(data: str, name: str) -> None:
    assert name_of(data, name="conversations.json") == name
    assert name_of(data, name="notes.md") == name


def test_export_with_a_long_first_memory_is_known() -> None:
    memory = {"id": "a" * 16, "text": LONG, "kind": "document", "priority": "P2", "created_at": None}
    assert name_of(json.dumps(memory) + "\n") == "memcli"


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ({"kind": "place", "label": "Mira", "seen": ["cello"]}, "seen"),
        ({"name": "chat", "messages": [{"from": "Ana", "text": "hi"}]}, "messages"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("is_array", [True, False])
def test_json_of_no_known_shape_is_refused_with_its_keys(
    value: dict[str, object], key: str, indent: int | None, is_array: bool
) -> None:
    data = json.dumps([value] if is_array else value, indent=indent)
    with pytest.raises(UsageError, match=f"JSON of no known shape: its keys are .*{key}"):
        name_of(data)


@pytest.mark.parametrize("data", ['["tea", "rain"]', "[1, 2]\n", '[["tea"], ["rain"]]'])
def test_list_of_whatever_is_not_taken_for_text(data: str) -> None:
    with pytest.raises(UsageError, match="is JSON of no known shape"):
        name_of(data)


@pytest.mark.parametrize("data", ["{'role': 'user'}\n", '{"role": oops}\n', '[{"a"'])
def test_json_of_which_nothing_can_be_read_is_not_taken_for_text(data: str) -> None:
    with pytest.raises(UsageError, match="no record of it can be read"):
        name_of(data)


@pytest.mark.parametrize(
    "data", [b"\x7fELF\x02\x01\0\0", b"text\0more", "é ist ein Buchstabe".encode("utf-16-be")]
)
def test_binary_file_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="is a binary file, not text"):
        name_of(data)


@pytest.mark.parametrize(
    "data", [b"", b"\n \r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"[]", b" {}\n", b"\0" * 5000]
)
@pytest.mark.parametrize("format_name", [None, "message-jsonl", "text"])
def test_empty_file_gives_a_notice_and_nothing_else(data: bytes, format_name: str | None) -> None:
    (notice,) = items_of(data, format_name=format_name)
    assert getattr(notice, "text", "") == "the file is empty"


def test_format_can_be_forced() -> None:
    assert texts_in(items_of('{"type":"note","text":"kept"}\n', format_name="message-jsonl")) == ["kept"]


def test_unknown_format_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError, match="there is no format 'chatgbt'") as error:
        format_named("chatgbt")
    assert all(form.name in error.value.hint for form in FORMATS)


@given(st.text())
def test_any_text_has_a_format_or_is_refused_with_a_reason(text: str) -> None:
    with suppress(UsageError):
        assert detect(source_of(text.encode("utf-8", "replace"))) in FORMATS


def test_importing_the_formats_loads_nothing_heavy() -> None:
    heavy = ["yaml", "charset_normalizer", "sqlite3", "asyncio", "lancedb", "numpy"]
    code = f"import sys, memcli.importers; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
