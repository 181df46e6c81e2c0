"""Audits of random runs by machines that share a store only, and are killed at random: the slow target.

    python tests/spark/cluster_campaign.py [rounds, 20 unless told] [seed of the first]

In every round runs of very different sizes are audited, whole or in slices; in most of them an executor and a
worker are killed. The reports are those of `check`. A failure prints the line that plays it again.
"""

import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random
from time import perf_counter

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.check import check
from aforesaid.storage import sizes_below
from aforesaid.trace.parquet import find_runs, open_trace
from support.injected import injected, write
from support.machines import AUDIT, Driver
from support.s3 import new_bucket, s3_server
from support.servers import Cluster, seen_by_the_driver_alone


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory(prefix="aforesaid-campaign-") as directory, ExitStack() as stack:
        there = Path(directory)
        s3 = stack.enter_context(s3_server(there))
        cluster = Cluster(there, stack, seen_by_the_driver_alone(there))
        driver = Driver(cluster, s3, there)
        stack.callback(driver.close)
        for seed in range(first, first + rounds):
            began = perf_counter()
            told = play(driver, there / f"round{seed}", seed)
            sys.stdout.write(f"seed {seed}: {told}, {perf_counter() - began:.0f} s\n")
            sys.stdout.flush()


def play(driver: Driver, root: Path, seed: int) -> str:
    random = Random(seed)
    for run in range(random.randint(2, 12)):
        processes = random.choice((12, 30, 200))
        made = injected(processes, random.choice((20, 200, 2000)), random.randint(0, 4), seed=seed + run)
        write(made, root, f"run{run}", row_group_rows=random.choice((500, 20_000)))
    bucket = new_bucket(driver.s3, f"round-{seed}")
    for path in sizes_below(root):
        (bucket.place / path).write_bytes((root / path).read_bytes())
    options = random.choice(("", "whole_bytes=0, slice_deliveries=5_000", "whole_bytes=100_000"))
    killed = random.random() < 0.7
    driver.tell(AUDIT.format(traces=bucket.uri, options=options))
    if killed:
        driver.kill_both()
    reports = (check(open_trace(run)) for run in find_runs(root))
    expected = {report.run.run: json.loads(json.dumps(report.to_dict())) for report in reports}
    found = driver.answer()
    assert found == expected, f"python tests/spark/cluster_campaign.py 1 {seed}"
    survived = ", an executor and a worker killed" if killed else ""
    return f"{len(expected)} runs as check says, options ({options}){survived}"


if __name__ == "__main__":
    main()
