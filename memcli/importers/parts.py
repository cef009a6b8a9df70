"""What a file consists of: itself, or the members of an archive that hold a history or a note."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from memcli.errors import UsageError
from memcli.importers import Format, Source, detect, format_named
from memcli.importers.container import bomb
from memcli.importers.encoding import is_binary
from memcli.importers.head import head_of
from memcli.types import Notice

# What anybody may have written, and anything may be taken for.
_NOTE_FORMATS = {"basic-memory", "csv", "markdown", "text"}
_NOTE_ENDINGS = {"", ".csv", ".markdown", ".md", ".org", ".rst", ".tsv", ".txt"}
_GENERIC_FORMATS = _NOTE_FORMATS | {"memcli", "message-jsonl", "openai-jsonl"}

# Files that exports bring along: settings, lists, the same conversations again as a web page.
_SIDE_NAMES = {
    # ChatGPT
    "chat.html",
    "conversation_asset_file_names.json",
    "export_manifest.json",
    "group_chats.json",
    "message_feedback.json",
    "model_comparisons.json",
    "shared_conversations.json",
    "shopping.json",
    "sora.json",
    "user.json",
    "user_settings.json",
    # Claude.ai and Slack
    "users.json",
    "canvases.json",
    "channels.json",
    "dms.json",
    "groups.json",
    "integration_logs.json",
    "mpims.json",
    # Google
    "archive_browser.html",
}
# Our own package of everything about a user: only its memories are a history.
_PACKAGE, _MEMORIES = "memcli-package", "memories.jsonl"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Part:
    """A file to be read and its format; before it come `before_bytes` of the `total_bytes` of its archive."""

    source: Source
    form: Format
    before_bytes: int = 0
    total_bytes: int | None = None


def parts(source: Source, *, encoding: str | None, format_name: str | None) -> Iterator[Part | Notice]:
    """The file itself, or the members of a zip archive that can be read; each is open until the next.

    What belongs to an export and holds no history (settings, pictures, a web page of the same
    conversations) is passed over; so it is in a directory. What nobody knows comes as a Notice.
    Raises UsageError when the file, or nothing of the archive, can be read.
    """
    if source.kind == "zip":
        asked = format_named(format_name) if format_name else None
        yield from _of_archive(source, encoding, asked)
    elif source.is_named or not _is_side_file(source, encoding):
        form = format_named(format_name) if format_name else detect(source, encoding=encoding)
        yield Part(source, form, total_bytes=source.size)


def _is_side_file(source: Source, encoding: str | None) -> bool:
    place = PurePosixPath(source.name)
    if place.parent.name == _PACKAGE:
        return place.name != _MEMORIES
    if place.name not in _SIDE_NAMES:
        return False
    try:
        return detect(source, encoding=encoding).name in _GENERIC_FORMATS
    except UsageError:
        return source.damage is None


def _of_archive(
    source: Source, encoding: str | None, asked: Format | None, *, outer: _Outer | None = None
) -> Iterator[Part | Notice]:
    """What can be read of an archive, and of the archives in it, but not of those in these."""
    with source.members() as members:
        found = _found(members, encoding, asked, with_archives=outer is None)
        chosen, left = _without_companions(found.forms)
        if not (chosen or found.archives):
            raise _nothing_in(source, found.refused, asked)
        sizes = {name: members[name]().size or 0 for name in (*chosen, *found.archives)}
        total = sum(sizes.values())
        whole = outer or _Outer(source.size or source.bytes_read)
        whole.unpack(total, source)
        before = 0
        for name, form in chosen.items():
            with members[name]() as member:
                yield Part(member, form, before, total) if outer is None else Part(member, form)
            before += sizes[name]
        is_read = bool(chosen)
        for name in found.archives:
            with members[name]() as member:
                try:
                    for part in _of_archive(member, encoding, asked, outer=whole):
                        is_read = True
                        yield part
                except UsageError as error:
                    found.refused.append(error)
        if not is_read:
            raise _nothing_in(source, found.refused, asked)
        yield from _notices(left, found.refused)


@dataclass(frozen=True, slots=True)
class _Found:
    """The members of an archive: those with a format, archives in it, and why others cannot be read."""

    forms: dict[str, Format]
    archives: list[str]
    refused: list[UsageError]


def _found(
    members: Mapping[str, Callable[[], Source]],
    encoding: str | None,
    asked: Format | None,
    *,
    with_archives: bool,
) -> _Found:
    found = _Found({}, [], [])
    for name, open_member in members.items():
        with open_member() as member:
            try:
                if with_archives and member.kind == "zip":
                    found.archives.append(name)
                elif form := _form_of(member, encoding, asked):
                    found.forms[name] = form
            except UsageError as error:
                found.refused.append(error)
    return found


@dataclass(slots=True)
class _Outer:
    """What somebody named: all that is unpacked of it, archives in it too, is held against its size."""

    packed_bytes: int
    unpacked_bytes: int = 0

    def unpack(self, size: int, source: Source) -> None:
        """So many bytes more. Raises UsageError for a bomb."""
        # Each member may be in order and all of them together not: they can share their bytes.
        self.unpacked_bytes += size
        why = bomb(self.unpacked_bytes, self.packed_bytes)
        if why is not None:
            raise UsageError(f"{source.path} cannot be read: {why}", "unpack it and import the folder")


def _form_of(member: Source, encoding: str | None, asked: Format | None) -> Format | None:
    """The format of a member, None for what is passed over. Raises UsageError for what cannot be read."""
    member.head()
    if _is_side_file(member, encoding):
        return None
    if member.kind == "text" and is_binary(member.head()) and head_of(member, encoding=None).kind == "binary":
        return None
    if asked:
        return asked if asked.sniff(head_of(member, encoding=encoding)) else None
    if member.kind not in ("text", "sqlite", "zip"):
        return None
    form = detect(member, encoding=encoding)
    is_note = form.name in _NOTE_FORMATS
    return None if is_note and PurePosixPath(member.name).suffix.lower() not in _NOTE_ENDINGS else form


def _without_companions(forms: Mapping[str, Format]) -> tuple[dict[str, Format], list[str]]:
    """The members to read, and the texts beside a program's own history: its manuals, what was attached."""
    if all(form.name in _GENERIC_FORMATS for form in forms.values()):
        return dict(forms), []
    left = [name for name, form in forms.items() if form.name in _NOTE_FORMATS]
    return {name: form for name, form in forms.items() if name not in left}, left


def _nothing_in(source: Source, refused: list[UsageError], asked: Format | None) -> UsageError:
    if refused:
        return refused[0]
    what = f"nothing of the format {asked.name}" if asked else "no history and no note that can be read"
    return UsageError(f"{source.path} holds {what}", "unpack it and look at what is in it")


def _notices(left: list[str], refused: list[UsageError]) -> Iterator[Notice]:
    if left:
        more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        yield Notice(f"texts beside the history were not read: {', '.join(left[:_SHOWN])}{more}")
    for error in islice(refused, _SHOWN):
        yield Notice(error.message)
    if len(refused) > _SHOWN:
        yield Notice(f"{len(refused) - _SHOWN} more files of the archive could not be read")
