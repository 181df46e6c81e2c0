"""Opens traces that are stored as Parquet, ours or others', and vouches for what it hands out.

Whatever is wrong with the files comes out as a `Misuse` of one line that names the file: no caller has to
know PyArrow's errors. Processes, messages, samples and the story are read when first asked for and kept; logs
and stable calls are read one row group at a time and not kept.
"""

import os
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa

from aforesaid.core import Misuse
from aforesaid.storage import Place, listing, place
from aforesaid.trace.model import (
    NO_STABILITIES,
    Log,
    Messages,
    Processes,
    Run,
    Samples,
    StabilitiesByProcess,
)
from aforesaid.trace.parquet.columns import messages_of, processes_of, run_of, samples_of
from aforesaid.trace.parquet.deliveries import Deliveries
from aforesaid.trace.parquet.schema import EVENTS, RUN_PREFIX, SCHEMAS, reading
from aforesaid.trace.parquet.stabilities import StoredStabilities
from aforesaid.trace.parquet.stories import story_of
from aforesaid.trace.parquet.table import Table, find_table, open_table
from aforesaid.trace.story import Story


def find_runs(path: str | os.PathLike[str] | Place) -> list[Place]:
    """The run directories at a path or URI: itself if it is one, else its children `run=...`, sorted."""
    root = place(path)
    with reading(root):
        names = listing(root)
        if not names:
            _check_directory(root)
    if root.name.startswith(RUN_PREFIX) or names.get("runs.parquet") is False:
        return [root]
    runs = sorted(name for name, inside in names.items() if inside and name.startswith(RUN_PREFIX))
    if not runs:
        raise Misuse(f"{root} is not a trace: it holds neither runs.parquet nor a directory {RUN_PREFIX}...")
    return [root / name for name in runs]


def open_trace(path: str | os.PathLike[str] | Place) -> "ParquetTrace":
    """The trace in one run directory. Its files are checked now, their rows when they are read."""
    run = place(path)
    runs = find_table(run, "runs")
    if runs is None:
        with reading(run):
            _check_directory(run)
        hint = "" if run.name.startswith(RUN_PREFIX) else f"; name one run, a directory {RUN_PREFIX}..."
        raise Misuse(f"{run} is not a trace: it has no runs.parquet{hint}")
    return ParquetTrace(run, runs)


class ParquetTrace:
    """A stored trace, as the checker reads it. Its arrays may be views of Arrow's memory, and read-only.

    It can be pickled, without its rows: whoever gets it need not open its files again.
    """

    def __init__(self, path: Place, runs: Table) -> None:
        self.path = path
        # `runs` is read first and at once: the version must be known before anything else is understood.
        with reading(runs.path):
            self.run: Run = run_of(runs.path, runs.read(), path.name.removeprefix(RUN_PREFIX))
        self._tables = {name: open_table(path, name) for name in ("processes", "messages", "deliveries")}
        counts = self._process_count, self._message_count
        self._deliveries = Deliveries(self._tables["deliveries"], *counts)
        self.stabilities: StabilitiesByProcess = NO_STABILITIES
        stabilities = find_table(path, "stabilities")
        if stabilities is not None:
            self._tables["stabilities"] = stabilities
            self.stabilities = StoredStabilities(stabilities, *counts)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("processes", "messages", "samples", "story")
        return {name: value for name, value in self.__dict__.items() if name not in kept}

    @cached_property
    def processes(self) -> Processes:
        table = self._tables["processes"]
        with reading(table.path):
            return processes_of(table.path, table.read(), self._message_count)

    @cached_property
    def messages(self) -> Messages:
        table = self._tables["messages"]
        with reading(table.path):
            return messages_of(table.path, table.read(), self._process_count, self._message_count)

    def message_parts(self, rows_max: int) -> list[range]:
        """The row groups of `messages` in ranges of about so many rows; in one if others shuffled them."""
        table = self._tables["messages"]
        groups = range(table.group_count)
        firsts = [0, *accumulate(table.group_rows(group) for group in groups)]
        stated = [table.group_range(group, "message") for group in groups]
        if stated != [(first, after - 1) for first, after in pairwise(firsts)]:
            return [groups]
        cuts = [0]
        for group in groups:
            if firsts[group + 1] - firsts[cuts[-1]] > rows_max and group > cuts[-1]:
                cuts.append(group)
        return [range(first, after) for first, after in pairwise([*cuts, len(groups)]) if first < after]

    def message_part(self, groups: range) -> Messages:
        """The messages in one of those ranges; they are not kept."""
        table = self._tables["messages"]
        first = sum(table.group_rows(group) for group in range(groups.start))
        with reading(table.path):
            rows = pa.concat_tables([table.read_group(group) for group in groups])
            return messages_of(table.path, rows, self._process_count, self._message_count, first)

    @cached_property
    def samples(self) -> Samples:
        table = find_table(self.path, "samples")
        if table is None:
            return samples_of(self.path, SCHEMAS["samples"].empty_table(), self._process_count)
        with reading(table.path):
            return samples_of(table.path, table.read(), self._process_count)

    @cached_property
    def story(self) -> Story:
        """When messages came, what they waited for, and what went wrong; empty if nobody wrote it down."""
        story = story_of(self.path, self._process_count, self._message_count)
        return story.since(self.messages.time_ns) if len(story.waits) else story

    @property
    def delivery_count(self) -> int:
        """How many deliveries there are, without reading them."""
        return self._tables["deliveries"].row_count

    def logs(self, processes: range | None = None) -> Iterator[tuple[int, Log]]:
        """Every process with its log, from process 0 on, or a slice of them."""
        return self._deliveries.logs(range(self._process_count) if processes is None else processes)

    def slices(self, deliveries_max: int) -> list[range]:
        """The processes in slices of about so many deliveries, cut so that no row group is read twice."""
        return self._deliveries.slices(deliveries_max)

    @property
    def event_counts(self) -> dict[str, int]:
        """How many rows the tables of events have, without reading them."""
        tables = {name: self._tables.get(name) for name in EVENTS}
        return {name: 0 if table is None else table.row_count for name, table in tables.items()}

    def log(self, process: int) -> Log:
        if not 0 <= process < self._process_count:
            raise Misuse(f"trace {self.path} has no process {process}; it has {self._process_count}, from 0")
        return self._deliveries.log(process)

    @property
    def _process_count(self) -> int:
        return self._tables["processes"].row_count

    @property
    def _message_count(self) -> int:
        return self._tables["messages"].row_count


def _check_directory(path: Place) -> None:
    """Refuse what has nothing in it because it is not there, or because it is a file."""
    if not path.exists():
        raise Misuse(f"{path} does not exist")
    if not path.is_dir():
        raise Misuse(f"{path} is not a trace: a trace is a directory")
