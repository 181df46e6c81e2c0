"""How a node ends, or is kept from saying something: what its application catches. All are `Misuse`."""

from aforesaid.core import Misuse


class Closed(Misuse):
    """The node is closed."""


class Isolated(Closed):
    """This incarnation has lost its group, and the next one has not joined it yet."""


class Evicted(Closed):
    """The others have gone on without this node, and nothing of it is let in any more; it has stopped."""


class Unwelcome(Misuse):
    """A peer does not let this node in: what is said to it would go nowhere. Nothing was said."""
