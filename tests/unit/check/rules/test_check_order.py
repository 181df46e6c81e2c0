"""FIFO and causal order: broadcast, multicast, joiners, crashed processes."""

import pytest

from aforesaid.check import Verdict, check
from aforesaid.check.rules import hidden
from aforesaid.trace import MemoryTrace
from unit.check.stories import tell


def verdict(trace: MemoryTrace, name: str) -> Verdict:
    return check(trace).verdicts[name]


def sentences(trace: MemoryTrace, name: str) -> list[str]:
    return [witness.sentence for witness in verdict(trace, name).witnesses]


class TestFifo:
    def test_swapped(self) -> None:
        trace = tell({"a": ["!1", "!2", "a1", "a2"], "b": ["a2", "a1"]})
        found = verdict(trace, "fifo")
        assert [witness.sentence for witness in found.witnesses] == [
            "b delivered a#2 at position 0, but a#1, which a had sent before it, only at position 1."
        ]
        assert found.witnesses[0].details == {
            "predecessor": "a#1",
            "predecessor_index": 0,
            "predecessor_position": 1,
        }

    def test_missing(self) -> None:
        trace = tell({"a": ["!1", "!2", "a1", "a2"], "b": ["a2"]})
        assert sentences(trace, "fifo") == [
            "b delivered a#2 at position 0, but never delivered a#1, which a had sent before it."
        ]

    def test_one_gap_is_one_violation(self) -> None:
        trace = tell({"a": ["!1", "!2", "!3", "a1", "a2", "a3"], "b": ["a2", "a3"]})
        assert [witness.message for witness in verdict(trace, "fifo").witnesses] == ["a#2"]

    def test_two_origins_may_interleave(self) -> None:
        trace = tell({"a": ["!1", "a1", "b1"], "b": ["!1", "b1", "a1"], "c": ["b1", "a1"]})
        assert verdict(trace, "fifo").value == "kept"

    def test_gap_in_numbers_of_what_is_addressed_to_it_is_none(self) -> None:
        trace = tell({"a": ["!1>b", "!2>c", "!3>b"], "b": ["a1", "a3"], "c": ["a2"]})
        assert verdict(trace, "fifo").value == "kept"

    def test_gap_between_addressed_ones(self) -> None:
        trace = tell({"a": ["!1>b", "!2>c", "!3>b"], "b": ["a3"], "c": ["a2"]})
        assert sentences(trace, "fifo") == [
            "b delivered a#3 at position 0, but never delivered a#1, which a had sent before it."
        ]

    def test_incomplete_log_says_only_what_is_known(self) -> None:
        trace = tell({"a": ["!1", "!2", "a1", "a2"], "b": ["a2"]}, fates={"b": "crashed"}, incomplete="b")
        assert sentences(trace, "fifo") == [
            "b delivered a#2 at position 0, but had not delivered a#1, which a had sent before it."
        ]

    def test_delivery_that_is_not_for_it_is_judged_too(self) -> None:
        trace = tell({"a": ["!1>b", "!2>c"], "b": ["a2", "a1"], "c": ["a2"]})
        assert [w.message for w in verdict(trace, "fifo").witnesses] == ["a#2"]

    def test_first_delivery_counts(self) -> None:
        trace = tell({"a": ["!1", "!2", "a1", "a2"], "b": ["a1", "a2", "a1"]})
        assert verdict(trace, "fifo").value == "kept"


