"""Settings: flag > MEMCLI_* > config.toml > default, each with its origin."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.atomic import write_atomically, writing_to
from memcli.errors import UsageError
from memcli.times import parse_file_time
from memcli.types import Millis
from memcli.weights import HALF_LIFE_DAYS, half_lives

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

CONFIG_VARIABLE = "MEMCLI_CONFIG"
"""The variable that says where config.toml is, when it is not in the platform's place."""

PASSPHRASE_VARIABLE = "MEMCLI_PASSPHRASE"  # noqa: S105 - a name, not a word
"""What encrypts and opens a backup, for scripts: read where it is used, and never shown."""

_MAX_NAME_BYTES = 255
"""What a directory's name may have on the file systems in use."""


# --- what a value may be: text → value, or ValueError ---------------------------------------------


def user_name(text: str) -> str:
    """The name of a user as that of a directory. Raises ValueError for one that leads elsewhere."""
    import unicodedata

    name = unicodedata.normalize("NFC", text)
    # A user is a directory: letters of any script with their marks, digits, and nothing that a path minds.
    fits = all(letter in "-_." or unicodedata.category(letter)[0] in "LMN" for letter in name)
    if not fits or name[:1] in (".", "-", "") or len(name) > 64 or len(name.encode()) > _MAX_NAME_BYTES:
        raise ValueError(text)
    return name


