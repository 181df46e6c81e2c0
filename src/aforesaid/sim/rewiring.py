"""Links of an overlay, opened, closed, reopened and lost at random: for protocols that offer `Linking`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from aforesaid.core import Process
from aforesaid.sim.chance import Chance
from aforesaid.sim.flight import lose_connection
from aforesaid.sim.parts import Rewire, nanoseconds

if TYPE_CHECKING:
    from aforesaid.sim.seat import Seat
    from aforesaid.sim.simulation import Simulation


class Rewiring:
    """Stands for whatever decides about links above the protocols; each change counts when it is made."""

    def __init__(self, simulation: "Simulation", chance: Chance) -> None:
        self._simulation = simulation
        self._chance = chance

    def change(self, fault: Rewire) -> None:
        """One change at one process, of a kind chosen by the fault's weights."""
        inside = self._simulation.contacts()
        if not inside:
            return
        seat = self._simulation.seats[self._chance.pick(inside)]
        point = self._chance.uniform() * (fault.open + fault.close + fault.reopen + fault.flap)
        if point < fault.open:
            self._open(seat, fault.blind)
        elif point < fault.open + fault.close:
            self._close(seat)
        elif point < fault.open + fault.close + fault.reopen:
            self._reopen(seat, fault.reopen_ms)
        else:
            self.flap(seat)

    def flap(self, seat: "Seat") -> None:
        """A process loses the connection under one of its link instances; both ends hear of it in time."""
        simulation, links = self._simulation, seat.links.links()
        if not links:
            return
        peer, lid = self._chance.pick(links)
        simulation.fired("flap", seat.index, simulation.seats[peer].index)
        lose_connection(simulation, seat.name, peer, lid, self._chance)
        for end in (seat, simulation.seats[peer]):
            wait = self._chance.between(0, nanoseconds(simulation.scenario.detector.delay_ms))
            self._call_later(wait, end, lambda end: end.links.link_down(lid, simulation.now, end))

    def _open(self, seat: "Seat", blind: float) -> None:
        """To a neighbour's neighbour, who mediates; or blindly, to anyone."""
        neighbours = self._neighbours(seat)
        route: tuple[Process, ...] | None = None
        if self._chance.uniform() < blind:
            strangers = self._simulation.members()
        elif neighbours:
            mediator = self._chance.pick(neighbours)
            route = (mediator,)
            strangers = self._neighbours(self._simulation.seats[mediator])
        else:
            return
        strangers = [name for name in strangers if name != seat.name and name not in neighbours]
        if strangers:
            peer, simulation = self._chance.pick(strangers), self._simulation
            simulation.fired("open", seat.index, simulation.seats[peer].index)
            simulation.call(seat, lambda seat: seat.links.open(peer, route, simulation.now, seat))

    def _close(self, seat: "Seat") -> None:
        neighbours = self._neighbours(seat)
        if neighbours:
            peer = self._chance.pick(neighbours)
            self._simulation.fired("close", seat.index, self._simulation.seats[peer].index)
            self._close_link(seat, peer)

    def _reopen(self, seat: "Seat", within_ms: float) -> None:
        neighbours = self._neighbours(seat)
        if not neighbours:
            return
        peer = self._chance.pick(neighbours)
        mediators = [name for name in neighbours if peer in self._neighbours(self._simulation.seats[name])]
        route = (self._chance.pick(mediators),) if mediators else None
        self._simulation.fired("reopen", seat.index, self._simulation.seats[peer].index)
        self._close_link(seat, peer)
        wait = self._chance.between(0, nanoseconds(within_ms))
        self._call_later(wait, seat, lambda seat: seat.links.open(peer, route, self._simulation.now, seat))

    def _close_link(self, seat: "Seat", peer: Process) -> None:
        simulation = self._simulation
        simulation.call(seat, lambda seat: seat.links.close(peer, simulation.now, seat))

    def _call_later(self, wait: int, seat: "Seat", act: Callable[["Seat"], None]) -> None:
        """Call this incarnation; the next one knows nothing of its links."""
        simulation, incarnation = self._simulation, seat.incarnation

        def call() -> None:
            if seat.incarnation == incarnation:
                simulation.call(seat, act)

        simulation.at(simulation.now + wait, call)

    def _neighbours(self, seat: "Seat") -> list[Process]:
        """The peers that a process has links to and that are up, each once."""
        seats = self._simulation.seats
        return [peer for peer in dict.fromkeys(peer for peer, _ in seat.links.links()) if seats[peer].up]
