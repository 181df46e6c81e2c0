"""Link memory (sections 2.2 and 2.3): the two ends of every link, and what each message does to them.

Invariant per open link X to Y: what X delivered, Y delivered or has on its way on that link. Exactly once and
causal order follow from it, whatever becomes of other links.
"""

from typing import Any, NamedTuple, TypeAlias

from aforesaid.core import Effects, MessageId, Nanoseconds, Process, new
from aforesaid.protocols.overlay.frames import ALPHA, PI, Control, Copy, Fin, Flood, Lid, Reset, Said, Seen
from aforesaid.protocols.overlay.holding import Kept

ASKED, BUFFERING, SAFE, CONFIRMED = range(4)
"""A sender's end: α is sent; π is sent, Bβ grows; Bβ is sent, copies follow; the receiver has opened it."""

FIRST, SECOND, MIRRORED, OPEN = range(4)
"""A receiver's end: Bα grows; Bπ grows; Bπ grows as the buffer of the reverse link; copies come in."""


class Outgoing:
    """The sender's end of a link."""

    __slots__ = ("buffer", "route", "since", "state", "target", "tries", "welcome")

    def __init__(
        self, target: Process, state: int, route: tuple[Process, ...] | None = None, tries: int = 1
    ) -> None:
        self.target = target
        self.state = state
        self.route = route
        self.tries = tries
        self.buffer: list[Said] = []
        """Bβ, while it grows."""
        self.since: Nanoseconds = 0
        """When it began to."""
        self.welcome = False
        """True for the first link of a newcomer, until it acknowledges it."""

    def buffers(self, now: Nanoseconds) -> None:
        self.state, self.since = BUFFERING, now

    def buffered(self) -> set[MessageId]:
        return {message_id for message_id, _ in self.buffer}


class Incoming:
    """The receiver's end of a link."""

    __slots__ = ("before", "memory", "route", "source", "state")

    def __init__(self, source: Process, state: int, route: tuple[Process, ...] | None = None) -> None:
        self.source = source
        self.state = state
        self.route = route
        self.memory: set[MessageId] = set()
        """What is noted of this link now: Bα, then Bπ, then E, the messages still expected from it."""
        self.before: set[MessageId] = set()
        """Bα once it is complete."""

    @property
    def noted(self) -> int:
        return len(self.memory) + len(self.before)


class Up(NamedTuple):
    """The link is initialised as far as this end can tell."""

    lid: Lid


class Down(NamedTuple):
    """The link is gone; `agreed`: both ends closed it."""

    lid: Lid
    agreed: bool


class Failed(NamedTuple):
    """No link to the peer could be had."""

    peer: Process


class Asked(NamedTuple):
    """The other end would close the link: answer `agree` or `keep`."""

    lid: Lid


class Mediated(NamedTuple):
    """The last control message for a link between two others has passed through this process."""

    opening: Lid


class Joined(NamedTuple):
    """This newcomer is inside."""

    contact: Process


class Welcomed(NamedTuple):
    """A newcomer is inside, through this process."""

    newcomer: Process


Notice: TypeAlias = Up | Down | Failed | Asked | Mediated | Joined | Welcomed


