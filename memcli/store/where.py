"""Filters to SQL: what a reading asks of the rows; no value enters it unquoted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from memcli.store.engine import quoted
from memcli.types import Filters, Millis


def where(filters: Filters, *, now: Millis, erasing: Iterable[str] = ()) -> str | None:
    """The condition of a reading; None when everything matches. Memories that are being erased never do."""
    conditions = [*_hidden(filters, now), *_labels(filters), *_sources(filters), *_times(filters)]
    if gone := sorted(erasing):
        conditions.append(f"NOT {one_of('id', gone)}")
    return " AND ".join(conditions) or None


def is_narrow(filters: Filters) -> bool:
    """Whether the filters ask for more than what is hidden from everyone."""
    return replace(filters, current=False, with_hidden=False) != Filters()


def both(*conditions: str | None) -> str | None:
    """All of the conditions that there are; None when there is none."""
    return " AND ".join(f"({condition})" for condition in conditions if condition) or None


def one_of(column: str, values: Iterable[str]) -> str:
    """The column holds one of the values."""
    return f"{column} IN ({', '.join(quoted(value) for value in values)})"


def holds_any(column: str, values: Iterable[str]) -> str:
    """The column is a list that holds one of the values."""
    return f"array_has_any({column}, [{', '.join(quoted(value) for value in values)}])"


def contains(column: str, text: str) -> str:
    """The column holds the text, letter for letter."""
    return f"contains({column}, {quoted(text)})"


def _hidden(filters: Filters, now: Millis) -> Iterator[str]:
    if not filters.with_hidden:
        yield "retired = false"
        yield f"(expires_at IS NULL OR expires_at > {now})"


def _labels(filters: Filters) -> Iterator[str]:
    if filters.kinds:
        yield one_of("kind", filters.kinds)
    if filters.topics:
        yield holds_any("topics", filters.topics)
    if filters.project is not None:
        same = f"project = {quoted(filters.project)}"
        yield same if filters.project_only else f"(project IS NULL OR {same})"
    if filters.agent is not None:
        yield f"(audience IS NULL OR {holds_any('audience', [filters.agent])})"


def _sources(filters: Filters) -> Iterator[str]:
    if filters.role is not None:
        yield f"role = {quoted(filters.role)}"
    if filters.source is not None:
        yield one_of("source", (filters.source, f"import:{filters.source}"))
    if filters.source_ids:
        yield one_of("source_id", filters.source_ids)
    if filters.session is not None:
        yield f"session_id = {quoted(filters.session)}"


def _times(filters: Filters) -> Iterator[str]:
    if filters.since is not None:
        yield f"created_at >= {filters.since}"
    if filters.until is not None:
        yield f"created_at <= {filters.until}"
    if filters.before is not None:
        yield f"created_at < {filters.before}"
    if filters.as_of is not None:
        yield f"coalesce(valid_from, created_at) <= {filters.as_of}"
        yield f"(valid_to IS NULL OR valid_to > {filters.as_of})"
    if filters.current:
        since = "" if filters.as_of is None else f" OR valid_to > {filters.as_of}"
        yield f"(superseded_by IS NULL{since})"
