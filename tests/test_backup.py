"""Backups: whole or not made, damage of any bit found, put back as what was saved, without the forgotten."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import stat
import tarfile
import time
import zipfile
from contextlib import closing
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pyrage
import pytest

from memcli import age
from memcli.absorb import Intake
from memcli.errors import MemcliError, NothingMatchedError, StoreError, UsageError
from memcli.memory import Draft, Memory, open_memory
from memcli.record_json import to_json
from memcli.store import archive
from memcli.store.archive import About
from memcli.store.side import SCHEMA_VERSION
from memcli.times import from_iso
from memcli.types import Filters, ForgetPlan, Query, Selection
from tests.process import NOW, Shared, Terminal

AT = from_iso(NOW)
ABOUT = About("default", AT, "0.1", SCHEMA_VERSION, 0, 0, 0)
STORES = sorted((Path(__file__).parent / "data" / "stores").glob("schema-*.zip"))


@dataclass
class Clock:
    """A clock that never stands still."""

    now: int = AT

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


def opened(directory: Path, **options: Any) -> Memory:
    return open_memory(data_dir=directory, clock=Clock(), **{"embedder": "none", **options})


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A store with something of everything in it."""
    memory = opened(tmp_path / "data")
    memory.remember(Draft("I live in Porto", kind="identity"))
    memory.remember(Draft("I moved to Turin"))
    memory.remember(Draft("The gate opens with a quokka"))
    session = memory.begin_session()
    memory.save_turn(session, "user", "Where is the heron?")
    memory.keep_turns()
    memory.save_turn(session, "assistant", "On the pier", becomes_memory=False)
    memory.tasks.start("job")
    memory.tasks.set("job", "page", "seven")
    with memory.write() as (_, side):
        memory._queue(side, list(memory.export(Filters())))
    memory.recall(Query("heron", AT))
    memory.settle()
    return memory


@pytest.fixture
def saved(memory: Memory, tmp_path: Path) -> Path:
    path = tmp_path / "saved.tar"
    memory.backup(path, user="default")
    return path


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared(tmp_path)


def chosen(memory: Memory, text: str) -> ForgetPlan:
    return memory.plan_forget(Selection(match=text))


def held(memory: Memory) -> dict[str, Any]:
    """All that there is: memories, and the rows of every table beside them."""
    tables = {name: rows for name, rows in memory.tables().items() if name != "backups"}
    return {"memories": [to_json(record) for record in memory.export(Filters())], **tables}


def texts(memory: Memory) -> set[str]:
    return {record.text for record in memory.export(Filters())}


