"""The network between simulated processes: when a frame arrives, how often, or never."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aforesaid.core import Nanoseconds, Process
from aforesaid.sim.chance import Chance
from aforesaid.sim.delays import sampler
from aforesaid.sim.parts import Network as NetworkModel
from aforesaid.sim.parts import Partition

Schedule = Callable[[Nanoseconds, Process, Process, Any], None]
"""Put a frame's arrival on the agenda: when, target, source, message."""


@dataclass
class Counters:
    """What became of frames, and which faults fired: tests ask these, so that green does not mean idle."""

    sent: int = 0
    lost: int = 0
    duplicated: int = 0
    held: int = 0
    arrived: int = 0
    overtook: int = 0
    """Frames that arrive before an earlier one of the same link."""
    refused: int = 0
    """Broadcasts that a full queue put off; they were tried again."""
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
        self._duplication = model.duplication
        self._fifo = model.fifo
        self._latest: dict[tuple[Process, Process], Nanoseconds] = {}
        """Per link, the latest arrival so far."""
        self._partitions: list[Partition] = []
        self._held: list[tuple[Process, Process, Any]] = []

    def send(self, source: Process, targets: Sequence[Process], message: Any, now: Nanoseconds) -> None:
        """Hand a message to the link towards each target."""
        counters = self._counters
        for target in targets:
            counters.sent += 1
            if self._partitions and self._cut(source, target, message):
                continue
            if self._loss and self._chance.uniform() < self._loss:
                counters.lost += 1
                continue
            self._carry(source, target, message, now)
            if self._duplication and self._chance.uniform() < self._duplication:
                counters.duplicated += 1
                self._carry(source, target, message, now)

    def part(self, partition: Partition) -> None:
        """A partition begins."""
        self._partitions.append(partition)

    def mend(self, partition: Partition, now: Nanoseconds) -> None:
        """A partition ends; what was held goes its way, if no other partition holds it."""
        if partition not in self._partitions:
            return
        self._partitions.remove(partition)
        held, self._held = self._held, []
        for source, target, message in held:
            if not self._cut(source, target, message):
                self._carry(source, target, message, now)

    def held_on(self, source: Process, target: Process) -> int:
        """How many frames of a link a partition holds."""
        return sum(link[:2] == (source, target) for link in self._held)

    def keep_held(self, source: Process, target: Process, kept: set[int]) -> None:
        """Of a link's held frames, oldest first, lose all but those numbered so."""
        rest, number = [], 0
        for frame in self._held:
            if frame[:2] == (source, target):
                number += 1
                if number - 1 not in kept:
                    self._counters.lost += 1
                    continue
            rest.append(frame)
        self._held = rest

    def heal(self, now: Nanoseconds) -> None:
        """The fault phase is over: no loss, no duplication, no partition."""
        self._loss = self._duplication = 0.0
        for partition in list(self._partitions):
            self.mend(partition, now)

    def _carry(self, source: Process, target: Process, message: Any, now: Nanoseconds) -> None:
        arrival = now + self._delay(source, target, now)
        link = (source, target)
        latest = self._latest.get(link, -1)
        if arrival <= latest:
            if self._fifo:
                arrival = latest + 1
            else:
                self._counters.overtook += 1
        self._latest[link] = max(arrival, latest)
        self._schedule(arrival, target, source, message)

    def _cut(self, source: Process, target: Process, message: Any) -> bool:
        """True if a partition stands between; the frame is then held or lost."""
        for partition in self._partitions:
            if not _separates(partition, source, target):
                continue
            if partition.frames == "held":
                self._counters.held += 1
                self._held.append((source, target, message))
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
