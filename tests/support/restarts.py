"""A simulation whose processes are killed between any two effects, lose power, and come back.

Everything that a process is, is a `Durable` on a disk of a world. What is sent to it while it is down is
lost, and so is what it had not let go. The application of a process is its log in the trace: it keeps the
offset of the last delivery there, and resumes after it. A message is said once that is durable; who is killed
while saying it does not learn of it, and the log has it if the disk has it. What a process receives stands in
its journal as on the wire, where there is a format; that carries bytes, so payloads are pickled.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from aforesaid.core import MILLISECOND, Busy, MessageId, Nanoseconds, Process, Speaker, Timer
from aforesaid.journal import WINDOWS, Durable, Journal
from aforesaid.protocols.catalog import algorithm
from aforesaid.sim import Scenario
from aforesaid.sim.seat import Seat
from aforesaid.sim.simulation import Simulation
from aforesaid.trace import Tracer
from aforesaid.wire import Codec, shapes_of
from aforesaid.world.disk import WorldDisk
from aforesaid.world.machine import Killed
from support.journals import PLACE, mounted

FUSE_MAX = 60
DOWN_MS_MAX = 60


class Life:
    """One process over all its starts, and the sink of its machine."""

    def __init__(self, simulation: "Restarting", seat: Seat) -> None:
        self.simulation, self.seat, self.name = simulation, seat, seat.name
        self.build: Callable[[], Speaker] = lambda machine=seat.machine: machine  # type: ignore[misc]
        self.chance = Random(f"{seat.name} {simulation.scenario.seed}")
        self.disk = WorldDisk()
        self.epoch = 0
        self.cursor = 0
        """How many deliveries are in the log."""
        self.handed = 0
        """The offset of the last one that was handed over since the start."""
        self.calls: set[MessageId] = set()
        """What the log calls stable: after a start such calls may come again."""
        self.sent = 0
        self.saying: tuple[int, MessageId, tuple[Process, ...]] | None = None
        """What is being said, and the number of its input."""
        self.leaving: list[tuple[Sequence[Process], Any]] = []
        self.planned: Nanoseconds | None = None
        self.durable: Durable | None = None
        """Of the present start; None: it was killed before it had one."""

    def start(self) -> None:
        """Raises Killed as anything may that writes."""
        disk, self.machine = mounted(self.disk)
        self.machine.fuse = None if self.simulation.healed else self.chance.randint(1, FUSE_MAX)
        journal = Journal(disk, PLACE, self.name, self.epoch, segment_bytes_max=3000, snapshot_bytes=6000)
        self.epoch, self.planned, self.durable = journal.epoch, None, None
        window = WINDOWS[self.simulation.setting]
        now, frames = self.simulation.now, self.simulation.frames
        durable = Durable(journal, window, self.build, self, self.hand, now, frames=frames)
        self.durable, self.handed = durable, self.cursor
        self.seat.take(durable.speaker)
        say = self.seat.say

        def durably(targets: Any, payload: Any, now: Nanoseconds, out: Any) -> MessageId:
            expected = MessageId(self.name, 0, self.sent + 1)
            self.saying = durable.journal.last + 1, expected, tuple(targets)
            try:
                message_id = say(targets, pickle.dumps(payload), now, out)
                durable.commit()
            except Busy:
                self.saying = None
                raise
            assert message_id == expected
            self.saying = None
            self.sent += 1
            return message_id

        self.seat.say = durably
        self.was_said(journal.last)
        self.saying = None

    def was_said(self, durable: int) -> None:
        """Whoever was killed while saying something has said it if its input is on the disk."""
        if self.saying is not None and self.saying[0] <= durable:
            _, message_id, targets = self.saying
            self.saying = None
            self.sent += 1
            self.simulation.said(self.seat, message_id, targets)

    def go_on(self, seat: Seat) -> None:
        if self.durable is not None:
            self.durable.resume(self.cursor)

    def die(self) -> None:
        self.machine.kill()
        self.simulation.happened["killed"] += 1
        if self.durable is not None:
            # Some of what it said may have left.
            self.was_said(self.durable.journal.durable)
        if self.chance.random() < 0.5 and self.disk.lose_power(self.chance):
            self.simulation.happened["bytes lost"] += 1
        self.seat.up = False
        self.seat.timers.clear()
        self.seat.inbox.clear()
        self.seat.handed.clear()
        self.leaving.clear()

    # ----------------------------------------------------------------------------------- its machine's sink

    def hand(self, offset: int, message_id: MessageId, payload: Any) -> None:
        self.machine.effect()
        assert offset == self.handed + 1, f"{self.name}: delivery {offset} after {self.handed}"
        self.handed = offset
        self.seat.deliver(message_id, pickle.loads(payload))

    def numbered(self, message_id: MessageId) -> None:
        self.machine.effect()
        self.seat.numbered(message_id)

    def stable(self, message_id: MessageId) -> None:
        self.machine.effect()
        self.seat.stable(message_id)

    def send(self, targets: Sequence[Process], message: Any) -> None:
        self.leaving.append((targets, message))

    def flush(self) -> None:
        """The end of a turn: as a node's frames, they leave after what was delivered is in the log."""
        leaving, self.leaving = self.leaving, []
        for targets, message in leaving:
            self.machine.effect()
            self.seat.send(targets, message)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        raise AssertionError("deliveries have offsets")

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        raise AssertionError("fixed groups admit nobody")

    def isolated(self) -> None:
        raise AssertionError("fixed groups lose nobody")

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self.seat.arm(timer, deadline)

    def disarm(self, timer: Timer) -> None:
        self.seat.disarm(timer)

    def choose(self, label: str, count: int) -> int:
        return self.seat.choose(label, count)


