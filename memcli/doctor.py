"""What is well and what is not: the place, the store and the models, one check at a time."""

from __future__ import annotations

import math
import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from memcli import mend
from memcli.config import CONFIG_VARIABLE, load_settings
from memcli.errors import DamagedError, MemcliError, ModelError
from memcli.memory import Memory
from memcli.models.ollama import ModelInfo, is_loopback, list_models, probe, to_url
from memcli.models.ollama_embed import OllamaEmbedder
from memcli.models.pick import ChatPlace, offers, pick_chat
from memcli.models.probes import CHAT_PROBES, LEARN_PROBES, SILENCE_S, Probed
from memcli.store import seal
from memcli.store.copies import size_bytes
from memcli.store.engine import GoneError
from memcli.store.identity import has_wrong_key, is_lost, is_misled, is_torn
from memcli.store.lance import INDEXES, LanceStore
from memcli.store.side import Side
from memcli.types import ChatModel

State: TypeAlias = Literal["ok", "warn", "fail"]

_MB = 1_000_000
_LEAST_FREE_BYTES = 50 * _MB
_GOOD_FREE_BYTES = 500 * _MB
# An erase writes the tables anew before it drops the old ones.
_ROOM_TO_ERASE = 2
_OTHERS_MAY_READ = 0o077
_OTHERS_MAY_WRITE = 0o022
_NAMED = 5
_MANY_UNINDEXED_ROWS = 1_000
_LARGE_UNINDEXED_SHARE = 0.2
# Vectors are float32.
_UNIT_TOLERANCE = 1e-3

_FROM_BACKUP = "put a backup in its place: memcli restore FILE"
LOST = "import or remember again what you have elsewhere, or put a backup in its place: memcli restore FILE"
_FIX = "run: memcli doctor --fix"
_KEEP_HERE = "use a server on this machine, or mark what must stay here with --private"
_PERMISSIONS = "look at the permissions of the data directory, then check again"
_REINDEX = "the next forget builds the indexes anew"


@dataclass(frozen=True, slots=True)
class Check:
    """What was tried, what was found, and what to do about it ("" when all is well)."""

    check: str
    state: State
    found: str
    hint: str


_Finding: TypeAlias = tuple[State, str, str]
"""State, what was found, hint."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is examined."""

    memory: Memory
    config: Path

    @property
    def directory(self) -> Path:
        return self.memory.place.directory

    @property
    def side(self) -> Path:
        return self.directory / "side.db"

    @property
    def has_tables(self) -> bool:
        """Whether there is a directory to connect to: connecting would make it."""
        lance = self.memory.place.lance
        return "://" in lance or Path(lance).is_dir()


@dataclass(frozen=True, slots=True)
class _Row:
    """A check: its name, its function, what helps when an error says nothing better, and what mends it."""

    name: str
    examine: Callable[[_Subject], _Finding]
    hint: str
    mend: Callable[[Memory], mend.Mended] | None = None


@dataclass(frozen=True, slots=True)
class ChatUse:
    """Which chat models are to be tried (chat.model, learn.model), and where they are."""

    model: str | None
    learn_model: str | None
    place: ChatPlace


def checks(memory: Memory, *, config: Path, chat: ChatUse, fix: bool = False) -> Iterator[Check]:
    """Every check, in an order in which one explains the next; nothing is raised.

    Nothing is changed unless `fix`: then what can be mended without loss is, and checked again.

    A store that cannot be read ends the checks: its embedder is not known either. Models are asked fixed
    questions, and only at the hosts that the settings name.

    Args:
        memory: whose place, store and embedder are examined.
        config: where config.toml is or would be.
        chat: the chat models of the settings.
        fix: whether to mend.
    """
    # Every file is looked at here: what is wrong is told and not refused.
    memory.looks_at_rows = False
    subject = _Subject(memory, config)
    for row in _PLACE:
        yield _told(row, subject, fix=fix)
    if subject.side.exists() or Path(memory.place.lance).is_dir():
        for row in _STORE:
            check = _told(row, subject, fix=fix)
            yield check
            if check.state == "fail":
                return
    else:
        yield Check("store", "ok", "no store yet", "")
    for row in _MODELS:
        yield _told(row, subject, fix=False)
    yield from _chat_checks(chat)


def _told(row: _Row, subject: _Subject, *, fix: bool) -> Check:
    check = _checked(row, subject)
    if check.state == "ok" or row.mend is None:
        return check
    if not fix:
        # What only waits for the next command says so itself.
        return check if check.hint != row.hint else replace(check, hint=_FIX)
    try:
        done = row.mend(subject.memory)
    except MemcliError as error:
        return replace(
            check, found=f"{check.found}; not mended: {error.message}", hint=error.hint or check.hint
        )
    after = _checked(row, subject)
    told = f"{done.told} (it was: {check.found})"
    if after.state != "ok":
        return replace(after, found=f"{told}; {after.found}")
    if done.lost:
        return Check(row.name, "warn", f"{told}; {done.lost}", LOST)
    return replace(after, found=told)


