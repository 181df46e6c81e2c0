"""Waiting causal broadcast with vector clocks (Guerraoui (undated), algorithm 2), over any broadcast layer.

V[q] counts the messages of q delivered here. A message carries W, V as it was when it was sent, with the
sender's own entry counting what the sender had sent before. It may be delivered once W <= V; until then it
waits. Over reliable broadcast this is causal broadcast; over uniform broadcast, uniform causal broadcast.

Deviations from the printed algorithm, each with a test in tests/paper/test_slides.py:
- own messages go through the layer below and wait like all others; delivering them at broadcast, as printed,
  breaks uniformity over uniform broadcast;
- a message is delivered with its sender s as origin (the slide says self); V[s] grows before the callback;
- `pending` is never rescanned. A waiting message is filed under the first entry it misses, (q, W[q]); when
  V[q] reaches W[q] it is looked at again, from that entry on, since V never shrinks. So each message costs
  one pass over its vector in all, and an arrival touches only what it sets free.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from aforesaid.core import (
    Effects,
    Explaining,
    Handed,
    Layer,
    MessageId,
    Misuse,
    Nanoseconds,
    Payload,
    Process,
    Reason,
    Remembering,
    Vector,
    frame,
)
from aforesaid.protocols.algorithm import Need
from aforesaid.protocols.layers.layered import OverLayer
from aforesaid.protocols.layers.stacking import RB, over_each


@frame()
class Stamped(NamedTuple):
    """What travels through the layer below: W, in the order of the group's sorted names, and the payload."""

    vector: Vector
    payload: Payload


class Pending(NamedTuple):
    """A message received and not delivered yet; entries of its vector before `entry` are satisfied."""

    sender: int
    incarnation: int
    vector: tuple[int, ...]
    payload: Payload
    entry: int


class Waiting(OverLayer, Explaining, Remembering):
    """Algorithm 2 at one process of a fixed group."""

    def __init__(self, me: Process, group: Sequence[Process], below: Layer, incarnation: int = 0) -> None:
        self.group = tuple(sorted(group))
        self.rank = {name: rank for rank, name in enumerate(self.group)}
        if me not in self.rank:
            raise Misuse(f"{me} is not in its own group: {', '.join(self.group)}")
        super().__init__(below)
        self.me = me
        self.incarnation = incarnation
        self.vector = [0] * len(self.group)
        self.sent = 0
        self.pending: dict[tuple[int, int], list[Pending]] = {}

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        stamp = self.vector.copy()
        stamp[self.rank[self.me]] = self.sent
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        _, handed = self.below.broadcast(Stamped(tuple(stamp), payload), now, out)
        self._arrived(handed, out)
        return message_id

    def gauges(self) -> Mapping[str, int]:
        return {**super().gauges(), "pending": sum(map(len, self.pending.values()))}

    def entries(self) -> int:
        """The vector, those of the messages that wait, and what the layer below holds."""
        below = self.below.entries() if isinstance(self.below, Remembering) else 0
        return (1 + self.gauges()["pending"]) * len(self.vector) + below

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        origin, _, number = message_id
        rank = self.rank[origin]
        if origin == self.me and number > self.sent:
            raise Misuse(f"{self.me} has not said {message_id}")
        if number <= self.vector[rank]:
            return () if origin == self.me else (Reason("delivered", message_id),)
        for (entry, count), pending in self.pending.items():
            for message in pending:
                if message.sender == rank and message.vector[rank] + 1 == number:
                    missing = MessageId(self.group[entry], 0, count)
                    return (Reason("missing cause", message_id, cause=missing),)
        return (Reason("not arrived", message_id, origin, number=self.vector[rank]),)

    def _arrived(self, handed: Handed, out: Effects) -> None:
        for below_id, (vector, payload) in handed:
            sender = self.rank[below_id.origin]
            self._deliver_ready(Pending(sender, below_id.incarnation, vector, payload, 0), out)

    def _deliver_ready(self, first: Pending, out: Effects) -> None:
        """Deliver the message if nothing is missing, then all that this sets free."""
        ready = deque((first,))
        while ready:
            sender, incarnation, vector, payload, entry = ready.popleft()
            entry = self._first_missing(vector, entry)
            if entry < len(vector):
                waiting = self.pending.setdefault((entry, vector[entry]), [])
                waiting.append(Pending(sender, incarnation, vector, payload, entry))
                continue
            self.vector[sender] += 1
            # The message's own number, not a count of ours: a wrong order must show under its true name.
            out.deliver(MessageId(self.group[sender], incarnation, vector[sender] + 1), payload)
            if self.pending:
                ready.extend(self.pending.pop((sender, self.vector[sender]), ()))

    def _first_missing(self, vector: tuple[int, ...], entry: int) -> int:
        mine = self.vector
        while entry < len(vector) and vector[entry] <= mine[entry]:
            entry += 1
        return entry


ENTRIES = over_each(
    "waiting",
    "waiting, with vector clocks",
    "algorithm 2 (corrected)",
    "one id and n counters",
    (Need.FIXED_GROUP,),
    lambda setup, below: Waiting(setup.me, setup.group, below, setup.incarnation),
    body=Stamped,
    published=(RB,),
)
