"""RST: causal delivery with an n x n matrix of counters, buffering at the receiver; unicast and multicast.

Raynal, Schiper and Toueg (1991), as read by Almeida (2026), section 3.1 and table 1.
Model: reliable links in any order, duplicates welcome; a fixed group; no crash.

SENT[k][j] counts the messages from k to j in this process's causal past. A message carries SENT as it was
*before* the message was counted: all that must come before it, and its own place on the link, since it is the
next one after SENT[sender][target]. DELIVERED[k] counts what was delivered here of k. A message may be
delivered once DELIVERED[k] >= ST[k][me] for all k, ST being the matrix it carries. Then its matrix, with the
message itself counted, becomes part of this process's past.

Deviations:
- Multicast is ours: the paper's reference is unicast. A message names its whole audience, and who delivers it
  counts it for every member of it, not for itself alone: otherwise what the receiver says next to another
  member could overtake it there.
- A message to oneself is delivered at once and never counted.
- What waits is never rescanned: it is filed under the first (k, ST[k][me]) it misses, and looked at again,
  from that k on, when DELIVERED[k] gets there.

Cost: a send copies the matrix, O(n^2), once for its whole audience. A delivery takes the maximum of two
matrices, O(n^2). Waiting costs one pass over a column, O(n) per message in all, and an arrival touches only
what it sets free. A waiting message holds its matrix; how many wait is bounded by what is in transit only.
`peer_down` does nothing: no process crashes in this model. If one did and a message of it were lost, what
causally follows would wait for ever; order and exactly-once would still hold.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aforesaid.core import Count, Effects, MessageId, Misbehaviour, Nanoseconds, Payload, Process, frame
from aforesaid.protocols.addressed import GroupMember
from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need
from aforesaid.protocols.bibliography import cite
from aforesaid.structures import Received


@frame()
class Stamped(NamedTuple):
    """A message. Processes are ranks among the group's sorted names, the matrix is row by row."""

    message_id: MessageId
    audience: tuple[Count, ...]
    matrix: tuple[Count, ...]
    payload: Payload


class Pending(NamedTuple):
    """A message received and not delivered yet; the rows before `row` ask for nothing that is missing."""

    sender: int
    message: Stamped
    row: int


class Rst(GroupMember):
    """RST at one process of a fixed group."""

    def __init__(self, me: Process, group: Sequence[Process], incarnation: int = 0) -> None:
        super().__init__(me, group, incarnation)
        self.own = self.rank[me]
        self.sent = [0] * len(self.group) ** 2
        """SENT, row by row."""
        self.delivered = [0] * len(self.group)
        self.received = Received()
        """By sender, which of its messages to this process have come, whether delivered or not."""
        self.pending: dict[tuple[int, int], list[Pending]] = {}
        """What waits, by (k, c): until DELIVERED[k] is c."""

    def send(self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        audience = tuple(sorted(self.rank[target] for target in self._others(targets)))
        message_id = self._next_id()
        if audience:
            message = Stamped(message_id, audience, self._stamp(audience), payload)
            out.send([self.group[rank] for rank in audience], message)
        if self.me in targets:
            out.deliver(message_id, payload)
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        sender = self._rank_of(source)
        if type(message) is not Stamped or not self._fits(sender, message):
            raise Misbehaviour(f"{source} sent what no process of a group of {len(self.group)} would send")
        before = message.matrix[sender * len(self.group) + self.own]
        if self.received.add(sender, before + 1):
            self._deliver_ready(Pending(sender, message, 0), out)

    def gauges(self) -> Mapping[str, int]:
        return {"pending": sum(map(len, self.pending.values()))}

    def _fits(self, sender: int, message: Stamped) -> bool:
        _, audience, matrix, _ = message
        ranks = range(len(self.group))
        return (
            len(matrix) == len(self.sent)
            and matrix[sender * len(self.group) + self.own] >= 0
            and self.own in audience
            and all(rank in ranks for rank in audience)
        )

    def _stamp(self, audience: tuple[int, ...]) -> tuple[int, ...]:
        """SENT as the next message carries it; from then on the message counts."""
        matrix = tuple(self.sent)
        own_row = self.own * len(self.group)
        for target in audience:
            self.sent[own_row + target] += 1
        return matrix

    def _deliver_ready(self, first: Pending, out: Effects) -> None:
        """Deliver the message if nothing is missing, then all that this sets free."""
        ready = deque((first,))
        while ready:
            sender, message, row = ready.popleft()
            row, count = self._first_missing(message.matrix, row)
            if row < len(self.group):
                self.pending.setdefault((row, count), []).append(Pending(sender, message, row))
                continue
            self.delivered[sender] = number = self.delivered[sender] + 1
            self._learn(sender, message)
            out.deliver(message.message_id, message.payload)
            if self.pending:
                ready.extend(self.pending.pop((sender, number), ()))

    def _first_missing(self, matrix: tuple[int, ...], row: int) -> tuple[int, int]:
        """The first k, from `row` on, of whom more must be delivered first, and how much; n if none."""
        size = len(self.group)
        for k in range(row, size):
            count = matrix[k * size + self.own]
            if count > self.delivered[k]:
                return k, count
        return size, 0

    def _learn(self, sender: int, message: Stamped) -> None:
        """The message and its past become part of this process's past."""
        matrix = message.matrix
        sent = [mine if mine > theirs else theirs for mine, theirs in zip(self.sent, matrix, strict=True)]
        row = sender * len(self.group)
        for target in message.audience:
            sent[row + target] = max(sent[row + target], matrix[row + target] + 1)
        self.sent = sent


ENTRY = Algorithm(
    name="rst",
    title="RST: a matrix of counters",
    sources=(cite("raynal1991causal"), cite("almeida2026hybrid", "section 3.1 and table 1")),
    needs=(Need.RELIABLE_LINKS, Need.FIXED_GROUP, Need.NO_CRASH),
    promises=(*RELIABLE, *ORDER),
    metadata="one id, the audience and n^2 counters",
    make=lambda setup, _: Rst(setup.me, setup.group, setup.incarnation),
    addressed=True,
)
