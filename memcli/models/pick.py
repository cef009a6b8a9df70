"""Which embedder a store is read and written with, and which chat model answers, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from memcli.config import Settings
from memcli.errors import ModelError, NothingMatchedError, UsageError
from memcli.models.builtin import BUILTINS, load_builtin
from memcli.models.families import FAMILIES, family_of
from memcli.models.ollama import (
    ModelInfo,
    Pulling,
    is_loopback,
    is_same_model,
    list_models,
    probe,
    pull,
    show_model,
    to_url,
)
from memcli.models.ollama_chat import open_chat
from memcli.models.ollama_embed import OllamaEmbedder, open_ollama
from memcli.models.openai import key_for, list_served, open_compatible
from memcli.types import ChatModel, Embedder

# --- embedders ------------------------------------------------------------------------------------

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


# --- chat models ----------------------------------------------------------------------------------

SUGGESTED = "qwen3:4b"
"""A chat model for who has none: small enough for most machines, and at home in English and Chinese."""


@dataclass(frozen=True, slots=True)
class ChatPlace:
    """Where chat models are, and how they are called: the settings of the same names."""

    ollama_host: str | None = None
    base_url: str | None = None
    num_ctx: int | None = None
    keep_alive: str | int | None = None
    timeout_s: float = 300.0

    @classmethod
    def of(cls, settings: Settings) -> ChatPlace:
        """The place that the settings name."""
        return cls(
            settings.ollama_host,
            settings.chat_base_url,
            settings.chat_num_ctx,
            settings.chat_keep_alive,
            settings.chat_timeout_s,
        )


@dataclass(frozen=True, slots=True)
class Offer:
    """A chat model that can be picked. `is_local` is False where texts would leave this machine."""

    name: str
    is_local: bool
    size_bytes: int


class Person(Protocol):
    """Who is asked where a choice is needed."""

    def choose(self, offers: Sequence[Offer]) -> str | None:
        """The name of one of the models; None for none of them."""
        ...

    def wants(self, model: str) -> bool:
        """Whether a model that is not there shall be fetched."""
        ...

    def watch(self, model: str, steps: Iterator[Pulling]) -> None:
        """Goes through all the steps and shows how far the model is fetched."""
        ...


def pick_chat(wanted: str | None, place: ChatPlace, *, person: Person | None = None) -> ChatModel:
    """The chat model that answers.

    Args:
        wanted: chat.model or learn.model; None and "" when nothing is asked for: the only one there is, if
            texts stay on this machine with it, else the person chooses.
        place: where it is.
        person: who is asked; None where nobody can be.

    Raises:
        ModelError: the server cannot be reached or does not have the model, there is none, or nobody to
            choose: the hint names what there is.
        NothingMatchedError: the person chose none.
        UsageError: `ollama_host` is not an address.
    """
    if not place.base_url:
        return _pick_of_ollama(wanted, place, person)
    key = key_for(place.base_url, os.environ)
    model = wanted or _chosen(offers(place), person, remedy="load one on the server first")
    return open_compatible(
        model, base_url=place.base_url, api_key=key, num_ctx=place.num_ctx, silence_s=place.timeout_s
    )


def _pick_of_ollama(wanted: str | None, place: ChatPlace, person: Person | None) -> ChatModel:
    host = place.ollama_host
    model = wanted
    if not model:
        there = offers(place)
        # Who has no chat model yet is helped to one.
        remedy = f"run: ollama pull {SUGGESTED}"
        model = _chosen(there, person, remedy=remedy) if there or person is None else SUGGESTED
    if person and not any(is_same_model(info.name, model) for info in list_models(host)):
        if not person.wants(model):
            raise NothingMatchedError(f"Ollama does not have {model}", f"run: ollama pull {model}")
        person.watch(model, pull(model, host=host))
    return open_chat(
        model, host=host, num_ctx=place.num_ctx, keep_alive=place.keep_alive, silence_s=place.timeout_s
    )


def offers(place: ChatPlace) -> list[Offer]:
    """The chat models there are, those that stay on this machine first. Raises as `pick_chat` does."""
    if place.base_url:
        near = is_loopback(place.base_url)
        served = list_served(place.base_url, api_key=key_for(place.base_url, os.environ))
        return [Offer(model.name, near, 0) for model in served if model.is_chat]
    host = place.ollama_host
    near = is_loopback(to_url(host))
    # The listing of some servers calls an embedding model a chat model; what is shown of one is right.
    found = [
        Offer(model.short_name, near and not model.is_remote, model.size_bytes)
        for model in list_models(host)
        if not model.is_embedding and show_model(model.name, host=host).is_chat
    ]
    return sorted(found, key=lambda offer: (not offer.is_local, offer.name))


def _chosen(there: Sequence[Offer], person: Person | None, *, remedy: str) -> str:
    if not there:
        raise ModelError("there is no chat model", remedy)
    if len(there) == 1 and there[0].is_local:
        return there[0].name
    names = ", ".join(offer.name for offer in there)
    hint = f"run: memcli config set chat.model {there[0].name} (there are: {names})"
    if person is None:
        raise ModelError("no chat model is chosen", hint)
    model = person.choose(there)
    if model is None:
        raise NothingMatchedError("no chat model was chosen", hint)
    return model
