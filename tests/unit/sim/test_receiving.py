"""What a simulation writes down of receipts, waits and faults, and that it changes nothing else."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from aforesaid.core import MessageId, Reason
from aforesaid.protocols.algorithm import Need
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from aforesaid.reproduce.costs import lines_of
from aforesaid.sim import Scenario, simulate, simulate_into
from aforesaid.trace import MemorySink, MemoryTrace

FLAWED = {"loss": 0.1, "retransmit": True, "delay": {"kind": "lognormal", "median_ms": 15, "sigma": 0.9}}
RATE = {"workload": [{"kind": "rate", "per_second": 40}]}


def run(receipts: bool | None = True, **keys: Any) -> MemoryTrace:
    scenario = {"algorithm": "waiting", "processes": 4, "duration_ms": 600, "network": FLAWED, **RATE, **keys}
    return simulate(Scenario.of({**scenario, "receipts": receipts}))[1]


def arrivals(trace: MemoryTrace, process: int) -> dict[int, int]:
    """By position in a process's log, when the message had come."""
    rows, log = trace.story.receipts.of(process), trace.log(process)
    waited = np.zeros(len(log), np.int64)
    np.add.at(waited, rows.position, rows.waited_ns)
    return {position: int(log.time_ns[position] - waited[position]) for position in rows.position.tolist()}


@pytest.mark.parametrize("algorithm", sorted(CATALOG))
def test_every_delivery_of_anothers_message_has_its_receipt(algorithm: str) -> None:
    """Whatever the algorithm: it came after it was said, and the run is the same as without receipts."""
    fifo = Need.FIFO_LINKS in CATALOG[algorithm].needs
    network = {"fifo": True} if fifo else FLAWED
    trace, plain = (run(told, algorithm=algorithm, network=network, seed=3) for told in (True, False))
    assert trace.run.digest == plain.run.digest
    assert not len(plain.story.receipts)
    for process, log in trace.logs():
        came = arrivals(trace, process)
        others = np.flatnonzero(trace.messages.origin[log.message] != process).tolist()
        assert set(came) >= set(others), f"{algorithm}, seed 3, process {process}"
        for position in others:
            assert trace.messages.time_ns[log.message[position]] <= came[position] <= log.time_ns[position]
        rows = trace.story.receipts.of(process)
        assert (rows.source[np.isin(rows.position, others)] >= 0).all()


def test_what_waited_names_a_predecessor_that_came_later() -> None:
    trace = run()
    waited = 0
    for process, log in trace.logs():
        came, rows = arrivals(trace, process), trace.story.receipts.of(process)
        delivered = {message: position for position, message in enumerate(log.message.tolist())}
        for position, kind, cause in zip(rows.position.tolist(), rows.kind, rows.cause.tolist(), strict=True):
            if kind:
                waited += 1
                assert kind == "missing cause"
                assert delivered[cause] < position
                assert log.time_ns[delivered[cause]] >= came[position]
    assert waited > 10


def test_one_thing_after_the_other_makes_a_row_each() -> None:
    rows = run().story.receipts
    same = (rows.process[1:] == rows.process[:-1]) & (rows.position[1:] == rows.position[:-1])
    assert same.any()
    assert all(rows.cause[row] != rows.cause[row + 1] for row in np.flatnonzero(same))


def test_what_is_never_delivered_waits_for_ever() -> None:
    """p0 and p1 hear nothing of each other, and what others say after them comes all the same."""
    network = {"delay": {"kind": "uniform", "min_ms": 1, "max_ms": 200}}
    fault = [{"kind": "partition", "from_ms": 0, "until_ms": 599, "groups": [["p0"], ["p1"]]}]
    trace = run(network=network, fault=fault, drain_ms=1)
    open_ended = trace.story.waits.until_ns == -1
    assert open_ended.any()
    for process, message in zip(
        trace.story.waits.process[open_ended], trace.story.waits.message[open_ended], strict=True
    ):
        assert message not in trace.log(process).message


def test_what_is_held_back_for_a_permit_is_told() -> None:
    waits = run(algorithm="hybrid_basic", network={}).story.waits
    permits = [row for row, kind in enumerate(waits.kind) if kind == "missing permit"]
    assert permits
    for row in permits:
        assert waits.source[row] == -1
        assert waits.peer[row] >= 0
        assert waits.until_ns[row] > waits.time_ns[row]


