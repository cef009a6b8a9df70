"""What a selection takes: the memories that forget is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memcli.about import Subject, names
from memcli.errors import UsageError
from memcli.store.lance import LanceStore
from memcli.store.where import contains
from memcli.types import Filters, Millis, Record, Selection


def chosen_by(
    selection: Selection,
    subject: Subject | None,
    store: LanceStore,
    *,
    now: Millis,
    loose: Sequence[Record] = (),
) -> Sequence[Record]:
    """The memories of these ids, or all that match; hidden ones too.

    Args:
        selection: what was asked for.
        subject: what its query asks about; None without one.
        store: where to look.
        now: the clock.
        loose: memories to be, that the store does not have yet.

    Raises:
        UsageError: nothing is selected, an id is ambiguous, or a source id is found in several places.
        NothingMatchedError: no memory has one of the ids.
    """
    if selection.ids:
        of_loose = {record.id: record for record in loose}
        found = [of_loose.get(id_) or store.resolve(id_, now=now) for id_ in selection.ids]
        return list({record.id: record for record in found}.values())
    filters = to_filters(selection)
    is_narrowed = replace(filters, project_only=False) != Filters(with_hidden=True)
    if not (is_narrowed or subject or selection.match or selection.everything):
        raise UsageError("nothing is selected to forget", "name ids, a selection, or --all")
    extra = None if selection.match is None else contains("text", selection.match)
    waiting = [record for record in loose if _matches(record, selection)]
    records = [
        record
        for record in (*store.scan(filters, now=now, extra=extra), *waiting)
        if subject is None or names(subject, _said(record))
    ]
    if selection.source_ids:
        _refuse_ambiguous(records)
    return records


def _said(record: Record) -> str:
    """Where a memory may name a thing: its text, who said it, its labels, the title it stands under."""
    title = record.meta.get("title")
    return "\n".join(
        [record.text, record.name or "", *record.topics, title if isinstance(title, str) else ""]
    )


def _matches(record: Record, selection: Selection) -> bool:
    """Whether a record is what `to_filters` and the literal text ask the store for."""
    asked = (
        (selection.topics, bool(set(selection.topics) & set(record.topics))),
        (selection.project is not None, record.project == selection.project),
        (selection.source is not None, record.source == selection.source),
        (selection.source_ids, record.source_id in selection.source_ids),
        (selection.session is not None, record.session_id == selection.session),
        (selection.before is not None, (record.created_at or 0) < (selection.before or 0)),
        (selection.match is not None, (selection.match or "") in record.text),
    )
    return all(is_so for is_asked, is_so in asked if is_asked)


def to_filters(selection: Selection) -> Filters:
    """What a selection narrows by labels, sources and time."""
    return Filters(
        topics=selection.topics,
        project=selection.project,
        project_only=True,
        source=selection.source,
        source_ids=selection.source_ids,
        session=selection.session,
        before=selection.before,
        with_hidden=True,
    )


def _refuse_ambiguous(records: Sequence[Record]) -> None:
    """The same id in two conversations is two messages: the person has to say which."""
    places: dict[str, set[tuple[str, str | None]]] = {}
    for record in records:
        places.setdefault(record.source_id or "", set()).add((record.source, record.session_id))
    for source_id, found in places.items():
        if len(found) > 1:
            listed = "; ".join(
                f"--source {source} --session {session}" for source, session in sorted(found, key=str)
            )
            raise UsageError(
                f"the source id {source_id!r} is found in several places: {listed}",
                "narrow it with --session and --source to one of them",
            )
