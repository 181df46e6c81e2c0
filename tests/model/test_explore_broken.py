"""Broken protocols are found, by a shortest schedule, and the schedule breaks the same promise again."""

from typing import Any, NamedTuple

import pytest

from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.explore import NONE, Exploration, Reductions, Schedule, Scope, explore, replay
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from oracle.watched import watched
from support import broken

RELIABLE = ("validity", "agreement", "no_duplicate", "no_creation")


class Case(NamedTuple):
    build: Any
    scope: Scope
    breaks: tuple[str, ...]
    length: int
    """How many steps the shortest schedule has, besides losses at its end."""
    promises: tuple[str, ...] | None = None


CASES = {
    "causal": Case(broken.impatient, Scope(3, 1), ("causal",), 4),
    "fifo": Case(broken.impatient, Scope(2, (2, 0)), ("fifo", "causal"), 3),
    "fifo behind swapped names": Case(broken.miscounting, Scope(2, (2, 0)), ("fifo", "causal"), 3),
    "waits for the sender only": Case(broken.fifo_only, Scope(3, 1), ("causal",), 4),
    "one pass over pending": Case(broken.one_pass, Scope(2, (3, 0)), ("validity", "agreement"), 6),
    "no relay": Case(broken.silent, Scope(3, (1, 0, 0), crashes_max=1), ("agreement",), 5),
    "copies": Case(broken.forgetful, Scope(2, 1, duplicates_max=1), ("no_duplicate",), 3, RELIABLE),
    "past as a set": Case(broken.past_as_set, Scope(3, (2, 1, 0)), ("fifo", "causal"), 5),
    "stable at once": Case(broken.rash, Scope(2, 1), ("stability",), 1, (*RELIABLE, "stability")),
    "raises": Case(broken.raising, Scope(2, 1, duplicates_max=1), (), 3, RELIABLE),
    "causal, in queues": Case(broken.silent_fifo_only, Scope(3, 1, fifo=True), ("causal",), 4),
}


def found(case: Case, reductions: Reductions | None = None) -> Exploration:
    if reductions is None:
        return explore(case.build, case.scope, case.promises)
    return explore(case.build, case.scope, case.promises, reductions=reductions)


def length(exploration: Exploration) -> int:
    assert exploration.violation is not None
    return sum(step.do != "lose" for step in exploration.violation.steps)


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_by_a_shortest_schedule(name: str) -> None:
    case = CASES[name]
    reduced, full = found(case), found(case, NONE)
    for exploration in (reduced, full):
        assert exploration.verdict == "violated"
        assert exploration.violation is not None
        assert exploration.violation.shortest
        assert exploration.violation.properties == case.breaks
        assert length(exploration) == case.length
    assert reduced.states <= full.states


@pytest.mark.parametrize("name", CASES)
def test_it_happens_again(name: str) -> None:
    case = CASES[name]
    exploration = found(case)
    assert exploration.violation is not None
    assert exploration.schedule is not None
    schedule = Schedule.from_json(exploration.schedule.to_json())
    assert schedule.steps == exploration.violation.steps
    trace = replay(case.build, schedule.scope, schedule.steps, case.promises)
    assert trace.run == exploration.violation.trace.run
    report = check(trace)
    assert tuple(n for n in report.required if report.verdicts[n].value == "violated") == case.breaks
    assert (trace.run.ended == "failed") == bool(exploration.violation.failure)


@pytest.mark.parametrize("name", ["causal", "no relay", "one pass over pending"])
def test_no_step_can_be_left_out(name: str) -> None:
    """Without any one of its steps the schedule cannot happen or breaks nothing."""
    case = CASES[name]
    exploration = found(case)
    assert exploration.violation is not None
    steps = exploration.violation.steps
    for left_out in range(len(steps)):
        try:
            trace = replay(case.build, case.scope, steps[:left_out] + steps[left_out + 1 :], case.promises)
        except Misuse:
            continue
        assert check(trace).value() != "violated"


def test_the_counterexample_reads_as_a_story() -> None:
    violation = found(CASES["causal"]).violation
    assert str(violation).splitlines() == [
        "  1. p0 broadcasts p0#1",
        "  2. p1 receives Relay(p0#1, Stamped((0, 0, 0), p0#1)) from p0",
        "  3. p1 broadcasts p1#1",
        "  4. p2 receives Relay(p1#1, Stamped((1, 0, 0), p1#1)) from p1",
        "causal: p2 delivered p1#1 at position 0, but never delivered p0#1, which p1 had delivered before "
        "sending it.",
    ]


class Indiscreet(HybridSps):
    """Passes on what it hears without waiting for permits."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        super().receive(
            source, message._replace(flagged=False) if type(message) is Msg else message, now, out
        )


def test_an_overtaking_that_nobody_on_the_way_could_see_is_found() -> None:
    """p1 was not told of p0's first message; it lies in the past of the past of what p1 says."""
    found = explore(watched("hybrid_sps", Indiscreet, asleep=True), Scope(3, (2, 1, 0)))
    assert str(found.violation).splitlines() == [
        "  1. p0 sends p0#1 to p2",
        "  2. p0 sends p0#2 to p1",
        "  3. p1 receives Msg(0, 2, 0, True, p0#2) from p0",
        "  4. p1 sends p1#1 to p2",
        "  5. p2 receives Msg(0, 1, 0, False, p1#1) from p1",
        "causal: p2 delivered p1#1 at position 0, but never delivered p0#1, which comes before it by way of "
        "p0#2.",
    ]


class Gossip(HybridSps):
    """Delivers everything at p2, too, whomever it is for."""

    def _network_send(self, peer: str, frame: Msg, channel: Any, now: int, out: Any) -> None:
        super()._network_send(peer, frame, channel, now, out)
        out.send(("p2",) if peer != "p2" and self.me != "p2" else (), frame)


def test_a_delivery_by_one_it_is_not_for_is_found() -> None:
    found = explore(watched("hybrid_sps", Gossip, asleep=True), Scope(3, (1, 0, 0)))
    assert found.violation is not None
    assert found.violation.properties == ("audience",)
    assert len(found.violation.steps) == 2


def test_what_a_protocol_raises_is_told() -> None:
    violation = found(CASES["raises"]).violation
    assert violation is not None
    assert violation.sentences == ("the protocol of p1 raised LookupError: heard before",)


def test_a_misnamed_delivery_is_told() -> None:
    violation = found(CASES["fifo behind swapped names"]).violation
    assert violation is not None
    assert violation.failure == "p1 delivered p0#2 under the name p0#1"
