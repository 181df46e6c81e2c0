"""Traces made in memory, put into files."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from aforesaid.trace import Lists, MemoryTrace, Messages
from aforesaid.trace.parquet import ParquetSink, ParquetTrace, open_trace


def stored(made: MemoryTrace, root: Path, run: str) -> ParquetTrace:
    """The trace in files, its messages in row groups of two."""
    with ParquetSink(root, run, row_group_rows=4) as sink:
        for first in range(0, len(made.messages), 2):
            sink.messages(part_of(made.messages, slice(first, first + 2)))
        for process, log in made.logs():
            size = len(log)
            columns = np.full(size, process, np.int32), np.arange(size, dtype=np.int32)
            sink.deliveries(*columns, log.time_ns, log.message)
        sink.stabilities(made.stabilities)
        sink.samples(made.samples)
        sink.close(replace(made.run, run=run), made.processes)
        return open_trace(sink.path)


def part_of(messages: Messages, rows: slice) -> Messages:
    count = range(len(messages))[rows]
    return Messages(
        messages.origin[rows],
        messages.number[rows],
        messages.time_ns[rows],
        messages.sent_after[rows],
        Lists.of([messages.after[row].tolist() for row in count]),
        messages.to_all[rows],
        Lists.of([messages.audience[row].tolist() for row in count]),
    )
