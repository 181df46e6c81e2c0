"""What happened before what in a trace, by brute force: whole sets of messages, and nothing carried.

A message's past is all that its origin had said or delivered before it, and the pasts of these. It shares no
idea with the frontier: no message is ever dropped from a set.
"""

from typing import Any

from aforesaid.core import MessageId
from aforesaid.protocols.frontier import Frontier
from aforesaid.trace import MemoryTrace


class Truth:
    """The pasts of all messages of a trace, as bits; a message's number is its row."""

    def __init__(self, trace: MemoryTrace) -> None:
        self.trace = trace
        messages, processes = trace.messages, trace.processes
        self.ids = [
            MessageId(processes.name[origin], int(processes.incarnation[origin]), int(number))
            for origin, number in zip(messages.origin.tolist(), messages.number.tolist(), strict=True)
        ]
        self.number_of = {message_id: number for number, message_id in enumerate(self.ids)}
        self.pasts: list[int] = []
        self.predecessors: list[set[int]] = []
        """By message, what its origin had said or delivered itself and is in the past of nothing of that."""
        learned, past, heard = ([0] * len(processes) for _ in range(3))
        logs = [log.message.tolist() for _, log in trace.logs()]
        # Rows are in the order of sending, so that whatever is delivered has its past already.
        for message, origin in enumerate(messages.origin.tolist()):
            for other in logs[origin][heard[origin] : int(messages.sent_after[message])]:
                learned[origin] |= 1 << other
                past[origin] |= self.pasts[other]
            heard[origin] = int(messages.sent_after[message])
            self.predecessors.append(bits(learned[origin] & ~past[origin]))
            self.pasts.append(learned[origin] | past[origin])
            learned[origin] |= 1 << message
            past[origin] |= self.pasts[message]

    def wrongly_placed(self) -> list[str]:
        """The messages whose recorded predecessors are others than the true ones."""
        after = self.trace.messages.after
        return [
            f"{self.ids[number]} is said to follow {self._named(after[number].tolist())}, "
            f"and follows {self._named(true)}"
            for number, true in enumerate(self.predecessors)
            if set(after[number].tolist()) != true or len(after[number]) != len(true)
        ]

    def wrongly_ordered(self, order: Frontier, pairs: list[tuple[MessageId, MessageId]]) -> list[str]:
        """The pairs of which it says something that is not so, or nothing although both are in its window."""
        found = []
        for one, other in pairs:
            said = order.precedes(one, other)
            true = bool(self.pasts[self.number_of[other]] >> self.number_of[one] & 1)
            may_not_know = one not in order.window or other not in order.window
            if said is not true and not (said is None and may_not_know):
                found.append(f"{one} precedes {other}: {said}, at {order.me[0]}")
        return found

    def _named(self, numbers: Any) -> str:
        return ", ".join(str(self.ids[number]) for number in sorted(numbers)) or "nothing"


def bits(mask: int) -> set[int]:
    """The numbers in a set."""
    return {number for number, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"}
