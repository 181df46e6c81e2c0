"""Runs of the fleet by themselves: what it promises, traces, its checks, and the kernel uncompiled."""

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aforesaid
from aforesaid.check import check
from aforesaid.cli import EXIT_KEPT
from aforesaid.cli.check import check_runs
from aforesaid.core import Misuse
from aforesaid.fleet import FleetBroken, FleetFull, Paper, simulate_fleet, trace_fleet
from aforesaid.fleet.compiled import SOURCES
from aforesaid.fleet.fleet import run_until
from aforesaid.fleet.layout import COUNT_MAX, DELIVERED, MARGIN, Step
from aforesaid.fleet.paces import SHARE_SHIFT
from aforesaid.fleet.states import Out, What
from aforesaid.fleet.world import EVENTS_MAX, World
from aforesaid.trace import MemorySink
from aforesaid.trace.parquet import ParquetSink
from differential.compared import small
from differential.reference import Reference

SHORT: dict[str, Any] = {"minutes": 5.0, "speak_from": 2.0, "speak_until": 3.0}


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


@pytest.mark.parametrize(
    ("processes", "delay_ms", "spread"), [(100, 300.0, 0.0), (100, 1_500.0, 0.8), (1_000, 300.0, 0.0)]
)
def test_the_checker_finds_a_trace_causal(processes: int, delay_ms: float, spread: float) -> None:
    sink = MemorySink()
    speakers = 10 if processes == 100 else 2
    parts = {**SHORT, "delay_ms": delay_ms, "delay_spread": spread, "broadcasts_per_second": speakers}
    paper = Paper(processes, 4, traced="all", **parts)
    outcome, run = trace_fleet(paper.plan(), sink, "fleet")
    report = check(sink.trace)
    assert {name: verdict.value for name, verdict in report.verdicts.items() if verdict.value != "kept"} == {}
    assert len(sink.trace.delivery_message) == outcome.deliveries
    assert run.ended == "drained"


def test_a_sample_of_processes_is_traced() -> None:
    sink = MemorySink()
    paper = Paper(100, 4, delay_ms=300.0, traced=20, **SHORT)
    outcome, _ = trace_fleet(paper.plan(), sink, "sample")
    trace = sink.trace
    assert len(trace.processes) == 20
    assert len(trace.delivery_message) == 20 * len(trace.messages)
    assert 0 < len(trace.messages) < outcome.broadcasts
    assert all(verdict.value == "kept" for verdict in check(trace).verdicts.values())


def test_a_trace_on_disk_is_read_like_any_other(tmp_path: Path) -> None:
    paper = Paper(30, 4, delay_ms=300.0, traced="all", **SHORT)
    with ParquetSink(tmp_path, "fleet") as sink:
        trace_fleet(paper.plan(), sink, "fleet")
    assert check_runs(str(tmp_path), None, 5, as_json=True) == EXIT_KEPT


@pytest.mark.parametrize(("spread", "within"), [(0.0, 0.01), (0.5, 0.06)])
def test_a_link_expects_what_is_said_within_one_delay(spread: float, within: float) -> None:
    """Little's law: of a link's two ends, one expects a message for as long as the other is ahead of it, so
    both together for the delays of both ways, whatever the overlay is like. Where links differ, the mean
    counts: that of some 1,200 draws."""
    paper = Paper(200, 3, minutes=9.0, speak_until=8.0, delay_ms=900.0, delay_spread=spread)
    outcome = simulate_fleet(paper.plan())
    mean = 0.9 * outcome.plan.paces.mean() / (1 << SHARE_SHIFT)
    late = slice(300, 480)
    links, expected = outcome.series.links[late].mean(), outcome.series.expected[late].mean()
    assert expected == pytest.approx(10 * mean * links, rel=within)


def test_fifos_of_all_paces_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """More is under way at each pace than there is room for at first; nothing is changed by that."""
    rate: dict[str, Any] = {"broadcasts_per_second": 60, "minutes": 5.0, "speak_until": 2.3}
    plan = Paper(200, 2, delay_ms=1_000.0, delay_spread=0.4, **rate).plan()
    plenty = simulate_fleet(plan)
    monkeypatch.setattr("aforesaid.fleet.world._forwards", lambda plan: 2 * MARGIN)
    scarce = World(plan)
    run_until(scarce, plan.until)
    assert scarce.fifo.shape[1] > 2 * MARGIN
    assert scarce.series["expected"].sum() / plan.bucket == pytest.approx(
        (plenty.series.expected * plenty.series.inside).sum()
    )
    assert (scarce.w.deliveries, scarce.w.expected) == (plenty.deliveries, plenty.held) == (18 * 60 * 200, 0)


