"""The ports between peer sampling, which says who should be neighbours, and the broadcast that links them.

A sampler keeps a *view*, a multiset of peers: the arcs from this process. It knows no link; it asks its host
for them through `Links`. The host keeps one link per pair however many arcs want it, and tells the sampler
what became of its wishes. Another sampler than Spray takes its place by being a `Sampler`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from aforesaid.core import Nanoseconds, Process, Timer


class Links(Protocol):
    """What a sampler may ask of the broadcast above it. Nothing here calls back into the sampler."""

    def connect(self, peer: Process, mediator: Process) -> None:
        """The view has gained an arc to the peer: have a link to it, mediated by a neighbour of both.

        The peer itself stands for the mediator if the two have a link already.
        """

    def release(self, peer: Process, partner: Process | None = None) -> None:
        """The view lost an arc to the peer; given to a partner, the link stays until the new one stands."""

    def send(self, peer: Process, message: Any) -> None:
        """To the sampler of a neighbour; may be lost."""

    def usable(self, peer: Process) -> bool:
        """True if the link to the peer is initialised in both directions: only such arcs are given away.

        The two ends come to agree on it, or one of them hears `arc_down` or `peer_down`.
        """

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None: ...

    def disarm(self, timer: Timer) -> None: ...

    def choose(self, label: str, count: int) -> int: ...


class Sampler:
    """Peer sampling at one process; by itself none: links are the host's, and no arc holds them."""

    def begin(self, neighbours: Sequence[Process], now: Nanoseconds, links: Links) -> None:
        """A founder starts with arcs to these; they are linked already."""

    def joined(self, contact: Process, now: Nanoseconds, links: Links) -> None:
        """This process was welcomed by its contact, and the two are linked."""

    def welcomed(self, newcomer: Process, now: Nanoseconds, links: Links) -> None:
        """This process welcomed a newcomer, and the two are linked."""

    def receive(self, source: Process, message: Any, now: Nanoseconds, links: Links) -> None: ...

    def expire(self, timer: Timer, now: Nanoseconds, links: Links) -> None: ...

    def peer_down(self, peer: Process, now: Nanoseconds, links: Links) -> None:
        """The peer crashed: all arcs to it are gone. Its links are gone already: release nothing."""

    def arc_down(self, peer: Process, now: Nanoseconds, links: Links) -> None:
        """No link to the peer could be had, or it was lost: all arcs to it are gone. Release nothing."""

    def inherit(self, peer: Process, leaver: Process, now: Nanoseconds, links: Links) -> None:
        """A neighbour will leave, and there are few links: have an arc to this other neighbour of it."""

    def left(self, peer: Process, arcs: int, now: Nanoseconds, links: Links) -> None:
        """The peer leaves in good order, and so many arcs with it. Its links end: release nothing."""

    def weight(self) -> int | None:
        """How many arcs go with this process when it leaves; None: its neighbours need not know."""
        return None

    def wants(self, peer: Process) -> bool:
        """True while the view holds an arc to the peer."""
        return False

    def settle(self) -> None:
        """Nothing new begins from here on: no more periodic exchange; answers are still given."""

    def gauges(self) -> Mapping[str, int]:
        """How much is pending, by kind; zero at rest."""
        return {}
