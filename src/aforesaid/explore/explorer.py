"""Exploring: search, audit, and search again where an audit, or the shortest schedule, asks for it.

A search takes shortcuts on assumptions about the protocol (`picture`, `cells`, `postpone`, `prompt`). No
result leaves here before they are proved (`audit`); where one is wrong, the search starts over without it.
The table of local steps is kept, so protocol code does not run again. Assumptions are first looked at when
little has been explored, because most that are wrong are wrong early.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aforesaid.explore.audit import misrepresented, revived, unmet
from aforesaid.explore.cells import ALL, NONE, PLAIN, Cells, Reductions
from aforesaid.explore.local import LocalGraph
from aforesaid.explore.postpone import Postponer
from aforesaid.explore.prompt import Commuting, Pair, Prompter
from aforesaid.explore.result import Counterexample, Exploration, Progress, Pruned
from aforesaid.explore.scope import Build, Scope, subject
from aforesaid.explore.search import Search
from aforesaid.explore.worlds import Worlds
from aforesaid.protocols.catalog import Algorithm

RESTARTS_MAX = 20
"""After so many searches with wrong assumptions, the next makes none."""
PLAIN_MAX = 400_000
"""How many worlds with links are searched without reductions before they are tried."""
BAD_SHARE_MAX = 0.5
"""If more of the frames of one kind were wrongly taken to be prompt, none of that kind is any more."""


def explore(
    build: Build | Algorithm | str,
    scope: Scope,
    promises: tuple[str, ...] | None = None,
    progress: Callable[[Progress], None] | None = None,
    states_max: int | None = None,
    reductions: Reductions | None = None,
    remember_order: bool = False,
) -> Exploration:
    """Explore every schedule of an algorithm within a scope, until one breaks a promise.

    `build` is a name from the catalog, an entry like those, or what builds protocol objects of a broadcast;
    `promises` defaults to the catalog's, or to causal broadcast; a scope that does not give an entry what it
    needs is refused, unless promises are given. With `states_max` the search gives up after so many states,
    and its verdict is then unknown; so it is after a keyboard interrupt. `reductions` are all unless it is
    said, but where links open and close only if there are more than PLAIN_MAX worlds: there they rest on many
    assumptions that turn out wrong, and cost more than they spare. `remember_order` tells outcomes apart by
    the order of deliveries; it costs states and is for comparing reductions.
    """
    return _Explorer(build, scope, promises, progress, states_max, reductions, remember_order).run()


class _Explorer:
    """One exploration: what has been learnt from one search for the next."""

    def __init__(
        self,
        build: Build | Algorithm | str,
        scope: Scope,
        promises: tuple[str, ...] | None,
        progress: Callable[[Progress], None] | None,
        states_max: int | None,
        reductions: Reductions | None,
        remember_order: bool,
    ) -> None:
        self._began = time.perf_counter()
        self._subject = subject(build, scope, promises)
        scope = self._scope = self._subject.scope
        self._progress, self._states_max = progress, states_max
        self._plain = reductions is None and self._subject.linked
        self._reductions = PLAIN if self._plain else reductions or ALL
        self._cast, self._remember_order = self._subject.cast(scope), remember_order
        self._begin(frozenset())
        self._restarts = 0
        self._interrupted = False
        self._longer: Counterexample | None = None

    def run(self) -> Exploration:
        search = self._search()
        try:
            while not self._stands(search):
                self._restarts += 1
                if self._restarts == RESTARTS_MAX:
                    self._reductions = NONE
                    self._begin(frozenset())
                search = self._search()
            if self._plain and search.states > PLAIN_MAX and not search.exhausted:
                self._plain, self._reductions = False, ALL
                return self.run()
        except KeyboardInterrupt:
            search.exhausted, self._interrupted = False, True
        return self._result(search)

    def _stands(self, search: Search) -> bool:
        """Search; whether the result can be believed, be it that the search was cut off."""
        search.run()
        if search.refuted:
            return False
        cut_off = not (search.exhausted or search.violation or search.mistaken)
        return cut_off or (self._audited() and self._proved(search))

    def _search(self) -> Search:
        promises, reductions = self._subject.promises, self._reductions
        if self._scope.disconnections_max:
            # A frame without effect still shows that there is a connection to lose.
            reductions = replace(reductions, dead_frames=False)
        self._cells = Cells(self._graph, self._scope, reductions, self._revivable)
        self._postponer = self._prompter = None
        if self._reductions.postponing:
            self._postponer = Postponer(self._cells, promises)
        if self._reductions.prompting:
            self._prompter = Prompter(self._cells, self._commuting, self._bad, self._bad_kinds)
        worlds = Worlds(self._cells, self._postponer, self._prompter)
        states_max = self._states_max
        if self._plain:
            states_max = min(PLAIN_MAX, states_max or PLAIN_MAX)
        return Search(self._subject, worlds, states_max, self._progress, self._audited, self._began)

    def _audited(self) -> bool:
        """Whether nothing is known to be wrong with what the search assumes; if not, learn from it."""
        disordered = misrepresented(self._graph)
        if disordered:
            self._begin(self._graph.ordered | disordered)
            return False
        bad = self._prompter.hasty() if self._prompter else set()
        alive = revived(self._cells)
        self._revivable |= alive
        self._bad |= bad
        if self._prompter and bad:
            kinds = Counter(self._graph.frames[frame].kind for _, frame in self._prompter.roots)
            failed = Counter(self._graph.frames[frame].kind for _, frame in self._prompter.roots & bad)
            self._bad_kinds |= {kind for kind in failed if failed[kind] > BAD_SHARE_MAX * kinds[kind]}
        return not (alive or bad)

    def _proved(self, search: Search) -> bool:
        """Whether the result stands; if not, the next search does without what keeps it from standing."""
        if search.mistaken:
            raise RuntimeError(f"what the search saw does not happen when run again: {search.mistaken}")
        if not (self._postponed or self._prompted):
            return True
        obligations = self._postponer.obligations if self._postponer else ()
        if not search.violation and not unmet(self._cells, obligations) and not search.goes_round():
            return True
        # A violation is one, but need not be the shortest.
        self._longer = search.violation and replace(search.violation, shortest=False)
        self._reductions = replace(self._reductions, postponing=False, prompting=False)
        return False

    def _begin(self, ordered: frozenset[str]) -> None:
        """A new graph; what was learnt was about numbers of states and frames of the old one."""
        in_order = not self._reductions.mappings
        self._graph = LocalGraph(self._cast, self._subject.build, self._remember_order, ordered, in_order)
        self._commuting = Commuting(self._graph, bool(self._scope.fifo), self._subject.promises)
        self._revivable: set[int] = set()
        self._bad: set[Pair] = set()
        self._bad_kinds: set[str] = set()

    @property
    def _postponed(self) -> int:
        return self._postponer.postponed if self._postponer else 0

    @property
    def _prompted(self) -> int:
        return self._prompter.prompted if self._prompter else 0

    def _result(self, search: Search) -> Exploration:
        local_of = self._cells.local_of
        taken_away = sum(map(len, self._cells.taken_away.values()))
        violation = search.violation or self._longer
        return Exploration(
            algorithm=self._subject.name,
            scope=self._scope,
            promises=self._subject.promises,
            complete=search.exhausted or violation is not None,
            states=search.states,
            transitions=search.transitions,
            depth=search.depth,
            local_states=len({local_of[cell] for cell in np.unique(search.known[:, :-1]).tolist()}),
            ends=len(search.outcomes),
            cut=search.cut,
            seconds=time.perf_counter() - self._began,
            pruned=Pruned(taken_away, self._postponed, self._prompted, self._restarts),
            violation=violation,
            outcomes=frozenset(search.outcomes),
            interrupted=self._interrupted,
            lacking=self._subject.lacking,
        )
