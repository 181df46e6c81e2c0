"""What a live watch costs: a backlog, the latency at a rate, and the state over time.

    python benchmarks/bench_watch.py [EVENTS [SECONDS [PER_SECOND]]]

Twenty nodes broadcast; every message is delivered by all. First a backlog of EVENTS lies there when the watch
starts: its rate is that of all batches but the first, which starts the workers. Then nodes write PER_SECOND
events for SECONDS: latency is from an event's being written to the commit of its batch, p50 by the middle
event of each batch, p95 by its oldest; the first COLD_S seconds are told apart. Two violations are put into
the backlog, and must be found, and no more.

While they write it is looked ten times at what might grow: the state, the memory of the watch, of its JVM
and its workers, the files in --out and in Spark's checkpoint. Flat is what has grown by a tenth at most
since the first third.
"""

import os
import random
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.watching import Batch, Watch, WatchOptions
from aforesaid.wire.segments import SUFFIX, Event, Origin, record_of

NODES = [f"node-{number:02d}" for number in range(20)]
INCARNATION = 1_700_000_000_000_000_000
COLD_S = 10.0
RATE_MIN, P50_S_MAX, P95_S_MAX = 400_000, 1.0, 2.0
LOOKS = 10
GROWTH_MAX = 1.1
RECORD_EVENTS = 20
SEGMENT_BYTES = 16 << 20


