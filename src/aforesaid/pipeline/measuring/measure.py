"""What a task measures: runs as a few rows each, so that no delivery passes through the JVM.

A row is (run, kind, metric, slot, count, total, high):
- `histogram`: deliveries by latency. Slot is the bin, 32 to an octave (see `bin_of`), total their sum and
  high the greatest of the run's piece, in ns.
- `series`: samples over time. Slot is the number of the time bucket, total the mean over it, summed over
  processes; high the greatest.
- `fact`: one number about the run, in total.
- `refused`: the run, or this piece of it, cannot be read; the metric says why.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aforesaid.core import MILLISECOND, SECOND, Misuse
from aforesaid.pipeline.measuring.optimum import Optimum, optimum, scenario_of
from aforesaid.sim import Paper, Scenario
from aforesaid.storage import Place
from aforesaid.trace.model import NEVER_SENT, TOOK, Int64s, Messages, Samples
from aforesaid.trace.parquet import ParquetTrace, open_trace
from aforesaid.trace.parquet.schema import RUN_PREFIX

BINS_PER_OCTAVE = 32
"""A bin is 2.2 % wide, so a percentile is right to 1.1 %."""
ZERO_BIN = -1
"""For what is not above 0 ns."""
REFUSED = "refused"
GLOBAL = "global"
"""What `clock` of a run says if times of two processes compare."""
_BINS = 63 * BINS_PER_OCTAVE - ZERO_BIN

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("kind", pa.string()),
        ("metric", pa.string()),
        ("slot", pa.int64()),
        ("count", pa.int64()),
        ("total", pa.float64()),
        ("high", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Piece:
    """Some processes of one run."""

    path: Place
    processes: range
    """With the first process the samples and facts of the run are measured, too."""


def measure(pieces: Iterable[Piece], bucket_ms: float) -> Iterator[pa.RecordBatch]:
    """All rows of some pieces; those of one run should follow each other."""
    loaded: _Run | None = None
    for piece in pieces:
        try:
            if loaded is None or loaded.trace.path != piece.path:
                loaded = _Run(open_trace(piece.path))
            # Times of two processes compare by one clock only; what a process took has its own.
            compare = loaded.trace.run.clock == GLOBAL
            rows = [*_latencies(loaded, piece.processes)] if compare else []
            if piece.processes.start == 0:
                rows += [*_took(loaded.trace.samples)]
                rows += [*_series(loaded.trace.samples, bucket_ms), *_facts(loaded)]
        except (Misuse, ValueError) as error:
            rows = [(REFUSED, str(error), 0, 0, 0.0, 0.0)]
        run = piece.path.name.removeprefix(RUN_PREFIX)
        columns = zip(*((run, *row) for row in rows), strict=True)
        yield pa.record_batch([*map(list, columns)] if rows else [[]] * len(SCHEMA), schema=SCHEMA)


class _Run:
    """What all pieces of a run need: its messages, their optimum, and whether there were more than these."""

    def __init__(self, trace: ParquetTrace) -> None:
        self.trace = trace
        self.messages: Messages = trace.messages
        scenario = scenario_of(trace.run)
        self.optimum: Optimum | None = None
        self.partial = isinstance(scenario, Paper) and scenario.traced != "all"
        if isinstance(scenario, Scenario):
            self.optimum = optimum(scenario, trace.processes.name, self.messages)


_Row = tuple[str, str, int, int, float, float]


def _latencies(run: _Run, processes: range) -> Iterator[_Row]:
    """Histograms of latency, own deliveries apart: a message that never left its process took no time."""
    messages = run.messages
    latencies, above = _Histogram("latency"), _Histogram("above_optimum")
    for process, log in run.trace.logs(processes):
        counted = messages.origin[log.message] != process
        counted &= messages.sent_after[log.message] != NEVER_SENT
        message, time_ns = log.message[counted], log.time_ns[counted]
        latencies.add(time_ns - messages.time_ns[message])
        if run.optimum is not None:
            above.add(time_ns - run.optimum.at(process, message))
    yield from latencies.rows()
    yield from above.rows()


def _took(samples: Samples) -> Iterator[_Row]:
    """Histograms of what processes took by their own clocks: in the middle of the octave that is known."""
    counts: Counter[tuple[str, str]] = Counter()
    for metric, value in zip(samples.metric, samples.value.tolist(), strict=True):
        if metric.startswith(TOOK):
            _, what, power = metric.split(":")
            counts[what, power] += value
    for what in dict.fromkeys(what for what, _ in counts):
        together = counts.pop((what, "ns"), 0.0)
        exponents = sorted(int(power) for each, power in counts if each == what)
        for exponent in exponents:
            slot = exponent * BINS_PER_OCTAVE - BINS_PER_OCTAVE // 2 if exponent else ZERO_BIN
            yield (
                "histogram",
                what,
                slot,
                int(counts[what, str(exponent)]),
                together,
                float(1 << exponents[-1]),
            )
            together = 0.0


class _Histogram:
    """Times by bin, gathered one process after the other."""

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._counts = np.zeros(_BINS, np.int64)
        self._totals = np.zeros(_BINS)
        self._high = 0.0

    def add(self, values_ns: Int64s) -> None:
        if len(values_ns):
            slots = bin_of(values_ns) - ZERO_BIN
            self._counts += np.bincount(slots, minlength=_BINS)
            self._totals += np.bincount(slots, weights=values_ns, minlength=_BINS)
            self._high = max(self._high, float(values_ns.max()))

    def rows(self) -> Iterator[_Row]:
        for slot in np.flatnonzero(self._counts).tolist():
            count, total = int(self._counts[slot]), float(self._totals[slot])
            yield "histogram", self._metric, slot + ZERO_BIN, count, total, self._high


def bin_of(values_ns: Int64s) -> npt.NDArray[np.int64]:
    """The bin of each time: 32 to an octave from 1 ns on."""
    above = values_ns > 0
    bins = np.full(len(values_ns), ZERO_BIN, np.int64)
    bins[above] = np.floor(np.log2(values_ns[above]) * BINS_PER_OCTAVE).astype(np.int64)
    return bins


def is_counter(metric: str) -> bool:
    """Whether a sampled metric only grows, so that its rate is what one wants to see."""
    return metric.endswith("_sent")


def _series(samples: Samples, bucket_ms: float) -> Iterator[_Row]:
    for metric in sorted(name for name in set(samples.metric) if not name.startswith(TOOK)):
        chosen = np.array([name == metric for name in samples.metric])
        process, time_ns, value = samples.process[chosen], samples.time_ns[chosen], samples.value[chosen]
        order = np.lexsort((time_ns, process))
        process, time_ns, value = process[order], time_ns[order], value[order]
        name = metric
        if is_counter(metric):
            later = np.flatnonzero((process[1:] == process[:-1]) & (time_ns[1:] > time_ns[:-1])) + 1
            value = (value[later] - value[later - 1]) * SECOND / (time_ns[later] - time_ns[later - 1])
            process, time_ns, name = process[later], time_ns[later], f"{metric}_per_second"
        yield from _buckets(name, process, time_ns // round(bucket_ms * MILLISECOND), value)


def _buckets(metric: str, process: Any, bucket: Any, value: Any) -> Iterator[_Row]:
    """The mean of each bucket at each process, summed over the processes."""
    table = pa.table({"process": process, "bucket": bucket, "value": value})
    means = table.group_by(["process", "bucket"]).aggregate(
        [("value", "mean"), ("value", "max"), ("value", "count")]
    )
    sums = means.group_by("bucket").aggregate(
        [("value_mean", "sum"), ("value_max", "sum"), ("value_count", "sum")]
    )
    for row in sums.sort_by("bucket").to_pylist():
        yield (
            "series",
            metric,
            row["bucket"],
            row["value_count_sum"],
            row["value_mean_sum"],
            row["value_max_sum"],
        )


def _facts(run: _Run) -> Iterator[_Row]:
    trace = run.trace
    facts: dict[str, float] = {"messages": len(trace.messages), "deliveries": trace.delivery_count}
    samples = trace.samples
    for metric in sorted(filter(is_counter, set(samples.metric))):
        chosen = np.array([name == metric for name in samples.metric])
        facts[metric] = _final(samples.process[chosen], samples.time_ns[chosen], samples.value[chosen])
        if len(trace.messages) and not run.partial:
            facts[f"{metric.removesuffix('_sent')}_per_message"] = facts[metric] / len(trace.messages)
    for metric, value in facts.items():
        yield "fact", metric, 0, 0, float(value), 0.0


def _final(process: Any, time_ns: Any, value: Any) -> float:
    """The last value of a counter, summed over processes."""
    order = np.lexsort((time_ns, process))
    ends = np.append(np.flatnonzero(np.diff(process[order])), len(order) - 1)
    return float(value[order][ends].sum())
