"""What tasks do for a large run whose rows come in parcels: cut, sift and read ranges of its processes.

No Spark here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from aforesaid.check.reading import Reading, SliceFindings
from aforesaid.pipeline.auditing.parcels import parted
from aforesaid.pipeline.auditing.shelf import Shelf
from aforesaid.pipeline.auditing.sifted import Tally, sift_calls, sift_logs
from aforesaid.trace.model import NO_STABILITIES, Int32s, Int64s, Log, Stabilities
from aforesaid.trace.parquet.schema import SCHEMAS


@dataclass(frozen=True)
class Logs:
    """The logs of a range of processes, and their stable calls."""

    processes: range
    message: Int32s
    time_ns: Int64s
    lengths: Int64s
    calls: Stabilities

    def __iter__(self) -> Iterator[tuple[int, Log]]:
        ends = np.cumsum(self.lengths)
        for process, first, last in zip(self.processes, ends - self.lengths, ends, strict=True):
            yield process, Log(self.message[first:last], self.time_ns[first:last])


@dataclass(frozen=True)
class Ranges:
    """How the processes of a run are cut into ranges of `width`."""

    process_count: int
    message_count: int
    width: int

    def __len__(self) -> int:
        return -(-self.process_count // self.width)

    def __getitem__(self, number: int) -> range:
        return range(number * self.width, min((number + 1) * self.width, self.process_count))

    def cut(self, rows: Any) -> tuple[Int64s, Any]:
        """Rows that name a process in parcels: the ranges that get one, and the parcels."""
        # Whose row it is decides where it goes; what is nobody's may go anywhere.
        process = pc.fill_null(rows.column("process"), 0).to_numpy()
        numbers, _, parcels = parted(
            rows, np.clip(process, 0, self.process_count - 1) // self.width, len(self)
        )
        return numbers, parcels

    def sift(self, number: int, tables: dict[str, Any]) -> tuple[Tally, Logs]:
        """The logs of a range, of all rows that may belong to it."""
        processes, tally = self[number], Tally()
        deliveries = tables.get("deliveries", SCHEMAS["deliveries"].empty_table())
        message, time_ns, lengths = sift_logs(tally, deliveries, self.process_count, self.message_count)
        calls = NO_STABILITIES
        if "stabilities" in tables:
            calls = sift_calls(tally, tables["stabilities"], lengths, self.message_count)
        return tally, Logs(processes, message, time_ns, lengths[processes.start : processes.stop], calls)

    def silent(self, number: int) -> Logs:
        """The logs of a range that has no rows."""
        nothing = np.empty(0, np.int32), np.empty(0, np.int64)
        return Logs(self[number], *nothing, np.zeros(len(self[number]), np.int64), NO_STABILITIES)


@dataclass(frozen=True)
class Calls:
    """The stable calls of some processes, out of so many of the run."""

    count: int
    calls: Stabilities = NO_STABILITIES

    def __len__(self) -> int:
        return self.count

    def of(self, process: int) -> Stabilities:
        return self.calls.of(process)


@dataclass(frozen=True)
class Plan:
    """How a range of a run is read."""

    shelf: Shelf
    calls: int
    """The stable calls of the whole run."""
    reading: Reading

    def read(self, logs: Logs) -> SliceFindings:
        reader = self.shelf.take(Calls(self.calls, logs.calls))
        return reader.read(self.reading, logs, logs.processes, lambda: None)
