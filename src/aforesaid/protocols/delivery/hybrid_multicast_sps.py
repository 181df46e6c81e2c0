"""Causal delivery with hybrid buffering, SPS-optimal: multicast.

Almeida (2026), section 5.7: the paper leaves this variant out, as one that "can be obtained by a
similar reasoning". This is that reasoning.

The rule. Think of a message to several receivers as copies, one for each, that share a number. Definition 4.1
then reads: i network-sends the *copy* of m to j only when every copy of a message that happened before m, to
a process other than i, sent by any k other than j (and i), has been delivered. Three local rules enforce it:
1. The copy of message k to j is permitted (is sent unflagged, or gets its permit) only when the sender knows
   that all copies of its messages *up to k, k's own included*, to receivers other than j were delivered. An
   unsent copy is not delivered. (Unicast: k's own other copies do not exist, and this is algorithm 2's rule.)
2. The copy of m to j is network-sent only when all permits from processes other than j are there for what was
   delivered before m was said. So copies of one message may leave at different times.
3. Each channel is FIFO, with a predecessor for each receiver (R8).

Causal delivery. Let m' happen before m, both addressed to j, m' from p0, m from i. If p0 = i, FIFO does it.
Else there is a path p0, p1, .., i on which each delivered a message of the one before (the first being m' or
a later message of p0) and then said the next, the last being m. Take the part from the *last* occurrence of
p0 on; then p1, .., i are all other than p0, and p0 said or had said m' before its message a to p1 (or a is
m'). None of p1, .., i is j, or we may cut the path at j's last occurrence: j delivered there what followed
m' in causal order, and by induction on the length of the path had delivered m' before. So p1 needs p0's
permit for a before it sends the next message to p2, which is not p0 (or to j, which is not p0, for p0 does
not send to itself); by rule 1 the permit tells that the copy of m' to j, who is not p1, was delivered. All
later sends on the path come after that. Rule 2's exemption, a copy to p0 itself without p0's permits, is
harmless: p0 needs no news of what it said, and whatever it says next is ordered by FIFO and by its own flags.

Earliest time. Rules 1 and 2 are necessary for definition 4.1 with the knowledge that acks and permits give; a
process applies them as soon as that knowledge comes, so nothing leaves later than it may.

Indexes: see `hybrid_indexes`. Below u2 all unacknowledged copies are to one receiver r, the only one that the
first message waits for, and only r can be permitted. When the first message waits for two, u2 is that
message. u2 never goes back: acks only shrink sets, and while it stands everything unacknowledged below it is
to r alone, so a new first message has the same r or is not below u2. A message is looked at once by u2, once
by m1 and once by m2, besides once for each of its copies: amortised constant work per copy. The flag of a
copy is `k >= u2`, since its own copy is unacknowledged.

Liveness: a copy waits only for permits of messages delivered before it was said, and a permit only for acks
of messages said before it or with it; the paper's argument (5.5.2) goes through. For the corrections R1-R13
(docs/corrections.md) see `hybrid_sps`, `hybrid_multicast`, `hybrid_process` and `hybrid_flagged`.
"""

from collections.abc import Collection, Sequence
from typing import Any

from aforesaid.core import Effects, Nanoseconds, Payload, Process, new
from aforesaid.protocols.delivery.hybrid_copies import Copies
from aforesaid.protocols.delivery.hybrid_entry import hybrid_entry
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.delivery.hybrid_indexes import Indexed
from aforesaid.protocols.delivery.hybrid_runs import count_of


class Entry:
    """What a process keeps of a message it said."""

    __slots__ = ("count", "dep", "payload", "previous", "unsent", "waiting")

    def __init__(
        self, previous: dict[Process, int], unsent: dict[Process, int], dep: int, count: int, payload: Payload
    ) -> None:
        self.previous = previous
        """By receiver, the message before this one on its channel (R8); evicted receivers leave."""
        self.waiting = previous.copy()
        """The receivers who have not acknowledged it, in order."""
        self.unsent = unsent
        """The receivers to whom it was not network-sent yet, in order."""
        self.dep = dep
        self.count = count
        self.payload: Any = payload


