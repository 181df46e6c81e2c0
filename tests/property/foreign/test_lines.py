"""Logs with an event in a line: judged as the trace they tell, and never falsely if lines are missing."""

import json
from collections import Counter
from pathlib import Path
from random import Random

from aforesaid.check import Report, check
from aforesaid.foreign import Mapping, read
from aforesaid.foreign.events import Count
from aforesaid.trace import MemoryTrace, label_of_message
from property.foreign.random_spans import judged
from support.random_traces import Draft, Scheduler
from support.scale import scaled

SEEDS = scaled(300, 6_000)


def played(random: Random, reckless: bool) -> MemoryTrace:
    """A multicast in which everyone is there from the beginning and each message is for who delivers it."""
    trace = Scheduler(random, multicast=True, reckless=reckless, calling="never").run()
    draft = Draft.of(trace)
    draft.base = [[] for _ in draft.base]
    for log in draft.logs:  # Each message once.
        log[:] = [(m, time) for place, (m, time) in enumerate(log) if m not in dict(log[:place])]
    for process in range(len(draft.logs)):
        for message in draft.own(process):
            draft.sent_after[message] = min(draft.sent_after[message], len(draft.logs[process]))
    draft.audience = [
        [p for p, log in enumerate(draft.logs) if m in dict(log)] for m in range(len(draft.origin))
    ]
    return draft.trace()


def as_lines(trace: MemoryTrace) -> list[str]:
    """What each process did, in its order, as JSON lines."""
    lines = []
    messages = trace.messages
    for process, log in trace.logs():
        own = [
            m for m in range(len(messages)) if messages.origin[m] == process and messages.sent_after[m] >= 0
        ]
        for position in range(len(log) + 1):
            done = [("sent", m) for m in own if messages.sent_after[m] == position]
            if position < len(log):
                done.append(("delivered", int(log.message[position])))
            for event, message in done:
                record = {
                    "process": f"p{process}",
                    "event": event,
                    "message": label_of_message(trace, message),
                }
                lines.append(json.dumps(record))
    return lines


def report(lines: list[str], path: Path) -> Report:
    path.write_text("\n".join(lines))
    count = Count()
    events, causality = read("jsonl", [path], Mapping(), None, count)
    assert causality == "potential"
    return judged(events, count, causality)


def test_lines_tell_what_the_trace_told(tmp_path: Path) -> None:
    values: Counter[str] = Counter()
    for seed in range(SEEDS):
        random = Random(seed)
        trace = played(random, reckless=True)
        expected = check(trace, ("causal",)).verdicts["causal"].value
        values[expected] += 1
        found = report(as_lines(trace), tmp_path / "log").verdicts["causal"]
        assert found.value == expected, f"seed {seed}: {found}"
    assert min(values["kept"], values["violated"]) > SEEDS / 20, values


def test_nothing_kept_is_violated_once_lines_are_missing(tmp_path: Path) -> None:
    values: Counter[str] = Counter()
    for seed in range(SEEDS):
        random = Random(seed)
        lines = as_lines(played(random, reckless=False))
        left = [line for line in lines if random.random() < 0.8]
        if left:
            told = report(left, tmp_path / "log").value()
            assert told != "violated", f"seed {seed}: {left}"
            values[told] += 1
    assert min(values["kept"], values["unknown"]) > SEEDS / 20, values
