"""What the application holds in its hands: a message that came, and the receipt of one that went."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

from aforesaid.core import Ids, MessageId, Misuse, Nanoseconds, PartialOrder, Process
from aforesaid.node.payloads import P

if TYPE_CHECKING:
    import sqlite3
    from contextlib import AbstractAsyncContextManager

    from aforesaid.node.flight import WindowFlight


class Message(Generic[P]):
    """A message as it was delivered."""

    __slots__ = ("_acknowledge", "_after", "_order", "came_ns", "id", "offset", "payload")

    came_ns: Nanoseconds
    """When it was delivered to this node, by the monotonic clock; its inbox says so."""

    def __init__(
        self,
        message_id: MessageId,
        payload: P,
        acknowledge: "Callable[[Message[P]], None]",
        after: Ids = (),
        order: PartialOrder | None = None,
        offset: int | None = None,
    ) -> None:
        self.id = message_id
        self.payload = payload
        self._acknowledge: Callable[[Message[P]], None] | None = acknowledge
        self._after = after
        self._order = order
        """Of the incarnation that it was delivered to; None if messages do not carry their frontier."""
        self.offset = offset
        """Its number among all that this node has delivered, from 1; None: the node does not survive."""

    @property
    def origin(self) -> Process:
        """Who said it."""
        return self.id.origin

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
        transact = getattr(self._acknowledge, "transaction", None)
        if transact is None:
            raise Misuse(
                "transaction: the message is acknowledged, or its node keeps nothing in a directory; set "
                'directory and durability = "batch" (or retention_bytes, in a changing group)'
            )
        begun: AbstractAsyncContextManager[sqlite3.Connection] = transact(self)
        return begun

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


def _id_of(message: Message[Any] | MessageId) -> MessageId:
    return message.id if isinstance(message, Message) else message


class Receipt:
    """What became of a message that was said, or of several said at once, where the algorithm can tell."""

    # One is made for every message: what is seldom used is set when it is.
    lost: frozenset[Process] = frozenset()
    """Receivers that were evicted, or left, before they acknowledged it: they may not have it."""
    untold = ""
    """The algorithm's name, if it cannot tell."""
    _delivered: asyncio.Future[None] | None = None
    _stable: asyncio.Future[None] | None = None

    def __init__(self, message_id: MessageId, size: int, said_ns: Nanoseconds = 0, count: int = 1) -> None:
        self.id = message_id
        """Of the last one, if they are several."""
        self.count = count
        """How many messages were said at once with it, itself included: they have consecutive numbers, and
        the same receivers."""
        self.size = size
        self.said_ns = said_ns
        """When it was said, by the monotonic clock."""
        self._flight: WindowFlight | None = None
        """Who keeps it while it is under way; None once all that can be told is told."""

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
            self._stable = self._stable or asyncio.get_running_loop().create_future()
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
        self._flight = None
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
        return self._flight

    def _despair(self, flight: "WindowFlight") -> None:
        if flight.closed is not None:
            self.is_hopeless(flight.closed)

    def __repr__(self) -> str:
        return f"<Receipt of {self.id}>"
