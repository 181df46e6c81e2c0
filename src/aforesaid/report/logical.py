"""Logical time: how long the longest chain of events is that ends with an event (Lamport's clock)."""

from collections.abc import Sequence

from aforesaid.trace import Trace


def logical_times(
    trace: Trace, messages: Sequence[int], processes: Sequence[int]
) -> dict[tuple[int, int], int]:
    """By process and message, when it was said there or else first delivered; of these events alone."""
    chosen = set(messages)
    queues = {process: _events(trace, process, chosen) for process in processes}
    times: dict[tuple[int, int], int] = {}
    latest = dict.fromkeys(processes, 0)
    moved = True
    while moved:
        moved = False
        for process, queue in queues.items():
            while queue:
                message = queue[0]
                origin = int(trace.messages.origin[message])
                waits = origin != process and origin in queues and (origin, message) not in times
                # What was delivered before it was said would wait for ever.
                if waits and message in queues[origin]:
                    break
                latest[process] = max(latest[process], times.get((origin, message), 0)) + 1
                times[process, queue.pop(0)] = latest[process]
                moved = True
    return times


def _events(trace: Trace, process: int, chosen: set[int]) -> list[int]:
    """What a process said and delivered of these, in its own order, each once."""
    said = [
        ((int(trace.messages.sent_after[message]), 0, int(trace.messages.number[message])), message)
        for message in chosen
        if trace.messages.origin[message] == process
    ]
    delivered = [
        ((position, 1, 0), message)
        for position, message in enumerate(trace.log(process).message.tolist())
        if message in chosen and trace.messages.origin[message] != process
    ]
    return list(dict.fromkeys(message for _, message in sorted([*said, *delivered])))
