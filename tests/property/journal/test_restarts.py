"""Processes that are killed between any two effects, on their disks or outside, and come back: nothing is
lost, doubled or misordered.

Every algorithm that bears the loss of frames, by itself or over perfect links, with either setting of
durability. Half of the kills are losses of power, which take what was not forced.
"""

from collections import Counter

import pytest

from aforesaid.check import check
from aforesaid.protocols.algorithm import Need
from aforesaid.protocols.catalog import CATALOG
from aforesaid.sim import Scenario
from aforesaid.testing.worlds import worlds
from aforesaid.trace import MemorySink
from support.restarts import Logged, Restarting
from support.scale import scaled

SEEDS = scaled(2, 100)
KEPT = {"past", "log_entries", "log_destinations"}
"""What some algorithms keep at rest, killed or not."""
NAMES = [name for name, entry in CATALOG.items() if Need.FIFO_LINKS not in entry.needs]


@pytest.mark.parametrize("name", NAMES)
def test_whoever_comes_back_is_who_it_was(name: str) -> None:
    happened: Counter[str] = Counter()
    for seed in range(1, SEEDS + 1):
        for setting in ("always", "batch"):
            scenario = Scenario.of({"algorithm": name, "seed": seed, **worlds(CATALOG[name])["loss"]})
            told = f"{name}, {setting}, seed {seed}"
            sink = MemorySink()
            simulation = Restarting(scenario, Logged(sink), setting)
            ended = simulation.run()
            outcome = simulation.close("restarts", ended)
            assert ended == "drained", told
            for verdict in check(sink.trace).required_verdicts():
                assert verdict.value == "kept", f"{told}: {verdict.property}: {verdict.witnesses[:1]}"
            held = {kind for kind, count in outcome.held.items() if count}
            assert held <= (set() if "gc" in name else KEPT), f"{told}: {outcome.held}"
            happened.update(simulation.happened)
    assert happened["killed"] > 5 * SEEDS
    assert happened["bytes lost"] > 0