def _checked(row: _Row, subject: _Subject) -> Check:
    try:
        return Check(row.name, *_examined(row, subject))
    except MemcliError as error:
        # "Run the doctor" is no advice from the doctor.
        hint = row.hint if "memcli doctor" in error.hint else error.hint
        return Check(row.name, "fail", error.message, hint or row.hint)
    except (OSError, ValueError, LookupError) as error:
        return Check(row.name, "fail", str(error), row.hint)


def _examined(row: _Row, subject: _Subject) -> _Finding:
    try:
        return row.examine(subject)
    except GoneError:
        # Another process may have replaced the tables at this moment.
        return row.examine(subject)


# --- the place ------------------------------------------------------------------------------------


def _data_directory(subject: _Subject) -> _Finding:
    directory = subject.directory
    if not directory.exists():
        above = _nearest(directory)
        if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
            return "ok", f"{directory} can be made", ""
        return "fail", f"{directory} cannot be made in {above}", "choose another with --data-dir"
    if not directory.is_dir() or not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        return "fail", f"{directory} cannot be written", "mend its permissions, or choose another --data-dir"
    status = directory.stat()
    if status.st_uid != os.getuid():
        return (
            "warn",
            f"{directory} belongs to another user (uid {status.st_uid})",
            "make it yours with chown",
        )
    mode = status.st_mode & 0o777
    if mode & _OTHERS_MAY_READ:
        told = f"others on this machine may look into {directory} (mode {mode:04o})"
        return "warn", told, f"run: chmod 700 {shlex.quote(str(directory))}"
    return "ok", f"{directory}, yours alone", ""


def _config_file(subject: _Subject) -> _Finding:
    path = subject.config
    if not path.exists():
        return "ok", f"none at {path}", ""
    # The variable of the data directory, so that a machine without a home is no fault of the file.
    load_settings({}, environ={CONFIG_VARIABLE: str(path), "MEMCLI_DATA_DIR": str(subject.directory)})
    mode = path.stat().st_mode & 0o777
    if mode & _OTHERS_MAY_WRITE:
        told = f"others on this machine may change {path} (mode {mode:04o})"
        return "warn", told, f"run: chmod 600 {shlex.quote(str(path))}"
    return "ok", str(path), ""


def _disk_space(subject: _Subject) -> _Finding:
    free, size = shutil.disk_usage(_nearest(subject.directory)).free, size_bytes(subject.directory)
    told = f"{free / _MB:,.0f} MB free, the store takes {size / _MB:,.1f} MB"
    if free < _LEAST_FREE_BYTES:
        return "fail", told, "free some space on this disk before anything is written"
    if free < max(_GOOD_FREE_BYTES, _ROOM_TO_ERASE * size):
        return "warn", told, "free some space: erasing writes the store anew beside the old one"
    return "ok", told, ""


def _lock(subject: _Subject) -> _Finding:
    import fcntl

    path = subject.directory / ".lock"
    if not path.exists():
        return "ok", "free", ""
    # For reading and shared: nothing is written, and a waiting writer tries again at once.
    with path.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return "warn", "another memcli is writing now", "wait for it to end, then check again"
    return "ok", "free", ""


def _nearest(path: Path) -> Path:
    """The path, or the nearest above it that is there."""
    return next(place for place in (path, *path.parents) if place.exists())


# --- the store ------------------------------------------------------------------------------------


def _side_store(subject: _Subject) -> _Finding:
    place = subject.memory.place
    if is_lost(subject.side, place.lance):
        return "fail", f"{subject.side} is missing or empty: without it no memory is found", _FIX
    with closing(Side(subject.side, writable=False)) as side:
        fault = side.check() or _lost_of(subject, side)
    return ("fail", f"{subject.side} is damaged: {fault}", _FIX) if fault else ("ok", "sound", "")


def _lost_of(subject: _Subject, side: Side) -> str | None:
    """What the side store has lost of itself, though all of it can be read."""
    store = LanceStore(subject.memory.place.lance, side)
    if is_torn(subject.directory, store.state):
        return "what was written last is lost"
    if not _agrees(subject, store, side):
        return "what it says of the tables is not what it said before"
    # Tables that cannot be opened are the next check's.
    with suppress(DamagedError, GoneError):
        if has_wrong_key(subject.directory, store):
            return "the key that memories are known by is lost"
    return None


