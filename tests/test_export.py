"""What is written out: every format read back, and the command as a process."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memcli.export import FORMATS
from memcli.record_json import COLUMNS, formula_safe, record_from_json, to_json
from memcli.text import OBEYED
from memcli.types import KINDS, PRIORITIES, ROLES, Record
from tests.conftest import Run
from tests.importers.reading import items_of

BY_NAME = {form.name: form for form in FORMATS}
LISTS = ("topics", "audience", "supersedes", "derived_from")
TIMES = ("created_at", "updated_at", "valid_from", "valid_to", "expires_at")

# Tests that look for these find them sooner than chance would.
AWKWARD = [
    "👩‍👩‍👧",
    "שלום",
    "\u202eabc",
    "\u2028",
    "\x1b[31m",
    "\x85",
    "\r",
    "\n",
    '"',
    "'",
    "=1+1",
    "\t",
    "```",
    "# ",
]
TEXT = st.lists(
    st.sampled_from(AWKWARD) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    max_size=6,
).map("".join)
NAME = TEXT.filter(bool)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
MOMENT = st.integers(-62_135_596_800_000, 253_402_300_799_999)
META = st.dictionaries(
    TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
RECORD = st.builds(
    Record,
    id=NAME,
    text=TEXT,
    kind=st.sampled_from(KINDS),
    priority=st.sampled_from(PRIORITIES),
    project=st.none() | NAME,
    private=st.booleans(),
    role=st.none() | st.sampled_from(ROLES),
    name=st.none() | NAME,
    source=NAME,
    source_id=st.none() | NAME,
    session_id=st.none() | NAME,
    position=st.none() | st.integers(-(2**63), 2**63 - 1),
    superseded_by=st.none() | NAME,
    retired=st.booleans(),
    meta=META,
    **dict.fromkeys(LISTS, TEXTS),
    **dict.fromkeys(TIMES, st.none() | MOMENT),
)
RECORDS = st.lists(RECORD, max_size=4, unique_by=lambda record: record.id)


def written(name: str, records: Iterable[Record]) -> bytes:
    sink = io.BytesIO()
    BY_NAME[name].write(records, sink)
    return sink.getvalue()


# --- read back ------------------------------------------------------------------------------------


def read_jsonl(data: bytes) -> list[Record]:
    return [record_from_json(json.loads(line)) for line in data.split(b"\n")[:-1]]


def read_json(data: bytes) -> list[Record]:
    return [record_from_json(value) for value in json.loads(data)]


def read_csv(data: bytes) -> list[Record]:
    rows = csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True)
    return [record_from_json({key: read_cell(key, cell) for key, cell in row.items()}) for row in rows]


def read_cell(key: str, cell: str) -> Any:
    if key in (*LISTS, "meta", "private", "retired", "position"):
        return json.loads(cell) if cell else None
    if re.match(r"'+(\s*[=+\-@＝＋－＠]|[\t\r\n])", cell):
        return cell[1:]
    return cell if cell or key == "text" else None


def read_parquet(data: bytes) -> list[Record]:
    table = pq.read_table(io.BytesIO(data))
    for name in TIMES:
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].cast(pa.int64()))
    reads: dict[str, Any] = {**dict.fromkeys(LISTS, tuple), "meta": json.loads}
    return [
        Record(**{name: reads.get(name, lambda value: value)(value) for name, value in row.items()})
        for row in table.to_pylist()
    ]


READERS = {"jsonl": read_jsonl, "json": read_json, "csv": read_csv, "parquet": read_parquet}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None)
@given(records=RECORDS)
def test_every_record_reads_back_as_it_was_and_is_written_the_same_again(
    name: str, records: list[Record]
) -> None:
    once = written(name, records)
    again = READERS[name](once)
    assert again == records
    assert written(name, again) == once


@pytest.mark.parametrize(
    ("name", "nothing"),
    [("jsonl", ""), ("json", "[\n]\n"), ("csv", ",".join(COLUMNS) + "\n"), ("markdown", "# Memories\n")],
)
def test_no_memories_are_an_empty_document(name: str, nothing: str) -> None:
    assert written(name, []).decode() == nothing


@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "markdown"])
def test_a_text_format_lets_go_of_each_memory_before_the_next(name: str) -> None:
    sink = io.BytesIO()
    seen = []

    def some() -> Iterator[Record]:
        for number in range(3):
            yield Record(f"id{number}", f"text{number}")
            seen.append(f"text{number}" in sink.getvalue().decode())

    BY_NAME[name].write(some(), sink)
    assert seen == [True, True, True]


# --- CSV ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "=HYPERLINK(1)",
        "+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\tx",
        "  =1",
        "＝1",
        "＋1",
        "－1",
        "＠x",
        "'=1",
        "''=1",
    ],
)
def test_a_formula_becomes_text(text: str) -> None:
    assert formula_safe(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "hello", "1=1", "'tis", "a@b.example", "2026-03-01", "“=1”"])
def test_a_text_that_is_no_formula_stays(text: str) -> None:
    assert formula_safe(text) == text


@settings(max_examples=25, deadline=None)
@given(records=RECORDS)
def test_no_cell_begins_like_a_formula(records: list[Record]) -> None:
    rows = csv.reader(io.StringIO(written("csv", records).decode(), newline=""))
    assert [cell for row in rows for cell in row if cell.lstrip().startswith(tuple("=+-@"))] == [
        str(record.position) for record in records if (record.position or 0) < 0
    ]


def test_csv_tells_null_from_an_empty_text() -> None:
    header, row = written("csv", [Record("a", "", source="")]).decode().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert (cells["text"], cells["source"], cells["project"]) == ('""', '""', "")


def test_the_header_of_a_csv_holds_every_key_in_order() -> None:
    assert written("csv", []).decode() == ",".join(to_json(Record("a", ""))) + "\n"


@settings(max_examples=50, deadline=None)
@given(records=RECORDS)
def test_import_takes_a_csv_export_back_as_it_was(records: list[Record]) -> None:
    assert items_of(written("csv", records), name="memories.csv") == records


# --- Markdown -------------------------------------------------------------------------------------

COMMONMARK = MarkdownIt("commonmark")
LOADS_OR_HIDES = {"html_block", "html_inline", "image"}


@dataclass(frozen=True)
class Document:
    """What CommonMark makes of a text: the tags of its headings, wherever they stand, and the rest."""

    headings: list[str]
    elements: set[str]
    links: dict[str, Any]
    last: str

    @classmethod
    def of(cls, data: bytes) -> Document:
        links: dict[str, Any] = {}
        tokens = COMMONMARK.parse(data.decode(), links)
        return cls(
            headings=[token.tag for token in tokens if token.type == "heading_open"],
            elements={inner.type for token in tokens for inner in (token, *(token.children or ()))},
            links=links.get("references", {}),
            last=next((token.content for token in reversed(tokens) if token.content), ""),
        )


def own_outline(records: list[Record]) -> list[str]:
    tags = ["h1"]
    for before, record in zip([None, *records], records, strict=False):
        tags += ["h3"] if before and before.session_id == record.session_id else ["h2", "h3"]
    return tags


BREAKS_OUT = [
    "# heading",
    "   ###### heading",
    "#",
    "heading\n===",
    "heading\n-",
    "heading\r---",
    "heading\r\n---\r\nmore",
    "> # heading",
    "- # heading",
    "1. # heading",
    "> heading\n> ===",
    "- heading\n  ---",
    "```\nopen",
    "~~~\nopen",
    "- ```\n  open",
    "````\n```\n`````` ",
    "<!-- open",
    "<script>open",
    "<div>\n\nopen",
    "<?open",
    "see ![it](https://tracker.example/x.png)",
    "![it]\n\n[it]: https://tracker.example/x.png",
    "[user]: https://phish.example",
    "* * *",
    "\u2028# heading",
]


@pytest.mark.parametrize("text", BREAKS_OUT)
def test_a_text_cannot_change_the_document_around_it(text: str) -> None:
    records = [Record("a", text, session_id="s"), Record("b", "plain", session_id="s")]
    document = Document.of(written("markdown", records))
    assert (document.headings, document.links, document.last) == (own_outline(records), {}, "plain")
    assert document.elements & {*LOADS_OR_HIDES, "hr"} == set()


@settings(max_examples=25, deadline=None)
@given(records=RECORDS)
def test_no_record_can_change_the_document_around_it(records: list[Record]) -> None:
    document = Document.of(written("markdown", records))
    assert (document.headings, document.links) == (own_outline(records), {})
    assert document.elements & LOADS_OR_HIDES == set()


@pytest.mark.parametrize("text", ["# a\n```\nb\n```", "`````\nx", "~~~ ``````` ~~~\n# b"])
def test_a_fence_is_longer_than_any_run_of_backticks_inside(text: str) -> None:
    tokens = COMMONMARK.parse(written("markdown", [Record("a", text)]).decode())
    assert [token.content for token in tokens if token.type == "fence"] == [f"{text}\n"]


@pytest.mark.parametrize(
    "text", ["Plain words.\n\nA second paragraph.", "- a list\n- of two", "I use C# and `x`"]
)
def test_a_harmless_text_is_not_fenced(text: str) -> None:
    assert f"\n\n{text}\n" in written("markdown", [Record("a", text)]).decode()


def test_markdown_holds_nothing_a_terminal_obeys() -> None:
    record = Record("a", "red \x1b[31m \x9b31m \u202egnp.exe", name="\x1b]0;x\x07")
    assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", written("markdown", [record]).decode()) == []


def test_markdown_of_a_conversation() -> None:
    records = [
        Record(
            "a1", "Which tiles?", "episode", "P2", role="user", source="chat", session_id="s1", created_at=0,
            meta={"title": "The *kitchen*"},
        ),
        Record("b2", "Green ones.", "episode", "P2", role="assistant", source="chat", session_id="s1"),
        Record("c3", "I like green.", "preference", topics=("home",), superseded_by="d4", retired=True),
    ]  # fmt: skip
    assert written("markdown", records).decode() == (
        "# Memories\n\n"
        "## The \\*kitchen\\* (Conversation s1)\n\n"
        "### 1970-01-01 00:00, user\n\nepisode, P2, from chat, id a1\n\nWhich tiles?\n\n"
        "### undated, assistant\n\nepisode, P2, from chat, id b2\n\nGreen ones.\n\n"
        "## Outside of conversations\n\n"
        "### undated\n\npreference, P1, \\#home, from cli, id c3, superseded by d4, retired\n\n"
        "I like green.\n"
    )


# --- Parquet --------------------------------------------------------------------------------------


def test_parquet_columns_have_their_types() -> None:
    schema = pq.read_schema(io.BytesIO(written("parquet", [])))
    assert schema.names == list(COLUMNS)
    assert {name: str(schema.field(name).type) for name in COLUMNS} == {
        **dict.fromkeys(COLUMNS, "string"),
        **dict.fromkeys(LISTS, "list<element: string>"),
        **dict.fromkeys(TIMES, "timestamp[ms, tz=UTC]"),
        "private": "bool",
        "retired": "bool",
        "position": "int64",
    }


def test_parquet_comes_in_row_groups() -> None:
    data = written("parquet", (Record(f"id{number}", "text") for number in range(10_000)))
    found = pq.ParquetFile(io.BytesIO(data)).metadata
    assert [found.row_group(number).num_rows for number in range(found.num_row_groups)] == [8192, 1808]


# --- the command ----------------------------------------------------------------------------------

NOW = {"MEMCLI_NOW": "2026-03-01T09:00:00Z", "MEMCLI_EMBEDDER": "none"}
MAVEN = ("I prefer Maven", "--at", "2026-01-01", "--topic", "build")
KITCHEN = ("The kitchen needs \u202egreen\u2028tiles 👩‍👩‍👧", "--at", "2026-02-01", "--project", "home")
BOTH = [MAVEN[0], KITCHEN[0]]


@pytest.fixture(scope="module")
def two_memories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a store of two memories, one of them of a project."""
    home = tmp_path_factory.mktemp("two")
    env = {**NOW, "MEMCLI_DATA_DIR": str(home / "data"), "XDG_CONFIG_HOME": str(home), "TZ": "UTC"}
    for text, *options in MAVEN, KITCHEN:
        done = Run(home)("remember", *options, "--", text, env=env)
        assert done.returncode == 0, done.stderr
    return home / "data"


