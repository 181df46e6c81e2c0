"""What the log of a node tells of its writer, and how each node ended, as far as all logs tell.

- `alive`: it closed in order, when nobody owed it anything or said anything more. In a changing group, where
  nobody keeps accounts, when for a second nobody had said or delivered anything. Clocks differ: when others
  did is told by its own, as far as what it delivered of theirs tells how far these are apart at most;
- `left`: it closed in order, but earlier than that;
- `evicted`: the others were told, or decided, that it would not come back; or it found itself isolated; or
  it left them before they had all that it had said;
- `crashed`: its log has no end, and may lack its last events (`complete` is false);
- `unknown`: others met it, or delivered what it said, but there is no log of it. So nothing is certain that
  depends on it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import msgspec

from aforesaid.core import SECOND, Nanoseconds, Process
from aforesaid.protocols.catalog import algorithm
from aforesaid.wire.segments import Event, Origin

QUIET_BEFORE_END: Nanoseconds = SECOND
"""In a changing group: who closed after so long a silence of everyone was there to the end."""

SAID_KEPT = 8
"""Of so many messages a log remembers when they were said: the longer ago, the farther they are apart."""

Key: TypeAlias = tuple[Process, int]
"""One incarnation of a process."""

Warn: TypeAlias = Callable[[str], None]
"""Called with what the reader of a trace should know: what is missing from it."""


@dataclass
class Log:
    """The log of one incarnation, and what was seen in it."""

    origin: Origin
    segments: int = 0
    """How many segments there are of it; 0: others spoke of it, and that is all."""
    dense: int = 0
    """Which incarnation of its name it is, from 0: the trace counts them so."""
    index: int = -1
    """Its row in the trace."""
    met: dict[Process, int] = field(default_factory=dict)
    heard: dict[Key, tuple[int, Nanoseconds]] = field(default_factory=dict)
    """Whose messages it delivered: the last of each, and when."""
    gone: dict[Process, tuple[str, int]] = field(default_factory=dict)
    """Whom it lost, how, and how many messages it owed it; -1 if it said more afterwards."""
    said: int = 0
    last_ns: Nanoseconds = 0
    """When it said or delivered something last."""
    said_ns: list[tuple[int, Nanoseconds]] = field(default_factory=list)
    """When it said some of its messages, in a changing group."""
    ended: tuple[Nanoseconds, str, bool] | None = None

    @property
    def took_part(self) -> bool:
        """False if it was turned away, or could not even listen, before it had to do with anyone."""
        began = self.said or self.heard or self.met
        return bool(began) or self.ended is None or self.ended[1] != "isolated"

    def events(self) -> Iterator[Event]:
        """Nothing, unless somebody knows where they are."""
        return iter(())

    def see(self, event: Event) -> None:
        match event:
            case ("s", number, time, _):
                self.saw_said(number, time)
            case ("d", origin, incarnation, number, time):
                self.saw_heard((origin, incarnation), number, time)
            case ("p", peer, incarnation):
                self.met[peer] = incarnation
            case ("x", peer, _, how, owed):
                self.gone[peer] = (how, owed)
            case ("e", time, how, drained):
                self.ended = (time, how, drained)

    def saw_said(self, number: int, time: Nanoseconds) -> None:
        self.said = number
        if is_linked(self.origin):
            self.said_ns.append((number, time))
            if len(self.said_ns) > SAID_KEPT:
                del self.said_ns[1 : SAID_KEPT // 2 : 2]
        self.last_ns = max(self.last_ns, time)
        self.gone = {peer: (how, -1) for peer, (how, _) in self.gone.items()}

    def saw_heard(self, author: Key, number: int, time: Nanoseconds) -> None:
        self.heard[author] = number, time
        self.last_ns = max(self.last_ns, time)

    def ahead_of(self, key: Key, other: "Log") -> Nanoseconds:
        """How far this clock is ahead of another's at most: what is said there comes here later; or 0."""
        number, time = self.heard.get(key, (0, 0))
        # That one, or the last that is remembered of those that were said before it.
        place = bisect_left(other.said_ns, (number + 1, 0)) - 1
        return time - other.said_ns[place][1] if number and place >= 0 else 0


