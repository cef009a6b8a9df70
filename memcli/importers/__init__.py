"""The table of formats: which one a file has, and what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from memcli.errors import UsageError
from memcli.importers import (
    aichat,
    aider,
    aistudio,
    alpaca,
    basic_memory,
    chatbotui,
    chatbox,
    chatgpt,
    cherry_studio,
    claude_ai,
    claude_code,
    claude_mem,
    codex,
    discord,
    discord_package,
    gemini_cli,
    grok,
    jan,
    jsonl,
    langchain,
    langgraph_store,
    librechat,
    llm_logs,
    lm_studio,
    lobechat,
    markdown,
    mcp_memory,
    mem0,
    memcli,
    meta,
    open_webui,
    openai,
    openmemory,
    pi,
    sharegpt,
    sillytavern,
    slack,
    table,
    takeout,
    telegram,
    text,
    text_rows,
    wechat,
    whatsapp,
)
from memcli.importers.content import without_thoughts
from memcli.importers.format import Format, ReadOptions
from memcli.importers.head import Head, head_of
from memcli.importers.source import Source, Unreadable, sources
from memcli.types import Conversation, Item, Notice, Skip

__all__ = [
    "FORMATS",
    "Format",
    "ReadOptions",
    "Source",
    "Unreadable",
    "detect",
    "format_named",
    "read",
    "sources",
]

# In the order they are tried, by how much they demand of a file: programs by keys that are their own, then
# what many write (rows with a role and a text), then whatever people write. A format that another one's
# files would satisfy too stands below it. By line are only those of which a line says all that its records
# are: an agent's session hangs on its first line and its tree, training data tells a prompt once, and of our
# own export a memory may replace one of an earlier line.
FORMATS = (
    Format("memcli", memcli.sniff, memcli.read),
    Format("chatgpt", chatgpt.sniff, chatgpt.read),
    Format("claude-ai", claude_ai.sniff, claude_ai.read),
    Format("claude-code", claude_code.sniff, claude_code.read),
    Format("codex", codex.sniff, codex.read),
    Format("gemini-cli", gemini_cli.sniff, gemini_cli.read),
    Format("session-jsonl", pi.sniff, pi.read),
    Format("jan", jan.sniff, jan.read),
    Format("sillytavern", sillytavern.sniff, sillytavern.read),
    Format("aider", aider.sniff, aider.read),
    Format("telegram", telegram.sniff, telegram.read),
    Format("slack", slack.sniff, slack.read),
    Format("discord", discord.sniff, discord.read),
    Format("discord-package", discord_package.sniff, discord_package.read),
    Format("meta", meta.sniff, meta.read),
    Format("wechat", wechat.sniff, wechat.read),
    Format("whatsapp", whatsapp.sniff, whatsapp.read),
    Format("gemini-activity", takeout.sniff, takeout.read),
    Format("ai-studio", aistudio.sniff, aistudio.read),
    Format("grok", grok.sniff, grok.read),
    Format("librechat", librechat.sniff, librechat.read),
    Format("chatbot-ui", chatbotui.sniff, chatbotui.read),
    Format("open-webui", open_webui.sniff, open_webui.read),
    Format("lm-studio", lm_studio.sniff, lm_studio.read),
    Format("cherry-studio", cherry_studio.sniff, cherry_studio.read),
    Format("lobechat", lobechat.sniff, lobechat.read),
    Format("chatbox", chatbox.sniff, chatbox.read),
    Format("llm", llm_logs.sniff, llm_logs.read),
    Format("aichat", aichat.sniff, aichat.read),
    Format("mcp-memory", mcp_memory.sniff, mcp_memory.read),
    Format("openmemory", openmemory.sniff, openmemory.read),
    Format("mem0", mem0.sniff, mem0.read),
    Format("claude-mem", claude_mem.sniff, claude_mem.read),
    Format("basic-memory", basic_memory.sniff, basic_memory.read),
    Format("langchain", langchain.sniff, langchain.read),
    Format("langgraph-store", langgraph_store.sniff, langgraph_store.read),
    Format("sharegpt", sharegpt.sniff, sharegpt.read),
    Format("alpaca", alpaca.sniff, alpaca.read),
    Format("openai-jsonl", openai.sniff, openai.read),
    Format("message-jsonl", jsonl.sniff, jsonl.read, by_line=True),
    Format("text-jsonl", text_rows.sniff, text_rows.read, by_line=True),
    Format("csv", table.sniff, table.read),
    Format("markdown", markdown.sniff, markdown.read),
    Format("text", text.sniff, text.read),
)

_READ_KINDS = ("text", "sqlite")
_HINT = "unpack or export it as JSON, CSV, Markdown or text, and import that"
_HINTS = {
    "a Parquet table": "an export to Parquet is one-way; export it as JSONL, and import that",
    "encrypted with age": "open it first: `age -d FILE | memcli import -`; a backup is for `memcli restore`",
}
_EMPTY = (b"", b"[]", b"{}")
_NOT_CONTENT = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"  # byte order marks, blanks, and what a crash left of a file


def detect(source: Source, *, encoding: str | None = None) -> Format:
    """The format of a file, by what is in it, never by its name.

    Raises UsageError for archives and other binary files, for JSON of no known shape, and for text
    whose encoding cannot be told.
    """
    _refuse_unreadable(source)
    if _is_empty(source):
        _finish(source)
        return FORMATS[-1]
    head = head_of(source, encoding=encoding)
    for form in FORMATS:
        if form.sniff(head):
            return form
    raise source.damage or _unknown(source.path, head)


def format_named(name: str) -> Format:
    """The format that the person named. Raises UsageError when there is none of that name."""
    for form in FORMATS:
        if form.name == name:
            return form
    names = ", ".join(form.name for form in FORMATS)
    raise UsageError(f"there is no format {name!r}", f"the formats are: {names}")


def read(source: Source, *, options: ReadOptions, format_name: str | None = None) -> Iterator[Item]:
    """What a file holds; its format is `format_name`, or told from its content.

    Raises UsageError, when the first item is asked for, as `detect` and `format_named` do; and after the
    last one, when the file is damaged and could not be read to its end.
    """
    _refuse_unreadable(source)
    form = format_named(format_name) if format_name else detect(source, encoding=options.encoding)
    if _is_empty(source):
        _finish(source)
        yield Notice("the file is empty")
    else:
        for item in form.read(source, options):
            yield from _spoken(item) if isinstance(item, Conversation) else (item,)
    if source.damage is not None:
        raise source.damage


def _spoken(told: Conversation) -> Iterator[Item]:
    """The conversation with nothing but what was said in it."""
    if not any(message.text.lstrip()[:6] == "<think" for message in told.messages):
        yield told
        return
    messages = [
        replace(message, text=without_thoughts(message.text)) if message.role == "assistant" else message
        for message in told.messages
    ]
    spoken = [message for message in messages if message.text]
    if len(spoken) < len(messages):
        yield Skip("thinking", len(messages) - len(spoken))
    if spoken:
        yield replace(told, messages=spoken)


def _refuse_unreadable(source: Source) -> None:
    """Raise UsageError for what holds no text that a format could be told of: a picture, a tar archive."""
    if source.kind not in _READ_KINDS:
        what = "a zip archive" if source.kind == "zip" else source.kind
        raise UsageError(f"{source.path} is {what}, which cannot be read", _HINTS.get(source.kind, _HINT))


def _is_empty(source: Source) -> bool:
    return source.head().translate(None, _NOT_CONTENT) in _EMPTY


def _finish(source: Source) -> None:
    """Read what only begins like an empty file to its end. Raises UsageError for a bomb of zeros."""
    source.finish()
    if source.damage is not None:
        raise source.damage


def _unknown(path: str, head: Head) -> UsageError:
    if head.kind == "sqlite":
        tables = ", ".join(list(head.tables)[:8])
        return UsageError(
            f"{path} is an SQLite database of no known program: its tables are {tables}",
            "export what it holds from the program that made it, and import that",
        )
    if head.kind == "binary":
        return UsageError(
            f"{path} is a binary file, not text", "if it is UTF-16 text, say --encoding utf-16-le"
        )
    keys = list(head.objects[0])[:8] if head.objects else []
    seen = f"its keys are {', '.join(keys)}" if keys else "no record of it can be read"
    return UsageError(
        f"{path} is JSON of no known shape: {seen}",
        "if it is one of the known formats, name it with --format",
    )
