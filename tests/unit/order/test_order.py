"""What an `Order` promises: once each, never before what it follows, and words for what never comes."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Hashable
from typing import Any

import pytest

from aforesaid import Misuse
from aforesaid.order import DeadLetter, Full, Order, Ordered, Unfinished, arrange, arrange_async

Graph = list[tuple[int, tuple[int, ...]]]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ids(handed: list[Ordered[Any]]) -> list[Hashable]:
    return [each.id for each in handed]


def random_graph(chance: random.Random, count: int) -> Graph:
    graph = []
    for number in range(count):
        earlier = range(max(0, number - 30), number)
        graph.append((number, tuple(chance.sample(earlier, min(len(earlier), chance.randrange(4))))))
    return graph


def in_causal_order(handed: list[Hashable], graph: Graph) -> bool:
    """By the definition, with no help from what is tested."""
    place = {id: at for at, id in enumerate(handed)}
    return all(place[earlier] < place[id] for id, follows in graph if id in place for earlier in follows)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_order_in_which_they_come_each_is_handed_on_once_in_causal_order(seed: int) -> None:
    chance = random.Random(seed)
    graph = random_graph(chance, chance.randrange(1, 400))
    coming = graph + chance.sample(graph, len(graph) // 3)
    chance.shuffle(coming)
    order: Order[int] = Order(patience_s=chance.choice((None, 5.0)))
    handed = []
    for id, follows in coming:
        handed += ids(order.put(id, follows))
        if chance.random() < 0.02:
            saved = json.loads(json.dumps(order.saved()))
            repeated, order = order.repeated, Order.loaded(saved, patience_s=order._patience_s)
            order.repeated = repeated
    assert sorted(handed) == [id for id, _ in graph]  # type: ignore[type-var]
    assert in_causal_order(handed, graph), f"seed {seed}"
    assert order.waiting == 0
    assert order.repeated == len(coming) - len(graph)
    assert order.close() == []


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("gives_up", [False, True])
def test_what_never_comes_is_told_and_nothing_is_silent(seed: int, gives_up: bool) -> None:
    """Against the definition: who lacks something, directly or not, is told of with what it lacks."""
    chance = random.Random(seed)
    graph = random_graph(chance, 200)
    lost = {id for id, _ in graph if chance.random() < 0.05}
    dead: list[DeadLetter[int]] = []
    order: Order[int] = Order(patience_s=1.0, dead_letters=dead.append if gives_up else None, clock=Clock())
    coming = [each for each in graph if each[0] not in lost]
    chance.shuffle(coming)
    handed = [each for id, follows in coming for each in order.put(id, follows)]
    handed += order.close()
    assert sorted([each.id for each in handed] + [each.id for each in dead]) == sorted(id for id, _ in coming)  # type: ignore[type-var]
    doomed = set(lost)
    for id, follows in graph:
        if doomed & set(follows):
            doomed.add(id)
    follows_of = dict(graph)
    if gives_up:
        assert {each.id for each in dead} == doomed - lost
        assert all(set(each.lacking) <= doomed & set(follows_of[int(str(each.id))]) for each in dead)
        assert in_causal_order(
            [each.id for each in handed], [each for each in graph if each[0] not in doomed]
        )
    else:
        before: set[Hashable] = set()
        for each in handed:
            assert set(each.lacking) == set(follows_of[int(str(each.id))]) - before, f"seed {seed}"
            before.add(each.id)


def test_without_patience_one_waits_for_ever_and_a_full_order_says_for_whom() -> None:
    order: Order[str] = Order(waiting_max=2)
    assert order.put("c", ["b"]) == []
    assert order.put("b", ["a"]) == []
    with pytest.raises(
        Full, match=r"2 wait, and no more may; c has waited .* for b, in the end for a: not come"
    ):
        order.put("d", ["c"])
    with pytest.raises(Unfinished, match="2 wait"):
        order.close()
    assert ids(order.put("a")) == ["a", "b", "c"]
    assert ids(order.put("d", ["c"])) == ["d"]


def test_who_comes_after_its_followers_were_handed_on_is_called_late() -> None:
    clock = Clock()
    order: Order[str] = Order(patience_s=10.0, clock=clock)
    order.put("reply", ["question"])
    assert order.due_s == 10.0
    clock.now += 10.0
    assert order.overdue() == [Ordered("reply", "reply", ("question",))]
    assert order.due_s is None
    assert order.put("question") == [Ordered("question", "question", (), late=True)]
    assert order.put("question") == []


def test_who_follows_what_was_given_up_is_given_up_too_whenever_it_comes() -> None:
    clock, dead = Clock(), list[DeadLetter[str]]()
    order = Order(patience_s=10.0, dead_letters=dead.append, clock=clock)
    order.put("b", ["a"])
    order.put("c", ["b", "x"])
    clock.now += 10.0
    assert ids(order.put("unrelated")) == ["unrelated"]
    order.put("d", ["c"])
    assert dead == [("b", "b", ("a",)), ("c", "c", ("b", "x")), ("d", "d", ("c",))]
    assert ids(order.put("a")) == ["a"]
    assert order.waiting == 0
    assert str(order.why("c")) == "c was given up"


def test_a_full_order_loses_patience_with_the_eldest() -> None:
    order: Order[int] = Order(patience_s=1e9, waiting_max=100)
    handed = [each for number in range(10_000) for each in order.put(number, [-number - 1])]
    assert ids(handed) == list(range(9_900))
    assert order.waiting == 100


def test_memory_is_bounded_by_what_waits_and_what_is_to_be_remembered() -> None:
    order: Order[int] = Order(remember=50)
    for number in range(10_000):
        order.put(number, [number - 1] if number else [])
    assert len(order.saved()["handed"]) == 50
    assert str(order.why(3)) == "3 has not come, or was forgotten"
    assert order.put(20_000, [3]) == []
    assert order.put(9_999) == []


def test_no_list_grows_while_the_eldest_waits() -> None:
    order: Order[int] = Order(patience_s=1e9)
    order.put(-1, [-2])
    for number in range(0, 20_000, 2):
        order.put(number, [number + 1])
        order.put(number + 1)
    assert order.waiting == 1
    assert len(order._deadlines) < 3_000


def test_why() -> None:
    clock = Clock()
    order: Order[str] = Order(clock=clock)
    order.put("b", ["a"])
    order.put("c", ["b"])
    order.put("x", ["y"])
    order.put("y", ["x"])
    clock.now += 2.5
    assert str(order.why("c")) == "c has waited 2.5 s for b, in the end for a: not come"
    assert str(order.why("b")) == "b has waited 2.5 s for a: not come"
    assert str(order.why("a")) == "a has not come, or was forgotten; 1 wait for it"
    assert str(order.why("x")) == "x has waited 2.5 s for y: they wait for each other"
    order.put("a")
    assert str(order.why("c")) == "c was handed on"


def test_bad_input_is_refused_and_nothing_is_lost() -> None:
    with pytest.raises(Misuse, match="patience_s is -1"):
        Order(patience_s=-1)
    with pytest.raises(Misuse, match="never called without patience_s"):
        Order(dead_letters=print)
    with pytest.raises(Misuse, match="at least 1"):
        Order(waiting_max=0)
    order: Order[str] = Order()
    with pytest.raises(Misuse, match="a follows itself"):
        order.put("a", ["a"])
    with pytest.raises(TypeError):
        order.put("a", [[]])  # type: ignore[list-item]
    assert order.waiting == 0
    assert ids(order.put("a")) == ["a"]
    with pytest.raises(Misuse, match="d follows 'ab', which would be its letters: give a list of ids"):
        order.put("d", "ab")


@pytest.mark.parametrize("wrong", [("a", ["a"]), ("a", "b"), ("a", [[]]), ([], []), ("a", None)])
def test_what_cannot_be_taken_takes_nobody_along_whose_patience_is_over(wrong: Any) -> None:
    clock = Clock()
    order: Order[str] = Order(patience_s=1.0, clock=clock)
    order.put("waits", ["never"])
    clock.now += 2
    with pytest.raises((Misuse, TypeError)):
        order.put(*wrong)
    assert ids(order.put("b")) == ["waits", "b"]


def test_a_tuple_comes_back_from_json_as_a_tuple_and_ages_go_on() -> None:
    clock = Clock()
    order: Order[str] = Order(patience_s=10.0, clock=clock)
    order.put(("shop", 2), [("shop", 1)], "paid")
    clock.now += 6.0
    order = Order.loaded(json.loads(json.dumps(order.saved())), patience_s=10.0, clock=clock)
    assert order.due_s == pytest.approx(4.0)
    assert [each.event for each in order.put(("shop", 1), (), "ordered")] == ["ordered", "paid"]


def test_a_whole_stream() -> None:
    events = [("b", "a"), ("c", "b"), ("a", "")]
    arranged = arrange(events, id=lambda each: each[0], follows=lambda each: [*each[1]])
    assert ids(list(arranged)) == ["a", "b", "c"]
    with pytest.raises(Unfinished):
        list(arrange(events[:2], id=lambda each: each[0], follows=lambda each: [*each[1]]))


def test_in_an_asynchronous_stream_patience_ends_although_nothing_comes() -> None:
    async def main() -> list[Ordered[str]]:
        more = asyncio.Event()

        async def events() -> AsyncIterator[str]:
            yield "b"
            await more.wait()
            yield "c"

        got = []
        order: Order[str] = Order(patience_s=0.05)
        following = {"b": ["a"], "c": ["b"]}
        async for each in arrange_async(events(), id=str, follows=following.__getitem__, order=order):
            got.append(each)
            more.set()
        return got

    assert asyncio.run(asyncio.wait_for(main(), 10)) == [("b", "b", ("a",), False), ("c", "c", (), False)]


def test_an_asynchronous_stream_that_fails_fails_for_its_reader() -> None:
    async def events() -> AsyncIterator[str]:
        yield "a"
        raise OSError("the feed broke")

    async def main() -> None:
        async for _ in arrange_async(events(), id=str, follows=lambda _: []):
            pass

    with pytest.raises(OSError, match="the feed broke"):
        asyncio.run(main())


def test_what_was_handed_on_and_forgotten_is_not_waited_for_after_a_restart() -> None:
    order: Order[str] = Order(remember=1)
    order.put("c", ["a", "b"])
    order.put("a")
    order.put("x")
    order = Order.loaded(order.saved(), remember=1)
    assert ids(order.put("b")) == ["b", "c"]


def test_a_dead_letter_box_that_fails_loses_nobody() -> None:
    clock, dead = Clock(), list[Hashable]()

    def box(letter: DeadLetter[str]) -> None:
        if letter.id == "b":
            raise OSError("the box is full")
        dead.append(letter.id)

    order: Order[str] = Order(patience_s=1.0, dead_letters=box, clock=clock)
    order.put("b", ["a"])
    for number in range(3):
        order.put(f"c{number}", ["b"])
    clock.now += 1.0
    with pytest.raises(OSError, match="the box is full"):
        order.overdue()
    assert order.waiting == 3
    assert order.overdue() == []
    assert dead == ["c0", "c1", "c2"]