class Logged(Tracer):
    """Tells each life how far its log is."""

    lives: dict[int, Life]

    def delivered(self, process: int, message_id: MessageId, now: Nanoseconds) -> int:
        position = super().delivered(process, message_id, now)
        life = self.lives[process]
        life.cursor += 1
        if life.durable is not None and not life.cursor % 16:
            life.durable.acknowledge(life.cursor)
        return position

    def stable(self, process: int, message_id: MessageId, now: Nanoseconds) -> None:
        if message_id not in self.lives[process].calls:
            self.lives[process].calls.add(message_id)
            super().stable(process, message_id, now)


class Restarting(Simulation):
    """The simulation."""

    def __init__(self, scenario: Scenario, tracer: Logged, setting: str) -> None:
        self.setting = setting
        names = tuple(f"p{rank}" for rank in range(scenario.processes))
        entry = algorithm(scenario.algorithm)
        codec = Codec(shapes_of(entry, names)) if entry.frames else None
        self.frames = None if codec is None else lambda _: codec
        self.healed = False
        self.happened: Counter[str] = Counter()
        self.lives: dict[Process, Life] = {}
        tracer.lives = {}
        super().__init__(scenario, tracer)
        for seat in self.seats.values():
            self.lives[seat.name] = tracer.lives[seat.index] = Life(self, seat)
            self._start(self.lives[seat.name])

    def said(self, seat: Seat, message_id: MessageId, targets: tuple[Process, ...]) -> None:
        """Nobody was told, but it is so."""
        self.happened["said unheard"] += 1
        audience = [self.seats[target].index for target in targets] if self.addressed else None
        self.tracer.sent(seat.index, message_id, self.now, audience, None)
        self.messages += 1

    def arrive(self, seat: Seat, source: Process, message: Any) -> None:
        self._mortal(seat, lambda: Simulation.arrive(self, seat, source, message))

    def _do(self, seat: Seat, action: Callable[..., None], first: Any, second: Any) -> None:
        self._mortal(seat, lambda: Simulation._do(self, seat, action, first, second))

    def _heal(self) -> None:
        self.healed = True
        for life in self.lives.values():
            life.machine.fuse = None
        super()._heal()

    def _mortal(self, seat: Seat, act: Callable[[], None]) -> None:
        life = self.lives[seat.name]
        try:
            act()
            durable = life.durable
            if durable is not None and seat.up:
                durable.end_turn(self.now)
                if seat.handed and not seat.handing_over:
                    self._hand_over(seat)
                if not seat.handing_over:
                    life.flush()
        except Killed:
            self._fell(life)
            return
        if durable is not None and durable.due_ns not in (None, life.planned):
            life.planned = durable.due_ns
            self.at(durable.due_ns or 0, lambda: self._commit(life, durable))

    def _commit(self, life: Life, durable: Durable) -> None:
        if life.durable is durable and durable.due_ns is not None:
            self.call(life.seat, lambda seat: durable.commit())

    def _start(self, life: Life) -> None:
        life.seat.up = True
        try:
            life.start()
        except Killed:
            self._fell(life)
            return
        self.call(life.seat, life.go_on)

    def _fell(self, life: Life) -> None:
        life.die()
        self.at(self.now + life.chance.randint(1, DOWN_MS_MAX) * MILLISECOND, lambda: self._start(life))
