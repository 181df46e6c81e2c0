"""Mutants of adaptive hybrid buffering: one rule broken, as who writes it anew might break it.

Here are the pitfalls at the sender and at the receiver; there are more in `adaptive_mutants_known` and
`adaptive_mutants_gone`. Each must do *harm*: misorder, lose or hold up a message, name more than it may, or
never forget; a look inside does not count.
"""

from typing import Any

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_frames import Ack
from oracle.adaptive_mutants_known import hide


class Overtakes(HybridAdaptive):
    """What may leave leaves, though what was said before it may not."""

    def _try_send(self, now: int, out: Any) -> None:
        u = self.u
        for k in range(self.m1, u.next):
            entry = u[k]
            if entry.waiting and not entry.sent and not (self._unpermitted(entry) or self._unnamable(entry)):
                self._leave(k, entry, now, out)
        super()._try_send(now, out)


class OneExemptsAll(HybridAdaptive):
    """Who answers the one whose permit is missing first waits for no other's."""

    def _unpermitted(self, entry: Any) -> bool:
        p = self.p
        return entry.dep > p.first and (len(entry.waiting) > 1 or p.peek[0] not in entry.waiting)


class SeveralExempt(HybridAdaptive):
    """A message to several waits for none of their permits."""

    def _unpermitted(self, entry: Any) -> bool:
        p = self.p
        return any(
            p[k] is not None and p[k][0] not in entry.waiting  # type: ignore[index]
            for k in range(p.first, min(entry.dep, p.next))
        )


class LearnsLate(HybridAdaptive):
    """What was known when a message was said is learnt only when all have left."""

    def _unnamable(self, entry: Any) -> bool:
        known = self.constraints
        return any(len(known.on.get(peer, ())) > known.bound for peer in entry.waiting)

    def _try_send(self, now: int, out: Any) -> None:
        super()._try_send(now, out)
        if self.m1 == self.u.next:
            self._learn(self.told + len(self.tellings))


class Replaces(HybridAdaptive):
    """A younger constraint replaces one that an unsent message still has to name."""

    def _deliver(self, source: str, channel: Any, message: Any, now: int, out: Any) -> None:
        super()._deliver(source, channel, message, now, out)
        known = self.constraints
        for at, by, number in message.names if self.tellings else ():
            older = known.on.get(at, {}).get(by)
            if older is not None and older.number < number:
                hide(known, [older])
                known._supersede(older)


class Erases(HybridAdaptive):
    """A message that leaves stands for what was learnt after it was said, too."""

    def _leave(self, k: int, entry: Any, now: int, out: Any) -> None:
        super()._leave(k, entry, now, out)
        for _, telling in self.tellings:
            telling.names = tuple(name for name in telling.names if name.at not in entry.waiting)


class CopyByCopy(HybridAdaptive):
    """Each copy of a multicast leaves by itself: the first names no other."""

    def _leave(self, k: int, entry: Any, now: int, out: Any) -> None:
        waiting = entry.waiting
        for peer, previous in waiting.items():
            entry.waiting = {peer: previous}
            super()._leave(k, entry, now, out)
            waiting[peer] = entry.waiting[peer]
        entry.waiting = waiting


class WaitsCutShort(HybridAdaptive):
    """What its receiver has to wait for is named as far as it fits."""

    def _unnamable(self, entry: Any) -> bool:
        super()._unnamable(entry)
        return False

    def _leave(self, k: int, entry: Any, now: int, out: Any) -> None:
        for peer in entry.waiting:
            surplus = list(self.constraints.on.get(peer, {}).values())[self.constraints.bound :]
            hide(self.constraints, surplus)
        super()._leave(k, entry, now, out)


class WaitsTakeNoRoom(HybridAdaptive):
    """It names B constraints besides those on its receiver."""

    def _leave(self, k: int, entry: Any, now: int, out: Any) -> None:
        known = self.constraints
        bound = known.bound
        known.bound += max(len(known.on.get(peer, ())) for peer in entry.waiting)
        super()._leave(k, entry, now, out)
        known.bound = bound


class OpaqueIgnored(HybridAdaptive):
    """An opaque message blocks nothing."""

    def _deliver(self, source: str, channel: Any, message: Any, now: int, out: Any) -> None:
        super()._deliver(source, channel, message._replace(opaque=False), now, out)


class NamesIgnored(HybridAdaptive):
    """What a message names is not learnt."""

    def _deliver(self, source: str, channel: Any, message: Any, now: int, out: Any) -> None:
        super()._deliver(source, channel, message._replace(names=()), now, out)


class WaitsForNothing(HybridAdaptive):
    """W is not waited for."""

    def _ready(self, source: str, channel: Any, message: Any) -> bool:
        return True


class WaitsForTheFirst(HybridAdaptive):
    """Of W, the first is waited for."""

    def _ready(self, source: str, channel: Any, message: Any) -> bool:
        return super()._ready(source, channel, message._replace(waits=message.waits[:1]))


class NotWoken(HybridAdaptive):
    """What waits is not looked at when that comes which it waits for."""

    def _woken(self, sources: Any) -> Any:
        return ()


class AcksOnReceipt(HybridAdaptive):
    """What came is acknowledged, though it waits."""

    def _arrived(self, source: str, channel: Any, message: Any, now: int, out: Any) -> None:
        super()._arrived(source, channel, message, now, out)
        number = channel.delivered
        while channel.early and number in channel.early:
            number = channel.early[number].number
        out.send((source,), Ack(number, 0))


class EarlyHoldsDropped(HybridAdaptive):
    """Holds counts for what was delivered, and is forgotten for the rest."""

    def _heard(self, source: str, channel: Any, holds: Any, now: int, out: Any) -> None:
        n = channel.delivered
        late = holds._replace(permitted=min(holds.permitted, n), held=min(holds.held, n))
        super()._heard(source, channel, late, now, out)


class TellerAmongMany(HybridAdaptive):
    """What one of its receivers told need not be known for a message."""

    def _unnamable(self, entry: Any) -> bool:
        return self.teller not in entry.waiting and super()._unnamable(entry)


class InfersFromOpaque(HybridAdaptive):
    """An opaque message is taken to name all that is not delivered, too."""

    def _arrived(self, source: str, channel: Any, message: Any, now: int, out: Any) -> None:
        self.constraints.unnamed(source, message.number, message.names)
        super()._arrived(source, channel, message, now, out)


class InfersNamed(HybridAdaptive):
    """What a message names is taken to be delivered, as what it does not name is."""

    def _arrived(self, source: str, channel: Any, message: Any, now: int, out: Any) -> None:
        if not message.opaque:
            self.constraints.unnamed(source, message.number, ())
        super()._arrived(source, channel, message, now, out)


class HeldWithPermit(HybridAdaptive):
    """What a message named is told to hold when what it did not name does."""

    def _progress(self, peer: str, channel: Any) -> bool:
        told = super()._progress(peer, channel)
        while channel.named and channel.named[0][1] <= channel.given:
            channel.holding = channel.named.popleft()[1]
        return told
