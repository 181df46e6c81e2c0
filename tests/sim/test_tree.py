"""Broadcast along a tree in the simulator: causal in n - 1 frames per message, while nobody crashes."""

import random
from typing import Any

import pytest

from aforesaid.protocols.broadcast.tree import Tree
from aforesaid.protocols.catalog import Setup
from support.harness import command, judged, scenario

PROMISES = ("validity", "agreement", "no_duplicate", "no_creation", "fifo", "causal")
SEEDS = 300
CHUNKS = 6


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_promise_holds(chunk: int) -> None:
    pauses = held = 0
    for seed in range(chunk, SEEDS, CHUNKS):
        chance = random.Random(seed)
        count = chance.randint(3, 6)
        delay = {"kind": "lognormal", "median_ms": chance.choice((2, 20)), "sigma": chance.choice((0.5, 1.4))}
        run = scenario(
            seed=seed,
            processes=count,
            network={"fifo": True, "delay": delay},
            workload=[{"kind": "rate", "per_second": 20}, {"kind": "chain", "per_second": 20}],
            fault=[
                {"kind": "pause", "at_ms": [0, 300], "for_ms": 100},
                {"kind": "partition", "from_ms": 100, "until_ms": 200, "groups": [["p0"], ["p1", "p2"]]},
            ],
        )
        outcome, _, report = judged(run, tree(chance.randint(1, 4)))
        assert report.value(PROMISES) == "kept", f"{command(run)}: {report.to_dict()}"
        assert outcome.run.ended == "drained", command(run)
        assert outcome.counters.sent == (count - 1) * outcome.messages, command(run)
        assert not any(outcome.held.values()), command(run)
        pauses += outcome.counters.faults["pause"]
        held += outcome.counters.held
    assert pauses == SEEDS / CHUNKS
    assert held > 0


def test_a_crash_cuts_the_tree() -> None:
    """What the documentation says: nothing is promised any more. Here validity and agreement are lost."""
    run = scenario(
        network={"fifo": True},
        processes=5,
        fault=[{"kind": "crash", "at_ms": 50, "process": "p1"}],
    )
    _, _, report = judged(run, tree(2))
    assert report.verdicts["validity"].value == "violated"
    assert report.verdicts["agreement"].value == "violated"


def tree(fan_out: int) -> Any:
    def build(setup: Setup) -> Tree:
        return Tree(setup.me, setup.group, setup.incarnation, fan_out)

    return build
