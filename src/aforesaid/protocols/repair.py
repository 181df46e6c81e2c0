"""How a sender makes up for loss: when a message is taken for lost, and how many may be on their way at once.

One mechanism for all who number what they send to a peer and are told which of it came: hybrid buffering and
perfect links. It counts numbers and times; what is sent under a number is its owner's business.

The round trip is estimated by the rules of RFC 6298, one message timed at a time, and never one that was sent
again (Karn: nobody knows which of the two was answered). A message is overdue when a round trip and four
times its mean deviation have passed: a network that delays some much longer than others is given the time. As
long as nothing is known there is a guess, `resend_after` at first, which tells how long to wait and no more.
It has to grow where answers are late, or a round trip above it would never be known; and must not where they
are lost. What tells the two apart: an answer that comes L after the last of n askings in vain took L at
least. Where messages are lost it took just that. Where they are late it comes at any moment between two
askings, and took about n such waits. So the guess grows to 4 n L; by L at least, lest it be missed by a
little each time; to eight times itself at most: the answer of a peer that was away for an hour tells nothing
of its round trip. Under loss n is small and L the round trip, so that the guess stays within some round trips
until something is answered that was sent once. That is soon: after a repetition the next that leaves for the
first time is timed.

Loss. Acknowledgments name every message that came, also those that came before their predecessors. A message
is taken for lost when it is overdue *and* something that left no earlier has come (as RACK, RFC 8985, does).
So mere reordering sends little again, and gaps are filled a round trip after they arose, all at once.

Silence. If the oldest message is overdue and nothing that left since has come, and `resend_after` has passed
as well, then nothing is known any more. Everything will have to go again, but for now the oldest goes alone,
to ask; each time in vain the next wait is twice as long, up to `backoff_max` times `resend_after`. Who is
farther away than that is asked once in each round trip, which floods nobody. A guess may be far too short: it
is waited for once more with every eighth asking in vain, up to `backoff_max` times. An answer ends it.

Streams (`ordered`) keep order, and lose nothing as long as they stand. So there what left in one moment is
not overtaken, an answer to what was sent again counts as one to its first sending, and it is not silent while
anything comes: who reads slowly, or has stalled, is not flooded with what it has still to read.

How much. At most `bound` messages are on their way; the others queue, and leave as acknowledgments come. Of
those each loss takes a quarter, and each round trip adds one: where a share q of all is lost, that settles at
4 / q. As long as it is below, by the losses seen lately, it doubles with each round trip instead. So random
loss of one in a hundred leaves 400 on their way (to halve at every loss, as TCP did, would leave 12); and
where senders overrun a path, each gives way in proportion to what it sends, until they share it. A bound that
is not used does not grow. After silence it begins anew, with `in_flight` or half of what it was.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from aforesaid.core import Effects, Nanoseconds, Process, new

ABSENT: Nanoseconds = -2
LOST: Nanoseconds = -1
FAR: Nanoseconds = 1 << 62
BOUND_MIN = 2.0
LOSS_TAKES = 0.25
LATELY = 1024
"""So many messages back."""
GUESS_GROWS = 8
"""By so many times at most, with one answer that may be to any of several sendings."""
DOUBTED = 8
"""So many askings in vain make the next wait longer by one guess."""

T = TypeVar("T")

NONE: deque[Any] = deque(maxlen=0)
"""An empty queue that nothing enters: a new one would cost more than all else that is kept of a peer."""


NOTHING: dict[int, Nanoseconds] = {}
"""An empty table that nothing enters, for the same reason."""


def appended(queue: deque[T], item: T) -> deque[T]:
    """The queue with one more, which may be another object."""
    if not queue:
        return deque((item,))
    queue.append(item)
    return queue


class Resend(NamedTuple):
    """The timer of one peer: when the oldest message on its way to it is overdue."""

    peer: Process


class Tally:
    """How many messages were sent again. Operators want to know; nothing is decided by it, so that states of
    a protocol that differ in nothing else are the same (`core.freeze`)."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def frozen(self) -> tuple[()]:
        return ()


class Pace(NamedTuple):
    """The settings, and what is counted of all peers together."""

    resend_after: Nanoseconds
    backoff_max: int
    in_flight: int
    again: Tally
    ordered: bool = False
    """Whether frames keep their order, as on streams."""


