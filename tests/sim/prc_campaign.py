"""Random churn against PRC-broadcast: the slow target, and the share of it that every test run plays.

    python tests/sim/prc_campaign.py [runs per setting, 400 unless told] [setting ...]

In every run nothing is delivered twice or out of causal order. No link is stuck: at rest both ends of each
know it, and no opening or closing is under way. If the open links end strongly connected, every correct
process has delivered everything that it was owed, and nobody remembers anything. A failure prints the line
that plays it again.
"""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.check import check
from aforesaid.protocols.algorithm import Setup
from aforesaid.protocols.overlay.frames import Lid
from aforesaid.protocols.overlay.prc.links import OPEN, SAFE
from aforesaid.sim import Scenario
from aforesaid.sim.simulation import Simulation
from aforesaid.trace import MemorySink, Tracer

ALWAYS = ("no_duplicate", "no_creation", "fifo", "causal")
IF_CONNECTED = ("validity", "agreement")
HANDSHAKE_MS = 150

Parts = dict[str, Any]
Ends = tuple[Mapping[Lid, str], Collection[Lid]]


def calm(random: Random) -> Parts:
    """The host opens, closes and reopens links; nobody fails."""
    return world(random, [rewire(random)])


def one_way(random: Random) -> Parts:
    return world(random, [rewire(random), *trouble(random)], both_ways=False, degree=random.choice((2, 3)))


def troubled(random: Random) -> Parts:
    """Lost connections, false suspicions, crashes, joins and leaves besides."""
    return world(random, [rewire(random, flap=1), *trouble(random)])


def routed_blind(random: Random) -> Parts:
    """α over safe links as printed, and half of the openings without a route, by flooding."""
    both_ways = random.random() < 0.5
    return world(random, [rewire(random, blind=0.5), *trouble(random)], alpha="routed", both_ways=both_ways)


def tiny_buffers(random: Random) -> Parts:
    both_ways = random.random() < 0.5
    return world(
        random, [rewire(random), *trouble(random)], buffer_max=random.randint(1, 5), both_ways=both_ways
    )


def lossy(random: Random) -> Parts:
    """5 % of the messages about links are lost."""
    parts = troubled(random)
    parts["options"]["both_ways"] = random.random() < 0.5
    parts["network"]["control_loss"] = 0.05
    return parts


def crowds(random: Random) -> Parts:
    """Many come at once, and up to half of all crash at once; some stand still, or are cut off."""
    faults: list[Parts] = [
        rewire(random),
        {"kind": "join", "at_ms": [0, 200], "count": random.randint(4, 10)},
        {"kind": "crash", "at_ms": [100, 300], "share": random.choice((0.3, 0.5))},
        {"kind": "pause", "at_ms": [0, 250], "for_ms": random.choice((50, 400))},
        {"kind": "partition", "from_ms": 100, "until_ms": 250, "groups": [["p0", "p1"], ["p2", "p3"]]},
    ]
    return world(random, faults, both_ways=random.random() < 0.5)


def sampled(random: Random) -> Parts:
    """Spray decides about the links."""
    parts = world(
        random,
        trouble(random),
        period_ms=random.choice((100, 200, 400)),
        handshake_ms=random.choice((HANDSHAKE_MS, 400, 400)),
    )
    parts["network"]["control_loss"] = random.choice((0, 0, 0.05))
    return {**parts, "algorithm": "prc_spray"}


def sampled_preventive(random: Random) -> Parts:
    """Spray decides, and preventive broadcast links."""
    return {**sampled(random), "algorithm": "preventive_spray"}


SETTINGS: dict[str, Callable[[Random], Parts]] = {
    setting.__name__: setting
    for setting in (
        *(calm, one_way, troubled, routed_blind, tiny_buffers, lossy, crowds, sampled),
        sampled_preventive,
    )
}


def world(random: Random, faults: list[Parts], **options: Any) -> Parts:
    many = random.random() < 0.15
    processes = random.randint(13, 40) if many else random.randint(4, 12)
    delay = random.choice(
        (
            {"kind": "uniform", "min_ms": 1, "max_ms": 20},
            {"kind": "uniform", "min_ms": 1, "max_ms": 60},
            {"kind": "lognormal", "median_ms": 8, "sigma": 1.0},
        )
    )
    return {
        "algorithm": "prc",
        "processes": processes,
        "duration_ms": random.choice((300, 600)),
        "drain_ms": 60_000,
        "options": {"degree": 2, "handshake_ms": HANDSHAKE_MS, **options},
        "network": {"delay": delay, "fifo": True},
        "detector": {"delay_ms": 40},
        "workload": [
            {"kind": "rate", "per_second": random.choice((5, 15, 30)) / (1 + many)},
            {"kind": "chain", "per_second": 10, "depth": 3},
        ],
        "fault": faults,
    }


def rewire(random: Random, flap: float = 0, blind: float = 0.2) -> Parts:
    return {
        "kind": "rewire",
        "per_second": random.choice((20, 60, 150)),
        "open": 3,
        "close": 1,
        "reopen": 1,
        "flap": flap,
        "blind": blind,
        "reopen_ms": 40,
    }


