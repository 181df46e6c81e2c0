"""Every schedule of small scopes of adaptive hybrid buffering: whoever says how much, at any moment, to whom.

A scope of n x m has n processes that say m messages in all. Who says how many is told apart but for names;
whom they are for, and what was delivered before they are said, the explorer tries itself: all of it. With one
constraint to name, opaque messages first matter at 4 x 4.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from aforesaid.explore import Exploration, Scope, explore
from aforesaid.protocols.catalog import CATALOG, Algorithm, Setup
from oracle import adaptive_mutants, adaptive_mutants_known
from support.scale import CAMPAIGN, scaled


def shares(processes: int, messages: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """How many each says, in all ways but for names."""
    if not processes:
        yield from [()] if not messages else []
        return
    for first in range(min(messages, messages if most is None else most), -1, -1):
        for rest in shares(processes - 1, messages - first, first):
            yield (first, *rest)


def scope(bound: int, **settings: Any) -> Scope:
    return Scope(options=(("constraints", bound), ("retransmit", False)), **settings)


def mutant(kind: Any) -> Algorithm:
    def make(setup: Setup, options: Any) -> Any:
        return kind(setup.me, group=setup.group, constraints=options.constraints, retransmit=False)

    return replace(CATALOG["hybrid_adaptive_multicast"], make=make)


def kept(found: Exploration, outcomes: int) -> bool:
    """All of it was explored, and all is well; there is one outcome for each choice of audiences."""
    assert found.verdict == "kept", str(found)
    return found.complete and found.cut == 0 and found.ends == outcomes


SMALL = [(n, m, counts) for n, m in ((3, 4), (4, 3)) for counts in shares(n, m)]
FOUR_BY_FOUR = [(4, 4, counts) for counts in shares(4, 4)]


@pytest.mark.parametrize("fifo", scaled([True], [True, False]), ids=lambda fifo: "fifo" if fifo else "any")
@pytest.mark.parametrize("bound", scaled([1], [0, 1, 2]))
@pytest.mark.parametrize(
    ("processes", "messages", "counts"), [*SMALL, *scaled(FOUR_BY_FOUR[-2:], FOUR_BY_FOUR)]
)
def test_every_schedule(
    processes: int, messages: int, counts: tuple[int, ...], bound: int, fifo: bool
) -> None:
    found = explore("hybrid_adaptive", scope(bound, processes=processes, messages=counts, fifo=fifo))
    assert kept(found, (processes - 1) ** messages)
    assert found.states > 1_000


OPAQUE = (((1,), (2,), (3,)), (), (), ((1,),))
"""p0 says to p1, p2 and p3; of those it can name one to p3, who writes to p1."""


@pytest.mark.parametrize("fifo", [True, False])
def test_the_smallest_scope_in_which_an_opaque_message_matters(fifo: bool) -> None:
    here = scope(1, processes=4, audiences=OPAQUE, fifo=fifo)
    assert kept(explore("hybrid_adaptive", here), 1)
    found = explore(mutant(adaptive_mutants.OpaqueIgnored), here)
    assert found.violation is not None
    assert found.violation.properties == ("causal",)


CHOSEN: dict[str, Any] = {
    "one of each": (((1, 2),), ((0, 2),), ((0, 1),)),
    "two, and one after": (((1, 2), (3,)), (), (), ((1, 2),)),
    "three, and one between": (((1, 2),), ((2, 3),), ((3,),), ()),
}


@pytest.mark.parametrize("case", CHOSEN)
@pytest.mark.parametrize("bound", [0, 1, 2])
def test_multicasts(bound: int, case: str) -> None:
    script = CHOSEN[case]
    assert kept(
        explore("hybrid_adaptive_multicast", scope(bound, processes=len(script), audiences=script)), 1
    )


FAULTS: dict[str, dict[str, Any]] = {
    "duplicate": {"messages": (1, 1, 0), "duplicates_max": 1},
    "loss": {"messages": (1, 1, 0), "drops_max": 1, "timer_firings_max": 1},
    "loss, two of one": {"messages": (2, 0, 0), "drops_max": 1, "timer_firings_max": 1},
    "crash": {"messages": (2, 1, 0), "crashes_max": 1},
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults(case: str) -> None:
    found = explore("hybrid_adaptive", Scope(options=(("constraints", 1),), processes=3, **FAULTS[case]))
    assert found.verdict == "kept", str(found)
    assert found.complete
    assert found.ends >= 4


GONE = (((3,), (1,)), ((3,), (2,)), ((3,),), ())
"""p1's message to p3 has to wait for p0's, and p2 knows of it."""


def test_what_a_message_of_the_gone_had_to_wait_for() -> None:
    here = scope(2, processes=4, audiences=GONE, crashes_max=1, fifo=True)
    found = explore(mutant(adaptive_mutants_known.StandsForAll), here)
    assert found.violation is not None
    assert found.violation.properties == ("causal_unless_lost",)
    if CAMPAIGN:
        found = explore("hybrid_adaptive", here)
        assert (found.verdict, found.complete) == ("kept", True), str(found)


DIE: dict[Any, Any] = {
    adaptive_mutants.WaitsForNothing: (((2,), (1,)), ((2,),), ()),
    adaptive_mutants.NamesIgnored: (((2,), (1,)), ((2,),), ()),
    adaptive_mutants.EarlyHoldsDropped: (((2,), (3,), (1,)), ((2,),), (), ()),
    adaptive_mutants.CopyByCopy: (((1, 2),), ((2,),), ((1,),)),
    adaptive_mutants_known.OwnNotNamed: (((2,), (1,)), ((2,),), ()),
    adaptive_mutants_known.LearntNotPassedOn: (((3,), (1,)), ((2,),), ((3,),), ()),
    adaptive_mutants_known.ForgetsSuperseded: (((2,), (1,), (2,)), ((2,),), ()),
}
"""By mutant, what is said to whom."""


@pytest.mark.parametrize("kind", DIE, ids=lambda kind: str(kind.__name__))
def test_mutants_die(kind: Any) -> None:
    here = scope(1, processes=len(DIE[kind]), audiences=DIE[kind])
    assert explore(mutant(kind), here).violation is not None
    assert kept(explore("hybrid_adaptive_multicast", here), 1)
