"""What the application holds in its hands: a message that came, and the receipt of one that went."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic

from msgspec import Struct

from aforesaid.core import Ids, MessageId, Misuse, Nanoseconds, PartialOrder, Process, new
from aforesaid.node.payloads import P

if TYPE_CHECKING:
    import sqlite3
    from contextlib import AbstractAsyncContextManager

    from aforesaid.node.flight import WindowFlight


# One is made for every message, and one receipt: msgspec makes them in half the time. Their ids are made when
# somebody asks: each would be one object more, for the garbage collection, too.
class Message(Struct, Generic[P], eq=False):
    """A message as it was delivered."""

    origin: Process
    """Who said it."""
    _incarnation: int
    _number: int
    payload: P
    came_ns: Nanoseconds = 0
    """When it was delivered to this node, by the monotonic clock."""
    _acknowledge: "Callable[[Message[P]], None] | None" = None
    """None: its place in the queue is free, or will be without anybody's word."""
    offset: int | None = None
    """Its number among all that this node has delivered, from 1; None: the node does not survive."""
    _after: Ids = ()
    _order: PartialOrder | None = None
    """Of the incarnation that it was delivered to; None if messages do not carry their frontier."""

    @property
    def id(self) -> MessageId:
        return new(MessageId, (self.origin, self._incarnation, self._number))

    def ack(self) -> None:
        """The application has done with it: its place in the queue is free, and a node that survives will not
        hand it on again. Needed if acks are manual."""
        if self._acknowledge is not None:
            self._acknowledge(self)
            self._acknowledge = None

    def acknowledged(self) -> None:
        """Its place in the queue is free already."""
        self._acknowledge = None

    def transaction(self) -> "AbstractAsyncContextManager[sqlite3.Connection]":
        """`async with message.transaction() as db`: what is written into the node's own database, and that
        this message is done with, are there after a kill, or neither. Leave commit and rollback to it."""
        return transaction_of((self,))

    @property
    def topic(self) -> str | None:
        """What it was published on; None: it was said to some or to all."""
        return None

    @property
    def asks(self) -> bool:
        """Whether its author waits for a reply."""
        return False

    async def reply(self, payload: P) -> "Receipt":
        """Answer a request, once; waits while too much is under way."""
        raise Misuse(f"{self.id} is no request; those that are say so: message.asks")

    @property
    def after(self) -> tuple[MessageId, ...]:
        """Its immediate predecessors: what its author had said or taken, and nothing in between follows."""
        self._known_order()
        return tuple(MessageId(*each) for each in self._after)

    def follows(self, other: "Message[Any] | MessageId") -> bool | None:
        """Whether its author had said or taken the other one, or one that follows it; None: not known."""
        return self._known_order().precedes(_id_of(other), self.id)

    def concurrent_with(self, other: "Message[Any] | MessageId") -> bool | None:
        """Whether neither follows the other. None: not known, for one is not among the last `window` messages
        that this incarnation of the node said or took."""
        order, other = self._known_order(), _id_of(other)
        before, behind = order.precedes(other, self.id), order.precedes(self.id, other)
        return None if before is None else other != self.id and not before and not behind

    def taken(self) -> None:
        """The application has it: what it says from now on follows it."""
        if self._order is not None:
            self._order.take(self.id, self._after)

    def _known_order(self) -> PartialOrder:
        if self._order is None:
            raise Misuse("messages do not tell what they follow; set frontier = true in the options")
        return self._order

    def __repr__(self) -> str:
        return f"<Message {self.id}>"


def transaction_of(messages: "Sequence[Message[Any]]") -> "AbstractAsyncContextManager[sqlite3.Connection]":
    """One for all of them, of one node."""
    if not messages:
        raise Misuse("transaction: of no message")
    begins = [getattr(message._acknowledge, "transaction", None) for message in messages]
    if begins[0] is None or None in begins:
        raise Misuse(
            "transaction: the message is acknowledged, or its node keeps nothing in a directory; set "
            'directory and durability = "batch" (or retention_bytes, in a changing group)'
        )
    begun: AbstractAsyncContextManager[sqlite3.Connection] = begins[0](messages)
    return begun


def _id_of(message: Message[Any] | MessageId) -> MessageId:
    return message.id if isinstance(message, Message) else message


class Bare(Message[P], eq=False, gc=False):
    """One that refers to nothing but its payload: the garbage collection need not look at it."""


class Receipt(Struct, eq=False):
    """What became of a message that was said, or of several said at once, where the algorithm can tell."""

    _origin: Process
    _incarnation: int
    number: int
    """Of the last one, if they are several."""
    size: int
    said_ns: Nanoseconds = 0
    """When it was said, by the monotonic clock."""
    count: int = 1
    """How many messages were said at once with it, itself included: they have consecutive numbers, and the
    same receivers."""
    _flight: "WindowFlight | None" = None
    """Who knows what becomes of it."""
    lost: frozenset[Process] = frozenset()
    """Receivers that were evicted, or left, before they acknowledged it: they may not have it."""
    untold: str = ""
    """The algorithm's name, if it cannot tell."""
    _delivered: asyncio.Future[None] | None = None
    _stable: asyncio.Future[None] | None = None

    @property
    def id(self) -> MessageId:
        """Of the last one, if they are several."""
        return new(MessageId, (self._origin, self._incarnation, self.number))

    async def delivered(self) -> frozenset[Process]:
        """Returns once every receiver has delivered the message; those in the result were evicted instead."""
        if flight := self._under_way():
            self._delivered = self._delivered or asyncio.get_running_loop().create_future()
            flight.watch(self)
            self._despair(flight)
            await asyncio.shield(self._delivered)
        return self.lost

    async def stable(self) -> frozenset[Process]:
        """As `delivered`, for this message and all that this node said before it: nobody waits for them."""
        if flight := self._under_way():
            if self._stable is None:
                self._stable = asyncio.get_running_loop().create_future()
                flight.await_stable(self)
            self._despair(flight)
            await asyncio.shield(self._stable)
        return self.lost

    def begin(self, flight: "WindowFlight") -> None:
        """It is under way."""
        self._flight = flight

    def has_been_delivered(self) -> None:
        if self._delivered is not None and not self._delivered.done():
            self._delivered.set_result(None)

    def has_become_stable(self) -> None:
        if self._delivered is not None:
            self.has_been_delivered()
        if self._stable is not None and not self._stable.done():
            self._stable.set_result(None)

    def is_hopeless(self, error: Exception) -> None:
        """The node closed before it could tell."""
        for future in (self._delivered, self._stable):
            if future is not None and not future.done():
                future.set_exception(error)
                future.exception()

    def _under_way(self) -> "WindowFlight | None":
        if self.untold:
            raise Misuse(
                f"{self.untold} cannot tell who has delivered a message; hybrid_multicast_in_order can"
            )
        flight = self._flight
        return flight if flight is not None and flight.keeps(self) else None

    def _despair(self, flight: "WindowFlight") -> None:
        if flight.closed is not None:
            self.is_hopeless(flight.closed)

    def __repr__(self) -> str:
        return f"<Receipt of {self.id}>"
