"""A trace of a million events without a simulation: who said what when, and when it came, by arithmetic."""

import numpy as np

from aforesaid.trace import Lists, MemoryTrace, Messages, Processes, Run

MICROSECOND, MILLISECOND = 1_000, 1_000_000


def million(processes: int = 50, messages: int = 20_000, seed: int = 1) -> MemoryTrace:
    """Everybody in turn, every 50 us; a message comes to each process within 40 ms, so that many overtake."""
    random = np.random.default_rng(seed)
    origin = np.arange(messages, dtype=np.int32) % processes
    said_ns = np.arange(messages, dtype=np.int64) * 50 * MICROSECOND
    delay_ns = (
        random.gamma(2.0, 4.0 * MILLISECOND, (processes, messages)).astype(np.int64).clip(0, 40 * MILLISECOND)
    )
    delay_ns[origin, np.arange(messages)] = 0
    arrival_ns = said_ns + delay_ns
    order = np.argsort(arrival_ns, axis=1, kind="stable")
    times = np.take_along_axis(arrival_ns, order, axis=1)
    # Who says something delivers it at once: before it come the deliveries of all earlier moments.
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(messages)[None, :].repeat(processes, 0), axis=1)
    return MemoryTrace(
        Run("million", algorithm="none", seed=seed, promises=("no_duplicate",)),
        Processes(
            [f"p{process}" for process in range(processes)],
            np.zeros(processes, np.int32),
            np.zeros(processes, np.int64),
            np.full(processes, -1, np.int64),
            ["alive"] * processes,
            np.zeros(processes, np.bool_),
            Lists.of([[]] * processes),
            np.ones(processes, np.bool_),
        ),
        Messages(
            origin,
            (np.arange(messages, dtype=np.int32) // processes + 1).astype(np.int32),
            said_ns,
            place[origin, np.arange(messages)].astype(np.int32),
            Lists.of([[]] * messages),
            np.ones(messages, np.bool_),
            Lists.of([[]] * messages),
        ),
        np.arange(processes + 1, dtype=np.int64) * messages,
        order.astype(np.int32).ravel(),
        times.ravel(),
    )
