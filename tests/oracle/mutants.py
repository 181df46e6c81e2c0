"""Mutants of hybrid buffering: a shipped algorithm with one rule put back as the paper prints it.

R-numbers are those of docs/corrections.md. Each mutant cites the printed lines.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_frames import Ack, Channel, Msg, Permit
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder
from aforesaid.protocols.delivery.hybrid_multicast import Entry as MulticastEntry
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from aforesaid.protocols.delivery.hybrid_unicast import Entry
from aforesaid.structures import SlidingArray
from oracle.world import Build


class IdsFromZero(HybridSps):
    """R1. Algorithm 2, lines 2 and 73: ids start at 0, and `m.mid <= ld` takes the first for a duplicate."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.u = SlidingArray(0)
        self.u2 = self.m1 = self.m2 = 0


class U2NotKept(HybridSps):
    """R2. Algorithm 2, lines 12-18: causalSend leaves u2 alone, so that lines 57 and 63 miss the permit."""

    def _say(self, others: Sequence[str], payload: Any, now: int, out: Any) -> None:
        u2 = self.u2
        k = self.u.next
        if not others:
            super()._say(others, payload, now, out)
            return
        channel = self._channel(others[0])
        self.u.add(Entry(others[0], channel.last, self.p.next, payload))
        channel.last = k
        self.u2 = u2
        self._send_interval(k, self.p2, now, out)

    def _acknowledged(self, source: str, channel: Channel, ack: Any, now: int, out: Any) -> None:
        self.acker = source
        super()._acknowledged(source, channel, ack, now, out)

    def _settle(self, due: dict[str, int]) -> None:
        u = self.u
        while u.first < u.next and u.peek.acked:
            k = u.first
            receiver = u.remove().receiver
            if receiver and receiver != self.acker and k > self.channels[receiver].given:
                self.channels[receiver].given = due[receiver] = k
        if u.first == self.u2 < u.next:
            super()._settle(due)


class PermitAsPrinted(HybridSps):
    """R3 with R4. Algorithm 2, lines 93-100 and 38-41: m2 falls behind the window."""

    floor = 0

    def _release(self, key: tuple[str, int], now: int, out: Any) -> None:
        p = self.p
        was_first = p.first
        k = p.remove(key)
        if k == was_first:
            k = p.first
            self._send_interval(self.m1, k, now, out)
        if k == self.p2:
            start = max(self.m2, self.floor)
            if p.first < p.next:
                self.m2 = start
                self._advance_p2()
                self.m2 = self._send_interval(start, self.p2, now, out)
                return
            self._send_interval(start, self.p2, now, out)


class EmptyPermits(PermitAsPrinted):
    """R4 alone. Algorithm 2, lines 38-41: with no permit left, updateP2M2 returns before it moves m2."""

    @property
    def floor(self) -> int:  # type: ignore[override]
        return self.u.first


class PermitDropped(HybridSps):
    """R5. Algorithm 2, lines 89-91: a permit whose message has not been delivered is ignored."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        if type(message) is Permit and message.number > self._channel(source).delivered:
            return
        super().receive(source, message, now, out)


class PermitTwice(HybridSps):
    """R6. Algorithm 2, lines 55-61: the message that stays first is permitted before its ack is looked at."""

    def _settle(self, due: dict[str, int]) -> None:
        u = self.u
        self.printed: list[tuple[str, int]] = []
        while u.first < u.next and u.peek.acked:
            k = u.first
            receiver = u.remove().receiver
            if receiver and k > self.channels[receiver].given:
                self.channels[receiver].given = k
                self.printed.append((receiver, k))
        if u.first < u.next:
            first = u.peek
            if first.sent and u.first > self.channels[first.receiver].given:
                self.printed.append((first.receiver, u.first))
        super()._settle(due)

    def _give(self, due: dict[str, int], out: Any) -> None:
        for peer, number in (*self.printed, *due.items()):
            out.send((peer,), Permit(number))
        self.printed = []

    def _acknowledged(self, source: str, channel: Channel, ack: Any, now: int, out: Any) -> None:
        self.printed = []
        super()._acknowledged(source, channel, ack, now, out)
        self._give({}, out)


class SelfEnqueued(HybridSps):
    """R7. Algorithm 2, lines 12-18: a message to oneself goes through the buffer and the network."""

    def send(self, targets: Sequence[str], payload: Any, now: int, out: Any) -> Any:
        elsewhere = [name for name in targets if name != self.me]
        if elsewhere:
            return super().send(targets, payload, now, out)
        me, self.me = self.me, ""
        message_id = super().send(targets, payload, now, out)
        self.me = me
        return message_id._replace(origin=me)


class OnePredecessor(HybridMulticast):
    """R8. Algorithm 3, lines 18-20: one predecessor id for all receivers."""

    def _say(self, others: Sequence[str], payload: Any, now: int, out: Any) -> None:
        lasts = {peer: self._channel(peer).last for peer in others}
        for peer in others:
            self._channel(peer).last = max(lasts.values())
        super()._say(others, payload, now, out)


class StrictRemove(HybridMulticast):
    """R9. Algorithm 3, line 28: `unack.remove(j)` of a receiver that is there no more."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        if type(message) is Ack and self.u.first <= message.number < self.u.next:
            strict = dict(self.u[message.number].waiting)
            del strict[source]
        super().receive(source, message, now, out)


