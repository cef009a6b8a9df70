"""Chats: messages in conversations with titles; trees of answers; who of people is the person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from memcli.importers.format import ReadOptions
from memcli.importers.messages import Said, in_conversations, text_at, with_time_notice, without_repeats
from memcli.importers.tree import in_tree_order
from memcli.types import Conversation, Item, Millis, Notice


def role_of(options: ReadOptions, *names: str | None, is_own: bool = False) -> str:
    """The role of an author: "user" is the person alone, everybody else is "assistant" with a name.

    Only what role "user" says is learned from; so as long as nobody knows who the person is, nobody is it.

    Args:
        options: its `me` is the person, by one of these names, whatever its case.
        names: what the author is called: display name, user name, id.
        is_own: whether the file itself says that the author is the person.
    """
    me = (options.me or "").strip().casefold()
    is_person = is_own or any(name is not None and name.strip().casefold() == me for name in names if me)
    return "user" if is_person else "assistant"


def in_chats(
    items: Iterable[Said | Item], *, source: str, titles: Mapping[str | None, str | None]
) -> Iterator[Item]:
    """The messages in pieces of their chats, repeats left out; at the end how many have no time.

    `titles` is looked into when a piece is whole: it may grow while the items come.
    """
    for item in in_conversations(with_time_notice(without_repeats(items)), source=source):
        yield replace(item, title=titles.get(item.id)) if isinstance(item, Conversation) else item


def between_people(items: Iterable[Said | Item], options: ReadOptions) -> Iterator[Said | Item]:
    """The items, and at the end a Notice if nobody in them is the person."""
    has_messages = has_person = False
    for item in items:
        if isinstance(item, tuple):
            has_messages = True
            has_person = has_person or item[1].role == "user"
        yield item
    if has_messages and not has_person:
        yield Notice(
            f"nothing in it is by {options.me!r}, so nothing is learned from it"
            if options.me
            else "it does not say whose words are yours, so nothing is learned from it; --me NAME says it"
        )


def on_branches(
    records: Iterable[Mapping[str, Any]],
    *,
    keys: tuple[str, str],
    current: str | None = None,
    at: Callable[[Mapping[str, Any]], Millis | None],
) -> list[tuple[Mapping[str, Any], bool]]:
    """The records of a conversation, each after its parent, and whether it is on the active branch.

    Records that name one parent which is not there are branches of it all the same: the answers to a first
    message that was written anew.

    Args:
        records: what was said.
        keys: of a record's id and of its parent's id.
        current: the id of where the conversation stands, if it is known.
        at: when a record was made.
    """
    id_key, parent_key = keys
    by_id: dict[str, Mapping[str, Any]] = {}
    for record in records:
        id_ = text_at(record, (id_key,))
        by_id[id_ if id_ and id_ not in by_id else f"{id_}#{len(by_id)}"] = record
    parent_of = {id_: text_at(record, (parent_key,)) for id_, record in by_id.items()}
    missing = dict.fromkeys(parent for parent in parent_of.values() if parent and parent not in parent_of)
    order = in_tree_order(
        parent_of | missing, current=current, at=lambda id_: at(by_id[id_]) if id_ in by_id else None
    )
    return [(by_id[id_], is_active) for id_, is_active in order.items() if id_ in by_id]
