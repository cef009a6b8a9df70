"""The format "chatgpt": conversations of ChatGPT's data export, and single ones that browser tools save."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.importers.content import Content
from memcli.importers.format import ReadOptions
from memcli.importers.head import Head
from memcli.importers.messages import ROLE_OF, meta_with, text_at, time_at
from memcli.importers.session import dated_from, first_words, in_pieces, mapping_at, objects
from memcli.importers.source import Source
from memcli.importers.tree import in_tree_order
from memcli.text import regex
from memcli.types import Conversation, Item, Message, Millis, Skip

NAME = "chatgpt"

_LACK_OF_TYPE = {
    "user_editable_context": "hidden",
    "model_editable_context": "hidden",
    "thoughts": "thinking",
    "reasoning_recap": "thinking",
    "system_error": "error",
}
# Where the page shows links to what was found: `\ue200cite\ue202turn0search1\ue201`.
_CITED = regex("\ue200[^\ue200\ue201]*\ue201")
_TEXT_KEYS = ("text", "result", "content", "summary")


def sniff(head: Head) -> bool:
    """An object has the nodes of a conversation, or says which of them is the current one."""
    return any(
        isinstance(record.get("mapping"), (dict, list))
        or {"current_node", "conversation_id"} <= record.keys()
        for record in head.objects
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The conversations as they stand; what was said on branches that were left is skipped."""
    return in_pieces(_items(source, options))


def _items(source: Source, options: ReadOptions) -> Iterator[Item]:
    for record in objects(source, options):
        if isinstance(record, dict):
            yield from _conversation(record, options)
        else:
            yield record


def _conversation(record: Mapping[str, Any], options: ReadOptions) -> Iterator[Item]:
    nodes = _nodes(record.get("mapping"))
    order = in_tree_order(
        _parents(nodes),
        current=text_at(record, ("current_node",)),
        at=lambda id_: _time(mapping_at(nodes[id_], "message"), options),
    )
    messages: list[Message] = []
    skipped: Counter[str] = Counter()
    for id_, is_active in order.items():
        if nodes[id_].get("message") is None:
            continue  # the root, and nodes that only hold the tree together
        if not (is_active or options.all_branches):
            skipped["inactive-branch"] += 1
            continue
        message = _message(id_, nodes[id_], record, options)
        if isinstance(message, str):
            skipped[message] += 1
        else:
            messages.append(message)
    yield from (Skip(reason, count) for reason, count in skipped.items())
    if messages:
        yield _conversation_of(record, messages, options)
    elif not skipped:
        yield Skip("empty-conversation")


def _conversation_of(
    record: Mapping[str, Any], messages: list[Message], options: ReadOptions
) -> Conversation:
    started_at = _time(record, options)
    if started_at is None:
        started_at = min((message.at for message in messages if message.at is not None), default=None)
    return Conversation(
        text_at(record, ("conversation_id", "id")) or _id_from(record, messages[0]),
        NAME,
        list(dated_from(started_at, messages)),
        title=text_at(record, ("title",)) or first_words(messages),
        started_at=started_at,
        meta={key: record[key] for key in ("gizmo_id",) if isinstance(record.get(key), str)},
    )


def _id_from(record: Mapping[str, Any], first: Message) -> str:
    """An id for a conversation that has none, from what stays the same while it grows."""
    begun = json.dumps([record.get("create_time"), first.id, first.text])
    return f"{NAME}-{hashlib.sha256(begun.encode()).hexdigest()[:12]}"


# --- nodes ----------------------------------------------------------------------------------------


def _nodes(mapping: object) -> dict[str, Mapping[str, Any]]:
    """The nodes by their ids; what is no node is one whose message cannot be read."""
    if isinstance(mapping, list):
        mapping = {text_at(_object(node), ("id",)) or str(n): node for n, node in enumerate(mapping)}
    if not isinstance(mapping, dict):
        return {}
    return {id_: node if isinstance(node, dict) else {"message": node} for id_, node in mapping.items()}


