"""Scenarios: what is read is what was written, and every error names the key and what is allowed."""

import json
from pathlib import Path
from typing import Any

import pytest

from aforesaid.core import Misuse
from aforesaid.sim import Scenario, read_experiment
from aforesaid.sim.grid import read_grid

PLAIN: dict[str, Any] = {"algorithm": "waiting", "processes": 3}


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"algorithm": "wating"}, "unknown algorithm 'wating', did you mean waiting? there are: best_effort"),
        ({"processes": 0}, "processes: expected `int` >= 1"),
        ({"proceses": 3}, "unknown key `proceses`, did you mean processes? known keys: algorithm, "),
        ({"network": {"los": 1}}, "network: unknown key `los`, did you mean loss? known keys: delay, loss"),
        ({"network": {"loss": 2}}, "network.loss: expected `float` < 1.0"),
        ({"network": {"loss": 0.1}}, "waiting needs reliable links"),
        (
            {"network": {"delay": {"kind": "gamma"}}},
            "allowed: constant, uniform, lognormal, per_link, schedule",
        ),
        ({"network": {"delay": {"kind": "uniform", "min_ms": 3, "max_ms": 1}}}, "max_ms 1 is below min_ms 3"),
        (
            {"network": {"delay": {"kind": "schedule", "points": [[5, 1], [5, 2]]}}},
            "the times of a schedule's points must increase",
        ),
        (
            {"workload": [{"kind": "rate", "per_second": -1}]},
            "workload[0].per_second: expected `float` > 0.0",
        ),
        ({"workload": [{"kind": "rat"}]}, "allowed: rate, bursts, hot_spot, chain, pipeline, all_to_all"),
        (
            {"workload": [{"kind": "rate", "per_second": 1, "bogus": 2}]},
            "workload[0]: unknown key `bogus`; known keys: kind, per_second, arrivals, fan_out, processes",
        ),
        ({"workload": [{"kind": "rate", "per_second": 1, "arrivals": "x"}]}, "allowed: poisson, periodic"),
        (
            {"workload": [{"kind": "rate", "per_second": 1, "processes": ["p3"]}]},
            "the processes are p0 to p2",
        ),
        ({"fault": [{"kind": "crash"}]}, "give either at_ms or after_deliveries"),
        ({"fault": [{"kind": "crash", "at_ms": [5, 1]}]}, "at_ms must be a time from 0 on"),
        ({"fault": [{"kind": "crash", "at_ms": -1}]}, "at_ms must be a time from 0 on"),
        ({"fault": [{"kind": "crash", "at_ms": 1, "process": "q"}]}, "fault crash names 'q'"),
        (
            {"fault": [{"kind": "crash", "at_ms": 1, "share": 0.95}]},
            "fault[0].share: expected `float` <= 0.9",
        ),
        ({"fault": [{"kind": "crash", "after_deliveries": 1, "share": 0.5}]}, "share goes with at_ms"),
        ({"fault": [{"kind": "crash", "at_ms": 1, "process": "p0", "share": 0.5}]}, "the seed chooses"),
        ({"fault": [{"kind": "churn"}]}, "give a rate: joins_per_second, leaves_per_second or crashes_per"),
        (
            {"fault": [{"kind": "churn", "joins_per_second": -1}]},
            "fault[0].joins_per_second: expected `float` >=",
        ),
        ({"fault": [{"kind": "churn", "joins_per_second": 1}]}, "waiting needs a fixed group"),
        ({"fault": [{"kind": "churn", "leaves_per_second": 1}]}, "waiting needs a fixed group"),
        (
            {"fault": [{"kind": "churn", "joins_per_second": 1, "from_ms": 5, "until_ms": 5}]},
            "fault churn: until_ms 5 is not after from_ms 5",
        ),
        (
            {"fault": [{"kind": "churn", "rate": 1}]},
            "fault[0]: unknown key `rate`; known keys: kind, from_ms, until_ms, joins_per_second, leaves_per",
        ),
        (
            {"fault": [{"kind": "rewire", "per_second": 1}]},
            "fault rewire: waiting has no links that open and close; these have: ",
        ),
        ({"fault": [{"kind": "flap", "at_ms": 1}]}, "fault flap: waiting has no links that open and close"),
        ({"fault": [{"kind": "flap", "at_ms": [2, 1]}]}, "fault flap: at_ms must be a time from 0 on"),
        ({"fault": [{"kind": "flap", "at_ms": 1, "process": "q"}]}, "fault flap names 'q'"),
        (
            {"fault": [{"kind": "rewire", "per_second": 1, "open": 0, "close": 0}]},
            "one of open, close, reopen and flap must be above 0",
        ),
        ({"fault": [{"kind": "rewire"}]}, "fault[0]: missing key `per_second`"),
        ({"network": {"control_loss": 1}}, "network.control_loss: expected `float` < 1.0"),
        (
            {"workload": [{"kind": "crowd", "every_ms": 1, "size": 2, "from_ms": 9, "until_ms": 3}]},
            "workload crowd: until_ms 3 is not after from_ms 9",
        ),
        (
            {"workload": [{"kind": "crowd", "every_ms": 0, "size": 2}]},
            "workload[0].every_ms: expected `float` > 0",
        ),
        ({"fault": [{"kind": "join", "at_ms": 1}]}, "waiting needs a fixed group"),
        (
            {"fault": [{"kind": "partition", "from_ms": 2, "until_ms": 1, "groups": [["p0"], ["p1"]]}]},
            "until_ms 1 is not after from_ms 2",
        ),
        (
            {"fault": [{"kind": "partition", "from_ms": 1, "until_ms": 2, "groups": [["p0"], ["p0"]]}]},
            "a process stands in two groups",
        ),
        (
            {
                "fault": [
                    {
                        "kind": "partition",
                        "from_ms": 1,
                        "until_ms": 2,
                        "groups": [["p0"], ["p1"]],
                        "frames": "lost",
                    }
                ]
            },
            "waiting needs reliable links",
        ),
        (
            {"algorithm": "waiting_uniform", "fault": [{"kind": "suspect", "at_ms": 1}]},
            "perfect failure detector",
        ),
        (
            {
                "algorithm": "waiting_majority",
                "fault": [{"kind": "crash", "at_ms": 1}, {"kind": "crash", "at_ms": 2}],
            },
            "needs a correct majority, but 2 of 3 may crash",
        ),
        (
            {"algorithm": "waiting_majority", "fault": [{"kind": "crash", "at_ms": 1, "share": 0.5}]},
            "needs a correct majority, but 2 of 3 may crash",
        ),
        (
            {"algorithm": "waiting_majority", "fault": [{"kind": "churn", "crashes_per_second": 0.1}]},
            "needs a correct majority, but 3 of 3 may crash",
        ),
        (
            {"algorithm": "mf", "workload": [{"kind": "crowd", "every_ms": 1, "size": 1, "fan_out": 2}]},
            "mf sends to one process at a time, but fan_out is 2",
        ),
        (
            {"algorithm": "mf", "workload": [{"kind": "rate", "per_second": 1, "fan_out": 2}]},
            "mf sends to one process at a time, but fan_out is 2",
        ),
        ({"algorithm": "pak", "options": {"k": 2}}, "options: k must be at least 2 * credit + 1 = 3"),
        ({"options": {"k": 3}}, "options.k: waiting has no such option; it has: none"),
        ({"duration_ms": 0}, "duration_ms: expected `float` > 0.0"),
    ],
)
def test_an_error_names_the_key_and_what_is_allowed(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(Misuse) as error:
        Scenario.of({**PLAIN, **parts})
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read_or_parsed_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"cannot read scenario .*missing.toml: No such file"):
        Scenario.from_file(tmp_path / "missing.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("processes = = 3")
    with pytest.raises(Misuse, match=r"broken.toml is not TOML"):
        Scenario.from_file(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(Misuse, match=r"broken.toml is not TOML"):
        Scenario.from_file(broken)
    broken.write_text("algorithm = 'waiting'\nprocesses = -3")
    with pytest.raises(Misuse, match=r"broken.toml: processes: expected"):
        Scenario.from_file(broken)


def test_json_and_back_is_the_same_scenario() -> None:
    scenario = Scenario.of(
        {
            **PLAIN,
            "network": {"delay": {"kind": "per_link", "spread": {"kind": "lognormal", "median_ms": 3}}},
            "workload": [
                {"kind": "pipeline", "per_second": 2},
                {"kind": "hot_spot", "per_second": 1, "hot": ["p1"]},
            ],
            "fault": [{"kind": "crash", "at_ms": [1, 5]}, {"kind": "pause", "at_ms": 3, "for_ms": 2}],
        }
    )
    assert Scenario.of(json.loads(scenario.to_json())) == scenario


def test_every_scenario_that_ships_is_valid() -> None:
    paths = sorted((Path(__file__).parents[3] / "scenarios").glob("*.toml"))
    assert paths
    for path in paths:
        if "[sweep]" in path.read_text():
            read_grid(path)
        else:
            read_experiment(path)


def test_the_json_of_a_trace_is_a_scenario_file(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_text(Scenario.of(PLAIN).to_json())
    assert Scenario.from_file(path) == Scenario.of(PLAIN)
    path.write_text("[1]")
    with pytest.raises(Misuse, match=r"scenario.json is not a scenario: expected a table"):
        Scenario.from_file(path)
    path.write_text("{")
    with pytest.raises(Misuse, match=r"scenario.json is not JSON"):
        Scenario.from_file(path)