def bytes_of(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


# --- as it was ------------------------------------------------------------------------------------


def test_a_restored_store_is_the_saved_one(memory: Memory, saved: Path) -> None:
    before = held(memory)
    memory.edit(next(memory.export(Filters())).id, Draft("Another text"))
    memory.remember(Draft("Another memory"))
    memory.save_turn(memory.begin_session(), "user", "Another chat")
    memory.tasks.drop("job")
    memory.restore(saved)
    assert held(memory) == before
    assert memory.recall(Query("quokka", AT)).hits[0].record.text == "The gate opens with a quokka"
    memory.remember(Draft("And it goes on"))
    assert "And it goes on" in texts(memory)


def test_a_backup_is_restored_where_no_store_is(memory: Memory, saved: Path, tmp_path: Path) -> None:
    there = opened(tmp_path / "elsewhere")
    done = there.restore(saved)
    assert (held(there), done.aside) == (held(memory), None)
    # With the key of the saved one, so that the same is known again.
    assert there.remember(Draft("The gate opens with a quokka")).added == ()


def test_vectors_are_restored(tmp_path: Path) -> None:
    memory = opened(tmp_path / "data", embedder="builtin")
    memory.remember(Draft("The otter sleeps on the river"))
    memory.backup(tmp_path / "saved.tar", user="default")
    there = opened(tmp_path / "elsewhere", embedder="builtin")
    there.restore(tmp_path / "saved.tar")
    assert there.recall(Query("aquatic mammals", AT)).degraded is None
    with there.write() as (store, _):
        assert [store.table(name).count() for name in store.state.vectors.values()] == [1]


def test_what_was_there_is_set_aside_and_can_be_put_back(memory: Memory, saved: Path) -> None:
    memory.remember(Draft("Newer than the backup"))
    newer = held(memory)
    aside = memory.restore(saved).aside
    assert aside is not None
    assert "Newer than the backup" not in texts(memory)
    memory.restore(aside)
    assert held(memory) == newer
    # Only the last is kept.
    assert [path.name for path in memory.place.directory.glob("aside-*")] != [aside.name]
    assert len(list(memory.place.directory.glob("aside-*"))) == 1


def test_only_the_owner_can_read_it(saved: Path, memory: Memory) -> None:
    aside = memory.restore(saved).aside
    assert aside is not None
    assert [stat.S_IMODE(path.stat().st_mode) for path in (saved, aside, aside / "side.db")] == [
        0o600,
        0o700,
        0o600,
    ]


@pytest.mark.parametrize("store", STORES, ids=lambda path: path.stem)
def test_a_backup_of_an_older_version_is_restored(store: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(store) as zipped:
        zipped.extractall(tmp_path)
    before = [to_json(record) for record in opened(tmp_path).export(Filters())]
    user = tmp_path / "users" / "default"
    files = [(path.relative_to(user).as_posix(), path) for path in user.rglob("*") if path.is_file()]
    ours = [(name, path) for name, path in sorted(files) if name == "side.db" or name.startswith("lance")]
    schema = int(store.stem.partition("-")[2])
    path = tmp_path / "saved.tar"
    path.write_bytes(b"".join(archive.pieces(replace(ABOUT, schema=schema, memories=len(before)), ours)))
    there = opened(tmp_path / "elsewhere")
    there.restore(path)
    assert [to_json(record) for record in there.export(Filters())] == before
    there.remember(Draft("It goes on"))


# --- what was forgotten ---------------------------------------------------------------------------


def test_what_was_forgotten_since_stays_forgotten(memory: Memory, saved: Path, tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    line = {
        "session_id": "s",
        "id": "1",
        "role": "user",
        "content": "A wombat",
        "timestamp": "2026-01-01T10:00Z",
    }
    history.write_text(json.dumps(line) + "\n", "utf-8")
    memory.absorb([str(history)], intake=Intake())
    memory.tasks.set("job", "note", "The gate opens with a quokka")
    memory.backup(saved, user="default")
    for text in ("quokka", "heron", "On the pier", "wombat"):
        memory.erase(chosen(memory, text))
    assert memory.restore(saved).forgotten == 4
    assert texts(memory) == {"I live in Porto", "I moved to Turin"}
    assert (memory.sessions(), memory.tasks.get("job").values["note"]) == ([], None)
    (report,) = memory.absorb([str(history)], intake=Intake()).files
    assert (report.added, report.forgotten) == (0, 1)
    # A trace of it is only in the backup, and in what was set aside before it was forgotten again.
    left = bytes_of(memory.place.directory)
    assert not any(text in left for text in (b"gate opens with", b"Where is the heron", b"A wombat"))


def test_in_a_backup_of_another_store_it_is_known_too(memory: Memory, tmp_path: Path) -> None:
    other = opened(tmp_path / "other")
    for text in ("The gate opens with a quokka", "A wombat"):
        other.remember(Draft(text))
    other.save_turn(other.begin_session(), "user", "Hello")
    other.backup(tmp_path / "other.tar", user="default")
    memory.erase(chosen(memory, "quokka"))
    done = memory.restore(tmp_path / "other.tar")
    assert (done.forgotten, done.uncarried > 0, texts(memory)) == (1, True, {"A wombat"})


def test_an_erase_takes_what_was_set_aside(memory: Memory, saved: Path) -> None:
    memory.restore(saved)
    assert b"quokka" in bytes_of(memory.place.directory)
    proof = memory.erase(chosen(memory, "quokka"), prove=True)
    assert proof is not None
    assert (proof.traces, proof.backups) == (0, (str(saved),))
    assert b"quokka" not in bytes_of(memory.place.directory)


def test_the_receipt_names_only_backups_that_are_there(memory: Memory, saved: Path, tmp_path: Path) -> None:
    memory.backup(tmp_path / "another.tar", user="default")
    saved.unlink()
    proof = memory.erase(chosen(memory, "quokka"), prove=True)
    assert proof is not None
    assert proof.backups == (str(tmp_path / "another.tar"),)


def test_what_is_forgotten_while_a_backup_is_made_is_in_none(memory: Memory, tmp_path: Path) -> None:
    told: list[str] = []

    def forget(_done: int, _all: int) -> None:
        if not told:
            told.append("forgotten")
            opened(tmp_path / "data").erase(chosen(memory, "quokka"))

    with pytest.raises(StoreError, match="forgotten while"):
        memory.backup(tmp_path / "saved.tar", user="default", progress=forget)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert b"quokka" not in bytes_of(tmp_path)
    memory.backup(tmp_path / "saved.tar", user="default")


# --- damage ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a small store: damage is found by the same code in a large one."""
    directory = tmp_path_factory.mktemp("small")
    for name, size in (
        ("side.db", 3_000),
        ("lance/a.lance/data/one.lance", 70_000),
        ("lance/a.lance/two", 0),
    ):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(name).randbytes(size))
    return directory


def packed(small: Path) -> bytes:
    files = [
        (path.relative_to(small).as_posix(), path) for path in sorted(small.rglob("*")) if path.is_file()
    ]
    return b"".join(archive.pieces(ABOUT, files))


def read(data: bytes) -> None:
    archive.read(BytesIO(data), put=lambda _, pieces: list(pieces) and None, check=lambda _: None)


def test_a_flipped_bit_anywhere_is_found(small: Path) -> None:
    whole, chance = packed(small), random.Random(1)
    read(whole)
    # Every byte of the first headers and of the end, and many between.
    places = {*range(600), *range(len(whole) - 2048, len(whole), 7), *chance.sample(range(len(whole)), 400)}
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        with pytest.raises(StoreError):
            read(bytes(damaged))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.3, 0.9, 0.99, 0.9999])
