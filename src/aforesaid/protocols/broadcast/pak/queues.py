"""A receiver's queues: what it has accepted of each sender, and when that may be delivered.

V[q] counts the messages of q delivered here, own ones when they are released. One FIFO queue per sender, of
wr messages at most, with what is put aside because it came too early; only its head is eligible. A head m is
delivered once (VTm[h] - V[h]) mod k is in 1..ct for no h but the sender and oneself. Until then it is filed
under the first entry it misses and looked at again, from that entry on, when V[h] changes: an entry once
satisfied stays so, since V[h] never runs more than ct ahead of a message that is not delivered. So a message
costs one pass over its vector in all.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from aforesaid.core import Payload
from aforesaid.protocols.broadcast.pak.frames import Data
from aforesaid.protocols.broadcast.pak.vector import ModularVectors


class Arrival(NamedTuple):
    """A message accepted and not delivered yet."""

    number: int
    vector: tuple[int, ...]
    payload: Payload
    ack_wanted: bool


class Queues:
    """What one process has accepted and delivered. Processes are ranks."""

    def __init__(self, own: int, vectors: ModularVectors, credit: int, receiver_credit: int) -> None:
        self.own = own
        self.vectors = vectors
        self.credit = credit
        self.receiver_credit = receiver_credit
        self.vector = [0] * vectors.n
        """V, as whole numbers; only its residues modulo k decide deliveries."""
        self.accepted = [0] * vectors.n
        self.arrivals: list[deque[Arrival]] = [deque() for _ in range(vectors.n)]
        """By sender, accepted and undelivered: the numbers after vector[sender], without a gap."""
        self.early: dict[int, dict[int, Data]] = {}
        """By sender, what came before one that precedes it, by number. No empty ones."""
        self.passed = [0] * vectors.n
        """By sender, how many entries of its queue's head are known to be satisfied."""
        self.waiting: dict[int, list[int]] = {}
        """By entry, the senders whose queue's head misses it. No empty lists."""

    def pending(self) -> int:
        """How many messages wait here, for delivery or for an earlier one of their sender."""
        return sum(map(len, self.arrivals)) + sum(map(len, self.early.values()))

    def stamp(self) -> bytes:
        """The vector time of a message released now."""
        return self.vectors.pack(self.vector)

    def accept(self, sender: int, data: Data) -> bool:
        """Accept a message if it is the next of its sender and within receiver credit (section 5.1).

        One that is within receiver credit and not the next is put aside, as if it were still on its way.
        """
        number = data.number
        if number - 1 - self.vector[sender] >= self.receiver_credit:
            return False
        arrival = Arrival(number, self.vectors.unpack(data.vector), data.payload, data.ack_wanted)
        if number != self.accepted[sender] + 1:
            early = self.early.setdefault(sender, {})
            if data.ack_wanted or number not in early:
                early[number] = data
            return False
        self.accepted[sender] = number
        self.arrivals[sender].append(arrival)
        return True

    def take_early(self, sender: int) -> Data | None:
        """What was put aside and is the next now, as if it arrived now."""
        early = self.early.get(sender, {})
        data = early.pop(self.accepted[sender] + 1, None)
        if data is not None and not early:
            del self.early[sender]
        return data

    def forget_early(self, sender: int) -> None:
        """What was put aside of a sender is as good as lost."""
        self.early.pop(sender, None)

    def ask_for_ack(self, sender: int, number: int) -> None:
        """A queued message came again, and now its sender wants an ack."""
        arrivals = self.arrivals[sender]
        place = number - arrivals[0].number
        arrivals[place] = arrivals[place]._replace(ack_wanted=True)

    def ready(self, sender: int) -> list[tuple[int, Arrival]]:
        """Take the head of a sender's queue if it misses nothing, and all that this sets free, in order."""
        ready: list[tuple[int, Arrival]] = []
        senders = deque((sender,))
        while senders:
            sender = senders.popleft()
            arrivals = self.arrivals[sender]
            while arrivals:
                entry = self.first_missing(sender, arrivals[0].vector)
                if entry < self.vectors.n:
                    self.passed[sender] = entry
                    self.waiting.setdefault(entry, []).append(sender)
                    break
                self.passed[sender] = 0
                self.vector[sender] += 1
                ready.append((sender, arrivals.popleft()))
                senders.extend(self.waiting.pop(sender, ()))
        return ready

    def first_missing(self, sender: int, vector: tuple[int, ...]) -> int:
        """The delivery condition (section 5.1, line R1): the first entry that fails it, or n."""
        k, credit, mine, own = self.vectors.k, self.credit, self.vector, self.own
        for entry in range(self.passed[sender], len(vector)):
            if 0 < (vector[entry] - mine[entry]) % k <= credit and entry != sender and entry != own:
                return entry
        return len(vector)

    def drop_orphans(self, crashed: Sequence[int]) -> None:
        """Drop what one of the crashed said after hearing what no survivor has: nobody can deliver it.

        To be called once all that survivors have of the crashed is accepted here. Then such a message misses
        an entry of one of whom nothing waits: of all that it depends on and is not delivered, take what was
        said first; it is not accepted, and what its sender said before is delivered.
        """
        k, credit = self.vectors.k, self.credit
        for sender in crashed:
            arrivals = self.arrivals[sender]
            if arrivals and any(
                0 < (arrivals[0].vector[entry] - self.vector[entry]) % k <= credit
                for entry in crashed
                if entry != sender and not self.arrivals[entry]
            ):
                self._drop(sender)

    def _drop(self, sender: int) -> None:
        self.arrivals[sender].clear()
        waiting = self.waiting[self.passed[sender]]
        waiting.remove(sender)
        if not waiting:
            del self.waiting[self.passed[sender]]
