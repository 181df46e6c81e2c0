"""Where processes can be reached, as far as this one was ever told: in a changing group nobody is configured.

Peer sampling hands out names. So whoever sends a frame that names others sends their addresses ahead of it on
the same stream, once for each stream and incarnation. The newest incarnation's address counts.

Who is to be tried first, and who is gone, is the business of `protocols.membership.acquaintances`.
"""

from collections.abc import Callable
from itertools import islice

from aforesaid.core import Message, Misuse, Process, declaration_of
from aforesaid.core.fields import NAME, marked
from aforesaid.node.carrying.notes import Entry
from aforesaid.protocols.membership.acquaintances import Acquaintances
from aforesaid.transport import Address

BEST = 32
"""How many addresses are tried in search of a group."""


class Book(Acquaintances[Entry]):
    """Addresses by name."""

    def address(self, name: Process) -> Address | None:
        entry = self.entry(name)
        return None if entry is None else _parsed(entry)

    def best(self, but: Process, count: int = BEST) -> list[Address]:
        """Where somebody is most likely to be found, the likeliest first."""
        found = (address for entry in self.likeliest(but) if (address := _parsed(entry)) is not None)
        return list(islice(found, count))

    def has(self, address: Address) -> bool:
        return any(_parsed(entry) == address for entry in self.likeliest(but=""))

    def of_a_group(
        self, me: Process, neighbours: frozenset[Process], choose: Callable[[int], int]
    ) -> set[Entry]:
        """Whom the neighbours should know if this process is gone: each other, and by and by everyone."""
        other = self.anyone({me, *neighbours}, lambda label, count: choose(count))
        names = neighbours if other is None else neighbours | {other}
        return {entry for name in names if (entry := self.entry(name)) is not None}

    def named_in(self, frame: Message) -> list[Entry]:
        """Those whom a frame names and who may have to be reached because of it: not those of mere copies."""
        if declaration_of(type(frame)).introduces:
            return [entry for name in marked(frame, NAME) if (entry := self.entry(name)) is not None]
        return []


def _parsed(entry: Entry) -> Address | None:
    try:
        return Address.parse(entry.address)
    except Misuse:
        return None
