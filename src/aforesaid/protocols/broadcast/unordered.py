"""No order at all: what the layer below delivers is delivered, as it comes.

The floor of every comparison, and the negative control of every ordering rule: over reliable broadcast it
keeps validity, agreement and integrity, and breaks causal order as soon as the network reorders.
"""

from collections.abc import Callable

from aforesaid.core import (
    Effects,
    Handed,
    Joining,
    Layer,
    MessageId,
    Misuse,
    Nanoseconds,
    Payload,
    Process,
    Remembering,
)
from aforesaid.protocols.algorithm import BEST_EFFORT, Algorithm, Need, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.layers.best_effort import BestEffort
from aforesaid.protocols.layers.layered import OverLayer
from aforesaid.protocols.layers.stacking import LAYERS
from aforesaid.protocols.options import Options


class Unordered(OverLayer, Remembering):
    """A broadcast over a layer, without any order of its own."""

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        message_id, handed = self.below.broadcast(payload, now, out)
        self._arrived(handed, out)
        return message_id

    def entries(self) -> int:
        return self.below.entries() if isinstance(self.below, Remembering) else 0

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self._group().join(contact, now, out)

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        self._group().leave(now, out)

    @property
    def inside(self) -> bool:
        return not isinstance(self.below, Joining) or self.below.inside

    def _group(self) -> Joining:
        if not isinstance(self.below, Joining):
            raise Misuse(f"{type(self.below).__name__} serves a fixed group")
        return self.below

    def _arrived(self, handed: Handed, out: Effects) -> None:
        for message_id, payload in handed:
            out.deliver(message_id, payload)


def _over(make: Callable[[Setup], Layer]) -> Callable[[Setup, Options], Unordered]:
    return lambda setup, _: Unordered(make(setup))


ENTRIES = (
    Algorithm(
        name="best_effort",
        title="best-effort broadcast, in no order",
        sources=(cite("guerraoui-slides", "layer beb"),),
        needs=(Need.RELIABLE_LINKS, Need.FIXED_GROUP),
        promises=BEST_EFFORT,
        metadata="one id",
        make=_over(lambda setup: BestEffort(setup.me, setup.group, setup.incarnation)),
    ),
    *(
        Algorithm(
            name=below.name,
            title=f"{below.title}, in no order",
            sources=(cite("guerraoui-slides", below.section),),
            needs=below.needs,
            promises=below.promises,
            metadata="one id",
            make=_over(below.make),
        )
        for below in LAYERS
    ),
)