def test_one_that_is_cut_short_is_found(small: Path, share: float) -> None:
    whole = packed(small)
    with pytest.raises(StoreError):
        read(whole[: int(len(whole) * share)])
    with pytest.raises(StoreError):
        read(whole + b"\0")


def locked(small: Path, lock: age.Lock) -> bytes:
    out = BytesIO()
    age.encrypt(iter([packed(small)]), out, lock)
    return out.getvalue()


def unlocked(data: bytes, key: age.Key) -> None:
    with age.decrypting(BytesIO(data), key) as plain:
        archive.read(plain, put=lambda _, pieces: list(pieces) and None, check=lambda _: None)


def test_a_flipped_bit_in_an_encrypted_one_is_found(small: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    whole = locked(small, age.Lock(recipients=(str(identity.to_public()),)))
    key, chance = age.Key(f"# a key\n{identity}\n"), random.Random(2)
    unlocked(whole, key)
    for place in {*range(0, 400, 3), *chance.sample(range(len(whole)), 60), len(whole) - 1}:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        with pytest.raises((StoreError, UsageError)):
            unlocked(bytes(damaged), key)
    with pytest.raises(StoreError):
        unlocked(whole[:-1], key)
    with pytest.raises(UsageError, match="does not open"):
        unlocked(whole, age.Key(str(pyrage.x25519.Identity.generate())))


@pytest.mark.parametrize("head", ["", "\n", "\nnonsense\n-----END AGE ENCRYPTED FILE-----\n"], ids=len)
def test_what_only_begins_like_a_locked_backup_is_not_opened(head: str) -> None:
    data = f"-----BEGIN AGE ENCRYPTED FILE-----{head}".encode()
    assert age.locked_with(data) == "passphrase"
    with pytest.raises(UsageError, match="does not open"):
        age.unlock(BytesIO(data), "quiet heron")


@pytest.mark.parametrize("text", ["age1nonsense", "", "ssh-ed25519 nonsense"])
def test_a_recipient_that_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no public key"):
        age.encrypt(iter([b"x"]), BytesIO(), age.Lock(recipients=(text,)))


def tar_of(*names: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in names:
            about = tarfile.TarInfo(name)
            about.type, about.linkname = kind, "/etc/passwd"
            tar.addfile(about, BytesIO())
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain words " * 1000,
        tar_of("notes/one.txt"),
        tar_of("memcli-backup/about.json"),
        b"age-encryption.org/v1\n",
    ],
    ids=["empty", "words", "another tar", "nothing in it", "no age"],
)
def test_what_is_no_backup_changes_nothing(memory: Memory, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.tar"
    path.write_bytes(data)
    before = held(memory)
    with pytest.raises(MemcliError):
        memory.restore(
            path,
            key=age.Key(str(pyrage.x25519.Identity.generate())) if data[:3] == b"age" else None,
        )
    assert (held(memory), list(memory.place.directory.glob(".restoring"))) == (before, [])


@pytest.mark.parametrize(
    "name",
    [
        "memcli-backup/../../escaped",
        "memcli-backup/lance/../../escaped",
        "/memcli-backup/side.db",
        "memcli-backup/lance//escaped/x",
        "memcli-backup/.lock",
        "memcli-backup/lance",
        "other/side.db",
    ],
)
def test_no_file_gets_out_of_the_store(memory: Memory, small: Path, tmp_path: Path, name: str) -> None:
    about = b"".join(archive.pieces(ABOUT, ()))[:1024]
    path = tmp_path / "file.tar"
    path.write_bytes(about + tar_of(name))
    before = held(memory)
    with pytest.raises(StoreError):
        memory.restore(path)
    assert held(memory) == before
    assert not [each for each in tmp_path.rglob("*") if each.name == "escaped"]


@pytest.mark.parametrize(
    "told",
    [
        {"memories": "many"},
        {"memories": 5},
        {"memories": -1},
        {"sessions": None},
        {"bytes": [1]},
        {"schema": "7"},
        {"made_at": 10**30},
    ],
    ids=str,
)
def test_what_a_backup_says_of_itself_is_not_believed(
    memory: Memory, saved: Path, tmp_path: Path, told: dict[str, Any]
) -> None:
    path, about = tmp_path / "forged.tar", memory.check_backup(saved)
    path.write_bytes(b"".join(archive.pieces(replace(about, **told), files_of_backup(saved, tmp_path))))
    before = held(memory)
    with pytest.raises(StoreError, match="damaged") as caught:
        memory.restore(path)
    assert (held(memory), "nothing was changed" in caught.value.hint) == (before, True)


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE meta SET value = '../../../elsewhere' WHERE key = 'memories'",
        "UPDATE meta SET value = 'memories_99' WHERE key = 'memories'",
        "UPDATE meta SET value = 'no json' WHERE key = 'vectors'",
        "UPDATE meta SET value = 'no key' WHERE key = 'key'",
        "UPDATE meta SET value = 'many' WHERE key = 'generation'",
        "UPDATE meta SET value = '[1]' WHERE key = 'seals'",
        "INSERT INTO meta VALUES ('undoing', 'all')",
        "DROP TABLE meta",
    ],
)
def test_files_that_make_no_store_are_not_put_in_its_place(
    memory: Memory, saved: Path, tmp_path: Path, spoil: str
) -> None:
    files = files_of_backup(saved, tmp_path)
    with closing(sqlite3.connect(dict(files)["side.db"])) as db, db:
        db.execute(spoil)
    path, before = tmp_path / "forged.tar", held(memory)
    path.write_bytes(b"".join(archive.pieces(memory.check_backup(saved), files)))
    with pytest.raises(StoreError, match="damaged"):
        memory.restore(path)
    assert held(memory) == before