@pytest.fixture
def stored(run: Run, two_memories: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program with a store of two memories, which no test here changes."""
    for name, value in {**NOW, "MEMCLI_DATA_DIR": str(two_memories)}.items():
        monkeypatch.setenv(name, value)
    return run


def texts(jsonl: str) -> list[str]:
    return [json.loads(line)["text"] for line in jsonl.split("\n")[:-1]]


def on_terminal(run: Run, *args: str) -> tuple[int, str]:
    """The exit code, and what the program shows on a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "memcli", *args]
    with subprocess.Popen(
        command, cwd=run.home, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as done:
        os.close(theirs)
        shown = b""
        while piece := read_terminal(ours):
            shown += piece
    os.close(ours)
    return done.returncode, shown.decode()


def read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def test_export_is_json_lines_oldest_first(stored: Run) -> None:
    done = stored("export")
    assert (done.returncode, texts(done.stdout), done.stderr) == (0, BOTH, "")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--project", "home"], [KITCHEN[0]]),
        (["--until", "2026-01-15"], [MAVEN[0]]),
        (["--kind", "identity"], []),
    ],
)
def test_a_filter_narrows_an_export(stored: Run, options: list[str], found: list[str]) -> None:
    assert texts(stored("export", *options).stdout) == found


def test_the_project_of_an_export_never_comes_from_the_environment(stored: Run) -> None:
    assert len(texts(stored("export", env={"MEMCLI_PROJECT": "home"}).stdout)) == 2


