"""Causal delivery with hybrid buffering, SPS-optimal: unicast.

Almeida (2026), section 5.6, algorithm 2. A process network-sends to j once it has all permits
from processes *other than j* for what it had delivered when the message was said; a message to j itself
needs a permit only while acks from processes *other than j* are missing for what was said before it. So a
message may leave before an earlier one to somebody else, and `u` holds both the unsent and the
unacknowledged. How the work stays amortised constant: see `hybrid_indexes`.

Deviations from the printed algorithm, as numbered in docs/corrections.md; with only its typos and layout
mended it fails in practically every random run (tests/paper/test_hybrid_buffering.py):
- R2: `u2` is kept when a message is said; R6: the first message that stays is not permitted on the way;
- R3 (`m2` never falls behind the window) and R4 (when the last missing permit comes, all that was held
  leaves, and `p2`, `m2` jump to the end): see `hybrid_indexes`;
- R1, R5, R7, R9, R10, R12: see `hybrid_process` and `hybrid_flagged`; R13: memory is as the length of `u`,
  not its entries;
- "needs its permit" is not kept per message: it is "network-sent, and above the highest permit given".
"""

from collections.abc import Sequence

from aforesaid.core import Effects, Nanoseconds, Payload, Process, new
from aforesaid.protocols.delivery.hybrid_entry import hybrid_entry
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.delivery.hybrid_indexes import Indexed
from aforesaid.protocols.delivery.hybrid_runs import count_of
from aforesaid.protocols.delivery.hybrid_unicast import NOBODY, Entry, Unicast


class HybridSps(Unicast, Indexed[Entry]):
    """Algorithm 2 at one process."""

    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        u, k = self.u, self.u.next
        if not others:
            for _ in range(count_of(payload)):
                self._pass_over(u.next)
            return
        peer = others[0]
        channel = self.channels.get(peer) or self._channel(peer)
        entry = Entry(peer, channel.last, self.p.next, payload)
        channel.last = u.add(entry, entry.count)
        if self.u2 == k and (u.first == k or u.peek.receiver == peer) and not self.unsettled:
            self.u2 = u.next
        if self.p.first == self.p.next and not self.left:
            # No permit is missing: then nothing is unsent but this.
            self._leave(k, entry, now, out)
            self.m1 = u.next
        else:
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

    def _send_interval(self, k: int, bound: int, now: Nanoseconds, out: Effects) -> int:
        if self.left:
            self.left = min(self.left, k)
            return k
        u, p = self.u, self.p
        first = p.first
        sender = p.peek[0] if first < p.next else None
        end = u.next if u.next <= k + self.batch else k + self.batch
        while k < end:
            entry = u[k]
            if entry.dep > bound:
                break
            if not entry.sent and (entry.dep <= first or entry.receiver == sender):
                self._leave(k, entry, now, out)
            k += entry.count
        self._advance_m1()
        if end <= k < u.next:
            self._put_off(k, now, out)
        return k

    def _leave(self, k: int, entry: Entry, now: Nanoseconds, out: Effects) -> None:
        entry.sent = True
        channel, flagged = self.channels[entry.receiver], k >= self.u2
        number = k + entry.count - 1
        if not flagged:
            channel.given = number
        frame = new(Msg, (self.incarnation, number, entry.previous, flagged, entry.payload))
        self._network_send(entry.receiver, frame, channel, now, out)

    def _advance_m1(self) -> None:
        u, m1 = self.u, max(self.m1, self.u.first)
        while m1 < u.next and (entry := u[m1]).sent:
            m1 += entry.count
        self.m1 = m1

    def _settle(self, due: dict[Process, int]) -> None:
        u, k = self.u, self.u.first
        end = u.next if u.next <= k + self.batch else k + self.batch
        while k < end:
            entry = u[k]
            if not entry.acked:
                if self.u2 < k:
                    self.u2 = k
                self._advance_u2(entry.receiver, due)
                return
            u.remove(entry.count)
            number = k + entry.count - 1
            channel = self.channels.get(entry.receiver)
            if channel is not None and number > channel.given:
                channel.given = due[entry.receiver] = number
            k = number + 1
        if self.u2 < k:
            self.u2 = k
        self.unsettled = k < u.next

    def _advance_u2(self, receiver: Process, due: dict[Process, int]) -> None:
        """Pass over what waits for nobody but the one that the first message waits for."""
        u, u2, channel = self.u, self.u2, self.channels[receiver]
        end = u.next if u.next <= u2 + self.batch else u2 + self.batch
        while u2 < end:
            entry = u[u2]
            if entry.receiver == receiver:
                if entry.sent and u2 > channel.given:
                    channel.given = due[receiver] = u2 + entry.count - 1
            elif not entry.acked:
                break
            u2 += entry.count
        self.u2 = u2
        self.unsettled = end <= u2 < u.next

    def _forget(self, peer: Process) -> None:
        super()._forget(peer)
        self._advance_m1()


ENTRY = hybrid_entry(
    "hybrid_sps", "hybrid buffering, SPS-optimal, unicast", "algorithm 2", HybridSps, unicast=True
)
