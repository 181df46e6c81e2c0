"""What one process could know, and what it must therefore do at once: the local half of the judge.

All that a process of hybrid buffering learns of the others is in the frames it receives: an ack n tells that
all of the channel up to n were delivered; a permit n, or an unflagged message n, that all up to n are
permitted. A mind gets the events at one process and judges, at the event that breaks it:
- earliest time: after each step nothing is unsent that the process could know it may send, and no permit is
  due that it could know it may give; and none of it is done before it could know;
- nothing needless: a message is flagged only if its permit cannot be given yet, a permit given only if it is
  owed, and only once, unless the peer asked for it again;
- truth: nothing is acknowledged before it was delivered.
If that holds everywhere then so do definitions 4.1 (SPS) and 4.3 (CSPS): permits and acks mean what they say.
Peers are called by whatever names the events use.
"""

from collections.abc import Hashable, Sequence
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
Peer = Hashable


class Broken(AssertionError):
    """A definition of the paper does not hold."""


class Mind:
    """Watches one process. `optimal`: SPS, else CSPS. `overtaking`: SPS, else SPS in order.

    `timely`: judge earliest time as well.
    """

    def __init__(self, me: Peer, optimal: bool, timely: bool = True, overtaking: bool = True) -> None:
        self.me = me
        self.optimal = optimal
        self.overtaking = overtaking
        self.timely = timely
        self.needs: dict[int, dict[Peer, int]] = {}
        """Of each message: by sender, the youngest flagged message delivered before it was said."""
        self.flagged: dict[Peer, set[int]] = {}
        """By sender, the messages that came flagged."""
        self.youngest: dict[Peer, int] = {}
        """By sender, the youngest flagged message delivered."""
        self.last: dict[Peer, int] = {}
        """By sender, the last message delivered."""
        self.audience: dict[int, set[Peer]] = {}
        """Of each message: whom it was said to."""
        self.unsent: dict[tuple[int, Peer], None] = {}
        """(number, target) of what is not network-sent."""
        self.unacked: dict[tuple[int, Peer], None] = {}
        """(number, target) of what is not known to be delivered, unsent ones included."""
        self.owed: dict[tuple[int, Peer], None] = {}
        """(number, target) of what was sent flagged and not permitted yet."""
        self.flag: dict[tuple[int, Peer], bool] = {}
        self.permit_known: dict[Peer, int] = {}
        self.permit_given: dict[Peer, int] = {}
        self.asked: tuple[Peer, int] = (None, 0)
        self.gone: set[Peer] = set()
        self.unfinished = False
        """True: it has left something over for a later step, and is neither late nor needless until then."""

    def said(self, number: int, audience: Sequence[Peer]) -> None:
        """The audience without the process itself."""
        self.needs[number] = dict(self.youngest)
        self.audience[number] = set(audience)
        for j in audience:
            if j not in self.gone:
                self.unsent[number, j] = None
                self.unacked[number, j] = None

    def sent(self, j: Peer, frame: Frame) -> None:
        if isinstance(frame, Permit):
            self._permit(j, frame.number)
        elif isinstance(frame, Ack):
            if self.last.get(j, 0) < frame.number:
                raise Broken(f"{self.me} acknowledges {j}'s {frame.number} before it delivered it")
        elif (frame.number, j) in self.unsent:
            self._first_sent(j, *frame)
        elif (frame.number, j) not in self.flag:
            raise Broken(f"{self.me} sends {frame.number} to {j}, to whom it never said it")
        elif not frame.flagged and frame.number > self.permit_given.get(j, 0):
            raise Broken(f"{self.me} sends {frame.number} to {j} again, now unflagged, without a permit")

    def received(self, j: Peer, frame: Frame) -> None:
        if isinstance(frame, Ack):
            self.asked = (j, frame.wanted)
            for number, peer in list(self.unacked):
                if peer == j and number <= frame.number:
                    del self.unacked[number, peer]
        elif isinstance(frame, Message) and frame.flagged:
            self.flagged.setdefault(j, set()).add(frame.number)
        else:
            self.permit_known[j] = max(self.permit_known.get(j, 0), frame.number)

    def delivered(self, origin: Peer, number: int) -> None:
        self.last[origin] = number
        if number in self.flagged.get(origin, ()):
            self.youngest[origin] = number

    def evicted(self, j: Peer) -> None:
        self.gone.add(j)
        self.permit_known[j] = 1 << 60
        for kept in (self.unsent, self.unacked, self.owed):
            for key in [key for key in kept if key[1] == j]:
                del kept[key]

    def settled(self) -> int:
        """The step is over; how many messages wait."""
        if self.timely and not self.unfinished:
            for number, j in self.unsent:
                if self._may_send(j, number):
                    raise Broken(f"late: {self.me} could know that it may send {number} to {j}")
            for number, j in self.owed:
                if self._may_permit(j, number):
                    raise Broken(f"late: {self.me} could know that it may permit {number} to {j}")
        self.asked = (None, 0)
        return len(self.unsent)

    def _first_sent(self, j: Peer, number: int, flagged: bool) -> None:
        if self.timely and not self._may_send(j, number):
            raise Broken(f"early: {self.me} sends {number} to {j} without a permit it needs")
        del self.unsent[number, j]
        if not flagged:
            self._given(j, number)
        elif self.timely and not self.unfinished and self._may_permit(j, number):
            raise Broken(f"needless: {self.me} flags {number} to {j}")
        else:
            self.owed[number, j] = None
        self.flag[number, j] = flagged

    def _permit(self, j: Peer, number: int) -> None:
        if (number, j) not in self.flag:
            raise Broken(f"{self.me} permits {number} to {j}, which it did not send")
        if number > self.permit_given.get(j, 0):
            if not self._may_permit(j, number):
                raise Broken(f"early: {self.me} permits {number} to {j} without the acks it needs")
            if not self.flag[number, j]:
                raise Broken(f"needless: {self.me} permits {number} to {j}, which was not flagged")
            self._given(j, number)
        elif self.timely and not (self.asked[0] == j and 0 < self.asked[1] <= number):
            raise Broken(f"needless: {self.me} permits {number} to {j} again, unasked")

    def _given(self, j: Peer, number: int) -> None:
        self.permit_given[j] = max(self.permit_given.get(j, 0), number)
        for owed in [key for key in self.owed if key[1] == j and key[0] <= number]:
            del self.owed[owed]

    def _may_send(self, j: Peer, number: int) -> bool:
        exempt = {j} if self.optimal else set()
        if self.optimal and not self.overtaking:
            if next(iter(self.unsent))[0] < number:
                return False
            exempt &= self._meant(number)
        return all(
            self.permit_known.get(k, 0) >= need for k, need in self.needs[number].items() if k not in exempt
        )

    def _meant(self, number: int) -> set[Peer]:
        """Whom a message is for, if for one alone."""
        audience = self.audience[number] - self.gone
        return audience if len(audience) == 1 else set()

    def _may_permit(self, j: Peer, number: int) -> bool:
        """What must be known to be delivered elsewhere before j may pass on what `number` tells."""
        for n, x in self.unacked:
            if n > number:
                break
            if x != j or (n < number and not self.optimal):
                return False
        return True
