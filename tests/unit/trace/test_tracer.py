"""The tracer: the frontier rule, what it does with odd events, and its digest."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aforesaid.core import MessageId
from aforesaid.trace import NEVER_SENT, MemorySink, MemoryTrace, Run, Stabilities, Tracer, label_of_message
from support.trace_scripts import RUN, assert_same, in_memory, record


class Play:
    """A run told in short: processes by letter, messages by their origin's letter and number (`a1`)."""

    def __init__(self, founders: str = "", chunk_rows: int = 1000) -> None:
        self.sink = MemorySink()
        self.tracer = Tracer(self.sink, chunk_rows)
        self.now = 0
        self.index = {name: self.tracer.began(name, 0, 0) for name in founders}

    def send(self, label: str, audience: str | None = None) -> int:
        to = None if audience is None else [self.index[name] for name in audience]
        self.now += 1
        return self.tracer.sent(self.index[label[0]], _id(label), self.now, to)

    def deliver(self, process: str, *labels: str) -> None:
        for label in labels:
            self.now += 1
            self.tracer.delivered(self.index[process], _id(label), self.now)

    def stable(self, process: str, *labels: str) -> None:
        for label in labels:
            self.now += 1
            self.tracer.stable(self.index[process], _id(label), self.now)

    def join(self, name: str, contact: str | None = None) -> None:
        self.index[name] = self.tracer.began(name, 0, self.now, joining=True)
        if contact is not None:
            self.tracer.admitted(self.index[contact], self.index[name])

    def end(self) -> MemoryTrace:
        self.tracer.close(Run("play"))
        return self.sink.trace


def _id(label: str) -> MessageId:
    return MessageId(label[0], 0, int(label[1:]))


def after(trace: MemoryTrace, label: str) -> set[str]:
    """A message's recorded predecessors, by label."""
    labels = [label_of_message(trace, index).replace("#", "") for index in range(len(trace.messages))]
    return {labels[index] for index in trace.messages.after[labels.index(label)]}


def test_frontier_hand_worked() -> None:
    # b1 and a2 both follow a1 and know nothing of each other. c has seen both when it sends c1; c2 follows
    # c1 alone. a has seen b1 but not c's when it sends a3. At b, c2 stands for c1 and for a2, but not for a3.
    play = Play("abc")
    play.send("a1")
    play.deliver("b", "a1")
    play.send("b1")
    play.send("a2")
    play.deliver("c", "a1", "b1", "a2")
    play.send("c1")
    play.send("c2")
    play.deliver("a", "b1")
    play.send("a3")
    play.deliver("b", "a2", "c1", "c2", "a3")
    play.send("b2")
    trace = play.end()
    assert {label: after(trace, label) for label in ("a1", "b1", "a2", "c1", "c2", "a3", "b2")} == {
        "a1": set(),
        "b1": {"a1"},
        "a2": {"a1"},
        "c1": {"b1", "a2"},
        "c2": {"c1"},
        "a3": {"a2", "b1"},
        "b2": {"c2", "a3"},
    }
    sent_after = {label_of_message(trace, m): int(n) for m, n in enumerate(trace.messages.sent_after)}
    assert sent_after == {"a#1": 0, "b#1": 1, "a#2": 0, "c#1": 3, "c#2": 3, "a#3": 1, "b#2": 5}


def test_own_delivery_changes_nothing() -> None:
    play = Play("ab")
    play.send("a1")
    play.send("a2")
    play.deliver("a", "a1", "a2")  # a1 is behind a2: it must not come back into the frontier
    play.send("a3")
    trace = play.end()
    assert after(trace, "a3") == {"a2"}
    assert trace.messages.sent_after[2] == 2


def test_multicast_keeps_its_audience_and_predecessors() -> None:
    play = Play("abc")
    play.send("a1", "b")
    play.deliver("b", "a1")
    play.send("b1", "ca")
    play.send("b2", "")
    trace = play.end()
    assert [list(trace.messages.audience[m]) for m in range(3)] == [[1], [2, 0], []]
    assert not trace.messages.to_all.any()
    assert (after(trace, "b1"), after(trace, "b2")) == ({"a1"}, {"b1"})


