"""Why a message was delivered when it was: its way to a process, what it waited for there, and the root.

Read from the run's story (`trace.story`). What released a message is the last thing it waited for; that has
a way of its own, and so on, until something came late and waited for nothing: the root. Where an algorithm
does not tell what a message waited for, its past does: what came before it and was delivered here later.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from aforesaid.core import MessageId, Misuse, Nanoseconds, Reason
from aforesaid.trace.model import Trace, label_of_message
from aforesaid.trace.story import Story

_LABEL = re.compile(r"(?P<process>.+)#(?P<number>\d+)")
CHAIN_MAX = 100
PAST_MAX = 10_000
"""How many predecessors are looked through for one that was missing."""


class Told(Trace, Protocol):
    """A trace with its story."""

    @property
    def story(self) -> Story: ...


@dataclass(frozen=True)
class Wait:
    """One thing that a message waited for."""

    reason: Reason
    cause: int
    """The message it waited for, by its row; -1: none."""
    since_ns: Nanoseconds
    until_ns: Nanoseconds | None
    told: bool = True
    """By the protocol; else found in its past."""


@dataclass(frozen=True)
class Way:
    """A message on its way to one process."""

    message: int
    process: int
    said_ns: Nanoseconds | None
    held: list[Wait]
    """What kept it at its origin."""
    came_ns: Nanoseconds | None = None
    """None: it never came, or nobody wrote it down."""
    source: int = -1
    waits: list[Wait] = field(default_factory=list)
    delivered_ns: Nanoseconds | None = None

    @property
    def released_by(self) -> int:
        """The last message it waited for; -1: none."""
        causes = [wait.cause for wait in self.waits if wait.cause >= 0]
        return causes[-1] if causes else -1

    @property
    def waited_ns(self) -> Nanoseconds:
        if self.came_ns is None or self.delivered_ns is None:
            return 0
        return self.delivered_ns - self.came_ns


class Ways:
    """Finds ways through one trace."""

    def __init__(self, trace: Told) -> None:
        self.trace = trace
        self._positions: dict[int, dict[int, int]] = {}

    def message(self, label: str) -> int:
        """A message by how it is written, `p2#5`."""
        match = _LABEL.fullmatch(label)
        if match is None:
            raise Misuse(f"{label!r} is no message; write p2#5, or p2~1#5 for a later incarnation")
        origin, number = self.process(match["process"]), int(match["number"])
        messages = self.trace.messages
        found = np.flatnonzero((messages.origin == origin) & (messages.number == number))
        if not len(found):
            last = int(messages.number[messages.origin == origin].max(initial=0))
            raise Misuse(f"{match['process']} said no message {number}; its last is {last}")
        return int(found[0])

    def process(self, label: str) -> int:
        if label not in self._labels:
            raise Misuse(f"the run has no process {label!r}; it has: {', '.join(list(self._labels)[:20])}")
        return self._labels[label]

    def audience(self, message: int) -> list[int]:
        """The processes that a message was for, without its origin."""
        messages = self.trace.messages
        everyone = range(len(self.trace.processes))
        named = everyone if messages.to_all[message] else messages.audience[message].tolist()
        return [process for process in named if process != messages.origin[message]]

    def way(self, message: int, process: int) -> Way:
        messages, position = self.trace.messages, self._position(process).get(message)
        said, origin = int(messages.time_ns[message]), int(messages.origin[message])
        held = self.held(message) if origin != process else []
        way = Way(message, process, None if said < 0 else said, held)
        way = self._undelivered(way) if position is None else self._delivered(way, position)
        waits = [wait if wait.reason.kind else self._in_its_past(wait, way) for wait in way.waits]
        return replace(way, waits=waits)

    def _undelivered(self, way: Way) -> Way:
        waits = list(self._waits(way.process, way.message, own=False))
        if not waits:
            return way
        rows = self.trace.story.waits
        here = (rows.process == way.process) & (rows.message == way.message)
        return replace(way, came_ns=waits[0].since_ns, source=int(rows.source[here][0]), waits=waits)

    def _delivered(self, way: Way, position: int) -> Way:
        delivered = int(self.trace.log(way.process).time_ns[position])
        receipts = self.trace.story.receipts.of(way.process)
        rows = receipts.at(np.flatnonzero(receipts.position == position))
        if not len(rows):
            return replace(way, delivered_ns=delivered)
        ends = delivered - int(rows.waited_ns.sum()) + np.concatenate(([0], np.cumsum(rows.waited_ns)))
        waits = [
            self._wait(way.process, way.message, kind, peer, cause, since, until)
            for kind, peer, cause, (since, until) in zip(
                rows.kind, rows.peer.tolist(), rows.cause.tolist(), pairwise(ends.tolist()), strict=True
            )
            if until > since
        ]
        source = int(rows.source[0])
        return replace(way, came_ns=int(ends[0]), source=source, waits=waits, delivered_ns=delivered)

    def held(self, message: int) -> list[Wait]:
        """What kept a message where it was said."""
        return list(self._waits(int(self.trace.messages.origin[message]), message, own=True))

    def chain(self, message: int, process: int) -> list[Way]:
        """The way of a message, of what released it, of what released that, to the root."""
        ways = [self.way(message, process)]
        seen = {message}
        while (cause := ways[-1].released_by) >= 0 and cause not in seen and len(ways) < CHAIN_MAX:
            seen.add(cause)
            ways.append(self.way(cause, process))
        return ways

    def events_during(self, way: Way) -> Iterator[int]:
        """The rows of `events` that may have kept a message on its way: of both ends, or of all."""
        events = self.trace.story.events
        if way.said_ns is None:
            return
        until = way.came_ns if way.came_ns is not None else way.delivered_ns
        ends = {-1, int(self.trace.messages.origin[way.message]), way.process, way.source}
        for row in range(len(events)):
            began, over = int(events.time_ns[row]), self.over(row)
            if (until is None or began <= until) and over >= way.said_ns and int(events.process[row]) in ends:
                yield row

    def id(self, message: int) -> MessageId:
        origin = int(self.trace.messages.origin[message])
        processes = self.trace.processes
        name = processes.name[origin] if origin >= 0 else "unknown"
        incarnation = int(processes.incarnation[origin]) if origin >= 0 else 0
        return MessageId(name, incarnation, int(self.trace.messages.number[message]))

    def label(self, message: int) -> str:
        return label_of_message(self.trace, message)

    @cached_property
    def _labels(self) -> dict[str, int]:
        processes = self.trace.processes
        return {processes.label(process): process for process in range(len(processes))}

    def _position(self, process: int) -> dict[int, int]:
        """By message, where a process delivered it first."""
        if process not in self._positions:
            log = self.trace.log(process).message.tolist()
            self._positions[process] = {
                message: len(log) - 1 - at for at, message in enumerate(reversed(log))
            }
        return self._positions[process]

    def _waits(self, process: int, message: int, own: bool) -> Iterator[Wait]:
        rows = self.trace.story.waits
        mine = (rows.process == process) & (rows.message == message) & ((rows.source == -1) == own)
        for row in np.flatnonzero(mine).tolist():
            until = int(rows.until_ns[row])
            yield self._wait(
                process,
                message,
                rows.kind[row],
                int(rows.peer[row]),
                int(rows.cause[row]),
                int(rows.time_ns[row]),
                None if until < 0 else until,
            )

    def _wait(
        self,
        process: int,
        message: int,
        kind: str,
        peer: int,
        cause: int,
        since: Nanoseconds,
        until: Nanoseconds | None,
    ) -> Wait:
        processes = self.trace.processes
        reason = Reason(
            kind,
            self.id(message),
            None if peer < 0 else processes.label(peer),
            None if cause < 0 else self.id(cause),
            processes.label(process),
        )
        return Wait(reason, cause, since, until)

    def _in_its_past(self, wait: Wait, way: Way) -> Wait:
        """What came before it and was delivered here last while it lay, or not at all."""
        positions, times = self._position(way.process), self.trace.log(way.process).time_ns
        late: tuple[float, int] | None = None
        for earlier in self._past(way.message, way.process):
            at = positions.get(earlier)
            time = float("inf") if at is None else float(times[at])
            if time >= wait.since_ns and (late is None or time > late[0]):
                late = time, earlier
        if late is None:
            return wait
        reason = wait.reason._replace(kind="missing cause", cause=self.id(late[1]))
        return Wait(reason, late[1], wait.since_ns, wait.until_ns, told=False)

    def _past(self, message: int, process: int) -> Iterator[int]:
        """The nearest messages before this one that were for the process, in any branch of its past."""
        messages = self.trace.messages
        base = set(self.trace.processes.base[process].tolist())
        upcoming, seen = list(messages.after[message].tolist()), set[int]()
        while upcoming and len(seen) < PAST_MAX:
            earlier = upcoming.pop()
            if earlier in seen or earlier in base:
                continue
            seen.add(earlier)
            if messages.to_all[earlier] or process in messages.audience[earlier]:
                if messages.origin[earlier] != process:
                    yield earlier
            else:
                upcoming += messages.after[earlier].tolist()

    def over(self, row: int) -> Nanoseconds:
        """When an event ended that has an end; else when it happened, and a crash never ends."""
        events = self.trace.story.events
        kind = events.kind[row]
        if kind in ("crash", "leave"):
            return int(np.iinfo(np.int64).max)
        ending = {"partition": "mend", "pause": "resume"}.get(kind)
        for later in range(row + 1, len(events)) if ending else ():
            same = events.process[later] == events.process[row] and events.text[later] == events.text[row]
            if events.kind[later] == ending and same:
                return int(events.time_ns[later])
        return int(np.iinfo(np.int64).max) if ending else int(events.time_ns[row])
