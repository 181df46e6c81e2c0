"""No-waiting causal broadcast (Guerraoui (undated), algorithm 1), and with garbage collection (algorithm 1').

A message carries its sender's whole causal past; a receiver first delivers what it lacks of that past, in
order, then the message: nobody ever waits. Algorithm 1' forgets a message once every correct process is known
to have delivered it; that is also when the message is *stable*.

Deviations from the printed algorithms, each with a test in tests/paper/test_slides.py:
- the past is an ordered list without repeats. As a set, as printed, its order is lost and with it causality;
- `delivered` is one counter per origin, which causal delivery makes exact. It outlives the past: dropping it
  together with the past, as the shared initialisation suggests, delivers twice;
- the past is looked through again when a process crashes, not only when an ack comes; else what only the
  crashed process had not acknowledged stays for ever;
- acks are cumulative, one frame per step and peer, straight over the links: an ack that a crash loses needs
  no relay, since its sender no longer counts.
Algorithm 1' needs a perfect detector: a wrongly suspected process may miss what the others forget.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from aforesaid.core import (
    Count,
    Effects,
    Handed,
    Layer,
    MessageId,
    Nanoseconds,
    Number,
    Payload,
    Process,
    frame,
)
from aforesaid.protocols.algorithm import Need
from aforesaid.protocols.layers.layered import OverLayer
from aforesaid.protocols.layers.stacking import over_each

Source: TypeAlias = tuple[Process, Count]
"""An incarnation of an origin."""


@frame()
class Told(NamedTuple):
    """What travels through the layer below: everything that came before, the id, and the payload."""

    past: tuple[tuple[MessageId, Payload], ...]
    message_id: MessageId
    payload: Payload


@frame()
class Ack(NamedTuple):
    """The sender has delivered, of each source named, the messages up to the number beside it."""

    delivered: tuple[tuple[Source, Number], ...]


class NoWaiting(OverLayer):
    """Algorithm 1 at one process: the past only grows."""

    def __init__(self, me: Process, below: Layer, incarnation: int = 0) -> None:
        super().__init__(below)
        self.me = me
        self.incarnation = incarnation
        self.sent = 0
        self.past: dict[MessageId, Payload] = {}
        """Everything sent or delivered, in causal order."""
        self.delivered: dict[Source, int] = {}

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        told = Told(tuple(self.past.items()), message_id, payload)
        self.past[message_id] = payload
        _, handed = self.below.broadcast(told, now, out)
        self._arrived(handed, out)
        return message_id

    def gauges(self) -> Mapping[str, int]:
        return {**super().gauges(), "past": len(self.past)}

    def _arrived(self, handed: Handed, out: Effects) -> list[MessageId]:
        fresh: list[MessageId] = []
        for _, (past, message_id, payload) in handed:
            for earlier_id, earlier_payload in past:
                self._deliver_once(earlier_id, earlier_payload, fresh, out)
            self._deliver_once(message_id, payload, fresh, out)
        return fresh

    def _deliver_once(
        self, message_id: MessageId, payload: Payload, fresh: list[MessageId], out: Effects
    ) -> None:
        origin, incarnation, number = message_id
        source = (origin, incarnation)
        if number <= self.delivered.get(source, 0):
            return
        self.delivered[source] = number
        # Own messages entered the past when they were broadcast.
        if origin != self.me:
            self.past[message_id] = payload
        fresh.append(message_id)
        out.deliver(message_id, payload)


class NoWaitingCollecting(NoWaiting):
    """Algorithm 1' at one process of a fixed group: the past is forgotten when it is everywhere."""

    def __init__(self, me: Process, group: Sequence[Process], below: Layer, incarnation: int = 0) -> None:
        super().__init__(me, below, incarnation)
        self.peers = tuple(peer for peer in group if peer != me)
        self.acked: dict[Process, dict[Source, int]] = {peer: {} for peer in self.peers}
        """By correct peer, up to which number it has delivered each source; a crashed peer leaves."""
        self.acks: dict[MessageId, int] = {}
        """How many correct peers have a message that is not stable; so an ack costs constant work."""

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        if type(message) is not Ack:
            super().receive(source, message, now, out)
        elif source in self.acked:
            acked = self.acked[source]
            for origin, number in message.delivered:
                for further in range(acked.get(origin, 0) + 1, number + 1):
                    message_id = MessageId(*origin, further)
                    self.acks[message_id] = self.acks.get(message_id, 0) + 1
                    self._forget_if_everywhere(message_id, out)
                    acked[origin] = further

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        super().peer_down(peer, now, out)
        gone = self.acked.pop(peer, None)
        if gone is None:
            return
        for message_id in list(self.acks):
            if message_id.number <= gone.get((message_id.origin, message_id.incarnation), 0):
                self.acks[message_id] -= 1
        for message_id in list(self.past):
            self._forget_if_everywhere(message_id, out)

    def _arrived(self, handed: Handed, out: Effects) -> list[MessageId]:
        fresh = super()._arrived(handed, out)
        if fresh:
            # Dictionaries keep their order: the same run acks in the same order.
            sources = dict.fromkeys((origin, incarnation) for origin, incarnation, _ in fresh)
            if self.peers:
                out.send(self.peers, Ack(tuple((source, self.delivered[source]) for source in sources)))
            for message_id in fresh:
                self._forget_if_everywhere(message_id, out)
        return fresh

    def _forget_if_everywhere(self, message_id: MessageId, out: Effects) -> None:
        """Drop from the past what every correct process has delivered, this one included: it is stable."""
        origin, incarnation, number = message_id
        if self.acks.get(message_id, 0) < len(self.acked):
            return
        if number <= self.delivered.get((origin, incarnation), 0):
            self.acks.pop(message_id, None)
            # Under a false suspicion it may never have come; in the model it is always there.
            self.past.pop(message_id, None)
            out.stable(message_id)


ENTRIES = (
    *over_each(
        "no_waiting",
        "no-waiting causal broadcast",
        "algorithm 1 (corrected)",
        "every earlier message",
        (Need.FIXED_GROUP,),
        lambda setup, below: NoWaiting(setup.me, below, setup.incarnation),
    ),
    *over_each(
        "no_waiting_gc",
        "no-waiting, with garbage collection",
        "algorithm 1' (corrected)",
        "every earlier message not yet everywhere",
        (Need.FIXED_GROUP, Need.DETECTOR),
        lambda setup, below: NoWaitingCollecting(setup.me, setup.group, below, setup.incarnation),
        promises=("stability",),
    ),
)