@pytest.mark.parametrize("missing", ["side.db", "lance"])
def test_a_backup_without_a_part_of_the_store_is_refused(
    memory: Memory, saved: Path, tmp_path: Path, missing: str
) -> None:
    files = [(name, path) for name, path in files_of_backup(saved, tmp_path) if not name.startswith(missing)]
    path, before = tmp_path / "forged.tar", held(memory)
    path.write_bytes(b"".join(archive.pieces(memory.check_backup(saved), files)))
    with pytest.raises(StoreError, match="damaged"):
        memory.restore(path)
    assert held(memory) == before


def test_a_name_that_is_no_text_is_refused(shared: Shared) -> None:
    shared.here("remember", "A heron")
    done = shared("backup", os.fsdecode(b"b\xff.tar"))
    assert (done.returncode, "is not UTF-8 text" in done.stderr) == (2, True)


def test_a_pipe_is_no_backup_and_is_not_waited_for(shared: Shared) -> None:
    os.mkfifo(shared.home / "pipe")
    done = shared("restore", "pipe", "--yes")
    assert (done.returncode, "is no file" in done.stderr) == (2, True)


def files_of_backup(saved: Path, tmp_path: Path) -> list[tuple[str, Path]]:
    """The files in a backup, unpacked."""
    with tarfile.open(saved) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    folder = tmp_path / "unpacked" / archive.FOLDER
    names = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())
    return [(name, folder / name) for name in names if name == "side.db" or name.startswith("lance/")]


