"""Causal delivery with hybrid buffering, SPS-optimal: unicast.

Hybrid buffering (Almeida), section 5.6, algorithm 2. A process network-sends to j once it has all permits
from processes *other than j* for what it had delivered when the message was said; a message to j needs a permit
only while acks from processes *other than j* are missing for what was said before it. So a later message may
leave before an earlier one to somebody else, and `u` holds both the unsent and the unacknowledged.

Four indexes keep the work per operation amortised constant. With "first" for the first entry:
- p2: the first missing permit whose sender differs from the first's, else p.next. No message with dep > p2
  can be network-sent; with dep <= p2 it can if it is to the first's sender, or if dep <= p.first.
- u2: the first unacknowledged (unsent counts) message whose receiver differs from the first's, else u.next.
  No message from u2 on can be permitted; below u2, those to the first's receiver can.
- m1: the first unsent message. m2: no message before it has dep > p2; a lower bound that catches up in use.

Deviations from the printed algorithm, as numbered in `algorithms`, section 6; with only its typos and layout
mended it fails in 395 of 400 random runs:
- R2: `u2` is kept when a message is said; R3: `m2` never falls behind the window; R4: when the last missing
  permit comes, all that was held leaves and `p2`, `m2` jump to the end; R6: the first message that stays is
  no longer permitted on the way;
- R1, R5, R7, R9, R10, R12: see `hybrid_process`; R13: memory is as the length of `u`, not its entries;
- the flag is `k >= u2`: what is unacknowledged below u2, message k included, is to one receiver. "Needs its
  permit" is not kept per message: it is "network-sent, and numbered above the highest permit given".
"""

from collections.abc import Sequence
from typing import Any

from aforesaid.core import Effects, Nanoseconds, Payload, Process
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.delivery.hybrid_process import Key
from aforesaid.protocols.delivery.hybrid_unicast import NOBODY, Entry, Unicast


class HybridSps(Unicast):
    """Algorithm 2 at one process."""

    def __init__(self, me: Process, incarnation: int = 0, **settings: Any) -> None:
        super().__init__(me, incarnation, **settings)
        self.p2 = self.p.next
        self.u2 = self.m1 = self.m2 = self.u.next

    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        u, k = self.u, self.u.next
        if not others:
            self._pass_over(k)
            return
        peer = others[0]
        channel = self._channel(peer)
        u.add(Entry(peer, channel.last, self.p.next, payload))
        channel.last = k
        if self.u2 == k and u.peek.receiver == peer:
            self.u2 = k + 1
        self._send_interval(k, self.p2, now, out)

    def _pass_over(self, k: int) -> None:
        """Number k is for nobody else: an entry only if there are others before it."""
        entry = Entry(NOBODY, 0, self.p.next, None)
        entry.close()
        self.u.add(entry)
        if self.u2 == k:
            self.u2 = k + 1
        if self.m1 == k:
            self.m1 = k + 1
        if self.u.first == k:
            self.u.remove()

    def _send_interval(self, k: int, bound: int, now: Nanoseconds, out: Effects) -> None:
        """Network-send what may be, from message k on, up to one that depends on a permit at the bound."""
        u, p = self.u, self.p
        first = p.first
        sender = p.peek[0] if first < p.next else None
        end = u.next
        while k < end:
            entry = u[k]
            if entry.dep > bound:
                break
            if not entry.sent and (entry.dep <= first or entry.receiver == sender):
                entry.sent = True
                frame = Msg(self.incarnation, k, entry.previous, k >= self.u2, entry.payload)
                self._network_send(entry.receiver, frame, self.channels[entry.receiver], now, out)
            k += 1
        self._advance_m1()

    def _advance_m1(self) -> None:
        u, m1 = self.u, self.m1
        while m1 < u.next and u[m1].sent:
            m1 += 1
        self.m1 = m1

    def _settle(self, due: dict[Process, int]) -> None:
        u, channels = self.u, self.channels
        while u.first < u.next and u.peek.acked:
            k = u.first
            receiver = u.remove().receiver
            channel = channels.get(receiver)
            if channel is not None and k > channel.given:
                channel.given = due[receiver] = k
        u2 = max(self.u2, u.first)
        if u.first < u.next:
            receiver = u.peek.receiver
            channel = channels[receiver]
            while u2 < u.next:
                entry = u[u2]
                if entry.receiver == receiver:
                    if entry.sent and u2 > channel.given:
                        channel.given = due[receiver] = u2
                elif not entry.acked:
                    break
                u2 += 1
        self.u2 = u2

    def _miss(self, key: Key) -> None:
        p = self.p
        k = p.add(key)
        if self.p2 == k and p.peek[0] == key[0]:
            self.p2 = k + 1

    def _release(self, key: Key, now: Nanoseconds, out: Effects) -> None:
        p, u = self.p, self.u
        was_first = p.first
        k = p.remove(key)
        if k == was_first:
            k = p.first
            self._send_interval(self.m1, k, now, out)
            if k == p.next:
                self.p2 = k
                self.m2 = u.next
                return
        if k == self.p2:
            start = max(self.m2, u.first)
            self._advance_p2()
            self.m2 = start
            self._advance_m2()
            self._send_interval(start, self.p2, now, out)

    def _advance_p2(self) -> None:
        p, p2 = self.p, self.p2
        sender = p.peek[0]
        while p2 < p.next:
            key = p[p2]
            if key is not None and key[0] != sender:
                break
            p2 += 1
        self.p2 = p2

    def _advance_m2(self) -> None:
        u, m2 = self.u, self.m2
        while m2 < u.next and u[m2].dep <= self.p2:
            m2 += 1
        self.m2 = m2

    def _forget(self, peer: Process) -> None:
        super()._forget(peer)
        self._advance_m1()