def test_logs_are_by_process_in_local_order() -> None:
    play = Play("abc")
    play.send("a1")
    play.send("b1")
    play.deliver("c", "b1")
    play.deliver("a", "a1")
    play.deliver("c", "a1")
    trace = play.end()
    assert [log.message.tolist() for _, log in trace.logs()] == [[0], [], [1, 0]]
    assert trace.log(2).time_ns.tolist() == [3, 5]


@pytest.mark.parametrize("label", ["b2", "x1", "b0"])
def test_what_nobody_sent_is_a_phantom(label: str) -> None:
    play = Play("ab")
    play.send("b1")
    play.deliver("a", label, "b1", label)
    trace = play.end()
    phantom = int(trace.log(0).message[0])
    assert trace.log(0).message.tolist() == [phantom, 0, phantom]
    assert trace.messages.sent_after[phantom] == NEVER_SENT
    assert trace.messages.time_ns[phantom] == -1
    assert trace.messages.origin[phantom] == (-1 if label == "x1" else 1)
    assert len(trace.messages) == 2


def test_a_message_delivered_before_it_is_sent_is_not_the_one_sent_later() -> None:
    play = Play("ab")
    play.deliver("a", "b1")
    later = play.send("b1")
    play.deliver("a", "b1")
    assert play.end().log(0).message.tolist() == [0, later]


def test_a_stable_call_knows_how_many_deliveries_came_before_it() -> None:
    play = Play("abc")
    first, second = play.send("a1"), play.send("b1")
    play.deliver("c", "a1")
    play.stable("c", "a1")
    play.deliver("a", "a1", "b1")
    play.stable("a", "b1", "a1")
    play.deliver("c", "b1")
    play.stable("c", "b1")
    trace = play.end()
    calls = trace.stabilities
    rows: list[Any] = [calls.process, calls.message, calls.time_ns, calls.position]
    assert [column.dtype for column in rows] == [np.int32, np.int32, np.int64, np.int32]
    assert [tuple(column[row] for column in rows) for row in range(len(calls))] == [
        (0, second, 7, 2),
        (0, first, 8, 2),
        (2, first, 4, 1),
        (2, second, 10, 2),
    ]
    assert [calls.of(process).message.tolist() for process in (-1, 0, 1, 2, 3)] == [
        [],
        [second, first],
        [],
        [first, second],
        [],
    ]
    # It is no event of the order: nothing comes after it.
    assert [len(log) for _, log in trace.logs()] == [2, 0, 2]


def test_stable_calls_in_any_order_are_found_by_process() -> None:
    process, message = np.array([2, 0, 2, 1, 0], np.int32), np.arange(5, dtype=np.int32)
    calls = Stabilities(process, message, np.arange(5, dtype=np.int64), np.zeros(5, np.int32))
    assert [calls.of(process).message.tolist() for process in range(4)] == [[1, 4], [3], [0, 2], []]


@pytest.mark.parametrize("label", ["b2", "x1", "b0"])
def test_a_stable_call_of_what_nobody_sent_is_one_of_a_phantom(label: str) -> None:
    play = Play("ab")
    play.send("b1")
    play.stable("a", label, "b1", label)
    play.deliver("a", label)
    trace = play.end()
    phantom = int(trace.log(0).message[0])
    assert trace.stabilities.message.tolist() == [phantom, 0, phantom]
    assert trace.messages.sent_after[phantom] == NEVER_SENT
    assert len(trace.messages) == 2


def test_a_joiner_has_its_contacts_frontier_as_base() -> None:
    play = Play("ab")
    play.send("a1")
    play.deliver("b", "a1")
    play.send("b1")
    play.send("a2")
    play.deliver("a", "b1")
    play.join("j", contact="a")
    play.join("k")
    rows = play.end().processes
    assert rows.joined.tolist() == [False, False, True, True]
    assert [set(rows.base[process].tolist()) for process in range(4)] == [set(), set(), {1, 2}, set()]
    # Nobody admitted k: it belongs to no group.
    assert rows.fate == ["alive", "alive", "alive", "unknown"]


