"""Grids: what a file with axes comes to, how its runs are called, and what is wrong with a bad one."""

from pathlib import Path
from typing import Any

import pytest

from aforesaid.core import Misuse
from aforesaid.sim import Scenario
from aforesaid.sim.grid import SCENARIOS_MAX, cost, grid_of, read_grid

BASE: dict[str, Any] = {"algorithm": "waiting", "processes": 3, "network": {"retransmit": True}}


def names(sweep: dict[str, Any], **base: Any) -> list[str]:
    return [one.run for one in grid_of({**BASE, **base, "sweep": sweep}).planned]


def test_the_product_of_the_axes_each_with_a_readable_name() -> None:
    assert names({"algorithm": ["waiting", "reliable"], "processes": [3, 5], "seeds": 2}) == [
        "waiting-n3-s1",
        "waiting-n3-s2",
        "waiting-n5-s1",
        "waiting-n5-s2",
        "reliable-n3-s1",
        "reliable-n3-s2",
        "reliable-n5-s1",
        "reliable-n5-s2",
    ]


def test_dotted_keys_quoted_or_not_and_items_of_lists_reach_their_place(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text("""
algorithm = "waiting"
processes = 3
network.retransmit = true
[[workload]]
kind = "rate"
per_second = 1
[sweep]
network.loss = [0, 0.25]
"network.duplication" = [0.5]
"workload[0].per_second" = [7]
seed = [9]
""")
    planned = read_grid(path).planned
    assert [one.run for one in planned] == [
        "waiting-n3-loss0-duplication0.5-per_second7-s9",
        "waiting-n3-loss0.25-duplication0.5-per_second7-s9",
    ]
    last = planned[1]
    assert last.axes == {
        "network.loss": 0.25,
        "network.duplication": 0.5,
        "workload[0].per_second": 7,
        "seed": 9,
    }
    assert isinstance(last.scenario, Scenario)
    assert (last.scenario.network.loss, last.scenario.network.retransmit) == (0.25, True)
    assert last.scenario == Scenario.of(
        {
            **BASE,
            "seed": 9,
            "network": {"retransmit": True, "loss": 0.25, "duplication": 0.5},
            "workload": [{"kind": "rate", "per_second": 7}],
        }
    )


def test_tables_and_lists_are_values_too_and_stand_in_the_name() -> None:
    delays = [{"kind": "constant", "ms": 5}, {"kind": "lognormal", "median_ms": 5, "sigma": 0.5}]
    faults = [[], [{"kind": "crash", "at_ms": 100}]]
    assert names({"network.delay": delays, "fault": faults}) == [
        "waiting-n3-delayconstant+5-faultnone-s1",
        "waiting-n3-delayconstant+5-faultcrash+100-s1",
        "waiting-n3-delaylognormal+5+0.5-faultnone-s1",
        "waiting-n3-delaylognormal+5+0.5-faultcrash+100-s1",
    ]


def test_names_that_would_be_alike_or_too_long_get_digits_of_a_hash() -> None:
    groups = [[["p0"], ["p1", "p2"]], [["p0", "p1"], ["p2"]]]
    faults = [[{"kind": "partition", "from_ms": 1, "until_ms": 2, "groups": parts}] for parts in groups]
    first, second = names({"fault": faults})
    assert first != second
    assert names({"fault": faults}) == [first, second]
    many = [{"kind": "crash", "at_ms": 1, "process": "p0"}] * 9
    (long,) = names({"fault": [many]})
    assert len(long) < 80


def test_the_base_may_lack_what_an_axis_gives() -> None:
    grid = grid_of({"sweep": {"algorithm": ["waiting"], "processes": [2]}})
    assert grid.planned[0].run == "waiting-n2-s1"


def test_refused_combinations_are_an_error_unless_they_are_skipped_and_counted() -> None:
    sweep = {"algorithm": ["waiting", "newtop"], "network.loss": [0, 0.1]}
    with pytest.raises(Misuse, match=r"algorithm = 'newtop', network.loss = 0: newtop needs FIFO links"):
        grid_of({**BASE, "sweep": sweep})
    grid = grid_of({**BASE, "sweep": {**sweep, "skip_refused": True}})
    assert [one.run for one in grid.planned] == ["waiting-n3-loss0-s1", "waiting-n3-loss0.1-s1"]
    assert len(grid.refused) == 2
    with pytest.raises(Misuse, match=r"every one of the 1 combinations is refused; the first: .*FIFO"):
        grid_of({**BASE, "sweep": {"algorithm": ["newtop"], "skip_refused": True}})


@pytest.mark.parametrize(
    ("sweep", "says"),
    [
        (None, "a table [sweep] of what varies; there is none"),
        ({"processes": 3}, "sweep.processes: expected a list of values to try, got 3"),
        ({"processes": []}, "sweep.processes: expected a list"),
        ({"processes": [3, 3]}, "sweep.processes: a value is listed twice"),
        ({"network": {"losss": [0]}}, "network: unknown key `losss`, did you mean loss? known keys: delay"),
        ({"nope": [1]}, "unknown key `nope`; known keys: algorithm, processes"),
        ({"workload[3].per_second": [1]}, "sweep.workload[3].per_second: the scenario has no item 3"),
        ({"seed.x": [1]}, "sweep.seed.x: the scenario has no table there"),
        ({"a b": [1]}, "sweep.a b: a key looks like network.loss"),
        ({"seeds": 0}, "sweep.seeds: expected how many seeds to run, got 0"),
        ({"seeds": [1, 2]}, "list single ones as seed = [...]"),
        ({"seeds": 2, "seed": [1]}, "give either seed or seeds"),
        ({"seeds": SCENARIOS_MAX + 1}, "at most 50,000 fit in one sweep"),
        ({"skip_refused": 1}, "sweep.skip_refused: expected true or false"),
        ({"algorithm": ["nope"]}, "algorithm = 'nope': unknown algorithm 'nope'; there are:"),
    ],
)
def test_a_bad_grid_is_one_line_that_names_the_key(sweep: Any, says: str) -> None:
    with pytest.raises(Misuse) as error:
        grid_of({**BASE, "seed": 1, "sweep": sweep})
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"cannot read grid .*missing.toml: No such file"):
        read_grid(tmp_path / "missing.toml")
    (tmp_path / "grid.toml").write_text("processes = 3")
    with pytest.raises(Misuse, match=r"grid.toml: a grid is a scenario and a table \[sweep\]"):
        read_grid(tmp_path / "grid.toml")


def test_cost_orders_runs_by_the_deliveries_they_come_to() -> None:
    def of(**parts: Any) -> float:
        return cost(Scenario.of({**BASE, **parts}))

    def load(**keys: Any) -> list[dict[str, Any]]:
        return [keys]

    assert of(processes=20) == pytest.approx(4 * of(processes=10))
    assert of(duration_ms=2000) == pytest.approx(2 * of(duration_ms=1000))
    assert of(workload=load(kind="rate", per_second=10)) == 10 * 3 * 3
    assert of(workload=load(kind="rate", per_second=10, processes=["p0"])) == 10 * 3
    assert of(workload=load(kind="hot_spot", per_second=10, hot=["p0"])) == 10 * 3
    assert of(workload=load(kind="bursts", every_ms=100, size=5)) == 50 * 3
    assert of(workload=load(kind="chain", per_second=10, depth=4)) == 50 * 3
    assert of(workload=load(kind="pipeline", per_second=10)) == 30 * 3
    assert of(workload=load(kind="all_to_all", every_ms=100)) == 30 * 3
