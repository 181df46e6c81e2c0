"""The front door: what is judged, what is required, what is refused, what is reported."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from aforesaid.check import ALWAYS_REQUIRED, PROPERTIES, MalformedTrace, check
from aforesaid.core import MessageId
from aforesaid.trace import (
    Lists,
    Log,
    MemorySink,
    MemoryTrace,
    Messages,
    Processes,
    Run,
    Stabilities,
    Tracer,
)
from unit.check.stories import tell

GOOD = {"a": ["!1", "a1", "b1"], "b": ["a1", "!1", "b1"]}
UNFAIR = {"a": ["!1", "!2", "a1", "a2"], "b": ["a2", "a1"]}


def test_every_property_is_judged_in_order() -> None:
    report = check(tell(GOOD), tuple(PROPERTIES))
    assert list(report.verdicts) == list(PROPERTIES)
    assert check(tell(GOOD)).value() == "kept"
    assert report.run.run == "story"


def test_all_but_uniform_agreement_and_stability_is_required_by_default() -> None:
    report = check(tell(GOOD))
    assert set(PROPERTIES) - set(report.required) == {"causal_unless_lost", "uniform_agreement", "stability"}
    assert list(report.required) == [name for name in PROPERTIES if name in report.required]


def test_promises_are_required_and_what_is_always() -> None:
    report = check(tell(UNFAIR, promises=("no_duplicate",)))
    assert report.required == ("no_duplicate", *ALWAYS_REQUIRED)
    assert report.value() == "kept"
    assert report.verdicts["fifo"].value == "violated"
    assert report.value(["fifo"]) == "violated"
    assert [found.property for found in check(tell(UNFAIR)).required_verdicts()][:2] == ["fifo", "causal"]


def test_violated_outweighs_unknown_outweighs_kept() -> None:
    cut = check(tell({**GOOD, "c": []}, ended="cut"))
    assert cut.value() == "unknown"
    assert cut.value(["fifo"]) == "kept"
    assert check(tell({**UNFAIR, "c": []}, ended="cut")).value() == "violated"


def test_chosen_properties_and_those_always_required() -> None:
    report = check(tell(UNFAIR), ["fifo"])
    assert list(report.verdicts) == ["no_foresight", "audience", "fifo", "recorded"]
    assert report.value() == "violated"
    assert report.value(["no_duplicate"]) == "unknown"
    assert check(tell(UNFAIR), ["agreement"]).value() == "kept"


def test_unknown_property() -> None:
    with pytest.raises(
        ValueError, match="no property is called 'total'; there are: no_duplicate, no_creation"
    ):
        check(tell(GOOD), ["total"])
    with pytest.raises(ValueError, match="'total'"):
        check(tell(GOOD)).value(["total"])


def test_unknown_promise() -> None:
    with pytest.raises(MalformedTrace, match="promises 'total'"):
        check(tell(GOOD, promises=("total",)))


def test_progress() -> None:
    calls: list[tuple[int, int]] = []
    check(tell(GOOD), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2)]
    calls.clear()
    check(tell({"a": ["!1"], "b": []}), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2), (3, 4), (4, 4)]


def test_witnesses_are_limited_and_counted() -> None:
    numbers = range(1, 10)
    story = {"a": [f"!{n}" for n in numbers], "b": [f"a{n}" for n in reversed(numbers)]}
    found = check(tell(story), witnesses_max=3).verdicts["fifo"]
    assert (found.violations, len(found.witnesses)) == (8, 3)
    assert [w.position for w in found.witnesses] == [0, 1, 2]


def test_report_as_json() -> None:
    said = json.loads(json.dumps(check(tell(UNFAIR)).to_dict()))
    assert said["run"] == "story"
    assert said["value"] == "violated"
    assert said["verdicts"]["fifo"] == {
        "value": "violated",
        "violations": 1,
        "note": "",
        "witnesses": [
            {
                "property": "fifo",
                "process": "b",
                "message": "a#2",
                "position": 0,
                "sentence": "b delivered a#2 at position 0, but a#1, which a had sent before it, "
                "only at position 1.",
                "process_index": 1,
                "message_index": 1,
                "predecessor": "a#1",
                "predecessor_index": 0,
                "predecessor_position": 1,
            }
        ],
    }


def test_every_detail_is_fit_for_json() -> None:
    stories = (
        tell({"a": ["b1", "!1", "a1", "a1"], "b": ["a1", "!1", "?9"]}, after={"a1": []}),
        tell({"a": ["!1>bc"], "b": ["a1", "!1>d"], "d": ["b1", "!1>c", "a1"], "c": ["d1", "a1"]}),
        tell(GOOD, clock="global", sent_ns={"a1": 9}),
    )
    for trace in stories:
        json.dumps(check(trace, witnesses_max=None).to_dict())


def test_violations_can_be_put_in_a_set() -> None:
    witnesses = check(tell(UNFAIR)).verdicts["fifo"].witnesses
    assert len({*witnesses, *witnesses}) == 1


def test_trace_without_messages() -> None:
    assert check(tell({"a": [], "b": []})).value() == "kept"
    assert check(tell({})).value() == "kept"
    created = check(tell({"a": ["?0"]}))
    assert created.verdicts["no_creation"].violations == 1


def test_incarnations_are_different_processes() -> None:
    sink = MemorySink()
    tracer = Tracer(sink)
    first, other = tracer.began("a", 0, 0), tracer.began("b", 0, 0)
    tracer.sent(first, MessageId("a", 0, 1), 1)
    tracer.ended(first, "crashed", 2)
    second = tracer.began("a", 1, 3)
    tracer.sent(second, MessageId("a", 1, 1), 4)
    for process in (other, second):
        tracer.delivered(process, MessageId("a", 1, 1), 5)
    tracer.close(Run("again"))
    report = check(sink.trace)
    assert report.value() == "kept"
    broken = replace(sink.trace, delivery_message=np.zeros(2, np.int32))
    assert [w.sentence for w in check(broken).verdicts["validity"].witnesses] == [
        "a~1, which is correct, sent a~1#1, but b, which is correct too, never delivered it.",
        "a~1, which is correct, sent a~1#1, but never delivered it itself.",
    ]


@dataclass(frozen=True)
class Skipping:
    """A trace whose store skips processes that delivered nothing."""

    whole: MemoryTrace

    @property
    def run(self) -> Run:
        return self.whole.run

    @property
    def processes(self) -> Processes:
        return self.whole.processes

    @property
    def messages(self) -> Messages:
        return self.whole.messages

    @property
    def stabilities(self) -> Stabilities:
        return self.whole.stabilities

    def log(self, process: int) -> Log:
        return self.whole.log(process)

    def logs(self) -> Iterator[tuple[int, Log]]:
        return ((process, log) for process, log in self.whole.logs() if len(log))


@dataclass(frozen=True)
class Repeating(Skipping):
    """A trace whose store holds every log twice."""

    def logs(self) -> Iterator[tuple[int, Log]]:
        return (entry for entry in self.whole.logs() for _ in range(2))


def test_second_log_of_a_process_is_refused() -> None:
    with pytest.raises(MalformedTrace, match="one log too many of a"):
        check(Repeating(tell(GOOD)))


def test_process_without_a_log_delivered_nothing() -> None:
    found = check(Skipping(tell({"a": ["!1", "a1"], "b": []}))).verdicts["validity"]
    assert [w.process for w in found.witnesses] == ["b"]


def changed(trace: MemoryTrace, **columns: Any) -> MemoryTrace:
    return replace(trace, messages=replace(trace.messages, **columns))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"after": Lists.of([[], [5], []])}, "5 is named as a predecessor, but there are 3 messages"),
        ({"after": Lists.of([[], [-1], []])}, "-1 is named as a predecessor, but there are 3 messages"),
        (
            {"audience": Lists.of([[], [2], []])},
            "2 is named as part of an audience, but there are 2 processes",
        ),
        ({"number": np.array([1, 3, 1], np.int32)}, "a#3 stands where message 2 of a should be"),
        ({"number": np.array([2, 1, 1], np.int32)}, "a#2 stands where message 1 of a should be"),
        (
            {"sent_after": np.array([2, 1, 1], np.int32)},
            "sent_after falls from 2 for a#1 to 1 for a#2",
        ),
        (
            {"sent_after": np.array([0, 0, 9], np.int32)},
            "sent_after of b#1 is 9, but the log of b ends at 3",
        ),
        ({"sent_after": np.array([0, 0, -3], np.int32)}, "sent_after of a message is -3"),
        ({"origin": np.array([0, 0, 2], np.int32)}, "a message's origin is not among the 2 processes"),
        ({"origin": np.array([0, 0, -1], np.int32)}, "message 2 was sent, but by no process of the trace"),
        ({"to_all": np.ones(2, np.bool_)}, "2 rows in messages.to_all, but 3 messages"),
    ],
)
def test_malformed_messages(columns: dict[str, Any], words: str) -> None:
    trace = tell({"a": ["!1", "!2", "a1", "a2", "b1"], "b": ["a1", "!1", "b1", "a2"]})
    with pytest.raises(MalformedTrace) as caught:
        check(changed(trace, **columns))
    assert str(caught.value) == words


def test_malformed_processes() -> None:
    trace = tell(GOOD)
    with pytest.raises(MalformedTrace, match="7 is named as part of a base, but there are 2 messages"):
        check(replace(trace, processes=replace(trace.processes, base=Lists.of([[], [7]]))))
    with pytest.raises(MalformedTrace, match="a process has the fate 'lost', which is none of: alive, left"):
        check(tell(GOOD, fates={"b": "lost"}))
