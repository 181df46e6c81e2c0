"""A process of hybrid buffering under the eye of a mind of its own, for hosts that know no judge.

It raises what the mind finds. To the explorer whatever a protocol raises is a finding, so a watched process
has earliest time judged in every schedule; the order of deliveries the explorer judges itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from aforesaid.protocols.catalog import CATALOG, Algorithm, Setup
from aforesaid.protocols.delivery.hybrid_frames import Notice
from oracle.inside import look, unfinished
from oracle.mind import Mind
from oracle.world import World
from support.harness import Passing


class Watched:
    """The protocol object of one process. What it is to say it says as a run of so many parts: the mind, and
    the host, know the last of them as the message, and the others have to be delivered just before it."""

    def __init__(self, machine: Any, parts: int = 1) -> None:
        self.machine = machine
        self.parts = parts
        self.mind = Mind(machine.me, machine.receiver_exempt, overtaking=machine.overtaking)
        self.said = 0

    def send(self, targets: Sequence[str], payload: Any, now: int, out: Any) -> Any:
        self.said += self.parts
        others = [target for target in dict.fromkeys(targets) if target != self.machine.me]
        self.mind.said(self.said, others)
        with self._overheard(out) as heard:
            payloads = [*range(self.parts - 1, 0, -1), payload]
            message_id = self.machine.send_run(targets, payloads, now, heard)
        self._over()
        return message_id._replace(number=message_id.number // self.parts)

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        if source not in self.mind.gone:
            for peer in getattr(message, "gone", ()):
                self.mind.evicted(peer)
            if not isinstance(message, Notice):
                self.mind.received(source, World.translated(message))
        with self._overheard(out) as heard:
            self.machine.receive(source, message, now, heard)
        self._over()

    def expire(self, timer: Any, now: int, out: Any) -> None:
        with self._overheard(out) as heard:
            self.machine.expire(timer, now, heard)
        self._over()

    def peer_up(self, peer: str, now: int, out: Any) -> None:
        with self._overheard(out) as heard:
            self.machine.peer_up(peer, now, heard)

    def gauges(self) -> Mapping[str, int]:
        gauges: Mapping[str, int] = self.machine.gauges()
        return gauges

    def peer_down(self, peer: str, now: int, out: Any) -> None:
        self.mind.evicted(peer)
        with self._overheard(out) as heard:
            self.machine.peer_down(peer, now, heard)
        self._over()

    @contextmanager
    def _overheard(self, out: Any) -> Iterator[Any]:
        """What it network-sends counts as sent: what has to wait might as well be on a slow network."""
        as_it_does = self.machine._network_send

        def network_send(peer: str, frame: Any, *rest: Any) -> None:
            self.mind.unfinished |= unfinished(self.machine)
            self.mind.sent(peer, World.translated(frame))
            as_it_does(peer, frame, *rest)

        self.machine._network_send = network_send
        try:
            overheard = Overheard(self.mind, out, self.parts)
            yield overheard
            assert overheard.left == 0, "a step ends in the middle of a run"
        finally:
            del self.machine._network_send

    def _over(self) -> None:
        self.mind.unfinished = unfinished(self.machine)
        self.mind.settled()
        look(self.machine)


class Overheard(Passing):
    """An effects sink that tells the mind first."""

    def __init__(self, mind: Mind, out: Any, parts: int) -> None:
        super().__init__(out)
        self.mind = mind
        self.parts = parts
        self.left = 0
        """How many parts of the run that is being delivered are not delivered yet."""

    def send(self, targets: Sequence[str], message: Any) -> None:
        if not isinstance(message, Notice):
            for target in targets:
                self.mind.sent(target, World.translated(message))
        self.out.send(targets, message)

    def deliver(self, message_id: Any, payload: Any) -> None:
        left = -message_id.number % self.parts
        assert self.left in (0, left + 1), "a run is delivered in pieces"
        self.left = left
        if left:
            assert payload == left, "a part under another's number"
            return
        if message_id.origin != self.mind.me:
            self.mind.delivered(message_id.origin, message_id.number)
        self.out.deliver(message_id._replace(number=message_id.number // self.parts), payload)


def watched(name: str, mutant: Any = None, asleep: bool = False, parts: int = 1) -> Algorithm:
    """A hybrid algorithm of the catalog, or a mutant of it that never sends again; `asleep`: not watched.
    `parts`: of each run."""
    entry = CATALOG[name]

    def make(setup: Setup, options: Any) -> Any:
        machine = (
            entry.make(setup, options)
            if mutant is None
            else mutant(setup.me, setup.incarnation, retransmit=False)
        )
        return machine if asleep else Watched(machine, parts)

    return replace(entry, make=make)
