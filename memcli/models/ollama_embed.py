"""Embeddings of an Ollama server."""

from __future__ import annotations

from collections.abc import Sequence

from memcli.errors import ModelError
from memcli.models.families import Family, family_of
from memcli.models.ollama import (
    ModelInfo,
    RefusedError,
    connect,
    find_model,
    is_loopback,
    show_model,
    to_url,
    translated,
)
from memcli.models.vectors import batches, mean, pieces, unit
from memcli.text import clean
from memcli.types import Vector

BATCH = 16
"""Texts for one request: the server embeds them one after the other anyway."""

MANY_TOKENS = 8192
"""More than most models read."""

MIN_CHARS = 64
"""A text as short as this that is still too long for the model is an error, and no longer halved."""


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
        self._client = connect(self._url, timeout_s=timeout_s)
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

    def measure_limit(self) -> tuple[int | None, int | None]:
        """How many tokens of a text the server reads before it cuts it, and how many the model was made for.

        None where the server does not tell. Raises ModelError.
        """
        trained = show_model(self._model.name, host=self._url).context_tokens
        text = "word " * ((trained or MANY_TOKENS) + 64)
        with translated(self._url, model=self._model.short_name):
            read = self._client.embed(self._model.name, [text], truncate=True).prompt_eval_count
        return read, trained

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
        except RefusedError as refusal:
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
        with translated(self._url, model=self._model.short_name):
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
    return OllamaEmbedder(find_model(model, host=host), host=host, timeout_s=timeout_s, dim=dim)
