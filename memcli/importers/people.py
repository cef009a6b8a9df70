"""Chats between people: which of them is the person, and conversations with titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from memcli.importers.format import ReadOptions
from memcli.importers.messages import Said, in_conversations, with_time_notice, without_repeats
from memcli.types import Conversation, Item, Notice


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
    items: Iterable[Said | Item],
    *,
    source: str,
    titles: Mapping[str | None, str | None],
    options: ReadOptions,
) -> Iterator[Item]:
    """The messages in pieces of their chats, repeats left out; at the end what the person should know.

    `titles` is looked into when a piece is whole: it may grow while the items come.
    """
    unique = without_repeats(items)
    for item in in_conversations(with_time_notice(_with_person_notice(unique, options)), source=source):
        if isinstance(item, Conversation):
            yield replace(item, title=titles.get(item.id))
        else:
            yield item


def _with_person_notice(items: Iterable[Said | Item], options: ReadOptions) -> Iterator[Said | Item]:
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
