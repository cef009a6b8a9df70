"""Memories as rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memcli.passages import as_words, date_words
from memcli.store.rows import indexed
from memcli.types import Record

DAY_MS = 86_400_000


@given(
    name=st.none() | st.text(min_size=1, max_size=20),
    text=st.text(min_size=1, max_size=200) | st.sampled_from(["x", "Room 7", "電腦 C", "\u0308", "İ é ﬁ"]),
    day=st.integers(-10_000, 30_000),
)
def test_words_are_those_of_name_text_and_day_in_one(name: str | None, text: str, day: int) -> None:
    record = Record("id", text, name=name, created_at=day * DAY_MS)
    _, columns = indexed([record])
    said_by = f"{name}: " if name else ""
    assert columns["words"] == [as_words(f"{said_by}{text}\n{date_words(day * DAY_MS)}")]
