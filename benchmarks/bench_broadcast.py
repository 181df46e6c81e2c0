"""What each broadcast algorithm adds to a message, and what a delivery costs, as group and history grow.

No simulator: n protocol objects and one queue of frames, so that only the protocols' own work is timed. A
frame's bytes are its MessagePack encoding (msgspec); metadata is what a frame with a payload has besides it.
Control bytes are those of all frames without a payload, per message. CPU is per delivery, and also a ratio to
the cheapest causal algorithm in the same run, FIFO over a tree.
"""

import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import msgspec

from aforesaid.core import saying
from aforesaid.protocols.catalog import Setup, algorithm

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.recorder import Recorder

PAYLOAD = b"\x00" * 100
SIZES = (3, 10, 30, 100, 300)
ALGORITHMS = (
    "tree",
    "newtop",
    "pak",
    "waiting",
    "waiting_uniform",
    "no_waiting",
    "no_waiting_gc",
)
FRAMES_MAX = 400_000
"""How many frames a measurement may cost: large groups say fewer messages."""


class Group:
    """n protocol objects and one FIFO of frames; every object is the effects sink of its own seat."""

    def __init__(self, name: str, n: int, options: dict[str, Any] | None = None) -> None:
        self.names = tuple(f"p{number}" for number in range(n))
        self.frames: deque[tuple[str, str, Any]] = deque()
        self.seats = {me: Seat(self, me) for me in self.names}
        entry = algorithm(name)
        self.machines = {me: entry.build(Setup(me, self.names, 0, options or {})) for me in self.names}
        self.sayings = {me: saying(machine) for me, machine in self.machines.items()}
        self.weigh = False
        self.data: list[int] = []
        self.control = 0

    @property
    def delivered(self) -> int:
        return sum(seat.count for seat in self.seats.values())

    def say(self, me: str) -> None:
        self.sayings[me]((), PAYLOAD, 0, self.seats[me])

    def settle(self) -> None:
        """Carry every frame; fire timers, earliest first, once nothing else moves."""
        while True:
            while self.frames:
                source, target, frame = self.frames.popleft()
                self.machines[target].receive(source, frame, 0, self.seats[target])
            due = [
                (when, me, timer) for me, seat in self.seats.items() for timer, when in seat.timers.items()
            ]
            if not due:
                return
            when, me, timer = min(due, key=lambda item: item[:2])
            del self.seats[me].timers[timer]
            self.machines[me].expire(timer, when, self.seats[me])


class Seat(Recorder):
    """An effects sink that counts deliveries and does not keep them: memory is not what is measured."""

    def __init__(self, group: Group, me: str) -> None:
        super().__init__()
        self.group, self.me = group, me
        self.count = 0

    def send(self, targets: Any, message: Any) -> None:
        group = self.group
        for target in targets:
            group.frames.append((self.me, target, message))
        if group.weigh:
            self._weigh(message, len(targets))

    def _weigh(self, message: Any, copies: int) -> None:
        size = len(msgspec.msgpack.encode(message))
        if size > len(PAYLOAD):
            self.group.data.append(size - len(PAYLOAD))
        else:
            self.group.control += size * copies

    def deliver(self, message_id: Any, payload: Any) -> None:
        self.count += 1

    def stable(self, message_id: Any) -> None:
        pass


def measure(
    name: str, n: int, messages: int, options: dict[str, Any] | None = None
) -> tuple[float, float, float]:
    """Metadata bytes per frame, control bytes per message, CPU microseconds per delivery."""
    weighed = Group(name, n, options)
    weighed.weigh = True
    talk(weighed, messages)
    timed = Group(name, n, options)
    began = time.process_time()
    talk(timed, messages)
    cpu = time.process_time() - began
    assert timed.delivered == messages * n, f"{name}, n = {n}: {timed.delivered} of {messages * n} delivered"
    return sum(weighed.data) / len(weighed.data), weighed.control / messages, cpu / timed.delivered * 1e6


def talk(group: Group, messages: int) -> None:
    """Rounds: up to ten processes speak before anyone hears them, so that messages are concurrent."""
    for first in range(0, messages, 10):
        for number in range(first, min(first + 10, messages)):
            group.say(group.names[number * 7 % len(group.names)])
        group.settle()


def growth_with_the_group() -> None:
    print("As the group grows: metadata bytes | control bytes per message | CPU us per delivery (x tree)")
    print(f"{'algorithm':18}" + "".join(f"{'n = ' + str(n):>26}" for n in SIZES))
    floor: dict[int, float] = {}
    for name in ALGORITHMS:
        cells = []
        for n in SIZES:
            per_message = n if name == "tree" else n * n
            messages = max(10, min(200, FRAMES_MAX // per_message) // 10 * 10)
            metadata, control, cpu = measure(name, n, messages)
            floor.setdefault(n, cpu)
            cells.append(f"{metadata:8.0f} |{control:7.0f} |{cpu:5.1f} ({cpu / floor[n]:.1f})")
        print(f"{name:18}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


def growth_with_history() -> None:
    print("\nAs history grows (n = 10): metadata bytes of the last ten messages")
    lengths = (10, 100, 1_000)
    print(f"{'algorithm':18}" + "".join(f"{count:>9} said" for count in lengths))
    for name in ("no_waiting", "no_waiting_gc", "waiting", "pak", "newtop", "tree"):
        cells = []
        for count in lengths:
            group = Group(name, 10)
            talk(group, count - 10)
            group.weigh = True
            talk(group, 10)
            cells.append(f"{sum(group.data) / len(group.data):9.0f}     ")
        print(f"{name:18}" + "".join(cells), flush=True)


def modulo_k() -> None:
    print("\nVector times modulo k (PAK): bytes of the packed vector, beside n counters of 8 bytes")
    for n in SIZES:
        sizes = {ct: (n * (2 * ct).bit_length() + 7) // 8 for ct in (1, 3, 10)}
        real = {}
        for ct in sizes:
            group = Group("pak_credit", n, {"credit": ct})
            group.say("p0")
            real[ct] = len(group.frames[0][2].vector)
        told = ", ".join(f"credit {ct}: {real[ct]} (n log2 k: {sizes[ct]})" for ct in sizes)
        print(f"n = {n:3}: {told}; unbounded: {8 * n}")
        assert real == sizes


def idle_newtop() -> None:
    print("\nNewtop, p2 of three idle: of 20 messages said by p0 and p1, delivered by p0, p1 and p2")
    for nulls in (True, False):
        group = Group("newtop", 3, {"nulls": nulls})
        for number in range(20):
            group.say(f"p{number % 2}")
            group.settle()
        told = ", ".join(str(seat.delivered) for seat in group.seats.values())
        print(f"null messages {'on ' if nulls else 'off'}: {told}")


if __name__ == "__main__":
    growth_with_the_group()
    growth_with_history()
    modulo_k()
    idle_newtop()
