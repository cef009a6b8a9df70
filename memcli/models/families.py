"""What is known of embedding models by their names."""

from __future__ import annotations

from dataclasses import dataclass


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
