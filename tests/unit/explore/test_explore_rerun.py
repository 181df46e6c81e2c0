"""Schedules run again: what can happen does, what cannot is refused, and when a run has drained."""

import pytest

from aforesaid.core import MILLISECOND, Misuse
from aforesaid.explore import Scope, Step, replay
from aforesaid.explore.scope import LinkCall

SCOPE = Scope(processes=3, messages=(1, 0, 0), crashes_max=1)
RELAY = "Relay(p0#1, Stamped((0, 0, 0), p0#1))"
SAY = Step("broadcast", "p0", what="p0#1")
HEAR_1 = Step("receive", "p1", "p0", RELAY)
HEAR_2 = Step("receive", "p2", "p0", RELAY)
CRASH = Step("crash", "p0")


def test_the_same_steps_give_the_same_trace() -> None:
    traces = [replay("waiting", SCOPE, [SAY, HEAR_1, HEAR_2]) for _ in range(2)]
    assert traces[0].run == traces[1].run
    assert traces[0].run.ended == "drained"
    assert [list(traces[0].log(process).message) for process in range(3)] == [[0], [0], [0]]
    assert list(traces[0].delivery_time_ns) == [MILLISECOND, 2 * MILLISECOND, 3 * MILLISECOND]


def test_a_run_is_drained_when_nothing_is_owed() -> None:
    def ended(*steps: Step) -> str:
        return replay("waiting", SCOPE, steps).run.ended

    assert ended() == "cut"
    assert ended(SAY) == "cut"
    assert ended(SAY, HEAR_1) == "cut"
    assert ended(SAY, HEAR_1, HEAR_2) == "drained"
    told = (Step("suspect", "p1", "p0"), Step("suspect", "p2", "p0"))
    assert ended(CRASH) == "cut"
    assert ended(CRASH, *told) == "drained"
    lost = (Step("lose", "p1", "p0", RELAY), Step("lose", "p2", "p0", RELAY))
    assert ended(SAY, CRASH, *told) == "cut"
    assert ended(SAY, CRASH, *told, *lost) == "drained"


def test_a_crash_is_written_into_the_trace() -> None:
    trace = replay("waiting", SCOPE, [SAY, CRASH])
    assert trace.processes.fate == ["crashed", "alive", "alive"]
    assert trace.processes.ended_ns[0] == 2 * MILLISECOND


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([HEAR_1], "step 1 .* cannot happen: there is no such frame on its way"),
        ([SAY, HEAR_1, HEAR_1], "step 3 .* no such frame"),
        ([SAY, SAY], "p0 has nothing left to say"),
        ([CRASH, SAY], "p0 is down"),
        ([Step("crash", "p9")], "there is no process p9"),
        ([Step("suspect", "p1", "p0")], "p0 is up, or p1 was told already"),
        ([Step("suspect", "p1", "p9")], "there is no process p9"),
        ([Step("expire", "p1", what="Bell")], "p1 has not armed Bell"),
    ],
)
def test_what_cannot_happen_is_refused(steps: list[Step], text: str) -> None:
    with pytest.raises(Misuse, match=text):
        replay("waiting", SCOPE, steps)


def test_a_copy_that_is_kept_can_be_received_again() -> None:
    kept = Step("receive", "p1", "p0", RELAY, keep=True)
    trace = replay("waiting", SCOPE, [SAY, kept, HEAR_1, HEAR_2])
    assert len(trace.log(1)) == 1


def test_in_a_queue_the_first_comes_first() -> None:
    scope = Scope(processes=2, messages=(2, 0), fifo=True)
    first, second = (Step("broadcast", "p0", what=f"p0#{number}") for number in (1, 2))
    hear_2 = Step("receive", "p1", "p0", "Relay(p0#2, Stamped((1, 0), p0#2))")
    with pytest.raises(Misuse, match=r"Relay\(p0#1, .* comes first on this link"):
        replay("waiting", scope, [first, second, hear_2])


