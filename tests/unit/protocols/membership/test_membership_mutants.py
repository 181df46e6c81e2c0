"""Every rule of membership that is broken is caught; that the shipped rules hold is tested beside this."""

from collections.abc import Callable

import pytest

from aforesaid.core import Process, Refused
from aforesaid.protocols.membership.epochs import Epochs, Line
from aforesaid.protocols.membership.rejoining import Rejoining, Search
from unit.protocols.membership.breadth_first import Found, explore
from unit.protocols.membership.calls import Calls
from unit.protocols.membership.seekers import Seekers


class TakesAnyCall(Epochs[Line]):
    """A call that crossed the present stream on the way takes its place."""

    def _knows_less(self, line: Line, incarnation: int, epoch: int) -> bool:
        return False


class NobodyIsFirst(Epochs[Line]):
    """Of two calls that cross, both are taken."""

    def _calls_first(self, line: Line) -> bool:
        return False


class EveryoneIsFirst(Epochs[Line]):
    """Once there was a stream no call is taken any more: both wait for the other's."""

    def _calls_first(self, line: Line) -> bool:
        return line.hailed or line.epoch > 0


class TakesOldAnswers(Epochs[Line]):
    """An answer takes the place of a stream that was made after it."""

    def answered(self, name: Process, incarnation: int, epoch: int, refusal: str, start: int = 0) -> Line:
        if refusal:
            raise Refused(refusal)
        return self._line(name)


class TakesOldIncarnations(Epochs[Line]):
    def _compare_incarnations(self, line: Line, incarnation: int, start: int) -> bool:
        return False


class SameEpoch(Epochs[Line]):
    """A new stream is not told from the one before."""

    def called(
        self, name: Process, incarnation: int, epoch: int, inside: bool, start: int = 0
    ) -> tuple[Line, int]:
        line, new = super().called(name, incarnation, epoch, inside)
        return line, new - 1


class TakesCallsOutside(Epochs[Line]):
    """Two that are no members join each other, and neither founds."""

    def called(
        self, name: Process, incarnation: int, epoch: int, inside: bool, start: int = 0
    ) -> tuple[Line, int]:
        return super().called(name, incarnation, epoch, True)


class EveryoneFounds(Rejoining[str]):
    def _is_first(self, outsiders: object, despairs: bool) -> bool:
        return True


class NobodyFounds(Rejoining[str]):
    def _is_first(self, outsiders: object, despairs: bool) -> bool:
        return False


class FoundsLater(Rejoining[str]):
    """After a pause, in which others search in vain."""

    def unreached(self, search: Search, despairs: bool = False) -> bool:
        super().unreached(search, despairs)
        return False


class HearsNoCallers(Search):
    def called_by(self, name: Process, newcomer: bool = False) -> None:
        pass


class TakesCallersForOutsiders(Search):
    """Though a member may have called."""

    def called_by(self, name: Process, newcomer: bool = False) -> None:
        self.outsiders.add(name)


TWO, ONE_WAY = {"a": "b", "b": "a"}, {"a": "x", "b": "a"}

MUTANTS: dict[str, Callable[[], object]] = {
    "any call is taken": lambda: explore(Calls(TakesAnyCall, breaks=0)),
    "nobody's call is first": lambda: explore(Calls(NobodyIsFirst, breaks=0)),
    "everybody's call is first": lambda: explore(Calls(EveryoneIsFirst)),
    "old answers are taken": lambda: explore(Calls(TakesOldAnswers)),
    "old incarnations are taken": lambda: explore(Calls(TakesOldIncarnations, breaks=0, restarts="a")),
    "epochs do not rise": lambda: explore(Calls(SameEpoch)),
    "outsiders take calls": lambda: explore(Seekers(Rejoining, TakesCallsOutside, TWO)),
    "everyone founds": lambda: explore(Seekers(EveryoneFounds, Epochs, TWO)),
    "nobody founds": lambda: explore(Seekers(NobodyFounds, Epochs, TWO)),
    "the founder pauses": lambda: explore(Seekers(FoundsLater, Epochs, TWO, "b")),
    "callers are not heard": lambda: explore(Seekers(Rejoining, Epochs, TWO, "b", HearsNoCallers)),
    "callers look for the group": lambda: explore(
        Seekers(Rejoining, Epochs, ONE_WAY, "b", TakesCallersForOutsiders)
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_mutant_is_caught(mutant: str) -> None:
    with pytest.raises(Found):
        MUTANTS[mutant]()
