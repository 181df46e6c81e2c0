"""`mine`: causal broadcast in which a message names what came directly before it.

A message names the messages that its author had delivered since it last spoke: its
direct causes. Whoever receives it waits until these, and the author's own message
before it, are delivered. What they depend on came before them for the same reason: so
everything that happened before the message is delivered first.

Model: reliable links in any order, duplicates welcome; a fixed group. Whoever receives
a message for the first time passes it on: if its author crashes, the survivors agree.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from aforesaid.core import (
    Busy,
    CausalBroadcast,
    Effects,
    MessageId,
    Nanoseconds,
    Payload,
    Process,
    Timer,
    frame,
)
from aforesaid.core.fields import SOME_MEMBERS
from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need, Setup
from aforesaid.protocols.options import Meta, Options, Positive


# What travels is a named tuple. The types of its fields say what each one holds: hosts
# find names and payloads by them, and the wire format follows from them. A tuple says
# how long it may be: here, one cause for each member of the group at most.
@frame()
class Said(NamedTuple):
    """A message on its way, first hand or passed on."""

    message_id: MessageId
    causes: Annotated[tuple[MessageId, ...], SOME_MEMBERS]
    payload: Payload


WaitingMax = Annotated[Positive, Meta(description="say nothing while so many wait")]


# What can be set: `--set options.waiting_max=5`, or [options] in a file.
class Settings(Options, frozen=True):
    """The settings of one process."""

    waiting_max: WaitingMax = 10_000


# The protocol at one process: plain data, and methods that are told what happened and
# say in `out` what shall happen. No clock, no randomness, no iteration over sets.
class NamingCauses(CausalBroadcast):
    """Causal broadcast by direct causes."""

    def __init__(self, setup: Setup, settings: Settings) -> None:
        self.me = setup.me
        self.incarnation = setup.incarnation
        self.peers = tuple(name for name in setup.group if name != setup.me)
        self.waiting_max = settings.waiting_max
        self.sent = 0
        self.delivered: dict[Process, int] = dict.fromkeys(setup.group, 0)
        """By author, the number of its last message delivered here."""
        self.causes: dict[Process, MessageId] = {}
        """By author, its last message delivered since this process last spoke."""
        self.waiting: dict[MessageId, Said] = {}
        """What has arrived and lacks a cause."""

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        if len(self.waiting) >= self.waiting_max:
            raise Busy(f"{len(self.waiting)} messages wait for their causes")
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        said = Said(message_id, tuple(sorted(self.causes.values())), payload)
        # Later messages need not name these causes again: they follow this message.
        self.causes = {}
        self.delivered[self.me] = self.sent
        out.send(self.peers, said)
        out.deliver(message_id, payload)
        return message_id

    def receive(
        self,
        source: Process,
        message: Said,
        now: Nanoseconds,
        out: Effects,
    ) -> None:
        said = message.message_id
        if said.number <= self.delivered[said.origin] or said in self.waiting:
            return
        known = (source, said.origin)
        if others := tuple(peer for peer in self.peers if peer not in known):
            out.send(others, message)
        self.waiting[said] = message
        self._deliver_ready(out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        """It arms no timers."""

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """The links below send again what a peer lacks."""

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Nobody waits for a process here, only for messages."""

    def gauges(self) -> Mapping[str, int]:
        return {"waiting": len(self.waiting)}

    def _deliver_ready(self, out: Effects) -> None:
        """Deliver what lacks nothing, and what that sets free, until nothing is left.

        Sorted: what a process does follows from its state, however that came about.
        """
        while ready := list(filter(self._is_ready, sorted(self.waiting))):
            for message_id in ready:
                # First the state, then the effect: hosts rely on it.
                said = self.waiting.pop(message_id)
                self.delivered[message_id.origin] = message_id.number
                self.causes[message_id.origin] = message_id
                out.deliver(message_id, said.payload)

    def _is_ready(self, message_id: MessageId) -> bool:
        if self.delivered[message_id.origin] < message_id.number - 1:
            return False
        causes = self.waiting[message_id].causes
        return all(cause.number <= self.delivered[cause.origin] for cause in causes)


# What the tools know of it: hosts give what it needs, and it is held to its promises.
ENTRY = Algorithm(
    name="mine",
    version="0.1",
    title="causal broadcast by direct causes",
    sources=(),
    needs=(Need.RELIABLE_LINKS, Need.FIXED_GROUP),
    promises=(*RELIABLE, *ORDER),
    metadata="one id, and the ids of its direct causes",
    make=NamingCauses,
    options=Settings,
    frames=(Said,),
)