def test_a_joiner_through_a_joiner_is_not_owed_what_its_contact_was_not() -> None:
    play = Play("ab")
    play.send("a1")
    play.join("j", contact="a")
    play.send("b1")
    play.deliver("j", "b1")
    play.join("k", contact="j")
    assert set(play.end().processes.base[3].tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("meanwhile", "base"),
    [
        (lambda play: None, {"b1"}),
        (lambda play: play.send("j1"), {"b1"}),
        (lambda play: play.deliver("j", "a1"), {"a1"}),
        (lambda play: play.tracer.ended(play.index["j"], "evicted", 9), {"a1"}),
    ],
    ids=["asks again", "has spoken, which waits", "has delivered", "has ended"],
)
def test_the_last_admission_before_the_first_delivery_counts(
    meanwhile: Callable[[Play], object], base: set[str]
) -> None:
    play = Play("ab")
    play.send("a1")
    play.join("j", contact="a")
    play.deliver("b", "a1")
    play.send("b1")
    meanwhile(play)
    play.tracer.admitted(play.index["b"], play.index["j"])
    trace = play.end()
    found = [label_of_message(trace, message).replace("#", "") for message in trace.processes.base[2]]
    assert set(found) == base
    assert trace.processes.fate[2] == ("evicted" if 9 in trace.processes.ended_ns else "alive")


def test_a_founder_is_not_admitted() -> None:
    play = Play("ab")
    play.send("a1")
    play.tracer.admitted(play.index["a"], play.index["b"])
    assert not len(play.end().processes.base[1])


def test_a_newcomer_that_asks_twice_has_the_predecessors_of_what_it_delivers_and_keeps_nobody_elses() -> None:
    play = Play("ab")
    play.join("j", contact="a")
    play.tracer.admitted(play.index["b"], play.index["j"])
    play.send("b1")
    play.send("b2")
    for process in "abj":
        play.deliver(process, "b1", "b2")
    play.send("j1")
    assert list(play.tracer._travelling) == [2]
    assert after(play.end(), "j1") == {"b2"}


def test_a_joiners_deliveries_do_not_use_up_the_predecessors_that_others_need() -> None:
    play = Play("ab")
    play.send("b1")
    play.deliver("a", "b1")
    play.send("a1")
    play.deliver("a", "a1")
    play.join("j", contact="b")
    play.deliver("j", "a1")
    play.deliver("b", "a1")
    play.send("b2")
    assert after(play.end(), "b2") == {"a1"}


def test_fates_and_times() -> None:
    play = Play("abc")
    play.tracer.ended(play.index["b"], "crashed", 40)
    play.tracer.ended(play.index["c"], "left", 50)
    rows = play.end().processes
    assert rows.fate == ["alive", "crashed", "left"]
    assert rows.ended_ns.tolist() == [-1, 40, 50]


@pytest.mark.parametrize("label", ["a1", "a3", "a0"])
def test_numbers_out_of_sequence_are_refused(label: str) -> None:
    play = Play("a")
    play.send("a1")
    with pytest.raises(ValueError, match="does not follow message 1 of a"):
        play.send(label)


def test_a_process_begins_once() -> None:
    play = Play("a")
    with pytest.raises(ValueError, match="began twice"):
        play.tracer.began("a", 0, 1)
    play.tracer.began("a", 1, 1)


def test_an_empty_run() -> None:
    trace = Play().end()
    assert (len(trace.processes), len(trace.messages), list(trace.logs())) == (0, 0, [])


def test_what_is_done_does_not_pile_up() -> None:
    play = Play("ab")
    for number in range(1, 50):
        play.send(f"a{number}")
        play.deliver("a", f"a{number}")
        play.deliver("b", f"a{number}")
    assert not play.tracer._travelling


