"""The ports between the host, which runs the protocol, and what carries its frames to named peers."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from aforesaid.core import Nanoseconds, Process
from aforesaid.node.config import Config
from aforesaid.transport import Address


class Above(Protocol):
    """What a carrier tells its host."""

    def received(self, source: Process, messages: Sequence[Any]) -> bool:
        """Frames came from a peer whose name was verified as far as the configuration asks. False: they were
        copies of what came before, nothing came of them, and there is nothing to answer."""

    def end_turn(self) -> None:
        """What came at one time was handed over: now answer."""

    def met(self, peer: Process, incarnation: int, start: int) -> None:
        """The first word of this incarnation of a peer, or of this start of it."""

    def connected(self, peer: Process) -> None:
        """The peer is there again after a silence: what was lost meanwhile may be sent again."""

    def lost(self, peer: Process) -> None:
        """The connection to a peer is gone, with a suffix of what was on its way in either direction."""

    def said_bye(self, peer: Process) -> None:
        """A peer has left for good."""

    def turned_away(self, peer: Process, reason: str) -> None:
        """A peer says that nothing of this node is let in there, and why."""

    def not_let_in(self, name: Process, reason: str) -> None:
        """Something was refused that came, or seemed to come, from a process of this name."""

    def is_member(self) -> bool:
        """False for a newcomer to a changing group that was not let in yet."""

    def neighbours(self) -> frozenset[Process]:
        """To whom this process has links in the overlay of a changing group."""

    def apart(self, elsewhere: Address) -> None:
        """A changing group is in pieces, and the one to be in is where that member is."""

    def has_room(self) -> None:
        """There may be more room for frames than there was."""

    def failed(self, error: Exception) -> None:
        """An invariant of ours is broken."""


class Carrier(Protocol):
    """Carries frames to named peers."""

    refused: Counter[str]
    """What was not let in, by reason."""
    address: Address
    """Where it listens."""
    piece_bytes: int
    """How long a frame to any peer may be that leaves in one piece, just now."""

    async def start(self) -> None: ...

    def send(self, peer: Process, frames: Sequence[Any]) -> None:
        """In order; they may be lost, all or (streams) a suffix of what was said since the last loss."""

    def beat(self, now: Nanoseconds) -> None:
        """Called every so often: say to idle peers that we are here, and notice who is silent."""

    async def call(self, *addresses: Address, newcomer: bool) -> Process:
        """Call whoever is at one of these, in this order; its name. For changing groups."""

    def introduce(self, peer: Process, address: Address) -> None:
        """Where a member is from here on; one that is not known yet is let in."""

    def withdraw(self, peer: Process) -> None:
        """The peer was introduced, and is no member after all."""

    def recall(self, peer: Process, incarnation: int, start: int) -> None:
        """Before it starts: who a peer was when this node last heard it, in an earlier start of its own."""

    def members(self) -> list[Address]:
        """Where other members of a changing group may be, the likeliest first."""

    def heard_ns(self, peer: Process) -> Nanoseconds | None:
        """When the peer was last heard, by the monotonic clock; None: never."""

    def connected(self) -> list[Process]:
        """The peers that can be spoken to just now."""

    def forget(self, peer: Process) -> None:
        """The peer was evicted: nothing goes to it and nothing of it is let in."""

    def buffered(self) -> int:
        """The bytes that wait towards the peer towards whom most do."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    async def rekey(self, config: Config) -> None:
        """Use the keys of this configuration from here on."""

    def bye(self) -> None:
        """Tell everyone that this node leaves."""

    async def close(self) -> None: ...
