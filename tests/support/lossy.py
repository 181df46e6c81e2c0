"""Two who talk, and a third, on a network that loses from the first message on; in virtual time.

What they say is one of TALKS. A run tells when the last message was heard, and how many frames were sent.
Under `told` the same machines know the round trip from the beginning, by the first estimate of RFC 6298, and
nothing changes their mind: so fast can it be at that loss, by and large.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any
from unittest.mock import patch

from aforesaid.core import Busy, MessageId, Nanoseconds, Process, Timer
from aforesaid.protocols.catalog import Setup, algorithm
from aforesaid.protocols.links.perfect import perfectly_linked
from aforesaid.protocols.repair import RoundTrip
from support.recorder import Recorder

A, B, X = "a", "b", "x"
LINKS = "waiting"
"""What is played over perfect links."""
WINDOW = 256
STALL_MAX = 1_000_000
"""Events, after which it is taken to go on for ever."""


@dataclass(frozen=True)
class Talk:
    """What is said: in runs of so many, by whom of its own accord, or in answer to the other one."""

    messages: int
    run: int = 1
    speakers: tuple[Process, ...] = (A,)
    answers: bool = False


TALKS = {
    "one by one": Talk(150),
    "in runs": Talk(1600, run=16),
    "both ways": Talk(100, speakers=(A, B)),
    "ping-pong": Talk(30, answers=True),
}


@dataclass(frozen=True)
class Network:
    """What lies between any two of them."""

    trip: Nanoseconds
    there: float
    """Of what a sends, so much is lost; and of what others send to it."""
    back: float
    jitter: float = 0.1
    """Of the way; so there is a little reordering."""


class Lossy:
    """One talk; `heard` in order, by hearer."""

    def __init__(self, name: str, talk: Talk, network: Network, seed: int, **options: Any) -> None:
        self.talk, self.network, self.chance = talk, network, Random(seed)
        self.now: Nanoseconds = 0
        self.agenda: list[tuple[Nanoseconds, int, Callable[..., None], tuple[Any, ...]]] = []
        self.order = count()
        self.linked = name == LINKS
        self.group = (A, B) if self.linked else (A, B, X)
        self.machines: dict[Process, Any] = {}
        self.sinks: dict[Process, Sink] = {}
        for me in self.group:
            self.machines[me] = self._machine(name, me, options)
            self.sinks[me] = Sink(self, me)
        self.left = dict.fromkeys(talk.speakers, talk.messages)
        self.heard: dict[Process, list[int]] = {me: [] for me in self.group}
        self.frames = 0
        self.last: Nanoseconds = 0
        """When something was heard last."""

    def _machine(self, name: str, me: Process, options: dict[str, Any]) -> Any:
        if self.linked:
            return perfectly_linked(algorithm(name).build(Setup(me, self.group)), **options)
        return algorithm(name).build(Setup(me, self.group, 0, {"buffer_max": WINDOW, **options}))

    def play(self) -> "Lossy":
        for me in self.talk.speakers:
            self._speak(me)
        events = 0
        while self.agenda:
            self.now, _, act, arguments = heapq.heappop(self.agenda)
            act(*arguments)
            events += 1
            assert events < STALL_MAX, "it does not end"
        return self

    def at(self, when: Nanoseconds, act: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self.agenda, (max(when, self.now), next(self.order), act, arguments))

    def _speak(self, me: Process) -> None:
        """Of one's own accord: all, as far as it is taken; in a talk of answers only to begin with."""
        run = self.talk.run
        try:
            while self.left.get(me, 0):
                if self.talk.answers and self.left[me] < self.talk.messages:
                    return
                self._say(me, self._other(me), run)
                self.left[me] -= run
        except Busy:
            pass

    def _say(self, me: Process, target: Process, run: int = 1) -> None:
        machine, sink = self.machines[me], self.sinks[me]
        if self.linked:
            for _ in range(run):
                machine.broadcast(None, self.now, sink)
        elif run > 1:
            machine.send_run((target,), (None,) * run, self.now, sink)
        else:
            machine.send((target,), None, self.now, sink)

    def _other(self, me: Process) -> Process:
        return B if me == A else A

    def carry(self, source: Process, target: Process, frame: Any) -> None:
        network = self.network
        self.frames += 1
        if self.chance.random() >= (network.there if source == A else network.back):
            way = network.trip / 2 * (1 + network.jitter * (self.chance.random() - 0.5))
            self.at(self.now + round(way), self._arrive, source, target, frame)

    def _arrive(self, source: Process, target: Process, frame: Any) -> None:
        self.machines[target].receive(source, frame, self.now, self.sinks[target])
        self._speak(target)

    def deliver(self, me: Process, message_id: MessageId) -> None:
        if message_id.origin == me or me == X:
            return
        self.heard[me].append(message_id.number)
        self.last = self.now
        if self.talk.answers and self.left[A] > 0:
            self.left[A] -= 1
            self.at(self.now, self._answer, me)

    def _answer(self, me: Process) -> None:
        if not self.linked:
            self._say(me, X)
        self._say(me, self._other(me))

    def expire(self, me: Process, timer: Timer, deadline: Nanoseconds) -> None:
        timers = self.sinks[me].timers
        if timers.get(timer) == deadline:
            del timers[timer]
            self.machines[me].expire(timer, self.now, self.sinks[me])
            self._speak(me)


class Sink(Recorder):
    """The effects of one process."""

    def __init__(self, world: Lossy, me: Process) -> None:
        super().__init__()
        self.world, self.me = world, me

    def send(self, targets: Sequence[Process], message: Any) -> None:
        for target in targets:
            self.world.carry(self.me, target, message)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.world.deliver(self.me, message_id)

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self.timers[timer] = deadline
        self.world.at(deadline, self.world.expire, self.me, timer, deadline)


@contextmanager
def told(trip: Nanoseconds) -> Iterator[None]:
    """Everyone knows the round trip."""
    with (
        patch.object(RoundTrip, "overdue_after", lambda self: 3 * trip),
        patch.object(RoundTrip, "ended", lambda self, now: None),
    ):
        yield