def _agrees(subject: _Subject, store: LanceStore, side: Side) -> bool:
    """Whether what the side store says of the tables fits together, and leads to them."""
    while True:
        before, sums = store.state, side.sums()
        agrees = seal.agree(before.seals, sums) and not is_misled(subject.directory, store)
        store.refresh()
        # Another process may have written between the two looks.
        if store.state == before:
            return agrees


def _tables(subject: _Subject) -> _Finding:
    store = subject.memory.read()
    names = store.in_use()
    if names and not subject.has_tables:
        return "fail", f"{subject.memory.place.lance} is missing", _FROM_BACKUP
    told = []
    for name in names:
        table = store.table(name)
        # The column of keys is read through: that opens every file of the table.
        rows = sum(batch.num_rows for batch in table.scan(["key"]))
        for batch in table.scan(table.columns(), limit=1):
            batch.to_pylist()
        told.append(f"{name} ({rows:,} rows)")
    return "ok", ", ".join(told) or "nothing is stored yet", ""


def _files(subject: _Subject) -> _Finding:
    faults = mend.faults(subject.memory)
    if not faults:
        return "ok", "every file is what was written", ""
    told = "; ".join(f"{fault.file} {fault.why}" for fault in faults[:_NAMED])
    more = f"; and {len(faults) - _NAMED:,} more" if len(faults) > _NAMED else ""
    return "fail", told + more, _FIX


def _left_over(subject: _Subject) -> _Finding:
    store = subject.memory.read()
    left = sorted(set(store.database.table_names()) - set(store.in_use())) if subject.has_tables else []
    if left:
        return "warn", f"tables that are no longer used: {', '.join(left)}", "the next forget drops them"
    return "ok", "none", ""


def _unfinished(subject: _Subject) -> _Finding:
    state = subject.memory.read().state
    hint = "the next command that writes finishes it, such as remember"
    if state.erasing:
        return "warn", f"{len(state.erasing):,} forgotten memories are hidden and still on disk", hint
    if state.rebuild:
        return "warn", "the tables wait to be written anew for this version", hint
    return "ok", "nothing", ""


def _indexes(subject: _Subject) -> _Finding:
    store = subject.memory.read()
    if store.state.memories is None:
        return "ok", "none needed yet", ""
    table = store.table(store.state.memories)
    rows = table.count()
    unindexed = {column: index.num_unindexed_rows for index in table.indexes() for column in index.columns}
    missing = [column for column in INDEXES if column not in unindexed]
    if missing:
        return "warn", f"no index of {', '.join(missing)}", f"recall is slower; {_REINDEX}"
    waiting = max(unindexed[column] or 0 for column in INDEXES)
    told = f"{', '.join(INDEXES)}; {waiting:,} of {rows:,} rows not in them yet"
    if waiting > max(_MANY_UNINDEXED_ROWS, _LARGE_UNINDEXED_SHARE * rows):
        return "warn", told, "recall finds them, and is slower; further writes index them"
    return "ok", told, ""


def _vectors(subject: _Subject) -> _Finding:
    if subject.memory.place.embedder == "none":
        return "ok", "none are wanted", ""
    store = subject.memory.read()
    bound = store.state.embedder
    waiting = len(store.pending(bound or "", private=_is_local(subject)))
    if waiting:
        choice = "builtin" if (bound or "").startswith("builtin:") else (bound or "").partition("@")[0]
        told = f"{waiting:,} passages have no vector and are found by their words only"
        return "warn", told, f"run: memcli reembed {choice}".rstrip()
    return "ok", "every passage that may have one has its vector", ""


def _is_local(subject: _Subject) -> bool:
    """Whether private memories are embedded too; supposed where the embedder cannot be asked."""
    try:
        embedder = subject.memory.pick(subject.memory.read()).embedder
    except MemcliError:
        return True
    return embedder is None or embedder.local


# --- the models -----------------------------------------------------------------------------------


def _embedder(subject: _Subject) -> _Finding:
    store = subject.memory.read()
    bound = store.state.embedder
    try:
        picked = subject.memory.pick(store)
        if picked.embedder is None:
            return "ok", f"{picked.why}: recall asks keywords only", ""
        vector = picked.embedder.embed_query("Is all well?")
    except ModelError as error:
        hint = error.hint or "until it answers, recall asks keywords only"
        return "warn", f"{bound or 'an embedder for a new store'}: {error.message}", hint
    name, dim = picked.embedder.name, picked.embedder.dim
    wanted = (store.dim(bound) if bound else None) or dim
    if len(vector) != wanted or abs(math.hypot(*vector) - 1) > _UNIT_TOLERANCE:
        told = (
            f"{name} gave {len(vector)} numbers of length {math.hypot(*vector):.3f}, not {wanted} of length 1"
        )
        return "fail", told, "make the vectors anew with `memcli reembed`"
    return "ok", f"{name}, {dim} numbers a vector ({picked.why})", ""


