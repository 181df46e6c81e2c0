"""A stage for schedules written by hand: who speaks, which frame arrives next, whose timer fires.

Frames fly until they are told to arrive. `flow` lets all arrive, in the order they were sent, except those on
the links held back. What processes say is named after them: a's first message is "a1".
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from aforesaid.core import Busy
from aforesaid.protocols.broadcast.pak import RESEND, Pak
from aforesaid.protocols.catalog import Setup
from support.harness import Recorder

FRAMES_MAX = 100_000


class Frame(NamedTuple):
    source: str
    target: str
    message: Any

    def on(self, links: Sequence[str], kind: type | None) -> bool:
        """Whether it is on one of the links, written "a>b", and of that kind."""
        return f"{self.source}>{self.target}" in links and (kind is None or type(self.message) is kind)


class Stage:
    """A group of protocol objects and the frames between them."""

    def __init__(self, names: str, build: Callable[[Setup], Any] | None = None, **options: Any) -> None:
        if build is None:

            def build(setup: Setup) -> Pak:
                return Pak(setup.me, setup.group, setup.incarnation, **options)

        group = tuple(names)
        self.machines = {name: build(Setup(me=name, group=group)) for name in group}
        self.sinks = {name: Recorder() for name in group}
        self.said = dict.fromkeys(group, 0)
        self.flying: list[Frame] = []
        self.now = 0

    def say(self, name: str, times: int = 1) -> None:
        for _ in range(times):
            self.said[name] += 1
            self.call(name, "broadcast", f"{name}{self.said[name]}")

    def arrive(self, link: str, kind: type | None = None) -> Any:
        """The oldest frame of that kind on the link arrives."""
        frame = next(frame for frame in self.flying if frame.on((link,), kind))
        self.flying.remove(frame)
        self._arrive(frame)
        return frame.message

    def flow(self, held: Sequence[str] = (), kind: type | None = None) -> None:
        """Everything arrives, also what that brings about, except frames of that kind on the links held."""
        for _ in range(FRAMES_MAX):
            frame = next((frame for frame in self.flying if not frame.on(held, kind)), None)
            if frame is None:
                return
            self.flying.remove(frame)
            self._arrive(frame)
        raise AssertionError("the frames never end")

    def lose(self, *links: str, kind: type | None = None) -> int:
        """Everything on these links is lost; returns how many frames that were."""
        lost = [frame for frame in self.flying if frame.on(links, kind)]
        self.flying = [frame for frame in self.flying if frame not in lost]
        return len(lost)

    def tick(self, *names: str) -> None:
        """The timers of these processes, or of all, fire if they are armed."""
        for name in names or tuple(self.machines):
            if self.sinks[name].timers.pop(RESEND, None) is not None:
                self.call(name, "expire", RESEND)

    def crash(self, name: str) -> None:
        """The process is gone; what it had under way still flies."""
        del self.machines[name]

    def down(self, name: str, *told: str) -> None:
        """These processes, or all, are told that a process is down."""
        for other in told or tuple(self.machines):
            self.call(other, "peer_down", name)

    def call(self, name: str, method: str, *arguments: Any) -> None:
        self.now += 1
        sink = self.sinks[name]
        try:
            getattr(self.machines[name], method)(*arguments, self.now, sink)
        except Busy as busy:
            raise AssertionError(f"{name} is busy: {busy}") from busy
        self.flying += [Frame(name, target, message) for target, message in sink.take_sent()]

    def log(self, name: str) -> list[Any]:
        """What a process delivered."""
        return self.sinks[name].payloads

    def stable(self, name: str) -> list[int]:
        """The numbers of a process's messages that it reported as stable."""
        return [message_id.number for message_id in self.sinks[name].stabilised]

    def held(self) -> dict[str, int]:
        """What all processes hold, by kind."""
        total: dict[str, int] = {}
        for machine in self.machines.values():
            for gauge, value in machine.gauges().items():
                total[gauge] = total.get(gauge, 0) + value
        return total

    def at_rest(self) -> bool:
        """Nothing flies, nothing is held, no timer is armed."""
        armed = any(self.sinks[name].timers for name in self.machines)
        return not self.flying and not armed and not any(self.held().values())

    def _arrive(self, frame: Frame) -> None:
        if frame.target in self.machines:
            self.call(frame.target, "receive", frame.source, frame.message)
