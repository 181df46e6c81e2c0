"""Preventive causal broadcast (Nédelec, Molli and Mostéfaoui (2018a)), corrected.

Every process forwards each message once on each of its safe links, and delivers it on first receipt. A link
X to Y is *safe* if what X delivered, Y has delivered or will get on that link before anything later; over
FIFO links that keeps causal order, whatever becomes of other links. A new link is made safe before it is
used: X numbers it, keeps it out of its view, buffers what it delivers from then on, and sends a ping over
safe links. When the ping arrives, Y has delivered all that X had delivered at its sending; Y answers with a
pong, by any route. Then X sends the buffer as the first frame of the link, and adds it to its view. Copies
are told apart by what was received: one counter per origin, which is never forgotten. That is the price
PRC-broadcast does away with.

Links are directed; each instance has its name, its `Lid`. Pings go past the mediators of a route, else
flooded: as a broadcast of their own, numbered downwards and never told to the application. Pongs go
directly.

Corrections of the printed version:
- only the pong of the newest number counts. A pong of an earlier ping vouches for what was delivered before
  that ping, and the buffer holds what was delivered after the newest: what lies between would be lost;
- a full buffer or a timeout gives the link a new number, up to a number of tries, and then it is given up;
- a link is *confirmed* when its receiver has acknowledged the first frame. One that is not stands in for no
  other that is closed, and ends if the acknowledgement does not come;
- whoever has done with a link ends it by Fin, which is not lost while the link stands, whichever way it was
  used: no end is left with a half;
- a process without neighbours may add a link without a ping only if it has delivered nothing;
- the first frame of a link says for which incarnation of the receiver it is; frames of a link that the
  receiver does not know are refused, so that a process that came back never takes what was meant for its
  predecessor;
- an end that would lose its last link refuses to close it. One that loses it all the same says `isolated`:
  it may miss what is said;
- a newcomer takes what its contact has received as its own beginning, and a link both ways, under one name.

Promised: exactly once and causal order, always; agreement and validity where the safe links among correct
processes end strongly connected.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from aforesaid.core import Effects, Linking, MessageId, Nanoseconds, Payload, Process, Remembering
from aforesaid.protocols.overlay import frames
from aforesaid.protocols.overlay.circulant import founding_links
from aforesaid.protocols.overlay.frames import Lid
from aforesaid.protocols.overlay.preventive_frames import Flush, Ping, Pong, Welcome
from aforesaid.protocols.overlay.preventive_views import Opening, Views
from aforesaid.structures import Received


class Preventive(Views, Linking, Remembering):
    """One process of a dynamic overlay."""

    def __init__(
        self,
        me: Process,
        group: Sequence[Process],
        incarnation: int = 0,
        *,
        degree: int = 2,
        patience: Nanoseconds,
        tries: int = 4,
        buffer_max: int = 10_000,
    ) -> None:
        super().__init__(me, incarnation, founding_links(group, degree, both_ways=False))
        self.patience = patience
        self.tries_max = tries
        self.buffer_max = buffer_max
        self.outside = False
        """True from join to Welcome; what is broadcast meanwhile waits in `unsaid`."""
        self.joining: Lid | None = None
        self.received = Received()
        self.flooded = 0
        self.opened = len(self.out_view)

    @property
    def inside(self) -> bool:
        return not self.outside

    def begin(self, now: Nanoseconds, out: Effects) -> None:
        """Founders are linked from the start."""

    # ------------------------------------------------------------------------------------ dissemination

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        if self.inside:
            self._take(message_id, payload, now, out)
        else:
            self.unsaid.append((message_id, payload))
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        match message:
            case frames.Copy(link, message_id, body) | frames.Flood(link, message_id, body):
                if self._knows(source, link, out):
                    self._take(message_id, body, now, out)
            case Ping(link, opening, path):
                if self._knows(source, link, out):
                    self._pinged(opening, path, out)
            case Pong(opening, incarnation):
                self._ponged(opening, incarnation, now, out)
            case Flush():
                self._flushed(source, message, now, out)
            case frames.Ack(link):
                if link in self.unconfirmed:
                    del self.unconfirmed[link]
                    out.disarm(link)
            case frames.Close(link):
                if self._knows(source, link, out):
                    self._asked(source, link, out)
            case frames.Keep(link):
                if self.closing.pop(link, 0):
                    out.disarm(link)
            case frames.Agree(link):
                self._end_out(link, out)
            case frames.Fin(lid) | frames.Reset(lid):
                self.link_down(lid, now, out)
            case frames.Join(lid):
                self._welcome(source, lid, now, out)
            case Welcome(link, received):
                self._enter(source, link, received, now, out)

    def _take(self, message_id: MessageId, body: Any, now: Nanoseconds, out: Effects) -> None:
        """On first receipt: forward on every safe link, keep for every link that is to be, then deliver."""
        origin, incarnation, number = message_id
        flood = number < 0
        if not self.received.add((origin, incarnation, flood), abs(number)):
            return
        frame = frames.Flood if flood else frames.Copy
        for lid, peer in self.out_view.items():
            out.send((peer,), frame(lid, message_id, body))
        for opening in self.opening.values():
            # Who has the ping of a link needs no copy of it.
            if opening.lid is not body:
                opening.buffer.append((message_id, body))
        if not flood:
            out.deliver(message_id, body)
        elif body.other == self.me:
            out.send((body.opener,), Pong(body, self.incarnation))
        for opening in [each for each in self.opening.values() if len(each.buffer) > self.buffer_max]:
            self._again(opening, now, out)

    def _knows(self, source: Process, link: Lid, out: Effects) -> bool:
        """Whether this process receives on the link; if not, its sender is told."""
        if link in self.in_view:
            return True
        # The other direction of a link that joined the two may well be in use.
        out.send((source,), frames.Agree(link) if link in self.out_view else frames.Reset(link))
        return False

    # ---------------------------------------------------------------------------------- opening a link

    def open(self, peer: Process, route: Sequence[Process] | None, now: Nanoseconds, out: Effects) -> None:
        if not self.inside or peer == self.me or peer in self.opening or self._links_to(peer):
            return
        if self.out_view:
            self._ping(peer, route, 1, now, out)
        elif not self.received.frozen():
            self._bypass(peer, now, out)

    def _bypass(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Without neighbours there is no way for a ping, and without deliveries no need of one."""
        self._flush(Opening(self._new_lid(peer), None, 1, now), None, now, out)

    def _ping(
        self, peer: Process, route: Sequence[Process] | None, tries: int, now: Nanoseconds, out: Effects
    ) -> None:
        lid = self._new_lid(peer)
        self.opening[peer] = Opening(lid, route, tries, now)
        out.arm(lid, now + self.patience)
        # A route that failed once may be what does not work.
        if route and tries == 1 and self._links_to(route[0]):
            self._route(lid, (*route, peer), out)
        else:
            self.flooded += 1
            self._take(MessageId(self.me, self.incarnation, -self.flooded), lid, now, out)

    def _pinged(self, opening: Lid, path: tuple[Process, ...], out: Effects) -> None:
        if path:
            self._route(opening, path, out)
        else:
            out.send((opening.opener,), Pong(opening, self.incarnation))

    def _route(self, opening: Lid, path: tuple[Process, ...], out: Effects) -> None:
        """Pass a ping on; without a safe link to the next process it is lost, and tried again."""
        for hop in self._links_to(path[0])[:1]:
            out.send((path[0],), Ping(hop, opening, path[1:]))

    def _ponged(self, lid: Lid, incarnation: int, now: Nanoseconds, out: Effects) -> None:
        opening = self.opening.get(lid.other)
        if opening is not None and opening.lid == lid:
            del self.opening[lid.other]
            self._flush(opening, incarnation, now, out)

    def _flush(self, opening: Opening, incarnation: int | None, now: Nanoseconds, out: Effects) -> None:
        """The buffer goes first on the new link, and copies follow it: the link is safe."""
        lid = opening.lid
        out.send((lid.other,), Flush(lid, incarnation, tuple(opening.buffer)))
        self._use(lid, opening, now, out)

    def _use(self, lid: Lid, opening: Opening | None, now: Nanoseconds, out: Effects) -> None:
        """What we say goes on the link from here on; for how long without a word from the other end?"""
        self.out_view[lid] = lid.far_end(self.me)
        self.unconfirmed[lid] = opening
        out.arm(lid, now + self.patience)

    def _flushed(self, source: Process, flush: Flush, now: Nanoseconds, out: Effects) -> None:
        if self.inside and flush.incarnation in (None, self.incarnation):
            self.in_view[flush.link] = None
            out.send((source,), frames.Ack(flush.link))
            for message_id, body in flush.messages:
                self._take(message_id, body, now, out)
        else:
            out.send((source,), frames.Reset(flush.link))

    def _again(self, opening: Opening, now: Nanoseconds, out: Effects) -> None:
        """A new number and an empty buffer, or no link at all."""
        peer = opening.lid.other
        if self.opening.get(peer) is opening:
            self._give_up(peer, out)
            if opening.tries < self.tries_max:
                self._ping(peer, opening.route, opening.tries + 1, now, out)

    def _unanswered(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """The other end has perhaps never heard of the link: end it, and open another."""
        opening = self.unconfirmed[lid]
        self._end(lid, now, out)
        if opening is not None and opening.tries < self.tries_max and self.out_view:
            self._give_up(lid.other, out)
            self._ping(lid.other, opening.route, opening.tries + 1, now, out)

    def _give_up(self, peer: Process, out: Effects) -> None:
        if peer in self.opening:
            out.disarm(self.opening.pop(peer).lid)

    def _new_lid(self, peer: Process) -> Lid:
        self.opened += 1
        return Lid(self.me, peer, self.incarnation, self.opened)

    # ---------------------------------------------------------------------------------- closing a link

    def close(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Ask the other end, which may need the link; this end must not need it."""
        self._give_up(peer, out)
        for lid in self._links_to(peer):
            if lid not in self.unconfirmed and self._stands_in(lid, self.out_view):
                self._ask(lid, 1, now, out)

    def _ask(self, lid: Lid, tries: int, now: Nanoseconds, out: Effects) -> None:
        self.closing[lid] = tries
        out.arm(lid, now + self.patience)
        out.send((lid.far_end(self.me),), frames.Close(lid))

    def _asked(self, source: Process, link: Lid, out: Effects) -> None:
        if self._stands_in(link, self.in_view):
            del self.in_view[link]
            out.send((source,), frames.Agree(link))
        else:
            out.send((source,), frames.Keep(link))

    def link_down(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        if lid == self.joining:
            self._stay_outside(out)
        self._end_out(lid, out)
        self._end_in(lid, out)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None: ...

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """All links with the peer end. It is told, for the suspicion may be false."""
        self._give_up(peer, out)
        if self.joining is not None and self.joining.other == peer:
            self._stay_outside(out)
        for lid in {**self.out_view, **self.in_view}:
            if lid.far_end(self.me) == peer:
                self._end(lid, now, out)

    def _end(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """End a link alone, and tell the other end."""
        out.send((lid.far_end(self.me),), frames.Fin(lid))
        self.link_down(lid, now, out)

    def _end_out(self, lid: Lid, out: Effects) -> None:
        if lid in self.out_view:
            del self.out_view[lid]
            self.closing.pop(lid, None)
            self.unconfirmed.pop(lid, None)
            out.disarm(lid)
            if not self.out_view:
                self._isolate(out)

    def _end_in(self, lid: Lid, out: Effects) -> None:
        if lid in self.in_view:
            del self.in_view[lid]
            if not self.in_view:
                self._isolate(out)

    def _isolate(self, out: Effects) -> None:
        """The last link one way is gone: those the other way are of no use."""
        self._part(out)
        for peer in list(self.opening):
            self._give_up(peer, out)
        for lid in (*self.closing, *self.unconfirmed):
            out.disarm(lid)
        self.closing.clear()
        self.unconfirmed.clear()
        self.out_view.clear()
        self.in_view.clear()
        out.isolated()

    def _part(self, out: Effects) -> None:
        for lid in {**self.out_view, **self.in_view}:
            out.send((lid.far_end(self.me),), frames.Fin(lid))

    # ------------------------------------------------------------------------------ joining and leaving

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self.outside = True
        self.joining = self._new_lid(contact)
        out.arm(self.joining, now + self.patience)
        out.send((contact,), frames.Join(self.joining))

    def _welcome(self, newcomer: Process, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """In one step: from here on the newcomer gets, on this link, whatever it is owed."""
        if not self.inside or lid in self.out_view:
            return
        former = [each for each in {**self.out_view, **self.in_view} if each.precedes(lid)]
        out.admit(newcomer, lid.incarnation)
        out.send((newcomer,), Welcome(lid, self.received.frozen()))
        self._use(lid, None, now, out)
        self.in_view[lid] = None
        # Whom a newcomer was before has no more links.
        for each in former:
            self.link_down(each, now, out)

    def _enter(self, contact: Process, lid: Lid, received: Any, now: Nanoseconds, out: Effects) -> None:
        if lid != self.joining:
            out.send((contact,), frames.Reset(lid))
            return
        out.disarm(lid)
        out.send((contact,), frames.Ack(lid))
        self.joining = None
        self.outside = False
        self.received = Received(received)
        self.out_view[lid] = contact
        self.in_view[lid] = None
        unsaid, self.unsaid = self.unsaid, []
        for message_id, payload in unsaid:
            self._take(message_id, payload, now, out)

    def _stay_outside(self, out: Effects) -> None:
        """Nothing was said in this incarnation's name: it ends, and the host begins another."""
        out.disarm(self.joining)
        self.joining = None
        out.isolated()

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        self._part(out)

    # ---------------------------------------------------------------------------------------- the rest

    def expire(self, timer: Lid, now: Nanoseconds, out: Effects) -> None:
        """A link did not come about, or was not confirmed or closed, in time."""
        opening = self.opening.get(timer.other)
        if timer == self.joining:
            self._stay_outside(out)
        elif timer in self.unconfirmed:
            self._unanswered(timer, now, out)
        elif timer in self.closing:
            if self.closing[timer] < self.tries_max:
                self._ask(timer, self.closing[timer] + 1, now, out)
            else:
                self._end(timer, now, out)
        elif opening is not None and opening.lid == timer:
            self._again(opening, now, out)

    def settle(self, now: Nanoseconds, out: Effects) -> None:
        """Nothing begins here unless the host asks for it."""

    def entries(self) -> int:
        """What it has received, and what it keeps for links that are being opened."""
        return self.received.entries + self.gauges()["buffered"]

    def gauges(self) -> Mapping[str, int]:
        return {
            "opening": len(self.opening),
            "buffered": sum(len(opening.buffer) for opening in self.opening.values()),
            "unconfirmed": len(self.unconfirmed),
            "closing": len(self.closing),
            "joining": int(self.joining is not None),
            "outside": len(self.unsaid),
        }
