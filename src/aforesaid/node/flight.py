"""Own messages under way: how many there may be, and what becomes of their receipts.

Protocols know in different ways when a message is no more their concern (`core.capabilities`): one that is
`Windowed` by its window, one that is `Acknowledging` by the frames that have arrived, a flooding broadcast as
soon as it is with the transport. Of any other nothing is known: it says itself when it is busy.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping

from aforesaid.core import Acknowledging, MessageId, Nanoseconds, Process, Windowed
from aforesaid.ground import ground
from aforesaid.node.config import Queues
from aforesaid.node.latency import Histogram
from aforesaid.node.messages import Receipt
from aforesaid.node.retention import Retention


class Flight:
    """What a node has said and others may not have; by itself it knows nothing of that."""

    tells = False
    """Whether it can be told who has delivered a message."""
    held = 0
    """How many own messages are under way, as far as accounts are kept."""
    acknowledged: Histogram | None = None
    """How long own messages were under way, as far as accounts are kept."""

    def room(self) -> int:
        """For how many more messages there is room."""
        return 1

    def said(self, receipt: Receipt) -> None:
        """A message was said just now."""

    def resume(self, last: MessageId, now: Nanoseconds) -> None:
        """After a restart, of which this was the last own message: some may be under way, from now on."""

    def settle(self) -> None:
        """The protocol has heard something: there may be more room."""

    def said_at(self, number: int) -> Nanoseconds | None:
        """When an own message that is under way was said; None: not known."""
        return None

    def waits(self) -> Mapping[Process, Receipt]:
        """By peer, the oldest message that waits for it, as far as accounts are kept."""
        return {}

    def evicting(self, peer: Process) -> None:
        """A peer will be evicted in a moment."""

    def close(self, error: Exception) -> None:
        """Nothing more will be told."""


class Window(Flight):
    """A bounded window of messages under way, in the order they were said."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self.retention: Retention | None = None
        """How much more there may be while somebody is away."""
        self._pending: deque[Receipt] = deque()
        self.held = 0
        self._bytes = 0
        self.acknowledged: Histogram = Histogram()
        self._now = ground().monotonic_ns

    def room(self) -> int:
        room = 0 if self._bytes >= self._queues.out_bytes else self._queues.out_messages - self.held
        if self.retention is None:
            return room
        if room > 0:
            self.retention.full_for = ()
            return room
        return self.retention.room(self.held, self._bytes, self._pending[0])

    def said_at(self, number: int) -> Nanoseconds | None:
        for receipt in self._pending:
            if receipt.number - receipt.count < number <= receipt.number:
                return receipt.said_ns
        return None

    def add(self, receipt: Receipt) -> None:
        """It is under way."""
        self._pending.append(receipt)
        self.held += receipt.count
        self._bytes += receipt.size

    @property
    def bytes_left(self) -> int:
        """As long as this is more than 0 there is room in bytes."""
        return self._queues.out_bytes - self._bytes

    def _done(self, now: Nanoseconds) -> Receipt:
        """The oldest is under way no more."""
        receipt = self._pending.popleft()
        self.acknowledged.add(now - receipt.said_ns, receipt.count)
        self.held -= receipt.count
        self._bytes -= receipt.size
        return receipt


