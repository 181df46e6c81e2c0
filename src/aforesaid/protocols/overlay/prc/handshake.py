"""Adding a link (algorithm 2, corrected): α, β, π, ρ, then the buffer Bβ on the new link itself.

β, π and ρ travel over safe links, so that each arrives after everything its sender delivered before it. α
only asks, and may come over the new connection. Three ways lead over safe links, tried in this order: a safe
link to the target; the mediators that introduced the two processes; flooding, as a broadcast of its own. One
way, mediators need not be able to lead back: one that cannot floods from where it is. Both ways, a mediator
without the link has lost it meanwhile; what it cannot pass on is dropped, for a flood costs more than a try.

Both ways in one handshake: the reverse link shares the frames. β is its α, π its β, ρ its π; and Bβ is its ρ,
for once the receiver has worked through Bβ it has delivered all that the sender had delivered. The receiver
then answers with its own buffer on the reverse link. Buffers are shared too: Bα of the one direction is Bβ of
the other, and Bπ is the other's Bβ.

Corrections of the printed version: every frame names its link instance, and one that does not match is
refused (Reset); both ends have timers; a lost or overflown attempt is made again under a new name; the
messages of Bβ are delivered in the buffer's order, each remembered for the other links, once the memory of
the new link is set.
"""

from aforesaid.core import Effects, Nanoseconds, Process
from aforesaid.protocols.overlay.frames import (
    ALPHA,
    BETA,
    PI,
    RHO,
    Ack,
    Buffer,
    Control,
    ControlKind,
    Lid,
)
from aforesaid.protocols.overlay.prc.links import (
    ASKED,
    BUFFERING,
    CONFIRMED,
    FIRST,
    MIRRORED,
    OPEN,
    SAFE,
    SECOND,
    Failed,
    Incoming,
    Links,
    Mediated,
    Outgoing,
    Up,
    target_of,
)