def test_with_crashes_the_trace_is_causal_still() -> None:
    sink = MemorySink()
    paper = Paper(60, 5, delay_ms=40.0, crashes_per_minute=12.0, traced="all", **SHORT)
    outcome, _ = trace_fleet(paper.plan(), sink, "crashes")
    verdicts = check(sink.trace).verdicts
    assert outcome.plan.crashes > 2
    for name in ("no_duplicate", "no_creation", "fifo", "causal"):
        assert verdicts[name].value == "kept"


CHURN: dict[str, Any] = {"minutes": 9.0, "speak_from": 1.0, "speak_until": 5.0, "broadcasts_per_second": 3}


@pytest.mark.parametrize(("seed", "connected"), [(12, True), (4, True), (3, False)])
def test_a_process_that_was_isolated_is_traced_as_its_next_incarnation(seed: int, connected: bool) -> None:
    """It may hear what it said as the incarnation before; the overlay may fall apart (seed 3)."""
    sink = MemorySink()
    paper = Paper(60, seed, delay_ms=2_500.0, crashes_per_minute=15.0, traced="all", **CHURN)
    outcome, run = trace_fleet(paper.plan(), sink, "isolated")
    processes, report = sink.trace.processes, check(sink.trace)
    assert outcome.evicted == processes.fate.count("evicted") == np.sum(processes.incarnation > 0) > 0
    assert (len(sink.trace.messages), len(sink.trace.delivery_message)) == (
        outcome.broadcasts,
        outcome.deliveries,
    )
    assert np.sum(processes.incarnation[sink.trace.messages.origin] > 0) > 0
    assert outcome.connected == connected == ("agreement" in run.promises)
    assert report.value() == "kept"
    assert report.verdicts["causal"].value == "kept"


def test_of_some_traced_processes_the_one_that_was_isolated_ends() -> None:
    sink = MemorySink()
    paper = Paper(60, 12, delay_ms=2_500.0, crashes_per_minute=15.0, traced=30, **CHURN)
    outcome, _ = trace_fleet(paper.plan(), sink, "some")
    assert outcome.evicted > 0
    assert sink.trace.processes.fate.count("evicted") == 1
    assert sink.trace.processes.incarnation.max() == 0
    assert check(sink.trace).value() == "kept"


def test_the_traced_are_spread_over_those_inside_before_the_first_broadcast() -> None:
    assert Paper(100, traced=4).plan().traced == (0, 33, 66, 99)
    # At 10 joins per second 900 have been inside for half a minute when the first one speaks at minute 2.
    traced = Paper(5_000, traced=10).plan().traced
    assert traced is not None
    assert (len(traced), traced[0], traced[-1]) == (10, 0, 899)
    assert len(Paper(5, traced=20).plan().traced or ()) == 5
    assert Paper(5, traced=0).plan().traced == ()
    assert Paper(5, traced="all").plan().traced is None


def test_only_who_has_entered_crashes_or_is_a_contact() -> None:
    """At 10 joins per second most of 5,000 enter while others speak and crash."""
    plan = Paper(5_000, 1, minutes=8.0, speak_until=7.0, crashes_per_minute=2.0).plan()
    up, crashed = {-1}, 0
    for _, what, who, whom in plan.schedule.tolist():
        if what == What.CRASH:
            up.remove(who)
            crashed += 1
        elif what == What.ENTER:
            assert whom in up, f"seed 1: p{who} enters through p{whom}"
            up.add(who)
    # 2 % a minute of 1,200 rising to 4,200, for five minutes.
    assert 200 < crashed < 340


@pytest.mark.parametrize("sample_ms", [1_000.0, 700.0])
def test_samples_are_sums_over_all_processes(sample_ms: float) -> None:
    """Buckets of 0.7 s do not divide the run of 300 s: the last one is shorter."""
    sink = MemorySink()
    paper = Paper(50, 3, delay_ms=300.0, sample_ms=sample_ms, traced=0, **SHORT)
    outcome, _ = trace_fleet(paper.plan(), sink, "sampled")
    samples = sink.trace.samples
    by_metric = {
        metric: samples.value[[name == metric for name in samples.metric]] for metric in set(samples.metric)
    }
    gauges = {"entries", "expected", "buffered", "links", "inside"}
    assert by_metric.keys() == gauges | {"control_sent", "flooded_sent"}
    assert by_metric["control_sent"][0] == 0
    assert by_metric["control_sent"][-1] == sum(outcome.control.values())
    assert np.all(np.diff(by_metric["control_sent"]) >= 0)
    assert by_metric["inside"][-1] == pytest.approx(50)
    full = slice(None, -1)
    space = by_metric["expected"] + by_metric["buffered"]
    assert np.allclose(space[full], (outcome.series.space * outcome.series.inside)[full])
    assert samples.time_ns.max() == outcome.plan.until
    assert set(samples.process.tolist()) == {-1}