def test_chunks_change_nothing() -> None:
    whole = in_memory(seed=1, chunk_rows=100_000)
    for chunk_rows in (1, 2, 7, 100):
        assert_same(whole, in_memory(seed=1, chunk_rows=chunk_rows))  # the digest is compared too


def test_the_same_events_have_the_same_digest_and_others_have_not() -> None:
    digests = [record(MemorySink(), seed).digest for seed in (1, 2, 3, 1)]
    assert digests[0] == digests[3]
    assert len(set(digests)) == 3


CHANGES: dict[str, Callable[[Play], object]] = {
    "nothing": lambda play: None,
    "a message more": lambda play: play.send("a3"),
    "a multicast": lambda play: play.send("a3", "ab"),
    "another audience": lambda play: play.send("a3", "ba"),
    "an empty audience": lambda play: play.send("a3", ""),
    "a delivery more": lambda play: play.deliver("b", "a1"),
    "another message": lambda play: play.deliver("b", "a2"),
    "another process": lambda play: play.deliver("c", "a1"),
    "a phantom": lambda play: play.deliver("b", "c9"),
    "two deliveries": lambda play: play.deliver("b", "a1", "a2"),
    "the other way round": lambda play: play.deliver("b", "a2", "a1"),
    "a process more": lambda play: play.tracer.began("d", 0, 0),
    "another name": lambda play: play.tracer.began("e", 0, 0),
    "another incarnation": lambda play: play.tracer.began("d", 1, 0),
    "another start": lambda play: play.tracer.began("d", 0, 1),
    "a joiner": lambda play: play.join("d"),
    "an admitted joiner": lambda play: play.join("d", contact="a"),
    "a joiner that owes all": lambda play: play.join("d", contact="c"),
    "a crash": lambda play: play.tracer.ended(1, "crashed", 9),
    "another crash": lambda play: play.tracer.ended(2, "crashed", 9),
    "a later crash": lambda play: play.tracer.ended(1, "crashed", 10),
    "a departure": lambda play: play.tracer.ended(1, "left", 9),
    "a stable call": lambda play: play.tracer.stable(1, _id("a1"), 9),
    "a stable call by another": lambda play: play.tracer.stable(2, _id("a1"), 9),
    "a stable call of another": lambda play: play.tracer.stable(1, _id("a2"), 9),
    "a later stable call": lambda play: play.tracer.stable(1, _id("a1"), 10),
}


def test_any_one_change_changes_the_digest() -> None:
    digests = {}
    for name, change in CHANGES.items():
        play = Play("abc")
        play.send("a1")
        play.send("a2")
        change(play)
        digests[play.end().run.digest] = name
    assert list(digests.values()) == list(CHANGES)


def test_a_later_time_changes_the_digest() -> None:
    def digest(delay: int) -> str:
        play = Play("ab")
        play.send("a1")
        play.now += delay
        play.deliver("b", "a1")
        return play.end().run.digest

    assert digest(0) != digest(1)


def test_a_delivery_before_a_stable_call_or_after_it_changes_the_digest() -> None:
    def digest(*events: str) -> str:
        play = Play("ab")
        play.send("a1")
        play.send("a2")
        for event in events:
            play.now = 8
            getattr(play, event)("b", "a1")
        return play.end().run.digest

    assert digest("deliver", "stable") != digest("stable", "deliver")


def test_samples_keep_order_and_aggregates() -> None:
    play = Play("ab")
    play.tracer.sample(5, "bytes", 1.5, process=1)
    play.tracer.sample(6, "queue", 2.0)
    samples = play.end().samples
    assert samples.time_ns.tolist() == [5, 6]
    assert samples.process.tolist() == [1, -1]
    assert samples.metric == ["bytes", "queue"]
    assert samples.value.dtype == np.float64
    assert samples.value.tolist() == [1.5, 2.0]


def test_the_run_keeps_what_it_was_given() -> None:
    run = in_memory(seed=1).run
    assert run.digest
    assert (run.run, run.seed, run.promises) == (RUN.run, RUN.seed, RUN.promises)
