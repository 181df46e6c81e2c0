"""Whoever takes part, as the judge of growing logs knows them: what was read of each and is still looked at.

A message is known by its *key*: the row of its origin, and its number. One that was delivered and that nobody
said is a *phantom*, and has a key of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aforesaid.live.logs import Log
from aforesaid.live.spans import DELIVERED, OWN, SAID, STABLE, Span
from aforesaid.trace.model import Bools, Int32s, Int64s
from aforesaid.wire.segments import Event

NUMBER_BITS = 40
NUMBER = (1 << NUMBER_BITS) - 1
PHANTOM = 1 << 62
NOWHERE = -1
"""The key of a delivery that is not looked at any more."""
LACKED_MAX = 10_000
"""Of so many runs of messages it is remembered that they were settled without a member."""

_NO_KEYS, _NO_PLACES = np.empty(0, np.int64), np.empty(0, np.int32)


def row_of(key: int) -> int:
    return (key & ~PHANTOM) >> NUMBER_BITS


@dataclass
class Tape:
    """The events of a log that have been read and have not happened yet, as the judge sees it."""

    kind: Any = field(default_factory=lambda: np.empty(0, np.uint8))
    key: Int64s = field(default_factory=lambda: _NO_KEYS)
    facts: Int32s = field(default_factory=lambda: _NO_PLACES)
    time_ns: Int64s = field(default_factory=lambda: _NO_KEYS)
    audiences: list[tuple[str, ...]] = field(default_factory=list)
    rare: list[Event] = field(default_factory=list)
    at: int = 0
    """Where it stands."""
    _lists: tuple[list[int], list[int]] | None = None

    def __len__(self) -> int:
        return len(self.kind) - self.at

    def add(self, span: Span, row: int, rows: Sequence[int]) -> None:
        """A span of the log of the member in a row; `rows` are those of the span's peers."""
        kind, facts, number, time_ns = span.columns
        key, facts = number.copy(), facts.copy()
        of_peers = (kind == DELIVERED) | (kind == STABLE)
        origin = np.full(len(kind), row, np.int64)
        origin[of_peers] = np.array([*rows, 0], np.int64)[facts[of_peers]]
        key |= origin << NUMBER_BITS
        kind = np.where((kind == DELIVERED) & (origin == row), np.uint8(OWN), kind)
        said = (kind == SAID) & (facts >= 0)
        facts[said] += len(self.audiences)
        facts[~of_peers & (kind != SAID)] += len(self.rare)
        self.kind, self.key = np.concatenate((self.kind, kind)), np.concatenate((self.key, key))
        self.facts = np.concatenate((self.facts, facts))
        self.time_ns = np.concatenate((self.time_ns, time_ns))
        self.audiences += span.audiences
        self.rare += span.rare
        self._lists = None

    def lists(self) -> tuple[list[int], list[int]]:
        """Kinds and keys, to go through one by one."""
        if self._lists is None:
            self._lists = self.kind.tolist(), self.key.tolist()
        return self._lists

    def end_at(self, place: int) -> None:
        """Nothing from there on will happen."""
        self.kind, self.key, self.facts = self.kind[:place], self.key[:place], self.facts[:place]
        self.time_ns, self._lists = self.time_ns[:place], None

    def cut(self) -> None:
        """Forget what has happened."""
        rest = slice(self.at, None)
        self.kind, self.key, self.facts = self.kind[rest], self.key[rest], self.facts[rest]
        self.time_ns, self.at, self._lists = self.time_ns[rest], 0, None
        said = (self.kind == SAID) & (self.facts >= 0)
        rare = (self.kind != SAID) & (self.kind != DELIVERED) & (self.kind != OWN) & (self.kind != STABLE)
        self.audiences = self._used(said, self.audiences)
        self.rare = self._used(rare, self.rare)

    def _used(self, rows: Bools, facts: list[Any]) -> list[Any]:
        """Of a list, what some events still point to, and what came after; they point there now."""
        if not rows.any():
            return []
        first = int(self.facts[rows].min())
        self.facts[rows] -= first
        return facts[first:]

    def will_say(self, number: int) -> bool:
        """Whether a saying of this number is still to come on it."""
        later = slice(self.at, None)
        return bool(np.any((self.kind[later] == SAID) & ((self.key[later] & NUMBER) == number)))


@dataclass
class Deliveries:
    """What a member delivered, or called stable, of what is still looked at."""

    key: Int64s = field(default_factory=lambda: _NO_KEYS)
    position: Int32s = field(default_factory=lambda: _NO_PLACES)
    time_ns: Int64s = field(default_factory=lambda: _NO_KEYS)

    def add(self, key: Int64s, position: Int32s, time_ns: Int64s) -> None:
        self.key = np.concatenate((self.key, key))
        self.position = np.concatenate((self.position, position))
        self.time_ns = np.concatenate((self.time_ns, time_ns))

    def keep(self, rows: Bools) -> None:
        self.key, self.position, self.time_ns = self.key[rows], self.position[rows], self.time_ns[rows]


@dataclass
class Member(Log):
    """One incarnation."""

    row: int = -1
    admitted: bool = True
    """Whether it may be heard: a newcomer may once somebody let it in."""
    let_in: bool = False
    """Whether somebody did."""
    tape: Tape = field(default_factory=Tape)
    read_segment: int = 0
    read_bytes: int = 0
    """How far its log was read."""
    broken: str = ""
    """Why its log is not read on."""
    edits: dict[int, int] = field(default_factory=dict)
    """Places on its tape that hold another key than was read: a phantom's, or NOWHERE."""
    frontier: set[int] = field(default_factory=set)
    base: tuple[int, ...] = ()
    delivered: int = 0
    grew_s: float = 0.0
    """When its log grew last, by the judge's clock."""
    log: Deliveries = field(default_factory=Deliveries)
    calls: Deliveries = field(default_factory=Deliveries)
    settled: int = 0
    """How many of its messages are settled: nothing is asked of them any more."""
    lacked: dict[int, list[list[int]]] = field(default_factory=dict)
    """By origin, runs of messages that were settled without it: first and last number."""
    lost_count: bool = False
    """Whether there were too many of those to remember."""
    newest_ns: int = 0

    def lacks(self, origin: int, numbers: list[int]) -> None:
        """Remember what was settled without it; numbers in order."""
        runs = self.lacked.setdefault(origin, [])
        for number in numbers:
            if runs and runs[-1][1] == number - 1:
                runs[-1][1] = number
            elif sum(map(len, self.lacked.values())) < LACKED_MAX:
                runs.append([number, number])
            else:
                self.lost_count = True

    def lacked_one(self, origin: int, number: int) -> bool:
        """Whether a message was settled without it, which it has now; not any more."""
        runs = self.lacked.get(origin, [])
        for place, (first, last) in enumerate(runs):
            if first <= number <= last:
                halves = [[first, number - 1], [number + 1, last]]
                runs[place : place + 1] = [half for half in halves if half[0] <= half[1]]
                return True
        return self.lost_count

    @property
    def lacking(self) -> int:
        return sum(last - first + 1 for runs in self.lacked.values() for first, last in runs)


def founders(members: Sequence[Member]) -> set[str]:
    """The names of the founding group."""
    groups = {member.origin.group for member in members if not member.origin.joined}
    return {name for group in groups for name in group}
