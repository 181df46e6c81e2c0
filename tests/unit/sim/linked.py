"""A small flooding broadcast over links that come and go, for tests of what the simulator does to them.

It promises no order, and writes down every call that is about links or membership.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from aforesaid.core import MessageId, frame
from aforesaid.protocols.algorithm import Algorithm, Need, Setup
from aforesaid.protocols.overlay.frames import Lid


@frame(link="link")
class Note(NamedTuple):
    """Something said, on one link."""

    link: Lid
    message_id: MessageId
    body: Any


@frame(control=True, link="link")
class Knock(NamedTuple):
    """A link is opened."""

    link: Lid


@frame(control=True, droppable=True, kind="kind")
class Ask(NamedTuple):
    """A newcomer asks to be let in."""

    lid: Lid
    kind: str = "ask"


@frame(control=True, link="link")
class Let(NamedTuple):
    """It is."""

    link: Lid


class Linked:
    """One process. Founders stand in a ring."""

    def __init__(self, setup: Setup) -> None:
        self.me, self.incarnation = setup.me, setup.incarnation
        self.inside = True
        self.neighbours: dict[Lid, str] = {}
        self.opened = 0
        self.said = 0
        self.unsaid: list[tuple[MessageId, Any]] = []
        self.seen: set[MessageId] = set()
        self.calls: list[tuple[int, str, Any]] = []
        """When which call came, and with what."""
        ring = setup.group
        for one, other in zip(ring, (*ring[1:], ring[0]), strict=True) if len(ring) > 1 else ():
            if setup.me in (one, other):
                self.neighbours[Lid(one, other, 0, 0)] = other if setup.me == one else one

    def broadcast(self, payload: Any, now: int, out: Any) -> MessageId:
        self.said += 1
        message_id = MessageId(self.me, self.incarnation, self.said)
        if self.inside:
            self._spread(message_id, payload, out)
        else:
            self.unsaid.append((message_id, payload))
        return message_id

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        match message:
            case Note(link, message_id, body):
                if link in self.neighbours and message_id not in self.seen:
                    self._spread(message_id, body, out)
            case Knock(link):
                self.neighbours[link] = source
            case Ask(lid):
                self.neighbours[lid] = source
                out.admit(source, lid.incarnation)
                out.send((source,), Let(lid))
            case Let(link):
                if not self.inside and link in self.neighbours:
                    self.inside = True
                    unsaid, self.unsaid = self.unsaid, []
                    for message_id, body in unsaid:
                        self._spread(message_id, body, out)

    def expire(self, timer: Any, now: int, out: Any) -> None:
        self.calls.append((now, "expire", timer))

    def peer_up(self, peer: str, now: int, out: Any) -> None: ...

    def peer_down(self, peer: str, now: int, out: Any) -> None:
        for lid in [lid for lid, neighbour in self.neighbours.items() if neighbour == peer]:
            self._drop(lid, out)

    def gauges(self) -> dict[str, int]:
        return {"unsaid": len(self.unsaid)}

    def begin(self, now: int, out: Any) -> None:
        """Founders are linked."""

    def join(self, contact: str, now: int, out: Any) -> None:
        self.calls.append((now, "join", contact))
        self.inside = False
        self._link(contact, Ask, out)

    def leave(self, now: int, out: Any) -> None:
        self.calls.append((now, "leave", None))

    def open(self, peer: str, route: Sequence[str] | None, now: int, out: Any) -> None:
        self.calls.append((now, "open", (peer, route)))
        self._link(peer, Knock, out)

    def close(self, peer: str, now: int, out: Any) -> None:
        """Here only; the other end may go on for all this protocol cares."""
        self.calls.append((now, "close", peer))
        if len(self.neighbours) > 1:
            self.peer_down(peer, now, out)

    def link_down(self, lid: Lid, now: int, out: Any) -> None:
        self.calls.append((now, "link_down", lid))
        if lid in self.neighbours:
            self._drop(lid, out)

    def links(self) -> list[tuple[str, Lid]]:
        return [(peer, lid) for lid, peer in self.neighbours.items()]

    def settle(self, now: int, out: Any) -> None:
        self.calls.append((now, "settle", None))

    def called(self, *methods: str) -> list[Any]:
        """The arguments of the calls of these methods."""
        return [arguments for _, method, arguments in self.calls if method in methods]

    def _link(self, peer: str, frame: type[Knock] | type[Ask], out: Any) -> None:
        self.opened += 1
        lid = Lid(self.me, peer, self.incarnation, self.opened)
        self.neighbours[lid] = peer
        out.send((peer,), frame(lid))

    def _drop(self, lid: Lid, out: Any) -> None:
        del self.neighbours[lid]
        if not self.neighbours:
            out.isolated()

    def _spread(self, message_id: MessageId, body: Any, out: Any) -> None:
        self.seen.add(message_id)
        for lid, peer in self.neighbours.items():
            out.send((peer,), Note(lid, message_id, body))
        out.deliver(message_id, body)


LINKED = Algorithm(
    name="linked",
    title="flooding over links that come and go",
    sources=(),
    needs=(Need.FIFO_LINKS,),
    promises=("no_duplicate", "no_creation"),
    metadata="its id",
    make=lambda setup, _: Linked(setup),
    linked=True,
)
