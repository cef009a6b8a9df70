"""Encryption with age (age-encryption.org), as pyrage does it; none of it is ours.

What is large is encrypted as it comes. There a passphrase opens a key, and the key opens the rest: age with a
passphrase alone needs all of it in memory. Such a file begins with the key as age's text form of a
passphrase-encrypted identity, and the rest is an ordinary age file; the `age` program opens both. What fits
into memory is one ordinary age file, whatever opens it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Protocol

from memcli.errors import StoreError, UsageError

_KEY_BEGINS = b"-----BEGIN AGE ENCRYPTED FILE-----"
_KEY_ENDS = b"-----END AGE ENCRYPTED FILE-----\n"
_BEGINS = b"age-encryption.org/"
# The text form of an encrypted identity has about 500 bytes.
_KEY_BYTES = 4096
# What pyrage says of a passphrase that would take this machine much longer than the one that set it.
_TOO_SLOW = "Excessive work"


class Source(Protocol):
    """A file that is read."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        ...

    def seek(self, place: int, /) -> int:
        """Go on from this place."""
        ...


class Sink(Protocol):
    """A file that is written."""

    def write(self, data: bytes, /) -> int:
        """Take the bytes."""
        ...

    def flush(self) -> None:
        """Hand them on."""
        ...


@dataclass(frozen=True, slots=True)
class Lock:
    """What a file is locked with: a passphrase, or public keys (age1…, ssh-…)."""

    passphrase: str | None = None
    recipients: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """What opens a file: the text of a file of secret keys, as age-keygen or ssh-keygen writes it."""

    identities: str


def locked_with(head: bytes) -> str | None:
    """What opens a file that begins so: "passphrase", "identity", or None where it is not encrypted."""
    if head.startswith(_KEY_BEGINS):
        return "passphrase"
    return "identity" if head.startswith(_BEGINS) else None


# --- locking --------------------------------------------------------------------------------------


def encrypt(pieces: Iterator[bytes], out: Sink, lock: Lock) -> None:
    """Write the pieces encrypted, as they come.

    Raises UsageError for a key that is none, and whatever `pieces` and `out` raise.
    """
    import pyrage

    if lock.passphrase is None:
        _stream(pieces, out, [_recipient(text) for text in lock.recipients])
        return
    identity = pyrage.x25519.Identity.generate()
    out.write(pyrage.passphrase.encrypt(f"{identity}\n".encode(), lock.passphrase, armored=True))
    _stream(pieces, out, [identity.to_public()])


def encrypted(data: bytes, lock: Lock) -> bytes:
    """The data as one ordinary age file, which `age -d` opens. Raises UsageError for a key that is none."""
    import pyrage

    if lock.passphrase is None:
        return bytes(pyrage.encrypt(data, [_recipient(text) for text in lock.recipients]))
    return bytes(pyrage.passphrase.encrypt(data, lock.passphrase))


def _stream(pieces: Iterator[bytes], out: Sink, recipients: Sequence[Any]) -> None:
    import pyrage

    failed: list[BaseException] = []
    try:
        pyrage.encrypt_io(_Pulled(pieces, failed), _Pushed(out, failed), recipients)
    except pyrage.EncryptError as error:
        # All that it says of an error of ours is its words.
        raise failed[0] if failed else error from error


def _recipient(text: str) -> Any:
    import pyrage

    kind = pyrage.ssh if text.startswith("ssh-") else pyrage.x25519
    try:
        return kind.Recipient.from_str(text.strip())
    except pyrage.RecipientError as error:
        raise UsageError(
            f"{text!r} is no public key", "give one of age (age1…) or of SSH (ssh-ed25519 …)"
        ) from error


@contextmanager
def _kept(failed: list[BaseException]) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        failed.append(error)
        raise


class _Pulled:
    """Pieces as a stream that is read; an error of theirs is kept in `failed`."""

    def __init__(self, pieces: Iterator[bytes], failed: list[BaseException]) -> None:
        self._pieces = pieces
        self._failed = failed
        self._rest = b""

    def read(self, size: int) -> bytes:
        """The next bytes, at most so many."""
        if not self._rest:
            with _kept(self._failed):
                # An empty piece is no end.
                self._rest = next((piece for piece in self._pieces if piece), b"")
        given, self._rest = self._rest[:size], self._rest[size:]
        return given