class HybridMulticastSps(Copies[Entry], Indexed[Entry]):
    """The SPS-optimal multicast at one process."""

    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        u, channels, count = self.u, self.channels, count_of(payload)
        k = u.next
        number = k + count - 1
        previous: dict[Process, int] = {}
        for peer in others:
            channel = channels.get(peer) or self._channel(peer)
            previous[peer] = channel.last
            channel.last = number
        # If no permit is missing then nothing is unsent but this, and it leaves at once.
        at_once = self.p.first == self.p.next and not self.left
        entry = Entry(previous, {} if at_once else previous.copy(), self.p.next, count, payload)
        u.add(entry, count)
        if not previous and u.first == k:
            u.remove(count)
            self.u2 = self.m1 = u.next
            return
        if self.u2 == k:
            waiting = entry.waiting if u.first == k else u[u.first].waiting
            if len(waiting) == 1 and (waiting is entry.waiting or previous.keys() <= waiting.keys()):
                self.u2 = u.next
        if at_once:
            self._send_copies(entry, k, previous, now, out)
            self.m1 = u.next
        else:
            self._send_interval(k, self.p2, now, out)

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
            if entry.unsent:
                if entry.dep <= first:
                    self._leave(k, entry, now, out)
                elif sender in entry.unsent:
                    self._send_copies(entry, k, {sender: entry.unsent.pop(sender)}, now, out)
            k += entry.count
        self._advance_m1()
        if end <= k < u.next:
            self._put_off(k, now, out)
        return k

    def _leave(self, k: int, entry: Entry, now: Nanoseconds, out: Effects) -> None:
        copies, entry.unsent = entry.unsent, {}
        self._send_copies(entry, k, copies, now, out)

    def _send_copies(
        self, entry: Entry, k: int, copies: dict[Process, int], now: Nanoseconds, out: Effects
    ) -> None:
        channels, flagged, number = self.channels, k >= self.u2, k + entry.count - 1
        for peer, previous in copies.items():
            channel = channels[peer]
            if not flagged:
                channel.given = number
            frame = new(Msg, (self.incarnation, number, previous, flagged, entry.payload))
            self._network_send(peer, frame, channel, now, out)

    def _advance_m1(self) -> None:
        u, m1 = self.u, max(self.m1, self.u.first)
        while m1 < u.next and not (entry := u[m1]).unsent:
            m1 += entry.count
        self.m1 = m1

    def _settle(self, due: dict[Process, int]) -> None:
        u, k, channels, left = self.u, self.u.first, self.channels, self.batch
        waiting: dict[Process, int] | None = None
        while left and k < u.next:
            left -= 1
            entry = u[k]
            if waiting := entry.waiting:
                break
            number = k + entry.count - 1
            for peer in entry.previous:
                channel = channels[peer]
                if number > channel.given:
                    channel.given = due[peer] = number
            k = number + 1
        if k > u.first:
            u.remove(k - u.first)
        if self.u2 < k:
            self.u2 = k
        if not waiting:
            self.unsettled = k < u.next
        elif len(waiting) == 1:
            self._advance_u2(next(iter(waiting)), due)

    def _advance_u2(self, peer: Process, due: dict[Process, int]) -> None:
        """Pass over what waits for nobody but the only one that the first message waits for."""
        u, u2, channel, left = self.u, self.u2, self.channels[peer], self.batch
        self.unsettled = False
        while u2 < u.next:
            if not left:
                self.unsettled = True
                break
            left -= 1
            entry = u[u2]
            waiting = entry.waiting
            if waiting and (len(waiting) > 1 or peer not in waiting):
                break
            if u2 > channel.given and peer in entry.previous and peer not in entry.unsent:
                channel.given = due[peer] = u2 + entry.count - 1
            u2 += entry.count
        self.u2 = u2

    def _forget(self, peer: Process) -> None:
        for entry in self.u:
            entry.previous.pop(peer, None)
            entry.waiting.pop(peer, None)
            entry.unsent.pop(peer, None)
            if not entry.waiting:
                entry.payload = None
        self._advance_m1()

    def _unsent_to(self, entry: Entry) -> Collection[Process]:
        return entry.unsent


ENTRY = hybrid_entry(
    "hybrid_multicast_sps", "hybrid buffering, SPS-optimal, multicast", "section 5.7", HybridMulticastSps
)
