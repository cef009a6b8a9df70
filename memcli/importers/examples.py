"""What readers of training data share: ids from content, prompts told once, a word of warning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator

from memcli.importers.seen import Seen
from memcli.types import Conversation, Item, Message, Notice, Skip


def digest_of(value: object) -> str:
    """What tells a JSON value from others, whatever the order of its keys."""
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:14]


def example(
    id_: str, said: Iterable[Message | Skip], *, source: str, seen: Seen, attachments: tuple[str, ...] = ()
) -> Iterator[Item]:
    """An example as a conversation; a system prompt that others began with too is not repeated."""
    messages: list[Message] = []
    for message in said:
        if isinstance(message, Skip):
            yield message
        elif message.role == "system" and seen.has(("system", message.text)):
            yield Skip("duplicate")
        else:
            messages.append(message)
    if messages:
        meta = {"attachments": list(attachments)} if attachments else {}
        yield Conversation(id_, source, messages, meta=meta)


def with_warning(items: Iterable[Item]) -> Iterator[Item]:
    """The items, and at the end that nobody said them to the person's own models."""
    count = 0
    for item in items:
        count += isinstance(item, Conversation)
        yield item
    if count:
        told = "1 example" if count == 1 else f"{count} examples"
        yield Notice(f"it holds {told} to train a model on, not what somebody said to you or for you")
