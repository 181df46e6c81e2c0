"""Preventive broadcast while links are opened, closed, reopened and lost, and processes come, go and crash.

The worlds are those of PRC-broadcast's campaign. Nothing is delivered twice or out of causal order, ever; and
everyone delivers what it is owed where the safe links end strongly connected.
"""

from collections import Counter
from random import Random

import pytest

from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.overlay.preventive import Preventive
from aforesaid.sim import Scenario
from sim.prc_campaign import SETTINGS, Ends, judge
from support.harness import command

CONNECTED = {"calm": 0.9, "troubled": 0.3, "routed_blind": 0.3, "tiny_buffers": 0.3, "lossy": 0.3}
"""By setting, the least share of runs that must end strongly connected, so that agreement is judged."""
SEEDS = 60


def world(setting: str, seed: int) -> Scenario:
    parts = SETTINGS[setting](Random(f"preventive {setting} {seed}"))
    known = CATALOG["preventive"].options.__struct_fields__
    options = {name: value for name, value in parts["options"].items() if name in known}
    return Scenario.of({**parts, "seed": seed, "algorithm": "preventive", "options": options})


def ends(machine: Preventive) -> Ends:
    return machine.out_view, machine.in_view


@pytest.mark.parametrize("setting", CONNECTED)
def test_churn_breaks_no_promise(setting: str) -> None:
    connected = evicted = 0
    fired: Counter[str] = Counter()
    for seed in range(SEEDS):
        run = judge(world(setting, seed), ends=ends)
        assert not run.complaints, (run.complaints, command(run.scenario))
        connected += run.connected
        evicted += run.evicted
        fired += Counter(run.faults)
    assert connected >= CONNECTED[setting] * SEEDS
    assert min(fired[kind] for kind in ("open", "close", "reopen")) > SEEDS
    if setting != "calm":
        assert min(fired[kind] for kind in ("join", "leave", "crash", "suspect", "flap")) > SEEDS / 4
        assert evicted > 0
