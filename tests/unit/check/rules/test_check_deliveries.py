"""The rules that need one delivery to break: no duplicate, no creation, audience, no foresight."""

from typing import Any

from aforesaid.check import Verdict, check
from aforesaid.trace import MemoryTrace
from unit.check.stories import tell


def verdict(trace: MemoryTrace, name: str) -> Verdict:
    return check(trace).verdicts[name]


def sentences(trace: MemoryTrace, name: str) -> list[str]:
    return [witness.sentence for witness in verdict(trace, name).witnesses]


class TestNoDuplicate:
    def test_kept(self) -> None:
        assert verdict(tell({"a": ["!1", "a1"], "b": ["a1"]}), "no_duplicate") == Verdict(
            "no_duplicate", "kept"
        )

    def test_repeated_delivery_is_one_violation_per_message(self) -> None:
        trace = tell({"a": ["!1", "a1", "!2", "a2"], "b": ["a1", "a2", "a1", "a1"]})
        found = verdict(trace, "no_duplicate")
        assert (found.value, found.violations) == ("violated", 1)
        assert found.witnesses[0].sentence == "b delivered a#1 at position 0 and again at position 2."
        assert found.witnesses[0].position == 2
        assert found.witnesses[0].details == {"first_position": 0}

    def test_crashed_process_may_not_repeat_either(self) -> None:
        trace = tell({"a": ["!1", "a1"], "b": ["a1", "a1"]}, fates={"b": "crashed"})
        assert verdict(trace, "no_duplicate").value == "violated"


class TestNoCreation:
    def test_never_sent(self) -> None:
        trace = tell({"a": ["!1", "a1"], "b": ["a1", "a7"]})
        assert sentences(trace, "no_creation") == ["b delivered a#7 at position 1, but a never sent it."]

    def test_unknown_origin(self) -> None:
        trace = tell({"a": ["z3"]})
        assert sentences(trace, "no_creation") == [
            "a delivered unknown#3 at position 0, but no process of the trace sent it."
        ]

    def test_row_outside_the_table_is_creation_and_not_malformed(self) -> None:
        trace = tell({"a": ["!1", "a1", "?9", "?9"], "b": ["?-2", "a1"]})
        found = verdict(trace, "no_creation")
        assert found.violations == 2
        assert [witness.sentence for witness in found.witnesses] == [
            "a delivered message 9 at position 1, but the trace has no such message.",
            "b delivered message -2 at position 0, but the trace has no such message.",
        ]

    def test_positions_count_deliveries_of_unknown_rows(self) -> None:
        trace = tell({"a": ["!1", "!2", "a1", "a2"], "b": ["?9", "a2", "a1"]})
        assert sentences(trace, "fifo") == [
            "b delivered a#2 at position 1, but a#1, which a had sent before it, only at position 2."
        ]

    def test_unknown_if_the_sending_may_have_been_lost(self) -> None:
        trace = tell({"a": [], "b": ["a1"]}, fates={"a": "crashed"}, incomplete="a")
        found = verdict(trace, "no_creation")
        assert (found.value, found.violations) == ("unknown", 0)
        assert found.note == (
            "b delivered a#1 at position 0, which no log says was sent, but the log of a process that may "
            "have sent it is not complete."
        )

    def test_unknown_origin_is_unknown_if_any_log_is_not_complete(self) -> None:
        assert verdict(tell({"a": [], "b": ["z1"]}, incomplete="a"), "no_creation").value == "unknown"

    def test_violation_outweighs_doubt(self) -> None:
        trace = tell({"a": [], "b": ["a1", "b4"]}, incomplete="a")
        assert verdict(trace, "no_creation").value == "violated"

    def test_order_cannot_be_vouched_for_if_a_sending_was_lost(self) -> None:
        report = check(tell({"a": [], "b": ["a1"]}, fates={"a": "crashed"}, incomplete="a"))
        assert report.verdicts["causal"].value == report.verdicts["fifo"].value == "unknown"
        assert report.verdicts["causal"].note == (
            "b delivered a#1 at position 0, whose sending may be missing from a log that is not complete, so "
            "what came before it is not known."
        )

    def test_what_nobody_sent_is_owed_to_nobody(self) -> None:
        report = check(tell({"a": ["c7", "!1", "a1"], "b": ["a1"], "c": ["a1"]}))
        broken = [name for name in report.required if report.verdicts[name].value != "kept"]
        assert broken == ["no_creation"]


