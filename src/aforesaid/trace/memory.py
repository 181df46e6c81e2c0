"""A sink that keeps a whole trace in memory: for tests, campaigns and the explorer."""

from collections.abc import Sequence

import numpy as np

from aforesaid.trace.model import (
    NO_SAMPLES,
    NO_STABILITIES,
    Int32s,
    Int64s,
    Lists,
    MemoryTrace,
    Messages,
    Processes,
    Run,
    Samples,
    Stabilities,
)
from aforesaid.trace.story import NO_STORY, Story


class MemorySink:
    """Keeps every chunk; `trace` is the whole once the tracer is closed."""

    def __init__(self) -> None:
        self._messages: list[Messages] = []
        self._deliveries: list[tuple[Int32s, Int64s, Int32s]] = []
        self._stabilities = [NO_STABILITIES]
        self._samples = [NO_SAMPLES]
        self._story = NO_STORY
        self.trace: MemoryTrace

    def messages(self, rows: Messages) -> None:
        self._messages.append(rows)

    def deliveries(self, process: Int32s, position: Int32s, time_ns: Int64s, message: Int32s) -> None:
        self._deliveries.append((process, time_ns, message))

    def stabilities(self, rows: Stabilities) -> None:
        self._stabilities.append(rows)

    def samples(self, rows: Samples) -> None:
        self._samples.append(rows)

    def story(self, rows: Story) -> None:
        self._story = rows

    def close(self, run: Run, processes: Processes) -> None:
        process = np.concatenate([chunk[0] for chunk in self._deliveries])
        # Deliveries come in the order they happened, so a stable sort by process keeps each local order.
        order = np.argsort(process, kind="stable")
        counts = np.bincount(process, minlength=len(processes))
        messages = concatenated_messages(self._messages)
        self.trace = MemoryTrace(
            run=run,
            processes=processes,
            messages=messages,
            delivery_offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            delivery_message=np.concatenate([chunk[2] for chunk in self._deliveries])[order],
            delivery_time_ns=np.concatenate([chunk[1] for chunk in self._deliveries])[order],
            samples=concatenated_samples(self._samples),
            stabilities=concatenated_stabilities(self._stabilities).by_process,
            story=self._story.since(messages.time_ns),
        )


def concatenated_messages(chunks: Sequence[Messages]) -> Messages:
    """Chunks of `messages`, in order, as one table."""
    return Messages(
        origin=np.concatenate([chunk.origin for chunk in chunks]),
        number=np.concatenate([chunk.number for chunk in chunks]),
        time_ns=np.concatenate([chunk.time_ns for chunk in chunks]),
        sent_after=np.concatenate([chunk.sent_after for chunk in chunks]),
        after=_concatenated_lists([chunk.after for chunk in chunks]),
        to_all=np.concatenate([chunk.to_all for chunk in chunks]),
        audience=_concatenated_lists([chunk.audience for chunk in chunks]),
    )


def concatenated_samples(chunks: Sequence[Samples]) -> Samples:
    """Chunks of `samples`, in order, as one table."""
    return Samples(
        time_ns=np.concatenate([chunk.time_ns for chunk in chunks]),
        process=np.concatenate([chunk.process for chunk in chunks]),
        metric=[metric for chunk in chunks for metric in chunk.metric],
        value=np.concatenate([chunk.value for chunk in chunks]),
    )


def concatenated_stabilities(chunks: Sequence[Stabilities]) -> Stabilities:
    """Chunks of `stabilities`, in order, as one table."""
    return Stabilities(
        process=np.concatenate([chunk.process for chunk in chunks]),
        message=np.concatenate([chunk.message for chunk in chunks]),
        time_ns=np.concatenate([chunk.time_ns for chunk in chunks]),
        position=np.concatenate([chunk.position for chunk in chunks]),
    )


def _concatenated_lists(chunks: Sequence[Lists]) -> Lists:
    return Lists.from_lengths(
        np.concatenate([chunk.lengths for chunk in chunks]),
        np.concatenate([chunk.values for chunk in chunks]),
    )
