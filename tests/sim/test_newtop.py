"""Newtop in the simulator: its promises under crashes, pauses and partitions, and what Nulls are for."""

import random
from typing import Any

import pytest

from aforesaid.protocols.broadcast.newtop import Newtop
from aforesaid.protocols.catalog import Setup
from aforesaid.sim import Scenario, simulate
from aforesaid.trace import MemoryTrace
from support.harness import command, judged, scenario
from support.scale import scaled

PROMISES = ("validity", "agreement", "no_duplicate", "no_creation", "fifo", "causal")
SEEDS = scaled(100, 300)
"""Of each kind of trouble."""


def crashes(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Up to all but one; some in quick succession, so that a flush meets the next crash."""
    first = chance.randint(20, 250)
    return [
        {"kind": "crash", "at_ms": [first, first + chance.choice((5, 40, 200))]}
        for _ in range(chance.randint(1, count - 1))
    ]


def crashes_at_delivery(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {"kind": "crash", "after_deliveries": chance.randint(1, 30)}
        for _ in range(chance.randint(1, count - 1))
    ]


def pauses(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [{"kind": "pause", "at_ms": [0, 250], "for_ms": chance.choice((20, 100, 300))} for _ in range(2)]


def partitions(chance: random.Random, count: int) -> list[dict[str, Any]]:
    names = [f"p{number}" for number in range(count)]
    chance.shuffle(names)
    cut, begin = chance.randint(1, count - 1), chance.randint(0, 200)
    return [
        {
            "kind": "partition",
            "from_ms": begin,
            "until_ms": begin + chance.randint(20, 150),
            "groups": [names[:cut], names[cut:]],
            "one_way": chance.random() < 0.3,
            "frames": "held",
        }
    ]


def everything(chance: random.Random, count: int) -> list[dict[str, Any]]:
    crash = chance.choice((crashes, crashes_at_delivery))
    return [fault for kind in (crash, pauses, partitions) for fault in kind(chance, count)]


TROUBLE = {
    crashes: ("crash",),
    crashes_at_delivery: ("crash",),
    pauses: ("pause",),
    partitions: ("partition",),
    everything: ("crash", "pause", "partition"),
}


@pytest.mark.parametrize("trouble", TROUBLE, ids=lambda trouble: trouble.__name__)
def test_every_promise_holds(trouble: Any) -> None:
    fired: dict[str, int] = {}
    held = lost = 0
    for seed in range(1, SEEDS + 1):
        run, idle_ms = world(seed, trouble)
        outcome, trace, report = judged(run, newtop(idle_ms))
        assert report.value(PROMISES) == "kept", f"{command(run)}: {report.to_dict()}"
        assert outcome.run.ended == "drained", command(run)
        assert not any(outcome.held.values()), f"{command(run)}: {outcome.held}"
        assert one_order(trace), command(run)
        for fault, count in outcome.counters.faults.items():
            fired[fault] = fired.get(fault, 0) + count
        held += outcome.counters.held
        lost += outcome.counters.lost
    assert all(fired[fault] >= SEEDS / 2 for fault in TROUBLE[trouble])
    assert held > 0 or "partition" not in TROUBLE[trouble]
    assert lost > 0 or "crash" not in TROUBLE[trouble]


def test_an_idle_member_stops_delivery_without_nulls_and_not_with_them() -> None:
    talkers = scenario(
        seed=3,
        network={"fifo": True},
        workload=[{"kind": "rate", "per_second": 20, "processes": ["p0", "p1"]}],
    )
    outcome, _, report = judged(talkers, newtop(nulls=False))
    assert report.verdicts["validity"].value == "violated"
    assert outcome.held["undelivered"] > 0
    outcome, _, report = judged(talkers, newtop())
    assert report.value(PROMISES) == "kept"
    assert outcome.messages > 10
    assert outcome.deliveries == 4 * outcome.messages


@pytest.mark.parametrize("idle_ms", [0, 1, 10, 100])
def test_a_run_comes_to_rest(idle_ms: float) -> None:
    """At most two Nulls of each process for each message, and the last frame soon after the last message."""
    run = scenario(seed=5, network={"fifo": True, "delay": {"kind": "uniform", "min_ms": 1, "max_ms": 20}})
    outcome, trace = simulate(run, build=newtop(idle_ms))
    others = run.processes - 1
    assert outcome.counters.sent <= others * outcome.messages * (1 + 2 * run.processes)
    last = int(trace.messages.time_ns.max())
    # The message, a Null of everyone, a report of everyone; each at most one delay and one idle time.
    assert outcome.ended_ns <= max(last, 400_000_000) + 3 * round((20 + idle_ms) * 1_000_000)


def test_the_same_seed_gives_the_same_trace() -> None:
    run, idle_ms = world(7, everything)
    first, _ = simulate(run, build=newtop(idle_ms))
    second, _ = simulate(run, build=newtop(idle_ms))
    assert first.run.digest == second.run.digest


def newtop(idle_ms: float = 10, nulls: bool = True) -> Any:
    def build(setup: Setup) -> Newtop:
        return Newtop(setup.me, setup.group, setup.incarnation, idle_ms, nulls)

    return build


def world(seed: int, trouble: Any) -> tuple[Scenario, float]:
    """A small scenario with its idle time; everything in it depends on the seed."""
    chance = random.Random(seed)
    count = chance.randint(3, 6)
    delay = {
        "kind": "lognormal",
        "median_ms": chance.choice((2, 10, 25)),
        "sigma": chance.choice((0.5, 1.0, 1.4)),
    }
    run = scenario(
        seed=seed,
        processes=count,
        duration_ms=300,
        network={"fifo": True, "delay": delay},
        detector={"delay_ms": chance.choice((0, 5, 30, 100))},
        workload=[
            {"kind": "rate", "per_second": chance.choice((3, 10, 30))},
            {"kind": "chain", "per_second": 10},
        ],
        fault=trouble(chance, count),
    )
    return run, chance.choice((1, 5, 20))


def one_order(trace: MemoryTrace) -> bool:
    """All survivors delivered the same in the same order; those that crashed, in that order as well."""
    fates = trace.processes.fate
    logs = [trace.log(process).message.tolist() for process in range(len(fates))]
    survivors = [log for log, fate in zip(logs, fates, strict=True) if fate == "alive"]
    place = {message: number for number, message in enumerate(survivors[0])}
    common = [[place[message] for message in log if message in place] for log in logs]
    return all(log == survivors[0] for log in survivors) and all(log == sorted(log) for log in common)
