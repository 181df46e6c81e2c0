"""Hybrid buffering in steps of bounded length.

Ours. One frame can set much free: the last missing permit all that is held, one ack all the permits that
waited for it. In one step, that would hold the host's loop for as long as it takes. So the loops of a process
stop after `batch` messages, note where, and arm `Continue` for now; the step that follows goes on from there.
Order is kept: what is said meanwhile waits for its turn. Nothing is lost by it but time: what is not looked
at yet might as well be on a slow network.

Not bounded, because an ack that tells a part only would look like loss to who repairs: an ack is taken in
full, and what came before its time is delivered all at once. Nor is an eviction, which looks through `u`; and
a message to many leaves for all of them together. A run is one message here, or counts as all of its own.
"""

from abc import abstractmethod

from aforesaid.core import Effects, Nanoseconds, Process
from aforesaid.protocols.delivery.hybrid_eviction import Evicting
from aforesaid.protocols.delivery.hybrid_frames import Channel, Continue
from aforesaid.protocols.repair import NONE


class Batched(Evicting):
    """What steps left over."""

    def __init__(self, batch: int) -> None:
        super().__init__()
        self.batch = batch
        self.left = 0
        """The first message that may have to be network-sent by a later step; 0: there is none."""
        self.unsettled = False
        """True: permits may be due, and the first entries of `u` acknowledged by all."""
        self.behind: dict[Process, None] = {}
        """Whose permits came for more than is released yet."""

    @abstractmethod
    def _reached(self) -> int:
        """Grows by at least as much as messages were network-sent."""

    @abstractmethod
    def _send_left(self, k: int, now: Nanoseconds, out: Effects) -> None:
        """Network-send what may be, from message k on."""

    @abstractmethod
    def _settle(self, due: dict[Process, int]) -> None: ...

    @abstractmethod
    def _release(self, key: tuple[Process, int], now: Nanoseconds, out: Effects) -> None: ...

    def _put_off(self, k: int, now: Nanoseconds, out: Effects) -> None:
        """A later step goes on from message k."""
        self.left = k
        out.arm(Continue(), now)

    def _fall_behind(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """A later step releases the rest of what the peer has permitted."""
        self.behind[peer] = None
        out.arm(Continue(), now)

    def _release_permitted(self, source: Process, channel: Channel, now: Nanoseconds, out: Effects) -> None:
        """Network-send what waited for the permits that came from the peer."""
        missing, number, released = channel.missing, channel.permitted, 0
        began = self._reached() if len(missing) > 1 else 0
        while missing and missing[0] <= number:
            self._release((source, missing.popleft()), now, out)
            released += 1
            if missing and (released >= self.batch or self._reached() - began >= self.batch):
                self._fall_behind(source, now, out)
                return
        channel.missing = missing or NONE

    def _continue(self, now: Nanoseconds, out: Effects) -> None:
        """Go on with what was left over, for one batch of each kind."""
        if self.behind:
            peer = next(iter(self.behind))
            del self.behind[peer]
            self._release_permitted(peer, self.channels[peer], now, out)
        if self.unsettled:
            self._settle_and_give({}, now, out)
        if self.left:
            k, self.left = self.left, 0
            self._send_left(k, now, out)
        if self.behind:
            out.arm(Continue(), now)

    def _settle_and_give(self, due: dict[Process, int], now: Nanoseconds, out: Effects) -> None:
        self.unsettled = False
        self._settle(due)
        self._give(due, out)
        if self.unsettled:
            out.arm(Continue(), now)
