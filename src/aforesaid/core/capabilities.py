"""What only some protocols can do. A host asks `isinstance(machine, Linking)`, and never for a field.

A protocol that offers a capability says so among its bases, so that a type checker proves it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from aforesaid.core.fields import Payload, Process
from aforesaid.core.identity import MessageId, Nanoseconds
from aforesaid.core.ports import Effects, Timer
from aforesaid.core.reasons import Reason


@runtime_checkable
class Joining(Protocol):
    """A changing group: processes come and go."""

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        """Enter the group through one member; the first call a newcomer gets."""

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        """Say goodbye; the last call a process gets."""

    @property
    def inside(self) -> bool:
        """False for a newcomer until it is let in."""


@runtime_checkable
class Linking(Joining, Protocol):
    """An overlay: links may be opened, closed and lost."""

    def begin(self, now: Nanoseconds, out: Effects) -> None:
        """A founder's first call."""

    def open(self, peer: Process, route: Sequence[Process] | None, now: Nanoseconds, out: Effects) -> None:
        """Have a link to the peer, mediated by these neighbours of neighbours; None: no route is known."""

    def close(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Have no link to the peer, unless it is somebody's last."""

    def link_down(self, lid: Any, now: Nanoseconds, out: Effects) -> None:
        """The connection under a link instance was lost, with a suffix of what was on its way."""

    def links(self) -> Sequence[tuple[Process, Any]]:
        """The peers this process has usable links to, and the names of the link instances."""

    def settle(self, now: Nanoseconds, out: Effects) -> None:
        """Begin nothing new from here on; what has begun goes on to its end."""


@runtime_checkable
class HandingOver(Protocol):
    """Before it leaves, it lets its neighbours do without it."""

    def hand_over(self, now: Nanoseconds, out: Effects) -> None:
        """Begin."""

    @property
    def needed(self) -> bool:
        """True until they can."""


@runtime_checkable
class Admitting(Protocol):
    """A group that changes by the word of its members, in causal order with what they say."""

    def admit(self, peer: Process, address: str, now: Nanoseconds, out: Effects) -> None:
        """Let the peer in, who is there and knows this process; Misuse if that cannot be."""

    def dismiss(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """The peer, or this process itself, is to leave, with all that it said and was said to it."""

    def locate(self, addresses: Mapping[Process, str], now: Nanoseconds, out: Effects) -> None:
        """Where these members are, for whoever is told of the group from here on."""

    @property
    def everyone(self) -> Mapping[Process, str]:
        """Whoever was ever a member, and the address of each."""

    def roster(self) -> Mapping[Process, str]:
        """To whom something may be said now, this process included, and the address of each."""

    @property
    def changes(self) -> int:
        """Grows whenever the roster may have changed."""

    @property
    def welcome(self) -> bool:
        """False for a newcomer until it is let in."""

    @property
    def dismissed(self) -> bool:
        """Whether this process is to leave: it must say nothing more."""

    @property
    def drained(self) -> bool:
        """Whether it has left, and everybody knows."""

    @property
    def took_leave(self) -> bool:
        """Whether it has said its last word."""

    @property
    def gone(self) -> Collection[Process]:
        """Who is evicted, or has left."""

    @property
    def dismissals(self) -> Collection[Process]:
        """Who was dismissed, and has left or will."""


@runtime_checkable
class Owing(Protocol):
    """Knows what its peers have not acknowledged."""

    def owed(self, peer: Process) -> int:
        """How many of its messages, or of the frames that carry them, the peer has not acknowledged."""

    def retries(self, peer: Process) -> Sequence[Timer]:
        """The timers at which it sends again what the peer lacks: due at once when the peer is back."""


@runtime_checkable
class Windowed(Owing, Protocol):
    """Knows of each of its messages who has delivered it, and which are stable."""

    @property
    def stable_below(self) -> int:
        """Its messages of a lower number were delivered by all their receivers that are not evicted."""

    def lacking(self, number: int) -> Collection[Process]:
        """The receivers that have not acknowledged this message of its own, which is not stable yet."""


@runtime_checkable
class InRuns(Protocol):
    """Takes messages that are said at once to the same processes as one run: one decision for all."""

    def send_run(
        self, targets: Sequence[Process], payloads: Sequence[Payload], now: Nanoseconds, out: Effects
    ) -> MessageId:
        """Say 1 to `RUN_MAX` messages; the id of the last: the numbers of the others are those before it."""

    @property
    def next_number(self) -> int:
        """Of the message that is said next."""

    @property
    def room(self) -> int:
        """How many more can be said before it is Busy."""


@runtime_checkable
class Acknowledging(Owing, Protocol):
    """Knows of each peer which of the frames sent to it have arrived."""

    def sent(self) -> Mapping[Process, int]:
        """By peer, the number of the last frame sent to it."""

    def arrived_below(self, peer: Process) -> int | None:
        """All frames to the peer of a lower number have arrived; None: all have."""


@runtime_checkable
class Repairing(Protocol):
    """Sends again what was lost on its way."""

    @property
    def resent(self) -> int:
        """How many times it has done so."""


@runtime_checkable
class Remembering(Protocol):
    """Can tell how much it remembers: its local space, as papers compare it."""

    def entries(self) -> int:
        """What it holds for telling copies apart and for order: counters, components of vectors, messages
        that are expected, wait or are kept for a link. Not all of it is gone at rest, unlike `gauges`."""


@runtime_checkable
class Explaining(Protocol):
    """Can tell why a message waits."""

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        """Why it is not sent, acknowledged, permitted or delivered yet; Misuse if it was never said here."""


@runtime_checkable
class Keeping(Protocol):
    """Keeps messages for links that are being opened."""

    def kept(self) -> tuple[Reason, ...]:
        """For each such link the oldest message, why it waits, and since when."""


Ids: TypeAlias = tuple[tuple[Process, int, int], ...]
"""MessageIds, or what is equal to them: as they come off the wire they are plain tuples."""


class PartialOrder(Protocol):
    """What one process knows of what came before what."""

    def take(self, message_id: MessageId, after: Ids) -> None:
        """The application has this message, which carried these ids: what it says from now on follows it."""

    def after(self, message_id: MessageId) -> tuple[MessageId, ...] | None:
        """The immediate predecessors of a message said or taken here; None: forgotten."""

    def precedes(self, one: MessageId, other: MessageId) -> bool | None:
        """Whether one came before the other; None: not known, or not any more."""


@runtime_checkable
class Ordering(Protocol):
    """Its messages carry what they follow: payloads go down and come up as `Placed`."""

    @property
    def order(self) -> PartialOrder | None:
        """None if they do not, after all."""


def order_of(machine: Any) -> PartialOrder | None:
    """Whom a host tells of every message the application takes, where messages carry what they follow."""
    return machine.order if isinstance(machine, Ordering) else None
