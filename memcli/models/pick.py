"""Which embedder a store is read and written with, and why."""

from __future__ import annotations

from dataclasses import dataclass

from memcli.errors import ModelError, UsageError
from memcli.models.builtin import BUILTINS, load_builtin
from memcli.models.families import FAMILIES, family_of
from memcli.models.ollama import ModelInfo, is_same_model, list_models, probe
from memcli.models.ollama_embed import OllamaEmbedder, open_ollama
from memcli.types import Embedder

_REEMBED = "run memcli reembed to make its vectors anew"


@dataclass(frozen=True, slots=True)
class Picked:
    """The embedder (None: keywords only), why it is this one, and whether a new store is to be bound to it.

    `why` is a sentence without a full stop.
    """

    embedder: Embedder | None
    why: str
    binds: bool


def pick_embedder(
    *,
    wanted: str | None,
    bound: str | None,
    ollama_host: str | None = None,
    dim: int | None = None,
    timeout_s: float = 60.0,
) -> Picked:
    """The embedder of a store; without the network where the store has, or is to have, a built-in one.

    Args:
        wanted: MEMCLI_EMBEDDER: builtin, ollama:MODEL or none; None and "" when nothing is asked for.
        bound: the name of the embedder that the store was made with; None for a new store.
        ollama_host: OLLAMA_HOST.
        dim: how long the store's vectors are, where `bound` is given.
        timeout_s: how long Ollama may take for an answer.

    Raises:
        UsageError: `wanted` is none of these, or not what the store was made with.
        ModelError: the embedder cannot be reached, or is no longer the one the store was made with.
    """
    choice = to_choice(wanted)
    if choice == "none":
        return Picked(None, "no embedder is wanted", binds=False)
    if bound:
        if choice and not is_made_with(choice, bound):
            raise UsageError(f"this store was made with {bound}, not with {choice}", _REEMBED)
        embedder = _open_bound(bound, host=ollama_host, dim=dim, timeout_s=timeout_s)
        return Picked(embedder, "the store was made with it", binds=False)
    if choice == "builtin":
        return _builtin("it is wanted")
    if choice:
        wished = open_ollama(_model_of(choice), host=ollama_host, timeout_s=timeout_s)
        wished.measure()
        return Picked(wished, "it is wanted", binds=True)
    try:
        best = _best_of_ollama(host=ollama_host, timeout_s=timeout_s)
        return Picked(best, "Ollama has it", binds=True)
    except ModelError as error:
        return _builtin(error.message)


def to_choice(wanted: str | None) -> str:
    """MEMCLI_EMBEDDER as builtin, none, ollama:MODEL, or "" when nothing is asked for. Raises UsageError."""
    choice = (wanted or "").strip()
    kind, _, model = choice.partition(":")
    kind, model = kind.casefold(), model.strip()
    if kind in {"", "builtin", "none"} and ":" not in choice:
        return kind
    if kind == "ollama" and model:
        return f"ollama:{model}"
    raise UsageError(f"{choice} is not an embedder", "MEMCLI_EMBEDDER is builtin, ollama:MODEL or none")


def is_made_with(choice: str, bound: str) -> bool:
    """Whether a choice names the embedder that a store is bound to."""
    if choice == "builtin":
        return bound.startswith("builtin:")
    return bound.startswith("ollama:") and is_same_model(_model_of(choice), _model_of(bound))


def _model_of(name: str) -> str:
    """ "bge-m3" of "ollama:bge-m3" and of "ollama:bge-m3@DIGEST"."""
    return name.removeprefix("ollama:").partition("@")[0]


def _open_bound(bound: str, *, host: str | None, dim: int | None, timeout_s: float) -> Embedder:
    if bound in BUILTINS:
        return BUILTINS[bound]()
    if not bound.startswith("ollama:"):
        raise ModelError(f"this store was made with {bound}, which this memcli does not have", _REEMBED)
    embedder = open_ollama(_model_of(bound), host=host, dim=dim, timeout_s=timeout_s)
    if embedder.name != bound:
        raise ModelError(f"this store was made with {bound}, Ollama now has {embedder.name}", _REEMBED)
    return embedder


def _builtin(why: str) -> Picked:
    embedder, fallback = load_builtin()
    return Picked(embedder, f"{why}; {fallback}" if fallback else why, binds=True)


def _best_of_ollama(*, host: str | None, timeout_s: float) -> OllamaEmbedder:
    """The best embedding model that is no cloud model, after a first vector. Raises ModelError."""
    probe(host)
    models = [model for model in list_models(host) if model.is_embedding and not model.is_remote]
    if not models:
        raise ModelError("Ollama has no embedding model")
    embedder = OllamaEmbedder(min(models, key=_preference), host=host, timeout_s=timeout_s)
    embedder.measure()
    return embedder


def _preference(model: ModelInfo) -> tuple[int, str]:
    """The order of FAMILIES, then the unknown ones by name."""
    family = family_of(model.name)
    return FAMILIES.index(family) if family else len(FAMILIES), model.name
