"""What the SPS-optimal algorithms share: which held messages a permit sets free, in constant work.

Almeida (2026), section 5.6, algorithm 2, procedures sendInterval, updateP2M2 and the event
PERMIT. A message to j waits only for permits from processes other than j. Four indexes, "first" being the
first entry:
- p2: the first missing permit whose sender differs from the first's, else p.next. No message with dep > p2
  can be network-sent; with dep <= p2 it can if it is to the first's sender, or if dep <= p.first;
- m1: the first message that is not network-sent, else u.next;
- m2: no message before it has dep > p2; a lower bound, which catches up when it is used;
- u2: the first message up to which two receivers have not acknowledged everything (unsent counts), else
  u.next. Below u2 all that is unacknowledged is to one receiver. So message k is flagged if and only if
  k >= u2; algorithm 2, line 33, tests the same in two steps.

Corrections (docs/corrections.md) that live here: R3, R4, and line 71 of algorithm 2, which belongs into its
loop. No index ever goes back, and each step of a loop moves one: the work is amortised constant.
"""

from abc import abstractmethod
from typing import Any

from aforesaid.core import Effects, Nanoseconds, Process
from aforesaid.protocols.delivery.hybrid_flagged import Flagged
from aforesaid.protocols.delivery.hybrid_process import E, HybridProcess, Key


class Exempting(HybridProcess[E]):
    """Of the indexes, the one that tells whether a message waits for anybody but its receiver."""

    receiver_exempt = True

    def __init__(self, me: Process, incarnation: int = 0, **settings: Any) -> None:
        super().__init__(me, incarnation, **settings)
        self.p2 = self.p.next

    def _miss(self, key: Key) -> None:
        p = self.p
        k = p.add(key)
        if self.p2 == k and p.peek[0] == key[0]:
            self.p2 = k + 1

    def _advance_p2(self) -> None:
        """While a permit is missing."""
        p, p2 = self.p, self.p2
        sender = p.peek[0]
        while p2 < p.next and ((key := p[p2]) is None or key[0] == sender):
            p2 += 1
        self.p2 = p2


class Indexed(Exempting[E], Flagged[E]):
    """All of them, and what happens when a permit comes."""

    overtaking = True

    def __init__(self, me: Process, incarnation: int = 0, **settings: Any) -> None:
        super().__init__(me, incarnation, **settings)
        self.u2 = self.m1 = self.m2 = self.u.next

    @abstractmethod
    def _send_interval(self, k: int, bound: int, now: Nanoseconds, out: Effects) -> int:
        """Network-send what may be, from message k on, up to one that depends on a permit at the bound.

        Returns a message before which none does; k itself, if it did not look.
        """

    @abstractmethod
    def _leave(self, k: int, entry: E, now: Nanoseconds, out: Effects) -> None:
        """Network-send message k to all its receivers."""

    def _reached(self) -> int:
        return self.m1 + self.m2

    def _send_left(self, k: int, now: Nanoseconds, out: Effects) -> None:
        k, self.m1 = max(k, self.u.first), max(self.m1, self.u.first)
        stop = self._send_interval(k, self.p2, now, out)
        if k <= self.m2:
            self.m2 = max(self.m2, stop)

    def _release(self, key: Key, now: Nanoseconds, out: Effects) -> None:
        p = self.p
        was_first = p.first
        k = p.remove(key)
        if k == was_first:
            k = p.first
            if self.m1 < self.u.next:
                self._send_interval(self.m1, k, now, out)
            if k == p.next:
                self.p2, self.m2 = k, self.u.next
                return
        if k == self.p2:
            self._advance_p2()
            if self.m2 < self.u.first:
                self.m2 = self.u.first
            if self.m1 < self.u.next:
                self.m2 = self._send_interval(self.m2, self.p2, now, out)
