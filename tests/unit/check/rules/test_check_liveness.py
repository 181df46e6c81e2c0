"""Validity, agreement, uniform agreement: what is owed, to whom, and when it cannot be known."""

import pytest

from aforesaid.check import Verdict, check
from aforesaid.trace import MemoryTrace
from unit.check.stories import tell

LIVENESS = ("validity", "agreement", "uniform_agreement")


def values(trace: MemoryTrace) -> list[str]:
    verdicts = check(trace).verdicts
    return [verdicts[name].value for name in LIVENESS]


def verdict(trace: MemoryTrace, name: str) -> Verdict:
    return check(trace).verdicts[name]


def test_all_delivered() -> None:
    assert values(tell({"a": ["!1", "a1"], "b": ["a1"]})) == ["kept", "kept", "kept"]


def test_sent_by_a_correct_process_and_delivered_by_none() -> None:
    trace = tell({"a": ["!1"], "b": []})
    assert values(trace) == ["violated", "kept", "kept"]
    assert [w.sentence for w in verdict(trace, "validity").witnesses] == [
        "a, which is correct, sent a#1, but never delivered it itself.",
        "a, which is correct, sent a#1, but b, which is correct too, never delivered it.",
    ]
    assert [w.position for w in verdict(trace, "validity").witnesses] == [None, None]


def test_delivered_by_one_correct_process_only() -> None:
    trace = tell({"a": ["!1"], "b": ["a1"], "c": []}, fates={"a": "crashed"})
    assert values(trace) == ["kept", "violated", "violated"]
    assert [w.sentence for w in verdict(trace, "agreement").witnesses] == [
        "b, which is correct, delivered a#1 at position 0, but c, which is correct too, never did."
    ]
    assert verdict(trace, "agreement").witnesses[0].details == {"deliverer": "b", "deliverer_position": 0}


@pytest.mark.parametrize(
    ("fate", "words"),
    [("crashed", "which crashed"), ("left", "which left"), ("evicted", "which was evicted")],
)
def test_uniform_agreement_counts_those_that_are_gone(fate: str, words: str) -> None:
    trace = tell({"a": ["!1", "a1"], "b": []}, fates={"a": fate})
    assert values(trace) == ["kept", "kept", "violated"]
    assert [w.sentence for w in verdict(trace, "uniform_agreement").witnesses] == [
        f"a, {words}, delivered a#1 at position 0, but b, which is correct, never did."
    ]


@pytest.mark.parametrize("fate", ["crashed", "left", "evicted"])
def test_nothing_is_owed_to_those_that_are_gone(fate: str) -> None:
    assert values(tell({"a": ["!1", "a1"], "b": []}, fates={"b": fate})) == ["kept"] * 3


def test_missing_where_the_fate_is_unknown() -> None:
    trace = tell({"a": ["!1", "a1"], "b": []}, fates={"b": "unknown"})
    assert values(trace) == ["unknown"] * 3
    assert verdict(trace, "agreement").note == (
        "1 delivery is missing, but the fate or the whole log of a process concerned is not known."
    )


def test_delivered_only_where_the_fate_is_unknown() -> None:
    trace = tell({"a": ["!1", "a1"], "b": []}, fates={"a": "unknown"})
    assert values(trace) == ["unknown", "unknown", "violated"]
    assert [w.sentence for w in verdict(trace, "uniform_agreement").witnesses] == [
        "a, whose fate is unknown, delivered a#1 at position 0, but b, which is correct, never did."
    ]


def test_missing_from_a_log_that_is_not_complete() -> None:
    assert values(tell({"a": ["!1", "a1"], "b": []}, incomplete="b")) == ["unknown"] * 3


def test_sending_was_lost() -> None:
    trace = tell({"a": [], "b": ["a1"], "c": []}, fates={"a": "crashed"}, incomplete="a")
    assert values(trace) == ["kept", "unknown", "unknown"]


@pytest.mark.parametrize(("ended", "how"), [("cut", "was cut"), ("failed", "failed")])
def test_run_that_was_not_drained(ended: str, how: str) -> None:
    trace = tell({"a": ["!1", "a1"], "b": [], "c": []}, ended=ended)
    assert values(trace) == ["unknown"] * 3
    assert verdict(trace, "validity").violations == 0
    assert verdict(trace, "validity").note == (
        f"2 deliveries are missing, but the run {how} before it was drained."
    )


def test_cut_run_with_nothing_missing() -> None:
    assert values(tell({"a": ["!1", "a1"], "b": ["a1"]}, ended="cut")) == ["kept"] * 3


def test_only_the_audience_is_owed() -> None:
    story = {"a": ["!1>b"], "b": ["a1"], "c": []}
    assert values(tell(story)) == ["kept"] * 3
    assert values(tell({**story, "b": []})) == ["violated", "kept", "kept"]


def test_all_violations_are_counted_and_some_shown() -> None:
    story = {"a": ["!1", "!2", "a1", "a2"], "b": [], "c": ["a1"]}
    found = check(tell(story), witnesses_max=2).verdicts["agreement"]
    assert found.violations == 3
    assert [(w.process, w.message) for w in found.witnesses] == [("b", "a#1"), ("b", "a#2")]
    everything = check(tell(story), witnesses_max=None).verdicts["agreement"]
    assert len(everything.witnesses) == 3
    assert check(tell(story), witnesses_max=0).verdicts["agreement"].witnesses == ()