@pytest.mark.parametrize("name", ["json", "csv", "parquet"])
def test_the_name_of_a_file_says_its_format(stored: Run, name: str) -> None:
    path = stored.home / f"out{BY_NAME[name].suffix}"
    done = stored("export", "-o", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote 2 memories to {path}\n")
    assert [record.text for record in READERS[name](path.read_bytes())] == BOTH


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.xyz", "a.jsonl.zst"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_name_that_says_another_format_is_refused(stored: Run, name: str, options: list[str]) -> None:
    done = stored("export", "-o", name, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"no format's files end in '{Path(name).suffix}'" in done.stderr
    assert "--format" in done.stderr
    assert not (stored.home / name).exists()


@pytest.mark.parametrize(
    ("name", "options"), [("memories", []), (".memories", []), ("a.xyz", ["--format", "jsonl"])]
)
def test_a_name_that_says_nothing_is_json_lines(stored: Run, name: str, options: list[str]) -> None:
    assert stored("export", "-o", name, *options).returncode == 0
    assert texts((stored.home / name).read_text("utf-8")) == BOTH


def test_the_name_of_a_directory_says_no_format(stored: Run) -> None:
    (stored.home / "out.d").mkdir()
    assert stored("export", "-o", "out.d").returncode == 0
    assert [path.name for path in (stored.home / "out.d").iterdir()] == ["memcli-export-2026-03-01.jsonl"]


def test_a_directory_gets_a_file_of_the_day(stored: Run) -> None:
    (stored.home / "out").mkdir()
    assert stored("export", "-o", "out", "--format", "csv").returncode == 0
    assert [path.name for path in (stored.home / "out").iterdir()] == ["memcli-export-2026-03-01.csv"]


def test_json_with_a_file_tells_of_the_file(stored: Run) -> None:
    done = stored("export", "-o", "out.csv", "--json")
    assert json.loads(done.stdout) == {"path": "out.csv", "format": "csv", "memories": 2}
    assert (stored.home / "out.csv").read_text("utf-8").startswith("id,text,")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--json"], "json"),
        (["--ndjson"], "jsonl"),
        (["-o", "-", "--format", ""], "jsonl"),
        (["--format", "csv"], "csv"),
    ],
)
def test_options_choose_what_goes_to_stdout(stored: Run, options: list[str], name: str) -> None:
    found = READERS[name](stored("export", *options).stdout.encode())
    assert [record.text for record in found] == BOTH


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json", "--format", "csv"], "the output cannot be csv and json at once"),
        (["--format", "xml"], "--format cannot be 'xml'"),
        (["--format", "zip", "--kind", "fact"], "a zip holds everything about a user"),
        (["-o", "a.zip", "--project", "x"], "a zip holds everything about a user"),
        (["-o", "missing/"], "there is no directory missing"),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, options: list[str], message: str) -> None:
    done = run("export", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_store_that_was_never_made_exports_nothing(run: Run) -> None:
    done = run("export")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["jsonl", "parquet"])
