"""Every row of the table of formats: a valid history is read whole, a damaged one as far as it goes."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.absorb import Intake
from memcli.importers import FORMATS, detect
from memcli.memory import Memory, open_memory
from memcli.record_json import to_json
from memcli.types import Document, FileReport, Item, Record

from .reading import count_records, items_of, source_of, texts_in
from .test_app_damage import LINES, WHOLE, lines_of, role_of
from .test_container import zip_of
from .test_messengers import SHAPES, STREAMED, file_of
from .test_messengers import lines_of as messages_of
from .test_session_damage import KINDS
from .test_session_damage import lines_of as session_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

START = 1772355600
DEEP = b"[" * 10_000 + b"]" * 10_000


def in_lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def memcli(texts: list[str]) -> bytes:
    return in_lines([to_json(Record(f"aaaa{number:04}", text)) for number, text in enumerate(texts)])


def chatgpt(texts: list[str]) -> bytes:
    def chat(number: int, text: str) -> dict[str, Any]:
        message = {"author": {"role": "user"}, "create_time": START + number, "content": {"parts": [text]}}
        return {"id": f"c{number}", "mapping": {"u": {"message": message}}, "current_node": "u"}

    return json.dumps([chat(*each) for each in enumerate(texts)]).encode()


def claude_ai(texts: list[str]) -> bytes:
    def chat(number: int, text: str) -> dict[str, Any]:
        message = {"uuid": f"m{number}", "sender": "human", "content": [{"type": "text", "text": text}]}
        return {"uuid": f"c{number}", "name": "", "chat_messages": [message]}

    return json.dumps([chat(*each) for each in enumerate(texts)]).encode()


def openai(texts: list[str]) -> bytes:
    return in_lines([{"messages": [{"role": "user", "content": text}]} for text in texts])


def messages(texts: list[str]) -> bytes:
    return in_lines([{"role": role_of(number), "content": text} for number, text in enumerate(texts)])


def aider(texts: list[str]) -> bytes:
    said = [f"#### {text}\n" if number % 2 == 0 else f"\n{text}\n\n" for number, text in enumerate(texts)]
    return ("# aider chat started at 2026-03-01 09:00:00\n\n" + "".join(said)).encode()


def whatsapp(texts: list[str]) -> bytes:
    stamped = enumerate(texts)
    return "".join(f"[13/03/2026, 09:01:{number:02}] Ana: {text}\n" for number, text in stamped).encode()


def activity(texts: list[str]) -> bytes:
    told = {"header": "Gemini Apps", "time": "2026-03-01T09:00:00Z", "products": ["Gemini Apps"]}
    return json.dumps([told | {"title": f"Prompted {text}"} for text in texts]).encode()


def llm(texts: list[str]) -> bytes:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE conversations (id, name, model)")
    database.execute("CREATE TABLE responses (id, model, prompt, response, conversation_id, datetime_utc)")
    for number, text in enumerate(texts):
        row = (f"r{number}", "m", text, "", "c", f"2026-03-01T09:00:{number:02}")
        database.execute("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?)", row)
    database.commit()
    data = database.serialize()
    database.close()
    return data


def csv(texts: list[str]) -> bytes:
    quoted = [text.replace('"', '""') for text in texts]
    return ("title,note\n" + "".join(f'"{number}","{text}"\n' for number, text in enumerate(quoted))).encode()


def markdown(texts: list[str]) -> bytes:
    return ("# Notes\n\n" + "".join(f"- {text}\n" for text in texts)).encode()


def text(texts: list[str]) -> bytes:
    return "\n\n".join(texts).encode()


def joined(lines: Callable[[list[str]], list[bytes]]) -> Callable[[list[str]], bytes]:
    return lambda texts: b"".join(lines(texts))


def shaped(name: str) -> Callable[[list[str]], bytes]:
    return lambda texts: file_of(name, messages_of(name, [("Ana", each) for each in texts])).encode()


# A valid file of each format that tells these texts in their order.
HISTORIES: Mapping[str, Callable[[list[str]], bytes]] = {
    **{kind.format_name: kind.file for kind in WHOLE.values()},
    **{name: joined(lambda texts, name=name: lines_of(name, texts)) for name in LINES},  # type: ignore[misc]
    **{kind.format_name: joined(lambda texts, kind=kind: session_of(kind, texts)) for kind in KINDS.values()},  # type: ignore[misc]
    **{name: shaped(name) for name in SHAPES},
    "memcli": memcli,
    "chatgpt": chatgpt,
    "claude-ai": claude_ai,
    "openai-jsonl": openai,
    "message-jsonl": messages,
    "aider": aider,
    "whatsapp": whatsapp,
    "gemini-activity": activity,
    "llm": llm,
    "csv": csv,
    "markdown": markdown,
    "text": text,
}
IN_RECORDS = (
    *(name for name in LINES if name != "langchain"),
    *(kind.format_name for kind in KINDS.values()),
    *STREAMED,
    *("memcli", "chatgpt", "claude-ai", "openai-jsonl", "message-jsonl", "gemini-activity", "whatsapp"),
)
"""Formats in which each of the texts is a record of its own: damage after it does not touch it."""

every_format = pytest.mark.parametrize("name", [form.name for form in FORMATS])
words = st.text(
    st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters='#<[(/*`>&"\\'), max_size=9
)
histories = st.lists(words, min_size=2, max_size=5).map(
    lambda listed: [f"said {number} {word.strip()}." for number, word in enumerate(listed)]
)
few = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def told_in(items: list[Item], texts: list[str]) -> list[str]:
    """Which of the texts are in what was read."""
    found = texts_in(items) + [item.text for item in items if isinstance(item, (Document, Record))]
    return [each for each in texts if any(each.rstrip(".") in one for one in found)]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return open_memory(data_dir=tmp_path / "data", embedder="none")


def planned(memory: Memory, tmp_path: Path, name: str | None, data: bytes) -> FileReport | None:
    """What an import of the file as this format would do; its sums are checked on the way."""
    path = tmp_path / "history"
    path.write_bytes(data)
    found = memory.absorb([str(path)], intake=Intake(dry_run=True, format_name=name)).files
    return found[0] if found else None


@every_format
@few
@given(texts=histories)
def test_valid_history_is_told_and_all_of_it_read(name: str, texts: list[str]) -> None:
    data = HISTORIES[name](texts)
    assert detect(source_of(data, name="history")).name == name
    items = items_of(data, name="history")
    assert told_in(items, texts) == texts
    assert count_records(items) >= (1 if name in ("markdown", "text") else len(texts))


PACKED: Mapping[str, Callable[[str, bytes], tuple[str, bytes]]] = {
    "gzip": lambda name, data: (f"{name}.gz", gzip.compress(data)),
    "zstd": lambda name, data: (f"{name}.zst", zstd.compress(data)),
    "zip": lambda name, data: (f"{name}.zip", zip_of({name: data})),
    "zip in zip": lambda name, data: (f"{name}-2.zip", zip_of({"in.zip": zip_of({name: data})})),
}


@pytest.mark.parametrize("packing", ["none", "gzip", "zip in zip"])
def test_twice_the_same_file_of_any_format_adds_nothing_however_it_is_packed(
    memory: Memory, tmp_path: Path, packing: str
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "again").mkdir()
    for name, history in HISTORIES.items():
        data = history([f"said in {name}, {number}." for number in range(3)])
        (tmp_path / "plain" / name).write_bytes(data)
        again, packed = (name, data) if packing == "none" else PACKED[packing](name, data)
        (tmp_path / "again" / again).write_bytes(packed)
    first = memory.absorb([str(tmp_path / "plain")], intake=Intake()).files
    assert {report.format for report in first if report.added} == set(HISTORIES)
    for path in ("plain", "again"):
        # Another wish, so that what is remembered of the files is no reason not to read them.
        wish = Intake(allow_sensitive=True)
        for report in memory.absorb([str(tmp_path / path)], intake=wish).files:
            assert (report.added, report.error) == (0, None), report.path


SPOILS: Mapping[str, Callable[[bytes, bytes, bytes, bytes], bytes]] = {
    "cut": lambda before, between, after, junk: before,
    "put": lambda before, between, after, junk: before + junk + after,
    "repeated": lambda before, between, after, junk: before + between + between + after,
    "swapped": lambda before, between, after, junk: between + before + after,
    "lost": lambda before, between, after, junk: before + after,
    "glued": lambda before, between, after, junk: before + (between + after).replace(b"\n", b""),
    "nested": lambda before, between, after, junk: before + DEEP + after,
    "flipped": lambda before, between, after, junk: before + flipped(between, junk) + after,
    "of another type": lambda before, between, after, junk: before + retyped(between, junk) + after,
}
"""How a file of three parts is damaged."""
VALUE = re.compile(rb'"[^"]*"|\d+|null')
JUNK = (b"null", b"-1e999", b'"\\ud800"', b"{}", b"[[]]", b"\0", b'"', b"@")


def flipped(data: bytes, bits: bytes) -> bytes:
    # Only such as leave ASCII what it is: others are damage to the encoding, which is asked for.
    return bytes([data[0] ^ bits[0] & 0x7F]) + data[1:] if data else data


def retyped(data: bytes, junk: bytes) -> bytes:
    """The first value in it is another."""
    return VALUE.sub(lambda _: junk, data, count=1)


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    spoil, junk = SPOILS[draw(st.sampled_from(sorted(SPOILS)))], draw(st.sampled_from(JUNK))
    first, second = sorted(draw(st.tuples(*[st.floats(0, 1, exclude_max=True)] * 2)))

    def spoilt(data: bytes) -> bytes:
        at, end = int(first * len(data)), int(second * len(data))
        return spoil(data[:at], data[at:end], data[end:], junk)

    return spoilt


@every_format
@few
@given(texts=histories, spoils=st.lists(damages(), min_size=1, max_size=3))
def test_damaged_history_is_read_or_refused_and_its_sums_add_up(
    memory: Memory, tmp_path: Path, name: str, texts: list[str], spoils: list[Callable[[bytes], bytes]]
) -> None:
    data = HISTORIES[name](texts)
    for spoil in spoils:
        data = spoil(data)
    report = planned(memory, tmp_path, name, data)
    if report is not None and report.error is None:
        assert report.added == sum(report.messages.values()) + report.notes


@every_format
@few
@given(texts=histories, packing=st.sampled_from(sorted(PACKED)), spoil=damages())
def test_damaged_archive_or_stream_is_read_or_refused_and_its_sums_add_up(
    memory: Memory, tmp_path: Path, name: str, texts: list[str], packing: str, spoil: Callable[[bytes], bytes]
) -> None:
    _, packed = PACKED[packing]("history", HISTORIES[name](texts))
    report = planned(memory, tmp_path, None, spoil(packed))
    if report is not None and report.error is None:
        assert report.added == sum(report.messages.values()) + report.notes


PARENT = re.compile(rb'("(?:parent|parentId|parentUuid|parent_\w+|parentMessageId)": )("[^"]*"|null)')
ID = re.compile(rb'"(?:id|uuid|_id|messageId)": ("[^"]*")')
TREES = sorted(name for name, history in HISTORIES.items() if PARENT.search(history(["said", "said"])))


@pytest.mark.parametrize("name", TREES)
@few
@given(texts=histories, data=st.data())
def test_whoever_is_whose_parent_all_is_told_once(name: str, texts: list[str], data: st.DataObject) -> None:
    whole = HISTORIES[name](texts)
    parents = st.sampled_from([b"null", b'"lost"', *ID.findall(whole)])
    tangled = PARENT.sub(lambda found: found[1] + data.draw(parents), whole)
    items = items_of(tangled, name="history", format_name=name, all_branches=True)
    assert sorted(told_in(items, texts)) == sorted(texts)
    assert len(texts_in(items)) == len(texts)


@pytest.mark.parametrize("name", IN_RECORDS)
@few
@given(texts=histories, spoils=damages())
def test_what_stands_before_the_damage_is_told(
    name: str, texts: list[str], spoils: Callable[[bytes], bytes]
) -> None:
    data = HISTORIES[name](texts)
    last = data.rindex(texts[-1][1:].encode())
    start = max(data.rfind(b"\n", 0, last), data.rfind(b"{", 0, data.rfind(b"{", 0, last)), 0)
    damaged = data[:start] + spoils(data[start:])
    told = told_in(items_of(damaged, name="history", format_name=name), texts)
    assert set(texts[:-2]) <= set(told)
