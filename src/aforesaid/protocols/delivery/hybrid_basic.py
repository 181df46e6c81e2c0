"""Causal delivery with hybrid buffering, the basic algorithm: unicast.

Almeida (2026), section 5.4, algorithm 1. Conservative (CSPS): messages are network-sent in the
order in which they were said, each once all permits are there for what had been delivered before; one needs a
permit if any ack is missing for what was said before it, and gets it when none is.

Deviations from the printed algorithm, as numbered in docs/corrections.md:
- lines 64-70 belong under the `if` of line 62, and a duplicate is acknowledged by its own number (line 46);
- one buffer `u` for unsent and unacknowledged messages, as in algorithm 2, with `m1`, the first unsent one,
  instead of a send-buffer beside it: then a message's number is its index from the start;
- R1, R5, R7, R9, R10, R12: see `hybrid_process` and `hybrid_flagged`; R13: memory is as the length of `u`,
  not its entries.
"""

from collections.abc import Sequence
from typing import Any

from aforesaid.core import Effects, Nanoseconds, Payload, Process, new
from aforesaid.protocols.delivery.hybrid_entry import hybrid_entry
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.delivery.hybrid_process import Key
from aforesaid.protocols.delivery.hybrid_runs import count_of
from aforesaid.protocols.delivery.hybrid_unicast import NOBODY, Entry, Unicast


class HybridBasic(Unicast):
    """Algorithm 1 at one process."""

    def __init__(self, me: Process, incarnation: int = 0, **settings: Any) -> None:
        super().__init__(me, incarnation, **settings)
        self.m1 = self.u.next

    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        u = self.u
        if not others:
            for _ in range(count_of(payload)):
                self._pass_over(u.next)
            return
        peer = others[0]
        channel = self.channels.get(peer) or self._channel(peer)
        entry = Entry(peer, channel.last, self.p.next, payload)
        channel.last = u.add(entry, entry.count)
        self._try_send(now, out)

    def _pass_over(self, k: int) -> None:
        """Number k is for nobody else: an entry only if there are others before it."""
        entry = Entry(NOBODY, 0, self.p.next, None)
        entry.close()
        self.u.add(entry)
        if self.m1 == k:
            self.m1 = k + 1
        if self.u.first == k:
            self.u.remove()

    def _try_send(self, now: Nanoseconds, out: Effects) -> None:
        """Network-send from the first unsent message on, up to one whose permits are not all there."""
        u, k, first = self.u, self.m1, self.p.first
        if self.left:
            return
        end = u.next if u.next <= k + self.batch else k + self.batch
        while k < end:
            entry = u[k]
            if not entry.sent:
                if entry.dep > first:
                    break
                entry.sent = True
                channel, flagged = self.channels[entry.receiver], u.first < k
                number = k + entry.count - 1
                if not flagged:
                    channel.given = number
                frame = new(Msg, (self.incarnation, number, entry.previous, flagged, entry.payload))
                self._network_send(entry.receiver, frame, channel, now, out)
            k += entry.count
        self.m1 = k
        if end <= k < u.next:
            self._put_off(k, now, out)

    def _settle(self, due: dict[Process, int]) -> None:
        u, k = self.u, self.u.first
        end = u.next if u.next <= k + self.batch else k + self.batch
        while k < end:
            entry = u[k]
            number = k + entry.count - 1
            if not entry.acked:
                if entry.sent:
                    self._permit(entry.receiver, number, due)
                return
            u.remove(entry.count)
            self._permit(entry.receiver, number, due)
            k = number + 1
        self.unsettled = k < u.next

    def _permit(self, receiver: Process, number: int, due: dict[Process, int]) -> None:
        channel = self.channels.get(receiver)
        if channel is not None and number > channel.given:
            channel.given = due[receiver] = number

    def _release(self, key: Key, now: Nanoseconds, out: Effects) -> None:
        was_first = self.p.first
        if self.p.remove(key) == was_first:
            self._try_send(now, out)

    def _reached(self) -> int:
        return self.m1

    def _send_left(self, k: int, now: Nanoseconds, out: Effects) -> None:
        self.m1 = max(k, self.u.first)
        self._try_send(now, out)

    def _forget(self, peer: Process) -> None:
        super()._forget(peer)
        u = self.u
        self.m1 = max(self.m1, u.first)
        while self.m1 < u.next and (entry := u[self.m1]).sent:
            self.m1 += entry.count


ENTRY = hybrid_entry(
    "hybrid_basic", "hybrid buffering, basic (CSPS), unicast", "algorithm 1", HybridBasic, unicast=True
)
