"""Runs in a store: read with few requests, complete once `runs.parquet` is there, whoever dies meanwhile."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.storage import listing
from aforesaid.trace.parquet import ParquetSink, find_runs, open_trace
from aforesaid.trace.parquet.schema import SCHEMAS, STORY
from support.injected import injected, write
from support.s3 import Bucket
from support.trace_scripts import RUN, assert_same, in_memory, record, stored


def test_a_run_reads_as_it_was_written(bucket: Bucket) -> None:
    trace = stored(bucket.place, seed=3, memory_rows_max=50, row_group_rows=40)
    assert_same(in_memory(seed=3), trace)
    assert str(trace.path) == f"{bucket.uri}/run=r1"
    assert [str(run) for run in find_runs(bucket.place)] == [f"{bucket.uri}/run=r1"]


def test_tables_as_spark_writes_them(bucket: Bucket, tmp_path: Path) -> None:
    path = write(injected(20, 200, faults=4, stability=True), bucket.place, "one", row_group_rows=700)
    whole = check(open_trace(path))
    rows = pq.read_table((path / "deliveries.parquet").open("rb"))
    (path / "deliveries.parquet").unlink()
    for part in range(2):
        pq.write_table(rows.slice(part * 3_000, 3_000 + part * 10**6), tmp_path / "part")
        (path / "deliveries.parquet" / f"part-{part}.parquet").write_bytes((tmp_path / "part").read_bytes())
    (path / "deliveries.parquet" / "_SUCCESS").write_bytes(b"")
    assert check(open_trace(path)).to_dict() == whole.to_dict()


def test_requests_are_few(bucket: Bucket) -> None:
    """To find runs: a listing. To judge a small one: two requests for each of its five tables."""
    for run in range(5):
        write(injected(20, 60, faults=1), bucket.place, f"small-{run}")
    large = write(injected(40, 4_000, faults=1), bucket.place, "large", row_group_rows=1 << 16)
    before = len(bucket.server.requests())
    runs = find_runs(bucket.place)
    assert (len(runs), len(bucket.server.requests()) - before) == (6, 1)

    before = len(bucket.server.requests())
    assert check(open_trace(runs[-1])).value() == "violated"
    assert len(bucket.server.requests()) - before == 10

    before = len(bucket.server.requests())
    trace = open_trace(large)
    groups = trace._deliveries._table.group_count
    check(trace)
    # The files that are not small: one request for all row groups, and one for all messages.
    assert groups >= 2
    assert len(bucket.server.requests()) - before <= 10 + 2


def test_a_trace_that_was_sent_is_not_opened_again(bucket: Bucket) -> None:
    trace = open_trace(write(injected(40, 4_000, faults=1), bucket.place, "large", row_group_rows=1 << 16))
    whole = [log.message.tolist() for _, log in trace.logs()]
    sent = pickle.loads(pickle.dumps(trace))
    before = len(bucket.server.requests())
    assert [log.message.tolist() for _, log in sent.logs()] == whole
    # Its size, which PyArrow asks for, and all row groups.
    assert len(bucket.server.requests()) - before == 2


def test_a_run_without_its_mark_is_listed_and_refused(bucket: Bucket) -> None:
    path = stored(bucket.place, seed=1).path
    (path / "runs.parquet").unlink()
    assert [run.name for run in find_runs(bucket.place)] == ["run=r1"]
    with pytest.raises(Misuse, match=r"run=r1 is not a trace: it has no runs\.parquet$"):
        open_trace(path)
    # It is nobody's: to write it is not to replace anything.
    assert_same(in_memory(seed=2), stored(bucket.place, seed=2))


def test_a_run_is_replaced_only_if_asked_and_leaves_nothing_of_its_old_self(bucket: Bucket) -> None:
    path = stored(bucket.place, seed=1).path
    (path / "deliveries.parquet" / "part.parquet").write_bytes(b"")
    with pytest.raises(Misuse, match=r"run=r1 exists; choose another --out"):
        stored(bucket.place, seed=2)
    assert_same(in_memory(seed=2), stored(bucket.place, seed=2, overwrite=True))
    assert listing(path) == dict.fromkeys([f"{name}.parquet" for name in SCHEMAS if name not in STORY], False)


def test_two_attempts_at_once_make_one_run(bucket: Bucket) -> None:
    with ParquetSink(bucket.place, RUN.run) as first, ParquetSink(bucket.place, RUN.run) as second:
        record(second, seed=2)
        record(first, seed=2)
    assert_same(in_memory(seed=2), open_trace(bucket.place / "run=r1"))
    with pytest.raises(Misuse, match="exists"), ParquetSink(bucket.place, RUN.run) as third:
        record(third, seed=1)


def test_flipped_bits_are_told(bucket: Bucket) -> None:
    path = stored(bucket.place, seed=3, steps=120).path
    chance = Random(1)
    for table in ("messages", "deliveries"):
        file = path / f"{table}.parquet"
        whole = file.read_bytes()
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1
        file.write_bytes(bytes(damaged))
        with pytest.raises(Misuse, match=f"{table}.parquet is damaged"):
            list(open_trace(path).logs()), open_trace(path).messages
        file.write_bytes(whole)


def test_what_is_not_there_is_told(bucket: Bucket) -> None:
    (bucket.place / "file").write_bytes(b"x")
    for name, says in (("nowhere", "does not exist"), ("file", "a trace is a directory")):
        for look in (find_runs, open_trace):
            with pytest.raises(Misuse, match=f"^{bucket.uri}/{name} .*{says}"):
                look(bucket.place / name)
    with pytest.raises(Misuse, match=r"^s3a://no-such-bucket does not exist$"):
        find_runs(Bucket(bucket.server, "no-such-bucket").place)


KILLED = """
import pickle, sys
from aforesaid.trace.parquet import ParquetSink
from support.trace_scripts import RUN, record

root = pickle.loads(bytes.fromhex(sys.argv[1]))
for seed in range(100_000):
    with ParquetSink(root / str(seed % 7), RUN.run, overwrite=True) as sink:
        record(sink, seed, steps=60)
    print(seed, flush=True)
"""


@pytest.mark.parametrize("last", [3, 10, 16])
def test_kill_leaves_only_whole_runs(bucket: Bucket, last: int, tmp_path: Path) -> None:
    """A run that has its mark is one of those that were written, whole; it is replaced all the time."""
    command = [sys.executable, "-c", KILLED, pickle.dumps(bucket.place).hex()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        while int(child.stdout.readline()) < last:
            pass
        time.sleep(Random(last).uniform(0, 0.05))
        child.send_signal(signal.SIGKILL)
    written = {trace.run.digest: trace for trace in (in_memory(seed, steps=60) for seed in range(last + 10))}
    roots = [bucket.place / name for name in listing(bucket.place)]
    complete = [root / "run=r1" for root in roots if (root / "run=r1" / "runs.parquet").exists()]
    assert len(complete) >= min(last, 6)
    for run in complete:
        trace = open_trace(run)
        assert_same(written[trace.run.digest], trace)
