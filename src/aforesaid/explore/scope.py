"""How large a world is explored: who takes part, how much each says, and what may go wrong.

Everything the explorer enumerates is bounded here, by name. Within these bounds nothing is sampled: every
order of events is covered. A `Cast` is a scope spelled out: the names, and a number for each message, so
that a set of messages is an integer (bit i stands for message i).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from aforesaid.check import PROPERTIES
from aforesaid.core import MessageId, Misuse, Process, Speaker
from aforesaid.core.version import __version__
from aforesaid.protocols.algorithm import LIVENESS, Need
from aforesaid.protocols.catalog import Algorithm, Setup, algorithm
from aforesaid.protocols.links.perfect import perfectly_linked
from aforesaid.protocols.needs import Given, demand, lacking

PROCESSES_MAX = 8
MESSAGES_MAX = 62
BUDGET_MAX = 1_000

CAUSAL = ("validity", "agreement", "no_duplicate", "no_creation", "fifo", "causal")
"""What is required of a protocol that is not in the catalog, unless it is said."""

Build: TypeAlias = Callable[[Setup], Speaker]
"""Makes the protocol object of one process."""

Script: TypeAlias = tuple[tuple[tuple[int, ...], ...], ...]
"""By process: whom each of its messages is for, in order, by rank."""

REMEDIES = {
    Need.RELIABLE_LINKS: "explore it with --perfect-links, or without --drops",
    Need.FIFO_LINKS: "explore it with --fifo, without --duplicates and --perfect-links",
    Need.NO_CRASH: "explore it without crashes",
    Need.DETECTOR: "explore it with detector=True and without --suspicions, or without crashes",
    Need.MAJORITY: "explore it with fewer --crashes, or more --processes",
}
"""How a scope gives an algorithm what it needs."""

OPEN, CLOSE, JOIN = "open", "close", "join"
HAND_OVER, LEAVE, SETTLE = "hand_over", "leave", "settle"

_WORDS = {
    OPEN: "{process} opens a link to {peer}",
    CLOSE: "{process} closes its link to {peer}",
    JOIN: "{process} joins through {peer}",
    HAND_OVER: "{process} hands its links over",
    LEAVE: "{process} leaves",
    SETTLE: "{process} begins nothing new",
}
CALLS = tuple(_WORDS)
"""What a host may ask of a process's links, and of its membership."""


class LinkCall(NamedTuple):
    """A process is to open or close its link to a peer, to join through it, to hand over, to leave."""

    process: Process
    do: str
    peer: Process = ""
    route: tuple[Process, ...] | None = None
    """The mediators of an opening; None: no route is known."""

    @property
    def names(self) -> tuple[Process, ...]:
        """Everyone it names."""
        return (self.process, *filter(None, (self.peer,)), *(self.route or ()))

    def __str__(self) -> str:
        way = f" by way of {', '.join(self.route)}" if self.route else ""
        return _WORDS[self.do].format(process=self.process, peer=self.peer) + way


