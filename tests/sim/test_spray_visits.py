"""Members that come and go: the law of arcs, on whole overlays of PRC-broadcast and Spray.

A join adds one arc more than its contact's view has. A leave or a crash takes as many away on average,
whether who goes has been there long or has never exchanged; so the sum of arcs stays near N ln N.
"""

from collections.abc import Mapping
from functools import partial
from math import log
from typing import Any, cast

import pytest

from aforesaid.sim import Scenario
from aforesaid.sim.parts import nanoseconds
from aforesaid.sim.simulation import Simulation
from aforesaid.trace import MemorySink, Tracer
from support.scale import scaled

STABLE = 20
VISITS = scaled(60, 500)


HANDING_OVER_MS = 150


def visited(
    visits: int,
    stay_ms: float,
    every_ms: float,
    period_ms: float,
    seed: int,
    how: str = "leave",
    hands_over: bool = False,
) -> Mapping[str, Any]:
    """The members at rest, after so many visits to the stable ones, each at its time, and how they ended."""
    scenario = Scenario.of(
        {
            "algorithm": "prc_spray",
            "processes": STABLE,
            "seed": seed,
            "duration_ms": 100 + visits * every_ms + stay_ms + 1_000,
            "drain_ms": 600_000,
            "options": {"degree": 3, "period_ms": period_ms},
            "network": {"delay": {"kind": "uniform", "min_ms": 1, "max_ms": 10}, "fifo": True},
            "detector": {"delay_ms": 100},
            "fault": [{"kind": "join", "at_ms": 100, "count": visits, "every_ms": every_ms}],
        }
    )
    simulation = Simulation(scenario, Tracer(MemorySink()))
    for number in range(visits):
        name, moment = f"p{STABLE + number}", nanoseconds(100 + number * every_ms + stay_ms)
        simulation.at(moment, partial(getattr(simulation.faults, f"_{how}"), name))
        if hands_over:
            simulation.at(moment - nanoseconds(HANDING_OVER_MS), partial(hand_over, simulation, name))
    assert simulation.run() == "drained"
    assert simulation.counters.faults == {"join": visits, how: visits}
    assert how == "crash" or len(simulation.machines) == STABLE
    return {name: simulation.machines[name] for name in map("p{}".format, range(STABLE))}


def hand_over(simulation: Simulation, name: str) -> None:
    simulation.call(
        simulation.seats[name], lambda seat: cast(Any, seat.machine).hand_over(simulation.now, seat)
    )


@pytest.mark.parametrize(
    ("stay_ms", "every_ms", "period_ms"),
    [
        pytest.param(200, 250, 60_000, id="one at a time, and it does not exchange"),
        pytest.param(20, 250, 60_000, id="gone before its links are there"),
        pytest.param(3_000, 300, 1_000, id="ten at a time, and they exchange"),
    ],
)
def test_visits_leave_as_many_arcs_as_there_were(stay_ms: float, every_ms: float, period_ms: float) -> None:
    judge(visited(VISITS, stay_ms, every_ms, period_ms, seed=1))


@pytest.mark.parametrize(
    ("stay_ms", "every_ms", "period_ms"),
    [
        pytest.param(200, 250, 60_000, id="it starts, crashes, and is started again"),
        pytest.param(20, 250, 60_000, id="before its links are there"),
        pytest.param(3_000, 300, 1_000, id="ten at a time, that have exchanged"),
        pytest.param(500, 300, 1_000, id="as it begins to exchange"),
        pytest.param(1_500, 300, 1_000, id="when some take it for new still"),
    ],
)
def test_so_do_visits_that_end_by_a_crash(stay_ms: float, every_ms: float, period_ms: float) -> None:
    members = STABLE + stay_ms / every_ms
    machines = visited(VISITS, stay_ms, every_ms, period_ms, seed=1, how="crash")
    views = [len(machine.sampler.view) for machine in machines.values()]
    assert STABLE * log(members) / 2 < sum(views) < 2 * STABLE * log(members), views


def test_visits_as_nodes_make_them_which_hand_over() -> None:
    judge(visited(VISITS, 350, 400, 1_000, seed=1, hands_over=True))


def judge(machines: Mapping[str, Any]) -> None:
    views = [len(machine.sampler.view) for machine in machines.values()]
    assert STABLE * log(STABLE) / 2 < sum(views) < 2 * STABLE * log(STABLE), views
    assert max(views) < 4 * log(STABLE)
