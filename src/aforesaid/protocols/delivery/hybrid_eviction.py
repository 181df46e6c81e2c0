"""Hybrid buffering without those who are gone for good.

Processes do not fail in Almeida (2026); all this is ours.

`peer_down(j)` is the word of an operator or detector that this incarnation of j will not come back.
Nothing is owed to j any more: what was said to it counts as acknowledged, and what is said to it from now on
reaches nobody. Nothing is expected of j any more: its missing permits count as given, and its frames are
dropped, what came early included. So nothing of this process ever waits for j. And an eviction travels ahead
of what was said without j's permits: until a peer is known to know, every message that leaves for it is News
and every permit PermitNews; both name j, and whoever receives one evicts j before it delivers or passes
anything on. That alone may not get through: all messages of those who know may wait for permits of one who
does not know, and waits for j. So whoever owes us permits is told by a Notice as well, at once and with every
reminder. What is promised, if all evict j in the end:
- between processes that are not evicted, everything stays as promised, for all messages but j's: each is
  delivered exactly once, in FIFO and in causal order, whatever passed through j;
- of j's own messages each process delivers a prefix of what j said to it; of a multicast of j's, some
  receivers may deliver their copy and others lose theirs;
- k delivers a message that follows one of j's, m' for k, either after m', or after it has evicted j; then
  it never delivers m'. So nothing is ever delivered in the wrong order (`causal_unless_lost`), but m' may be
  missing. No more can be had where flagged messages are delivered at once: docs/hybrid-buffering.md;
- to j, if it is alive after all, order and no more: it delivers nothing twice, and nothing after what follows
  it; but much may never come. Whoever could say to j what follows a message that j lacks has got a permit or
  a message that rests on j's eviction, and has evicted j by it. j retransmits to us in vain until it evicts
  us.
`peer_up(j)` makes room for a new incarnation of j, with fresh channels. The host sees to it that frames
between an old incarnation and a new one do not arrive, nor late News of the old one.
"""

from abc import ABC, abstractmethod
from itertools import islice

from aforesaid.core import Effects, Nanoseconds, Process, new
from aforesaid.protocols.delivery.hybrid_frames import Channel, Msg, News, Notice, Permit, PermitNews


class Evicting(ABC):
    """Who is gone, and who has to be told."""

    def __init__(self) -> None:
        self.channels: dict[Process, Channel] = {}
        self.evicted: dict[Process, None] = {}
        """Who is gone, in the order of their evictions."""

    @abstractmethod
    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Evict the peer."""

    @abstractmethod
    def _impatient(self, channel: Channel) -> bool:
        """Whether the peer owes us something that may wait for one who is gone."""

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        if peer in self.evicted:
            place = list(self.evicted).index(peer)
            del self.evicted[peer]
            for channel in self.channels.values():
                channel.forget(place)

    def _evict(self, channel: Channel, gone: tuple[Process, ...], now: Nanoseconds, out: Effects) -> None:
        """A peer tells who is gone, and need not be told."""
        self._evict_all(gone, now, out)
        if set(self._untold(channel.told)) <= set(gone):
            channel.told = len(self.evicted)
            # What we told it besides may be lost on its way, and must be told again then.
            if set(self._untold(channel.known)) <= set(gone):
                channel.known = channel.told

    def _evict_all(self, gone: tuple[Process, ...], now: Nanoseconds, out: Effects) -> None:
        for peer in gone:
            if peer not in self.evicted:
                self.peer_down(peer, now, out)

    def _untold(self, count: int) -> tuple[Process, ...]:
        """Who is gone besides the first so many."""
        return tuple(islice(self.evicted, count, None))

    def _with_news(self, message: Msg, channel: Channel) -> Msg | News:
        gone = self._untold(channel.known)
        return News(gone, message) if gone else message

    def _give_notice(self, peer: Process, channel: Channel, out: Effects) -> None:
        """Tell who is gone to whom we wait for: it may wait for one of them."""
        if channel.told < len(self.evicted) and self._impatient(channel):
            out.send((peer,), Notice(self._untold(channel.told)))

    def _give(self, due: dict[Process, int], out: Effects) -> None:
        for peer, number in due.items():
            if self.evicted and (gone := self._untold(self.channels[peer].known)):
                out.send((peer,), PermitNews(gone, number))
            else:
                out.send((peer,), new(Permit, (number,)))
