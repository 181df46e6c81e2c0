"""The frontiers of a fleet against those that the trace of the same run records."""

import pytest

from aforesaid.fleet import Paper, trace_fleet
from aforesaid.fleet.frontier import simulate_frontiers
from aforesaid.fleet.states import What
from aforesaid.sim.paper import FleetAlgorithm
from aforesaid.trace import MemorySink


@pytest.mark.parametrize(
    ("crashes", "delay_ms", "algorithm"),
    [
        (0.0, 40, "prc_spray"),
        (40.0, 40, "prc_spray"),
        (0.0, 700, "prc_spray"),
        (40.0, 700, "preventive_spray"),
    ],
)
def test_every_message_carries_the_same(crashes: float, delay_ms: float, algorithm: FleetAlgorithm) -> None:
    paper = Paper(
        30,
        3,
        minutes=3.5,
        speak_from=1.0,
        speak_until=2.5,
        delay_ms=delay_ms,
        crashes_per_minute=crashes,
        traced="all",
        algorithm=algorithm,
    )
    plan = paper.plan()
    outcome, frontiers = simulate_frontiers(plan, keep=True)
    sink = MemorySink()
    trace_fleet(plan, sink, "run")
    messages, processes = sink.trace.messages, sink.trace.processes
    assert (frontiers.carried >= 0).sum() == len(messages) == outcome.broadcasts
    # The rows of a trace are in the order of sending, and so are the broadcasts of a plan that were said.
    said = [number for number, count in enumerate(frontiers.carried.tolist()) if count >= 0]
    origins = plan.steps(What.SAY)["who"]
    for row, number in enumerate(said):
        assert processes.name[messages.origin[row]] == f"p{origins[number]}"
        assert sorted(said[each] for each in messages.after[row].tolist()) == frontiers.after[number]
        assert len(frontiers.after[number]) == frontiers.carried[number]
    # Whoever has crashed hears of no follower.
    assert (frontiers.forgotten > 0) == (crashes > 0)
    assert frontiers.largest > 1
    assert 1 <= frontiers.mean <= frontiers.largest
