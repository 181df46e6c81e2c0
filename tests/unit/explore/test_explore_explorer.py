"""The exploration as a whole: bounds, progress, interruption, what is assumed and what is proved."""

from typing import Any

import pytest

from aforesaid.explore import NONE, Progress, Scope, explore
from aforesaid.explore import search as search_module
from aforesaid.explore.audit import misrepresented, revived, unmet
from aforesaid.explore.cells import ALL, SHORTEST, Cells
from aforesaid.explore.local import RECEIVE, SPEAK, LocalGraph
from aforesaid.explore.postpone import Postponer
from aforesaid.explore.scope import Cast, subject
from aforesaid.explore.search import Search
from aforesaid.explore.worlds import Worlds
from aforesaid.protocols.catalog import Setup, algorithm
from support import broken
from support.chaotic import chaotic
from support.idle import Idle

SCOPE = Scope(processes=3, messages=1)


def test_an_exploration_that_is_cut_off_knows_nothing() -> None:
    found = explore("waiting", SCOPE, states_max=50)
    assert not found.complete
    assert found.verdict == "unknown"
    assert 50 < found.states < 70
    assert str(found).startswith("waiting: unknown; ")


def test_an_interrupted_exploration_knows_nothing() -> None:
    def interrupt(progress: Progress) -> None:
        if progress.depth == 3:
            raise KeyboardInterrupt

    found = explore("waiting", SCOPE, progress=interrupt)
    assert (found.complete, found.verdict, found.violation) == (False, "unknown", None)


def test_progress_is_told() -> None:
    told: list[Progress] = []
    found = explore("waiting", SCOPE, progress=told.append, reductions=NONE)
    assert told[-1].depth == found.depth
    assert [progress.depth for progress in told] == sorted(progress.depth for progress in told)
    assert told[-1].states <= found.states
    assert all(progress.waiting >= 1 for progress in told)


def test_a_timer_that_may_not_fire_any_more_leaves_liveness_open() -> None:
    scope = Scope(processes=2, messages=(1, 0), perfect_links=True, fifo=True, drops_max=1)
    found = explore("waiting", scope, ("validity",))
    # The frame arrives and is acknowledged; or one of the two is lost, and the timer stays armed.
    assert (found.verdict, found.ends, found.cut) == ("kept", 1, 2)


def test_without_an_end_liveness_is_unknown() -> None:
    assert explore(restless, Scope(processes=1, messages=1), ("validity",)).verdict == "unknown"
    assert explore("waiting", Scope(processes=1, messages=0), ("validity",)).verdict == "kept"


def test_nobody_waits_for_a_timer_that_may_not_fire_any_more() -> None:
    """Once p0 has said its part it has a timer and nothing else to do; what p1 receives must be seen."""
    found = explore(hasty, Scope(processes=2, messages=(2, 0)), ("fifo",))
    assert found.violation is not None
    assert len(found.violation.steps) == 3
    for name in ("newtop", "pak_nak"):
        reduced, full = (explore(name, Scope(2, 1), reductions=how) for how in (ALL, SHORTEST))
        assert (reduced.local_states, reduced.cut) == (full.local_states, full.cut)
        assert reduced.cut > 0


def test_a_longer_schedule_is_shown_if_the_search_for_the_shortest_is_cut_off() -> None:
    scope = Scope(processes=2, messages=(3, 0))
    shortest = explore(broken.one_pass, scope)
    assert shortest.violation is not None
    assert shortest.violation.shortest
    found = explore(broken.one_pass, scope, states_max=shortest.states - 2)
    assert found.violation is not None
    assert not found.violation.shortest
    assert (found.verdict, found.complete) == ("violated", True)


def test_two_explorations_are_the_same() -> None:
    one, other = (explore("no_waiting_gc", Scope(processes=2, messages=(2, 1))) for _ in range(2))
    assert (one.states, one.transitions, one.outcomes) == (other.states, other.transitions, other.outcomes)


