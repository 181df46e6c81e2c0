"""What one process knows of the partial order: its frontier, and a window of the graph.

A process *learns* a message when it says it, or when its application takes it. F, the frontier, holds what it
has learned and no learned message follows. A message carries P = F, then F = {m}; when m of another is
learned, F = (F \\ P) ∪ {m}. Under causal broadcast P is exactly the set of the message's immediate
predecessors (docs/frontier.md proves it), so the P of all messages are the edges of the partial order.

The window holds the last so many messages learned, with their edges; what is older is forgotten. A process
learns in an order that extends the partial one: whatever lies between two messages was learned between them.
So between two that are in the window the answer is exact; of any other it is "not known", except that two of
one process are never concurrent. F is an antichain: at most one message of each process that ever spoke.
"""

from typing import Any, NamedTuple

from aforesaid.core import Ids, MessageId, PartialOrder, Process, new


class Vertex(NamedTuple):
    """A message in the window."""

    place: int
    """How many messages were learned before it."""
    after: Ids


class Frontier(PartialOrder):
    """The frontier of one process, and the window."""

    def __init__(self, me: Process, incarnation: int, window_max: int) -> None:
        self.me = (me, incarnation)
        self.window_max = window_max
        self.maximal: dict[MessageId, None] = {}
        """F, in the order learned."""
        self.window: dict[MessageId, Vertex] = {}
        """In the order learned."""
        self.learned = 0

    def said(self, message_id: MessageId) -> None:
        """This process said a message that carries F."""
        self._learn(message_id, tuple(self.maximal))

    def take(self, message_id: MessageId, after: Ids) -> None:
        # That its own message is delivered teaches a process nothing: it has said it.
        if message_id[:2] != self.me:
            self._learn(message_id, after)

    def after(self, message_id: MessageId) -> tuple[MessageId, ...] | None:
        vertex = self.window.get(message_id)
        return None if vertex is None else tuple(MessageId(*each) for each in vertex.after)

    def precedes(self, one: MessageId, other: MessageId) -> bool | None:
        if one[:2] == other[:2]:
            return one.number < other.number
        first, last = self.window.get(one), self.window.get(other)
        if first is None or last is None:
            return None
        return self._leads(one, first.place, last)

    def _learn(self, message_id: MessageId, after: Ids) -> None:
        # A plain tuple finds the MessageId that it is equal to.
        maximal: dict[Any, None] = self.maximal
        for earlier in after:
            maximal.pop(earlier, None)
        maximal[message_id] = None
        self.window[message_id] = new(Vertex, (self.learned, after))
        self.learned += 1
        if len(self.window) > self.window_max:
            del self.window[next(iter(self.window))]

    def _leads(self, one: MessageId, place: int, last: Vertex) -> bool:
        """Whether a way leads from `one`, learned at that place, to the last vertex."""
        window: dict[Any, Vertex] = self.window
        waiting, seen = [last], {last.place}
        while waiting:
            vertex = waiting.pop()
            if vertex.place <= place:
                continue
            if one in vertex.after:
                return True
            for earlier in vertex.after:
                # What is not in the window was learned before `one`, or lies below a newcomer's base.
                further = window.get(earlier)
                if further is not None and further.place not in seen:
                    seen.add(further.place)
                    waiting.append(further)
        return False
