"""PRC-broadcast by hand: a few processes, and a network whose frames move when the test says so.

Frames of one link instance, in one direction, keep their order; those that name none are one queue.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from aforesaid.core import SECOND
from aforesaid.protocols.overlay.frames import Control, Flood, Lid
from aforesaid.protocols.overlay.living import Living, Unsampled
from aforesaid.protocols.overlay.prc import PRC
from aforesaid.protocols.overlay.prc.links import CONFIRMED, Incoming, Outgoing
from support.harness import Recorder

PATIENCE = 10 * SECOND
FRAMES_MAX = 2_000
"""More than any schedule by hand needs: where a message is taken for new again, copies never end."""


def process(name: str, **settings: Any) -> Living:
    """A process without links; one way and α over safe links, as printed, unless told otherwise."""
    settings = {"both_ways": False, "alpha_direct": False, "patience": PATIENCE, **settings}
    return Living(PRC(name, (name,), **settings), Unsampled())


Make = Callable[..., Any]
"""Builds a process from its name and settings: the shipped one, or a mutant."""


class Stage:
    """Processes and what is on its way between them."""

    def __init__(self, machines: Iterable[tuple[str, Any]]) -> None:
        self.machines: dict[str, Any] = {}
        self.sinks: dict[str, Recorder] = {}
        self.channels: dict[tuple[str, str, Any], deque[Any]] = {}
        self.sent: list[tuple[str, str, Any]] = []
        """Every frame ever sent, with its source and its target."""
        self.now = 0
        for name, machine in machines:
            self.add(name, machine)

    def add(self, name: str, machine: Any) -> None:
        self.machines[name] = machine
        self.sinks[name] = Recorder()

    def do(self, name: str, method: str, *arguments: Any) -> Any:
        """Call a process; what it sends is on its way from then on."""
        sink = self.sinks[name]
        result = getattr(self.machines[name], method)(*arguments, self.now, sink)
        for target, frame in sink.take_sent():
            self.sent.append((name, target, frame))
            self.channels.setdefault((name, target, getattr(frame, "link", None)), deque()).append(frame)
        return result

    def say(self, name: str, *payloads: str) -> None:
        for payload in payloads:
            self.do(name, "broadcast", payload)

    def carry(self, source: str, target: str, what: Any = None) -> Any:
        """The next frame of a channel arrives; `what`: a link, a kind of control message or of frame."""
        channel = self._channel(source, target, what)
        frame = self.channels[channel].popleft()
        if target in self.machines:
            self.do(target, "receive", source, frame)
        return frame

    def carry_all(self, source: str, target: str) -> list[Any]:
        """Everything that is on its way between the two arrives, each channel in its order."""
        return [self.carry(source, target, frame) for frame in self.between(source, target)]

    def lose(self, source: str, target: str, what: Any = None) -> Any:
        """The next frame of a channel is lost."""
        return self.channels[self._channel(source, target, what)].popleft()

    def between(self, source: str, target: str) -> list[Any]:
        """What is on its way."""
        queues = [queue for channel, queue in self.channels.items() if channel[:2] == (source, target)]
        return [frame for queue in queues for frame in queue]

    def drain(self) -> None:
        """Everything arrives, and what is sent because of it, until nothing is on its way."""
        while moving := [channel for channel, queue in self.channels.items() if queue]:
            assert len(self.sent) < FRAMES_MAX, "copies without end"
            for source, target, link in moving:
                frame = self.channels[source, target, link].popleft()
                if target in self.machines:
                    self.do(target, "receive", source, frame)

    def expire(self, name: str, kind: str) -> None:
        """The first timer of a kind is up at a process, and it is as late as it says."""
        timer, deadline = next(item for item in self.sinks[name].timers.items() if item[0][0] == kind)
        del self.sinks[name].timers[timer]
        self.now = max(self.now, deadline)
        self.do(name, "expire", timer)

    def link(self, one: str, other: str, both_ways: bool = False) -> Lid:
        """A link with an empty memory, as at the beginning."""
        lid = self.machines[one].prc.state.new_lid(other)
        for name in (one, other):
            sends = both_ways or name == one
            self.machines[name].prc.state.establish(
                lid, CONFIRMED if sends else None, both_ways or name == other
            )
        return lid

    def heard(self, name: str) -> str:
        """What a process delivered, in order."""
        return " ".join(str(payload) for payload in self.sinks[name].payloads)

    def held(self) -> int:
        """What all processes remember or keep for later."""
        return sum(sum(machine.gauges().values()) for machine in self.machines.values())

    def control(self) -> list[str]:
        """The control messages sent so far, forwards included."""
        kinds = []
        for _, _, frame in self.sent:
            if isinstance(frame, Flood):
                frame = frame.body
            if isinstance(frame, Control):
                kinds.append(frame.kind)
        return kinds

    def outgoing(self, name: str, target: str) -> Outgoing:
        """A process's end of its only link to the target."""
        (found,) = [end for end in self.machines[name].prc.state.outgoing.values() if end.target == target]
        return found

    def incoming(self, name: str, source: str) -> Incoming:
        (found,) = [end for end in self.machines[name].prc.state.incoming.values() if end.source == source]
        return found

    def _channel(self, source: str, target: str, what: Any) -> tuple[str, str, Any]:
        found = [
            channel
            for channel, queue in self.channels.items()
            if queue and channel[:2] == (source, target) and fits(what, channel[2], queue[0])
        ]
        if len(found) != 1:
            raise LookupError(f"{len(found)} channels from {source} to {target} begin with {what!r}")
        return found[0]


def fits(what: Any, link: Any, frame: Any) -> bool:
    if isinstance(what, type):
        return isinstance(frame, what)
    return what is None or what in (link, frame, getattr(frame, "kind", None))


def star(centre: str, others: Iterable[str], make: Make = process, **settings: Any) -> Stage:
    """Everyone is linked with the centre, one way each way, so that each direction has a link of its own."""
    others = tuple(others)
    stage = Stage((name, make(name, **settings)) for name in (centre, *others))
    both_ways = bool(settings.get("both_ways"))
    for name in others:
        stage.link(centre, name, both_ways)
        if not both_ways:
            stage.link(name, centre)
    return stage
