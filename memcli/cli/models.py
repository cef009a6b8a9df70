"""The chat model of a command: the one of the settings, or one that the person at the terminal picks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memcli.cli.output import Output
from memcli.cli.run import Run

if TYPE_CHECKING:
    from memcli.models.ollama import Pulling
    from memcli.models.pick import Offer
    from memcli.types import ChatModel

_MB = 1_000_000
_TRIES = 3


def pick_model(run: Run) -> ChatModel:
    """The model that answers in chat; a person is asked where there is one. Raises as `pick_chat` does."""
    from memcli.models.pick import ChatPlace, pick_chat

    person = AtTerminal(run.out) if run.out.can_ask and not run.out.as_json else None
    return pick_chat(run.settings.chat_model, ChatPlace.of(run.settings), person=person)


def pick_student(run: Run, answers: ChatModel | None = None) -> ChatModel | None:
    """The model that learns: the one of the settings, else the one that answers; None for rules alone.

    Raises ModelError, UsageError.
    """
    from memcli.models.pick import ChatPlace, pick_chat

    wanted = run.settings.learn_model or run.settings.chat_model
    if run.settings.learn_model == "none":
        return None
    if answers is not None and not run.settings.learn_model:
        return answers
    return pick_chat(wanted, ChatPlace.of(run.settings)) if wanted else None


@dataclass(frozen=True, slots=True)
class AtTerminal:
    """The person at the terminal, as `pick_chat` asks them."""

    out: Output

    def choose(self, offers: Sequence[Offer]) -> str | None:
        """The model whose number or name is typed; the first at a mere Enter, unless it is not local."""
        rows = [f"  {number:>2}  {_told(offer)}" for number, offer in enumerate(offers, 1)]
        default = " [1]" if offers[0].is_local else ""
        question = "\n".join(["Chat models:", *rows, f"Which one?{default}"])
        for _ in range(_TRIES):
            typed = self.out.ask(question) or ("1" if default else "")
            for number, offer in enumerate(offers, 1):
                if typed in (str(number), offer.name):
                    return offer.name
            question = f"A number from 1 to {len(offers)}, or a name:"
        return None

    def wants(self, model: str) -> bool:
        """Whether they say yes to fetching it."""
        return self.out.confirm(f"Ollama does not have {model}. Fetch it now?", yes=False)

    def watch(self, model: str, steps: Iterator[Pulling]) -> None:
        """Shows a bar while it is fetched."""
        with self.out.progress(f"fetching {model}", unit="MB") as update:
            for step in steps:
                if step.total_bytes:
                    update(step.done_bytes // _MB, step.total_bytes // _MB)
        self.out.message(f"memcli: Ollama has {model} now; to keep it: memcli config set chat.model {model}")


def _told(offer: Offer) -> str:
    size = f"{offer.size_bytes / 1_000 / _MB:.1f} GB" if offer.size_bytes >= 100 * _MB else ""
    away = "" if offer.is_local else "what you say leaves this machine"
    return "  ".join(filter(None, (offer.name, size, away)))
