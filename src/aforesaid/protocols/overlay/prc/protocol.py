"""PRC-broadcast: preventive reliable causal broadcast.

Nédelec, Molli and Mostéfaoui (2018b), sections 2.3 and 2.4; corrected (docs/corrections.md, P1 to P8).

Model: links are reliable and FIFO while they are open; opening, closing and losing them, joins, leaves and
crashes happen at any time. Promises: exactly once and causal order, always. Agreement, validity and empty
memory at rest if the open links among correct processes end strongly connected. Agreement is regular: the
paper claims uniform agreement, which a process that delivers, forwards and crashes with its frames breaks.

Memory: per link the messages still expected from it, and nothing of messages that every link has brought.

Deviations from the paper, besides those of `handshake` and `closing`:
- a newcomer gets its first link, both ways, from its contact in one step: nothing was said to it before, so
  the memory of that link is empty. What it broadcasts before it is welcomed waits;
- on a link in both directions a message does not go back whole to whom it came from first: its id is enough
  for the other end to expect it no more (`Seen`), and nothing waits for that;
- a process that loses its last safe out-link or open in-link may miss messages and cannot know it: it tells
  its host (`isolated`), which lets it join again as a new incarnation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from aforesaid.core import (
    Effects,
    Explaining,
    Keeping,
    MessageId,
    Misuse,
    Nanoseconds,
    Process,
    Reason,
    Remembering,
    Timer,
)
from aforesaid.protocols.overlay import frames
from aforesaid.protocols.overlay.circulant import founding_links
from aforesaid.protocols.overlay.frames import Lid, Said
from aforesaid.protocols.overlay.holding import oldest_of, reasons_of
from aforesaid.protocols.overlay.prc.closing import Closing
from aforesaid.protocols.overlay.prc.handshake import Handshake
from aforesaid.protocols.overlay.prc.links import (
    BUFFERING,
    CONFIRMED,
    OPEN,
    SAFE,
    Down,
    Failed,
    Joined,
    Links,
    Notice,
    Up,
    Welcomed,
)

COPIES = frames.Copy, frames.Flood


class PRC(Explaining, Keeping, Remembering):
    """PRC-broadcast at one process. Whoever decides on links reads `take_notices` after every call."""

    def __init__(
        self,
        me: Process,
        group: Sequence[Process],
        incarnation: int = 0,
        *,
        degree: int = 2,
        both_ways: bool = True,
        patience: Nanoseconds,
        tries: int = 4,
        buffer_max: int = 10_000,
        alpha_direct: bool = True,
    ) -> None:
        self.me = me
        self.incarnation = incarnation
        self.sent = 0
        self.unsaid: list[Said] = []
        """What this newcomer broadcast before it was welcomed."""
        self.joining: Lid | None = None
        self.state = self._links(buffer_max)
        self.handshake = self._handshake(both_ways, patience, tries, alpha_direct)
        self.closing = Closing(self.state, patience, tries)
        for lid in founding_links(group, degree, both_ways):
            if me in (lid.opener, lid.other):
                sends = both_ways or me == lid.opener
                self.state.establish(lid, CONFIRMED if sends else None, both_ways or me == lid.other)

    def _links(self, buffer_max: int) -> Links:
        return Links(self.me, self.incarnation, buffer_max)

    def _handshake(self, both_ways: bool, patience: Nanoseconds, tries: int, alpha_direct: bool) -> Handshake:
        return Handshake(self.state, both_ways, patience, tries, alpha_direct)

    @property
    def inside(self) -> bool:
        """False for a newcomer until it is welcomed."""
        return self.state.inside

    def broadcast(self, payload: Any, now: Nanoseconds, out: Effects) -> MessageId:
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        if self.inside:
            self.state.new(message_id, payload, None, out)
            self._mind(now, out)
        else:
            self.unsaid.append((message_id, payload))
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        state = self.state
        if isinstance(message, COPIES):
            state.copy(source, message, out)
        elif isinstance(message, frames.Seen):
            state.seen(source, message, out)
        else:
            self._receive_for_links(source, message, now, out)
            self._mind_isolation(out)
        if state.controls or state.overflown:
            self._mind(now, out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        match timer:
            case ("handshake", lid):
                self.handshake.expired(lid, now, out)
            case ("close", lid):
                self.closing.expired(lid, now, out)
            case ("join", lid) if lid == self.joining:
                self._give_up_joining(out)
        self._mind_isolation(out)
        self._mind(now, out)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Links are opened by whoever decides on them, not by the detector."""

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """The peer crashed, or is wrongly held to have: its links are gone, and it is told so."""
        for lid in self.state.with_peer(peer):
            self.state.part(lid, out)
            self._lose(lid, out)
        if self.joining is not None and self.joining.other == peer:
            self._give_up_joining(out)
        self._mind_isolation(out)

    def open(self, peer: Process, route: Sequence[Process] | None, now: Nanoseconds, out: Effects) -> None:
        """Have a link to the peer, mediated by these processes; None: no route is known."""
        if peer == self.me:
            raise Misuse(f"{self.me} cannot open a link to itself")
        present = (lid for lid in self.state.with_peer(peer) if lid not in self.state.closing)
        if self.inside and not any(lid in self.state.outgoing for lid in present):
            self.handshake.open(peer, None if route is None else tuple(route), 1, now, out)
            self._mind(now, out)

    def close(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Have no link to the peer: attempts of ours are abandoned, complete links closed in two phases.

        One that is safe but not confirmed yet stays: ask again when it is up.
        """
        self.give_up(peer, out)
        for lid in self.state.with_peer(peer):
            if self.state.complete(lid):
                self.closing.ask(lid, now, out)

    def give_up(self, peer: Process, out: Effects) -> None:
        """Abandon attempts of ours to have a link to the peer."""
        for lid in self.state.with_peer(peer):
            outgoing = self.state.outgoing.get(lid)
            if outgoing is not None and outgoing.state <= BUFFERING and lid.opener == self.me:
                self.handshake.abandon(lid, out)

    def close_link(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """Close one of several links to the same peer."""
        self.closing.ask(lid, now, out)

    def agree(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """The other end may close the link."""
        self.closing.agree(lid, now, out)

    def keep(self, lid: Lid, out: Effects) -> None:
        """The other end may not close the link."""
        out.send((lid.far_end(self.me),), frames.Keep(lid))

    def link_down(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """The connection under a link was lost: of what was on its way, a suffix."""
        outgoing = self.state.outgoing.get(lid)
        if outgoing is not None and outgoing.state <= BUFFERING and lid.opener == self.me:
            self.handshake.again(lid, now, out)
        elif self.state.known(lid):
            self._lose(lid, out)
        elif lid == self.joining:
            self._give_up_joining(out)
        self._mind_isolation(out)
        self._mind(now, out)

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        """Enter the group through a member; the first call a newcomer gets."""
        self.state.inside = False
        self.joining = self.state.new_lid(contact)
        out.send((contact,), frames.Join(self.joining))
        out.arm(("join", self.joining), now + self.handshake.patience)

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        """End every link: what was sent on it still arrives."""
        self._end_all(out)

    def kept(self) -> tuple[Reason, ...]:
        return oldest_of(self.state.kept())

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        newest = MessageId(self.me, self.incarnation, self.sent)
        return reasons_of(message_id, newest, self.unsaid, self.state.kept())

    def entries(self) -> int:
        """As the paper counts local space: expected messages and buffers of handshakes."""
        gauges = self.gauges()
        return gauges["expected"] + gauges["buffered"]

    def links(self) -> list[tuple[Process, Lid]]:
        """The peers this process may send to, over complete links, and the names of those."""
        closing, incoming = self.state.closing, self.state.incoming
        return [
            (outgoing.target, lid)
            for lid, outgoing in self.state.outgoing.items()
            if outgoing.state == CONFIRMED
            and lid not in closing
            and ((other := incoming.get(lid)) is None or other.state == OPEN)
        ]

    def take_notices(self) -> list[Notice]:
        """What became of links since the last call."""
        notices, self.state.notices = self.state.notices, []
        return notices

    def gauges(self) -> Mapping[str, int]:
        state, incoming = self.state, self.state.incoming.values()
        receiving = sum(link.noted for link in incoming if link.state != OPEN)
        sending = sum(len(link.buffer) for link in state.outgoing.values())
        return {
            "expected": sum(len(link.memory) for link in incoming if link.state == OPEN),
            "buffered": receiving + sending,
            "unsaid": len(self.unsaid),
            "joining": int(self.joining is not None),
            "opening": sum(not state.complete(lid) for lid in {**state.outgoing, **state.incoming}),
            "closing": len(state.closing),
        }

    def _receive_for_links(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        match message:
            case frames.Control():
                self.handshake.arrived(source, message, now, out)
            case frames.Buffer():
                self.handshake.buffer(source, message, out)
            case frames.Ack(lid):
                self._acknowledged(lid, out)
            case frames.Close(lid):
                self.closing.asked(source, lid, out)
            case frames.Agree(lid):
                self.closing.agreed(lid, out)
            case frames.Keep(lid):
                self.closing.kept(lid, out)
            case frames.Fin(lid):
                self.closing.ended(lid, out)
            case frames.Reset(lid):
                self._reset(lid, now, out)
            case frames.Join(lid):
                self._welcome(lid, now, out)
            case frames.Welcome(lid):
                self._enter(source, lid, out)

    def _mind(self, now: Nanoseconds, out: Effects) -> None:
        """What a step left to be done: control messages that were flooded, buffers that grew too large."""
        state = self.state
        while state.controls or state.overflown:
            if state.controls:
                self.handshake.take(state.controls.pop(0), now, out)
            else:
                self._overflow(state.overflown.pop(0), now, out)

    def _overflow(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        if self.state.known(lid) and not self.state.complete(lid):
            self.handshake.expired(lid, now, out)
            self._mind_isolation(out)

    def _lose(self, lid: Lid, out: Effects) -> None:
        """A link is gone without a word from the other end, or after its Reset."""
        complete = self.state.complete(lid)
        self.state.drop(lid, out)
        if complete:
            self.state.notices.append(Down(lid, agreed=False))
        else:
            self.state.notices.append(Failed(lid.far_end(self.me)))

    def _mind_isolation(self, out: Effects) -> None:
        """An isolated incarnation is at its end: nobody shall wait for it."""
        if self.state.isolated:
            self._end_all(out)
            self.state.notices.clear()
            self.state.grouped = False
            out.isolated()

    def _end_all(self, out: Effects) -> None:
        for lid in {**self.state.outgoing, **self.state.incoming}:
            self.state.part(lid, out)
            self.state.drop(lid, out)

    def _reset(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        outgoing = self.state.outgoing.get(lid)
        if outgoing is not None and outgoing.state <= BUFFERING and lid.opener == self.me:
            self.handshake.again(lid, now, out)
        elif self.state.known(lid):
            self._lose(lid, out)

    def _acknowledged(self, lid: Lid, out: Effects) -> None:
        self.handshake.acknowledged(lid, out)
        outgoing = self.state.outgoing.get(lid)
        if outgoing is not None and outgoing.welcome:
            outgoing.welcome = False
            self.state.notices.append(Welcomed(lid.opener))

    def _give_up_joining(self, out: Effects) -> None:
        """Nobody was sent anything in this incarnation's name: it ends, and the host begins another."""
        out.disarm(("join", self.joining))
        self.joining = None
        out.isolated()

    def _welcome(self, lid: Lid, now: Nanoseconds, out: Effects) -> None:
        """Link a newcomer both ways, in one step: from here on it is owed what we deliver."""
        state, newcomer = self.state, lid.opener
        if not self.inside or state.known(lid):
            return
        for older in state.with_peer(newcomer):
            if older.precedes(lid):
                self._lose(older, out)
        state.establish(lid, SAFE, receives=True)
        state.outgoing[lid].welcome = True
        out.admit(newcomer, lid.incarnation)
        out.send((newcomer,), self._welcome_of(lid))
        out.arm(("handshake", lid), now + self.handshake.patience)

    def _welcome_of(self, lid: Lid) -> Any:
        """What a newcomer is told: that it is owed nothing of what was said before."""
        return frames.Welcome(lid)

    def _enter(self, contact: Process, lid: Lid, out: Effects) -> None:
        if lid != self.joining:
            self.state.refuse(contact, lid, out)
            return
        out.disarm(("join", lid))
        self.joining = None
        self.state.inside = True
        self.state.establish(lid, CONFIRMED, receives=True)
        out.send((contact,), frames.Ack(lid))
        unsaid, self.unsaid = self.unsaid, []
        for message_id, body in unsaid:
            self.state.new(message_id, body, None, out)
        self.state.notices += [Joined(contact), Up(lid)]
