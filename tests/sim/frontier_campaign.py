"""The causal frontier under random churn, against brute force.

    python tests/sim/frontier_campaign.py [runs per setting, 100 unless told] [setting ...]

The worlds are those of `prc_campaign`: links that open, close and break, joins, leaves, crashes, isolation,
and workloads that answer what they hear, some in the midst of what was delivered with it. Of every message
the predecessors it carries are the true ones, no more and no less. Of every two messages that a process has
in its window it knows which came first, or that neither did; of others it claims nothing that is not so. A
failure prints the line that plays it again.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.check import check
from aforesaid.core import MessageId, order_of
from aforesaid.protocols.algorithm import Setup
from aforesaid.protocols.frontier import Frontier
from aforesaid.sim import Scenario
from aforesaid.sim.parts import Pipeline
from aforesaid.sim.simulation import Simulation
from aforesaid.trace import MemorySink, Tracer
from sim.prc_campaign import SETTINGS, scenario_of
from support.frontier_truth import Truth

PAIRS = 200
"""How many pairs of messages each process is asked about."""


@dataclass(frozen=True)
class Placed:
    """One run and what was found."""

    messages: int
    carried: int
    """Ids that messages carried, in all."""
    carried_max: int
    newcomers: int
    """Processes that joined, or came back, and spoke."""
    answers: int
    """Pairs of which a process knew which came first, or that neither did."""
    unknown: int
    complaints: list[str]


def world(setting: str, seed: int) -> Scenario:
    """A world of churn, whose messages carry their frontier; windows are short in every other one."""
    scenario = scenario_of(setting, seed)
    window = 1024 if seed % 2 else Random(seed).randint(1, 12)
    return msgspec.structs.replace(
        scenario,
        options={**scenario.options, "frontier": True, "window": window},
        # Whose stages answer at once, in the midst of what was delivered together.
        workload=[*scenario.workload, Pipeline(per_second=10)],
    )


def play(setting: str, seed: int, build: Callable[[Setup], Any] | None = None) -> Placed:
    return judge(world(setting, seed), build)


def judge(scenario: Scenario, build: Callable[[Setup], Any] | None = None) -> Placed:
    sink = MemorySink()
    simulation = Simulation(scenario, Tracer(sink), build)
    simulation.close("run", simulation.run())
    trace, truth = sink.trace, Truth(sink.trace)
    recorded = check(trace).verdicts["recorded"]
    complaints = [witness.sentence for witness in recorded.witnesses] + truth.wrongly_placed()
    random, answers, unknown = Random(scenario.seed), 0, 0
    for machine in simulation.machines.values():
        order = order_of(machine)
        assert isinstance(order, Frontier)
        pairs = some_pairs(random, list(order.window), truth.ids)
        complaints += truth.wrongly_ordered(order, pairs)
        said = [order.precedes(*pair) for pair in pairs]
        unknown += said.count(None)
        answers += len(said) - said.count(None)
    lengths = trace.messages.after.lengths
    spoke = set(trace.messages.origin.tolist())
    return Placed(
        len(lengths),
        int(lengths.sum()),
        int(lengths.max(initial=0)),
        sum(joined for process, joined in enumerate(trace.processes.joined.tolist()) if process in spoke),
        answers,
        unknown,
        complaints,
    )


def some_pairs(
    random: Random, window: list[MessageId], all_ids: list[MessageId]
) -> list[tuple[MessageId, MessageId]]:
    """Mostly pairs from the window; some of any two messages at all."""
    found = [(random.choice(window), random.choice(window)) for _ in range(PAIRS if window else 0)]
    return found + [(random.choice(all_ids), random.choice(all_ids)) for _ in range(PAIRS // 10)]


def again(setting: str, seed: int) -> str:
    """How to play a run again."""
    return (
        f'PYTHONPATH=tests python -c "from sim.frontier_campaign import *; print(play({setting!r}, {seed}))"'
    )


def campaign(setting: str, seeds: Iterable[int]) -> tuple[list[Placed], list[str]]:
    """The runs of one setting, and what was wrong in them."""
    runs, wrong = [], []
    for seed in seeds:
        runs.append(play(setting, seed))
        wrong += [f"{complaint}\n  again: {again(setting, seed)}" for complaint in runs[-1].complaints[:1]]
    return runs, wrong


def main(arguments: list[str]) -> int:
    count, failures = int(arguments[0]) if arguments else 100, 0
    for setting in arguments[1:] or SETTINGS:
        runs, wrong = campaign(setting, range(count))
        messages, carried = sum(run.messages for run in runs), sum(run.carried for run in runs)
        sys.stdout.write(
            f"{setting:14}{len(runs):6,} runs, {messages:,} messages, {carried / messages:.2f} ids each, "
            f"{max(run.carried_max for run in runs)} at most; "
            f"{sum(run.newcomers for run in runs):,} newcomers spoke; "
            f"{sum(run.answers for run in runs):,} answers, {sum(run.unknown for run in runs):,} "
            f"unknown; {len(wrong)} went wrong\n" + "".join(f"  {line}\n" for line in wrong[:5])
        )
        sys.stdout.flush()
        failures += len(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
