"""Many random worlds of adaptive hybrid buffering: the slow target, and the parts that every test run plays.

    python tests/oracle/adaptive_campaign.py [runs per kind of world, 1,000 unless told]

There are 144 kinds: so many constraints, unicast or multicast, crashes, and worlds that are mixed evenly
(`oracle.world`) or sharp (`oracle.sharp`). A failure prints the plan and the line that plays it again.
"""

import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from oracle.adaptive import AdaptiveWorld, play
from oracle.campaign import RUNS
from oracle.sharp import play_sharp, sharp_plan
from oracle.world import random_plan

BOUNDS = (0, 1, 2, 4, 8, 16)
CRASHES = ("", "together", "apart", "wrongly", "alone", "several")
WORLDS = ("even", "sharp")


def campaign(world: str, bound: int, multicast: bool, crash: str, seeds: range) -> list[AdaptiveWorld]:
    if world == "sharp":
        return [play_sharp(sharp_plan(seed, multicast, crash), bound) for seed in seeds]
    plans = (random_plan(seed, multicast, crash) for seed in seeds)
    return [play(replace(plan, runs=RUNS[plan.seed % len(RUNS)]), bound) for plan in plans]


def main(arguments: list[str]) -> None:
    runs = int(arguments[0]) if arguments else 1_000
    for world in WORLDS:
        for bound in BOUNDS:
            for multicast in (False, True):
                for crash in CRASHES:
                    began = perf_counter()
                    played = campaign(world, bound, multicast, crash, range(runs))
                    opaque = sum(world.judge.flags for world in played)
                    sys.stdout.write(
                        f"{world:6}B = {bound:<3}{'multicast' if multicast else 'unicast':10}"
                        f"{crash or 'no crash':10}{runs:8,} runs, all well; {opaque:,} opaque; "
                        f"{perf_counter() - began:.1f} s\n"
                    )
                    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
