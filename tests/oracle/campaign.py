"""Many random worlds: the slow target, and the parts of it that every test run plays.

    python tests/oracle/campaign.py [runs per variant and kind of world, 2,000 unless told]

A failure prints the plan and the line that plays it again.
"""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TypeVar

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from oracle.fates import ADAPTIVE_FATES, FATES, Fates
from oracle.world import Build, Plan, World, random_plan

P = TypeVar("P", bound=Plan)

VARIANTS: dict[str, tuple[Build, bool, bool]] = {
    "basic": (HybridBasic, False, False),
    "sps": (HybridSps, True, False),
    "in_order": (HybridInOrder, True, False),
    "multicast": (HybridMulticast, False, True),
    "multicast_sps": (HybridMulticastSps, True, True),
    "multicast_in_order": (HybridMulticastInOrder, True, True),
    "multicast_as_unicast": (HybridMulticast, False, False),
    "multicast_sps_as_unicast": (HybridMulticastSps, True, False),
    "multicast_in_order_as_unicast": (HybridMulticastInOrder, True, False),
}
"""By name: how to build a process, whether it is SPS-optimal, whether it is given multicasts."""

RUNS = (1, 4, 2, 12)
"""Up to how many messages are said at once, by seed: three worlds of four speak in runs."""

CRASHES = ("", "together", "apart", "wrongly", "alone", "several")


def play(name: str, plan: Plan) -> World:
    """One world to its end; raises what the judge found."""
    build, optimal, _ = VARIANTS[name]
    world = World(build, plan, optimal)
    try:
        return world.run()
    except Exception as error:
        error.add_note(f"again: from oracle.campaign import *; play({name!r}, {plan!r})")
        raise


def campaign(name: str, crash: str, seeds: range) -> list[World]:
    return [play(name, in_runs(random_plan(seed, VARIANTS[name][2], crash))) for seed in seeds]


def in_runs(plan: P) -> P:
    return replace(plan, runs=RUNS[plan.seed % len(RUNS)])


def fates_of(worlds: Iterable[World]) -> str:
    """What befell their runs."""
    fates = sum((world.fates for world in worlds), Fates())
    return ", ".join(f"{fates[fate]:,} {fate}" for fate in (*FATES, *ADAPTIVE_FATES) if fates[fate])


def main(arguments: list[str]) -> None:
    runs = int(arguments[0]) if arguments else 2_000
    for name in VARIANTS:
        for crash in CRASHES:
            began = perf_counter()
            worlds = campaign(name, crash, range(runs))
            waits = sum(world.judge.waits > 0 for world in worlds)
            permits = sum(world.judge.permits for world in worlds)
            sys.stdout.write(
                f"{name:26}{crash or 'no crash':10}{runs:8,} runs, all well; something waited in {waits:,}, "
                f"{permits:,} permits; {perf_counter() - began:.1f} s\n  runs: {fates_of(worlds)}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
