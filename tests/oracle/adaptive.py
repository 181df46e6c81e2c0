"""Adaptive hybrid buffering in the oracle's worlds: judged by what is delivered, and by coming to rest.

Its definitions are its own, so nothing is judged by those of the paper; but causal delivery, exactly once,
FIFO, evictions and liveness are judged by the same judge, and the constraints by brute force at each step
(`look_at_constraints`).
"""

from functools import partial
from typing import Any, TypeVar

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Holds, Told
from aforesaid.protocols.delivery.hybrid_frames import Ack
from oracle.judge import Judge
from oracle.mind import Broken
from oracle.world import Build, Plan, World


class Deliveries(Judge):
    """Judges what is delivered, and not how it came to that; and that no message names more than it may."""

    bound = 0

    def sent(self, i: int, j: int, frame: Any) -> None:
        if isinstance(frame, Told) and len(frame.waits) + len(frame.names) > self.bound:
            raise Broken(f"{i} names more than {self.bound} to {j}: {frame}")
        self.flags += isinstance(frame, Told) and frame.opaque
        self.permits += isinstance(frame, Holds)

    def received(self, i: int, j: int, frame: Any) -> None:
        pass

    def settled(self, i: int) -> None:
        pass


class AdaptiveWorld(World):
    """A world of it."""

    judge: Deliveries
    rounds = (Told, Ack, Holds)

    def __init__(self, build: Build, plan: Plan, peek: bool = True) -> None:
        names = [f"p{i}" for i in range(plan.processes)]
        super().__init__(partial(build, group=names), plan, optimal=True, peek=peek)
        self.judge = Deliveries(plan.processes, optimal=True)
        self.judge.bound = self.machines[0].constraints.bound

    @staticmethod
    def look(machine: Any) -> None:
        look_at_constraints(machine)

    @staticmethod
    def translated(message: Any) -> Any:
        return message


def look_at_constraints(machine: Any) -> None:
    """What the state of one process says twice must agree, at the end of a step."""
    known = machine.constraints
    places = [constraint.place for constraint in known.candidates.values()]
    assert places == sorted(places), "candidates out of order"
    counts: dict[str, int] = {}
    for constraint in known.candidates.values():
        assert constraint.open, "a candidate that nobody waits for"
        for process in (
            () if constraint.by == machine.me else {constraint.at, constraint.by, constraint.told_by}
        ):
            counts[process] = counts.get(process, 0) + 1
    assert counts == known.concerned, "concerned"
    on = {(at, by): it for at, of in known.on.items() for by, it in of.items()}
    for pair, it in known.candidates.items():
        told = known.candidates.get((it.at, machine.me))
        waits_there = told is not None and told.place >= it.place
        assert on.pop(pair, None) is (None if waits_there or it.by == machine.me else it), "on"
    assert not on, "what is no candidate is on somebody"
    assert all(known.on.values()), "on nobody"
    for by, of in known.learnt.items():
        assert of, "learnt of nobody"
        for at, constraints in of.items():
            numbers = [constraint.number for constraint in constraints]
            assert numbers == sorted(set(numbers)), "learnt"
            assert numbers, "nothing learnt"
            assert known.facts.get((at, by), 0) < numbers[0], "a fact is forgotten"
            assert machine.me not in (at, by), "learnt about itself"
    keys = list(machine.p)
    others = [machine.p.index(key) for key in keys if key[0] != keys[0][0]]
    assert machine.p2 == (others[0] if others else machine.p.next), "p2"
    for peer, channel in machine.channels.items():
        _settled(machine, peer, channel)


def _settled(machine: Any, peer: str, channel: Any) -> None:
    """Nothing that could be told is kept back."""
    order = machine.constraints.order
    for place, _ in [*list(channel.unnamed)[:1], *list(channel.named)[:1]]:
        waits = [k for k in range(order.first, min(place + 1, order.next)) if order[k].open]
        assert any(not order[k].concerns(peer) for k in waits), "what holds is not told"


def play(plan: Plan, bound: int, build: Build = HybridAdaptive, peek: bool = True) -> AdaptiveWorld:
    """One world to its end; raises what the judge found."""
    world = AdaptiveWorld(partial(build, constraints=bound), plan, peek)
    return checked(world, f"from oracle.adaptive import *; play({plan!r}, {bound})")


W = TypeVar("W", bound=AdaptiveWorld)


def checked(world: W, again: str) -> W:
    """The world, played to its end: then nothing is kept. What was found says how to play it again."""
    try:
        world.run()
        for machine in world.machines:
            if world.rank[machine.me] not in world.victims:
                at_rest(machine)
    except Exception as error:
        error.add_note(f"again: {again}")
        raise
    return world


def at_rest(machine: Any) -> None:
    """Nothing is kept when nothing is under way."""
    known = machine.constraints
    left = (known.candidates, known.on, known.learnt, known.concerned, machine.tellings, machine.watch)
    if any(left) or machine.questions.rounds or machine.questions.asking:
        raise Broken(f"{machine.me} does not forget: {left}")
    for peer, channel in machine.channels.items():
        if channel.unnamed or channel.named or channel.cons:
            raise Broken(f"{machine.me} does not forget of {peer}")
