"""What a trace of other people's events says, and what it leaves open."""

from aforesaid.check import Report, check
from aforesaid.foreign import Collected, Collection, Options
from aforesaid.foreign.columns import Columns
from aforesaid.foreign.events import Count, Event
from aforesaid.trace import MemorySink


def sent(process: str, message: str, *follows: str, to: tuple[str, ...] = ()) -> Event:
    return Event(process, True, message, follows=follows, to=to, place=f"{process}:{message}")


def got(process: str, message: str) -> Event:
    return Event(process, False, message, place=f"{process}:{message}")


def judged(
    *events: Event, causality: str = "potential", sampled: bool = False, whole: bool = False
) -> tuple[Report, Collected]:
    sink = MemorySink()
    options = Options("test", causality, sampled, whole)
    collected = Collection(Columns().take(events), options, Count()).close(sink, "test")
    return check(sink.trace), collected


UNRELATED = (
    sent("shop", "for alice"),
    got("desk", "for alice"),
    sent("desk", "to alice"),
    got("post", "to alice"),
    got("post", "for alice"),
)


def test_unrelated_requests_are_violated_by_potential_causality_only() -> None:
    assert judged(*UNRELATED)[0].value() == "violated"
    assert judged(*UNRELATED, causality="declared")[0].value() == "kept"


def test_a_message_that_says_what_it_follows_is_held_to_it() -> None:
    events = (*UNRELATED[:2], sent("desk", "to alice", "for alice"), *UNRELATED[3:])
    report, _ = judged(*events, causality="declared")
    (violation,) = report.verdicts["causal"].witnesses
    assert violation.sentence == (
        "post delivered desk#1 at position 0, but shop#1, which it says it follows, only at position 1."
    )


def test_messages_that_follow_each_other_are_no_order() -> None:
    events = [sent("a", "x", "y"), sent("b", "y", "x"), got("c", "x"), got("c", "y")]
    report, _ = judged(*events, causality="declared")
    (violation,) = report.verdicts["no_foresight"].witnesses
    assert (
        violation.sentence == "a#1 comes before itself: b#1 says it follows a#1, and a#1 says it follows b#1."
    )
    assert report.verdicts["causal"].value == "unknown"


def test_own_deliveries_teach_nothing() -> None:
    report, _ = judged(sent("a", "x"), got("a", "x"), sent("a", "y"), got("b", "x"), got("b", "y"))
    assert report.verdicts["recorded"].value == "kept"
    assert report.value() == "kept"


def test_what_nobody_is_seen_to_send_leaves_it_open() -> None:
    report, collected = judged(sent("a", "x"), got("b", "x"), got("b", "z"))
    assert (report.value(), report.run.sampled) == ("unknown", True)
    assert collected.gaps == ["1 messages are delivered that nobody is seen to send, such as z"]


def test_in_whole_logs_it_was_made_up() -> None:
    report, _ = judged(sent("a", "x"), got("b", "x"), got("b", "z"), whole=True)
    assert report.verdicts["no_creation"].value == "violated"


def test_in_whole_logs_what_never_arrived_is_missing() -> None:
    events = [sent("a", "x", to=("b", "c")), sent("a", "y", to=("b",)), got("b", "y")]
    report, _ = judged(*events, whole=True)
    assert {name for name, each in report.verdicts.items() if each.violations} >= {"causal", "validity"}
    assert judged(*events)[0].value() == "kept"


def test_in_whole_logs_a_message_is_for_whom_it_says_or_who_delivers_it() -> None:
    events = [got("c", "y"), got("b", "x"), got("c", "x"), sent("a", "x", to=("b",)), sent("a", "y")]
    report, _ = judged(*events, whole=True)
    (violation,) = report.verdicts["audience"].witnesses
    assert (violation.process, violation.message) == ("c", "a#1")


def test_following_what_is_not_there_leaves_it_open() -> None:
    report, collected = judged(sent("a", "x", "lost"), got("b", "x"), causality="declared")
    assert report.value() == "unknown"
    assert collected.gaps == ["1 messages are followed and are not there, such as lost"]


def test_an_id_that_is_sent_twice_names_no_message() -> None:
    events = [sent("a", "x"), sent("a", "y"), sent("c", "x"), got("b", "y"), got("b", "x")]
    report, collected = judged(*events)
    assert report.value() == "unknown"
    assert collected.gaps == ["x is sent more than once, at a:x and c:x: an id names one message"]


def test_what_is_said_to_be_sampled_is_never_kept() -> None:
    report, _ = judged(sent("a", "x"), got("b", "x"), sampled=True)
    assert {verdict.value for verdict in report.verdicts.values()} == {"unknown"}
