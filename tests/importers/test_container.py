"""Compressed files, archives and databases are read as what is in them, and nothing in them is trusted."""

from __future__ import annotations

import gzip
import io
import os
import sqlite3
import stat
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers import Source, sources
from memcli.importers.head import head_of

from .reading import source_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress}

packed = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS.keys())


def zip_of(files: dict[str, bytes], **options: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", **{"compression": zipfile.ZIP_DEFLATED, **options}) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def members_in(data: bytes) -> dict[str, bytes]:
    found = {}
    with source_of(data, name="export.zip").members() as members:
        for name, open_member in members.items():
            with open_member() as member:
                found[name] = member.stream().read()
                assert member.damage is None, member.damage
    return found


# --- compressed -----------------------------------------------------------------------------------


@packed
@given(data=st.binary(max_size=3000), pieces=st.integers(1, 3))
def test_compressed_file_is_read_as_what_it_unpacks_to(
    pack: Callable[[bytes], bytes], data: bytes, pieces: int
) -> None:
    source = source_of(pack(data) * pieces)
    assert source.stream().read() == data * pieces
    assert source.damage is None


@packed
def test_progress_in_a_compressed_file_counts_its_own_bytes(pack: Callable[[bytes], bytes]) -> None:
    raw = pack(os.urandom(1 << 21))
    source = source_of(raw)
    source.stream().read()
    assert source.bytes_read == source.size == len(raw)


@packed
def test_what_stands_before_a_cut_is_read_and_the_cut_is_told(pack: Callable[[bytes], bytes]) -> None:
    lines = b"".join(b"%d %s\n" % (n, os.urandom(30).hex().encode()) for n in range(20_000))
    source = source_of(pack(lines)[:-20_000])
    read = source.stream().read()
    assert lines.startswith(read)
    assert len(read) > len(lines) / 2
    assert "the compressed data is cut off" in str(source.damage)


@packed
def test_damaged_stream_ends_where_the_damage_is(pack: Callable[[bytes], bytes]) -> None:
    raw = bytearray(pack(os.urandom(1 << 20)))
    raw[len(raw) // 2 :] = bytes(len(raw) - len(raw) // 2)
    source = source_of(bytes(raw))
    source.stream().read()
    assert source.damage is not None


@packed
def test_stream_that_unpacks_to_far_more_than_its_size_is_not_read(pack: Callable[[bytes], bytes]) -> None:
    source = source_of(pack(bytes(50 << 20)))
    assert len(source.stream().read()) <= 11 << 20
    assert "more than 200 times its size" in str(source.damage)


# --- archives -------------------------------------------------------------------------------------


def test_members_come_in_order_of_name_without_what_systems_leave_behind() -> None:
    junk = ["__MACOSX/._b.json", "._a.json", ".DS_Store", "x/.DS_Store", "Thumbs.db", ".obsidian/app.json"]
    data = zip_of({"b.json": b"2", "d/": b"", "a.json": b"1", "d/c.json": b"3", **dict.fromkeys(junk, b"-")})
    assert list(members_in(data).items()) == [("a.json", b"1"), ("b.json", b"2"), ("d/c.json", b"3")]


@pytest.mark.parametrize("name", ["../../outside.md", "/etc/outside.md", "C:\\outside.md", "a/../../b.md"])
def test_hostile_name_is_only_a_label(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "in" / "side"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert members_in(zip_of({name: b"text"})) == {name: b"text"}
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_link_in_an_archive_is_not_followed() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        link = zipfile.ZipInfo("link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert members_in(data.getvalue()) == {}


def test_zip64_member_is_read() -> None:
    data = io.BytesIO()
    with (
        zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.json", "w", force_zip64=True) as member,
    ):
        member.write(b"[1]")
    assert members_in(data.getvalue()) == {"a.json": b"[1]"}


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_members_of_every_usual_method_are_read(method: int) -> None:
    assert members_in(zip_of({"a.txt": b"text" * 99}, compression=method)) == {"a.txt": b"text" * 99}


def test_compressed_member_is_unpacked() -> None:
    assert members_in(zip_of({"memories.jsonl.gz": gzip.compress(b"line\n")})) == {
        "memories.jsonl.gz": b"line\n"
    }


def damage_of(data: bytes, name: str) -> str:
    with source_of(data, name="export.zip").members() as members, members[name]() as member:
        with suppress(UsageError):
            member.stream().read()
        return str(member.damage)


def test_encrypted_member_is_refused() -> None:
    data = bytearray(zip_of({"a.json": b"secret" * 20}))
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(header) + flags] |= 1
    assert damage_of(bytes(data), "a.json").startswith("export.zip!a.json cannot be read: it is encrypted")


def test_member_that_is_a_bomb_is_refused() -> None:
    assert "more than 200 times its size" in damage_of(zip_of({"a.json": bytes(30 << 20)}), "a.json")


def test_member_that_does_not_match_its_sum_is_damaged() -> None:
    data = zip_of({"a.json": b"0123456789"}, compression=zipfile.ZIP_STORED).replace(b"456", b"654", 1)
    assert "the compressed data is damaged: bad crc-32" in damage_of(data, "a.json")


def test_member_whose_name_is_no_text_is_damaged() -> None:
    data = bytearray(zip_of({"a.json": b"[1]"}))
    # In the header before the content: what the directory at the end says of it stays readable.
    data[7] |= 0x08
    data[30] = 0x80
    assert "a.json cannot be read: it cannot be unpacked" in damage_of(bytes(data), "a.json")


def test_member_without_a_name_is_left_out() -> None:
    data = zip_of({"a.json": b"[1]", "b.json": b"[2]"})
    directory = data.rindex(b"PK\x01\x02")
    nameless = data[: directory + 46] + b"\0" + data[directory + 47 :]
    with source_of(nameless, name="export.zip").members() as members:
        assert list(members) == ["a.json"]


@pytest.mark.parametrize("cut", [30, 100, -10])
def test_archive_that_is_cut_off_is_refused(cut: int) -> None:
    source = source_of(zip_of({"a.json": os.urandom(500)})[:cut], name="export.zip")
    with (
        pytest.raises(UsageError, match=r"export\.zip cannot be read: the zip archive is damaged"),
        source.members(),
    ):
        pass


@given(st.data())
def test_damaged_archive_is_read_or_refused(data: st.DataObject) -> None:
    raw = bytearray(zip_of({"a.json": b'{"a":1}' * 9, "b/c.txt": b"text"}))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    source = source_of(bytes(raw), name="export.zip")
    with suppress(UsageError), source.members() as members:
        for open_member in members.values():
            with open_member() as member, suppress(UsageError):
                member.stream().read()


def test_archive_from_standard_input_is_spooled_and_the_copy_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (source,) = sources(["-"], stdin=io.BytesIO(zip_of({"a.json": b"[1]"})))
    assert isinstance(source, Source)
    with source.members() as members, members["a.json"]() as member:
        (copy,) = (path for path in tmp_path.rglob("*") if path.is_file())
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert (member.path, member.key, member.stream().read()) == ("-!a.json", None, b"[1]")
    source.close()
    assert list(tmp_path.iterdir()) == []


# --- neighbours -----------------------------------------------------------------------------------


def told_beside(source: Source, name: str) -> bytes | None:
    beside = source.beside(name)
    if beside is None:
        return None
    with beside:
        return beside.stream().read()


def test_member_opens_its_neighbours_by_name() -> None:
    data = zip_of({"users.json": b"[]", "general/2026-03-01.json": b"[1]"})
    with source_of(data).members() as members, members["general/2026-03-01.json"]() as member:
        assert told_beside(member, "../users.json") == b"[]"
        assert told_beside(member, "users.json") is None


def test_file_in_a_directory_opens_its_neighbours_by_name(tmp_path: Path) -> None:
    (tmp_path / "in" / "general").mkdir(parents=True)
    (tmp_path / "in" / "users.json").write_text("[]")
    (tmp_path / "in" / "general" / "day.json").write_text("[1]")
    day = next(item for item in sources([str(tmp_path / "in")]) if item.path.endswith("day.json"))
    assert isinstance(day, Source)
    assert day.name == "general/day.json"
    assert told_beside(day, "../users.json") == b"[]"
    assert told_beside(day, "users.json") is None


# --- databases ------------------------------------------------------------------------------------


def database_at(path: Path, *, journal: str = "delete") -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA journal_mode = {journal}")
    database.execute("CREATE TABLE said (who TEXT, words TEXT)")
    database.execute("INSERT INTO said VALUES ('Ana', 'hello')")
    database.commit()
    return database


def rows_in(source: Source) -> list[tuple[str, str]]:
    with source.database() as database:
        return database.execute("SELECT * FROM said").fetchall()


def only_source(path: Path) -> Source:
    (source,) = sources([str(path)])
    assert isinstance(source, Source)
    return source


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_database_is_read_and_nothing_is_left_beside_it(tmp_path: Path, journal: str) -> None:
    database_at(tmp_path / "logs.db", journal=journal).close()
    with only_source(tmp_path / "logs.db") as source:
        assert source.kind == "sqlite"
        assert head_of(source, encoding=None).tables == {"said": {"who", "words"}}
        assert rows_in(source) == [("Ana", "hello")]
    assert [path.name for path in tmp_path.iterdir()] == ["logs.db"]


def test_rows_that_are_only_in_the_log_of_a_program_that_runs_are_seen(tmp_path: Path) -> None:
    database = database_at(tmp_path / "logs.db", journal="wal")
    database.execute("INSERT INTO said VALUES ('Bo', 'just now')")
    database.commit()
    with only_source(tmp_path / "logs.db") as source:
        assert rows_in(source) == [("Ana", "hello"), ("Bo", "just now")]
    database.close()


def test_database_cannot_be_changed(tmp_path: Path) -> None:
    database_at(tmp_path / "logs.db").close()
    with (
        only_source(tmp_path / "logs.db") as source,
        pytest.raises(UsageError, match="readonly database"),
        source.database() as database,
    ):
        database.execute("DELETE FROM said")


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
def test_database_from_standard_input_is_read_from_a_copy_that_is_removed(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database_at(tmp_path / "logs.db").close()
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    (source,) = sources(["-"], stdin=io.BytesIO(pack((tmp_path / "logs.db").read_bytes())))
    assert isinstance(source, Source)
    with source.file() as copy:
        assert copy.parent.parent == spool
    # A reader may ask for it after the format was told from it: standard input is read but once.
    with source.file() as again:
        assert again == copy
    source.close()
    assert list(spool.iterdir()) == []


def test_damaged_database_is_an_error_of_that_file(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    database_at(path).close()
    path.write_bytes(path.read_bytes()[:100] + os.urandom(3000))
    with (
        only_source(path) as source,
        pytest.raises(UsageError, match=r"logs\.db cannot be read as an SQLite"),
    ):
        rows_in(source)
