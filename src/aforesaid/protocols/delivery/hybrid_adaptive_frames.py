"""What processes with adaptive hybrid buffering say to each other, and what each keeps of one peer besides.

Ours (docs/adaptive-hybrid-buffering.md). Acks, early acks and notices are those of `hybrid_frames`. Every
other frame can tell who is gone, as News and PermitNews do there.
"""

from collections import deque
from typing import Annotated, NamedTuple

from msgspec import Struct

from aforesaid.core import Count, Members, Number, Payloads, Process, frame
from aforesaid.core.fields import AtMost
from aforesaid.protocols.delivery.hybrid_frames import Channel
from aforesaid.protocols.delivery.hybrid_runs import is_run_of_its_own
from aforesaid.protocols.repair import NONE, Pace

CONSTRAINTS_MAX = 64
"""More than this no message names."""


class Wait(NamedTuple):
    """The receiver must first deliver what `by` said to it up to this number."""

    by: Process
    number: Number


class Name(NamedTuple):
    """`at` must first deliver what `by` said to it up to this number."""

    at: Process
    by: Process
    number: Number


@frame(deferrable=True, gone="gone", holds=is_run_of_its_own, numbered=("incarnation", "number"))
class Told(NamedTuple):
    """A message of the application, or a run of them, on its way, with the constraints it names (MSG)."""

    gone: Members
    incarnation: Count
    number: Number
    """Of a run, that of its last message."""
    previous: Count
    """The number before it on this channel, 0 if it is the first."""
    waits: Annotated[tuple[Wait, ...], AtMost(CONSTRAINTS_MAX)]
    """The constraints on the receiver itself (W)."""
    names: Annotated[tuple[Name, ...], AtMost(CONSTRAINTS_MAX)]
    """Constraints on others (C)."""
    opaque: bool
    """There are others it does not name: its receiver may pass nothing on until it is permitted."""
    payload: Payloads


@frame(gone="gone", cumulative=lambda holds: not holds.gone)
class Holds(NamedTuple):
    """Of the messages of this channel, which constraints hold by now (NEWS)."""

    gone: Members
    permitted: Count
    """Of the messages up to this one, all that they do not name."""
    held: Count
    """Of the messages up to this one, all that they name."""


@frame(gone="gone")
class Flush(NamedTuple):
    """Tell me when all that you have sent by now is delivered."""

    gone: Members
    round: Number


@frame(gone="gone")
class Flushed(NamedTuple):
    """All that I had sent when you asked is delivered."""

    gone: Members
    round: Number


class Telling(Struct, eq=False, gc=False):
    """What a message delivered here named: its sender will tell when all of that holds."""

    number: int
    names: tuple[Name, ...]
    done: bool = False


class AdaptiveChannel(Channel):
    """What a process keeps of one peer, in both directions, besides."""

    __slots__ = (
        "awaited",
        "cons",
        "flush",
        "flush_until",
        "held",
        "holding",
        "named",
        "polls",
        "run",
        "unnamed",
    )

    def __init__(self, peer: Process, pace: Pace) -> None:
        super().__init__(peer, pace)
        self.unnamed: deque[tuple[int, int]] = NONE
        """The opaque messages sent to the peer that are not permitted: up to which place in the order of
        constraints all must hold, and the number of the message."""
        self.named: deque[tuple[int, int]] = NONE
        """The same of those that named something, for that to hold."""
        self.holding = 0
        """All that was named to the peer holds, up to this message of ours; it was told so."""
        self.run = 0
        """All constraints before this place hold, or concern the peer. A lower bound."""
        self.cons: deque[Telling] = NONE
        """What messages of the peer named, and is not known to hold (cons)."""
        self.held = 0
        """All that the peer's messages named holds, up to this one (dk); it may be ahead of deliveries."""
        self.awaited: tuple[Process, int] | None = None
        """Whose message, of which number, the peer's next one waits for."""
        self.polls = False
        """The peer's acks are asked for now and then."""
        self.flush = self.flush_until = 0
        """The peer's last question, and that it is answered when all messages below this are acknowledged;
        0: it is answered."""