def test_in_a_queue_frames_without_effect_are_received_in_passing() -> None:
    scope = Scope(processes=2, messages=(2, 0), fifo=True)
    first, second = (Step("broadcast", "p0", what=f"p0#{number}") for number in (1, 2))
    kept = Step("receive", "p1", "p0", "Relay(p0#1, Stamped((0, 0), p0#1))", keep=True)
    hear_2 = Step("receive", "p1", "p0", "Relay(p0#2, Stamped((1, 0), p0#2))")
    trace = replay("waiting", scope, [first, second, kept, hear_2])
    assert list(trace.log(1).message) == [0, 1]
    assert trace.run.ended == "drained"


def test_timers_fire_when_they_are_armed() -> None:
    scope = Scope(processes=2, messages=(1, 0), perfect_links=True, drops_max=1, timer_firings_max=1)
    data = "Data(1, Relay(p0#1, Stamped((0, 0), p0#1)))"
    steps = [
        SAY,
        Step("lose", "p1", "p0", data),
        Step("expire", "p0", what="Resend(p1)"),
        Step("receive", "p1", "p0", data),
    ]
    assert replay("waiting", scope, steps).run.ended == "cut"
    steps.append(Step("receive", "p0", "p1", "Ack(1)"))
    assert replay("waiting", scope, steps).run.ended == "drained"


def test_what_is_sent_goes_to_its_audience_only() -> None:
    scope = Scope(3, (1, 1, 0))
    to_both = Step("send", "p0", what="p0#1", audience=("p1", "p2"))
    to_one = Step("send", "p1", what="p1#1", audience=("p2",))
    trace = replay("rst", scope, [to_both, to_one])
    assert [trace.messages.audience[message].tolist() for message in (0, 1)] == [[1, 2], [2]]
    with pytest.raises(Misuse, match="the scope has no such audience: p1"):
        replay("rst", scope, [Step("send", "p1", what="p1#1", audience=("p1",))])
    with pytest.raises(Misuse, match="rst addresses messages"):
        replay("rst", scope, [SAY])
    with pytest.raises(Misuse, match="waiting broadcasts messages"):
        replay("waiting", SCOPE, [to_both])


LINKS = Scope(
    processes=3,
    messages=(1, 0, 0),
    fifo=True,
    links=(LinkCall("p0", "open", "p2", ("p1",)),),
    disconnections_max=2,
    options=(("degree", 1), ("both_ways", False)),
)
LID = "Lid(p0, p1, 0, 1)"
OPEN = Step("open", "p0", "p2", "p1")
ALPHA = Step("receive", "p2", "p0", "Control(Lid(p0, p2, 0, 2), α, Lid(p0, p2, 0, 2), (p1), ())")
SAY_1 = Step("receive", "p1", "p0", f"Copy({LID}, p0#1, p0#1)")
BREAK = Step("disconnect", "p0", "p1", LID)


def test_frames_of_different_links_overtake_each_other() -> None:
    """α comes over the new connection, so it waits for nothing that was said before."""
    trace = replay("prc", LINKS, [SAY, OPEN, ALPHA, SAY_1])
    assert trace.run.ended == "cut"
    assert [list(trace.log(process).message) for process in range(3)] == [[0], [0], []]


def test_what_is_sent_on_a_lost_connection_is_lost_and_who_is_isolated_is_evicted() -> None:
    trace = replay("prc", LINKS, [SAY, BREAK, SAY_1])
    assert list(trace.log(1).message) == [0]
    with pytest.raises(Misuse, match="no such frame"):
        replay("prc", LINKS, [BREAK, SAY, SAY_1])
    told = [Step("link_down", process, what=LID) for process in ("p0", "p1")]
    trace = replay("prc", LINKS, [BREAK, *told])
    assert trace.processes.fate == ["evicted", "evicted", "alive"]


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([Step("close", "p0", "p2")], "that is not what p0 is to do next with its links"),
        ([OPEN, OPEN], "that is not what p0 is to do next with its links"),
        ([BREAK, BREAK], "there is no connection Lid"),
        ([Step("link_down", "p0", what=LID)], "p0 has not lost Lid"),
        ([BREAK, Step("link_down", "p2", what=LID)], "p2 has not lost Lid"),
    ],
)
def test_what_cannot_happen_to_links_is_refused(steps: list[Step], text: str) -> None:
    with pytest.raises(Misuse, match=text):
        replay("prc", LINKS, steps)
