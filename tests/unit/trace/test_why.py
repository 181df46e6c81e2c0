"""Why a message was delivered when it was: made-up stories, told to their roots."""

import pytest

from aforesaid.core import MessageId, Misuse
from aforesaid.trace import MemorySink, MemoryTrace, Run, Tracer
from aforesaid.trace.telling import Telling
from aforesaid.trace.why import Ways

MS = 1_000_000
A1, A2, B1 = MessageId("a", 0, 1), MessageId("a", 0, 2), MessageId("b", 0, 1)


def story(told: bool = True) -> MemoryTrace:
    """c gets b#1 early; it waits for a#2, and that for a#1, which a partition holds. d never delivers b#1."""
    sink = MemorySink()
    tracer = Tracer(sink)
    a, b, c, d = (tracer.began(name, 0, 0) for name in "abcd")
    chronicle = tracer.chronicle
    chronicle.event(1 * MS, "partition", text="a | c")
    tracer.sent(a, A1, 2 * MS)
    tracer.delivered(a, A1, 2 * MS)
    chronicle.wait(a, 0, -1, "missing permit", c, 0, 2 * MS, 3 * MS)
    tracer.sent(a, A2, 3 * MS)
    for message_id in (A1, A2):
        tracer.delivered(b, message_id, 4 * MS)
    tracer.sent(b, B1, 5 * MS)
    chronicle.event(8 * MS, "mend", text="a | c")
    chronicle.event(9 * MS, "crash", d)
    for position, (message_id, source, cause, waited) in enumerate(
        [(A1, a, -1, 0), (A2, b, 0, 3 * MS), (B1, b, 1, 4 * MS)]
    ):
        tracer.delivered(c, message_id, 10 * MS)
        if waited:
            chronicle.waited(
                c, position, source, "missing cause" if told else "", -1, cause if told else -1, waited
            )
        else:
            chronicle.receipt(c, position, source)
    chronicle.wait(d, 2, b, "missing cause", -1, 0, 7 * MS)
    tracer.close(Run("story"))
    return sink.trace


def sentences(trace: MemoryTrace, message: str, process: str) -> list[str]:
    ways = Ways(trace)
    return list(Telling(ways).sentences(ways.chain(ways.message(message), ways.process(process))))


def test_the_chain_leads_to_the_root_and_its_fault() -> None:
    assert sentences(story(), "b#1", "c") == [
        "b#1 was said at 5.0 ms.",
        "It came to c at 6.0 ms, from b, and waited 4.0 ms there:",
        "  for 4.0 ms for a#2, which came before it.",
        "It was delivered at c at 10.0 ms.",
        "a#2 was said at 3.0 ms.",
        "That came to c at 7.0 ms, from b, and waited 3.0 ms there:",
        "  for 3.0 ms for a#1, which came before it.",
        "That was delivered at c at 10.0 ms.",
        "a#1 was said at 2.0 ms.",
        "  It was held back for 1.0 ms for the permit for a#1, before it could leave for c.",
        "That came to c at 10.0 ms, from a.",
        "That was delivered at c at 10.0 ms.",
        "So the root is a#1, which was 8.0 ms on its way to c.",
        "Meanwhile: partition a | c, at 1.0 ms.",
        "Meanwhile: mend a | c, at 8.0 ms.",
    ]


def test_what_the_algorithm_does_not_tell_is_found_in_the_past() -> None:
    told = sentences(story(told=False), "b#1", "c")
    assert (
        told[2]
        == "  for 4.0 ms for a#2, which came before it (its past says so; its algorithm does not tell)."
    )
    assert told[-3].startswith("So the root is a#1")


def test_what_was_never_delivered_says_what_it_lacks() -> None:
    assert sentences(story(), "b#1", "d")[1:4] == [
        "It came to d at 7.0 ms, from b, and waited there:",
        "  to the end for a#1, which came before it.",
        "It was not delivered at d.",
    ]
    assert "That never came to d." in sentences(story(), "b#1", "d")


def test_the_data_has_the_same() -> None:
    ways = Ways(story())
    data = Telling(ways).data(ways.chain(2, 2))
    assert [way["message"] for way in data["chain"]] == ["b#1", "a#2", "a#1"]
    assert data["chain"][0]["waits"][0]["cause"] == "a#2"
    assert data["root"] == "a#1"
    assert [event["kind"] for event in data["events"]] == ["partition", "mend"]


def test_the_longest_wait_comes_first() -> None:
    ways = Ways(story())
    telling = Telling(ways)
    assert [telling.summary(way) for way in telling.longest(5)] == [
        "b#1 at c: delivered after 4.0 ms, last for a#2, which came before it",
        "a#2 at c: delivered after 3.0 ms, last for a#1, which came before it",
    ]
    [held] = telling.longest_held(5)
    assert held.startswith("a#1 at a, where it was said: held back for 1.0 ms for the permit for a#1, before")


@pytest.mark.parametrize(
    ("message", "text"),
    [("nonsense", "is no message"), ("z#1", "no process 'z'"), ("a#9", "said no message 9; its last is 2")],
)
def test_what_is_not_there_is_refused(message: str, text: str) -> None:
    with pytest.raises(Misuse, match=text):
        Ways(story()).message(message)
