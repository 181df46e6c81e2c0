"""Schedules as people read them and as files keep them."""

import json
from collections import deque
from typing import NamedTuple

import pytest

from aforesaid.core import MessageId, Misuse
from aforesaid.explore import Schedule, Scope, Step
from aforesaid.explore.schedule import shown

STEPS = (
    Step("broadcast", "p1", what="p1#1"),
    Step("send", "p1", what="p1#2", audience=("p0", "p2")),
    Step("send", "p1", what="p1#3"),
    Step("receive", "p2", "p0", "Relay(p0#1)"),
    Step("receive", "p2", "p0", "Relay(p0#1)", keep=True),
    Step("lose", "p2", "p0", "Relay(p0#1)"),
    Step("crash", "p0"),
    Step("suspect", "p1", "p0"),
    Step("expire", "p1", what="Resend(p0)", choices=(1, 0)),
    Step("open", "p0", "p3", "p1, p2"),
    Step("open", "p0", "p2"),
    Step("close", "p0", "p2"),
    Step("disconnect", "p0", "p1", "Lid(p0)"),
    Step("link_down", "p1", what="Lid(p0)"),
)


def test_a_step_reads_as_a_sentence() -> None:
    assert list(map(str, STEPS)) == [
        "p1 broadcasts p1#1",
        "p1 sends p1#2 to p0, p2",
        "p1 sends p1#3 to nobody",
        "p2 receives Relay(p0#1) from p0",
        "p2 receives Relay(p0#1) from p0, and the network keeps a copy",
        "the network loses Relay(p0#1) from p0 to p2",
        "p0 crashes",
        "p1 is told that p0 is down",
        "at p1 the timer Resend(p0) fires (choosing 1, 0)",
        "p0 opens a link to p3 by way of p1, p2",
        "p0 opens a link to p2",
        "p0 closes its link to p2",
        "the connection Lid(p0) between p0 and p1 is lost",
        "p1 is told that the connection Lid(p0) is lost",
    ]


def test_a_schedule_goes_through_a_file() -> None:
    schedule = Schedule("waiting", Scope(processes=3, messages=(1, 0, 0), crashes_max=1), STEPS)
    assert Schedule.from_json(schedule.to_json()) == schedule
    assert Schedule.from_json(schedule.to_json().encode()) == schedule


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schedule": 1}',
        '{"schedule": 1, "algorithm": "waiting", "scope": {}, "steps": 3}',
        '{"schedule": 1, "algorithm": "waiting", "scope": {"processes": 2}, "steps": [{"do": "crash"}]}',
    ],
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(Misuse, match="not a s"):
        Schedule.from_json(text)


def test_another_version_and_an_unknown_deed_are_refused() -> None:
    values = json.loads(Schedule("waiting", Scope(), ()).to_json())
    with pytest.raises(Misuse, match="schedule version 7; this program reads 1"):
        Schedule.from_json(json.dumps(values | {"schedule": 7}))
    with pytest.raises(Misuse, match="a step cannot 'sing'"):
        Schedule.from_json(json.dumps(values | {"steps": [{"do": "sing", "process": "p0"}]}))


class Pair(NamedTuple):
    left: object
    right: object


class Nothing(NamedTuple):
    pass


def test_values_are_shown_in_one_line() -> None:
    value = Pair(MessageId("p0", 0, 1), (1, "two", {"b", "a"}))
    assert shown(value) == "Pair(p0#1, (1, two, {a, b}))"
    assert shown(Nothing()) == "Nothing"
    assert shown(None) == "None"
    assert shown(deque([1])) == "deque([1])"
