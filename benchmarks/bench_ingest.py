"""What it costs to make a trace of others' JSON lines, here and on Spark.

    python benchmarks/bench_ingest.py [EVENTS]

Twenty processes; each message is delivered by all. Rates are by CPU time here, by wall time on Spark, where
the first reading, which starts the workers, is told apart.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from aforesaid.foreign import Collection, Mapping, Options, read
from aforesaid.foreign.columns import Columns
from aforesaid.foreign.events import Count
from aforesaid.pipeline.ingesting import read_lines
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.trace.parquet import ParquetSink

PROCESSES = [f"p{number}" for number in range(20)]
FILES = 8


def written(directory: Path, events: int) -> list[Path]:
    """The log in some files, one after the other in time."""
    random = Random(1)
    messages = events // (1 + len(PROCESSES))
    paths = [directory / f"{number}.jsonl" for number in range(FILES)]
    for number, path in enumerate(paths):
        with path.open("w") as file:
            for message in range(messages * number // FILES, messages * (number + 1) // FILES):
                facts = {"message": f"m{message}", "time": message * 0.001}
                file.write(json.dumps({"process": random.choice(PROCESSES), "event": "sent", **facts}) + "\n")
                for process in PROCESSES:
                    file.write(json.dumps({"process": process, "event": "delivered", **facts}) + "\n")
    return paths


def collected(columns: Columns, out: Path, count: Count) -> None:
    with ParquetSink(out, "bench", overwrite=True) as sink:
        Collection(columns, Options("jsonl", "potential"), count).close(sink, "bench")


def main(events: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        paths = written(Path(directory), events)
        began = time.process_time()
        columns, _ = read("jsonl", paths, Mapping(), "potential", Count())
        read_s = time.process_time() - began
        began = time.process_time()
        collected(columns, Path(directory), Count())
        collected_s = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000
        print(f"{len(columns):,} events in {FILES} files, JSON lines:")
        print(f"  read here                 {len(columns) / read_s:12,.0f} events per CPU second")
        print(f"  made a trace of           {len(columns) / collected_s:12,.0f} events per CPU second")
        print(f"  memory at most            {memory:12,.0f} MB")
        with spark_session(SparkOptions("local[2]", small=True), "bench_ingest") as spark:
            for turn in ("the first time", "again"):
                began = time.perf_counter()
                read_lines(spark, "jsonl", paths, Mapping(), Count())
                seconds = time.perf_counter() - began
                print(f"  read on local[2], {turn:<15} {len(columns) / seconds:7,.0f} events per second")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
