"""Every order of calls, answers and losses between a few ends: they come to agree on one stream."""

import pytest

from aforesaid.protocols.membership.epochs import Epochs
from unit.protocols.membership.breadth_first import explore
from unit.protocols.membership.calls import Calls


@pytest.mark.parametrize("fixed", [False, True])
def test_calls_that_cross_come_to_one_stream(fixed: bool) -> None:
    found = explore(Calls(Epochs, breaks=0, fixed=fixed))
    assert found.happened["crossed"] > 0
    assert found.settled == 2, "the stream of the lesser name, or of whoever called alone"


def test_a_connection_that_breaks_at_any_time_is_followed_by_another() -> None:
    found = explore(Calls(Epochs, breaks=1))
    assert found.happened["break"] > 0
    assert found.happened["reset"] > 0, "what was said before the loss may never be read"
    assert found.states > 500


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_later_incarnation_takes_over_and_an_earlier_one_never_does(name: str) -> None:
    found = explore(Calls(Epochs, breaks=0, restarts=name))
    assert found.happened["restart"] > 0
    assert found.happened["incarnation"] > 0, "the earlier one was heard after the later one, and refused"


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_newcomer_calls_whoever_is_there_and_takes_no_calls_before(name: str) -> None:
    found = explore(Calls(Epochs, breaks=0, newcomer=name))
    assert found.happened["no member yet"] > 0


def test_a_newcomer_calls_two_members_and_is_called_by_one() -> None:
    found = explore(Calls(Epochs, names="abc", breaks=0, newcomer="b", resets=False))
    assert found.happened["crossed"] > 0
    assert found.happened["no member yet"] > 0
