"""One call into a protocol object, and everything it asked for.

The explorer and the replay both run the shipped objects through `perform`, so that they cannot differ in
what a call means. Two contracts of the port are checked here, because the checker, which sees only a trace,
cannot: a protocol never raises, and it delivers under a message's id what was said under that id. A message
is known by what was said: an algorithm that makes up the ids it delivers (by counting, say) must not hide a
swapped order behind swapped names.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aforesaid.core import (
    HandingOver,
    Linking,
    Machine,
    Message,
    MessageId,
    Misuse,
    Nanoseconds,
    Payload,
    Process,
    Speaker,
    Timer,
    freeze,
    link_of,
    order_of,
    saying,
)
from aforesaid.explore.schedule import shown
from aforesaid.explore.scope import Cast

NOW: Nanoseconds = 0
"""Time is abstract: a timer may fire at any moment, so deadlines tell nothing and must not be state."""

MOMENTS = ("phase",)
"""Choices of a moment. For the same reason one answer stands for all of them."""

UNKNOWN = -1
"""The number of a message that nobody can have said."""


class Input(NamedTuple):
    """What happens to a protocol object: it is to speak, or to do something with its links; a frame comes, a
    timer fires, a peer or a link is down."""

    do: str
    peer: Process = ""
    what: Any = None
    """The number of the message to say, the route of a link, a link, the frame's message, or the timer."""
    audience: tuple[Process, ...] | None = None
    """Whom to say it to; None: to all."""


class Told(NamedTuple):
    """A delivery, or that a message is stable."""

    message_id: MessageId
    payload: Payload = None
    stable: bool = False


class Admitted(NamedTuple):
    """A newcomer was let in."""

    newcomer: Process


@dataclass
class Deed:
    """What one call asked for; it is the effects sink of that call."""

    answers: Sequence[int]
    """What `choose` answers, in order; 0 after the last."""
    sends: list[tuple[Process, Message]] = field(default_factory=list)
    told: list[Told | Admitted] = field(default_factory=list)
    """What the application was told, and whom the process let in, in order."""
    timers: list[tuple[bool, Timer]] = field(default_factory=list)
    """Armed (True) and disarmed, in order."""
    asked: list[int] = field(default_factory=list)
    """How many answers each choice had."""
    evicted: bool = False
    """Whether the process is isolated, which ends this incarnation of it; in a scope there is no other."""
    failure: str = ""
    """How the call broke the contract of the port; empty if it did not."""

    def send(self, targets: Sequence[Process], message: Message) -> None:
        self.sends.extend((target, message) for target in targets)

    def deliver(self, message_id: MessageId, payload: Payload) -> None:
        self.told.append(Told(message_id, payload))

    def numbered(self, message_id: MessageId) -> None:
        self.failure = f"{message_id} is the protocol's own: no scope has groups that change"

    def stable(self, message_id: MessageId) -> None:
        self.told.append(Told(message_id, stable=True))

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        self.told.append(Admitted(peer))

    def isolated(self) -> None:
        self.evicted = True

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self.timers.append((True, timer))

    def disarm(self, timer: Timer) -> None:
        self.timers.append((False, timer))

    def choose(self, label: str, count: int) -> int:
        count = 1 if label in MOMENTS else count
        place = len(self.asked)
        self.asked.append(count)
        return self.answers[place] if place < len(self.answers) else 0

    @property
    def choices(self) -> tuple[int, ...]:
        """What was answered, all of it."""
        return (*self.answers, *(0 for _ in range(len(self.asked) - len(self.answers))))[: len(self.asked)]

    def next_answers(self) -> tuple[int, ...] | None:
        """The answers to try next, so that all are tried once; None after the last."""
        answers = list(self.choices)
        while answers:
            last = answers.pop()
            if last + 1 < self.asked[len(answers)]:
                return (*answers, last + 1)
        return None


def perform(
    cast: Cast, process: Process, machine: Speaker, event: Input, answers: Sequence[int] = ()
) -> Deed:
    """Call the protocol object of a process; the object changes."""
    deed = Deed(answers)
    try:
        match event.do:
            case "speak":
                expected = cast.message_ids[event.what]
                named = saying(machine)(event.audience or (), str(expected), NOW, deed)
                if named != expected:
                    deed.failure = f"{process} called its message {named}, where {expected} was next"
            case "receive":
                machine.receive(event.peer, event.what, NOW, deed)
            case "expire":
                machine.expire(event.what, NOW, deed)
            case "open":
                links_of(machine).open(event.peer, event.what, NOW, deed)
            case "close":
                links_of(machine).close(event.peer, NOW, deed)
            case "link_down":
                links_of(machine).link_down(event.what, NOW, deed)
            case "begin":
                links_of(machine).begin(NOW, deed)
            case "join":
                links_of(machine).join(event.peer, NOW, deed)
            case "hand_over":
                if isinstance(machine, HandingOver):
                    machine.hand_over(NOW, deed)
            case "leave":
                links_of(machine).leave(NOW, deed)
            case "settle":
                links_of(machine).settle(NOW, deed)
            case _:
                machine.peer_down(event.peer, NOW, deed)
        deed.told = _taken(machine, deed.told)
    except Exception as error:
        # Whatever a protocol raises is a finding about the protocol, to be shown with its schedule.
        deed.failure = f"the protocol of {process} raised {type(error).__name__}: {error}"
    for target, message in deed.sends:
        if target == process or target not in cast.rank:
            deed.failure = deed.failure or f"{process} sent {shown(message)} to {target}"
    return deed


def _taken(machine: Speaker, told: list[Told | Admitted]) -> list[Told | Admitted]:
    """What the application was told, as it sees it: it takes what is delivered at once."""
    order = order_of(machine)
    if order is None:
        return told
    taken: list[Told | Admitted] = []
    for each in told:
        if isinstance(each, Admitted) or each.stable:
            taken.append(each)
        else:
            order.take(each.message_id, each.payload.after)
            taken.append(Told(each.message_id, each.payload.payload))
    return taken


def identified(cast: Cast, process: Process, told: Told) -> tuple[int, str]:
    """Which message is meant, of a delivery by what was said; and how a delivery was misnamed, if it was."""
    message_id, payload, stable = told
    named = cast.number_of.get(message_id, UNKNOWN)
    said = cast.said.get(payload, UNKNOWN) if isinstance(payload, str) else UNKNOWN
    if stable or said == named:
        return named, ""
    return said, f"{process} delivered {payload} under the name {message_id}"


def channel(cast: Cast, message: Message) -> Hashable:
    """What a frame is ordered with, in queues: all between its two processes, or of its link instance.

    Where links open and close, a frame that names no link instance is ordered with nothing but its like.
    """
    link = link_of(message)
    return freeze(message) if link is None and cast.linked else freeze(link)


def links_of(machine: Machine) -> Linking:
    """A protocol whose links open and close, as what it is."""
    if not isinstance(machine, Linking):
        raise Misuse(f"{type(machine).__name__} has no links that open and close")
    return machine


def at_rest(machine: Machine) -> tuple[tuple[Process, ...], int]:
    """Whom a process whose links open and close has links to, and how much it holds for later."""
    links = links_of(machine).links()
    return tuple(sorted({peer for peer, _ in links})), sum(machine.gauges().values())
