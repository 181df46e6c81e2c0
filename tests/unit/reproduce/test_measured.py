"""What several seeds say together: means, 95 % intervals, spans of time; and series out of samples."""

from pathlib import Path

import numpy as np
import pytest

from aforesaid.core import Misuse
from aforesaid.reproduce.asking import Asked
from aforesaid.reproduce.figures import plan_own
from aforesaid.reproduce.measured import T_975, Group, delay_at, mean_and_half, plateau, thinned
from aforesaid.sim import Paper, Scenario, simulate
from aforesaid.sim.storing import simulate_to

BASE = {"algorithm": "prc", "processes": 8, "duration_ms": 3_000, "sample_ms": 77, "network": {"fifo": True}}


def test_an_interval_is_students() -> None:
    mean, half = mean_and_half(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    assert mean.tolist() == [2.0, 5.0]
    assert half is not None
    assert half.tolist() == pytest.approx([4.303 / np.sqrt(3), 0.0])
    assert mean_and_half(np.array([[1.0, 2.0]]))[1] is None


@pytest.mark.parametrize("seeds", [2, 5, 18, 600])
def test_an_interval_covers_the_truth_as_often_as_it_says(seeds: int) -> None:
    """Nineteen times in twenty; a little more often where the table has not this very number of seeds."""
    drawn = np.random.default_rng(7).normal(3.0, 2.0, (seeds, 4_000))
    mean, half = mean_and_half(drawn)
    assert half is not None
    assert 0.94 < float((np.abs(mean - 3.0) <= half).mean()) < 0.965


def test_the_quantiles_fall_towards_the_normal_ones() -> None:
    values = [T_975[degrees] for degrees in sorted(T_975)]
    assert values == sorted(set(values), reverse=True)
    assert values[-1] > 1.96


def test_neighbours_are_taken_together() -> None:
    assert thinned(np.arange(10.0), 3).tolist() == [1.5, 5.5]
    assert thinned(np.arange(3.0), 5).tolist() == [0.0, 1.0, 2.0]


def test_series_are_per_process_and_rates_per_second(tmp_path: Path) -> None:
    """Against the simulator's own counters and gauges."""
    asked = Asked(tmp_path, seeds=2)
    fault = [{"kind": "rewire", "per_second": 20}]
    ((place, runs),) = asked.groups({**BASE, "fault": fault}, {}).items()
    assert place == ()
    for one in runs:
        simulate_to(one.scenario, asked.runs, one.run, False)
    group = Group(runs, asked.runs)
    assert group.drained
    assert not group.has("flooded")
    space, sent = [], []
    for seed in (1, 2):
        samples = simulate(Scenario.of({**BASE, "fault": fault, "seed": seed}))[1].samples
        by_metric = {name: samples.value[np.array(samples.metric) == name] for name in set(samples.metric)}
        space.append((by_metric["expected"] + by_metric["buffered"]) / 8)
        sent.append(by_metric["control_sent"][-1] / 8)
    length = len(group.time_s)
    band = group.band("space", length)
    assert band.mean.tolist() == pytest.approx(np.mean([row[:length] for row in space], axis=0).tolist())
    assert space[0].max() > 0
    for one, in_all in zip(runs, sent, strict=True):
        alone = Group([one], asked.runs)
        rate = alone.within("control", 0, float(alone.time_s[-1]))
        assert rate is not None
        assert rate.mean * alone.time_s[-1] == pytest.approx(in_all)
    assert group.within("space", 0, 1e6) is None


def test_the_delay_below_a_figure_is_that_of_all_links() -> None:
    times = np.array([0.0, 900.0, 1650.0, 3000.0])
    fleet = delay_at(Paper(100), times)
    assert fleet is not None
    assert fleet.tolist() == pytest.approx([0.001, 0.011, 1.261, 2.501])
    points = {"kind": "schedule", "points": [[0, 100], [10_000, 200]]}
    sloping = delay_at(Scenario.of({**BASE, "network": {"fifo": True, "delay": points}}), np.array([5.0]))
    assert sloping is not None
    assert sloping.tolist() == pytest.approx([0.15])
    own = {"kind": "per_link", "spread": {"kind": "constant", "ms": 5}}
    assert delay_at(Scenario.of({**BASE, "network": {"fifo": True, "delay": own}}), times) is None


def test_runs_are_summed_up_before_their_processes_fall_silent() -> None:
    assert plateau(Paper(100)) == (42 * 60, 50 * 60)
    assert plateau(Scenario.of(BASE)) == (2.5, 3.0)


def test_a_figure_has_no_more_curves_than_can_be_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        'algorithm = "waiting"\nsample_ms = 5\n[sweep]\nprocesses = [2, 3, 4, 5, 6, 7, 8, 9, 10]\n'
    )
    with pytest.raises(Misuse, match=r"own.toml: 9 curves; at most 8 can be told apart in a figure"):
        plan_own(Asked(tmp_path), path)
    groups = plan_own(Asked(tmp_path, processes=(4, 5), seed=7, seeds=3), path)
    assert list(groups) == [(4,), (5,)]
    assert [one.scenario.seed for one in groups[4,]] == [7, 8, 9]