class WindowFlight(Window):
    """A message is done with when it and all before it are stable."""

    tells = True

    def __init__(self, machine: Windowed, queues: Queues) -> None:
        super().__init__(queues)
        self._machine = machine
        self._watched: dict[int, Receipt] = {}
        """Someone waits for the delivery of these."""
        self._awaited: deque[Receipt] = deque()
        """Or for their being stable; the others need not be told."""
        self.closed: Exception | None = None
        """Why nothing more will be found out."""

    def said(self, receipt: Receipt) -> None:
        if receipt.number >= self._machine.stable_below:
            receipt.begin(self)
            self.add(receipt)

    def resume(self, last: MessageId, now: Nanoseconds) -> None:
        for number in range(self._machine.stable_below, last.number + 1):
            self.said(Receipt(last.origin, last.incarnation, number, 0, now))

    def settle(self) -> None:
        pending, first = self._pending, self._machine.stable_below
        if not pending or pending[0].number >= first:
            if not self._watched:
                return
        else:
            self._settle_below(first)
            if not self._watched:
                return
        # To ask may be to say what was gathered, which comes back here.
        for number, receipt in list(self._watched.items()):
            if not self._waiting(receipt):
                self._watched.pop(number, None)
                receipt.has_been_delivered()

    def _settle_below(self, first: int) -> None:
        """All messages of a lower number are stable: they are under way no more."""
        pending, count, size = self._pending, 0, 0
        now, took = self._now(), []
        while pending and pending[0].number < first:
            receipt = pending.popleft()
            count += receipt.count
            size += receipt.size
            if receipt.count == 1:
                took.append(now - receipt.said_ns)
            else:
                self.acknowledged.add(now - receipt.said_ns, receipt.count)
        if took:
            took.reverse()
            self.acknowledged.add_each(took)
        self.held -= count
        self._bytes -= size
        if self._watched:
            for receipt in [each for each in self._watched.values() if each.number < first]:
                del self._watched[receipt.number]
                receipt.has_become_stable()
        while self._awaited and self._awaited[0].number < first:
            self._awaited.popleft().has_become_stable()

    def keeps(self, receipt: Receipt) -> bool:
        """Whether it is under way."""
        return bool(self._pending) and receipt.number >= self._pending[0].number

    def await_stable(self, receipt: Receipt) -> None:
        """Someone waits until this message and all before it are stable."""
        at = len(self._awaited)
        while at and self._awaited[at - 1].number > receipt.number:
            at -= 1
        self._awaited.insert(at, receipt)

    def watch(self, receipt: Receipt) -> None:
        """Someone waits for the delivery of this message."""
        if not self._waiting(receipt):
            receipt.has_been_delivered()
        elif self.closed is None:
            self._watched[receipt.number] = receipt

    def waits(self) -> Mapping[Process, Receipt]:
        found: dict[Process, Receipt] = {}
        for receipt in list(self._pending):
            for peer in self._waiting(receipt):
                found.setdefault(peer, receipt)
        return found

    def evicting(self, peer: Process) -> None:
        for receipt in self._pending:
            if peer in self._waiting(receipt):
                receipt.lost |= {peer}

    def close(self, error: Exception) -> None:
        self.settle()
        self.closed = self.closed or error
        for receipt in self._pending:
            receipt.is_hopeless(error)

    def _waiting(self, receipt: Receipt) -> Collection[Process]:
        """The receivers that have not acknowledged it."""
        return self._machine.lacking(receipt.number)


class FrameFlight(Window):
    """A message is done with when every peer has acknowledged the frames that it made."""

    def __init__(self, links: Acknowledging, queues: Queues) -> None:
        super().__init__(queues)
        self._links = links
        self._frames: deque[dict[Process, int]] = deque()
        """Of each message under way, the last frame on each link when it was said."""

    def said(self, receipt: Receipt) -> None:
        self.add(receipt)
        self._frames.append(dict(self._links.sent()))
        self.settle()

    def resume(self, last: MessageId, now: Nanoseconds) -> None:
        self.said(Receipt(*last, 0, now))

    def settle(self) -> None:
        while self._pending and not any(self._lacks(*frame) for frame in self._frames[0].items()):
            self._done(self._now())
            self._frames.popleft()

    def waits(self) -> Mapping[Process, Receipt]:
        found: dict[Process, Receipt] = {}
        for receipt, frames in zip(self._pending, self._frames, strict=True):
            for peer, number in frames.items():
                if self._lacks(peer, number):
                    found.setdefault(peer, receipt)
        return found

    def _lacks(self, peer: Process, number: int) -> bool:
        """Whether a frame up to this one has not arrived."""
        below = self._links.arrived_below(peer)
        return below is not None and below <= number


class FloodFlight(Flight):
    """A flooding broadcast: there is room while no link towards a neighbour is half full."""

    def __init__(self, buffered: Callable[[], int], queues: Queues) -> None:
        self._buffered = buffered
        self._queues = queues

    def room(self) -> int:
        return 1 if 2 * self._buffered() < self._queues.link_bytes else 0
