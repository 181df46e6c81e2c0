"""Processes that call each other: every order of calls, answers and losses, and one that begins again.

A connection carries what either end says to the other in order. It may break: then either end hears of it at
some time, perhaps before it has read what was said. Everyone calls everyone to whom it has no stream.
"""

from collections.abc import Sequence
from itertools import count, permutations
from typing import TypeAlias

from aforesaid.core import Process, Refused
from aforesaid.protocols.membership.epochs import Epochs, Line
from unit.protocols.membership.breadth_first import Step

LOST = "lost"
Greeting: TypeAlias = tuple[str, int, int, str]
"""A hello or an answer: which of the two, the incarnation, the epoch, and a refusal."""


class Connection:
    """What is under way on one connection, by who is to read it."""

    def __init__(self, number: int, caller: Process, callee: Process) -> None:
        self.number = number
        self.held = {caller, callee}
        """The ends that have not given it up."""
        self.towards: dict[Process, list[Greeting | str]] = {caller: [], callee: []}

    def other(self, name: Process) -> Process:
        return next(end for end in self.towards if end != name)

    def say(self, target: Process, what: Greeting | str) -> None:
        if target in self.held and LOST not in self.towards[target]:
            self.towards[target].append(what)

    def give_up(self, name: Process) -> None:
        self.held.discard(name)
        self.towards[name] = []
        self.say(self.other(name), LOST)

    def fail(self) -> None:
        for name in self.towards:
            self.say(name, LOST)

    @property
    def failing(self) -> bool:
        return any(LOST in said for said in self.towards.values())

    @property
    def over(self) -> bool:
        return not any(name in self.held for name in self.towards)


class End:
    """One incarnation of a process, as a node makes use of its epochs."""

    def __init__(self, name: Process, incarnation: int, epochs: Epochs[Line]) -> None:
        self.name = name
        self.incarnation = incarnation
        self.epochs = epochs
        self.calls: dict[Process, Connection] = {}
        """Those that are not answered yet."""
        self.member = True

    def line(self, peer: Process) -> Line:
        return self.epochs.lines.setdefault(peer, Line(peer))

    def take(self, line: Line, connection: Connection, incarnation: int, epoch: int) -> None:
        if line.stream is not None:
            present = line.stream
            assert isinstance(present, Connection)
            assert epoch > line.epoch, "a stream was given up for one that was made before"
            present.give_up(self.name)
            line.lose(present)
        assert incarnation >= line.incarnation, "an older incarnation takes over"
        line.meet(incarnation)
        line.stand(connection, epoch)
        self.member = True


