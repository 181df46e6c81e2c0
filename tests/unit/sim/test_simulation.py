"""The simulator: determinism, network models, faults, workloads and phases."""

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from aforesaid.core import MILLISECOND, MessageId
from aforesaid.protocols.broadcast.waiting import Waiting
from aforesaid.protocols.layers.best_effort import BestEffort
from aforesaid.sim import Scenario, SimulationFailed, simulate
from aforesaid.sim.chance import Chance
from aforesaid.sim.delays import sampler
from aforesaid.sim.parts import Constant, LogNormal, PerLink, Schedule, Uniform
from support.harness import judged, scenario

EVERYTHING: dict[str, Any] = {
    "algorithm": "waiting",
    "processes": 5,
    "seed": 11,
    "duration_ms": 800,
    "sample_ms": 100,
    "network": {
        "delay": {"kind": "lognormal", "median_ms": 10, "sigma": 0.8},
        "loss": 0.1,
        "duplication": 0.1,
        "retransmit": True,
    },
    "workload": [
        {"kind": "rate", "per_second": 10},
        {"kind": "bursts", "every_ms": 150, "size": 4},
        {"kind": "hot_spot", "per_second": 10, "hot": ["p1"]},
        {"kind": "chain", "per_second": 10, "depth": 3},
        {"kind": "pipeline", "per_second": 5},
        {"kind": "all_to_all", "every_ms": 200},
    ],
    "fault": [
        {"kind": "crash", "at_ms": [300, 500]},
        {"kind": "pause", "at_ms": 100, "for_ms": 120},
        {
            "kind": "partition",
            "from_ms": 200,
            "until_ms": 350,
            "groups": [["p0", "p1"], ["p2", "p3"]],
            "frames": "lost",
        },
    ],
}

GOLDEN = "8ca1816175f5ebd241321bffd64172d1"