def test_a_link_in_a_backup_is_refused(memory: Memory, tmp_path: Path) -> None:
    about = b"".join(archive.pieces(ABOUT, ()))[:1024]
    path = tmp_path / "file.tar"
    path.write_bytes(about + tar_of("memcli-backup/side.db", kind=tarfile.SYMTYPE))
    with pytest.raises(StoreError):
        memory.restore(path)


def test_a_backup_of_a_newer_version_is_refused(memory: Memory, small: Path, tmp_path: Path) -> None:
    path, before = tmp_path / "file.tar", held(memory)
    path.write_bytes(b"".join(archive.pieces(replace(ABOUT, schema=SCHEMA_VERSION + 1), ())))
    for ask in (memory.restore, memory.check_backup):
        with pytest.raises(StoreError, match="newer memcli"):
            ask(path)
    assert held(memory) == before


@pytest.mark.parametrize("damage", ["not a database", "gone"])
def test_a_backup_takes_the_place_of_a_damaged_store(memory: Memory, saved: Path, damage: str) -> None:
    before = held(memory)
    memory.close()
    side = memory.place.directory / "side.db"
    for path in memory.place.directory.glob("side.db*"):
        path.unlink()
    if damage != "gone":
        side.write_bytes(b"plain words " * 500)
    memory.restore(saved)
    assert held(memory) == before
    (aside,) = memory.place.directory.glob("aside-*")
    assert list(aside.rglob("*.manifest"))


def test_a_damaged_store_is_not_saved_as_a_whole_one(memory: Memory, tmp_path: Path) -> None:
    path = next((memory.place.directory / "lance").rglob("data/*.lance"))
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="damaged"):
        memory.backup(tmp_path / "saved.tar", user="default")
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


# --- the place ------------------------------------------------------------------------------------


def test_there_is_nothing_to_back_up_before_the_first_memory(tmp_path: Path) -> None:
    with pytest.raises(NothingMatchedError):
        opened(tmp_path / "data").backup(tmp_path / "saved.tar", user="default")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said_and_leaves_nothing(memory: Memory, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "nowhere" / "saved.tar"):
        with pytest.raises((UsageError, StoreError)):
            memory.backup(path, user="default")
    assert not list(memory.place.directory.glob(".snapshot"))
    assert memory.stats()["last_backup"] is None


