"""Answers of a chat model behind any OpenAI-compatible server: vLLM, llama.cpp, LM Studio, OpenAI itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memcli.config import API_KEY_VARIABLE
from memcli.errors import ModelError, PromptTooLongError
from memcli.models.answers import ask_checked, without_tags
from memcli.models.families import family_of
from memcli.models.lines import Lines, hung_up_by
from memcli.models.ollama import CONNECT_S, is_loopback
from memcli.stop import Stop
from memcli.text import clean, regex
from memcli.types import Answered, Message, Piece

if TYPE_CHECKING:
    import openai

NUM_CTX = 4096
"""Tokens of context where neither the person nor the server says: the least that these servers start with."""


def key_for(base_url: str, environ: Mapping[str, str]) -> str | None:
    """The key to send there: ours, or OpenAI's own where it is OpenAI that is asked."""
    from urllib.parse import urlsplit

    theirs = environ.get("OPENAI_API_KEY") if urlsplit(base_url).hostname == "api.openai.com" else None
    return environ.get(API_KEY_VARIABLE) or theirs or None


@dataclass(frozen=True, slots=True)
class Served:
    """A model that a server lists, and its context where the server tells."""

    name: str
    context_tokens: int | None

    @property
    def is_chat(self) -> bool:
        """Whether it may answer: servers do not say, so the names of embedding models are known."""
        return not family_of(self.name) and "embed" not in self.name.casefold()


def list_served(base_url: str, *, api_key: str | None, timeout_s: float = 5.0) -> list[Served]:
    """The models that the server has. Raises ModelError."""
    client = _connect(base_url, api_key=api_key, silence_s=timeout_s)
    with _translated(base_url, model="MODEL"):
        return [Served(str(entry.id), _context_of(entry.model_extra or {})) for entry in client.models.list()]


def _context_of(entry: Mapping[str, Any]) -> int | None:
    """What vLLM, then llama.cpp calls it."""
    return entry.get("max_model_len") or (entry.get("meta") or {}).get("n_ctx")


class OpenAIChat:
    """A chat model behind an OpenAI-compatible server, which decides on the context itself.

    Args:
        model: as `list_served` gives it.
        base_url: such as "http://127.0.0.1:8000/v1".
        api_key: as `key_for` gives it.
        num_ctx: tokens of context that the server is known to have; None for what it tells, else NUM_CTX.
        silence_s: how long the server may be silent.
    """

    def __init__(
        self, model: Served, *, base_url: str, api_key: str | None, num_ctx: int | None, silence_s: float
    ) -> None:
        self._connect = partial(_connect, base_url, api_key=api_key, silence_s=silence_s)
        self._client = self._connect()
        self._model = model.name
        self._url = base_url
        self._num_ctx = num_ctx or model.context_tokens or NUM_CTX
        self._accepted = {"stream": 0, "ask": 0}

    @property
    def name(self) -> str:
        """Its name as its server lists it."""
        return self._model

    @property
    def host(self) -> str:
        """The address of the server."""
        return self._url

    @property
    def local(self) -> bool:
        """Whether texts stay on this machine, as far as its address tells."""
        return is_loopback(self._url)

    @property
    def num_ctx(self) -> int:
        """Tokens that prompt and answer may have together."""
        return self._num_ctx

    def stream(self, messages: Sequence[Message]) -> Generator[Piece | Answered, None, None]:
        """The answer in pieces; closing the generator stops the model.

        Raises:
            PromptTooLongError: more was sent than the model takes.
            ModelError: the server fails, also in the middle, or ends without saying that it is done.
        """
        variants = [{"stream_options": {"include_usage": True}}, {}]
        return without_tags(self._parts(partial(self._begin, self._client, "stream", variants), messages))

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
        begin = partial(self._begin, self._connect(lines=lines), "ask", _variants(schema))

        def say(asked: Sequence[Message], tokens: int) -> Iterator[Piece | Answered]:
            told = [*asked[:-1], replace(asked[-1], text=f"{asked[-1].text}\n\n{_TOLD}{json.dumps(schema)}")]
            return self._parts(begin, told, temperature=0, max_tokens=tokens)

        with hung_up_by(stop, lines):
            return ask_checked(say, messages, schema, max_tokens=max_tokens, model=self.name)

    def _parts(
        self, begin: Callable[[Mapping[str, Any]], Any], messages: Sequence[Message], **more: Any
    ) -> Iterator[Piece | Answered]:
        sent = [{"role": message.role, "content": clean(message.text)} for message in messages]
        reason, usage = None, None
        body = {"model": self._model, "messages": sent, "stream": True, **more}
        with _translated(self._url, model=self.name), begin(body) as chunks:
            for chunk in chunks:
                usage = chunk.usage or usage
                for choice in chunk.choices or ():
                    yield from _pieces(choice.delta)
                    reason = choice.finish_reason or reason
        if reason is None:
            raise ModelError(f"{self.name} stopped without saying that it is done", _TRY_AGAIN)
        yield Answered(
            usage.prompt_tokens if usage else None,
            usage.completion_tokens if usage else None,
            "length" if reason == "length" else "stop",
        )

    def _begin(
        self,
        client: openai.OpenAI,
        verb: str,
        variants: Sequence[Mapping[str, Any]],
        body: Mapping[str, Any],
    ) -> Any:
        """The stream of the first variant of a request that the server takes; it is remembered."""
        import openai

        while True:
            at = self._accepted[verb]
            try:
                return client.chat.completions.create(**body, **variants[at])
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if at + 1 == len(variants) or _is_too_long(error):
                    raise
                self._accepted[verb] = at + 1


