"""Settings: where each comes from, what is refused, how the file is written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.config import SETTINGS, Setting, Settings, load_settings, set_value, unset
from memcli.errors import StoreError, UsageError

ROWS = {setting.name: setting for setting in SETTINGS}

SAMPLES: Mapping[str, tuple[str, Any, str]] = {
    "user": ("Ölçay-2", "Ölçay-2", "../ana"),
    "project": ("新 项目", "新 项目", "two\nlines"),
    "data_dir": ("/srv/memories", Path("/srv/memories"), "~nobody-of-this-name/x"),
    "recall.half_life_days": ("episode=30, fact=0", "episode=30, fact=0", "dream=3"),
    "embedder": ("ollama:bge-m3", "ollama:bge-m3", "gpt"),
    "ollama_host": ("box:11434", "box:11434", "two words"),
    "now": ("2026-03-01T09:00:00Z", 1_772_355_600_000, "soon"),
    "budget": ("1200", 1200, "-1"),
    "k": ("5", 5, "0"),
    "embed_timeout_s": ("2.5", 2.5, "inf"),
    "lock_timeout_s": ("0", 0.0, "-1"),
    "memory": ("off", False, "sometimes"),
    "chat.history": ("window:5", "window:5", "window:0"),
    "chat.thinking": ("off", False, "dimly"),
    "chat.model": ("qwen3:4b", "qwen3:4b", "two words"),
    "chat.base_url": ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", "127.0.0.1:8000"),
    "chat.num_ctx": ("16384", 16_384, "511"),
    "chat.keep_alive": ("1h30m", "1h30m", "for ever"),
    "chat.timeout_s": ("30", 30.0, "nan"),
    "learn.model": ("hf.co/me/Model-GGUF:Q4_K_M", "hf.co/me/Model-GGUF:Q4_K_M", "a b"),
    "chat.ab": ("0.2", 0.2, "1.1"),
    "color": ("never", "never", "blue"),
}
"""Of each setting: a good text, its value, a bad text."""

IN_FILE = [setting.name for setting in SETTINGS if setting.in_file]
variables = pytest.mark.parametrize("variable", [v for setting in SETTINGS for v in setting.variables])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def load(config: Path, file: str = "", environ: Mapping[str, str] | None = None, **flags: object) -> Settings:
    if file:
        config.write_text(file, encoding="utf-8")
    return load_settings(
        flags, environ={"MEMCLI_CONFIG": str(config), "MEMCLI_DATA_DIR": "/d"} | dict(environ or {})
    )


def row_of(variable: str) -> Setting:
    return next(setting for setting in SETTINGS if variable in setting.variables)


def test_the_table_has_a_row_for_each_setting_and_a_sample() -> None:
    carried = {field.name for field in fields(Settings)} - {"origins", "config_path"}
    assert carried == {row.field for row in SETTINGS}
    assert set(ROWS) == set(SAMPLES)


# --- where a value comes from ---------------------------------------------------------------------


def test_without_anything_said_the_defaults_hold(config: Path) -> None:
    settings = load(config, environ={"MEMCLI_DATA_DIR": ""})
    assert (settings.user, settings.project, settings.embedder, settings.now) == ("default", None, None, None)
    assert (settings.k, settings.budget, settings.color) == (10, 800, "auto")
    assert (settings.embed_timeout_s, settings.lock_timeout_s) == (60, 60)
    assert settings.ollama_host == "http://127.0.0.1:11434"
    assert set(settings.origins.values()) == {"default"}


@variables
def test_a_variable_sets_its_setting(config: Path, variable: str) -> None:
    name = row_of(variable).name
    good, value, _ = SAMPLES[name]
    settings = load(config, environ={variable: good})
    assert (getattr(settings, ROWS[name].field), settings.origins[name]) == (value, variable)


@pytest.mark.parametrize("name", IN_FILE)
def test_the_file_sets_every_setting_that_may_stand_in_it(config: Path, name: str) -> None:
    good, value, _ = SAMPLES[name]
    settings = load(config, f'{name} = "{good}"', {"MEMCLI_DATA_DIR": ""})
    assert (getattr(settings, ROWS[name].field), settings.origins[name]) == (value, str(config))


@pytest.mark.parametrize(
    "file", ["[chat]\nab = 0.2", "chat.ab = 0.2", "chat = {ab = 0.2}", "k = 3\n[chat]\nab = '0.2'"]
)
def test_a_dot_in_a_name_is_a_table_in_the_file(config: Path, file: str) -> None:
    assert load(config, file).chat_ab == 0.2


@pytest.mark.parametrize(
    ("file", "value"),
    [("memory = false", False), ("memory = 'off'", False), ("memory = true", True), ("memory = 'On'", True)],
)
def test_a_switch_in_the_file_is_a_word_or_a_boolean(config: Path, file: str, value: bool) -> None:
    assert load(config, file).memory is value


@pytest.mark.parametrize(
    ("text", "value"), [("300", 300), ("-1", -1), ("0", 0), ("5m", "5m"), ("-1s", "-1s"), ("1.5h", "1.5h")]
)
def test_a_number_of_seconds_to_keep_a_model_is_a_number(config: Path, text: str, value: str | int) -> None:
    # Ollama refuses the text "300".
    assert load(config, environ={"MEMCLI_CHAT_KEEP_ALIVE": text}).chat_keep_alive == value


def test_a_flag_is_called_by_the_last_part_of_its_setting(config: Path) -> None:
    settings = load(config, environ={"MEMCLI_CHAT_MODEL": "x"}, **{"chat.model": "y"})
    assert (settings.chat_model, settings.origins["chat.model"]) == ("y", "--model")


def test_numbers_in_the_file_need_no_quotes(config: Path) -> None:
    settings = load(config, "k = 3\nembed_timeout_s = 5\nlock_timeout_s = 0.5")
    assert (settings.k, settings.embed_timeout_s, settings.lock_timeout_s) == (3, 5.0, 0.5)


@pytest.mark.parametrize(
    ("flag", "variable", "file", "expected", "origin"),
    [
        (1, "2", "k = 3", 1, "--k"),
        (None, "2", "k = 3", 2, "MEMCLI_K"),
        ("", "2", "k = 3", 2, "MEMCLI_K"),
        (None, "", "k = 3", 3, "file"),
        (None, "", 'k = ""', 10, "default"),
    ],
)
def test_flag_beats_variable_beats_file_beats_default_and_empty_is_unset(
    config: Path, flag: object, variable: str, file: str, expected: int, origin: str
) -> None:
    settings = load(config, file, {"MEMCLI_K": variable}, k=flag)
    assert settings.k == expected
    assert settings.origins["k"] == (str(config) if origin == "file" else origin)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"), [("a:1", "b:2", "a:1"), ("", "b:2", "b:2"), ("a:1", "", "a:1")]
)
def test_our_own_variable_for_ollama_comes_before_ollamas(
    config: Path, ours: str, theirs: str, expected: str
) -> None:
    environ = {"MEMCLI_OLLAMA_HOST": ours, "OLLAMA_HOST": theirs}
    assert load(config, environ=environ).ollama_host == expected


@pytest.mark.parametrize(
    ("flag", "variable", "file", "expected"),
    [("garden", "x", "", "garden"), (None, "garden", "", None), (None, "", 'project = "garden"', None)],
)
def test_only_a_flag_names_the_project_of_forget_and_export(
    config: Path, flag: str | None, variable: str, file: str, expected: str | None
) -> None:
    assert load(config, file, {"MEMCLI_PROJECT": variable}, project=flag).project_flag == expected


# --- where files are ------------------------------------------------------------------------------


def test_files_are_in_the_platforms_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    settings = load_settings({}, environ={})
    assert settings.data_dir.is_relative_to(tmp_path)
    assert settings.data_dir.name == settings.config_path.parent.name == "memcli"
    assert settings.config_path.is_relative_to(tmp_path)


def test_a_machine_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    for variable in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    with pytest.raises(UsageError, match="no home") as caught:
        load_settings({}, environ={})
    assert "MEMCLI_DATA_DIR" in caught.value.hint


def test_a_tilde_is_the_home(config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load(config, 'data_dir = "~/notes"', {"MEMCLI_DATA_DIR": ""}).data_dir == tmp_path / "notes"


def test_a_relative_directory_is_one_of_the_working_directory(config: Path) -> None:
    assert load(config, data_dir="here").data_dir == Path.cwd() / "here"


# --- what is refused ------------------------------------------------------------------------------


@variables
def test_a_bad_variable_is_refused_with_its_name_and_what_is_expected(config: Path, variable: str) -> None:
    row = row_of(variable)
    with pytest.raises(UsageError) as caught:
        load(config, environ={variable: SAMPLES[row.name][2]})
    assert f"{row.name} cannot be" in caught.value.message
    assert variable in caught.value.message
    assert row.expects in caught.value.hint


@pytest.mark.parametrize("line", ["k = true", "k = 1.5", "k = [1]", "user = 2026-03-01", "[project]"])
def test_a_bad_value_in_the_file_is_refused_with_file_and_key(config: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(config, line)
    assert str(config) in caught.value.message
    assert " cannot be " in caught.value.message


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("budgte = 3", "did you mean budget?"),
        ("zzz = 1", "settings: user, project"),
        ("now = 1", "settings:"),
        ("[chat]\nabc = 1", "did you mean chat.ab?"),
        ("[chats]\nab = 1", "settings:"),
    ],
)
def test_an_unknown_key_in_the_file_is_refused_with_a_hint(config: Path, line: str, hint: str) -> None:
    with pytest.raises(UsageError, match=str(config)) as caught:
        load(config, line)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"k = = 3", "is not TOML"), (b"k = 3\nk = 4", "is not TOML"), (b'user = "\xff"', "is not UTF-8")],
)
def test_a_broken_file_is_refused(config: Path, content: bytes, what: str) -> None:
    config.write_bytes(content)
    with pytest.raises(UsageError, match=what):
        load(config)


def test_a_file_that_cannot_be_read_is_refused(config: Path) -> None:
    config.mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        load(config)


def test_a_byte_order_mark_is_no_matter(config: Path) -> None:
    config.write_bytes(b"\xef\xbb\xbfk = 3\r\n")
    assert load(config).k == 3


@pytest.mark.parametrize(
    ("variable", "meant"),
    [("MEMCLI_USR", "MEMCLI_USER"), ("MEMCLI_DATADIR", "MEMCLI_DATA_DIR"), ("MEMCLI_CONFG", "MEMCLI_CONFIG")],
)
def test_a_misspelt_variable_is_refused(config: Path, variable: str, meant: str) -> None:
    with pytest.raises(UsageError, match=variable) as caught:
        load(config, environ={variable: "x"})
    assert meant in caught.value.hint


@pytest.mark.parametrize("variable", ["MEMCLI_HOME", "MEMCLI_TESTBED_LEVEL", "MEMCLIENT"])
def test_a_variable_that_resembles_none_is_left_alone(config: Path, variable: str) -> None:
    assert load(config, environ={variable: "x"}).user == "default"


# --- users ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ana", "Bo.Li", "小李", "हिन्दी", "_x", "7", "a" * 64, "ü-1"])
def test_a_user_is_called_in_any_script(config: Path, name: str) -> None:
    assert load(config, user=name).user == name


@pytest.mark.parametrize(
    "name",
    [
        ".",
        "..",
        ".hidden",
        "-x",
        "a/b",
        "a\\b",
        "a b",
        "a\x00b",
        "a\nb",
        "a:b",
        "a" * 65,
        "𠀀" * 64,
        "\ud800",
        "💩",
    ],
)
def test_a_name_that_is_no_plain_directory_is_refused(config: Path, name: str) -> None:
    with pytest.raises(UsageError, match="user cannot be"):
        load(config, user=name)


def test_one_name_is_one_user_however_its_accents_are_typed(config: Path) -> None:
    assert load(config, user="Rene\u0301").user == "Ren\u00e9"


@given(st.text(min_size=1))
def test_any_accepted_user_is_one_directory_below_the_users(name: str) -> None:
    try:
        user = ROWS["user"].parse(name)
    except ValueError:
        return
    assert os.path.normpath(f"/users/{user}") == f"/users/{user}"
    assert Path("/users", user).parent == Path("/users")


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IN_FILE)
def test_what_is_set_is_read_back(config: Path, name: str) -> None:
    good, value, _ = SAMPLES[name]
    set_value(config, name, good)
    assert getattr(load(config, environ={"MEMCLI_DATA_DIR": ""}), ROWS[name].field) == value


@pytest.mark.parametrize("name", IN_FILE)
@pytest.mark.parametrize("empty", [True, False])
def test_a_bad_value_is_not_written(config: Path, name: str, empty: bool) -> None:
    with pytest.raises(UsageError, match=f"{name} cannot be"):
        set_value(config, name, "" if empty else SAMPLES[name][2])
    assert not config.exists()


@pytest.mark.parametrize(("name", "hint"), [("usr", "did you mean user?"), ("now", "settings:")])
def test_an_unknown_setting_is_not_written(config: Path, name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        set_value(config, name, "x")
    assert hint in caught.value.hint


def test_setting_and_unsetting_keep_comments_and_the_rest(config: Path) -> None:
    config.write_text("# mine\nk = 3  # few\n\n# colours\ncolor = 'never'\n", encoding="utf-8")
    set_value(config, "k", "4")
    assert config.read_text("utf-8") == "# mine\nk = 4  # few\n\n# colours\ncolor = 'never'\n"
    assert unset(config, "k")
    assert config.read_text("utf-8") == "# mine\n\n# colours\ncolor = 'never'\n"


def test_a_setting_in_a_table_is_set_and_unset_beside_the_others(config: Path) -> None:
    config.write_text("k = 3\n\n[chat]\n# mine\nhistory = 'summary'\n", encoding="utf-8")
    set_value(config, "chat.ab", "0.2")
    assert config.read_text("utf-8") == "k = 3\n\n[chat]\n# mine\nhistory = 'summary'\nab = 0.2\n"
    assert unset(config, "chat.ab")
    assert not unset(config, "chat.ab")
    assert config.read_text("utf-8") == "k = 3\n\n[chat]\n# mine\nhistory = 'summary'\n"


def test_an_unknown_key_can_be_taken_out(config: Path) -> None:
    config.write_text("budgte = 3\nk = 3\n", encoding="utf-8")
    assert unset(config, "budgte")
    assert load(config).k == 3


def test_taking_out_what_is_not_there_changes_nothing(config: Path) -> None:
    assert not unset(config, "k")
    assert not config.exists()


def test_the_file_is_private_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    config = tmp_path / "new" / "config.toml"
    set_value(config, "user", "ana")
    assert config.stat().st_mode & 0o777 == 0o600
    assert config.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in config.parent.iterdir()] == ["config.toml"]


def test_a_link_stays_a_link(tmp_path: Path, config: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("k = 3\n", encoding="utf-8")
    config.symlink_to(real)
    set_value(config, "k", "4")
    assert config.is_symlink()
    assert tomllib.loads(real.read_text("utf-8")) == {"k": 4}


def test_a_full_disk_leaves_the_file_as_it_was(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    config.write_text("k = 3\n", encoding="utf-8")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        set_value(config, "k", "4")
    assert [(path.name, path.read_text("utf-8")) for path in config.parent.iterdir()] == [
        ("config.toml", "k = 3\n")
    ]


# --- light ----------------------------------------------------------------------------------------


def test_reading_settings_loads_no_library_that_is_not_needed(config: Path) -> None:
    program = (
        "import sys; from memcli.config import load_settings; import os\n"
        "load_settings({}, environ=os.environ)\n"
        "print({'platformdirs', 'tomlkit', 'tomllib', 'difflib', 'zoneinfo', 'tempfile'} & set(sys.modules))"
    )
    environ = os.environ | {"MEMCLI_CONFIG": str(config), "MEMCLI_DATA_DIR": str(config.parent)}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
