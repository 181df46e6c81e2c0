"""Own messages under way: how many there may be, and what becomes of their receipts.

Protocols know in different ways when a message is no more their concern (`core.capabilities`): one that is
`Windowed` by its window, one that is `Acknowledging` by the frames that have arrived, a flooding broadcast as
soon as it is with the transport. Of any other nothing is known: it says itself when it is busy.
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

from aforesaid.core import Acknowledging, MessageId, Nanoseconds, Process, Windowed
from aforesaid.node.config import Queues
from aforesaid.node.messages import Receipt

T = TypeVar("T")


class Flight:
    """What a node has said and others may not have; by itself it knows nothing of that."""

    tells = False
    """Whether it can be told who has delivered a message."""

    def room(self) -> int:
        """For how many more messages there is room."""
        return 1

    def said(self, receipt: Receipt) -> None:
        """A message was said just now."""

    def settle(self) -> None:
        """The protocol has heard something: there may be more room."""

    @property
    def held(self) -> int:
        """How many own messages are under way, as far as accounts are kept."""
        return 0

    def said_at(self, number: int) -> Nanoseconds | None:
        """When an own message that is under way was said; None: not known."""
        return None

    def oldest(self, peer: Process) -> MessageId | None:
        """The first message that waits for this peer; None: not known, or none does."""
        return None

    def evicting(self, peer: Process) -> None:
        """A peer will be evicted in a moment."""

    def close(self, error: Exception) -> None:
        """Nothing more will be told."""


class Window(Flight, Generic[T]):
    """A bounded window of messages under way, in the order they were said."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self._pending: deque[T] = deque()
        self._bytes = 0

    @property
    def held(self) -> int:
        return len(self._pending)

    def room(self) -> int:
        if self._bytes >= self._queues.out_bytes:
            return 0
        return self._queues.out_messages - len(self._pending)


class WindowFlight(Window[Receipt]):
    """A message is done with when it and all before it are stable."""

    tells = True

    def __init__(self, machine: Windowed, queues: Queues) -> None:
        super().__init__(queues)
        self._machine = machine
        self._watched: dict[int, Receipt] = {}
        self.closed: Exception | None = None
        """Why nothing more will be found out."""

    def said(self, receipt: Receipt) -> None:
        if receipt.id.number >= self._machine.stable_below:
            receipt.begin(self)
            self._pending.append(receipt)
            self._bytes += receipt.size

    def settle(self) -> None:
        pending, first = self._pending, self._machine.stable_below
        while pending and pending[0].id.number < first:
            receipt = pending.popleft()
            self._bytes -= receipt.size
            if self._watched:
                self._watched.pop(receipt.id.number, None)
            receipt.has_become_stable()
        if self._watched:
            for number in [n for n, receipt in self._watched.items() if not self._waiting(receipt)]:
                self._watched.pop(number).has_been_delivered()

    def watch(self, receipt: Receipt) -> None:
        """Someone waits for the delivery of this message."""
        if not self._waiting(receipt):
            receipt.has_been_delivered()
        elif self.closed is None:
            self._watched[receipt.id.number] = receipt

    def oldest(self, peer: Process) -> MessageId | None:
        return next((receipt.id for receipt in self._pending if peer in self._waiting(receipt)), None)

    def evicting(self, peer: Process) -> None:
        for receipt in self._pending:
            if peer in self._waiting(receipt):
                receipt.lost |= {peer}

    def close(self, error: Exception) -> None:
        self.settle()
        self.closed = self.closed or error
        for receipt in self._pending:
            receipt.is_hopeless(error)

    def said_at(self, number: int) -> Nanoseconds | None:
        return next((receipt.said_ns for receipt in self._pending if receipt.id.number == number), None)

    def _waiting(self, receipt: Receipt) -> Collection[Process]:
        """The receivers that have not acknowledged it."""
        return self._machine.lacking(receipt.id.number)


class FrameFlight(Window[tuple[dict[Process, int], int]]):
    """A message is done with when every peer has acknowledged the frames that it made.

    Kept of each message: the last frame on each link when it was said, and its size.
    """

    def __init__(self, links: Acknowledging, queues: Queues) -> None:
        super().__init__(queues)
        self._links = links

    def said(self, receipt: Receipt) -> None:
        self._pending.append((dict(self._links.sent()), receipt.size))
        self._bytes += receipt.size
        self.settle()

    def settle(self) -> None:
        while self._pending and self._acknowledged(self._pending[0][0]):
            self._bytes -= self._pending.popleft()[1]

    def _acknowledged(self, frames: dict[Process, int]) -> bool:
        return all(
            (below := self._links.arrived_below(peer)) is None or below > number
            for peer, number in frames.items()
        )


class FloodFlight(Flight):
    """A flooding broadcast: there is room while no link towards a neighbour is half full."""

    def __init__(self, buffered: Callable[[], int], queues: Queues) -> None:
        self._buffered = buffered
        self._queues = queues

    def room(self) -> int:
        return 1 if 2 * self._buffered() < self._queues.link_bytes else 0
