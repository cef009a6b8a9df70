"""The door to LanceDB: both ways in, its errors in our words, and values that cannot leave their quotes."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.errors import DamagedError, DiskFullError, StoreError
from memcli.store.engine import FTS, Database, GoneError, Table, quoted, run, translated

SCHEMA = pa.schema([pa.field("key", pa.string(), nullable=False), pa.field("text", pa.string())])

# Appends a row and answers with all of them; `lean` says which way in.
WRITE_AND_READ = """
import sys
import pyarrow as pa
from memcli.store import engine
directory, lean, key = sys.argv[1], sys.argv[2] == "lean", sys.argv[3]
engine.native(lean=lean)
original = engine.native
engine.native = lambda: original(lean=lean)
database = engine.Database(directory)
schema = pa.schema([pa.field("key", pa.string(), nullable=False), pa.field("text", pa.string())])
if database.table_names():
    table = database.open("t")
else:
    table = database.create("t", schema)
table.add(pa.table({"key": [key], "text": ["the blue heron waits"]}, schema=schema))
table.index({"text": engine.FTS(base_tokenizer="icu")})
found = engine.run(table.match("herons", "text", columns=["key"], limit=10))
print("lancedb" in sys.modules, *sorted(row["key"] for row in found))
"""


def python(code: str, *args: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, args)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(str(tmp_path / "tables"))


def filled(database: Database, name: str, *texts: str) -> Table:
    table = database.create(name, SCHEMA)
    table.add(pa.table({"key": [str(n) for n in range(len(texts))], "text": list(texts)}, schema=SCHEMA))
    return table


# --- two ways in ----------------------------------------------------------------------------------


def test_both_ways_in_write_and_read_the_same_table(tmp_path: Path) -> None:
    assert python(WRITE_AND_READ, tmp_path, "lean", "a") == "False a"
    assert python(WRITE_AND_READ, tmp_path, "whole", "b") == "True a b"
    assert python(WRITE_AND_READ, tmp_path, "lean", "c") == "False a b c"


def test_the_whole_package_gets_numpy_where_the_program_does_without(tmp_path: Path) -> None:
    without = "from memcli.lean import without_numpy; without_numpy()\n"
    assert python(without + WRITE_AND_READ, tmp_path, "lean", "a") == "False a"
    assert python(without + WRITE_AND_READ, tmp_path, "whole", "b") == "True a b"


def test_the_lean_way_loads_neither_the_package_nor_its_rest_models() -> None:
    code = (
        "import sys; from memcli.store.engine import native; native(); "
        "print([name for name in sys.modules if name.split('.')[0] in "
        "('lancedb', 'lance_namespace', 'pydantic', 'numpy')])"
    )
    assert python(code) == "['lancedb._lancedb']"


def test_a_later_import_gets_the_real_package(tmp_path: Path) -> None:
    code = """
