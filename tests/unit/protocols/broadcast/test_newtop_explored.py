"""Newtop, every schedule of small scopes: all orders of frames, crashes, words of the detector, timers."""

import pytest

from aforesaid.explore import Scope, explore
from aforesaid.protocols.broadcast.newtop import NEVER, Newtop
from aforesaid.protocols.catalog import Setup
from support.scale import scaled


def newtop(setup: Setup) -> Newtop:
    return Newtop(setup.me, setup.group, setup.incarnation)


class NoCut(Newtop):
    """Everything counts that a survivor has of the crashed ones."""

    def _discard_beyond_cuts(self) -> None:
        self.cuts = dict.fromkeys(self.cuts, NEVER)


def no_cut(setup: Setup) -> NoCut:
    return NoCut(setup.me, setup.group, setup.incarnation)


def scope(messages: tuple[int, ...], timer_firings_max: int, crashes_max: int = 0) -> Scope:
    return Scope(
        processes=3,
        messages=messages,
        fifo=True,
        timer_firings_max=timer_firings_max,
        crashes_max=crashes_max,
    )


@pytest.mark.parametrize("crashes_max", [0, 2])
def test_one_message_with_as_many_nulls_as_there_may_be(crashes_max: int) -> None:
    found = explore(newtop, scope((1, 0, 0), timer_firings_max=6, crashes_max=crashes_max))
    assert found.verdict == "kept", str(found)
    # Two Nulls per process and message suffice: no schedule ends with a timer that may not fire any more.
    assert found.cut == 0


@pytest.mark.parametrize(("crashes_max", "timer_firings_max"), [(0, 4), (2, scaled(1, 2))])
def test_two_messages_with_few_nulls(crashes_max: int, timer_firings_max: int) -> None:
    found = explore(newtop, scope((1, 1, 0), timer_firings_max, crashes_max))
    assert found.complete, str(found)
    assert found.violation is None, str(found)


def test_one_message_of_each_with_few_nulls() -> None:
    found = explore(newtop, scope((1, 1, 1), timer_firings_max=1))
    assert found.complete, str(found)
    assert found.violation is None, str(found)


def test_without_the_cut_a_crash_can_break_causal_order() -> None:
    """p1's message reaches p2 alone; p2 delivers it, speaks, and both crash: p0 must not believe p2."""
    small = scope((1, 1, 1), timer_firings_max=0, crashes_max=2)
    broken = explore(no_cut, small)
    assert broken.violation is not None
    assert broken.violation.properties == ("causal",)
    found = explore(newtop, small)
    assert found.verdict == "kept", str(found)
