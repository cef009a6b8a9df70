"""Whether a value is as a JSON schema says: the part of the language that models are asked in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import gt, lt
from typing import Any

Schema = Mapping[str, Any]


def misfit(value: object, schema: Schema, *, at: str = "the answer") -> str | None:
    """The first thing that is wrong, in words that do not quote the value; None when it fits.

    Knows type, enum, anyOf, properties, required, additionalProperties (false), items, minItems, maxItems,
    minLength, maxLength, minimum and maximum: a keyword that is not among them constrains nothing.
    """
    return next(_misfits(value, schema, at), None)


def _misfits(value: object, schema: Schema, at: str) -> Iterator[str]:
    types = _listed(schema.get("type"))
    if types and not any(_TYPES[name](value) for name in types):
        yield f"{at} is not of type {' or '.join(types)}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is none of {', '.join(map(str, schema['enum']))}"
    choices = [misfit(value, choice, at=at) for choice in schema.get("anyOf", ())]
    if choices and None not in choices:
        yield f"{choices[0]}"
    if isinstance(value, dict):
        yield from _in_object(value, schema, at)
    if isinstance(value, list):
        yield from _in_array(value, schema, at)
    for keyword, (is_measured, measure, is_wrong, words) in _BOUNDS.items():
        if keyword in schema and is_measured(value) and is_wrong(measure(value), schema[keyword]):
            yield f"{at} is {words} {schema[keyword]}"


def _listed(types: str | list[str] | None) -> list[str]:
    return [types] if isinstance(types, str) else types or []


def _in_object(value: Mapping[str, object], schema: Schema, at: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    yield from (f"{at} has no {name}" for name in schema.get("required", ()) if name not in value)
    if schema.get("additionalProperties") is False and value.keys() - properties.keys():
        yield f"{at} has fields that were not asked for"
    for name, inner in properties.items():
        if name in value:
            yield from _misfits(value[name], inner, name)


def _in_array(value: list[object], schema: Schema, at: str) -> Iterator[str]:
    for number, inner in enumerate(value, 1):
        yield from _misfits(inner, schema.get("items", {}), f"item {number} of {at}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _itself(value: float) -> float:
    return value


_TYPES: dict[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}

_Measure = Callable[[Any], float]

_BOUNDS: dict[str, tuple[Callable[[object], bool], _Measure, Callable[[float, float], bool], str]] = {
    "minItems": (_TYPES["array"], len, lt, "shorter than"),
    "maxItems": (_TYPES["array"], len, gt, "longer than"),
    "minLength": (_TYPES["string"], len, lt, "shorter than"),
    "maxLength": (_TYPES["string"], len, gt, "longer than"),
    "minimum": (_is_number, _itself, lt, "less than"),
    "maximum": (_is_number, _itself, gt, "more than"),
}
"""Keyword → which values it is about, what of them, when that is wrong, and in words."""
