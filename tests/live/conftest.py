"""Deselects what needs a real model that the environment does not name."""

from __future__ import annotations

import os

import pytest

WORLD = dict(os.environ)
"""The environment as it was before any fixture emptied it."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`@pytest.mark.live("VARIABLE", …)` needs all of these variables."""
    needs = {item: item.get_closest_marker("live") for item in items}
    kept = [item for item, mark in needs.items() if mark is None or all(map(WORLD.get, mark.args))]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
