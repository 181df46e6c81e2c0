"""Link memory on static overlays in the simulator: exactly once, causal, nothing remembered at rest."""

import random

import pytest

from support.harness import command, judged, scenario
from support.scale import scaled

SEEDS = scaled(150, 300)
CHUNKS = 3


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_promise_holds_and_memory_returns_to_empty(chunk: int) -> None:
    held = remembered = 0
    for seed in range(chunk, SEEDS, CHUNKS):
        chance = random.Random(seed)
        count = chance.randint(1, 9)
        degree = chance.randint(1, 4)
        delay = {"kind": "lognormal", "median_ms": chance.choice((2, 20)), "sigma": chance.choice((0.5, 1.4))}
        run = scenario(
            "link_memory",
            seed=seed,
            processes=count,
            sample_ms=20,
            options={"degree": degree},
            network={"fifo": True, "delay": delay},
            workload=[{"kind": "rate", "per_second": 15}, {"kind": "chain", "per_second": 15}],
            fault=[
                {"kind": "pause", "at_ms": [0, 300], "for_ms": 100},
                {"kind": "partition", "from_ms": 100, "until_ms": 200, "groups": [["p0"], parted(count)]},
            ],
        )
        outcome, trace, report = judged(run)
        assert report.value() == "kept", f"{command(run)}: {report.to_dict()}"
        assert outcome.run.ended == "drained", command(run)
        assert outcome.held == {"expected": 0}, command(run)
        # Every process forwards every message once on every link it has.
        assert outcome.counters.sent == outcome.messages * count * min(degree, count - 1), command(run)
        held += outcome.counters.held
        samples = trace.samples
        remembered += any(
            metric == "expected" and value > 0
            for metric, value in zip(samples.metric, samples.value, strict=True)
        )
    # The faults were there, and so was memory: green does not mean idle.
    assert held > SEEDS / CHUNKS
    assert remembered > 0.8 * SEEDS / CHUNKS


def parted(count: int) -> list[str]:
    """Whom the partition holds away from p0: all but the last of the others."""
    return [f"p{number}" for number in range(1, count - 1)]
