"""Broadcast along a tree: the tree's shape, one step at a time, and every schedule of small scopes."""

import pickle

import pytest

from aforesaid.core import MessageId, Misuse, freeze
from aforesaid.explore import Scope, explore
from aforesaid.protocols.broadcast.tree import Relay, Tree, neighbours
from aforesaid.protocols.catalog import Setup, algorithm
from support.harness import Recorder

NAMES = ("a", "b", "c", "d", "e", "f", "g")


def tree(setup: Setup) -> Tree:
    return Tree(setup.me, setup.group, setup.incarnation)


def test_the_tree_is_shaped_like_a_heap() -> None:
    assert neighbours("a", NAMES, 2) == ("b", "c")
    assert neighbours("b", NAMES, 2) == ("a", "d", "e")
    assert neighbours("c", NAMES, 2) == ("a", "f", "g")
    assert neighbours("g", NAMES, 2) == ("c",)
    assert neighbours("b", NAMES, 1) == ("a", "c")
    assert neighbours("a", NAMES, 6) == ("b", "c", "d", "e", "f", "g")


def test_the_tree_does_not_depend_on_the_order_of_the_group() -> None:
    assert neighbours("c", NAMES[::-1], 2) == neighbours("c", NAMES, 2)


@pytest.mark.parametrize("size", range(1, 30))
@pytest.mark.parametrize("fan_out", [1, 2, 3, 8])
def test_it_is_a_tree_and_spans_the_group(size: int, fan_out: int) -> None:
    names = [f"p{number}" for number in range(size)]
    near = {name: neighbours(name, names, fan_out) for name in names}
    assert all(name in near[other] for name in names for other in near[name])
    assert sum(map(len, near.values())) == 2 * (size - 1)
    reached, edge = {names[0]}, [names[0]]
    while edge:
        edge = [other for name in edge for other in near[name] if other not in reached]
        reached.update(edge)
    assert reached == set(names)


def test_a_message_goes_to_all_neighbours_and_is_delivered_at_once() -> None:
    node, out = Tree("b", NAMES), Recorder()
    assert node.broadcast("x", 0, out) == MessageId("b", 0, 1)
    assert node.broadcast("y", 0, out) == MessageId("b", 0, 2)
    relay = Relay(MessageId("b", 0, 1), "x")
    assert out.sent[:3] == [("a", relay), ("d", relay), ("e", relay)]
    assert out.payloads == ["x", "y"]


def test_it_is_forwarded_to_all_but_where_it_came_from() -> None:
    node, out = Tree("b", NAMES), Recorder()
    relay = Relay(MessageId("e", 0, 1), "x")
    node.receive("e", relay, 0, out)
    assert out.sent == [("a", relay), ("d", relay)]
    assert out.delivered == [(relay.message_id, "x")]


def test_a_leaf_and_a_lonely_process_forward_nothing() -> None:
    out = Recorder()
    Tree("g", NAMES).receive("c", Relay(MessageId("a", 0, 1), "x"), 0, out)
    Tree("a", ("a",)).broadcast("y", 0, out)
    assert (out.sent, out.payloads) == ([], ["x", "y"])


def test_it_holds_nothing() -> None:
    node, out = Tree("b", NAMES), Recorder()
    node.receive("e", Relay(MessageId("e", 0, 1), "x"), 0, out)
    node.peer_down("a", 0, out)
    node.peer_up("a", 0, out)
    assert freeze(node) == freeze(Tree("b", NAMES))
    assert not any(node.gauges().values())
    assert freeze(pickle.loads(pickle.dumps(node))) == freeze(node)


def test_misuse_is_named() -> None:
    for fan_out in (0, -1, 1.5, True, "2"):
        with pytest.raises(Misuse, match="fan_out must be a whole number"):
            algorithm("tree").validate({"fan_out": fan_out})
    with pytest.raises(Misuse, match="x is not in its own group"):
        Tree("x", NAMES)
    with pytest.raises(Misuse, match="no timers"):
        Tree("a", NAMES).expire("tick", 0, Recorder())


@pytest.mark.parametrize(("processes", "messages"), [(3, 2), (4, 1)])
def test_every_schedule_over_fifo_links_is_causal(processes: int, messages: int) -> None:
    found = explore(tree, Scope(processes=processes, messages=messages, fifo=True))
    assert found.verdict == "kept", str(found)
