"""Every schedule of a small scope: what a message carries is what brute force says that it follows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from aforesaid.core import Effects, Ids, MessageId, Payload, frame
from aforesaid.explore import Scope, explore
from aforesaid.protocols.algorithm import Algorithm, Setup
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.frontier import Frontier, Placed
from aforesaid.protocols.frontier.layer import OverCausal, OverLinked
from support.scale import scaled

History = frozenset[MessageId]


@frame()
class Sworn(NamedTuple):
    """What is said, and all that was said or delivered before it."""

    placed: Payload
    past: History


class Witness:
    """Between a frontier and its broadcast: it carries whole pasts, and raises where the frontier errs."""

    def __init__(self, below: Any) -> None:
        self.below = below
        self.learned: dict[MessageId, History] = {}
        """What was said or delivered here, each with its past."""

    def broadcast(self, placed: Placed, now: int, out: Effects) -> MessageId:
        followed = frozenset().union(*self.learned.values())
        assert set(placed.after) == self.learned.keys() - followed, f"{placed} after {sorted(self.learned)}"
        past = followed | self.learned.keys()
        message_id: MessageId = self.below.broadcast(Sworn(placed, past), now, Hearing(self, out))
        self.learned[message_id] = past
        return message_id

    def receive(self, source: str, message: Any, now: int, out: Effects) -> None:
        self.below.receive(source, message, now, Hearing(self, out))

    def expire(self, timer: Any, now: int, out: Effects) -> None:
        self.below.expire(timer, now, Hearing(self, out))

    def begin(self, now: int, out: Effects) -> None:
        self.below.begin(now, Hearing(self, out))

    def peer_down(self, peer: str, now: int, out: Effects) -> None:
        self.below.peer_down(peer, now, Hearing(self, out))

    def open(self, peer: str, route: Sequence[str] | None, now: int, out: Effects) -> None:
        self.below.open(peer, route, now, Hearing(self, out))

    def close(self, peer: str, now: int, out: Effects) -> None:
        self.below.close(peer, now, Hearing(self, out))

    def link_down(self, lid: Any, now: int, out: Effects) -> None:
        self.below.link_down(lid, now, Hearing(self, out))

    def links(self) -> Any:
        return self.below.links()

    def gauges(self) -> Mapping[str, int]:
        gauges: Mapping[str, int] = self.below.gauges()
        return gauges


class Hearing:
    """The sink of the broadcast below: the witness hears what is delivered, and passes on what is its own."""

    def __init__(self, witness: Witness, out: Any) -> None:
        self._witness = witness
        self._out = out

    def deliver(self, message_id: MessageId, sworn: Sworn) -> None:
        self._witness.learned.setdefault(message_id, sworn.past)
        self._out.deliver(message_id, sworn.placed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def witnessed(name: str, frontier: type[Frontier] = Frontier) -> Algorithm:
    """The algorithm with a frontier above it and a witness between."""
    entry = CATALOG[name]

    def make(setup: Setup, options: Any) -> Any:
        kind: Any = OverLinked if entry.linked else OverCausal
        return kind(Witness(entry.make(setup, options)), frontier(setup.me, setup.incarnation, 2))

    return replace(entry, make=make)


RING = {"degree": 1, "both_ways": False}
SCOPES: dict[str, tuple[str, dict[str, Any]]] = {
    "no_waiting": ("no_waiting", {"messages": (1, 1, 1), "crashes_max": scaled(0, 1)}),
    "no_waiting_uniform": ("no_waiting_uniform", {"messages": scaled((1, 1, 0), (1, 1, 1))}),
    "no_waiting_gc": ("no_waiting_gc", {"messages": scaled((1, 1, 0), (2, 1, 0))}),
    "newtop": ("newtop", {"messages": (1, 1, 0), "timer_firings_max": scaled(3, 6)}),
    "tree": ("tree", {"messages": (2, 1, 1)}),
    "link_memory": ("link_memory", {"messages": scaled((1, 1, 1), (2, 1, 1)), "options": {"degree": 1}}),
    "preventive": ("preventive", {"messages": (1, 1, 1), "crashes_max": scaled(0, 1)}),
    "prc": ("prc", {"messages": scaled((1, 1, 1), (2, 1, 1)), "options": RING}),
    "prc, a link opens": (
        "prc",
        {
            "messages": scaled((1, 1, 0), (1, 1, 1)),
            "options": RING,
            "links": (("p0", "open", "p2", ("p1",)),),
        },
    ),
}


@pytest.mark.parametrize("case", SCOPES)
def test_on_every_schedule_a_message_carries_exactly_what_it_follows(case: str) -> None:
    name, scope = SCOPES[case]
    found = explore(witnessed(name), Scope(processes=3, **scope))
    assert found.violation is None, str(found)
    assert found.complete
    assert found.states > 15


class Greedy(Frontier):
    """Keeps in F what is followed by what it takes."""

    def take(self, message_id: MessageId, after: Ids) -> None:
        super().take(message_id, ())


class Loyal(Frontier):
    """Keeps in F what is followed by what it says."""

    def said(self, message_id: MessageId) -> None:
        self._learn(message_id, ())


@pytest.mark.parametrize("mutant", [Greedy, Loyal])
def test_the_witness_sees_one_id_too_many(mutant: type[Frontier]) -> None:
    found = explore(witnessed("tree", mutant), Scope(processes=3, messages=(2, 1, 0)))
    assert found.violation is not None
    assert "raised AssertionError" in found.violation.failure
