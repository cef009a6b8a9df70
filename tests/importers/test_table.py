from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.types import BadLine, Document

from .reading import count_records, items_of, texts_in

cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1)
said = cell.map(lambda text: f"said {text}")


def table(rows: list[list[str]], *, delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@given(texts=st.lists(said, min_size=1, unique=True))
def test_what_is_written_as_a_table_is_read_from_it(delimiter: str, texts: list[str]) -> None:
    rows = [["id", "role", "content"], *([str(n), "user", text] for n, text in enumerate(texts))]
    assert texts_in(items_of(table(rows, delimiter=delimiter), format_name="csv")) == texts


def test_row_with_a_cell_too_many_does_not_make_a_text_of_a_table() -> None:
    items = items_of("title,body\nA,b\nB,c,d\nC,x\nD,y\n", name="x.csv")
    assert [item.number for item in items if isinstance(item, BadLine)] == [3]
    assert [item.title for item in items if isinstance(item, Document)] == ["A", "C", "D"]


def test_large_field_is_read() -> None:
    text = "x" * 300_000
    assert texts_in(items_of(table([["role", "content"], ["user", text]]))) == [text]


def test_formula_is_text() -> None:
    assert texts_in(items_of(table([["role", "content"], ["user", "=1+1"]]))) == ["=1+1"]


def test_row_that_cannot_be_read_costs_only_itself() -> None:
    items = items_of('role,content\nuser,one\nuser,"two"x\nuser,three\n')
    assert texts_in(items) == ["one", "three"]
    assert [item.number for item in items if isinstance(item, BadLine)] == [3]


def test_line_numbers_count_lines_inside_fields() -> None:
    items = items_of('role,content\nuser,"one\ntwo"\nuser,a,b\n', format_name="csv")
    assert [item.number for item in items if isinstance(item, BadLine)] == [4]


def test_quote_that_is_never_closed_is_reported() -> None:
    items = items_of('role,content\nuser,one\nuser,"two\nuser,three\n', format_name="csv")
    assert texts_in(items) == ["one"]
    assert [item.number for item in items if isinstance(item, BadLine)] == [3]


def test_rows_with_the_same_id_are_told_apart() -> None:
    first, second = items_of("id,note\n1,one\n1,two\n", name="t.csv")
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert first.id == "/there/t.csv#1" != second.id


def test_every_row_ends_up_somewhere() -> None:
    data = "id,note\n1,one\n1,one\n,\n2,two,three\n3,\n\n"
    assert count_records(items_of(data, format_name="csv")) == 5


def test_line_in_another_encoding_is_an_error_of_the_file() -> None:
    data = b"role,content\n" + b"user,one\n" * 10_000 + "user,é\n".encode("latin-1")
    with pytest.raises(UsageError, match=r"line 10002 of .* is not utf-8"):
        items_of(data)


def test_header_that_cannot_be_read_is_an_error_of_the_file() -> None:
    with pytest.raises(UsageError, match=r"the header of .* cannot be read"):
        items_of('"role"x,content\nuser,one\n', format_name="csv")