class TestAudience:
    def test_delivered_by_one_it_is_not_for(self) -> None:
        trace = tell({"a": ["!1>b"], "b": ["a1"], "c": ["a1"]})
        assert sentences(trace, "audience") == [
            "c delivered a#1 at position 0, but a had not addressed it to c."
        ]

    def test_origin_need_not_be_in_its_audience(self) -> None:
        trace = tell({"a": ["!1>b", "a1"], "b": ["a1"]})
        assert verdict(trace, "audience").violations == 1

    def test_message_to_all_is_for_joiners_too(self) -> None:
        trace = tell({"a": ["!1", "a1"], "b": ["a1"]}, bases={"b": []})
        assert verdict(trace, "audience").value == "kept"


class TestNoForesight:
    def test_own_message_delivered_before_it_was_sent(self) -> None:
        trace = tell({"a": ["a1", "b1", "!1"], "b": ["!1", "b1", "a1"]})
        found = verdict(trace, "no_foresight")
        assert [witness.sentence for witness in found.witnesses] == [
            "a delivered its own a#1 at position 0, but sent it only after position 1."
        ]
        assert found.witnesses[0].details["kind"] == "own"

    def test_cycle_between_two_logs(self) -> None:
        trace = tell({"a": ["b1", "!1", "a1"], "b": ["a1", "!1", "b1"]})
        found = verdict(trace, "no_foresight")
        assert found.violations == 1
        assert found.witnesses[0].sentence == (
            "a#1 comes before itself: b delivered a#1 before it sent b#1, and a delivered b#1 before it sent "
            "a#1."
        )
        assert found.witnesses[0].details == {"kind": "cycle", "cycle": ["a#1", "b#1"]}
        assert found.witnesses[0].position is None

    def test_longer_cycle_over_an_own_message(self) -> None:
        trace = tell({"a": ["b2", "!1", "a1"], "b": ["a1", "!1", "!2", "b1", "b2"]})
        assert sentences(trace, "no_foresight") == [
            "a#1 comes before itself: b delivered a#1 before it sent b#1, b sent b#1 before it sent b#2, and "
            "a delivered b#2 before it sent a#1."
        ]

    def test_two_cycles_are_two_violations(self) -> None:
        story = {"a": ["b1", "!1"], "b": ["a1", "!1"], "c": ["d1", "!1"], "d": ["c1", "!1"]}
        found = verdict(tell(story), "no_foresight")
        assert [witness.message for witness in found.witnesses] == ["a#1", "c#1"]

    def test_recorder_cannot_hide_a_cycle(self) -> None:
        story = {"a": ["b1", "!1", "a1"], "b": ["a1", "!1", "b1"]}
        trace = tell(story, after={"a1": [], "b1": []})
        assert verdict(trace, "no_foresight").violations == 1

    def test_recorder_cannot_invent_a_cycle(self) -> None:
        trace = tell({"a": ["!1", "a1"], "b": ["a1", "!1", "b1"]}, after={"a1": ["b1"]})
        assert verdict(trace, "no_foresight").value == "kept"

    def test_with_a_cycle_there_is_no_causal_order_to_judge(self) -> None:
        found = verdict(tell({"a": ["b1", "!1", "a1"], "b": ["a1", "!1", "b1"]}), "causal")
        assert found.value == "unknown"
        assert (
            found.note == "The logs contradict each other (see no_foresight): there is no order to judge by."
        )

    def test_clock(self) -> None:
        story = {"a": ["!1", "a1"], "b": ["a1"]}
        times: dict[str, Any] = {"sent_ns": {"a1": 50}, "delivered_ns": {("a", "a1"): 50, ("b", "a1"): 40}}
        trace = tell(story, **times, clock="global")
        assert sentences(trace, "no_foresight") == [
            "b delivered a#1 at position 0, at 40 ns, but a sent it only at 50 ns."
        ]
        assert verdict(tell(story, **times, clock="local"), "no_foresight").value == "kept"