class TestCausal:
    def test_overtaken(self) -> None:
        trace = tell({"a": ["!1", "a1", "b1"], "b": ["a1", "!1", "b1"], "c": ["b1", "a1"]})
        found = verdict(trace, "causal")
        assert found.violations == 1
        assert found.witnesses[0].sentence == (
            "c delivered b#1 at position 0, but a#1, which b had delivered before sending it, only at "
            "position 1."
        )
        assert (found.witnesses[0].process, found.witnesses[0].message) == ("c", "b#1")

    def test_never_delivered(self) -> None:
        trace = tell({"a": ["!1", "a1", "b1"], "b": ["a1", "!1", "b1"], "c": ["b1"]})
        assert sentences(trace, "causal") == [
            "c delivered b#1 at position 0, but never delivered a#1, which b had delivered before sending it."
        ]

    def test_own_predecessor(self) -> None:
        trace = tell({"a": ["!1", "!2", "a1", "a2"], "b": ["a2", "a1"]})
        assert sentences(trace, "causal") == [
            "b delivered a#2 at position 0, but a#1, which a had sent before it, only at position 1."
        ]

    def test_nearest_predecessor_is_named(self) -> None:
        story = {"a": ["!1", "!2", "a1", "a2", "b1"], "b": ["a1", "a2", "!1", "b1"], "c": ["b1", "a1", "a2"]}
        assert [w.details["predecessor"] for w in verdict(tell(story), "causal").witnesses] == ["a#2"]

    def test_what_follows_is_not_blamed_again(self) -> None:
        story = {
            "a": ["!1", "a1", "b1", "c1"],
            "b": ["a1", "!1", "b1", "c1"],
            "c": ["a1", "b1", "!1", "c1"],
            "d": ["b1", "c1"],
        }
        trace = tell(story, after={"c1": ["b1"]})
        assert [w.message for w in verdict(trace, "causal").witnesses] == ["b#1"]

    def test_delivery_to_itself_teaches_nothing(self) -> None:
        trace = tell({"a": ["!1", "!2", "a2", "a1", "!3", "a3"], "b": ["a1", "a2", "a3"]})
        assert [(w.process, w.message) for w in verdict(trace, "causal").witnesses] == [("a", "a#2")]

    def test_crashed_process_is_judged_by_what_it_did(self) -> None:
        story = {"a": ["!1", "a1", "b1"], "b": ["a1", "!1", "b1"], "c": ["b1"]}
        assert verdict(tell(story, fates={"c": "crashed"}), "causal").value == "violated"

    def test_process_that_delivered_few(self) -> None:
        sends = [f"!{number}" for number in range(1, 10)]
        own = [f"a{number}" for number in range(1, 10)]
        trace = tell({"a": [*sends, *own], "b": ["a2"]}, fates={"b": "left"})
        assert sentences(trace, "causal") == [
            "b delivered a#2 at position 0, but never delivered a#1, which a had sent before it."
        ]

    def test_rows_need_not_be_in_order_of_sending(self) -> None:
        story = {"a": ["c1", "b1", "!1"], "b": ["c1", "!1"], "c": ["!1", "b1"], "d": ["b1", "c1"]}
        found = verdict(tell(story), "causal")
        assert [w.sentence for w in found.witnesses] == [
            "c delivered b#1 at position 0, but never delivered c#1, which b had delivered before sending "
            "it.",
            "d delivered b#1 at position 0, but c#1, which b had delivered before sending it, only at "
            "position 1.",
        ]


class TestHiddenPredecessors:
    """x -> h -> m with x and m for c, and h not."""

    STORY = ("!1>bc",), ("a1", "!1>d"), ("b1", "!1>c")

    def story(self, *c_log: str) -> MemoryTrace:
        a, b, d = self.STORY
        return tell({"a": a, "b": b, "d": d, "c": c_log})

    def test_found_behind_a_message_for_others(self) -> None:
        found = verdict(self.story("d1", "a1"), "causal")
        assert [w.sentence for w in found.witnesses] == [
            "c delivered d#1 at position 0, but a#1, which comes before it by way of b#1, only at position 1."
        ]
        assert found.witnesses[0].details["by_way_of"] == ["b#1"]

    def test_kept_if_delivered_first(self) -> None:
        assert verdict(self.story("a1", "d1"), "causal").value == "kept"

    def test_never_delivered(self) -> None:
        assert sentences(self.story("d1"), "causal") == [
            "c delivered d#1 at position 0, but never delivered a#1, which comes before it by way of b#1."
        ]

    def test_behind_two(self) -> None:
        story = {
            "a": ["!1>bc"],
            "b": ["a1", "!1>d"],
            "d": ["b1", "!1>e"],
            "e": ["d1", "!1>c"],
            "c": ["e1", "a1"],
        }
        assert sentences(tell(story), "causal") == [
            "c delivered e#1 at position 0, but a#1, which comes before it by way of b#1 and d#1, only at "
            "position 1."
        ]

    def test_behind_a_message_of_its_own_to_others(self) -> None:
        story = {"c": ["!1>c", "!2>a", "a1", "c1"], "a": ["c2", "!1>c"]}
        assert sentences(tell(story), "causal") == [
            "c delivered a#1 at position 0, but c#1, which comes before it by way of c#2, only at position 1."
        ]

    def test_every_delivery_behind_the_same_message_counts(self) -> None:
        story = {"a": ["!1>bc"], "b": ["a1", "!1>de"], "d": ["b1", "!1>c"], "e": ["b1", "!1>c"]}
        trace = tell({**story, "c": ["d1", "e1", "a1"]})
        assert [w.message for w in verdict(trace, "causal").witnesses] == ["d#1", "e#1"]

    def test_processes_are_judged_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hidden, "BLOCK_CELLS", 1)
        found = verdict(self.story("d1", "a1"), "causal")
        assert [(w.process, w.message) for w in found.witnesses] == [("c", "d#1")]

    def test_predecessor_for_others_is_not_owed(self) -> None:
        trace = tell({"a": ["!1>b"], "b": ["a1", "!1>c"], "c": ["b1"]})
        assert verdict(trace, "causal").value == "kept"


