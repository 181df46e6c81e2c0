"""How a node ends, or is kept from saying something: what its application catches. All of these are `Misuse`.

A request that nobody answers is nobody's misuse: `NoAnswer`, and `PeerGone` if nobody will.
"""

from collections.abc import Callable, Mapping

from aforesaid.core import AforesaidError, Misuse, Process


class Closed(Misuse):
    """The node is closed."""


class Isolated(Closed):
    """This incarnation has lost its group, and the next one has not joined it yet."""


class Evicted(Closed):
    """The others have gone on without this node, and nothing of it is let in any more; it has stopped."""


class Dismissed(Closed):
    """A member has dismissed this node: it says nothing more, and leaves when all is done."""


class Superseded(Closed):
    """Another start of this node was heard, later than this one: it has stopped."""


class Unwelcome(Misuse):
    """A peer does not let this node in: what is said to it would go nowhere. Nothing was said."""


class HistoryLost(Misuse):
    """Messages are beyond the retention of whoever was asked for them: they will not come. Raised once by the
    iteration over a node, in their place; who iterates on gets what comes after them."""

    def __init__(
        self,
        name: Process,
        member: Process,
        spans: Mapping[tuple[Process, int], tuple[int, int]],
        offset: int,
        acknowledge: Callable[[int], None],
    ) -> None:
        self.member = member
        """Who was asked."""
        self.spans = dict(spans)
        """By author and incarnation, the first and the last number of what is lost; not every number in
        between need have been a message."""
        self.offset = offset
        """Its place among the deliveries: it has one as a message has."""
        self._acknowledge = acknowledge
        (origin, _), (first, last) = next(iter(self.spans.items()))
        more = f" and of {len(self.spans) - 1} more" if len(self.spans) > 1 else ""
        super().__init__(
            f"{name} lacks messages of {origin} ({first} to {last}){more}: they are beyond the retention of "
            f"{member}; take a snapshot of the application (on_snapshot), or iterate on without them"
        )

    def ack(self) -> None:
        """The application has heard it, and will not again; who iterates on has."""
        self._acknowledge(self.offset)


class NoAnswer(AforesaidError, TimeoutError):
    """A request was not answered in time. Its peer may have taken it or not, and may answer yet: unheard."""


class PeerGone(AforesaidError):
    """The peer that was asked was evicted, or has left: it will not answer. It may have taken the request."""
