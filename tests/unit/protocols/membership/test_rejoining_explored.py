"""Every order of searches and pauses of a few that have lost their group: one founds it, the others join."""

import pytest

from aforesaid.protocols.membership.epochs import Epochs
from aforesaid.protocols.membership.rejoining import Rejoining
from unit.protocols.membership.breadth_first import explore
from unit.protocols.membership.seekers import Seekers

TWO = {"a": "b", "b": "a"}
ONE_WAY = {"a": "x", "b": "a"}
"""a looks for x, who is gone, and does not know of b before b calls."""
THREE = {"a": "bc", "b": "ac", "c": "ab"}


@pytest.mark.parametrize("known", [TWO, ONE_WAY], ids=["both know", "one knows"])
@pytest.mark.parametrize("founder", ["", "a", "b"])
def test_one_of_two_founds_and_the_other_joins_it(known: dict[str, str], founder: str) -> None:
    found = explore(Seekers(Rejoining, Epochs, known, founder))
    assert min(found.happened[what] for what in ("found", "join", "no member yet", "give up", "tell")) > 0


def test_one_of_three_founds_and_the_others_join_it() -> None:
    found = explore(Seekers(Rejoining, Epochs, THREE, founder="c", rounds=1))
    assert min(found.happened[what] for what in ("found", "join", "no member yet", "give up", "tell")) > 0


def test_the_last_call_of_one_comes_before_the_first_of_the_other() -> None:
    """The smallest schedule in which both founded: each heard of the other, but not in one search."""
    world = Seekers(Rejoining, Epochs, TWO, founder="b", rounds=1)
    for step in (
        ("look", "b"),
        ("call", "b"),
        ("look", "a"),
        ("call", "a"),
        ("give up", "b"),
        ("give up", "a"),
        ("look", "b"),
        ("call", "b"),
    ):
        assert step in world.steps()
        world.do(step)
        world.check()
    assert world.settled()
    assert {seeker.group for seeker in world.seekers.values()} == {"a"}