def test_the_space_of_all_is_what_the_reference_holds() -> None:
    """A sample every 10 ms, beside the sum of the gauges that the simulator would sample at that moment."""
    plan = replace(small(12, 5, 300.000019), bucket=10_000_000)
    sink = MemorySink()
    trace_fleet(plan, sink, "sampled")
    samples = sink.trace.samples
    looks = [60_005_000_000, 75_005_000_000, 90_005_000_000, 110_005_000_000]
    reference = Reference(plan)
    reference.run(looks)
    for look in looks:
        held = [
            float(value)
            for time, metric, value in zip(samples.time_ns, samples.metric, samples.value, strict=True)
            if metric in ("expected", "buffered") and time == look + 5_000_000
        ]
        assert held == pytest.approx(reference.space[look], rel=0.02)


def test_a_copy_that_is_not_expected_stops_the_run() -> None:
    """Link memory that forgets one entry: the copy comes, and the run stops with its message and process."""
    plan = Paper(30, 1, delay_ms=300.0, **SHORT).plan()
    world = World(plan)
    run_until(world, 125_000_000_000)
    expecting = np.argwhere((world.masks[:, :30] & ~np.int64(DELIVERED)) != 0)
    slot, process = map(int, expecting[0])
    bits = int(world.masks[slot, process]) & ~DELIVERED
    world.masks[slot, process] -= bits & -bits
    for _ in range(2):  # A run that was stopped stays stopped.
        with pytest.raises(FleetBroken, match=rf"p{process} received message \d+ where it was not expected"):
            run_until(world, plan.until)
    assert world.w.time < plan.until


def test_memory_that_lacks_what_a_link_owes_stops_the_run() -> None:
    """Every link owes a copy more than is in its memory: the first one that is closed tells."""
    plan = Paper(30, 1, delay_ms=300.0, **SHORT).plan()
    world = World(plan)
    run_until(world, 125_000_000_000)
    world.links["sides"]["owing"] += 1
    with pytest.raises(FleetBroken, match=r"the memory of a link of p\d+ lacks 1 of what is expected"):
        run_until(world, plan.until)


def test_counters_are_what_the_tables_say() -> None:
    """Through hundreds of crashes, isolation and floods: entries expected, safe links out of a process.

    Six minutes of rest: the last handshakes have four tries of a minute each.
    """
    plan = Paper(300, 1, minutes=24.0, speak_until=18.0, delay_ms=2_500.0, crashes_per_minute=5.0).plan()
    world = World(plan)
    for moment in (600 * 10**9, 1_000 * 10**9, plan.until):
        run_until(world, moment)
        bits = np.bitwise_count(world.masks & ~np.int64(DELIVERED)).sum()
        assert world.w.expected == bits
        out = world.links["sides"]["out"]
        safe = [world.links[end][out[:, side] >= Out.SAFE] for side, end in enumerate(("opener", "other"))]
        outs = np.bincount(np.concatenate(safe), minlength=plan.processes)
        assert outs.tolist() == world.processes["safe_outs"].tolist()
    assert world.w.evicted > 0
    assert world.w.expected + world.w.buffered == 0


def test_a_burst_of_broadcasts_does_not_overrun_the_trace() -> None:
    """More than the table of events has room for, at one moment: before any of them arrives."""
    plan = Paper(2, 1, minutes=1.0, speak_from=0.5, speak_until=0.5, delay_ms=2_500.0, traced="all").plan()
    burst = np.tile(np.array([(31 * 10**9, What.SAY, 0, 0)], Step.dtype), EVENTS_MAX + 10_000)
    sizes: list[int] = []
    speaking = replace(plan, schedule=np.concatenate([plan.schedule, burst]))
    outcome = simulate_fleet(speaking, events=lambda rows: sizes.append(len(rows)))
    assert outcome.deliveries == 2 * len(burst)
    # Besides, the second process was admitted.
    assert sum(sizes) == outcome.deliveries + 1


@pytest.mark.parametrize(("joins_per_second", "at_once"), [(1_000.0, 1), (100.0, 10), (2_000.0, 200)])
def test_tables_grow_with_what_joins_ask_of_them(joins_per_second: float, at_once: int) -> None:
    """Before the first exchange the arcs of fast joins pile up at a few processes."""
    joins: dict[str, Any] = {"joins_per_second": joins_per_second, "joins_at_once": at_once}
    parts: dict[str, Any] = {
        "minutes": 3.0,
        "speak_from": 1.0,
        "speak_until": 1.2,
        "broadcasts_per_second": 1,
    }
    plan = Paper(1_000, 1, delay_ms=1.0, **joins, **parts).plan()
    world = World(plan)
    small_at_first = {name: len(table) for name, table in world.tables.items()}
    run_until(world, plan.until)
    assert (world.w.expected, world.w.buffered, world.w.evicted) == (0, 0, 0)
    assert len(world.rows) > small_at_first["rows"]
    assert world.slots["had"][:12].tolist() == [1_000] * 12


