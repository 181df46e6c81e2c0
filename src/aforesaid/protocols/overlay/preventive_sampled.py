"""Preventive broadcast with links both ways, for an overlay that is sampled.

Nédelec, Molli and Mostéfaoui (2018a) open links one way, each by a ping and a pong (`preventive`). A sampled
overlay wants them both ways, and one handshake gives both: α is the ping of the one direction; ρ, which takes
safe links back, is its pong, and the ping of the other; the first buffer is the pong of that. So X buffers
from α to ρ and Y from ρ to the buffer of X, and each sends its buffer first on the new link.

- X to Y is safe: what X delivered before α, Y has delivered when it takes α; what came after is in the buffer
  or follows it on the link.
- Y to X is safe: what Y delivered before ρ, X has delivered when it takes ρ, and so before Y takes its
  buffer; what came after is in Y's buffer or follows it.

All else is PRC-broadcast's: how links are named, closed, lost and tried again, whom a newcomer is let in by,
what mediators do. What differs is what is remembered: one counter for each process that ever spoke, or ever
flooded a control message, for ever, in place of the messages that each link is still to bring; and half of
the control messages, for receivers of links have nothing to note.
"""

from typing import Any

from aforesaid.core import Effects, MessageId, Nanoseconds, Process
from aforesaid.protocols.overlay.frames import RHO, Buffer, Copy, Flood, Lid
from aforesaid.protocols.overlay.prc import PRC
from aforesaid.protocols.overlay.prc.handshake import Handshake
from aforesaid.protocols.overlay.prc.links import ASKED, OPEN, SECOND, Incoming, Links, Outgoing
from aforesaid.protocols.overlay.preventive_frames import Welcome
from aforesaid.structures import Received


class Counted(Links):
    """All links of one process. Copies are told apart by what was received."""

    def __init__(self, me: Process, incarnation: int, buffer_max: int) -> None:
        super().__init__(me, incarnation, buffer_max)
        self.received = Received()

    def new(self, message_id: MessageId, body: Any, via: Incoming | None, out: Effects) -> None:
        """Of a message that was received before, nothing."""
        origin, incarnation, number = message_id
        if self.received.add((origin, incarnation, number < 0), abs(number)):
            self.pass_on(message_id, body, out)

    def copy(self, source: Process, frame: Copy | Flood[Any], out: Effects) -> None:
        lid, message_id, body = frame
        incoming = self.incoming.get(lid)
        if incoming is None or incoming.state != OPEN:
            self.refuse(source, lid, out)
        else:
            self.new(message_id, body, incoming, out)


class PingPong(Handshake):
    """The opening of links by two control messages."""

    def _attempt(
        self, peer: Process, route: tuple[Process, ...] | None, tries: int, now: Nanoseconds
    ) -> Outgoing:
        attempt = Outgoing(peer, ASKED, route, tries)
        attempt.buffers(now)
        return attempt

    def _answer(self, lid: Lid, route: tuple[Process, ...] | None, now: Nanoseconds, out: Effects) -> None:
        self.links.incoming[lid] = Incoming(lid.opener, SECOND, route)
        self.links.outgoing[lid] = Outgoing(lid.opener, ASKED, tries=0)
        self.links.outgoing[lid].buffers(now)
        self._send(RHO, lid, route, out)

    def _rho(self, opening: Lid, out: Effects) -> bool:
        fits = super()._rho(opening, out)
        if fits:
            self.links.incoming[opening].before = set()
        return fits

    def _work_through(self, incoming: Incoming, frame: Buffer, out: Effects) -> None:
        incoming.state = OPEN
        for message_id, body in frame.messages:
            self.links.new(message_id, body, incoming, out)


class PreventiveBothWays(PRC):
    """Preventive broadcast at one process."""

    state: Counted

    def __init__(self, *args: Any, **settings: Any) -> None:
        # A ping is one only if it goes over safe links.
        super().__init__(*args, both_ways=True, alpha_direct=False, **settings)

    def _links(self, buffer_max: int) -> Counted:
        return Counted(self.me, self.incarnation, buffer_max)

    def _handshake(self, both_ways: bool, patience: Nanoseconds, tries: int, alpha_direct: bool) -> Handshake:
        return PingPong(self.state, both_ways, patience, tries, alpha_direct)

    def entries(self) -> int:
        """What it has received, and what it keeps for links that are being opened."""
        return self.state.received.entries + self.gauges()["buffered"]

    def _welcome_of(self, lid: Lid) -> Welcome:
        """What the contact has received, the newcomer is not owed."""
        return Welcome(lid, self.state.received.frozen())

    def _receive_for_links(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        if not isinstance(message, Welcome):
            super()._receive_for_links(source, message, now, out)
            return
        if message.link == self.joining:
            self.state.received = Received(message.received)
        self._enter(source, message.link, out)
