"""A machine that is killed at any moment and told again what a journal holds goes on as if nothing had been.

Every algorithm of the catalog and one from outside, with perfect links and a frontier where it may have them,
runs in worlds with every fault that it bears. Each machine is killed after some of its calls, and another one
is restored from the last snapshot and the inputs since. It must have the state of the killed one, its timers
and its time, and have had the same effects since the snapshot; and the whole run must be the one in which
nobody is killed.
"""

from collections import Counter
from random import Random
from typing import Any

import pytest

from aforesaid.core import Busy, MessageId, Misbehaviour, freeze
from aforesaid.journal import Diverged, ToldMachine, restored
from aforesaid.protocols.algorithm import Algorithm, Setup
from aforesaid.protocols.catalog import CATALOG, algorithm
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.sim import Scenario, simulate
from aforesaid.sim.simulation import Simulation
from aforesaid.testing.worlds import worlds
from aforesaid.wire import Codec, shapes_of
from support.noting import Noting
from support.scale import scaled

SEEDS = scaled(1, 20)
OUTSIDE = "aforesaid.testing.template:ENTRY"
"""As an algorithm from outside is named."""
COMING_AND_GOING: dict[str, Any] = {
    "processes": 5,
    "duration_ms": 300,
    "drain_ms": 60_000,
    "detector": {"delay_ms": 40},
    "workload": [{"kind": "rate", "per_second": 15}],
    "network": {"delay": {"kind": "uniform", "min_ms": 1, "max_ms": 20}, "fifo": True},
    "fault": [{"kind": "churn", "joins_per_second": 12, "leaves_per_second": 6, "crashes_per_second": 4}],
}
REWIRED = {"kind": "rewire", "per_second": 60, "open": 3, "close": 1, "reopen": 1, "flap": 1, "reopen_ms": 40}


class Mortal(ToldMachine):
    """Is killed now and then, and restored."""

    def __init__(self, machine: Any, chance: Random, happened: Counter[str]) -> None:
        super().__init__(machine, self.written)
        self.chance, self.happened = chance, happened
        self.out = Noting()
        self.records: list[bytes] = []
        self.since = self.snapshot()

    def tell(self, name: str, *arguments: Any) -> Any:
        *told, self.out.host = arguments
        try:
            return super().tell(name, *told, self.out)
        except (Busy, Misbehaviour) as refusal:
            self.happened[type(refusal).__name__] += 1
            raise

    def written(self, record: bytes) -> None:
        self.records.append(record)
        fate = self.chance.random()
        if fate < 0.06:
            self.happened["snapshot"] += 1
            self.since = self.snapshot()
            self.records.clear()
            self.out.noted.clear()
        elif fate < 0.14:
            self.happened["kill"] += 1
            self.come_back()

    def come_back(self) -> None:
        again = Noting()
        other = restored(self.since, self.records, again, self.records.append)
        assert freeze(other.machine, in_order=True) == freeze(self.machine, in_order=True)
        assert list(other.timers.items()) == list(self.timers.items())
        assert self.timers.keys() == self.out.host.timers.keys()
        assert other.now == self.now
        assert again.noted == self.out.noted
        self.machine = other.machine


def scenarios(entry: Algorithm) -> dict[str, dict[str, Any]]:
    found = worlds(entry)
    if entry.linked:
        found["coming and going"] = COMING_AND_GOING
    if entry.linked and not entry.samples:
        found["rewired"] = {**COMING_AND_GOING, "fault": [REWIRED]}
    if "frontier" in entry.options.__struct_fields__:
        world = "coming and going" if entry.linked else "reordering"
        found["frontier"] = {**found[world], "options": {"frontier": True}}
    return found


