"""The deterministic simulator: virtual time, seeded chance, the shipped protocol objects.

One agenda of (time, order, what to do); nothing else decides what happens next, so the same scenario gives
the same trace on every machine. Each process sits in a `Seat`.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from aforesaid.core import MILLISECOND, Busy, MessageId, Misuse, Nanoseconds, Process, Speaker, Timer
from aforesaid.protocols.catalog import Algorithm, Setup, algorithm
from aforesaid.protocols.links.perfect import perfectly_linked
from aforesaid.sim.chance import Chance
from aforesaid.sim.connected import strongly_connected
from aforesaid.sim.faults import Faults
from aforesaid.sim.network import Counters, Network
from aforesaid.sim.parts import nanoseconds
from aforesaid.sim.receiving import DELIVERIES_MAX, Receiving, Said
from aforesaid.sim.sampling import gauges, sample
from aforesaid.sim.scenario import Scenario
from aforesaid.sim.seat import ISOLATED, STABLE, Seat
from aforesaid.sim.workloads import workload
from aforesaid.trace import Run, Tracer

PROGRESS_EVENTS = 20_000
BUSY_RETRY = MILLISECOND
"""How long a speaker waits when its protocol is busy."""

Progress = Callable[[Nanoseconds, int, int], None]
"""Called now and then with the virtual time, the events done and the messages delivered so far."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to: its row in the trace, and what the network did."""

    run: Run
    events: int
    messages: int
    deliveries: int
    ended_ns: Nanoseconds
    counters: Counters
    held: dict[str, int]
    """What the protocols still held at the end, by kind: zeros mean memory returned to empty."""
    played_s: float = field(default=0.0, compare=False)
    """How long it took to play, without set-up and what was written at the end."""