def test_a_table_whose_files_cannot_be_linked_is_copied(
    memory: Memory, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    before = held(memory)
    memory.backup(saved, user="default")
    memory.restore(saved)
    assert held(memory) == before


# --- the commands ---------------------------------------------------------------------------------


def test_by_default_it_goes_to_a_place_of_the_user(shared: Shared) -> None:
    shared.here("remember", "A heron")
    done = shared.json("backup")
    path = Path(done["path"])
    assert path.parts[-3:-1] == ("backups", "default")
    assert (done["memories"], done["encrypted"], done["bytes"]) == (1, False, path.stat().st_size)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert shared.json("stats")["last_backup"] == NOW
    assert Path(shared.json("backup")["path"]) != path


def test_only_so_many_are_kept_and_no_file_of_others_goes(shared: Shared) -> None:
    shared.here("remember", "A heron")
    first = Path(shared.json("backup")["path"])
    (first.parent / "mine.tar").write_text("mine")
    shared.here("backup", shared.home / "elsewhere.tar")
    second = shared.json("backup")["path"]
    done = shared.json("backup", "--keep", "2")
    assert done["removed"] == [str(first)]
    names = {path.name for path in first.parent.iterdir()}
    assert names == {"mine.tar", Path(second).name, Path(done["path"]).name}
    assert (shared.home / "elsewhere.tar").exists()


@pytest.mark.parametrize(
    "args", [("--keep", "0"), ("--keep", "2", "x.tar"), ("--encrypt", "--recipient", "age1"), ("--encrypt",)]
)
def test_options_that_do_not_go_together_are_refused(shared: Shared, args: tuple[str, ...]) -> None:
    shared.here("remember", "A heron")
    assert shared.here("backup", *args).returncode == 2
    assert not list(shared.home.glob("*.tar*"))


def test_without_a_yes_nothing_is_restored(shared: Shared) -> None:
    shared.here("remember", "A heron")
    shared.here("backup", "saved.tar")
    shared.here("remember", "A crane")
    before = shared.here("export").stdout
    assert shared.here("restore", "saved.tar").returncode == 2
    plan = shared.json("restore", "saved.tar", "--dry-run")["plan"]
    assert [(step["action"], "1 memory" in step["why"]) for step in plan] == [("restore", True)]
    assert shared.on_terminal("restore", "saved.tar", typed="n\n", after="[y/N]")[0] == 1
    assert shared.here("export").stdout == before
    done = shared.json("restore", "saved.tar", "--yes")
    assert (done["memories"], done["forgotten"], Path(done["aside"]).is_dir()) == (1, 0, True)
    assert shared.json("list")["total"] == 1


def test_a_script_encrypts_and_opens_with_a_variable_or_a_file(shared: Shared) -> None:
    shared.here("remember", "A heron")
    (shared.home / "word").write_text("quiet heron\n", "utf-8")
    shared.here("backup", "saved.age", "--encrypt", env={"MEMCLI_PASSPHRASE": "quiet heron"})
    assert b"heron" not in (shared.home / "saved.age").read_bytes()
    for args, env, code in (
        ((), {}, 2),
        ((), {"MEMCLI_PASSPHRASE": "loud heron"}, 2),
        (("--passphrase-file", "word"), {}, 0),
    ):
        done = shared.here("restore", "saved.age", "--yes", *args, env=env)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


def test_a_person_is_asked_for_the_passphrase_twice(shared: Shared) -> None:
    shared.here("remember", "A heron")
    with Terminal(shared, "backup", "saved.age", "--encrypt") as terminal:
        for question in ("passphrase:", "once more:"):
            terminal.wait_for(question)
            terminal.type("quiet heron\n")
        assert (terminal.end(), "quiet heron" in terminal.shown) == (0, False)
    assert age.locked_with((shared.home / "saved.age").read_bytes()[:64]) == "passphrase"


def test_a_key_opens_what_was_encrypted_for_it(shared: Shared) -> None:
    shared.here("remember", "A heron")
    identity = pyrage.x25519.Identity.generate()
    (shared.home / "key.txt").write_text(f"# created: today\n{identity}\n", "utf-8")
    shared.here("backup", "saved.age", "--recipient", str(identity.to_public()))
    assert shared.here("restore", "saved.age", "--yes").returncode == 2
    assert shared.here("restore", "saved.age", "--yes", "--identity", "key.txt").returncode == 0


def test_stats_advise_a_backup_when_there_is_much_and_none(shared: Shared) -> None:
    lines = [{"session_id": "s", "id": str(n), "role": "user", "content": f"note {n}"} for n in range(100)]
    (shared.home / "h.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    shared.here("import", "h.jsonl")
    assert "no backup yet" in shared.here("stats").stderr
    shared.here("backup")
    assert "backup" not in shared.here("stats").stderr
    later = {"MEMCLI_NOW": "2026-05-01T09:00:00Z"}
    assert "61 days old" in shared.here("stats", env=later).stderr


def test_stats_advise_a_backup_when_the_last_is_old_however_little_there_is(shared: Shared) -> None:
    shared.here("remember", "A heron")
    assert "backup" not in shared.here("stats").stderr
    shared.here("backup")
    later = {"MEMCLI_NOW": "2026-05-01T09:00:00Z"}
    assert "61 days old" in shared.here("stats", "--json", env=later).stderr


# --- beside others, and killed --------------------------------------------------------------------


def test_a_backup_beside_a_writer_is_of_one_moment(shared: Shared) -> None:
    shared.here("remember", "The first")
    lines = [{"session_id": "s", "id": str(n), "role": "user", "content": f"note {n}"} for n in range(16_000)]
    (shared.home / "h.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    writer = shared.start("import", "h.jsonl")
    paths = []
    while writer.poll() is None:
        paths.append(Path(shared.json("backup")["path"]))
    writer.communicate()
    assert len(paths) > 1
    counts = []
    for number, path in enumerate(paths[:4]):
        there = opened(shared.home / f"there-{number}")
        about = there.restore(path).about
        counts.append(about.memories)
        assert sum(1 for _ in there.export(Filters())) == about.memories
        with there.write_side() as side, side.snapshot() as db:
            assert side.check() is None
            # The journal knows exactly what is there.
            assert db.execute("SELECT count(*) FROM journal_added").fetchone() == (about.memories,)
    assert counts == sorted(counts)


def killed(shared: Shared, chance: random.Random, *args: str | Path) -> None:
    process = shared.start(*args)
    time.sleep(chance.uniform(0.2, 1.5))
    process.kill()
    process.communicate()


def test_a_killed_restore_leaves_the_old_or_the_new(shared: Shared) -> None:
    chance = random.Random(3)
    shared.here("remember", "A heron")
    shared.here("backup", "one.tar")
    one = shared.here("export").stdout
    shared.here("remember", "A crane")
    shared.here("backup", "two.tar")
    two = shared.here("export").stdout
    user = Path(shared.json("config", "get", "data_dir")["value"]) / "users" / "default"
    for number in range(6):
        killed(shared, chance, "restore", "--yes", ("one.tar", "two.tar")[number % 2])
        assert shared.here("export").stdout in (one, two)
    shared.here("restore", "two.tar", "--yes")
    assert shared.here("export").stdout == two
    assert not list(user.glob(".restoring"))
    assert len(list((user / "lance").iterdir())) == 1


def test_a_killed_backup_leaves_no_file_of_its_name(shared: Shared) -> None:
    chance = random.Random(4)
    shared.here("remember", "A heron and a quokka")
    for number in range(4):
        killed(shared, chance, "backup", f"{number}.tar")
        path = shared.home / f"{number}.tar"
        if path.exists():
            read(path.read_bytes())
    shared.here("forget", "--match", "quokka", "--yes")
    user = Path(shared.json("config", "get", "data_dir")["value"]) / "users" / "default"
    assert b"quokka" not in bytes_of(user)
