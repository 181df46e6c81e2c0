"""The hybrid-buffering algorithms in random worlds, judged by the oracle (tests/oracle).

The long campaign is `python tests/oracle/campaign.py`; here every run plays a part of it, in parts for xdist.
"""

import contextlib

import pytest

from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder
from oracle.campaign import CRASHES, VARIANTS, campaign, play
from oracle.mind import Broken
from oracle.mutants import BarePermits, TellsWithMessagesOnly
from oracle.world import Build, Plan, World

PART = 60
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("name", VARIANTS)
def test_random_worlds(name: str, crash: str, part: int) -> None:
    worlds = campaign(name, crash, range(PART * part, PART * (part + 1)))
    assert sum(world.judge.waits for world in worlds) > 0, "no message ever waited for a permit"
    assert sum(world.judge.permits for world in worlds) > 0, "no permit was ever given"


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_word_of_an_eviction_must_not_wait_for_who_waits_for_the_evicted(loss: float) -> None:
    """Without notices, some worlds in which only some are told do not come to rest."""
    plans = [Plan(seed, processes=4, messages=20, crash="apart", loss=loss) for seed in range(100)]
    stuck = 0
    for plan in plans:
        play("basic", plan)
        with contextlib.suppress(Broken):
            World(TellsWithMessagesOnly, plan, False).run()
            continue
        stuck += 1
    assert stuck > 0


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("fifo", [False, True])
def test_a_reliable_network_drains_without_retransmission(name: str, fifo: bool) -> None:
    for seed in range(20):
        plan = Plan(
            seed, processes=5, messages=60, multicast=VARIANTS[name][2], fifo=fifo, rounds=seed % 2 == 0
        )
        world = play(name, plan)
        assert not any(world.timers)
        assert not any(machine.retransmit for machine in world.machines)


@pytest.mark.parametrize("name", VARIANTS)
def test_forty_per_cent_loss_and_repetition(name: str) -> None:
    for seed in range(6):
        play(name, Plan(seed, processes=4, messages=60, multicast=VARIANTS[name][2], loss=0.4, repeat=0.3))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_seed_gives_the_same_run(name: str) -> None:
    plan = Plan(7, processes=4, messages=40, multicast=VARIANTS[name][2], loss=0.2, repeat=0.2)
    runs: list[World] = [play(name, plan) for _ in range(2)]
    assert runs[0].got == runs[1].got
    assert runs[0].now == runs[1].now


def test_a_permit_that_hides_an_eviction_misorders() -> None:
    """What one evicts alone and wrongly is in order for the evicted, too; a mutant's is not."""

    def broken(build: Build, seed: int) -> str:
        try:
            World(build, Plan(seed, processes=3, messages=40, crash="alone"), optimal=True).run()
        except Broken as error:
            return str(error)
        return ""

    found = [what for seed in range(120) if (what := broken(BarePermits, seed))]
    assert "evicted, delivers" in found[0]
    assert not any(broken(HybridInOrder, seed) for seed in range(120))


def test_the_optimal_algorithm_holds_less_back_than_the_basic_one() -> None:
    waits = {}
    for name in ("basic", "sps"):
        worlds = campaign(name, "", range(200))
        waits[name] = sum(world.judge.waits for world in worlds)
    assert waits["sps"] < 0.7 * waits["basic"]
