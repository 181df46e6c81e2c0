"""What adaptive hybrid buffering does for a message beside SPS in order: lines of protocol code, counted.

`benchmarks/bench_adaptive_work.py` times the same exchanges; a machine's load does not change these figures.
"""

from collections import deque
from functools import partial
from typing import Any

import pytest

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.reproduce.costs import lines_of
from support.recorder import Recorder

MESSAGES = 480
ROOMS = ("aforesaid/protocols", "aforesaid/structures")


class Seat(Recorder):
    """Puts what a process sends into one queue."""

    def __init__(self, me: str, queue: deque[tuple[str, str, Any]]) -> None:
        super().__init__()
        self.me, self.queue = me, queue

    def send(self, targets: Any, message: Any) -> None:
        self.queue += [(self.me, target, message) for target in targets]


def exchange(kind: Any, peers: int, flying: int) -> None:
    """A hub says something to each peer in turn, so many frames are on their way, every other is answered."""
    names = [f"peer{i}" for i in range(peers)]
    queue: deque[tuple[str, str, Any]] = deque()
    machines = {name: kind(name) for name in ("hub", *names)}
    seats = {name: Seat(name, queue) for name in machines}
    answered = 0
    for k in range(MESSAGES):
        machines["hub"].send((names[k % peers],), None, 0, seats["hub"])
        while len(queue) > flying or (queue and k == MESSAGES - 1):
            source, me, frame = queue.popleft()
            machines[me].receive(source, frame, 0, seats[me])
            heard = sum(len(seats[name].delivered) for name in names)
            if heard > 2 * answered:
                answered += 1
                machines[me].send(("hub",), None, 0, seats[me])
    assert not any(count for machine in machines.values() for count in machine.gauges().values())


@pytest.mark.parametrize(
    ("peers", "flying", "ratio_max"),
    [(1, 1, 1.35), (1, 100, 1.25), (16, 32, 1.62)],
    ids=["two, one in flight", "two, 100 in flight", "hub and 16"],
)
def test_a_message_takes_little_more_work_than_in_order(peers: int, flying: int, ratio_max: float) -> None:
    adaptive, in_order = (
        lines_of(partial(exchange, kind, peers, flying), ROOMS)
        for kind in (partial(HybridAdaptive, unicast=True), HybridInOrder)
    )
    assert adaptive <= ratio_max * in_order, (
        f"{adaptive} lines, {in_order} in order: {adaptive / in_order:.3f}"
    )


@pytest.mark.parametrize("kind", [HybridInOrder, HybridMulticastInOrder, HybridAdaptive])
def test_a_process_has_fewer_attributes_than_its_class_shares_keys_for(kind: Any) -> None:
    """CPython shares the keys of up to 29; with one more each call of a method takes a third longer."""
    assert len(vars(kind("me"))) < 30
