"""The story of a run: when messages came, what they waited for, and what went wrong meanwhile.

Three tables, `receipts`, `waits` and `events`, as NumPy columns. No verdict and no digest depends on them,
and a trace may lack them. A receipt is told by its delivery, so that it costs few bytes: who handed the
message on first, and how long before its delivery that was. What has no delivery, because it was held back
before it left or never became ready, is a wait. -1, or an empty text, is none.
"""

from abc import ABC, abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from aforesaid.core import Nanoseconds

SINCE_SAID = -1
"""In place of the time of a wait: it waited since it was said. To tell that time would cost a third more."""

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Table(ABC):
    """Rows in columns: numbers in NumPy's, texts in lists."""

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[Any, ...]]) -> Self:
        columns = zip(*rows, strict=True) if rows else [()] * len(fields(cls))
        kinds: dict[Any, Any] = {Int32s: np.int32, Int64s: np.int64}
        return cls(
            *(
                np.array(column, kinds[field.type]) if field.type in kinds else list(column)
                for field, column in zip(fields(cls), columns, strict=True)
            )
        )

    def __len__(self) -> int:
        return len(self._columns()[0])

    def at(self, rows: npt.NDArray[np.intp]) -> Self:
        """Some of the rows."""
        listed = rows.tolist()
        return type(self)(
            *([c[row] for row in listed] if isinstance(c, list) else c[rows] for c in self._columns())
        )

    def joined(self, other: Self) -> Self:
        """These rows, then those."""
        both = zip(self._columns(), other._columns(), strict=True)
        return type(self)(*(a + b if isinstance(a, list) else np.concatenate((a, b)) for a, b in both))

    def sorted(self) -> Self:
        """Where all that counts is equal, rows stay in the order they are in."""
        order = np.lexsort(self._keys()[::-1])
        return self if np.array_equal(order, np.arange(len(order))) else self.at(order)

    @abstractmethod
    def _keys(self) -> tuple[Any, ...]:
        """What the rows are sorted by, first things first."""

    def _columns(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class OfProcesses(Table):
    """A table that lies by process."""

    process: Int32s

    def of(self, process: int) -> Self:
        """The rows of one process."""
        first, last = np.searchsorted(self.process, np.array([process, process + 1], np.int32))
        return self.at(np.arange(first, last))


@dataclass(frozen=True)
class Receipts(OfProcesses):
    """One row per message of another that a process delivered, and one more for each further thing it waited
    for. A message of the process's own has rows only if it waited."""

    position: Int32s
    """Of its delivery in the process's log."""
    source: Int32s
    """Who handed it on first; -1: nobody, it is the process's own, or nobody knows."""
    kind: list[str]
    """What it waited for, as the protocol told it (`core.reasons`); empty: nothing, or it cannot tell."""
    peer: Int32s
    cause: Int32s
    """The message it waited for."""
    waited_ns: Int64s
    """How long, for this; the sum over a delivery's rows is how long before the delivery it came."""

    def _keys(self) -> tuple[Any, ...]:
        return self.process, self.position


@dataclass(frozen=True)
class Waits(OfProcesses):
    """One row per thing that a message waited for at a process without being delivered there: before it left,
    or because it was never delivered."""

    message: Int32s
    source: Int32s
    """Who handed it on; -1: it is the process's own."""
    kind: list[str]
    peer: Int32s
    cause: Int32s
    time_ns: Int64s
    """When it is written down, SINCE_SAID for what was held back at its origin; who reads it has the time."""
    until_ns: Int64s
    """-1: it still waited when the run, or the process, ended."""

    def since(self, said_ns: Int64s) -> "Waits":
        """With times, given when each message was said."""
        times = np.where(self.time_ns == SINCE_SAID, said_ns[self.message], self.time_ns)
        return replace(self, time_ns=times).sorted()

    def _keys(self) -> tuple[Any, ...]:
        return self.process, self.time_ns


@dataclass(frozen=True)
class Events(Table):
    """Faults, and what else happened that is no message."""

    time_ns: Int64s
    kind: list[str]
    process: Int32s
    """To whom; -1: to all."""
    other: Int32s
    """The other process it is about, or -1."""
    text: list[str]
    """What more there is to say."""

    def _keys(self) -> tuple[Any, ...]:
        return (self.time_ns,)


@dataclass(frozen=True)
class Story:
    """All three of one run."""

    receipts: Receipts
    waits: Waits
    events: Events

    def since(self, said_ns: Int64s) -> "Story":
        """With times of all waits, given when each message was said."""
        return replace(self, waits=self.waits.since(said_ns))


NO_STORY = Story(Receipts.of_rows(()), Waits.of_rows(()), Events.of_rows(()))


class Chronicle:
    """Writes a story down as it happens; a receipt takes eight bytes, a hundred more if it waited."""

    def __init__(self) -> None:
        self.at_once: defaultdict[int, array[int]] = defaultdict(partial(array, "q"))
        """By process, of each delivery its position above, and below, one higher so that none is 0, the
        source. A simulator adds to it itself: it has one for each delivery."""
        self._waited: list[tuple[Any, ...]] = []
        self._waits: list[tuple[Any, ...]] = []
        self._events: list[tuple[Any, ...]] = []

    def receipt(self, process: int, position: int, source: int) -> None:
        """A process delivered what it was handed at once."""
        self.at_once[process].append(position << 32 | source + 1)

    def waited(
        self,
        process: int,
        position: int,
        source: int,
        kind: str,
        peer: int,
        cause: int,
        waited_ns: Nanoseconds,
    ) -> None:
        """A process delivered what had waited, so long for one thing; the rows are as in `Receipts`."""
        self._waited.append((process, position, source, kind, peer, cause, waited_ns))

    def wait(
        self,
        process: int,
        message: int,
        source: int,
        kind: str,
        peer: int,
        cause: int,
        time_ns: Nanoseconds,
        until_ns: Nanoseconds = -1,
    ) -> None:
        """A message waited at a process and is not delivered there for that; the rows are as in `Waits`."""
        self._waits.append((process, message, source, kind, peer, cause, time_ns, until_ns))

    def event(
        self, time_ns: Nanoseconds, kind: str, process: int = -1, other: int = -1, text: str = ""
    ) -> None:
        self._events.append((time_ns, kind, process, other, text))

    def forget_receipts(self) -> None:
        """They are too many: only events are told."""
        for rows in (self.at_once, self._waited, self._waits):
            rows.clear()

    def story(self) -> Story:
        receipts = self._receipts_at_once().joined(Receipts.of_rows(self._waited))
        return Story(
            receipts.sorted(), Waits.of_rows(self._waits).sorted(), Events.of_rows(self._events).sorted()
        )

    def _receipts_at_once(self) -> Receipts:
        """By process, as they are to lie."""
        rows = sorted(self.at_once.items())
        counts = [len(of_one) for _, of_one in rows]
        process = np.repeat(np.array([index for index, _ in rows], np.int32), counts)
        both = np.concatenate([np.empty(0, np.int64), *(np.array(of_one, np.int64) for _, of_one in rows)])
        none = np.full(len(both), -1, np.int32)
        return Receipts(
            process,
            (both >> 32).astype(np.int32),
            ((both & 0xFFFFFFFF) - 1).astype(np.int32),
            [""] * len(both),
            none,
            none,
            np.zeros(len(both), np.int64),
        )
