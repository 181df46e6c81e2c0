"""Trace segments of nodes, made into one trace of the project's own, for `aforesaid check` and `audit`.

Every node wrote what it said and delivered in its own order, by its own clock. The logs are merged so that
each message is said before it is delivered; no other order matters, and no clock is trusted for it. The
tracer that watches simulations then records who knew what before whom.

How a node ended, as far as its own log and the others' tell:
- `alive`: it closed in order, when nobody owed it anything or said anything more. In a changing group, where
  nobody keeps accounts, when by the clocks nothing was said for a second;
- `left`: it closed in order, but earlier than that;
- `evicted`: the others were told, or decided, that it would not come back; or it found itself isolated; or
  it left them before they had all that it had said;
- `crashed`: its log has no end, and may lack its last events (`complete` is false);
- `unknown`: others met it, or delivered what it said, but there is no log of it. So nothing is certain that
  depends on it.
The run is `drained` if every node that was there to the end had nothing under way when it closed.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from aforesaid.core import SECOND, MessageId, Misuse, Nanoseconds, Process
from aforesaid.protocols.catalog import algorithm
from aforesaid.storage import Place, sizes_below
from aforesaid.trace import Run, Sink, Tracer
from aforesaid.wire.segments import SUFFIX, Event, Origin, read_segment, torn_bytes

QUIET_BEFORE_END: Nanoseconds = SECOND
"""In a changing group: who closed after so long a silence of everyone was there to the end."""

Key: TypeAlias = tuple[Process, int]
"""One incarnation of a process."""

Progress: TypeAlias = Callable[[int], None]
"""Called now and then with the number of events done."""

Warn: TypeAlias = Callable[[str], None]
"""Called with what the reader of a trace should know: what is missing from it."""

PROGRESS_EVENTS = 10_000


@dataclass
class Log:
    """All segments of one incarnation, and what a first look at them told."""

    origin: Origin
    paths: list[Place]
    dense: int = 0
    """Which incarnation of its name it is, from 0: the trace counts them so."""
    index: int = -1
    """Its row in the trace."""
    met: dict[Process, int] = field(default_factory=dict)
    heard: set[Key] = field(default_factory=set)
    """Whose messages it delivered."""
    gone: dict[Process, tuple[str, int]] = field(default_factory=dict)
    """Whom it lost, how, and how many messages it owed it; -1 if it said more afterwards."""
    said: int = 0
    last_said_ns: Nanoseconds = 0
    ended: tuple[Nanoseconds, str, bool] | None = None

    @property
    def took_part(self) -> bool:
        """False if it was turned away, or could not even listen, before it had to do with anyone."""
        began = self.said or self.heard or self.met
        return bool(began) or self.ended is None or self.ended[1] != "isolated"

    def events(self) -> Iterator[Event]:
        for path in self.paths:
            yield from read_segment(path)[1]

    def look(self) -> None:
        for event in self.events():
            match event:
                case ("s", number, time, _):
                    self.said, self.last_said_ns = number, time
                    self.gone = {peer: (how, -1) for peer, (how, _) in self.gone.items()}
                case ("d", origin, incarnation, _, _):
                    self.heard.add((origin, incarnation))
                case ("p", peer, incarnation):
                    self.met[peer] = incarnation
                case ("x", peer, _, how, owed):
                    self.gone[peer] = (how, owed)
                case ("e", time, how, drained):
                    self.ended = (time, how, drained)


def ingest(
    path: Place, sink: Sink, run: str, progress: Progress | None = None, warn: Warn | None = None
) -> Run:
    """Make one trace of all segments in a directory and below it; `warn` is told what is missing."""
    found = _logs(path, warn or _ignore)
    for log in found.values():
        log.look()
    logs = _numbered(_that_took_part(found) | _absent(found, warn or _ignore))
    tracer = Tracer(sink)
    for log in logs.values():
        log.index = tracer.began(log.origin.name, log.dense, log.origin.began_ns, log.origin.joined)
    _Merge(logs, tracer, progress).run()
    fates = {key: _fate(key, logs) for key in logs}
    for key, fate in fates.items():
        _end(tracer, logs[key], fate)
    first = next(iter(logs.values())).origin
    crashed = any(fate != "alive" for fate in fates.values())
    whole = all(log.ended and log.ended[2] for key, log in logs.items() if fates[key] == "alive")
    return tracer.close(
        Run(
            run=run,
            algorithm=first.algorithm,
            scenario="{}",
            code_version=first.code_version,
            ended="drained" if whole else "cut",
            clock="local",
            promises=_promised(first, crashed),
        )
    )


def _segments(there: Place) -> list[Place]:
    """The segments in a directory and below it, or the one file."""
    if there.is_file():
        return [there]
    found = (there / path for path in sizes_below(there) if path.endswith(SUFFIX))
    return sorted(found, key=lambda segment: (segment.name, str(segment)))


def _linked(origin: Origin) -> bool:
    return algorithm(origin.algorithm).linked if origin.linked is None else origin.linked


def _promised(origin: Origin, crashes: bool) -> tuple[str, ...]:
    if origin.linked is None:
        return algorithm(origin.algorithm).promised(crashes)
    less = origin.promises_if_crashed
    return less if crashes and less is not None else origin.promises


def _logs(path: Place, warn: Warn) -> dict[Key, Log]:
    """Of each incarnation, its segments in order."""
    found: dict[Key, Log] = {}
    torn: set[Place] = set()
    for segment in _segments(path):
        origin, _ = read_segment(segment)
        if unread := torn_bytes(segment):
            torn.add(segment)
            warn(f"{segment}: its last {unread} bytes are torn or damaged, and left out")
        if origin is None:
            continue  # Torn in its first record: nothing was said in it.
        log = found.setdefault((origin.name, origin.incarnation), Log(origin, []))
        if origin.segment == len(log.paths):
            raise Misuse(f"{segment} is a copy of {log.paths[-1]}; ingest one of them")
        if origin.segment != len(log.paths) + 1:
            raise Misuse(f"{segment} is segment {origin.segment}, but {len(log.paths) + 1} is missing")
        if torn.intersection(log.paths):
            # No kill does that: a segment is begun when the last one is whole.
            raise Misuse(f"{log.paths[-1]} is damaged, and more follows it: events are missing")
        log.paths.append(segment)
        if (origin.algorithm, origin.cluster) != (log.origin.algorithm, log.origin.cluster):
            raise Misuse(f"{segment} is of another cluster or algorithm than the segments before it")
    if not found:
        raise Misuse(f"no trace segments in {path}; nodes write them to DIRECTORY/segments")
    clusters = {(log.origin.cluster, log.origin.algorithm) for log in found.values()}
    if len(clusters) > 1:
        told = ", ".join(f"{cluster} ({name})" for cluster, name in sorted(clusters))
        raise Misuse(f"{path} has segments of several clusters: {told}; ingest them one by one")
    return found


def _that_took_part(found: dict[Key, Log]) -> dict[Key, Log]:
    """Starts that came to nothing are nobody's eviction; if there is nothing else, they are what happened."""
    known = _known(found)
    return {key: log for key, log in found.items() if log.took_part or key in known} or found


