"""Ollama: where it is, which models it has, and its embeddings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memcli.errors import ModelError, UsageError
from memcli.models.vectors import batches, mean, pieces, unit
from memcli.text import clean
from memcli.types import Vector

if TYPE_CHECKING:
    import ollama

DEFAULT_HOST = "http://127.0.0.1:11434"

BATCH = 16
"""Texts for one request: the server embeds them one after the other anyway."""

MIN_CHARS = 64
"""A text as short as this that is still too long for the model is an error, and no longer halved."""

PROBE_S = 1.0
CONNECT_S = {True: 2.0, False: 10.0}
"""By whether the server is on this machine."""


# --- what is known of models ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Family:
    """Embedding models of one name, and what they want in front of a question and of a text."""

    name: str
    query: str = ""
    document: str = ""


_SEARCH = "Represent this sentence for searching relevant passages: "

FAMILIES = (
    Family("bge-m3"),
    Family(
        "qwen3-embedding",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
    ),
    Family("embeddinggemma", "task: search result | query: ", "title: none | text: "),
    Family("snowflake-arctic-embed2", "query: "),
    Family("e5", "query: ", "passage: "),
    Family("nomic-embed-text", "search_query: ", "search_document: "),
    Family("mxbai-embed-large", _SEARCH),
    Family("snowflake-arctic-embed", _SEARCH),
    Family("all-minilm"),
)
"""From the model cards; the one to take first for a new store comes first: many languages, long texts.
The server puts no prefix in front by itself."""


def family_of(model: str) -> Family | None:
    """The known family that a model's name says: nomic-embed-text of "hf.co/…/nomic-embed-text-v1.5-GGUF"."""
    bare = model.casefold().rpartition("/")[2].partition(":")[0]
    return next((family for family in FAMILIES if f"-{family.name}-" in f"-{bare}-"), None)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model as the server lists it; `is_remote` means that its texts leave the machine of the server."""

    name: str
    digest: str
    size_bytes: int
    is_embedding: bool
    is_remote: bool

    @property
    def short_name(self) -> str:
        """Its name without the tag that is implied."""
        return self.name.removesuffix(":latest")


def is_same_model(one: str, other: str) -> bool:
    """Whether two names mean the same model: the tag "latest" is implied, case does not count."""
    return _full_name(one) == _full_name(other)


def _full_name(model: str) -> str:
    name = model.casefold()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _to_model(entry: Mapping[str, Any]) -> ModelInfo:
    """A model from an entry of /api/tags."""
    name, details = str(entry["name"]), entry.get("details") or {}
    # Servers have listed an imported BERT as "completion" only.
    is_bert = "bert" in str(details.get("family"))
    is_cloud = name.casefold().removesuffix(":latest").endswith("cloud")
    return ModelInfo(
        name=name,
        digest=str(entry["digest"]).removeprefix("sha256:"),
        size_bytes=int(entry.get("size") or 0),
        is_embedding=bool(family_of(name)) or is_bert or "embedding" in (entry.get("capabilities") or ()),
        is_remote=is_cloud or bool(entry.get("remote_host") or entry.get("remote_model")),
    )


# --- where the server is --------------------------------------------------------------------------


def to_url(host: str | None) -> str:
    """The server's address out of OLLAMA_HOST, in the forms that the server itself takes.

    Quotes and spaces around it are dropped, a bare IPv6 address is put in brackets, and the address to
    listen on everywhere becomes the one to call. None and "" are the default.

    Raises:
        UsageError: it is not an address.
    """
    import ipaddress
    from urllib.parse import urlsplit

    text = (host or "").strip(" \t\r\n\"'")
    if not text:
        return DEFAULT_HOST
    with suppress(ValueError):
        text = f"[{ipaddress.IPv6Address(text)}]"
    scheme, _, rest = text.rpartition("://")
    try:
        parts = urlsplit(f"{scheme or 'http'}://{rest}")
        name, port = parts.hostname or "127.0.0.1", parts.port or _PORTS[scheme.casefold()]
    except (ValueError, KeyError) as error:
        raise _not_an_address(text) from error
    # urlsplit drops tabs and line ends in silence.
    if not _NAME.fullmatch(name) or not text.isprintable():
        raise _not_an_address(text)
    name = _CALLED_AS.get(name, name)
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"


_PORTS = {"": 11434, "http": 80, "https": 443}
_NAME = re.compile(r"[\w.:%-]+", re.ASCII)
# Windows cannot call the address that means all interfaces.
_CALLED_AS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


def _not_an_address(text: str) -> UsageError:
    return UsageError(f"OLLAMA_HOST is not an address: {text}", "write it as 127.0.0.1:11434")


def is_loopback(url: str) -> bool:
    """Whether an address as `to_url` gives it is on this machine."""
    import ipaddress
    from urllib.parse import urlsplit

    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def probe(host: str | None, *, timeout_s: float = PROBE_S) -> str:
    """The version of the server that answers there, without loading Ollama's client (0.3 s).

    Raises:
        ModelError: nothing answers in time, or something else does.
        UsageError: `host` is not an address.
    """
    import json
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, build_opener

    url = to_url(host)
    direct = [ProxyHandler({})] if is_loopback(url) else []
    try:
        with build_opener(*direct).open(f"{url}/api/version", timeout=timeout_s) as answer:
            return str(json.load(answer)["version"])
    except (HTTPError, ValueError, TypeError, KeyError) as error:
        raise _nonsense(url) from error
    except (OSError, HTTPException) as error:
        raise _unreachable(url) from error


def list_models(host: str | None, *, timeout_s: float = 5.0) -> list[ModelInfo]:
    """The models that the server has.

    Raises:
        ModelError: the server cannot be reached, or does not answer as Ollama does.
        UsageError: `host` is not an address.
    """
    url = to_url(host)
    client = _connect(url, timeout_s=timeout_s)
    with _translated(url):
        # The client's own list() drops what tells a cloud model from a local one.
        entries = client._request_raw("GET", "/api/tags").json()["models"]  # type: ignore[no-untyped-call]
        return [_to_model(entry) for entry in entries or ()]


# --- embeddings -----------------------------------------------------------------------------------


class OllamaEmbedder:
    """Embeddings of one model of an Ollama server.

    No text is cut in silence: one that the model cannot take whole is halved until it can, and the
    pieces' vectors are averaged.

    Args:
        model: as `list_models` gives it.
        host: OLLAMA_HOST, in any of its forms.
        timeout_s: how long an answer may take; a cold model is loaded first.
        dim: how long the vectors must be; None when that is not known yet.
    """

    def __init__(
        self, model: ModelInfo, *, host: str | None, timeout_s: float = 60.0, dim: int | None = None
    ) -> None:
        self._url = to_url(host)
        self._client = _connect(self._url, timeout_s=timeout_s)
        self._model = model
        self._family = family_of(model.name) or Family(model.name)
        self._dim = dim

    @property
    def name(self) -> str:
        """Such as "ollama:bge-m3@790764642607": another digest is another model."""
        return f"ollama:{self._model.short_name}@{self._model.digest[:12]}"

    @property
    def local(self) -> bool:
        """Whether texts stay on this machine."""
        return is_loopback(self._url) and not self._model.is_remote

    @property
    def dim(self) -> int:
        """How long the vectors are, measured where that is not known yet. Raises ModelError."""
        return self._dim or self.measure()

    def measure(self) -> int:
        """How long a vector is, by asking for one. Raises ModelError."""
        return len(self.embed_query("How long is a vector?"))

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors of texts to be found, in order. Raises ModelError."""
        cleaned = [clean(text) or " " for text in texts]
        return [
            vector
            for batch in batches(cleaned, size=BATCH)
            for vector in self._embed(batch, prefix=self._family.document)
        ]

    def embed_query(self, text: str) -> Vector:
        """The unit vector of a question. Raises ModelError."""
        return self._embed([clean(text) or " "], prefix=self._family.query)[0]

    def _embed(self, texts: Sequence[str], *, prefix: str) -> list[Vector]:
        try:
            return self._ask([prefix + text for text in texts])
        except _RefusedError as refusal:
            if not refusal.is_about_text:
                raise
            if len(texts) > 1:
                # One text fails the whole request: each goes alone.
                return [vector for text in texts for vector in self._embed([text], prefix=prefix)]
            if not refusal.is_too_long or len(texts[0]) <= MIN_CHARS:
                raise
        parts = pieces(texts[0], chars=(len(texts[0]) + 1) // 2)
        return [mean(self._embed(parts, prefix=prefix), weights=[len(part) for part in parts])]

    def _ask(self, texts: Sequence[str]) -> list[Vector]:
        with _translated(self._url, model=self._model.short_name):
            rows = self._client.embed(self._model.name, texts, truncate=False).embeddings
        if len(rows) != len(texts):
            raise ModelError(f"Ollama gave {len(rows)} vectors for {len(texts)} texts")
        return [self._checked(row) for row in rows]

    def _checked(self, row: Sequence[float]) -> Vector:
        self._dim = self._dim or len(row)
        if len(row) != self._dim:
            raise ModelError(
                f"{self._model.short_name} gave {len(row)} numbers in place of {self._dim}",
                "run memcli reembed if the model has changed",
            )
        return unit(row)


def open_ollama(
    model: str, *, host: str | None, timeout_s: float = 60.0, dim: int | None = None
) -> OllamaEmbedder:
    """The embedder of a model by its name.

    Raises:
        ModelError: the server cannot be reached, or does not have the model.
        UsageError: `host` is not an address.
    """
    info = next((info for info in list_models(host) if is_same_model(info.name, model)), None)
    if info is None:
        raise ModelError(f"Ollama does not have {model}", f"run: ollama pull {model}")
    return OllamaEmbedder(info, host=host, timeout_s=timeout_s, dim=dim)


# --- the client and its errors --------------------------------------------------------------------


class _RefusedError(ModelError):
    """The server answered with an error."""

    def __init__(self, status: int, said: str, *, model: str) -> None:
        hint = _HINTS.get(status, "").format(model=model)
        super().__init__(f"Ollama refused ({status}): {said or 'it did not say why'}", hint)
        self.is_about_text = status in {400, 500}
        self.is_too_long = any(words in said for words in _TOO_LONG)


_HINTS = {
    401: "look at OLLAMA_API_KEY",
    403: "look at OLLAMA_HOST, and at the settings of the server",
    404: "run: ollama pull {model}",
    501: "{model} answers but does not embed, choose an embedding model",
    503: "the server is busy, try again later",
}

_TOO_LONG = ("context length", "too large to process")


@contextmanager
def _translated(url: str, *, model: str = "MODEL") -> Iterator[None]:
    """Whatever the client raises, as a ModelError."""
    import httpx
    import ollama

    try:
        yield
    except ollama.ResponseError as error:
        said = " ".join(str(error.error).split())[:200]
        raise _RefusedError(error.status_code, said, model=model) from error
    except httpx.TimeoutException as error:
        raise ModelError(f"Ollama at {url} did not answer in time", "try again, it may be loading") from error
    except (OSError, httpx.HTTPError) as error:
        raise _unreachable(url) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        # Not JSON, JSON of another shape (pydantic's errors are ValueErrors), an error body that is a list.
        raise _nonsense(url) from error


def _unreachable(url: str) -> ModelError:
    return ModelError(f"Ollama does not answer at {url}", "start it with: ollama serve")


def _nonsense(url: str) -> ModelError:
    return ModelError(f"what answers at {url} does not talk like Ollama", "look at OLLAMA_HOST")


def _connect(url: str, *, timeout_s: float) -> ollama.Client:
    """A client for one server; it keeps no connection open."""
    is_near = is_loopback(url)
    try:
        with _environment(**_HARMLESS):
            import httpx
            import ollama
        return ollama.Client(
            url,
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S[is_near])),
            # A proxy would carry texts off the machine, and so would a redirect.
            trust_env=not is_near,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )
    except (ImportError, ValueError, OSError) as error:
        raise ModelError(
            f"the client of Ollama cannot be set up: {error}", "look at OLLAMA_API_KEY and the proxy settings"
        ) from error


_HARMLESS = {
    "OLLAMA_HOST": "",
    "OLLAMA_API_KEY": "",
    "no_proxy": "*",
    "SSL_CERT_FILE": "",
    "SSL_CERT_DIR": "",
}
"""The client builds one for itself when it is imported: a variable that it cannot read (a SOCKS proxy, a
bare IPv6 address) would fail the import, though our own client has no need of it."""


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
