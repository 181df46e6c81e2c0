"""The judge: the paper's definitions, evaluated by brute force over a global event log.

Almeida (2026), section 4.1 (happens-before between messages of the application), definitions 4.1
(SPS) and 4.3 (CSPS). The log has these events, in global order:
    said(i, number, audience)            causal-send; the audience without i itself
    sent(i, j, frame)                    i hands a frame to the network
    received(i, j, frame)                i takes a frame that came from j; what i does about it follows
    delivered(i, origin, number)
    settled(i)                           i's step is over
    evicted(i, j)                        i counts j as gone
A frame is a Message, an Ack or a Permit *of the judge's own*: the world translates.

Judged, at the event that breaks it:
- causal delivery and exactly once, FIFO by itself, and (at the end) that everything was delivered; what a
  process has evicted it does not deliver any more, and only of that may anything be missing;
- CSPS or SPS, omnisciently: at a first network-send, and at a permit, everything that must have been
  delivered has been;
- what a process can know by itself, earliest time above all: see `mind`.
"""

from collections.abc import Sequence

from oracle.mind import Broken, Frame, Message, Mind, Permit


class Judge:
    """Watches one run of n processes; what is judged besides its order is told as to a mind."""

    def __init__(self, n: int, optimal: bool, timely: bool = True, overtaking: bool = True) -> None:
        self.n = n
        self.optimal = optimal
        self.minds = [Mind(i, optimal, timely, overtaking) for i in range(n)]
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
        self.gone: set[int] = set()
        """Who was evicted by anybody: nothing is owed to them, and what they said need not arrive."""
        self.lost = [0] * n
        """As bits: what each process, if it was evicted, may not deliver any more."""
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
        self.minds[i].said(number, audience)
        for j in audience:
            if j not in self.minds[i].gone:
                self.to[j] |= 1 << m

    def sent(self, i: int, j: int, frame: Frame) -> None:
        mind = self.minds[i]
        first = isinstance(frame, Message) and (frame.number, j) in mind.unsent
        given = isinstance(frame, Permit) and frame.number > mind.permit_given.get(j, 0)
        mind.sent(j, frame)
        if first:
            self._first_sent(i, j, frame.number)
        if isinstance(frame, Permit) or (isinstance(frame, Message) and first and not frame.flagged):
            self._permits(i, j, frame.number)
        self.flags += isinstance(frame, Message) and first and frame.flagged
        self.permits += given

    def received(self, i: int, j: int, frame: Frame) -> None:
        self.minds[i].received(j, frame)

    def delivered(self, i: int, origin: int, number: int) -> None:
        m = self.index.get((origin, number))
        if m is None or (origin != i and i not in self.audience[origin, number]):
            raise Broken(f"{i} delivers {origin}'s {number}, which was not said to it")
        if origin == i:
            return
        mind, bit = self.minds[i], 1 << m
        if self.at[i] & bit:
            raise Broken(f"{i} delivers {origin}'s {number} twice")
        if mind.last.get(origin, 0) >= number:
            raise Broken(f"FIFO: {i} delivers {origin}'s {number} after a later one")
        if origin in mind.gone:
            raise Broken(f"{i} delivers {origin}'s {number}, but has evicted {origin}")
        early = self.past[m] & self.to[i] & ~self.at[i] & ~self._by_gone(i)
        if early and i not in self.gone:
            raise Broken(f"causal: {i} delivers {origin}'s {number} before {self._names(early)}")
        if self.lost[i] & bit:
            raise Broken(f"causal: {i}, evicted, delivers {origin}'s {number} after what followed it")
        self.lost[i] |= early
        self.at[i] |= bit
        self.knows[i] |= self.past[m] | bit
        mind.delivered(origin, number)

    def settled(self, i: int) -> None:
        self.waits += self.minds[i].settled()

    def evicted(self, i: int, j: int) -> None:
        self.gone.add(j)
        self.minds[i].evicted(j)

    def finished(self) -> None:
        for i in range(self.n):
            missing = self.to[i] & ~self.at[i]
            for j in self.gone:
                missing &= ~self.by[j]
            if missing and i not in self.gone:
                raise Broken(f"liveness: {i} never delivered {self._names(missing)}")

    # ---------------------------------------------------------------------------------------- definitions

    def _first_sent(self, i: int, j: int, number: int) -> None:
        undelivered = 0
        for x in range(self.n):
            if x not in self.gone and (x != i or not self.optimal):
                undelivered |= self.to[x] & ~self.at[x]
        mine = self.by[i] | self._by_gone(i) | (self.by[j] if self.optimal else 0)
        if wrong := self.past[self.index[i, number]] & ~mine & undelivered:
            name = "SPS" if self.optimal else "CSPS"
            raise Broken(f"{name}: {i} sends {number} to {j} before {self._names(wrong)} was delivered")

    def _permits(self, i: int, j: int, number: int) -> None:
        for n in range(1, number + 1):
            for x in self.audience[i, n]:
                must = x != j or (n < number and not self.optimal)
                if must and x not in self.gone and not self.at[x] >> self.index[i, n] & 1:
                    raise Broken(f"{i} permits {number} to {j}, but {x} has not delivered {n}")

    def _by_gone(self, i: int) -> int:
        """What was said by those whom i has evicted."""
        return sum(self.by[j] for j in range(self.n) if j in self.minds[i].gone)

    def _names(self, bits: int) -> str:
        return ", ".join(f"{i}'s {number}" for (i, number), m in self.index.items() if bits >> m & 1)
