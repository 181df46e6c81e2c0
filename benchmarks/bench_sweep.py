"""A sweep of 200 small scenarios on one core and on two, in one run: how much a second core is worth.

    python benchmarks/bench_sweep.py

Each scenario takes about a third of a second. Spark's start is not counted; the first job, which starts the
Python workers, is: a sweep has it, too. Also told: what one task costs beyond its simulation.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.sweeping import Ledger, conclude, execute, plan
from aforesaid.sim.grid import grid_of

BAR = 1.7
SCENARIOS = 200
GRID = {
    "algorithm": "waiting",
    "duration_ms": 2_000,
    "workload": [{"kind": "rate", "per_second": 20}],
    "sweep": {"processes": [10, 12, 14, 16], "seeds": SCENARIOS // 4},
}


def main() -> None:
    if len(sys.argv) > 1:
        print(*swept(int(sys.argv[1])))
        return
    seconds: dict[int, float] = {}
    for cores in (1, 2):
        # Each in a process of its own: a process has one JVM.
        done = subprocess.run(
            [sys.executable, __file__, str(cores)], check=True, stdout=subprocess.PIPE, text=True
        )
        wall, simulated = map(float, done.stdout.split())
        seconds[cores] = wall
        beyond = wall * cores - simulated
        print(
            f"local[{cores}]: {SCENARIOS} scenarios in {wall:.1f} s; simulated for {simulated:.1f} s in all, "
            f"{simulated / SCENARIOS * 1e3:.0f} ms each; {beyond / SCENARIOS * 1e3:.0f} ms more per task",
            flush=True,
        )
    ratio = seconds[1] / seconds[2]
    print(
        f"two cores are {ratio:.2f} times as fast as one; bar {BAR:g} ({'met' if ratio >= BAR else 'missed'})"
    )


def swept(cores: int) -> tuple[float, float]:
    """Wall seconds of a sweep, and the seconds its tasks spent simulating."""
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory))
        options = SparkOptions(f"local[{cores}]", small=True)
        with ledger.open(), spark_session(options, "bench") as spark:
            planned = plan(grid_of(GRID), ledger)
            began = time.perf_counter()
            made = execute(spark, planned)
            wall = time.perf_counter() - began
            rows = conclude(planned, made)
        assert {row["state"] for row in rows} == {"done"}
        return wall, sum(row["seconds"] for row in rows)


if __name__ == "__main__":
    main()
