"""The broadcast family of Guerraoui (undated) under every fault of its model: many seeds, no violation."""

from typing import Any

import pytest

from aforesaid.protocols.catalog import CATALOG
from support.harness import command, judged, scenario
from support.scale import scaled

SEEDS = scaled(60, 300)
FAMILY = [entry for entry in CATALOG.values() if entry.paper.startswith("Guerraoui (undated)")]
WILD = {"delay": {"kind": "lognormal", "median_ms": 20, "sigma": 1.0}}
TALK = [{"kind": "rate", "per_second": 10}, {"kind": "chain", "per_second": 5, "depth": 3}]
FAULTS: dict[str, dict[str, Any]] = {
    "crash": {"network": WILD, "fault": [{"kind": "crash", "at_ms": [50, 350]}]},
    # The very process that delivered crashes, at its so-many-th delivery: uniformity is at stake.
    "crash at delivery": {"network": WILD, "fault": [{"kind": "crash", "after_deliveries": 3}]},
    "duplication and reordering": {"network": {**WILD, "duplication": 0.2}},
    "loss, over perfect links": {
        "network": {**WILD, "loss": 0.2, "duplication": 0.1, "retransmit": True},
        "fault": [{"kind": "crash", "at_ms": [50, 350]}],
    },
    "partition and pause": {
        "network": WILD,
        "fault": [
            {"kind": "partition", "from_ms": 100, "until_ms": 250, "groups": [["p0", "p1"], ["p2", "p3"]]},
            {"kind": "pause", "at_ms": [50, 300], "for_ms": 100},
        ],
    },
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", [entry.name for entry in FAMILY])
def test_no_seed_breaks_a_promise(name: str, fault: str) -> None:
    fired = lost = overtook = deliveries = 0
    for seed in range(SEEDS):
        world = scenario(name, seed=seed, duration_ms=350, workload=TALK, **FAULTS[fault])
        outcome, _, report = judged(world)
        assert outcome.run.ended == "drained", command(world)
        assert report.value() == "kept", command(world)
        forgotten = {kind: outcome.held.get(kind, 0) for kind in ("unacked", "link_unacked", "outside")}
        assert not any(forgotten.values()), (forgotten, command(world))
        if "gc" in name:
            assert outcome.held["past"] == 0, command(world)
        fired += sum(outcome.counters.faults.values())
        lost += outcome.counters.lost + outcome.counters.duplicated + outcome.counters.held
        overtook += outcome.counters.overtook
        deliveries += outcome.deliveries
    # The faults were there: green does not mean idle.
    assert fired >= (SEEDS * 0.9 if "fault" in FAULTS[fault] else 0)
    assert min(lost, overtook, deliveries) > SEEDS // 2