class Handshake:
    """The opening of links at one process, at either end and as a mediator."""

    def __init__(
        self, links: Links, both_ways: bool, patience: Nanoseconds, tries_max: int, alpha_direct: bool
    ) -> None:
        self.links = links
        self.both_ways = both_ways
        self.patience = patience
        self.tries_max = tries_max
        self.alpha_direct = alpha_direct

    def open(
        self, peer: Process, route: tuple[Process, ...] | None, tries: int, now: Nanoseconds, out: Effects
    ) -> None:
        lid = self.links.new_lid(peer)
        # In the later half of the tries the route is given up: it may be what does not work.
        way = route if 2 * tries <= self.tries_max + 1 else None
        self.links.outgoing[lid] = self._attempt(peer, route, tries, now)
        out.arm(("handshake", lid), now + self.patience)
        if self.alpha_direct:
            out.send((peer,), Control(lid, ALPHA, lid, way, ()))
        else:
            self._send(ALPHA, lid, way, out)

    def again(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """An attempt of ours failed: make another, unless it was the last."""
        attempt = self.links.outgoing[lid]
        self.abandon(lid, out)
        if attempt.tries < self.tries_max:
            self.open(attempt.target, attempt.route, attempt.tries + 1, now, out)
        else:
            self.links.notices.append(Failed(attempt.target))

    def abandon(self, lid: Lid, out: Effects) -> None:
        """Forget an attempt, and let the other end forget it."""
        self.links.part(lid, out)
        self.links.drop(lid, out)

    def arrived(self, source: Process, control: Control, now: Nanoseconds, out: Effects) -> None:
        """A control message came over a hop: it is for us, or we are its mediator."""
        hop = None if control.link is None else self.links.incoming.get(control.link)
        direct = control.kind == ALPHA and control.link == control.opening
        if not direct and (hop is None or hop.state != OPEN):
            if control.link is not None:
                self.links.refuse(source, control.link, out)
        elif control.path:
            self._mediate(control, out)
        else:
            self.take(control, now, out)

    def take(self, control: Control, now: Nanoseconds, out: Effects) -> None:
        """A control message for this process."""
        opening = control.opening
        if target_of(control) != self.links.me:
            return
        if control.kind == ALPHA:
            fits = self._alpha(opening, control.route, now, out)
        elif control.kind == BETA:
            fits = self._beta(opening, control.route, now, out)
        elif control.kind == PI:
            fits = self._pi(opening, now, out)
        else:
            fits = self._rho(opening, out)
        if not fits:
            self.links.refuse(opening.far_end(self.links.me), opening, out)

    def buffer(self, source: Process, frame: Buffer, out: Effects) -> None:
        """Bβ: what it holds is delivered or known; what it lacks of Bπ is expected from the new link."""
        links, lid = self.links, frame.link
        incoming = links.incoming.get(lid)
        if incoming is None or incoming.state not in (SECOND, MIRRORED):
            links.refuse(source, lid, out)
            return
        self._work_through(incoming, frame, out)
        outgoing = links.outgoing.get(lid)
        if outgoing is not None and outgoing.state == BUFFERING:
            self._flush(lid, outgoing, out)
        else:
            out.send((source,), Ack(lid))
            self.acknowledged(lid, out)

    def acknowledged(self, lid: Lid, out: Effects) -> None:
        """The receiver has opened the link; an answer with its own buffer says so too."""
        outgoing = self.links.outgoing.get(lid)
        if outgoing is not None and outgoing.state == SAFE:
            outgoing.state = CONFIRMED
        if self.links.known(lid) and self.links.complete(lid):
            out.disarm(("handshake", lid))
            self.links.notices.append(Up(lid))

    def expired(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """The link did not come about in time."""
        outgoing = self.links.outgoing.get(lid)
        if outgoing is not None and lid.opener == self.links.me and outgoing.tries:
            self.again(lid, now, out)
        elif self.links.known(lid):
            self.abandon(lid, out)
            self.links.notices.append(Failed(lid.far_end(self.links.me)))

    def _attempt(
        self, peer: Process, route: tuple[Process, ...] | None, tries: int, now: Nanoseconds
    ) -> Outgoing:
        """Our end of a link that we ask for."""
        return Outgoing(peer, ASKED, route, tries)

    def _work_through(self, incoming: Incoming, frame: Buffer, out: Effects) -> None:
        """The link opens, and expects what it is to expect."""
        links = self.links
        if incoming.state == MIRRORED:
            incoming.memory = links.outgoing[frame.link].buffered()
        known = incoming.before | incoming.memory
        incoming.memory = incoming.memory.difference([message_id for message_id, _ in frame.messages])
        incoming.before = set()
        incoming.state = OPEN
        for message_id, body in frame.messages:
            if message_id not in known:
                links.new(message_id, body, incoming, out)

    def _alpha(self, opening: Lid, route: tuple[Process, ...] | None, now: Nanoseconds, out: Effects) -> bool:
        links, opener = self.links, opening.opener
        for lid in links.with_peer(opener):
            if opening == lid or opening.precedes(lid):
                return True
            if lid.precedes(opening) and not links.complete(lid):
                links.drop(lid, out)
        if not links.inside:
            return False
        out.arm(("handshake", opening), now + self.patience * 3 // 2)
        self._answer(opening, route, now, out)
        return True

    def _answer(self, lid: Lid, route: tuple[Process, ...] | None, now: Nanoseconds, out: Effects) -> None:
        """Our end of a link that another asks for."""
        self.links.incoming[lid] = Incoming(lid.opener, FIRST, route)
        if self.both_ways:
            self.links.outgoing[lid] = Outgoing(lid.opener, ASKED, tries=0)
        self._send(BETA, lid, route, out)

    def _beta(self, opening: Lid, route: tuple[Process, ...] | None, now: Nanoseconds, out: Effects) -> bool:
        outgoing = self.links.outgoing.get(opening)
        if outgoing is None or outgoing.state != ASKED:
            return False
        outgoing.buffers(now)
        self._send(PI, opening, route, out)
        return True

    def _pi(self, opening: Lid, now: Nanoseconds, out: Effects) -> bool:
        incoming = self.links.incoming.get(opening)
        if incoming is None or incoming.state != FIRST:
            return False
        incoming.before, incoming.memory = incoming.memory, set()
        incoming.state = SECOND
        if self.both_ways:
            incoming.state = MIRRORED
            self.links.outgoing[opening].buffers(now)
        self._send(RHO, opening, incoming.route, out)
        return True

    def _rho(self, opening: Lid, out: Effects) -> bool:
        outgoing = self.links.outgoing.get(opening)
        if outgoing is None or outgoing.state != BUFFERING:
            return False
        if self.both_ways:
            # Bα of the reverse link grew from β to ρ, as our own buffer did: it is the same.
            reverse = self.links.incoming[opening] = Incoming(opening.other, SECOND)
            reverse.before = outgoing.buffered()
        self._flush(opening, outgoing, out)
        return True

    def _flush(self, lid: Lid, outgoing: Outgoing, out: Effects) -> None:
        """The buffer goes first on the new link, and copies follow it: the link is safe."""
        out.send((outgoing.target,), Buffer(lid, tuple(outgoing.buffer)))
        outgoing.buffer = []
        outgoing.state = SAFE
        self.links.grouped = True

    def _send(self, kind: ControlKind, opening: Lid, route: tuple[Process, ...] | None, out: Effects) -> None:
        """Over safe links: directly, else past the mediators, else to everyone."""
        links = self.links
        control = Control(None, kind, opening, route, ())
        target = target_of(control)
        mediators = (route or ()) if kind in (ALPHA, PI) else tuple(reversed(route or ()))
        for first, path in ((target, ()), *([(mediators[0], (*mediators[1:], target))] if mediators else ())):
            hop = links.safe_to(first)
            if hop is not None:
                out.send((first,), control._replace(link=hop, path=path))
                return
        links.flood(control._replace(route=None) if self.both_ways else control, out)

    def _mediate(self, control: Control, out: Effects) -> None:
        """Pass a control message on; who has no safe link to the next process floods it, or drops it."""
        hop = self.links.safe_to(control.path[0])
        if hop is not None:
            out.send((control.path[0],), control._replace(link=hop, path=control.path[1:]))
        elif not self.both_ways:
            self.links.flood(control._replace(link=None, path=()), out)
        if control.kind == RHO:
            self.links.notices.append(Mediated(control.opening))
