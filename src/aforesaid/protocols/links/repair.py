"""How a sender makes up for loss: when a message is taken for lost, and how many may be on their way at once.

One mechanism for all who number what they send to a peer and are told which of it came: hybrid buffering and
perfect links. It counts numbers and times; what is sent under a number is its owner's business.

The round trip is estimated by the rules of RFC 6298, one message timed at a time, and never one that was sent
again (Karn: nobody knows which of the two was answered). A message is overdue when a round trip and four
times its mean deviation have passed: a network that delays some much longer than others is given the time.

Loss. Acknowledgments name every message that came, also those that came before their predecessors. A message
is taken for lost when it is overdue *and* something that left no earlier has come (as RACK, RFC 8985, does).
So mere reordering sends little again, and gaps are filled a round trip after they arose, all at once.

Silence. If the oldest message is overdue and nothing that left since has come, and `resend_after` has passed
as well, then nothing is known any more. Everything will have to go again, but for now the oldest goes alone,
to ask; each time in vain the next wait is twice as long, up to `backoff_max` times. An answer ends it.

How much. At most `bound` messages are on their way; the others queue, and leave as acknowledgments come. Of
those each loss takes a quarter, and each round trip adds one: where a share q of all is lost, that settles at
4 / q. As long as it is below, by the losses seen lately, it doubles with each round trip instead. So random
loss of one in a hundred leaves 400 on their way (to halve at every loss, as TCP did, would leave 12); and
where senders overrun a path, each gives way in proportion to what it sends, until they share it. A bound that
is not used does not grow. After silence it begins anew, with `in_flight` or half of what it was.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from aforesaid.core import Effects, Nanoseconds, Process

LOST: Nanoseconds = -1
BOUND_MIN = 2.0
LOSS_TAKES = 0.25
LATELY = 1024
"""So many messages back."""


class Resend(NamedTuple):
    """The timer of one peer: when the oldest message on its way to it is overdue."""

    peer: Process


class Pace(NamedTuple):
    """The settings."""

    resend_after: Nanoseconds
    backoff_max: int
    in_flight: int


class RoundTrip:
    """How long answers take (RFC 6298)."""

    __slots__ = ("deviation", "since", "smoothed", "timed")

    def __init__(self) -> None:
        self.smoothed: Nanoseconds = LOST
        """LOST: nothing is known yet."""
        self.deviation: Nanoseconds = 0
        self.timed = 0
        """The message that is being timed; 0: none."""
        self.since: Nanoseconds = 0

    def began(self, number: int, now: Nanoseconds) -> None:
        """A message left for the first time."""
        if not self.timed:
            self.timed, self.since = number, now

    def ended(self, now: Nanoseconds) -> None:
        """The message that is timed was answered."""
        self.timed = 0
        took = now - self.since
        if self.smoothed == LOST:
            self.smoothed, self.deviation = took, took >> 1
        else:
            self.deviation += (abs(took - self.smoothed) - self.deviation) >> 2
            self.smoothed += (took - self.smoothed) >> 3

    def spoil(self) -> None:
        """It was sent again (Karn): nobody will know which was answered. The first time, too long is told."""
        if self.smoothed != LOST:
            self.timed = 0

    def overdue_after(self, first: Nanoseconds) -> Nanoseconds:
        """How long an answer takes at most, by all that is known; `first`, if that is nothing."""
        smoothed = self.smoothed
        if smoothed == LOST:
            return first
        # What comes in the very moment is not late, even if all others took exactly as long.
        return smoothed + max(4 * self.deviation, smoothed >> 5) + 1


class Flight:
    """What one peer was sent and is not known to have; and what waits to be sent to it."""

    __slots__ = (
        "backoff",
        "bound",
        "flying",
        "latest",
        "lost",
        "order",
        "pace",
        "queue",
        "sent",
        "share",
        "trip",
    )

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.trip = RoundTrip()
        self.bound: float = pace.in_flight
        self.share = 0.0
        """Of all that was sent lately, how much was lost."""
        self.backoff = 1
        """How many times as long as at first the next silence may last."""
        self.sent: dict[int, Nanoseconds] = {}
        """When it was sent last, by number; LOST, if it is to be sent again."""
        self.flying = 0
        """How many of these are not lost."""
        self.order: deque[int] = deque()
        """Those that fly, in the order in which they left; some have come meanwhile."""
        self.lost: deque[int] = deque()
        """What is to be sent again; some have come meanwhile."""
        self.queue: deque[int] = deque()
        """What was never sent."""
        self.latest: Nanoseconds = LOST
        """When the latest of those left that have come."""

    def enter(self, number: int, now: Nanoseconds) -> bool:
        """One more to be sent, of the highest number yet: whether that may be at once."""
        if self.flying >= self.bound or self.queue or self.lost or self.backoff > 1:
            self.queue.append(number)
            return False
        self._leave(number, now)
        self.trip.began(number, now)
        return True

    def came(self, numbers: Iterable[int], now: Nanoseconds) -> None:
        """These have come; others may be known for lost by that."""
        sent, trip, busy = self.sent, self.trip, 2 * self.flying >= self.bound
        for number in numbers:
            when = sent.pop(number, LOST)
            if when == LOST:
                continue
            self.flying -= 1
            if number == trip.timed:
                trip.ended(now)
            # If that was too soon, it answers an earlier sending.
            if when > self.latest and now - when >= trip.smoothed >> 1:
                self.latest = when
            self.share -= self.share / LATELY
            if busy:
                self.bound += 1 if self.bound * self.share * LOSS_TAKES < 1 else 1 / self.bound
        self.backoff = 1
        self._lose(now)

    def expired(self, now: Nanoseconds) -> None:
        """The timer went off: something is lost, or nothing comes."""
        if not self._lose(now):
            self._silent()

    def next(self, now: Nanoseconds) -> int:
        """What leaves now, the lost first; 0, if nothing may."""
        if self.flying >= (self.bound if self.backoff == 1 else 1):
            return 0
        while self.lost:
            number = self.lost.popleft()
            if number in self.sent:
                self._leave(number, now)
                return number
        if not self.queue:
            return 0
        number = self.queue.popleft()
        self._leave(number, now)
        self.trip.began(number, now)
        return number

    def arm(self, peer: Process, out: Effects) -> None:
        """See to it that the timer goes off when the oldest on its way is overdue, if there is one."""
        deadline = self._deadline()
        if deadline is None:
            out.disarm(Resend(peer))
        else:
            out.arm(Resend(peer), deadline)

    def _leave(self, number: int, now: Nanoseconds) -> None:
        self.sent[number] = now
        self.order.append(number)
        self.flying += 1

    def _lost(self, number: int) -> None:
        self.sent[number] = LOST
        self.lost.append(number)
        self.flying -= 1
        if number == self.trip.timed:
            self.trip.spoil()

    def _lose(self, now: Nanoseconds) -> int:
        """Take for lost what left no later than something that came, and is overdue; how many."""
        before = self.flying
        end = min(self.latest, now - self.trip.overdue_after(self.pace.resend_after))
        order, sent = self.order, self.sent
        while order:
            when = sent.get(order[0], LOST)
            if when > end:
                break
            number = order.popleft()
            if when != LOST:
                self._lost(number)
                self.bound = max(self.bound - LOSS_TAKES, BOUND_MIN)
                self.share += (1 - self.share) / LATELY
        return before - self.flying

    def _silent(self) -> None:
        """All is to be sent again, one message first."""
        self.trip.spoil()
        self.sent = dict.fromkeys(sorted(self.sent), LOST)
        self.lost = deque(self.sent)
        self.order.clear()
        self.flying = 0
        self.bound = min(self.pace.in_flight, max(self.bound / 2, BOUND_MIN))
        self.backoff = min(2 * self.backoff, self.pace.backoff_max)

    def _deadline(self) -> Nanoseconds | None:
        order, sent, resend_after = self.order, self.sent, self.pace.resend_after
        while order:
            when = sent.get(order[0], LOST)
            if when != LOST:
                overdue_after = self.trip.overdue_after(resend_after)
                if when <= self.latest:
                    return when + overdue_after
                return when + max(overdue_after, resend_after) * self.backoff
            order.popleft()
        return None