@dataclass(frozen=True)
class Scope:
    """The bounds of an exploration."""

    processes: int = 3
    messages: int | tuple[int, ...] = 2
    """How many messages each process says, at any moments; one number for all, or one for each."""
    audiences: Script | None = None
    """Whom the messages are for, where the algorithm addresses them; it tells how many there are, too. None:
    every audience is tried that leaves the sender out: one other process, or any others if it multicasts."""
    duplicates_max: int = 0
    """How often, in all, the network may deliver a frame and keep a copy of it."""
    drops_max: int = 0
    """How many frames of processes that are up may be lost. Those of a crashed process may always be."""
    crashes_max: int = 0
    timer_firings_max: int = 0
    """How often, in all, an armed timer may fire. Time is abstract: it may at any moment."""
    fifo: bool | None = None
    """True: the frames of one link arrive in the order they were sent. False: in any order. None: in order if
    the algorithm needs it or links open and close, else in any."""
    links: tuple[LinkCall, ...] = ()
    """What is asked of links and membership. Each process does its own in this order, at any moments. Who
    joins is outside until then; who leaves is gone, and the detector tells the others as of a crash."""
    disconnections_max: int = 0
    """How many connections under links may be lost: of what is on its way on a link, any tail is lost, and
    all that is sent on it later. Both ends are told, each at any later moment."""
    options: tuple[tuple[str, Any], ...] = ()
    """The algorithm's own settings; a mapping will do."""
    detector: bool = True
    """True: each survivor is told of each crash, once, at any later moment."""
    suspicions_max: int = 0
    """How often, in all, a process may be told that a peer is down which is up."""
    perfect_links: bool = False
    """True: put perfect links (numbers, acks, resending) between the algorithm and the network."""

    def __post_init__(self) -> None:
        if not 1 <= self.processes <= PROCESSES_MAX:
            raise Misuse(f"processes must be 1 to {PROCESSES_MAX}, not {self.processes}")
        if not isinstance(self.messages, int):
            # A list, as JSON gives it, would make the scope unhashable.
            object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "links", tuple(_link_call(*call) for call in self.links))
        object.__setattr__(self, "options", tuple(sorted(map(tuple, dict(self.options).items()))))
        if self.audiences is not None:
            self._follow_script(tuple(tuple(map(tuple, lines)) for lines in self.audiences))
        if len(self.counts) != self.processes:
            raise Misuse(f"messages has {len(self.counts)} numbers for {self.processes} processes")
        if min(self.counts) < 0 or sum(self.counts) > MESSAGES_MAX:
            raise Misuse(f"messages must be 0 or more each, and {MESSAGES_MAX} at most in all")
        for name in (field.name for field in fields(self) if field.name.endswith("_max")):
            if not 0 <= getattr(self, name) <= BUDGET_MAX:
                raise Misuse(f"{name} must be 0 to {BUDGET_MAX}, not {getattr(self, name)}")
        if self.crashes_max > self.processes:
            raise Misuse(f"crashes_max is {self.crashes_max}, but there are {self.processes} processes")
        strangers = {name for call in self.links for name in call.names} - set(self.names)
        if strangers:
            raise Misuse(f"links names {min(strangers)}, but there are {', '.join(self.names)}")
        for name in self.names:
            dos = [call.do for call in self.links if call.process == name]
            if JOIN in dos[1:] or LEAVE in dos[:-1]:
                raise Misuse(f"{name} joins before all else, once, and leaves after it")
        if len(self.founders) == 0:
            raise Misuse("somebody must be there to be joined")
        if self.rewires and (self.perfect_links or self.fifo is False):
            raise Misuse(
                "links open, close and break where frames keep their order (fifo), without perfect_links"
            )

    def _follow_script(self, script: Script) -> None:
        strangers = {rank for lines in script for line in lines for rank in line} - set(range(self.processes))
        if strangers:
            raise Misuse(f"audiences names process {min(strangers)}, but there are {self.processes}")
        object.__setattr__(self, "audiences", script)
        object.__setattr__(self, "messages", tuple(map(len, script)))

    @property
    def rewires(self) -> bool:
        """Whether links open, close or break."""
        return bool(self.links or self.disconnections_max)

    @property
    def names(self) -> tuple[Process, ...]:
        return tuple(f"p{rank}" for rank in range(self.processes))

    @property
    def founders(self) -> tuple[Process, ...]:
        """Who is there from the start."""
        joining = {call.process for call in self.links if call.do == JOIN}
        return tuple(name for name in self.names if name not in joining)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many messages each process says."""
        if isinstance(self.messages, int):
            return (self.messages,) * self.processes
        return self.messages

    def fitted(self, needs: tuple[str, ...] = ()) -> "Scope":
        """The scope for what has these needs: whether frames keep their order is no longer open."""
        return self if self.fifo is not None else replace(self, fifo=self.rewires or Need.FIFO_LINKS in needs)

    def given(self, linked: bool) -> Given:
        """What the scope gives; `linked`: links open and close, and are reliable but for control frames."""
        return Given(
            processes=self.processes,
            crashes=self.crashes_max,
            losses=self.drops_max > 0 and not (self.perfect_links or linked),
            # Perfect links resend, so that what was sent first may come last.
            fifo=bool(self.fifo) and not (self.perfect_links or self.duplicates_max),
            fixed=not any(call.do in (JOIN, LEAVE) for call in self.links),
            detector=not self.suspicions_max and (self.detector or not self.crashes_max),
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Scope":
        unknown = set(values) - {field.name for field in fields(Scope)}
        if unknown:
            raise Misuse(f"a scope has no {', '.join(sorted(unknown))}")
        return Scope(**values)


class Cast:
    """A scope spelled out: names of processes, one number for each message, whom it may be for."""

    def __init__(
        self, scope: Scope, audience_max: int | None = None, linked: bool = False, samples: bool = False
    ) -> None:
        self.names, self.founders = scope.names, scope.founders
        self.options = dict(scope.options)
        self.linked, self.samples = linked, samples
        """Whether links open and close: then frames keep their order per link instance."""
        # Peer sampling goes on until it is told that nothing new shall begin.
        last = ((LinkCall(me, SETTLE),) if samples else () for me in self.names)
        self.calls = tuple(
            (*(call for call in scope.links if call.process == me), *settle)
            for me, settle in zip(self.names, last, strict=True)
        )
        """By process, what it is to do with its links, in order."""
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
        self.addressed = audience_max is not None
        self.audiences = _audiences(scope, audience_max)
        """By message, the audiences to try; each is a set of ranks, as bits."""
        # What is said is the message's own name: so a delivery tells which it is, whatever it is called.
        self.said = {str(message_id): number for number, message_id in enumerate(self.message_ids)}

    def setup(self, process: Process) -> Setup:
        """What a process begins with; a newcomer knows nobody."""
        group = self.founders if process in self.founders else (process,)
        return Setup(process, group, 0, self.options)

    def has_begun(self, process: int, called: int) -> bool:
        """Whether a process, by rank, is there: a founder, or one that has asked to join."""
        return called > 0 or self.names[process] in self.founders

    def named(self, audience: int) -> tuple[Process, ...] | None:
        """The processes of an audience; None where all messages are broadcasts."""
        if not self.addressed:
            return None
        return tuple(name for rank, name in enumerate(self.names) if audience >> rank & 1)


def _audiences(scope: Scope, audience_max: int | None) -> tuple[tuple[int, ...], ...]:
    ranks = range(scope.processes)
    if scope.audiences is not None:
        return tuple((_bits(line),) for lines in scope.audiences for line in lines)
    tried = []
    for rank, count in enumerate(scope.counts):
        others = [other for other in ranks if other != rank]
        sizes = range(1, (audience_max or 0) + 1)
        chosen = [_bits(audience) for size in sizes for audience in combinations(others, size)]
        tried += [tuple(chosen) if audience_max is not None else (_bits(ranks),)] * count
    return tuple(tried)


def _link_call(
    process: Process, do: str, peer: Process = "", route: Iterable[Process] | None = None
) -> LinkCall:
    if do not in CALLS or process == peer or (do in (OPEN, CLOSE, JOIN)) != bool(peer):
        raise Misuse(
            "a process opens or closes its link to another one, joins through one, or leaves: "
            f"not {', '.join(filter(None, (process, do, peer)))}"
        )
    return LinkCall(process, do, peer, None if route is None else tuple(route))


def _bits(ranks: Iterable[int]) -> int:
    return sum(1 << rank for rank in set(ranks))


@dataclass(frozen=True)
class Subject:
    """What is explored, by name, what it promises, and how it addresses what it says."""

    name: str
    build: Build
    promises: tuple[str, ...]
    scope: Scope
    """Where it is explored: the scope asked for, fitted to its needs."""
    audience_max: int | None = None
    """How many others a message may be for; None: it is for all, a broadcast."""
    linked: bool = False
    """Whether its links open and close; then liveness is promised where they end strongly connected."""
    samples: bool = False
    """Whether it decides by itself, by peer sampling, which links to have."""
    lacking: tuple[str, ...] = ()
    """What it needs and the scope does not give: sentences."""
    code_version: str = __version__

    def cast(self, scope: Scope) -> Cast:
        return Cast(scope, self.audience_max, self.linked, self.samples)

    def promised(self, connected: bool) -> tuple[str, ...]:
        """What it promises at an end; `connected`: the links are strongly connected."""
        return tuple(name for name in self.promises if connected or name not in LIVENESS)


def subject(
    build: Build | Algorithm | str, scope: Scope, promises: tuple[str, ...] | None, anywhere: bool = False
) -> Subject:
    """What is explored: a name from the catalog, an entry like those, or what builds broadcast protocols.

    A scope that does not give an entry what it needs is refused, since the entry promises nothing there;
    unless it is said what shall be required of it all the same, or that it may run `anywhere`.
    """
    for name in promises or ():
        if name not in PROPERTIES:
            raise Misuse(f"nothing can promise {name!r}; there are: {', '.join(PROPERTIES)}")
    if isinstance(build, str):
        build = algorithm(build)
    if isinstance(build, Algorithm):
        explored = _entered(build, scope.fitted(build.needs))
        if explored.lacking and promises is None and not anywhere:
            demand(build, explored.scope.given(build.linked), _remedies(build))
    else:
        name = getattr(build, "__name__", type(build).__name__)
        explored = Subject(name, build, CAUSAL, scope.fitted(), linked=scope.rewires)
    if scope.audiences is not None and explored.audience_max is None:
        raise Misuse(f"{explored.name} broadcasts: its messages have no audiences")
    if scope.perfect_links:
        explored = replace(explored, build=_perfectly_linked(explored.build))
    return explored if promises is None else replace(explored, promises=promises)


def _entered(entry: Algorithm, scope: Scope) -> Subject:
    """An entry of the catalog, or one like those, in a scope that fits it."""
    if scope.rewires and not entry.linked:
        raise Misuse(f"{entry.name} has no links that open, close and break")
    entry.validate(dict(scope.options))
    audience_max = None
    if entry.addressed:
        if scope.processes == 1 and scope.audiences is None:
            raise Misuse(f"{entry.name} says its messages to others: explore 2 processes or more")
        audience_max = 1 if entry.unicast else scope.processes - 1
    promised = entry.promised(scope.crashes_max > 0)
    lacks = tuple(lacking(entry, scope.given(entry.linked)).values())
    return Subject(
        entry.name,
        entry.build,
        promised,
        scope,
        audience_max,
        entry.linked,
        entry.samples,
        lacks,
        entry.code_version,
    )


def _remedies(entry: Algorithm) -> dict[Need, str]:
    """What to set; perfect links are no help to who needs frames in order."""
    if Need.FIFO_LINKS not in entry.needs:
        return REMEDIES
    return {**REMEDIES, Need.RELIABLE_LINKS: "explore it without --drops"}


def _perfectly_linked(build: Build) -> Build:
    return lambda setup: perfectly_linked(build(setup))
