from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.importers.tree import in_tree_order

ids = st.sampled_from("abcdefgh")
forests = st.dictionaries(ids, st.none() | ids | st.just("lost"), min_size=1)


def active(parent_of: dict[str, str | None], current: str | None, at: dict[str, int] | None = None) -> str:
    found = in_tree_order(parent_of, current=current, at=(at or {}).get)
    return "".join(node for node, is_active in found.items() if is_active)


TREE = {"c": "a", "a": None, "b": "a", "d": "b", "e": "b"}


@pytest.mark.parametrize(
    ("parent_of", "current", "way"),
    [
        (TREE, "d", "abd"),
        (TREE, "c", "ac"),
        (TREE, "b", "ab"),
        (TREE, None, "abe"),
        (TREE, "gone", "abe"),
        ({"a": None, "b": "a", "c": "lost", "d": "c"}, "d", "abcd"),
        ({"a": "lost", "b": "lost", "c": "b"}, "c", "bc"),
        ({"a": "b", "b": "a"}, "b", "ab"),
        ({"a": "a", "b": "a"}, "b", "ab"),
        ({"a": None, "b": None, "c": None}, "b", "abc"),
    ],
)
def test_way_to_the_current_node_is_active(
    parent_of: dict[str, str | None], current: str | None, way: str
) -> None:
    assert active(parent_of, current) == way


def test_without_a_current_node_the_newest_leaf_is_it() -> None:
    assert active(TREE, None, {"c": 9, "d": 8}) == "ac"


@given(forests, st.none() | ids)
def test_every_node_comes_once_and_the_current_one_is_active(
    parent_of: dict[str, str | None], current: str | None
) -> None:
    found = in_tree_order(parent_of, current=current, at=lambda _: None)
    assert sorted(found) == sorted(parent_of)
    assert current not in parent_of or found[current]


@given(forests, st.none() | ids)
def test_parent_of_an_active_node_is_active_and_comes_before_it(
    parent_of: dict[str, str | None], current: str | None
) -> None:
    found = in_tree_order(parent_of, current=current, at=lambda _: None)
    order = list(found)
    above = {node: parent for node, parent in parent_of.items() if parent in parent_of}
    climbed = {node for node in above if order.index(above[node] or "") < order.index(node)}
    assert all(found[above[node] or ""] for node in climbed if found[node])


def test_chain_of_a_hundred_thousand_is_walked() -> None:
    chain: dict[str, str | None] = {str(n): str(n - 1) for n in range(1, 100_000)}
    assert all(in_tree_order({**chain, "0": None}, current="99999", at=lambda _: None).values())
