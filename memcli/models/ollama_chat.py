"""Answers of a chat model of an Ollama server."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memcli.errors import ModelError, PromptTooLongError
from memcli.models.answers import ask_checked, without_tags
from memcli.models.lines import Lines, hung_up_by
from memcli.models.ollama import (
    Details,
    ModelInfo,
    RefusedError,
    connect,
    events,
    find_model,
    is_loopback,
    show_model,
    to_url,
    translated,
)
from memcli.stop import Stop
from memcli.text import clean
from memcli.types import Answered, Message, Piece

if TYPE_CHECKING:
    import ollama

NUM_CTX = 8192
"""Tokens of context where neither the person nor the model's maker chose: enough for a long talk, and it
fits beside the model in the memory of a common machine."""

SILENCE_S = 300.0
"""As long as the server itself waits for a model to load."""


class OllamaChat:
    """A chat model behind Ollama. Its `num_ctx` goes with every request: another one would load it anew.

    Args:
        model: as `list_models` gives it.
        details: as `show_model` gives them.
        host: OLLAMA_HOST, in any of its forms.
        num_ctx: tokens of context, at most what the model was trained with; None for what its Modelfile
            says, else NUM_CTX.
        keep_alive: how long the model stays loaded afterwards ("30m", seconds, -1 for ever); None for the
            server's own.
        silence_s: how long the server may be silent, also while it loads the model.
    """

    def __init__(
        self,
        model: ModelInfo,
        details: Details,
        *,
        host: str | None,
        num_ctx: int | None = None,
        keep_alive: str | int | None = None,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._url = to_url(host)
        self._silence_s = silence_s
        self._client = connect(self._url, timeout_s=silence_s)
        self._model = model
        self._details = details
        wanted = num_ctx or details.num_ctx or NUM_CTX
        self._num_ctx = min(wanted, details.context_tokens or wanted)
        self._keep_alive = {} if keep_alive is None else {"keep_alive": keep_alive}

    @property
    def name(self) -> str:
        """Such as "llama3.2"."""
        return self._model.short_name

    @property
    def host(self) -> str:
        """The address of the server."""
        return self._url

    @property
    def local(self) -> bool:
        """Whether texts stay on this machine: no cloud model behind a server on it either."""
        return is_loopback(self._url) and not (self._model.is_remote or self._details.is_remote)

    @property
    def num_ctx(self) -> int:
        """Tokens that prompt and answer may have together."""
        return self._num_ctx

    def stream(self, messages: Sequence[Message]) -> Generator[Piece | Answered, None, None]:
        """The answer in pieces; closing the generator stops the model.

        Raises:
            PromptTooLongError: more was sent than the model reads. An old server cuts the prompt in silence
                instead, which only `Answered.prompt_tokens` shows.
            ModelError: the server fails, also in the middle, or ends without saying that it is done.
        """
        return without_tags(self._events(self._client, messages))

    def ask(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        max_tokens: int,
        stop: Stop | None = None,
    ) -> dict[str, Any]:
        """An answer that fits the schema, after one repair at most. Raises HungUpError, ModelError."""
        lines = Lines()
        client = connect(self._url, timeout_s=self._silence_s, lines=lines)

        def say(asked: Sequence[Message], tokens: int) -> Iterator[Piece | Answered]:
            options = {"temperature": 0, "num_predict": tokens}
            return self._events(client, asked, options=options, format=dict(schema), think=False)

        with hung_up_by(stop, lines):
            return ask_checked(say, messages, schema, max_tokens=max_tokens, model=self.name)

    def _events(
        self,
        client: ollama.Client,
        messages: Sequence[Message],
        *,
        options: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Iterator[Piece | Answered]:
        body = {
            "model": self._model.name,
            "messages": [{"role": message.role, "content": clean(message.text)} for message in messages],
            "stream": True,
            # A prompt that is too long is to be refused: by itself the server cuts it without a word, and
            # the system text and the memories go first. Servers before 0.12 do not know the field.
            "truncate": False,
            "options": {"num_ctx": self._num_ctx, **(options or {})},
            **self._keep_alive,
            **more,
        }
        try:
            with translated(self._url, model=self.name):
                for event in events(client, "/api/chat", body, model=self.name):
                    yield from _pieces(event)
                    if event.get("done"):
                        yield _answered(event)
                        return
        except RefusedError as refusal:
            if not refusal.is_too_long:
                raise
            raise _too_long(refusal, model=self.name) from refusal
        raise ModelError(
            f"{self.name} stopped without saying that it is done",
            "try again; the log of the server says more",
        )


def _pieces(event: Mapping[str, Any]) -> Iterator[Piece]:
    message = event["message"]
    for field, is_thinking in (("thinking", True), ("content", False)):
        if message.get(field):
            yield Piece(clean(message[field]), is_thinking=is_thinking)


def _answered(event: Mapping[str, Any]) -> Answered:
    return Answered(
        event.get("prompt_eval_count"),
        event.get("eval_count"),
        "length" if event.get("done_reason") == "length" else "stop",
    )


def _too_long(refusal: RefusedError, *, model: str) -> PromptTooLongError:
    """ "request (730 tokens) exceeds the available context size (256 tokens)", or only that it does."""
    counts = re.findall(r"\((\d+) tokens\)", refusal.said)
    tokens, room = map(int, counts) if len(counts) == 2 else (None, None)
    return PromptTooLongError(
        f"the conversation is too long for {model}",
        "begin a new session, or raise chat.num_ctx",
        tokens=tokens,
        room=room,
    )


def open_chat(
    model: str,
    *,
    host: str | None,
    num_ctx: int | None = None,
    keep_alive: str | int | None = None,
    silence_s: float = SILENCE_S,
) -> OllamaChat:
    """The chat model of a name.

    Raises:
        ModelError: the server cannot be reached, does not have the model, or it only embeds.
        UsageError: `host` is not an address.
    """
    info = find_model(model, host=host)
    details = show_model(info.name, host=host)
    if not details.is_chat:
        raise ModelError(
            f"{info.short_name} embeds but does not answer",
            "choose a chat model: memcli config set chat.model",
        )
    return OllamaChat(info, details, host=host, num_ctx=num_ctx, keep_alive=keep_alive, silence_s=silence_s)
