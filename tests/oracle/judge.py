"""The judge: the paper's definitions, evaluated by brute force over a global event log.

Hybrid buffering (Almeida), section 4.1 (happens-before between messages of the application), definitions 4.1
(SPS) and 4.3 (CSPS). The log has these events, in global order:
    said(i, number, audience)            causal-send; the audience without i itself
    sent(i, j, frame)                    i hands a frame to the network
    received(i, j, frame)                i takes a frame that came from j; what i does about it follows
    delivered(i, origin, number)
    settled(i)                           i's step is over
    evicted(i, j)                        i counts j as gone; j said its last word before
A frame is a Message, an Ack or a Permit *of the judge's own*: the world translates.

Judged, at the event that breaks it:
- causal delivery and exactly once, FIFO by itself, and (at the end) that everything was delivered;
- CSPS or SPS, omnisciently: at a first network-send everything that must have been delivered has been;
- earliest time: after each step nothing is unsent that the process could know it may send, and no permit is
  due that it could know it may give. What a process can know is what the frames it received say: an ack n,
  that all of the channel up to n were delivered; a permit n or an unflagged message n, that all up to n are
  permitted;
- nothing needless: a message is flagged only if its permit cannot be given yet, a permit given only if it is
  owed, and only once, unless the peer asked for it again.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Message(NamedTuple):
    number: int
    flagged: bool


class Ack(NamedTuple):
    number: int
    wanted: int


class Permit(NamedTuple):
    number: int


Frame = Message | Ack | Permit


class Broken(AssertionError):
    """A definition of the paper does not hold."""


class Judge:
    """Watches one run of n processes. `optimal`: SPS, else CSPS. `timely`: judge earliest time as well.

    `apart`: processes evict at different times, so that the order of the evicted one's messages is not owed.
    """

    def __init__(self, n: int, optimal: bool, timely: bool = True, apart: bool = False) -> None:
        self.apart = apart
        self.n = n
        self.optimal = optimal
        self.timely = timely
        self.index: dict[tuple[int, int], int] = {}
        self.past: list[int] = []
        """Of each message, what happened before it, as bits."""
        self.knows = [0] * n
        """What each process has said or delivered, and all that happened before."""
        self.by = [0] * n
        self.to = [0] * n
        self.at = [0] * n
        """As bits: the messages said by, addressed to, and delivered at each process."""
        self.audience: dict[tuple[int, int], tuple[int, ...]] = {}
        self.needs: dict[tuple[int, int], dict[int, int]] = {}
        """Of each message: by sender, the youngest flagged message delivered before it was said."""
        self.flagged_delivered: list[dict[int, int]] = [{} for _ in range(n)]
        self.unsent: list[dict[tuple[int, int], None]] = [{} for _ in range(n)]
        """By process: (number, target) of what it has not network-sent."""
        self.unacked: list[dict[tuple[int, int], None]] = [{} for _ in range(n)]
        """By process: (number, target) of what it does not know to be delivered, unsent ones included."""
        self.owed: list[dict[tuple[int, int], None]] = [{} for _ in range(n)]
        """By process: (number, target) of what was sent flagged and not permitted yet."""
        self.flag: dict[tuple[int, int, int], bool] = {}
        self.acked = [[0] * n for _ in range(n)]
        self.permit_known = [[0] * n for _ in range(n)]
        self.permit_given = [[0] * n for _ in range(n)]
        self.asked: tuple[int, int] = (-1, 0)
        self.last: dict[tuple[int, int], int] = {}
        self.gone: set[int] = set()
        """Who was evicted by anybody: nothing is owed to them, and what they said need not arrive."""
        self.evictions: set[tuple[int, int]] = set()
        self.by_gone = 0
        self.skipped = [0] * n
        """What came too late at each process to be delivered in causal order: messages of those gone."""
        self.waits = self.flags = self.permits = 0
        """How often something waited, was flagged, was permitted: where nothing did, nothing was tried."""

    # --------------------------------------------------------------------------------------------- events

    def said(self, i: int, number: int, audience: Sequence[int]) -> None:
        m = len(self.past)
        self.index[i, number] = m
        self.past.append(self.knows[i])
        self.knows[i] |= 1 << m
        self.by[i] |= 1 << m
        self.audience[i, number] = tuple(audience)
        self.needs[i, number] = dict(self.flagged_delivered[i])
        for j in audience:
            if (i, j) in self.evictions:
                continue
            self.to[j] |= 1 << m
            self.unsent[i][number, j] = None
            self.unacked[i][number, j] = None

    def sent(self, i: int, j: int, frame: Frame) -> None:
        if isinstance(frame, Message):
            if (number := frame.number, j) in self.unsent[i]:
                self._first_sent(i, j, number, frame.flagged)
            elif (i, number, j) not in self.flag:
                raise Broken(f"{i} sends {number} to {j}, to whom it never said it")
            elif not frame.flagged and number > self.permit_given[i][j]:
                raise Broken(f"{i} sends {number} to {j} again, now unflagged, without a permit")
        elif isinstance(frame, Permit):
            self._permit(i, j, frame.number)
        elif self.last.get((j, i), 0) < frame.number:
            raise Broken(f"{i} acknowledges {j}'s {frame.number} before it delivered it")

    def received(self, i: int, j: int, frame: Frame) -> None:
        if isinstance(frame, Ack):
            self.asked = (j, frame.wanted)
            self.acked[i][j] = max(self.acked[i][j], frame.number)
            for number, peer in list(self.unacked[i]):
                if peer == j and number <= frame.number:
                    del self.unacked[i][number, peer]
        elif isinstance(frame, Permit) or not frame.flagged:
            self.permit_known[i][j] = max(self.permit_known[i][j], frame.number)

    def delivered(self, i: int, origin: int, number: int) -> None:
        m = self.index.get((origin, number))
        if m is None or (origin != i and i not in self.audience[origin, number]):
            raise Broken(f"{i} delivers {origin}'s {number}, which was not said to it")
        if origin == i:
            return
        bit = 1 << m
        if self.at[i] & bit:
            raise Broken(f"{i} delivers {origin}'s {number} twice")
        if self.last.get((origin, i), 0) >= number:
            raise Broken(f"FIFO: {i} delivers {origin}'s {number} after a later one")
        early = self.past[m] & self.to[i] & ~self.at[i]
        self.skipped[i] |= early & self.by_gone
        if self.skipped[i] & bit and not self.apart:
            raise Broken(f"causal: {i} delivers {origin}'s {number}, of one evicted, after what followed it")
        if early & ~self.by_gone:
            raise Broken(f"causal: {i} delivers {origin}'s {number} before {self._names(early)}")
        self.at[i] |= bit
        self.last[origin, i] = number
        self.knows[i] |= self.past[m] | bit
        if self.flag.get((origin, number, i)):
            self.flagged_delivered[i][origin] = number

    def settled(self, i: int) -> None:
        if not self.timely:
            return
        for number, j in self.unsent[i]:
            self.waits += 1
            if self._may_send(i, j, number):
                raise Broken(f"late: {i} could know that it may send {number} to {j}")
        for number, j in self.owed[i]:
            if self._may_permit(i, j, number):
                raise Broken(f"late: {i} could know that it may permit {number} to {j}")
        self.asked = (-1, 0)

    def evicted(self, i: int, j: int) -> None:
        self.gone.add(j)
        self.evictions.add((i, j))
        self.by_gone |= self.by[j]
        self.permit_known[i][j] = 1 << 60
        for kept in (self.unsent[i], self.unacked[i], self.owed[i]):
            for key in [key for key in kept if key[1] == j]:
                del kept[key]

    def finished(self) -> None:
        for i in range(self.n):
            missing = self.to[i] & ~self.at[i] & ~self.by_gone
            if missing and i not in self.gone:
                raise Broken(f"liveness: {i} never delivered {self._names(missing)}")

    # ---------------------------------------------------------------------------------------- definitions

    def _first_sent(self, i: int, j: int, number: int, flagged: bool) -> None:
        undelivered = 0
        for x in range(self.n):
            if x not in self.gone and (x != i or not self.optimal):
                undelivered |= self.to[x] & ~self.at[x]
        mine = self.by[i] | self.by_gone | (self.by[j] if self.optimal else 0)
        if wrong := self.past[self.index[i, number]] & ~mine & undelivered:
            name = "SPS" if self.optimal else "CSPS"
            raise Broken(f"{name}: {i} sends {number} to {j} before {self._names(wrong)} was delivered")
        if self.timely and not self._may_send(i, j, number):
            raise Broken(f"early: {i} sends {number} to {j} without a permit it needs")
        del self.unsent[i][number, j]
        may = self._may_permit(i, j, number)
        if not flagged:
            self._omniscient(i, j, number)
            self._given(i, j, number)
        elif may and self.timely:
            raise Broken(f"needless: {i} flags {number} to {j}")
        else:
            self.owed[i][number, j] = None
            self.flags += 1
        self.flag[i, number, j] = flagged

    def _permit(self, i: int, j: int, number: int) -> None:
        if (i, number, j) not in self.flag:
            raise Broken(f"{i} permits {number} to {j}, which it did not send")
        self._omniscient(i, j, number)
        if number > self.permit_given[i][j]:
            if not self._may_permit(i, j, number):
                raise Broken(f"early: {i} permits {number} to {j} without the acks it needs")
            if not self.flag[i, number, j]:
                raise Broken(f"needless: {i} permits {number} to {j}, which was not flagged")
            self._given(i, j, number)
            self.permits += 1
        elif self.timely and not (self.asked[0] == j and 0 < self.asked[1] <= number):
            raise Broken(f"needless: {i} permits {number} to {j} again, unasked")

    def _given(self, i: int, j: int, number: int) -> None:
        self.permit_given[i][j] = max(self.permit_given[i][j], number)
        for owed in [key for key in self.owed[i] if key[1] == j and key[0] <= number]:
            del self.owed[i][owed]

    def _may_send(self, i: int, j: int, number: int) -> bool:
        known = self.permit_known[i]
        return all(
            known[k] >= need for k, need in self.needs[i, number].items() if not (self.optimal and k == j)
        )

    def _may_permit(self, i: int, j: int, number: int) -> bool:
        """What i must know to be delivered elsewhere before j may pass on what `number` tells."""
        for n, x in self.unacked[i]:
            if n > number:
                break
            if x != j or (n < number and not self.optimal):
                return False
        return True

    def _omniscient(self, i: int, j: int, number: int) -> None:
        for n in range(1, number + 1):
            for x in self.audience[i, n]:
                must = x != j or (n < number and not self.optimal)
                if must and x not in self.gone and not self.at[x] >> self.index[i, n] & 1:
                    raise Broken(f"{i} permits {number} to {j}, but {x} has not delivered {n}")

    def _names(self, bits: int) -> str:
        return ", ".join(f"{i}'s {number}" for (i, number), m in self.index.items() if bits >> m & 1)