_TOLD = "Answer with one JSON object and nothing else, of this schema: "
_TRY_AGAIN = "try again; the log of the server says more"


def _variants(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ways to ask for JSON, the strictest first: no server takes all of them."""
    bound = {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema), "strict": True}}
    # vLLM's and llama.cpp's way to turn thinking off; others do not know the field.
    quiet = {"chat_template_kwargs": {"enable_thinking": False}}
    return [
        {"response_format": bound, "extra_body": quiet},
        {"response_format": bound},
        {"response_format": {"type": "json_object"}},
        {},
    ]


def _pieces(delta: Any) -> Iterator[Piece]:
    """Thinking is in a field of its own, by either of two names, or in tags of the content."""
    more = delta.model_extra or {}
    thinking = more.get("reasoning_content") or more.get("reasoning")
    for text, is_thinking in ((thinking, True), (delta.content, False)):
        if text:
            yield Piece(clean(text), is_thinking=is_thinking)


def open_compatible(
    model: str, *, base_url: str, api_key: str | None, num_ctx: int | None = None, silence_s: float = 300.0
) -> OpenAIChat:
    """The chat model of a name.

    Raises:
        ModelError: the server cannot be reached or does not list the model; `memcli[openai]` is not there.
    """
    served = list_served(base_url, api_key=api_key)
    found = next((one for one in served if one.name == model), None)
    if found is None:
        raise ModelError(f"the server at {base_url} does not have {model}", names_told(served))
    return OpenAIChat(found, base_url=base_url, api_key=api_key, num_ctx=num_ctx, silence_s=silence_s)


def names_told(served: Iterable[Served]) -> str:
    """A hint that names the models there are."""
    names = ", ".join(one.name for one in served if one.is_chat)
    return f"it has {names}" if names else "it lists no models: load one there first"


# --- the client and its errors --------------------------------------------------------------------


def _connect(
    base_url: str, *, api_key: str | None, silence_s: float, lines: Lines | None = None
) -> openai.OpenAI:
    try:
        import openai
    except ImportError as error:
        raise ModelError(
            "an OpenAI-compatible server needs the client of OpenAI", "pip install 'memcli[openai]'"
        ) from error
    is_near = is_loopback(base_url)
    try:
        client = openai.OpenAI(
            base_url=base_url,
            # The client insists on one; servers on one's own machine do not look at it.
            api_key=api_key or "none",
            max_retries=0,
            default_headers={"Connection": "close"},
            # A proxy would carry texts off the machine, and so would a redirect.
            http_client=openai.DefaultHttpxClient(
                timeout=openai.Timeout(silence_s, connect=min(silence_s, CONNECT_S[is_near])),
                trust_env=not is_near,
                follow_redirects=False,
                verify=base_url.startswith("https:"),
                event_hooks=lines.hooks if lines else {},
            ),
        )
        # What the environment says of one's account at OpenAI is nobody else's business.
        client.organization = client.project = None
        return client
    except (ValueError, OSError, ImportError) as error:
        raise ModelError(
            f"the client of OpenAI cannot be set up: {error}", "look at chat.base_url and the proxy settings"
        ) from error


_HINTS = {
    401: f"set {API_KEY_VARIABLE} to the key of this server",
    403: f"look at {API_KEY_VARIABLE}, and at the settings of the server",
    404: "look at chat.model, and at chat.base_url: with most servers it ends in /v1",
    429: "the server is busy or its limit is reached, try again later",
    503: "the server is busy, or still loads the model, try again later",
}


@contextmanager
def _translated(url: str, *, model: str) -> Iterator[None]:
    """Whatever the client raises, as a ModelError."""
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        if _is_too_long(error):
            raise _too_long(error, model=model) from error
        hint = _HINTS.get(error.status_code, _TRY_AGAIN)
        raise ModelError(f"{url} refused ({error.status_code}): {_said(error)}", hint) from error
    except openai.APITimeoutError as error:
        raise ModelError(f"{url} did not answer in time", "try again, it may be loading") from error
    except openai.APIConnectionError as error:
        raise _unreachable(url, error) from error
    except openai.APIError as error:
        raise ModelError(f"{model} failed in the middle: {_said(error)}", _TRY_AGAIN) from error
    except (openai.OpenAIError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(
            f"what answers at {url} does not talk like OpenAI", "look at chat.base_url"
        ) from error


def _unreachable(url: str, error: openai.APIConnectionError) -> ModelError:
    # The client wraps what its HTTP library says, whose classes go by another name from version to version.
    if type(error.__cause__).__name__ in {"ConnectError", "UnsupportedProtocol"}:
        return ModelError(f"nothing answers at {url}", "start the server, or look at chat.base_url")
    return ModelError(f"the connection to {url} broke off", _TRY_AGAIN)


def _is_too_long(error: openai.APIError) -> bool:
    said = str(error.body or error.message).casefold()
    return any(words in said for words in ("context length", "context size", "context_length"))


def _too_long(error: openai.APIError, *, model: str) -> PromptTooLongError:
    said = str(error.body or error.message)
    tokens, room = (pattern.search(said) for pattern in (_TOKENS_SENT, _ROOM))
    return PromptTooLongError(
        f"the conversation is too long for {model}",
        "begin a new session, or set chat.num_ctx to what the server has",
        tokens=int(tokens[1]) if tokens else None,
        room=int(room[1]) if room else None,
    )


# As llama.cpp, vLLM and LM Studio say it.
_TOKENS_SENT = regex(r"(?:request \(|requested |first )(\d+) tokens")
_ROOM = regex(r"(?:context size \(|context length (?:is|of)(?: only)? )(\d+) tokens")


def _said(error: openai.APIError) -> str:
    """An error in one line."""
    body: Any = error.body
    text = str(body.get("message") or "" if isinstance(body, dict) else body or "")
    if text.lstrip()[:1] in ("<", ""):
        return "a web page in place of an answer" if text.strip() else "it did not say why"
    return " ".join(text.split())[:200]
