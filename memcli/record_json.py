"""A stored memory as JSON, the one shape of the command line, export and other faces; and as cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memcli.errors import UsageError
from memcli.text import regex
from memcli.times import from_iso, to_iso
from memcli.types import KINDS, PRIORITIES, ROLES, Millis, Record


def to_json(record: Record) -> dict[str, Any]:
    """The record as JSON values, keys in the order of the contract.

    Times are ISO 8601 in UTC with milliseconds and `Z`. Raises OverflowError for a time outside the
    years 1 to 9999.
    """
    return {
        "id": record.id,
        "text": record.text,
        "kind": record.kind,
        "priority": record.priority,
        "topics": list(record.topics),
        "project": record.project,
        "audience": list(record.audience),
        "private": record.private,
        "role": record.role,
        "name": record.name,
        "source": record.source,
        "source_id": record.source_id,
        "session_id": record.session_id,
        "position": record.position,
        "created_at": _iso_or_none(record.created_at),
        "updated_at": _iso_or_none(record.updated_at),
        "valid_from": _iso_or_none(record.valid_from),
        "valid_to": _iso_or_none(record.valid_to),
        "expires_at": _iso_or_none(record.expires_at),
        "superseded_by": record.superseded_by,
        "supersedes": list(record.supersedes),
        "retired": record.retired,
        "derived_from": list(record.derived_from),
        "meta": dict(record.meta),
    }


def record_from_json(value: object) -> Record:
    """The record that `to_json` wrote; `id` and `text` are required, unknown keys are ignored.

    Raises ValueError that names the key and what is wrong with it.
    """
    if not isinstance(value, Mapping):
        raise ValueError("a memory is a JSON object")
    for key in ("id", "text"):
        if key not in value:
            raise ValueError(f"a memory needs the key {key!r}")
    fields = {key: _checked(key, value[key], read) for key, read in _READ.items() if key in value}
    return Record(**fields)


def _checked(key: str, value: object, read: Callable[[object], Any]) -> Any:
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error


def _iso_or_none(at: Millis | None) -> str | None:
    return None if at is None else to_iso(at)


def _time(value: object) -> Millis | None:
    if value is None:
        return None
    try:
        return from_iso(_text(value))
    except UsageError as error:
        raise ValueError(error.message) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _name(value: object) -> str:
    if not _text(value):
        raise ValueError("must not be empty")
    return _text(value)


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _count_or_none(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a whole number")
    return value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    return value


def _one_of(*names: str | None) -> Callable[[object], Any]:
    def read(value: object) -> object:
        if value not in names:
            raise ValueError(f"must be one of {', '.join(str(name) for name in names)}")
        return value

    return read


_READ: Mapping[str, Callable[[object], Any]] = {
    "id": _name,
    "text": _text,
    "kind": _one_of(*KINDS),
    "priority": _one_of(*PRIORITIES),
    "topics": _texts,
    "project": _text_or_none,
    "audience": _texts,
    "private": _flag,
    "role": _one_of(None, *ROLES),
    "name": _text_or_none,
    "source": _text,
    "source_id": _text_or_none,
    "session_id": _text_or_none,
    "position": _count_or_none,
    "created_at": _time,
    "updated_at": _time,
    "valid_from": _time,
    "valid_to": _time,
    "expires_at": _time,
    "superseded_by": _text_or_none,
    "supersedes": _texts,
    "retired": _flag,
    "derived_from": _texts,
    "meta": _object,
}


# --- in the cells of a table ----------------------------------------------------------------------

_NOTHING = to_json(Record(id="", text=""))

COLUMNS = tuple(_NOTHING)
"""The keys of a memory as JSON, which are the columns of a table too."""

NULL_COLUMNS = frozenset(column for column, value in _NOTHING.items() if value is None)
"""Where an empty cell is null."""

JSON_COLUMNS = frozenset(
    column for column, read in _READ.items() if read in (_texts, _flag, _count_or_none, _object)
)
"""Where a cell is JSON text."""

# What Excel, LibreOffice and Google Sheets take for a formula, quoted or not, and full-width signs,
# which some of them read as the narrow ones (OWASP, CSV Injection).
_FORMULA = regex(r"'*(?:\s*[=+\-@＝＋－＠]|[\t\r\n])")


def formula_safe(text: str) -> str:
    """The text with a `'` before it if it would be run as a formula: the mark for "this is text".

    Nothing is lost. A text of quotes and then a formula gets one more, so that `from_formula_safe`
    gives every text back exactly.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def from_formula_safe(cell: str) -> str:
    """The text that `formula_safe` made the cell of: of quotes and then a formula, the first is taken off."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
