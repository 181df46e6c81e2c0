"""The static kernels against link memory (algorithm 1) on the same overlay: order of deliveries and space."""

from heapq import heappop, heappush
from typing import Any

import numpy as np
import pytest

from aforesaid.core import Misuse
from aforesaid.fleet import FleetStopped, Overlay, flood, flood_wheel, random_overlay
from aforesaid.fleet.layout import TARGET_SHIFT
from aforesaid.protocols.overlay.link_memory import LinkMemory
from support.harness import Recorder


class Reference(Recorder):
    """Link memory at every process; what is sent takes a delay that depends on the link alone.

    It is the effects sink of all of them, and remembers who delivered and when.
    """

    def __init__(self, overlay: Overlay, delays: Any) -> None:
        super().__init__()
        self.agenda: list[tuple[int, int, Any, tuple[Any, ...]]] = []
        self.order = 0
        self.now = self.area = self.peak = 0
        self.me = 0
        self.log: list[tuple[int, int, int]] = []
        self.delay = {
            (p, int(overlay.wires[p, i]) >> TARGET_SHIFT): int(delays[p, i - 1])
            for p in range(len(overlay.wires))
            for i in range(1, overlay.wires[p, 0] + 1)
        }
        views = [list(map(str, view)) for view in overlay.in_views()]
        self.machines = [
            LinkMemory(
                str(p), [str(int(e) >> TARGET_SHIFT) for e in row[1 : row[0] + 1]], list(map(str, views[p]))
            )
            for p, row in enumerate(overlay.wires)
        ]

    def send(self, targets: Any, message: Any) -> None:
        for target in targets:
            self.at(
                self.now + self.delay[self.me, int(target)], self.arrive, int(target), str(self.me), message
            )

    def deliver(self, message_id: Any, payload: int) -> None:
        self.log.append((self.now, self.me, payload))

    def at(self, time: int, step: Any, *arguments: Any) -> None:
        heappush(self.agenda, (time, self.order, step, arguments))
        self.order += 1

    def arrive(self, p: int, source: str, message: Any) -> None:
        self.me = p
        self.machines[p].receive(source, message, self.now, self)

    def say(self, p: int, number: int) -> None:
        self.me = p
        self.machines[p].broadcast(number, self.now, self)

    def run(self, said: Any) -> None:
        for number, (time, p) in enumerate(said.tolist()):
            self.at(time, self.say, p, number)
        while self.agenda:
            time, _, step, arguments = heappop(self.agenda)
            if time > self.now:
                held = sum(machine.gauges()["expected"] for machine in self.machines)
                self.area += held * (time - self.now)
                self.now = time
            step(*arguments)


def said(seed: int, processes: int, messages: int, within: int) -> Any:
    chance = np.random.default_rng(seed)
    times = np.sort(chance.integers(0, within, messages))
    return np.stack([times, chance.integers(0, processes, messages)], 1)


@pytest.mark.parametrize("seed", range(12))
def test_one_delay_for_all(seed: int) -> None:
    overlay = random_overlay(12 + seed, 2 + seed % 4, seed)
    spoken = said(seed, 12 + seed, 15, 200)
    delays = np.full((len(overlay.wires), overlay.wires.shape[1] - 1), 37)
    reference = Reference(overlay, delays)
    reference.run(spoken)
    outcome = flood(overlay, spoken, 37, log=True)
    assert outcome.log.tolist() == [list(row) for row in reference.log]
    assert (outcome.area, outcome.held) == (reference.area, 0)
    assert outcome.deliveries == 15 * len(overlay.wires)


@pytest.mark.parametrize("seed", range(12))
def test_a_delay_for_each_link(seed: int) -> None:
    overlay = random_overlay(12 + seed, 2 + seed % 4, seed)
    spoken = said(seed, 12 + seed, 15, 300)
    shape = (len(overlay.wires), overlay.wires.shape[1] - 1)
    delays = np.random.default_rng(seed).integers(1, 60, shape).astype(np.int32)
    reference = Reference(overlay, delays)
    reference.run(spoken)
    outcome = flood_wheel(overlay, spoken, delays, log=True)
    assert outcome.log.tolist() == [list(row) for row in reference.log]
    assert (outcome.area, outcome.held) == (reference.area, 0)


def test_chunks_of_the_wheel_are_used_again() -> None:
    """More copies in one bucket than a chunk holds."""
    overlay = random_overlay(300, 8, 1)
    delays = np.full((300, 8), 5, np.int32)
    spoken = said(2, 300, 20, 100)
    outcome, other = flood_wheel(overlay, spoken, delays, log=True), flood(overlay, spoken, 5, log=True)
    assert outcome.log.tolist() == other.log.tolist()
    assert (outcome.area, outcome.receipts) == (other.area, 300 * 8 * 20)


@pytest.mark.parametrize(("processes", "degree"), [(3, 1), (9, 3), (60, 20), (1_000, 12)])
def test_an_overlay_has_no_link_twice_and_reaches_everyone(processes: int, degree: int) -> None:
    overlay = random_overlay(processes, degree, 5)
    targets = overlay.wires[:, 1:] >> TARGET_SHIFT
    assert all(len({*row, p}) == degree + 1 for p, row in enumerate(targets.tolist()))
    assert all(len(view) == degree for view in overlay.in_views())
    assert flood(overlay, np.array([[0, 1]]), 1).deliveries == processes


def test_a_copy_too_many_is_found() -> None:
    """A process that hears from somebody twice, which its memory does not know."""
    overlay = random_overlay(20, 3, 1)
    overlay.wires[3, 2] = overlay.wires[3, 1]
    with pytest.raises(FleetStopped, match=r"p\d+ received message 0 where it was not expected"):
        flood(overlay, np.array([[0, 0]]), 1)


def test_misuse_is_told() -> None:
    with pytest.raises(Misuse, match="order of time"):
        flood(random_overlay(20, 3, 1), np.array([[0, 20]]), 1)
    with pytest.raises(Misuse, match="degree"):
        random_overlay(10, 6, 1)
    with pytest.raises(Misuse, match="one delay"):
        flood_wheel(random_overlay(20, 3, 1), np.array([[0, 0]]), np.zeros((20, 3), np.int32))
