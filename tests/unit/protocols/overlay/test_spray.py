"""Spray, rule by rule, and what hosts rely on."""

import pickle
from collections.abc import Callable

import pytest

from aforesaid.core import freeze
from aforesaid.protocols.overlay.sampling import Sampler
from aforesaid.protocols.overlay.spray import PERIOD, Reply, Spray
from support.spray_rules import RULES, asking
from support.spray_stage import EVERY, Sink


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule: Callable[[type[Spray]], None]) -> None:
    rule(Spray)


def test_a_copy_goes_on_like_the_original() -> None:
    original, request = asking(Spray, "qabcd")
    sampler: Sampler = original
    copy = pickle.loads(pickle.dumps(sampler))
    assert freeze(copy) == freeze(original)
    for machine in (original, copy):
        machine.receive("q", Reply(request.exchange, ()), 0, Sink())
        machine.expire(PERIOD, EVERY, Sink())
    assert freeze(copy) == freeze(original)


def test_the_gauge_tells_of_the_exchange_that_is_out() -> None:
    machine, request = asking(Spray, "qab")
    assert machine.gauges() == {"exchanges": 1}
    machine.receive("q", Reply(request.exchange, ()), 0, Sink())
    assert machine.gauges() == {"exchanges": 0}
