"""KS step by step, its latency, the size of its log, and what breaks when one of its rules is changed."""

import pickle
from typing import Any

import pytest

from aforesaid.core import MessageId, Misbehaviour, Misuse, freeze
from aforesaid.protocols.delivery.ks import Entries, Entry, Ks, Logged, merged, without
from aforesaid.protocols.delivery.rst import Rst
from support.delivery_worlds import Event, RandomRun, World, broken, replay
from support.harness import Recorder

GROUP = ("a", "b", "c", "d")
A, B, C, D = range(4)


def said(node: Ks, targets: str, payload: Any = None) -> dict[str, Logged]:
    """What a process sends, by target."""
    out = Recorder()
    node.send(tuple(targets), payload or targets, 0, out)
    return dict(out.sent)


def entries(of: dict[int, tuple[int, ...]]) -> Entries:
    return {number: Entry(A, number, left) for number, left in of.items()}


def destinations(of: Entries) -> dict[int, tuple[int, ...]]:
    return {number: entry.destinations for number, entry in of.items()}


def test_a_message_tells_each_target_what_it_must_deliver_first() -> None:
    a = Ks("a", GROUP)
    first = said(a, "bc")
    assert first["b"] == Logged(MessageId("a", 0, 1), (B, C), (), "bc")
    second = said(a, "cd")
    # To c, that it must have the first; b is left. To d, that c was told need not be said.
    assert second["c"].log == (Entry(A, 1, (B, C)),)
    assert second["d"].log == (Entry(A, 1, (B,)),)
    assert destinations(a.log[A]) == {1: (B,), 2: (C, D)}
    third = said(a, "b")
    assert third["b"].log == (Entry(A, 1, (B,)), Entry(A, 2, (C, D)))
    assert destinations(a.log[A]) == {2: (C, D), 3: (B,)}


def test_a_message_waits_for_its_past_and_frees_what_waits_for_it() -> None:
    a, b, c, out = Ks("a", GROUP), Ks("b", GROUP), Ks("c", GROUP), Recorder()
    first, second = said(a, "c", "first")["c"], said(a, "b", "second")["b"]
    b.receive("a", second, 0, Recorder())
    third = said(b, "c", "third")["c"]
    c.receive("b", third, 0, out)
    assert out.payloads == []
    assert c.gauges()["pending"] == 1
    c.receive("a", first, 0, out)
    assert out.payloads == ["first", "third"]
    assert c.gauges()["pending"] == 0


def test_links_need_not_be_fifo() -> None:
    """Table 1 asks for FIFO links; an earlier message on the link is an entry like any other."""
    a, b, out = Ks("a", GROUP), Ks("b", GROUP), Recorder()
    messages = [said(a, "b", number)["b"] for number in range(1, 6)]
    for message in reversed(messages * 2):
        b.receive("a", message, 0, out)
    assert out.payloads == [1, 2, 3, 4, 5]


def test_to_oneself_is_delivered_at_once_and_not_logged() -> None:
    node, out = Ks("a", GROUP), Recorder()
    assert node.send(("a",), "note", 0, out) == MessageId("a", 0, 1)
    assert node.send((), "nobody", 0, out) == MessageId("a", 0, 2)
    assert node.log == {}
    assert node.send(("b", "a", "b"), "both", 0, out) == MessageId("a", 0, 3)
    assert out.payloads == ["note", "both"]
    assert node.log == {A: {3: Entry(A, 3, (B,))}}


def test_merging_infers_what_is_done_with() -> None:
    """Section 3.1: "information is discarded as it becomes redundant"."""
    cases: list[Any] = [
        ({1: (B,), 4: ()}, {2: (C,), 3: (D,)}, {4: ()}),
        ({1: (B, C), 2: (D,)}, {1: (C, D)}, {1: (C,), 2: (D,)}),
        ({1: (B,)}, {1: (C,), 2: (D,)}, {2: (D,)}),
        ({1: (B,), 3: (C,)}, {1: (B,), 3: (C,)}, {1: (B,), 3: (C,)}),
        ({}, {1: (), 2: ()}, {2: ()}),
    ]
    for mine, theirs, result in cases:
        assert destinations(merged(entries(mine), entries(theirs))) == result
    assert destinations(without({B, C}, entries({1: (B,), 2: (B, D), 3: (C,)}))) == {2: (D,), 3: ()}


def held_without_need(log: list[Event]) -> list[str]:
    """Which messages were kept waiting although all their receiver is owed of their past was delivered."""
    found: list[str] = []
    audience: dict[MessageId, tuple[str, ...]] = {}
    before: dict[MessageId, frozenset[MessageId]] = {}
    known: dict[str, frozenset[MessageId]] = {}
    held: dict[tuple[str, MessageId], None] = {}
    done: set[tuple[str, MessageId]] = set()
    for event in log:
        process, message = event.process, event.message_id
        past = known.get(process, frozenset())
        if event.audience is not None:
            audience[message], before[message] = event.audience, past
            known[process] = past | {message}
        elif not event.arrived:
            done.add((process, message))
            held.pop((process, message), None)
            known[process] = past | before[message] | {message}
        else:
            # What was set free by the last arrival has been delivered by now.
            for holder, late in held:
                owed = [earlier for earlier in before[late] if holder in audience[earlier]]
                if all((holder, earlier) in done for earlier in owed):
                    found.append(f"{holder} held {late} without need")
            if (process, message) not in done:
                held[process, message] = None
    return found


