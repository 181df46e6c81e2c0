"""In a causal run, the recorded predecessors are exactly the maximal messages of the sender's own past."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from aforesaid.core import MessageId
from aforesaid.trace import MemorySink, Run, Tracer


class Group:
    """A causal broadcast among processes that may join, told to a tracer; pasts are kept as plain sets."""

    def __init__(self, tracer: Tracer, founders: int) -> None:
        self.tracer = tracer
        self.names: list[str] = []
        self.own: list[set[int]] = []  # what each has sent or delivered
        self.known: list[set[int]] = []  # the same, with what lies before a joiner's base
        self.past: list[set[int]] = []  # what happened before each message
        self.ids: list[MessageId] = []
        self.numbers: list[int] = []
        self.expected: list[set[int]] = []
        for _ in range(founders):
            self.join(None)

    def join(self, contact: int | None) -> None:
        self.names.append(f"p{len(self.names)}")
        index = self.tracer.began(self.names[-1], 0, 0, joining=contact is not None)
        self.own.append(set())
        self.known.append(set() if contact is None else set(self.known[contact]))
        self.numbers.append(0)
        if contact is not None:
            self.tracer.admitted(contact, index)

    def send(self, process: int, delivers_it: bool) -> None:
        self.numbers[process] += 1
        past = set(self.own[process]).union(*(self.past[m] for m in self.own[process]))
        dominated = set().union(*(self.past[m] for m in self.own[process]))
        self.expected.append(self.own[process] - dominated)
        self.ids.append(MessageId(self.names[process], 0, self.numbers[process]))
        message = self.tracer.sent(process, self.ids[-1], 0)
        if delivers_it:
            self.tracer.delivered(process, self.ids[-1], 0)
        self.past.append(past)
        self.own[process].add(message)
        self.known[process].add(message)

    def deliver(self, process: int, chance: random.Random) -> None:
        ready = [
            m
            for m in range(len(self.ids))
            if m not in self.known[process] and self.past[m] <= self.known[process]
        ]
        if ready:
            message = chance.choice(ready)
            self.tracer.delivered(process, self.ids[message], 0)
            self.own[process].add(message)
            self.known[process].add(message)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), founders=st.integers(1, 5), steps=st.integers(0, 120))
def test_predecessors_are_the_maxima_of_the_past(seed: int, founders: int, steps: int) -> None:
    chance = random.Random(seed)
    sink = MemorySink()
    tracer = Tracer(sink, chunk_rows=chance.choice([1, 16, 1000]))
    group = Group(tracer, founders)
    for _ in range(steps):
        process = chance.randrange(len(group.names))
        event = chance.random()
        if event < 0.25:
            group.send(process, delivers_it=chance.random() < 0.8)
        elif event < 0.95:
            group.deliver(process, chance)
        elif len(group.names) < 9:
            group.join(contact=process)
    tracer.close(Run("group"))
    recorded = sink.trace.messages.after
    assert [set(recorded[m].tolist()) for m in range(len(recorded))] == group.expected
