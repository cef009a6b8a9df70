from __future__ import annotations

import json

import pytest

from memcli.times import to_iso

from .reading import items_of, messages_in


@pytest.mark.parametrize(
    ("date", "iso"),
    [
        ("June 9, 2023 2:20pm", "2023-06-09T14:20:00.000Z"),
        ("Jun 19, 2023 12:05am", "2023-06-19T00:05:00.000Z"),
        ("June 19, 2023 14:20:09", "2023-06-19T14:20:09.000Z"),
        ("2023-6-9 @4h 5m 6s 7ms", "2023-06-09T04:05:06.007Z"),
        ("2023-06-09T04:05:06.007Z", "2023-06-09T04:05:06.007Z"),
        (1686283506007, "2023-06-09T04:05:06.007Z"),
        ("Juny 39, 2023 2:20pm", None),
        ("Foo 19, 2023 2:20pm", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_date_is_read_as_any_version_wrote_it(date: object, iso: str | None) -> None:
    line = json.dumps({"name": "Ana", "is_user": True, "mes": "hi", "send_date": date})
    (message,) = messages_in(items_of(line, format_name="sillytavern"))
    assert (None if message.at is None else to_iso(message.at)) == iso


def test_date_is_of_the_zone_that_was_named() -> None:
    line = json.dumps({"name": "Ana", "is_user": True, "mes": "hi", "send_date": "June 19, 2023 2:20pm"})
    (message,) = messages_in(items_of(line, format_name="sillytavern", tz="Asia/Tokyo"))
    assert message.at is not None
    assert to_iso(message.at) == "2023-06-19T05:20:00.000Z"
