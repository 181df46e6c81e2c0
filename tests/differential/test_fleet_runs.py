"""Runs of the fleet by themselves: what it promises, traces, its checks, and the kernel uncompiled."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aforesaid.check import check
from aforesaid.cli import EXIT_KEPT
from aforesaid.cli.check import check_runs
from aforesaid.core import Misuse
from aforesaid.sim.fleet import FleetStopped, Paper, simulate_fleet, trace_fleet
from aforesaid.sim.fleet.fleet import _run
from aforesaid.sim.fleet.layout import (
    BUFFERED,
    DELIVERED,
    EVICTED,
    EXPECTED,
    OPENER,
    OUT,
    SAFE,
    SAFE_OUTS,
    SAY,
    TIME,
)
from aforesaid.sim.fleet.world import World
from aforesaid.trace import MemorySink
from aforesaid.trace.parquet import ParquetSink

SHORT = {"minutes": 5.0, "speak_from": 2.0, "speak_until": 3.0}


def test_all_is_delivered_and_forgotten() -> None:
    outcome = simulate_fleet(Paper(100, 2, delay_ms=300.0, **SHORT).plan())
    assert outcome.deliveries == outcome.broadcasts * 100 == 60_000
    assert (outcome.held, outcome.missed, outcome.evicted) == (0, 0, 0)
    assert outcome.series.space.max() > 20


def test_integrals_are_exact() -> None:
    """The series of tenths of seconds adds up to that of seconds."""
    coarse = simulate_fleet(Paper(30, 1, delay_ms=50.0, **SHORT).plan()).series
    fine = simulate_fleet(Paper(30, 1, delay_ms=50.0, sample_ms=100.0, **SHORT).plan()).series
    assert np.allclose(fine.space.reshape(-1, 10).mean(1)[60:], coarse.space[60:])
    assert np.allclose(fine.control_all.reshape(-1, 10).mean(1)[60:], coarse.control_all[60:])


@pytest.mark.parametrize(("processes", "delay_ms"), [(100, 300.0), (100, 1_500.0), (1_000, 300.0)])
def test_the_checker_finds_a_trace_causal(processes: int, delay_ms: float) -> None:
    sink = MemorySink()
    speakers = 10 if processes == 100 else 2
    paper = Paper(processes, 4, delay_ms=delay_ms, traced=None, broadcasts_per_second=speakers, **SHORT)
    outcome, run = trace_fleet(paper.plan(), sink, "fleet")
    report = check(sink.trace)
    assert {name: verdict.value for name, verdict in report.verdicts.items() if verdict.value != "kept"} == {}
    assert len(sink.trace.delivery_message) == outcome.deliveries
    assert run.ended == "drained"


def test_a_sample_of_processes_is_traced() -> None:
    sink = MemorySink()
    paper = Paper(100, 4, delay_ms=300.0, traced=tuple(range(0, 100, 5)), **SHORT)
    outcome, _ = trace_fleet(paper.plan(), sink, "sample")
    trace = sink.trace
    assert len(trace.processes) == 20
    assert len(trace.delivery_message) == 20 * len(trace.messages)
    assert 0 < len(trace.messages) < outcome.broadcasts
    assert all(verdict.value == "kept" for verdict in check(trace).verdicts.values())


def test_a_trace_on_disk_is_read_like_any_other(tmp_path: Path) -> None:
    paper = Paper(30, 4, delay_ms=300.0, traced=None, **SHORT)
    with ParquetSink(tmp_path, "fleet") as sink:
        trace_fleet(paper.plan(), sink, "fleet")
    assert check_runs(tmp_path, None, 5, as_json=True) == EXIT_KEPT


def test_a_link_expects_what_is_said_within_one_delay() -> None:
    """Little's law: of a link's two ends, one expects a message for as long as the other is ahead of it, so
    both together for two delays, whatever the overlay is like."""
    outcome = simulate_fleet(Paper(200, 3, minutes=9.0, speak_until=8.0, delay_ms=900.0).plan())
    late = slice(300, 480)
    links, expected = outcome.series.links[late].mean(), outcome.series.expected[late].mean()
    assert expected == pytest.approx(10 * 0.9 * links, rel=0.01)


def test_with_crashes_the_trace_is_causal_still() -> None:
    sink = MemorySink()
    paper = Paper(60, 5, delay_ms=40.0, crashes_per_minute=12.0, traced=None, **SHORT)
    outcome, _ = trace_fleet(paper.plan(), sink, "crashes")
    verdicts = check(sink.trace).verdicts
    assert outcome.plan.crashes > 2
    for name in ("no_duplicate", "no_creation", "fifo", "causal"):
        assert verdicts[name].value == "kept"


def test_a_copy_that_is_not_expected_stops_the_run() -> None:
    """Link memory that forgets one entry: the copy comes, and the run stops with its message and process."""
    plan = Paper(30, 1, delay_ms=300.0, **SHORT).plan()
    world = World(plan)
    _run(world, 125_000_000_000, None)
    expecting = np.argwhere((world.masks[:, :30] & ~np.int64(DELIVERED)) != 0)
    slot, process = map(int, expecting[0])
    bits = int(world.masks[slot, process]) & ~DELIVERED
    world.masks[slot, process] -= bits & -bits
    for _ in range(2):  # A run that was stopped stays stopped.
        with pytest.raises(FleetStopped, match=rf"p{process} received message \d+ where it was not expected"):
            _run(world, plan.until, None)
    assert world.w[TIME] < plan.until


def test_counters_are_what_the_tables_say() -> None:
    """Through hundreds of crashes, isolation and floods: entries expected, safe links out of a process."""
    plan = Paper(300, 1, minutes=20.0, speak_until=18.0, delay_ms=2_500.0, crashes_per_minute=5.0).plan()
    world = World(plan)
    for moment in (600 * 10**9, 1_000 * 10**9, plan.until):
        _run(world, moment, None)
        bits = np.bitwise_count(world.masks & ~np.int64(DELIVERED)).sum()
        assert world.w[EXPECTED] == bits
        safe = [world.links[world.links[:, OUT + side] >= SAFE, OPENER + side] for side in (0, 1)]
        outs = np.bincount(np.concatenate(safe), minlength=plan.processes)
        assert outs.tolist() == world.processes[:, SAFE_OUTS].tolist()
    assert world.w[EVICTED] > 0
    assert world.w[EXPECTED] + world.w[BUFFERED] == 0


def test_limits_are_told() -> None:
    with pytest.raises(Misuse, match="period"):
        replace(Paper(10, delay_ms=2_500.0).plan(), period=5_000_000_000).validate()
    falling = np.array([[0, 10**9], [10**6, 1]], np.int64)
    with pytest.raises(Misuse, match="overtake"):
        replace(Paper(10).plan(), delay=falling).validate()
    plan = Paper(10, 1, minutes=1.0, speak_until=0.5).plan()
    enters = plan.schedule[9]
    early = np.insert(plan.schedule, 10, [enters[0] + 1, SAY, enters[2], 0], axis=0)
    assert simulate_fleet(replace(plan, schedule=early)).unsaid == 1
    late = Paper(100, joins_per_second=0.5, traced=(1, 99), **SHORT).plan()
    with pytest.raises(Misuse, match="p99 enters after the first broadcast"):
        trace_fleet(late, MemorySink(), "late")


def test_the_same_plan_gives_the_same_run() -> None:
    first, second = (simulate_fleet(Paper(40, 9, **SHORT).plan()) for _ in range(2))
    assert first.control == second.control
    assert np.array_equal(first.series.space, second.series.space)


def test_uncompiled_it_does_the_same() -> None:
    code = (
        "from aforesaid.sim.fleet import *;"
        "o = simulate_fleet(Paper(8, 3, minutes=1.0, speak_from=0.5, speak_until=0.7, delay_ms=40.0).plan());"
        "print(o.deliveries, o.receipts, o.held, sum(o.control.values()))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for disabled in ("0", "1")
    }
    assert len(told) == 1
    assert told.pop().split()[2] == "0"


BROKEN = """
import aforesaid.sim.fleet.handshake as handshake
from aforesaid.sim.fleet import Paper, simulate_fleet

sound = handshake.mark

def forgetful(w, p, begin, end):
    # Bα and Bπ forget their last entries: what Bβ brings of these is delivered again.
    return sound(w, p, begin, max(begin, end - 3))

handshake.mark = forgetful
simulate_fleet(Paper(8, 3, minutes=2.0, speak_from=0.5, speak_until=1.5, delay_ms=300.0).plan())
"""


def test_a_broken_protocol_is_caught_inside_the_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BROKEN],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "where it was not expected: exactly once is broken" in done.stderr
