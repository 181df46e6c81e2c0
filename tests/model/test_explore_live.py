"""The table lookups against live objects: every state is what its schedule leads to when it is run."""

from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.explore import NONE, Reductions, Scope
from aforesaid.explore.cells import SHORTEST, Cells
from aforesaid.explore.local import LocalGraph
from aforesaid.explore.rerun import Rerun
from aforesaid.explore.scope import subject
from aforesaid.explore.search import Search
from aforesaid.explore.worlds import Worlds
from support import broken

CASES: list[tuple[Any, Scope, Reductions]] = [
    ("waiting", Scope(2, 2), NONE),
    ("waiting", Scope(3, (1, 1, 0)), SHORTEST),
    ("waiting", Scope(3, (1, 0, 0), crashes_max=1), NONE),
    ("waiting", Scope(2, (2, 1), fifo=True, drops_max=1, duplicates_max=1), SHORTEST),
    ("no_waiting", Scope(3, (1, 1, 0)), NONE),
    ("no_waiting_gc", Scope(2, 1), NONE),
    ("waiting", Scope(2, 1, perfect_links=True, drops_max=1, timer_firings_max=1), NONE),
    ("newtop", Scope(2, 1, fifo=True, timer_firings_max=1), NONE),
    (broken.hoarder, Scope(3, 1), NONE),
    ("hybrid_sps", Scope(3, (1, 1, 0)), SHORTEST),
    ("hybrid_sps", Scope(2, (1, 1), crashes_max=1), NONE),
    ("hybrid_multicast", Scope(3, audiences=(((1, 2),), ((2,),), ())), SHORTEST),
]


@pytest.mark.parametrize(("build", "scope", "reductions"), CASES)
def test_every_state_is_what_its_schedule_leads_to(build: Any, scope: Scope, reductions: Reductions) -> None:
    what = subject(build, scope, ())
    graph = LocalGraph(what.cast(scope), what.build, remember_order=True, in_order=not reductions.mappings)
    worlds = Worlds(Cells(graph, scope, reductions, set()))
    search = Search(what, worlds)
    search.run()
    assert search.exhausted
    assert search.states > 20
    may_end = worlds.may_end(search.known)
    for number, world in enumerate(map(tuple, search.known.tolist())):
        rerun = Rerun(what, scope)
        trace = rerun.run(search.schedule(number))
        assert rerun.outcome(remember_order=True) == worlds.outcome(world)
        if may_end[number] and not worlds.losses(world):
            assert trace.run.ended == "drained"
        # The tracer's own record of causes must be right in every run the explorer can make.
        assert check(trace, ()).value() == "kept"