_Some = TypeVar("_Some", bound=Log)


def is_linked(origin: Origin) -> bool:
    return algorithm(origin.algorithm).linked if origin.linked is None else origin.linked


def promised(origin: Origin, crashes: bool) -> tuple[str, ...]:
    if origin.linked is None:
        return algorithm(origin.algorithm).promised(crashes)
    less = origin.promises_if_crashed
    return less if crashes and less is not None else origin.promises


def that_took_part(found: Mapping[Key, _Some]) -> Mapping[Key, _Some]:
    """Starts that came to nothing are nobody's eviction; if there is nothing else, they are what happened."""
    known = known_to_others(found)
    parts = {key: log for key, log in found.items() if log.took_part and not _founded_alone(key, found)}
    return {key: log for key, log in found.items() if key in parts or key in known} or found


def _founded_alone(key: Key, found: Mapping[Key, Log]) -> bool:
    """Whether it founded a changing group anew, after an earlier incarnation of it had lost its own, and had
    to do with nobody: who closes last may find all others gone first. It joined nobody, so nobody owed it
    what was said before it began; the earlier incarnation is judged by its own log."""
    log = found[key]
    alone = not (log.said or log.heard or log.met or log.origin.joined or log.ended is None)
    return alone and is_linked(log.origin) and any(other[0] == key[0] and other < key for other in found)


def known_to_others(found: Mapping[Key, Log]) -> set[Key]:
    """Whom anyone met, or whose messages anyone delivered."""
    return {key for log in found.values() for key in (*log.met.items(), *log.heard)}


def absent(found: Mapping[Key, Log], warn: Warn) -> dict[Key, Log]:
    """Empty logs of those that others knew, where their own are not there."""
    first = next(iter(found.values())).origin
    linked = is_linked(first)
    members = {name for log in found.values() for name in log.origin.group}
    missing = {}
    for name, incarnation in sorted(known_to_others(found) - found.keys()):
        # In a fixed group, whoever is not of it was made up: the judge shall see that.
        if linked or name in members:
            warn(f"no segments of {name} ({incarnation}), whom others met: collect them, or much is unknown")
            facts = {"name": name, "incarnation": incarnation, "joined": linked, "segment": 0}
            missing[name, incarnation] = Log(msgspec.structs.replace(first, **facts))
    return missing


def numbered(logs: dict[Key, Log]) -> dict[Key, Log]:
    """In order, with their incarnations counted."""
    counts: dict[Process, int] = defaultdict(int)
    for name, incarnation in sorted(logs):
        logs[name, incarnation].dense = counts[name]
        counts[name] += 1
    return {key: logs[key] for key in sorted(logs)}


def fate(key: Key, logs: Mapping[Key, Log]) -> str:
    name, incarnation = key
    log = logs[key]
    others = [other for other in logs.values() if other is not log]
    gone = [other.gone[name] for other in others if name in other.gone and _knew(other, key)]
    hows = {how for how, _ in gone}
    # Who was told that someone is gone was not told how.
    evicted = "evicted" in hows or ("told" in hows and "left" not in hows)
    if log.ended is None:
        return "evicted" if evicted else "crashed" if log.segments else "unknown"
    time, how, drained = log.ended
    if how == "isolated" or evicted or (gone and not drained):
        return "evicted"
    if is_linked(log.origin):
        last = max(
            other.last_ns + (0 if other is log else log.ahead_of(of, other)) for of, other in logs.items()
        )
        return "alive" if drained and last + QUIET_BEFORE_END < time else "left"
    known = any(other.met.get(name) == incarnation for other in others) or len(log.origin.group) == 1
    return "alive" if known and all(owed == 0 for _, owed in gone) else "left"


def ends_drained(logs: Mapping[Key, Log], fates: Mapping[Key, str]) -> bool:
    """Whether every node that was there to the end had nothing under way when it closed."""
    return all(bool(log.ended and log.ended[2]) for key, log in logs.items() if fates[key] == "alive")


def _knew(log: Log, key: Key) -> bool:
    """Whether what a log says of a name is about this incarnation."""
    return log.met.get(key[0], key[1]) == key[1]