class Cluster:
    """Twenty logs that somebody else could have written: rounds of concurrent messages, delivered by all."""

    def __init__(self, directory: Path, seed: int = 1) -> None:
        self._directory, self._random = directory, random.Random(seed)
        self._said = dict.fromkeys(NODES, 0)
        self._segment = dict.fromkeys(NODES, 0)
        self._files: dict[str, int] = {}
        self._bytes = dict.fromkeys(NODES, SEGMENT_BYTES)
        self.events = 0
        directory.mkdir(parents=True)
        self._write({name: [("p", peer, INCARNATION) for peer in NODES if peer != name] for name in NODES})

    def write(self, events: int, fault: str = "") -> None:
        """So many events, and then to the disk; with a fault in one log, if asked for."""
        logs: dict[str, list[Event]] = {name: [] for name in NODES}
        chance = self._random
        while sum(map(len, logs.values())) < events:
            now = time.time_ns()
            messages = []
            for name in chance.sample(NODES, chance.randint(1, 4)):
                self._said[name] += 1
                logs[name].append(("s", self._said[name], now, None))
                messages.append(("d", name, INCARNATION, self._said[name], now))
            for log in logs.values():
                chance.shuffle(messages)
                log += messages
        if fault:
            log = logs[NODES[0]]
            place = next(place for place in range(len(log) // 2, len(log)) if log[place][0] == "d")
            log.insert(place + 1, log[place])
        self._write(logs)

    def _write(self, logs: dict[str, list[Event]]) -> None:
        for name, events in logs.items():
            if self._bytes[name] >= SEGMENT_BYTES:
                self._rotate(name)
            records = [
                record_of(events[place : place + RECORD_EVENTS])
                for place in range(0, len(events), RECORD_EVENTS)
            ]
            self._bytes[name] += os.write(self._files[name], b"".join(records))
            self.events += len(events)

    def _rotate(self, name: str) -> None:
        self._segment[name] += 1
        path = self._directory / f"{name}-{INCARNATION}-{self._segment[name]:06d}{SUFFIX}"
        if name in self._files:
            os.close(self._files[name])
        self._files[name] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        promises = ("no_duplicate", "no_creation", "fifo", "causal", "validity", "agreement")
        origin = Origin(name, INCARNATION, "made-up", "bench", tuple(NODES), False, 0, 1, "0")
        facts = {"segment": self._segment[name], "linked": False, "promises": promises}
        self._bytes[name] = os.write(self._files[name], record_of(msgspec.structs.replace(origin, **facts)))


def followed(watch: Watch, batches: list[Batch], events: int, seconds_max: float = 600) -> None:
    """Until so many events were judged."""
    ends = time.monotonic() + seconds_max
    while sum(batch.told.events for batch in batches) < events and watch.running:
        assert time.monotonic() < ends, "it never came to the end of it"
        time.sleep(0.05)


def backlog(watch: Watch, cluster: Cluster, batches: list[Batch]) -> None:
    began = time.monotonic()
    watch.start()
    followed(watch, batches, cluster.events)
    took = time.monotonic() - began
    assert len(batches) > 1, "too small a backlog: it was one batch, which is not warm"
    first, rest = batches[0], batches[1:]
    warm = sum(batch.told.events for batch in rest) / max(1e-9, rest[-1].row["at_s"] - first.row["at_s"])
    print(f"backlog of {cluster.events:,} events, {len(NODES)} nodes, {len(batches)} batches:")
    print(f"  warm       {warm:10,.0f} events per second ({verdict(warm >= RATE_MIN)}: {RATE_MIN:,})")
    print(f"  all told   {cluster.events / took:10,.0f} events per second; first batch after ", end="")
    print(f"{first.row['at_s'] - time.time() + time.monotonic() - began:.1f} s")
    mean = np.mean([batch.row["seconds"] for batch in rest])
    print(f"  a batch: {mean:.2f} s from Spark's call to the commit, the tasks' reading included")
    events = sum(batch.told.events for batch in rest)
    reading, judging = (sum(batch.row[name] for batch in rest) for name in ("reading_cpu_s", "judging_cpu_s"))
    rate = events / (reading / 2 + judging)
    print(f"  CPU per event: {reading / events * 1e6:.2f} us to read, by tasks; ", end="")
    print(f"{judging / events * 1e6:.2f} us to judge, by the driver")
    print(f"  so on two cores of one's own, without the rest: {rate:,.0f} events per second")
    found = sum(len(batch.told.violations) for batch in batches)
    assert found == 2, f"{found} violations found, 2 put in"
    print("  both violations found, none invented")


def at_rate(
    watch: Watch, cluster: Cluster, batches: list[Batch], seconds: float, per_second: int, out: Path
) -> None:
    batches.clear()
    began, events = time.time(), cluster.events
    tick = 0.1
    steps = int(seconds / tick)
    looks: list[dict[str, int]] = []
    for step in range(steps):
        cluster.write(int(per_second * tick))
        time.sleep(max(0.0, began + (step + 1) * tick - time.time()))
        if (step + 1) * LOOKS // steps > len(looks) and batches:
            looks.append(looked(batches[-1], out))
    followed(watch, batches, cluster.events - events)
    cold = [batch for batch in batches if batch.told.newest_ns / 1e9 < began + COLD_S]
    for name, some in ((f"cold, first {COLD_S:.0f} s", cold), ("warm", batches[len(cold) :])):
        if some:
            middle = [batch.row["lag_s"] + batch.commit_s for batch in some]
            oldest = [batch.row["at_s"] + batch.commit_s - batch.told.oldest_ns / 1e9 for batch in some]
            p50, p95 = np.percentile(middle, 50), np.percentile(oldest, 95)
            bar = f" ({verdict(p50 < P50_S_MAX and p95 < P95_S_MAX)}: 1 s, 2 s)" if some is not cold else ""
            print(f"  {name}: p50 {p50:.2f} s, p95 {p95:.2f} s{bar}, {len(some)} batches")
    rate = (cluster.events - events) / seconds
    print(f"  at {rate:,.0f} events per second for {seconds:.0f} s")
    files = sum(1 for _ in (out / "progress").iterdir())
    print(f"  files of progress, a row of them for each batch: {files}")
    third = len(looks) // 3
    for name in looks[-1] if looks else ():
        values = [look[name] for look in looks]
        flat = max(values[third:]) <= GROWTH_MAX * max(values[: third + 1])
        print(f"  {name:21} {'flat' if flat else 'GROWS'}: {', '.join(f'{value:,}' for value in values)}")


def looked(batch: Batch, out: Path) -> dict[str, int]:
    """What might grow."""
    seen = {"state, bytes": batch.row["state_bytes"], "in flight": batch.row["in_flight"]}
    for name, kb in memory_kb().items():
        seen[f"{name}, MB"] = kb // 1024
    files = [path for path in out.rglob("*") if path.is_file() and path.parent.name != "progress"]
    seen["files"] = len(files)
    seen["their kB"] = sum(path.stat().st_size for path in files if path.exists()) // 1024
    return seen


def memory_kb() -> dict[str, int]:
    """Of this process, of the JVM, and of the Python processes that Spark started."""
    parents, kinds, sizes = dict[int, int](), dict[int, str](), dict[int, int]()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            facts = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        process = int(status.parent.name)
        parents[process], kinds[process] = int(facts["PPid"]), facts["Name"].strip()
        sizes[process] = int(facts.get("VmRSS", "0 kB").split()[0])
    found = {"watch": sizes[os.getpid()], "JVM": 0, "workers": 0}
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
        for process in more:
            found["JVM" if kinds[process] == "java" else "workers"] += sizes[process]
    return found


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def main(events: int, seconds: float, per_second: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        cluster = Cluster(Path(directory) / "segments")
        portion = 200_000
        portions = max(2, events // portion)
        for number in range(portions):
            cluster.write(portion, "twice" if number in (1, portions - 1) else "")
        batches: list[Batch] = []
        options = SparkOptions("local[2]", small=True)
        began = time.monotonic()
        with spark_session(options, "bench watch") as spark:
            print(f"Spark started in {time.monotonic() - began:.1f} s")
            out = str(Path(directory) / "out")
            watch = Watch(spark, [str(Path(directory) / "segments")], out, WatchOptions(), batches.append)
            backlog(watch, cluster, batches)
            at_rate(watch, cluster, batches, seconds, per_second, Path(out))
            watch.stop()


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:]), *(5_000_000, 60, 10_000)[len(sys.argv) - 1 :]]
    main(given[0], float(given[1]), given[2])
