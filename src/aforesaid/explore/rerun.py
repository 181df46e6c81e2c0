"""A schedule run again, on live protocol objects, with the tracer that every host uses.

Nothing here is numbered, merged or pruned: frames lie in a list, objects change in place. So a rerun is
also the explorer's cross-examination. What it found by table lookup must happen again here, and the
checker, which reads only the trace, must see the same violation.

A run is *drained* if nothing is owed any more: all have said their part, no timer is armed, every survivor
knows of every crash, and what still lies in the network would have no effect. Only then may the checker
judge whether everything was delivered; otherwise the run is *cut*.
"""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aforesaid.core import MILLISECOND, Message, Misuse, Process, Speaker, Timer, freeze, link_of, order_of
from aforesaid.explore.performance import (
    UNKNOWN,
    Admitted,
    Deed,
    Input,
    at_rest,
    channel,
    identified,
    links_of,
    perform,
)
from aforesaid.explore.result import End, Outcome
from aforesaid.explore.schedule import Step, shown
from aforesaid.explore.scope import CALLS, JOIN, LEAVE, Build, Scope, Subject, subject
from aforesaid.protocols.algorithm import LIVENESS
from aforesaid.protocols.catalog import Algorithm
from aforesaid.sim.connected import strongly_connected
from aforesaid.trace import MemorySink, MemoryTrace, Run, Tracer

DETECTED = ("crashed", "left")
"""The fates that the failure detector tells of."""


def replay(
    build: Build | Algorithm | str,
    scope: Scope,
    steps: Sequence[Step],
    promises: tuple[str, ...] | None = None,
) -> MemoryTrace:
    """Run a schedule again. The same steps give the same trace."""
    explored = subject(build, scope, promises, anywhere=True)
    return Rerun(explored, explored.scope).run(steps)


@dataclass
class Seat:
    """One process of a rerun."""

    name: Process
    machine: Speaker
    index: int
    """In the trace; -1 as long as it has not asked to join."""
    audiences: list[int] = field(default_factory=list)
    """Whom each message it said is for, as bits."""
    log: list[int] = field(default_factory=list)
    """What it delivered, by number."""
    stable: int = 0
    """The set of messages it called stable."""
    fate: str = ""
    """`crashed`, `left` or `evicted`, once it is gone."""
    called: int = 0
    """How many openings and closings of links it was asked for."""
    links_down: list[Any] = field(default_factory=list)
    """The link instances whose connection it was told is lost."""
    timers: dict[Any, Timer] = field(default_factory=dict)
    """Armed timers, by their picture."""
    suspected: set[Process] = field(default_factory=set)

    @property
    def up(self) -> bool:
        return not self.fate


