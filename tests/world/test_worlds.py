"""Real nodes on machines of our own making: order, liveness and bounds by seeds, and the same bytes again."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from aforesaid.world.campaign import never, trial_of
from aforesaid.world.plan import Kind, plan_of
from aforesaid.world.trial import Trial
from aforesaid.world.world import quiet_burial
from support.scale import scaled

SEEDS: dict[Kind, range] = {
    "fixed": range(scaled(100, 5000)),
    "changing": range(scaled(100, 5000)),
    "durable": range(scaled(40, 5000)),
    "admitting": range(scaled(40, 2000)),
    "keeping": range(scaled(40, 5000)),
}


@pytest.mark.parametrize("group", SEEDS)
def test_whatever_goes_wrong_the_order_holds_and_all_comes_to_rest(group: Kind) -> None:
    did: Counter[str] = Counter()
    for seed in SEEDS[group]:
        outcome = trial_of(seed, group)
        replay = f"aforesaid world --group {group} --first {seed} --seeds 1"
        assert not outcome.complaints, (replay, outcome.complaints)
        assert outcome.deliveries or not outcome.messages, replay
        did += outcome.did
    assert not never(did, group)


DIGEST = """
import sys
from aforesaid.world.campaign import trial_of
print(*(trial_of(seed, group).digest for seed, group in (
    (3, "fixed"), (9, "fixed"), (1, "changing"), (2, "durable"), (3, "keeping"))))
"""


def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    def digests(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", DIGEST]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first = digests("1")
    assert len(set(first.split())) == 5
    assert first == digests("2")


def test_plans_of_many_seeds_differ() -> None:
    plans = [plan_of(seed, "fixed") for seed in range(200)]
    assert len({(plan.algorithm, plan.transport, len(plan.names)) for plan in plans}) > 20
    assert {fault.kind for plan in plans for fault in plan.faults} >= {"kill midway", "disk full", "cut"}


def test_who_starts_after_the_last_fault_says_nothing(tmp_path: Path) -> None:
    """Else the group never comes to rest, and luck decides whether all is heard when somebody looks. Found by
    worlds (durable, seed 233 and five more): whose disk was full to the last started then, and talked on."""
    with quiet_burial():
        _play_after_the_last_fault(Trial(replace(plan_of(2, "durable"), faults=(), rate=20.0), tmp_path))


def _play_after_the_last_fault(trial: Trial) -> None:
    cast, names = trial.cast, trial.plan.names

    async def main() -> None:
        cast.calm()
        await cast.enter(names)
        await asyncio.sleep(30)

    trial.world.run(main())
    here, messages = {actor.name for actor in cast.here()}, cast.witness.messages
    trial.world.bury()
    assert (here, messages) == (set(names), 0)
