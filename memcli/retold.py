"""What is told again: whether it is the same thing, and what is learned of it that was not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from memcli.types import Millis, Notice, Record

_UNIQUE_CHARS = 16

# A fork begins with copies, which do not always say what they were copied from.
_FORKING = {"import:claude-code"}

# What many programs write, each with ids of its own: there another id may well be the same message.
_ANYBODYS = {"import:csv", "import:message-jsonl", "import:openai-jsonl"}


def is_unique(id_: str) -> bool:
    """Whether nothing else has this id: it is long. Shorter ones count inside their conversation."""
    return len(id_) >= _UNIQUE_CHARS


def is_another(told: Record, stored: Record) -> bool:
    """Whether what the same author said at the same time in the same words is two messages all the same.

    It is where one program has them in two conversations, unless the second is a copy of the first, which
    keeps its unique ids.
    """
    if told.source_id is None or stored.source_id is None:
        return False
    if told.source != stored.source or told.source in _ANYBODYS:
        return False
    is_copy = told.source_id == stored.source_id and is_unique(told.source_id)
    return told.session_id != stored.session_id and not is_copy


class Forks:
    """Which sessions of one file are forks, as the copies of another session's messages in them show."""

    def __init__(self) -> None:
        self._origin_of: dict[str, str] = {}
        self._begun_with: dict[str, str] = {}

    def at_home(self, told: Record, stored: Record | None) -> Record:
        """The message in the conversation that its session was forked from; `stored` is known as the same."""
        session, id_ = told.session_id, told.source_id
        if told.source not in _FORKING or session is None or id_ is None or not is_unique(id_):
            return told
        if session not in self._origin_of:
            home = self._begun_with.setdefault(id_, session)
            if stored is not None and stored.source_id == id_:
                home = stored.session_id or session
            self._origin_of[session] = home
        home = self._origin_of[session]
        return told if home == session else replace(told, session_id=home)


def placed(stored: Record, told: Record, *, now: Millis) -> Record:
    """A message of which only a log was known, with the place that it has in its conversation."""
    if stored.position is not None or told.position is None or stored.kind != "episode":
        return stored
    return replace(
        stored,
        source_id=told.source_id,
        session_id=told.session_id,
        position=told.position,
        created_at=stored.created_at if told.created_at is None else told.created_at,
        project=stored.project or told.project,
        meta={**stored.meta, **told.meta},
        updated_at=now,
    )


def owned(stored: Record, told: Record, *, now: Millis) -> Record:
    """A message with the role that its author has now that the person has said who they are."""
    is_same_author = stored.name is not None and stored.name == told.name
    if not is_same_author or stored.role == told.role or {stored.role, told.role} != {"user", "assistant"}:
        return stored
    return replace(stored, role=told.role, updated_at=now)


def notices(roles: Mapping[str, int]) -> Iterator[Notice]:
    """What the person is told of messages that have changed hands; `roles` counts them by their new role."""
    for role, words in (("user", "yours now"), ("assistant", "not yours any more")):
        if count := roles.get(role):
            yield Notice(f"{count} known {'message is' if count == 1 else 'messages are'} {words}")
