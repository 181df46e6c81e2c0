"""The runs that figures are drawn from, spread over the cores of this machine, each a trace on disk.

A run that is there already is kept: what was interrupted goes on where it was, and a figure that only looks
otherwise needs no run at all. Who has Spark passes another `Runner`, which does the same on a cluster.
"""

import json
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, TypeAlias

from aforesaid.core import Misuse
from aforesaid.reproduce.telling import Move, Telling
from aforesaid.sim import experiment_of
from aforesaid.sim.grid import Planned, cost
from aforesaid.sim.parts import nanoseconds
from aforesaid.sim.storing import has_run, simulate_to
from aforesaid.storage import remove_tree

POLL_SECONDS = 0.2

Runner: TypeAlias = Callable[[Sequence[Planned], Path], None]
"""Makes the runs that a directory lacks."""

Told: TypeAlias = Callable[[int, int, int], None]


def kept(planned: Sequence[Planned], root: Path) -> int:
    """How many of these runs are there."""
    return sum(has_run(root / f"run={one.run}", one.scenario) for one in planned)


def over_cores(telling: Telling, jobs: int | None = None) -> Runner:
    """The runner of this machine: as many runs at a time as there are cores, the longest first."""

    def run(planned: Sequence[Planned], root: Path) -> None:
        missing = [one for one in planned if not has_run(root / f"run={one.run}", one.scenario)]
        missing.sort(key=lambda one: cost(one.scenario), reverse=True)
        workers = min(jobs or len(os.sched_getaffinity(0)), len(missing))
        if not missing:
            return
        try:
            with telling(_what(missing), sum(cost(one.scenario) for one in missing)) as move:
                move(note="compiling, the first time for half a minute")
                (_one_by_one if workers == 1 else _spread)(missing, root, move, workers)
        finally:
            for one in missing:
                for half_written in root.glob(f".run={one.run}.tmp-*"):
                    remove_tree(half_written)

    return run


def _what(missing: Sequence[Planned]) -> str:
    return missing[0].run if len(missing) == 1 else f"{len(missing)} runs"


def _one_by_one(missing: Sequence[Planned], root: Path, move: Move, _: int) -> None:
    before = 0.0
    for number, one in enumerate(missing):
        whole = cost(one.scenario)

        def tell(share: float, before: float = before, whole: float = whole, number: int = number) -> None:
            move(completed=before + whole * share, note=f"{number:,} finished")

        _simulate(one.scenario.to_json(), one.run, root, tell)
        before += whole


def _spread(missing: Sequence[Planned], root: Path, move: Move, workers: int) -> None:
    spawning = get_context("spawn")
    shares = spawning.Array("d", len(missing), lock=False)
    strangers = set(active_children())
    costs = [cost(one.scenario) for one in missing]
    pool = ProcessPoolExecutor(workers, spawning, _begin, (shares,))
    left = {
        pool.submit(_work, number, one.scenario.to_json(), one.run, root)
        for number, one in enumerate(missing)
    }
    try:
        while left:
            ended, left = wait(left, POLL_SECONDS, FIRST_EXCEPTION)
            for future in ended:
                future.result()
            done = sum(whole * share for whole, share in zip(costs, shares, strict=True))
            note = f"{len(missing) - len(left):,} finished, {min(workers, len(left)):,} running"
            move(completed=done, note=note if any(shares) else None)
    except BrokenProcessPool:
        raise Misuse(
            f"a run was killed, perhaps for want of memory; --jobs {max(1, workers // 2)} needs less of it"
        ) from None
    finally:
        # At a violation or Ctrl-C, what still runs is of no use to anyone.
        if left:
            for worker in set(active_children()) - strangers:
                worker.terminate()
        pool.shutdown(cancel_futures=True)


_shares: Any = None
"""In a worker: how much of each run is done, for all to see."""


def _begin(shares: Any) -> None:
    global _shares
    _shares = shares
    # Ctrl-C goes to all processes of a terminal; the first one sees to the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(number: int, scenario: str, run: str, root: Path) -> None:
    def tell(share: float) -> None:
        _shares[number] = share

    _simulate(scenario, run, root, tell)
    tell(1.0)


def _simulate(scenario: str, run: str, root: Path, tell: Callable[[float], None]) -> None:
    experiment = experiment_of(json.loads(scenario))
    whole = nanoseconds(experiment.duration_ms)
    simulate_to(experiment, root, run, True, lambda now, *_: tell(min(1.0, now / whole)))
