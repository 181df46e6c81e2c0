"""Preventive broadcast with links both ways, every schedule of small scopes; and what must be as it is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aforesaid.core import Nanoseconds, Process
from aforesaid.explore import Scope, explore
from aforesaid.protocols.algorithm import Algorithm, Setup
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.overlay.frames import RHO, Control, Lid
from aforesaid.protocols.overlay.link_options import LinkOptions
from aforesaid.protocols.overlay.living import Living
from aforesaid.protocols.overlay.prc.links import ASKED, SECOND, Incoming, Outgoing
from aforesaid.protocols.overlay.preventive_sampled import PingPong, PreventiveBothWays
from aforesaid.protocols.overlay.sampling import Sampler
from model.test_membership_explored import CIRCLE, JOINS, scope
from model.test_prc_explored import CLOSES, EITHER, LINKED, OPENS, case, linked

Parts = Callable[[PreventiveBothWays], None]


def entry(mutate: Parts = lambda links: None) -> Algorithm:
    """On links that the scope opens and closes."""

    def make(setup: Setup, options: Any) -> Living:
        links = PreventiveBothWays(
            setup.me, setup.group, setup.incarnation, degree=options.degree, patience=1, tries=options.tries
        )
        mutate(links)
        return Living(links, Sampler())

    return replace(CATALOG["prc"], name="both_ways", make=make, options=LinkOptions)


ONE: dict[str, Any] = {"degree": 1}
"""A circle of links both ways: three are linked to each other, of four p0 is not to p2."""

SCOPES: dict[str, tuple[set[bool], Scope]] = {
    "open": case(LINKED, ONE, (1, 0, 0, 0), OPENS),
    "open, another says": case(LINKED, ONE, (0, 1, 0, 0), OPENS),
    "close, open": case(LINKED, ONE, (1, 0, 0), CLOSES, OPENS),
    "close, open, another says": case(LINKED, ONE, (0, 1, 0), CLOSES, OPENS),
    "close, open, two say": case(LINKED, ONE, (1, 0, 1), CLOSES, OPENS),
    "close, open, the opener says two": case(LINKED, ONE, (2, 0, 0), CLOSES, OPENS),
    "close, open, the other says two": case(LINKED, ONE, (0, 0, 2), CLOSES, OPENS),
    "close, open, close": case(EITHER, ONE, (1, 0, 0), CLOSES, OPENS, CLOSES),
    "timer": case(EITHER, ONE, (1, 0, 0), CLOSES, OPENS, timer_firings_max=1),
    "drop": case(EITHER, ONE, (0, 0, 0), CLOSES, OPENS, drops_max=1, timer_firings_max=1),
    "disconnection": case(EITHER, ONE, (0, 0, 0), CLOSES, OPENS, disconnections_max=1),
    "crash": case(EITHER, ONE, (1, 0, 0), CLOSES, OPENS, crashes_max=1),
}


@pytest.mark.parametrize("name", SCOPES)
def test_every_schedule_keeps_every_promise(name: str) -> None:
    ends, bounds = SCOPES[name]
    found = explore(entry(), bounds)
    assert (found.verdict, found.complete) == ("kept", True), str(found)
    assert linked(found) == ends
    assert found.states > 50


class BuffersLate(PingPong):
    """The opener buffers from ρ on, as PRC-broadcast does from β on."""

    def _attempt(
        self, peer: Process, route: tuple[Process, ...] | None, tries: int, now: Nanoseconds
    ) -> Outgoing:
        return Outgoing(peer, ASKED, route, tries)

    def _rho(self, opening: Lid, out: Any) -> bool:
        if opening in self.links.outgoing:
            self.links.outgoing[opening].buffers(0)
        return super()._rho(opening, out)


class AnswersWithoutBuffer(PingPong):
    """The other end buffers from the opener's buffer on, and not from ρ."""

    def _answer(self, lid: Lid, route: tuple[Process, ...] | None, now: Nanoseconds, out: Any) -> None:
        self.links.incoming[lid] = Incoming(lid.opener, SECOND, route)
        self.links.outgoing[lid] = Outgoing(lid.opener, ASKED, tries=0)
        self._send(RHO, lid, route, out)

    def buffer(self, source: Process, frame: Any, out: Any) -> None:
        answer = self.links.outgoing.get(frame.link)
        if answer is not None and answer.state == ASKED:
            answer.buffers(0)
        super().buffer(source, frame, out)


class PingDirect(PingPong):
    """α overtakes what its sender has passed on."""

    def open(self, peer: Process, route: Any, tries: int, now: Nanoseconds, out: Any) -> None:
        self.alpha_direct = True
        super().open(peer, route, tries, now, out)


class PongDirect(PingPong):
    """ρ does, which suffices where links are one way."""

    def _send(self, kind: Any, opening: Lid, route: tuple[Process, ...] | None, out: Any) -> None:
        if kind == RHO:
            out.send((opening.opener,), Control(None, RHO, opening, route, ()))
        else:
            super()._send(kind, opening, route, out)

    def arrived(self, source: Process, control: Control, now: Nanoseconds, out: Any) -> None:
        if control.kind == RHO and control.link is None:
            self.take(control, now, out)
        else:
            super().arrived(source, control, now, out)


TEETH: dict[type[PingPong], str] = {
    BuffersLate: "close, open, the opener says two",
    AnswersWithoutBuffer: "close, open, the other says two",
    PingDirect: "close, open, the opener says two",
    PongDirect: "close, open, the other says two",
}


@pytest.mark.parametrize("part", TEETH)
def test_a_mutant_dies_by_a_schedule(part: type[PingPong]) -> None:
    def mutate(links: PreventiveBothWays) -> None:
        links.handshake.__class__ = part

    bounds = SCOPES[TEETH[part]][1]
    found = explore(entry(mutate), bounds)
    assert found.violation is not None
    assert {"causal", "agreement", "fifo", "validity"} & {*found.violation.properties}


@pytest.mark.parametrize("messages", [(1, 0, 1), (0, 1, 1)])
def test_who_joins_has_the_counters_of_its_contact(messages: tuple[int, ...]) -> None:
    found = explore("preventive_spray", scope(CIRCLE, messages, JOINS))
    assert (found.verdict, found.complete) == ("kept", True), str(found)