@dataclass(frozen=True, slots=True)
class _Pushed:
    """A stream that is written; an error of its is kept in `failed`."""

    out: Sink
    failed: list[BaseException]

    def write(self, data: bytes, /) -> int:
        """Take the bytes."""
        with _kept(self.failed):
            return self.out.write(data)

    def flush(self) -> None:
        """Hand them on."""
        with _kept(self.failed):
            self.out.flush()


# --- opening --------------------------------------------------------------------------------------


def unlock(stream: Source, passphrase: str) -> Key:
    """The key at the beginning of a file that a passphrase opens. Takes about a second, on purpose.

    Raises UsageError when it does not.
    """
    head = stream.read(_KEY_BYTES)
    return Key(decrypted(head[: _key_bytes(head)], passphrase).decode())


def decrypted(data: bytes, passphrase: str) -> bytes:
    """What an age file holds that a passphrase opens. Raises UsageError when it does not."""
    import pyrage

    for is_last in (False, False, True):
        try:
            return bytes(pyrage.passphrase.decrypt(data, passphrase))
        except (pyrage.DecryptError, ValueError) as error:
            if _TOO_SLOW not in str(error):
                raise UsageError(
                    "the passphrase does not open the backup, or its beginning is damaged",
                    "try again; nothing was changed",
                ) from error
            # How fast the machine is was measured just now, and may be measured otherwise the next time.
            if is_last:
                raise UsageError(
                    "this machine is too slow or too busy to open the backup now",
                    "try again when it has less to do; nothing was changed",
                ) from error
    raise AssertionError


def _key_bytes(head: bytes) -> int:
    """How long the key at the beginning of a file is; 0 where there is none."""
    return head.find(_KEY_ENDS) + len(_KEY_ENDS) if locked_with(head) == "passphrase" else 0


@contextmanager
def decrypting(stream: Source, key: Key) -> Iterator[IO[bytes]]:
    """The content of an encrypted file, as it comes.

    A damaged one ends too early, and the error follows when the context is left.

    Raises:
        UsageError: the key does not open it, or is none.
        StoreError: it is damaged.
    """
    identities = _identities(key.identities)
    stream.seek(_key_bytes(stream.read(_KEY_BYTES)))
    ours, theirs = os.pipe()
    failed: list[BaseException] = []
    worker = threading.Thread(target=_decrypt, args=(stream, theirs, identities, failed), daemon=True)
    worker.start()
    try:
        with os.fdopen(ours, "rb") as plain:
            yield plain
    except StoreError:
        # What was read is cut short because the file is.
        worker.join()
        _report(failed)
        raise
    worker.join()
    _report(failed)


def _decrypt(stream: Source, out: int, identities: Sequence[Any], failed: list[BaseException]) -> None:
    import pyrage

    with os.fdopen(out, "wb", buffering=0) as pipe:
        try:
            pyrage.decrypt_io(stream, pipe, identities)
        except BrokenPipeError:
            # Who reads has seen enough.
            return
        except (pyrage.DecryptError, OSError, ValueError) as error:
            failed.append(error)


def _report(failed: Sequence[BaseException]) -> None:
    import pyrage

    if failed and isinstance(failed[0], pyrage.DecryptError):
        raise UsageError(
            "this key does not open the backup, or its beginning is damaged",
            "try another key; nothing was changed",
        ) from failed[0]
    if failed:
        raise StoreError(
            "the encrypted backup is cut short or damaged", "nothing was changed; take another backup"
        ) from failed[0]


def _identities(text: str) -> Sequence[Any]:
    import pyrage

    try:
        if "PRIVATE KEY" in text:
            return [pyrage.ssh.Identity.from_buffer(text.encode())]
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        found = [pyrage.x25519.Identity.from_str(line) for line in lines]
    except pyrage.IdentityError as error:
        raise UsageError(
            "the file of keys holds none of age or SSH", "give the file of age-keygen"
        ) from error
    if not found:
        raise UsageError("the file of keys is empty", "give the file of age-keygen")
    return found
