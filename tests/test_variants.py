"""What is written one way is found when it is asked for in another."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.memory import Draft, Memory, open_memory
from memcli.passages import as_grams, as_words, terms
from memcli.types import Query
from memcli.variants import simplified

NOW = 1_795_608_000_000

FOUND = (
    ("電腦", "我的电脑坏了"),
    ("电脑", "我的電腦壞了"),
    ("裡面", "钥匙在盒子里面"),
    ("茶", "我喜欢喝茶"),
    ("ＡＢＣ１２３", "the code is abc123"),
    ("abc123", "编号是ＡＢＣ１２３"),
    ("cafe", "We met in the café"),
    ("café", "We met in the cafe"),
    ("naïve", "a nai\u0308ve idea"),
    ("STRASSE", "Sie wohnt in der Hauptstraße / Straße 7"),
    ("회의", "서울에서 회의를 했다"),
    ("서울", "서울에서 회의를 했다"),
    ("hiking", "I hiked up the hill"),
    ("R", "I write my scripts in R"),
    ("C", "The C compiler is old"),
    ("7", "We sit in room 7"),
    ("C++", "She prefers C++ over Rust"),
    ("k", "I take vitamin K"),
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    memory = open_memory(data_dir=tmp_path_factory.mktemp("data"), embedder="none", clock=lambda: NOW)
    for _, text in FOUND:
        memory.remember(Draft(text=text))
    return memory


@pytest.mark.parametrize(("question", "text"), FOUND)
def test_another_way_of_writing_finds_it(memory: Memory, question: str, text: str) -> None:
    hits = memory.recall(Query(question, now=NOW), is_noted=False).hits
    assert text in {hit.record.text for hit in hits}
    assert len(hits) < 5


@pytest.mark.parametrize(
    ("traditional", "plain"),
    [
        ("電腦壞了", "电脑坏了"),
        ("乾淨", "干净"),
        ("サンドボックス", "サンドボックス"),
        ("a résumé", "a résumé"),
        ("", ""),
    ],
)
def test_traditional_characters_become_simplified(traditional: str, plain: str) -> None:
    assert simplified(traditional) == plain
    assert terms(traditional) == terms(plain)


@given(st.text())
def test_form_of_the_index_is_its_own_form(text: str) -> None:
    assert as_words(as_words(text)) == as_words(text)
    assert as_grams(as_grams(text)) == as_grams(text)
    assert len(simplified(text)) == len(text)


@pytest.mark.parametrize(
    "text", ["7.5 km", "at 7:30", "7-9", "don't", "a b2b deal", "2026-03-01", "I am a man"]
)
def test_only_lone_letters_and_digits_are_made_longer(text: str) -> None:
    assert as_words(text) == as_grams(text)


def test_older_store_is_searched_in_the_new_form_after_the_next_write(tmp_path: Path) -> None:
    memory = open_memory(data_dir=tmp_path, embedder="none", clock=lambda: NOW)
    memory.remember(Draft(text="我的電腦壞了"))
    _index_as_the_schema_before_did(memory)
    assert memory.recall(Query("电脑", now=NOW), is_noted=False).hits == ()
    memory.remember(Draft(text="something else"))
    assert memory.recall(Query("电脑", now=NOW), is_noted=False).hits[0].record.text == "我的電腦壞了"


def _index_as_the_schema_before_did(memory: Memory) -> None:
    import pyarrow as pa

    with memory.write() as (store, _):
        table = store.table(store.state.memories or "")
        (row,) = next(table.scan(table.columns())).to_pylist()
        older = row | {"words": row["text"], "grams": row["text"]}
        table.upsert(pa.Table.from_pylist([older], table.schema()), key="key", replaces="false")
    memory.close()
    with closing(sqlite3.connect(memory.place.directory / "side.db")) as side:
        side.execute("INSERT OR REPLACE INTO meta VALUES ('rebuild', '1')")
        side.commit()
