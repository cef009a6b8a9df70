"""Conversations that are trees: their messages in order, and which are on the way to where it stands now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from memcli.types import Millis


def in_tree_order(
    parent_of: Mapping[str, str | None], *, current: str | None, at: Callable[[str], Millis | None]
) -> dict[str, bool]:
    """Every node after its parent, and whether it is on the active branch.

    That is the way from `current`, or where nobody knows it the newest leaf, up to the root. Nodes that
    nothing connects to `current` are no branch that was left: of each such tree the way to its newest
    leaf is active too. A circle is cut above `current`.

    Args:
        parent_of: the parent of every node; brothers whose parent is not there are brothers all the same.
        current: the node where the conversation stands.
        at: when a node was made.
    """
    parents = _without_circles(_with_lost_parents(parent_of), first=current)
    order, root_of = _walked(parents)
    leaf_of = _newest_leaves(parents, order, root_of, at)
    if current is not None and current in parent_of:
        leaf_of[root_of[current]] = current
    active: set[str] = set()
    for leaf in leaf_of.values():
        node: str | None = leaf
        while node is not None:
            active.add(node)
            node = parents[node]
    return {node: node in active for node in order if node in parent_of}


def _with_lost_parents(parent_of: Mapping[str, str | None]) -> dict[str, str | None]:
    whole: dict[str, str | None] = {}
    for node, parent in parent_of.items():
        if parent is not None and parent not in parent_of:
            whole.setdefault(parent, None)
        whole[node] = parent
    return whole


def _without_circles(parent_of: Mapping[str, str | None], *, first: str | None) -> dict[str, str | None]:
    """The parents, none where a chain comes back to itself; the chain of `first` is followed first."""
    parents: dict[str, str | None] = dict.fromkeys(parent_of)
    done: set[str] = set()
    for start in ([first] if first is not None and first in parent_of else []) + list(parent_of):
        trail: set[str] = set()
        node: str | None = start
        while node is not None and node not in done:
            done.add(node)
            trail.add(node)
            parent = parent_of[node]
            parents[node] = None if parent in trail else parent
            node = parents[node]
    return parents


def _walked(parents: Mapping[str, str | None]) -> tuple[list[str], dict[str, str]]:
    """The nodes, each after its parent and brothers in the order they are given; and the root of each."""
    children: dict[str | None, list[str]] = defaultdict(list)
    for node, parent in parents.items():
        children[parent].append(node)
    order: list[str] = []
    root_of: dict[str, str] = {}
    waiting = children[None][::-1]
    while waiting:
        node = waiting.pop()
        parent = parents[node]
        root_of[node] = node if parent is None else root_of[parent]
        order.append(node)
        waiting += children[node][::-1]
    return order, root_of


def _newest_leaves(
    parents: Mapping[str, str | None],
    order: list[str],
    root_of: Mapping[str, str],
    at: Callable[[str], Millis | None],
) -> dict[str, str]:
    """The leaf of each root that was made last; among those of one time the last in order."""
    inner = set(parents.values())
    newest: dict[str, tuple[tuple[bool, Millis, int], str]] = {}
    for number, node in enumerate(order):
        if node not in inner:
            made = at(node)
            rank = (made is not None, made or 0, number)
            newest[root_of[node]] = max(newest.get(root_of[node], (rank, node)), (rank, node))
    return {root: leaf for root, (_, leaf) in newest.items()}
