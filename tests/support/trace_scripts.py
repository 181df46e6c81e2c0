"""Runs made up from a seed, to record with a tracer; and what it means that two traces are the same."""

import random
from dataclasses import fields
from typing import Any

import numpy as np

from aforesaid.core import MessageId
from aforesaid.storage import Place
from aforesaid.trace import Lists, MemorySink, MemoryTrace, Messages, Processes, Run, Sink, Tracer
from aforesaid.trace.parquet import ParquetSink, ParquetTrace, open_trace

RUN = Run(
    run="r1",
    algorithm="made up",
    seed=-7,
    scenario='{"n": 3}',
    code_version="0",
    ended="cut",
    clock="local",
    promises=("fifo", "causal"),
)


def record(sink: Sink, seed: int, steps: int = 400, chunk_rows: int = 7) -> Run:
    """A run with all there is: joiners, crashes, multicasts, duplicates, phantoms, stable calls, samples."""
    chance = random.Random(seed)
    tracer = Tracer(sink, chunk_rows)
    labels = [f"p{index}" for index in range(chance.randrange(1, 6))]
    alive = [tracer.began(name, 0, 0) for name in labels]
    sent: list[MessageId] = []
    numbers = dict.fromkeys(range(100_000), 0)
    for now in range(steps):
        process = chance.choice(alive)
        event = chance.random()
        if event < 0.2:
            numbers[process] += 1
            some = chance.sample(alive, chance.randrange(len(alive) + 1))
            audience = chance.choice([None, some])
            sent.append(MessageId(labels[process], 0, numbers[process]))
            tracer.sent(process, sent[-1], now, audience)
        elif event < 0.75 and sent:
            tracer.delivered(process, chance.choice(sent), now)
        elif event < 0.9 and sent:
            tracer.stable(process, chance.choice([*sent[-5:], MessageId("stranger", 0, 1)]), now)
        elif event < 0.92:
            tracer.delivered(process, MessageId(chance.choice([*labels, "stranger"]), 0, 10_000), now)
        elif event < 0.94:
            labels.append(f"j{len(labels)}")
            newcomer = tracer.began(labels[-1], 0, now, joining=True)
            if chance.random() < 0.7:
                tracer.admitted(process, newcomer)
                alive.append(newcomer)
        elif event < 0.95 and len(alive) > 1:
            alive.remove(process)
            tracer.ended(process, chance.choice(["left", "crashed", "evicted"]), now)
        else:
            tracer.sample(now, chance.choice(["bytes", "control entries"]), chance.random(), process - 1)
    return tracer.close(RUN)


def in_memory(seed: int, steps: int = 400, chunk_rows: int = 7) -> MemoryTrace:
    sink = MemorySink()
    record(sink, seed, steps, chunk_rows)
    return sink.trace


def stored(root: Place, seed: int, steps: int = 400, **options: Any) -> ParquetTrace:
    with ParquetSink(root, RUN.run, **options) as sink:
        record(sink, seed, steps)
    return open_trace(root / f"run={RUN.run}")


def messages_of(count: int, **columns: Any) -> Messages:
    """So many messages of the first process; some columns as given."""
    none = Lists.of([()] * count)
    given: dict[str, Any] = {
        "origin": np.zeros(count, np.int32),
        "number": np.arange(1, count + 1, dtype=np.int32),
        "time_ns": np.zeros(count, np.int64),
        "sent_after": np.zeros(count, np.int32),
        "after": none,
        "to_all": np.ones(count, np.bool_),
        "audience": none,
    }
    for name, values in columns.items():
        given[name] = values if isinstance(values, Lists) else np.array(values, given[name].dtype)
    return Messages(**given)


def processes_of(count: int, ended_ns: list[int] | None = None) -> Processes:
    """So many processes, there from the beginning."""
    return Processes(
        name=[f"p{index}" for index in range(count)],
        incarnation=np.zeros(count, np.int32),
        began_ns=np.zeros(count, np.int64),
        ended_ns=np.full(count, -1, np.int64) if ended_ns is None else np.array(ended_ns),
        fate=["alive"] * count,
        joined=np.zeros(count, np.bool_),
        base=Lists.of([()] * count),
        complete=np.ones(count, np.bool_),
    )


def assert_same(one: Any, other: Any) -> None:
    """Two traces have the same content, types included; in what `log` says too, not only `logs`."""
    assert one.run == other.run
    for table in ("processes", "messages", "samples"):
        _assert_same_columns(getattr(one, table), getattr(other, table))
    assert len(one.stabilities) == len(other.stabilities)
    for process in range(-1, len(one.processes) + 1):
        _assert_same_columns(one.stabilities.of(process), other.stabilities.of(process))
    ours, theirs = dict(one.logs()), dict(other.logs())
    assert sorted(ours) == sorted(theirs) == list(range(len(one.processes)))
    for process in ours:
        for log in (theirs[process], other.log(process)):
            _assert_same_columns(ours[process], log)


def is_same(one: Any, other: Any) -> bool:
    try:
        assert_same(one, other)
    except AssertionError:
        return False
    return True


def _assert_same_columns(one: Any, other: Any) -> None:
    for column in fields(one):
        ours, theirs = getattr(one, column.name), getattr(other, column.name)
        if isinstance(ours, Lists):
            _assert_same_columns(ours, theirs)
        elif isinstance(ours, np.ndarray):
            assert ours.dtype == theirs.dtype, column.name
            assert np.array_equal(ours, theirs), column.name
        else:
            assert ours == theirs, column.name
