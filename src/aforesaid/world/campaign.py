"""Many seeds, on every core, and whether all that can go wrong went wrong in some of them."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from signal import SIG_IGN, SIGINT, signal

from aforesaid.world.plan import Kind, plan_of
from aforesaid.world.trial import Outcome, run

SOMETIMES: dict[Kind, tuple[str, ...]] = {
    "fixed": (
        *("halt", "part", "cut", "rough", "deaf", "clock", "reset", "kill", "kill midway", "disk full"),
        *("disk slow", "slow write", "power", "bytes lost without power", "huge payload"),
        *("datagram lost", "datagram doubled", "datagram cut off", "socket full", "delay spike"),
        *("piece of a stream late", "piece of a stream cut off", "stream reset", "call cut off"),
        *("told: peer gone", "told: disconnected", "told: failed", "told: call failed"),
        *("told: suspected", "told: heard again", "told: evicted"),
        *("halt of less than half the time-out", "halt of more than half the time-out"),
        *("descriptors", "no descriptor left"),
    ),
    "durable": (
        *("halt", "part", "cut", "rough", "deaf", "reset", "kill", "kill midway", "disk full", "disk slow"),
        *("power", "bytes lost without power", "brought back", "killed while it came back"),
        *("handed on again", "told: resumed", "told: failed"),
    ),
    "admitting": (
        *("halt", "part", "cut", "rough", "deaf", "reset", "kill", "kill midway", "disk slow", "power"),
        *("admit", "brought back", "killed while it came back", "told: admitted", "told: resumed"),
    ),
    "keeping": (
        *("halt", "part", "cut", "reset", "kill", "kill midway", "disk slow", "join", "leave", "back"),
        *("brought back", "killed while it came back"),
        *("told: rejoining", "told: caught up", "told: said again", "told: history lost"),
    ),
    "changing": (
        *("halt", "part", "cut", "rough", "deaf", "clock", "reset", "kill", "kill midway"),
        *("disk slow", "slow write", "power", "bytes lost without power", "huge payload"),
        *("join", "leave", "back", "stream reset", "piece of a stream cut off", "call cut off"),
        *("told: rejoining", "told: silent", "told: call failed"),
        *("descriptors", "no descriptor left", "disk full", "told: failed"),
    ),
}
"""What must happen now and then in a campaign: green is not to mean that nothing was tried."""

SEEDS_PER_PROCESS = 64


def campaign(seeds: Sequence[int], group: Kind, jobs: int | None = None) -> Iterator[Outcome]:
    """The outcome of each, in order."""
    if len(seeds) == 1:
        yield trial_of(seeds[0], group)
        return
    jobs = jobs or os.cpu_count() or 1
    spawn = get_context("spawn")
    # Ctrl-C is the caller's to see: a worker ends its seed.
    deaf = partial(signal, SIGINT, SIG_IGN)
    pool = ProcessPoolExecutor(jobs, spawn, deaf, max_tasks_per_child=SEEDS_PER_PROCESS)
    try:
        left = iter(seeds)
        waiting = [pool.submit(trial_of, seed, group) for seed in islice(left, 4 * jobs)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(trial_of, seed, group) for seed in islice(left, 1)]
    finally:
        pool.shutdown(cancel_futures=True)


def trial_of(seed: int, group: Kind) -> Outcome:
    return run(plan_of(seed, group))


def never(did: Counter[str], group: Kind) -> list[str]:
    """What should have happened now and then, and did not."""
    return [what for what in SOMETIMES[group] if not did[what]]