class Calls:
    """A world for `explore`."""

    def __init__(
        self,
        kind: type[Epochs[Line]],
        names: str = "ab",
        breaks: int = 1,
        restarts: str = "",
        fixed: bool = False,
        newcomer: str = "",
        resets: bool = True,
    ) -> None:
        self.resets = resets
        """Whether what was said before a loss may never be read."""
        self.calm = not breaks and not restarts
        """Nothing is ever lost, so nothing that stands is given up."""
        self.kind = kind
        self.fixed = fixed
        self.breaks = breaks
        """How many connections may still break."""
        self.restarts = restarts
        """Who may still begin again, once."""
        self.newcomer = newcomer
        """Who calls without knowing anybody, and is no member before it is answered."""
        self.ends: dict[Process, End] = {}
        self.connections: list[Connection] = []
        for name in names:
            self._begin(name, 1, names)

    def _begin(self, name: Process, incarnation: int, names: str) -> None:
        others = [other for other in names if other != name]
        self.ends[name] = End(name, incarnation, self.kind(name, others if self.fixed else None, Line))
        self.ends[name].member = name not in self.newcomer
        for other in others:
            self.ends[name].line(other)

    # ------------------------------------------------------------------------------------- what may happen

    def steps(self) -> Sequence[Step]:
        found: list[Step] = []
        for x, y in self._pairs():
            end = self.ends[x]
            if y not in end.calls and end.line(y).stream is None and not self._waits_elsewhere(end):
                found.append(("call", x, y))
        for connection in self.connections:
            for name, said in connection.towards.items():
                if said:
                    found.append(("read", connection.number, name))
                if self.resets and LOST in said[1:]:
                    found.append(("reset", connection.number, name))
            if self.breaks and connection.held and not connection.failing:
                found.append(("break", connection.number))
        found += [("restart", name) for name in self.restarts]
        return found

    def _pairs(self) -> list[tuple[Process, Process]]:
        """Who calls whom: everyone everyone, or the newcomer everyone and the first member the newcomer."""
        if not self.newcomer:
            return list(permutations(self.ends, 2))
        members = [name for name in self.ends if name != self.newcomer]
        return [(members[0], self.newcomer), *((self.newcomer, name) for name in members)]

    def _waits_elsewhere(self, end: End) -> bool:
        """Who looks for any member at all calls one after the other."""
        return not end.member and bool(end.calls)

    def do(self, step: Step) -> str:
        refusal = ""
        match step:
            case ("call", str(x), str(y)):
                self._call(self.ends[x], y)
            case ("read", int(number), str(name)):
                refusal = self._read(self._connection(number), self.ends[name])
            case ("reset", int(number), str(name)):
                connection = self._connection(number)
                connection.towards[name] = [LOST]
                refusal = self._read(connection, self.ends[name])
            case ("break", int(number)):
                self.breaks -= 1
                self._connection(number).fail()
            case ("restart", str(name)):
                self.restarts = self.restarts.replace(name, "")
                for connection in self.connections:
                    if name in connection.held:
                        connection.give_up(name)
                self._begin(name, self.ends[name].incarnation + 1, "".join(self.ends))
        self.connections = [each for each in self.connections if not each.over]
        return refusal or str(step[0])

    def check(self) -> None:
        if self._quiet():
            for x, y in permutations(self.ends, 2):
                one, other = self.ends[x].line(y), self.ends[y].line(x)
                assert one.stream is other.stream, f"{x} and {y} hold different streams for the present one"
                assert one.stream is None or one.epoch == other.epoch, "two names for one stream"

    def settled(self) -> bool:
        return self._quiet() and all(self.ends[x].line(y).stream is not None for x, y in self._pairs())

    def _quiet(self) -> bool:
        """Nothing is under way."""
        return not any(said for each in self.connections for said in each.towards.values())

    # ------------------------------------------------------------------------------------------ as nodes do

    def _connection(self, number: int) -> Connection:
        return next(each for each in self.connections if each.number == number)

    def _call(self, end: End, peer: Process) -> None:
        taken = {each.number for each in self.connections}
        connection = Connection(next(n for n in count() if n not in taken), end.name, peer)
        epoch = end.epochs.hail(end.line(peer)) if end.member else 0
        connection.say(peer, ("hello", end.incarnation, epoch, ""))
        end.calls[peer] = connection
        self.connections.append(connection)

    def _read(self, connection: Connection, end: End) -> str:
        """Why a call came to nothing, if it did."""
        said, peer = connection.towards[end.name].pop(0), connection.other(end.name)
        if said == LOST:
            connection.give_up(end.name)
            end.line(peer).lose(connection)
            self._hail_over(end, peer, connection)
            return ""
        if said[0] == "hello":
            return self._called(connection, end, peer, int(said[1]), int(said[2]))
        self._hail_over(end, peer, connection)
        return self._answered(connection, end, peer, int(said[1]), int(said[2]), str(said[3]))

    def _hail_over(self, end: End, peer: Process, connection: Connection) -> None:
        if end.calls.get(peer) is connection:
            del end.calls[peer]
            end.epochs.hail_over(end.line(peer))

    def _called(self, connection: Connection, end: End, peer: Process, incarnation: int, epoch: int) -> str:
        try:
            line, new = end.epochs.called(peer, incarnation, epoch, end.member)
        except Refused as refusal:
            connection.say(peer, ("answer", end.incarnation, 0, refusal.reason))
            connection.give_up(end.name)
            return refusal.reason
        connection.say(peer, ("answer", end.incarnation, new, ""))
        self._take(end, line, connection, incarnation, new)
        return ""

    def _answered(
        self, connection: Connection, end: End, peer: Process, incarnation: int, epoch: int, refusal: str
    ) -> str:
        try:
            line = end.epochs.answered(peer, incarnation, epoch, refusal)
        except Refused as error:
            connection.give_up(end.name)
            return error.reason
        self._take(end, line, connection, incarnation, epoch)
        return ""

    def _take(self, end: End, line: Line, connection: Connection, incarnation: int, epoch: int) -> None:
        assert not self.calm or line.stream is None, "a stream was given up though nothing was lost"
        end.take(line, connection, incarnation, epoch)
