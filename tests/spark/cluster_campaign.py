"""Random runs on machines that share a store only, and are killed at random: the slow target.

    python tests/spark/cluster_campaign.py [rounds, 20 unless told] [seed of the first]

First the command `aforesaid audit --master spark://...` loses an executor and a worker. Then, round by round,
runs of very different sizes are audited, whole or in slices, or measured, or a grid is swept; in most rounds
an executor and a worker are killed. The reports are those of `check`, the tables those that come when nobody
is killed, the traces those of the simulator. A failure prints the line that plays it again.
"""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.check import check
from aforesaid.sim import Scenario, simulate
from aforesaid.sim.grid import grid_of
from aforesaid.storage import sizes_below
from aforesaid.trace.parquet import find_runs, open_trace
from support.injected import injected, write
from support.machines import AUDIT, METRICS, SWEEP, Driver
from support.s3 import Bucket, Server, new_bucket, s3_server
from support.servers import Cluster, driver_environment, seen_by_the_driver_alone

COMMAND_SECONDS_MAX = 600
COMMAND = "from aforesaid.cli import main; main()"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory(prefix="aforesaid-campaign-") as directory, ExitStack() as stack:
        there = Path(directory)
        s3 = stack.enter_context(s3_server(there))
        cluster = Cluster(there, stack, seen_by_the_driver_alone(there))
        tell(lambda: f"seed {first}: {by_command(cluster, s3, there, first)}")
        driver = Driver(cluster, s3, there)
        stack.callback(driver.close)
        plays = (play_audit, play_metrics, play_sweep)
        for seed in range(first, first + rounds):
            play = plays[seed % len(plays)]
            tell(lambda play=play, seed=seed: f"seed {seed}: {play(driver, there / f'round{seed}', seed)}")


def tell(act: Any) -> None:
    began = perf_counter()
    sys.stdout.write(f"{act()}, {perf_counter() - began:.0f} s\n")
    sys.stdout.flush()


def by_command(cluster: Cluster, s3: Server, there: Path, seed: int) -> str:
    """The audit as a user starts it, from this machine; what it wrote lies in the store."""
    root = there / "command"
    bucket = stored(s3, root, Random(seed), seed)
    arguments = [bucket.uri, "--out", f"{bucket.uri}-out", "--json", "--master", cluster.address, *s3.conf]
    new_bucket(s3, f"{bucket.name}-out")
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "audit", *arguments, "--witnesses", "20", "--force"],
        cwd=there,
        env=driver_environment(there),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first, second = cluster.workers
    killed = []
    for kill in (first.kill_executors, lambda: second.kill_executors() and cluster.kill_worker(second)):
        while process.poll() is None and not kill():
            time.sleep(0.05)
        killed.append(process.poll() is None)
    out, err = process.communicate(timeout=COMMAND_SECONDS_MAX)
    expected = {run: report["verdicts"] for run, report in checked(root).items()}
    assert all(killed), (out, err)
    assert (process.returncode, err) == (1, ""), (process.returncode, err)
    assert {run["run"]: run["verdicts"] for run in json.loads(out)["runs"]} == expected
    return f"aforesaid audit --master spark://, {len(expected)} runs as check says, both killed"


def play_audit(driver: Driver, root: Path, seed: int) -> str:
    random = Random(seed)
    bucket = stored(driver.s3, root, random, seed)
    options = random.choice(("", "whole_bytes=0, slice_deliveries=5_000", "whole_bytes=100_000"))
    driver.tell(AUDIT.format(traces=bucket.uri, options=options))
    survived = killed(driver, random)
    expected = checked(root)
    assert driver.answer() == expected, again(seed)
    return f"{len(expected)} runs audited as by check, options ({options}){survived}"


def play_metrics(driver: Driver, root: Path, seed: int) -> str:
    """Twice, and the second time nobody is killed."""
    random = Random(seed)
    bucket = stored(driver.s3, root, random, seed)
    driver.tell(METRICS.format(traces=bucket.uri))
    survived = killed(driver, random)
    found = [driver.answer(), driver.ask(METRICS.format(traces=bucket.uri))]
    first, second = ({name: list(map(rounded, rows)) for name, rows in tables.items()} for tables in found)
    assert first == second, again(seed)
    names = {row["run"] for row in found[0]["runs"]}
    assert names == {run.name.removeprefix("run=") for run in find_runs(root)}, again(seed)
    return f"{len(names)} runs measured{survived}"


def play_sweep(driver: Driver, root: Path, seed: int) -> str:
    random = Random(seed)
    grid = {
        "duration_ms": random.choice((200, 1000)),
        "workload": [{"kind": "rate", "per_second": 20}],
        "sweep": {"algorithm": ["waiting", "reliable"], "processes": [4, 8], "seeds": random.randint(2, 6)},
    }
    bucket = new_bucket(driver.s3, f"sweep-{seed}")
    driver.tell(SWEEP.format(grid=grid, out=f"{bucket.uri}/sweep"))
    survived = killed(driver, random)
    rows = driver.answer()
    scenarios = {one.run: one.scenario for one in grid_of(grid).planned}
    assert [(row["run"], row["state"], row["verdict"]) for row in rows] == [
        (run, "done", "kept") for run in scenarios
    ], again(seed)
    for run, scenario in scenarios.items():
        assert isinstance(scenario, Scenario)
        made = open_trace(bucket.place / "sweep" / f"run={run}")
        assert made.run.digest == simulate(scenario)[0].run.digest, again(seed)
    return f"{len(rows)} scenarios swept{survived}"


def stored(s3: Server, root: Path, random: Random, seed: int) -> Bucket:
    """Runs of very different sizes, with faults, in a bucket and in a directory."""
    for run in range(random.randint(2, 12)):
        processes = random.choice((12, 30, 200))
        made = injected(processes, random.choice((20, 200, 2000)), random.randint(0, 4), seed=seed + run)
        write(made, root, f"run{run}", row_group_rows=random.choice((500, 20_000)))
    bucket = new_bucket(s3, f"{root.name}-{seed}")
    for path in sizes_below(root):
        (bucket.place / path).write_bytes((root / path).read_bytes())
    return bucket


def killed(driver: Driver, random: Random) -> str:
    if random.random() > 0.7:
        return ""
    driver.kill_both()
    return ", an executor and a worker killed"


def checked(root: Path) -> dict[str, Any]:
    """What `check` says of each run, as JSON has it."""
    reports = (check(open_trace(run)) for run in find_runs(root))
    return {report.run.run: json.loads(json.dumps(report.to_dict())) for report in reports}


def rounded(row: dict[str, Any]) -> str:
    """A row without the last digits of its fractions: these depend on the order in which tasks end."""
    return str({name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()})


def again(seed: int) -> str:
    return f"python tests/spark/cluster_campaign.py 1 {seed}"


if __name__ == "__main__":
    main()
