from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.importers.session import branch_heads, dated_from, folder_name, in_pieces
from memcli.types import Conversation, Message, Notice


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ana/loom", "loom"),
        ("/home/ana/loom/", "loom"),
        ("C:\\Users\\ana\\loom", "loom"),
        ("loom", "loom"),
        ("/", None),
        ("", None),
        (None, None),
        (["/home"], None),
    ],
)
def test_last_folder_of_a_path_is_the_project(path: object, name: str | None) -> None:
    assert folder_name(path) == name


def test_branch_is_named_by_where_it_left_the_way() -> None:
    parents = {"a": None, "b": "a", "c": "b", "x": "a", "y": "x", "z": "y"}
    assert branch_heads(parents, ["c"]) == {"x": "x", "y": "x", "z": "x"}


def test_what_nothing_connects_to_the_way_is_on_no_branch() -> None:
    parents = {"a": None, "b": "a", "lost": "nowhere", "after": "lost", "p": "q", "q": "p"}
    assert branch_heads(parents, ["b"]) == dict.fromkeys(["lost", "after", "p", "q"])


@given(st.dictionaries(st.integers(0, 20), st.integers(0, 20) | st.none()), st.lists(st.integers(0, 20)))
def test_every_node_is_on_the_way_or_has_a_head_below_it(
    parents: dict[int, int | None], leaves: list[int]
) -> None:
    heads = branch_heads(parents, leaves)
    way = parents.keys() - heads.keys()
    assert {leaf for leaf in leaves if leaf in parents} <= way
    assert all(parents[head] in way for head in heads.values() if head is not None)


def test_very_long_chain_is_walked() -> None:
    parents = {number: number - 1 if number else None for number in range(50_000)}
    assert branch_heads(parents, [10]) == dict.fromkeys(range(11, 50_000), 11)


def test_estimated_times_keep_order_and_say_so() -> None:
    said = [Message("user", "yes"), Message("user", "yes", at=5), Message("user", "yes")]
    dated = list(dated_from(1000, said))
    assert [message.at for message in dated] == [1000, 5, 1002]
    assert [message.meta for message in dated] == [{"time_estimated": True}, {}, {"time_estimated": True}]
    assert list(dated_from(None, said)) == said


def test_long_session_comes_in_pieces_that_belong_together() -> None:
    session = Conversation("s", "codex", [Message("user", f"{n}") for n in range(1201)], project="loom")
    *pieces, notice = in_pieces([session, Conversation("empty", "codex", [])])
    told = [
        (piece.id, piece.project, len(piece.messages)) for piece in pieces if isinstance(piece, Conversation)
    ]
    assert told == [("s", "loom", 500), ("s", "loom", 500), ("s", "loom", 201)]
    assert notice == Notice("1201 records have no readable time")
