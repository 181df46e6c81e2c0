"""The ports between a protocol and its host.

A protocol is a sans-I/O state machine: a plain object that knows no clock, no socket and no randomness.
Its host (simulator, explorer, node) calls it with what happened and the time, and passes an *effects sink*
that takes what shall happen. Hosts queue: a sink never calls back into the protocol.

What holds for every protocol, and what hosts rely on:
- deterministic: the same calls give the same effects, in the same order (no iteration over sets of names);
- clonable: its state is plain data, `pickle` copies it;
- messages are frames (`core.frames`): immutable, hashable values that declare themselves, never shared state;
- a protocol's state is updated before it calls `deliver`.

Every protocol is a `Machine` that speaks: a `CausalBroadcast` or a `CausalDelivery`. What only some can do is
a capability (`core.capabilities`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from aforesaid.core.errors import Misuse
from aforesaid.core.fields import Payload, Process
from aforesaid.core.frames import Message
from aforesaid.core.identity import MessageId, Nanoseconds

Timer: TypeAlias = Any
"""The protocol's own name for a timer, hashable. Arming a timer that is armed moves its deadline."""


class Effects(Protocol):
    """What a protocol may ask of its host."""

    def send(self, targets: Sequence[Process], message: Message) -> None:
        """Hand the message to the link towards each target; the protocol never names itself."""

    def deliver(self, message_id: MessageId, payload: Payload) -> None:
        """Hand a message to the application."""

    def numbered(self, message_id: MessageId) -> None:
        """The protocol has said something of its own: the number is taken, and no application hears it."""

    def stable(self, message_id: MessageId) -> None:
        """Every member is known to have delivered the message (where the algorithm can tell)."""

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        """From here on, everything this process has not delivered yet is owed to the joining peer.

        `incarnation` is the one that asked, where the protocol knows it; None: the present one.
        """

    def isolated(self) -> None:
        """This incarnation has lost its group and may miss what is said there: it can keep no more promises.

        The host ends it, and begins a new one that joins again, if there is anyone to join.
        """

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        """Call `expire(timer)` at the deadline."""

    def disarm(self, timer: Timer) -> None:
        """Forget the timer; disarming one that is not armed is fine."""

    def choose(self, label: str, count: int) -> int:
        """A number below count: the only nondeterminism, seeded in sim and node, enumerated in explore."""


class TakesRuns:
    """An effects sink that takes the messages of a run all at once. Others get them one by one."""

    def deliver_run(self, origin: Process, incarnation: int, first: int, payloads: Sequence[Payload]) -> None:
        """As `deliver` for each of them, in order; their numbers are consecutive."""
        raise NotImplementedError


class Machine(Protocol):
    """What every protocol is to its host, whatever it offers to the application."""

    def receive(self, source: Process, message: Message, now: Nanoseconds, out: Effects) -> None: ...

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None: ...

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None: ...

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """The failure detector's word."""

    def gauges(self) -> Mapping[str, int]:
        """How much is held for later, by kind. All zero at rest, where the algorithm promises it."""


@runtime_checkable
class CausalBroadcast(Machine, Protocol):
    """Everything said is for everyone."""

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        """Say it to everyone; raises Busy, with nothing changed, if a bounded queue is full."""


@runtime_checkable
class CausalDelivery(Machine, Protocol):
    """Unicast and multicast: everything said names its audience."""

    def send(
        self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects
    ) -> MessageId: ...


Speaker: TypeAlias = CausalBroadcast | CausalDelivery
"""What builders make and hosts hold."""

Say: TypeAlias = Callable[[Sequence[Process], Payload, Nanoseconds, Effects], MessageId]


def saying(machine: Speaker) -> Say:
    """How something is said through a machine; a broadcast is for everyone, whoever is named."""
    if isinstance(machine, CausalDelivery):
        return machine.send
    if not hasattr(machine, "broadcast"):
        wanted = ("send or broadcast", "receive", "expire", "peer_up", "peer_down", "gauges")
        lacking = ", ".join(name for name in wanted if not hasattr(machine, name.partition(" ")[0]))
        raise Misuse(f"{type(machine).__name__} is no protocol: it lacks {lacking}")
    broadcast = machine.broadcast
    return lambda _, payload, now, out: broadcast(payload, now, out)


Handed: TypeAlias = Sequence[tuple[MessageId, Any]]
"""What a layer hands up: the layer's own id of a body, and the body."""


class Layer(Protocol):
    """A broadcast that another one stands on (rb, urb). It returns what it delivers, in order.

    Returning instead of calling up keeps the composition free of re-entrance: the upper layer reads
    "upon event rbDeliver" as a loop over what the call returned.
    """

    def broadcast(self, body: Any, now: Nanoseconds, out: Effects) -> tuple[MessageId, Handed]: ...

    def receive(self, source: Process, message: Message, now: Nanoseconds, out: Effects) -> Handed: ...

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> Handed: ...

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> Handed: ...

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> Handed: ...

    def gauges(self) -> Mapping[str, int]: ...
