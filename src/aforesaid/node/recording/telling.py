"""The story of real nodes: receipts, waits and events of their segments, as a trace has them (`trace.story`).

What the nodes wrote names processes; the trace counts them. A name means the incarnation that the writer had
met last, or the only one there is. Nodes that wrote no receipts have events all the same: who began, stopped,
was evicted, or has a log that ends in the middle.
"""

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from aforesaid.core import MICROSECOND, MessageId, Nanoseconds, Process
from aforesaid.live.logs import Key, Log
from aforesaid.node.recording.receipts import Named
from aforesaid.trace import Tracer
from aforesaid.trace.story import SINCE_SAID
from aforesaid.wire.segments import WAIT_KINDS, Event


class Telling:
    """Takes the events of each log in order, after the tracer has taken those that are its own."""

    def __init__(self, logs: Mapping[Key, Log], tracer: Tracer) -> None:
        self._logs, self._tracer = logs, tracer
        self._chronicle = tracer.chronicle
        self._meant: dict[tuple[int, Process], Log | None] = {}
        """By a log and the name that is told there, whom it means."""
        self._last: dict[int, tuple[int, int]] = {}
        """By process, its last delivery and who said that, while nothing is told of it."""
        self._times: dict[int, Nanoseconds] = {}
        """When each log was written to last."""
        self._said: dict[int, array[int]] = defaultdict(lambda: array("q"))
        """By process, when it said each of its messages; kept where there are receipts."""

    def began(self) -> None:
        for log in self._logs.values():
            if log.segments:
                kind = "join" if log.origin.joined else "start"
                self._chronicle.event(log.origin.began_ns, kind, log.index)

    def delivered(self, log: Log, position: int, origin: int, time: Nanoseconds) -> None:
        self._times[log.index] = time
        if log.origin.receipts and origin != log.index:
            self._last[log.index] = position, origin

    def take(self, log: Log, event: Event) -> None:
        """Any event; what came before it, if it was a delivery, is told by now."""
        if event[0] == "r":
            self._receipt(log, *event[1:])
            return
        self.settle(log)
        match event:
            case ("s", _, time, _):
                self._times[log.index] = time
                if log.origin.receipts:
                    self._said[log.index].append(time)
            case ("h", number, count, wait):
                self._held(log, number, count, wait)
            case ("l", origin, incarnation, number, source, came, waits):
                self._lies(log, (origin, incarnation), number, source, came, waits)
            case ("v", str(kind), peer, time):
                self._times[log.index] = time
                self._chronicle.event(time, kind, log.index, self._row(log, peer))
            case ("x", peer, time, how, _):
                self._gone(log, peer, time, how)

    def settle(self, log: Log) -> None:
        """Nothing more is told of the last delivery: it came from its author and did not wait."""
        if log.index in self._last:
            position, origin = self._last.pop(log.index)
            self._chronicle.receipt(log.index, position, origin)

    def ended(self) -> None:
        for log in self._logs.values():
            self.settle(log)
            if log.ended is not None:
                self._chronicle.event(log.ended[0], "stop", log.index, text=log.ended[1])
            elif log.segments:
                last = self._times.get(log.index, log.origin.began_ns)
                self._chronicle.event(last, "crash", log.index)

    # ---------------------------------------------------------------------------------------- the parts

    def _receipt(self, log: Log, source: Named, waits: Sequence[Any]) -> None:
        if log.index not in self._last:
            return  # A process's own message, or no log of ours.
        position, origin = self._last.pop(log.index)
        row = origin if source is None else self._row(log, source)
        if not waits:
            self._chronicle.receipt(log.index, position, row)
        for wait in waits:
            kind, peer, cause = self._reason(log, wait)
            self._chronicle.waited(log.index, position, row, kind, peer, cause, wait[4] * MICROSECOND)

    def _held(self, log: Log, number: int, count: int, wait: Any) -> None:
        kind, peer, cause = self._reason(log, wait)
        for each in range(number, number + count):
            since = self._said[log.index][each - 1]
            until = -1 if wait[4] < 0 else since + wait[4] * MICROSECOND
            message = self._tracer.known(MessageId(log.origin.name, log.dense, each))
            if message >= 0:
                self._chronicle.wait(log.index, message, -1, kind, peer, cause, SINCE_SAID, until)

    def _lies(self, log: Log, author: Key, number: int, source: Named, came: Nanoseconds, waits: Any) -> None:
        origin = self._logs.get(author)
        message = -1 if origin is None else self._tracer.known(MessageId(author[0], origin.dense, number))
        if origin is None or message < 0:
            return
        row = origin.index if source is None else self._row(log, source)
        for place, wait in enumerate(waits):
            over = came + wait[4] * MICROSECOND
            until = -1 if place + 1 == len(waits) else over
            self._chronicle.wait(log.index, message, row, *self._reason(log, wait), came, until)
            came = over

    def _gone(self, log: Log, peer: Process, time: Nanoseconds, how: str) -> None:
        kind = "leave" if how == "left" else "evict"
        text = {"told": "as others told", "left": ""}.get(how, "")
        self._times[log.index] = time
        self._chronicle.event(time, kind, self._row(log, peer), log.index, text)

    def _reason(self, log: Log, wait: Sequence[Any]) -> tuple[str, int, int]:
        """A wait's kind, peer and cause as the trace has them; of a later kind there is none."""
        number, peer, author, cause, _ = wait
        kind = WAIT_KINDS[number] if 0 <= number < len(WAIT_KINDS) else ""
        meant = self._whom(log, author)
        message = (
            -1 if meant is None else self._tracer.known(MessageId(meant.origin.name, meant.dense, cause))
        )
        return kind, self._row(log, peer), message

    def _row(self, log: Log, name: Named) -> int:
        meant = self._whom(log, name)
        return -1 if meant is None else meant.index

    def _whom(self, log: Log, named: Named) -> Log | None:
        group = log.origin.group
        if isinstance(named, int):
            named = group[named] if named < len(group) else None
        if named is None:
            return None
        key, name = (log.index, named), named
        if key not in self._meant:
            mine = log.origin.incarnation if name == log.origin.name else log.met.get(name)
            found = (other for other in self._logs if other[0] == name and mine in (None, other[1]))
            first = next(found, None)
            self._meant[key] = None if first is None else self._logs[first]
        return self._meant[key]
