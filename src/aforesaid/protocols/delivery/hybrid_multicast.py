"""Causal delivery with hybrid buffering, the basic algorithm: multicast.

Almeida (2026), section 5.7, algorithm 3. As the basic unicast (CSPS), except that a message to
several receivers must itself be delivered at all of them before any may pass on what it tells: such a message
is always flagged, and a receiver's permit waits for the acks of the others as well as for all before it.

Deviations from the printed algorithm, as numbered in docs/corrections.md:
- R8: each receiver gets the number of its own predecessor; one for all leaves receivers waiting for ever;
- R9: an ack that comes twice is no error; R10: an empty audience (oneself taken out) holds nothing up;
- R11: a receiver's permit does not wait for its own ack: when only j's is missing for the first message, j is
  permitted, and the others once none is. Who was told is known by the highest permit given to each;
- line 39 belongs into its loop; one buffer for unsent and unacknowledged messages, as in `hybrid_basic`;
- R1, R5, R7, R12: see `hybrid_process` and `hybrid_flagged`; R13: memory is as the length of `u`, not its
  entries.
"""

from collections.abc import Collection, Sequence
from typing import Any

from aforesaid.core import Effects, Nanoseconds, Payload, Process, new
from aforesaid.protocols.delivery.hybrid_copies import Copies
from aforesaid.protocols.delivery.hybrid_entry import hybrid_entry
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.delivery.hybrid_process import Key
from aforesaid.protocols.delivery.hybrid_runs import count_of


class Entry:
    """What a process keeps of a message it said."""

    __slots__ = ("count", "dep", "payload", "previous", "sent", "waiting")

    def __init__(self, previous: dict[Process, int], dep: int, payload: Payload) -> None:
        self.previous = previous
        """By receiver, the message before this one on its channel (R8); evicted receivers leave."""
        self.waiting = dict.fromkeys(previous)
        """The receivers who have not acknowledged it, in order."""
        self.dep = dep
        self.count = count_of(payload)
        self.payload: Any = payload
        self.sent = False


class HybridMulticast(Copies[Entry]):
    """Algorithm 3 at one process."""

    def __init__(self, me: Process, incarnation: int = 0, **settings: Any) -> None:
        super().__init__(me, incarnation, **settings)
        self.m1 = self.u.next

    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        u, k = self.u, self.u.next
        number = k + count_of(payload) - 1
        previous: dict[Process, int] = {}
        for peer in others:
            channel = self._channel(peer)
            previous[peer] = channel.last
            channel.last = number
        entry = Entry(previous, self.p.next, payload)
        u.add(entry, entry.count)
        if not previous and u.first == k:
            u.remove(entry.count)
            self.m1 = u.first
            return
        self._try_send(now, out)

    def _try_send(self, now: Nanoseconds, out: Effects) -> None:
        """Network-send from the first unsent message on, up to one whose permits are not all there."""
        u, k, first = self.u, self.m1, self.p.first
        if self.left:
            return
        end = u.next if u.next <= k + self.batch else k + self.batch
        while k < end:
            entry = u[k]
            # What nobody waits for (any more) leaves no gap: it counts as sent.
            if entry.waiting and not entry.sent:
                if entry.dep > first:
                    break
                entry.sent = True
                number, flagged = k + entry.count - 1, u.first < k or len(entry.waiting) > 1
                for peer, previous in entry.previous.items():
                    channel = self.channels[peer]
                    if not flagged:
                        channel.given = number
                    frame = new(Msg, (self.incarnation, number, previous, flagged, entry.payload))
                    self._network_send(peer, frame, channel, now, out)
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
            if entry.waiting:
                if entry.sent and len(entry.waiting) == 1:
                    self._permit(next(iter(entry.waiting)), number, due)
                return
            u.remove(entry.count)
            for peer in entry.previous:
                self._permit(peer, number, due)
            k = number + 1
        self.unsettled = k < u.next

    def _permit(self, peer: Process, number: int, due: dict[Process, int]) -> None:
        channel = self.channels[peer]
        if number > channel.given:
            channel.given = due[peer] = number

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
        for entry in self.u:
            entry.previous.pop(peer, None)
            entry.waiting.pop(peer, None)
            if not entry.waiting:
                entry.payload = None
        u = self.u
        self.m1 = max(self.m1, u.first)
        while self.m1 < u.next and ((entry := u[self.m1]).sent or not entry.waiting):
            self.m1 += entry.count

    def _unsent_to(self, entry: Entry) -> Collection[Process]:
        return () if entry.sent else entry.waiting


ENTRY = hybrid_entry("hybrid_multicast", "hybrid buffering, basic, multicast", "algorithm 3", HybridMulticast)