def _parents(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
    """The parent that each node names; of one that names none, the node that has it among its children."""
    parent_of = {
        child: id_
        for id_, node in nodes.items()
        if isinstance(node.get("children"), list)
        for child in node["children"]
        if isinstance(child, str)
    }
    return {
        id_: text_at(node, ("parent",)) if "parent" in node else parent_of.get(id_)
        for id_, node in nodes.items()
    }


def _message(
    id_: str, node: Mapping[str, Any], record: Mapping[str, Any], options: ReadOptions
) -> Message | str:
    """The message of a node, or why it is left out."""
    raw = mapping_at(node, "message")
    author = raw.get("author")
    word = text_at(_object(author), ("role",)) or (author if isinstance(author, str) else "")
    role = ROLE_OF.get(word.lower())
    if role is None:
        return "damaged"
    lack = _lack(raw, role)
    is_kept = lack is None or (options.include_tools and lack in ("tool", "tool-call"))
    if not is_kept:
        return lack or ""
    content = _content(raw)
    if not content.text.strip():
        return content.lack
    text, name = content.text, None
    if lack == "tool-call":
        role, text = "tool", f"{raw.get('recipient')}({text})"
    elif role == "tool":
        name = text_at(_object(author), ("name",))
    model = text_at(mapping_at(raw, "metadata"), ("model_slug",)) or text_at(record, ("default_model_slug",))
    meta = meta_with(model=model if role == "assistant" else None, attachments=content.attachments)
    return Message(role, text, name, _time(raw, options), text_at(raw, ("id",)) or id_, meta)


def _lack(raw: Mapping[str, Any], role: str) -> str | None:
    """Why a message is no part of what the person saw of the conversation; None when it is."""
    kind = _LACK_OF_TYPE.get(str(mapping_at(raw, "content").get("content_type")))
    is_hidden = mapping_at(raw, "metadata").get("is_visually_hidden_from_conversation") is True
    if is_hidden or role == "system" or raw.get("weight") == 0 or kind == "hidden":
        return "hidden"
    if role == "tool":
        return "tool"
    if role == "assistant" and raw.get("recipient", "all") not in ("all", None, ""):
        return "tool-call"
    return "thinking" if role == "assistant" and raw.get("channel") == "analysis" else kind


def _content(raw: Mapping[str, Any]) -> Content:
    """The text of a message, and the names of pictures, sound and files that came with it."""
    content = raw.get("content")
    parts = _parts(content)
    texts = [part if isinstance(part, str) else _part_text(part) for part in parts]
    listed = mapping_at(raw, "metadata").get("attachments")
    files = [_object(file) for file in listed] if isinstance(listed, list) else []
    names = {text_at(file, ("id",)): text_at(file, ("name",)) for file in files}
    pointers = [pointer for part in parts if (pointer := text_at(_object(part), ("asset_pointer",)))]
    attachments = [names.pop(pointer.rpartition("/")[2], None) or pointer for pointer in pointers] + [
        name for name in names.values() if name
    ]
    lack = "media" if attachments else "empty"
    told = _CITED.sub("", "\n".join(text for text in texts if text))
    return Content(told, tuple(dict.fromkeys(attachments)), lack)


def _parts(content: object) -> list[Any]:
    if not isinstance(content, dict):
        return content if isinstance(content, list) else [content]
    parts = content.get("parts")
    if isinstance(parts, list):
        return parts
    return [parts if isinstance(parts, str) else content]


def _part_text(part: object) -> str:
    if isinstance(part, (int, float)) and not isinstance(part, bool):
        return str(part)
    return next((value for key in _TEXT_KEYS if isinstance(value := _object(part).get(key), str)), "")


def _time(record: Mapping[str, Any], options: ReadOptions) -> Millis | None:
    return time_at(record, ("create_time", "update_time"), tz=options.tz)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
