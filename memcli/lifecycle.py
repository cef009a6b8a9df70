"""Plans: what becomes of a record that comes in, given what is known already. Nothing here is stored."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import attrgetter

from memcli.types import Change, Millis, Origin, Record

_ID_CHARS = 20
_HASH_CHARS = 32
_SEPARATOR = "\x1f"


def keyed_hash(key: bytes, *parts: str | None) -> str:
    """HMAC-SHA-256 of the parts under the store's key, as 64 hexadecimal digits.

    Parts are told apart by their lengths, so ("ab", "c") and ("a", "bc") differ, and None from "".
    """
    told = _SEPARATOR.join(["-" if part is None else f"{len(part)}:{part}" for part in parts])
    hashed = _keyed(key).copy()
    hashed.update(told.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


@lru_cache(maxsize=8)
def _keyed(key: bytes) -> hmac.HMAC:
    """A hash that has taken the key: to begin with it each time takes longer than the rest."""
    return hmac.new(key, digestmod="sha256")


def origin_of(record: Record, key: bytes, *, echo: str | None = None) -> Origin:
    """How this record is known again: by its place in its source, by who said it and when, or by its echo.

    The place is format family + conversation + source id. Without a source id it is conversation +
    ordinal + text, and only where the time is unknown too: a time tells better than an ordinal, which
    another export of the same conversation may count otherwise. Who has a name is known by it: whose
    words are the person's is told by `--me`, and not every time. A note is nobody's; its time and its text
    stay when its file gets another name.
    """
    place = said = None
    if record.created_at is not None and (record.role is not None or record.kind == "document"):
        author = (None, record.name) if record.name else (record.role, None)
        said = _mark(key, "said", *author, str(record.created_at), record.text)
    if record.source_id is not None:
        place = _mark(key, "place", record.source, record.session_id, record.source_id)
    elif said is None:
        ordinal = None if record.position is None else str(record.position)
        place = _mark(key, "text", record.source, record.session_id, ordinal, record.text)
    return Origin(place, said, None if echo is None else _mark(key, "echo", record.source, echo))


def _mark(key: bytes, *parts: str | None) -> str:
    return keyed_hash(key, *parts)[:_HASH_CHARS]


def id_of(record: Record, origin: Origin, key: bytes, *, after: str | None = None) -> str:
    """The id of a new memory: looks random, and the same for the same origin and text in the same store.

    `after` is the memory that it replaces: a text that comes back is another memory than it was before.
    """
    chain = () if after is None else (after,)
    return keyed_hash(key, "id", origin.place, origin.said, record.text, *chain)[:_ID_CHARS]


def named(record: Record, id_: str) -> Record:
    """The record under another id; `replace` takes twice as long, and an import names each."""
    return Record(id_, *_all_but_id(record))


_all_but_id = attrgetter(*(field.name for field in fields(Record) if field.name != "id"))
assert fields(Record)[0].name == "id"


def hashes(origin: Origin) -> tuple[str, ...]:
    """The keyed hashes of an origin that there are."""
    return tuple([value for value in (origin.place, origin.said, origin.echo) if value])


@dataclass(frozen=True, slots=True)
class Known:
    """What the store says of some origins: origin hash → memory id, and which have a tombstone."""

    stored: Mapping[str, str]
    buried: Collection[str]

    def id(self, origin: Origin) -> str | None:
        """The memory that has this origin, if any."""
        if not self.stored:
            return None
        return next((self.stored[value] for value in hashes(origin) if value in self.stored), None)

    def is_buried(self, origin: Origin) -> bool:
        """Whether what has this origin was forgotten."""
        return bool(self.buried) and any(value in self.buried for value in hashes(origin))


def reconcile(record: Record, origin: Origin, known: Known, *, restore: bool) -> Change:
    """Add the record, or skip it: "known" (with the id it has), or "forgotten" unless `restore`."""
    before = known.id(origin)
    if before is not None:
        return Change("skip", replace(record, id=before), why="known", origin=origin)
    if not restore and known.is_buried(origin):
        return Change("skip", record, why="forgotten", origin=origin)
    return Change("add", record, origin=origin)


def supersede(older: Record, newer: Change, *, now: Millis) -> tuple[Change, Change]:
    """The two changes that put a new record in the place of an older one, which stays as history."""
    at = newer.record.created_at if newer.record.created_at is not None else now
    replaced = replace(older, superseded_by=newer.record.id, valid_to=at, updated_at=now)
    added = replace(newer.record, supersedes=(*newer.record.supersedes, older.id))
    return (
        replace(newer, record=added),
        Change("supersede", replaced, before=older, why=f"replaced by {newer.record.id}"),
    )


def as_then(record: Record, *, at: Millis | None) -> Record:
    """A memory as it was at a moment (None is now): what has replaced it since then had not yet."""
    if at is None or record.superseded_by is None or record.valid_to is None or record.valid_to <= at:
        return record
    return replace(record, superseded_by=None, valid_to=None)


def retire(records: Sequence[Record], *, now: Millis) -> list[Change]:
    """Hide records and keep them as history."""
    return [
        Change("retire", replace(record, retired=True, updated_at=now), before=record, why="retired")
        for record in records
        if not record.retired
    ]


def take_back(facts: Sequence[Record], older: Sequence[Record], *, now: Millis) -> list[Change]:
    """Retire facts that do not hold after all; what they had replaced (among `older`) holds as before."""
    ids = {fact.id for fact in facts}
    back = [
        Change(
            "update",
            replace(record, superseded_by=None, valid_to=None, updated_at=now),
            before=record,
            why="what replaced it was taken back",
        )
        for record in older
        if record.superseded_by in ids
    ]
    return [*retire(facts, now=now), *back]


def with_derived(chosen: Sequence[Record], derived: Sequence[Record]) -> list[Change]:
    """Erase what was chosen, and what was derived from nothing but that.

    Args:
        chosen: the memories that the person wants gone.
        derived: every memory that was derived from others.
    """
    gone = {record.id for record in chosen}
    changes = [Change("erase", record, before=record, why="chosen") for record in chosen]
    grew = True
    while grew:
        following = [
            record
            for record in derived
            if record.derived_from and record.id not in gone and gone.issuperset(record.derived_from)
        ]
        changes += [
            Change("erase", record, before=record, why="derived from these alone") for record in following
        ]
        gone.update(record.id for record in following)
        grew = bool(following)
    return changes
