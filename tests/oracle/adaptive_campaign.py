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
from oracle.campaign import fates_of, in_runs
from oracle.sharp import Sharp, play_sharp, sharp_plan
from oracle.world import random_plan

BOUNDS = (0, 1, 2, 4, 8, 16)
CRASHES = ("", "together", "apart", "wrongly", "alone", "several")
WORLDS = ("even", "sharp")


def campaign(world: str, bound: int, multicast: bool, crash: str, seeds: range) -> list[AdaptiveWorld]:
    if world == "sharp":
        return [play_sharp(sharp_in_runs(seed, multicast, crash), bound) for seed in seeds]
    return [play(in_runs(random_plan(seed, multicast, crash)), bound) for seed in seeds]


def sharp_in_runs(seed: int, multicast: bool, crash: str = "") -> Sharp:
    """Some of these worlds repeat frames, too, and some let steps leave something over."""
    plan = in_runs(sharp_plan(seed, multicast, crash))
    return replace(plan, repeat=(0.0, 0.0, 0.2)[seed // 4 % 3], batch=(256, 1, 256, 2)[seed // 12 % 4])


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
                        f"{perf_counter() - began:.1f} s\n  runs: {fates_of(played)}\n"
                    )
                    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