def trouble(random: Random) -> list[Parts]:
    faults: list[Parts] = [
        {"kind": "churn", "joins_per_second": 6, "leaves_per_second": 3, "crashes_per_second": 2}
    ]
    faults += [{"kind": "suspect", "at_ms": [0, 300]} for _ in range(random.randint(0, 3))]
    faults += [{"kind": "flap", "at_ms": [0, 300]} for _ in range(random.randint(0, 3))]
    return faults


@dataclass(frozen=True)
class Played:
    """One run and what was found."""

    scenario: Scenario
    connected: bool
    faults: dict[str, int]
    evicted: int
    complaints: list[str]


def scenario_of(setting: str, seed: int) -> Scenario:
    return Scenario.of({"seed": seed, **SETTINGS[setting](Random(f"{setting} {seed}"))})


def play(setting: str, seed: int, build: Callable[[Setup], Any] | None = None) -> Played:
    return judge(scenario_of(setting, seed), build, stuck=stuck)


def stuck(machines: dict[str, Any]) -> list[str]:
    """What of PRC-broadcast has not come to its end."""
    found = []
    for name, machine in machines.items():
        state = machine.prc.state
        for lid in {**state.outgoing, **state.incoming}:
            there = machines.get(lid.far_end(name))
            if there is None or not there.prc.state.known(lid) or not state.complete(lid):
                found.append(f"{name} is left with {lid}")
        rest = (
            state.closing,
            state.overflown,
            state.controls,
            machine.mediators,
            machine.retained,
            machine.put_off,
        )
        if any(rest):
            found.append(f"{name} is left with {rest}")
    return found


def ends(machine: Any) -> Ends:
    """A process's safe out-links, and where they lead, and its open in-links."""
    state = machine.prc.state
    safe = {lid: outgoing.target for lid, outgoing in state.outgoing.items() if outgoing.state >= SAFE}
    return safe, [lid for lid, incoming in state.incoming.items() if incoming.state == OPEN]


def judge(
    scenario: Scenario,
    build: Callable[[Setup], Any] | None = None,
    ends: Callable[[Any], Ends] = ends,
    stuck: Callable[[dict[str, Any]], list[str]] = lambda machines: [],
) -> Played:
    sink = MemorySink()
    simulation = Simulation(scenario, Tracer(sink), build)
    ended = simulation.run()
    outcome = simulation.close("run", ended)
    verdicts = check(sink.trace).verdicts
    connected = strongly_connected({name: ends(machine) for name, machine in simulation.machines.items()})
    required = (*ALWAYS, *(IF_CONNECTED if connected else ()))
    complaints = [verdicts[name].witnesses[0].sentence for name in required if verdicts[name].witnesses]
    complaints += [f"{name} is not judged" for name in required if verdicts[name].value == "unknown"]
    if ended != "drained":
        complaints.append(f"the run was {ended}")
    else:
        complaints += stuck(simulation.machines)
    if connected:
        complaints += [f"{held} {kind} at rest" for kind, held in outcome.held.items() if held]
    return Played(scenario, connected, outcome.counters.faults, outcome.counters.evicted, complaints)


def strongly_connected(ends: dict[str, Ends]) -> bool:
    """Whether open links, as both of their ends see them, lead from every process to every other."""
    onward: dict[str, set[str]] = {name: set() for name in ends}
    backward: dict[str, set[str]] = {name: set() for name in ends}
    for name, (safe, _) in ends.items():
        for lid, target in safe.items():
            if target in ends and lid in ends[target][1]:
                onward[name].add(target)
                backward[target].add(name)
    return bool(ends) and reach(onward) == reach(backward) == set(ends)


def reach(graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    frontier = list(graph)[:1]
    while frontier:
        name = frontier.pop()
        if name not in seen:
            seen.add(name)
            frontier += graph[name]
    return seen


def again(setting: str, seed: int) -> str:
    """How to play a run again."""
    return f'PYTHONPATH=tests/sim python -c "from prc_campaign import *; print(play({setting!r}, {seed}))"'


def campaign(setting: str, seeds: Iterable[int]) -> tuple[list[Played], list[str]]:
    """The runs of one setting, and what was wrong in them."""
    runs, wrong = [], []
    for seed in seeds:
        run = play(setting, seed)
        runs.append(run)
        wrong += [f"{complaint}\n  again: {again(setting, seed)}" for complaint in run.complaints[:1]]
    return runs, wrong


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 400
    failures = 0
    for setting in arguments[1:] or SETTINGS:
        began = perf_counter()
        runs, wrong = campaign(setting, range(count))
        fired = sum((Counter(run.faults) for run in runs), Counter())
        faults = ", ".join(f"{number:,} {fault}" for fault, number in sorted(fired.items()))
        sys.stdout.write(
            f"{setting:14}{len(runs):6,} runs, {sum(run.connected for run in runs):,} ended strongly "
            f"connected, {len(wrong)} went wrong; {faults}, {sum(run.evicted for run in runs):,} evictions; "
            f"{perf_counter() - began:.1f} s\n" + "".join(f"  {line}\n" for line in wrong[:5])
        )
        sys.stdout.flush()
        failures += len(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
