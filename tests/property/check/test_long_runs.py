"""Runs long enough that a process has to do with few of the messages: what is then done is compared with what
is done where it has to do with many, and with the definitions."""

import heapq
import pickle
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from aforesaid.check import PROPERTIES, Report, check, history
from aforesaid.check.judge import first_reading, properties_of
from aforesaid.check.reading import Reader
from aforesaid.core import MessageId
from aforesaid.trace import Lists, MemorySink, MemoryTrace, Run, Tracer
from support.injected import founders, injected

PROCESSES, MESSAGES, SLICES = 80, 4_000, 8


@pytest.mark.parametrize("lost", [0.0, 0.01])
def test_few_and_many_get_the_same_report(lost: float, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = unicasts(lost)
    few = judged(trace)
    assert few.verdicts["causal"].violations > 50
    monkeypatch.setattr(history, "FEW", MESSAGES)
    assert judged(trace) == few


def test_transitive_reduction_of_a_long_run_is_a_true_record() -> None:
    trace = unicasts(lost=0.0)
    after = reduction(trace)
    assert len(trace.messages.after.values) - sum(map(len, after)) > 100
    reduced = replace(trace, messages=replace(trace.messages, after=Lists.of(after)))
    assert check(reduced).verdicts["recorded"].value == "kept"
    dropped = [before[:-1] if message % 100 == 99 else before for message, before in enumerate(after)]
    lying = replace(trace, messages=replace(trace.messages, after=Lists.of(dropped)))
    forgotten = [
        (before[-1], message) for message, before in enumerate(after) if before and message % 100 == 99
    ]
    witnesses = judged(lying).verdicts["recorded"].witnesses
    assert sorted((w.details["predecessor_index"], w.message_index) for w in witnesses) == sorted(forgotten)


def test_a_slice_hands_over_what_is_in_question_and_not_a_number_for_each_message() -> None:
    """Of 4,000 messages that are called stable, 3 are called wrongly."""
    made = injected(PROCESSES, MESSAGES, faults=0, stability=True)
    assert made.calls is not None
    logs = list(made.logs(seed=2))
    trace = MemoryTrace(
        Run("calls"),
        founders(PROCESSES),
        made.messages,
        np.cumsum([0, *(len(log) for log, _ in logs)]),
        np.concatenate([log for log, _ in logs]),
        np.concatenate([time_ns for _, time_ns in logs]),
        stabilities=made.calls,
    )
    _, properties = properties_of(trace, None)
    part = range(PROCESSES // SLICES)
    reading = first_reading(trace.run, properties, witnesses_max=0)
    found = Reader(trace).read(
        reading, ((process, trace.log(process)) for process in part), part, lambda: None
    )
    assert len(pickle.dumps(found["stability"])) < MESSAGES / 4
    assert len(pickle.dumps(found)) < MESSAGES


def judged(trace: MemoryTrace) -> Report:
    return check(trace, tuple(PROPERTIES), witnesses_max=None)


def unicasts(lost: float) -> MemoryTrace:
    """Messages to one each, with delays so unequal that many overtake others."""
    random = Random(7)
    sink = MemorySink()
    tracer = Tracer(sink)
    names = [f"p{process}" for process in range(PROCESSES)]
    for name in names:
        tracer.began(name, 0, 0)
    travelling: list[tuple[int, int, int, MessageId]] = []
    sent = [0] * PROCESSES
    for now in range(MESSAGES):
        deliver(tracer, travelling, now)
        origin = random.randrange(PROCESSES)
        sent[origin] += 1
        message_id = MessageId(names[origin], 0, sent[origin])
        target = random.randrange(PROCESSES)
        tracer.sent(origin, message_id, now, [target])
        if random.random() >= lost:
            heapq.heappush(travelling, (now + random.randint(1, 8 * PROCESSES), now, target, message_id))
    deliver(tracer, travelling, 2 * MESSAGES)
    tracer.close(Run("unicasts"))
    return sink.trace


def deliver(tracer: Tracer, travelling: list[tuple[int, int, int, MessageId]], now: int) -> None:
    while travelling and travelling[0][0] <= now:
        _, _, target, message_id = heapq.heappop(travelling)
        tracer.delivered(target, message_id, now)


def reduction(trace: MemoryTrace) -> list[list[int]]:
    """The immediate predecessors of each message, by sets of predecessors that are bits of integers."""
    past: list[int] = []
    after: list[list[int]] = []
    for message in range(len(trace.messages)):
        before = trace.messages.after[message].tolist()
        implied = 0
        for earlier in before:
            implied |= past[earlier]
        after.append(sorted(earlier for earlier in before if not implied >> earlier & 1))
        past.append(implied | sum(1 << earlier for earlier in set(before)))
    return after