class TestJoiners:
    STORY = ("!1", "!2", "!3", "a1", "a2", "a3"), ("a1", "a2", "!1", "b1", "a3")

    def story(self, *log: str, base: tuple[str, ...] = ("a2",)) -> MemoryTrace:
        a, b = self.STORY
        return tell({"a": [*a, "b1"], "b": b, "j": log}, bases={"j": base})

    def test_nothing_at_or_before_its_base_is_owed(self) -> None:
        report = check(self.story("b1", "a3"))
        assert report.value() == "kept"
        assert report.verdicts["uniform_agreement"].value == "kept"

    def test_what_lies_after_its_base_is_owed(self) -> None:
        report = check(self.story("b1"))
        assert [w.message for w in report.verdicts["validity"].witnesses] == ["a#3"]

    def test_order_after_the_base_is_judged(self) -> None:
        trace = self.story("b1", "a3", base=("a1",))
        assert sentences(trace, "causal") == [
            "j delivered b#1 at position 0, but never delivered a#2, which b had delivered before sending "
            "it.",
            "j delivered a#3 at position 1, but never delivered a#2, which a had sent before it.",
        ]
        assert sentences(trace, "fifo") == [
            "j delivered a#3 at position 1, but never delivered a#2, which a had sent before it."
        ]

    def test_exempt_messages_may_be_delivered_in_any_order(self) -> None:
        assert check(self.story("a2", "b1", "a1", "a3")).value() == "kept"

    def test_without_a_base_it_is_owed_everything(self) -> None:
        assert check(self.story("b1", "a3", base=())).value() == "violated"

    def test_more_joiners_than_one_batch(self) -> None:
        a, b = self.STORY
        joiners = [chr(0x1000 + number) for number in range(70)]
        story = {"a": [*a, "b1"], "b": list(b), **{name: ["b1", "a3"] for name in joiners}}
        bases = dict.fromkeys(joiners, ("a2",))
        assert check(tell(story, bases=bases)).value() == "kept"
        bases[joiners[-1]] = ("a1",)
        found = verdict(tell(story, bases=bases), "causal")
        assert {w.process for w in found.witnesses} == {joiners[-1]}


class TestCausalUnlessLost:
    """a dies; its first message was for c, its second for b, who then spoke to c."""

    def story(self, *log: str, fate: str = "crashed") -> Verdict:
        story = {"a": ["!1>c", "!2>b"], "b": ["a2", "!1>c"], "c": list(log)}
        return check(tell(story, fates={"a": fate}), ("causal_unless_lost",)).verdicts["causal_unless_lost"]

    @pytest.mark.parametrize("fate", ["crashed", "evicted"])
    def test_what_died_with_its_origin_may_be_missing(self, fate: str) -> None:
        assert self.story("b1", fate=fate).value == "kept"

    def test_it_may_not_come_late(self) -> None:
        found = self.story("b1", "a1")
        assert [witness.sentence for witness in found.witnesses] == [
            "c delivered b#1 at position 0, but a#1, which comes before it by way of a#2, only at position 1."
        ]

    @pytest.mark.parametrize("fate", ["alive", "left"])
    def test_what_others_sent_may_not_be_missing(self, fate: str) -> None:
        assert self.story("b1", fate=fate).value == "violated"

    def test_nobody_knows_what_became_of_its_origin(self) -> None:
        found = self.story("b1", fate="unknown")
        assert (found.value, found.note) == ("unknown", "c lacks a#1, and the fate of a is not known.")

    def test_what_is_missing_hides_what_came_before_it(self) -> None:
        """d's message was for c, came before a's, which died, and comes late."""
        story = {"d": ["!1>ac"], "a": ["d1", "!1>c", "!2>b"], "b": ["a2", "!1>c"], "c": ["b1", "d1"]}
        trace = tell(story, fates={"a": "crashed"})
        assert check(trace, ("causal_unless_lost",)).verdicts["causal_unless_lost"].value == "violated"

    def test_broadcasts_too(self) -> None:
        story = {"a": ["!1", "!2"], "b": ["a2", "!1", "b1"], "c": ["a2", "b1"]}
        trace = tell(story, fates={"a": "crashed"})
        assert check(trace, ("causal",)).verdicts["causal"].value == "violated"
        assert check(trace, ("causal_unless_lost",)).verdicts["causal_unless_lost"].value == "kept"

    def test_it_is_judged_only_where_it_is_asked_for(self) -> None:
        trace = tell({"a": ["!1", "a1"]})
        assert "causal_unless_lost" not in check(trace).verdicts
