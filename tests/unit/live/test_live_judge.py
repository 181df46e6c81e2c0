"""What the judge of growing logs does about what comes late, or never."""

from collections.abc import Sequence

import msgspec
import pytest

from aforesaid.core import Misuse
from aforesaid.live.judge import Judge
from aforesaid.live.spans import Span, read_span
from aforesaid.wire.segments import Event, Origin, record_of

NAMES = ("a", "b", "c")
PROMISES = ("no_duplicate", "no_creation", "fifo", "causal", "validity", "agreement")
END: Event = ("e", 100, "closed", True)


class Logs:
    """Three logs that grow by whatever is said to have happened."""

    def __init__(self, **facts: object) -> None:
        self.facts = facts
        self.bytes = dict.fromkeys(NAMES, 0)

    def grow(self, **events: Sequence[Event]) -> list[Span]:
        return [self._span(name, list(some)) for name, some in events.items()]

    def _span(self, name: str, events: list[Event]) -> Span:
        data = b""
        if not self.bytes[name]:
            origin = Origin(name, 7, "made-up", "test", NAMES, False, 0, 1, "0", 1, False, PROMISES)
            data = record_of(msgspec.structs.replace(origin, **self.facts))
            events = [*(("p", other, 7) for other in NAMES if other != name), *events]
        data += record_of(events)
        start = self.bytes[name]
        self.bytes[name] += len(data)
        return read_span(data, name, 1, start)


def d(origin: str, number: int) -> Event:
    return ("d", origin, 7, number, 50)


def s(number: int) -> Event:
    return ("s", number, 40, None)


def test_a_violation_is_told_once_and_as_soon_as_it_is_certain() -> None:
    judge, logs = Judge(), Logs()
    told = judge.feed(logs.grow(a=[s(1), d("a", 1)], b=[d("a", 1), s(1), d("b", 1)], c=[d("b", 1)]))
    sentence = (
        "c delivered b#1 at position 0, but had not delivered a#1, which b had delivered before sending it."
    )
    assert [(each.property, each.sentence) for each in told.violations] == [("causal", sentence)]
    assert judge.feed(logs.grow(c=[d("a", 1)])).violations == []
    report, last = judge.ending()
    assert (report.verdicts["causal"].value, last) == ("violated", [])


def test_receipts_are_passed_over() -> None:
    """They stand between the events, and no verdict depends on them."""
    wait = (1, None, 0, 1, 20)
    story: list[Event] = [
        ("r", None, [wait]),
        ("h", 1, 1, wait),
        ("v", "open", 1, 9),
        ("l", "a", 7, 1, 2, 9, []),
    ]
    verdicts, counts = [], []
    for between in ([], story):
        judge, logs = Judge(), Logs()
        wrong = [d("b", 1), *between, d("a", 1), *between]
        told = judge.feed(logs.grow(a=[*between, s(1), d("a", 1)], b=[d("a", 1), s(1), d("b", 1)], c=wrong))
        verdicts.append([each.sentence for each in told.violations])
        counts.append(judge.totals.events)
    assert len(verdicts[0]) == 1
    assert verdicts[0] == verdicts[1]
    assert counts[0] == counts[1]


def test_a_log_that_is_behind_is_waited_for() -> None:
    judge, logs = Judge(), Logs()
    told = judge.feed(logs.grow(b=[d("a", 1), d("a", 2)]))
    assert (told.waiting, told.violations) == (1, [])
    told = judge.feed(logs.grow(a=[s(1), s(2), d("a", 1), d("a", 2)], c=[d("a", 1), d("a", 2)]))
    assert (told.waiting, told.violations) == (0, [])


def test_what_nobody_said_is_overdue_and_is_created_once_its_origin_has_ended_without_it() -> None:
    judge, logs = Judge(grace_s=1), Logs()
    judge.feed(logs.grow(a=[s(1), d("a", 1)], b=[d("a", 2), d("a", 1), s(1)], c=[]))
    told = judge.feed([], elapsed_s=2)
    assert (told.waiting, told.violations) == (0, [])
    assert judge.totals.messages == 2, "b's log went on without it"
    told = judge.feed(logs.grow(a=[END]))
    assert [each.sentence for each in told.violations] == [
        "b delivered a#2 at position 0, but a never sent it."
    ]


def test_what_is_said_after_all_was_only_late() -> None:
    judge, logs = Judge(grace_s=1), Logs()
    judge.feed(logs.grow(a=[], b=[d("a", 1), s(1), d("b", 1)], c=[]))
    judge.feed([], elapsed_s=2)
    rest = logs.grow(a=[s(1), d("a", 1), d("b", 1), END], b=[END], c=[d("a", 1), d("b", 1), END])
    judge.feed(rest)
    report, last = judge.ending()
    assert (report.value(), last) == ("kept", [])


