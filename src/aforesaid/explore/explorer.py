"""Exploring: search, audit, and search again where the audit or the wish for the shortest schedule asks for it.

A search takes shortcuts on assumptions (`cells`, `postpone`); no result leaves here before they are proved
(`audit`). Where one is wrong the search starts over without it, keeping the table of local steps, so that no
protocol code runs twice.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from aforesaid.explore.audit import revived
from aforesaid.explore.cells import ALL, Cells, Reductions
from aforesaid.explore.local import LocalGraph
from aforesaid.explore.result import Counterexample, Exploration, Progress, Pruned
from aforesaid.explore.scope import Build, Cast, Scope, subject
from aforesaid.explore.search import Search

REVIVALS_MAX = 5
"""After so many searches in which dead frames revived, dead frames are left where they are."""


def explore(
    build: Build | str,
    scope: Scope,
    promises: tuple[str, ...] | None = None,
    progress: Callable[[Progress], None] | None = None,
    states_max: int | None = None,
    reductions: Reductions = ALL,
    remember_order: bool = False,
) -> Exploration:
    """Explore every schedule of an algorithm within a scope, until one breaks a promise.

    `build` is a name from the catalog, or anything that builds protocol objects; `promises` defaults to the
    catalog's. With `states_max` the search gives up after so many states, and its verdict is then unknown.
    `remember_order` tells outcomes apart by the order of deliveries; it is for comparing reductions.
    """
    began = time.perf_counter()
    what = subject(build, scope, promises)
    graph = LocalGraph(Cast(scope), what.build, remember_order)
    revivable: set[int] = set()
    longer: Counterexample | None = None
    restarts = 0
    while True:
        cells = Cells(graph, scope, reductions, revivable)
        search = Search(what, scope, cells, states_max, progress, began)
        search.run()
        if not (search.exhausted or search.violation or search.mistaken):
            break
        alive = revived(cells)
        if alive:
            revivable |= alive
            if restarts >= REVIVALS_MAX:
                reductions = replace(reductions, dead_frames=False, postponing=False)
        elif search.mistaken:
            raise RuntimeError(f"what the search saw does not happen when run again: {search.mistaken}")
        elif search.postponed and (search.violation or search.unsure()):
            # Postponing has served: it has found that there is a violation. Now the shortest.
            longer = search.violation and replace(search.violation, shortest=False)
            reductions = replace(reductions, postponing=False)
        else:
            break
        restarts += 1
    taken_away = sum(map(len, cells.taken_away.values()))
    return Exploration(
        algorithm=what.name,
        scope=scope,
        promises=what.promises,
        complete=search.exhausted or search.violation is not None,
        states=len(search.came_from),
        transitions=search.transitions,
        depth=search.depth,
        local_states=len({cells.local_of[cell] for world in search.came_from for cell in world[:-1]}),
        ends=len(search.outcomes),
        cut=search.cut,
        seconds=time.perf_counter() - began,
        pruned=Pruned(taken_away, search.postponed, restarts),
        violation=search.violation or longer,
        outcomes=frozenset(search.outcomes),
    )