def _truncation(subject: _Subject) -> _Finding:
    try:
        embedder = subject.memory.pick(subject.memory.read()).embedder
        if not isinstance(embedder, OllamaEmbedder):
            return "ok", "not used: texts are cut into pieces that fit before they are embedded", ""
        read, trained = embedder.measure_limit()
    except MemcliError:
        return "ok", _NOT_ASKED, ""
    if read is None:
        return "ok", f"{embedder.name} does not tell", ""
    less = f" of the {trained:,} it was made for" if trained and read < trained else ""
    return "ok", f"{embedder.name} reads {read:,} tokens{less}; a longer text is embedded in parts", ""


def _ollama(subject: _Subject) -> _Finding:
    place = subject.memory.place
    url = to_url(place.ollama_host)
    chosen = subject.memory.read().state.embedder or place.embedder or ""
    try:
        version = probe(url)
        models = list_models(url)
    except ModelError as error:
        if chosen.startswith("ollama:"):
            return "warn", f"{error.message}, and vectors come from {chosen}", error.hint
        return "ok", f"not running at {url}", ""
    told = f"{version} at {url}: {', '.join(map(_model_told, models)) or 'no models'}"
    if not is_loopback(url):
        return "warn", f"{told}; texts leave this machine", _KEEP_HERE
    return "ok", told, ""


def _model_told(model: ModelInfo) -> str:
    marks = [mark for mark, is_so in (("embeds", model.is_embedding), ("remote", model.is_remote)) if is_so]
    return f"{model.short_name} ({', '.join(marks)})" if marks else model.short_name


# --- chat models ----------------------------------------------------------------------------------

_NOT_ASKED = "not used: there is no model that answers"
_CHOOSE_CHAT = "look at chat.model, chat.base_url and OLLAMA_HOST"


def _chat_checks(chat: ChatUse) -> Iterator[Check]:
    model, check = _opened("chat model", chat.model, chat)
    yield check
    learner = model
    if chat.learn_model:
        learner, check = _opened("learning model", chat.learn_model, chat)
        yield check
    for probed, probes in ((model, CHAT_PROBES), (learner, LEARN_PROBES)):
        for name, ask in probes.items():
            yield _probed(name, ask, probed) if probed else Check(name, "ok", _NOT_ASKED, "")


def _opened(name: str, wanted: str | None, chat: ChatUse) -> tuple[ChatModel | None, Check]:
    place = replace(chat.place, timeout_s=min(chat.place.timeout_s, SILENCE_S))
    try:
        if not wanted:
            return None, Check(name, "ok", f"none is set; {_offered(place)}", "")
        model = pick_chat(wanted, place)
    except MemcliError as error:
        return None, Check(name, "warn", error.message, error.hint or _CHOOSE_CHAT)
    told = f"{model.name} at {model.host}, {model.num_ctx:,} tokens of context"
    if not model.local:
        return model, Check(name, "warn", f"{told}; what is said leaves this machine", _KEEP_HERE)
    return model, Check(name, "ok", told, "")


def _offered(place: ChatPlace) -> str:
    try:
        return f"there are: {', '.join(offer.name for offer in offers(place)) or 'none'}"
    except ModelError as error:
        return error.message


def _probed(name: str, ask: Callable[[ChatModel], Probed], model: ChatModel) -> Check:
    try:
        probed = ask(model)
    except ModelError as error:
        return Check(name, "warn", error.message, error.hint or _CHOOSE_CHAT)
    return Check(name, "warn" if probed.hint else "ok", f"{model.name} {probed.found}", probed.hint)


# --- the table ------------------------------------------------------------------------------------

_PLACE = (
    _Row("data directory", _data_directory, _PERMISSIONS, mend.permissions),
    _Row("config file", _config_file, "mend the file, or move it away"),
    _Row("disk space", _disk_space, _PERMISSIONS),
    _Row("lock", _lock, _PERMISSIONS),
)
_STORE = (
    _Row("side store", _side_store, _FIX, mend.side_store),
    _Row("tables", _tables, _FIX, mend.tables),
    _Row("files", _files, _FIX, mend.files),
    _Row("left-over tables", _left_over, _PERMISSIONS, mend.left_over),
    _Row("unfinished work", _unfinished, _PERMISSIONS, mend.unfinished),
    _Row("indexes", _indexes, _REINDEX, mend.indexes),
    _Row("vectors", _vectors, "make the vectors anew with `memcli reembed`", mend.vectors),
)
_MODELS = (
    _Row("embedder", _embedder, "choose another with `memcli reembed`"),
    _Row("truncation", _truncation, "choose another with `memcli reembed`"),
    _Row("Ollama", _ollama, "look at OLLAMA_HOST and ollama_host"),
)