class Rerun:
    """One schedule in progress."""

    def __init__(self, subject: Subject, scope: Scope) -> None:
        self.subject, self.scope, self.cast = subject, scope, subject.cast(scope)
        self.failure = ""
        """How a protocol broke the contract of the port; nothing happens after that."""
        self._sink = MemorySink()
        self._tracer = Tracer(self._sink)
        self._network: list[tuple[Process, Process, Message]] = []
        self._disconnected: dict[Any, tuple[Process, Process]] = {}
        """Link instances whose connection is lost, and their ends."""
        self._seats = {name: self._seat(name) for name in self.cast.names}

    def run(self, steps: Sequence[Step]) -> MemoryTrace:
        """Perform all steps; the trace of what happened."""
        for number, step in enumerate(steps, 1):
            if self.failure:
                raise Misuse(f"step {number} comes after a failure: {self.failure}")
            try:
                self._perform(step, number * MILLISECOND)
            except Misuse as error:
                raise Misuse(f"step {number} ({step}) cannot happen: {error}") from error
        ended = "failed" if self.failure else "drained" if self.is_drained() else "cut"
        scenario = {"scope": self.scope.to_dict(), "steps": [step.to_dict() for step in steps]}
        self._tracer.close(
            Run(
                run=f"{self.subject.name}-schedule",
                algorithm=self.subject.name,
                scenario=json.dumps(scenario),
                code_version=self.subject.code_version,
                ended=ended,
                promises=self.promised(),
            )
        )
        return self._sink.trace

    def is_drained(self) -> bool:
        """Whether nothing is owed any more."""
        seats = self._seats
        down = {seat.name for seat in seats.values() if seat.fate in DETECTED}
        return all(
            len(seat.audiences) == count
            and seat.called == len(calls)
            and len(seat.links_down) == sum(seat.name in ends for ends in self._disconnected.values())
            and not seat.timers
            and (seat.suspected == down or not self.scope.detector)
            and all(
                self._has_no_effect(seat, source, message)
                for source, target, message in self._network
                if target == seat.name
            )
            for seat, count, calls in zip(seats.values(), self.cast.counts, self.cast.calls, strict=True)
            if seat.up
        )

    def promised(self) -> tuple[str, ...]:
        """What is required, now that links have, or have not, left everyone able to reach everyone."""
        links = {seat.name: list(self._at_rest(seat)[0]) for seat in self._seats.values() if seat.up}
        return self.subject.promised(not self.subject.linked or strongly_connected(links))

    def kept(self) -> str:
        """Who holds something at rest, where links open and close and everyone shall hear everything."""
        if not {*LIVENESS} & {*self.promised()} or not self.is_drained():
            return ""
        full = [seat for seat in self._seats.values() if self._at_rest(seat)[1]]
        return f"at rest {full[0].name} holds {dict(full[0].machine.gauges())}" if full else ""

    def outcome(self, remember_order: bool) -> Outcome:
        """What has come of it, as the search sees it."""
        return tuple(
            End(
                tuple(seat.audiences),
                sum(1 << message for message in set(seat.log) - {UNKNOWN}),
                seat.stable,
                tuple(seat.log) if remember_order else (),
                not seat.up,
                *self._at_rest(seat),
            )
            for seat in self._seats.values()
        )

    def _seat(self, name: Process) -> Seat:
        machine = self.subject.build(self.cast.setup(name))
        if name not in self.cast.founders:
            return Seat(name, machine, -1)
        seat = Seat(name, machine, self._tracer.began(name, 0, 0))
        if self.cast.linked:
            self._set_timers(seat, perform(self.cast, name, machine, Input("begin")))
        return seat

    def _perform(self, step: Step, now: int) -> None:
        for name in filter(None, (step.process, step.peer)):
            if name not in self._seats:
                raise Misuse(f"there is no process {name}")
        seat = self._seats[step.process]
        if not seat.up:
            raise Misuse(f"{seat.name} is down")
        if step.do == JOIN and seat.index < 0:
            seat.index = self._tracer.began(seat.name, 0, now, joining=True)
        if seat.index < 0:
            raise Misuse(f"{seat.name} has not joined")
        match step.do:
            case "lose":
                self._taken(step, keep=False)
            case "crash":
                self._end(seat, "crashed", now)
            case "disconnect":
                self._disconnect((step.process, step.peer), step.what)
            case _:
                event = self._event(seat, step)
                deed = perform(self.cast, seat.name, seat.machine, event, step.choices)
                if event.do == "speak":
                    said, order = self.cast.message_ids[event.what], order_of(seat.machine)
                    after = None if order is None else order.after(said)
                    self._tracer.sent(seat.index, said, now, self._indices(event), after)
                self._apply(seat, deed, now)
                if event.do == LEAVE:
                    self._end(seat, "left", now)

    def _event(self, seat: Seat, step: Step) -> Input:
        match step.do:
            case "broadcast" | "send":
                return self._speech(seat, step)
            case do if do in CALLS:
                return self._link_call(seat, step)
            case "link_down":
                return self._link_down(seat, step.what)
            case "receive":
                return Input("receive", step.peer, self._taken(step, step.keep))
            case "suspect":
                if step.peer in seat.suspected or self._seats[step.peer].fate not in DETECTED:
                    raise Misuse(f"{step.peer} is up, or {seat.name} was told already")
                seat.suspected.add(step.peer)
                return Input("suspect", step.peer)
            case "mistrust":
                if self._seats[step.peer].fate in DETECTED:
                    raise Misuse(f"{step.peer} is down")
                return Input("mistrust", step.peer)
            case _:
                for picture, timer in seat.timers.items():
                    if shown(timer) == step.what:
                        del seat.timers[picture]
                        return Input("expire", what=timer)
                raise Misuse(f"{seat.name} has not armed {step.what}")

    def _speech(self, seat: Seat, step: Step) -> Input:
        rank, said = self.cast.rank[seat.name], len(seat.audiences)
        if said == self.cast.counts[rank]:
            raise Misuse(f"{seat.name} has nothing left to say")
        if (step.do == "send") != self.cast.addressed:
            raise Misuse(
                f"{self.subject.name} {'addresses' if self.cast.addressed else 'broadcasts'} messages"
            )
        for tried in self.cast.audiences[self.cast.firsts[rank] + said]:
            audience = self.cast.named(tried)
            if not self.cast.addressed or audience == step.audience:
                seat.audiences.append(tried)
                return Input("speak", what=self.cast.firsts[rank] + said, audience=audience)
        raise Misuse(f"the scope has no such audience: {', '.join(step.audience)}")

    def _link_call(self, seat: Seat, step: Step) -> Input:
        calls = self.cast.calls[self.cast.rank[seat.name]]
        if seat.called == len(calls) or calls[seat.called][1:3] != (step.do, step.peer):
            raise Misuse(f"that is not what {seat.name} is to do next with its links")
        seat.called += 1
        return Input(step.do, step.peer, calls[seat.called - 1].route)

    def _disconnect(self, ends: tuple[Process, Process], what: str) -> None:
        carried = [link_of(message) for *both, message in self._network if {*both} == {*ends}]
        used = [
            lid for end in ends for peer, lid in links_of(self._seats[end].machine).links() if peer in ends
        ]
        for lid in (*used, *carried):
            if lid is not None and shown(lid) == what and lid not in self._disconnected:
                self._disconnected[lid] = ends
                return
        raise Misuse(f"there is no connection {what}")

    def _link_down(self, seat: Seat, what: str) -> Input:
        for lid, ends in self._disconnected.items():
            if seat.name in ends and lid not in seat.links_down and shown(lid) == what:
                seat.links_down.append(lid)
                return Input("link_down", what=lid)
        raise Misuse(f"{seat.name} has not lost {what}, or was told already")

    def _end(self, seat: Seat, fate: str, now: int) -> None:
        seat.fate = fate
        self._network = [frame for frame in self._network if frame[1] != seat.name]
        self._tracer.ended(seat.index, fate, now)

    def _at_rest(self, seat: Seat) -> tuple[tuple[Process, ...], int]:
        return at_rest(seat.machine) if self.subject.linked and seat.up else ((), 0)

    def _indices(self, event: Input) -> list[int] | None:
        """An audience as the trace knows it."""
        return None if event.audience is None else [self._seats[name].index for name in event.audience]

    def _apply(self, seat: Seat, deed: Deed, now: int) -> None:
        for told in deed.told:
            if isinstance(told, Admitted):
                self._tracer.admitted(seat.index, self._seats[told.newcomer].index)
                continue
            message, misnamed = identified(self.cast, seat.name, told)
            named = told.message_id if message == UNKNOWN else self.cast.message_ids[message]
            if told.stable:
                self._tracer.stable(seat.index, named, now)
                seat.stable |= 1 << message if message != UNKNOWN else 0
            else:
                self._tracer.delivered(seat.index, named, now)
                seat.log.append(message)
            self.failure = self.failure or misnamed
        self.failure = deed.failure or self.failure
        self._set_timers(seat, deed)
        self._network += [
            (seat.name, target, message)
            for target, message in deed.sends
            if target in self._seats and self._seats[target].up
            if link_of(message) not in self._disconnected
        ]
        if deed.evicted:
            self._end(seat, "evicted", now)

    def _set_timers(self, seat: Seat, deed: Deed) -> None:
        for arms, timer in deed.timers:
            if arms:
                seat.timers[freeze(timer)] = timer
            else:
                seat.timers.pop(freeze(timer), None)

    def _taken(self, step: Step, keep: bool) -> Message:
        """The frame that a step names. In queues, frames without effect before it are received in passing."""
        seat = self._seats[step.process]
        frames = [frame for frame in self._network if frame[:2] == (step.peer, step.process)]
        found = next((frame for frame in frames if shown(frame[2]) == step.what), None)
        if found is None:
            raise Misuse("there is no such frame on its way")
        queue = channel(self.cast, found[2]) if self.scope.fifo else None
        for frame in frames[: frames.index(found)] if self.scope.fifo else ():
            if channel(self.cast, frame[2]) == queue:
                if not self._has_no_effect(seat, step.peer, frame[2]):
                    raise Misuse(f"{shown(frame[2])} comes first on this link")
                self._network.remove(frame)
        if not keep:
            self._network.remove(found)
        return found[2]

    def _has_no_effect(self, seat: Seat, source: Process, message: Message) -> bool:
        machine = copy.deepcopy(seat.machine)
        deed = perform(self.cast, seat.name, machine, Input("receive", source, message))
        asked = deed.sends or deed.told or deed.timers or deed.asked or deed.evicted or deed.failure
        return not asked and freeze(machine) == freeze(seat.machine)