def _label(text: str) -> str:
    # One line of text: no control characters, line ends or halves of a character.
    return _matching(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+", text.strip())


def _directory(text: str) -> Path:
    if not text:
        raise ValueError(text)
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:  # "~" without a home
        raise ValueError(text) from error


def _embedder(text: str) -> str:
    return _matching(r"builtin|none|ollama:\S+", text)


def _color(text: str) -> str:
    return _matching(r"auto|always|never", text)


def _word(text: str) -> str:
    return _matching(r"\S+", text)


def _url(text: str) -> str:
    return _matching(r"https?://[^\s/]\S*", text)


def _keep_alive(text: str) -> str | int:
    # Ollama takes a number as seconds, and a text only with a unit.
    word = _matching(r"-?(\d+|(\d+(\.\d+)?(ms|s|m|h))+)", text)
    return int(word) if word.removeprefix("-").isdigit() else word


def _matching(pattern: str, text: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError(text)
    return text


def _clock(text: str) -> Millis:
    at = parse_file_time(text)
    if at is None:
        raise ValueError(text)
    return at


def _whole_number(text: str, *, least: int) -> int:
    number = int(text)
    if number < least:
        raise ValueError(text)
    return number


def _tokens(text: str) -> int:
    return _whole_number(text, least=0)


def _count(text: str) -> int:
    return _whole_number(text, least=1)


def _context_tokens(text: str) -> int:
    return _whole_number(text, least=512)


def _seconds(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or number < 0:
        raise ValueError(text)
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise ValueError(text)
    return number


_SWITCH = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


def _switch(text: str) -> bool:
    if text.casefold() not in _SWITCH:
        raise ValueError(text)
    return _SWITCH[text.casefold()]


def _days_by_kind(text: str) -> str:
    half_lives(text)
    return text


def _history(text: str) -> str:
    return _matching(r"buffer|window:[1-9][0-9]{0,5}|summary", text)


# --- the table ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: a setting, where it is read from and what it may be.

    A dot in the name is a table in the file (`chat.ab` is `ab` under `[chat]`). `variables` are asked in
    order; `parse` raises ValueError for what is not as `expects` says;
    `default` is a value, or a function that finds it when it is needed.
    """

    name: str
    variables: tuple[str, ...]
    parse: Callable[[str], Any]
    default: Any
    expects: str
    help: str
    in_file: bool = True

    @property
    def field(self) -> str:
        """The field of Settings: `chat_ab` of `chat.ab`."""
        return self.name.replace(".", "_")

    @property
    def flag(self) -> str:
        """The option of a command that stands above it: `--model` of `chat.model`."""
        return "--" + self.name.rpartition(".")[2].replace("_", "-")


def _default_data_dir() -> Path:
    import platformdirs

    return _platform_directory(platformdirs.user_data_dir)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "user",
        ("MEMCLI_USER",),
        user_name,
        "default",
        "a name of letters, digits, - _ and ., at most 64, not beginning with . or -",
        "whose memories: users are stored apart on disk",
    ),
    Setting(
        "project",
        ("MEMCLI_PROJECT",),
        _label,
        None,
        "a label in one line",
        "the label of new memories, and which are read besides the unlabelled; not for forget and export",
    ),
    Setting(
        "data_dir",
        ("MEMCLI_DATA_DIR",),
        _directory,
        _default_data_dir,
        "a directory",
        "where memories are kept; by default the platform's user data directory",
    ),
    Setting(
        "recall.half_life_days",
        ("MEMCLI_HALF_LIFE_DAYS",),
        _days_by_kind,
        ",".join(f"{kind}={days:g}" for kind, days in HALF_LIFE_DAYS.items()),
        "kinds and days such as episode=90,fact=0; 0 does not age",
        "after how many days a memory counts half as recent: of two that answer alike the newer is first",
    ),
    Setting(
        "embedder",
        ("MEMCLI_EMBEDDER",),
        _embedder,
        None,
        "builtin, ollama:MODEL or none",
        "what makes vectors of a new store; by default Ollama if it has an embedding model, else builtin",
    ),
    Setting(
        "ollama_host",
        ("MEMCLI_OLLAMA_HOST", "OLLAMA_HOST"),
        _word,
        "http://127.0.0.1:11434",
        "an address such as http://127.0.0.1:11434",
        "where Ollama answers",
    ),
    Setting(
        "now",
        ("MEMCLI_NOW",),
        _clock,
        None,
        "a time in ISO 8601 such as 2026-03-01T09:00:00Z",
        "the clock, for replays and tests; by default the machine's",
        in_file=False,
    ),
    Setting(
        "budget",
        ("MEMCLI_BUDGET",),
        _tokens,
        800,
        "a whole number of tokens, 0 or more",
        "tokens that the injected memories may take",
    ),
    Setting(
        "k",
        ("MEMCLI_K",),
        _count,
        10,
        "a whole number, 1 or more",
        "how many memories recall answers at most",
    ),
    Setting(
        "embed_timeout_s",
        ("MEMCLI_EMBED_TIMEOUT_S",),
        _seconds,
        60.0,
        "a number of seconds",
        "seconds to wait for vectors from a model",
    ),
    Setting(
        "lock_timeout_s",
        ("MEMCLI_LOCK_TIMEOUT_S",),
        _seconds,
        60.0,
        "a number of seconds",
        "seconds to wait for another process that writes",
    ),
    Setting(
        "chat.model",
        ("MEMCLI_CHAT_MODEL",),
        _word,
        None,
        "the name of a model",
        "the model that answers in chat; by default the person picks one of the installed",
    ),
    Setting(
        "chat.base_url",
        ("MEMCLI_CHAT_BASE_URL",),
        _url,
        None,
        "an address such as http://127.0.0.1:8000/v1",
        "an OpenAI-compatible server that answers in place of Ollama; needs memcli[openai]",
    ),
    Setting(
        "chat.num_ctx",
        ("MEMCLI_CHAT_NUM_CTX",),
        _context_tokens,
        None,
        "a whole number of tokens, 512 or more",
        "tokens for prompt and answer; by default what the model's Modelfile says, else at most 8192",
    ),
    Setting(
        "chat.keep_alive",
        ("MEMCLI_CHAT_KEEP_ALIVE",),
        _keep_alive,
        None,
        "a time such as 30m, a number of seconds, or -1 for ever",
        "how long Ollama keeps the model loaded after an answer; by default as the server is set",
    ),
    Setting(
        "chat.timeout_s",
        ("MEMCLI_CHAT_TIMEOUT_S",),
        _seconds,
        300.0,
        "a number of seconds",
        "seconds that a chat model may be silent, also while it is loaded",
    ),
    Setting(
        "learn.model",
        ("MEMCLI_LEARN_MODEL",),
        _word,
        None,
        "the name of a model, or none",
        "the model that learns what rules do not see; by default the one that answers in chat",
    ),
    Setting(
        "memory",
        ("MEMCLI_MEMORY",),
        _switch,
        True,
        "on or off",
        "whether a chat is given memories and learns; off stops both at once",
    ),
    Setting(
        "chat.history",
        ("MEMCLI_CHAT_HISTORY",),
        _history,
        "buffer",
        "buffer, window:N or summary",
        "what of a conversation is sent along: all that fits, N exchanges, or the last ones and a summary",
    ),
    Setting(
        "chat.thinking",
        ("MEMCLI_CHAT_THINKING",),
        _switch,
        True,
        "on or off",
        "whether what a model says to itself is shown, dimmed, until it answers",
    ),
    Setting(
        "chat.ab",
        ("MEMCLI_CHAT_AB",),
        _share,
        0.0,
        "a share from 0 to 1",
        "the share of answers that go without memory, for `memcli stats` to compare",
    ),
    Setting("color", ("MEMCLI_COLOR",), _color, "auto", "auto, always or never", "colour on a terminal"),
)

_BY_NAME = {setting.name: setting for setting in SETTINGS}


API_KEY_VARIABLE = "MEMCLI_CHAT_API_KEY"
"""The key of an OpenAI-compatible server: no setting, so that it is never shown and stands in no file."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting's value; what it is and may be stands in SETTINGS.

    `origins` says of each where it came from: "--user" (a flag), "MEMCLI_USER", the path of the config
    file, or "default".
    """

    user: str
    project: str | None
    data_dir: Path
    recall_half_life_days: str
    embedder: str | None
    ollama_host: str
    now: Millis | None
    budget: int
    k: int
    embed_timeout_s: float
    lock_timeout_s: float
    chat_model: str | None
    chat_base_url: str | None
    chat_num_ctx: int | None
    chat_keep_alive: str | int | None
    chat_timeout_s: float
    learn_model: str | None
    memory: bool
    chat_history: str
    chat_thinking: bool
    chat_ab: float
    color: str
    origins: Mapping[str, str]
    config_path: Path

    @property
    def project_flag(self) -> str | None:
        """The project where a flag named it: forget and export take it from nowhere else."""
        return self.project if self.origins["project"].startswith("--") else None


# --- reading --------------------------------------------------------------------------------------


def load_settings(flags: Mapping[str, object], *, environ: Mapping[str, str]) -> Settings:
    """The settings in force.

    Args:
        flags: what the command line says, by setting's name; None and "" count as not said.
        environ: the environment's variables. The platform's directories are found by `platformdirs`, from
            the process's own.

    Raises:
        UsageError: a bad value, an unknown key in the file, a misspelt variable, an unreadable file, or
            no home.
    """
    _refuse_misspelt(environ)
    path = config_path(environ)
    file = _read_file(path)
    values, origins = {}, {}
    for setting in SETTINGS:
        values[setting.field], origins[setting.name] = _find(
            setting, _places(setting, flags, environ, file, path)
        )
    return Settings(**values, origins=origins, config_path=path)


def config_path(environ: Mapping[str, str]) -> Path:
    """Where config.toml is or would be. Raises UsageError when there is no home."""
    named = environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named).absolute()
    import platformdirs

    return _platform_directory(platformdirs.user_config_dir) / "config.toml"


def _platform_directory(find: Callable[..., str]) -> Path:
    try:
        path = Path(find("memcli", appauthor=False))
    except RuntimeError:
        path = Path()
    if not path.is_absolute():
        raise UsageError(
            "this machine names no home directory", f"set HOME, or MEMCLI_DATA_DIR and {CONFIG_VARIABLE}"
        )
    return path


def _places(
    setting: Setting,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    file: Mapping[str, object],
    path: Path,
) -> Iterator[tuple[str, object]]:
    """Where the setting may stand, in order of precedence: (origin, what stands there)."""
    yield setting.flag, flags.get(setting.name)
    for variable in setting.variables:
        yield variable, environ.get(variable)
    yield str(path), file.get(setting.name)


def _find(setting: Setting, places: Iterator[tuple[str, object]]) -> tuple[Any, str]:
    for origin, raw in places:
        if raw is not None and raw != "":
            return _parse(setting, raw, origin), origin
    return setting.default() if callable(setting.default) else setting.default, "default"


def _parse(setting: Setting, raw: object, origin: str) -> Any:
    try:
        is_plain = isinstance(raw, (str, int, float, Path))
        if is_plain and (setting.parse is _switch or not isinstance(raw, bool)):
            return setting.parse(str(raw))
    except ValueError:
        pass
    raise UsageError(f"{setting.name} cannot be {raw!r} (from {origin})", f"it is {setting.expects}")


def _read_file(path: Path) -> Mapping[str, object]:
    text = _read_text(path)
    if not text:
        return {}
    import tomllib

    try:
        file = dict(_flat(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}", "correct the line, or move the file away") from error
    for name in file:
        if name not in _BY_NAME or not _BY_NAME[name].in_file:
            raise _unknown(name, f"in {path}")
    return file


def _flat(file: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The keys with the tables they stand in: `chat.ab`."""
    tables = {name.partition(".")[0] for name in _BY_NAME if "." in name}
    for name, value in file.items():
        if name in tables and isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", deep) for inner, deep in value.items())
        else:
            yield name, value


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", f"mend it, or set {CONFIG_VARIABLE}"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", "save it as UTF-8") from error


def _unknown(name: str, where: str) -> UsageError:
    names = [setting.name for setting in SETTINGS if setting.in_file]
    like = _like(name, names)
    return UsageError(
        f"no setting is called {name!r} ({where})",
        f"did you mean {like}?" if like else "settings: " + ", ".join(names),
    )


def _refuse_misspelt(environ: Mapping[str, str]) -> None:
    # A variable that resembles none of ours is somebody else's, and left alone.
    ours = {variable for setting in SETTINGS for variable in setting.variables}
    ours |= {CONFIG_VARIABLE, API_KEY_VARIABLE, PASSPHRASE_VARIABLE}
    for variable, value in environ.items():
        if value and variable.startswith("MEMCLI_") and variable not in ours:
            like = _like(variable.removeprefix("MEMCLI_"), [name.removeprefix("MEMCLI_") for name in ours])
            if like:
                raise UsageError(f"no setting is read from {variable}", f"did you mean MEMCLI_{like}?")


def _like(word: str, words: list[str]) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(word, words, n=1, cutoff=0.75)), None)


