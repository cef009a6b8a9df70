"""export --encrypt: one ordinary age file of any format, opened by a passphrase or by a key."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyrage
import pytest

from memcli import age
from tests.process import Shared, Terminal

WORD = {"MEMCLI_PASSPHRASE": "quiet heron"}


IDENTITY = pyrage.x25519.Identity.generate()
KEY = ("--recipient", str(IDENTITY.to_public()))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    shared = Shared(tmp_path_factory.mktemp("home"))
    shared.here("remember", "A heron by the water")
    return shared


def opened(data: bytes) -> bytes:
    """What `age -d -i key.txt` gives."""
    return bytes(pyrage.decrypt(data, [IDENTITY]))


@pytest.mark.parametrize(
    ("args", "name"),
    [
        ((), "plain.jsonl"),
        ((), "plain.jsonl.age"),
        (("--format", "csv"), "any.age"),
        ((), "plain.json.age"),
        ((), "plain.md.AGE"),
    ],
)
def test_what_is_opened_is_what_would_have_been_written(
    shared: Shared, args: tuple[str, ...], name: str
) -> None:
    done = shared.here("export", "-o", name, *KEY, *args)
    assert done.returncode == 0, done.stderr
    held = (shared.home / name).read_bytes()
    assert b"heron" not in held
    suffix = Path(name.lower().removesuffix(".age")).suffix
    shared.here("export", "-o", f"open{suffix or '.csv'}")
    assert opened(held) == (shared.home / f"open{suffix or '.csv'}").read_bytes()


def test_a_directory_gets_a_file_that_is_named_as_encrypted(shared: Shared) -> None:
    (shared.home / "there").mkdir()
    done = shared.json("export", "-o", "there", "--format", "zip", *KEY)
    assert done["path"] == "there/memcli-export-2026-03-01.zip.age"
    with zipfile.ZipFile(io.BytesIO(opened((shared.home / done["path"]).read_bytes()))) as archive:
        assert archive.testzip() is None


def test_a_pipe_gets_it_and_a_terminal_does_not(shared: Shared) -> None:
    piped = subprocess.run(
        [sys.executable, "-m", "memcli", "export", *KEY],
        env=shared.environment,
        cwd=shared.home,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    assert b"heron" in opened(piped.stdout)
    code, shown = shared.on_terminal("export", *KEY)
    assert (code, "a terminal cannot show" in shown) == (2, True)


def test_a_person_is_asked_for_the_passphrase_twice(shared: Shared) -> None:
    with Terminal(shared, "export", "-o", "asked.age", "--encrypt") as terminal:
        for question in ("passphrase:", "once more:"):
            terminal.wait_for(question)
            terminal.type("quiet heron\n")
        assert (terminal.end(), "quiet heron" in terminal.shown) == (0, False)
    assert b"heron" in age.decrypted((shared.home / "asked.age").read_bytes(), "quiet heron")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--encrypt",), "no passphrase"),
        (("--encrypt", "--recipient", "age1x"), "by a passphrase or by a key"),
        (("--recipient", "age1x"), "is no public key"),
        ((), "is named as an encrypted file"),
    ],
)
def test_what_cannot_be_encrypted_is_refused_and_leaves_no_file(
    shared: Shared, args: tuple[str, ...], told: str
) -> None:
    done = shared.here("export", "-o", "refused.jsonl.age", *args)
    assert (done.returncode, told in done.stderr, "hint: " in done.stderr) == (2, True, True), done.stderr
    assert not (shared.home / "refused.jsonl.age").exists()


def _export(shared: Shared) -> Path:
    shared.here("export", "-o", "import.age", *KEY)
    return shared.home / "import.age"


def _backup(shared: Shared) -> Path:
    shared.here("backup", "saved.age", "--encrypt", env=WORD)
    return shared.home / "saved.age"


@pytest.mark.parametrize("make", [_export, _backup])
def test_an_import_of_what_is_encrypted_says_how_to_open_it(
    shared: Shared, make: Callable[[Shared], Path]
) -> None:
    done = shared.here("import", make(shared))
    assert (done.returncode, "encrypted with age" in done.stderr, "age -d" in done.stderr) == (2, True, True)
