"""A process's seat in the simulation, which is also the effects sink of its protocol.

What the protocol sends goes to the network at once; what it delivers is queued until the call returns, then
traced and told to the workloads, who may speak in turn. What it calls stable is queued with it, in order, so
that the trace knows of every delivery and sending that came before. So is its word that it is isolated: then
the process's next incarnation takes the same seat.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aforesaid.core import (
    Explaining,
    Joining,
    Linking,
    MessageId,
    Misuse,
    Nanoseconds,
    Process,
    Reason,
    Speaker,
    Timer,
    order_of,
    saying,
)

if TYPE_CHECKING:
    from aforesaid.sim.receiving import Said
    from aforesaid.sim.simulation import Simulation


STABLE = object()
"""In the queue in a payload's place: the message is not delivered here but called stable."""

ISOLATED = object()
"""In the queue in a payload's place: no message, but the end of this incarnation once the queue is empty."""

NO_MESSAGE = MessageId("", 0, 0)


class Seat:
    """A process's place in the simulation: its protocol, its timers, whether it is up."""

    __slots__ = (
        "explaining",
        "fresh",
        "handed",
        "handing_over",
        "held",
        "inbox",
        "incarnation",
        "index",
        "joining",
        "linking",
        "machine",
        "name",
        "network",
        "order",
        "paused",
        "say",
        "simulation",
        "timers",
        "up",
    )

    def __init__(self, simulation: "Simulation", name: Process, machine: Speaker, index: int) -> None:
        self.simulation = simulation
        self.network = simulation.network
        self.name = name
        self.take(machine)
        self.index = index
        self.incarnation = 0
        self.up = True
        self.paused = False
        self.timers: dict[Timer, int] = {}
        """Armed timers, each with the agenda number of its deadline; another number is an older arming."""
        self.handed: deque[tuple[MessageId, Any]] = deque()
        self.handing_over = False
        self.inbox: list[tuple[Callable[..., None], Any, Any]] = []
        """What came while paused."""
        self.fresh: dict[Said, int] = {}
        """Where receipts are written: what came, or was said, in this turn, and from whom."""
        self.held: dict[Said, dict[Process | None, Reason | None]] = {}
        """And what was said here and has not left for everyone: for whom, and once it is known, why."""

    def take(self, machine: Speaker) -> None:
        """This protocol object sits here from now on."""
        self.machine = machine
        self.say = saying(machine)
        self.linking = machine if isinstance(machine, Linking) else None
        self.joining = machine if isinstance(machine, Joining) else None
        self.order = order_of(machine)
        self.explaining = machine if isinstance(machine, Explaining) else None

    @property
    def links(self) -> Linking:
        """What opens and closes links here; scenarios see to it that there is such a thing."""
        if self.linking is None:
            raise Misuse(f"{type(self.machine).__name__} has no links that open and close")
        return self.linking

    def send(self, targets: Any, message: Any) -> None:
        simulation = self.simulation
        if self.held and simulation.receiving is not None:
            simulation.receiving.leaves(self, targets, message, simulation.now)
        self.network.send(self.name, targets, message, simulation.now)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.handed.append((message_id, payload))

    def numbered(self, message_id: MessageId) -> None:
        self.simulation.tracer.sent(self.index, message_id, self.simulation.now, ())

    def stable(self, message_id: MessageId) -> None:
        self.handed.append((message_id, STABLE))

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        newcomer = self.simulation.seats[peer]
        # The request of an incarnation that has ended meanwhile lets nobody in.
        if incarnation in (None, newcomer.incarnation):
            self.simulation.tracer.admitted(self.index, newcomer.index)

    def isolated(self) -> None:
        self.handed.append((NO_MESSAGE, ISOLATED))

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        simulation = self.simulation
        self.timers[timer] = simulation.order
        simulation.put(max(deadline, simulation.now), simulation.expire, self, timer, simulation.order)

    def disarm(self, timer: Timer) -> None:
        self.timers.pop(timer, None)

    def choose(self, label: str, count: int) -> int:
        return self.simulation.choices.below(count)