@pytest.mark.parametrize("algorithm", ["waiting", "reliable", "no_waiting_gc", "hybrid_sps"])
def test_receipts_are_cheap(algorithm: str) -> None:
    """In lines executed. A copy of what has come already, and what does not wait, must cost next to nothing;
    `benchmarks/bench_receipts.py` has it in time."""
    keys = {"algorithm": algorithm, "processes": 8, "network": {}, "sample_ms": 50}
    run(True, **keys)  # The first run of an algorithm learns its frames.
    told, plain = (lines_of(partial(run, told, **keys), ("aforesaid",)) for told in (True, False))
    assert told <= 1.3 * plain, f"{algorithm}: {told} lines with receipts, {plain} without"


def test_a_protocol_is_asked_only_about_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    tell = HybridSps.reasons

    def counted(self: HybridSps, message_id: MessageId) -> tuple[Reason, ...]:
        asked.append(message_id)
        return tell(self, message_id)

    monkeypatch.setattr(HybridSps, "reasons", counted)
    trace = run(algorithm="hybrid_sps", network={})
    waited = len(trace.story.waits) + sum(map(bool, trace.story.receipts.kind))
    assert 0 < len(asked) <= waited < len(trace.messages) / 2


REWIRE = {"kind": "rewire", "per_second": 60, "open": 3, "close": 1, "reopen": 1, "flap": 1, "reopen_ms": 40}
CHURN = {"kind": "churn", "joins_per_second": 6, "leaves_per_second": 3, "crashes_per_second": 2}
SPRAYED = {"handshake_ms": 800, "period_ms": 100}


@pytest.mark.parametrize(
    ("algorithm", "options", "faults"),
    [
        ("prc", {"handshake_ms": 800}, [REWIRE, CHURN]),
        ("preventive", {"handshake_ms": 800}, [REWIRE, CHURN]),
        ("prc_spray", SPRAYED, [CHURN]),
    ],
)
def test_what_is_kept_for_new_links_and_by_newcomers_has_its_reason(
    algorithm: str, options: dict[str, Any], faults: list[dict[str, Any]]
) -> None:
    network = {"fifo": True, "delay": {"kind": "uniform", "min_ms": 1, "max_ms": 60}}
    facts = {"algorithm": algorithm, "options": options, "fault": faults, "network": network, "seed": 2}
    trace, plain = (run(told, processes=8, **facts) for told in (True, False))
    assert trace.run.digest == plain.run.digest
    waits = trace.story.waits
    # Every wait has its reason: what was refused with its link lies nowhere.
    assert set(waits.kind) - {"given up"} == {"handshake", "outside"}
    for kind, process, message, until in zip(
        waits.kind, waits.process.tolist(), waits.message.tolist(), waits.until_ns.tolist(), strict=True
    ):
        assert trace.messages.origin[message] == process
        # What waits at the end waits where a process has come to its own.
        if until < 0:
            assert trace.processes.fate[process] != "alive", f"{kind}, message {message}"
        else:
            assert until > trace.messages.time_ns[message]


def test_faults_are_events() -> None:
    trace = run(
        fault=[
            {"kind": "partition", "from_ms": 100, "until_ms": 200, "groups": [["p0"], ["p1", "p2"]]},
            {"kind": "pause", "process": "p1", "at_ms": 250, "for_ms": 50},
            {"kind": "crash", "process": "p3", "at_ms": 400},
        ]
    )
    events = trace.story.events
    assert events.kind == ["partition", "mend", "pause", "resume", "crash"]
    assert events.time_ns.tolist() == [time * 1_000_000 for time in (100, 200, 250, 300, 400)]
    assert events.process.tolist() == [-1, -1, 1, 1, 3]
    assert events.text[0] == "p0 | p1 p2"


def test_a_run_above_the_size_has_no_receipts_unless_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aforesaid.sim.simulation.DELIVERIES_MAX", 50)
    scenario = Scenario.of({"algorithm": "waiting", "processes": 3})
    counts = []
    for receipts in (None, True):
        sink = MemorySink()
        simulate_into(sink, scenario, receipts=receipts)
        counts.append(len(sink.trace.story.receipts))
    assert counts[0] == 0 < counts[1]
