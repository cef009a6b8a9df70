"""What every embedder does to its texts before, and to its vectors after."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from memcli.errors import ModelError
from memcli.types import Vector


def pieces(text: str, *, chars: int) -> list[str]:
    """The text in pieces of at most `chars` characters, cut after a space where there is one."""
    cut, start = [], 0
    while len(text) - start > chars:
        end = text.rfind(" ", start + chars // 2, start + chars) + 1 or start + chars
        cut.append(text[start:end])
        start = end
    return [*cut, text[start:]]


def unit(numbers: Sequence[float]) -> Vector:
    """The numbers as a vector of length 1. Raises ModelError when they have no direction."""
    norm = math.hypot(*numbers)
    if not math.isfinite(norm) or norm == 0:
        raise ModelError("the embedder gave a vector of zeros or of no numbers at all")
    return array("f", [number / norm for number in numbers])


def mean(vectors: Sequence[Vector], *, weights: Sequence[float]) -> Vector:
    """The direction of the weighted sum. Raises ModelError when the vectors cancel out."""
    if len(vectors) == 1:
        return vectors[0]
    columns = zip(*vectors, strict=True)
    return unit([sum(x * w for x, w in zip(column, weights, strict=True)) for column in columns])


def embed_pieces(
    texts: Sequence[str], *, chars: int, batch: int, embed: Callable[[Sequence[str]], list[Vector]]
) -> list[Vector]:
    """A vector a text, in order: pieces of at most `chars`, `batch` at a time, averaged by length."""
    cut = [pieces(text, chars=chars) for text in texts]
    flat = [piece for text in cut for piece in text]
    vectors = (vector for some in batches(flat, size=batch) for vector in embed(some))
    return [mean(list(islice(vectors, len(text))), weights=[len(piece) for piece in text]) for text in cut]


def batches(texts: Sequence[str], *, size: int) -> Iterator[Sequence[str]]:
    """The texts in their order, at most `size` at a time."""
    return (texts[start : start + size] for start in range(0, len(texts), size))
