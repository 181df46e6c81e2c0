"""The receiver's half of adaptive hybrid buffering: what came, and waits for what others said.

A message is delivered when its predecessor on the channel is, and all that it names as W. Of a channel only
the next message is looked at, and it waits for one other at a time, the first of its W that is missing: so a
delivery wakes exactly those who wait for it.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from aforesaid.core import Effects, Nanoseconds, Process, new
from aforesaid.protocols.delivery.hybrid_adaptive_frames import AdaptiveChannel, Told
from aforesaid.protocols.delivery.hybrid_frames import Ack
from aforesaid.protocols.delivery.hybrid_process import E, HybridProcess, Key


class Holding(HybridProcess[E]):
    """Who waits for whom."""

    channels: dict[Process, AdaptiveChannel]  # type: ignore[assignment]

    def __init__(self, me: Process, incarnation: int = 0, **settings: Any) -> None:
        super().__init__(me, incarnation, **settings)
        self.watch: dict[Process, dict[int, list[Process]]] = {}
        """By process and number of its message, whose messages wait for that one."""

    @abstractmethod
    def _deliver(
        self, source: Process, channel: Any, message: Any, now: Nanoseconds, out: Effects
    ) -> None: ...

    def _ready(self, source: Process, channel: AdaptiveChannel, message: Told) -> bool:
        """Whether all that it must wait for is delivered; else it is looked at again when the first is.

        A peer that names and names, and never tells that it holds, is not listened to for a while.
        """
        for by, number in message.waits:
            other = self.channels.get(by)
            if (other is None or other.delivered < number) and by not in self.evicted:
                self._await(source, channel, (by, number))
                return False
        return len(channel.cons) < self.early_max

    def _await(self, source: Process, channel: AdaptiveChannel, awaited: Key | None) -> None:
        """One message and no more: who sends the same one again, with other waits, has not two of them."""
        if channel.awaited == awaited:
            return
        if channel.awaited is not None:
            by, number = channel.awaited
            self.watch[by][number].remove(source)
            if not self.watch[by][number]:
                del self.watch[by][number]
            if not self.watch[by]:
                del self.watch[by]
        channel.awaited = awaited
        if awaited is not None:
            by, number = awaited
            self.watch.setdefault(by, {}).setdefault(number, []).append(source)

    def _woken(self, sources: Iterable[Process]) -> Iterable[Process]:
        """What they waited for was delivered, or will not come."""
        for source in sources:
            channel = self.channels.get(source)
            if channel is not None:
                channel.awaited = None
                yield source

    def _deliver_all(self, sources: list[Process], now: Nanoseconds, out: Effects) -> None:
        """Deliver what came from them and may be delivered, and whatever waited for that."""
        for source in sources:
            channel = self.channels.get(source)
            if channel is None or channel.early is None:
                continue
            early, before = channel.early, channel.delivered
            calm, watchers = not (channel.missing or channel.cons), self.watch.get(source)
            while (message := early.get(channel.delivered)) and self._ready(source, channel, message):
                del early[message.previous]
                self._deliver(source, channel, message, now, out)
                if watchers:
                    sources += self._woken(watchers.pop(message.number, ()))
            channel.early = early or None
            if watchers is not None and not watchers:
                self.watch.pop(source, None)
            if channel.delivered > before:
                self._delivered(source, channel, calm, now, out)

    def _delivered(self, source: Process, channel: Any, calm: bool, now: Nanoseconds, out: Effects) -> None:
        """Acknowledge; if nothing was expected of the peer before, but is now, see to it that it comes."""
        out.send((source,), new(Ack, (channel.delivered, 0)))
        if self.evicted:
            self._give_notice(source, channel, out)
        if calm and (channel.missing or channel.cons):
            self._be_patient(source, channel, now, out)

    def _await_no_more(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """The peer is gone: nobody waits for it."""
        waiting = [source for sources in self.watch.pop(peer, {}).values() for source in sources]
        self._deliver_all(list(self._woken(waiting)), now, out)