class RoundTrip:
    """How long answers take (RFC 6298)."""

    __slots__ = ("deviation", "since", "smoothed", "timed")

    def __init__(self, first: Nanoseconds) -> None:
        self.smoothed: Nanoseconds = LOST
        """LOST: nothing is known yet."""
        self.deviation = first
        """As long as nothing is known: how long to wait at first."""
        self.timed = 0
        """The message that is being timed; 0: none. Below: so often was asked in vain; nothing is known."""
        self.since: Nanoseconds = 0
        """When that left, or was asked last."""

    def overdue_after(self) -> Nanoseconds:
        """How long an answer takes at most, by all that is known."""
        smoothed = self.smoothed
        if smoothed == LOST:
            return self.deviation
        slack, least = 4 * self.deviation, smoothed >> 5
        # What comes in the very moment is not late, even if all others took exactly as long.
        return smoothed + (slack if slack > least else least) + 1

    def patient(self, least: Nanoseconds, times: int) -> Nanoseconds:
        """How long to wait for an answer now: `least` so many times, or as long as answers take."""
        wait = self.overdue_after()
        if self.timed < 0:
            wait *= min(times, 1 + -self.timed // DOUBTED)
        return max(wait, least * times)

    def ended(self, now: Nanoseconds) -> None:
        """The message that is timed was answered."""
        took = now - self.since
        self.timed = self.since = 0
        if self.smoothed == LOST:
            self.smoothed, self.deviation = took, took >> 1
        else:
            self.deviation += (abs(took - self.smoothed) - self.deviation) >> 2
            self.smoothed += (took - self.smoothed) >> 3

    def asked(self, now: Nanoseconds) -> None:
        """In vain till now, and once more (Karn): nobody will know which was answered."""
        if self.smoothed == LOST:
            self.timed, self.since = min(self.timed, 0) - 1, now
        else:
            self.timed = self.since = 0

    def guessed(self, now: Nanoseconds) -> None:
        """What was asked was answered: that took as long as since the last asking, or longer."""
        times, took, guess = -self.timed, now - self.since, self.deviation
        self.timed = self.since = 0
        self.deviation = min(GUESS_GROWS * guess, max(guess + took, 4 * times * took) + 1)


class Flight(RoundTrip):
    """What one peer was sent and is not known to have; and what waits to be sent to it.

    Written for fair weather, when what left first comes first: then a message passes `enter` and `came`, and
    nothing else is called. At rest it holds no container and no time, only what was learnt.
    """

    __slots__ = (
        "backoff",
        "bound",
        "heard",
        "latest",
        "lost",
        "order",
        "pace",
        "peer",
        "queue",
        "repeated",
        "rings",
        "sent",
        "share",
        "strayed",
    )

    def __init__(self, peer: Process, pace: Pace) -> None:
        super().__init__(pace.resend_after)
        self.peer = peer
        self.pace = pace
        self.rings: Nanoseconds = 0
        """When the timer is set to ring; 0: it is not."""
        self.bound: float = pace.in_flight
        self.share = 0.0
        """Of all that was sent lately, how much was lost."""
        self.backoff = 1
        """How many times as long as at first the next silence may last."""
        self.sent = NOTHING
        """When it was sent last, by number; LOST, if it is to be sent again."""
        self.strayed = 0
        """How many of these are lost."""
        self.order: deque[int] = NONE
        """Those that fly, in the order in which they left; some have come meanwhile."""
        self.lost: deque[int] = NONE
        """What is to be sent again, in order; some have come meanwhile."""
        self.queue: deque[int] = NONE
        """What was never sent."""
        self.latest: Nanoseconds = LOST
        """When the latest of those left that have come."""
        self.heard: Nanoseconds = 0
        self.repeated = 0
        """On streams: when something came last, and up to which number some were sent again."""

    @property
    def flying(self) -> int:
        return len(self.sent) - self.strayed

    def enter(self, number: int, now: Nanoseconds, out: Effects) -> bool:
        """One more to be sent, of the highest number yet: whether that may be at once."""
        sent = self.sent
        if len(sent) - self.strayed >= self.bound or self.queue or self.lost or self.backoff > 1:
            self.queue = appended(self.queue, number)
            return False
        if sent:
            sent[number] = now
            self.order.append(number)
            if not self.timed:
                self.timed, self.since = number, now
            return True
        # Nothing else is on its way, is timed, or lets the timer ring: this is what `watch` would find.
        self.sent, self.order = {number: now}, deque((number,))
        self.timed, self.since = number, now
        wait, overdue_after = self.pace.resend_after, self.overdue_after()
        self.rings = now + (overdue_after if overdue_after > wait else wait)
        out.arm(new(Resend, (self.peer,)), self.rings)
        return True

    def came(self, numbers: Iterable[int], now: Nanoseconds, out: Effects) -> bool:
        """These have come; whether others may leave now, which are known for lost by that, or had to wait."""
        sent, order = self.sent, self.order
        flying = len(sent) - self.strayed
        for number in numbers:
            when = sent.pop(number, ABSENT)
            if number == self.timed:
                self.ended(now)
            if when < 0:
                self.strayed -= when == LOST
                continue
            if order[0] == number:
                order.popleft()
            # If that was too soon, it answers an earlier sending.
            if when > self.latest and now - when >= self.smoothed >> 1 and number > self.repeated:
                self.latest = when
        if self.pace.ordered:
            self.heard = now
        if 2 * flying >= self.bound or self.share or self.backoff > 1:
            self._grow(flying, flying - self.flying, now)
        if not sent:
            self.sent, self.order, self.lost, self.latest = NOTHING, NONE, NONE, LOST
            if not self.queue:
                self.rings = 0
                out.disarm(new(Resend, (self.peer,)))
                return False
        elif sent.get(order[0] if order else 0, LOST) > self.latest and self.rings < FAR:
            # Fair weather: nothing older is on its way, and the timer rings too soon, if at all.
            return bool(self.lost or self.queue)
        elif self._head() <= self.latest:
            self._lose(now)
        if self.lost or self.queue:
            return True
        self.watch(out)
        return False

    def expired(self, now: Nanoseconds) -> None:
        """The timer went off: something is lost, or nothing comes. Or it was set when an older one was on its
        way, and rings too soon; but if it rings sooner than set, its host wants everything sent again."""
        too_soon = self.rings <= now < self._deadline()
        self.rings = 0
        if not too_soon and not self._lose(now):
            self._silent(now)

    def next(self, now: Nanoseconds) -> int:
        """What leaves now, the lost first; 0, if nothing may."""
        sent, lost = self.sent, self.lost
        if not (lost or self.queue) or len(sent) - self.strayed >= (self.bound if self.backoff == 1 else 1):
            return 0
        while lost:
            number = lost.popleft()
            if number in sent:
                self.strayed -= 1
                self.pace.again.count += 1
                break
        else:
            if not self.queue:
                return 0
            number = self.queue.popleft()
            self.queue = self.queue or NONE
            if not self.timed:
                self.timed, self.since = number, now
        if sent:
            sent[number] = now
        else:
            self.sent = {number: now}
        self.order = appended(self.order, number)
        return number

    def watch(self, out: Effects) -> None:
        """See to it that the timer rings when the oldest on its way is overdue, or sooner."""
        deadline = self._deadline()
        if deadline >= FAR:
            self.rings = 0
            out.disarm(new(Resend, (self.peer,)))
        elif not self.rings or deadline < self.rings:
            self.rings = deadline
            out.arm(new(Resend, (self.peer,)), deadline)

    def ring(self, now: Nanoseconds, out: Effects) -> None:
        """More may leave than its owner can send in one step: the timer rings now, which is too soon."""
        self.rings = now
        out.arm(new(Resend, (self.peer,)), now)

    def _grow(self, flying: int, count: int, now: Nanoseconds) -> None:
        """So many of those that flew have come: the bound grows, if it was made use of."""
        if self.share:
            self.share -= self.share * min(1.0, count / LATELY)
        if 2 * flying >= self.bound:
            self.bound += count if self.bound * self.share * LOSS_TAKES < 1 else count / self.bound
        if self.backoff > 1:
            self.backoff, self.rings = 1, FAR
        if self.timed < 0:
            self.guessed(now)

    def _head(self) -> Nanoseconds:
        """When the oldest on its way left; FAR, if there is none."""
        order, sent = self.order, self.sent
        while order:
            when = sent.get(order[0], LOST)
            if when != LOST:
                return when
            order.popleft()
        return FAR

    def _deadline(self) -> Nanoseconds:
        when, wait = self._head(), self.overdue_after()
        if when > self.latest - self.pace.ordered:
            when = max(when, self.heard)
            wait = self.patient(self.pace.resend_after, self.backoff)
        return when + wait

    def _lose(self, now: Nanoseconds) -> bool:
        """Take for lost what left no later than something that came, and is overdue; whether anything was."""
        order, sent, before = self.order, self.sent, self.strayed
        end = min(self.latest - self.pace.ordered, now - self.overdue_after())
        while order:
            number = order[0]
            when = sent.get(number, LOST)
            if when > end:
                break
            order.popleft()
            if when != LOST:
                sent[number] = LOST
                self.lost = appended(self.lost, number)
                self._repeat(number)
                self.strayed += 1
                self.bound = max(self.bound - LOSS_TAKES, BOUND_MIN)
                self.share += (1 - self.share) / LATELY
                if number == self.timed:
                    self.timed = self.since = 0
        return self.strayed > before

    def _silent(self, now: Nanoseconds) -> None:
        """All is to be sent again, one message first."""
        self.asked(now)
        self.sent = dict.fromkeys(sorted(self.sent), LOST)
        self.lost = deque(self.sent)
        self.strayed = len(self.sent)
        self._repeat(self.lost[-1] if self.lost else 0)
        self.order = NONE
        self.bound = min(self.pace.in_flight, max(self.bound / 2, BOUND_MIN))
        self.backoff = min(2 * self.backoff, self.pace.backoff_max)

    def _repeat(self, number: int) -> None:
        if self.pace.ordered:
            self.repeated = max(self.repeated, number)
