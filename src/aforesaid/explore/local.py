"""The states a single process can be in, and what takes it from one to the next.

A *local state* is everything of one process that can matter later: the protocol object (by its `picture`),
the timers it has armed, whom it was told is down, and what the judgement needs: which messages it has
delivered and called stable, the causal past and the audience of each message it has sent; and how far the
host has come with its links. The order of past deliveries is not part of it: a wrong order is seen at the
very delivery that makes it wrong (see `guard`), so two histories that agree on the set have the same future.

Everything is numbered once (hash-consing): local states, frames, timers. A protocol runs once for each
distinct (local state, input), on a clone; all else is table lookup. Numbers stand for whole values that are
compared by equality, so no collision of hashes can make two states one.
"""

import pickle
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from aforesaid.core import Message, Misuse, Process, Speaker, Timer, freeze, link_of
from aforesaid.explore.performance import (
    UNKNOWN,
    Admitted,
    Deed,
    Input,
    at_rest,
    channel,
    identified,
    links_of,
    perform,
)
from aforesaid.explore.scope import LEAVE, Build, Cast

SPEAK, RECEIVE, EXPIRE, SUSPECT, MISTRUST = "speak", "receive", "expire", "suspect", "mistrust"
CALL, LINK_DOWN = "call", "link_down"
"""What happens to a process; with it goes a number: which audience, a frame, a timer, a peer that is down or
wrongly held to be; what the host wants of its links, a link instance."""

NO_LINK = -1


class Link(NamedTuple):
    """A link instance: its ends by rank, the lower first, and its name."""

    ends: tuple[int, int]
    lid: Any


class Frame(NamedTuple):
    """A message on its way from one process to another; both by rank."""

    source: int
    target: int
    message: Message
    channel: int
    """In queues, frames of one channel arrive in order."""
    link: int = NO_LINK
    """The link instance it travels on, where it names one."""

    @property
    def kind(self) -> str:
        return type(self.message).__name__


class Local(NamedTuple):
    """One local state."""

    process: int
    machine: bytes
    """The protocol object, pickled; empty after a crash or an eviction."""
    delivered: int
    """The set of messages delivered."""
    pasts: tuple[int, ...]
    """For each message sent so far, the set of messages delivered or sent before it."""
    audiences: tuple[int, ...]
    """For each message sent so far, the set of processes it is for."""
    stable: int
    """The set of messages it has called stable."""
    armed: frozenset[int]
    suspected: int
    """The set of peers it was told are down."""
    log: tuple[int, ...]
    """What was delivered, in order, if orders are remembered; else empty."""
    called: int = 0
    """How many of the openings and closings of its links have been asked for."""
    links_down: frozenset[int] = frozenset()
    """The link instances whose connection it was told is lost."""
    admitted: tuple[tuple[int, int], ...] = ()
    """Whom it let in, and the set of messages that it had delivered or sent by then: they are not owed."""

    @property
    def gone(self) -> bool:
        return not self.machine


class LocalStep(NamedTuple):
    """What one input does to a local state."""

    after: int
    sends: tuple[tuple[int, tuple[int, ...]], ...]
    """By target, the frames, in order."""
    deliveries: tuple[tuple[int, int], ...]
    """Each message delivered, with the set of those delivered before it."""
    stable_calls: tuple[tuple[int, bool], ...]
    """Each message called stable, and whether it was not called so before and delivered here before."""
    choices: tuple[int, ...] = ()
    failure: str = ""
    leaves: bool = False
    """Whether the process has left the group."""

    @property
    def sent(self) -> list[int]:
        """All frames."""
        return [frame for _, frames in self.sends for frame in frames]


