"""The errors a person can meet; each class carries its exit code."""

from __future__ import annotations


class MemcliError(Exception):
    """Something failed that can be said in one sentence, with a hint on what to do.

    Args:
        message: what failed, one sentence without a full stop.
        hint: what to do about it; empty when there is nothing to do.
    """

    exit_code = 70

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NothingMatchedError(MemcliError):
    """Nothing in the store answers, or the person said no."""

    exit_code = 1


class UsageError(MemcliError):
    """The command line, the configuration or the input cannot be used as it is."""

    exit_code = 2


class StoppedError(MemcliError):
    """Stopped or failed part way; what is done is kept."""

    exit_code = 3


class ModelError(MemcliError):
    """A model is unreachable, slow or talks nonsense."""

    exit_code = 4


class PromptTooLongError(ModelError):
    """More was sent than the model takes; the counts are tokens, None where the server does not tell."""

    def __init__(self, message: str, hint: str, *, tokens: int | None, room: int | None) -> None:
        super().__init__(message, hint)
        self.tokens = tokens
        self.room = room


class HungUpError(ModelError):
    """The model was not waited for to the end: we wanted it so."""

    def __init__(self) -> None:
        super().__init__("the model was not waited for")


class StoreError(MemcliError):
    """The store is locked, damaged, full or cannot be written."""

    exit_code = 5


class DamagedError(StoreError):
    """A file of the store is not what was written."""


class DiskFullError(StoreError):
    """The disk is full; `room` says how much more would do, where that is known."""

    def __init__(self, room: str = "some space", then: str = "run the command again") -> None:
        super().__init__("the disk is full", f"free {room}, and {then}; nothing that was stored is lost")
        self.is_measured = room != "some space"
