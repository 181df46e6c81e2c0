"""Scenarios: what is read is what was written, and every error names the key and what is allowed."""

import json
from pathlib import Path
from typing import Any

import pytest

from aforesaid.core import Misuse
from aforesaid.sim import Scenario

PLAIN: dict[str, Any] = {"algorithm": "waiting", "processes": 3}


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"algorithm": "wating"}, "unknown algorithm 'wating'; there are: best_effort, reliable"),
        ({"processes": 0}, "processes: expected `int` >= 1"),
        ({"proceses": 3}, "unknown key `proceses`; known keys: algorithm, processes"),
        ({"network": {"los": 1}}, "network: unknown key `los`; known keys: delay, loss"),
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
        Scenario.from_toml(tmp_path / "missing.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("processes = = 3")
    with pytest.raises(Misuse, match=r"broken.toml is not TOML"):
        Scenario.from_toml(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(Misuse, match=r"broken.toml is not TOML"):
        Scenario.from_toml(broken)
    broken.write_text("algorithm = 'waiting'\nprocesses = -3")
    with pytest.raises(Misuse, match=r"broken.toml: processes: expected"):
        Scenario.from_toml(broken)


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
        Scenario.from_toml(path)
