"""How large a world is explored: who takes part, how much each says, and what may go wrong.

Everything the explorer enumerates is bounded here, by name. Within these bounds nothing is sampled: every
order of events is covered. A `Cast` is a scope spelled out: the names, and a number for each message, so
that a set of messages is an integer (bit i stands for message i).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from aforesaid.check import PROPERTIES
from aforesaid.core import MessageId, Misuse, Process
from aforesaid.protocols.catalog import Setup, algorithm
from aforesaid.protocols.links.perfect import PerfectLinks

PROCESSES_MAX = 8
MESSAGES_MAX = 62
BUDGET_MAX = 1_000

CAUSAL = ("validity", "agreement", "no_duplicate", "no_creation", "fifo", "causal")
"""What is required of a protocol that is not in the catalog, unless it is said."""

Build: TypeAlias = Callable[[Setup], Any]
"""Makes the protocol object of one process."""


@dataclass(frozen=True)
class Scope:
    """The bounds of an exploration."""

    processes: int = 3
    messages: int | tuple[int, ...] = 2
    """How many messages each process broadcasts, at any moments; one number for all, or one for each."""
    duplicates_max: int = 0
    """How often, in all, the network may deliver a frame and keep a copy of it."""
    drops_max: int = 0
    """How many frames of processes that are up may be lost. Those of a crashed process may always be."""
    crashes_max: int = 0
    timer_firings_max: int = 0
    """How often, in all, an armed timer may fire. Time is abstract: it may at any moment."""
    fifo: bool = False
    """True: the frames of one link arrive in the order they were sent. False: in any order."""
    detector: bool = True
    """True: each survivor is told of each crash, once, at any later moment."""
    perfect_links: bool = False
    """True: put perfect links (numbers, acks, resending) between the algorithm and the network."""

    def __post_init__(self) -> None:
        if not 1 <= self.processes <= PROCESSES_MAX:
            raise Misuse(f"processes must be 1 to {PROCESSES_MAX}, not {self.processes}")
        if not isinstance(self.messages, int):
            # A list, as JSON gives it, would make the scope unhashable.
            object.__setattr__(self, "messages", tuple(self.messages))
        if len(self.counts) != self.processes:
            raise Misuse(f"messages has {len(self.counts)} numbers for {self.processes} processes")
        if min(self.counts) < 0 or sum(self.counts) > MESSAGES_MAX:
            raise Misuse(f"messages must be 0 or more each, and {MESSAGES_MAX} at most in all")
        for name in ("duplicates_max", "drops_max", "crashes_max", "timer_firings_max"):
            if not 0 <= getattr(self, name) <= BUDGET_MAX:
                raise Misuse(f"{name} must be 0 to {BUDGET_MAX}, not {getattr(self, name)}")
        if self.crashes_max > self.processes:
            raise Misuse(f"crashes_max is {self.crashes_max}, but there are {self.processes} processes")

    @property
    def counts(self) -> tuple[int, ...]:
        """How many messages each process broadcasts."""
        if isinstance(self.messages, int):
            return (self.messages,) * self.processes
        return self.messages

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Scope":
        unknown = set(values) - {field.name for field in fields(Scope)}
        if unknown:
            raise Misuse(f"a scope has no {', '.join(sorted(unknown))}")
        return Scope(**values)


class Cast:
    """A scope spelled out: names of processes, and one number for each message."""

    def __init__(self, scope: Scope) -> None:
        self.names: tuple[Process, ...] = tuple(f"p{rank}" for rank in range(scope.processes))
        self.rank = {name: rank for rank, name in enumerate(self.names)}
        self.counts = scope.counts
        self.message_ids = tuple(
            MessageId(name, 0, number)
            for name, count in zip(self.names, self.counts, strict=True)
            for number in range(1, count + 1)
        )
        self.number_of = {message_id: number for number, message_id in enumerate(self.message_ids)}
        self.origins = tuple(self.rank[message_id.origin] for message_id in self.message_ids)
        self.firsts = tuple(sum(self.counts[:rank]) for rank in range(scope.processes))
        """Each process's first message; the others follow."""
        self.own_masks = tuple(
            ((1 << count) - 1) << first for count, first in zip(self.counts, self.firsts, strict=True)
        )
        # What is said is the message's own name: so a delivery tells which it is, whatever it is called.
        self.said = {str(message_id): number for number, message_id in enumerate(self.message_ids)}


@dataclass(frozen=True)
class Subject:
    """What is explored, by name, and what it promises."""

    name: str
    build: Build
    promises: tuple[str, ...]


def subject(build: Build | str, scope: Scope, promises: tuple[str, ...] | None) -> "Subject":
    """What is explored: a name from the catalog, or anything that builds a protocol object."""
    for name in promises or ():
        if name not in PROPERTIES:
            raise Misuse(f"nothing can promise {name!r}; there are: {', '.join(PROPERTIES)}")
    if isinstance(build, str):
        entry = algorithm(build)
        if entry.addressed:
            raise Misuse(f"{entry.name} sends to chosen receivers; the explorer explores broadcasts")
        name, builder, promised = entry.name, entry.build, entry.promises
    else:
        name, builder, promised = getattr(build, "__name__", type(build).__name__), build, CAUSAL
    return Subject(
        name, _linked(builder) if scope.perfect_links else builder, promised if promises is None else promises
    )


def _linked(build: Build) -> Build:
    return lambda setup: PerfectLinks(build(setup))
