"""Exploring knows what an algorithm needs: it is given, or refused; and what is unknown has a reason."""

import re
from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.explore import NONE, Progress, Scope, explore, replay
from aforesaid.explore.scope import subject
from aforesaid.protocols.algorithm import Need
from aforesaid.protocols.catalog import CATALOG, Setup, algorithm
from support import broken

BY_TIMERS = {"newtop", "pak_nak"}
"""What says a message and comes to no end without a timer."""


@pytest.mark.parametrize("name", CATALOG)
def test_nothing_in_the_catalog_is_called_violated_for_want_of_a_flag(name: str) -> None:
    found = explore(name, Scope(processes=2, messages=1))
    assert found.complete
    assert found.scope.fifo == (Need.FIFO_LINKS in CATALOG[name].needs)
    if name in BY_TIMERS:
        assert (found.verdict, found.covered) == (
            "unknown",
            "safety on every schedule, liveness on none",
        )
        assert re.fullmatch(
            r"liveness: in \d+ states a timer was due and no firing was left; set --timers above 0",
            found.reason,
        )
        assert found.reason in str(found)
    else:
        assert (found.verdict, found.reason, found.covered) == ("kept", "", "every schedule")
    assert found.lacking == ()


@pytest.mark.parametrize("name", sorted(BY_TIMERS))
def test_the_flag_that_is_named_helps(name: str) -> None:
    assert explore(name, Scope(processes=2, messages=1, timer_firings_max=2)).verdict == "kept"


ORDERLY = "explore it with --fifo, without --duplicates and --perfect-links"


@pytest.mark.parametrize(
    ("name", "bounds", "text"),
    [
        ("tree", {"fifo": False}, f"tree needs FIFO links: {ORDERLY}"),
        ("newtop", {"duplicates_max": 1}, f"newtop needs FIFO links: {ORDERLY}"),
        ("cykas", {"perfect_links": True}, f"cykas needs FIFO links: {ORDERLY}"),
        (
            "waiting",
            {"drops_max": 1},
            "waiting needs reliable links, but this network loses frames: "
            "explore it with --perfect-links, or without --drops",
        ),
        (
            "link_memory",
            {"drops_max": 1},
            "link_memory needs reliable links, but this network loses frames: explore it without --drops",
        ),
        (
            "majority",
            {"crashes_max": 2},
            "majority needs a correct majority, but 2 of 3 may crash here: "
            "explore it with fewer --crashes, or more --processes",
        ),
        (
            "uniform",
            {"crashes_max": 1, "detector": False},
            "uniform needs a perfect failure detector, and this one is not: "
            "explore it with detector=True and without --suspicions, or without crashes",
        ),
        (
            "rst",
            {"crashes_max": 1},
            "rst promises nothing once a process crashes, and one may here: explore it without crashes",
        ),
    ],
)
def test_a_world_that_lacks_what_is_needed_is_refused_in_one_line(
    name: str, bounds: dict[str, Any], text: str
) -> None:
    with pytest.raises(Misuse) as refused:
        explore(name, Scope(**bounds))
    assert str(refused.value) == text
    # Whoever says what to require of it may have it all the same, and is told.
    forced = subject(name, Scope(**bounds), ("no_creation",))
    assert (len(forced.lacking), forced.promises) == (1, ("no_creation",))
    assert text.startswith(forced.lacking[0])


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("waiting", {"fifo": True}),
        ("waiting", {"duplicates_max": 1}),
        ("waiting", {"drops_max": 1, "perfect_links": True}),
        ("mf", {"drops_max": 1}),
        ("majority", {"crashes_max": 1}),
        ("uniform", {"detector": False}),
        ("waiting", {"crashes_max": 1, "detector": False}),
        ("prc", {"drops_max": 1}),
    ],
)
def test_what_is_not_needed_may_be_lacking(name: str, bounds: dict[str, Any]) -> None:
    assert subject(name, Scope(**bounds), None).lacking == ()


def test_outside_its_model_an_algorithm_is_explored_if_promises_are_given_and_it_replays() -> None:
    scope = Scope(processes=2, messages=(2, 0), fifo=False)
    found = explore("tree", scope, algorithm("tree").promises)
    assert found.violation is not None
    assert found.lacking == ("tree needs FIFO links",)
    assert "outside its model: tree needs FIFO links" in str(found)
    assert found.covered == "every schedule shorter than the one that breaks a promise"
    assert found.reason == ""
    again = check(replay("tree", scope, found.violation.steps))
    assert again.verdicts["causal"].value == "violated"


def test_where_links_open_and_close_frames_keep_their_order() -> None:
    links: Any = (("p0", "open", "p2", ("p1",)),)
    assert subject("prc", Scope(3, links=links), None).scope.fifo is True
    assert subject(broken.impatient, Scope(3, links=links), None).scope.fifo is True
    assert subject(broken.impatient, Scope(3), None).scope.fifo is False


def test_a_search_that_is_cut_off_says_how_far_it_came() -> None:
    found = explore("waiting", Scope(), states_max=50)
    assert found.reason == f"the search was cut off after {found.states} states; set --states-max higher"
    assert found.covered == f"not every schedule: {found.reason}"

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    found = explore("waiting", Scope(), progress=interrupt)
    assert (found.verdict, found.reason) == (
        "unknown",
        f"the search was interrupted after {found.states} states",
    )


def test_what_goes_round_for_ever_comes_to_no_end() -> None:
    found = explore(volley, Scope(processes=2, messages=(1, 0)), (), reductions=NONE)
    assert (found.verdict, found.complete, found.ends, found.cut) == ("unknown", True, 0, 0)
    assert found.reason == "liveness: no schedule comes to an end, frames go round for ever"


@pytest.mark.parametrize("fifo", [False, True])
def test_a_loss_that_only_a_timer_mends_leaves_liveness_open(fifo: bool) -> None:
    """In any order a loss is no step: what is lost is what never arrives, and counts all the same."""
    scope = Scope(processes=2, messages=(1, 0), drops_max=1, perfect_links=True, fifo=fifo)
    found = explore("waiting", scope)
    assert (found.verdict, found.cut) == ("kept", 2)
    assert found.covered == (
        "safety on every schedule, liveness not on all: "
        "in 2 states a timer was due and no firing was left (--timers 0)"
    )


class Volley(broken.Hoarder):
    """Sends back whatever it hears, and is as before."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        out.send([source], message)


def volley(setup: Setup) -> Any:
    return Volley(setup.me, setup.group)
