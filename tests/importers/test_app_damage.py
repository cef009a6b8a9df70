"""A damaged export of an app, a memory tool or training data is read as far as it goes, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.types import Document

from .reading import count_records, items_of, texts_in

NOON = 1772355600

words = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="#<[("), max_size=12)
said = st.lists(words, min_size=2, max_size=6).map(
    lambda listed: [f"said {number} {text}." for number, text in enumerate(listed)]
)
junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
few = settings(max_examples=20, deadline=None)


def role_of(number: int) -> str:
    return ("user", "assistant")[number % 2]


def message(number: int, text: str) -> dict[str, Any]:
    return {"id": f"m{number}", "role": role_of(number), "content": text, "timestamp": NOON + number}


def mcp_memory(number: int, text: str) -> Any:
    return {"type": "entity", "name": f"Olga {number}", "entityType": "person", "observations": [text]}


def mem0(number: int, text: str) -> Any:
    return {"id": f"m{number}", "memory": text, "created_at": "2026-03-01T09:00:00Z", "categories": ["x"]}


def openmemory(number: int, text: str) -> Any:
    return {"id": f"m{number}", "content": text, "state": "active", "created_at": NOON, "categories": ["x"]}


def langgraph_store(number: int, text: str) -> Any:
    return {"namespace": ["a", "b"], "key": f"k{number}", "value": {"text": text}, "created_at": NOON}


def sharegpt(number: int, text: str) -> Any:
    return {"conversations": [{"from": "human", "value": text}], "id": f"g{number}"}


def alpaca(number: int, text: str) -> Any:
    return {"instruction": text, "input": "", "output": f"answer {number}"}


def text_rows(number: int, text: str) -> Any:
    return {"text": text, "id": f"t{number}"}


def langchain(number: int, text: str) -> Any:
    data = {"content": text, "id": f"m{number}", "additional_kwargs": {}, "response_metadata": {"model": "m"}}
    return {"type": ("human", "ai")[number % 2], "data": data}


LINES: dict[str, Callable[[int, str], Any]] = {
    "mcp-memory": mcp_memory,
    "mem0": mem0,
    "openmemory": openmemory,
    "langgraph-store": langgraph_store,
    "sharegpt": sharegpt,
    "alpaca": alpaca,
    "text-jsonl": text_rows,
    "langchain": langchain,
}


def open_webui(texts: list[str]) -> Any:
    messages = {
        f"m{number}": {**message(number, text), "parentId": f"m{number - 1}" if number else None}
        for number, text in enumerate(texts)
    }
    history = {"messages": messages, "currentId": f"m{len(texts) - 1}"}
    return [{"id": "c", "user_id": "u", "title": "t", "chat": {"history": history}, "created_at": NOON}]


def lm_studio(texts: list[str]) -> Any:
    messages = []
    for number, text in enumerate(texts):
        content = [{"type": "text", "text": text}]
        told = (
            {"steps": [{"type": "contentBlock", "content": content}]} if number % 2 else {"content": content}
        )
        messages.append({"versions": [{"role": role_of(number), **told}], "currentlySelected": 0})
    return {"name": "t", "createdAt": NOON * 1000, "systemPrompt": "", "messages": messages}


def cherry_studio(texts: list[str]) -> Any:
    messages = [
        {"id": f"m{number}", "role": role_of(number), "createdAt": NOON, "blocks": [f"b{number}"]}
        for number in range(len(texts))
    ]
    blocks = [
        {"id": f"b{number}", "messageId": f"m{number}", "type": "main_text", "content": text}
        for number, text in enumerate(texts)
    ]
    named = json.dumps({"assistants": [{"topics": [{"id": "t", "name": "Herons"}]}]})
    storage = {"persist:cherry-studio": json.dumps({"assistants": named})}
    held = {"topics": [{"id": "t", "messages": messages}], "message_blocks": blocks}
    return {"time": 1, "version": 5, "localStorage": storage, "indexedDB": held}


def lobechat(texts: list[str]) -> Any:
    messages = [message(number, text) | {"topicId": "t"} for number, text in enumerate(texts)]
    return {"data": {"messages": messages, "topics": [{"id": "t", "title": "x"}]}, "schemaHash": "0f"}


def chatbox(texts: list[str]) -> Any:
    messages = [
        message(number, "") | {"contentParts": [{"type": "text", "text": text}]}
        for number, text in enumerate(texts)
    ]
    return {"__exported_items": [], "session:s": {"id": "s", "name": "t", "messages": messages}}


def claude_mem(texts: list[str]) -> Any:
    observations = [
        {"id": number, "memory_session_id": "s", "narrative": text, "facts": "[]", "created_at_epoch": NOON}
        for number, text in enumerate(texts)
    ]
    return {"observations": observations, "sessions": [], "summaries": [], "prompts": []}


def graph(texts: list[str]) -> Any:
    return {"entities": [mcp_memory(number, text) for number, text in enumerate(texts)], "relations": []}


def page(texts: list[str]) -> Any:
    return {"count": 1, "results": [mem0(number, text) for number, text in enumerate(texts)]}


def aichat(texts: list[str]) -> str:
    listed = [
        f"- role: {role_of(number)}\n  content: {json.dumps(text)}\n" for number, text in enumerate(texts)
    ]
    return "model: m\nmessages:\n" + "".join(listed)


def aichat_log(texts: list[str]) -> str:
    return "".join(
        f"# CHAT: x [2026-03-01T09:00:{number:02}Z]\n{text}\n--------\n{text} too\n--------\n\n"
        for number, text in enumerate(texts)
    )


def basic_memory(texts: list[str]) -> str:
    listed = [f"- [fact] {text} #tag (here)\n- knows [[{number}]]\n" for number, text in enumerate(texts)]
    return "---\ntitle: t\ntype: note\npermalink: n/t\n---\n# t\n" + "".join(listed)


def mem0_blocks(texts: list[str]) -> str:
    return "".join(
        f"---\nid: b{number}\ncreated_at: 2026-03-01\n---\n{text}\n\n" for number, text in enumerate(texts)
    )


@dataclass(frozen=True)
class Kind:
    """A format whose file is one whole, and how many records stand in it for each text."""

    format_name: str
    build: Callable[[list[str]], Any]
    per_text: int = 1

    def file(self, texts: list[str]) -> bytes:
        """The file that tells the texts."""
        built = self.build(texts)
        return (built if isinstance(built, str) else json.dumps(built)).encode()


WHOLE = {
    "open-webui": Kind("open-webui", open_webui),
    "lm-studio": Kind("lm-studio", lm_studio),
    "cherry-studio": Kind("cherry-studio", cherry_studio),
    "lobechat": Kind("lobechat", lobechat),
    "chatbox": Kind("chatbox", chatbox),
    "claude-mem": Kind("claude-mem", claude_mem),
    "mcp-graph": Kind("mcp-memory", graph),
    "mem0-page": Kind("mem0", page),
    "mem0-blocks": Kind("mem0", mem0_blocks),
    "basic-memory": Kind("basic-memory", basic_memory, 2),
    "aichat": Kind("aichat", aichat),
    "aichat-log": Kind("aichat", aichat_log, 2),
}

every_line = pytest.mark.parametrize("name", LINES)
every_whole = pytest.mark.parametrize("kind", WHOLE.values(), ids=WHOLE)


def lines_of(name: str, texts: list[str]) -> list[bytes]:
    return [json.dumps(LINES[name](number, text)).encode() + b"\n" for number, text in enumerate(texts)]


def told_in(items: list[Any], texts: list[str]) -> list[str]:
    """Which of the texts are in what was read."""
    found = [*texts_in(items), *(item.text for item in items if isinstance(item, Document))]
    return [text for text in texts if any(text.rstrip(".") in one for one in found)]


def read(format_name: str, data: bytes) -> list[Any]:
    return items_of(data, format_name=format_name)


@every_line
@few
@given(texts=said)
def test_lines_are_known_and_all_accounted_for(name: str, texts: list[str]) -> None:
    lines = lines_of(name, texts)
    items = items_of(b"".join(lines))
    assert told_in(items, texts) == texts
    assert count_records(items) == len(lines) * (2 if name == "alpaca" else 1)
    assert count_records(read(name, b"".join(lines))) == count_records(items)


@every_line
@few
@given(texts=said, data=st.data())
def test_cut_or_flipped_lines_cost_at_most_themselves(
    name: str, texts: list[str], data: st.DataObject
) -> None:
    damaged = bytearray(b"".join(lines_of(name, texts)))
    where = data.draw(st.integers(0, len(damaged) - 1))
    touched = bytes(damaged[:where]).count(b"\n")
    assert told_in(read(name, bytes(damaged[:where])), texts)[:touched] == texts[:touched]
    damaged[where] ^= 1 << data.draw(st.integers(0, 7))
    spared = {text for number, text in enumerate(texts) if number not in (touched, touched + 1)}
    try:
        told = set(told_in(read(name, bytes(damaged)), texts))
    except UsageError:
        # A file without one whole line left may be refused: its encoding cannot be told.
        told = set()
    assert spared <= told


@every_line
@few
@given(texts=said, data=st.data())
def test_glued_repeated_and_shuffled_lines_are_all_read(
    name: str, texts: list[str], data: st.DataObject
) -> None:
    lines = data.draw(st.permutations(lines_of(name, texts)))
    lines.append(data.draw(st.sampled_from(lines)))
    glued = data.draw(st.integers(0, len(lines) - 2))
    lines[glued] = lines[glued].rstrip()
    assert told_in(read(name, b"".join(lines)), texts) == texts


@every_line
@few
@given(texts=said, value=junk, data=st.data())
def test_wrong_type_in_a_line_costs_at_most_that_line(
    name: str, texts: list[str], value: object, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(texts) - 1))
    record = LINES[name](number, texts[number])
    put_somewhere(record, value, data)
    lines = lines_of(name, texts)
    lines[number] = json.dumps(record).encode() + b"\n"
    items = read(name, b"".join(lines))
    assert set(texts) - {texts[number]} <= set(told_in(items, texts))
    assert count_records(items) >= len(lines)


@every_line
def test_line_nested_ten_thousand_deep_is_bad_alone(name: str) -> None:
    lines = lines_of(name, ["said one.", "said two."])
    deep = b'{"type":"entity","value":' + b"[" * 10_000 + b"]" * 10_000 + b"}\n"
    items = read(name, lines[0] + deep + lines[1])
    assert told_in(items, ["said one.", "said two."]) == ["said one.", "said two."]


@every_whole
@few
@given(texts=said)
def test_whole_file_is_known_and_all_accounted_for(kind: Kind, texts: list[str]) -> None:
    items = items_of(kind.file(texts), name="export")
    assert told_in(items, texts) == texts
    assert count_records(items) == kind.per_text * len(texts)
    assert items == items_of(kind.file(texts), name="export", format_name=kind.format_name)


@every_whole
@few
@given(texts=said, data=st.data())
def test_cut_or_flipped_file_is_read_or_refused(kind: Kind, texts: list[str], data: st.DataObject) -> None:
    damaged = bytearray(kind.file(texts))
    where = data.draw(st.integers(0, len(damaged) - 1))
    with suppress(UsageError):
        read(kind.format_name, bytes(damaged[:where]))
    damaged[where] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(UsageError):
        read(kind.format_name, bytes(damaged))


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for name, kind in WHOLE.items()
        if name not in ("mem0-blocks", "basic-memory", "aichat", "aichat-log")
    ],
)
@few
@given(texts=said, value=junk, data=st.data())
def test_wrong_type_anywhere_costs_nothing_beside_it(
    kind: Kind, texts: list[str], value: object, data: st.DataObject
) -> None:
    built = kind.build(texts)
    put_somewhere(built, value, data)
    read(kind.format_name, json.dumps(built).encode())


@every_whole
def test_file_nested_ten_thousand_deep_is_refused_or_bad(kind: Kind) -> None:
    deep = b"[" * 10_000 + b"]" * 10_000
    whole = kind.file(["said one.", "said two."])
    with suppress(UsageError):
        read(kind.format_name, whole.replace(b"said one.", b'"' + deep + b'"', 1))
    with suppress(UsageError):
        read(kind.format_name, whole.replace(b'"said one."', deep, 1))


@few
@given(texts=said, data=st.data())
def test_circle_of_parents_is_read_once_round(texts: list[str], data: st.DataObject) -> None:
    (chat,) = open_webui(texts)
    messages = chat["chat"]["history"]["messages"]
    messages["m0"]["parentId"] = data.draw(st.sampled_from(sorted(messages)))
    items = items_of(json.dumps([chat]))
    assert count_records(items) == len(texts)


def put_somewhere(built: Any, value: object, data: st.DataObject) -> None:
    """Put a value in the place of another, at any depth."""
    places: list[tuple[Any, Any]] = []
    waiting = [built]
    while waiting:
        holder = waiting.pop()
        pairs = list(holder.items() if isinstance(holder, dict) else enumerate(holder))
        places += [(holder, key) for key, _ in pairs]
        waiting += [inner for _, inner in pairs if isinstance(inner, (dict, list))]
    holder, key = places[data.draw(st.integers(0, len(places) - 1))]
    holder[key] = value
