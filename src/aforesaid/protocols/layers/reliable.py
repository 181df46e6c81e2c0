"""Eager reliable broadcast (Guerraoui (undated), layer rb): on first receipt relay to all, then deliver.

Model: reliable links in any order, duplicates welcome; processes crash and stay down; no failure detector: a
relay to a crashed peer is merely lost. If a correct process delivers a message it has relayed it, so every
correct process delivers it (agreement).

Deviations from the printed algorithm:
- a relay skips the message's origin and the peer it came from: both have it;
- "delivered" is one counter per origin plus exceptions, not a growing set of messages;
- the group may change. A newcomer asks one member, its contact, with Join. The contact in one step counts it
  in, admits it and answers Welcome with what it has received so far, so that whatever it receives from then
  on it relays to the newcomer. The newcomer then greets everyone (Hello). Agreement reaches the newcomer
  provided the contact stays up until those greetings arrived. Bye takes a leaver out.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aforesaid.core import Effects, Handed, Joining, MessageId, Nanoseconds, Process, frame
from aforesaid.protocols.layers.layered import QuietLayer, Relay
from aforesaid.structures import Received


@frame()
class Join(NamedTuple):
    """A newcomer asks its contact to be counted in."""


@frame()
class Welcome(NamedTuple):
    """The contact's answer: the group, and what the newcomer is not owed."""

    group: tuple[Process, ...]
    received: Any


@frame()
class Hello(NamedTuple):
    """A newcomer greets the group it was welcomed into."""


@frame()
class Bye(NamedTuple):
    """The sender leaves."""


class EagerReliable(QuietLayer, Joining):
    """The layer rb at one process."""

    def __init__(self, me: Process, group: Sequence[Process], incarnation: int = 0) -> None:
        super().__init__(me, group, incarnation)
        self.outside = False
        """True from join to Welcome; what is broadcast meanwhile waits in `unsaid`, what comes in `early`."""
        self.unsaid: list[Relay[Any]] = []
        self.early: list[tuple[Process, Relay[Any]]] = []

    def broadcast(self, body: Any, now: Nanoseconds, out: Effects) -> tuple[MessageId, Handed]:
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        relay = Relay(message_id, body)
        if self.outside:
            self.unsaid.append(relay)
            return message_id, ()
        return message_id, self._say(relay, out)

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> Handed:
        if type(message) is not Relay:
            return self._membership(source, message, now, out)
        if self.outside:
            # The contact's relays may overtake its Welcome; only Welcome tells which of them are owed.
            self.early.append((source, message))
            return ()
        message_id, body = message
        origin, incarnation, number = message_id
        if not self.received.add((origin, incarnation), number):
            return ()
        others = [peer for peer in self.peers if peer != source and peer != origin]
        if others:
            out.send(others, message)
        return ((message_id, body),)

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self.outside = True
        self.peers = (contact,)
        out.send(self.peers, Join())

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        out.send(self.peers, Bye())

    @property
    def inside(self) -> bool:
        return not self.outside

    def gauges(self) -> Mapping[str, int]:
        waiting = len(self.unsaid) + len(self.early)
        return {"out_of_order": self.received.exceptions, "outside": waiting}

    def _say(self, relay: Relay[Any], out: Effects) -> Handed:
        origin, incarnation, number = relay.message_id
        self.received.add((origin, incarnation), number)
        if self.peers:
            out.send(self.peers, relay)
        return ((relay.message_id, relay.body),)

    def _membership(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> Handed:
        if isinstance(message, Join):
            self._meet(source)
            out.admit(source)
            out.send((source,), Welcome((self.me, *self.peers), self.received.frozen()))
        elif isinstance(message, Welcome) and self.outside:
            return self._enter(message, now, out)
        elif isinstance(message, Hello):
            self._meet(source)
        elif isinstance(message, Bye):
            self.peers = tuple(peer for peer in self.peers if peer != source)
        return ()

    def _enter(self, welcome: Welcome, now: Nanoseconds, out: Effects) -> Handed:
        self.outside = False
        self.received = Received(welcome.received)
        self.peers = tuple(peer for peer in welcome.group if peer != self.me)
        out.send(self.peers, Hello())
        early, self.early = self.early, []
        unsaid, self.unsaid = self.unsaid, []
        handed = [item for source, relay in early for item in self.receive(source, relay, now, out)]
        return handed + [item for relay in unsaid for item in self._say(relay, out)]

    def _meet(self, peer: Process) -> None:
        if peer not in self.peers:
            self.peers = (*self.peers, peer)
