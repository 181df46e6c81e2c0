"""Large broadcast traces, made in seconds, with faults of every kind in known places.

Messages come in rounds of 1 to 6 concurrent ones, each after all of the round before, from the first SENDERS
processes; every process delivers the rounds in order and each round in an order of its own. Each fault is put
into the log of a process of its own that sends nothing, so the violations it must give are known exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from aforesaid.storage import Place
from aforesaid.trace import Lists, Messages, Processes, Run, Samples, Stabilities
from aforesaid.trace.parquet import ParquetSink

Somewhere = TypeVar("Somewhere", bound=Place)

SENDERS = 8
FAULTS = ("swap", "drop", "repeat", "create", "foresee")
CALL_FAULTS = ("call_early", "call_twice", "call_never", "call_phantom")
LIES = ("false", "missing")

Pairs = set[tuple[int, int]]


@dataclass
class Injected:
    """A trace to be written, and the violations in it: (process, message) by property."""

    processes: int
    messages: Messages
    rounds: np.ndarray
    starts: np.ndarray
    faults: dict[int, tuple[str, int]] = field(default_factory=dict)
    """By process: the kind of its fault, and where: a round, or a message."""
    calls: Stabilities | None = None
    expected: dict[str, Pairs] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The messages that were sent."""
        return len(self.rounds)

    def expect(self, name: str, process: int, message: int) -> None:
        self.expected.setdefault(name, set()).add((process, message))

    def logs(self, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Each process's deliveries and their times, faults included."""
        order = np.random.default_rng(seed)
        sent_ns = self.rounds * 1_000_000
        for process in range(self.processes):
            log = np.lexsort((order.random(self.count), self.rounds)).astype(np.int32)
            time_ns = np.maximum.accumulate(sent_ns[log] + 500_000 + process)
            if process in self.faults:
                log, time_ns = self._spoiled(process, log, time_ns)
            yield log, time_ns

    def _spoiled(self, process: int, log: np.ndarray, time_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kind, place = self.faults[process]
        if kind == "swap":
            late, early = int(log[place - 1]), int(log[place])
            log[place - 1], log[place] = early, late
            # At equal times nothing is delivered before it was sent.
            time_ns[place - 1] = time_ns[place]
            self.expect("causal", process, early)
            if self.messages.origin[late] == self.messages.origin[early]:
                self.expect("fifo", process, early)
        elif kind == "drop":
            self._expect_missing(process, place)
            kept = log != place
            log, time_ns = log[kept], time_ns[kept]
        elif kind == "foresee":
            time_ns[np.flatnonzero(log == place)] = self.rounds[place] * 1_000_000 - 1
            self.expect("no_foresight", process, place)
        else:
            log, time_ns = np.append(log, np.int32(place)), np.append(time_ns, time_ns[-1])
            self.expect("no_duplicate" if kind == "repeat" else "no_creation", process, place)
        return log, time_ns

    def _expect_missing(self, process: int, message: int) -> None:
        for name in ("agreement", "uniform_agreement", "validity"):
            self.expect(name, process, message)
        round_after = np.flatnonzero(self.rounds == self.rounds[message] + 1)
        for child in round_after.tolist():
            self.expect("causal", process, child)
        origin = self.messages.origin[: self.count]
        line = np.flatnonzero(origin == origin[message])
        for follower in line[line > message][:1].tolist():
            self.expect("fifo", process, follower)
        if self.calls is not None:
            self.expect("stability", int(origin[message]), message)


def injected(
    processes: int,
    messages: int,
    faults: int,
    lies: int = 0,
    strays: int = 0,
    stability: bool = False,
    widths: tuple[int, int] = (1, 6),
    seed: int = 1,
) -> Injected:
    """A trace with so many faults in logs, lies of the recorder, messages that went astray, and calls."""
    random = np.random.default_rng(seed)
    width = random.integers(widths[0], widths[1] + 1, messages)
    width = width[: int(np.searchsorted(np.cumsum(width), messages)) + 1]
    starts = np.concatenate(([0], np.cumsum(width)))
    rounds = np.repeat(np.arange(len(width)), width)
    made = Injected(processes, _messages(random, rounds, starts, width, faults), rounds, starts)
    if stability:
        made.calls = _calls(made, random, max(1, faults // 20))
    spoiled = random.choice(np.arange(SENDERS, processes), min(faults, processes - SENDERS), replace=False)
    for place, process in enumerate(spoiled.tolist()):
        kind = FAULTS[place % len(FAULTS)]
        inner = int(random.integers(1, len(width) - 2))
        message = int(starts[inner])
        if kind == "create":
            message = made.count + place
        made.faults[process] = kind, int(starts[inner]) if kind == "swap" else message
    if lies:
        made.messages = _lied(made, random, lies)
    if strays:
        made.messages = _strayed(made, random, strays)
    return made


def write(
    made: Injected, root: Somewhere, run: str, row_group_rows: int = 1 << 20, seed: int = 2
) -> Somewhere:
    """Write the trace; `expected` is complete afterwards."""
    promised: tuple[str, ...] = (
        "no_duplicate",
        "no_creation",
        "fifo",
        "causal",
        "validity",
        "agreement",
        "uniform_agreement",
    )
    if made.calls is not None:
        promised = (*promised, "stability")
    with ParquetSink(root, run, row_group_rows=row_group_rows) as sink:
        sink.messages(made.messages)
        for process, (log, time_ns) in enumerate(made.logs(seed)):
            column = np.full(len(log), process, np.int32)
            sink.deliveries(column, np.arange(len(log), dtype=np.int32), time_ns.astype(np.int64), log)
        if made.calls is not None:
            sink.stabilities(made.calls)
        nothing = np.empty(0, np.int64)
        sink.samples(Samples(nothing, np.empty(0, np.int32), [], np.empty(0)))
        sink.close(Run(run, promises=promised), founders(made.processes))
    return root / f"run={run}"


def founders(count: int) -> Processes:
    return Processes(
        name=[f"p{index}" for index in range(count)],
        incarnation=np.zeros(count, np.int32),
        began_ns=np.zeros(count, np.int64),
        ended_ns=np.full(count, -1, np.int64),
        fate=["alive"] * count,
        joined=np.zeros(count, np.bool_),
        base=Lists.of([[] for _ in range(count)]),
        complete=np.ones(count, np.bool_),
    )


def _messages(
    random: np.random.Generator, rounds: np.ndarray, starts: np.ndarray, width: np.ndarray, phantoms: int
) -> Messages:
    count = len(rounds)
    # Different origins within a round: a random one for the first, then its neighbours.
    first_origin = random.integers(0, SENDERS, len(width))
    origin = ((first_origin[rounds] + np.arange(count) - starts[rounds]) % SENDERS).astype(np.int32)
    before = np.where(rounds > 0, width[rounds - 1], 0)
    ends = np.cumsum(before)
    after = np.arange(ends[-1]) + np.repeat(starts[rounds - 1] - ends + before, before)
    number = np.empty(count, np.int32)
    by_origin = np.argsort(origin, kind="stable")
    firsts = np.searchsorted(origin[by_origin], np.arange(SENDERS))
    number[by_origin] = np.arange(count) - firsts[origin[by_origin]] + 1
    return Messages(
        origin=np.append(origin, np.zeros(phantoms, np.int32)),
        number=np.append(number, np.arange(phantoms, dtype=np.int32) + count),
        time_ns=np.append(rounds * 1_000_000, np.full(phantoms, -1)),
        sent_after=np.append(starts[rounds], np.full(phantoms, -1)).astype(np.int32),
        after=Lists.from_lengths(np.append(before, np.zeros(phantoms, np.int64)), after.astype(np.int32)),
        to_all=np.ones(count + phantoms, np.bool_),
        audience=Lists.from_lengths(np.zeros(count + phantoms, np.int64), np.empty(0, np.int32)),
    )


def _calls(made: Injected, random: np.random.Generator, faults: int) -> Stabilities:
    """Every origin calls its messages stable when all is over, but for some."""
    count, origin = made.count, made.messages.origin
    late_ns = int(made.rounds[-1] + 10) * 1_000_000_000
    process, message = origin[:count].copy(), np.arange(count, dtype=np.int32)
    time_ns = np.full(count, late_ns, np.int64)
    chosen = random.choice(np.arange(made.starts[2], made.starts[-3]), 3 * faults, replace=False).tolist()
    early, never, twice = chosen[:faults], chosen[faults : 2 * faults], chosen[2 * faults :]
    time_ns[early] = made.rounds[early] * 1_000_000
    for place in (*early, *never, *twice):
        made.expect("stability", int(origin[place]), place)
    kept = np.setdiff1d(np.arange(count), never)
    phantom = len(made.messages) - 1
    made.expect("stability", 0, phantom)
    rows = np.concatenate((kept, twice))
    return Stabilities(
        process=np.append(process[rows], 0).astype(np.int32),
        message=np.append(message[rows], phantom).astype(np.int32),
        time_ns=np.append(time_ns[rows], late_ns),
        position=np.full(len(rows) + 1, count, np.int32),
    )


def _lied(made: Injected, random: np.random.Generator, lies: int) -> Messages:
    """The recorder names a predecessor that its origin had not seen, or forgets one."""
    messages = made.messages
    after = [messages.after[message].tolist() for message in range(len(messages))]
    chosen = random.choice(np.arange(made.starts[3], made.starts[-4]), lies, replace=False).tolist()
    for place, message in enumerate(sorted(chosen)):
        if LIES[place % 2] == "false":
            after[message].append(int(made.starts[made.rounds[message] + 2]))
        else:
            after[message].pop()
        made.expect("recorded", int(messages.origin[message]), message)
    return Messages(**{**messages.__dict__, "after": Lists.of(after)})


def _strayed(made: Injected, random: np.random.Generator, strays: int) -> Messages:
    """Messages that are for all but one process, which delivers them nevertheless."""
    messages = made.messages
    sound = [process for process in range(SENDERS, made.processes) if process not in made.faults]
    chosen = random.choice(made.count, strays, replace=False).tolist()
    audience: list[list[int]] = [[] for _ in range(len(messages))]
    to_all = messages.to_all.copy()
    for message, stranger in zip(chosen, random.choice(sound, strays), strict=True):
        to_all[message] = False
        audience[message] = [process for process in range(made.processes) if process != stranger]
        made.expect("audience", int(stranger), message)
    return Messages(**{**messages.__dict__, "to_all": to_all, "audience": Lists.of(audience)})
