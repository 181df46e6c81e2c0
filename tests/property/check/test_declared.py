"""Declared causality and sampled traces, against definitions written out.

Of declared causality nothing counts but what messages say they follow: two messages of one process that say
nothing of each other come in any order. Of a sampled trace only what is seen to be delivered can be late, and
nothing is said to be kept.
"""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from aforesaid.check import check
from aforesaid.trace import MemoryTrace
from property.check.brute_judge import closure
from support.random_traces import Draft, Scheduler, random_trace
from support.scale import scaled

SEEDS = scaled(1_000, 20_000)


def declared(seed: int, sampled: bool) -> MemoryTrace:
    """A random trace, good or bad, whose messages say at random what they follow."""
    random = Random(seed)
    draft = Draft.of(random_trace(seed)[0])
    draft.base = [[] for _ in draft.base]
    draft.after = [
        random.sample(range(message), min(message, random.choice((0, 0, 1, 2))))
        for message in range(len(draft.after))
    ]
    draft.run = replace(draft.run, causality="declared", sampled=sampled)
    return draft.trace()


def overtaken(trace: MemoryTrace) -> bool:
    """Whether some delivery came before one of a message that it was to come after, by all pairs."""
    messages = trace.messages
    sent = [after >= 0 for after in messages.sent_after.tolist()]
    past = closure({m: set(messages.after[m].tolist()) if sent[m] else set() for m in range(len(messages))})
    for process, log in trace.logs():
        delivered = [message for message in log.message.tolist() if 0 <= message < len(messages)]
        for place, message in enumerate(delivered):
            for earlier in past[message]:
                due = bool(messages.to_all[earlier]) or process in messages.audience[earlier]
                if trace.run.sampled:
                    due &= earlier in delivered
                if due and sent[earlier] and earlier not in delivered[:place]:
                    return True
    return False


@pytest.mark.parametrize("sampled", [False, True])
def test_only_what_is_declared_counts(sampled: bool) -> None:
    values: Counter[str] = Counter()
    for seed in range(SEEDS):
        trace = declared(seed, sampled)
        report = check(trace)
        verdict = report.verdicts["causal"]
        assert (verdict.value == "violated") == overtaken(trace), f"seed {seed}: {verdict}"
        assert "recorded" not in report.verdicts, f"seed {seed}"
        assert not sampled or "kept" not in {each.value for each in report.verdicts.values()}, f"seed {seed}"
        assert all("says" in each.sentence or "way of" in each.sentence for each in verdict.witnesses), seed
        values[verdict.value] += 1
    assert min(values["violated"], values["unknown" if sampled else "kept"]) > SEEDS / 20, values


def test_nothing_that_was_kept_is_violated_once_events_are_missing() -> None:
    for seed in range(SEEDS):
        random = Random(seed)
        draft = Draft.of(Scheduler(random, random.random() < 0.5, reckless=False).run())
        draft.run = replace(draft.run, sampled=True)
        for process, log in enumerate(draft.logs):
            for position in reversed(range(len(log))):
                if random.random() < 0.2:
                    del log[position]
                    for message in draft.own(process):
                        draft.sent_after[message] -= draft.sent_after[message] > position
        draft.calls = [[] for _ in draft.calls]
        values = {name: each.value for name, each in check(draft.trace()).verdicts.items()}
        assert set(values.values()) == {"unknown"}, f"seed {seed}: {values}"
