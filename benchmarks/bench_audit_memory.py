"""What the processes of an audit hold of a run with very many messages, beside the size of their table.

Rounds of 1 to 4 concurrent messages, each after all of the round before, that 4 processes deliver in the same
order. Anonymous memory is what a process has for itself; the table is mapped, and shared by all.
Run: python benchmarks/bench_audit_memory.py [messages]
"""

import re
import shutil
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from time import perf_counter

import numpy as np

from aforesaid.pipeline.auditing import audit
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.trace import Lists, Messages, Run, Samples
from aforesaid.trace.parquet import ParquetSink

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support import injected

PROCESSES = 4
BLOCK = 1 << 20


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000
    root = Path(tempfile.mkdtemp(prefix="aforesaid-bench-"))
    try:
        path = make(root, messages)
        over = threading.Event()
        scratch = root / "scratch"
        scratch.mkdir()
        seen = Seen(scratch)
        watcher = threading.Thread(target=seen.watch, args=(over,))
        with spark_session(SparkOptions(temporary=root), "bench") as spark:
            watcher.start()
            began = perf_counter()
            (outcome,) = audit(spark, path, scratch=scratch).outcomes
            seconds = perf_counter() - began
            over.set()
            watcher.join()
        print(f"{outcome.rows['messages']:,} messages, {outcome.rows['deliveries']:,} deliveries: ", end="")
        print(f"{outcome.value} in {seconds:.0f} s")
        print(f"  table of messages, mapped: {seen.table_bytes / 1e6:,.0f} MB")
        for process, held in sorted(seen.anonymous_bytes.items(), key=lambda item: -item[1])[:4]:
            print(f"  {process}: {held / 1e6:,.0f} MB of anonymous memory")
    finally:
        shutil.rmtree(root)


class Seen:
    """The most that was seen of each process below this one, and of the table."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self.table_bytes = 0
        self.anonymous_bytes: dict[str, int] = defaultdict(int)

    def watch(self, over: threading.Event) -> None:
        while not over.wait(0.05):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    status = (process / "status").read_text()
                except OSError:
                    continue
                kind = next((kind for mark, kind in _KINDS.items() if mark in command), "")
                anonymous = re.search(r"RssAnon:\s+(\d+) kB", status)
                if kind and anonymous:
                    name = f"{kind} {process.name}"
                    self.anonymous_bytes[name] = max(self.anonymous_bytes[name], int(anonymous[1]) * 1024)
            sizes = [path.stat().st_size for path in self._scratch.glob("*/table-*")]
            self.table_bytes = max([self.table_bytes, *sizes])


_KINDS = {"bench_audit_memory": "driver", "pyspark.daemon": "worker"}


def make(root: Path, count: int) -> Path:
    injected.SENDERS = PROCESSES
    random = np.random.default_rng(1)
    width = random.integers(1, PROCESSES + 1, count)
    width = width[: int(np.searchsorted(np.cumsum(width), count)) + 1]
    starts = np.concatenate(([0], np.cumsum(width)))
    rounds = np.repeat(np.arange(len(width)), width)
    rows = injected._messages(random, rounds, starts, width, 0)
    log = np.arange(len(rows), dtype=np.int32)
    with ParquetSink(root, "many") as sink:
        for first in range(0, len(rows), BLOCK):
            sink.messages(part_of(rows, slice(first, min(first + BLOCK, len(rows)))))
        for process in range(PROCESSES):
            sink.deliveries(np.full(len(log), process, np.int32), log, rounds * 1_000_000 + 500_000, log)
        sink.samples(Samples(np.empty(0, np.int64), np.empty(0, np.int32), [], np.empty(0)))
        sink.close(Run("many"), injected.founders(PROCESSES))
    return root / "run=many"


def part_of(rows: Messages, part: slice) -> Messages:
    offsets = rows.after.offsets[part.start : part.stop + 1]
    return Messages(
        origin=rows.origin[part],
        number=rows.number[part],
        time_ns=rows.time_ns[part],
        sent_after=rows.sent_after[part],
        after=Lists(offsets - offsets[0], rows.after.values[offsets[0] : offsets[-1]]),
        to_all=rows.to_all[part],
        audience=Lists.from_lengths(np.zeros(part.stop - part.start, np.int64), np.empty(0, np.int32)),
    )


if __name__ == "__main__":
    main()