def test_a_reader_that_goes_away_is_no_error(stored: Run, name: str) -> None:
    command = [sys.executable, "-m", "memcli", "export", "--format", name]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, cwd=stored.home, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("name", ["jsonl", "parquet"])
def test_a_full_disk_behind_stdout_is_told_as_such(stored: Run, name: str) -> None:
    command = [sys.executable, "-m", "memcli", "export", "--format", name]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, cwd=stored.home, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 5
    assert done.stderr.startswith(b"memcli: standard output cannot be written: No space left on device\n")


def test_parquet_is_not_for_a_terminal(stored: Run) -> None:
    code, shown = on_terminal(stored, "export", "--format", "parquet")
    assert (code, shown.splitlines()[0]) == (2, "memcli: a terminal cannot show parquet")


def test_a_terminal_is_shown_nothing_that_it_would_obey(stored: Run) -> None:
    code, shown = on_terminal(stored, "export", "--format", "csv")
    assert code == 0
    assert "needs \N{REPLACEMENT CHARACTER}green" in shown


@pytest.mark.parametrize("options", [["--json"], ["--format", "jsonl"]], ids=str)
def test_json_is_exact_on_a_terminal_and_obeyed_by_none(stored: Run, options: list[str]) -> None:
    code, shown = on_terminal(stored, "export", *options)
    assert (code, OBEYED.findall(shown.replace("\r\n", "\n"))) == (0, [])
    lines = [line.rstrip(",") for line in shown.splitlines() if line.startswith("{")]
    assert KITCHEN[0] in [json.loads(line)["text"] for line in lines]
