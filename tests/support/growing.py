"""Logs of nodes that never ran, each from one seed: good ones, and ones with something wrong in them.

An abstract causal multicast writes them: who says something, who delivers what it may, who comes later, who
leaves, is killed or evicted. With some chance a node delivers what it should not: early, twice, what nobody
said, what is not for it; or what is in a log is left out of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from aforesaid.core import SECOND
from aforesaid.live.spans import Span, read_span
from aforesaid.wire.segments import SUFFIX, Event, Origin, record_of, whole_records

PROMISES = ("no_duplicate", "no_creation", "validity", "agreement", "fifo", "causal")
Name = tuple[int, int]
"""A message: who said it, and its number."""


@dataclass
class Growing:
    """One node of the story."""

    name: str
    origin: Origin
    events: list[Event] = field(default_factory=list)
    delivered: set[Name] = field(default_factory=set)
    past: set[Name] = field(default_factory=set)
    exempt: set[Name] = field(default_factory=set)
    said: int = 0
    present: bool = True


class Story:
    """Who said and delivered what, and in which order."""

    def __init__(self, seed: int, faults: bool = True, steps: int | None = None) -> None:
        self.random = random = Random(seed)
        self.multicast, self.linked = random.random() < 0.4, random.random() < 0.3
        self.calls = not self.linked and random.random() < 0.3
        self.fault = random.choice((0.0, 0.02, 0.1)) if faults else 0.0
        self.past: dict[Name, set[Name]] = {}
        self.audience: dict[Name, set[int] | None] = {}
        self.now = SECOND
        count = random.randint(2, 5)
        group = tuple(f"p{place}" for place in range(count))
        self.nodes = [self._node(name, group, False) for name in group]
        self.seen: list[set[Name]] = []
        for node in self.nodes:
            self._meets(node, [other for other in self.nodes if other is not node])
        for _ in range(steps or random.randint(5, 60)):
            self._step()
        if random.random() < 0.8:
            self._drain()
        self._end()

    def _node(self, name: str, group: tuple[str, ...], joined: bool) -> Growing:
        promises = (*PROMISES, "stability") if self.calls else PROMISES
        origin = Origin(
            name, 7, "made-up", "story", group, joined, self.now, 1, "0", 1, self.linked, promises
        )
        return Growing(name, origin)

    def _meets(self, node: Growing, others: Sequence[Growing]) -> None:
        node.events += [("p", other.name, 7) for other in others]

    def _present(self) -> list[int]:
        return [place for place, node in enumerate(self.nodes) if node.present]

    def _step(self) -> None:
        random = self.random
        self.now += random.choice((0, 1, 1000))
        place = random.choice(self._present())
        chance = random.random()
        if chance < 0.3:
            self._say(place)
        elif chance < 0.32 and len(self._present()) > 2:
            self._lose(place)
        elif chance < 0.36 and self.linked and len(self.nodes) < 7:
            self._join(place)
        elif random.random() < self.fault:
            self._fault(place)
        else:
            self._deliver_some(place)

    def _say(self, place: int) -> None:
        node, random = self.nodes[place], self.random
        node.said += 1
        name = (place, node.said)
        audience = None
        if self.multicast and random.random() < 0.8:
            audience = set(random.sample(range(len(self.nodes)), random.randint(1, len(self.nodes) - 1)))
        self.past[name], self.audience[name] = set(node.past), audience
        node.past.add(name)
        names = None if audience is None else tuple(self.nodes[each].name for each in sorted(audience))
        node.events.append(("s", node.said, self.now, names))
        if self._owed(place, name) and random.random() < 0.9 and self._ready(place, name):
            self._deliver(place, name)

    def _owed(self, place: int, name: Name) -> bool:
        audience = self.audience[name]
        return name not in self.nodes[place].exempt and (audience is None or place in audience)

    def _ready(self, place: int, name: Name) -> bool:
        node = self.nodes[place]
        if name in node.delivered or not self._owed(place, name):
            return False
        return all(each in node.delivered for each in self.past[name] if self._owed(place, each))

    def _deliver_some(self, place: int) -> None:
        ready = [name for name in self.past if self._ready(place, name)]
        if ready:
            self._deliver(place, self.random.choice(ready))

    def _deliver(self, place: int, name: Name) -> None:
        node = self.nodes[place]
        node.events.append(("d", self.nodes[name[0]].name, 7, name[1], self.now))
        node.delivered.add(name)
        node.past |= self.past[name] | {name}
        if self.calls:
            self._call(name)

    def _call(self, name: Name) -> None:
        owed = [place for place in self._present() if self._owed(place, name)]
        origin = self.nodes[name[0]]
        if origin.present and all(name in self.nodes[place].delivered for place in owed):
            origin.events.append(("k", origin.name, 7, name[1], self.now))

    def _fault(self, place: int) -> None:
        """Something that no causal multicast does."""
        node, random = self.nodes[place], self.random
        known = list(self.past)
        fault = random.choice(("early", "twice", "created", "skip"))
        if fault == "created":
            other = random.choice([each for each in self.nodes if each is not node])
            node.events.append(("d", other.name, 7, 10_000 + random.randint(0, 9), self.now))
        elif fault == "twice" and node.delivered:
            name = random.choice(sorted(node.delivered))
            node.events.append(("d", self.nodes[name[0]].name, 7, name[1], self.now))
        elif fault == "early" and (early := [name for name in known if name not in node.delivered]):
            self._deliver(place, random.choice(early))
        elif fault == "skip" and (ready := [name for name in known if self._ready(place, name)]):
            node.delivered.add(random.choice(ready))

    def _join(self, contact: int) -> None:
        newcomer = self._node(f"p{len(self.nodes)}", (f"p{len(self.nodes)}",), True)
        host = self.nodes[contact]
        host.events.append(("a", newcomer.name, 7))
        newcomer.exempt = host.past | host.exempt
        self._meets(newcomer, [host])
        self._meets(host, [newcomer])
        self.nodes.append(newcomer)

    def _lose(self, place: int) -> None:
        """Somebody leaves, is killed, or is killed and evicted."""
        node, how = self.nodes[place], self.random.choice(("left", "killed", "evicted"))
        node.present = False
        if how == "left":
            node.events.append(("e", self.now, "closed", True))
        if how != "killed":
            for other in self._present():
                self.nodes[other].events.append(("x", node.name, self.now, how, 1))

    def _drain(self) -> None:
        for _ in range(2):
            for place in self._present():
                while any(self._ready(place, name) for name in self.past):
                    self._deliver_some(place)

    def _end(self) -> None:
        for place in self._present():
            self.nodes[place].events.append(
                ("e", self.now + 2 * SECOND, "closed", self.random.random() < 0.9)
            )

    def write(self, directory: Path, bytes_max: int = 400) -> dict[str, list[bytes]]:
        """The logs as segments on disk; and their bytes by log."""
        directory.mkdir(parents=True, exist_ok=True)
        written: dict[str, list[bytes]] = {}
        for node in self.nodes:
            segments = [record_of(node.origin)]
            events = list(node.events)
            while events:
                size = self.random.randint(1, 5)
                if len(segments[-1]) > bytes_max:
                    origin = {"segment": len(segments) + 1}
                    segments.append(record_of(_replaced(node.origin, origin)))
                segments[-1] += record_of(events[:size])
                events = events[size:]
            log = f"{node.name}-7"
            written[log] = segments
            for number, data in enumerate(segments, 1):
                (directory / f"{log}-{number:06d}{SUFFIX}").write_bytes(data)
        return written


def _replaced(origin: Origin, facts: dict[str, int]) -> Origin:
    import msgspec

    return msgspec.structs.replace(origin, **facts)


def batches(written: dict[str, list[bytes]], random: Random) -> Iterator[list[Span]]:
    """The logs as they may have been seen to grow: each a few records at a time, some later than others."""
    records = {
        log: [
            (number, end - length, end)
            for number, data in enumerate(segments, 1)
            for end, length in _records(data)
        ]
        for log, segments in written.items()
    }
    while any(records.values()):
        spans = []
        for log, left in records.items():
            take = random.choice((0, 0, 1, 3, 10))
            for segment in dict.fromkeys(number for number, _, _ in left[:take]):
                mine = [each for each in left[:take] if each[0] == segment]
                start, stop = mine[0][1], mine[-1][2]
                spans.append(read_span(written[log][segment - 1][start:stop], log, segment, start))
            del left[:take]
        yield spans


def _records(data: bytes) -> Iterator[tuple[int, int]]:
    last = 0
    for end, _ in whole_records(data):
        yield end, end - last
        last = end