@pytest.mark.parametrize("name", [*CATALOG, OUTSIDE])
def test_who_is_killed_and_told_again_goes_on_as_if_nothing_had_been(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: Counter[str] = Counter()
    build = Simulation._machine
    for seed in range(1, SEEDS + 1):
        for world, parts in scenarios(algorithm(name)).items():
            scenario = Scenario.of({"algorithm": name, "seed": seed, **parts})
            monkeypatch.setattr(Simulation, "_machine", build)
            undisturbed, _ = simulate(scenario)
            chance = Random(f"{name} {world} {seed}")

            def mortal(simulation: Simulation, *setup: Any, chance: Random = chance) -> Any:
                return Mortal(build(simulation, *setup), chance, happened).speaker

            monkeypatch.setattr(Simulation, "_machine", mortal)
            killed, _ = simulate(scenario)
            told = f"{name}, {world}, seed {seed}"
            assert killed.run.digest == undisturbed.run.digest, told
            assert killed.counters == undisturbed.counters, told
            assert killed.held == undisturbed.held, told
    assert happened["kill"] > 5
    assert happened["snapshot"] > 1


class Asking:
    """Asks for choices, and is refused by itself."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.told = 0

    def broadcast(self, payload: Any, now: int, out: Any) -> MessageId:
        if payload == "busy":
            raise Busy("not now")
        if payload == "wrong":
            self.told += 1
            raise Misbehaviour("no")
        if payload == "wait":
            out.arm("once", now + 10)
            return MessageId("p0", 0, 1)
        self.told += out.choose("which", self.count)
        return MessageId("p0", 0, 1)

    def receive(self, source: str, message: Any, now: int, out: Any) -> None: ...

    def expire(self, timer: Any, now: int, out: Any) -> None: ...

    def peer_up(self, peer: str, now: int, out: Any) -> None: ...

    def peer_down(self, peer: str, now: int, out: Any) -> None: ...

    def gauges(self) -> dict[str, int]:
        return {}


class Choosing(Noting):
    def choose(self, label: str, count: int) -> int:
        return count - 1


def test_choices_are_made_as_they_were_and_refusals_happen_again() -> None:
    records: list[bytes] = []
    told: Any = ToldMachine(Asking(8), records.append)
    begun = told.snapshot()
    told.speaker.broadcast("", 1, Choosing())
    for payload, refusal in (("busy", Busy), ("wrong", Misbehaviour)):
        with pytest.raises(refusal):
            told.speaker.broadcast(payload, 2, Choosing())
    assert len(records) == 2
    again: Any = restored(begun, records, Noting(), records.append)
    assert again.machine.told == told.machine.told == 8
    assert again.now == 2


def test_a_timer_that_has_expired_is_not_armed() -> None:
    records: list[bytes] = []
    told: Any = ToldMachine(Asking(8), records.append)
    begun = told.snapshot()
    told.speaker.broadcast("wait", 1, Choosing())
    assert told.timers == restored(begun, records, Noting(), records.append).timers == {"once": 11}
    armed = told.snapshot()
    told.speaker.expire("once", 11, Choosing())
    assert told.timers == restored(begun, records, Noting(), records.append).timers == {}
    assert restored(armed, [], Noting(), records.append).timers == {"once": 11}


def test_another_machine_than_the_journals_is_refused() -> None:
    records: list[bytes] = []
    told: Any = ToldMachine(Asking(8), records.append)
    told.speaker.broadcast("", 1, Choosing())
    other = ToldMachine(Asking(9), records.append).snapshot()
    with pytest.raises(Diverged, match="a choice of which among 9"):
        restored(other, records, Noting(), records.append)
    quiet: Any = CATALOG["reliable"].build(Setup("p0", ("p0", "p1")))
    with pytest.raises(Diverged, match="fewer choices"):
        restored(ToldMachine(quiet, records.append).snapshot(), records, Noting(), records.append)


def test_a_frame_that_came_in_is_written_as_on_the_wire_and_only_so_read() -> None:
    records: list[bytes] = []
    name, group = "hybrid_multicast_in_order", ("p0", "p1")
    frames = Codec(shapes_of(name, group))
    told: Any = ToldMachine(CATALOG[name].build(Setup("p0", group)), records.append, frames)
    begun = told.snapshot()
    frame, first, again = Msg(0, 1, 0, False, b"hello"), Noting(), Noting()
    told.speaker.receive("p1", frame, 7, first)
    assert frames.encode(frame) in records[0]
    back = restored(begun, records, again, records.append, frames)
    assert freeze(back.machine) == freeze(told.machine)
    assert again.noted == first.noted
    assert back.now == 7
    with pytest.raises(Diverged, match="nobody says in which format"):
        restored(begun, records, Noting(), records.append)
    with pytest.raises(Diverged, match="a frame of p1 in the journal is of another format"):
        restored(begun, records, Noting(), records.append, Codec(shapes_of("waiting", group)))