import sys, warnings
from memcli.store.engine import Database, native
Database(sys.argv[1]).table_names()
warnings.simplefilter("ignore")
import lancedb
table = lancedb.connect(sys.argv[1]).create_table("t", [{"key": "a"}])
print(table.count_rows(), Database(sys.argv[1]).open("t").count(), native(lean=False) is native())
"""
    assert python(code, tmp_path) == "1 1 True"


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "kind", "says"),
    [
        ("IO: No space left on device (os error 28)", DiskFullError, "disk is full"),
        ("lance error: Disk quota exceeded", DiskFullError, "disk is full"),
        ("Permission denied (os error 13)", StoreError, "cannot be written"),
        ("Read-only file system (os error 30)", StoreError, "cannot be written"),
        ("Object at location x.lance not found", GoneError, "missing"),
        ("No such file or directory (os error 2)", GoneError, "missing"),
        ("Retryable commit conflict for version 4", GoneError, "same moment"),
        (
            "Invalid input, file does not appear to be a Lance file (invalid magic: [76])",
            DamagedError,
            "damaged",
        ),
        ("Invalid input, Global buffer 0 range 4..5 is outside file of size 3", DamagedError, "damaged"),
        ("Invalid input, Global buffer 0 position 5 is not aligned to 64 bytes", DamagedError, "damaged"),
        ("Too many open files (os error 24)", StoreError, "Too many open files"),
        ("first line\nsecond line", StoreError, "(first line)"),
    ],
)
def test_what_lance_reports_is_said_in_one_sentence(told: str, kind: type[StoreError], says: str) -> None:
    with pytest.raises(StoreError) as caught, translated():
        raise RuntimeError(told)
    assert type(caught.value) is kind
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 5


def test_a_panic_of_the_compiled_code_is_a_store_error() -> None:
    class PanicException(BaseException):
        pass

    with pytest.raises(StoreError), translated():
        raise PanicException("index out of bounds")


def test_an_interrupt_stays_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), translated():
        raise KeyboardInterrupt


def test_opening_a_table_that_is_not_there_says_that_it_is_gone(database: Database) -> None:
    with pytest.raises(GoneError):
        database.open("nothing")


def test_dropping_a_table_that_is_not_there_is_fine(database: Database) -> None:
    database.drop("nothing")
    assert database.table_names() == []


def test_a_condition_that_is_no_sql_is_a_store_error(database: Database) -> None:
    with pytest.raises(StoreError):
        filled(database, "t", "a").count("text = = 'a'")


@pytest.mark.parametrize("damage", [b"", b"\xff" * 64, b"not a manifest at all" * 20])
def test_a_damaged_manifest_is_a_store_error(database: Database, damage: bytes) -> None:
    filled(database, "t", "a")
    for manifest in Path(database.uri, "t.lance", "_versions").iterdir():
        manifest.write_bytes(damage)
    with pytest.raises(StoreError):
        Database(database.uri).open("t").count()


# --- tables ---------------------------------------------------------------------------------------


def test_every_table_of_the_directory_is_listed(database: Database) -> None:
    names = [f"t_{n:02}" for n in range(25)]
    for name in names:
        database.create(name, SCHEMA)
    assert sorted(database.table_names()) == names


def test_a_relative_directory_is_not_taken_for_the_cloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Database("db").create("t", SCHEMA)
    assert (tmp_path / "db" / "t.lance").is_dir()


def test_an_open_table_sees_what_another_handle_adds(database: Database) -> None:
    table = filled(database, "t", "a")
    other = database.open("t")
    other.add(pa.table({"key": ["9"], "text": ["b"]}, schema=SCHEMA))
    assert table.count() == 2


def test_reading_every_version_ends_at_the_newest(database: Database) -> None:
    table = filled(database, "t", "a")
    table.delete("key = '0'")
    assert [version.count() for version in table.at_every_version()] == [0, 1, 0]
    assert table.count() == 0


def test_a_scan_gives_the_order_asked_for_with_unknown_last(database: Database) -> None:
    table = database.create("t", SCHEMA)
    table.add(pa.table({"key": ["a", "b", "c", "d"], "text": ["2", None, "3", "1"]}, schema=SCHEMA))

    def keys(**asked: object) -> list[str]:
        batches = table.scan(["key", "text"], **asked)  # type: ignore[arg-type]
        return [key for batch in batches for key in batch.column(0).to_pylist()]

    assert keys(order=(("text", True),)) == ["d", "a", "c", "b"]
    assert keys(order=(("text", False),)) == ["c", "a", "d", "b"]
    assert keys(order=(("text", True),), limit=2) == ["d", "a"]


def test_an_upsert_replaces_adds_and_drops_in_one_version(database: Database) -> None:
    table = filled(database, "t", "a", "b", "c")
    before = table.versions()
    rows = pa.table({"key": ["0", "7"], "text": ["a2", "new"]}, schema=SCHEMA)
    table.upsert(rows, key="key", replaces="text IN ('a', 'b')")
    told = {row["key"]: row["text"] for batch in table.scan(["key", "text"]) for row in batch.to_pylist()}
    assert told == {"0": "a2", "2": "c", "7": "new"}
    assert table.versions() == before + 1


# --- quoting --------------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
HOSTILE = st.sampled_from(
    ["'", "''", "\\", "\\'", "' OR 1=1 --", "'; DROP TABLE t; --", "%", '"', "\n", "`", "a'b"]
)
_numbers = count()


@given(
    st.lists(st.one_of(ANY_TEXT, HOSTILE, st.builds(str.__add__, HOSTILE, ANY_TEXT)), min_size=1, unique=True)
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_quoted_text_finds_exactly_its_row(database: Database, texts: list[str]) -> None:
    table = filled(database, f"t_{next(_numbers)}", *texts)
    for number, text in enumerate(texts):
        found = [
            row for batch in table.scan(["key"], where=f"text = {quoted(text)}") for row in batch.to_pylist()
        ]
        assert found == [{"key": str(number)}]


@given(ANY_TEXT | HOSTILE)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_question_to_an_index_raises(indexed: Table, question: str) -> None:
    for column in ("words", "grams"):
        rows = run(indexed.match(question, column, columns=["words"], limit=5))
        assert all(set(row) == {"words", "_score"} for row in rows)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Table:
    schema = pa.schema([pa.field("words", pa.string()), pa.field("grams", pa.string())])
    table = Database(str(tmp_path_factory.mktemp("indexed"))).create("t", schema)
    table.add(pa.table({"words": ["a b c", "我们"], "grams": ["a b c", "我们"]}, schema=schema))
    grams = FTS(base_tokenizer="ngram", ngram_min_length=2, ngram_max_length=2, stem=False)
    table.index({"words": FTS(base_tokenizer="icu"), "grams": grams})
    return table


# Prints whether a step was over when the Ctrl-C that fell into it was heard of.
INTERRUPTED = """
import asyncio, os, signal
from memcli.store import engine
over = []
async def step():
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.3)
    over.append(True)
try:
    engine.run(step())
except KeyboardInterrupt:
    print(over)
"""


def test_a_ctrl_c_ends_no_step_in_its_middle() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, encoding="utf-8")
    assert (done.stdout, done.stderr) == ("[True]\n", "")
