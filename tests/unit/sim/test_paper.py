"""Experiments on the fleet as files describe them: what is read, what is refused, and without a compiler."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aforesaid.core import MILLISECOND, Misuse
from aforesaid.fleet import Plan, delay_at
from aforesaid.sim import Paper, Scenario, experiment_of, read_experiment, run_name
from aforesaid.sim.grid import cost, grid_of

PLAIN = {"engine": "fleet", "processes": 100}


def test_the_engine_says_what_a_file_describes(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text('engine = "fleet"\nprocesses = 100\ndelay_ms = 300\ntraced = "all"\n')
    assert read_experiment(path) == Paper(100, delay_ms=300.0, traced="all")
    assert experiment_of({"algorithm": "waiting", "processes": 3}) == Scenario(
        algorithm="waiting", processes=3
    )


def test_what_a_trace_keeps_of_it_describes_it_entirely() -> None:
    paper = experiment_of({**PLAIN, "minutes": 8, "traced": 7})
    kept = json.loads(paper.to_json())
    assert (kept["engine"], kept["minutes"], kept["speak_until"]) == ("fleet", 8.0, 50.0)
    assert experiment_of(kept) == paper
    rising = experiment_of({**PLAIN, "delay_ms": [[0, 1], [5, 300]]})
    assert experiment_of(json.loads(rising.to_json())) == rising
    assert run_name(paper) == "fleet-n100-s1"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"engine": "float"}, "engine: 'float' is none; allowed: fleet; without the key, the simulator"),
        ({"engine": 3}, "engine: 3 is none; allowed: fleet"),
        ({"algorithm": "prc"}, "algorithm: the fleet runs prc_spray and preventive_spray, not prc"),
        ({"algorithms": "prc"}, "unknown key `algorithms`, did you mean algorithm?"),
        ({"processes": 1}, "processes: expected `int` >= 2"),
        ({"processes": "many"}, "processes: expected `int`, got `str`"),
        ({"seed": -1}, "seed: expected `int` >= 0"),
        ({"minutes": 0}, "minutes: expected `float` > 0.0"),
        ({"joins_per_second": 0}, "joins_per_second: expected `float` > 0.0"),
        ({"broadcasts_per_second": 2.5}, "broadcasts_per_second: expected `int`, got `float`"),
        ({"delay_ms": 30_000}, "delay_ms: expected `float` < 30000.0"),
        ({"crashes_per_minute": 101}, "crashes_per_minute: expected `float` <= 100.0"),
        ({"sample_ms": 0}, "sample_ms: expected `float` >= 10.0"),
        ({"sample_ms": 61_000, "minutes": 1}, "sample_ms: 61000 is longer than the run of 1 minutes"),
        ({"speak_from": 60}, "speak_until: 50 is before speak_from, which is 60; both are minutes"),
        ({"delay_ms": []}, "delay_ms: expected `array` of length >= 1; allowed: milliseconds from 1"),
        ({"delay_ms": [[0, 0]]}, "delay_ms[0][1]: expected `float` >= 1.0; allowed: milliseconds from 1"),
        ({"delay_ms": [[5, 1], [5, 2]]}, "delay_ms: the minutes of its points must increase"),
        ({"delay_ms": [[0, 9000], [0.1, 1]]}, "delay_ms: it falls so fast until minute 0.1 that frames"),
        (
            {"delay_ms": {"kind": "per_link"}},
            "delay_ms: on the fleet delay_ms is a number or points, and delay_spread",
        ),
        (
            {"network": {"delay": {}}},
            "network: on the fleet delay_ms is a number or points, and delay_spread says",
        ),
        ({"period_ms": 5000}, "period_ms: 5000 is not longer than there and back, with delays of up to 2501"),
        ({"handshake_ms": 0}, "handshake_ms: expected `float` >= 1.0"),
        ({"tries": 0}, "tries: expected `int` >= 1"),
        ({"detector_ms": "soon"}, "detector_ms: expected `float`, got `str`"),
        ({"traced": "some"}, "traced: invalid enum value 'some'; allowed: a number of processes, all"),
        ({"traced": -1}, "traced: expected `int` >= 0; allowed: a number of processes, all"),
    ],
)
def test_bad_keys_are_named_with_what_is_allowed(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(Misuse) as error:
        experiment_of({**PLAIN, **keys})
    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)


def test_every_constant_of_the_plan_is_a_key() -> None:
    keys = {"period_ms": 20_000, "handshake_ms": 9_000, "tries": 2, "detector_ms": 700, "delay_ms": 300}
    plan = Paper.of({"processes": 100, **keys}).plan()
    assert (plan.period, plan.patience, plan.tries, plan.detector) == (
        20_000 * MILLISECOND,
        9_000 * MILLISECOND + 7,
        2,
        700 * MILLISECOND + 3,
    )
    default = Paper(100).plan()
    assert (default.period, default.patience, default.tries, default.detector) == (
        Plan.period,
        Plan.patience,
        Plan.tries,
        Plan.detector,
    )


def test_a_delay_follows_straight_lines_between_points() -> None:
    plan = Paper(100, delay_ms=[(1, 1), (2, 601), (2.5, 1)]).plan()
    plan.validate()
    at = delay_at(plan, np.array([0.0, 59.5, 90.0, 120.0, 135.0, 150.0, 3000.0]))
    assert at.tolist() == pytest.approx([0.001, 0.001, 0.301, 0.601, 0.301, 0.001, 0.001])


def test_a_grid_of_fleets() -> None:
    grid = grid_of(
        {
            "engine": "fleet",
            "minutes": 20,
            "speak_until": 15,
            "sweep": {"processes": [100, 1000], "delay_ms": [100, 2500], "seeds": 2},
        }
    )
    assert [one.run for one in grid.planned][::2] == [
        "fleet-n100-delay_ms100-s1",
        "fleet-n100-delay_ms2500-s1",
        "fleet-n1000-delay_ms100-s1",
        "fleet-n1000-delay_ms2500-s1",
    ]
    assert grid.planned[-1].scenario == Paper(1000, 2, minutes=20.0, speak_until=15.0, delay_ms=2500.0)
    with pytest.raises(Misuse, match=r"delay_ms = 0: delay_ms: expected `float` >= 1"):
        grid_of({**PLAIN, "sweep": {"delay_ms": [100, 0]}})


def test_the_cost_grows_with_what_is_received() -> None:
    small, large = Paper(100), Paper(1000)
    silent, busy = Paper(100, broadcasts_per_second=0), Paper(100, broadcasts_per_second=100)
    assert 0 < cost(silent) < cost(Paper(100, minutes=20.0)) < cost(small) < cost(busy)
    assert cost(small) < cost(large)
    assert cost(Paper(100, minutes=1.0, speak_from=2.0)) > 0


def test_files_are_read_without_the_compiler() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from aforesaid.sim.grid import grid_of\n"
        "print(grid_of({'engine': 'fleet', 'sweep': {'processes': [2, 3]}}).planned[1].run)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "fleet-n3-s1\n"
