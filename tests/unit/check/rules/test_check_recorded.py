"""Derive, do not trust: the recorder's predecessors against the origins' own logs."""

from aforesaid.check import Verdict, check
from aforesaid.trace import MemoryTrace
from unit.check.stories import tell


def verdict(trace: MemoryTrace, name: str = "recorded") -> Verdict:
    return check(trace).verdicts[name]


def lies(trace: MemoryTrace) -> list[str]:
    return [witness.sentence for witness in verdict(trace).witnesses]


CHAIN = {"a": ["!1", "a1", "b1"], "b": ["a1", "!1", "b1"], "c": ["a1", "b1"]}


def test_true_record() -> None:
    assert verdict(tell(CHAIN)) == Verdict("recorded", "kept")


def test_forgotten_delivery() -> None:
    trace = tell(CHAIN, after={"b1": []})
    assert lies(trace) == [
        "b had delivered a#1, at position 0, before it sent b#1, but a#1 is not recorded as coming before "
        "b#1."
    ]
    assert verdict(trace).witnesses[0].details == {
        "kind": "missing",
        "predecessor": "a#1",
        "predecessor_index": 0,
    }


def test_forgotten_own_message() -> None:
    trace = tell({"a": ["!1", "!2", "a1", "a2"]}, after={"a2": []})
    assert lies(trace) == ["a had sent a#1 before it sent a#2, but a#1 is not recorded as coming before a#2."]


def test_invented_predecessor() -> None:
    trace = tell({"a": ["!1", "a1", "b1"], "b": ["!1", "b1", "a1"]}, after={"b1": ["a1"]})
    assert lies(trace) == ["a#1 is recorded as coming before b#1, but b had not delivered a#1 by then."]
    assert verdict(trace).witnesses[0].details["kind"] == "false"


def test_invented_order_of_own_messages() -> None:
    trace = tell({"a": ["!1", "!2", "a1", "a2"]}, after={"a1": ["a2"]})
    assert lies(trace) == ["a#2 is recorded as coming before a#1, but a had not sent a#2 by then."]


def test_predecessors_of_what_was_never_sent() -> None:
    trace = tell({"a": ["!1", "a1", "a9"]}, after={"a9": ["a1"]})
    assert lies(trace) == ["a#1 is recorded as coming before a#9, but it was never sent."]


def test_predecessors_of_what_may_have_been_sent() -> None:
    trace = tell({"a": ["!1", "a1"], "b": ["a1", "a9"]}, after={"a9": ["a1"]}, incomplete="a")
    assert verdict(trace).value == "unknown"
    assert verdict(trace).note == (
        "The sending of a#9 may be missing from a log that is not complete, so its recorded predecessors "
        "cannot be compared."
    )


def test_more_than_needed_is_no_lie() -> None:
    story = {"a": ["!1", "!2", "a1", "a2"], "b": ["a1", "a2", "!1", "!2", "b1", "b2"]}
    assert verdict(tell(story, after={"b2": ["b1", "a1", "a2"]})).value == "kept"


def test_less_than_all_is_no_lie_if_the_rest_follows() -> None:
    story = {"a": ["!1", "!2", "a1", "a2"], "b": ["a1", "a2", "!1", "b1"]}
    assert verdict(tell(story, after={"b1": ["a2"]})).value == "kept"


def test_what_follows_only_from_a_false_predecessor_is_missing() -> None:
    story = {"a": ["!1", "a1"], "c": ["!1", "c1"], "b": ["a1", "c1", "!1", "b1"]}
    trace = tell(story, after={"c1": ["a1"], "b1": ["c1"]})
    assert [w.details["kind"] for w in verdict(trace).witnesses] == ["false", "missing"]


def test_only_the_message_at_fault_is_accused() -> None:
    story = {"a": ["!1", "a1"], "b": ["a1", "!1", "b1"], "c": ["a1", "b1", "!1", "c1"]}
    trace = tell(story, after={"b1": [], "c1": ["b1"]})
    assert [(w.message, w.details["predecessor"]) for w in verdict(trace).witnesses] == [("b#1", "a#1")]


def test_repeated_delivery_covers_as_the_tracer_takes_it_to() -> None:
    # b delivers c#1 too early, sends, delivers a#1, and c#1 again: the tracer then drops a#1 as known by c#1.
    story = {"a": ["!1"], "c": ["a1", "!1"], "b": ["c1", "!1", "a1", "c1", "!2"]}
    assert verdict(tell(story, after={"b2": ["b1", "c1"]})).value == "kept"
    assert verdict(tell(story, after={"b2": ["b1"]})).value == "kept"
    assert [w.details["predecessor"] for w in verdict(tell(story, after={"b2": ["c1"]})).witnesses] == ["b#1"]


def test_repeated_delivery_covers_what_its_own_record_forgot() -> None:
    story = {"a": ["!1"], "c": ["a1", "!1"], "b": ["c1", "!1", "a1", "c1", "!2"]}
    trace = tell(story, after={"c1": [], "b2": ["b1", "c1"]})
    assert [(w.message, w.details["predecessor"]) for w in verdict(trace).witnesses] == [("c#1", "a#1")]


def test_in_a_circle_nobody_is_excused_by_the_next() -> None:
    story = {"a": ["b1", "c1", "!1"], "b": ["a1", "c1", "!1"], "c": ["a1", "b1", "!1"], "d": ["!1", "!2"]}
    trace = tell(story, after={"a1": [], "b1": [], "c1": [], "d2": []})
    assert verdict(trace).violations == 7
    assert verdict(trace, "no_foresight").value == "violated"


def test_forgetting_cannot_hide_a_causal_violation() -> None:
    story = {**CHAIN, "c": ["b1", "a1"]}
    honest, lying = tell(story), tell(story, after={"b1": []})
    assert verdict(honest, "causal").witnesses == verdict(lying, "causal").witnesses
    assert verdict(lying, "causal").value == verdict(lying).value == "violated"


def test_inventing_cannot_make_a_causal_violation() -> None:
    story = {"a": ["!1", "a1", "b1"], "b": ["!1", "b1", "a1"], "c": ["b1", "a1"]}
    assert verdict(tell(story, after={"b1": ["a1"]}), "causal").value == "kept"


def test_forgetting_cannot_change_what_a_joiner_is_owed() -> None:
    story = {**CHAIN, "c": ["b1"]}
    trace = tell(story, after={"b1": []}, bases={"c": ["b1"]})
    assert verdict(trace, "validity").value == "kept"
