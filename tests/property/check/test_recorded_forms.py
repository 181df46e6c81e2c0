"""Two forms of `after` are right: what a host can see of the immediate predecessors, and exactly those."""

from collections import Counter
from dataclasses import replace
from random import Random

from aforesaid.check import Report, check
from aforesaid.trace import Lists, MemoryTrace
from property.check.brute_judge import Brute
from support.random_traces import Scheduler
from support.scale import scaled

SEEDS = scaled(400, 1_200)


def test_transitive_reduction_is_a_true_record() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        random = Random(seed)
        multicast = seed % 3 != 0
        hosts = Scheduler(random, multicast, reckless=seed % 5 == 0).run()
        brute = Brute(hosts)
        brute.find_order()
        after = [sorted(before) for _, before in sorted(brute.immediate().items())]
        reduced = with_after(hosts, after)
        report = check(reduced)
        assert report.verdicts["recorded"].value == "kept", f"seed {seed}: {report.verdicts['recorded']}"
        assert values(report) == values(check(hosts)), f"seed {seed}"
        seen["multicast" if multicast else "broadcast"] += 1
        seen["less than the host's"] += len(reduced.messages.after.values) < len(hosts.messages.after.values)
        seen["causal violated"] += report.verdicts["causal"].value == "violated"
        edges = [(x, message) for message, before in enumerate(after) for x in before]
        if edges:
            x, message = random.choice(edges)
            told = lies(with_after(hosts, changed(after, message, set(after[message]) - {x})))
            assert told == [("missing", x, message)], f"seed {seed}: {x} before {message} is left out"
        strangers = [
            (x, message)
            for message in sorted(brute.sent)
            for x in brute.messages
            if x not in brute.past[message]
        ]
        x, message = random.choice(strangers)
        told = lies(with_after(hosts, changed(after, message, {*after[message], x})))
        assert told == [("false", x, message)], f"seed {seed}: {x} before {message} is made up"
    kinds = ("multicast", "broadcast", "less than the host's", "causal violated")
    rare = {kind: seen[kind] for kind in kinds if seen[kind] < SEEDS // 60}
    assert not rare, f"too rare to mean anything: {rare}"


def with_after(trace: MemoryTrace, after: list[list[int]]) -> MemoryTrace:
    return replace(trace, messages=replace(trace.messages, after=Lists.of(after)))


def changed(after: list[list[int]], message: int, before: set[int]) -> list[list[int]]:
    return [*after[:message], sorted(before), *after[message + 1 :]]


def values(report: Report) -> dict[str, str]:
    return {name: verdict.value for name, verdict in report.verdicts.items()}


def lies(trace: MemoryTrace) -> list[tuple[object, object, int]]:
    return [
        (lie.details["kind"], lie.details["predecessor_index"], lie.message_index)
        for lie in check(trace).verdicts["recorded"].witnesses
    ]
