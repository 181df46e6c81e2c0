"""The stage of schedules written by hand: processes, and a director who decides which frame arrives next.

What a process sends flies, in the order it was sent, until it is told to arrive or to be lost. Nothing else
moves it, and no timer goes off by itself. Frames are told apart by identity, never by what they equal.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from support.recorder import Recorder

Who = TypeVar("Who", bound=Hashable)
"""What the director calls a process: its name, or its rank."""


class Frame(NamedTuple):
    """On its way from one process to another."""

    source: Any
    target: Any
    message: Any


class Stage(Generic[Who]):
    """Protocol objects, what each told its effects sink, and the frames between them."""

    frames_max = 100_000
    """More than any schedule by hand needs: beyond it, frames bring about frames for ever."""

    def __init__(self, machines: Iterable[tuple[Who, Any]] = ()) -> None:
        self.machines: dict[Who, Any] = {}
        self.sinks: dict[Who, Recorder] = {}
        self.names: dict[Who, str] = {}
        self.called: dict[str, Who] = {}
        """By the name of a process: what the director calls it."""
        self.flying: list[Frame] = []
        self.sent: list[Frame] = []
        """Every frame ever sent."""
        self.now = 0
        for who, machine in machines:
            self.add(who, machine)

    def add(self, who: Who, machine: Any, name: str | None = None) -> None:
        """A process enters; `name`: what its peers call it, where the director does not."""
        self.machines[who] = machine
        self.sinks[who] = Recorder()
        self.names[who] = str(who) if name is None else name
        self.called[self.names[who]] = who

    def do(self, who: Who, method: str, *arguments: Any) -> Any:
        """Call a process; what it sends is on its way from then on."""
        sink = self.sinks[who]
        result = getattr(self.machines[who], method)(*arguments, self.now, sink)
        leaving = [Frame(who, self.who(target), message) for target, message in sink.take_sent()]
        self.sent += leaving
        self.flying += leaving
        return result

    def who(self, name: str) -> Who:
        """What the director calls the process of that name; whoever is written to has been on stage."""
        return self.called[name]

    def hand(self, source: Who, target: Who, message: Any) -> None:
        """A frame arrives, whether it was on its way or not; at a process that is gone, nothing happens."""
        if target in self.machines:
            self.do(target, "receive", self.names[source], message)

    def take(self, frame: Frame) -> Frame:
        """The frame is no longer on its way; a frame that equals it still is."""
        del self.flying[next(place for place, other in enumerate(self.flying) if other is frame)]
        return frame

    def carry_frame(self, frame: Frame) -> Any:
        """A frame on its way arrives."""
        self.hand(*self.take(frame))
        return frame.message

    def between(self, source: Who, target: Who) -> list[Any]:
        """What is on its way from one to the other, oldest first."""
        return [frame.message for frame in self.flying if frame[:2] == (source, target)]

    def drain(self, held: Callable[[Frame], bool] = lambda frame: False) -> None:
        """Everything arrives, oldest first, also what that brings about, except what is held back."""
        for _ in range(self.frames_max):
            frame = next((frame for frame in self.flying if not held(frame)), None)
            if frame is None:
                return
            self.carry_frame(frame)
        raise AssertionError("copies without end")

    def fire(self, who: Who, timer: Any) -> None:
        """An armed timer goes off, and it is as late as it says."""
        self.now = max(self.now, self.sinks[who].timers.pop(timer))
        self.do(who, "expire", timer)

    def crash(self, who: Who) -> None:
        """The process is gone; what it had under way still flies."""
        del self.machines[who]

    def payloads(self, who: Who) -> list[Any]:
        """What a process delivered."""
        return self.sinks[who].payloads

    def gauges(self) -> dict[str, int]:
        """What all processes hold, by kind."""
        total: dict[str, int] = {}
        for machine in self.machines.values():
            for gauge, value in machine.gauges().items():
                total[gauge] = total.get(gauge, 0) + value
        return total