def test_a_checkpoint_stops_a_search_that_assumes_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "CHECKPOINT_FIRST", 10)
    scope = Scope(processes=2, messages=(2, 1))
    found = explore(chaotic(3), scope, ())
    assert found.pruned.restarts > 0
    assert found.outcomes == explore(chaotic(3), scope, (), reductions=NONE).outcomes


def test_after_too_many_restarts_nothing_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aforesaid.explore.explorer.RESTARTS_MAX", 1)
    scope = Scope(processes=2, messages=(2, 1))
    found, full = explore(chaotic(3), scope, ()), explore(chaotic(3), scope, (), reductions=NONE)
    assert found.pruned.restarts == 1
    assert (found.states, found.outcomes) == (full.states, full.outcomes)


class TestAudits:
    def graph(self, name: str, scope: Scope) -> tuple[LocalGraph, Cells]:
        graph = LocalGraph(Cast(scope), algorithm(name).build)
        return graph, Cells(graph, scope, ALL, set())

    def test_a_frame_that_has_an_effect_later_has_revived(self) -> None:
        graph, cells = self.graph("waiting", SCOPE)
        (said,) = graph.step(graph.start(0), SPEAK, 0)
        frame = next(frame for frame in said.sent if graph.frames[frame].target == 1)
        start = graph.start(1)
        (heard,) = graph.step(start, RECEIVE, frame)
        assert cells.is_dead(heard.after, frame)
        assert revived(cells) == set()
        # A false claim: in the state after, it would have an effect.
        (spoken,) = graph.step(start, SPEAK, 0)
        cells.taken_away[start] = {frame}
        assert spoken.after != start
        assert revived(cells) == {frame}

    def test_an_obligation_is_met_if_whoever_sends_one_finds_the_other_dead(self) -> None:
        graph, cells = self.graph("waiting", SCOPE)
        (said,) = graph.step(graph.start(0), SPEAK, 0)
        to_1, _ = said.sent
        (relayed,) = graph.step(graph.start(1), RECEIVE, to_1)
        (relay,) = relayed.sent
        assert not unmet(cells, {(relay, to_1)})
        (other,) = graph.step(graph.start(1), SPEAK, 0)
        assert unmet(cells, {(other.sent[0], to_1)})

    def test_worlds_that_lead_back_go_round(self) -> None:
        scope = Scope(processes=3, messages=0, crashes_max=1)
        for build, goes_round in (("waiting", False), (echo, True)):
            what = subject(build, scope, ())
            cells = Cells(LocalGraph(what.cast(scope), what.build), scope, NONE, set())
            search = Search(what, Worlds(cells, Postponer(cells)))
            search.run()
            assert search.goes_round() == goes_round

    def test_orders_that_matter_are_named(self) -> None:
        scope = Scope(processes=3, messages=1)
        graph = LocalGraph(Cast(scope), broken.hoarder)
        frames = [graph.step(graph.start(rank), SPEAK, 0)[0].sent[-1] for rank in (0, 1)]
        for order in (frames, frames[::-1]):
            local = graph.start(2)
            for frame in order:
                local = graph.step(local, RECEIVE, frame)[0].after
        assert misrepresented(graph) == set()
        graph.step(local, SPEAK, 0)
        assert misrepresented(graph) == {"Hoarder.held"}


class Restless(broken.Hoarder):
    """Always means to do something later."""

    def broadcast(self, payload: str, now: int, out: Any) -> Any:
        out.arm("later", now + 1)
        return super().broadcast(payload, now, out)


def restless(setup: Setup) -> Restless:
    return Restless(setup.me, setup.group)


class Hasty(Restless):
    """Delivers whatever it hears as it comes."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        out.deliver(*message)


def hasty(setup: Setup) -> Any:
    return Hasty(setup.me, setup.group)


class Echo(Idle):
    """Answers whatever it hears, and never changes."""

    def __init__(self, peer: str) -> None:
        self.peer = peer

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        out.send([self.peer], message)

    def peer_down(self, peer: str, now: int, out: Any) -> None:
        out.send([self.peer], ("word",))


def echo(setup: Setup) -> Echo:
    """p1 and p2 answer each other."""
    return Echo("p1" if setup.me == "p2" else "p2")
