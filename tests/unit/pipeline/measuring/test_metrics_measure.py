"""What a task measures, without Spark: latencies against the causal optimum, bins, series, settings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aforesaid.pipeline.measuring.driver import _runs, find_sources
from aforesaid.pipeline.measuring.measure import BINS_PER_OCTAVE, ZERO_BIN, Piece, bin_of, measure
from aforesaid.pipeline.measuring.optimum import optimum, quality
from aforesaid.pipeline.measuring.settings import settings
from aforesaid.sim import Paper, Scenario, simulate
from aforesaid.sim.storing import simulate_to
from aforesaid.trace import MemoryTrace

PER_LINK = {"kind": "per_link", "spread": {"kind": "uniform", "min_ms": 1, "max_ms": 60}}
CONSTANT = {"kind": "constant", "ms": 7}
RANDOM = {"kind": "lognormal", "median_ms": 15, "sigma": 0.9}


def scenario_with(algorithm: str, delay: dict[str, Any], **parts: Any) -> Scenario:
    network = {"delay": delay, **parts.pop("network", {})}
    load = [{"kind": "rate", "per_second": 50}, {"kind": "chain", "per_second": 10}]
    return Scenario.of(
        {
            "algorithm": algorithm,
            "processes": 6,
            "duration_ms": 500,
            "network": network,
            "workload": load,
            **parts,
        }
    )


def above_optimum(scenario: Scenario, trace: MemoryTrace) -> np.ndarray:
    """How far each delivery by another than its sender lies above its optimum, in ns."""
    best = optimum(scenario, trace.processes.name, trace.messages)
    assert best is not None
    parts = []
    for process, log in trace.logs():
        others = trace.messages.origin[log.message] != process
        parts.append(log.time_ns[others] - best.at(process, log.message[others]))
    return np.concatenate(parts)


@pytest.mark.parametrize(
    ("algorithm", "delay"),
    [
        # RST is latency-optimal: every delivery is at the latest direct arrival of what had to come first.
        ("rst", PER_LINK),
        ("ks", PER_LINK),
        # Everyone relays at once, so a broadcast comes by the shortest way, and so did all before it.
        ("reliable", PER_LINK),
        ("waiting", PER_LINK),
        ("no_waiting", PER_LINK),
        ("best_effort", CONSTANT),
        ("waiting", CONSTANT),
    ],
)
def test_an_optimal_algorithm_is_exactly_at_the_optimum(algorithm: str, delay: dict[str, Any]) -> None:
    scenario = scenario_with(algorithm, delay)
    _, trace = simulate(scenario)
    above = above_optimum(scenario, trace)
    assert quality(scenario) == "exact"
    assert len(above) > 50
    assert (above.min(), above.max()) == (0, 0)


@pytest.mark.parametrize("algorithm", ["hybrid_basic", "hybrid_sps", "mf", "best_effort", "pak"])
def test_others_are_above_it_and_never_below(algorithm: str) -> None:
    scenario = scenario_with(algorithm, PER_LINK)
    _, trace = simulate(scenario)
    above = above_optimum(scenario, trace)
    assert above.min() >= 0
    assert above.max() > 0


@pytest.mark.parametrize("algorithm", ["waiting", "reliable", "rst", "hybrid_multicast", "no_waiting_gc"])
@pytest.mark.parametrize(
    "delay", [RANDOM, {"kind": "schedule", "points": [[0, 50], [300, 5]]}, {**PER_LINK, "jitter_ms": 30}]
)
def test_a_bound_is_not_beaten_on_a_random_network_that_loses(algorithm: str, delay: dict[str, Any]) -> None:
    scenario = scenario_with(algorithm, delay, network={"loss": 0.1, "duplication": 0.1, "retransmit": True})
    _, trace = simulate(scenario)
    assert quality(scenario) == "bound"
    assert above_optimum(scenario, trace).min() >= 0


def test_a_fault_makes_the_optimum_a_bound_and_a_foreign_run_has_none() -> None:
    assert quality(scenario_with("reliable", CONSTANT, fault=[{"kind": "crash", "at_ms": 9}])) == "bound"
    assert quality(None) == "none"


def test_a_bin_is_narrow_and_has_its_place() -> None:
    values = np.array([-5, 0, 1, 2, 1_000, 999_999, 10**9, 2**62], np.int64)
    bins = bin_of(values)
    assert bins[:4].tolist() == [ZERO_BIN, ZERO_BIN, 0, BINS_PER_OCTAVE]
    low, high = 2.0 ** (bins[2:] / BINS_PER_OCTAVE), 2.0 ** ((bins[2:] + 1) / BINS_PER_OCTAVE)
    assert np.all((low <= values[2:] * (1 + 1e-12)) & (values[2:] < high))
    assert high[0] / low[0] == pytest.approx(1.022, abs=0.001)


def rows_of(path: Path, bucket_ms: float = 50) -> list[dict[str, Any]]:
    pieces = [Piece(path, range(0, 3)), Piece(path, range(3, 6))]
    return [row for batch in measure(pieces, bucket_ms) for row in batch.to_pylist()]


def test_pieces_add_up_to_the_whole(tmp_path: Path) -> None:
    scenario = scenario_with("waiting", RANDOM, sample_ms=10)
    simulate_to(scenario, tmp_path, "r", False)
    rows = rows_of(tmp_path / "run=r")
    outcome, trace = simulate(scenario)
    for metric in ("latency", "above_optimum"):
        ours = [row for row in rows if (row["kind"], row["metric"]) == ("histogram", metric)]
        assert sum(row["count"] for row in ours) == outcome.deliveries - outcome.messages
    latency_ns = np.concatenate(
        [log.time_ns - trace.messages.time_ns[log.message] for _, log in trace.logs()]
    )
    ours = [row for row in rows if row["metric"] == "latency"]
    assert sum(row["total"] for row in ours) == latency_ns.sum()
    assert max(row["high"] for row in ours) == latency_ns.max()
    facts = {row["metric"]: row["total"] for row in rows if row["kind"] == "fact"}
    assert facts == {
        "messages": outcome.messages,
        "deliveries": outcome.deliveries,
        "frames_sent": outcome.counters.sent,
        "frames_per_message": outcome.counters.sent / outcome.messages,
    }


def test_series_are_means_of_buckets_and_counters_become_rates(tmp_path: Path) -> None:
    scenario = scenario_with("waiting", CONSTANT, sample_ms=10)
    simulate_to(scenario, tmp_path, "r", False)
    _, trace = simulate(scenario)
    series = {
        (row["metric"], row["slot"]): row for row in rows_of(tmp_path / "run=r") if row["kind"] == "series"
    }
    samples = trace.samples
    flights = [
        value
        for time_ns, metric, value in zip(samples.time_ns, samples.metric, samples.value, strict=True)
        if metric == "in_flight" and 50 <= time_ns / 1e6 < 100
    ]
    row = series["in_flight", 1]
    assert (row["count"], row["total"], row["high"]) == (5, pytest.approx(np.mean(flights)), max(flights))
    sent = {
        time_ns / 1e6: value
        for time_ns, metric, value in zip(samples.time_ns, samples.metric, samples.value, strict=True)
        if metric == "frames_sent"
    }
    assert series["frames_sent_per_second", 1]["total"] == pytest.approx((sent[90] - sent[40]) / 0.05)


@pytest.mark.parametrize("traced", [5, "all"])
def test_of_a_fleet_the_traced_are_measured_and_the_samples_of_all(tmp_path: Path, traced: Any) -> None:
    paper = Paper(30, minutes=3.0, speak_from=1.0, speak_until=2.0, delay_ms=100.0, traced=traced)
    simulate_to(paper, tmp_path, "fleet", False)
    rows = rows_of(tmp_path / "run=fleet", 1_000)
    facts = {row["metric"]: row["total"] for row in rows if row["kind"] == "fact"}
    series = {row["metric"] for row in rows if row["kind"] == "series"}
    gauges = {"entries", "expected", "buffered", "links", "inside"}
    assert series == gauges | {"control_sent_per_second", "flooded_sent_per_second"}
    assert {row["metric"] for row in rows if row["kind"] == "histogram"} == {"latency"}
    # Control messages of all for each message of some would tell nothing.
    assert ("control_per_message" in facts) == (traced == "all")
    (source,) = find_sources(tmp_path).runs
    (run,) = _runs([source]).to_pylist()
    assert (run["processes"], run["duration_ms"], run["optimum"]) == (30, 180_000.0, "none")


def test_settings_name_what_differs_and_nothing_else() -> None:
    scenarios = [
        scenario_with("waiting", CONSTANT).to_json(),
        scenario_with("reliable", CONSTANT, seed=5).to_json(),
    ]
    assert settings(scenarios) == ["", ""]
    scenarios = [
        scenario_with("waiting", CONSTANT, network={"loss": 0.1, "retransmit": True}).to_json(),
        scenario_with("waiting", {"kind": "constant", "ms": 9}, network={"retransmit": True}).to_json(),
        "{}",
        "not json",
    ]
    first, second, third, fourth = settings(scenarios)
    assert "loss=0.1" in first
    assert "ms=9" in second
    assert (third, fourth) == ("", "")


def test_a_run_in_which_nothing_is_said_has_no_latency(tmp_path: Path) -> None:
    scenario = scenario_with("waiting", CONSTANT, workload=[], sample_ms=100)
    simulate_to(scenario, tmp_path, "r", False)
    rows = rows_of(tmp_path / "run=r")
    assert {row["kind"] for row in rows} == {"fact", "series"}
    assert {row["total"] for row in rows if row["kind"] == "fact"} == {0}
