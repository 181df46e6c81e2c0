"""Protocols with one rule broken, small enough to see why they must be found."""

from typing import Any

from aforesaid.core import MessageId
from aforesaid.protocols.broadcast.no_waiting import NoWaiting
from aforesaid.protocols.broadcast.unordered import Unordered
from aforesaid.protocols.broadcast.waiting import Pending, Stamped, Waiting
from aforesaid.protocols.catalog import Setup
from aforesaid.protocols.layers.best_effort import BestEffort
from aforesaid.protocols.layers.reliable import EagerReliable
from support.harness import Passing
from support.idle import Idle


class Impatient(Waiting):
    """Delivers what arrives, whatever its vector says."""

    def _first_missing(self, vector: tuple[int, ...], entry: int) -> int:
        return len(vector)


class FifoOnly(Waiting):
    """Waits for the sender's own earlier messages and for nobody else's."""

    def _arrived(self, handed: Any, out: Any) -> None:
        for below_id, (vector, payload) in handed:
            own = tuple(
                count if name == below_id.origin else 0
                for name, count in zip(self.group, vector, strict=True)
            )
            super()._arrived([(below_id, Stamped(own, payload))], out)


class OnePass(Waiting):
    """Looks through what is pending once after a delivery, as a reader of the slide's loop may do."""

    def __init__(self, me: str, group: tuple[str, ...], below: Any) -> None:
        super().__init__(me, group, below)
        self.unordered: list[Pending] = []

    def _deliver_ready(self, first: Pending, out: Any) -> None:
        still = []
        for pending in (first, *self.unordered):
            if self._first_missing(pending.vector, 0) < len(pending.vector):
                still.append(pending)
                continue
            self.vector[pending.sender] += 1
            number = self.vector[pending.sender]
            out.deliver(MessageId(self.group[pending.sender], 0, number), pending.payload)
        self.unordered = still


class Silent(EagerReliable):
    """Does not relay."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> Any:
        return super().receive(source, message, now, _Deaf(out))


class Forgetful(EagerReliable):
    """Hands up every copy of a message."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> Any:
        return super().receive(source, message, now, out) or ((message.message_id, message.body),)


class PastAsSet(NoWaiting):
    """Sends its past in the order of names, as a set would, instead of the order of causes."""

    def broadcast(self, payload: Any, now: int, out: Any) -> MessageId:
        self.past = dict(sorted(self.past.items(), reverse=True))
        return super().broadcast(payload, now, out)


class Rash(Unordered):
    """Calls stable whatever it delivers."""

    def _arrived(self, handed: Any, out: Any) -> None:
        super()._arrived(handed, out)
        for message_id, _ in handed:
            out.stable(message_id)


class Miscounting(Unordered):
    """Names what it delivers by counting, so that a wrong order hides behind right names."""

    def __init__(self, below: Any) -> None:
        super().__init__(below)
        self.counts: dict[str, int] = {}

    def _arrived(self, handed: Any, out: Any) -> None:
        for message_id, payload in handed:
            number = self.counts[message_id.origin] = self.counts.get(message_id.origin, 0) + 1
            out.deliver(message_id._replace(number=number), payload)


class Raising(BestEffort):
    """Cannot bear to hear the same thing twice."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> Any:
        handed = super().receive(source, message, now, out)
        if not handed:
            raise LookupError("heard before")
        return handed


class Hoarder(Idle):
    """Keeps what it hears until it speaks itself. Not broken, but its order is that of a dictionary."""

    def __init__(self, me: str, group: tuple[str, ...]) -> None:
        self.me = me
        self.peers = tuple(peer for peer in group if peer != me)
        self.sent = 0
        self.held: dict[MessageId, str] = {}

    def broadcast(self, payload: str, now: int, out: Any) -> MessageId:
        self.sent += 1
        message_id = MessageId(self.me, 0, self.sent)
        out.send(self.peers, (message_id, payload))
        held, self.held = self.held, {}
        for told in (*held.items(), (message_id, payload)):
            out.deliver(*told)
        return message_id

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        message_id, payload = message
        self.held[message_id] = payload


class _Deaf(Passing):
    """A sink for what shall not happen."""

    def send(self, targets: Any, message: Any) -> None:
        pass


def impatient(setup: Setup) -> Waiting:
    return Impatient(setup.me, setup.group, EagerReliable(setup.me, setup.group))


def fifo_only(setup: Setup) -> Waiting:
    return FifoOnly(setup.me, setup.group, EagerReliable(setup.me, setup.group))


def one_pass(setup: Setup) -> Waiting:
    return OnePass(setup.me, setup.group, EagerReliable(setup.me, setup.group))


def silent(setup: Setup) -> Waiting:
    return Waiting(setup.me, setup.group, Silent(setup.me, setup.group))


def silent_fifo_only(setup: Setup) -> Waiting:
    return FifoOnly(setup.me, setup.group, Silent(setup.me, setup.group))


def forgetful(setup: Setup) -> Unordered:
    return Unordered(Forgetful(setup.me, setup.group))


def past_as_set(setup: Setup) -> NoWaiting:
    return PastAsSet(setup.me, EagerReliable(setup.me, setup.group))


def rash(setup: Setup) -> Unordered:
    return Rash(EagerReliable(setup.me, setup.group))


def miscounting(setup: Setup) -> Unordered:
    return Miscounting(EagerReliable(setup.me, setup.group))


def hoarder(setup: Setup) -> Hoarder:
    return Hoarder(setup.me, setup.group)


def raising(setup: Setup) -> Unordered:
    return Unordered(Raising(setup.me, setup.group))
