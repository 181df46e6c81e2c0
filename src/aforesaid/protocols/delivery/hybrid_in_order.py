"""Causal delivery with hybrid buffering, SPS in order: unicast and multicast.

Ours: Almeida (2026), section 5.6, with one restriction more. As in SPS, a message to j alone does not wait
for permits of j, and a permit for j does not wait for acks of j; but no message leaves before one that was
said before it. A message to several leaves for all of them at once, when every permit is there.

Why. SPS lets a message overtake an earlier one that is held back. What it tells its receiver then hangs on
something that has not even left, which may hang on something else that has not left: such waits follow each
other without bound (R14 of docs/corrections.md). Here everything said before a message is on the network
when the message leaves, so that nothing hangs on more than what is on its way.

Causal delivery. It permits by SPS's rule, and network-sends nothing that SPS would hold back: the argument of
`hybrid_multicast_sps` needs no more. Liveness: the first unsent message waits for permits only; a permit
waits for acks of messages that have all left; acks wait for nothing.

The wait. Let every frame arrive within d, and none sooner than e, with no loss. Let m be said by i at time t,
wait for the permit for a, of k, and let a have left k at time s. Then i had delivered a by t, so s + e <= t.
All that k said before a had left by s, is delivered by s + d, and acknowledged at k by s + 2d; the permit is
at i by s + 3d <= t + 3d - e. What was said before m has the same bound from an earlier t, so nothing holds m
back longer: **no message waits at its sender longer than 3d - e**. With a constant delay that is 2d, a round
trip, and at most one and a half of the longest round trip with any. CSPS has the same bound.
"""

from aforesaid.core import Effects, Nanoseconds, Process
from aforesaid.protocols.delivery.hybrid_entry import hybrid_entry
from aforesaid.protocols.delivery.hybrid_indexes import Indexed
from aforesaid.protocols.delivery.hybrid_multicast_sps import Entry, HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_process import E
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from aforesaid.protocols.delivery.hybrid_unicast import Entry as UnicastEntry


class InOrder(Indexed[E]):
    """What the two share."""

    overtaking = False

    def _send_interval(self, k: int, bound: int, now: Nanoseconds, out: Effects) -> int:
        """From the first unsent message on, wherever SPS would begin, up to one that must wait."""
        if self.left:
            return k
        u, p, p2, m1 = self.u, self.p, self.p2, self.m1
        first = p.first
        sender = p.peek[0] if first < p.next else None
        end = u.next if u.next <= m1 + self.batch else m1 + self.batch
        while m1 < end:
            entry = u[m1]
            copies = self._unsent_to(entry)
            if copies:
                # p2 is at the first missing permit only until it has moved on, and then this sends nothing.
                if entry.dep > first and (entry.dep > p2 or len(copies) > 1 or sender not in copies):
                    break
                self._leave(m1, entry, now, out)
            m1 += entry.count
        self.m1 = m1
        if end <= m1 < u.next:
            self._put_off(m1, now, out)
        return k

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        super().peer_down(peer, now, out)
        # What stood first in line may have been for the peer alone.
        self._send_interval(self.m1, self.p.first, now, out)


class HybridInOrder(InOrder[UnicastEntry], HybridSps):
    """The unicast at one process."""


class HybridMulticastInOrder(InOrder[Entry], HybridMulticastSps):
    """The multicast at one process."""


ENTRIES = (
    hybrid_entry(
        "hybrid_in_order",
        "hybrid buffering, SPS in order, unicast",
        "algorithm 2, restricted",
        HybridInOrder,
        unicast=True,
    ),
    hybrid_entry(
        "hybrid_multicast_in_order",
        "hybrid buffering, SPS in order, multicast",
        "section 5.7, restricted",
        HybridMulticastInOrder,
    ),
)
