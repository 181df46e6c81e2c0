"""Trace segments of nodes, made into one trace of the project's own, for `aforesaid check` and `audit`.

Every node wrote what it said and delivered in its own order, by its own clock. The logs are merged so that
each message is said before it is delivered; no other order matters, and no clock is trusted for it. The
tracer that watches simulations then records who knew what before whom.

How a node ended is told by its own log and the others' (`aforesaid.live.logs`).
The run is `drained` if every node that was there to the end had nothing under way when it closed.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aforesaid.core import MessageId, Misuse, Nanoseconds, Process
from aforesaid.live.logs import (
    Key,
    Log,
    Warn,
    absent,
    ends_drained,
    fate,
    numbered,
    promised,
    that_took_part,
)
from aforesaid.node.recording.telling import Telling
from aforesaid.storage import Place, sizes_below
from aforesaid.trace import Run, Sink, Tracer
from aforesaid.trace.model import took
from aforesaid.wire.segments import SUFFIX, Event, read_segment, torn_bytes

Progress: TypeAlias = Callable[[int], None]
"""Called now and then with the number of events done."""

PROGRESS_EVENTS = 10_000


@dataclass
class LogOnDisk(Log):
    """All segments of one incarnation."""

    paths: list[Place] = field(default_factory=list)
    took: list[tuple[str, list[tuple[int, int]], Nanoseconds, Nanoseconds]] = field(default_factory=list)
    """By its own clock: what, how often it took how long, how long together, and when that was told."""

    def events(self) -> Iterator[Event]:
        for path in self.paths:
            yield from read_segment(path)[1]

    def look(self) -> None:
        for event in self.events():
            self.see(event)
            if event[0] == "t":
                self.took.append(event[1:])


def ingest(
    path: Place, sink: Sink, run: str, progress: Progress | None = None, warn: Warn | None = None
) -> Run:
    """Make one trace of all segments in a directory and below it; `warn` is told what is missing."""
    found = _logs(path, warn or _ignore)
    for log in found.values():
        log.look()
    logs: dict[Key, Log] = numbered({**that_took_part(found), **absent(found, warn or _ignore)})
    tracer = Tracer(sink)
    for each in logs.values():
        each.index = tracer.began(each.origin.name, each.dense, each.origin.began_ns, each.origin.joined)
    telling = Telling(logs, tracer)
    telling.began()
    _Merge(logs, tracer, telling, progress).run()
    telling.ended()
    for each in logs.values():
        if isinstance(each, LogOnDisk):
            _tell_latency(each, tracer)
    fates = {key: fate(key, logs) for key in logs}
    for key, how in fates.items():
        _end(tracer, logs[key], how)
    first = next(iter(logs.values())).origin
    crashed = any(how != "alive" for how in fates.values())
    return tracer.close(
        Run(
            run=run,
            algorithm=first.algorithm,
            scenario="{}",
            code_version=first.code_version,
            ended="drained" if ends_drained(logs, fates) else "cut",
            clock="local",
            promises=promised(first, crashed),
        )
    )


def _tell_latency(log: LogOnDisk, tracer: Tracer) -> None:
    for what, counts, together, time in log.took:
        for power, count in counts:
            tracer.sample(time, took(what, power), count, log.index)
        tracer.sample(time, took(what), together, log.index)


def _segments(there: Place) -> list[Place]:
    """The segments in a directory and below it, or the one file."""
    if there.is_file():
        return [there]
    found = (there / path for path in sizes_below(there) if path.endswith(SUFFIX))
    return sorted(found, key=lambda segment: (segment.name, str(segment)))


def _logs(path: Place, warn: Warn) -> dict[Key, LogOnDisk]:
    """Of each incarnation, its segments in order."""
    found: dict[Key, LogOnDisk] = {}
    torn: set[Place] = set()
    for segment in _segments(path):
        origin, _ = read_segment(segment)
        if unread := torn_bytes(segment):
            torn.add(segment)
            warn(f"{segment}: its last {unread} bytes are torn or damaged, and left out")
        if origin is None:
            continue  # Torn in its first record: nothing was said in it.
        log = found.setdefault((origin.name, origin.incarnation), LogOnDisk(origin))
        if origin.segment == len(log.paths):
            raise Misuse(f"{segment} is a copy of {log.paths[-1]}; ingest one of them")
        if origin.segment != len(log.paths) + 1:
            raise Misuse(f"{segment} is segment {origin.segment}, but {len(log.paths) + 1} is missing")
        if torn.intersection(log.paths):
            # No kill does that: a segment is begun when the last one is whole.
            raise Misuse(f"{log.paths[-1]} is damaged, and more follows it: events are missing")
        log.paths.append(segment)
        log.segments += 1
        if (origin.algorithm, origin.cluster) != (log.origin.algorithm, log.origin.cluster):
            raise Misuse(f"{segment} is of another cluster or algorithm than the segments before it")
    if not found:
        raise Misuse(f"no trace segments in {path}; nodes write them to DIRECTORY/segments")
    clusters = {(log.origin.cluster, log.origin.algorithm) for log in found.values()}
    if len(clusters) > 1:
        told = ", ".join(f"{cluster} ({name})" for cluster, name in sorted(clusters))
        raise Misuse(f"{path} has segments of several clusters: {told}; ingest them one by one")
    return found


def _ignore(text: str) -> None: ...


def _end(tracer: Tracer, log: Log, how: str) -> None:
    if log.ended is None:
        tracer.ended(log.index, how, -1, complete=False)
    elif how != "alive":
        tracer.ended(log.index, how, log.ended[0])


class _Merge:
    """Puts the events of all logs in one order in which causes come first."""

    def __init__(
        self, logs: dict[Key, Log], tracer: Tracer, telling: Telling, progress: Progress | None
    ) -> None:
        self._logs = logs
        self._tracer = tracer
        self._telling = telling
        self._progress = progress
        self._events = {key: log.events() for key, log in logs.items()}
        self._said: dict[Key, int] = dict.fromkeys(logs, 0)
        self._admitted: set[Key] = {key for key, log in logs.items() if not log.origin.joined}
        self._waiting: dict[Any, list[Key]] = defaultdict(list)
        """Logs that wait for a message to be said, or for their process to be admitted, by what they need."""
        self._held: dict[Key, Event] = {}
        """The event at which such a log stands."""
        self._audiences: dict[tuple[Any, ...], list[int]] = {}
        self._read: set[Key] = set()
        """Logs that were read to their end."""
        self._ready = deque(logs)
        self._done = 0

    def run(self) -> None:
        while self._ready or self._waiting:
            if not self._ready:
                self._give_way()
            self._advance(self._ready.popleft())

    def _advance(self, key: Key) -> None:
        """Go on with a log until it ends or has to wait."""
        if key not in self._admitted:
            self._wait(key, ("admission", key), None)
            return
        held = self._held.pop(key, None)
        if held is not None and not self._take(key, held):
            return
        for event in self._events[key]:
            if not self._take(key, event):
                return
        self._read.add(key)

    def _take(self, key: Key, event: Event, forced: bool = False) -> bool:
        log, tracer = self._logs[key], self._tracer
        match event:
            case ("s", number, time, audience):
                self._telling.take(log, event)
                self._say(key, log, number, time, audience)
            case ("d" | "k", origin, incarnation, number, time):
                other = (origin, incarnation)
                if not forced and other in self._said and self._said[other] < number:
                    self._wait(key, (other, number), event)
                    return False
                known = self._logs.get(other)
                message_id = MessageId(origin, -1 if known is None else known.dense, number)
                self._telling.take(log, event)
                if event[0] == "d":
                    position = tracer.delivered(log.index, message_id, time)
                    self._telling.delivered(log, position, -1 if known is None else known.index, time)
                else:
                    tracer.stable(log.index, message_id, time)
            case ("a", peer, incarnation):
                self._admit(log, peer, incarnation)
            case _:
                self._telling.take(log, event)
        self._done += 1
        if self._progress is not None and self._done % PROGRESS_EVENTS == 0:
            self._progress(self._done)
        return True

    def _say(self, key: Key, log: Log, number: int, time: Nanoseconds, audience: Any) -> None:
        if number != self._said[key] + 1:
            raise Misuse(f"{log.origin.name} said {number} after {self._said[key]}: events are missing")
        targets = None if audience is None else self._audience(log, audience)
        self._tracer.sent(log.index, MessageId(log.origin.name, log.dense, number), time, targets)
        self._said[key] = number
        self._ready.extend(self._waiting.pop((key, number), ()))

    def _audience(self, log: Log, names: list[Process]) -> list[int]:
        """Rows of the incarnations meant: those that the sender met, or the only ones there are."""
        audience = (log.index, *names)
        if audience in self._audiences:
            return self._audiences[audience]
        rows = self._audiences[audience] = []
        for name in dict.fromkeys(names):
            mine = log.origin.incarnation if name == log.origin.name else log.met.get(name)
            meant = [other for key, other in self._logs.items() if key[0] == name and mine in (None, key[1])]
            rows += [other.index for other in meant[:1]]
        return rows

    def _admit(self, contact: Log, peer: Process, incarnation: int | None) -> None:
        meant = [key for key in self._logs if key[0] == peer and incarnation in (None, key[1])]
        for key in meant[-1:]:
            self._tracer.admitted(contact.index, self._logs[key].index)
            self._admitted.add(key)
            self._ready.extend(self._waiting.pop(("admission", key), ()))

    def _wait(self, key: Key, need: Any, event: Event | None) -> None:
        self._waiting[need].append(key)
        if event is not None:
            self._held[key] = event

    def _give_way(self) -> None:
        """What all that are left wait for is in no log: the one that stands earliest goes on without it.

        Who waits for somebody that waits itself is not held up by what is lost, whatever their clocks say.
        """
        hopeless = [need for need in self._waiting if need[0] in self._read or self._nobody_says(need)]
        need = min(hopeless or self._waiting, key=lambda need: self._stands_at(self._waiting[need][0]))
        key = self._waiting[need].pop(0)
        if not self._waiting[need]:
            del self._waiting[need]
        self._admitted.add(key)
        event = self._held.pop(key, None)
        if event is not None:
            self._take(key, event, forced=True)
        self._ready.append(key)

    def _nobody_says(self, need: Any) -> bool:
        """Whether it is a message that is nowhere in its origin's log, however far that was read."""
        origin = self._logs.get(need[0])
        return origin is not None and need[1] > origin.said

    def _stands_at(self, key: Key) -> Nanoseconds:
        event = self._held.get(key)
        return self._logs[key].origin.began_ns if event is None else int(event[-1])