class EmptyEnqueued(HybridMulticast):
    """R10. Algorithm 3, lines 17-23: a message to nobody waits in `u` for an ack that cannot come."""

    def _say(self, others: Sequence[str], payload: Any, now: int, out: Any) -> None:
        if others:
            super()._say(others, payload, now, out)
            return
        entry = MulticastEntry({}, self.p.next, payload)
        entry.waiting.update({"nobody": None, "no one": None})
        entry.sent = True
        self.u.add(entry)
        self._try_send(now, out)


class OwnAckAwaited(HybridMulticast):
    """R11. Algorithm 3, lines 31-38: nobody is permitted before all have acknowledged the message."""

    def _settle(self, due: dict[str, int]) -> None:
        u = self.u
        while u.first < u.next and not u.peek.waiting:
            k = u.first
            for peer in u.remove().previous:
                self._permit(peer, k, due)


class PermitExact(HybridSps):
    """R12. Algorithm 2, lines 88-93: a permit is for one message only."""

    def _permitted(self, source: str, channel: Channel, number: int, now: int, out: Any) -> None:
        if number in channel.missing:
            channel.missing.remove(number)
            self._release((source, number), now, out)


class AckExact(HybridSps):
    """R12. Algorithm 2, line 52: an ack is for one message only."""

    def _acknowledged(self, source: str, channel: Channel, ack: Any, now: int, out: Any) -> None:
        if ack.number in channel.unacked:
            before = [number for number in channel.unacked if number < ack.number]
            for number in before:
                channel.unacked.remove(number)
            super()._acknowledged(source, channel, ack, now, out)
            channel.unacked = deque((*before, *channel.unacked))


class UnflaggedNoPermit(HybridSps):
    """R12. Algorithm 2, lines 72-87: an unflagged message tells nothing about those before it."""

    def _arrived(self, source: str, channel: Channel, message: Msg, now: int, out: Any) -> None:
        known = channel.permitted
        if not message.flagged and message.number > known:
            channel.permitted = message.number
            super()._arrived(source, channel, message, now, out)
            channel.permitted = known
        else:
            super()._arrived(source, channel, message, now, out)


class AckOfAnybody(HybridBasic):
    """Algorithm 1, lines 57-61: whoever sends the ack, the payload of message n is dropped."""

    def _acknowledged(self, source: str, channel: Channel, ack: Any, now: int, out: Any) -> None:
        if self.u.first <= ack.number < self.u.next:
            entry = self.u[ack.number]
            other = self.channels[entry.receiver]
            if ack.number in other.unacked:
                super()._acknowledged(entry.receiver, other, ack, now, out)


class Silent(HybridSps):
    """Ours: who evicts a peer tells nobody, and goes on speaking."""

    def _network_send(self, peer: str, frame: Msg, channel: Channel, now: int, out: Any) -> None:
        channel.known = len(self.evicted)
        super()._network_send(peer, frame, channel, now, out)


class TellsWithMessagesOnly(HybridBasic):
    """Ours: who evicts a peer does not tell whom it waits for, so that they may wait for each other."""

    def _give_notice(self, peer: str, channel: Channel, out: Any) -> None:
        pass


class BarePermits(HybridInOrder):
    """Ours: a permit does not tell of the eviction that it rests on."""

    def _give(self, due: dict[str, int], out: Any) -> None:
        for peer, number in due.items():
            out.send((peer,), Permit(number))


class ToldOnce(HybridInOrder):
    """Ours: only the first message after an eviction tells of it, whether it arrives or not."""

    def _network_send(self, peer: str, frame: Msg, channel: Channel, now: int, out: Any) -> None:
        super()._network_send(peer, frame, channel, now, out)
        channel.known = len(self.evicted)


class StandsStill(HybridInOrder):
    """Ours: when who stood first in line is evicted, nobody looks whether the next may go."""

    def peer_down(self, peer: str, now: int, out: Any) -> None:
        HybridSps.peer_down(self, peer, now, out)


class Overtakes(HybridSps):
    """SPS as it is, before a mind that knows of no overtaking."""

    overtaking = False


MUTANTS: dict[str, tuple[str, Build]] = {
    "R1 ids from 0": ("algorithm 2, lines 2 and 73", IdsFromZero),
    "R2 u2 not kept": ("algorithm 2, lines 12-18, 57 and 63", U2NotKept),
    "R3 m2 behind the window": ("algorithm 2, lines 97-100", PermitAsPrinted),
    "R4 m2 stays when permits run out": ("algorithm 2, lines 38-41", EmptyPermits),
    "R5 early permit dropped": ("algorithm 2, lines 89-91", PermitDropped),
    "R6 permitted twice": ("algorithm 2, lines 55-61", PermitTwice),
    "R7 self-sends enqueued": ("algorithm 2, lines 12-18", SelfEnqueued),
    "R8 one predecessor": ("algorithm 3, lines 18-20", OnePredecessor),
    "R9 strict remove": ("algorithm 3, line 28", StrictRemove),
    "R10 empty audience enqueued": ("algorithm 3, lines 17-23", EmptyEnqueued),
    "R11 own ack awaited": ("algorithm 3, lines 31-38", OwnAckAwaited),
    "R12 permit for one": ("algorithm 2, lines 88-93", PermitExact),
    "R12 ack for one": ("algorithm 2, line 52", AckExact),
    "R12 unflagged is no permit": ("algorithm 2, lines 72-87", UnflaggedNoPermit),
}
"""By name: what is cited, and how to build a process. All but R4, a matter of cost, die before the judge."""