# --- writing --------------------------------------------------------------------------------------


def set_value(path: Path, name: str, value: str) -> None:
    """Write one setting into the config file, keeping its comments; made when there is none.

    Raises:
        UsageError: no such setting, a bad value, or a file that is not TOML.
        StoreError: the file cannot be written.
    """
    setting = _BY_NAME.get(name)
    if setting is None or not setting.in_file:
        raise _unknown(name, "to be set")
    parsed = _parse(setting, value, "the command line")
    document = _read_document(path)
    table, key = _place_of(document, name, make=True)
    table[key] = parsed if isinstance(parsed, (int, float)) else str(parsed)
    _write_document(path, document)


def unset(path: Path, name: str) -> bool:
    """Take one key out of the config file, an unknown one too; False when it is not there.

    Raises:
        UsageError: a file that is not TOML.
        StoreError: the file cannot be written.
    """
    document = _read_document(path)
    table, key = _place_of(document, name, make=False)
    if key not in table:
        return False
    del table[key]
    _write_document(path, document)
    return True


def _place_of(document: TOMLDocument, name: str, *, make: bool) -> tuple[Any, str]:
    """The table that a setting stands in, and its key there."""
    table, _, key = name.rpartition(".")
    if isinstance(document.get(table), Mapping):
        return document[table], key
    if not table or not make:
        return document, name
    import tomlkit

    document[table] = tomlkit.table()
    return document[table], key


def _read_document(path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        return tomlkit.parse(_read_text(path))
    except ParseError as error:
        raise UsageError(f"{path} is not TOML: {error}", "correct the line, or move the file away") from error


def _write_document(path: Path, document: TOMLDocument) -> None:
    with writing_to(str(path)):
        path.resolve().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, lambda stream: stream.write(document.as_string().encode()))