@pytest.mark.parametrize("build", [Ks, Rst])
@pytest.mark.parametrize("world", [World(copies=0.1, hasty=False), World(multicast=True, hasty=False)])
def test_latency_is_optimal(build: Any, world: World) -> None:
    """Table 1: RST and KS are latency-optimal; nothing waits but for its own past."""
    for seed in range(60):
        stage = RandomRun(build, seed, world).run()
        assert held_without_need(stage.log) == [], replay(build, seed, world)


@pytest.mark.parametrize("rounds", [False, True])
def test_the_log_names_each_receiver_once_per_sender(rounds: bool) -> None:
    """So it holds at most n^2 destinations, and one null entry per sender besides."""
    world = World(multicast=True, rounds=rounds, processes=5, messages=60)
    for seed in range(30):
        for node in RandomRun(Ks, seed, world).run().nodes.values():
            for logged in map(destinations, node.log.values()):
                named = [rank for left in logged.values() for rank in left]
                assert len(named) == len(set(named)), replay(Ks, seed, world)
                assert node.own not in named
                assert [number for number, left in logged.items() if not left] in ([], [max(logged)])


def test_misuse_and_misbehaviour_are_refused() -> None:
    node, out = Ks("a", GROUP), Recorder()
    with pytest.raises(Misuse, match="x is not in its own group: a, b, c, d"):
        Ks("x", GROUP)
    with pytest.raises(Misuse, match="x is not in the group"):
        node.send(("b", "x"), 1, 0, out)
    with pytest.raises(Misuse, match="no timers"):
        node.expire("late", 0, out)
    with pytest.raises(Misbehaviour, match="x is not in the group"):
        node.receive("x", Logged(MessageId("x", 0, 1), (0,), (), 1), 0, out)
    strange: list[Any] = [
        ((1,), ()),
        ((0, 4), ()),
        ((0,), (Entry(4, 1, ()),)),
        ((0,), (Entry(1, 1, (-1,)),)),
    ]
    for audience, log in strange:
        with pytest.raises(Misbehaviour, match="no process of a group of 4"):
            node.receive("b", Logged(MessageId("b", 0, 1), audience, log, 1), 0, out)
    with pytest.raises(Misbehaviour, match="no process of a group of 4"):
        node.receive("b", "hello", 0, out)
    node.peer_up("b", 0, out)
    node.peer_down("b", 0, out)
    assert freeze(node) == freeze(Ks("a", GROUP))
    assert (out.sent, out.delivered) == ([], [])


def test_state_is_plain_and_messages_are_values() -> None:
    a, b = Ks("a", GROUP, 3), Ks("b", GROUP)
    said(a, "b")
    late = said(a, "bc")["b"]
    b.receive("a", late, 0, Recorder())
    assert late.message_id == MessageId("a", 3, 2)
    assert hash(late) == hash(pickle.loads(pickle.dumps(late)))
    copy = pickle.loads(pickle.dumps(b))
    assert freeze(copy) == freeze(b)
    said(b, "c")
    assert freeze(copy) != freeze(b)


class Forgetful(Ks):
    """The merge's result is dropped: only the message's own entry is logged."""

    def _learn(self, sender: int, message: Logged) -> None:
        super()._learn(sender, message._replace(log=()))


class Hoarding(Ks):
    """No merge but a union: what the other side's silence says is not heard."""

    def _learn(self, sender: int, message: Logged) -> None:
        for entry in (*message.log, Entry(sender, message.message_id.number, message.audience)):
            mine = self.log.setdefault(entry.sender, {})
            known = mine.get(entry.number, entry).destinations
            still = tuple(rank for rank in entry.destinations if rank in known and rank != self.own)
            mine[entry.number] = entry._replace(destinations=still)


class LeftOut(Ks):
    """All of the audience is left out of the entries, even who gets them."""

    def _attached(self, target: int, audience: tuple[int, ...]) -> tuple[Entry, ...]:
        return super()._attached(-1, audience)


@pytest.mark.parametrize("mutant", [Forgetful, LeftOut])
def test_mutants_break_causal_order(mutant: Any) -> None:
    """Algorithms, section 7: "union the rest"; "keeping d where present"."""
    verdicts = broken(mutant, World(multicast=True))
    assert len(verdicts) > 10
    assert any("was said before it" in fault for faults in verdicts for fault in faults)


def test_mutant_hoarding_leaks() -> None:
    """Algorithms, section 7: "delete an entry older than some entry of that sender ... and absent there"."""
    sizes = {}
    for build in (Ks, Hoarding):
        for messages in (50, 200):
            stage = RandomRun(build, 1, World(multicast=True, messages=messages)).run()
            log = [node.gauges()["log_entries"] for node in stage.nodes.values()]
            sizes[build, messages] = max(log)
    assert sizes[Ks, 200] <= 16
    assert sizes[Hoarding, 200] > 2 * sizes[Hoarding, 50] > 2 * sizes[Ks, 200]
