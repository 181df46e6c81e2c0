"""Stability: what may be called stable, by whom and when; and what must be, in the end."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aforesaid.check import PROPERTIES, MalformedTrace, Verdict, check
from aforesaid.trace import MemoryTrace
from unit.check.stories import stabilities, tell

KINDS = ("created", "twice", "own", "early", "missing")
GOOD = {"a": ["!1", "a1", "=a1"], "b": ["a1"]}


def verdict(trace: MemoryTrace) -> Verdict:
    return check(trace, tuple(PROPERTIES)).verdicts["stability"]


def sentences(trace: MemoryTrace, kind: str) -> list[str]:
    found = verdict(trace)
    assert {witness.details["kind"] for witness in found.witnesses} <= set(KINDS)
    return [witness.sentence for witness in found.witnesses if witness.details["kind"] == kind]


def test_kept_if_the_origin_calls_what_all_delivered() -> None:
    assert verdict(tell(GOOD)) == Verdict("stability", "kept")


def test_kept_if_others_call_it_too() -> None:
    assert verdict(tell({"a": ["!1", "a1", "=a1"], "b": ["a1", "=a1"]})).value == "kept"


def test_required_only_if_promised() -> None:
    silent = {"a": ["!1", "a1"], "b": ["a1"]}
    # Where nobody promised it and nobody spoke of it, it is not judged; one word is enough to be judged by.
    assert "stability" not in check(tell(silent)).verdicts
    assert check(tell(GOOD)).verdicts["stability"].value == "kept"
    assert "stability" not in check(tell(GOOD)).required
    assert check(tell(silent, promises=("validity", "stability"))).value() == "violated"
    assert check(tell(GOOD, promises=("validity", "stability"))).value() == "kept"
    assert list(check(tell(silent), ["stability"]).verdicts) == [
        "no_foresight",
        "audience",
        "stability",
        "recorded",
    ]


# Once, and of what was sent


def test_called_twice() -> None:
    trace = tell({"a": ["!1", "!2", "a1", "=a1", "a2", "=a2", "=a1", "=a1"], "b": ["a1", "a2"]})
    found = verdict(trace)
    assert [w.sentence for w in found.witnesses] == [
        "a called a#1 stable after 1 delivery and again after 2 deliveries."
    ]
    assert found.violations == 1
    assert found.witnesses[0].position is None
    assert found.witnesses[0].details == {"kind": "twice", "after_deliveries": 1, "again_after_deliveries": 2}


def test_never_sent() -> None:
    trace = tell({"a": ["!1", "a1", "=a1", "=b7", "=z3", "=?9", "=?-2"], "b": ["a1"]})
    assert sorted(sentences(trace, "created")) == [
        "a called b#7 stable after 1 delivery, but b never sent it.",
        "a called message -2 stable after 1 delivery, but the trace has no such message.",
        "a called message 9 stable after 1 delivery, but the trace has no such message.",
        "a called unknown#3 stable after 1 delivery, but no process of the trace sent it.",
    ]
    assert verdict(trace).violations == 4


def test_unknown_if_the_sending_may_have_been_lost() -> None:
    found = verdict(tell({"a": [], "b": ["a1", "=a1"]}, fates={"a": "crashed"}, incomplete="a"))
    assert (found.value, found.violations) == ("unknown", 0)
    assert found.note == (
        "b called a#1 stable after 1 delivery, which no log says was sent, but the log of a process that may "
        "have sent it is not complete."
    )


def test_calls_in_a_trace_without_messages() -> None:
    trace = tell({"a": ["=?0"], "b": []})
    assert sentences(trace, "created") == [
        "a called message 0 stable after 0 deliveries, but the trace has no such message."
    ]


# Its own delivery, without any clock


@pytest.mark.parametrize("fate", ["alive", "crashed", "left", "unknown"])
def test_called_before_its_own_delivery(fate: str) -> None:
    trace = tell({"a": ["!1", "a1", "=a1"], "b": ["=a1", "a1"]}, fates={"b": fate})
    assert sentences(trace, "own") == [
        "b called a#1 stable after 0 deliveries, but delivered it itself only at position 0."
    ]
    assert verdict(trace).witnesses[0].details["delivered_position"] == 0


def test_called_without_its_own_delivery() -> None:
    trace = tell({"a": ["!1", "a1", "=a1"], "b": ["=a1"]}, fates={"b": "crashed"})
    assert [w.sentence for w in verdict(trace).witnesses] == [
        "b called a#1 stable after 0 deliveries, but never delivered it itself."
    ]


def test_who_is_not_owed_a_message_may_know_that_it_is_stable() -> None:
    assert verdict(tell({"a": ["!1>b", "=a1"], "b": ["a1"], "c": ["=a1"]})).value == "kept"
    joined = tell({"a": ["!1", "a1", "=a1"], "b": ["=a1"]}, bases={"b": ["a1"]})
    assert verdict(joined).value == "kept"


# Everyone else's


def test_called_before_a_correct_process_delivered_it_by_the_clock() -> None:
    story = {"a": ["!1", "a1", "=a1"], "b": ["a1"], "c": ["a1"]}
    times: dict[str, Any] = {
        "delivered_ns": {("b", "a1"): 50, ("c", "a1"): 60},
        "stable_ns": {("a", "a1"): 40},
    }
    trace = tell(story, clock="global", **times)
    found = verdict(trace)
    assert [w.sentence for w in found.witnesses] == [
        "a called a#1 stable after 1 delivery, at 40 ns, but c, which is correct, delivered it only at 60 ns."
    ]
    assert found.witnesses[0].details == {
        "kind": "early",
        "after_deliveries": 1,
        "late": "c",
        "late_index": 2,
        "called_ns": 40,
        "delivered_ns": 60,
    }
    assert verdict(tell(story, clock="local", **times)).value == "kept"
    assert verdict(tell(story, clock="global", fates={"b": "crashed", "c": "left"}, **times)).value == "kept"


def test_the_same_time_is_not_too_early() -> None:
    times: dict[str, Any] = {"delivered_ns": {("b", "a1"): 50}, "stable_ns": {("a", "a1"): 50}}
    assert verdict(tell(GOOD, clock="global", **times)).value == "kept"


def test_the_first_delivery_counts_and_the_earliest_call() -> None:
    story = {"a": ["!1", "a1", "=a1"], "b": ["a1", "b9", "a1"]}
    times: dict[str, Any] = {"delivered_ns": {("b", "a1"): 50}, "stable_ns": {("a", "a1"): 50}}
    assert sentences(tell(story, clock="global", **times), "early") == []
    calls = stabilities([(0, 0, 60, 1), (0, 0, 40, 1)])
    assert len(sentences(replace(tell(story, clock="global", **times), stabilities=calls), "early")) == 1


def test_one_violation_for_each_that_calls_too_early() -> None:
    trace = tell(
        {"a": ["!1", "a1", "=a1"], "b": ["a1", "=a1"], "c": ["a1", "=a1"]},
        clock="global",
        delivered_ns={("c", "a1"): 60},
        stable_ns={("a", "a1"): 40, ("b", "a1"): 70, ("c", "a1"): 50},
    )
    assert sentences(trace, "early") == [
        "a called a#1 stable after 1 delivery, at 40 ns, but c, which is correct, delivered it only at 60 "
        "ns.",
        "c called a#1 stable after 1 delivery, at 50 ns, but delivered it only at 60 ns.",
    ]


def test_called_although_a_correct_process_never_delivered_it() -> None:
    story = {"a": ["!1", "a1", "=a1"], "b": []}
    assert sentences(tell(story), "early") == [
        "a called a#1 stable after 1 delivery, but b, which is correct, never delivered it."
    ]
    assert sentences(tell(story, clock="global"), "early") == [
        "a called a#1 stable after 1 delivery, at 0 ns, but b, which is correct, never delivered it."
    ]
    assert verdict(tell(story, fates={"b": "crashed"})).value == "kept"
    assert verdict(tell(story, bases={"b": ["a1"]})).value == "kept"


def test_not_delivered_yet_in_a_run_that_was_cut() -> None:
    story = {"a": ["!1", "a1", "=a1"], "b": []}
    found = verdict(tell(story, ended="cut"))
    assert (found.value, found.note) == (
        "unknown",
        "1 message was called stable, and not by all seen to be delivered before, but the run was cut before "
        "it was drained.",
    )
    # By a global clock the call was too early, however the run would have gone on.
    assert sentences(tell(story, ended="cut", clock="global"), "early") == [
        "a called a#1 stable after 1 delivery, at 0 ns, but b, which is correct, had not delivered it by the "
        "end."
    ]


@pytest.mark.parametrize("clock", ["global", "local"])
@pytest.mark.parametrize("doubt", [{"fates": {"b": "unknown"}}, {"incomplete": "b"}], ids=str)
def test_not_seen_where_little_is_known(clock: str, doubt: dict[str, Any]) -> None:
    found = verdict(tell({"a": ["!1", "a1", "=a1"], "b": []}, clock=clock, **doubt))
    assert (found.value, found.note) == (
        "unknown",
        "1 message was called stable, and not by all seen to be delivered before, but the fate or the whole "
        "log of a process concerned is not known.",
    )


def test_too_late_for_the_clock_where_little_is_known() -> None:
    times: dict[str, Any] = {
        "delivered_ns": {("b", "a1"): 50},
        "stable_ns": {("a", "a1"): 40},
        "clock": "global",
    }
    assert verdict(tell(GOOD, fates={"b": "unknown"}, **times)).value == "unknown"
    assert verdict(tell(GOOD, incomplete="b", **times)).value == "violated"


def test_only_a_correct_process_is_named_as_late() -> None:
    trace = tell(
        {"a": ["!1", "a1", "=a1"], "b": ["a1"], "c": ["a1"]},
        clock="global",
        fates={"c": "unknown"},
        delivered_ns={("b", "a1"): 50, ("c", "a1"): 60},
        stable_ns={("a", "a1"): 40},
    )
    assert [w.details["late"] for w in verdict(trace).witnesses] == ["b"]


# In the end


def test_delivered_by_all_and_never_called() -> None:
    trace = tell({"a": ["!1", "!2", "a1", "=a1", "a2"], "b": ["a1", "a2", "=a2"]})
    found = verdict(trace)
    assert [w.sentence for w in found.witnesses] == [
        "Every correct process it is for delivered a#2, but a, which is correct and sent it, never called it "
        "stable."
    ]
    assert (found.witnesses[0].process, found.witnesses[0].message) == ("a", "a#2")
    assert found.witnesses[0].details == {"kind": "missing"}


def test_nobody_need_call_what_is_not_everywhere() -> None:
    assert verdict(tell({"a": ["!1", "a1"], "b": []})).value == "kept"
    assert verdict(tell({"a": ["!1", "a1"], "b": []}, fates={"b": "crashed"})).value == "violated"


@pytest.mark.parametrize("fate", ["crashed", "left", "evicted"])
def test_nothing_is_asked_of_an_origin_that_is_gone(fate: str) -> None:
    assert verdict(tell({"a": ["!1", "a1"], "b": ["a1"]}, fates={"a": fate})).value == "kept"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"ended": "cut"}, "the run was cut before it was drained"),
        ({"ended": "failed"}, "the run failed before it was drained"),
        ({"incomplete": "a"}, "the fate or the whole log of a process concerned is not known"),
        ({"fates": {"a": "unknown"}}, "the fate or the whole log of a process concerned is not known"),
    ],
    ids=str,
)
def test_not_called_yet_perhaps(parts: dict[str, Any], reason: str) -> None:
    found = verdict(tell({"a": ["!1", "a1"], "b": ["a1"]}, **parts))
    assert (found.value, found.note) == (
        "unknown",
        "1 message was delivered by all, as far as is known, and not called stable by the origin, but "
        f"{reason}.",
    )


def test_all_violations_are_counted_and_some_shown() -> None:
    numbers = range(1, 10)
    story = {"a": [*(f"!{n}" for n in numbers), *(f"a{n}" for n in numbers)], "b": [f"a{n}" for n in numbers]}
    found = check(tell(story), tuple(PROPERTIES), witnesses_max=3).verdicts["stability"]
    assert (found.violations, len(found.witnesses)) == (9, 3)


# What no run could have written


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([(0, 0, 0, 2)], "a called a#1 stable after 2 deliveries, but the log of a ends at 1"),
        ([(1, 0, 0, -1)], "b called a#1 stable after -1 deliveries, but the log of b ends at 1"),
        ([(0, 0, 0, 1), (2, 0, 0, 0)], "1 of the stable calls were made by no process of the trace"),
        ([(-1, 0, 0, 0)], "1 of the stable calls were made by no process of the trace"),
    ],
)
def test_malformed_calls(calls: list[tuple[int, int, int, int]], words: str) -> None:
    with pytest.raises(MalformedTrace) as caught:
        check(replace(tell(GOOD), stabilities=stabilities(calls)))
    assert str(caught.value) == words


def test_columns_of_different_lengths() -> None:
    calls = replace(tell(GOOD).stabilities, message=np.empty(0, np.int32))
    with pytest.raises(MalformedTrace, match="the columns of the stable calls of a differ in length"):
        check(replace(tell(GOOD), stabilities=calls))
