"""A trace larger than the memory it is written and read in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# A process of its own, with a peak of memory of its own: VmHWM, as ru_maxrss is inherited from the parent.
SCRIPT = """
import json, resource, sys
import numpy as np
from support.trace_scripts import messages_of, processes_of
from aforesaid.trace import Run
from aforesaid.trace.parquet import ParquetSink, open_trace

PROCESSES, MESSAGES, STEP = 1000, 20_000, 250

def peak_mb():
    return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))

def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

at_rest_mb, start = peak_mb(), cpu_s()
chance = np.random.default_rng(1)
with ParquetSink(sys.argv[1], "large") as sink:
    sink.messages(messages_of(MESSAGES))
    for first in range(0, MESSAGES, STEP):
        process = np.tile(np.arange(PROCESSES, dtype=np.int32), STEP)
        position = np.repeat(np.arange(first, first + STEP, dtype=np.int32), PROCESSES)
        time_ns = position * np.int64(1_000_000) + chance.integers(0, 1_000_000, len(position))
        sink.deliveries(process, position, time_ns, position)
    sink.close(Run("large"), processes_of(PROCESSES))
written = cpu_s()
trace = open_trace(sink.path)
expected = np.arange(MESSAGES)
whole = 0
for _, log in trace.logs():
    whole += np.array_equal(log.message, expected) and bool((np.diff(log.time_ns) > 0).all())
print(json.dumps({
    "deliveries": trace.delivery_count, "whole": whole, "at_rest_mb": at_rest_mb, "peak_mb": peak_mb(),
    "write_s": written - start, "read_s": cpu_s() - written,
}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_twenty_million_deliveries_in_little_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["deliveries"], seen["whole"]) == (20_000_000, 1000)
    # In memory the rows alone are 400 MB.
    assert seen["peak_mb"] < 320, seen
    # Processor time, which does not depend on what else the machine does.
    assert seen["write_s"] + seen["read_s"] < 60, seen