def test_the_same_scenario_gives_the_same_trace_on_any_machine() -> None:
    outcome, _ = simulate(Scenario.of(EVERYTHING))
    assert outcome.run.digest == GOLDEN


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_trace_does_not_depend_on_the_order_of_hashing(hash_seed: str) -> None:
    code = (
        "import json, sys; from aforesaid.sim import Scenario, simulate;"
        "print(simulate(Scenario.of(json.loads(sys.argv[1])))[0].run.digest)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, json.dumps(EVERYTHING)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    assert run.stdout.strip() == GOLDEN


def test_another_seed_gives_another_trace() -> None:
    digests = {simulate(Scenario.of({**EVERYTHING, "seed": seed}))[0].run.digest for seed in range(5)}
    assert len(digests) == 5


def test_everything_that_can_go_wrong_did_and_the_order_held() -> None:
    outcome, _, report = judged(Scenario.of(EVERYTHING))
    counters = outcome.counters
    assert counters.faults == {"crash": 1, "pause": 1, "partition": 1}
    assert min(counters.lost, counters.duplicated, counters.overtook) > 0
    assert outcome.run.ended == "drained"
    assert sum(outcome.held.values()) == 0
    assert report.value() == "kept"


def test_local_space_is_sampled_where_an_algorithm_counts_it() -> None:
    """Of vector clocks: a vector and, in the layer below, a counter of each process that has spoken."""
    data = {"algorithm": "waiting", "processes": 4, "sample_ms": 10, "duration_ms": 400}
    _, trace = simulate(Scenario.of({**data, "workload": [{"kind": "all_to_all", "every_ms": 100}]}))
    by_metric = {
        name: trace.samples.value[np.array(trace.samples.metric) == name] for name in ("entries", "inside")
    }
    assert set(by_metric["inside"]) == {4}
    assert by_metric["entries"][0] == 4 * 4
    assert by_metric["entries"][-1] == 4 * (4 + 4)
    _, trace = simulate(Scenario.of({**data, "algorithm": "no_waiting"}))
    assert not {"entries", "inside"} & set(trace.samples.metric)


def test_samples_are_taken_and_do_not_keep_the_run_going() -> None:
    outcome, trace = simulate(Scenario.of(EVERYTHING))
    assert set(trace.samples.metric) >= {"pending", "link_unacked", "frames_sent", "in_flight"}
    assert int(trace.samples.time_ns.max()) <= outcome.ended_ns


@pytest.mark.parametrize(
    ("delay", "low", "high"),
    [
        (Constant(ms=5), 5, 5),
        (Uniform(min_ms=2, max_ms=4), 2, 4),
        (LogNormal(median_ms=10, sigma=0.5), 1.5, 63),
        (PerLink(spread=Uniform(min_ms=1, max_ms=9), jitter_ms=1), 1, 10),
    ],
)
def test_delays_stay_within_their_model(delay: Any, low: float, high: float) -> None:
    draw = sampler(delay, Chance(1, "test"))
    drawn = [draw("a", "b", 0) for _ in range(2_000)]
    assert low * MILLISECOND <= min(drawn)
    assert max(drawn) <= high * MILLISECOND


def test_a_link_has_its_own_delay() -> None:
    draw = sampler(PerLink(spread=Uniform(min_ms=1, max_ms=100)), Chance(1, "test"))
    links = [(a, b) for a in "abc" for b in "abc" if a != b]
    first = {link: draw(*link, 0) for link in links}
    assert len(set(first.values())) == len(links)
    assert {link: draw(*link, 10**9) for link in links} == first


def test_a_schedule_rises_in_straight_lines() -> None:
    draw = sampler(Schedule(points=[(0, 1), (10, 1), (20, 101)]), Chance(1, "test"))
    at = [draw("a", "b", ms * MILLISECOND) // MILLISECOND for ms in (0, 5, 10, 15, 20, 99)]
    assert at == [1, 1, 1, 51, 101, 101]


def test_fifo_links_keep_the_order_of_frames_and_others_do_not() -> None:
    parts: dict[str, Any] = {"workload": [{"kind": "bursts", "every_ms": 20, "size": 10}], "seed": 3}
    wild = {"kind": "uniform", "min_ms": 1, "max_ms": 50}
    fifo, _, _ = judged(scenario("best_effort", network={"delay": wild, "fifo": True}, **parts))
    loose, _, report = judged(scenario("best_effort", network={"delay": wild}, **parts))
    assert fifo.counters.overtook == 0
    assert loose.counters.overtook > 0
    assert report.verdicts["fifo"].value == "violated"


def test_a_partition_holds_frames_until_it_heals_and_one_way_means_one_way() -> None:
    parted = {"kind": "partition", "from_ms": 0, "until_ms": 300, "groups": [["p0"], ["p1"]], "one_way": True}
    outcome, trace = simulate(
        scenario(
            "best_effort",
            processes=2,
            network={"delay": {"kind": "constant", "ms": 5}},
            workload=[{"kind": "rate", "per_second": 50}],
            fault=[parted],
        )
    )
    origin = trace.messages.origin
    late = {process: _latencies(trace, process) for process in (0, 1)}
    assert outcome.counters.held > 0
    # p0 hears p1 at once; p1 hears p0 only after healing.
    assert max(late[0][origin[trace.log(0).message] == 1]) == 5 * MILLISECOND
    assert max(late[1][origin[trace.log(1).message] == 0]) > 100 * MILLISECOND


def _latencies(trace: Any, process: int) -> Any:
    log = trace.log(process)
    return log.time_ns - trace.messages.time_ns[log.message]


def test_a_paused_process_does_nothing_and_loses_nothing() -> None:
    outcome, trace, report = judged(
        scenario(
            "waiting",
            workload=[{"kind": "rate", "per_second": 40}],
            fault=[{"kind": "pause", "at_ms": 100, "for_ms": 150, "process": "p2"}],
        )
    )
    times = trace.log(2).time_ns // MILLISECOND
    assert not np.any((times > 100) & (times < 250))
    assert np.sum(times == 250) > 1
    assert report.value() == "kept"
    assert outcome.counters.faults == {"pause": 1}


def test_a_crash_silences_for_good_and_loses_part_of_what_was_in_flight() -> None:
    outcome, trace, _ = judged(
        scenario(
            "best_effort",
            processes=8,
            workload=[{"kind": "bursts", "every_ms": 50, "size": 5}],
            network={"delay": {"kind": "constant", "ms": 30}},
            fault=[
                {"kind": "crash", "at_ms": 210 + 10 * number, "process": f"p{number}"} for number in range(5)
            ],
        )
    )
    assert trace.processes.fate.count("crashed") == 5
    assert outcome.counters.lost > 0
    for process in range(5):
        end = trace.processes.ended_ns[process]
        assert np.all(trace.log(process).time_ns <= end)


def test_a_crash_after_so_many_deliveries_is_exact() -> None:
    _, trace, report = judged(
        scenario("waiting", fault=[{"kind": "crash", "after_deliveries": 3, "process": "p1"}])
    )
    assert len(trace.log(1)) == 3
    assert trace.processes.fate[1] == "crashed"
    assert report.value() == "kept"


def test_joiners_are_owed_what_comes_after_their_base_and_leavers_nothing() -> None:
    outcome, trace, report = judged(
        scenario(
            "reliable",
            duration_ms=1500,
            workload=[{"kind": "rate", "per_second": 30}],
            fault=[
                {"kind": "join", "at_ms": 200, "count": 3, "every_ms": 200},
                {"kind": "leave", "at_ms": 900, "process": "p1"},
            ],
        )
    )
    assert outcome.counters.faults == {"join": 3, "leave": 1}
    assert trace.processes.joined.tolist() == [False] * 4 + [True] * 3
    assert trace.processes.fate == ["alive", "left", *["alive"] * 5]
    assert all(len(trace.processes.base[process]) > 0 for process in (4, 5, 6))
    assert report.value() == "kept"
    # Newcomers speak too, and miss what was said before they came.
    assert {4, 5, 6} <= set(trace.messages.origin.tolist())
    assert len(trace.log(6)) < len(trace.messages)


def test_chains_and_pipelines_make_causal_chains() -> None:
    for kind in ("chain", "pipeline"):
        _, trace, _ = judged(scenario(workload=[{"kind": kind, "per_second": 10}]))
        replies = [message for message in range(len(trace.messages)) if len(trace.messages.after[message])]
        assert len(replies) > len(trace.messages) // 2
        others = [
            int(trace.messages.origin[earlier]) != int(trace.messages.origin[message])
            for message in replies
            for earlier in trace.messages.after[message]
        ]
        assert any(others)


def test_a_run_that_does_not_drain_in_time_is_cut() -> None:
    slow = {"delay": {"kind": "constant", "ms": 5_000}}
    outcome, _, report = judged(scenario(network=slow, drain_ms=100))
    assert outcome.run.ended == "cut"
    assert report.verdicts["agreement"].value == "unknown"
    assert report.verdicts["causal"].value == "kept"
    few, _ = simulate(scenario(events_max=50))
    assert few.run.ended == "cut"
    assert few.events == 50


class Broken(Waiting):
    """A protocol that breaks an invariant of its own."""

    def broadcast(self, payload: Any, now: int, out: Any) -> MessageId:
        raise AssertionError("an invariant of ours")


def test_a_protocol_that_breaks_its_own_invariant_stops_the_run_and_says_how_to_replay_it() -> None:
    with pytest.raises(SimulationFailed, match=r"waiting, seed 1, failed at .*an invariant of ours"):
        simulate(
            scenario(), build=lambda setup: Broken(setup.me, setup.group, BestEffort(setup.me, setup.group))
        )


def test_a_crash_behind_a_partition_loses_a_suffix_of_a_fifo_link() -> None:
    """What the partition holds was sent after what is on its way: it cannot arrive where that is lost."""
    for seed in range(40):
        _, _, report = judged(
            scenario(
                "best_effort",
                processes=3,
                seed=seed,
                duration_ms=300,
                network={"fifo": True, "delay": {"kind": "constant", "ms": 50}},
                workload=[{"kind": "rate", "per_second": 60}],
                fault=[
                    {"kind": "partition", "from_ms": 40, "until_ms": 200, "groups": [["p0"], ["p1", "p2"]]},
                    {"kind": "crash", "at_ms": 60, "process": "p0"},
                ],
            )
        )
        assert report.verdicts["fifo"].value == "kept", seed
