"""A trace judged in slices, by readers that share nothing with the judge, gets the same report."""

import pickle
from collections import Counter
from itertools import pairwise
from random import Random

from aforesaid.check import MalformedTrace, Report, check
from aforesaid.check.judge import first_reading, judge, properties_of
from aforesaid.check.reading import Reader, Reading, SliceFindings
from aforesaid.trace import MemoryTrace
from support.random_traces import random_trace
from support.scale import scaled

SEEDS = scaled(1_000, 2_000)


def test_slices_give_the_report_of_the_whole() -> None:
    readings: Counter[int] = Counter()
    for seed in range(SEEDS):
        trace, done = random_trace(seed)
        witnesses_max = (None, 0, 1, 3)[seed % 4]
        try:
            whole = check(trace, witnesses_max=witnesses_max)
        except MalformedTrace:
            continue
        sliced, count = judged_in_slices(trace, witnesses_max, Random(seed))
        assert sliced == whole, f"seed {seed}, {done}"
        readings[count] += 1
    # One reading suffices for most; lies and missing deliveries take more: up to four.
    assert all(readings[count] > 1 for count in (1, 2, 3, 4)), readings


def judged_in_slices(trace: MemoryTrace, witnesses_max: int | None, random: Random) -> tuple[Report, int]:
    processes = len(trace.processes)
    bounds = [0, *sorted(random.choices(range(processes + 1), k=random.randrange(4))), processes]
    slices = [range(first, last) for first, last in pairwise(bounds)]
    count = 0

    def gather(reading: Reading) -> list[SliceFindings]:
        nonlocal count
        count += 1
        sent = pickle.dumps(reading)
        return [pickle.loads(pickle.dumps(found_elsewhere(trace, sent, part))) for part in slices]

    required, judged = properties_of(trace, None)
    return judge(Reader(trace), first_reading(trace.run, judged, witnesses_max), required, gather), count


def found_elsewhere(trace: MemoryTrace, sent: bytes, part: range) -> SliceFindings:
    logs = [(process, trace.log(process)) for process in part]
    return Reader(trace).read(pickle.loads(sent), logs, part, lambda: None)
