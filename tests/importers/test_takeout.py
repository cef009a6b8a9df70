from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.importers.html_text import text_of_html
from memcli.importers.takeout import read_page_time
from memcli.times import to_iso

from .reading import items_of, messages_in, texts_in


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("Mar 1, 2026, 9:00:01\u202fAM UTC", "2026-03-01T09:00:01"),
        ("Mar 1, 2026, 12:00:01\u202fAM EST", "2026-03-01T05:00:01"),
        ("1 Mar 2026, 10:00:01 CET", "2026-03-01T09:00:01"),
        ("1 Mar 2026, 10:00:01 GMT+05:30", "2026-03-01T04:30:01"),
        ("01.03.2026, 10:00:01 MEZ", "2026-03-01T09:00:01"),
        ("2026年3月1日 UTC 18:00:01", "2026-03-01T18:00:01"),
        ("2026/03/01 18:00:01 JST", "2026-03-01T09:00:01"),
        ("Mar 1, 2026, 9:00:01 AM CST", "2026-03-01T01:00:01"),  # China or Chicago: the person's own zone
    ],
)
def test_time_of_a_page_is_read_in_its_zone(line: str, time: str) -> None:
    at = read_page_time(line, tz="Asia/Shanghai")
    assert at is not None
    assert to_iso(at).startswith(time)


@pytest.mark.parametrize(
    "line", ["", "Mar 1, 2026", "at 9:00:01 AM", "Feb 30, 2026, 9:00:01 AM UTC", "99:99:99"]
)
def test_line_that_is_no_time_is_none(line: str) -> None:
    assert read_page_time(line, tz=None) is None


@pytest.mark.parametrize(
    ("title", "texts"),
    [
        ("Prompted why?", ["why?"]),
        ("Prompted\u00a0why?", ["why?"]),
        ("Asked Gemini: why?", ["why?"]),
        ("Said why?", ["why?"]),
        ("Prompted Prompted twice", ["Prompted twice"]),
        ("Used Gemini Apps", []),
        ("Gave feedback: Bad response", []),
        ("Has enviado: ¿por qué?", ["Has enviado: ¿por qué?"]),
    ],
)
def test_prompt_is_what_follows_its_verb(title: str, texts: list[str]) -> None:
    record = {
        "header": "Gemini Apps",
        "title": title,
        "time": "2026-03-01T09:00:00Z",
        "products": ["Gemini Apps"],
    }
    assert texts_in(items_of(json.dumps([record]))) == texts


def test_repeated_record_is_skipped() -> None:
    record = {"header": "Bard", "title": "Prompted why?", "time": "2026-03-01T09:00:00Z"}
    assert len(messages_in(items_of(json.dumps([record, record])))) == 1


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p>\n<p>two<br>lines</p>", "one\n\ntwo\nlines"),
        ("<ul><li>a</li><li>b &amp; c</li></ul>", "- a\n- b & c"),
        ("x<pre>  if a:\n    b</pre>y", "x\n\n  if a:\n    b\n\ny"),
        ("<style>p{}</style><script>1</script>seen", "seen"),
        ("a <b>bold</b>\n  word", "a bold word"),
        ("5 &lt; 6 & 7", "5 < 6 & 7"),
        ("<p>open <i>tags", "open tags"),
    ],
)
def test_html_becomes_the_text_that_is_seen(html: str, text: str) -> None:
    assert text_of_html(html) == text


@given(st.text())
def test_any_html_becomes_text(html: str) -> None:
    assert isinstance(text_of_html(html), str)
