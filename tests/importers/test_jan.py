from __future__ import annotations

import io
import json

from memcli.importers import ReadOptions, Source, read
from memcli.types import Conversation

MESSAGE = {
    "object": "thread.message",
    "id": "m",
    "thread_id": "t",
    "role": "user",
    "content": [{"type": "text", "text": {"value": "hi", "annotations": []}}],
    "created_at": 1772355600,
}


def titles_beside(thread: bytes) -> list[str | None]:
    beside = {"threads/t/thread.json": lambda: Source("thread.json", lambda: io.BytesIO(thread))}
    source = Source(
        "x",
        lambda: io.BytesIO(json.dumps(MESSAGE).encode()),
        name="threads/t/messages.jsonl",
        siblings=beside,
    )
    return [item.title for item in read(source, options=ReadOptions()) if isinstance(item, Conversation)]


def test_title_stands_in_the_file_beside_the_messages() -> None:
    assert titles_beside(json.dumps({"id": "t", "object": "thread", "title": "Cheese"}).encode()) == [
        "Cheese"
    ]


def test_title_of_another_thread_is_not_taken() -> None:
    assert titles_beside(json.dumps({"id": "u", "object": "thread", "title": "Cheese"}).encode()) == [None]


def test_damaged_file_of_the_title_costs_only_the_title() -> None:
    assert titles_beside(b'{"id": "t", "title": "Che') == [None]
