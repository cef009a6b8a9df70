"""Which chat model is picked, and what a person is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from memcli.errors import ModelError, NothingMatchedError
from memcli.models.ollama import Pulling, pull
from memcli.models.pick import SUGGESTED, ChatPlace, Offer, offers, pick_chat
from tests.ollama_server import PULL_FAULTS, Model, OllamaServer, chat_model
from tests.openai_server import OpenAIServer

MODELS = (
    chat_model("qwen3:4b", thinks=True),
    chat_model(),
    chat_model("gpt-oss:120b-cloud"),
    Model("bge-m3:latest"),
    # The listing calls this one a chat model; what is shown of it does not.
    Model("my-import:latest", family="unknown", capabilities=("completion",)),
)


@dataclass
class Person:
    """Answers as it is made to, and keeps what it was shown."""

    choice: str | None = None
    agrees: bool = True
    offered: list[Sequence[Offer]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    watched: list[Pulling] = field(default_factory=list)

    def choose(self, offers: Sequence[Offer]) -> str | None:
        self.offered.append(offers)
        return self.choice

    def wants(self, model: str) -> bool:
        self.asked.append(model)
        return self.agrees

    def watch(self, model: str, steps: Iterator[Pulling]) -> None:
        self.watched.extend(steps)


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer(MODELS, library=[chat_model(SUGGESTED), chat_model("mistral:latest")]) as running:
        yield running


@pytest.fixture
def place(server: OllamaServer) -> ChatPlace:
    return ChatPlace(server.host)


def test_the_chat_models_are_offered_the_local_ones_first(place: ChatPlace) -> None:
    assert [(offer.name, offer.is_local) for offer in offers(place)] == [
        ("llama3.2", True),
        ("qwen3:4b", True),
        ("gpt-oss:120b-cloud", False),
    ]


def test_the_model_that_is_wanted_is_picked_without_asking(place: ChatPlace) -> None:
    person = Person()
    assert pick_chat("QWEN3:4B", place, person=person).name == "qwen3:4b"
    assert (person.offered, person.asked) == ([], [])


def test_the_settings_reach_the_model(server: OllamaServer) -> None:
    place = ChatPlace(server.host, num_ctx=2048, keep_alive="1h")
    model = pick_chat("llama3.2", place)
    assert model.num_ctx == 2048


def test_a_person_chooses_where_nothing_is_set(place: ChatPlace) -> None:
    person = Person(choice="qwen3:4b")
    assert pick_chat(None, place, person=person).name == "qwen3:4b"
    assert [offer.name for offer in person.offered[0]] == ["llama3.2", "qwen3:4b", "gpt-oss:120b-cloud"]


@pytest.mark.parametrize("person", [None, Person()])
def test_the_only_one_there_is_needs_no_choice_unless_words_leave_the_machine_with_it(
    server: OllamaServer, place: ChatPlace, person: Person | None
) -> None:
    server.models = [chat_model(), Model("bge-m3:latest")]
    assert pick_chat(None, place, person=person).name == "llama3.2"
    server.models = [chat_model("gpt-oss:120b-cloud", remote_host="https://ollama.com:443")]
    with pytest.raises((ModelError, NothingMatchedError)):
        pick_chat(None, place, person=person)


def test_a_person_who_chooses_none_gets_none(place: ChatPlace) -> None:
    with pytest.raises(NothingMatchedError, match="no chat model was chosen"):
        pick_chat(None, place, person=Person())


@pytest.mark.parametrize("wanted", [None, ""])
def test_where_nobody_is_to_be_asked_the_hint_names_the_models(place: ChatPlace, wanted: str | None) -> None:
    with pytest.raises(ModelError, match="no chat model is chosen") as raised:
        pick_chat(wanted, place)
    assert raised.value.hint == (
        "run: memcli config set chat.model llama3.2 (there are: llama3.2, qwen3:4b, gpt-oss:120b-cloud)"
    )


def test_where_there_is_no_chat_model_the_hint_says_how_to_get_one(server: OllamaServer) -> None:
    server.models = [Model("bge-m3:latest")]
    with pytest.raises(ModelError, match="there is no chat model") as raised:
        pick_chat(None, ChatPlace(server.host))
    assert raised.value.hint == f"run: ollama pull {SUGGESTED}"


def test_a_server_that_is_down_is_said_to_be(server: OllamaServer, place: ChatPlace) -> None:
    server.stop()
    for wanted in (None, "llama3.2"):
        with pytest.raises(ModelError, match="does not answer"):
            pick_chat(wanted, place, person=Person())


# --- fetching -------------------------------------------------------------------------------------


def test_a_model_that_is_not_there_is_fetched_when_the_person_agrees(place: ChatPlace) -> None:
    person = Person()
    assert pick_chat("mistral", place, person=person).name == "mistral"
    assert person.asked == ["mistral"]
    assert person.watched[-1] == Pulling("success", 4_050, 4_050)


def test_a_person_without_a_chat_model_is_helped_to_one(server: OllamaServer, place: ChatPlace) -> None:
    server.models = [Model("bge-m3:latest")]
    person = Person()
    assert pick_chat(None, place, person=person).name == SUGGESTED
    assert person.asked == [SUGGESTED]


def test_a_person_who_does_not_want_it_is_told_how(place: ChatPlace) -> None:
    with pytest.raises(NothingMatchedError, match="does not have mistral") as raised:
        pick_chat("mistral", place, person=Person(agrees=False))
    assert raised.value.hint == "run: ollama pull mistral"


def test_nothing_is_fetched_where_nobody_is_to_be_asked(server: OllamaServer, place: ChatPlace) -> None:
    with pytest.raises(ModelError, match="does not have mistral") as raised:
        pick_chat("mistral", place)
    assert raised.value.hint == "run: ollama pull mistral"
    assert "/api/pull" not in {request.path for request in server.requests}


def test_what_is_fetched_only_grows(server: OllamaServer) -> None:
    steps = list(pull("mistral", host=server.host))
    done = [step.done_bytes for step in steps]
    assert done == sorted(done)
    assert all(step.done_bytes <= step.total_bytes for step in steps)
    assert [step.status for step in steps][-3:] == ["verifying sha256 digest", "writing manifest", "success"]


PULL_ERRORS = {
    "no such model": ("file does not exist", "look for its name at https://ollama.com/library"),
    "offline": ("no such host", "the server needs the network to fetch a model"),
    "disk full": ("no space left on device", "free some space where the server keeps its models"),
    "dropped": ("broke off", "try again; the log of the server says more"),
    "no success": ("stopped fetching mistral without saying why", "run the command again"),
}


@pytest.mark.parametrize("fault", sorted(PULL_ERRORS.keys() | PULL_FAULTS))
def test_a_pull_that_fails_says_why(server: OllamaServer, fault: str) -> None:
    server.pull_fault = fault
    with pytest.raises(ModelError) as raised:
        list(pull("mistral", host=server.host))
    message, hint = PULL_ERRORS[fault]
    assert message in raised.value.message
    assert raised.value.hint == hint


def test_what_is_no_name_of_a_model_is_refused_before_anything_is_fetched(server: OllamaServer) -> None:
    with pytest.raises(ModelError, match="invalid model name"):
        list(pull("a b", host=server.host))


# --- an OpenAI-compatible server ------------------------------------------------------------------


def test_another_server_is_asked_in_place_of_ollama(server: OllamaServer) -> None:
    with OpenAIServer({"llama-3": {}, "bge-m3": {}}) as other:
        place = ChatPlace(server.host, base_url=other.base_url)
        assert [offer.name for offer in offers(place)] == ["llama-3"]
        assert pick_chat("llama-3", place).host == other.base_url
        assert pick_chat(None, place).name == "llama-3"
        other.models = {}
        with pytest.raises(ModelError, match="there is no chat model") as raised:
            pick_chat(None, place, person=Person())
    assert raised.value.hint == "load one on the server first"
    assert server.requests == []
