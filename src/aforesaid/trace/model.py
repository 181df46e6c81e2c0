"""What a trace is, in memory: one run's tables as NumPy columns.

Processes and messages are dense indices within the run (rows of `processes` and `messages`). The order of
events is local: a process's log is the list of what it delivered, in order, and a message's `sent_after`
says how many deliveries its origin had made when it sent it. The same number places the moment at which a
process called a message stable. Nothing here needs a global clock.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from aforesaid.core import message_label, process_label
from aforesaid.trace.story import NO_STORY, Story
from aforesaid.trace.story import Int32s as Int32s
from aforesaid.trace.story import Int64s as Int64s

SCHEMA_VERSION = 2
"""2: `runs` says what causality is, and whether events are missing. A run of version 1 says the usual."""

Bools = npt.NDArray[np.bool_]

FATES = ("alive", "left", "crashed", "evicted", "unknown")
"""How a process ended. `alive` means correct: it was still running when the run ended."""

ENDINGS = ("drained", "cut", "failed")
"""How a run ended. Only a drained run had the time to deliver everything it owed."""

CAUSALITIES = ("potential", "declared")
"""What came before a message: all that its origin did before (potential), or only what it says (declared)."""

NEVER_SENT = -1
"""`sent_after` of a message that was delivered although nobody sent it."""


@dataclass(frozen=True)
class Run:
    """The one row of `runs`."""

    run: str
    algorithm: str = "unknown"
    seed: int = 0
    scenario: str = "{}"
    """The scenario as JSON, enough to run it again."""
    code_version: str = "unknown"
    ended: str = "drained"
    clock: str = "global"
    """`global` if times of different processes may be compared, else `local`."""
    promises: tuple[str, ...] = ()
    """The properties its algorithm promises, by the checker's names; what a check requires by default."""
    digest: str = ""
    causality: str = "potential"
    """`potential`, or `declared`: then `after` is the messages' own word, and the logs are not asked."""
    sampled: bool = False
    """Whether events may be missing anywhere in it, not only at the ends of logs."""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True)
class Lists:
    """A column of integer lists: list i is values[offsets[i]:offsets[i + 1]]."""

    offsets: Int64s
    values: Int32s

    def __getitem__(self, index: int) -> Int32s:
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Int64s:
        return np.diff(self.offsets)

    @staticmethod
    def of(lists: Iterable[Sequence[int]]) -> "Lists":
        rows = list(lists)
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        values = np.fromiter((item for row in rows for item in row), np.int32, int(lengths.sum()))
        return Lists.from_lengths(lengths, values)

    @staticmethod
    def from_lengths(lengths: npt.NDArray[np.integer], values: Int32s) -> "Lists":
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Lists(offsets, values)


@dataclass(frozen=True)
class Processes:
    """One row per incarnation of a process."""

    name: list[str]
    incarnation: Int32s
    began_ns: Int64s
    ended_ns: Int64s
    """When it ended; -1 if it did not."""
    fate: list[str]
    joined: Bools
    """True for a process that joined a running group: it has a base."""
    base: Lists
    """A joiner's base: the contact's frontier at admission. What lies at or before it is not owed to it."""
    complete: Bools
    """False if the process's log may lack its last events (a killed node whose trace was not flushed)."""
    settled: Int32s | None = None
    """In a run that goes on, how many of its first messages are no more in the table. None: all are."""

    def __len__(self) -> int:
        return len(self.name)

    def label(self, process: int) -> str:
        if not 0 <= process < len(self.name):
            return f"process {process}"
        return process_label(self.name[process], int(self.incarnation[process]))


@dataclass(frozen=True)
class Messages:
    """One row per message; a message's index is its row."""

    origin: Int32s
    """Row of the origin in `processes`; -1 if no such process is known."""
    number: Int32s
    time_ns: Int64s
    sent_after: Int32s
    """How many deliveries the origin had made when it sent this; NEVER_SENT for one that nobody sent."""
    after: Lists
    """Immediate causal predecessors, as the host's tracer recorded them, or as the message declared them."""
    to_all: Bools
    audience: Lists
    """The processes it is for; empty and not looked at where `to_all`."""

    def __len__(self) -> int:
        return len(self.origin)


