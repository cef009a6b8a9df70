from __future__ import annotations

import json

from memcli.types import Conversation, Skip

from .reading import count_records, items_of, texts_in


def line(*contents: str, **more: object) -> str:
    return json.dumps({"messages": [{"role": "user", "content": text} for text in contents], **more}) + "\n"


def ids_of(data: str) -> list[str | None]:
    return [item.id for item in items_of(data) if isinstance(item, Conversation)]


def test_conversation_without_an_id_is_known_again_anywhere() -> None:
    assert ids_of(line("one") + line("two"))[1] == ids_of(line("two"))[0]


def test_order_of_keys_does_not_make_another_conversation() -> None:
    swapped = '{"messages":[{"content":"one","role":"user"}]}\n'
    assert ids_of(swapped) == ids_of(line("one"))


def test_id_of_the_source_is_taken() -> None:
    assert ids_of(line("one", conversation_id="c1") + line("two", id=2)) == ["c1", "2"]


def test_repeated_line_is_skipped_with_all_its_messages() -> None:
    items = items_of(line("one", "two") * 2)
    assert items[1:] == [Skip("duplicate", 2)]
    assert count_records(items) == 4


def test_damaged_line_costs_only_itself() -> None:
    assert texts_in(items_of(line("one") + '{"messages":[{"role"\n' + line("three"))) == ["one", "three"]
