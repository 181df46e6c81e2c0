"""Causal broadcast on a static overlay, with link memory.

Nédelec, Molli and Mostéfaoui (2018b), section 2.2, algorithm 1.

A process knows its out-view Q_o, to whom it sends, and its in-view Q_i, from whom it receives. On first
receipt it forwards a message to its whole out-view and delivers it at once: over FIFO links that alone is
causal. So every link carries every message exactly once, and after the first receipt of a message one more
copy is to come from each other in-link. E remembers these, by link, and nothing else: when the last copy has
come, the message is forgotten. At rest E is empty, whatever was said before. (A ring
holds nothing, says section 2.5; yet there, too, the origin awaits its own message.)

Model: reliable FIFO links that do not duplicate; fixed views that make a strongly connected graph; no crash.
A crashed neighbour's copies would be expected for ever, and a copy that comes twice, or over a link that was
not there from the beginning, is taken for a new message once the first ones are forgotten (figure 2).

Deviations from the printed algorithm:
- a copy is known if it is expected from the link it comes on (line 12 looks through all links). Where every
  link carries every message once the two are the same, and later copies cost O(1) instead of O(|Q_i|);
- what this process says itself comes from no link: all of the in-view owes it a copy (lines 6 and 16 take it
  off the memory of the link "_", which is not there);
- a message is known by its id, not by its content: the same thing may be said twice;
- agreement is regular, not uniform as definitions 3 and 6 have it: who delivers at once may be the only one.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from aforesaid.core import Effects, MessageId, Misuse, Nanoseconds, Payload, Process, Timer, frame
from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.overlay.circulant import founding_links
from aforesaid.protocols.overlay.link_options import DegreeOptions


@frame()
class Forward(NamedTuple):
    """A message on its way over one link. Links are static: their two ends name them."""

    message_id: MessageId
    payload: Payload


class LinkMemory:
    """One process of a static overlay."""

    def __init__(
        self, me: Process, out_view: Sequence[Process], in_view: Sequence[Process], incarnation: int = 0
    ) -> None:
        self.me = me
        self.incarnation = incarnation
        self.out_view = tuple(out_view)
        self.expected: dict[Process, set[MessageId]] = {peer: set() for peer in in_view}
        """E: of each in-link, the delivered messages of which its copy is still to come. The keys are Q_i."""
        self.sent = 0

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        self._first(None, Forward(message_id, payload), out)
        return message_id

    def receive(self, source: Process, message: Forward, now: Nanoseconds, out: Effects) -> None:
        expected = self.expected[source]
        if message.message_id in expected:
            expected.remove(message.message_id)
        else:
            self._first(source, message, out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        raise Misuse(f"link memory has no timers, but {timer!r} expired")

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None: ...

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Nothing can be done: views are static."""

    def gauges(self) -> Mapping[str, int]:
        return {"expected": sum(map(len, self.expected.values()))}

    def _first(self, via: Process | None, message: Forward, out: Effects) -> None:
        """A first receipt, or our own: every other in-link will bring it, every out-link gets it."""
        for peer, expected in self.expected.items():
            if peer != via:
                expected.add(message.message_id)
        # Forwarded in the step that delivers it: what this process says next follows it on every link.
        if self.out_view:
            out.send(self.out_view, message)
        out.deliver(message.message_id, message.payload)


def _make(setup: Setup, options: DegreeOptions) -> LinkMemory:
    links = founding_links(setup.group, options.degree, both_ways=False)
    out_view = [link.other for link in links if link.opener == setup.me]
    in_view = [link.opener for link in links if link.other == setup.me]
    return LinkMemory(setup.me, out_view, in_view, setup.incarnation)


ENTRY = Algorithm(
    name="link_memory",
    title="link memory on a static overlay",
    sources=(cite("nedelec2018forget", "section 2.2, algorithm 1"),),
    needs=(Need.RELIABLE_LINKS, Need.FIFO_LINKS, Need.FIXED_GROUP, Need.NO_CRASH),
    promises=(*RELIABLE, *ORDER),
    metadata="one id",
    make=_make,
    options=DegreeOptions,
)