@dataclass
class LocalGraph:
    """All local states met so far, numbered, and the steps between them."""

    cast: Cast
    build: Build
    remember_order: bool = False
    """True: tell histories with different orders of delivery apart. It costs states and is for tests."""
    ordered: frozenset[str] = frozenset()
    """The attributes in which the order of mappings counts (see `picture`)."""
    in_order: bool = False
    """True: it counts everywhere."""
    rows: list[Local] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    channel_of: list[int] = field(default_factory=list)
    """By frame, what it is ordered with."""
    timers: list[Timer] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    steps: dict[tuple[int, str, int], tuple[LocalStep, ...]] = field(default_factory=dict)
    inputs: list[list[tuple[str, int]]] = field(default_factory=list)
    """By local state, every input whose effect on it is known."""
    representations: dict[int, dict[Hashable, bytes]] = field(default_factory=dict)
    """By local state, the protocol objects, pickled, that differ in the order of mappings only."""
    looked_at: dict[tuple[int, bytes], int] = field(default_factory=lambda: defaultdict(int))
    """By representation, how many of the state's inputs have been found to do the same to it."""
    _link_of: dict[Link, int] = field(default_factory=dict)
    _number_of: dict[Hashable, int] = field(default_factory=dict)
    _number_in_order: dict[Hashable, int] = field(default_factory=dict)
    _frame_of: dict[Hashable, int] = field(default_factory=dict)
    _timer_of: dict[Hashable, int] = field(default_factory=dict)
    _channel_of: dict[Hashable, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.at_rest = cache(self._at_rest)
        self.usable_links = cache(self._usable_links)
        self.is_no_op = cache(self._is_no_op)

    def start(self, process: int) -> int:
        """The local state in which a process begins."""
        name, armed = self.cast.names[process], frozenset[int]()
        machine = self.build(self.cast.setup(name))
        if self.cast.linked and name in self.cast.founders:
            deed = perform(self.cast, name, machine, Input("begin"))
            if deed.sends or deed.told or deed.next_answers() or deed.failure:
                raise Misuse(f"{name} may arm timers when it begins, and no more {deed.failure}")
            armed = frozenset(self._timer(timer) for arms, timer in deed.timers if arms)
        return self._numbered(Local(process, b"-", 0, (), (), 0, armed, 0, ()), machine)

    def crashed(self, local: int) -> int:
        """The local state after a crash: what was sent and delivered remains to be judged."""
        return self._gone(self.rows[local])

    def has_begun(self, local: int) -> bool:
        """Whether the process is there; a newcomer is once it has asked to join."""
        row = self.rows[local]
        return self.cast.has_begun(row.process, row.called)

    def may_speak(self, local: int) -> bool:
        row = self.rows[local]
        return not row.gone and self.has_begun(local) and len(row.pasts) < self.cast.counts[row.process]

    def may_call(self, local: int) -> bool:
        """Whether the host wants something of its links."""
        row = self.rows[local]
        return not row.gone and row.called < len(self.cast.calls[row.process])

    def _at_rest(self, local: int) -> tuple[tuple[Process, ...], int]:
        """Where links open and close: whom the process has links to, and how much it holds in memory."""
        if not self.cast.linked or self.rows[local].gone:
            return (), 0
        return at_rest(pickle.loads(self.rows[local].machine))

    def _usable_links(self, local: int) -> frozenset[int]:
        """The link instances that the process may send on."""
        row, rank = self.rows[local], self.cast.rank
        links = () if row.gone else links_of(pickle.loads(row.machine)).links()
        return frozenset(self._link(row.process, rank[peer], lid) for peer, lid in links)

    def next_audiences(self, local: int) -> tuple[int, ...]:
        """Whom the next message may be for."""
        return self.cast.audiences[self._next_message(self.rows[local])]

    def step(self, local: int, do: str, what: int) -> tuple[LocalStep, ...]:
        """What an input does, once for each way of choosing. Nothing happens to who is gone."""
        if self.rows[local].gone:
            return (LocalStep(local, (), (), ()),)
        key = (local, do, what)
        steps = self.steps.get(key)
        if steps is None:
            steps = self.steps[key] = self.run(local, do, what, self.rows[local].machine)
            self.inputs[local].append((do, what))
        return steps

    def run(self, local: int, do: str, what: int, pickled: bytes) -> tuple[LocalStep, ...]:
        """Run the protocol on a clone of one representation of a state, once for each way of choosing."""
        steps: list[LocalStep] = []
        answers: tuple[int, ...] | None = ()
        while answers is not None:
            machine = pickle.loads(pickled)
            process = self.cast.names[self.rows[local].process]
            deed = perform(self.cast, process, machine, self._input(local, do, what), answers)
            steps.append(self._after(local, do, what, machine, deed))
            answers = deed.next_answers()
        return tuple(steps)

    def _is_no_op(self, local: int, frame: int) -> bool:
        """Receiving the frame in this state changes nothing and asks for nothing."""
        steps = self.step(local, RECEIVE, frame)
        after, sends, deliveries, stable_calls, _, failure, _ = steps[0]
        effects = sends or deliveries or stable_calls or failure
        return after == local and len(steps) == 1 and not effects

    def is_quiet(self, local: int, step: LocalStep) -> bool:
        """The firing of a timer of peer sampling asks for nothing and arms nothing.

        So the period of a process that begins nothing new runs out. It cannot go on for ever.
        """
        after, effects = self.rows[step.after], step.sends or step.deliveries or step.stable_calls
        asks = effects or step.failure or after.gone
        return self.cast.samples and not asks and after.armed < self.rows[local].armed

    def _input(self, local: int, do: str, what: int) -> Input:
        row = self.rows[local]
        if do == SPEAK:
            message = self._next_message(row)
            return Input(do, what=message, audience=self.cast.named(self.cast.audiences[message][what]))
        if do == RECEIVE:
            frame = self.frames[what]
            return Input(do, self.cast.names[frame.source], frame.message)
        if do == EXPIRE:
            return Input(do, what=self.timers[what])
        if do == CALL:
            call = self.cast.calls[row.process][what]
            return Input(call.do, call.peer, call.route)
        if do == LINK_DOWN:
            return Input(do, what=self.links[what].lid)
        return Input(do, self.cast.names[what])

    def _next_message(self, row: Local) -> int:
        return self.cast.firsts[row.process] + len(row.pasts)

    def _after(self, local: int, do: str, what: int, machine: Speaker, deed: Deed) -> LocalStep:
        row = self.rows[local]
        armed = set(row.armed)
        if do == SPEAK:
            message = self._next_message(row)
            audience = self.cast.audiences[message][what]
            past = row.delivered | self._own(row)
            row = row._replace(pasts=(*row.pasts, past), audiences=(*row.audiences, audience))
        elif do == EXPIRE:
            armed.discard(what)
        elif do == SUSPECT:
            row = row._replace(suspected=row.suspected | 1 << what)
        elif do == CALL:
            row = row._replace(called=what + 1)
        elif do == LINK_DOWN:
            row = row._replace(links_down=row.links_down | {what})
        for arms, timer in deed.timers:
            (armed.add if arms else armed.discard)(self._timer(timer))
        delivered, stable, log, failure = row.delivered, row.stable, list(row.log), deed.failure
        deliveries, stable_calls = [], []
        for told in deed.told:
            if isinstance(told, Admitted):
                owed_not = delivered | self._own(row)
                row = row._replace(admitted=(*row.admitted, (self.cast.rank[told.newcomer], owed_not)))
                continue
            message, misnamed = identified(self.cast, self.cast.names[row.process], told)
            failure = failure or misnamed
            bit = 1 << message if message != UNKNOWN else 0
            if told.stable:
                stable_calls.append((message, bool(bit & delivered & ~stable)))
                stable |= bit
            else:
                deliveries.append((message, delivered))
                delivered |= bit
                log.append(message)
        row = row._replace(delivered=delivered, stable=stable, armed=frozenset(armed))
        if self.remember_order:
            row = row._replace(log=tuple(log))
        sends = () if failure else self._sends(row.process, deed)
        leaves = do == CALL and self.cast.calls[row.process][what].do == LEAVE
        after = self._gone(row) if deed.evicted or leaves else self._numbered(row, machine)
        return LocalStep(after, sends, tuple(deliveries), tuple(stable_calls), deed.choices, failure, leaves)

    def _own(self, row: Local) -> int:
        """What the process has said so far."""
        return self.cast.own_masks[row.process] & ((1 << self._next_message(row)) - 1)

    def _sends(self, process: int, deed: Deed) -> tuple[tuple[int, tuple[int, ...]], ...]:
        by_target: dict[int, list[int]] = {}
        for target, message in deed.sends:
            by_target.setdefault(self.cast.rank[target], []).append(self._frame(process, target, message))
        return tuple((target, tuple(frames)) for target, frames in sorted(by_target.items()))

    def _gone(self, row: Local) -> int:
        row = row._replace(machine=b"", armed=frozenset(), suspected=0, links_down=frozenset())
        return self._numbered_as(row, row)

    def _numbered(self, row: Local, machine: Speaker) -> int:
        # Only what has its mappings in an order not met before needs a picture in which that does not matter.
        rest, in_order = row._replace(machine=b"-"), freeze(machine, in_order=True)
        number = self._number_in_order.get((in_order, rest))
        if number is None:
            picture = in_order if self.in_order else freeze(machine, self.ordered)
            row = row._replace(machine=pickle.dumps(machine, pickle.HIGHEST_PROTOCOL))
            number = self._number_in_order[in_order, rest] = self._numbered_as((picture, rest), row)
            self.representations.setdefault(number, {})[in_order] = row.machine
        return number

    def _numbered_as(self, key: Hashable, row: Local) -> int:
        number = self._number_of.setdefault(key, len(self.rows))
        if number == len(self.rows):
            self.rows.append(row)
            self.inputs.append([])
        return number

    def _frame(self, source: int, target: str, message: Message) -> int:
        # Named tuples of different kinds with the same parts are equal; their pictures are not.
        key = (source, target, freeze(message))
        number = self._frame_of.setdefault(key, len(self.frames))
        if number == len(self.frames):
            ordered_with = (source, target, channel(self.cast, message))
            channel_number = self._channel_of.setdefault(ordered_with, len(self._channel_of))
            rank, lid = self.cast.rank[target], link_of(message)
            link = NO_LINK if lid is None else self._link(source, rank, lid)
            self.frames.append(Frame(source, rank, message, channel_number, link))
            self.channel_of.append(channel_number)
        return number

    def _link(self, one: int, other: int, lid: Any) -> int:
        link = Link((min(one, other), max(one, other)), lid)
        number = self._link_of.setdefault(link, len(self.links))
        if number == len(self.links):
            self.links.append(link)
        return number

    def _timer(self, timer: Timer) -> int:
        number = self._timer_of.setdefault(freeze(timer), len(self.timers))
        if number == len(self.timers):
            # Hosts know timers by equality: of two that are equal, one would replace the other there.
            if any(timer == other for other in self.timers):
                raise Misuse(f"a timer of another kind is equal to {timer!r}: give each a field of its own")
            self.timers.append(timer)
        return number