def _known(found: dict[Key, Log]) -> set[Key]:
    """Whom anyone met, or whose messages anyone delivered."""
    return {key for log in found.values() for key in (*log.met.items(), *log.heard)}


def _absent(found: dict[Key, Log], warn: Warn) -> dict[Key, Log]:
    """Empty logs of those that others knew, where their own are not there."""
    first = next(iter(found.values())).origin
    linked = _linked(first)
    members = {name for log in found.values() for name in log.origin.group}
    absent = {}
    for name, incarnation in sorted(_known(found) - found.keys()):
        # In a fixed group, whoever is not of it was made up: the judge shall see that.
        if linked or name in members:
            warn(f"no segments of {name} ({incarnation}), whom others met: collect them, or much is unknown")
            facts = {"name": name, "incarnation": incarnation, "joined": linked, "segment": 0}
            absent[name, incarnation] = Log(msgspec.structs.replace(first, **facts), [])
    return absent


def _numbered(logs: dict[Key, Log]) -> dict[Key, Log]:
    """In order, with their incarnations counted."""
    counts: dict[Process, int] = defaultdict(int)
    for name, incarnation in sorted(logs):
        logs[name, incarnation].dense = counts[name]
        counts[name] += 1
    return {key: logs[key] for key in sorted(logs)}


def _ignore(text: str) -> None: ...


def _fate(key: Key, logs: dict[Key, Log]) -> str:
    name, incarnation = key
    log = logs[key]
    others = [other for other in logs.values() if other is not log]
    gone = [other.gone[name] for other in others if name in other.gone and _knew(other, key)]
    hows = {how for how, _ in gone}
    # Who was told that someone is gone was not told how.
    evicted = "evicted" in hows or ("told" in hows and "left" not in hows)
    if log.ended is None:
        return "evicted" if evicted else "crashed" if log.paths else "unknown"
    time, how, drained = log.ended
    if how == "isolated" or evicted or (gone and not drained):
        return "evicted"
    if _linked(log.origin):
        last = max(other.last_said_ns for other in logs.values())
        return "alive" if drained and last + QUIET_BEFORE_END < time else "left"
    known = any(other.met.get(name) == incarnation for other in others) or len(log.origin.group) == 1
    return "alive" if known and all(owed == 0 for _, owed in gone) else "left"


def _knew(log: Log, key: Key) -> bool:
    """Whether what a log says of a name is about this incarnation."""
    return log.met.get(key[0], key[1]) == key[1]


def _end(tracer: Tracer, log: Log, fate: str) -> None:
    if log.ended is None:
        tracer.ended(log.index, fate, -1, complete=False)
    elif fate != "alive":
        tracer.ended(log.index, fate, log.ended[0])


class _Merge:
    """Puts the events of all logs in one order in which causes come first."""

    def __init__(self, logs: dict[Key, Log], tracer: Tracer, progress: Progress | None) -> None:
        self._logs = logs
        self._tracer = tracer
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
                self._say(key, log, number, time, audience)
            case ("d" | "k", origin, incarnation, number, time):
                other = (origin, incarnation)
                if not forced and other in self._said and self._said[other] < number:
                    self._wait(key, (other, number), event)
                    return False
                known = self._logs.get(other)
                message_id = MessageId(origin, -1 if known is None else known.dense, number)
                record = tracer.delivered if event[0] == "d" else tracer.stable
                record(log.index, message_id, time)
            case ("a", peer, incarnation):
                self._admit(log, peer, incarnation)
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
        hopeless = [need for need in self._waiting if need[0] in self._read]
        need = min(hopeless or self._waiting, key=lambda need: self._stands_at(self._waiting[need][0]))
        key = self._waiting[need].pop(0)
        if not self._waiting[need]:
            del self._waiting[need]
        self._admitted.add(key)
        event = self._held.pop(key, None)
        if event is not None:
            self._take(key, event, forced=True)
        self._ready.append(key)

    def _stands_at(self, key: Key) -> Nanoseconds:
        event = self._held.get(key)
        return self._logs[key].origin.began_ns if event is None else int(event[-1])
