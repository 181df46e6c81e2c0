"""Seeded bugs of PRC-broadcast: each correction of the paper's algorithm 2 undone, and slips besides.

A mutant is the shipped composition with the class of one of its parts replaced. It names the rule of
`prc_rules` that it breaks, a schedule by hand, and where it can a setting in which random churn kills it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.overlay.frames import (
    ALPHA,
    BETA,
    PI,
    RHO,
    Buffer,
    Control,
    ControlKind,
    Copy,
    Flood,
    Lid,
    Reset,
)
from aforesaid.protocols.overlay.living import Living
from aforesaid.protocols.overlay.prc.closing import Closing
from aforesaid.protocols.overlay.prc.handshake import Handshake
from aforesaid.protocols.overlay.prc.links import (
    BUFFERING,
    FIRST,
    MIRRORED,
    OPEN,
    SAFE,
    SECOND,
    Incoming,
    Links,
    target_of,
)
from aforesaid.protocols.overlay.prc.protocol import PRC
from support import prc_rules as rules
from support.prc_stage import Make, process

INITIALISING = (SECOND, MIRRORED)
PARTS = {Links: "state", Handshake: "handshake", Closing: "closing"}


class AnyInstance(Links):
    """No link epochs: a copy counts for whichever instance its source is heard on, or for news."""

    def copy(self, source: str, frame: Copy | Flood[Control], out: Any) -> None:
        lid = frame.link
        if lid not in self.incoming:
            lid = next((each for each, end in self.incoming.items() if end.source == source), lid)
        end = self.incoming.get(lid)
        if end is None:
            self.new(frame.message_id, frame.body, None, out)
        elif end.state == OPEN:
            super().copy(source, frame._replace(link=lid), out)


class AnyAttempt(Handshake):
    """No link epochs: β, π and ρ count for whichever attempt there is between the two."""

    def take(self, control: Control, now: int, out: Any) -> None:
        opening = control.opening
        if control.kind != ALPHA and not self.links.known(opening):
            there = self.links.with_peer(opening.far_end(self.links.me))
            later = [lid for lid in there if lid.opener == opening.opener]
            control = control._replace(opening=max(later, default=opening))
        super().take(control, now, out)


class AnyBuffer(Handshake):
    """No link epochs: Bβ counts for whichever attempt there is."""

    def buffer(self, source: str, frame: Buffer, out: Any) -> None:
        there = [lid for lid in self.links.with_peer(source) if lid.opener == frame.link.opener]
        if frame.link not in there and there:
            frame = frame._replace(link=max(there))
        super().buffer(source, frame, out)


class NoReset(Links):
    """What does not fit is dropped in silence."""

    def refuse(self, source: str, lid: Lid, out: Any) -> None:
        pass


class Direct(Handshake):
    """A control message takes the new connection, past what precedes it."""

    kind: ControlKind

    def arrived(self, source: str, control: Control, now: int, out: Any) -> None:
        if control.link == control.opening and control.kind == self.kind:
            self.take(control, now, out)
        else:
            super().arrived(source, control, now, out)

    def _send(self, kind: ControlKind, opening: Lid, route: Any, out: Any) -> None:
        if kind == self.kind:
            control = Control(opening, kind, opening, route, ())
            out.send((target_of(control),), control)
        else:
            super()._send(kind, opening, route, out)


class BetaDirect(Direct):
    kind = BETA


class PiDirect(Direct):
    kind = PI


class RhoDirect(Direct):
    kind = RHO


class Received(Handshake):
    """A receiver of Bβ that works as its subclasses slip."""

    def buffer(self, source: str, frame: Buffer, out: Any) -> None:
        incoming = self.links.incoming.get(frame.link)
        if incoming is not None and incoming.state in INITIALISING:
            frame = self.slip(incoming, frame, out)
        super().buffer(source, frame, out)

    def slip(self, incoming: Incoming, frame: Buffer, out: Any) -> Buffer:
        raise NotImplementedError


class ExpectsAllOfBpi(Handshake):
    """E := Bπ, also what Bβ has brought already."""

    def buffer(self, source: str, frame: Buffer, out: Any) -> None:
        incoming = self.links.incoming.get(frame.link)
        noted = set(incoming.memory) if incoming is not None and incoming.state in INITIALISING else set()
        if incoming is not None and incoming.state == MIRRORED:
            noted = self.links.outgoing[frame.link].buffered()
        super().buffer(source, frame, out)
        if incoming is not None:
            incoming.memory |= noted


class ExpectsNothing(Handshake):
    """E := ∅: what A is still to send of Bπ is news again."""

    def buffer(self, source: str, frame: Buffer, out: Any) -> None:
        incoming = self.links.incoming.get(frame.link)
        there = incoming is not None and incoming.state in INITIALISING
        super().buffer(source, frame, out)
        if there and incoming is not None:
            incoming.memory.clear()


class BalphaForgotten(Received):
    """Bα is not looked at: what is in it is delivered again from Bβ."""

    def slip(self, incoming: Incoming, frame: Buffer, out: Any) -> Buffer:
        incoming.before.clear()
        return frame


class Backwards(Received):
    """Bβ in another order than it was delivered in."""

    def slip(self, incoming: Incoming, frame: Buffer, out: Any) -> Buffer:
        return frame._replace(messages=frame.messages[::-1])


class TheNewLinkToo(Handshake):
    """What Bβ brings is expected from the link that brought it, too."""

    def buffer(self, source: str, frame: Buffer, out: Any) -> None:
        incoming = self.links.incoming.get(frame.link)
        there = incoming is not None and incoming.state in INITIALISING
        known = set() if incoming is None else incoming.before | incoming.memory
        super().buffer(source, frame, out)
        if there and incoming is not None:
            incoming.memory |= {message_id for message_id, _ in frame.messages} - known


class BufferDropped(Received):
    """Bβ opens the link, and what it brings is thrown away."""

    def slip(self, incoming: Incoming, frame: Buffer, out: Any) -> Buffer:
        incoming.before |= {message_id for message_id, _ in frame.messages}
        return frame


class FlushedFirst(Received):
    """Both ways: the reverse buffer is sent before what Bβ brings is in it."""

    def slip(self, incoming: Incoming, frame: Buffer, out: Any) -> Buffer:
        outgoing = self.links.outgoing.get(frame.link)
        if outgoing is not None and outgoing.state == BUFFERING:
            self._flush(frame.link, outgoing, out)
        return frame


class NotedNowhere(Links):
    """A first receipt is not remembered for the other open links."""

    def new(self, message_id: Any, body: Any, via: Any, out: Any) -> None:
        super().new(message_id, body, via, out)
        for end in self.incoming.values():
            if end.state == OPEN:
                end.memory.discard(message_id)


class NotedNotWhileOpening(Links):
    """Bα and Bπ stay empty."""

    def new(self, message_id: Any, body: Any, via: Any, out: Any) -> None:
        super().new(message_id, body, via, out)
        for end in self.incoming.values():
            if end.state != OPEN:
                end.memory.discard(message_id)


class NotBuffered(Links):
    """Bβ stays empty."""

    def new(self, message_id: Any, body: Any, via: Any, out: Any) -> None:
        super().new(message_id, body, via, out)
        for end in self.outgoing.values():
            end.buffer.clear()


class AnyHop(Handshake):
    """Control messages are taken over hops that are not open (any more)."""

    def arrived(self, source: str, control: Control, now: int, out: Any) -> None:
        if control.path:
            self._mediate(control, out)
        else:
            self.take(control, now, out)


class UnsafeHop(Links):
    """Control messages are sent over links that are being opened."""

    def safe_to(self, peer: str) -> Lid | None:
        return next((lid for lid, end in self.outgoing.items() if end.target == peer), None)


class SafeAtOnce(Handshake):
    """The new link carries copies from β on: ρ is not awaited."""

    def _beta(self, opening: Lid, route: Any, now: Any, out: Any) -> bool:
        fits = super()._beta(opening, route, now, out)
        if fits:
            self._flush(opening, self.links.outgoing[opening], out)
        return fits

    def buffer(self, source: str, frame: Buffer, out: Any) -> None:
        incoming = self.links.incoming.get(frame.link)
        if incoming is not None and incoming.state == FIRST:
            incoming.before, incoming.memory, incoming.state = incoming.memory, set(), SECOND
        super().buffer(source, frame, out)


class WelcomedWithMemory(PRC):
    """The contact expects from a newcomer what it expects from others."""

    def _welcome(self, lid: Lid, now: int, out: Any) -> None:
        new = not self.state.known(lid)
        super()._welcome(lid, now, out)
        if new and self.state.known(lid):
            for end in list(self.state.incoming.values()):
                self.state.incoming[lid].memory |= end.memory


class SpeaksBeforeWelcome(PRC):
    """A newcomer does not keep what it says until it is welcomed."""

    def broadcast(self, payload: Any, now: int, out: Any) -> Any:
        message_id = super().broadcast(payload, now, out)
        if self.unsaid:
            self.state.new(message_id, payload, None, out)
            self.unsaid.clear()
        return message_id


class OlderAttemptsStay(Handshake):
    """An α leaves older attempts of the same opener as they are."""

    def _alpha(self, opening: Lid, route: Any, now: int, out: Any) -> bool:
        kept = dict(self.links.incoming)
        fits = super()._alpha(opening, route, now, out)
        for lid, end in kept.items():
            self.links.incoming.setdefault(lid, end)
        return fits


class NeverIsolated(Links):
    """Whoever lost its last link goes on as if nothing were amiss."""

    @property
    def isolated(self) -> bool:
        return False


class LastLinkCloses(Links):
    """Nobody minds closing its last link."""

    def last(self, lid: Lid) -> bool:
        return False


class NoOverflow(Links):
    """Buffers have no bound."""

    def new(self, message_id: Any, body: Any, via: Any, out: Any) -> None:
        super().new(message_id, body, via, out)
        self.overflown.clear()


class NoTimers(PRC):
    """Whatever takes too long is waited for."""

    def expire(self, timer: Any, now: int, out: Any) -> None:
        pass


class SilentEnd(Links):
    """A link is given up by Reset only, which may be lost or overtake copies, or without a word."""

    def part(self, lid: Lid, out: Any) -> None:
        out.send((lid.far_end(self.me),), Reset(lid))


class IsolatedInSilence(PRC):
    """An isolated incarnation ends without a word to its neighbours."""

    def _end_all(self, out: Any) -> None:
        pass


class GoesOnAfterFin(Closing):
    """Fin is sent, and copies after it."""

    def _end(self, lid: Lid, out: Any) -> None:
        outgoing = self.links.outgoing[lid]
        super()._end(lid, out)
        if outgoing.state >= SAFE and lid in self.links.incoming:
            self.links.outgoing[lid] = outgoing


@dataclass(frozen=True)
class PrcMutant:
    """One part replaced; the rule it breaks, and the setting of the campaign in which churn kills it."""

    part: type
    breaks: Callable[[Make], None] | None
    dies_in: str = ""

    @property
    def name(self) -> str:
        return self.part.__name__

    def make(self, name: str, **settings: Any) -> Living:
        """A process for schedules by hand."""
        return self._mutated(process(name, **settings))

    def build(self, setup: Setup) -> Living:
        """A process for the simulator."""
        shipped = CATALOG["prc"].build(setup)
        assert isinstance(shipped, Living)
        return self._mutated(shipped)

    def _mutated(self, living: Living) -> Living:
        prc: Any = living.prc
        holders = [getattr(prc, name) for base, name in PARTS.items() if issubclass(self.part, base)] or [prc]
        for holder in holders:
            holder.__class__ = self.part
        return living


PRC_MUTANTS = [
    PrcMutant(AnyInstance, rules.closed_with_copies_in_flight, "troubled"),
    PrcMutant(AnyAttempt, None, "calm"),
    PrcMutant(AnyBuffer, rules.a_late_buffer_is_not_for_the_next_attempt),
    PrcMutant(NoReset, rules.a_copy_of_an_unknown_link_is_refused),
    PrcMutant(BetaDirect, rules.beta_comes_after_what_precedes_it, "calm"),
    PrcMutant(PiDirect, rules.pi_comes_after_what_precedes_it, "calm"),
    PrcMutant(RhoDirect, rules.rho_comes_after_what_precedes_it, "calm"),
    PrcMutant(ExpectsAllOfBpi, rules.a_late_buffer_is_not_for_the_next_attempt, "calm"),
    PrcMutant(ExpectsNothing, rules.what_was_noted_after_pi_is_expected, "calm"),
    PrcMutant(BalphaForgotten, rules.rho_comes_after_what_precedes_it, "calm"),
    PrcMutant(Backwards, rules.a_buffer_goes_in_its_order, "calm"),
    PrcMutant(TheNewLinkToo, rules.what_is_said_on_delivery_from_a_buffer_is_expected_back),
    PrcMutant(BufferDropped, rules.a_buffer_goes_in_its_order, "calm"),
    PrcMutant(FlushedFirst, rules.both_ways_the_reverse_buffer_holds_what_the_buffer_brought, "calm"),
    PrcMutant(NotedNowhere, rules.closed_with_copies_in_flight, "calm"),
    PrcMutant(NotedNotWhileOpening, rules.rho_comes_after_what_precedes_it, "one_way"),
    PrcMutant(NotBuffered, rules.a_buffer_goes_in_its_order, "calm"),
    PrcMutant(AnyHop, rules.a_hop_that_is_not_open_carries_no_control),
    PrcMutant(UnsafeHop, rules.openings_that_cross_both_come_about),
    PrcMutant(SafeAtOnce, rules.rho_comes_after_what_precedes_it, "one_way"),
    PrcMutant(WelcomedWithMemory, rules.the_newcomers_first_link_is_empty, "troubled"),
    PrcMutant(SpeaksBeforeWelcome, rules.the_newcomers_first_link_is_empty, "troubled"),
    PrcMutant(OlderAttemptsStay, rules.a_newer_alpha_ends_older_attempts),
    PrcMutant(NeverIsolated, rules.who_hears_nobody_is_isolated),
    PrcMutant(LastLinkCloses, rules.a_last_link_is_not_closed),
    PrcMutant(NoOverflow, rules.buffers_are_bounded),
    PrcMutant(NoOverflow, rules.receivers_buffers_are_bounded),
    PrcMutant(NoTimers, rules.lost_control_is_sent_again, "calm"),
    PrcMutant(SilentEnd, rules.a_receiver_hears_of_the_end_of_a_link),
    PrcMutant(IsolatedInSilence, rules.who_hears_nobody_is_isolated, "one_way"),
    PrcMutant(GoesOnAfterFin, rules.nothing_follows_fin),
]
