"""The PAK family in bad worlds: whatever it promises holds, it comes to rest, and its memory is empty then.

Every run is judged by the checker. Green must not mean idle: each world tells what must have happened in it.
"""

from typing import Any

import pytest

from aforesaid.protocols.broadcast.pak import ModularVectors, Pak
from aforesaid.protocols.broadcast.pak.queues import Queues
from aforesaid.protocols.catalog import Setup
from aforesaid.sim import Scenario
from support.harness import command, judged, scenario
from support.scale import scaled

PROMISED = ("validity", "agreement", "no_duplicate", "no_creation", "fifo", "causal")

ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "PAK": ("pak", {}),
    "credit 3": ("pak_credit", {"credit": 3}),
    "PAK/NAK 3": ("pak_nak", {"credit": 3}),
    "receiver credit 1 of 3": ("pak_credit", {"credit": 3, "receiver_credit": 1}),
    "PAK/NAK with receiver credit 2 of 4": ("pak_nak", {"credit": 4, "receiver_credit": 2}),
}

WILD = {"delay": {"kind": "lognormal", "median_ms": 12, "sigma": 1.3}}
LOSSY = {**WILD, "loss": 0.2, "duplication": 0.2}
TALK = [
    {"kind": "rate", "per_second": 12},
    {"kind": "chain", "per_second": 12},
    {"kind": "bursts", "every_ms": 110, "size": 5},
]
HALVES = [["p0", "p1"], ["p2", "p3"]]

WORLDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "loss, duplication, reordering": ({"network": LOSSY}, ("lost", "duplicated", "overtook")),
    "crashes": (
        {
            "processes": 5,
            "network": WILD,
            "fault": [{"kind": "crash", "at_ms": [20, 330]}, {"kind": "crash", "after_deliveries": 12}],
        },
        ("crash",),
    ),
    "crashes on a lossy network": (
        {
            "processes": 5,
            "network": LOSSY,
            "detector": {"delay_ms": 20},
            "fault": [{"kind": "crash", "at_ms": [20, 330]}] * 2,
        },
        ("crash", "lost"),
    ),
    "pauses": (
        {"network": LOSSY, "fault": [{"kind": "pause", "at_ms": [20, 300], "for_ms": 120}] * 2},
        ("pause",),
    ),
    "partitions": (
        {
            "network": WILD,
            "fault": [
                {"kind": "partition", "from_ms": 60, "until_ms": 160, "groups": HALVES, "frames": "lost"},
                {"kind": "partition", "from_ms": 200, "until_ms": 320, "groups": HALVES, "one_way": True},
            ],
        },
        ("partition", "lost", "held"),
    ),
}
"""Each with what must have happened to someone there."""

SEEDS = scaled(60, 300)
"""Per algorithm and world."""


def world(algorithm: str, parts: dict[str, Any], seed: int) -> Scenario:
    name, options = ALGORITHMS[algorithm]
    talk = {"duration_ms": 360, "sample_ms": 10, "workload": TALK}
    return scenario(name, seed=seed, options=options, **{**talk, **parts})


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_promise_is_kept_and_memory_returns_to_empty(algorithm: str, name: str) -> None:
    parts, happenings = WORLDS[name]
    happened = dict.fromkeys(happenings, 0)
    waited = {"pending": 0, "queued": 0, "kept": 0}
    for seed in range(SEEDS):
        run = world(algorithm, parts, seed)
        outcome, trace, report = judged(run)
        values = {rule: report.verdicts[rule].value for rule in PROMISED}
        assert values == dict.fromkeys(PROMISED, "kept"), command(run)
        assert outcome.run.ended == "drained", command(run)
        assert not any(outcome.held.values()), f"{outcome.held}: {command(run)}"
        assert outcome.messages >= 15, command(run)
        seen = {**vars(outcome.counters), **outcome.counters.faults}
        for what in happened:
            happened[what] += seen.get(what, 0)
        for metric, value in zip(trace.samples.metric, trace.samples.value, strict=True):
            if metric in waited:
                waited[metric] += value > 0
    assert min(happened.values()) >= SEEDS, f"too little went wrong: {happened}"
    assert min(waited.values()) >= SEEDS, f"too little had to wait: {waited}"


# The causal window (sections 3 and 4.2): what an entry modulo k stands for is never in doubt.


class Whole(bytes):
    """A packed vector that remembers the whole numbers."""

    whole: tuple[int, ...]


class Entries(tuple[int, ...]):
    """An unpacked one."""

    whole: tuple[int, ...]


class WholeVectors(ModularVectors):
    def pack(self, vector: Any) -> bytes:
        packed = Whole(super().pack(vector))
        packed.whole = tuple(vector)
        return packed

    def unpack(self, packed: Any) -> tuple[int, ...]:
        entries = Entries(super().unpack(packed))
        entries.whole = packed.whole
        return entries


class WatchedQueues(Queues):
    """Queues that compare what they decide modulo k with what whole numbers say, and how far these lie."""

    below = above = 0

    def first_missing(self, sender: int, vector: Any) -> int:
        decided = super().first_missing(sender, vector)
        others = [entry for entry in range(len(vector)) if entry not in (sender, self.own)]
        apart = {entry: vector.whole[entry] - self.vector[entry] for entry in others}
        missing = [entry for entry in others if apart[entry] > 0]
        assert decided == (missing[0] if missing else len(vector)), "modulo k it looks different"
        WatchedQueues.below = min(WatchedQueues.below, *apart.values())
        WatchedQueues.above = max(WatchedQueues.above, *apart.values())
        return decided


@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize(
    "options",
    [{"credit": 1}, {"credit": 2}, {"credit": 3, "nak": True}, {"credit": 3, "receiver_credit": 1}],
    ids=str,
)
def test_entries_lie_between_ct_below_and_ct_above_and_both_ends_are_reached(
    options: dict[str, Any], crashes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(setup: Setup) -> Pak:
        pak = Pak(setup.me, setup.group, **options)
        q = pak.queues
        pak.queues = WatchedQueues(q.own, WholeVectors(q.vectors.n, q.vectors.k), q.credit, q.receiver_credit)
        return pak

    monkeypatch.setattr(WatchedQueues, "below", 0)
    monkeypatch.setattr(WatchedQueues, "above", 0)
    talk = [{"kind": "rate", "per_second": 40}, {"kind": "chain", "per_second": 40}]
    fault = [{"kind": "crash", "at_ms": [50, 300]}] if crashes else []
    network = {"delay": {"kind": "lognormal", "median_ms": 8, "sigma": 1.6}}
    for seed in range(20):
        run = scenario("pak", seed=seed, network=network, workload=talk, fault=fault)
        outcome, _, report = judged(run, build=build)
        assert report.value() == "kept", command(run)
        assert outcome.run.ended == "drained", command(run)
    assert (WatchedQueues.below, WatchedQueues.above) == (-options["credit"], options["credit"])


def test_the_same_seed_gives_the_same_trace() -> None:
    parts, _ = WORLDS["crashes on a lossy network"]
    for algorithm in ALGORITHMS:
        first, second = (judged(world(algorithm, parts, 7))[0].run.digest for _ in range(2))
        assert first == second
