"""Vector clocks over the fleet against `waiting`, the algorithm itself, over the same arrivals."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from aforesaid.core import MessageId
from aforesaid.fleet import simulate_fleet
from aforesaid.fleet.layout import Event, Step
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.states import What
from aforesaid.fleet.vectors import VectorClocks, simulate_vectors
from aforesaid.protocols.broadcast.waiting import Stamped, Waiting
from differential.compared import small
from differential.reference import name
from support.harness import Recorder


class Scripted:
    """A layer below that hands up what the script says has arrived."""

    def __init__(self, me: str) -> None:
        self.me = me
        self.sent = 0

    def broadcast(self, body: Stamped, now: int, out: Any) -> Any:
        self.sent += 1
        message_id = MessageId(self.me, 0, self.sent)
        self.body = body
        return message_id, ((message_id, body),)

    def receive(self, source: str, body: Stamped, now: int, out: Any) -> Any:
        return ((MessageId(source, 0, 0), body),)

    def gauges(self) -> dict[str, int]:
        return {}


class Group:
    """`waiting` at each process; payloads are the numbers of broadcasts."""

    def __init__(self, count: int) -> None:
        names = [name(p) for p in range(count)]
        self.machines = [Waiting(me, names, Scripted(me)) for me in names]  # type: ignore[arg-type]
        self.seats = [Recorder() for _ in names]
        self.said: dict[int, tuple[str, Stamped]] = {}
        self.carried: dict[int, int] = {}
        self.delayed = 0

    def take(self, p: int, said: int, origin: int) -> None:
        machine = self.machines[p]
        waiting = machine.gauges()["pending"]
        if p == origin and said not in self.said:
            machine.broadcast(said, 0, self.seats[p])
            below: Any = machine.below
            self.said[said] = name(p), below.body
            # The vector that travels says what was sent before; its sender's entry is there all the same.
            self.carried[said] = sum(map(bool, machine.vector))
        else:
            source, body = self.said[said]
            machine.receive(source, body, 0, self.seats[p])
            self.delayed += machine.gauges()["pending"] > waiting

    @property
    def entries(self) -> list[int]:
        """Of each process, those that are not 0; a message that waits has as many as it carries."""
        return [
            sum(map(bool, machine.vector))
            + sum(self.carried[each.payload] for waits in machine.pending.values() for each in waits)
            for machine in self.machines
        ]


def disordered(seed: int, processes: int, messages: int) -> tuple[Plan, list[tuple[int, int, int]]]:
    """Messages that arrive everywhere, each at its own time, whatever precedes it."""
    random = Random(seed)
    schedule = np.zeros(messages, Step.dtype)
    events = []
    for said in range(messages):
        at, origin = (said + 1) * 1_000, random.randrange(processes)
        schedule[said] = (at, What.SAY, origin, 0)
        events += [(at, origin, said)]
        events += [(at + random.randint(1, 9_000), p, said) for p in range(processes) if p != origin]
    plan = Plan(
        processes,
        seed,
        until=(messages + 20) * 1_000,
        schedule=schedule,
        delay=np.array([[0, 9_000]]),
        chance=np.ones((processes, 2), np.int32),
        bucket=7_000,
    )
    return plan, sorted(events)


@pytest.mark.parametrize("seed", range(6))
def test_arrivals_out_of_order(seed: int) -> None:
    """After each arrival the same deliveries at each process, and the same entries; the same delays."""
    plan, events = disordered(seed, 3 + 5 * seed, 400)
    origins = plan.schedule["who"].tolist()
    clocks, group = VectorClocks(plan, keep=True), Group(plan.processes)
    area, before = 0, 0
    for time, p, said in events:
        area, before = area + sum(group.entries) * (time - before), time
        clocks.take(np.array([(time, p, said)], Event.dtype))
        group.take(p, said, origins[said])
        assert clocks.clocks["entries"].tolist() == group.entries
        ours = clocks.order[: clocks.delivered[0]]
        assert sorted(ours[ours[:, 0] == p, 1].tolist()) == sorted(group.seats[p].payloads)
    area += sum(group.entries) * (plan.until - before)
    vectors = clocks.vectors()
    lengths = np.diff([*range(0, plan.until, plan.bucket), plan.until])
    assert (vectors.entries * lengths).sum() == pytest.approx(area, rel=1e-12)
    assert vectors.delayed == group.delayed > 100
    assert (vectors.forgotten, vectors.waiting) == (0, 0)
    assert vectors.carried.tolist() == [group.carried[said] for said in range(400)]
    for p in range(plan.processes):
        # What one arrival sets free is the same; of what is concurrent there, either may go first.
        vector = [0] * plan.processes
        for said in clocks.order[clocks.order[:, 0] == p, 1].tolist():
            assert all(
                needed <= mine for needed, mine in zip(group.said[said][1].vector, vector, strict=True)
            )
            vector[origins[said]] += 1
        assert sum(vector) == 400


def test_a_message_that_is_older_than_the_window_is_told() -> None:
    """300 later ones were said before it came to p1; one that waits for it waits in vain."""
    plan, _ = disordered(1, 3, 400)
    plan.schedule["who"] = 0
    plan.schedule["who"][1] = 2
    clocks = VectorClocks(plan)
    assert clocks.window == 256
    rows = [(1, 0, 0), (2, 2, 0), (3, 2, 1), (4, 1, 1), *((said + 3, 0, said) for said in range(2, 300))]
    clocks.take(np.array([*rows, (400, 1, 0)], Event.dtype))
    vectors = clocks.vectors()
    assert (vectors.delayed, vectors.forgotten, vectors.waiting) == (1, 2, 0)


@pytest.mark.parametrize(
    ("seed", "crashes", "delay_ms", "spread"),
    [(3, 0.0, 40.0, 0.8), (2, 30.0, 300.000019, 0.0), (19, 30.0, 40.000007, 0.0)],
)
def test_over_the_flood_of_a_fleet(seed: int, crashes: float, delay_ms: float, spread: float) -> None:
    """Sets of messages instead of bits, from the events of the same run; nothing ever waits."""
    plan = small(20, seed, delay_ms, crashes_per_minute=crashes, delay_spread=spread, speak_until=2.5)
    events: list[tuple[int, int, int]] = []
    outcome, vectors = simulate_vectors(plan)
    simulate_fleet(plan, events=lambda rows: events.extend(rows.tolist()))
    brute = Brute(plan)
    for event in events:
        brute.take(*event)
    assert {said: count for said, count in enumerate(vectors.carried.tolist()) if count >= 0} == brute.carried
    assert vectors.entries[-1] == pytest.approx(sum(map(len, brute.vectors.values())))
    assert (vectors.delayed, vectors.forgotten) == (0, 0)
    assert (outcome.evicted > 0) == (crashes > 0)
    assert len(brute.carried) == outcome.broadcasts > 100


class Brute:
    """By process that is up, the speakers in its vector."""

    def __init__(self, plan: Plan) -> None:
        self.origins = plan.steps(What.SAY)["who"].tolist()
        self.crashes = {who: at for at, _, who, _ in plan.steps(What.CRASH).tolist()}
        self.vectors: dict[int, set[tuple[int, int]]] = {}
        self.incarnation = Counter[int]()
        self.speaker: dict[int, tuple[int, int]] = {}
        self.carried: dict[int, int] = {}

    def take(self, time: int, p: int, what: int) -> None:
        for dead in [who for who, at in self.crashes.items() if at <= time]:
            self.vectors.pop(dead, None)
        if what == -1 - p:
            self.incarnation[p] += 1
            self.vectors[p] = set()
        elif what < 0:
            self.vectors[-1 - what] = set(self.vectors.get(p, ()))
        else:
            first = what not in self.speaker and self.origins[what] == p
            if first:
                self.speaker[what] = p, self.incarnation[p]
            self.vectors.setdefault(p, set()).add(self.speaker[what])
            if first:
                self.carried[what] = len(self.vectors[p])