class Links:
    """All links of one process, and the dissemination over them."""

    def __init__(self, me: Process, incarnation: int, buffer_max: int) -> None:
        self.me = me
        self.incarnation = incarnation
        self.buffer_max = buffer_max
        self.outgoing: dict[Lid, Outgoing] = {}
        self.incoming: dict[Lid, Incoming] = {}
        self.closing: dict[Lid, int] = {}
        """Links that are being closed, and how often this process has asked for it; 0: the other end has."""
        self.inside = True
        """False for a newcomer until it is welcomed."""
        self.grouped = False
        """True once this process had a link: from then on, to have none is to be isolated."""
        self.opened = 0
        self.flooded = 0
        self.controls: list[Control] = []
        """Control messages that came by flooding and are for this process."""
        self.overflown: list[Lid] = []
        self.notices: list[Notice] = []

    def new_lid(self, peer: Process) -> Lid:
        self.opened += 1
        return Lid(self.me, peer, self.incarnation, self.opened)

    def establish(self, lid: Lid, out_state: int | None, receives: bool) -> None:
        """Have a link without a handshake: at the beginning, or between a newcomer and its contact."""
        peer = lid.far_end(self.me)
        if out_state is not None:
            self.outgoing[lid] = Outgoing(peer, out_state)
        if receives:
            self.incoming[lid] = Incoming(peer, OPEN)
        self.opened = max(self.opened, lid.number)
        self.grouped = True

    def new(self, message_id: MessageId, body: Any, via: Incoming | None, out: Effects) -> None:
        """A first receipt, or a broadcast of our own: note it for the other links, pass it on, deliver it."""
        for lid, incoming in self.incoming.items():
            if incoming is not via and incoming.state != MIRRORED:
                incoming.memory.add(message_id)
                if incoming.state != OPEN and incoming.noted > 2 * self.buffer_max:
                    self.overflown.append(lid)
        self.pass_on(message_id, body, out, via)

    def pass_on(self, message_id: MessageId, body: Any, out: Effects, via: Incoming | None = None) -> None:
        """To everyone whom we send to, into the buffers of links that are to be, and to the application."""
        flood = message_id.number < 0
        frame = Flood if flood else Copy
        for lid, outgoing in self.outgoing.items():
            if outgoing.state >= SAFE:
                if via is not None and not flood and self.incoming.get(lid) is via:
                    out.send((outgoing.target,), new(Seen, (lid, message_id)))
                else:
                    out.send((outgoing.target,), new(frame, (lid, message_id, body)))
            elif outgoing.state == BUFFERING:
                outgoing.buffer.append((message_id, body))
                if len(outgoing.buffer) > self.buffer_max:
                    self.overflown.append(lid)
        if not flood:
            out.deliver(message_id, body)
        elif target_of(body) == self.me:
            self.controls.append(body)

    def copy(self, source: Process, frame: Copy | Flood[Control], out: Effects) -> None:
        """A copy came in: the expected one of a message we know, or a first receipt."""
        lid, message_id, body = frame
        incoming = self.incoming.get(lid)
        if incoming is None or incoming.state != OPEN:
            self.refuse(source, lid, out)
        elif message_id in incoming.memory:
            incoming.memory.remove(message_id)
        else:
            self.new(message_id, body, incoming, out)

    def seen(self, source: Process, frame: Seen, out: Effects) -> None:
        """A message that we said on this link was the first copy of it: none comes back."""
        incoming = self.incoming.get(frame.link)
        if incoming is None or incoming.state != OPEN:
            self.refuse(source, frame.link, out)
        else:
            incoming.memory.discard(frame.message_id)

    def flood(self, control: Control, out: Effects) -> None:
        """Broadcast a control message: numbered downwards, and never told to the application."""
        self.flooded -= 1
        self.new(MessageId(self.me, self.incarnation, self.flooded), control, None, out)

    def refuse(self, source: Process, lid: Lid, out: Effects) -> None:
        """Answer a frame of a link that is not here, or not in the state for it."""
        out.send((source,), Reset(lid))

    def part(self, lid: Lid, out: Effects) -> None:
        """Tell the other end that we have done with a link. One in use ends by Fin, after frames of ours.

        The other end may never send on it what would be refused, and so be left with its half for good. While
        the link is being opened both ends have timers, and Reset, which may be lost, only saves time.
        """
        outgoing, incoming = self.outgoing.get(lid), self.incoming.get(lid)
        sends = outgoing is not None and outgoing.state >= SAFE
        used = sends or (incoming is not None and incoming.state == OPEN)
        out.send((lid.far_end(self.me),), Fin(lid) if used else Reset(lid))

    def safe_to(self, peer: Process) -> Lid | None:
        """A link on which what is sent to the peer arrives after all that precedes it."""
        for lid, outgoing in self.outgoing.items():
            if outgoing.target == peer and outgoing.state >= SAFE:
                return lid
        return None

    def kept(self) -> list[Kept]:
        """What is kept for links that are not safe yet."""
        opening = (link for link in self.outgoing.values() if link.state == BUFFERING)
        return [Kept(link.target, link.buffer, link.since) for link in opening]

    def complete(self, lid: Lid) -> bool:
        """True if every end that this process has of the link is initialised."""
        outgoing, incoming = self.outgoing.get(lid), self.incoming.get(lid)
        sends = outgoing is None or outgoing.state == CONFIRMED
        return sends and (incoming is None or incoming.state == OPEN)

    def known(self, lid: Lid) -> bool:
        return lid in self.outgoing or lid in self.incoming

    def with_peer(self, peer: Process) -> list[Lid]:
        """All link instances between this process and the peer, finished or not."""
        lids = {**self.outgoing, **self.incoming}
        return [lid for lid in lids if lid.far_end(self.me) == peer]

    def drop(self, lid: Lid, out: Effects) -> None:
        """Forget a link, its memory, its buffers and its timers."""
        self.outgoing.pop(lid, None)
        self.incoming.pop(lid, None)
        self.closing.pop(lid, None)
        out.disarm(("handshake", lid))
        out.disarm(("close", lid))

    def last(self, lid: Lid) -> bool:
        """True if this process needs the link: without it, it would send to nobody, or hear nobody.

        Only links that their receivers confirmed, and that are not being closed, may stand in for another.
        """
        gone = {*self.closing, lid}
        sends = any(link.state == CONFIRMED for other, link in self.outgoing.items() if other not in gone)
        hears = any(link.state == OPEN for other, link in self.incoming.items() if other not in gone)
        return (lid in self.outgoing and not sends) or (lid in self.incoming and not hears)

    @property
    def isolated(self) -> bool:
        """Without a safe out-link or an open in-link, this process may miss what is said."""
        sends = any(outgoing.state >= SAFE for outgoing in self.outgoing.values())
        hears = any(incoming.state == OPEN for incoming in self.incoming.values())
        return self.grouped and not (sends and hears)


def target_of(control: Control) -> Process:
    """Whom a control message is for."""
    return control.opening.other if control.kind in (ALPHA, PI) else control.opening.opener
