"""The format "csv": a table with a header; its rows are messages where they have an author and a text."""

from __future__ import annotations

import csv
import hashlib
import io
import sys
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from memcli.errors import UsageError
from memcli.importers.encoding import Encoding, byte_lines, encoding_of
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import (
    ID_KEYS,
    ROLE_KEYS,
    SESSION_KEYS,
    TEXT_KEYS,
    TIME_KEYS,
    Said,
    in_conversations,
    message_of,
    text_at,
    time_of,
    with_time_notice,
    without_repeats,
)
from memcli.importers.seen import Seen
from memcli.importers.source import Source
from memcli.text import clean
from memcli.types import BadLine, Document, Item, Skip

NAME = "csv"

Row: TypeAlias = dict[str, str]
"""The cells that are not empty, by their column."""

_MIN_EVEN = 2 / 3
_DELIMITERS = ",;\t"
_AUTHOR_COLUMNS = {*ROLE_KEYS} - {"type"}
_TEXT_COLUMNS = {*TEXT_KEYS}
_NOTE_COLUMNS = {"title", "name", "note", "notes", "body", "description", "question", "answer", "tags"}
_COLUMNS = {*ROLE_KEYS, *TEXT_KEYS, *TIME_KEYS, *SESSION_KEYS, *ID_KEYS, *_NOTE_COLUMNS}
# How programs that speak other languages call them.
_ELSEWHERE = {
    "author": "autor autora absender verfasser remitente auteur expéditeur mittente 作者 发送者 发送人",
    "role": "rolle rol rôle ruolo 角色 役割 역할",
    "text": "nachricht inhalt texto mensaje contenido texte contenu testo 内容 內容 消息 訊息 本文 내용",
    "time": "datum zeit zeitstempel fecha hora heure data ora 日期 时间 時間 日時 날짜 시간",
    "title": "titel título titre titolo 标题 標題 タイトル 제목",
    "note": "notiz notizen nota notas 笔记 備註 备注 メモ 메모",
}
_COLUMN_OF = {column.lower(): column for column in _COLUMNS}
_TRANSLATED = {word: column for column, words in _ELSEWHERE.items() for word in words.split()}


def sniff(head: Head) -> bool:
    """Rows as long as a header in which a column has a usual name."""
    if head.kind != "text":
        return False
    rows = [row for _, row in _numbered(io.StringIO(head.text), _delimiter(head.text))]
    if len(rows) > 2:
        rows.pop()  # the head may have cut it off
    header = [_translated(_column(cell)) for cell in rows[0]] if rows else []
    lengths = [len(row) for row in rows[1:] if isinstance(row, list)]
    # A damaged row does not make a text of a table.
    is_even = bool(lengths) and lengths.count(len(header)) >= _MIN_EVEN * len(lengths)
    return is_even and len(header) > 1 and "" not in header and not _COLUMNS.isdisjoint(header)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Messages, in conversations; or each row as a document of its `column: value` lines."""
    encoding, header, rows = opened(source, options)
    yield from encoding.notices()
    columns = {_translated(column) for column in header}
    if _AUTHOR_COLUMNS & columns and _TEXT_COLUMNS & columns:
        messages = _messages(rows, options)
        yield from in_conversations(with_time_notice(without_repeats(messages)), source=NAME)
    else:
        yield from _documents(rows, source, options)


def opened(source: Source, options: ReadOptions) -> tuple[Encoding, list[str], Iterator[Row | BadLine]]:
    """The encoding of a table, its columns in the spelling of message keys, and its rows.

    Raises UsageError when the header cannot be read.
    """
    encoding, top, rows = cells_of(source, options)
    header = [_column(cell) for cell in top]
    found = (row if isinstance(row, BadLine) else _row(header, row[1]) for row in rows)
    return encoding, header, found


def cells_of(
    source: Source, options: ReadOptions
) -> tuple[Encoding, list[str], Iterator[tuple[int, list[str]] | BadLine]]:
    """The encoding of a table, its header, and its rows, each with its first line; cells are exact.

    A row may have fewer cells than the header. Raises UsageError when the header cannot be read.
    """
    encoding = encoding_of(source.head(), asked=options.encoding, path=source.path)
    first = source.head()[encoding.mark_bytes :].decode(encoding.name, "replace")
    rows = _numbered(_lines(source, encoding), _delimiter(first))
    _, header = next(rows, (1, "it is empty"))
    if isinstance(header, str):
        raise UsageError(f"the header of {source.path} cannot be read: {header}")
    return encoding, header, _checked(rows, len(header))


def header_in(text: str) -> list[str]:
    """The cells of the first row of a file that begins so; none when it is not one of a table."""
    _, header = next(_numbered(io.StringIO(text, newline="\n"), _delimiter(text)), (1, ""))
    return [] if isinstance(header, str) else header


def _messages(rows: Iterator[Row | BadLine], options: ReadOptions) -> Iterator[Said | Item]:
    for row in rows:
        if isinstance(row, BadLine):
            yield row
            continue
        told = _in_english(row)
        message = message_of(told, options)
        yield message if isinstance(message, Skip) else (text_at(told, SESSION_KEYS), message)


def _documents(rows: Iterator[Row | BadLine], source: Source, options: ReadOptions) -> Iterator[Item]:
    seen, ids = Seen(), Seen()
    for row in rows:
        if isinstance(row, BadLine):
            yield row
            continue
        text = "\n".join(f"{column}: {value}" for column, value in row.items())
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        if not text or seen.has(digest):
            yield Skip("duplicate" if text else "empty")
            continue
        row_id = text_at(row, ID_KEYS) or digest
        row_id = digest if ids.has(row_id) else row_id
        yield Document(
            f"{source.key or NAME}#{row_id}",
            NAME,
            text,
            title=text_at(_in_english(row), ("title", "name")),
            at=time_of(_in_english(row), options),
            echo=text,
        )


def _delimiter(text: str) -> str:
    """The delimiter of which the first line has most."""
    return max(_DELIMITERS, key=text.partition("\n")[0].count)


def _lines(source: Source, encoding: Encoding) -> Iterator[str]:
    codec = encoding.line_codec
    for number, line in enumerate(byte_lines(source, encoding), start=1):
        try:
            yield clean(line.decode(codec))
        except UnicodeDecodeError as error:
            raise UsageError(
                f"line {number} of {source.path} is not {codec}", "name its encoding: --encoding"
            ) from error


def _numbered(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """The rows that are not blank, each with its first line; of one that cannot be read, why."""
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, str(error)
            continue
        if row:
            yield number, row


def _checked(
    rows: Iterator[tuple[int, list[str] | str]], width: int
) -> Iterator[tuple[int, list[str]] | BadLine]:
    for number, row in rows:
        if isinstance(row, str):
            yield BadLine(number, row)
        elif len(row) > width:
            yield BadLine(number, f"{len(row)} cells below a header of {width}")
        else:
            yield number, row


def _row(header: list[str], cells: list[str]) -> Row:
    filled = zip(header, cells, strict=False)
    return {column: cell.replace("\r\n", "\n") for column, cell in filled if cell}


def _translated(column: str) -> str:
    return _TRANSLATED.get(column.lower(), column)


def _in_english(row: Row) -> Row:
    """The row with the usual names of its columns."""
    return {_translated(column): value for column, value in row.items()}


def _column(cell: str) -> str:
    """The column's name, in the spelling under which messages know it."""
    name = cell.strip()
    return _COLUMN_OF.get(name.lower(), name)
