"""Broadcast along a tree: "FIFO + Tree gives Causal" (Almeida (2026), section 1).

The group's sorted names form a heap-shaped tree: the children of place i are the places fan_out * i + 1 to
fan_out * i + fan_out. A message goes to all tree neighbours of its origin; whoever receives it forwards it
to all neighbours but the one it came from, and delivers it at once. So a message costs n - 1 frames, carries
its id and nothing else, and waits nowhere: there is no state but a counter of own messages.

Why that is causal. Say d sends or delivers m before it sends m'. Then every t delivers m before m', by
induction on its distance from d in the tree. For d itself it is so. Any other t gets m' from its neighbour u
on the path to d, and u delivered m before m'. Either u got m from t, which had it then; or u forwarded m to
t when it delivered it, before m', on the same FIFO link.

Model: reliable FIFO links that do not duplicate; a fixed group; no crash. A crash cuts the tree in pieces
that never hear of each other again: nothing is promised from then on. What it costs even without: up to twice
the tree's depth in hops per message, and all that crosses the tree passes its root.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from msgspec import Meta

from aforesaid.core import Effects, MessageId, Nanoseconds, Payload, Process, frame
from aforesaid.protocols.addressed import GroupMember
from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.options import Options, Positive

FAN_OUT = 2


@frame()
class Relay(NamedTuple):
    """A message on its way along the tree."""

    message_id: MessageId
    payload: Payload


class Tree(GroupMember):
    """One process of a fixed group, at its place in the tree."""

    def __init__(
        self, me: Process, group: Sequence[Process], incarnation: int = 0, fan_out: int = FAN_OUT
    ) -> None:
        super().__init__(me, group, incarnation)
        self.neighbours = neighbours(me, group, fan_out)

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        self.said += 1
        message_id = MessageId(self.me, self.incarnation, self.said)
        if self.neighbours:
            out.send(self.neighbours, Relay(message_id, payload))
        out.deliver(message_id, payload)
        return message_id

    def receive(self, source: Process, message: Relay, now: Nanoseconds, out: Effects) -> None:
        # Forwarded in the step that delivers it: what this process says next follows it on every link.
        others = [neighbour for neighbour in self.neighbours if neighbour != source]
        if others:
            out.send(others, message)
        out.deliver(message.message_id, message.payload)

    def gauges(self) -> Mapping[str, int]:
        return {}


def neighbours(me: Process, group: Sequence[Process], fan_out: int) -> tuple[Process, ...]:
    """The parent, if there is one, and then the children of a process in the group's tree."""
    names = sorted(group)
    place = names.index(me)
    parent = names[(place - 1) // fan_out : (place - 1) // fan_out + 1] if place else []
    first_child = fan_out * place + 1
    return (*parent, *names[first_child : first_child + fan_out])


class TreeOptions(Options, frozen=True):
    """Settings of the tree."""

    fan_out: Annotated[Positive, Meta(description="children of a process in the tree")] = FAN_OUT


ENTRY = Algorithm(
    name="tree",
    title="FIFO broadcast along a spanning tree",
    sources=(cite("blessing2017tree"), cite("almeida2026hybrid", "section 1")),
    needs=(Need.RELIABLE_LINKS, Need.FIFO_LINKS, Need.FIXED_GROUP, Need.NO_CRASH),
    promises=(*RELIABLE, *ORDER),
    metadata="one id",
    make=lambda setup, options: Tree(setup.me, setup.group, setup.incarnation, options.fan_out),
    options=TreeOptions,
)
