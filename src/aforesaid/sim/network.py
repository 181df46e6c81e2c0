"""The network between simulated processes: when a frame arrives, how often, or never.

Frames of one *channel* keep their order where the scenario asks for it. A channel is a directed pair of
processes; or one direction of a link instance, for frames that declare theirs (overlays).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aforesaid.core import Nanoseconds, Process, declaration_of
from aforesaid.sim.chance import Chance
from aforesaid.sim.delays import sampler
from aforesaid.sim.parts import Network as NetworkModel
from aforesaid.sim.parts import Partition

Schedule = Callable[[Nanoseconds, Process, Process, Any], None]
"""Put a frame's arrival on the agenda: when, target, source, message."""

Channel: TypeAlias = tuple[Process, Process, Any]
"""Source, target, and the link instance or None."""


@dataclass
class Counters:
    """What became of frames, and which faults fired: tests ask these, so that green does not mean idle."""

    sent: int = 0
    lost: int = 0
    duplicated: int = 0
    held: int = 0
    arrived: int = 0
    overtook: int = 0
    """Frames that arrive before an earlier one of the same channel."""
    refused: int = 0
    """Broadcasts that a full queue put off; they were tried again."""
    evicted: int = 0
    """Incarnations that ended because they were isolated; each process went on as its next one."""
    control: int = 0
    """Of the frames sent, those that their algorithm marks as control messages."""
    control_kinds: dict[str, int] = field(default_factory=dict)
    """The same by what they are called."""
    faults: dict[str, int] = field(default_factory=dict)

    def fired(self, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1


class Network:
    """Carries frames as the scenario's model says, until `heal` ends the fault phase."""

    def __init__(self, model: NetworkModel, chance: Chance, counters: Counters, schedule: Schedule) -> None:
        self._chance = chance
        self._counters = counters
        self._schedule = schedule
        self._delay = sampler(model.delay, chance)
        self._loss = model.loss
        self._control_loss = model.control_loss
        self._duplication = model.duplication
        self._fifo = model.fifo
        self._latest: dict[Channel, Nanoseconds] = {}
        """Per channel, the latest arrival so far."""
        self._declared: dict[type, tuple[bool, bool, int]] = {}
        """By kind of frames: whether they are control messages, are droppable, where they name their link."""
        self._disconnected: set[Any] = set()
        """Link instances whose connection was lost."""
        self.partitions: list[Partition] = []
        self._held: list[tuple[Channel, Any]] = []

    def send(self, source: Process, targets: Sequence[Process], message: Any, now: Nanoseconds) -> None:
        """Hand a message to the link towards each target."""
        counters = self._counters
        loss = self._loss
        control, droppable, link_at = self._declared.get(type(message)) or self._learn(type(message))
        link = message[link_at] if link_at >= 0 else None
        if control:
            self._count(declaration_of(type(message)).title(message), len(targets))
        if droppable:
            loss = 1.0 - (1.0 - loss) * (1.0 - self._control_loss)
        if link in self._disconnected:
            counters.sent += len(targets)
            counters.lost += len(targets)
            return
        for target in targets:
            channel = (source, target, link)
            counters.sent += 1
            if self.partitions and self._cut(channel, message):
                continue
            if loss and self._chance.uniform() < loss:
                counters.lost += 1
                continue
            self._carry(channel, message, now)
            if self._duplication and self._chance.uniform() < self._duplication:
                counters.duplicated += 1
                self._carry(channel, message, now)

    def part(self, partition: Partition) -> None:
        """A partition begins."""
        self.partitions.append(partition)

    def mend(self, partition: Partition, now: Nanoseconds) -> None:
        """A partition ends; what was held goes its way, if no other partition holds it."""
        self.partitions.remove(partition)
        held, self._held = self._held, []
        for channel, message in held:
            if not self._cut(channel, message):
                self._carry(channel, message, now)

    def disconnect(self, link: Any) -> None:
        """The connection under a link instance is lost: what is sent on it from here on is lost."""
        self._disconnected.add(link)

    def held(self) -> list[Channel]:
        """The channels of the frames that partitions hold, oldest frame first."""
        return [channel for channel, _ in self._held]

    def keep_held(self, channel: Channel, kept: set[int]) -> None:
        """Of a channel's held frames, oldest first, lose all but those numbered so."""
        rest, number = [], 0
        for frame in self._held:
            if frame[0] == channel:
                number += 1
                if number - 1 not in kept:
                    self._counters.lost += 1
                    continue
            rest.append(frame)
        self._held = rest

    def heal(self, now: Nanoseconds) -> None:
        """The fault phase is over: no loss, no duplication, no partition."""
        self._loss = self._control_loss = self._duplication = 0.0
        for partition in list(self.partitions):
            self.mend(partition, now)

    def _learn(self, kind: type) -> tuple[bool, bool, int]:
        declared = declaration_of(kind)
        self._declared[kind] = declared.control, declared.droppable, declared.link_at
        return self._declared[kind]

    def _count(self, name: str, copies: int) -> None:
        kinds = self._counters.control_kinds
        kinds[name] = kinds.get(name, 0) + copies
        self._counters.control += copies

    def _carry(self, channel: Channel, message: Any, now: Nanoseconds) -> None:
        source, target, _ = channel
        arrival = now + self._delay(source, target, now)
        latest = self._latest.get(channel, -1)
        if arrival > latest:
            self._latest[channel] = arrival
        elif self._fifo:
            arrival = self._latest[channel] = latest + 1
        else:
            self._counters.overtook += 1
        self._schedule(arrival, target, source, message)

    def _cut(self, channel: Channel, message: Any) -> bool:
        """True if a partition stands between; the frame is then held or lost."""
        source, target, _ = channel
        for partition in self.partitions:
            if not _separates(partition, source, target):
                continue
            if partition.frames == "held":
                self._counters.held += 1
                self._held.append((channel, message))
            else:
                self._counters.lost += 1
            return True
        return False


def _separates(partition: Partition, source: Process, target: Process) -> bool:
    """Processes that no group names stand outside every group and reach everyone."""
    sides = [
        number
        for process in (source, target)
        for number, group in enumerate(partition.groups)
        if process in group
    ]
    if len(sides) < 2 or sides[0] == sides[1]:
        return False
    return not partition.one_way or sides[0] == 0