class Simulation:
    """One run in progress."""

    def __init__(
        self,
        scenario: Scenario,
        tracer: Tracer,
        build: Callable[[Setup], Speaker] | None = None,
        receipts: bool | None = False,
    ) -> None:
        self.scenario = scenario
        self.tracer = tracer
        self.algorithm: Algorithm = algorithm(scenario.algorithm)
        self._build = build or self.algorithm.build
        self.now: Nanoseconds = 0
        self.until = nanoseconds(scenario.duration_ms)
        """The end of the fault phase: nothing new begins from then on, only replies may still be said."""
        self.agenda: list[tuple[Nanoseconds, int, Callable[..., None], Any, Any, Any]] = []
        self.order = 0
        self.events = 0
        self.messages = 0
        self.deliveries = 0
        self.counters = Counters()
        self.choices = Chance(scenario.seed, "choices")
        self._contact = Chance(scenario.seed, "contacts")
        self._healed = False
        self.network = Network(
            scenario.network, Chance(scenario.seed, "network"), self.counters, self._schedule_frame
        )
        self.seats: dict[Process, Seat] = {}
        self.receiving = None if receipts is False else Receiving(tracer, self.seats)
        self._receipts_max = sys.maxsize if receipts else DELIVERIES_MAX
        for name in scenario.names:
            self.seat(name, scenario.names)
        self.faults = Faults(scenario, self)
        self.workloads = [
            workload(spec, number, self, Chance(scenario.seed, f"workload {number}"))
            for number, spec in enumerate(scenario.workload)
        ]

    def run(self, progress: Progress | None = None) -> str:
        """Run the fault phase, then the drain phase; returns how it ended."""
        for seat in self.seats.values():
            if seat.linking is not None:
                self.call(seat, lambda seat: seat.links.begin(self.now, seat))
        for load in self.workloads:
            load.begin()
        self.faults.begin()
        self.at(self.until, self._heal)
        if self.scenario.sample_ms:
            self.at(0, lambda: sample(self))
        horizon = self.until + nanoseconds(self.scenario.drain_ms)
        agenda = self.agenda
        events = 0
        pause = min(PROGRESS_EVENTS, self.scenario.events_max)
        while agenda:
            time, _, step, first, second, third = heappop(agenda)
            if time > horizon:
                return "cut"
            self.now = time
            step(first, second, third)
            events += 1
            if events == pause:
                self.events = events
                self._limit_receipts()
                if progress:
                    progress(self.now, events, self.deliveries)
                if events >= self.scenario.events_max:
                    return "cut"
                pause = min(events + PROGRESS_EVENTS, self.scenario.events_max)
        self.events = events
        return "drained"

    def close(self, run: str, ended: str) -> Outcome:
        """Write the last rows of the trace."""
        self._limit_receipts()
        if self.receiving is not None:
            self.receiving.close()
        row = self.tracer.close(
            Run(
                run=run,
                algorithm=self.algorithm.name,
                seed=self.scenario.seed,
                scenario=self.scenario.to_json(),
                code_version=self.algorithm.code_version,
                ended=ended,
                promises=self.algorithm.promised(self.scenario.crashes > 0, self._connected()),
            )
        )
        return Outcome(
            run=row,
            events=self.events,
            messages=self.messages,
            deliveries=self.deliveries,
            ended_ns=self.now,
            counters=self.counters,
            held=gauges(self.machines),
        )

    def seat(self, name: Process, group: tuple[Process, ...], joining: bool = False) -> Seat:
        """A process takes its place; a founding member at once, a newcomer still outside the group."""
        seat = Seat(self, name, self._machine(name, group), self.tracer.began(name, 0, self.now, joining))
        self.seats[name] = seat
        return seat

    def enter(self, seat: Seat, contact: Process) -> None:
        """A newcomer asks to be let in."""
        self.call(seat, lambda seat: self._join(seat, contact))
        if self._healed:
            self._settle(seat)

    def _join(self, seat: Seat, contact: Process) -> None:
        if seat.joining is None:
            raise Misuse(f"{self.algorithm.name} lets nobody join")
        seat.joining.join(contact, self.now, seat)

    @property
    def machines(self) -> dict[Process, Any]:
        """The protocol objects of the processes that are up: whoever looks at a run at rest asks these."""
        return {seat.name: seat.machine for seat in self.seats.values() if seat.up}

    def members(self) -> list[Process]:
        """The processes that are up, in the order they came."""
        return [seat.name for seat in self.seats.values() if seat.up]

    def contacts(self) -> list[Process]:
        """The members that can let a newcomer in: not those that are on their way in themselves."""
        seats = (seat for seat in self.seats.values() if seat.up)
        return [seat.name for seat in seats if seat.joining is None or seat.joining.inside]

    @property
    def addressed(self) -> bool:
        """Whether messages name their audience."""
        return self.algorithm.addressed

    def say(self, process: Process, payload: Any, targets: tuple[Process, ...] = ()) -> None:
        """A process speaks, if it is up and has somebody to speak to; a paused one when it goes on."""
        seat = self.seats[process]
        if seat.up and (targets or not self.addressed):
            self._do(seat, self._say, payload, targets)

    def at(self, time: Nanoseconds, action: Callable[[], None]) -> None:
        """Do something at a time of the simulation's own."""
        self.put(time, _call, action, None, None)

    def put(
        self, time: Nanoseconds, step: Callable[..., None], first: Any, second: Any = None, third: Any = None
    ) -> None:
        heappush(self.agenda, (time, self.order, step, first, second, third))
        self.order += 1

    def call(self, seat: Seat, act: Callable[[Seat], None]) -> None:
        """Ask something of a protocol if its process is up; if it is paused, when it goes on."""
        self._do(seat, _act, act, None)

    def resume(self, seat: Seat) -> None:
        """A paused process goes on with what came meanwhile."""
        if seat.paused:
            seat.paused = False
            self.tracer.chronicle.event(self.now, "resume", seat.index)
            inbox, seat.inbox = seat.inbox, []
            for action, first, second in inbox:
                self._do(seat, action, first, second)

    def take_down(self, seat: Seat, fate: str) -> None:
        """A process is gone for good, and the detector tells the others."""
        seat.up = False
        seat.timers.clear()
        seat.inbox.clear()
        self.tracer.ended(seat.index, fate, self.now)
        told = self.now + nanoseconds(self.scenario.detector.delay_ms)
        for other in self.seats.values():
            if other.up:
                self.put(told, self._peer_down, other, seat.name)

    def expire(self, seat: Seat, timer: Timer, armed: int) -> None:
        if seat.timers.get(timer) == armed:
            self._do(seat, self._expire, timer, armed)

    def fired(self, fault: str, process: int = -1, other: int = -1, text: str = "") -> None:
        """A fault, or a change of links: it counts, and the trace tells of it."""
        self.counters.fired(fault)
        self.tracer.chronicle.event(self.now, fault, process, other, text)

    def stable(self, seat: Seat, message_id: MessageId) -> None:
        """A protocol knows that everyone has delivered a message."""
        self.tracer.stable(seat.index, message_id, self.now)

    def _schedule_frame(self, time: Nanoseconds, target: Process, source: Process, message: Any) -> None:
        heappush(self.agenda, (time, self.order, self.arrive, self.seats[target], source, message))
        self.order += 1

    def arrive(self, seat: Seat, source: Process, message: Any) -> None:
        if seat.up and not seat.paused:
            receiving = self.receiving
            self.counters.arrived += 1
            if receiving is not None:
                try:
                    new = seat.index not in receiving.ways[type(message)](message).reached
                except (KeyError, AttributeError):
                    new = True
                if new:
                    receiving.comes(seat, source, message)
            seat.machine.receive(source, message, self.now, seat)
            if seat.handed:
                self._hand_over(seat)
            if (seat.fresh or seat.held) and receiving is not None:
                receiving.settle(seat, self.now)
        elif seat.up:
            seat.inbox.append((self._receive, source, message))

    def _do(self, seat: Seat, action: Callable[..., None], first: Any, second: Any) -> None:
        if not seat.up:
            return
        if seat.paused:
            seat.inbox.append((action, first, second))
            return
        action(seat, first, second)
        # A workload that answers a delivery speaks from inside `_hand_over`, which goes on by itself.
        if seat.handing_over:
            return
        if seat.handed:
            self._hand_over(seat)
        if (seat.fresh or seat.held) and self.receiving is not None:
            self.receiving.settle(seat, self.now)

    def _receive(self, seat: Seat, source: Process, message: Any) -> None:
        self.counters.arrived += 1
        if self.receiving is not None:
            self.receiving.comes(seat, source, message)
        seat.machine.receive(source, message, self.now, seat)

    def _say(self, seat: Seat, payload: Any, targets: tuple[Process, ...]) -> None:
        # What is handed over but still queued comes after this send: so the application sees it.
        receiving, addressed = self.receiving, self.algorithm.addressed
        to = targets if addressed else ()
        said = payload if receiving is None else receiving.says(seat, payload, to)
        try:
            message_id = seat.say(targets, said, self.now, seat)
        except Busy:
            self.counters.refused += 1
            seat.held.pop(said, None)
            self.at(self.now + BUSY_RETRY, lambda: self.say(seat.name, payload, targets))
            return
        audience = [self.seats[target].index for target in targets] if addressed else None
        after = None if seat.order is None else seat.order.after(message_id)
        message = self.tracer.sent(seat.index, message_id, self.now, audience, after)
        self.messages += 1
        if receiving is not None:
            said.message_id, said.message = message_id, message
            receiving.said(seat, said, audience)

    def _expire(self, seat: Seat, timer: Timer, armed: int) -> None:
        if seat.timers.get(timer) == armed:
            del seat.timers[timer]
            seat.machine.expire(timer, self.now, seat)

    def _peer_down(self, seat: Seat, peer: Process, _: None) -> None:
        self.call(seat, lambda seat: seat.machine.peer_down(peer, self.now, seat))

    def _hand_over(self, seat: Seat) -> None:
        """Trace what was delivered or is stable; tell the workloads of deliveries, and they may speak."""
        handed = seat.handed
        isolated = False
        seat.handing_over = True
        while handed and seat.up:
            message_id, payload = handed.popleft()
            if payload is STABLE:
                self.stable(seat, message_id)
                continue
            if payload is ISOLATED:
                isolated = True
                continue
            if seat.order is not None:
                seat.order.take(message_id, payload.after)
                payload = payload.payload
            position = self.tracer.delivered(seat.index, message_id, self.now)
            self.deliveries += 1
            if type(payload) is Said:
                if self.receiving is not None:
                    self.receiving.delivered(seat, payload, position, self.now)
                payload = payload.payload
            if self.faults.watching:
                self.faults.delivered(seat)
            load = self.workloads[payload[0]]
            if load.hears:
                load.heard(seat.name, payload)
        handed.clear()
        seat.handing_over = False
        if isolated and seat.up:
            self._begin_again(seat)

    def _limit_receipts(self) -> None:
        """A run that has grown too large has none, unless it was asked for them."""
        if self.receiving is not None and self.deliveries > self._receipts_max:
            self.receiving = None
            self.tracer.chronicle.forget_receipts()

    def _begin_again(self, seat: Seat) -> None:
        """An isolated process enters the group as its next incarnation, if there is anyone to let it in."""
        contacts = [name for name in self.contacts() if name != seat.name]
        if not contacts:
            return
        self.counters.evicted += 1
        self.tracer.chronicle.event(self.now, "evict", seat.index)
        self.tracer.ended(seat.index, "evicted", self.now)
        seat.timers.clear()
        seat.fresh.clear()
        seat.incarnation += 1
        seat.take(self._machine(seat.name, (seat.name,), seat.incarnation))
        seat.index = self.tracer.began(seat.name, seat.incarnation, self.now, joining=True)
        self.enter(seat, self._contact.pick(contacts))

    def _machine(self, name: Process, group: tuple[Process, ...], incarnation: int = 0) -> Speaker:
        machine = self._build(Setup(name, group, incarnation, self.scenario.options))
        if self.scenario.network.retransmit:
            return perfectly_linked(machine, nanoseconds(self.scenario.network.retransmit_ms))
        return machine

    def _heal(self) -> None:
        for partition in list(self.network.partitions):
            self.faults.mend(partition)
        self.network.heal(self.now)
        self._healed = True
        for seat in self.seats.values():
            self.resume(seat)
            self._settle(seat)

    def _settle(self, seat: Seat) -> None:
        if seat.linking is not None:
            self.call(seat, lambda seat: seat.links.settle(self.now, seat))

    def _connected(self) -> bool:
        """True unless links that come and go have left someone unable to reach everyone."""
        if not self.algorithm.linked:
            return True
        seats = (seat for seat in self.seats.values() if seat.up)
        links = {seat.name: [peer for peer, _ in seat.links.links()] for seat in seats}
        return strongly_connected(links) and len(self.contacts()) == len(links)


def _act(seat: Seat, act: Callable[[Seat], None], _: None) -> None:
    act(seat)


def _call(action: Callable[[], None], _: None, __: None) -> None:
    action()
