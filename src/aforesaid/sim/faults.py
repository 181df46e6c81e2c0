"""What goes wrong besides the network's daily misery: crashes, pauses, partitions, coming and going."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from aforesaid.core import Nanoseconds, Process
from aforesaid.sim import parts
from aforesaid.sim.chance import Chance
from aforesaid.sim.flight import lose_on_crash
from aforesaid.sim.parts import nanoseconds
from aforesaid.sim.rewiring import Rewiring
from aforesaid.sim.scenario import Scenario
from aforesaid.sim.turns import last_moment, poisson, repeat

if TYPE_CHECKING:
    from aforesaid.sim.seat import Seat
    from aforesaid.sim.simulation import Simulation


def _groups(partition: parts.Partition) -> str:
    """Who is parted from whom: `p0 p1 | p2 p3`, or `p0 > p1` if only the first cannot reach the others."""
    groups = (" ".join(group) for group in partition.groups)
    return (" > " if partition.one_way else " | ").join(groups)


class Faults:
    """A scenario's faults, put on the agenda; each counts when it fires."""

    def __init__(self, scenario: Scenario, simulation: "Simulation") -> None:
        self._scenario = scenario
        self._simulation = simulation
        self._chance = Chance(scenario.seed, "faults")
        self._rewiring = Rewiring(simulation, self._chance)
        self._after: dict[Process, list[int]] = {}
        """By process, after how many deliveries it crashes."""
        self._delivered: dict[Process, int] = {}

    @property
    def watching(self) -> bool:
        """True while a crash depends on deliveries."""
        return bool(self._after)

    def begin(self) -> None:
        for fault in self._scenario.fault:
            self._plan(fault)

    def delivered(self, seat: "Seat") -> None:
        """A process delivered a message; it may be its last."""
        count = self._delivered[seat.name] = self._delivered.get(seat.name, 0) + 1
        if count in self._after.get(seat.name, ()):
            self._crash(seat.name)

    def _plan(self, fault: parts.Fault) -> None:
        simulation = self._simulation
        match fault:
            case parts.Crash(after_deliveries=int(count), process=process):
                self._after.setdefault(self._victim(process), []).append(count)
            case parts.Crash(at_ms=at_ms, share=float(share)) if at_ms is not None:
                simulation.at(self._moment(at_ms), lambda: self._crash_share(share))
            case parts.Crash(at_ms=at_ms, process=process) if at_ms is not None:
                simulation.at(self._moment(at_ms), lambda: self._crash(process))
            case parts.Pause(at_ms=at_ms, for_ms=for_ms, process=process):
                simulation.at(self._moment(at_ms), lambda: self._pause(process, nanoseconds(for_ms)))
            case parts.Partition(from_ms=from_ms, until_ms=until_ms):
                simulation.at(nanoseconds(from_ms), lambda: self._part(fault))
                simulation.at(nanoseconds(until_ms), lambda: self.mend(fault))
            case parts.Join(at_ms=at_ms, count=count, every_ms=every_ms, contact=contact):
                first = self._moment(at_ms)
                for number in range(count):
                    simulation.at(first + number * nanoseconds(every_ms), lambda: self._join(contact))
            case parts.Leave(at_ms=at_ms, process=process):
                simulation.at(self._moment(at_ms), lambda: self._leave(process))
            case parts.Suspect(at_ms=at_ms, process=process, suspected=suspected):
                simulation.at(self._moment(at_ms), lambda: self._suspect(process, suspected))
            case parts.Churn(from_ms=from_ms):
                simulation.at(nanoseconds(from_ms), lambda: self._churn(fault))
            case parts.Rewire(from_ms=from_ms):
                simulation.at(nanoseconds(from_ms), lambda: self._rewire(fault))
            case parts.Flap(at_ms=at_ms, process=process):
                simulation.at(self._moment(at_ms), lambda: self._flap(process))

    def _moment(self, moment: parts.Moment) -> Nanoseconds:
        if isinstance(moment, list):
            return self._chance.between(nanoseconds(moment[0]), nanoseconds(moment[1]))
        return nanoseconds(moment)

    def _victim(self, process: Process) -> Process:
        members = self._simulation.members()
        return self._chance.pick(members) if process == "any" and members else process

    def _up(self, process: Process) -> "Seat | None":
        """The seat of a process that is up, chosen by the seed if any will do."""
        seat = self._simulation.seats.get(self._victim(process))
        return seat if seat is not None and seat.up else None

    def _crash(self, process: Process) -> None:
        seat = self._up(process)
        if seat is not None:
            self._simulation.fired("crash", seat.index)
            self._simulation.take_down(seat, "crashed")
            lose_on_crash(self._simulation, seat.name, self._chance)

    def _crash_share(self, share: float) -> None:
        members = self._simulation.members()
        # At least one lives to tell.
        for victim in self._chance.some(members, min(round(share * len(members)), len(members) - 1)):
            self._crash(victim)

    def _pause(self, process: Process, duration: Nanoseconds) -> None:
        seat = self._up(process)
        if seat is not None and not seat.paused:
            self._simulation.fired("pause", seat.index)
            seat.paused = True
            self._simulation.at(self._simulation.now + duration, lambda: self._simulation.resume(seat))

    def _part(self, partition: parts.Partition) -> None:
        if self._simulation.now < self._simulation.until:
            self._simulation.fired("partition", text=_groups(partition))
            self._simulation.network.part(partition)

    def mend(self, partition: parts.Partition) -> None:
        """A partition ends, if it has not ended before."""
        simulation = self._simulation
        if partition in simulation.network.partitions:
            simulation.tracer.chronicle.event(simulation.now, "mend", text=_groups(partition))
            simulation.network.mend(partition, simulation.now)

    def _join(self, contact: Process) -> None:
        simulation = self._simulation
        contacts = simulation.contacts()
        if contact == "any" and contacts:
            contact = self._chance.pick(contacts)
        if contact not in contacts:
            return
        name = f"p{len(simulation.seats)}"
        seat = simulation.seat(name, (name,), joining=True)
        simulation.fired("join", seat.index, simulation.seats[contact].index)
        simulation.enter(seat, contact)
        for load in simulation.workloads:
            load.joined(name)

    def _leave(self, process: Process) -> None:
        seat = self._up(process)
        if seat is not None:
            self._simulation.fired("leave", seat.index)
            self._simulation.call(seat, self._say_goodbye)
            self._simulation.take_down(seat, "left")

    def _say_goodbye(self, seat: "Seat") -> None:
        if seat.joining is not None:
            seat.joining.leave(self._simulation.now, seat)

    def _suspect(self, process: Process, suspected: Process) -> None:
        seat, other = self._up(process), self._up(suspected)
        if seat is not None and other is not None and seat is not other:
            self._simulation.fired("suspect", seat.index, other.index)
            name = other.name
            self._simulation.call(seat, lambda seat: seat.machine.peer_down(name, self._simulation.now, seat))

    def _churn(self, churn: parts.Churn) -> None:
        def unless_few_are_left(action: Callable[[Process], None]) -> Callable[[], None]:
            return lambda: action("any") if len(self._simulation.members()) > churn.least else None

        until = last_moment(self._simulation, churn.until_ms)
        for per_second, action in (
            (churn.joins_per_second, lambda: self._join("any")),
            (churn.leaves_per_second, unless_few_are_left(self._leave)),
            (churn.crashes_per_second, unless_few_are_left(self._crash)),
        ):
            if per_second:
                repeat(self._simulation, poisson(per_second, self._chance), action, until)

    def _rewire(self, rewire: parts.Rewire) -> None:
        wait, until = poisson(rewire.per_second, self._chance), last_moment(self._simulation, rewire.until_ms)
        repeat(self._simulation, wait, lambda: self._rewiring.change(rewire), until)

    def _flap(self, process: Process) -> None:
        seat = self._up(process)
        if seat is not None:
            self._rewiring.flap(seat)
