"""A broadcast on a living overlay: peer sampling says who should be neighbours, PRC-broadcast links them.

Peer sampling knows arcs, several of which may join the same two processes; PRC-broadcast sees one link per
pair. A link is asked to close when its last arc here is gone, and closes if the other end has none either. A
link given away in an exchange is kept until the new one, for whose control messages this process is the
mediator, needs it no more.

Who leaves in good order may be the only one that holds parts of the overlay together. So it first names its
neighbours to each other, in a ring, and those with few links take an arc (`hand_over`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aforesaid.core import (
    Effects,
    Explaining,
    HandingOver,
    Keeping,
    Linking,
    MessageId,
    Nanoseconds,
    Process,
    Reason,
    Remembering,
    Timer,
    frame,
)
from aforesaid.protocols.overlay.frames import Goodbye, Lid, Sampled
from aforesaid.protocols.overlay.prc import PRC
from aforesaid.protocols.overlay.prc.links import (
    Asked,
    Down,
    Failed,
    Joined,
    Mediated,
    Notice,
    Up,
    Welcomed,
)
from aforesaid.protocols.overlay.sampling import Sampler


@frame()
class Spare(NamedTuple):
    """To a mediator: the link to this peer exists already, there is nothing to mediate."""

    peer: Process


@frame()
class Heir(NamedTuple):
    """From a neighbour that will leave: this is another neighbour of mine."""

    peer: Process


OF_SAMPLERS = Goodbye, Sampled

FEW_LINKS = 4
"""Who has so many links needs none of those that a leaving neighbour had. Well below what views bring in a
large group, so that leaving does not make views grow."""


class Living(Linking, HandingOver, Explaining, Keeping, Remembering):
    """PRC-broadcast at one process, on the links its sampler wishes for."""

    def __init__(self, prc: PRC, sampler: Sampler) -> None:
        self.prc = prc
        self.sampler = sampler
        self.mediators: dict[Process, Process] = {}
        """Who can mediate the link to a peer that is wanted and not there yet."""
        self.retained: dict[tuple[Process, Process], Nanoseconds] = {}
        """Pairs we mediate for, (partner, peer given to it): until when our links to them stay at most."""
        self.put_off: set[Process] = set()
        """Peers whose links we would have closed but for mediation."""
        self.leaving = False
        self.heirs: list[tuple[Process, Process]] = []
        """Of a process that leaves: neighbours it has named to each other."""

    @property
    def inside(self) -> bool:
        return self.prc.inside

    def begin(self, now: Nanoseconds, out: Effects) -> None:
        """A founder's first call."""
        arcs = [peer for peer, lid in self.prc.links() if lid.opener == self.prc.me]
        self.sampler.begin(arcs, now, Wishes(self, now, out))

    def broadcast(self, payload: Any, now: Nanoseconds, out: Effects) -> MessageId:
        message_id = self.prc.broadcast(payload, now, out)
        self._heed(now, out)
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        if not isinstance(message, OF_SAMPLERS):
            self.prc.receive(source, message, now, out)
        elif isinstance(message, Goodbye):
            self._left(source, message, now, out)
        elif isinstance(message.message, Spare):
            self._mediated(source, message.message.peer, now, out)
        elif isinstance(message.message, Heir):
            self._inherit(source, message.message.peer, now, out)
        elif self.inside:
            self.sampler.receive(source, message.message, now, Wishes(self, now, out))
        if self.prc.state.notices:
            self._heed(now, out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        match timer:
            case ("sampling", its):
                self.sampler.expire(its, now, Wishes(self, now, out))
            case ("retained", partner, peer):
                self._mediated(partner, peer, now, out)
            case _:
                self.prc.expire(timer, now, out)
        self._heed(now, out)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Peers come by joining."""

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.mediators.pop(peer, None)
        self.sampler.peer_down(peer, now, Wishes(self, now, out))
        self.prc.peer_down(peer, now, out)
        for partner, given in [pair for pair in self.retained if peer in pair]:
            self._mediated(partner, given, now, out)
        self._heed(now, out)

    def open(self, peer: Process, route: Sequence[Process] | None, now: Nanoseconds, out: Effects) -> None:
        self.prc.open(peer, route, now, out)
        self._heed(now, out)

    def close(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.prc.close(peer, now, out)
        self._heed(now, out)

    def link_down(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        self.prc.link_down(lid, now, out)
        self._heed(now, out)

    def kept(self) -> tuple[Reason, ...]:
        return self.prc.kept()

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        return self.prc.reasons(message_id)

    def entries(self) -> int:
        return self.prc.entries()

    def links(self) -> list[tuple[Process, Lid]]:
        return self.prc.links()

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self.prc.join(contact, now, out)

    def hand_over(self, now: Nanoseconds, out: Effects) -> None:
        """Before leaving: let the neighbours link with each other, until this process is `needed` no more."""
        self.leaving = True
        self.sampler.settle()
        ring = list(dict.fromkeys(peer for peer, _ in self.prc.links()))
        following = ring[1:] + (ring[:1] if len(ring) > 2 else [])
        self.heirs = list(zip(ring, following, strict=False))
        for peer, heir in self.heirs:
            out.send((peer,), Sampled(Heir(heir)))
            self._retain(peer, heir, now, out)

    @property
    def needed(self) -> bool:
        """True while neighbours of this process, which leaves, link with each other through it."""
        return any(pair in self.retained for pair in self.heirs)

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        """What the neighbours' samplers are to know comes on the links themselves, before these end."""
        weight = self.sampler.weight()
        if weight is not None:
            for lid in {**self.prc.state.outgoing, **self.prc.state.incoming}:
                out.send((lid.far_end(self.prc.me),), Goodbye(lid, weight))
        self.prc.leave(now, out)

    def settle(self, now: Nanoseconds, out: Effects) -> None:
        self.sampler.settle()

    def gauges(self) -> Mapping[str, int]:
        return {
            **self.prc.gauges(),
            **self.sampler.gauges(),
            "mediators": len(self.mediators),
            "retained": len(self.retained),
            "put_off": len(self.put_off),
        }

    def _heed(self, now: Nanoseconds, out: Effects) -> None:
        """Tell the sampler what became of links, until nothing more becomes of them."""
        while self.prc.state.notices:
            for notice in self.prc.take_notices():
                self._heed_one(notice, now, out)

    def _heed_one(self, notice: Notice, now: Nanoseconds, out: Effects) -> None:
        wishes = Wishes(self, now, out)
        match notice:
            case Up(lid):
                self._up(lid, now, out)
            case Down(lid, agreed):
                self._down(lid.far_end(self.prc.me), agreed, now, out)
            case Failed(peer):
                self._down(peer, False, now, out)
            case Asked(lid):
                self._asked(lid, now, out)
            case Mediated(opening):
                self._mediated(opening.opener, opening.other, now, out)
            case Joined(contact):
                self.sampler.joined(contact, now, wishes)
            case Welcomed(newcomer):
                self.sampler.welcomed(newcomer, now, wishes)

    def _up(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """Of two links between the same two processes, the opener of the later one closes it."""
        me, peer = self.prc.me, lid.far_end(self.prc.me)
        self.mediators.pop(peer, None)
        usable = [other for target, other in self.prc.links() if target == peer]
        if len(usable) > 1 and max(usable).opener == me:
            self.prc.close_link(max(usable), now, out)

    def _down(self, peer: Process, agreed: bool, now: Nanoseconds, out: Effects) -> None:
        if self.leaving:
            for partner, given in [pair for pair in self.retained if peer in pair]:
                self._mediated(partner, given, now, out)
        lacking = self.sampler.wants(peer) and not self._linked(peer)
        if lacking and agreed:
            # An arc came while its link was being closed.
            self._open(peer, now, out)
            return
        self.mediators.pop(peer, None)
        if lacking:
            self.sampler.arc_down(peer, now, Wishes(self, now, out))

    def _asked(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        peer = lid.far_end(self.prc.me)
        only = sum(target == peer for target, _ in self.prc.links()) <= 1
        if only and self.sampler.wants(peer):
            self.prc.keep(lid, out)
        elif only and any(peer in pair for pair in self.retained):
            self.put_off.add(peer)
            self.prc.keep(lid, out)
        else:
            self.prc.agree(lid, now, out)

    def _open(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        mediator = self.mediators.get(peer)
        self.prc.open(peer, None if mediator is None else (mediator,), now, out)

    def _linked(self, peer: Process) -> bool:
        """True if there is a link to the peer, or one being opened, that is not being closed."""
        return any(lid not in self.prc.state.closing for lid in self.prc.state.with_peer(peer))

    def _wanted(self, peer: Process, mediator: Process, now: Nanoseconds, out: Effects) -> None:
        """The sampler has a new arc."""
        if self._linked(peer):
            # Not to the mediator of the link that is being opened: it is needed still.
            if mediator not in (peer, self.mediators.get(peer)):
                out.send((mediator,), Sampled(Spare(peer)))
        else:
            self.mediators[peer] = mediator
            self._open(peer, now, out)

    def _unwanted(self, peer: Process, partner: Process | None, now: Nanoseconds, out: Effects) -> None:
        """The sampler has lost an arc."""
        if partner is not None and partner != peer:
            self._retain(partner, peer, now, out)
        self._tidy(peer, now, out)

    def _retain(self, partner: Process, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Keep our links to both, so that they can link with each other through us."""
        deadline = now + 2 * self.prc.handshake.patience
        self.retained[partner, peer] = deadline
        out.arm(("retained", partner, peer), deadline)

    def _inherit(self, leaver: Process, peer: Process, now: Nanoseconds, out: Effects) -> None:
        others = {target for target, _ in self.prc.links()} - {leaver}
        if self.leaving or len(others) >= FEW_LINKS or peer in others:
            out.send((leaver,), Sampled(Spare(peer)))
        else:
            self.sampler.inherit(peer, leaver, now, Wishes(self, now, out))

    def _left(self, leaver: Process, goodbye: Goodbye, now: Nanoseconds, out: Effects) -> None:
        """A neighbour leaves. If it is linked by another name than it ends, it has come back since."""
        wishes = Wishes(self, now, out)
        if self.prc.state.known(goodbye.link) or not wishes.usable(leaver):
            self.sampler.left(leaver, goodbye.arcs, now, wishes)
            self.mediators.pop(leaver, None)
            self.prc.give_up(leaver, out)

    def _mediated(self, partner: Process, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """The partner needs our link to the peer no more."""
        if self.retained.pop((partner, peer), None) is None:
            return
        out.disarm(("retained", partner, peer))
        self._tidy(peer, now, out)
        if partner in self.put_off:
            self._tidy(partner, now, out)

    def _tidy(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Close the link to a peer that no arc and no mediation needs."""
        if self.leaving:
            return  # All links end together, when the neighbours have theirs.
        if any(peer in pair for pair in self.retained):
            self.put_off.add(peer)
            return
        self.put_off.discard(peer)
        if not self.sampler.wants(peer):
            self.mediators.pop(peer, None)
            self.prc.close(peer, now, out)


class Wishes:
    """What the sampler asks for during one call (the port `Links`)."""

    __slots__ = ("living", "now", "out")

    def __init__(self, living: Living, now: Nanoseconds, out: Effects) -> None:
        self.living = living
        self.now = now
        self.out = out

    def connect(self, peer: Process, mediator: Process) -> None:
        self.living._wanted(peer, mediator, self.now, self.out)

    def release(self, peer: Process, partner: Process | None = None) -> None:
        self.living._unwanted(peer, partner, self.now, self.out)

    def send(self, peer: Process, message: Any) -> None:
        self.out.send((peer,), Sampled(message))

    def usable(self, peer: Process) -> bool:
        return any(target == peer for target, _ in self.living.prc.links())

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self.out.arm(("sampling", timer), deadline)

    def disarm(self, timer: Timer) -> None:
        self.out.disarm(("sampling", timer))

    def choose(self, label: str, count: int) -> int:
        return self.out.choose(label, count)
