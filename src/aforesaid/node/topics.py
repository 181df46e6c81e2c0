"""Topics: who wants to hear what.

Each node says to all which topics it wants to hear, all of them whenever they change, and knows of every
other node what it said last. What is published on a topic is sent to those who, as far as its author knows,
want it. Where an algorithm can only broadcast it goes to all, and those that do not want it leave it out.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable

from aforesaid.core import Misuse, Process
from aforesaid.core.identity import check_name
from aforesaid.node.letters import TOPICS_MAX


class Topics:
    """As one node knows them."""

    def __init__(self, name: Process, filters: bool) -> None:
        """`filters`: whether what is published comes to those, too, who do not want it."""
        self._name = name
        self._filters = filters
        self._wanted: dict[Process, frozenset[str]] = {}
        self.note: Callable[[Process, frozenset[str]], object] = _forget
        """Keeps what a process wants over the starts of a node that survives."""
        self.changing = asyncio.Lock()
        """Who changes its own topics says all of them: one change after the other."""

    @property
    def own(self) -> frozenset[str]:
        return self._wanted.get(self._name, frozenset())

    def wants(self, peer: Process, topics: Iterable[str]) -> None:
        """What a process wants to hear from here on."""
        if peer == self._name or not self._filters:
            self._wanted[peer] = wanted = frozenset(topics)
            self.note(peer, wanted)

    def leaves_out(self, topic: str) -> bool:
        """Whether something on a topic has come that this node does not want."""
        return self._filters and topic not in self.own

    def audience(self, topic: str, gone: Collection[Process]) -> tuple[Process, ...]:
        """Who is to hear what is said on a topic just now."""
        wanting = {name for name, topics in self._wanted.items() if topic in topics}
        return tuple(sorted(wanting.difference(gone)))

    def changed(self, add: Iterable[str] = (), drop: Iterable[str] = ()) -> frozenset[str]:
        topics = (self.own | set(add)) - set(drop)
        if len(topics) > TOPICS_MAX:
            raise Misuse(f"{len(topics)} topics; a process hears {TOPICS_MAX} at most")
        return topics


def _forget(peer: Process, wanted: frozenset[str]) -> None: ...


def check_topic(topic: str) -> None:
    try:
        check_name(topic)
    except (Misuse, TypeError):
        raise Misuse(f"topic: {topic!r}; it has 1 to 64 letters, digits, _ . -") from None
