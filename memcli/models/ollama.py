"""Ollama's server: where it is, which models it has, how it is called and what its errors mean."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memcli.errors import ModelError, UsageError
from memcli.models.families import family_of
from memcli.models.lines import Lines
from memcli.text import regex

if TYPE_CHECKING:
    import ollama

DEFAULT_HOST = "http://127.0.0.1:11434"

PROBE_S = 1.0
CONNECT_S = {True: 2.0, False: 10.0}
"""By whether the server is on this machine."""


# --- what it has ----------------------------------------------------------------------------------


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
_NAME = regex(r"[\w.:%-]+", re.ASCII)
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
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, build_opener

    url = to_url(host)
    direct = [ProxyHandler({})] if is_loopback(url) else []
    try:
        with build_opener(*direct).open(f"{url}/api/version", timeout=timeout_s) as answer:
            return str(json.load(answer)["version"])
    except (HTTPError, ValueError, TypeError, KeyError) as error:
        raise nonsense(url) from error
    except (OSError, HTTPException) as error:
        raise unreachable(url) from error


def list_models(host: str | None, *, timeout_s: float = 5.0) -> list[ModelInfo]:
    """The models that the server has.

    Raises:
        ModelError: the server cannot be reached, or does not answer as Ollama does.
        UsageError: `host` is not an address.
    """
    url = to_url(host)
    client = connect(url, timeout_s=timeout_s)
    with translated(url):
        # The client's own list() drops what tells a cloud model from a local one.
        entries = client._request_raw("GET", "/api/tags").json()["models"]  # type: ignore[no-untyped-call]
        return [_to_model(entry) for entry in entries or ()]


def find_model(model: str, *, host: str | None) -> ModelInfo:
    """A model by its name.

    Raises:
        ModelError: the server cannot be reached, or does not have the model.
        UsageError: `host` is not an address.
    """
    info = next((info for info in list_models(host) if is_same_model(info.name, model)), None)
    if info is None:
        raise ModelError(f"Ollama does not have {model}", f"run: ollama pull {model}")
    return info


@dataclass(frozen=True, slots=True)
class Details:
    """What the server knows of one model: `context_tokens` as it was trained, `num_ctx` of its Modelfile."""

    capabilities: frozenset[str]
    context_tokens: int | None
    num_ctx: int | None
    is_remote: bool

    @property
    def is_chat(self) -> bool:
        """Whether it answers; servers before 0.6 name no capabilities."""
        return "completion" in self.capabilities or not self.capabilities


def show_model(model: str, *, host: str | None, timeout_s: float = 5.0) -> Details:
    """What the server knows of a model. Raises as `find_model` does."""
    url = to_url(host)
    client = connect(url, timeout_s=timeout_s)
    with translated(url, model=model):
        shown = client._request_raw("POST", "/api/show", json={"model": model}).json()  # type: ignore[no-untyped-call]
        return _to_details(shown)


def _to_details(shown: Mapping[str, Any]) -> Details:
    info = shown.get("model_info") or {}
    context = info.get(f"{info.get('general.architecture')}.context_length")
    num_ctx = re.search(r"^num_ctx\s+(\d+)", shown.get("parameters") or "", re.MULTILINE)
    return Details(
        capabilities=frozenset(shown.get("capabilities") or ()),
        context_tokens=int(context) if context else None,
        num_ctx=int(num_ctx[1]) if num_ctx else None,
        is_remote=bool(shown.get("remote_host") or shown.get("remote_model")),
    )


# --- fetching a model -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pulling:
    """How far a model is fetched: bytes over all its parts that are known of by now."""

    status: str
    done_bytes: int
    total_bytes: int


def pull(model: str, *, host: str | None, silence_s: float = 300.0) -> Iterator[Pulling]:
    """Fetch a model to the server; what was fetched is kept when it is stopped or fails.

    Raises:
        ModelError: the server cannot be reached, or cannot fetch it: also after some progress.
        UsageError: `host` is not an address.
    """
    url = to_url(host)
    client = connect(url, timeout_s=silence_s)
    parts: dict[str, tuple[int, int]] = {}
    status = ""
    with translated(url, model=model):
        for event in events(client, "/api/pull", {"model": model, "stream": True}, model=model):
            status = str(event["status"])
            if "digest" in event:
                parts[event["digest"]] = int(event.get("completed") or 0), int(event.get("total") or 0)
            done, total = (sum(sizes) for sizes in zip(*parts.values(), strict=True)) if parts else (0, 0)
            yield Pulling(status, done, total)
    if status != "success":
        raise ModelError(f"Ollama stopped fetching {model} without saying why", "run the command again")


# --- calling it -----------------------------------------------------------------------------------


def connect(url: str, *, timeout_s: float, lines: Lines | None = None) -> ollama.Client:
    """A client for one server; it keeps no connection open. Raises ModelError.

    Args:
        url: as `to_url` gives it.
        timeout_s: how long the server may be silent.
        lines: by which it can be hung up.
    """
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
            # Reading all certificates takes longer than the request, and plain HTTP needs none.
            verify=url.startswith("https:"),
            limits=httpx.Limits(max_keepalive_connections=0),
            event_hooks=lines.hooks if lines else {},
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


def events(
    client: ollama.Client, path: str, body: Mapping[str, Any], *, model: str
) -> Iterator[dict[str, Any]]:
    """The lines of a streamed answer as they come, inside `translated`; closing it ends the request.

    The client's own stream splits lines at U+0085 too, which the server does not escape, and stumbles over
    a blank line.
    """
    with client._client.stream("POST", path, json=body) as answer:
        if not answer.is_success:
            raise RefusedError(answer.status_code, _said_in(answer.read().decode(errors="replace")), model)
        rest = b""
        for chunk in answer.iter_bytes():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in filter(bytes.strip, lines):
                event: dict[str, Any] = json.loads(line)
                if "error" in event:
                    raise RefusedError(0, _said(event["error"]), model)
                yield event
    if rest.strip():
        # Every whole line has its end; what is no beginning of one does not come from Ollama.
        url = str(client._client.base_url)
        raise _broken(url) if rest.lstrip().startswith(b"{") else nonsense(url)


# --- its errors -----------------------------------------------------------------------------------


class RefusedError(ModelError):
    """The server answered with an error; a `status` of 0 means that it had begun to answer."""

    def __init__(self, status: int, said: str, model: str) -> None:
        by_words = (hint for words, hint in _HINTS_BY_WORDS.items() if words in said)
        hint = next(by_words, _HINTS.get(status, "")).format(model=model)
        what = f"Ollama refused ({status})" if status else "Ollama failed in the middle"
        super().__init__(f"{what}: {said or 'it did not say why'}", hint)
        self.said = said
        self.is_about_text = status in {400, 500}
        self.is_too_long = any(words in said for words in _TOO_LONG)


_HINTS = {
    0: "try again; the log of the server says more",
    401: "look at OLLAMA_API_KEY",
    403: "look at OLLAMA_HOST, and at the settings of the server",
    404: "run: ollama pull {model}",
    500: "try again; the log of the server says more",
    501: "choose another model than {model}",
    503: "the server is busy, try again later",
}

_HINTS_BY_WORDS = {
    "does not support chat": "{model} embeds but does not answer, choose a chat model",
    "does not support embeddings": "{model} answers but does not embed, choose an embedding model",
    "more system memory": "choose a smaller model, or close other programs",
    "file does not exist": "look for its name at https://ollama.com/library",
    "no space left": "free some space where the server keeps its models",
    "no such host": "the server needs the network to fetch a model",
    "dial tcp": "the server needs the network to fetch a model",
    "a web page": "look at OLLAMA_HOST: something else answers there",
}

_TOO_LONG = ("context length", "context size", "too large to process")


@contextmanager
def translated(url: str, *, model: str = "MODEL") -> Iterator[None]:
    """Whatever the client raises, as a ModelError."""
    import httpx
    import ollama

    try:
        yield
    except ollama.ResponseError as error:
        raise RefusedError(error.status_code, _said(error.error), model) from error
    except httpx.TimeoutException as error:
        raise ModelError(f"Ollama at {url} did not answer in time", "try again, it may be loading") from error
    except (ConnectionError, httpx.ConnectError) as error:
        raise unreachable(url) from error
    except (OSError, httpx.HTTPError) as error:
        raise _broken(url) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        # Not JSON, JSON of another shape (pydantic's errors are ValueErrors), an error body that is a list.
        raise nonsense(url) from error


def _said_in(body: str) -> str:
    """What the body of an error says."""
    try:
        value = json.loads(body)
    except ValueError:
        return _said(body)
    return _said(value.get("error", body) if isinstance(value, dict) else body)


def _said(error: object) -> str:
    """An error in one line: of one that is nested, also as JSON inside the string, the innermost message."""
    if isinstance(error, dict):
        return _said(error.get("error") or error.get("message") or "")
    text = str(error)
    if text.startswith("{"):
        with suppress(ValueError):
            return _said(json.loads(text))
    if text.lstrip()[:1] == "<":
        return "a web page in place of an answer"
    return " ".join(text.split())[:200]


def unreachable(url: str) -> ModelError:
    """Nothing answers there."""
    return ModelError(f"Ollama does not answer at {url}", "start it with: ollama serve")


def nonsense(url: str) -> ModelError:
    """Something else than Ollama answers there."""
    return ModelError(f"what answers at {url} does not talk like Ollama", "look at OLLAMA_HOST")


def _broken(url: str) -> ModelError:
    return ModelError(
        f"the connection to Ollama at {url} broke off", "try again; the log of the server says more"
    )