def test_a_message_that_somebody_lacks_is_given_up_and_ends_in_unknown() -> None:
    judge, logs = Judge(age_s=10, keep=0), Logs()
    judge.feed(logs.grow(a=[s(1), d("a", 1)], b=[d("a", 1)], c=[]))
    assert judge.in_flight == 1
    judge.feed(logs.grow(c=[]), elapsed_s=11)
    assert judge.in_flight == 0, "state is what is in flight, and no more"
    judge.feed(logs.grow(a=[END], b=[END], c=[END]))
    report, _ = judge.ending()
    assert report.verdicts["validity"].value == "unknown"
    assert report.verdicts["validity"].note == "1 delivery was not seen within 10 s."
    assert report.verdicts["causal"].value == "kept"


def test_patience_may_change_while_it_is_watched() -> None:
    judge, logs = Judge(age_s=10, keep=0), Logs()
    judge.feed(logs.grow(a=[s(1), d("a", 1)], b=[d("a", 1)], c=[]))
    judge.endure(1, 100)
    judge.feed(logs.grow(c=[]), elapsed_s=50)
    assert judge.in_flight == 1
    judge.feed(logs.grow(c=[]), elapsed_s=51)
    assert judge.in_flight == 0


def test_who_comes_back_after_that_is_no_repeater() -> None:
    judge, logs = Judge(age_s=10, keep=0), Logs()
    judge.feed(logs.grow(a=[s(1), d("a", 1)], b=[d("a", 1)], c=[]))
    judge.feed([], elapsed_s=11)
    judge.feed(logs.grow(c=[d("a", 1), END], a=[END], b=[END]))
    report, last = judge.ending()
    assert last == []
    assert report.verdicts["no_duplicate"].value == "kept"
    assert (report.verdicts["causal"].value, report.verdicts["validity"].value) == ("unknown", "kept")


def test_a_second_delivery_is_noticed_long_after_the_first() -> None:
    judge, logs = Judge(keep=0), Logs()
    judge.feed(logs.grow(a=[s(1), d("a", 1)], b=[d("a", 1)], c=[d("a", 1)]))
    assert judge.in_flight == 0
    told = judge.feed(logs.grow(b=[d("a", 1), d("a", 1)]))
    assert [each.sentence for each in told.violations] == [
        "b delivered a#1 again at position 1, long after everyone had."
    ]


def test_the_state_does_not_grow_with_the_run() -> None:
    judge, logs = Judge(keep=0), Logs()
    sizes = []
    for number in range(1, 201):
        said = [s(number), d("a", number)]
        judge.feed(logs.grow(a=said, b=[d("a", number)], c=[d("a", number)]))
        sizes.append(len(judge.saved()))
    assert judge.in_flight == 0
    assert sizes[-1] < sizes[10] + 100


def test_who_is_always_a_bit_behind_is_waited_for_and_nothing_grows() -> None:
    judge, logs = Judge(grace_s=1, age_s=3, keep=0), Logs(linked=True)
    sizes = []
    for number in range(1, 101):
        late: list[Event] = [("s", number - 1, 40, ("b", "c"))] if number > 1 else []
        b: list[Event] = [("s", number, 40, ("c",)), d("a", number)]
        told = judge.feed(logs.grow(a=late, b=b, c=[d("b", number), d("a", number)]), elapsed_s=0.5)
        assert told.waiting == 2
        sizes.append(len(judge.saved()))
    assert sizes[-1] < sizes[10] + 100
    judge.feed(logs.grow(a=[("s", 100, 40, ("b", "c")), END], b=[END], c=[END]))
    assert judge.ending()[0].verdicts["causal"].value == "kept"


def test_a_damaged_log_is_not_read_on_and_nothing_is_certain_then() -> None:
    judge, logs = Judge(), Logs()
    spans = logs.grow(a=[s(1), d("a", 1), END], b=[d("a", 1), END], c=[d("a", 1), END])
    spans[2].damage = "damaged at byte 99"
    judge.feed(spans)
    assert judge.warnings == ["c, segment 1: damaged at byte 99; it is not read on"]
    assert judge.ending()[0].value() == "unknown"


def test_logs_of_two_clusters_are_refused() -> None:
    judge, logs = Judge(), Logs()
    judge.feed(logs.grow(a=[]))
    other = record_of(Origin("z", 7, "made-up", "other", NAMES, False, 0, 1, "0", 1, False, PROMISES))
    with pytest.raises(Misuse, match=r"segments of several clusters: test \(made-up\), other"):
        judge.feed([read_span(other, "z", 1, 0)])
    with pytest.raises(Misuse, match="no segment was read"):
        Judge().ending()