@pytest.mark.parametrize("counted", ["timers", "serials"])
def test_numbers_that_half_a_word_cannot_hold_stop_the_run(counted: str) -> None:
    """Where they would begin anew, a timer or a message would be taken for another."""
    plan = Paper(10, 1, delay_ms=1.0, **SHORT).plan()
    world = World(plan)
    run_until(world, 100 * 10**9)
    if counted == "serials":
        world.w.oldest = world.w.kept = COUNT_MAX
    setattr(world.w, counted, COUNT_MAX)
    with pytest.raises(FleetFull, match=r"seed 1"):
        run_until(world, plan.until)


def test_processes_whose_masks_take_several_words_deliver_once() -> None:
    """Right after fast joins a few have more than 62 links each."""
    joins: dict[str, Any] = {"joins_per_second": 2_000.0, "joins_at_once": 200}
    plan = Paper(1_000, 1, 1.4, delay_ms=1.0, speak_from=0.6, speak_until=1.2, **joins).plan()
    world = World(plan)
    run_until(world, plan.until)
    assert (world.hot["words"].max() > 1, world.w.missed, world.w.expected) == (True, 0, 0)
    further = int(world.hot["words"].sum()) - 1_000
    assert (world.w.columns_used, world.masks.shape[1] < 2_000) == (1_000 + further, True)
    assert world.w.deliveries == 1_000 * world.w.spoken


def test_limits_are_told() -> None:
    with pytest.raises(Misuse, match="period"):
        replace(Paper(10, delay_ms=2_500.0).plan(), period=5_000_000_000).validate()
    with pytest.raises(Misuse, match="patience"):
        replace(Paper(10).plan(), patience=0).validate()
    falling = np.array([[0, 10**9], [10**6, 1]], np.int64)
    with pytest.raises(Misuse, match="overtake"):
        replace(Paper(10).plan(), delay=falling).validate()
    plan = Paper(10, 1, minutes=1.0, speak_from=0.5, speak_until=0.5).plan()
    enters = plan.schedule[9]
    say = np.array([(enters["at"] + 1, What.SAY, enters["who"], 0)], Step.dtype)
    early = np.insert(plan.schedule, 10, say)
    assert simulate_fleet(replace(plan, schedule=early)).unsaid == 1
    late = replace(Paper(100, joins_per_second=0.5, **SHORT).plan(), traced=(1, 99))
    with pytest.raises(Misuse, match="p99 enters after the first broadcast"):
        trace_fleet(late, MemorySink(), "late")


def test_the_same_plan_gives_the_same_run() -> None:
    first, second = (simulate_fleet(Paper(40, 9, **SHORT).plan()) for _ in range(2))
    assert first.control == second.control
    assert np.array_equal(first.series.space, second.series.space)


def test_from_an_archive_anywhere_the_cache_is_the_same(tmp_path: Path) -> None:
    """As on a cluster, where each executor has the archive at a place of its own."""
    package = Path(aforesaid.__file__).parent
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from aforesaid.fleet import compiled, kernel\n"
        "print(compiled.__file__ + ' ' + compiled.SOURCES + ' ' + kernel.run.stats.cache_path)"
    )
    told = []
    for place in ("one", "two"):
        archive = tmp_path / place / "aforesaid.zip"
        archive.parent.mkdir()
        with zipfile.ZipFile(archive, "w") as packed:
            for source in (*package.rglob("*.py"), *package.rglob("*.toml")):
                packed.write(source, source.relative_to(package.parent))
        done = subprocess.run(
            [sys.executable, "-c", code, str(archive)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            check=True,
            capture_output=True,
            text=True,
        )
        file, *rest = done.stdout.split()
        assert file.startswith(str(archive))
        told.append(rest)
    assert told == [[SOURCES, str(tmp_path / "cache" / "aforesaid")]] * 2


def test_uncompiled_it_does_the_same() -> None:
    code = (
        "from aforesaid.fleet import *;"
        "short = {'minutes': 1.0, 'speak_from': 0.5, 'speak_until': 0.7, 'delay_ms': 40.0};"
        "runs = [simulate_fleet(Paper(8, 3, delay_spread=x, **short).plan()) for x in (0.0, 0.5)];"
        "print(*[(o.held, o.deliveries, o.receipts, sum(o.control.values())) for o in runs])"
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
    assert told.pop().startswith("(0, ")


BROKEN = """
import aforesaid.fleet.handshake as handshake
from aforesaid.fleet import Paper, simulate_fleet

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
