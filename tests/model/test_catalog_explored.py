"""Every broadcast of the catalog, every schedule of a small scope: orders, crashes, duplicates, timers."""

import time
from typing import Any

import pytest

from aforesaid.explore import Scope, explore
from aforesaid.protocols.catalog import CATALOG, DETECTOR, FIFO_LINKS, NO_CRASH, Algorithm

TIMED = {"pak": 2, "pak_credit": 2, "pak_nak": 3, "newtop": 6}
"""Algorithms with timers: how many may fire. Time is abstract, so that each may fire at any moment."""


def scopes(entry: Algorithm) -> dict[str, dict[str, Any]]:
    """A scope with a crash and one with a duplicate, as far as the algorithm's model allows them."""
    world: dict[str, Any] = {"processes": 3, "timer_firings_max": TIMED.get(entry.name, 0)}
    if FIFO_LINKS in entry.needs:
        world["fifo"] = True
    found = {}
    if NO_CRASH not in entry.needs:
        # What waits for acks of everyone has many more schedules: two messages of one process, or one.
        acks = 0 if entry.name in TIMED else 2 if DETECTOR in entry.needs else 1
        messages: Any = {0: (1, 0, 0), 1: 1, 2: (2, 0, 0)}[acks]
        found["crash"] = {**world, "messages": messages, "crashes_max": 1}
    if "fifo" not in world:
        two = (1, 0, 0) if entry.name in TIMED or entry.name == "no_waiting_gc_uniform" else (1, 1, 0)
        found["duplicate"] = {**world, "messages": two, "duplicates_max": 1}
    if entry.name == "tree":
        found["order"] = {**world, "messages": 2}
    return found


CASES = [(name, case) for name, entry in CATALOG.items() if not entry.addressed for case in scopes(entry)]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_schedule_keeps_every_promise(name: str, case: str) -> None:
    scope = Scope(**scopes(CATALOG[name])[case])
    found = explore(name, scope)
    assert found.verdict == "kept", str(found)
    assert found.complete
    # Every crash point gives its own outcome; the search was not idle.
    assert found.ends >= (4 if case == "crash" else 1)
    assert found.states > 15


def test_three_processes_two_messages_each_of_the_waiting_algorithm() -> None:
    began = time.process_time()
    found = explore("waiting", Scope(processes=3, messages=2))
    assert (found.verdict, found.complete) == ("kept", True)
    assert found.states > 20_000
    assert time.process_time() - began < 60
