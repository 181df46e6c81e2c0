"""PRC-broadcast keeps every rule of `prc_rules`, each a schedule by hand that some mutant breaks."""

from collections.abc import Callable
from inspect import getmembers, isfunction

import pytest

from aforesaid.protocols.overlay.frames import ALPHA, BETA, PI, RHO
from support import prc_rules
from support.prc_stage import Make, process

RULES = [
    rule
    for name, rule in getmembers(prc_rules, isfunction)
    if rule.__module__ == prc_rules.__name__ and "make" in rule.__annotations__ and name != "opened"
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_prc_broadcast_keeps_the_rule(rule: Callable[[Make], None]) -> None:
    rule(process)


@pytest.mark.parametrize("lost", [ALPHA, BETA, PI, RHO])
def test_any_one_control_message_may_be_lost(lost: str) -> None:
    prc_rules.lost_control_is_sent_again(process, lost)