@dataclass(frozen=True)
class Log:
    """What one process delivered, in local order; of a run that goes on, what of it is still looked at."""

    message: Int32s
    time_ns: Int64s
    position: Int32s | None = None
    """Where each stands in the whole log; None: this is the whole log."""
    end: int = -1
    """How many deliveries the whole log has; -1: these."""

    def __len__(self) -> int:
        return len(self.message)

    @property
    def deliveries(self) -> int:
        return len(self.message) if self.end < 0 else self.end

    def positions(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where in the whole log some of these stand."""
        return rows if self.position is None else self.position[rows].astype(np.int64)

    def rows(self, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """The places here of positions in the whole log."""
        return positions if self.position is None else np.searchsorted(self.position, positions)

    def message_at(self, position: int) -> int:
        return int(self.message[self.rows(np.array([position]))[0]])


NO_LOG = Log(np.empty(0, np.int32), np.empty(0, np.int64))


@dataclass(frozen=True)
class Stabilities:
    """Who called which message stable: known to be delivered by everyone. One row per call, in any order."""

    process: Int32s
    """Who knew."""
    message: Int32s
    time_ns: Int64s
    position: Int32s
    """How many deliveries the process had made by then."""

    def __len__(self) -> int:
        return len(self.process)

    def of(self, process: int) -> "Stabilities":
        """The calls of one process, in the order they stand in."""
        table = self.by_process
        # In the column's own type: else all of it would be copied into the other, each time.
        first, last = np.searchsorted(table.process, np.array([process, process + 1], np.int32))
        return table.at(slice(first, last))

    def at(self, rows: slice | npt.NDArray[np.intp]) -> "Stabilities":
        return Stabilities(self.process[rows], self.message[rows], self.time_ns[rows], self.position[rows])

    @cached_property
    def by_process(self) -> "Stabilities":
        """The same, sorted by process."""
        if np.any(self.process[1:] < self.process[:-1]):
            return self.at(np.argsort(self.process, kind="stable"))
        return self


NO_STABILITIES = Stabilities(
    np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32)
)


@dataclass(frozen=True)
class Samples:
    """Measurements over time; process -1 is an aggregate over all."""

    time_ns: Int64s
    process: Int32s
    metric: list[str]
    value: npt.NDArray[np.float64]

    @staticmethod
    def of_rows(rows: Sequence[tuple[int, int, str, float]]) -> "Samples":
        """Of times, processes, metrics and values."""
        times, processes, metrics, values = zip(*rows, strict=True) if rows else ((), (), (), ())
        return Samples(
            np.array(times, np.int64),
            np.array(processes, np.int32),
            list(metrics),
            np.array(values, np.float64),
        )


TOOK = "took:"
"""With this begins the name of a metric that tells how long something took by the clock of one process."""


def took(what: str, power: int | None = None) -> str:
    """The metric that says how often it took no more than this power of two, in nanoseconds, and more than
    half of it; None: the nanoseconds that all of them took."""
    return f"{TOOK}{what}:{'ns' if power is None else power}"


NO_SAMPLES = Samples(np.empty(0, np.int64), np.empty(0, np.int32), [], np.empty(0))


class StabilitiesByProcess(Protocol):
    """The table `stabilities`, one process at a time: it may be as long as all logs together."""

    def __len__(self) -> int: ...

    def of(self, process: int) -> Stabilities: ...


class Tables(Protocol):
    """Who and what a trace is about."""

    @property
    def processes(self) -> Processes: ...

    @property
    def messages(self) -> Messages: ...


class Trace(Tables, Protocol):
    """What the checker reads: processes and messages in memory, the rest one process at a time."""

    @property
    def run(self) -> Run: ...

    def logs(self) -> Iterator[tuple[int, Log]]:
        """Each process with its log, in any order of processes; may be called again."""

    def log(self, process: int) -> Log: ...

    @property
    def stabilities(self) -> StabilitiesByProcess: ...


@dataclass(frozen=True)
class MemoryTrace:
    """A whole trace in memory: deliveries of process p are rows offsets[p] to offsets[p + 1]."""

    run: Run
    processes: Processes
    messages: Messages
    delivery_offsets: Int64s
    delivery_message: Int32s
    delivery_time_ns: Int64s
    samples: Samples = NO_SAMPLES
    stabilities: Stabilities = NO_STABILITIES
    story: Story = NO_STORY

    def log(self, process: int) -> Log:
        rows = slice(self.delivery_offsets[process], self.delivery_offsets[process + 1])
        return Log(self.delivery_message[rows], self.delivery_time_ns[rows])

    def logs(self) -> Iterator[tuple[int, Log]]:
        return ((process, self.log(process)) for process in range(len(self.processes)))


def label_of_message(trace: Tables, message: int) -> str:
    """How a message is written for people: `p2#5`."""
    messages, processes = trace.messages, trace.processes
    if not 0 <= message < len(messages):
        return f"message {message}"
    origin = int(messages.origin[message])
    if not 0 <= origin < len(processes):
        return f"unknown#{messages.number[message]}"
    return message_label(
        processes.name[origin], int(processes.incarnation[origin]), int(messages.number[message])
    )
