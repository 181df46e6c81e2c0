"""Algorithm 1' knows when everyone has delivered a message: never too early, and in the end always."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.protocols.broadcast.no_waiting import NoWaitingCollecting
from aforesaid.sim import Scenario, simulate
from aforesaid.sim.running import simulate_into
from aforesaid.trace import MemoryTrace
from aforesaid.trace.parquet import ParquetSink, open_trace
from mutants.registry import NeverStable, StableTooEarly, over
from support.harness import command, judged, scenario
from support.scale import scaled

ALGORITHMS = ("no_waiting_gc", "no_waiting_gc_uniform", "no_waiting_gc_majority")
SEEDS = scaled(90, 300)
"""Of each algorithm."""

TALK = [{"kind": "rate", "per_second": 12}, {"kind": "chain", "per_second": 12}]
NETWORKS = (
    {"delay": {"kind": "lognormal", "median_ms": 15, "sigma": 1.2}, "duplication": 0.2},
    {"delay": {"kind": "uniform", "min_ms": 0, "max_ms": 30}, "duplication": 0.3},
    {"delay": {"kind": "constant", "ms": 0}, "duplication": 0.1},
    {
        "delay": {"kind": "lognormal", "median_ms": 10, "sigma": 1},
        "duplication": 0.1,
        "loss": 0.1,
        "retransmit": True,
    },
)
CRASHES = (
    [{"kind": "crash", "at_ms": [20, 300]}],
    [{"kind": "crash", "at_ms": [20, 300]}, {"kind": "crash", "after_deliveries": 9}],
    [{"kind": "crash", "after_deliveries": 5}, {"kind": "pause", "at_ms": [50, 250], "for_ms": 80}],
)


def world(algorithm: str, seed: int) -> Scenario:
    """Every network with every kind of crash, in turn."""
    return scenario(
        algorithm,
        seed=seed,
        processes=3 + seed % 4 if seed % 3 != 1 else 5,
        duration_ms=320,
        network=NETWORKS[seed % 4],
        workload=TALK,
        fault=CRASHES[seed % 3],
        detector={"delay_ms": (0, 5, 40)[seed // 4 % 3]},
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_stable_is_said_never_too_early_and_in_the_end_always(algorithm: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        run = world(algorithm, seed)
        outcome, trace, report = judged(run)
        assert "stability" in report.required
        assert report.value() == "kept", f"{command(run)}: {report.to_dict()}"
        assert outcome.run.ended == "drained", command(run)
        assert outcome.held["past"] == 0, command(run)
        seen.update(happenings(trace))
        seen.update(outcome.counters.faults)
        seen["duplicated"] += outcome.counters.duplicated
    assert seen["crash"] >= SEEDS, seen
    assert seen["duplicated"] > 10 * SEEDS, seen
    assert seen["calls by the origin"] > 10 * SEEDS, seen
    assert seen["calls by others"] > 20 * SEEDS, seen
    assert seen["calls of a crashed process's messages"] > SEEDS, seen
    assert seen["calls by a process that crashed later"] > SEEDS / 2, seen
    assert seen["calls before a crashed process delivered it"] > SEEDS / 2, seen


def happenings(trace: MemoryTrace) -> Counter[str]:
    """How often a stable call was of which kind."""
    calls, crashed = trace.stabilities, [fate == "crashed" for fate in trace.processes.fate]
    delivered = [set(log.message.tolist()) for _, log in trace.logs()]
    seen: Counter[str] = Counter()
    for process, message in zip(calls.process.tolist(), calls.message.tolist(), strict=True):
        origin = int(trace.messages.origin[message])
        seen["calls by the origin" if origin == process else "calls by others"] += 1
        seen["calls of a crashed process's messages"] += crashed[origin]
        seen["calls by a process that crashed later"] += crashed[process]
        gone = [p for p, is_gone in enumerate(crashed) if is_gone and message not in delivered[p]]
        seen["calls before a crashed process delivered it"] += bool(gone)
    return seen


def test_a_call_is_placed_after_the_deliveries_and_sends_of_the_same_step() -> None:
    """Alone in its group, a process delivers its message and calls it stable while it broadcasts it."""
    _, trace, report = judged(scenario("no_waiting_gc", processes=1, workload=TALK))
    assert report.value() == "kept"
    count = len(trace.messages)
    assert count > 3
    assert trace.log(0).message.tolist() == trace.stabilities.message.tolist() == list(range(count))
    assert trace.stabilities.position.tolist() == list(range(1, count + 1))
    assert trace.stabilities.time_ns.tolist() == trace.log(0).time_ns.tolist()


class StableFirst(NoWaitingCollecting):
    """Says that a message is stable before it delivers it, in the same step."""

    def _deliver_once(self, message_id: Any, payload: Any, fresh: Any, out: Any) -> None:
        out.stable(message_id)
        super()._deliver_once(message_id, payload, fresh, out)


def test_a_call_before_the_delivery_in_the_same_step_is_seen() -> None:
    _, trace, _ = judged(scenario("no_waiting_gc", processes=1, workload=TALK), build=over(StableFirst))
    found = check(trace, witnesses_max=None).verdicts["stability"]
    own = [witness.message_index for witness in found.witnesses if witness.details["kind"] == "own"]
    assert own == list(range(len(trace.messages)))


@pytest.mark.parametrize(("mutant", "kind"), [(StableTooEarly, "early"), (NeverStable, "missing")])
def test_mutants_die_of_what_they_do(mutant: Any, kind: str) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(20):
        _, _, report = judged(world("no_waiting_gc", seed), build=over(mutant))
        kinds.update({str(w.details["kind"]) for w in report.verdicts["stability"].witnesses})
    assert kinds[kind] >= 15, kinds
    assert set(kinds) <= {kind, "missing"}, kinds


def test_a_stored_trace_is_judged_like_one_in_memory(tmp_path: Path) -> None:
    run = world("no_waiting_gc", seed=4)
    for build in (None, over(StableTooEarly)):
        with ParquetSink(tmp_path, "r", overwrite=True, memory_rows_max=50, row_group_rows=40) as sink:
            simulate_into(sink, run, "r", build)
        _, trace = simulate(run, "r", build)
        expected, found = check(trace, witnesses_max=None), check(open_trace(sink.path), witnesses_max=None)
        assert found.to_dict() == expected.to_dict()
        assert found.value() == ("violated" if build else "kept")
    (sink.path / "stabilities.parquet").unlink()
    kinds = {w.details["kind"] for w in check(open_trace(sink.path)).verdicts["stability"].witnesses}
    assert kinds == {"missing"}


def test_who_crashes_says_nothing_any_more() -> None:
    said = 0
    for seed in range(30):
        _, trace, _ = judged(world("no_waiting_gc", seed))
        for process, ended_ns in enumerate(trace.processes.ended_ns.tolist()):
            if ended_ns >= 0:
                calls = trace.stabilities.of(process)
                assert all(time <= ended_ns for time in calls.time_ns.tolist())
                said += len(calls)
    assert said > 0
