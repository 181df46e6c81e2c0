"""Seeded bugs of the broadcasts on overlays: what their papers print, or an implementer would slip into.

Where links change, what they are mutants of may lose a part of its group and owe nothing to it any more;
exactly once and causal order are owed always.
"""

from typing import Any

from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.options import keywords, settings
from aforesaid.protocols.overlay.link_memory import Forward, LinkMemory
from aforesaid.protocols.overlay.link_options import LinkOptions
from aforesaid.protocols.overlay.preventive import Preventive
from mutants.registry import NO_REPLIES, WILD, Mutant

FIFO = {**WILD, "fifo": True}
STATIC = {"network": FIFO, "workload": NO_REPLIES, "events_max": 2_000}
"""Once a message is taken for new again, its copies never end."""


def changing(options: dict[str, Any] | None = None, **weights: float) -> dict[str, Any]:
    """A world whose links change, by these weights."""
    return {
        "processes": 5,
        "network": FIFO,
        "options": {"handshake_ms": 300, **(options or {})},
        "fault": [{"kind": "rewire", "per_second": 80, "blind": 0.4, "close": 0, **weights}],
    }


class OfCatalog(LinkMemory):
    """Link memory on the overlay that the catalog gives it."""

    @classmethod
    def of(cls, setup: Setup) -> LinkMemory:
        shipped = CATALOG["link_memory"].build(setup)
        assert isinstance(shipped, LinkMemory)
        return cls(setup.me, shipped.out_view, tuple(shipped.expected), setup.incarnation)


class LooksEverywhere(OfCatalog):
    """Algorithm 1, line 12 as printed: a message is known if any link is to bring it. Not a defect."""

    def receive(self, source: str, message: Forward, now: int, out: Any) -> None:
        if any(message.message_id in expected for expected in self.expected.values()):
            self.expected[source].discard(message.message_id)
        else:
            self._first(source, message, out)


class OwnNotAwaited(OfCatalog):
    """The origin does not expect what it said to come back."""

    def _first(self, via: str | None, message: Forward, out: Any) -> None:
        super()._first(via, message, out)
        if via is None:
            for expected in self.expected.values():
                expected.discard(message.message_id)


class EveryLinkTagged(OfCatalog):
    """Algorithm 1 without line 16 on first receipt: the link that brought a message is to bring it again."""

    def _first(self, via: str | None, message: Forward, out: Any) -> None:
        super()._first(None, message, out)


class AnyPong(Preventive):
    """As printed: a pong counts whatever its number."""

    def _ponged(self, lid: Any, incarnation: int, now: int, out: Any) -> None:
        opening = self.opening.get(lid.other)
        super()._ponged(lid if opening is None else opening.lid, incarnation, now, out)


class BypassAlways(Preventive):
    """As printed: who has no neighbours takes any for a safe one, and thinks nothing of having none."""

    def open(self, peer: str, route: Any, now: int, out: Any) -> None:
        if self.inside and not self.out_view:
            self._bypass(peer, now, out)
        else:
            super().open(peer, route, now, out)

    def _isolate(self, out: Any) -> None:
        pass


class AddedAtOnce(Preventive):
    """A new link is used without a ping."""

    def open(self, peer: str, route: Any, now: int, out: Any) -> None:
        if not self._links_to(peer):
            self._bypass(peer, now, out)


class NothingBuffered(Preventive):
    """The pong is awaited, but what was delivered meanwhile is not kept."""

    def _ponged(self, lid: Any, incarnation: int, now: int, out: Any) -> None:
        for opening in self.opening.values():
            opening.buffer.clear()
        super()._ponged(lid, incarnation, now, out)


class ForAnyIncarnation(Preventive):
    """A process that came back takes for its own what was meant for its predecessor."""

    def _knows(self, source: str, link: Any, out: Any) -> bool:
        return self.inside

    def _flushed(self, source: str, flush: Any, now: int, out: Any) -> None:
        super()._flushed(source, flush._replace(incarnation=None), now, out)


def preventive(kind: type[Preventive]) -> Any:
    def build(setup: Setup) -> Preventive:
        options = settings(LinkOptions, setup.options, "preventive")
        return kind(setup.me, setup.group, setup.incarnation, **keywords(options, handshake_ms="patience"))

    return build


OVERLAY_MUTANTS = [
    Mutant(
        "own message not awaited",
        "Nédelec, Molli and Mostéfaoui (2018b), algorithm 1, line 6",
        "link_memory",
        "no_duplicate",
        OwnNotAwaited.of,
        STATIC,
    ),
    Mutant(
        "every link tagged",
        "Nédelec, Molli and Mostéfaoui (2018b), algorithm 1, line 16",
        "link_memory",
        "memory of expected",
        EveryLinkTagged.of,
        STATIC,
    ),
    Mutant(
        "any pong",
        "Nédelec, Molli and Mostéfaoui (2018a), as printed",
        "preventive",
        "causal",
        preventive(AnyPong),
        changing({"buffer_max": 2}),
    ),
    Mutant(
        "bypass after deliveries",
        "Nédelec, Molli and Mostéfaoui (2018a), as printed",
        "preventive",
        "causal",
        preventive(BypassAlways),
        {**changing(flap=3), "processes": 8},
    ),
    Mutant(
        "added at once", "preventive broadcast", "preventive", "causal", preventive(AddedAtOnce), changing()
    ),
    Mutant(
        "nothing buffered",
        "preventive broadcast",
        "preventive",
        "causal",
        preventive(NothingBuffered),
        changing(),
    ),
    Mutant(
        "for any incarnation",
        "preventive broadcast with processes that come back",
        "preventive",
        "causal",
        preventive(ForAnyIncarnation),
        {**changing(flap=3), "processes": 8},
    ),
]
