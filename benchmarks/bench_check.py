"""How fast traces are judged, against a plain NumPy pass over the same columns in the same run.

The broadcast trace is made of rounds of 1 to 6 concurrent messages, each after all of the round before; every
process delivers the rounds in order and each round in an order of its own. With rounds of 1 to 101 a message
has 51 predecessors instead of 3.5. The multicast trace is recorded by the Tracer from processes that deliver
what they are sent in the order of sending, each after its own lag. Any message may hide a predecessor from
anyone there; still, unicasts among ten times as many processes are to cost what is delivered.

The plain pass does, per process, what no judge can do without: read both columns (one sum, one maximum) and
scatter the positions by message. Run: python benchmarks/bench_check.py [processes] [messages]
"""

import sys
from collections import deque
from collections.abc import Callable
from random import Random
from time import process_time

import numpy as np

from aforesaid.check import check
from aforesaid.core import MessageId
from aforesaid.trace import Lists, MemorySink, MemoryTrace, Messages, Processes, Run, Tracer

RATE_MIN = 5_000_000
RATIO_MAX = 10.0
REPEATS = 5


def main() -> None:
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    messages = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    broadcast = broadcast_trace(processes, messages)
    rate, ratio = measure(f"broadcast, every process sends, {processes} processes", broadcast)
    print(f"  bars: {RATE_MIN / 1e6:.0f} million per second {verdict(rate >= RATE_MIN)}, ", end="")
    print(f"{RATIO_MAX:.0f} plain passes {verdict(ratio <= RATIO_MAX)}")
    few = broadcast_trace(processes, messages, origins=8)
    measure(f"broadcast, 8 of {processes} send", few)
    wide_rate, _ = measure(
        "broadcast, 51 predecessors", broadcast_trace(processes, messages // 2, widest=101)
    )
    print(f"  {rate / wide_rate:.1f} times the cost of a delivery with 3.5 predecessors")
    measure(f"multicast to 5 of {processes} processes", multicast_trace(processes, messages, 5))
    few_rate, _ = measure(f"unicasts among {processes} processes", multicast_trace(processes, messages, 1))
    many, more = 10 * processes, 8 * messages
    unicast_rate, _ = measure(f"unicasts among {many} processes", multicast_trace(many, more, 1))
    print(f"  {few_rate / unicast_rate:.1f} times the cost of a delivery among {processes} processes")


def measure(name: str, trace: MemoryTrace) -> tuple[float, float]:
    deliveries = len(trace.delivery_message)
    report = check(trace)
    assert report.value() == "kept", report.to_dict()
    judged = best(lambda: check(trace))
    plain = best(lambda: plain_pass(trace))
    summed = best(lambda: sum_columns(trace))
    print(
        f"{name}: {len(trace.messages):,} messages, {len(trace.messages.after.values):,} predecessors, ",
        end="",
    )
    print(f"{deliveries:,} deliveries")
    print(f"  judged in {judged:.3f} s: {deliveries / judged / 1e6:.1f} million deliveries per second")
    print(f"  {judged / plain:.1f} times a plain pass ({plain:.3f} s), ", end="")
    print(f"{judged / summed:.1f} times summing the columns ({summed:.3f} s)")
    return deliveries / judged, judged / plain


def verdict(met: bool) -> str:
    return "(met)" if met else "(MISSED)"


def best(action: Callable[[], object]) -> float:
    """The CPU seconds of the shortest of a few runs: the one least disturbed by others on the machine."""
    times = []
    for _ in range(REPEATS):
        start = process_time()
        action()
        times.append(process_time() - start)
    return min(times)


def plain_pass(trace: MemoryTrace) -> int:
    first = np.empty(len(trace.messages), np.int32)
    total = 0
    for _, log in trace.logs():
        total += int(log.message.sum()) + int(log.time_ns.max(initial=0))
        first[log.message] = np.arange(len(log.message), dtype=np.int32)
    return total


def sum_columns(trace: MemoryTrace) -> int:
    return sum(int(log.message.sum()) + int(log.time_ns.sum()) for _, log in trace.logs())


def broadcast_trace(
    process_count: int, message_count: int, origins: int | None = None, widest: int = 6
) -> MemoryTrace:
    random = np.random.default_rng(1)
    width = random.integers(1, widest + 1, message_count)
    width = width[: int(np.searchsorted(np.cumsum(width), message_count)) + 1]
    start = np.concatenate(([0], np.cumsum(width)))
    count = int(start[-1])
    round_of = np.repeat(np.arange(len(width)), width)
    # Different origins within a round: a random one for the first, then its neighbours.
    senders = origins or process_count
    first_origin = random.integers(0, senders, len(width))
    origin = ((first_origin[round_of] + np.arange(count) - start[round_of]) % senders).astype(np.int32)
    before = np.where(round_of > 0, width[round_of - 1], 0)
    ends = np.cumsum(before)
    after = np.arange(ends[-1]) + np.repeat(start[round_of - 1] - ends + before, before)
    number = np.empty(count, np.int32)
    by_origin = np.argsort(origin, kind="stable")
    firsts = np.searchsorted(origin[by_origin], np.arange(process_count))
    number[by_origin] = np.arange(count) - firsts[origin[by_origin]] + 1
    sent_ns = (round_of * 1_000_000).astype(np.int64)
    logs = [np.lexsort((random.random(count), round_of)).astype(np.int32) for _ in range(process_count)]
    delays = random.integers(1, 1_000_000, (process_count, 1))
    return MemoryTrace(
        run=Run("broadcast"),
        processes=founders(process_count),
        messages=Messages(
            origin=origin,
            number=number,
            time_ns=sent_ns,
            sent_after=start[round_of].astype(np.int32),
            after=Lists.from_lengths(before, after.astype(np.int32)),
            to_all=np.ones(count, np.bool_),
            audience=Lists.from_lengths(np.zeros(count, np.int64), np.empty(0, np.int32)),
        ),
        delivery_offsets=np.arange(process_count + 1) * count,
        delivery_message=np.concatenate(logs),
        delivery_time_ns=(sent_ns[np.newaxis, :] + delays).reshape(-1),
    )


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


def multicast_trace(process_count: int, message_count: int, audience_size: int) -> MemoryTrace:
    random = Random(1)
    sink = MemorySink()
    tracer = Tracer(sink)
    names = [f"p{index}" for index in range(process_count)]
    for name in names:
        tracer.began(name, 0, 0)
    waiting: list[deque[MessageId]] = [deque() for _ in names]
    sent = [0] * process_count
    for now in range(message_count):
        for index in random.sample(range(process_count), min(process_count, 2 * audience_size)):
            if waiting[index] and random.random() < 0.7:
                tracer.delivered(index, waiting[index].popleft(), now)
        origin = random.randrange(process_count)
        sent[origin] += 1
        message_id = MessageId(names[origin], 0, sent[origin])
        audience = random.sample(range(process_count), audience_size)
        tracer.sent(origin, message_id, now, audience)
        for index in audience:
            waiting[index].append(message_id)
    for index, queue in enumerate(waiting):
        for message_id in queue:
            tracer.delivered(index, message_id, message_count)
    tracer.close(Run("multicast"))
    return sink.trace


if __name__ == "__main__":
    main()
