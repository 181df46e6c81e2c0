"""A causal broadcast whose messages carry their frontier: one layer above any of them.

What is said goes down as `Placed`, the payload with the ids that it follows, and comes up so in `deliver`.
The host hands the payload to the application, and tells `order.take` at that moment, not earlier: what lies
in a queue has not been seen, and what the application says then does not follow it.

`with_frontier` gives an algorithm's entry two more options, and puts the layer on top if it is asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Meta, Struct, defstruct

from aforesaid.core import (
    CausalBroadcast,
    Effects,
    HandingOver,
    Linking,
    Message,
    MessageId,
    Misuse,
    Nanoseconds,
    Ordering,
    Payload,
    Process,
    Remembering,
    Timer,
)
from aforesaid.protocols.algorithm import Algorithm, Setup
from aforesaid.protocols.frontier.partial_order import Frontier
from aforesaid.protocols.options import Positive

AFTER_MAX = 2**16
"""How many ids one message may carry."""

Id: TypeAlias = tuple[
    Annotated[str, Meta(min_length=1, max_length=255)], Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=1)]
]
"""A MessageId, as it is read off the wire."""


class Placed(Struct, frozen=True, forbid_unknown_fields=True, rename={"after": "a", "payload": "p"}):
    """What is said, and its place in the partial order.

    It is no named tuple: where a payload stands in a frame there may be a tuple instead, and the wire tells
    the two apart as a map and an array.
    """

    after: Annotated[tuple[Id, ...], Meta(max_length=AFTER_MAX)]
    payload: bytes
    """In bytes on a network; in simulator and explorer whatever is said there."""

    def __len__(self) -> int:
        """How many bytes are said: so hosts measure payloads."""
        return len(self.payload)


Below = TypeVar("Below", bound=CausalBroadcast)


class OverCausal(Ordering, Remembering, Generic[Below]):
    """A causal broadcast and its frontier, seen by the host as one protocol."""

    def __init__(self, below: Below, frontier: Frontier) -> None:
        self.below = below
        self.frontier = frontier

    @property
    def order(self) -> Frontier:
        return self.frontier

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        message_id = self.below.broadcast(Placed(tuple(self.frontier.maximal), payload), now, out)
        self.frontier.said(message_id)
        return message_id

    def receive(self, source: Process, message: Message, now: Nanoseconds, out: Effects) -> None:
        self.below.receive(source, message, now, out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        self.below.expire(timer, now, out)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.below.peer_up(peer, now, out)

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.below.peer_down(peer, now, out)

    def gauges(self) -> Mapping[str, int]:
        return self.below.gauges()

    def entries(self) -> int:
        below = self.below.entries() if isinstance(self.below, Remembering) else 0
        return below + len(self.frontier.maximal)


@runtime_checkable
class Linked(CausalBroadcast, Linking, Protocol):
    """What a broadcast on an overlay is to its host."""


class OverLinked(OverCausal[Linked], Linking, HandingOver):
    """The same of a broadcast whose links open and close."""

    def begin(self, now: Nanoseconds, out: Effects) -> None:
        self.below.begin(now, out)

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self.below.join(contact, now, out)

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        self.below.leave(now, out)

    @property
    def inside(self) -> bool:
        return self.below.inside

    def open(self, peer: Process, route: Sequence[Process] | None, now: Nanoseconds, out: Effects) -> None:
        self.below.open(peer, route, now, out)

    def close(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.below.close(peer, now, out)

    def link_down(self, lid: Any, now: Nanoseconds, out: Effects) -> None:
        self.below.link_down(lid, now, out)

    def links(self) -> Sequence[tuple[Process, Any]]:
        return self.below.links()

    def settle(self, now: Nanoseconds, out: Effects) -> None:
        self.below.settle(now, out)

    def hand_over(self, now: Nanoseconds, out: Effects) -> None:
        if isinstance(self.below, HandingOver):
            self.below.hand_over(now, out)

    @property
    def needed(self) -> bool:
        return isinstance(self.below, HandingOver) and self.below.needed


def with_frontier(entry: Algorithm) -> Algorithm:
    """The entry of a causal broadcast, with the option that its messages carry their frontier."""
    if entry.addressed or "causal" not in entry.promises:
        raise Misuse(f"{entry.name} is no causal broadcast: its frontiers would not be exact")
    own = entry.options
    options: Any = defstruct(own.__name__, _OPTIONS, bases=(own,), frozen=True, kw_only=True)

    def make(setup: Setup, given: Any) -> Any:
        below: Any = entry.make(setup, own(**{name: getattr(given, name) for name in own.__struct_fields__}))
        if not given.frontier:
            return below
        frontier = Frontier(setup.me, setup.incarnation, given.window)
        return OverLinked(below, frontier) if isinstance(below, Linked) else OverCausal(below, frontier)

    return replace(entry, make=make, options=options)


_OPTIONS = [
    (
        "frontier",
        Annotated[bool, Meta(description="whether messages carry the ids of their immediate predecessors")],
        False,
    ),
    (
        "window",
        Annotated[
            Positive, Meta(description="with frontier: how many messages are known by what they follow")
        ],
        1024,
    ),
]
