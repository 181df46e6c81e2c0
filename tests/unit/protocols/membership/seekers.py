"""Processes that have all lost their group at once and look for it: every order of their calls and pauses.

Each calls everyone it knows of, in rounds; then it founds, or pauses and looks again. Who pauses takes no
calls. Who is a member calls those it knows of besides, to tell them of its elder. Nothing is taken for
granted of how long anything takes.
"""

from collections.abc import Sequence

from aforesaid.core import Process, Refused
from aforesaid.protocols.membership.epochs import Epochs, Line
from aforesaid.protocols.membership.rejoining import Rejoining, Search
from unit.protocols.membership.breadth_first import Step


class Seeker:
    """One process; its address is its name."""

    def __init__(self, name: Process, rejoining: Rejoining[str], epochs: Epochs[Line], known: str) -> None:
        self.name = name
        self.rejoining = rejoining
        self.epochs = epochs
        self.known = list(known)
        self.group: Process | None = None
        """Who founded the group it is in."""
        self.search: Search | None = None
        """None: it pauses."""
        self.calls: list[Process] = []
        """Those that it has still to make in this search."""


class Seekers:
    """A world for `explore`."""

    def __init__(
        self,
        rejoining: type[Rejoining[str]],
        epochs: type[Epochs[Line]],
        known: dict[Process, str],
        founder: str = "",
        search: type[Search] = Search,
        rounds: int = 2,
    ) -> None:
        self.search = search
        self.rounds = rounds
        self.seekers = {
            name: Seeker(name, rejoining(name, name in founder, None), epochs(name, None, Line), others)
            for name, others in known.items()
        }

    def steps(self) -> Sequence[Step]:
        found: list[Step] = []
        for name, seeker in self.seekers.items():
            if seeker.group is not None:
                found += [("tell", name, other) for other in seeker.known if self._looks(other)]
            elif seeker.search is None:
                found.append(("look", name))
            elif seeker.calls:
                found.append(("call", name))
            else:
                found.append(("give up", name))
        return found

    def do(self, step: Step) -> str:
        what, seeker = step[0], self.seekers[str(step[1])]
        if what == "tell":
            return self._refused(self.seekers[str(step[2])], seeker) and "tell"
        if what == "look":
            return self._look(seeker)
        if what == "call":
            return self._call(seeker, self.seekers.get(seeker.calls.pop(0)))
        assert seeker.search is not None
        founds = seeker.rejoining.unreached(seeker.search)
        seeker.search = None
        return self._look(seeker) if founds else str(what)

    def check(self) -> None:
        founders = {seeker.group for seeker in self.seekers.values() if seeker.group is not None}
        assert len(founders) <= 1, f"{sorted(founders)} found a group each"

    def settled(self) -> bool:
        return all(seeker.group is not None for seeker in self.seekers.values())

    def _look(self, seeker: Seeker) -> str:
        places = seeker.rejoining.places(seeker.known)
        if not places:
            seeker.group = seeker.name
            return "found"
        seeker.search, seeker.calls = self.search(), places * self.rounds
        return "look"

    def _pauses(self, seeker: Seeker) -> bool:
        return seeker.group is None and seeker.search is None

    def _call(self, seeker: Seeker, other: Seeker | None) -> str:
        assert seeker.search is not None
        if other is None or self._pauses(other):
            return "call"
        refusal = self._refused(other, seeker)
        if refusal:
            seeker.search.refused(other.name, refusal)
            return refusal
        assert other.group is not None, "joined through somebody that is no member"
        seeker.group, seeker.search, seeker.calls = other.group, None, []
        return "join"

    def _looks(self, name: Process) -> bool:
        return name in self.seekers and self.seekers[name].search is not None

    def _refused(self, called: Seeker, caller: Seeker) -> str:
        try:
            called.epochs.called(caller.name, 1, 0, called.group is not None)
        except Refused as refusal:
            if called.search is not None:
                called.search.called_by(caller.name)
            if caller.name not in called.known:
                called.known.append(caller.name)
            return refusal.reason
        return ""
