"""The hybrid-buffering paper on two older causal broadcasts: a tree of FIFO links (section 1), and Newtop.

What the paper says of them, and the negative control of each: both stand on FIFO links, and fall without.
"""

from typing import Any

import pytest

from aforesaid.explore import Scope, explore
from aforesaid.protocols.broadcast.newtop import Data, Newtop, Null
from aforesaid.protocols.broadcast.tree import Relay, Tree
from aforesaid.protocols.catalog import Setup
from aforesaid.sim import simulate
from support.harness import judged, scenario

SEEDS = 30
TALK = [{"kind": "rate", "per_second": 20}, {"kind": "chain", "per_second": 20}]
DELAY = {"kind": "lognormal", "median_ms": 10, "sigma": 1.0}


def tree(setup: Setup) -> Tree:
    return Tree(setup.me, setup.group, setup.incarnation)


def newtop(setup: Setup) -> Newtop:
    return Newtop(setup.me, setup.group, setup.incarnation)


def newtop_without_nulls(setup: Setup) -> Newtop:
    return Newtop(setup.me, setup.group, setup.incarnation, nulls=False)


def broken(build: Any, fifo: bool) -> int:
    """In how many runs causal order is broken."""
    bad = 0
    for seed in range(SEEDS):
        run = scenario(seed=seed, network={"fifo": fifo, "delay": DELAY}, workload=TALK)
        outcome, _, report = judged(run, build)
        bad += report.verdicts["causal"].value == "violated"
        assert (outcome.counters.overtook == 0) is fifo
    return bad


@pytest.mark.parametrize("build", [tree, newtop])
def test_both_need_fifo_links(build: Any) -> None:
    """Section 1, "FIFO + Tree gives Causal"; section 3.1, Newtop "assumes reliable FIFO communication"."""
    assert broken(build, fifo=True) == 0
    assert broken(build, fifo=False) > SEEDS / 2


@pytest.mark.parametrize("build", [tree, newtop])
def test_without_fifo_links_few_steps_break_causal_order(build: Any) -> None:
    found = explore(build, Scope(processes=3, messages=(2, 1, 0), fifo=False, timer_firings_max=2))
    assert found.violation is not None
    assert "causal" in found.violation.properties


def test_a_tree_needs_neither_metadata_nor_buffering() -> None:
    """Section 1: "there is no need for message metadata or buffering messages at the receiver"."""
    assert Relay._fields == ("message_id", "payload")
    run = scenario(network={"fifo": True, "delay": DELAY}, processes=6, workload=TALK, sample_ms=5)
    outcome, trace = simulate(run, build=tree)
    assert outcome.counters.sent == 5 * outcome.messages
    assert set(trace.samples.metric) == {"frames_sent", "in_flight"}


def test_newtop_needs_constant_metadata() -> None:
    """Table 1, message space O(1): the clock, and for stability one clock more, whatever the group."""
    for size in (2, 50):
        sent: list[Any] = []
        node = Newtop("p0", [f"p{number}" for number in range(size)])
        node.broadcast("x", 0, Sends(sent))
        assert [len(frame) for frame in sent] == [len(Data._fields)]
    assert Data._fields == ("message_id", "clock", "received", "payload")
    assert Null._fields == ("clock", "received")


def test_newtop_is_in_effect_a_total_order_broadcast() -> None:
    """Section 3.1: "a total order broadcast compatible with causal delivery"; a tree gives no such order."""
    run = scenario(network={"fifo": True, "delay": DELAY}, workload=TALK)
    orders = []
    for build in (newtop, tree):
        _, trace = simulate(run, build=build)
        orders.append({tuple(trace.log(process).message.tolist()) for process in range(run.processes)})
    assert len(orders[0]) == 1
    assert len(orders[1]) > 1


def test_newtop_waits_without_bound_for_an_idle_process() -> None:
    """Section 3.1 "unbounded non-causal latency"; table 1, liveness "no", and note 2: nulls overcome it."""
    talkers = {"kind": "rate", "per_second": 20, "processes": ["p0", "p1", "p2"]}
    run = scenario(network={"fifo": True, "delay": DELAY}, workload=[talkers])
    outcome, trace, report = judged(run, newtop_without_nulls)
    # Only the idle process itself hears from everyone else.
    assert outcome.messages > 10
    assert outcome.deliveries == len(trace.log(3))
    assert report.verdicts["validity"].value == "violated"
    assert outcome.held["undelivered"] == 4 * outcome.messages - outcome.deliveries
    outcome, _, report = judged(run, newtop)
    assert report.value() == "kept"
    assert outcome.deliveries == 4 * outcome.messages


class Sends:
    """An effects sink that keeps one copy of what is sent."""

    def __init__(self, sent: list[Any]) -> None:
        self.sent = sent

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.sent.append(arguments[1]) if name == "send" else None
